// SPDX-License-Identifier: GPL-2.0
/*
 * ARM and read: every event comes once, never early, and says what was armed.
 */
#include "harness.h"
#include "ledger.h"

#define NR_TIMERS	2000

FIXTURE(arm) {
	struct ledger ledger;
	struct htwheel_info info;
	int fd;
};

FIXTURE_SETUP(arm)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	ASSERT_EQ(0, ledger_init(&self->ledger, scaled(NR_TIMERS)));
}

FIXTURE_TEARDOWN(arm)
{
	ledger_free(&self->ledger);
	close(self->fd);
}

TEST_F(arm, relative)
{
	const uint64_t delay_ns = 3 * NS_PER_MS, user_data = 0xfedcba9876543210ULL;
	uint64_t before_ns, after_ns, id;
	struct htwheel_event event;

	before_ns = now_ns();
	ASSERT_EQ(0, arm_in(self->fd, delay_ns, user_data, &id));
	after_ns = now_ns();
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_LE(event.deadline_ns, now_ns());

	EXPECT_EQ(id, event.id);
	EXPECT_EQ(user_data, event.user_data);
	EXPECT_LE(before_ns + delay_ns, event.deadline_ns);
	EXPECT_GE(after_ns + delay_ns, event.deadline_ns);
	EXPECT_LE(event.deadline_ns, event.fired_ns);
	EXPECT_GE(now_ns(), event.fired_ns);
	EXPECT_EQ(1, event.count);
	EXPECT_EQ(0, event.tag);
	EXPECT_EQ(0, event.flags);
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
}

TEST_F(arm, absolute)
{
	uint64_t deadline_ns = now_ns() + 3 * NS_PER_MS, id;
	struct htwheel_event event;

	ASSERT_EQ(0, arm_at(self->fd, deadline_ns, 0, &id));
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(0, event.user_data);
	EXPECT_EQ(deadline_ns, event.deadline_ns);
	EXPECT_LE(deadline_ns, event.fired_ns);
	EXPECT_LE(event.fired_ns, now_ns());
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
}

/* No pass and no interrupt is waited for: the event is there when the call returns. */
TEST_F(arm, B55_deadline_in_the_past_can_be_read_at_once)
{
	const uint64_t now = now_ns();
	const uint64_t deadlines[] = { 0, 1, now / 2, now - now / 8, now - 1, now };
	struct htwheel_event event;
	uint64_t id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(deadlines); i++) {
		ASSERT_EQ(0, arm_at(self->fd, deadlines[i], i, &id));
		ASSERT_TRUE(is_readable(self->fd));
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		EXPECT_EQ(id, event.id);
		EXPECT_EQ(deadlines[i], event.deadline_ns);
		EXPECT_LE(now, event.fired_ns);
		EXPECT_FALSE(is_readable(self->fd));
	}
}

TEST_F(arm, B17_deadline_of_exactly_now)
{
	struct htwheel_event event;
	unsigned int i;
	uint64_t id;

	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(0, i & 1 ? arm_in(self->fd, 0, i, &id) :
			  arm_at(self->fd, now_ns(), i, &id));
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		ASSERT_EQ(id, event.id);
	}
}

TEST_F(arm, B17_deadlines_around_now)
{
	struct htwheel_op ops[64] = { { .opcode = 0 } };
	struct ledger *ledger = &self->ledger;
	unsigned int round, i;
	uint64_t now;

	for (round = 0; round < 50; round++) {
		now = now_ns();
		for (i = 0; i < ARRAY_SIZE(ops); i++) {
			ops[i].opcode = HTWHEEL_OP_ARM;
			ops[i].flags = HTWHEEL_ABSOLUTE;
			ops[i].time_ns = now + i * NS_PER_US - 10 * NS_PER_US;
			ops[i].user_data = i;
		}
		ASSERT_EQ(0, submit_all(self->fd, ops, ARRAY_SIZE(ops)));
		for (i = 0; i < ARRAY_SIZE(ops); i++) {
			ASSERT_EQ(0, ops[i].result);
			ledger_note_arm(ledger, &ops[i], i, 0, 0);
		}
		ASSERT_EQ(0, ledger_drain(ledger, self->fd, 0));
	}
	EXPECT_LEDGER_RIGHT(ledger);
	ASSERT_BOOKS_MATCH(ledger, self->fd);
}

/* Phases within a tick come by themselves: the arms do not know of ticks. */
TEST_F(arm, B61_never_early_one_by_one)
{
	struct ledger *ledger = &self->ledger;
	uint64_t end_ns = now_ns() + NS_PER_S / 2;
	uint32_t i;

	for (i = 0; i < ledger->nr && now_ns() < end_ns; i++) {
		ASSERT_EQ(0, ledger_arm(ledger, self->fd, i, 1, i % 1500,
					(1 + i % 4) * self->info.tick_ns));
		ASSERT_EQ(0, ledger_drain(ledger, self->fd, 0));
	}
	EXPECT_LEDGER_RIGHT(ledger);
	ASSERT_BOOKS_MATCH(ledger, self->fd);
}

TEST_F(arm, B61_never_early_in_batches)
{
	const uint64_t spreads[] = {
		0, 1, self->info.tick_ns - 1, 64 * self->info.tick_ns, 200 * NS_PER_MS,
	};
	struct ledger *ledger = &self->ledger;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(spreads); i++) {
		ASSERT_EQ(0, ledger_arm(ledger, self->fd, 0, ledger->nr, i, spreads[i]));
		ASSERT_EQ(0, ledger_drain(ledger, self->fd, 0));
	}
	EXPECT_LEDGER_RIGHT(ledger);
	ASSERT_BOOKS_MATCH(ledger, self->fd);
}

/* Deadlines that differ by less than a tick, on both sides of a tick's border. */
TEST_F(arm, B61_never_early_at_the_borders_of_ticks)
{
	const uint64_t tick_ns = self->info.tick_ns;
	struct ledger *ledger = &self->ledger;
	struct htwheel_op op;
	uint64_t border_ns;
	unsigned int i, j;

	for (i = 0; i < 20; i++) {
		border_ns = (now_ns() / tick_ns + 2 + i % 3) * tick_ns;
		for (j = 0; j < 7; j++) {
			op = (struct htwheel_op){
				.opcode = HTWHEEL_OP_ARM,
				.flags = HTWHEEL_ABSOLUTE,
				.time_ns = border_ns + j - 3,
				.user_data = j,
			};
			ASSERT_EQ(0, submit_one(self->fd, &op));
			ledger_note_arm(ledger, &op, j, 0, 0);
		}
		ASSERT_EQ(0, ledger_drain(ledger, self->fd, 0));
	}
	EXPECT_LEDGER_RIGHT(ledger);
}

/* The module's histogram has each of our events where we would have put it. */
TEST_F(arm, lateness_histogram_counts_each_event)
{
	struct ledger *ledger = &self->ledger;
	struct htwheel_stats stats;
	unsigned int i;

	ASSERT_EQ(0, ledger_arm(ledger, self->fd, 0, ledger->nr, 0, 50 * NS_PER_MS));
	ASSERT_EQ(0, ledger_drain(ledger, self->fd, 0));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	for (i = 0; i < HTWHEEL_LATE_BINS; i++) {
		EXPECT_EQ(ledger->late[i], stats.late[i]) {
			TH_LOG("bin %u", i);
		}
	}
}

TEST_F(arm, stats_follow_a_timer)
{
	struct htwheel_event event;
	struct htwheel_stats stats;
	uint64_t base = queued_timers();

	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, NULL));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(1, stats.armed);
	EXPECT_EQ(1, stats.pending);
	EXPECT_EQ(0, stats.expired);
	EXPECT_EQ(1, stats.peak);
	EXPECT_LE(64, stats.pool_bytes);
	EXPECT_EQ(base + 1, stats.queued);

	ASSERT_EQ(0, arm_in(self->fd, 0, 1, NULL));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(2, stats.armed);
	EXPECT_EQ(2, stats.pending);
	EXPECT_EQ(1, stats.expired);
	EXPECT_EQ(2, stats.peak);
	EXPECT_EQ(base + 1, stats.queued);

	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(2, stats.armed);
	EXPECT_EQ(1, stats.fired);
	EXPECT_EQ(1, stats.pending);
	EXPECT_EQ(0, stats.expired);
	EXPECT_EQ(2, stats.peak);
}

FIXTURE(far) {
	int fd;
};

FIXTURE_SETUP(far)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(far)
{
	close(self->fd);
}

/* Arm it, look at what is left, and at what is left a little later; then cancel it. */
static bool far_timer_is_right(int fd, uint32_t flags, uint64_t time_ns)
{
	const uint64_t pause_ns = 5 * NS_PER_MS;
	uint64_t before_ns, after_ns, id, left_ns, min_ns, max_ns;

	before_ns = now_ns();
	if (arm(fd, flags, time_ns, 0, &id))
		return false;
	after_ns = now_ns();
	min_ns = flags & HTWHEEL_ABSOLUTE ? time_ns : before_ns + time_ns;
	max_ns = flags & HTWHEEL_ABSOLUTE ? time_ns : after_ns + time_ns;
	min_ns = min_ns > HTWHEEL_NEVER_NS ? HTWHEEL_NEVER_NS : min_ns;
	max_ns = max_ns > HTWHEEL_NEVER_NS ? HTWHEEL_NEVER_NS : max_ns;

	/* What is never due may also be said to have its whole time left. */
	before_ns = now_ns();
	if (query(fd, id, &left_ns))
		return false;
	if (max_ns == HTWHEEL_NEVER_NS && left_ns == HTWHEEL_NEVER_NS)
		return !cancel(fd, id, NULL);
	if (left_ns > max_ns - before_ns || left_ns < min_ns - now_ns())
		return false;

	sleep_ns(pause_ns);
	before_ns = now_ns();
	if (cancel(fd, id, &left_ns))
		return false;
	return left_ns <= max_ns - before_ns && left_ns >= min_ns - now_ns();
}

#define EXPECT_FAR_RIGHT(time_ns)							\
	do {										\
		EXPECT_TRUE(far_timer_is_right(self->fd, 0, time_ns)) {			\
			TH_LOG("delay %llu", (unsigned long long)(time_ns));		\
		}									\
		EXPECT_TRUE(far_timer_is_right(self->fd, HTWHEEL_ABSOLUTE,		\
					       now_ns() + (time_ns))) {			\
			TH_LOG("deadline in %llu", (unsigned long long)(time_ns));	\
		}									\
	} while (0)

TEST_F(far, B54_milliseconds_beyond_32_bits)
{
	EXPECT_FAR_RIGHT(((1ULL << 31) - 1) * NS_PER_MS);
	EXPECT_FAR_RIGHT((1ULL << 31) * NS_PER_MS);
	EXPECT_FAR_RIGHT(((1ULL << 32) - 1) * NS_PER_MS);
	EXPECT_FAR_RIGHT((1ULL << 32) * NS_PER_MS);
	EXPECT_FAR_RIGHT(((1ULL << 32) + 1) * NS_PER_MS);
}

TEST_F(far, B56_seconds_beyond_32_bits)
{
	EXPECT_FAR_RIGHT((1ULL << 31) * NS_PER_S);
	EXPECT_FAR_RIGHT(((1ULL << 32) + 5) * NS_PER_S);
}

/* Up to the end of time. The low ones are too near to be asked for what is left of them. */
TEST_F(far, each_power_of_two_of_nanoseconds)
{
	unsigned int bit;

	for (bit = 36; bit < 63; bit++)
		EXPECT_FAR_RIGHT(1ULL << bit);
	EXPECT_TRUE(far_timer_is_right(self->fd, 0, HTWHEEL_NEVER_NS - 1));
	EXPECT_TRUE(far_timer_is_right(self->fd, HTWHEEL_ABSOLUTE, HTWHEEL_NEVER_NS - 1));
}

TEST_F(far, B51_never)
{
	EXPECT_TRUE(far_timer_is_right(self->fd, 0, HTWHEEL_NEVER_NS));
	EXPECT_TRUE(far_timer_is_right(self->fd, HTWHEEL_ABSOLUTE, HTWHEEL_NEVER_NS));
	EXPECT_EQ(-EINVAL, arm_in(self->fd, HTWHEEL_NEVER_NS + 1, 0, NULL));
	EXPECT_EQ(-EINVAL, arm_in(self->fd, UINT64_MAX, 0, NULL));
	EXPECT_EQ(-EINVAL, arm_at(self->fd, HTWHEEL_NEVER_NS + 1, 0, NULL));
	EXPECT_EQ(-EINVAL, arm_at(self->fd, UINT64_MAX, 0, NULL));
}

/* Far and endless timers neither fire nor hide a near one. */
TEST_F(far, B51_never_does_not_fire_nor_disturb)
{
	const uint64_t times[] = {
		HTWHEEL_NEVER_NS, HTWHEEL_NEVER_NS - 1, 1ULL << 62, (1ULL << 32) * NS_PER_S,
		(1ULL << 32) * NS_PER_MS, HOUR_NS,
	};
	uint64_t ids[2 * ARRAY_SIZE(times)], deadline_ns, left_ns;
	struct htwheel_event event;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		deadline_ns = now_ns() + times[i];
		if (deadline_ns > HTWHEEL_NEVER_NS)
			deadline_ns = HTWHEEL_NEVER_NS;
		ASSERT_EQ(0, arm_in(self->fd, times[i], i, &ids[2 * i]));
		ASSERT_EQ(0, arm_at(self->fd, deadline_ns, i, &ids[2 * i + 1]));
	}
	ASSERT_EQ(0, poll_for(self->fd, NS_PER_S / 2));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, arm_in(self->fd, i * 7 * NS_PER_MS, 100 + i, NULL));
		ASSERT_EQ(0, next_event(self->fd, &event));
		EXPECT_EQ(100 + i, event.user_data);
	}
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		EXPECT_EQ(0, query(self->fd, ids[i], &left_ns));
		EXPECT_LT(0, left_ns);
	}
	EXPECT_FALSE(is_readable(self->fd));
}

/* Whatever the rest is, it never wraps, and in the end it is 0. */
TEST_F(far, B25_remaining_time_never_underflows)
{
	const uint64_t delay_ns = 30 * NS_PER_MS;
	uint64_t id, left_ns, last_ns = delay_ns;
	struct htwheel_event event;
	int ret;

	ASSERT_EQ(0, arm_in(self->fd, delay_ns, 0, &id));
	do {
		ret = query(self->fd, id, &left_ns);
		ASSERT_LE(0, ret);
		ASSERT_GE(last_ns, left_ns);
		last_ns = left_ns;
	} while (ret != HTWHEEL_RES_FIRED);
	EXPECT_EQ(0, left_ns);
	EXPECT_EQ(HTWHEEL_RES_FIRED, query(self->fd, id, &left_ns));
	EXPECT_EQ(0, left_ns);

	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_EQ(-ENOENT, query(self->fd, id, NULL));
	EXPECT_EQ(-ENOENT, query(self->fd, 0, NULL));

	ASSERT_EQ(0, arm_in(self->fd, 0, 0, &id));
	EXPECT_EQ(HTWHEEL_RES_FIRED, query(self->fd, id, &left_ns));
	EXPECT_EQ(0, left_ns);
}

TEST_HARNESS_MAIN
