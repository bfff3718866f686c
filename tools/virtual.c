// SPDX-License-Identifier: GPL-2.0
/*
 * Running a trace on virtual time.
 *
 * Operations of one moment go in batches. Between two moments the clock is advanced; as long as
 * there are periodic timers, in steps that are shorter than any period, since such a timer is armed
 * again when its event is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "device.h"
#include "virtual.h"

#define BATCH		1024U
#define LAST_NS		(HTWHEEL_NEVER_NS - 1)

/* The granules of the kernel's wheel end at this level. */
#define GRANULE_LEVELS	9

/**
 * struct virtual - a run under way
 * @run: what comes of it
 * @trace: what is run
 * @fd: the context
 * @now_ns: its clock
 * @step_ns: the longest step as long as there are periodic timers
 * @ids: for each key, its name, 0 without one
 * @armed_ns: for each key, when it was armed last
 * @slack_ns: for each key, how much later than at its deadline it may fire
 * @in_batch: for each key, the number of the batch that it is in
 * @batch_number: of the batch that is being filled
 * @ops: the batch
 * @op_keys: whose operations they are
 * @nr: how many
 * @live: timers that are armed
 * @room: for how many there is room in @run->fires
 */
struct virtual {
	struct run		*run;
	const struct trace	*trace;
	int			fd;
	uint64_t		now_ns;
	uint64_t		step_ns;
	uint64_t		*ids;
	uint64_t		*armed_ns;
	uint64_t		*slack_ns;
	uint64_t		*in_batch;
	uint64_t		batch_number;
	struct htwheel_op	ops[BATCH];
	uint64_t		op_keys[BATCH];
	unsigned int		nr;
	uint64_t		live;
	uint64_t		room;
};

/* A private context on a manual clock. *@tick_ns of 0 receives the module's. */
int virtual_open(const struct htwheel_design *row, uint64_t *tick_ns, uint64_t start_ns,
		 uint64_t nr)
{
	struct htwheel_setup setup = {
		.size		= sizeof(setup),
		.clock		= HTWHEEL_CLOCK_MANUAL,
		.tick_ns	= *tick_ns,
		.start_ns	= start_ns,
		.levels		= row->levels,
		.max_timers	= nr,
	};
	struct htwheel_info info;
	char text[ROW_TEXT];
	int fd = device_open();

	memcpy(setup.design, row->name, sizeof(setup.design));
	memcpy(setup.radix, row->radix, sizeof(setup.radix));
	rows_text(row, text);
	device_info(fd, &info);
	if (nr > info.max_timers_ceiling)
		fail(EXIT_DEVICE, "%llu timers; the module's limit is %llu, see max_timers=",
		     (unsigned long long)nr, info.max_timers_ceiling);
	if (row->properties & HTWHEEL_DESIGN_LINEAR && nr > 65536)
		fail(EXIT_USAGE, "%s takes 65536 timers at most, the trace has %llu", text,
		     (unsigned long long)nr);
	if (ioctl(fd, HTWHEEL_IOC_SETUP, &setup))
		fail(errno == EINVAL ? EXIT_USAGE : EXIT_DEVICE,
		     "%s with a tick of %llu ns: %s; is the shape one of the design, and the tick a "
		     "power of two?", text, (unsigned long long)*tick_ns, strerror(errno));
	device_info(fd, &info);
	*tick_ns = info.tick_ns;
	return fd;
}

/* How late a design that is not exact may be, for a delay: a granule, and the tick itself. */
static uint64_t bound_ns(const struct run *run, uint64_t left_ns)
{
	uint64_t left = left_ns / run->tick_ns + 2, granule = 1;
	unsigned int level;

	if (run_is_exact(run))
		return run->tick_ns;
	for (level = 1; level < GRANULE_LEVELS && left >= 63 * granule; level++)
		granule *= 8;
	return (granule + 2) * run->tick_ns;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	a ^= b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2);
	a *= 0xbf58476d1ce4e5b9ULL;
	return a ^ a >> 31;
}

static void keep_fire(struct virtual *virtual, struct fire fire)
{
	struct run *run = virtual->run;

	if (run->fired == virtual->room) {
		virtual->room = virtual->room ? 2 * virtual->room : 1024;
		run->fires = realloc(run->fires, virtual->room * sizeof(*run->fires));
		if (!run->fires)
			fail(EXIT_DEVICE, "no memory for %llu expirations",
			     (unsigned long long)virtual->room);
	}
	run->fires[run->fired] = fire;
}

static void receive(struct virtual *virtual, const struct htwheel_event *event)
{
	struct run *run = virtual->run;
	uint64_t index = event->user_data, late_ns = event->fired_ns - event->deadline_ns;
	uint64_t key = virtual->trace->keys[index], armed_ns = virtual->armed_ns[index];
	uint64_t due_ns = event->deadline_ns > armed_ns ? event->deadline_ns : armed_ns;

	if (run->keep_fires)
		keep_fire(virtual, (struct fire){ event->fired_ns, key, event->deadline_ns });
	run->fired++;
	run->early += event->fired_ns < event->deadline_ns;
	if (!run->jump && event->fired_ns > due_ns)
		run->beyond += event->fired_ns - due_ns >
			       bound_ns(run, due_ns - armed_ns) + virtual->slack_ns[index];
	run->late_sum_ns += late_ns;
	if (late_ns > run->late_max_ns)
		run->late_max_ns = late_ns;
	run->keys_sum += mix(mix(1, key), event->deadline_ns);
	run->sum += mix(mix(mix(1, key), event->deadline_ns), event->fired_ns);
	if (event->flags & HTWHEEL_EVENT_LIVE) {
		virtual->armed_ns[index] = virtual->now_ns;
		return;
	}
	virtual->ids[index] = 0;
	virtual->live--;
}

static void read_events(struct virtual *virtual)
{
	struct htwheel_event events[BATCH];
	unsigned int i, nr;

	do {
		nr = device_read(virtual->fd, events, BATCH);
		for (i = 0; i < nr; i++)
			receive(virtual, &events[i]);
	} while (nr);
}

static void flush(struct virtual *virtual)
{
	struct run *run = virtual->run;
	uint64_t begin_ns = now_ns(), key;
	const struct htwheel_op *op;
	unsigned int i;

	if (!virtual->nr)
		return;
	device_submit(virtual->fd, virtual->ops, virtual->nr);
	run->submit_ns += now_ns() - begin_ns;
	for (i = 0; i < virtual->nr; i++) {
		op = &virtual->ops[i];
		key = virtual->op_keys[i];
		if (op->result < 0)
			fail(EXIT_DEVICE, "operation on timer %llu: %s",
			     (unsigned long long)virtual->trace->keys[key], strerror(-op->result));
		if (op->opcode == HTWHEEL_OP_CANCEL) {
			virtual->ids[key] = 0;
			virtual->live--;
			continue;
		}
		if (op->opcode == HTWHEEL_OP_ARM) {
			virtual->ids[key] = op->id;
			virtual->live++;
		}
		virtual->armed_ns[key] = virtual->now_ns;
	}
	if (virtual->live > run->peak)
		run->peak = virtual->live;
	virtual->nr = 0;
	virtual->batch_number++;
}

static void put(struct virtual *virtual, uint64_t key, struct htwheel_op op)
{
	virtual->op_keys[virtual->nr] = key;
	virtual->in_batch[key] = virtual->batch_number;
	virtual->ops[virtual->nr++] = op;
}

static void put_cancel(struct virtual *virtual, uint64_t key)
{
	struct htwheel_op op = { .opcode = HTWHEEL_OP_CANCEL, .id = virtual->ids[key] };

	virtual->run->cancels++;
	put(virtual, key, op);
}

static void put_arm(struct virtual *virtual, const struct trace_op *op)
{
	struct htwheel_op arm = {
		.opcode		= HTWHEEL_OP_ARM,
		.flags		= HTWHEEL_ABSOLUTE | (op->keep ? HTWHEEL_KEEP : 0),
		.policy		= op->policy,
		.time_ns	= op->deadline_ns,
		.period_ns	= op->period_ns,
		.slack_ns	= op->slack_ns,
		.user_data	= op->key,
	};

	if (op->period_ns)
		arm.flags |= HTWHEEL_PERIODIC;
	virtual->run->arms++;
	virtual->slack_ns[op->key] = op->slack_ns;
	put(virtual, op->key, arm);
}

static void put_op(struct virtual *virtual, const struct trace_op *op)
{
	if (virtual->in_batch[op->key] == virtual->batch_number || virtual->nr + 2 > BATCH)
		flush(virtual);
	if (op->kind != TRACE_ARM && !virtual->ids[op->key])
		virtual->run->late_ops++;
	switch (op->kind) {
	case TRACE_CANCEL:
		if (virtual->ids[op->key])
			put_cancel(virtual, op->key);
		return;
	case TRACE_REARM:
		if (!virtual->ids[op->key])
			break;
		virtual->run->arms++;
		put(virtual, op->key, (struct htwheel_op){
			.opcode = HTWHEEL_OP_REARM, .flags = HTWHEEL_ABSOLUTE,
			.id = virtual->ids[op->key], .time_ns = op->deadline_ns });
		return;
	case TRACE_ARM:
		if (!virtual->ids[op->key])
			break;
		put_cancel(virtual, op->key);
		flush(virtual);
		break;
	}
	put_arm(virtual, op);
}

/* One ADVANCE, and what fired in it. */
static void advance(struct virtual *virtual, uint64_t to_ns)
{
	struct htwheel_advance arg = { .size = sizeof(arg), .to = to_ns };
	struct run *run = virtual->run;
	uint64_t begin_ns = now_ns();

	if (run->jump)
		arg.flags |= HTWHEEL_ADVANCE_JUMP;
	while (ioctl(virtual->fd, HTWHEEL_IOC_ADVANCE, &arg)) {
		if (errno != EINTR)
			fail(EXIT_DEVICE, "HTWHEEL_IOC_ADVANCE: %s", strerror(errno));
	}
	run->advance_ns += now_ns() - begin_ns;
	virtual->now_ns = arg.now_ns;
	run->moves += arg.moves;
	run->slots += arg.slots;
	run->passes += arg.passes;
	if (arg.largest > run->largest)
		run->largest = arg.largest;
	read_events(virtual);
}

static void advance_in_steps(struct virtual *virtual, uint64_t to_ns)
{
	while (virtual->now_ns < to_ns) {
		if (virtual->step_ns && to_ns - virtual->now_ns > virtual->step_ns)
			advance(virtual, virtual->now_ns + virtual->step_ns);
		else
			advance(virtual, to_ns);
	}
}

/* The latest deadline of the trace that comes, and room for the design to be late. */
static uint64_t natural_end_ns(const struct virtual *virtual)
{
	const struct trace *trace = virtual->trace;
	uint64_t last_ns = virtual->now_ns, due_ns, bound;
	size_t i;

	for (i = 0; i < trace->nr; i++) {
		due_ns = trace->ops[i].deadline_ns;
		if (trace->ops[i].kind == TRACE_CANCEL || due_ns == HTWHEEL_NEVER_NS)
			continue;
		if (trace->ops[i].slack_ns > LAST_NS - due_ns)
			due_ns = LAST_NS;
		else
			due_ns += trace->ops[i].slack_ns;
		if (due_ns > last_ns)
			last_ns = due_ns;
	}
	bound = bound_ns(virtual->run, last_ns);
	return bound > LAST_NS - last_ns ? LAST_NS : last_ns + bound;
}

/* Half of the shortest period, or of a tick; 0 without periodic timers. */
static uint64_t find_step_ns(const struct trace *trace)
{
	uint64_t shortest_ns = 0;
	size_t i;

	for (i = 0; i < trace->nr; i++) {
		if (trace->ops[i].period_ns &&
		    (!shortest_ns || trace->ops[i].period_ns < shortest_ns))
			shortest_ns = trace->ops[i].period_ns;
	}
	return shortest_ns ? shortest_ns / 2 + 1 : 0;
}

static int compare_fires(const void *left, const void *right)
{
	const struct fire *a = left, *b = right;

	if (a->fired_ns != b->fired_ns)
		return a->fired_ns > b->fired_ns ? 1 : -1;
	if (a->key != b->key)
		return a->key > b->key ? 1 : -1;
	return (a->deadline_ns > b->deadline_ns) - (a->deadline_ns < b->deadline_ns);
}

static void *allocate(size_t nr)
{
	void *memory = calloc(nr + 1, sizeof(uint64_t));

	if (!memory)
		fail(EXIT_DEVICE, "no memory for %zu timers", nr);
	return memory;
}

/* Run @trace; @run says how, and receives what came of it. */
void virtual_run(struct run *run, const struct trace *trace)
{
	struct virtual *virtual = calloc(1, sizeof(*virtual));
	struct htwheel_stats stats;
	size_t i;

	if (!virtual)
		fail(EXIT_DEVICE, "no memory");
	virtual->run = run;
	virtual->trace = trace;
	virtual->batch_number = 1;
	virtual->now_ns = trace->nr ? trace->ops[0].time_ns : 0;
	virtual->step_ns = find_step_ns(trace);
	virtual->ids = allocate(trace->nr_keys);
	virtual->armed_ns = allocate(trace->nr_keys);
	virtual->slack_ns = allocate(trace->nr_keys);
	virtual->in_batch = allocate(trace->nr_keys);
	if (virtual->step_ns && !trace->end_ns)
		fail(EXIT_USAGE, "a trace with periodic timers needs a line \"TIME end\"");
	virtual->fd = virtual_open(&run->row, &run->tick_ns, virtual->now_ns,
				   trace->nr_keys ? trace->nr_keys : 1);
	for (i = 0; i < trace->nr; i++) {
		if (trace->ops[i].time_ns > virtual->now_ns) {
			flush(virtual);
			read_events(virtual);
			advance_in_steps(virtual, trace->ops[i].time_ns);
		}
		put_op(virtual, &trace->ops[i]);
	}
	flush(virtual);
	read_events(virtual);
	advance_in_steps(virtual, trace->end_ns ? trace->end_ns : natural_end_ns(virtual));
	device_stats(virtual->fd, &stats);
	run->armed = stats.armed;
	if (run->fires)
		qsort(run->fires, run->fired, sizeof(*run->fires), compare_fires);
	close(virtual->fd);
	free(virtual->ids);
	free(virtual->armed_ns);
	free(virtual->slack_ns);
	free(virtual->in_batch);
	free(virtual);
}

/* Did two runs of one trace fire the same? Of one that is not exact, only the timers can. */
bool run_agrees(const struct run *run, const struct run *with)
{
	if (run_is_exact(run) && run_is_exact(with))
		return run->fired == with->fired && run->sum == with->sum;
	return run->fired == with->fired && run->keys_sum == with->keys_sum;
}
