// SPDX-License-Identifier: GPL-2.0
/*
 * Slack: later than the deadline if that saves a wake-up, never earlier, and no timer is forgotten.
 *
 * How late a timer is depends on the CPU as well; that is printed, not checked.
 */
#include "harness.h"
#include "shared_design.h"
#include "turns.h"

#define NR_TIMERS	10000U

/* The module counts slack in ticks of 32 bits. */
#define MAX_SLACK_TICKS	UINT32_MAX

FIXTURE(slack) {
	struct htwheel_info info;
	int fd;
};

FIXTURE_SETUP(slack)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	ASSERT_TRUE(has_features(self->fd, HTWHEEL_FEAT_SLACK | HTWHEEL_FEAT_DUMP));
}

FIXTURE_TEARDOWN(slack)
{
	close(self->fd);
}

static int arm_slack(int fd, uint64_t deadline_ns, uint64_t slack_ns, uint64_t user_data,
		     uint64_t *id)
{
	struct htwheel_op op = {
		.flags = HTWHEEL_ABSOLUTE,
		.time_ns = deadline_ns,
		.slack_ns = slack_ns,
		.user_data = user_data,
	};

	return arm_like(fd, op, id);
}

static uint64_t dumped_slack_ns(int fd, uint64_t id)
{
	struct htwheel_dump_entry entry;

	return dump_one(fd, id, &entry) ? JUNK64 : entry.slack_ns;
}

/* How much later than its deadline, slack and tick a timer fired. */
static uint64_t excess_ns(const struct htwheel_event *event, uint64_t slack_ns, uint64_t tick_ns)
{
	uint64_t latest_ns = event->deadline_ns + slack_ns + tick_ns;

	return event->fired_ns > latest_ns ? event->fired_ns - latest_ns : 0;
}

TEST_F(slack, never_early_and_all_come)
{
	static const uint64_t slacks_ns[] = {
		0, 1, NS_PER_US, NS_PER_MS, 10 * NS_PER_MS, 100 * NS_PER_MS,
	};
	uint64_t deadlines_ns[1000], slack_ns, now, excess, worst_ns = 0, seed = 5;
	struct htwheel_event event;
	size_t i, nr = ARRAY_SIZE(deadlines_ns);

	now = now_ns();
	for (i = 0; i < nr; i++) {
		deadlines_ns[i] = now + chance_below(&seed, 300 * NS_PER_MS);
		ASSERT_EQ(0, arm_slack(self->fd, deadlines_ns[i],
				       slacks_ns[i % ARRAY_SIZE(slacks_ns)], i, NULL));
	}
	for (i = 0; i < nr; i++) {
		ASSERT_EQ(0, next_event(self->fd, &event));
		ASSERT_GT(nr, event.user_data);
		slack_ns = slacks_ns[event.user_data % ARRAY_SIZE(slacks_ns)];
		ASSERT_EQ(deadlines_ns[event.user_data], event.deadline_ns);
		ASSERT_LE(event.deadline_ns, event.fired_ns);
		ASSERT_LE(event.fired_ns, now_ns());
		deadlines_ns[event.user_data] = 0;
		excess = excess_ns(&event, slack_ns, self->info.tick_ns);
		worst_ns = excess > worst_ns ? excess : worst_ns;
	}
	TH_LOG("at most %llu us beyond deadline, slack and tick",
	       (unsigned long long)worst_ns / NS_PER_US);
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
}

static int submit_spread(int fd, uint16_t opcode, struct htwheel_op *ops, uint32_t first,
			 uint32_t nr, uint64_t begin_ns, uint64_t spread_ns)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		ops[i].opcode = opcode;
		ops[i].flags = HTWHEEL_ABSOLUTE;
		ops[i].time_ns = begin_ns + (first + i) * (spread_ns / NR_TIMERS);
		if (opcode == HTWHEEL_OP_REARM)
			ops[i].slack_ns = 0;
	}
	return submit_all(fd, ops, nr);
}

/*
 * Timers that are spread over a time: armed like that, or armed for another time and then put
 * off, or brought forward.
 */
static int arm_spread(int fd, uint64_t spread_ns, uint64_t slack_ns, bool by_rearm)
{
	const uint64_t begin_ns = now_ns() + NS_PER_S / 2;
	struct htwheel_op ops[BATCH];
	uint32_t first, i, batch;
	uint64_t other_ns;
	int ret = 0;

	for (first = 0; first < NR_TIMERS && !ret; first += batch) {
		batch = NR_TIMERS - first < BATCH ? NR_TIMERS - first : BATCH;
		for (i = 0; i < batch; i++)
			ops[i] = (struct htwheel_op){ .slack_ns = slack_ns };
		other_ns = first / BATCH & 1 ? begin_ns + HOUR_NS : begin_ns - NS_PER_S / 10;
		ret = submit_spread(fd, HTWHEEL_OP_ARM, ops, first, batch,
				    by_rearm ? other_ns : begin_ns, spread_ns);
		if (!ret && by_rearm)
			ret = submit_spread(fd, HTWHEEL_OP_REARM, ops, first, batch, begin_ns,
					    spread_ns);
	}
	return ret;
}

/* What the engine does for them. */
static bool count_work(int fd, uint64_t spread_ns, uint64_t slack_ns, bool by_rearm,
		       struct htwheel_stats *work)
{
	struct htwheel_event events[128];
	struct htwheel_stats then, now;
	uint32_t seen = 0;
	int nr;

	/* While nobody reads: the passes that are counted are those of the timers. */
	if (arm_spread(fd, spread_ns, slack_ns, by_rearm) || device_stats(fd, &then) ||
	    !wait_expired(fd, NR_TIMERS) || device_stats(fd, &now))
		return false;
	work->passes = now.passes - then.passes;
	work->wakeups = now.wakeups - then.wakeups;
	work->reprogrammed = now.reprogrammed - then.reprogrammed;
	for (nr = 1; nr > 0; seen += nr > 0 ? nr : 0)
		nr = read_events(fd, events, ARRAY_SIZE(events));
	return nr == -EAGAIN && seen == NR_TIMERS;
}

FIXTURE(spread) {
	int fd;
};

FIXTURE_VARIANT(spread) {
	bool by_rearm;
};

FIXTURE_VARIANT_ADD(spread, by_arm) {
	.by_rearm = false,
};

FIXTURE_VARIANT_ADD(spread, by_rearm) {
	.by_rearm = true,
};

FIXTURE_SETUP(spread)
{
	struct htwheel_stats stats;

	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	if (stats.queued)
		SKIP(return, "another program has timers");
}

FIXTURE_TEARDOWN(spread)
{
	close(self->fd);
}

/*
 * Without slack each tick has timers of its own, so a second has passes by the thousand; with a
 * tenth of a second of it, some ten would do, and some more in which the wheel moves its timers. A
 * CPU that is late is slack as well: if it hides the difference, both times are made longer until
 * it is small next to them.
 */
TEST_F(spread, neighbours_share_a_wake_up)
{
	/* A granule is slack as well. */
	const uint64_t times = shared_design(self->fd) & HTWHEEL_DESIGN_EXACT ? 5 : 2;
	struct htwheel_stats without, with;
	uint64_t spread_ns;

	ASSERT_EQ(0, pin_to(0));
	for (spread_ns = NS_PER_S; spread_ns <= 8 * NS_PER_S; spread_ns *= 2) {
		ASSERT_TRUE(count_work(self->fd, spread_ns, 0, variant->by_rearm, &without));
		ASSERT_TRUE(count_work(self->fd, spread_ns, spread_ns / 10, variant->by_rearm,
				       &with));
		TH_LOG("passes %llu and %llu, wake-ups %llu and %llu, reprogrammed %llu and %llu",
		       (unsigned long long)without.passes, (unsigned long long)with.passes,
		       (unsigned long long)without.wakeups, (unsigned long long)with.wakeups,
		       (unsigned long long)without.reprogrammed,
		       (unsigned long long)with.reprogrammed);
		ASSERT_LT(0, with.passes);
		if (times * with.passes <= without.passes &&
		    with.reprogrammed < without.reprogrammed && with.wakeups < without.wakeups)
			break;
	}
	EXPECT_LE(times * with.passes, without.passes);
	EXPECT_LT(with.reprogrammed, without.reprogrammed);
	EXPECT_LT(with.wakeups, without.wakeups);
}

/* The deadline of a timer with slack stays what it was: a neighbour without slack is on time. */
TEST_F(slack, does_not_hold_up_others)
{
	uint64_t deadline_ns = now_ns() + 5 * NS_PER_MS;
	struct htwheel_event event;
	bool seen = false;

	ASSERT_EQ(0, arm_slack(self->fd, deadline_ns, HOUR_NS, 1, NULL));
	ASSERT_EQ(0, arm_slack(self->fd, deadline_ns, 0, 2, NULL));
	ASSERT_EQ(0, arm_slack(self->fd, deadline_ns + NS_PER_MS, HOUR_NS, 3, NULL));
	while (!seen) {
		ASSERT_EQ(0, next_event(self->fd, &event));
		EXPECT_LE(event.deadline_ns, event.fired_ns);
		seen = event.user_data == 2;
	}
}

/* What is shown is what is used: whole ticks, at most 2^32 - 1 of them. */
TEST_F(slack, shown_in_whole_ticks)
{
	const uint64_t tick_ns = self->info.tick_ns, max_ns = MAX_SLACK_TICKS * tick_ns;
	const struct {
		uint64_t	slack_ns;
		uint64_t	shown_ns;
	} cases[] = {
		{ 0, 0 },
		{ 1, 0 },
		{ tick_ns - 1, 0 },
		{ tick_ns, tick_ns },
		{ tick_ns + 1, tick_ns },
		{ 2 * tick_ns - 1, tick_ns },
		{ 1000 * tick_ns + tick_ns / 2, 1000 * tick_ns },
		{ max_ns - 1, max_ns - tick_ns },
		{ max_ns, max_ns },
		{ max_ns + tick_ns, max_ns },
		{ HTWHEEL_NEVER_NS - 1, max_ns },
		{ HTWHEEL_NEVER_NS, max_ns },
	};
	uint64_t id, shown_ns;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ASSERT_EQ(0, arm_slack(self->fd, now_ns() + HOUR_NS, cases[i].slack_ns, i, &id));
		shown_ns = dumped_slack_ns(self->fd, id);
		EXPECT_EQ(cases[i].shown_ns, shown_ns) {
			TH_LOG("slack %llu", (unsigned long long)cases[i].slack_ns);
		}
	}
	ASSERT_EQ(-EINVAL, arm_slack(self->fd, now_ns() + HOUR_NS, HTWHEEL_NEVER_NS + 1, 0, &id));
	EXPECT_EQ(0, id);
	ASSERT_EQ(-EINVAL, arm_slack(self->fd, now_ns() + HOUR_NS, UINT64_MAX, 0, &id));
}

/* Slack has no part in what is left: that is up to the deadline, and 0 from then on. */
TEST_F(slack, time_left_is_up_to_the_deadline)
{
	uint64_t id, deadline_ns, left_ns, before_ns;
	int ret;

	deadline_ns = now_ns() + HOUR_NS;
	ASSERT_EQ(0, arm_slack(self->fd, deadline_ns, 24 * HOUR_NS, 0, &id));
	before_ns = now_ns();
	EXPECT_EQ(0, query(self->fd, id, &left_ns));
	EXPECT_GE(deadline_ns - before_ns, left_ns);
	EXPECT_LE(deadline_ns - now_ns(), left_ns);
	EXPECT_EQ(deadline_ns, dumped_deadline_ns(self->fd, id));
	EXPECT_EQ(0, cancel(self->fd, id, &left_ns));
	EXPECT_GE(deadline_ns - before_ns, left_ns);

	/* Due, but it may have to wait for company. */
	deadline_ns = now_ns() + NS_PER_MS;
	ASSERT_EQ(0, arm_slack(self->fd, deadline_ns, HOUR_NS, 0, &id));
	while (now_ns() < deadline_ns + 5 * NS_PER_MS)
		;
	ret = query(self->fd, id, &left_ns);
	EXPECT_TRUE(ret == 0 || ret == HTWHEEL_RES_FIRED);
	EXPECT_EQ(0, left_ns);
	ret = cancel(self->fd, id, &left_ns);
	EXPECT_TRUE(ret == 0 || ret == HTWHEEL_RES_FIRED);
	EXPECT_EQ(0, left_ns);
	EXPECT_FALSE(is_readable(self->fd));
}

/* Nobody gains by waiting for what is due already. */
TEST_F(slack, past_deadlines_fire_at_once)
{
	const uint64_t slacks_ns[] = { 1, NS_PER_S, HOUR_NS, HTWHEEL_NEVER_NS };
	uint64_t id, deadline_ns;
	struct htwheel_event event;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(slacks_ns); i++) {
		deadline_ns = now_ns() - i;
		ASSERT_EQ(0, arm_slack(self->fd, deadline_ns, slacks_ns[i], i, &id));
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		EXPECT_EQ(id, event.id);
		EXPECT_EQ(deadline_ns, event.deadline_ns);
		/* The same by a re-arm. */
		ASSERT_EQ(0, arm_slack(self->fd, now_ns() + HOUR_NS, slacks_ns[i], i, &id));
		ASSERT_EQ(0, rearm_at(self->fd, id, deadline_ns));
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		EXPECT_EQ(id, event.id);
	}
}

TEST_F(slack, B51_never_stays_never)
{
	const uint64_t slacks_ns[] = { 0, 1, NS_PER_S, HTWHEEL_NEVER_NS };
	uint64_t ids[ARRAY_SIZE(slacks_ns)], left_ns;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(slacks_ns); i++)
		ASSERT_EQ(0, arm_slack(self->fd, HTWHEEL_NEVER_NS, slacks_ns[i], i, &ids[i]));
	ASSERT_EQ(0, arm_slack(self->fd, HTWHEEL_NEVER_NS - 1, HTWHEEL_NEVER_NS, i, NULL));
	EXPECT_EQ(0, poll_for(self->fd, NS_PER_S / 4));
	for (i = 0; i < ARRAY_SIZE(slacks_ns); i++) {
		EXPECT_EQ(0, query(self->fd, ids[i], &left_ns));
		EXPECT_LT(HTWHEEL_NEVER_NS / 2, left_ns);
	}
}

TEST_F(slack, stays_through_a_rearm)
{
	const uint64_t slack_ns = 64 * self->info.tick_ns;
	uint64_t id, deadline_ns;
	struct htwheel_event event;

	ASSERT_EQ(0, arm_slack(self->fd, now_ns() + HOUR_NS, slack_ns, 9, &id));
	ASSERT_EQ(0, rearm_in(self->fd, id, 2 * HOUR_NS));
	EXPECT_EQ(slack_ns, dumped_slack_ns(self->fd, id));
	deadline_ns = now_ns() + 5 * NS_PER_MS;
	ASSERT_EQ(0, rearm_at(self->fd, id, deadline_ns));
	EXPECT_EQ(slack_ns, dumped_slack_ns(self->fd, id));
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_EQ(deadline_ns, event.deadline_ns);
	EXPECT_LE(deadline_ns, event.fired_ns);
}

TEST_F(slack, stays_while_idle)
{
	const uint64_t slack_ns = 3 * self->info.tick_ns;
	struct htwheel_op op = { .flags = HTWHEEL_KEEP, .slack_ns = slack_ns };
	struct htwheel_event event;
	uint64_t id;

	ASSERT_EQ(0, arm_like(self->fd, op, &id));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(slack_ns, dumped_slack_ns(self->fd, id));
	ASSERT_EQ(0, rearm_in(self->fd, id, HOUR_NS));
	EXPECT_EQ(slack_ns, dumped_slack_ns(self->fd, id));
}

/* Late is late once: the next turn is counted from the deadline, not from when it fired. */
TEST_F(slack, periodic_timers_do_not_drift)
{
	const uint64_t period_ns = 20 * NS_PER_MS, slack_ns = 30 * NS_PER_MS;
	struct htwheel_op op = {
		.flags = HTWHEEL_ABSOLUTE | HTWHEEL_PERIODIC,
		.policy = HTWHEEL_POLICY_COUNT,
		.time_ns = now_ns() + period_ns,
		.period_ns = period_ns,
		.slack_ns = slack_ns,
	};
	uint64_t id, next_ns = op.time_ns, shown_ns;
	struct htwheel_event event;
	unsigned int i;

	ASSERT_EQ(0, arm_like(self->fd, op, &id));
	shown_ns = dumped_slack_ns(self->fd, id);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, next_event(self->fd, &event));
		ASSERT_EQ(next_ns, event.deadline_ns);
		ASSERT_LE(next_ns, event.fired_ns);
		ASSERT_LE(1, event.count);
		next_ns += event.count * period_ns;
		ASSERT_EQ(shown_ns, dumped_slack_ns(self->fd, id));
	}
}

/* The turns that were missed are past deadlines, so slack does not make a burst wait. */
TEST_F(slack, missed_turns_of_a_burst_come_at_once)
{
	struct htwheel_op op = {
		.flags = HTWHEEL_ABSOLUTE | HTWHEEL_PERIODIC,
		.policy = HTWHEEL_POLICY_BURST,
		.period_ns = now_ns() / 16,
		.slack_ns = HOUR_NS,
	};
	struct htwheel_event events[10];
	int i;

	op.time_ns = now_ns() - 10 * op.period_ns;
	ASSERT_EQ(0, arm_like(self->fd, op, NULL));
	ASSERT_EQ(10, read_events(self->fd, events, 10));
	for (i = 0; i < 10; i++)
		EXPECT_EQ(op.time_ns + i * op.period_ns, events[i].deadline_ns);
}

TEST_HARNESS_MAIN
