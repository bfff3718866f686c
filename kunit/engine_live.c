// SPDX-License-Identifier: GPL-2.0
/*
 * The live clock: hrtimers, softirqs, interrupts to other CPUs.
 *
 * Nothing here fails because a machine is slow: what is lost is told from what is late by a limit
 * of many seconds, and the sleeps that would hide a loss are an hour long.
 */
#include <linux/hrtimer.h>
#include <linux/minmax.h>

#include "engine_cases.h"

#define HOUR_NS		(3600ULL * NSEC_PER_SEC)

static u64 live_ns(void)
{
	return htw_clock_now_ns(&htw_clock_monotonic);
}

static u64 in_an_hour_ns(u32 index)
{
	return live_ns() + HOUR_NS + index;
}

static void expect_set(struct htw_erig *rig, struct htw_base *base)
{
	u64 next, programmed, expires_ns;
	bool active;

	spin_lock_bh(&base->lock);
	next = htw_erig_next(base);
	programmed = base->programmed_tick;
	active = hrtimer_active(&base->timer);
	expires_ns = ktime_to_ns(hrtimer_get_expires(&base->timer));
	spin_unlock_bh(&base->lock);

	KUNIT_EXPECT_EQ(rig->test, programmed, next);
	KUNIT_EXPECT_TRUE(rig->test, active);
	KUNIT_EXPECT_EQ(rig->test, expires_ns, htw_tick_start(next, HTW_ERIG_SHIFT));
}

/* The hrtimer is really set to what the base believes, to the nanosecond. */
static void live_hrtimer_is_set(struct kunit *test)
{
	struct htw_erig *rig = htw_erig_open_live(test, 3);
	struct htw_base *base = htw_erig_base(rig, htw_pin(test, 0));

	htw_erig_arm(rig, 0, live_ns() + 3 * HOUR_NS);
	expect_set(rig, base);
	htw_erig_arm(rig, 1, live_ns() + 2 * HOUR_NS);
	expect_set(rig, base);
	htw_erig_arm(rig, 2, live_ns() + 4 * HOUR_NS);
	expect_set(rig, base);
	htw_erig_rearm(rig, 0, live_ns() + HOUR_NS);
	expect_set(rig, base);
	/* One that is moved to the end of time is no reason to do anything. */
	htw_erig_rearm(rig, 2, KTIME_MAX);
	expect_set(rig, base);
	htw_erig_disarm(rig, 0);
	htw_erig_disarm(rig, 1);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&base->timer));
	htw_erig_audit(rig);
}

/* No timers, no interrupts: neither after cancels nor after expirations (FAULTS B18, B26). */
static void live_b18_hrtimer_is_off(struct kunit *test)
{
	struct htw_erig *rig = htw_erig_open_live(test, 100);
	struct htw_base *base = htw_erig_base(rig, htw_pin(test, 0));
	u64 passes;
	u32 i;

	htw_erig_arm_all(rig, 0, 100, in_an_hour_ns);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&base->timer));
	for (i = 0; i < 99; i++)
		htw_erig_disarm(rig, i);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&base->timer));
	htw_erig_disarm(rig, 99);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&base->timer));

	for (i = 0; i < 100; i++)
		htw_erig_arm(rig, i, live_ns() + NSEC_PER_MSEC);
	KUNIT_ASSERT_TRUE(test, htw_erig_await(rig, 0));
	/* The pass that took the last one may still be at its end. */
	msleep(20);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&base->timer));
	passes = htw_erig_stats(rig).counters.passes;
	msleep(100);
	KUNIT_EXPECT_EQ(test, htw_erig_stats(rig).counters.passes, passes);
	htw_erig_audit(rig);
}

static u64 backlog_due_ns;

static u64 at_once_ns(u32 index)
{
	return backlog_due_ns;
}

/* A pass that stops at its budget calls itself again, until nothing is left. */
static void live_backlog_is_finished(struct kunit *test)
{
	struct htw_engine_config config = htw_erig_config(test);
	struct htw_engine_stats stats;
	struct htw_erig *rig;

	config.clock = &htw_clock_monotonic;
	config.budget_timers = HTW_CHUNK_OPS + 1;
	config.budget_ns = NSEC_PER_SEC;
	rig = htw_erig_open(test, &config, 0, 5000);
	htw_pin(test, 0);
	backlog_due_ns = live_ns() + NSEC_PER_SEC / 2;
	htw_erig_arm_all(rig, 0, 5000, at_once_ns);
	KUNIT_ASSERT_TRUE(test, htw_erig_await(rig, 0));
	msleep(20);
	stats = htw_erig_stats(rig);
	KUNIT_EXPECT_EQ(test, stats.backlog_cpus, 0);
	KUNIT_EXPECT_GE(test, stats.counters.budget_stops, atomic64_read(&rig->handed) / 65 - 1);
	KUNIT_EXPECT_EQ(test, stats.counters.passes,
			stats.counters.budget_stops + stats.counters.wakeups);
	KUNIT_EXPECT_EQ(test, stats.counters.work.due, atomic64_read(&rig->handed));
	htw_erig_audit(rig);
}

/* This CPU's base takes nothing, so an arm goes to another CPU, whose hrtimer has to be told. */
static void live_arm_on_a_cpu_that_left(struct kunit *test)
{
	struct htw_base *base, *heir;
	struct htw_erig *rig;
	u32 i;

	htw_need_cpus(test, 2);
	rig = htw_erig_open_live(test, 30);
	base = htw_erig_base(rig, htw_pin(test, 0));
	heir = htw_erig_base(rig, htw_nth_cpu(1));
	for (i = 0; i < 10; i++)
		htw_erig_arm(rig, i, live_ns() + 50 * NSEC_PER_MSEC);
	/* What moves is found over there, in time. */
	while (htw_base_drain(base, heir, 3))
		;
	htw_base_kick(heir);
	KUNIT_ASSERT_TRUE(test, htw_erig_await(rig, 0));

	/* One by one, each while the other CPU sleeps for an hour. */
	htw_erig_arm(rig, 29, live_ns() + HOUR_NS);
	KUNIT_EXPECT_EQ(test, rig->timer[29].timer.cpu, heir->cpu);
	for (i = 10; i < 20; i++) {
		htw_erig_arm(rig, i, live_ns() + NSEC_PER_MSEC);
		KUNIT_ASSERT_TRUE(test, htw_erig_await(rig, 1));
	}
	htw_base_online(base);
	htw_erig_arm(rig, 20, live_ns() + NSEC_PER_MSEC);
	KUNIT_ASSERT_TRUE(test, htw_erig_await(rig, 1));
	KUNIT_EXPECT_EQ(test, rig->timer[20].timer.cpu, base->cpu);
	KUNIT_EXPECT_TRUE(test, htw_erig_disarm(rig, 29));
	htw_erig_audit(rig);
}

/* The hand's own timer, and those with which the hands change each other's sleep. */
#define SLEEPERS	8

struct sleeping {
	struct htw_erig		*rig;
	struct mutex		lock;
};

static u32 sleeper(unsigned int hand, u32 nr)
{
	return (hand + 1) * SLEEPERS + nr;
}

/* Keep both bases busy with finding out how long to sleep: for an hour, or two. */
static void change_sleeps(struct htw_hand *hand, struct sleeping *sleeping)
{
	u32 index = sleeper(!hand->nr, htw_random_below(&hand->random, SLEEPERS));
	u64 delay_ns = HOUR_NS + htw_random_length(&hand->random, 41);
	struct htw_group group;

	mutex_lock(&sleeping->lock);
	htw_group_begin(&group, sleeping->rig->engine);
	htw_erig_group_rearm(sleeping->rig, &group, index, group.now_ns + delay_ns);
	htw_group_end(&group);
	mutex_unlock(&sleeping->lock);
}

static void one_tick(struct htw_hand *hand)
{
	struct sleeping *sleeping = hand->crew->data;
	struct htw_erig *rig = sleeping->rig;
	u64 since_ns = live_ns();

	htw_erig_arm(rig, hand->nr, since_ns + HTW_ERIG_TICK_NS);
	do {
		change_sleeps(hand, sleeping);
		if (live_ns() - since_ns > HTW_ERIG_LOST_NS) {
			htw_blame(&rig->fault, "one tick, still queued after (ns)",
				  live_ns() - since_ns, HTW_ERIG_TICK_NS);
			htw_erig_disarm(rig, hand->nr);
			break;
		}
		cond_resched();
	} while (htw_erig_is_queued(rig, hand->nr));
}

/* An arm of one tick while a pass, and the other CPU, work out that they may sleep for an hour. */
static void live_b23_one_tick_against_long_sleeps(struct kunit *test)
{
	struct sleeping sleeping;
	struct htw_crew *crew = htw_crew_new(test, one_tick, &sleeping);
	struct htw_erig *rig;
	u64 rounds;

	htw_need_cpus(test, 2);
	rig = htw_erig_open_live(test, 3 * SLEEPERS);
	sleeping.rig = rig;
	mutex_init(&sleeping.lock);
	rounds = htw_crew_run(test, crew, 2, htw_engine_ms, htw_engine_seed);
	KUNIT_EXPECT_GT(test, rounds, 0);
	kunit_info(test, "%llu rounds, at most %llu us late\n", rounds,
		   div_u64(atomic64_read(&rig->max_late_ns), NSEC_PER_USEC));
	htw_erig_disarm_all(rig);
	htw_erig_audit(rig);
}

const struct htw_case htw_engine_cases_live[] = {
	HTW_CASE(live_hrtimer_is_set),
	HTW_CASE(live_b18_hrtimer_is_off),
	HTW_CASE(live_backlog_is_finished),
	HTW_CASE(live_arm_on_a_cpu_that_left),
	HTW_CASE(live_b23_one_tick_against_long_sleeps),
	{}
};
