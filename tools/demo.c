// SPDX-License-Identifier: GPL-2.0
/*
 * htwheelctl demo: the main job, on real time, with books of its own.
 *
 * Arms a million timers in batches, re-arms a tenth and cancels a tenth while they run, receives
 * the rest through epoll and read, and decides from what it armed and what it received, and from
 * nothing that the module says about itself, whether any was lost, came twice, or came early.
 *
 * With --ring the events come from the event ring. With --table the timers that are pushed back are
 * pushed back by a store into the deadline table. Such a store may come too late; the event then
 * shows the deadline before, and must have fired before the store was through.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "commands.h"
#include "demo.h"
#include "device.h"

#define READ_EVENTS	1024
#define GRACE_NS	(30 * NSEC_PER_SEC)
#define PROGRESS_NS	NSEC_PER_SEC

/* splitmix64: a counter and a mixing function. */
static uint64_t next_random(struct demo *demo)
{
	uint64_t z = demo->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static uint64_t random_delay_ns(struct demo *demo)
{
	return demo->min_ns + next_random(demo) % (demo->max_ns - demo->min_ns + 1);
}

static void progress(struct demo *demo)
{
	uint64_t now = now_ns();

	if (now - demo->reported_ns < PROGRESS_NS)
		return;
	demo->reported_ns = now;
	printf("%6.1f s: %7" PRIu64 " armed, %6" PRIu64 " re-armed, %6" PRIu64 " cancelled, "
	       "%7" PRIu64 " received, %7" PRIu64 " pending\n", (now - demo->began_ns) / 1e9,
	       demo->armed, demo->replaced, demo->cancelled, demo->fired, demo_pending(demo));
	fflush(stdout);
}

/* Note that a timer is armed, not to come before @not_before_ns. */
static void note_deadline(struct demo *demo, struct record *record, uint64_t not_before_ns,
			  uint64_t not_after_ns)
{
	record->not_before_ns = not_before_ns;
	record->armed_ns = not_before_ns;
	record->stored_ns = 0;
	if (not_after_ns > demo->last_ns)
		demo->last_ns = not_after_ns;
}

/* One that fired before a store postponed it goes by the deadline before. */
static void excuse_store(struct demo *demo, struct record *record,
			 const struct htwheel_event *event)
{
	if (!record->stored_ns || event->deadline_ns >= record->not_before_ns ||
	    event->fired_ns > record->stored_ns)
		return;
	record->not_before_ns = record->armed_ns;
	demo->too_late++;
}

static void receive_event(struct demo *demo, const struct htwheel_event *event, uint64_t now)
{
	struct record *record;

	if (event->user_data >= demo->armed) {
		demo->duplicated++;
		return;
	}
	record = &demo->records[event->user_data];
	if (record->state != ARMED || record->id != event->id) {
		demo->duplicated++;
		return;
	}
	record->state = RECEIVED;
	excuse_store(demo, record, event);
	if (now < record->not_before_ns || event->fired_ns < event->deadline_ns ||
	    event->deadline_ns < record->not_before_ns)
		demo->early++;
	demo->late_ns[demo->fired] = now > event->deadline_ns ? now - event->deadline_ns : 0;
	demo->kernel_late_ns[demo->fired] = event->fired_ns - event->deadline_ns;
	demo->fired++;
}

/* What is there now, or a part of it: from the ring first, which has the older ones. */
static unsigned int take_events(struct demo *demo, struct htwheel_event *events)
{
	unsigned int nr = 0;

	if (demo->shared.ring) {
		nr = shared_take(&demo->shared, events, READ_EVENTS);
		if (nr || !shared_waiting(&demo->shared))
			return nr;
	}
	demo->calls++;
	return device_read(demo->fd, events, READ_EVENTS);
}

/* Receive what there is now. */
static void receive(struct demo *demo)
{
	static struct htwheel_event events[READ_EVENTS];
	unsigned int nr, i;
	uint64_t now;

	do {
		nr = take_events(demo, events);
		now = now_ns();
		for (i = 0; i < nr; i++)
			receive_event(demo, &events[i], now);
		progress(demo);
	} while (demo->shared.ring ? nr > 0 : nr == READ_EVENTS);
}

/* An arm with a relative time, submitted between @before and @after, has come back. */
static void note_arm(struct demo *demo, const struct htwheel_op *op, uint64_t before,
		     uint64_t after)
{
	struct record *record = &demo->records[demo->armed];

	if (op->result)
		fail(EXIT_DEVICE, "arming timer %" PRIu64 ": %s", demo->armed,
		     strerror(-op->result));
	record->id = op->id;
	note_deadline(demo, record, before + op->time_ns, after + op->time_ns);
	demo->armed++;
}

/* Arm the next batch of timers, with relative times. */
static void arm_batch(struct demo *demo)
{
	uint32_t nr = demo->nr - demo->armed < demo->batch ? demo->nr - demo->armed : demo->batch;
	uint64_t before, after;
	uint32_t i;

	for (i = 0; i < nr; i++)
		demo->ops[i] = (struct htwheel_op){
			.opcode = HTWHEEL_OP_ARM,
			.time_ns = random_delay_ns(demo),
			.user_data = demo->armed + i,
		};
	before = now_ns();
	device_submit(demo->fd, demo->ops, nr);
	after = now_ns();
	for (i = 0; i < nr; i++)
		note_arm(demo, &demo->ops[i], before, after);
}

/* A re-arm (with an absolute time) or a cancel has come back. */
static void note_change(struct demo *demo, const struct htwheel_op *op, struct record *record)
{
	if (op->result < 0) {
		/* Right only if its event had been received, and we do not choose such. */
		demo->refused++;
	} else if (op->opcode == HTWHEEL_OP_REARM) {
		demo->replaced++;
		note_deadline(demo, record, op->time_ns, op->time_ns);
	} else {
		demo->cancelled++;
		record->state = CANCELLED;
	}
}

/* Postpone a timer without a call; false if the table cannot, as the deadline is an earlier one. */
static bool postpone(struct demo *demo, struct record *record, uint64_t deadline_ns)
{
	if (!demo->shared.table || deadline_ns <= record->not_before_ns)
		return false;
	shared_postpone(&demo->shared, record->id, deadline_ns);
	record->not_before_ns = deadline_ns;
	record->stored_ns = now_ns();
	if (deadline_ns > demo->last_ns)
		demo->last_ns = deadline_ns;
	demo->postponed++;
	return true;
}

/* Of the timers of an earlier batch that have not come yet, re-arm a tenth and cancel a tenth. */
static void change_batch(struct demo *demo, uint64_t first, uint64_t end)
{
	uint32_t nr = 0;
	uint64_t now = now_ns();
	uint64_t timer, time_ns;
	uint32_t i;

	for (timer = first; timer < end && nr < demo->batch; timer++) {
		unsigned int dice = next_random(demo) % 10;

		if (dice > 1 || demo->records[timer].state != ARMED)
			continue;
		time_ns = dice ? now + random_delay_ns(demo) : 0;
		if (dice && postpone(demo, &demo->records[timer], time_ns))
			continue;
		demo->targets[nr] = timer;
		demo->ops[nr++] = (struct htwheel_op){
			.opcode = dice ? HTWHEEL_OP_REARM : HTWHEEL_OP_CANCEL,
			.flags = dice ? HTWHEEL_ABSOLUTE : 0,
			.id = demo->records[timer].id,
			.time_ns = time_ns,
		};
	}
	device_submit(demo->fd, demo->ops, nr);
	for (i = 0; i < nr; i++)
		note_change(demo, &demo->ops[i], &demo->records[demo->targets[i]]);
}

/* Arm all, change some of each batch after the next has been armed, and receive meanwhile. */
static void run_load(struct demo *demo)
{
	uint64_t changed = 0, armed_before = 0;

	while (changed < demo->nr) {
		if (demo->armed < demo->nr)
			arm_batch(demo);
		receive(demo);
		change_batch(demo, changed, armed_before);
		changed = armed_before;
		armed_before = demo->armed;
	}
}

/* Receive the rest, as a server would: sleep in epoll, then read. */
static void run_rest(struct demo *demo)
{
	struct epoll_event event;
	uint64_t end = demo->last_ns + GRACE_NS;

	while (demo_pending(demo) && now_ns() < end) {
		demo->calls++;
		if (epoll_wait(demo->epoll, &event, 1, 1000) < 0 && errno != EINTR)
			fail(EXIT_DEVICE, "epoll_wait: %s", strerror(errno));
		receive(demo);
	}
}

static void usage(FILE *out)
{
	fputs("usage: htwheelctl demo [OPTION]...\n\n"
	      "Arms timers in batches, re-arms a tenth and cancels a tenth of them while they run,\n"
	      "receives the rest through epoll and read, and checks every one.\n\n"
	      "  --timers N   how many (default 1000000)\n"
	      "  --batch N    operations in a call (default 4096)\n"
	      "  --min-ms N   smallest delay (default 100)\n"
	      "  --max-ms N   largest delay (default 10000)\n"
	      "  --seed N     of the random delays (default 1)\n"
	      "  --ring[=N]   take the events from an event ring of N places (default 65536)\n"
	      "  --table      push timers back by stores into the deadline table\n\n"
	      "The last line sums up; the exit code is 0 only if nothing was lost, came twice, or early.\n",
	      out);
}

static uint64_t parse_number(const char *option, const char *text, uint64_t min, uint64_t max)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || value < min || value > max)
		fail(EXIT_USAGE, "--%s takes a number from %" PRIu64 " to %" PRIu64 ", not \"%s\"",
		     option, min, max, text);
	return value;
}

static void parse_options(struct demo *demo, int argc, char **argv)
{
	static const struct option options[] = {
		{ "timers", required_argument, NULL, 't' },
		{ "batch", required_argument, NULL, 'b' },
		{ "min-ms", required_argument, NULL, 'm' },
		{ "max-ms", required_argument, NULL, 'M' },
		{ "seed", required_argument, NULL, 's' },
		{ "ring", optional_argument, NULL, 'r' },
		{ "table", no_argument, NULL, 'T' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int option, index;

	while ((option = getopt_long(argc, argv, "h", options, &index)) != -1) {
		switch (option) {
		case 't':
			demo->nr = parse_number("timers", optarg, 1, 1U << 30);
			break;
		case 'b':
			demo->batch = parse_number("batch", optarg, 1, 1U << 20);
			break;
		case 'm':
			demo->min_ns = parse_number("min-ms", optarg, 0, 1U << 30) * NSEC_PER_MSEC;
			break;
		case 'M':
			demo->max_ns = parse_number("max-ms", optarg, 0, 1U << 30) * NSEC_PER_MSEC;
			break;
		case 'r':
			demo->ring_entries = optarg ? parse_number("ring", optarg, 2,
								   HTWHEEL_MAX_RING) : 65536;
			if (demo->ring_entries & (demo->ring_entries - 1))
				fail(EXIT_USAGE, "--ring takes a power of two");
			break;
		case 'T':
			demo->with_table = true;
			break;
		case 's':
			demo->random = parse_number("seed", optarg, 0, UINT64_MAX);
			break;
		default:
			usage(option == 'h' ? stdout : stderr);
			exit(option == 'h' ? 0 : EXIT_USAGE);
		}
	}
	if (optind < argc)
		fail(EXIT_USAGE, "demo takes no argument \"%s\"", argv[optind]);
	if (demo->min_ns > demo->max_ns)
		fail(EXIT_USAGE, "--min-ms is larger than --max-ms");
}

static void *allocate(size_t nr, size_t size)
{
	void *memory = calloc(nr, size);

	if (!memory)
		fail(EXIT_DEVICE, "no memory for %zu records; try --timers with less", nr);
	return memory;
}

static void setup(struct demo *demo, const struct htwheel_info *info)
{
	struct htwheel_setup choices = {
		.max_timers	= demo->nr,
		.ring_entries	= demo->ring_entries,
		.flags		= demo->with_table ? HTWHEEL_SETUP_TABLE : 0,
	};

	if (demo->ring_entries && !(info->features & HTWHEEL_FEAT_RING))
		fail(EXIT_DEVICE, "this module has no event ring");
	if (demo->with_table && !(info->features & HTWHEEL_FEAT_TABLE))
		fail(EXIT_DEVICE, "this module has no deadline table");
	device_setup(demo->fd, &choices);
	shared_map(&demo->shared, demo->fd);
}

static void prepare(struct demo *demo)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct htwheel_info info;

	demo->fd = device_open();
	device_info(demo->fd, &info);
	if (demo->nr > info.max_timers_ceiling)
		fail(EXIT_DEVICE, "the module's limit is %llu timers; load it with "
		     "max_timers=%" PRIu32, info.max_timers_ceiling, demo->nr);
	if (demo->nr > info.max_timers || demo->ring_entries || demo->with_table)
		setup(demo, &info);
	if (demo->batch > info.max_batch)
		demo->batch = info.max_batch;
	demo->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (demo->epoll < 0 || epoll_ctl(demo->epoll, EPOLL_CTL_ADD, demo->fd, &event))
		fail(EXIT_DEVICE, "epoll: %s", strerror(errno));

	demo->records = allocate(demo->nr, sizeof(*demo->records));
	demo->late_ns = allocate(demo->nr, sizeof(*demo->late_ns));
	demo->kernel_late_ns = allocate(demo->nr, sizeof(*demo->kernel_late_ns));
	demo->ops = allocate(demo->batch, sizeof(*demo->ops));
	demo->targets = allocate(demo->batch, sizeof(*demo->targets));
	printf("%" PRIu32 " timers of %.3f to %.3f s, batches of %" PRIu32 ", ", demo->nr,
	       demo->min_ns / 1e9, demo->max_ns / 1e9, demo->batch);
	printf("design %s, tick %.3f ms, %u CPUs\n", info.design, info.tick_ns / 1e6, info.cpus);
}

int command_demo(int argc, char **argv)
{
	struct demo demo = {
		.nr = 1000000,
		.batch = 4096,
		.min_ns = 100 * NSEC_PER_MSEC,
		.max_ns = 10000 * NSEC_PER_MSEC,
		.random = 1,
	};

	parse_options(&demo, argc, argv);
	prepare(&demo);
	demo.began_ns = now_ns();
	demo.reported_ns = demo.began_ns;
	run_load(&demo);
	run_rest(&demo);
	return demo_report(&demo);
}
