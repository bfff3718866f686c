/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program's own books on its timers, kept apart from the module's.
 *
 * Each timer has a number, which travels as user_data. The ledger knows what may still happen to
 * it, and judges each event by that: nothing early, nothing twice, nothing that was cancelled, no
 * field wrong. Lost is what is still live when there is nothing left to come.
 *
 * One thread at a time; concurrent tests give each thread a ledger, or have one thread read.
 */
#ifndef HTWHEEL_LEDGER_H
#define HTWHEEL_LEDGER_H

#include "common.h"

enum ledger_state {
	LEDGER_NONE,
	LEDGER_LIVE,
	LEDGER_FIRED,
	LEDGER_CANCELLED,
};

/* The deadline lies between two readings of the clock, which are equal for an absolute time. */
struct ledger_timer {
	uint64_t		id;
	uint64_t		due_min_ns;
	uint64_t		due_max_ns;
	enum ledger_state	state;
};

struct ledger {
	struct ledger_timer	*timers;
	uint32_t		nr;
	uint64_t		chance;
	/* Times are points on the clock rather than delays. */
	bool			absolute;

	/* The books. */
	uint64_t		armed;
	uint64_t		fired;
	uint64_t		cancelled;
	uint64_t		replaced;

	/* What must stay 0. */
	uint64_t		early;
	uint64_t		repeated;
	uint64_t		unknown;
	uint64_t		damaged;

	/* What the module should have counted in its histogram. */
	uint64_t		late[HTWHEEL_LATE_BINS];
};

static inline int ledger_init(struct ledger *ledger, uint32_t nr)
{
	memset(ledger, 0, sizeof(*ledger));
	ledger->nr = nr;
	ledger->chance = 0x9e3779b97f4a7c15ULL ^ number_from_env("HTWHEEL_SEED", 1);
	ledger->timers = calloc(nr, sizeof(*ledger->timers));
	return ledger->timers ? 0 : -ENOMEM;
}

static inline void ledger_free(struct ledger *ledger)
{
	free(ledger->timers);
	ledger->timers = NULL;
}

static inline uint64_t ledger_pending(const struct ledger *ledger)
{
	return ledger->armed - ledger->fired - ledger->cancelled - ledger->replaced;
}

static inline uint64_t ledger_wrong(const struct ledger *ledger)
{
	return ledger->early + ledger->repeated + ledger->unknown + ledger->damaged;
}

static inline unsigned int late_bin(uint64_t late_ns)
{
	unsigned int bin = 0;

	while (bin < HTWHEEL_LATE_BINS - 1 && late_ns >> (10 + bin))
		bin++;
	return bin;
}

/*
 * Enter an arm or a re-arm that the module accepted; the clock was read before and after the call.
 */
static inline void ledger_note_arm(struct ledger *ledger, const struct htwheel_op *op,
				   uint32_t number, uint64_t before_ns, uint64_t after_ns)
{
	struct ledger_timer *timer = &ledger->timers[number];
	bool absolute = op->flags & HTWHEEL_ABSOLUTE;

	timer->id = op->id;
	timer->due_min_ns = op->time_ns + (absolute ? 0 : before_ns);
	timer->due_max_ns = op->time_ns + (absolute ? 0 : after_ns);
	timer->state = LEDGER_LIVE;
	ledger->armed++;
}

static inline void ledger_note_rearm(struct ledger *ledger, const struct htwheel_op *op,
				     uint32_t number, uint64_t before_ns, uint64_t after_ns)
{
	ledger_note_arm(ledger, op, number, before_ns, after_ns);
	ledger->replaced++;
}

static inline void ledger_note_cancel(struct ledger *ledger, uint32_t number)
{
	ledger->timers[number].state = LEDGER_CANCELLED;
	ledger->cancelled++;
}

static inline void ledger_note_event(struct ledger *ledger, const struct htwheel_event *event,
				     uint64_t read_ns)
{
	struct ledger_timer *timer = &ledger->timers[event->user_data % ledger->nr];

	if (event->user_data >= ledger->nr || event->id != timer->id) {
		ledger->unknown++;
		return;
	}
	ledger->early += read_ns < event->deadline_ns || event->fired_ns < event->deadline_ns ||
			 event->deadline_ns < timer->due_min_ns;
	ledger->damaged += event->deadline_ns > timer->due_max_ns || event->fired_ns > read_ns ||
			   event->count != 1 || event->tag || event->flags;
	ledger->repeated += timer->state == LEDGER_FIRED;
	ledger->unknown += timer->state == LEDGER_NONE || timer->state == LEDGER_CANCELLED;
	timer->state = LEDGER_FIRED;
	ledger->fired++;
	ledger->late[late_bin(event->fired_ns - event->deadline_ns)]++;
}

/* Read what there is now: number of events, or a negative errno (0 rather than -EAGAIN). */
static inline int ledger_read(struct ledger *ledger, int fd)
{
	struct htwheel_event events[128];
	uint64_t read_ns;
	int i, nr;

	nr = read_events(fd, events, ARRAY_SIZE(events));
	if (nr == -EAGAIN)
		return 0;
	read_ns = now_ns();
	for (i = 0; i < nr; i++)
		ledger_note_event(ledger, &events[i], read_ns);
	return nr;
}

/* Read until nothing but so many timers is left; -ETIME if the others never come. */
static inline int ledger_drain(struct ledger *ledger, int fd, uint64_t left)
{
	int ret;

	while (ledger_pending(ledger) > left) {
		if (!wait_readable(fd))
			return -ETIME;
		ret = ledger_read(ledger, fd);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* What the module answered, entered into the ledger: 0, or the operation's errno. */
static inline int ledger_note_op(struct ledger *ledger, const struct htwheel_op *op,
				 uint32_t number, uint64_t before_ns, uint64_t after_ns)
{
	if (op->result < 0)
		return op->result;
	if (op->opcode == HTWHEEL_OP_ARM)
		ledger_note_arm(ledger, op, number, before_ns, after_ns);
	else if (op->opcode == HTWHEEL_OP_REARM)
		ledger_note_rearm(ledger, op, number, before_ns, after_ns);
	else
		ledger_note_cancel(ledger, number);
	return 0;
}

/* The same for the timers [first, first + nr), which are few enough for one array. */
static inline int ledger_do_batch(struct ledger *ledger, int fd, uint16_t opcode, uint32_t first,
				  uint32_t nr, uint64_t from_ns, uint64_t spread_ns)
{
	struct htwheel_op ops[BATCH];
	uint64_t before_ns, after_ns;
	uint32_t i;
	int ret;

	memset(ops, 0, nr * sizeof(*ops));
	for (i = 0; i < nr; i++) {
		ops[i].opcode = opcode;
		ops[i].result = -JUNK;
		ops[i].id = opcode == HTWHEEL_OP_ARM ? JUNK64 : ledger->timers[first + i].id;
		ops[i].user_data = first + i;
		if (opcode == HTWHEEL_OP_CANCEL)
			continue;
		ops[i].flags = ledger->absolute ? HTWHEEL_ABSOLUTE : 0;
		ops[i].time_ns = from_ns + chance_below(&ledger->chance, spread_ns + 1);
	}
	before_ns = now_ns();
	ret = submit_all(fd, ops, nr);
	after_ns = now_ns();
	for (i = 0; i < nr && !ret; i++)
		ret = ledger_note_op(ledger, &ops[i], first + i, before_ns, after_ns);
	return ret;
}

/*
 * Arm, re-arm or cancel the timers [first, first + nr), each with a delay (or a deadline, if the
 * ledger is absolute) from [from_ns, from_ns + spread_ns]. Returns 0, or a negative errno of the
 * call or of one of the operations.
 */
static inline int ledger_do(struct ledger *ledger, int fd, uint16_t opcode, uint32_t first,
			    uint32_t nr, uint64_t from_ns, uint64_t spread_ns)
{
	uint32_t batch;
	int ret = 0;

	for (; nr && !ret; first += batch, nr -= batch) {
		batch = nr < BATCH ? nr : BATCH;
		ret = ledger_do_batch(ledger, fd, opcode, first, batch, from_ns, spread_ns);
	}
	return ret;
}

static inline int ledger_arm(struct ledger *ledger, int fd, uint32_t first, uint32_t nr,
			     uint64_t from_ns, uint64_t spread_ns)
{
	return ledger_do(ledger, fd, HTWHEEL_OP_ARM, first, nr, from_ns, spread_ns);
}

static inline int ledger_rearm(struct ledger *ledger, int fd, uint32_t first, uint32_t nr,
			       uint64_t from_ns, uint64_t spread_ns)
{
	return ledger_do(ledger, fd, HTWHEEL_OP_REARM, first, nr, from_ns, spread_ns);
}

static inline int ledger_cancel(struct ledger *ledger, int fd, uint32_t first, uint32_t nr)
{
	return ledger_do(ledger, fd, HTWHEEL_OP_CANCEL, first, nr, 0, 0);
}

/* The first difference between the ledger and the module's books, NULL if there is none. */
static inline const char *ledger_mismatch(const struct ledger *ledger, int fd)
{
	struct htwheel_stats stats;
	uint64_t late = 0;
	size_t i;

	if (device_stats(fd, &stats))
		return "the call failed";
	for (i = 0; i < HTWHEEL_LATE_BINS; i++)
		late += stats.late[i];
	if (stats.armed != stats.fired + stats.cancelled + stats.replaced + stats.pending)
		return "the module's books do not balance";
	if (stats.armed != ledger->armed)
		return "armed";
	if (stats.fired != ledger->fired)
		return "fired";
	if (stats.cancelled != ledger->cancelled)
		return "cancelled";
	if (stats.replaced != ledger->replaced)
		return "replaced";
	if (stats.expired > stats.pending)
		return "expired";
	if (stats.peak < stats.pending + stats.idle)
		return "peak";
	if (late != stats.fired)
		return "late";
	/* A ledger's timers end with their events, and each of these stands for itself. */
	if (stats.idle || stats.missed)
		return "idle or missed";
	return NULL;
}

/* What every test that keeps a ledger checks at its end. */
#define EXPECT_LEDGER_RIGHT(ledger)							\
	do {										\
		EXPECT_EQ(0, (ledger)->early);						\
		EXPECT_EQ(0, (ledger)->repeated);					\
		EXPECT_EQ(0, (ledger)->unknown);					\
		EXPECT_EQ(0, (ledger)->damaged);					\
	} while (0)

#define ASSERT_BOOKS_MATCH(ledger, fd)							\
	do {										\
		const char *_mismatch = ledger_mismatch(ledger, fd);			\
											\
		ASSERT_STREQ("nothing", _mismatch ? _mismatch : "nothing");		\
	} while (0)

#endif /* HTWHEEL_LEDGER_H */
