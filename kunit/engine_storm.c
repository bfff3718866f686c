// SPDX-License-Identifier: GPL-2.0
/*
 * Storms: threads on several CPUs arm, re-arm and disarm timers while passes expire them. The books
 * of every timer have to be right at every moment at which it is held still, and at the end.
 */
#include <linux/mutex.h>

#include "engine_cases.h"

#define SHELF_TIMERS	64
#define ROUND_OPS	16
#define HOUR_NS		(3600ULL * NSEC_PER_SEC)

/**
 * struct shelf - timers whose operations one lock serializes, as a context's does
 * @lock: it
 * @first: the first timer
 */
struct shelf {
	struct mutex		lock;
	u32			first;
};

/**
 * struct storm - a storm
 * @rig: the engine
 * @shelves: how many shelves
 * @own: each thread works on its own shelf only
 * @timers: timers of a shelf that are used
 * @mover: number of the thread that moves timers between bases; HTW_CREW_MAX if there is none
 * @kicks: groups that had to interrupt another CPU
 * @shelf: the shelves
 */
struct storm {
	struct htw_erig		*rig;
	u32			shelves;
	bool			own;
	u32			timers;
	unsigned int		mover;
	atomic_t		kicks;
	struct shelf		shelf[HTW_CREW_MAX];
};

static u64 random_deadline_ns(struct htw_hand *hand, u64 now_ns)
{
	switch (htw_random_below(&hand->random, 8)) {
	case 0:
		return now_ns;
	case 1:
		return now_ns + HOUR_NS + htw_random_length(&hand->random, 50);
	default:
		return now_ns + htw_random_length(&hand->random, 21);
	}
}

static void one_operation(struct htw_hand *hand, struct htw_group *group, u32 index)
{
	struct storm *storm = hand->crew->data;

	if (htw_random_below(&hand->random, 4))
		htw_erig_group_rearm(storm->rig, group, index,
				     random_deadline_ns(hand, group->now_ns));
	else
		htw_erig_group_disarm(storm->rig, group, index);
}

static void one_round(struct htw_hand *hand)
{
	struct storm *storm = hand->crew->data;
	struct htw_group group;
	struct shelf *shelf;
	u32 i;

	shelf = &storm->shelf[storm->own ? hand->nr :
					   htw_random_below(&hand->random, storm->shelves)];
	mutex_lock(&shelf->lock);
	htw_group_begin(&group, storm->rig->engine);
	for (i = 0; i < ROUND_OPS; i++)
		one_operation(hand, &group,
			      shelf->first + htw_random_below(&hand->random, storm->timers));
	htw_group_end(&group);
	if (group.kick)
		atomic_inc(&storm->kicks);
	mutex_unlock(&shelf->lock);
}

/* Send a CPU's base away and back, as hotplug.c does. */
static void one_move(struct htw_hand *hand)
{
	struct storm *storm = hand->crew->data;
	unsigned int nr = htw_random_below(&hand->random, num_online_cpus());
	struct htw_base *base = htw_erig_base(storm->rig, htw_nth_cpu(nr));
	struct htw_base *heir = htw_erig_base(storm->rig, htw_nth_cpu(nr + 1));

	while (htw_base_drain(base, heir, 1 + htw_random_below(&hand->random, HTW_CHUNK_OPS)))
		cond_resched();
	htw_base_kick(heir);
	usleep_range(50, 500);
	htw_base_online(base);
	usleep_range(50, 500);
}

static void one_work(struct htw_hand *hand)
{
	struct storm *storm = hand->crew->data;

	if (hand->nr == storm->mover)
		one_move(hand);
	else
		one_round(hand);
}

/* The storm is over: take out what would take an hour and wait for the rest. */
static void settle_down(struct htw_erig *rig)
{
	u64 soon_ns = htw_clock_now_ns(&htw_clock_monotonic) + HOUR_NS / 2;
	u32 i;

	for (i = 0; i < rig->nr; i++) {
		if (rig->timer[i].timer.deadline_ns > soon_ns)
			htw_erig_disarm(rig, i);
	}
	KUNIT_ASSERT_TRUE_MSG(rig->test, htw_erig_await(rig, 0), "lost timers");
}

/* One timer that twenty threads set all the time may never have come to fire. It does now. */
static void expect_life(struct htw_erig *rig)
{
	struct htw_group group;

	htw_group_begin(&group, rig->engine);
	htw_erig_group_arm(rig, &group, 0, group.now_ns + NSEC_PER_MSEC);
	htw_group_end(&group);
	KUNIT_ASSERT_TRUE_MSG(rig->test, htw_erig_await(rig, 0), "it does not fire any more");
}

static void expect_silence(struct htw_erig *rig)
{
	struct htw_engine_stats stats;
	unsigned int cpu;

	/* The pass that took the last one may still be at its end. */
	msleep(20);
	stats = htw_erig_stats(rig);
	msleep(50);
	KUNIT_EXPECT_EQ(rig->test, htw_erig_stats(rig).counters.passes, stats.counters.passes);
	KUNIT_EXPECT_EQ(rig->test, stats.backlog_cpus, 0);
	KUNIT_EXPECT_EQ(rig->test, stats.counters.work.due, atomic64_read(&rig->handed));
	/* Somebody may have cancelled what a pass had left. */
	KUNIT_EXPECT_LE(rig->test, stats.counters.passes - stats.counters.wakeups,
			stats.counters.budget_stops);
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(rig->test, htw_erig_base(rig, cpu)->programmed_tick, HTW_TICK_NONE);
		KUNIT_EXPECT_EQ(rig->test, rig->design->check(htw_erig_base(rig, cpu)->queue), 0);
	}
}

static void run_storm(struct kunit *test, struct storm *storm, unsigned int threads)
{
	struct htw_crew *crew = htw_crew_new(test, one_work, storm);
	struct htw_erig *rig;
	u64 rounds;
	u32 i;

	htw_need_cpus(test, 2);
	rig = htw_erig_open_live(test, HTW_CREW_MAX * SHELF_TIMERS);
	storm->rig = rig;
	for (i = 0; i < HTW_CREW_MAX; i++) {
		mutex_init(&storm->shelf[i].lock);
		storm->shelf[i].first = i * SHELF_TIMERS;
	}
	rounds = htw_crew_run(test, crew, threads, htw_engine_ms, htw_engine_seed);
	htw_erig_audit(rig);
	settle_down(rig);
	expect_life(rig);
	expect_silence(rig);
	htw_erig_audit(rig);
	KUNIT_EXPECT_GT(test, atomic64_read(&rig->handed), 0);
	kunit_info(test, "%llu rounds, %d kicks, %lld timers fired, at most %llu us late\n", rounds,
		   atomic_read(&storm->kicks), (s64)atomic64_read(&rig->handed),
		   div_u64(atomic64_read(&rig->max_late_ns), NSEC_PER_USEC));
}

static struct storm *new_storm(struct kunit *test)
{
	struct storm *storm = kunit_kzalloc(test, sizeof(*storm), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, storm);
	storm->shelves = 1;
	storm->timers = SHELF_TIMERS;
	storm->mover = HTW_CREW_MAX;
	return storm;
}

/* Each CPU works on timers of its own; only passes come in between. */
static void live_own_timers(struct kunit *test)
{
	struct storm *storm = new_storm(test);

	storm->own = true;
	run_storm(test, storm, 2);
}

/* Timers that sit in one CPU's queue are re-armed and cancelled by the other. */
static void live_timers_of_others(struct kunit *test)
{
	struct storm *storm = new_storm(test);

	storm->shelves = 4;
	run_storm(test, storm, 4);
}

/* And moved back and forth meanwhile, so that whoever looks for one may find it gone elsewhere. */
static void live_b35_moved_between_bases(struct kunit *test)
{
	struct storm *storm = new_storm(test);

	storm->shelves = 3;
	storm->mover = 2;
	run_storm(test, storm, 5);
}

/* Twenty threads that set one timer, again and again: it is never in the queue twice. */
static void live_b36_one_timer(struct kunit *test)
{
	struct storm *storm = new_storm(test);

	storm->timers = 1;
	run_storm(test, storm, HTW_CREW_MAX);
}

const struct htw_case htw_engine_cases_storm[] = {
	HTW_CASE(live_own_timers),
	HTW_CASE(live_timers_of_others),
	HTW_CASE(live_b35_moved_between_bases),
	HTW_CASE(live_b36_one_timer),
	{}
};
