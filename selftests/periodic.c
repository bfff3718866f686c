// SPDX-License-Identifier: GPL-2.0
/*
 * Periodic timers: what each policy makes of missed periods, and what a period may be.
 *
 * A first deadline in the past is a stall whose length is known to the nanosecond.
 */
#include "harness.h"
#include "turns.h"

/* The next deadline after a stall is waited for. */
#define MAX_PERIOD_NS	(NS_PER_S / 2)

FIXTURE(policy) {
	struct htwheel_info info;
	int fd;
};

FIXTURE_VARIANT(policy) {
	uint16_t	policy;
	/* Of ten periods that ended before the read: events, and the count of each. */
	int		events;
	uint64_t	count;
};

FIXTURE_VARIANT_ADD(policy, count) {
	.policy = HTWHEEL_POLICY_COUNT,
	.events = 1,
	.count = 10,
};

FIXTURE_VARIANT_ADD(policy, skip) {
	.policy = HTWHEEL_POLICY_SKIP,
	.events = 1,
	.count = 1,
};

FIXTURE_VARIANT_ADD(policy, burst) {
	.policy = HTWHEEL_POLICY_BURST,
	.events = 10,
	.count = 1,
};

FIXTURE_VARIANT_ADD(policy, delay) {
	.policy = HTWHEEL_POLICY_DELAY,
	.events = 1,
	.count = 1,
};

FIXTURE_SETUP(policy)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	ASSERT_TRUE(has_features(self->fd, HTWHEEL_FEAT_PERIODIC | HTWHEEL_FEAT_DUMP));
}

FIXTURE_TEARDOWN(policy)
{
	close(self->fd);
}

/* What was known of one stall when it was over. */
struct stall {
	uint64_t		id;
	uint64_t		first_ns;
	uint64_t		period_ns;
	uint64_t		before_ns;
	uint64_t		after_ns;
	struct htwheel_event	events[32];
	int			nr;
};

/*
 * Nine and a half periods late. The tenth may be over when a slow machine has read, so it tries
 * again; 0 if ten deadlines, no more, had passed by then.
 */
static int stall_for_ten(int fd, uint16_t policy, struct stall *stall)
{
	int ret;

	/* The clock began with the machine, so periods are short when that was just now. */
	if (now_ns() < 2 * NS_PER_S)
		sleep_ns(2 * NS_PER_S - now_ns());
	for (;;) {
		stall->period_ns = now_ns() / 16 < MAX_PERIOD_NS ? now_ns() / 16 : MAX_PERIOD_NS;
		stall->first_ns = now_ns() - 9 * stall->period_ns - stall->period_ns / 2;
		ret = arm_every(fd, policy, stall->first_ns, stall->period_ns, 7, &stall->id);
		if (ret)
			return ret;
		stall->before_ns = now_ns();
		stall->nr = read_events(fd, stall->events, ARRAY_SIZE(stall->events));
		stall->after_ns = now_ns();
		if (turns_by(stall->first_ns, stall->period_ns, stall->after_ns) == 10)
			return 0;
		ret = cancel(fd, stall->id, NULL);
		if (ret < 0)
			return ret;
	}
}

/* The example of the header: a period of 10, a first deadline of 10, a reader who comes at 105. */
TEST_F(policy, B48_reader_who_comes_late)
{
	struct htwheel_event event;
	struct stall stall;
	uint64_t next_ns;
	int i;

	ASSERT_EQ(0, stall_for_ten(self->fd, variant->policy, &stall));
	ASSERT_EQ(variant->events, stall.nr);
	for (i = 0; i < stall.nr; i++) {
		EXPECT_EQ(stall.id, stall.events[i].id);
		EXPECT_EQ(7, stall.events[i].user_data);
		EXPECT_EQ(stall.first_ns + i * stall.period_ns, stall.events[i].deadline_ns);
		EXPECT_EQ(variant->count, stall.events[i].count);
		EXPECT_EQ(HTWHEEL_EVENT_LIVE, stall.events[i].flags);
		EXPECT_LE(stall.events[i].deadline_ns, stall.events[i].fired_ns);
		EXPECT_GE(stall.after_ns, stall.events[i].fired_ns);
	}
	next_ns = dumped_deadline_ns(self->fd, stall.id);
	if (variant->policy == HTWHEEL_POLICY_DELAY) {
		EXPECT_LE(stall.before_ns + stall.period_ns, next_ns);
		EXPECT_GE(stall.after_ns + stall.period_ns, next_ns);
	} else {
		EXPECT_EQ(stall.first_ns + 10 * stall.period_ns, next_ns);
	}
	/* And that is when it comes. */
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_EQ(next_ns, event.deadline_ns);
	EXPECT_LE(next_ns, event.fired_ns);
	EXPECT_EQ(stall.id, event.id);
}

TEST_F(policy, books_of_a_reader_who_comes_late)
{
	struct htwheel_stats then, now;
	struct stall stall;

	ASSERT_EQ(0, stall_for_ten(self->fd, variant->policy, &stall));
	do {
		ASSERT_LE(0, cancel(self->fd, stall.id, NULL));
		ASSERT_EQ(0, device_stats(self->fd, &then));
		ASSERT_EQ(0, stall_for_ten(self->fd, variant->policy, &stall));
		ASSERT_EQ(0, device_stats(self->fd, &now));
		/*
		 * Further attempts are in the books as well; and by the time that the books are
		 * read, the next period must not be over.
		 */
	} while (now.cancelled != then.cancelled ||
		 turns_by(stall.first_ns, stall.period_ns, now_ns()) != 10);
	EXPECT_TRUE(books_balance(&now));
	/* The arm, and a turn for each event. */
	EXPECT_EQ(1 + variant->events, now.armed - then.armed);
	EXPECT_EQ(variant->events, now.fired - then.fired);
	EXPECT_EQ(variant->events * (variant->count - 1), now.missed - then.missed);
	EXPECT_EQ(0, now.replaced - then.replaced);
	EXPECT_EQ(1, now.pending);
	EXPECT_EQ(0, now.expired);
	EXPECT_EQ(0, now.idle);
}

/* An event on time stands for itself, whatever the policy, and the next is a period later. */
TEST_F(policy, reader_who_is_there)
{
	const uint64_t period_ns = 2 * patience_ns();
	uint64_t id, first_ns = now_ns() + 3 * NS_PER_MS, before_ns, after_ns, next_ns;
	struct htwheel_event event;

	ASSERT_EQ(0, arm_every(self->fd, variant->policy, first_ns, period_ns, 0, &id));
	EXPECT_FALSE(is_readable(self->fd) && now_ns() < first_ns);
	ASSERT_TRUE(wait_readable(self->fd));
	before_ns = now_ns();
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	after_ns = now_ns();
	EXPECT_EQ(first_ns, event.deadline_ns);
	EXPECT_EQ(1, event.count);
	EXPECT_LE(first_ns, event.fired_ns);
	EXPECT_GE(before_ns, event.fired_ns);
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
	next_ns = dumped_deadline_ns(self->fd, id);
	if (variant->policy == HTWHEEL_POLICY_DELAY) {
		EXPECT_LE(before_ns + period_ns, next_ns);
		EXPECT_GE(after_ns + period_ns, next_ns);
	} else {
		EXPECT_EQ(first_ns + period_ns, next_ns);
	}
}

/* The first time may be a delay. */
TEST_F(policy, relative_first_time)
{
	struct htwheel_op op = {
		.flags = HTWHEEL_PERIODIC,
		.policy = variant->policy,
		.time_ns = 3 * NS_PER_MS,
		.period_ns = HOUR_NS,
	};
	uint64_t before_ns = now_ns(), after_ns, id;
	struct htwheel_event event;

	ASSERT_EQ(0, arm_like(self->fd, op, &id));
	after_ns = now_ns();
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_LE(before_ns + op.time_ns, event.deadline_ns);
	EXPECT_GE(after_ns + op.time_ns, event.deadline_ns);
	EXPECT_EQ(HTWHEEL_EVENT_LIVE, event.flags);
	if (variant->policy != HTWHEEL_POLICY_DELAY)
		EXPECT_EQ(event.deadline_ns + HOUR_NS, dumped_deadline_ns(self->fd, id));
}

TEST_F(policy, operations_on_an_armed_one)
{
	uint64_t id, left_ns, deadline_ns;
	struct htwheel_stats stats;

	ASSERT_EQ(0, arm_every(self->fd, variant->policy, now_ns() + HOUR_NS, HOUR_NS, 0, &id));
	EXPECT_EQ(0, query(self->fd, id, &left_ns));
	EXPECT_GE(HOUR_NS, left_ns);
	EXPECT_LT(HOUR_NS / 2, left_ns);
	deadline_ns = now_ns() + 2 * HOUR_NS;
	EXPECT_EQ(0, rearm_at(self->fd, id, deadline_ns));
	EXPECT_EQ(deadline_ns, dumped_deadline_ns(self->fd, id));
	EXPECT_EQ(0, cancel(self->fd, id, &left_ns));
	EXPECT_GE(2 * HOUR_NS, left_ns);
	EXPECT_LT(HOUR_NS, left_ns);
	EXPECT_EQ(-ENOENT, cancel(self->fd, id, NULL));
	EXPECT_EQ(-ENOENT, rearm_in(self->fd, id, 0));
	EXPECT_EQ(-ENOENT, query(self->fd, id, NULL));
	EXPECT_FALSE(is_readable(self->fd));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(2, stats.armed);
	EXPECT_EQ(1, stats.replaced);
	EXPECT_EQ(1, stats.cancelled);
	EXPECT_EQ(0, stats.pending);
}

TEST_F(policy, B41_cancel_of_a_fired_one)
{
	struct htwheel_stats stats;
	uint64_t id, left_ns;

	ASSERT_EQ(0, arm_every(self->fd, variant->policy, 0, NS_PER_MS, 0, &id));
	EXPECT_EQ(HTWHEEL_RES_FIRED, query(self->fd, id, &left_ns));
	EXPECT_EQ(0, left_ns);
	EXPECT_EQ(HTWHEEL_RES_FIRED, cancel(self->fd, id, &left_ns));
	EXPECT_EQ(0, left_ns);
	EXPECT_FALSE(is_readable(self->fd));
	EXPECT_EQ(-ENOENT, cancel(self->fd, id, NULL));
	/* Nor later. */
	EXPECT_EQ(0, poll_for(self->fd, 20 * NS_PER_MS));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(1, stats.armed);
	EXPECT_EQ(1, stats.cancelled);
	EXPECT_EQ(0, stats.missed);
	EXPECT_EQ(0, stats.fired);
	EXPECT_TRUE(books_balance(&stats));
}

/* What was missed before the re-arm belongs to the deadlines that it replaced. */
TEST_F(policy, B41_rearm_of_a_fired_one)
{
	uint64_t id, deadline_ns, after_ns, period_ns = now_ns() / 64;
	struct htwheel_event event;
	struct htwheel_stats stats;

	ASSERT_EQ(0, arm_every(self->fd, variant->policy, 0, period_ns, 5, &id));
	ASSERT_TRUE(is_readable(self->fd));
	deadline_ns = now_ns() + 5 * NS_PER_MS;
	EXPECT_EQ(HTWHEEL_RES_FIRED, rearm_at(self->fd, id, deadline_ns));
	EXPECT_FALSE(is_readable(self->fd) && now_ns() < deadline_ns);
	ASSERT_EQ(0, next_event(self->fd, &event));
	after_ns = now_ns();
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(5, event.user_data);
	EXPECT_EQ(deadline_ns, event.deadline_ns);
	EXPECT_LE(deadline_ns, event.fired_ns);
	EXPECT_LE(1, event.count);
	EXPECT_GE(turns_by(deadline_ns, period_ns, after_ns), event.count);
	/* The event was read, but the timer lives. */
	EXPECT_LE(0, cancel(self->fd, id, NULL));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(3, stats.armed);
	EXPECT_EQ(1, stats.replaced);
	EXPECT_EQ(1, stats.fired);
	EXPECT_EQ(event.count - 1, stats.missed);
	EXPECT_EQ(1, stats.cancelled);
	EXPECT_EQ(0, stats.pending);
}

/* After a re-arm the turns are counted from the new deadline. */
TEST_F(policy, turns_after_a_rearm)
{
	uint64_t id, deadline_ns, before_ns, after_ns, next_ns, min_ns, max_ns, period_ns;
	struct htwheel_event event;

	period_ns = now_ns() / 64;
	ASSERT_EQ(0, arm_every(self->fd, variant->policy, now_ns() + HOUR_NS, period_ns, 0, &id));
	deadline_ns = now_ns() - 20 * period_ns - 5;
	ASSERT_EQ(0, rearm_at(self->fd, id, deadline_ns));
	before_ns = now_ns();
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	after_ns = now_ns();
	EXPECT_EQ(deadline_ns, event.deadline_ns);
	min_ns = deadline_ns + period_ns * turns_by(deadline_ns, period_ns, before_ns);
	max_ns = deadline_ns + period_ns * turns_by(deadline_ns, period_ns, after_ns);
	if (variant->policy == HTWHEEL_POLICY_BURST) {
		min_ns = deadline_ns + period_ns;
		max_ns = min_ns;
	}
	if (variant->policy == HTWHEEL_POLICY_DELAY) {
		min_ns = before_ns + period_ns;
		max_ns = after_ns + period_ns;
	}
	next_ns = dumped_deadline_ns(self->fd, id);
	EXPECT_LE(min_ns, next_ns);
	EXPECT_GE(max_ns, next_ns);
	if (variant->policy == HTWHEEL_POLICY_COUNT)
		EXPECT_EQ(deadline_ns + event.count * period_ns, next_ns);
}

/*
 * A billion periods ago: by division that is nothing, in a loop it is seconds. The time is printed;
 * what is checked is the count.
 */
TEST_F(policy, B44_first_deadline_a_billion_periods_ago)
{
	uint64_t id, first_ns, begin_ns, before_ns, after_ns;
	struct htwheel_event events[2];

	if (now_ns() < 2 * NS_PER_S)
		sleep_ns(2 * NS_PER_S - now_ns());
	begin_ns = now_ns();
	first_ns = begin_ns - 1000000000;
	ASSERT_EQ(0, arm_every(self->fd, variant->policy, first_ns, 1, 0, &id));
	ASSERT_TRUE(is_readable(self->fd));
	before_ns = now_ns();
	ASSERT_EQ(1, read_events(self->fd, events, 1));
	after_ns = now_ns();
	TH_LOG("arm and read took %llu us", (unsigned long long)(after_ns - begin_ns) / NS_PER_US);
	EXPECT_EQ(first_ns, events[0].deadline_ns);
	if (variant->policy == HTWHEEL_POLICY_COUNT) {
		EXPECT_LE(turns_by(first_ns, 1, before_ns), events[0].count);
		EXPECT_GE(turns_by(first_ns, 1, after_ns), events[0].count);
	} else {
		EXPECT_EQ(1, events[0].count);
	}
	ASSERT_LE(0, cancel(self->fd, id, NULL));
}

TEST_F(policy, B46_B47_periods_that_are_refused)
{
	const uint64_t periods[] = { 0, 1ULL << 63, UINT64_MAX };
	struct htwheel_stats stats;
	uint64_t id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		EXPECT_EQ(-EINVAL, arm_every(self->fd, variant->policy, now_ns(), periods[i], 0,
					     &id));
		EXPECT_EQ(0, id);
	}
	EXPECT_FALSE(is_readable(self->fd));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(0, stats.armed);
	EXPECT_EQ(0, stats.pending);
}

/*
 * A period without any whole tick is no period of 0. Somebody who reads all the time makes the
 * engine work once a tick and no more: BURST alone has more to say than that, but it is always
 * ready, which takes no pass.
 */
TEST_F(policy, B47_periods_below_a_tick)
{
	const uint64_t periods[] = { 1, 2, self->info.tick_ns / 2, self->info.tick_ns - 1 };
	uint64_t id, begin_ns, end_ns, ticks, seen;
	struct htwheel_stats then, now;
	struct htwheel_event event;
	size_t i;
	int nr;

	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		ASSERT_EQ(0, device_stats(self->fd, &then));
		begin_ns = now_ns();
		ASSERT_EQ(0, arm_every(self->fd, variant->policy, begin_ns, periods[i], 0, &id));
		seen = 0;
		do {
			ASSERT_GT(begin_ns + patience_ns(), now_ns());
			nr = read_events(self->fd, &event, 1);
			ASSERT_TRUE(nr == 1 || nr == -EAGAIN);
			if (nr == 1)
				ASSERT_LE(event.deadline_ns, event.fired_ns);
			seen += nr == 1;
		} while (now_ns() < begin_ns + 100 * NS_PER_MS || seen < 2);
		ASSERT_LE(0, cancel(self->fd, id, NULL));
		ASSERT_EQ(0, device_stats(self->fd, &now));
		end_ns = now_ns();
		ticks = (end_ns - begin_ns) / self->info.tick_ns + 2;
		EXPECT_GE(nr_cpus() * ticks, now.passes - then.passes) {
			TH_LOG("period %llu", (unsigned long long)periods[i]);
		}
		EXPECT_EQ(seen, now.fired - then.fired);
	}
}

/* A next deadline that passes the end of the clock is never. */
TEST_F(policy, B46_periods_that_end_with_the_clock)
{
	const uint64_t periods[] = {
		HTWHEEL_NEVER_NS, HTWHEEL_NEVER_NS - 1, HTWHEEL_NEVER_NS / 2, 1ULL << 62,
	};
	uint64_t id, first_ns, expected_ns, next_ns, left_ns;
	struct htwheel_event event;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		first_ns = now_ns() - 1;
		ASSERT_EQ(0, arm_every(self->fd, variant->policy, first_ns, periods[i], i, &id));
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		EXPECT_EQ(first_ns, event.deadline_ns);
		EXPECT_EQ(1, event.count);
		EXPECT_EQ(HTWHEEL_EVENT_LIVE, event.flags);
		expected_ns = first_ns + periods[i];
		if (expected_ns > HTWHEEL_NEVER_NS)
			expected_ns = HTWHEEL_NEVER_NS;
		next_ns = dumped_deadline_ns(self->fd, id);
		EXPECT_LE(expected_ns, next_ns);
		if (variant->policy != HTWHEEL_POLICY_DELAY || next_ns > HTWHEEL_NEVER_NS)
			EXPECT_EQ(expected_ns, next_ns);
		EXPECT_EQ(0, query(self->fd, id, &left_ns));
		EXPECT_LT(HTWHEEL_NEVER_NS / 4, left_ns);
	}
	/* B51: never is not now. */
	EXPECT_EQ(0, poll_for(self->fd, NS_PER_S / 4));
}

/* A first time that never comes. */
TEST_F(policy, B51_first_deadline_never)
{
	uint64_t id, left_ns;

	ASSERT_EQ(0, arm_every(self->fd, variant->policy, HTWHEEL_NEVER_NS, 1, 0, &id));
	EXPECT_EQ(0, poll_for(self->fd, 100 * NS_PER_MS));
	EXPECT_EQ(0, query(self->fd, id, &left_ns));
	EXPECT_LT(HTWHEEL_NEVER_NS / 2, left_ns);
	EXPECT_EQ(0, cancel(self->fd, id, NULL));
}

/* Idle is a state of kept timers: a periodic one is armed again, with the flag or without it. */
TEST_F(policy, never_idle)
{
	struct htwheel_op op = {
		.flags = HTWHEEL_PERIODIC | HTWHEEL_KEEP,
		.policy = variant->policy,
		.period_ns = HOUR_NS,
	};
	struct htwheel_dump_entry entry;
	struct htwheel_event event;
	struct htwheel_stats stats;
	uint64_t ids[2];
	size_t i;

	ASSERT_EQ(0, arm_like(self->fd, op, &ids[0]));
	op.flags = HTWHEEL_PERIODIC;
	ASSERT_EQ(0, arm_like(self->fd, op, &ids[1]));
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		EXPECT_EQ(HTWHEEL_EVENT_LIVE, event.flags);
		ASSERT_EQ(0, dump_one(self->fd, ids[i], &entry));
		EXPECT_EQ(HTWHEEL_PERIODIC | (i ? 0 : HTWHEEL_KEEP), entry.flags);
		EXPECT_EQ(variant->policy, entry.policy);
		EXPECT_EQ(HOUR_NS, entry.period_ns);
	}
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(0, stats.idle);
	EXPECT_EQ(2, stats.pending);
	EXPECT_EQ(4, stats.armed);
}

TEST_HARNESS_MAIN
