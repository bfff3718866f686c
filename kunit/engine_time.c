// SPDX-License-Identifier: GPL-2.0
/*
 * When a timer is handed over: at its tick's start, wherever on the clock that lies.
 */
#include "engine_cases.h"

/* The moment at which a timer with this deadline is to be handed over. */
static u64 due_ns(const struct htw_erig *rig, u64 deadline_ns)
{
	unsigned int shift = htw_erig_shift(rig);

	return htw_tick_start(htw_tick_up(deadline_ns, shift), shift);
}

/* Arm a timer, look one nanosecond before it is due, and when it is. */
static void expect_exact(struct htw_erig *rig, u64 deadline_ns)
{
	struct htw_erig_timer *entry = &rig->timer[0];
	u64 fired = entry->fired;
	u64 due = due_ns(rig, deadline_ns);

	KUNIT_ASSERT_TRUE(rig->test, htw_erig_arm(rig, 0, deadline_ns));
	if (due - 1 > htw_manual.now_ns)
		htw_erig_run(rig, due - 1);
	KUNIT_ASSERT_EQ_MSG(rig->test, entry->fired, fired, "deadline %llu, now %llu", deadline_ns,
			    htw_manual.now_ns);
	htw_erig_run(rig, due);
	KUNIT_ASSERT_EQ_MSG(rig->test, entry->fired, fired + 1, "deadline %llu, now %llu",
			    deadline_ns, htw_manual.now_ns);
	KUNIT_ASSERT_EQ(rig->test, entry->timer.fired_ns, due);
}

static void try_phases(struct htw_erig *rig, u64 tick_ns)
{
	const u64 phase[] = { 0, 1, tick_ns / 2, tick_ns - 1 };
	const u64 ticks[] = { 0, 1, 2, 63, 64, 65, 4095, 4096, 4097 };
	const u64 extra[] = { 0, 1, tick_ns / 3, tick_ns - 1 };
	u64 start_ns, distance_ns;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(phase) * ARRAY_SIZE(ticks) * ARRAY_SIZE(extra); i++) {
		start_ns = round_up(htw_manual.now_ns + 1, tick_ns) + phase[i % 4];
		distance_ns = ticks[i / 16] * tick_ns + extra[i / 4 % 4];
		htw_erig_run(rig, start_ns);
		if (distance_ns)
			expect_exact(rig, start_ns + distance_ns);
	}
}

static void never_early_to_the_ns(struct kunit *test)
{
	static const unsigned int shifts[] = { 0, 1, 10, HTW_ERIG_SHIFT, 30 };
	struct htw_engine_config config = htw_erig_config(test);
	struct htw_erig *rig;
	u32 i;

	htw_pin(test, 0);
	for (i = 0; i < ARRAY_SIZE(shifts); i++) {
		config.tick_shift = shifts[i];
		rig = htw_erig_open(test, &config, HTW_ERIG_START_NS, 1);
		try_phases(rig, BIT_ULL(shifts[i]));
		htw_erig_audit(rig);
		htw_erig_close(rig);
	}
}

/* A deadline at or before now makes no work: no queue, no hrtimer, no pass. */
static void due_at_arm_needs_no_pass(struct kunit *test)
{
	const u64 deadlines_ns[] = { 0, 1, HTW_ERIG_START_NS - HTW_ERIG_TICK_NS,
				     HTW_ERIG_START_NS - 1, HTW_ERIG_START_NS };
	struct htw_erig *rig = htw_erig_open_default(test, ARRAY_SIZE(deadlines_ns) + 2);
	const u32 queued = ARRAY_SIZE(deadlines_ns), far = queued + 1;
	struct htw_engine_stats stats;
	u32 i;

	htw_pin(test, 0);
	for (i = 0; i < ARRAY_SIZE(deadlines_ns); i++)
		KUNIT_EXPECT_FALSE(test, htw_erig_arm(rig, i, deadlines_ns[i]));
	stats = htw_erig_stats(rig);
	KUNIT_EXPECT_EQ(test, stats.queued, 0);
	KUNIT_EXPECT_EQ(test, stats.counters.reprogrammed, 0);

	/* One nanosecond later is not yet due. */
	KUNIT_EXPECT_TRUE(test, htw_erig_arm(rig, queued, HTW_ERIG_START_NS + 1));
	/* A queued one leaves the queue. */
	KUNIT_EXPECT_TRUE(test, htw_erig_arm(rig, far, HTW_ERIG_START_NS + NSEC_PER_SEC));
	KUNIT_EXPECT_FALSE(test, htw_erig_rearm(rig, far, HTW_ERIG_START_NS));
	KUNIT_EXPECT_EQ(test, htw_erig_queued(rig), 1);

	htw_erig_run(rig, HTW_ERIG_START_NS + 2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), 1);
	KUNIT_EXPECT_EQ(test, rig->timer[queued].fired, 1);
	htw_erig_audit(rig);
}

/* The ways in which a timer can come to a queue that has idled. */
enum way { WAY_ARM, WAY_OTHER_CPU, WAY_BATCH, WAY_REARM, WAYS };

/* What these promise, though the contract does not ask for it. */
static bool never_moves_the_next(const char *name)
{
	return !strcmp(name, "wheel") || !strcmp(name, "heap") || !strcmp(name, "rbtree") ||
	       !strcmp(name, "list");
}

static void idle_then_one_tick(struct kunit *test, u64 idle_ns, enum way way)
{
	struct htw_erig *rig = htw_erig_open_default(test, HTW_CHUNK_OPS + 1);
	const u32 far = HTW_CHUNK_OPS;
	u64 deadline_ns, moves, tick;
	struct htw_group group;
	unsigned int cpu;
	u32 i;

	cpu = htw_pin(test, way == WAY_OTHER_CPU);
	if (way == WAY_REARM)
		htw_erig_arm(rig, far, htw_manual.now_ns + 3 * idle_ns);
	htw_erig_follow(rig, htw_manual.now_ns + idle_ns);
	moves = htw_erig_stats(rig).counters.work.moves;

	deadline_ns = htw_manual.now_ns + HTW_ERIG_TICK_NS;
	tick = htw_tick_up(deadline_ns, HTW_ERIG_SHIFT);
	htw_group_begin(&group, rig->engine);
	htw_erig_group_rearm(rig, &group, way == WAY_REARM ? far : 0, deadline_ns);
	for (i = 1; way == WAY_BATCH && i < HTW_CHUNK_OPS; i++)
		htw_erig_group_arm(rig, &group, i, deadline_ns + i * HTW_ERIG_TICK_NS);
	htw_group_end(&group);
	htw_erig_judge(rig);

	/*
	 * Placed by today's clock, or the hrtimer would be set to a time long ago and the timer
	 * moved.
	 */
	KUNIT_EXPECT_EQ_MSG(test, htw_erig_base(rig, cpu)->programmed_tick, tick,
			    "way %u, idle %llu", way, idle_ns);
	htw_erig_follow(rig, htw_tick_start(tick, HTW_ERIG_SHIFT));
	KUNIT_EXPECT_EQ_MSG(test, atomic64_read(&rig->handed), 1, "way %u, idle %llu", way,
			    idle_ns);
	if (never_moves_the_next(rig->engine->config.design->name))
		KUNIT_EXPECT_EQ(test, htw_erig_stats(rig).counters.work.moves, moves);
	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->max_late_ns), 0);
	htw_erig_audit(rig);
	htw_erig_close(rig);
}

static void b02_one_tick_after_a_long_idle(struct kunit *test)
{
	static const u64 idles_ns[] = { NSEC_PER_SEC, 10ULL * NSEC_PER_SEC,
					1000000 * HTW_ERIG_TICK_NS, 1ULL << 45, 1ULL << 55 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(idles_ns) * WAYS; i++)
		idle_then_one_tick(test, idles_ns[i / WAYS], i % WAYS);
}

/* Where counters of ticks and of nanoseconds wrap or change their sign (FAULTS B53). */
static const struct start {
	u64		start_ns;
	unsigned int	shift;
} starts[] = {
	{ 0, 19 },
	{ ((1ULL << 31) - 5) << 19, 19 },
	{ ((1ULL << 32) - 5) << 19, 19 },
	{ ((1ULL << 36) - 5) << 19, 19 },
	{ ((1ULL << 48) - 5) << 10, 10 },
	{ (1ULL << 31) - 5, 0 },
	{ (1ULL << 32) - 5, 0 },
	{ (1ULL << 63) - (1ULL << 40), 10 },
	{ (1ULL << 63) - (1ULL << 40), 19 },
};

#define START_TIMERS		500
#define START_MAX_LEVELS	11

/*
 * A deadline for the timer @index: around the ends of levels, then anywhere in the next 2^20 ticks.
 */
static u64 start_deadline_ns(const struct start *start, u32 index, u64 *random)
{
	static const u32 ticks[] = { 1, 2, 4, 5, 6, 7, 62, 63, 64, 65, 4095, 4096, 4097, 4101,
				     262143, 262144, 262149 };
	u64 tick = index < ARRAY_SIZE(ticks) ? ticks[index] : 1 + (htw_random(random) >> 44);
	u64 phase_ns = htw_random(random) & (BIT_ULL(start->shift) - 1);

	return start->start_ns + (tick << start->shift) - phase_ns;
}

static void b53_start_clocks(struct kunit *test)
{
	struct htw_engine_config config = htw_erig_config(test);
	const struct start *start;
	struct htw_erig *rig;
	u64 random, passes;
	u32 i;

	htw_pin(test, 0);
	for (start = starts; start < starts + ARRAY_SIZE(starts); start++) {
		random = htw_engine_seed;
		config.tick_shift = start->shift;
		rig = htw_erig_open(test, &config, start->start_ns, START_TIMERS);
		for (i = 0; i < START_TIMERS; i++)
			htw_erig_arm(rig, i, start_deadline_ns(start, i, &random));
		passes = htw_erig_follow(rig, U64_MAX);
		KUNIT_EXPECT_EQ_MSG(test, htw_erig_queued(rig), 0, "start %llu", start->start_ns);
		KUNIT_EXPECT_EQ_MSG(test, atomic64_read(&rig->max_late_ns), 0, "start %llu",
				    start->start_ns);
		KUNIT_EXPECT_LE(test, passes, START_TIMERS * START_MAX_LEVELS);
		htw_erig_audit(rig);
		htw_erig_close(rig);
	}
}

/* Feed a time that lies before one that was fed already. */
static void step_back(struct htw_erig *rig, u64 back_ns)
{
	const u64 highest_ns = htw_manual.now_ns;
	struct htw_base *base = htw_erig_base(rig, htw_nth_cpu(0));
	u64 clock_tick = base->queue->clock_tick;
	u64 handed = atomic64_read(&rig->handed);
	u32 i;

	htw_erig_run(rig, highest_ns - back_ns);
	KUNIT_EXPECT_EQ(rig->test, atomic64_read(&rig->handed), handed);
	/* Some are due before the time that was fed already, one a tick after now. */
	for (i = 0; i < 10; i++)
		htw_erig_arm(rig, i, htw_manual.now_ns + HTW_ERIG_TICK_NS + back_ns / 8 * i);
	htw_erig_run(rig, htw_manual.now_ns + HTW_ERIG_TICK_NS / 2);
	KUNIT_EXPECT_EQ(rig->test, atomic64_read(&rig->handed), handed);
	KUNIT_EXPECT_EQ(rig->test, base->queue->clock_tick, clock_tick);

	/* Once the time is beyond everything that was ever fed, all is as usual. */
	htw_erig_follow(rig, highest_ns + back_ns);
	KUNIT_EXPECT_GE(rig->test, base->queue->clock_tick, clock_tick);
	htw_erig_run(rig, highest_ns + 2 * back_ns + 2 * HTW_ERIG_TICK_NS);
	KUNIT_ASSERT_EQ(rig->test, atomic64_read(&rig->handed), handed + 10);
	htw_erig_audit(rig);
}

static void b65_time_goes_backwards(struct kunit *test)
{
	struct htw_erig *rig;

	htw_pin(test, 0);
	rig = htw_erig_open_default(test, 11);
	rig->any_order = true;
	htw_erig_arm(rig, 10, HTW_ERIG_START_NS + 400 * NSEC_PER_SEC);
	htw_erig_run(rig, HTW_ERIG_START_NS + 100 * NSEC_PER_SEC);
	step_back(rig, 1000);
	step_back(rig, 5 * NSEC_PER_MSEC);
	step_back(rig, 60ULL * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, rig->timer[10].fired, 0);
	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, rig->timer[10].fired, 1);
	step_back(rig, 300ULL * NSEC_PER_SEC);
}

/*
 * The last deadline of all never comes; the one before its tick does, and nothing wraps on the way.
 */
static void b51_never(struct kunit *test)
{
	const u64 start_ns = (u64)KTIME_MAX - (1ULL << 40);
	struct htw_engine_config config = htw_erig_config(test);
	struct htw_erig *rig;

	htw_pin(test, 0);
	rig = htw_erig_open(test, &config, start_ns, 3);
	KUNIT_EXPECT_TRUE(test, htw_erig_arm(rig, 0, KTIME_MAX));
	KUNIT_EXPECT_TRUE(test, htw_erig_arm(rig, 1, KTIME_MAX - HTW_ERIG_TICK_NS));
	KUNIT_EXPECT_TRUE(test, htw_erig_arm(rig, 2, start_ns + 1));
	htw_erig_run(rig, start_ns + HTW_ERIG_TICK_NS);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), 1);
	htw_erig_run(rig, KTIME_MAX - HTW_ERIG_TICK_NS - 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), 1);
	htw_erig_run(rig, KTIME_MAX - 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), 2);
	htw_erig_run(rig, KTIME_MAX);
	KUNIT_EXPECT_TRUE(test, htw_erig_is_queued(rig, 0));
	KUNIT_EXPECT_FALSE(test, htw_erig_arm(rig, 1, KTIME_MAX));
	htw_erig_audit(rig);
}

const struct htw_case htw_engine_cases_time[] = {
	HTW_CASE_EXACT(never_early_to_the_ns),
	HTW_CASE_EXACT(due_at_arm_needs_no_pass),
	HTW_CASE_EXACT(b02_one_tick_after_a_long_idle),
	HTW_CASE(b53_start_clocks),
	HTW_CASE_EXACT(b65_time_goes_backwards),
	HTW_CASE_EXACT(b51_never),
	{}
};
