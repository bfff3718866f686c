// SPDX-License-Identifier: GPL-2.0
/*
 * Slack: which tick it leads to, what it may and may not do to a timer, and what it is good for.
 */
#include "naive.h"
#include "timer_cases.h"

/* All small windows. The naive answer to one window follows from that to the one before. */
static void slack_is_the_roundest_tick(struct kunit *test)
{
	u64 tick, best;
	u32 slack;

	for (tick = 1; tick <= 2048; tick++) {
		best = tick;
		for (slack = 0; slack <= 300; slack++) {
			best = htw_naive_rounder(best, tick + slack);
			KUNIT_ASSERT_EQ_MSG(test, htw_tick_slack(tick, slack), best,
					    "%llu + %u", tick, slack);
		}
		cond_resched();
	}
	KUNIT_EXPECT_EQ(test, htw_tick_slack(1000, 100), 1024);
}

/* The first multiple of 2^@bits at or after @tick; U64_MAX if there is none. */
static u64 round_up_to_bit(u64 tick, u32 bits)
{
	if (bits > 63)
		return U64_MAX;
	return (((tick - 1) >> bits) + 1) << bits;
}

/* Windows of all lengths: the tick lies in it, and no rounder one does. */
static void slack_of_any_length(struct kunit *test)
{
	static const u64 ends[] = { 1, (u64)KTIME_MAX >> HTW_TRIG_SHIFT,
				    ((u64)KTIME_MAX >> HTW_TRIG_SHIFT) + 1, KTIME_MAX };
	u64 random = htw_timer_seed, tick, found, rounder;
	u32 i, slack;

	for (i = 0; i < 200000; i++) {
		tick = max(htw_random_length(&random, 63), 1ULL);
		slack = htw_random_length(&random, 32);
		if (i < 8) {
			tick = ends[i / 2];
			slack = i % 2 ? U32_MAX : 0;
		}
		found = htw_tick_slack(tick, slack);
		KUNIT_ASSERT_GE(test, found, tick);
		KUNIT_ASSERT_LE(test, found, tick + slack);
		rounder = round_up_to_bit(tick, __ffs64(found) + 1);
		KUNIT_ASSERT_GT_MSG(test, rounder, tick + slack, "%llu + %u", tick, slack);
	}
}

static struct htw_timer_spec spec_of(u64 deadline_ns, u64 slack_ns, u64 user_data)
{
	return (struct htw_timer_spec){
		.deadline_ns	= deadline_ns,
		.slack_ns	= slack_ns,
		.user_data	= user_data,
	};
}

#define TIMERS		1000
#define ALL_TICKS	4000

/* The clock goes from tick to tick. */
static void slack_is_kept_to(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, TIMERS);
	u64 random = htw_timer_seed, *slack_ns;
	struct htw_timer_spec spec;
	struct htwheel_event event;
	u32 i, late = 0;

	slack_ns = kunit_kcalloc(test, TIMERS, sizeof(*slack_ns), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, slack_ns);
	for (i = 0; i < TIMERS; i++) {
		slack_ns[i] = htw_random_length(&random, 29);
		spec = spec_of(HTW_TRIG_START_NS + 1 + htw_random_length(&random, 29), slack_ns[i],
			       i);
		htw_trig_make(rig, timers, &spec);
	}
	htw_trig_judge(rig);
	for (i = 1; i < ALL_TICKS; i++) {
		htw_trig_run(rig, htw_trig_after(i));
		while (htw_trig_read(timers, &event, 1)) {
			KUNIT_ASSERT_GE(test, event.fired_ns, event.deadline_ns);
			/* Late by slack and tick, and one more: the test's ticks lie askew. */
			KUNIT_ASSERT_LT(test, event.fired_ns - event.deadline_ns,
					slack_ns[event.user_data] + 2 * HTW_TRIG_TICK_NS);
			late += event.fired_ns - event.deadline_ns > 2 * HTW_TRIG_TICK_NS;
		}
	}
	KUNIT_EXPECT_EQ(test, timers->books.fired, TIMERS);
	/* And it is made use of. */
	KUNIT_EXPECT_GT(test, late, TIMERS / 10);
}

#define SHARERS		10000

/* Timers all over a second, on one CPU. Returns how many ticks have anything to do. */
static u32 count_busy_ticks(struct kunit *test, u64 slack_ns)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, SHARERS);
	u64 random = htw_timer_seed, deadline_ns;
	struct htw_timer_spec spec;
	u32 i, ready = 0, busy = 0;

	htw_pin(test, 0);
	for (i = 0; i < SHARERS; i++) {
		deadline_ns = HTW_TRIG_START_NS + 1 + htw_random_below(&random, NSEC_PER_SEC);
		spec = spec_of(deadline_ns, slack_ns, i);
		htw_trig_make(rig, timers, &spec);
	}
	for (i = 1; timers->ready.nr < SHARERS; i++) {
		KUNIT_ASSERT_LT(test, i, ALL_TICKS);
		htw_trig_run(rig, htw_trig_after(i));
		busy += timers->ready.nr > ready;
		ready = timers->ready.nr;
	}
	htw_trig_close(rig);
	return busy;
}

static void slack_shares_wake_ups(struct kunit *test)
{
	u32 without = count_busy_ticks(test, 0);
	u32 with = count_busy_ticks(test, 100 * NSEC_PER_MSEC);

	kunit_info(test, "%u ticks with work without slack, %u with\n", without, with);
	KUNIT_EXPECT_LE(test, 5 * with, without);
}

/* What the module makes of the slack that was asked for. */
static void expect_used(struct htw_trig *rig, struct htw_timers *timers, u64 slack_ns, u64 used_ns)
{
	struct htw_timer_spec spec = spec_of(htw_trig_after(1000), slack_ns, 0);
	u64 id = htw_trig_make(rig, timers, &spec), left_ns;
	struct htwheel_dump_entry entry;

	htw_trig_dump(rig, timers, id, &entry);
	KUNIT_ASSERT_EQ(rig->test, entry.slack_ns, used_ns);
	KUNIT_ASSERT_EQ(rig->test, htw_trig_cancel(timers, id, &left_ns), 0);
	KUNIT_ASSERT_EQ(rig->test, left_ns, 1000 * HTW_TRIG_TICK_NS);
}

/* Whole ticks, and 2^32 - 1 of them at most. */
static void slack_is_cut(struct kunit *test)
{
	const u64 last_ns = (u64)U32_MAX << HTW_TRIG_SHIFT;
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10);

	expect_used(rig, timers, 0, 0);
	expect_used(rig, timers, 1, 0);
	expect_used(rig, timers, HTW_TRIG_TICK_NS - 1, 0);
	expect_used(rig, timers, HTW_TRIG_TICK_NS, HTW_TRIG_TICK_NS);
	expect_used(rig, timers, 2 * HTW_TRIG_TICK_NS - 1, HTW_TRIG_TICK_NS);
	expect_used(rig, timers, last_ns - 1, last_ns - HTW_TRIG_TICK_NS);
	expect_used(rig, timers, last_ns, last_ns);
	expect_used(rig, timers, last_ns + HTW_TRIG_TICK_NS, last_ns);
	expect_used(rig, timers, 1ULL << 62, last_ns);
	expect_used(rig, timers, HTWHEEL_NEVER_NS, last_ns);
	htw_trig_judge(rig);
}

/* The tick that its deadline and its slack lead to. */
static u64 expected_tick(u64 deadline_ns, u32 slack_ticks)
{
	return htw_naive_slack(htw_tick_up(deadline_ns, HTW_TRIG_SHIFT), slack_ticks);
}

/* It waits for this tick: nothing comes a nanosecond before it, and it does then. */
static void expect_tick(struct htw_trig *rig, struct htw_timers *timers, u64 tick)
{
	struct kunit *test = rig->test;

	htw_trig_run(rig, (tick << HTW_TRIG_SHIFT) - 1);
	KUNIT_ASSERT_EQ(test, timers->ready.nr, 0);
	htw_trig_run(rig, tick << HTW_TRIG_SHIFT);
	KUNIT_ASSERT_EQ(test, timers->ready.nr, 1);
	htw_trig_judge(rig);
}

/* What changes the deadline leaves the slack: re-arms, to sooner and later, SHIFT and SCALE. */
static void slack_stays(struct kunit *test)
{
	const u32 slack = 100;
	struct htwheel_mass shift = {
		.opcode		= HTWHEEL_MASS_SHIFT,
		.shift_ns	= 777 * HTW_TRIG_TICK_NS,
	};
	struct htwheel_mass scale = {
		.opcode		= HTWHEEL_MASS_SCALE,
		.numerator	= 1,
		.denominator	= 3,
	};
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10);
	struct htw_timer_spec spec = spec_of(htw_trig_after(5000), slack * HTW_TRIG_TICK_NS, 0);
	struct htwheel_event event;
	struct htw_timer *timer;
	u64 id, deadline_ns;
	u32 i;

	spec.keep = true;
	id = htw_trig_make(rig, timers, &spec);
	timer = htw_trig_find(rig, timers, id);
	KUNIT_EXPECT_EQ(test, timer->node.tick, expected_tick(spec.deadline_ns, slack));
	/* Later, and sooner. */
	for (i = 1; i < 200; i++) {
		deadline_ns = htw_trig_after(5000 + (i % 2 ? 37 * i : -23 * (s64)i));
		KUNIT_ASSERT_EQ(test, htw_trig_rearm(timers, id, deadline_ns), 0);
		KUNIT_ASSERT_EQ(test, timer->node.tick, expected_tick(deadline_ns, slack));
		htw_trig_judge(rig);
	}
	KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &shift), 1);
	deadline_ns += shift.shift_ns;
	KUNIT_EXPECT_EQ(test, timer->node.tick, expected_tick(deadline_ns, slack));
	KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &scale), 1);
	deadline_ns = HTW_TRIG_START_NS + div_u64(deadline_ns - HTW_TRIG_START_NS, 3);
	KUNIT_EXPECT_EQ(test, timer->deadline_ns, deadline_ns);
	expect_tick(rig, timers, expected_tick(deadline_ns, slack));
	/* From the ready list, and from being idle. */
	deadline_ns += 2345 * HTW_TRIG_TICK_NS;
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id, deadline_ns), HTWHEEL_RES_FIRED);
	expect_tick(rig, timers, expected_tick(deadline_ns, slack));
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	deadline_ns += 1234 * HTW_TRIG_TICK_NS;
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id, deadline_ns), 0);
	expect_tick(rig, timers, expected_tick(deadline_ns, slack));
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	htw_trig_judge(rig);
}

/* The turns are counted from the deadlines; slack delays each and adds up to nothing. */
static void slack_of_a_periodic_one(struct kunit *test)
{
	const u64 period_ns = 700 * HTW_TRIG_TICK_NS + 13;
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 1);
	struct htw_timer_spec spec = spec_of(htw_trig_after(700), 300 * HTW_TRIG_TICK_NS, 0);
	struct htwheel_event event;
	u32 i;

	spec.period_ns = period_ns;
	htw_trig_make(rig, timers, &spec);
	for (i = 0; i < 100; i++) {
		expect_tick(rig, timers, expected_tick(spec.deadline_ns + i * period_ns, 300));
		KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 1);
		KUNIT_ASSERT_EQ(test, event.deadline_ns, spec.deadline_ns + i * period_ns);
		KUNIT_ASSERT_EQ(test, event.count, 1);
	}
}

/* A deadline that has passed fires at once, one that never comes does not come later either. */
static void slack_at_the_ends(struct kunit *test)
{
	static const u64 slacks_ns[] = { HTW_TRIG_TICK_NS, NSEC_PER_SEC, HTWHEEL_NEVER_NS };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10);
	struct htw_timer_spec spec;
	struct htwheel_event event;
	u64 id, left_ns;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(slacks_ns); i++) {
		spec = spec_of(htw_manual.now_ns, slacks_ns[i], i);
		htw_trig_make(rig, timers, &spec);
		KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
		KUNIT_EXPECT_EQ(test, event.fired_ns, event.deadline_ns);
		spec.deadline_ns = HTWHEEL_NEVER_NS;
		id = htw_trig_make(rig, timers, &spec);
		htw_trig_run(rig, htw_manual.now_ns + (1ULL << 60));
		KUNIT_EXPECT_EQ(test, timers->ready.nr, 0);
		KUNIT_EXPECT_EQ(test, htw_trig_query(timers, id, &left_ns), 0);
		KUNIT_EXPECT_EQ(test, left_ns, HTWHEEL_NEVER_NS - htw_manual.now_ns);
		/* A re-arm to the present does not wait for its slack. */
		KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id, htw_manual.now_ns), 0);
		KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
		KUNIT_EXPECT_EQ(test, event.fired_ns, event.deadline_ns);
	}
	htw_trig_judge(rig);
}

const struct htw_case htw_timer_cases_slack[] = {
	HTW_CASE(slack_is_the_roundest_tick),
	HTW_CASE(slack_of_any_length),
	HTW_CASE_EXACT(slack_is_kept_to),
	HTW_CASE(slack_shares_wake_ups),
	HTW_CASE(slack_is_cut),
	HTW_CASE_EXACT(slack_stays),
	HTW_CASE_EXACT(slack_of_a_periodic_one),
	HTW_CASE(slack_at_the_ends),
	{}
};
