// SPDX-License-Identifier: GPL-2.0
/*
 * Points in time are those of the caller's time namespace, at each call.
 *
 * Each test runs in a child that has clocks of its own, ahead of the machine's or behind them.
 */
#include "harness.h"
#include "many.h"
#include "timens.h"

#define NEVER		HTWHEEL_NEVER_NS
#define NR_TIMERS	50

FIXTURE(timens) {
	/* The machine's view. */
	int fd;
};

FIXTURE_VARIANT(timens) {
	uint32_t clock;
	/* What the child's clocks are ahead of the machine's, in seconds. */
	int64_t ahead_s;
};

FIXTURE_VARIANT_ADD(timens, monotonic_ahead) {
	.clock = HTWHEEL_CLOCK_MONOTONIC, .ahead_s = 1000000,
};

FIXTURE_VARIANT_ADD(timens, monotonic_behind) {
	.clock = HTWHEEL_CLOCK_MONOTONIC, .ahead_s = -1,
};

FIXTURE_VARIANT_ADD(timens, boottime_ahead) {
	.clock = HTWHEEL_CLOCK_BOOTTIME, .ahead_s = 1000000,
};

FIXTURE_VARIANT_ADD(timens, boottime_behind) {
	.clock = HTWHEEL_CLOCK_BOOTTIME, .ahead_s = -1,
};

static int open_with_clock(uint32_t clock)
{
	struct htwheel_setup setup = { .size = sizeof(setup), .clock = clock };
	int fd = open_device(O_NONBLOCK);

	if (fd >= 0 && device_ioctl(fd, HTWHEEL_IOC_SETUP, &setup)) {
		close(fd);
		return -EOPNOTSUPP;
	}
	return fd;
}

FIXTURE_SETUP(timens)
{
	struct htwheel_info info;

	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &info));
	close(self->fd);
	if (!(info.features & HTWHEEL_FEAT_TIMENS))
		SKIP(return, "the module has no TIMENS");
	if (access("/proc/self/timens_offsets", W_OK))
		SKIP(return, "the kernel has no time namespaces");
	self->fd = open_with_clock(variant->clock);
	ASSERT_LE(0, self->fd);
	/* A clock cannot be set to before its beginning. */
	while (now_ns() < 2 * NS_PER_S)
		sleep_ns(100 * NS_PER_MS);
}

FIXTURE_TEARDOWN(timens)
{
	close(self->fd);
}

/* Deadlines in events are those that were given, and are never early by the caller's clock. */
static const char *absolute_deadlines(int fd, uint32_t clock, int64_t ahead_ns)
{
	uint64_t start_ns = clock_ns(clock) + 5 * NS_PER_MS, read_ns;
	struct htwheel_event event;
	int i;

	(void)fd;
	(void)ahead_ns;
	fd = open_with_clock(clock);
	if (fd < 0)
		return "open";
	for (i = 0; i < NR_TIMERS; i++)
		if (arm_at(fd, start_ns + i * NS_PER_MS, i, NULL))
			return "arm";
	for (i = 0; i < NR_TIMERS; i++) {
		if (next_event(fd, &event))
			return "no event";
		read_ns = clock_ns(clock);
		if (event.deadline_ns != start_ns + event.user_data * NS_PER_MS)
			return "deadline";
		if (event.fired_ns < event.deadline_ns || read_ns < event.fired_ns)
			return "fired_ns";
	}
	return NULL;
}

TEST_F(timens, absolute_deadlines)
{
	EXPECT_RIGHT_INSIDE(absolute_deadlines);
}

static const char *relative_delays(int fd, uint32_t clock, int64_t ahead_ns)
{
	uint64_t before_ns, after_ns, read_ns, left_ns, id;
	struct htwheel_event event;

	(void)ahead_ns;
	before_ns = clock_ns(clock);
	if (arm_in(fd, 20 * NS_PER_MS, 7, NULL))
		return "arm";
	after_ns = clock_ns(clock);
	if (next_event(fd, &event))
		return "no event";
	read_ns = clock_ns(clock);
	if (event.deadline_ns < before_ns + 20 * NS_PER_MS ||
	    event.deadline_ns > after_ns + 20 * NS_PER_MS)
		return "deadline";
	if (event.fired_ns < event.deadline_ns || event.fired_ns > read_ns)
		return "fired_ns";
	if (arm_in(fd, HOUR_NS, 7, &id) || query(fd, id, &left_ns) || left_ns > HOUR_NS ||
	    left_ns < HOUR_NS / 2)
		return "time left of a delay";
	if (rearm_at(fd, id, clock_ns(clock) + HOUR_NS) || query(fd, id, &left_ns) ||
	    left_ns > HOUR_NS || left_ns < HOUR_NS / 2)
		return "time left to a deadline";
	if (cancel(fd, id, &left_ns) || left_ns > HOUR_NS || left_ns < HOUR_NS / 2)
		return "time left at the end";
	return NULL;
}

TEST_F(timens, relative_delays_and_time_left)
{
	EXPECT_RIGHT_INSIDE(relative_delays);
}

static const char *listed(int fd, uint32_t clock, int64_t ahead_ns)
{
	uint64_t due_ns = clock_ns(clock) + HOUR_NS, id, never, fired;
	struct htwheel_dump_entry entry;

	(void)ahead_ns;
	if (arm_at(fd, due_ns, 1, &id) || arm_at(fd, NEVER, 2, &never) ||
	    arm_at(fd, due_ns - HOUR_NS, 3, &fired))
		return "arm";
	if (dump_one(fd, id, &entry) || entry.deadline_ns != due_ns || entry.left_ns > HOUR_NS ||
	    entry.left_ns < HOUR_NS / 2)
		return "armed";
	if (dump_one(fd, never, &entry) || entry.deadline_ns != NEVER)
		return "never";
	if (dump_one(fd, fired, &entry) || entry.deadline_ns != due_ns - HOUR_NS || entry.left_ns)
		return "fired";
	return NULL;
}

TEST_F(timens, listed_deadlines)
{
	EXPECT_RIGHT_INSIDE(listed);
}

/* The end of the clock has no offset; next to it a point may become the end, or stay. */
static const char *never_comes(int fd, uint32_t clock, int64_t ahead_ns)
{
	const uint64_t times[] = { NEVER, NEVER - 1, NEVER - 1000000 * NS_PER_S, 1ULL << 62 };
	struct htwheel_dump_entry entry;
	uint64_t id, left_ns;
	size_t i;

	(void)clock;
	(void)ahead_ns;
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		if (arm_at(fd, times[i], i, &id))
			return "arm";
		if (dump_one(fd, id, &entry) ||
		    (entry.deadline_ns != times[i] && entry.deadline_ns != NEVER))
			return "deadline";
		if (times[i] == 1ULL << 62 && entry.deadline_ns != times[i])
			return "a deadline that can be represented";
		if (query(fd, id, &left_ns) || left_ns < 1ULL << 61)
			return "time left";
	}
	if (arm_in(fd, NEVER, i, &id) || dump_one(fd, id, &entry) || entry.deadline_ns != NEVER)
		return "a delay that never ends";
	return poll_for(fd, 50 * NS_PER_MS) ? "it came" : NULL;
}

TEST_F(timens, B51_NEVER_stays_NEVER)
{
	EXPECT_RIGHT_INSIDE(never_comes);
}

/* Points that the machine's clock has never shown, and 0: they have passed. */
static const char *past_deadlines(int fd, uint32_t clock, int64_t ahead_ns)
{
	const uint64_t first_ns = ahead_ns > 0 ? ahead_ns : 0;
	const uint64_t times[] = {
		0, 1, first_ns / 2, first_ns, first_ns + 1, clock_ns(clock),
	};
	struct htwheel_event event;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		if (arm_at(fd, times[i], i, NULL))
			return "arm";
		if (read_events(fd, &event, 1) != 1)
			return "it does not fire at once";
		/* Before the machine's clock began is its beginning. */
		if (event.deadline_ns != times[i] &&
		    event.deadline_ns != (times[i] < first_ns ? first_ns : times[i]))
			return "deadline";
		if (event.fired_ns < event.deadline_ns || event.fired_ns > clock_ns(clock))
			return "fired_ns";
	}
	return NULL;
}

TEST_F(timens, B55_deadlines_in_the_past_fire_at_once)
{
	EXPECT_RIGHT_INSIDE(past_deadlines);
}

static const char *periodic(int fd, uint32_t clock, int64_t ahead_ns)
{
	const uint64_t period_ns = 7 * NS_PER_MS, first_ns = clock_ns(clock) + 3 * NS_PER_MS;
	struct htwheel_op op = {
		.opcode = HTWHEEL_OP_ARM, .flags = HTWHEEL_ABSOLUTE | HTWHEEL_PERIODIC,
		.time_ns = first_ns, .period_ns = period_ns,
	};
	uint64_t next_ns = first_ns, read_ns;
	struct htwheel_event event;
	int round;

	(void)ahead_ns;
	if (submit_one(fd, &op))
		return "arm";
	for (round = 0; round < 10; round++) {
		if (next_event(fd, &event))
			return "no event";
		read_ns = clock_ns(clock);
		if (event.deadline_ns != next_ns)
			return "deadline";
		if (event.fired_ns < event.deadline_ns || event.fired_ns > read_ns)
			return "fired_ns";
		next_ns += event.count * period_ns;
		if (next_ns <= event.fired_ns || next_ns > read_ns + period_ns)
			return "count";
	}
	return NULL;
}

TEST_F(timens, periodic_timers)
{
	EXPECT_RIGHT_INSIDE(periodic);
}

/* SHIFT and SCALE move deadlines by what is the same on all clocks. */
static const char *moved(int fd, uint32_t clock, int64_t ahead_ns)
{
	const struct htwheel_mass shift = {
		.opcode = HTWHEEL_MASS_SHIFT, .shift_ns = -12345,
	};
	const struct htwheel_mass scale = {
		.opcode = HTWHEEL_MASS_SCALE, .numerator = 1, .denominator = 2,
	};
	uint64_t due_ns = clock_ns(clock) + HOUR_NS, id, done;
	struct htwheel_dump_entry entry;

	(void)ahead_ns;
	if (arm_at(fd, due_ns, 1, &id))
		return "arm";
	if (mass_all(fd, shift, &done) || done != 1)
		return "shift";
	if (dump_one(fd, id, &entry) || entry.deadline_ns != due_ns - 12345)
		return "deadline";
	if (mass_all(fd, scale, &done) || done != 1)
		return "scale";
	if (dump_one(fd, id, &entry) || entry.left_ns > HOUR_NS / 2 ||
	    entry.deadline_ns > due_ns || entry.deadline_ns < due_ns - HOUR_NS / 2 - 12345)
		return "deadline after scale";
	return NULL;
}

TEST_F(timens, shift_and_scale)
{
	EXPECT_RIGHT_INSIDE(moved);
}

#define OUTER_TAG	77

/* One context, two views: what the machine's side armed, as this side sees it. */
static const char *other_view(int fd, uint32_t clock, int64_t ahead_ns)
{
	struct htwheel_dump_entry entries[8];
	int64_t outer_ns, nr, i;

	(void)clock;
	nr = dump_all(fd, entries, 8);
	if (nr < 2)
		return "list";
	for (i = 0; i < nr; i++) {
		/* It said in user_data what the deadline is in its own eyes. */
		outer_ns = entries[i].user_data;
		if (entries[i].tag != OUTER_TAG)
			continue;
		if (outer_ns == (int64_t)NEVER) {
			if (entries[i].deadline_ns != NEVER)
				return "never";
			continue;
		}
		outer_ns = outer_ns + ahead_ns < 0 ? 0 : outer_ns + ahead_ns;
		if ((int64_t)entries[i].deadline_ns != outer_ns)
			return "deadline";
	}
	/* And this side's, for the machine's. */
	return arm_at(fd, clock_ns(clock) + HOUR_NS, 1, NULL) ? "arm" : NULL;
}

TEST_F(timens, a_file_in_two_namespaces_shows_each_its_own_view)
{
	const uint64_t times[] = { clock_ns(variant->clock) + HOUR_NS, NEVER, 5 };
	struct htwheel_dump_entry entries[8];
	struct htwheel_op op;
	uint64_t now;
	int i, nr, seen = 0;

	for (i = 0; i < 3; i++) {
		op = (struct htwheel_op){
			.opcode = HTWHEEL_OP_ARM, .flags = HTWHEEL_ABSOLUTE, .time_ns = times[i],
			.user_data = times[i], .tag = OUTER_TAG,
		};
		ASSERT_EQ(0, submit_one(self->fd, &op));
	}
	EXPECT_RIGHT_INSIDE(other_view);
	now = clock_ns(variant->clock);
	nr = dump_all(self->fd, entries, 8);
	ASSERT_EQ(4, nr);
	for (i = 0; i < nr; i++) {
		if (entries[i].tag == OUTER_TAG) {
			EXPECT_EQ(entries[i].user_data, entries[i].deadline_ns);
			continue;
		}
		seen++;
		EXPECT_GE(now + HOUR_NS, entries[i].deadline_ns);
		EXPECT_LE(now, entries[i].deadline_ns);
	}
	EXPECT_EQ(1, seen);
}

/* The moment of the read decides whose view it is, not that of the arm. */
static const char *reads_outer_events(int fd, uint32_t clock, int64_t ahead_ns)
{
	struct htwheel_event event;
	int64_t due_ns;
	int i;

	for (i = 0; i < 2; i++) {
		if (next_event(fd, &event))
			return "no event";
		due_ns = (int64_t)event.user_data + ahead_ns;
		if ((int64_t)event.deadline_ns != (due_ns < 0 ? 0 : due_ns))
			return "deadline";
		if (event.fired_ns < event.deadline_ns || event.fired_ns > clock_ns(clock))
			return "fired_ns";
	}
	return NULL;
}

TEST_F(timens, events_are_shown_as_the_reader_sees_them)
{
	const uint64_t due_ns = clock_ns(variant->clock) + 10 * NS_PER_MS;

	ASSERT_EQ(0, arm_at(self->fd, 5, 5, NULL));
	ASSERT_EQ(0, arm_at(self->fd, due_ns, due_ns, NULL));
	EXPECT_RIGHT_INSIDE(reads_outer_events);
}

TEST_HARNESS_MAIN
