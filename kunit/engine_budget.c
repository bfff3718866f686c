// SPDX-License-Identifier: GPL-2.0
/*
 * Passes: what they may do at a time, and what is true while work is left.
 */
#include "engine_cases.h"

#define DUE_TIMERS	3000
#define DUE_TICKS	100

/* 30 deadlines in each of 100 ticks, none of them at a tick's very start. */
static u64 clustered_ns(u32 index)
{
	return HTW_ERIG_START_NS + (1 + index * 7 % DUE_TICKS) * HTW_ERIG_TICK_NS + index % 3;
}

static struct htw_erig *open_with_budget(struct kunit *test, u64 budget_timers, u32 nr)
{
	struct htw_engine_config config = htw_erig_config(test);

	config.budget_timers = budget_timers;
	return htw_erig_open(test, &config, HTW_ERIG_START_NS, nr);
}

static u64 units(const struct htw_engine_stats *stats)
{
	return stats->counters.work.due + stats->counters.work.moves;
}

/*
 * Run one pass of CPU @cpu and check what it did against the budget. @since_ns is when the backlog
 * before it began, 0 if there was none. Returns when the backlog began that it leaves.
 */
static u64 judged_pass(struct htw_erig *rig, unsigned int cpu, u64 since_ns)
{
	const u64 budget = rig->engine->config.budget_timers;
	struct htw_engine_stats before = htw_erig_stats(rig), after;
	struct htw_base *base = htw_erig_base(rig, cpu);
	struct kunit *test = rig->test;
	bool more;

	KUNIT_ASSERT_EQ(test, base->backlog_since_ns, since_ns);
	more = htw_erig_pass(rig, cpu);
	after = htw_erig_stats(rig);

	KUNIT_ASSERT_LE(test, units(&after) - units(&before), budget);
	KUNIT_ASSERT_EQ(test, after.counters.passes, before.counters.passes + 1);
	KUNIT_ASSERT_EQ(test, after.counters.wakeups, before.counters.wakeups + !since_ns);
	KUNIT_ASSERT_EQ(test, after.counters.budget_stops, before.counters.budget_stops + more);
	KUNIT_ASSERT_EQ(test, after.backlog_cpus, more);
	KUNIT_ASSERT_EQ(test, htw_erig_next(base) <= htw_manual.now_ns >> HTW_ERIG_SHIFT, more);
	if (!more) {
		KUNIT_ASSERT_EQ(test, base->backlog_since_ns, 0);
		return 0;
	}
	since_ns = since_ns ?: rig->pass_ns;
	/* It stopped for the budget and for nothing else. */
	KUNIT_ASSERT_EQ(test, units(&after) - units(&before), budget);
	KUNIT_ASSERT_EQ(test, base->backlog_since_ns, since_ns);
	KUNIT_ASSERT_EQ(test, after.backlog_ns, htw_manual.now_ns - since_ns);
	KUNIT_ASSERT_LE_MSG(test, base->queue->clock_tick, htw_erig_earliest(rig, cpu),
			    "the clock has left a tick that is not finished");
	return since_ns;
}

static void finish_due(struct kunit *test, u64 budget, u64 step_ns)
{
	struct htw_erig *rig = open_with_budget(test, budget, DUE_TIMERS);
	unsigned int cpu = htw_pin(test, 0);
	u64 since_ns = 0;

	htw_erig_arm_all(rig, 0, DUE_TIMERS, clustered_ns);
	htw_manual.now_ns = clustered_ns(0) + DUE_TICKS / 2 * HTW_ERIG_TICK_NS;
	if (!step_ns)
		htw_manual.now_ns += DUE_TICKS * HTW_ERIG_TICK_NS;
	do {
		since_ns = judged_pass(rig, cpu, since_ns);
		htw_manual.now_ns += step_ns;
	} while (since_ns);
	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), DUE_TIMERS);
	htw_erig_audit(rig);
	htw_erig_close(rig);
}

static const u64 budgets[] = { 1, 2, 3, 63, 64, 65, 127, 128, 129, DUE_TIMERS - 1, DUE_TIMERS,
			       DUE_TIMERS + 1 };

static void budget_of_timers(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(budgets); i++)
		finish_due(test, budgets[i], 0);
}

/*
 * The backlog grows while it is worked off, and each timer is told the time of the pass that took
 * it.
 */
static void time_moves_in_a_backlog(struct kunit *test)
{
	static const u64 steps_ns[] = { 1, HTW_ERIG_TICK_NS / 2, HTW_ERIG_TICK_NS,
					3 * HTW_ERIG_TICK_NS };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(steps_ns); i++)
		finish_due(test, 7, steps_ns[i]);
}

/* Deadlines of one slot of the second level, of which each pass may move only some. */
static u64 far_ns(u32 index)
{
	u64 start_tick = round_up((HTW_ERIG_START_NS >> HTW_ERIG_SHIFT) + 2 * 4096, 4096);

	return (start_tick + index * 13 % 4096) << HTW_ERIG_SHIFT;
}

static void budget_counts_moves(struct kunit *test)
{
	struct htw_erig *rig = open_with_budget(test, 5, DUE_TIMERS);
	unsigned int cpu = htw_pin(test, 0);
	struct htw_base *base = htw_erig_base(rig, cpu);
	u64 since_ns = 0, passes = 0;

	htw_erig_arm_all(rig, 0, DUE_TIMERS, far_ns);
	while (base->programmed_tick != HTW_TICK_NONE) {
		htw_manual.now_ns = max(htw_manual.now_ns,
					htw_tick_start(base->programmed_tick, HTW_ERIG_SHIFT));
		since_ns = judged_pass(rig, cpu, since_ns);
		/* Some look at a timer again and again before it is due. */
		if (!(rig->design->flags & HTW_DESIGN_LINEAR))
			KUNIT_ASSERT_LT(test, passes, 20 * DUE_TIMERS);
		KUNIT_ASSERT_LT(test, passes++, 1000 * DUE_TIMERS);
	}
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), DUE_TIMERS);
	if (!strcmp(rig->design->name, "wheel"))
		KUNIT_EXPECT_GT(test, htw_erig_stats(rig).counters.work.moves, DUE_TIMERS);
	/* Time stood still in each backlog. */
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->max_late_ns), 0);
	htw_erig_audit(rig);
}

/*
 * What a design moves ahead of time, when nothing is due, it moves in bits: more than a chunk at a
 * time, since the time is there, but not so much that the next timers have to wait.
 */
static void moves_ahead_are_few(struct kunit *test)
{
	struct htw_erig *rig = htw_erig_open_default(test, DUE_TIMERS);
	unsigned int cpu = htw_pin(test, 0);
	struct htw_base *base = htw_erig_base(rig, cpu);
	u64 before, moves, most = 0;

	htw_erig_arm_all(rig, 0, DUE_TIMERS, far_ns);
	while (!atomic64_read(&rig->handed)) {
		before = htw_erig_stats(rig).counters.work.moves;
		htw_manual.now_ns = htw_tick_start(base->programmed_tick, HTW_ERIG_SHIFT);
		KUNIT_ASSERT_FALSE(test, htw_erig_pass(rig, cpu));
		moves = htw_erig_stats(rig).counters.work.moves - before;
		most = max(most, moves);
	}
	/* It is the wheel that does. */
	if (!strcmp(rig->design->name, "wheel")) {
		KUNIT_EXPECT_LE(test, most, 4 * HTW_CHUNK_OPS);
		KUNIT_EXPECT_GT(test, most, HTW_CHUNK_OPS);
	}
	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->max_late_ns), 0);
	htw_erig_audit(rig);
}

#define STEP_NS		1000

/* How many timers a pass hands over whose every look at the clock costs STEP_NS. */
static u64 handed_in_time(struct kunit *test, u64 budget_ns)
{
	struct htw_engine_config config = htw_erig_config(test);
	unsigned int cpu = htw_pin(test, 0);
	struct htw_erig *rig;
	u64 handed;

	config.budget_ns = budget_ns;
	rig = htw_erig_open(test, &config, HTW_ERIG_START_NS, DUE_TIMERS);
	htw_erig_arm_all(rig, 0, DUE_TIMERS, clustered_ns);
	htw_manual.now_ns = clustered_ns(0) + 2 * DUE_TICKS * HTW_ERIG_TICK_NS;
	htw_manual.step_ns = STEP_NS;
	KUNIT_EXPECT_TRUE(test, htw_erig_pass(rig, cpu));
	htw_manual.step_ns = 0;
	handed = atomic64_read(&rig->handed);
	KUNIT_EXPECT_EQ(test, htw_erig_stats(rig).counters.budget_stops, 1);
	KUNIT_EXPECT_EQ(test, htw_erig_stats(rig).backlog_cpus, 1);
	/* The rest comes in the next passes. */
	htw_erig_run(rig, htw_manual.now_ns);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), DUE_TIMERS);
	htw_erig_audit(rig);
	htw_erig_close(rig);
	return handed;
}

/* It stops at the end of the chunk in which the time is over; some of which may be moves. */
static void expect_chunks(struct kunit *test, u64 budget_ns, u64 chunks)
{
	u64 handed = handed_in_time(test, budget_ns);

	KUNIT_EXPECT_LE(test, handed, chunks * HTW_CHUNK_OPS);
	if (htw_param_row(test)->design->flags & HTW_DESIGN_PRECISE)
		KUNIT_EXPECT_EQ(test, handed, chunks * HTW_CHUNK_OPS);
}

static void budget_of_time(struct kunit *test)
{
	expect_chunks(test, 0, 1);
	expect_chunks(test, STEP_NS, 1);
	expect_chunks(test, STEP_NS + 1, 2);
	expect_chunks(test, 7 * STEP_NS, 7);
	expect_chunks(test, 40 * STEP_NS - 1, 40);
}

static u64 soon_ns(u32 index)
{
	return HTW_ERIG_START_NS + (1 + index % 5) * HTW_ERIG_TICK_NS;
}

/* Timers that wait in a backlog are as good as any other: they can be cancelled and re-armed. */
static void changes_in_a_backlog(struct kunit *test)
{
	struct htw_erig *rig = open_with_budget(test, 10, 105);
	unsigned int cpu = htw_pin(test, 0);
	u64 later_ns = HTW_ERIG_START_NS + NSEC_PER_SEC;
	u32 i, removed = 0, rearmed = 0;

	htw_erig_arm_all(rig, 0, 100, soon_ns);
	htw_manual.now_ns = HTW_ERIG_START_NS + 10 * HTW_ERIG_TICK_NS;
	KUNIT_EXPECT_TRUE(test, htw_erig_pass(rig, cpu));
	for (i = 0; i < 100; i += 2)
		removed += htw_erig_disarm(rig, i);
	for (i = 1; i < 100; i += 4)
		rearmed += htw_erig_is_queued(rig, i) && htw_erig_rearm(rig, i, later_ns);
	KUNIT_EXPECT_GE(test, removed, 40);
	KUNIT_EXPECT_GE(test, rearmed, 15);
	/* New ones, not due yet, join. */
	for (i = 100; i < 105; i++)
		KUNIT_EXPECT_TRUE(test, htw_erig_arm(rig, i, htw_manual.now_ns + 1));
	KUNIT_EXPECT_EQ(test, htw_erig_stats(rig).backlog_cpus, 1);

	htw_erig_run(rig, htw_manual.now_ns);
	KUNIT_EXPECT_EQ(test, htw_erig_queued(rig), rearmed + 5);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), 100 - removed - rearmed);
	htw_erig_follow(rig, later_ns - 1);
	KUNIT_EXPECT_EQ(test, htw_erig_queued(rig), rearmed);
	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), 105 - removed);
	htw_erig_audit(rig);
}

/* If nothing is left of it, there is no backlog, though no pass comes any more. */
static void backlog_that_is_cancelled(struct kunit *test)
{
	struct htw_erig *rig = open_with_budget(test, 10, 100);
	unsigned int cpu = htw_pin(test, 0);
	struct htw_engine_stats stats;

	htw_erig_arm_all(rig, 0, 100, soon_ns);
	htw_manual.now_ns = HTW_ERIG_START_NS + 10 * HTW_ERIG_TICK_NS;
	KUNIT_EXPECT_TRUE(test, htw_erig_pass(rig, cpu));
	KUNIT_EXPECT_EQ(test, htw_erig_stats(rig).backlog_cpus, 1);
	htw_erig_disarm_all(rig);
	KUNIT_EXPECT_EQ(test, htw_erig_base(rig, cpu)->programmed_tick, HTW_TICK_NONE);
	htw_manual.now_ns += NSEC_PER_SEC;
	stats = htw_erig_stats(rig);
	KUNIT_EXPECT_EQ(test, stats.backlog_cpus, 0);
	KUNIT_EXPECT_EQ(test, stats.backlog_ns, 0);

	/* So the next pass is not its continuation. */
	htw_erig_arm(rig, 0, htw_manual.now_ns + 1);
	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, htw_erig_stats(rig).counters.wakeups, stats.counters.wakeups + 1);
	htw_erig_audit(rig);
}

/* For settle(): the next timer to arm, and how many it arms at each call. */
static u32 answer_next, answer_nr;

/*
 * Time goes by, and each chunk is answered with timers that are due before the next one is begun.
 */
static void answer_with_one_tick(struct htw_erig *rig)
{
	struct htw_group group;
	u32 end = answer_next + answer_nr;

	if (end > rig->nr)
		return;
	htw_group_begin(&group, rig->engine);
	while (answer_next < end)
		htw_erig_group_arm(rig, &group, answer_next++, group.now_ns + HTW_ERIG_TICK_NS);
	htw_group_end(&group);
	htw_manual.now_ns += 2 * HTW_ERIG_TICK_NS;
}

/*
 * A pass knows one time, the one at which it began. So timers that are armed while it runs are not
 * its own, even if they are due before its end, and it ends.
 */
static void b71_clock_is_read_once(struct kunit *test)
{
	const u32 due = 4 * HTW_CHUNK_OPS - 6;
	struct htw_erig *rig = htw_erig_open_default(test, 1000);
	unsigned int cpu = htw_pin(test, 0);
	u64 answered;

	htw_erig_arm_all(rig, 0, due, soon_ns);
	htw_manual.now_ns = HTW_ERIG_START_NS + 10 * HTW_ERIG_TICK_NS;
	answer_next = due;
	answer_nr = 50;
	rig->settle = answer_with_one_tick;
	KUNIT_EXPECT_FALSE(test, htw_erig_pass(rig, cpu));
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), due);
	/* Four chunks, or more if some of the work was to look at others. */
	answered = htw_erig_queued(rig);
	KUNIT_EXPECT_GE(test, answered, 4 * answer_nr);
	KUNIT_EXPECT_EQ(test, answered, answer_next - due);

	/* They come in the next pass, all of them, and its answers in the one after that. */
	KUNIT_EXPECT_FALSE(test, htw_erig_pass(rig, cpu));
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), due + answered);
	rig->settle = NULL;
	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, htw_erig_queued(rig), 0);
	htw_erig_audit(rig);
}

/* Each chunk is answered with timers that are due already. */
static void answer_with_now(struct htw_erig *rig)
{
	struct htw_group group;
	u32 end = min(answer_next + answer_nr, rig->nr);

	htw_group_begin(&group, rig->engine);
	for (; answer_next < end; answer_next++) {
		if (htw_erig_group_arm(rig, &group, answer_next, group.now_ns - answer_next % 2))
			htw_blame(&rig->fault, "armed as due, and queued", true, false);
	}
	htw_group_end(&group);
}

/* An answer that is due at once is refused as due: no pass, however often, is made longer by it. */
static void b71_rearmed_as_due(struct kunit *test)
{
	const u32 due = 2 * HTW_CHUNK_OPS;
	struct htw_erig *rig = htw_erig_open_default(test, 1000);
	unsigned int cpu = htw_pin(test, 0);

	htw_erig_arm_all(rig, 0, due, soon_ns);
	htw_manual.now_ns = HTW_ERIG_START_NS + 10 * HTW_ERIG_TICK_NS;
	answer_next = due;
	answer_nr = 100;
	rig->settle = answer_with_now;
	KUNIT_EXPECT_FALSE(test, htw_erig_pass(rig, cpu));
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), due);
	KUNIT_EXPECT_EQ(test, htw_erig_queued(rig), 0);
	KUNIT_EXPECT_GT(test, answer_next, due);
	KUNIT_EXPECT_EQ(test, htw_erig_base(rig, cpu)->programmed_tick, HTW_TICK_NONE);
	rig->settle = NULL;
	htw_erig_audit(rig);
}

const struct htw_case htw_engine_cases_budget[] = {
	HTW_CASE_EXACT(budget_of_timers),
	HTW_CASE(budget_counts_moves),
	HTW_CASE_EXACT(moves_ahead_are_few),
	HTW_CASE_EXACT(budget_of_time),
	HTW_CASE_EXACT(time_moves_in_a_backlog),
	HTW_CASE_EXACT(changes_in_a_backlog),
	HTW_CASE(backlog_that_is_cancelled),
	HTW_CASE_EXACT(b71_clock_is_read_once),
	HTW_CASE(b71_rearmed_as_due),
	{}
};
