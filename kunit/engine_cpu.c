// SPDX-License-Identifier: GPL-2.0
/*
 * Several bases: which one a timer is in, what happens when a CPU goes away, room, figures.
 *
 * No CPU really goes: the test does what hotplug.c does, step by step, and looks in between.
 */
#include "engine_cases.h"

#define TIMERS		1000

/* Spread over the levels. */
static u64 spread_ns(u32 index)
{
	return HTW_ERIG_START_NS + (1 + (u64)index * index * 7) * HTW_ERIG_TICK_NS;
}

/*
 * An earlier time is for the CPU that asks, a later one for the base whose hrtimer is early enough
 * anyway.
 */
static void rearm_chooses_the_base(struct kunit *test)
{
	struct htw_timer *timer;
	struct htw_erig *rig;
	unsigned int here, there;
	u64 tick_ns = HTW_ERIG_TICK_NS;

	htw_need_cpus(test, 2);
	rig = htw_erig_open_default(test, 2);
	timer = &rig->timer[0].timer;
	here = htw_pin(test, 0);
	htw_erig_arm(rig, 0, HTW_ERIG_START_NS + 100 * tick_ns);
	KUNIT_EXPECT_EQ(test, timer->cpu, here);

	there = htw_pin(test, 1);
	htw_erig_rearm(rig, 0, HTW_ERIG_START_NS + 200 * tick_ns);
	KUNIT_EXPECT_EQ(test, timer->cpu, here);
	/* Earlier, but in the same tick: no reason to move. */
	htw_erig_rearm(rig, 0, HTW_ERIG_START_NS + 200 * tick_ns - 1);
	KUNIT_EXPECT_EQ(test, timer->cpu, here);
	htw_erig_rearm(rig, 0, HTW_ERIG_START_NS + 199 * tick_ns);
	KUNIT_EXPECT_EQ(test, timer->cpu, there);
	KUNIT_EXPECT_EQ(test, htw_erig_base(rig, here)->queue->nr, 0);
	KUNIT_EXPECT_EQ(test, htw_erig_base(rig, here)->programmed_tick, HTW_TICK_NONE);
	KUNIT_EXPECT_EQ(test, htw_erig_base(rig, there)->queue->nr, 1);

	/* One that is due at once leaves the other CPU's queue, too. */
	htw_pin(test, 0);
	KUNIT_EXPECT_FALSE(test, htw_erig_rearm(rig, 0, HTW_ERIG_START_NS));
	KUNIT_EXPECT_EQ(test, htw_erig_queued(rig), 0);
	/* And one of which nobody knows any more where it was goes where it is asked for. */
	htw_erig_rearm(rig, 0, HTW_ERIG_START_NS + 5 * tick_ns);
	KUNIT_EXPECT_EQ(test, timer->cpu, here);

	/* A group that touches both bases brings both hrtimers into line. */
	htw_erig_arm(rig, 1, HTW_ERIG_START_NS + 6 * tick_ns);
	htw_pin(test, 1);
	htw_erig_rearm(rig, 1, HTW_ERIG_START_NS + 4 * tick_ns);
	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, rig->timer[0].fired, 1);
	KUNIT_EXPECT_EQ(test, rig->timer[1].fired, 1);
	htw_erig_audit(rig);
}

/* Take @base offline as hotplug.c does, in parts of @max. Returns how many timers moved. */
static u64 drain(struct kunit *test, struct htw_base *base, struct htw_base *to, u64 max)
{
	u64 total = base->queue->nr, had = to->queue->nr, moved = 0, nr;

	do {
		nr = htw_base_drain(base, to, max);
		KUNIT_ASSERT_EQ(test, nr, min(max, total - moved));
		moved += nr;
		KUNIT_ASSERT_EQ(test, base->queue->nr, total - moved);
		KUNIT_ASSERT_EQ(test, to->queue->nr, had + moved);
		KUNIT_ASSERT_EQ(test, base->queue->design->check(base->queue), 0);
		KUNIT_ASSERT_EQ(test, to->queue->design->check(to->queue), 0);
		KUNIT_ASSERT_FALSE(test, base->online);
	} while (nr);
	return moved;
}

/* What htw_base_kick() leads to on the live clock: the heir's hrtimer learns of what came in. */
static void kick(struct htw_erig *rig, struct htw_base *heir)
{
	while (htw_erig_pass(rig, heir->cpu))
		;
}

static void expect_all_on(struct htw_erig *rig, u32 first, u32 end, unsigned int cpu)
{
	u32 i;

	for (i = first; i < end; i++)
		KUNIT_ASSERT_EQ_MSG(rig->test, rig->timer[i].timer.cpu, cpu, "timer %u", i);
}

static void drain_with(struct kunit *test, u64 max)
{
	struct htw_erig *rig = htw_erig_open_default(test, TIMERS);
	struct htw_base *base, *to;
	u32 i, removed = 0;

	to = htw_erig_base(rig, htw_pin(test, 1));
	htw_erig_arm_all(rig, 0, TIMERS / 10, spread_ns);
	base = htw_erig_base(rig, htw_pin(test, 0));
	htw_erig_arm_all(rig, TIMERS / 10, TIMERS - TIMERS / 10, spread_ns);

	KUNIT_EXPECT_EQ(test, drain(test, base, to, max), TIMERS - TIMERS / 10);
	expect_all_on(rig, 0, TIMERS, to->cpu);
	/* What came from there can be found and cancelled here. */
	for (i = 0; i < TIMERS; i += 3)
		removed += htw_erig_disarm(rig, i);
	KUNIT_EXPECT_EQ(test, removed, DIV_ROUND_UP(TIMERS, 3));
	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), TIMERS - removed);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->max_late_ns), 0);
	htw_erig_audit(rig);
	htw_erig_close(rig);
}

static void drain_in_parts(struct kunit *test)
{
	static const u64 parts[] = { 1, 7, HTW_CHUNK_OPS, TIMERS, 10 * TIMERS };
	u32 i;

	htw_need_cpus(test, 2);
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		drain_with(test, parts[i]);
}

/* Half of the timers have gone; every operation finds each of them. */
static void operations_during_a_drain(struct kunit *test)
{
	struct htw_base *base, *to;
	struct htw_erig *rig;
	u32 i;

	htw_need_cpus(test, 2);
	rig = htw_erig_open_default(test, TIMERS);
	to = htw_erig_base(rig, htw_nth_cpu(1));
	base = htw_erig_base(rig, htw_pin(test, 0));
	htw_erig_arm_all(rig, 0, TIMERS, spread_ns);
	KUNIT_EXPECT_EQ(test, htw_base_drain(base, to, TIMERS / 2), TIMERS / 2);
	kick(rig, to);

	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_TRUE(test, htw_erig_disarm(rig, i));
	/* Neither an earlier nor a later re-arm puts anything back. */
	for (i = 100; i < 200; i++)
		KUNIT_EXPECT_TRUE(test, htw_erig_rearm(rig, i, spread_ns(i - 100)));
	for (i = 200; i < 300; i++)
		KUNIT_EXPECT_TRUE(test, htw_erig_rearm(rig, i, spread_ns(i + 100)));
	for (i = 300; i < 400; i++)
		KUNIT_EXPECT_FALSE(test, htw_erig_rearm(rig, i, HTW_ERIG_START_NS));
	expect_all_on(rig, 100, 300, to->cpu);

	drain(test, base, to, HTW_CHUNK_OPS);
	kick(rig, to);
	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), TIMERS - 200);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->max_late_ns), 0);
	htw_erig_audit(rig);
}

/* The CPU goes while a pass has work left, some of it half moved between two slots. */
static void drain_after_passes(struct kunit *test, u32 passes)
{
	struct htw_engine_config config = htw_erig_config(test);
	struct htw_base *base, *to;
	struct htw_erig *rig;
	u32 i;

	config.budget_timers = 5;
	rig = htw_erig_open(test, &config, HTW_ERIG_START_NS, TIMERS);
	to = htw_erig_base(rig, htw_nth_cpu(1));
	base = htw_erig_base(rig, htw_pin(test, 0));
	htw_erig_arm_all(rig, 0, TIMERS, spread_ns);
	htw_manual.now_ns = spread_ns(TIMERS / 2) + HTW_ERIG_TICK_NS;
	for (i = 0; i < passes; i++)
		KUNIT_ASSERT_TRUE(test, htw_erig_pass(rig, base->cpu));
	rig->any_order = true;
	drain(test, base, to, HTW_CHUNK_OPS);
	KUNIT_EXPECT_EQ(test, htw_erig_queued(rig), TIMERS - atomic64_read(&rig->handed));

	/* All that is due comes at once; what is not, in time. */
	kick(rig, to);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), TIMERS / 2 + 1);
	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), TIMERS);
	htw_erig_audit(rig);
	htw_erig_close(rig);
}

static void drain_of_a_backlog(struct kunit *test)
{
	u32 passes;

	htw_need_cpus(test, 2);
	for (passes = 0; passes < 60; passes += 7)
		drain_after_passes(test, passes);
}

static void offline_base_takes_none(struct kunit *test)
{
	struct htw_base *base, *to;
	struct htw_erig *rig;
	u32 i;

	htw_need_cpus(test, 2);
	rig = htw_erig_open_default(test, 20);
	base = htw_erig_base(rig, htw_pin(test, 0));
	/* One that is known to be empty needs no heir. */
	KUNIT_EXPECT_EQ(test, htw_base_drain(base, NULL, HTW_CHUNK_OPS), 0);
	KUNIT_EXPECT_EQ(test, htw_erig_stats(rig).online_cpus, num_online_cpus() - 1);

	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_TRUE(test, htw_erig_arm(rig, i, spread_ns(i)));
	KUNIT_EXPECT_EQ(test, base->queue->nr, 0);
	KUNIT_EXPECT_EQ(test, base->programmed_tick, HTW_TICK_NONE);
	to = htw_erig_base(rig, rig->timer[0].timer.cpu);
	KUNIT_EXPECT_TRUE(test, to->online);
	KUNIT_EXPECT_EQ(test, to->queue->nr, 10);
	/* One that is due at once needs no base. */
	KUNIT_EXPECT_FALSE(test, htw_erig_arm(rig, 10, HTW_ERIG_START_NS));

	/* The CPU comes back, and takes timers again. */
	htw_base_online(base);
	KUNIT_EXPECT_EQ(test, htw_erig_stats(rig).online_cpus, num_online_cpus());
	for (i = 11; i < 20; i++)
		htw_erig_arm(rig, i, spread_ns(i));
	expect_all_on(rig, 11, 20, base->cpu);
	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), 19);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->max_late_ns), 0);
	htw_erig_audit(rig);
}

/* Room for all of them on whatever CPU, in steps over the ends of the heap's segments. */
static void reserve_and_give_back(struct kunit *test)
{
	struct htw_erig *rig = htw_erig_open_default(test, 4000);
	struct htw_engine *engine = rig->engine;
	const bool counts = rig->design->reserve;
	unsigned int nr_cpu;

	KUNIT_EXPECT_EQ(test, engine->reserved, counts ? 4000 : 0);
	for (nr_cpu = 0; nr_cpu < num_online_cpus(); nr_cpu++) {
		htw_pin(test, nr_cpu);
		htw_erig_arm_all(rig, 0, 4000, spread_ns);
		KUNIT_EXPECT_EQ(test, htw_erig_base(rig, htw_nth_cpu(nr_cpu))->queue->nr, 4000);
		htw_erig_disarm_all(rig);
	}

	/* More than there can be: refused, and what there was is there still. */
	if (counts) {
		KUNIT_EXPECT_EQ(test, htw_engine_reserve(engine, 1ULL << 40), -ENOMEM);
		KUNIT_EXPECT_EQ(test, engine->reserved, 4000);
	}
	htw_erig_arm_all(rig, 0, 4000, spread_ns);

	/* Room may change while timers are queued. */
	KUNIT_EXPECT_EQ(test, htw_engine_reserve(engine, 511), 0);
	KUNIT_EXPECT_EQ(test, htw_engine_reserve(engine, 20000), 0);
	KUNIT_EXPECT_EQ(test, engine->reserved, counts ? 24511 : 0);
	htw_erig_judge(rig);
	htw_engine_unreserve(engine, 20000);
	htw_engine_unreserve(engine, 511);
	htw_erig_judge(rig);
	htw_erig_disarm_all(rig);
	htw_engine_unreserve(engine, 4000);
	KUNIT_EXPECT_EQ(test, engine->reserved, 0);
	KUNIT_EXPECT_EQ(test, htw_engine_reserve(engine, 4000), 0);
	htw_erig_arm_all(rig, 0, 4000, spread_ns);
	htw_erig_audit(rig);
}

static void add_up(const struct htw_base *base, struct htw_engine_stats *sum)
{
	sum->counters.passes += base->counters.passes;
	sum->counters.wakeups += base->counters.wakeups;
	sum->counters.reprogrammed += base->counters.reprogrammed;
	sum->counters.budget_stops += base->counters.budget_stops;
	sum->counters.work.due += base->counters.work.due;
	sum->counters.work.moves += base->counters.work.moves;
	sum->counters.work.slots += base->counters.work.slots;
	sum->queued += base->queue->nr;
	sum->backlog_cpus += base->backlog_since_ns != 0;
	sum->online_cpus += base->online;
}

static void expect_sums(struct htw_erig *rig, u64 backlog_ns)
{
	struct htw_engine_stats stats = htw_erig_stats(rig), sum = {};
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		add_up(htw_erig_base(rig, cpu), &sum);
	sum.backlog_ns = backlog_ns;
	KUNIT_EXPECT_EQ(rig->test, stats.backlog_cpus, sum.backlog_cpus);
	KUNIT_EXPECT_EQ(rig->test, stats.backlog_ns, backlog_ns);
	KUNIT_EXPECT_EQ(rig->test, memcmp(&stats, &sum, offsetofend(typeof(sum), online_cpus)),
			0);
}

/* Both CPUs have a backlog; that of CPU @older has it for longer. */
static void two_backlogs(struct kunit *test, unsigned int older)
{
	struct htw_engine_config config = htw_erig_config(test);
	struct htw_erig *rig;
	u64 since_ns;

	config.budget_timers = 5;
	rig = htw_erig_open(test, &config, HTW_ERIG_START_NS, TIMERS);
	expect_sums(rig, 0);
	htw_pin(test, older);
	htw_erig_arm_all(rig, 0, 300, spread_ns);
	htw_pin(test, !older);
	htw_erig_arm_all(rig, 300, TIMERS - 300, spread_ns);
	expect_sums(rig, 0);
	KUNIT_EXPECT_EQ(test, htw_erig_queued(rig), TIMERS);

	since_ns = spread_ns(TIMERS);
	htw_manual.now_ns = since_ns;
	htw_erig_pass(rig, htw_nth_cpu(older));
	htw_manual.now_ns += 12345;
	htw_erig_pass(rig, htw_nth_cpu(!older));
	htw_manual.now_ns += 1000;
	KUNIT_EXPECT_EQ(test, htw_erig_stats(rig).backlog_cpus, 2);
	expect_sums(rig, htw_manual.now_ns - since_ns);
	/* On a clock that went back there is no age. */
	htw_manual.now_ns = since_ns - 1;
	expect_sums(rig, 0);
	htw_erig_run(rig, since_ns);
	expect_sums(rig, 0);
	KUNIT_EXPECT_EQ(test, htw_erig_stats(rig).counters.work.due, TIMERS);
	htw_erig_audit(rig);
	htw_erig_close(rig);
}

static void stats_are_sums(struct kunit *test)
{
	htw_need_cpus(test, 2);
	two_backlogs(test, 0);
	two_backlogs(test, 1);
}

const struct htw_case htw_engine_cases_cpu[] = {
	HTW_CASE_EXACT(rearm_chooses_the_base),
	HTW_CASE(drain_in_parts),
	HTW_CASE(operations_during_a_drain),
	HTW_CASE_EXACT(drain_of_a_backlog),
	HTW_CASE(offline_base_takes_none),
	HTW_CASE(reserve_and_give_back),
	HTW_CASE_EXACT(stats_are_sums),
	{}
};
