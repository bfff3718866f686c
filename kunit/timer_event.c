// SPDX-License-Identifier: GPL-2.0
/*
 * From expiry to delivery: the ready list, who is woken, how late it was.
 */
#include <linux/poll.h>

#include "listener.h"
#include "timer_cases.h"

#define EVENTS		100

/* The events that wait are those of the timers @first, @first + 1, ... and @nr in number. */
static void expect_ready(struct htw_trig *rig, struct htw_timers *timers, u64 first, u32 nr)
{
	struct htw_timer *ready[EVENTS];
	u32 i;

	KUNIT_ASSERT_EQ(rig->test, timers->ready.nr, nr);
	KUNIT_ASSERT_EQ(rig->test, htw_ready_peek(&timers->ready, ready, EVENTS), nr);
	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_EQ(rig->test, ready[i]->user_data, first + i);
}

/* Events are shown in the order in which they came up, and may be taken in parts. */
static void events_in_order(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, EVENTS);
	struct htw_timer *ready[EVENTS];
	u32 i, place;

	for (i = 0; i < EVENTS; i++) {
		place = i * 37 % EVENTS;
		htw_trig_arm(rig, timers, htw_trig_after(1 + place), place);
	}
	htw_trig_run(rig, htw_trig_after(EVENTS / 2 + 1));
	expect_ready(rig, timers, 0, EVENTS / 2);

	/* What is not delivered stays, and looking changes nothing. */
	KUNIT_EXPECT_EQ(test, htw_ready_peek(&timers->ready, ready, 10), 10);
	htw_trig_deliver(timers, ready, 0);
	expect_ready(rig, timers, 0, EVENTS / 2);
	htw_trig_deliver(timers, ready, 3);
	expect_ready(rig, timers, 3, EVENTS / 2 - 3);
	htw_trig_judge(rig);

	/* Later ones go behind. */
	htw_trig_run(rig, htw_trig_after(EVENTS + 1));
	expect_ready(rig, timers, 3, EVENTS - 3);
	KUNIT_EXPECT_EQ(test, htw_ready_peek(&timers->ready, ready, EVENTS), EVENTS - 3);
	htw_trig_deliver(timers, ready, EVENTS - 3);
	KUNIT_EXPECT_EQ(test, htw_ready_peek(&timers->ready, ready, EVENTS), 0);
	KUNIT_EXPECT_EQ(test, timers->books.fired, EVENTS);
	KUNIT_EXPECT_EQ(test, timers->pool.live, 0);
	htw_trig_judge(rig);
}

/*
 * Two of one tick have expired; one is cancelled before anybody reads. It says so, and is never
 * read.
 */
static void b28_cancel_before_the_read(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10);
	struct htw_timer *ready[3];
	struct htwheel_event events[3];
	u64 id[3], left_ns;
	u32 i, victim;

	for (victim = 0; victim < 3; victim++) {
		for (i = 0; i < 3; i++)
			id[i] = htw_trig_arm(rig, timers, htw_manual.now_ns + HTW_TRIG_TICK_NS, i);
		htw_trig_run(rig, htw_manual.now_ns + 2 * HTW_TRIG_TICK_NS);
		KUNIT_EXPECT_EQ(test, htw_ready_peek(&timers->ready, ready, 3), 3);
		KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id[victim], &left_ns),
				HTWHEEL_RES_FIRED);
		KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id[victim], &left_ns), -ENOENT);
		KUNIT_EXPECT_EQ(test, htw_trig_read(timers, events, 3), 2);
		KUNIT_EXPECT_NE(test, events[0].id, id[victim]);
		KUNIT_EXPECT_NE(test, events[1].id, id[victim]);
		KUNIT_EXPECT_NE(test, events[0].id, events[1].id);
		htw_trig_judge(rig);
	}
	/* Once read, it is too late. */
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, events[0].id, &left_ns), -ENOENT);
	KUNIT_EXPECT_EQ(test, timers->books.cancelled, 3);
	KUNIT_EXPECT_EQ(test, timers->books.fired, 6);
	htw_trig_judge(rig);
}

/* A withdrawn event is not counted as ready: or poll would call, and read would find nothing. */
static void b41_nothing_left_to_read(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10);
	struct htwheel_event event;
	u64 id, left_ns;

	id = htw_trig_arm(rig, timers, htw_trig_after(1), 1);
	htw_trig_run(rig, htw_trig_after(2));
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 1);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), HTWHEEL_RES_FIRED);
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 0);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 0);

	/* The same for a re-arm: the old expiry is gone and is no part of the new one. */
	id = htw_trig_arm(rig, timers, htw_trig_after(3), 2);
	htw_trig_run(rig, htw_trig_after(4));
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id, htw_trig_after(10)), HTWHEEL_RES_FIRED);
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 0);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 0);
	htw_trig_run(rig, htw_trig_after(11));
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 1);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(test, event.deadline_ns, htw_trig_after(10));
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 0);
	htw_trig_judge(rig);
}

/*
 * In a batch, the answers tell the whole truth: those that were removed, in time or not, and the
 * rest.
 */
static void b37_every_result_counts(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 100);
	u32 removed = 0, withdrawn = 0, unknown = 0, i;
	struct htw_group group;
	u64 id[60], left_ns;
	int ret;

	for (i = 0; i < 60; i++)
		id[i] = htw_trig_arm(rig, timers, htw_trig_after(1 + i % 3 * 10), i);
	for (i = 2; i < 60; i += 3)
		KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id[i], &left_ns), 0);
	htw_trig_run(rig, htw_trig_after(5));

	htw_group_begin(&group, rig->engine);
	for (i = 0; i < 60; i++) {
		ret = htw_timer_cancel(timers, &group, id[i], &left_ns);
		removed += ret == 0;
		withdrawn += ret == HTWHEEL_RES_FIRED;
		unknown += ret == -ENOENT;
	}
	htw_group_end(&group);
	htw_timers_flush(timers);
	KUNIT_EXPECT_EQ(test, removed, 20);
	KUNIT_EXPECT_EQ(test, withdrawn, 20);
	KUNIT_EXPECT_EQ(test, unknown, 20);
	KUNIT_EXPECT_EQ(test, timers->books.cancelled, 60);
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 0);
	KUNIT_EXPECT_EQ(test, htw_trig_queued(rig), 0);
	htw_trig_judge(rig);
}

/* The bin by its definition in the UAPI header. */
static u32 bin_of(u64 late_ns)
{
	u64 limit_ns = 1024;
	u32 bin = 0;

	for (; bin < HTWHEEL_LATE_BINS - 1 && late_ns >= limit_ns; limit_ns *= 2)
		bin++;
	return bin;
}

static void expect_late(struct htw_trig *rig, struct htw_timers *timers, const u64 *bins)
{
	u32 i;

	for (i = 0; i < HTWHEEL_LATE_BINS; i++)
		KUNIT_ASSERT_EQ_MSG(rig->test, timers->late[i], bins[i], "bin %u", i);
}

static const u64 lates_ns[] = {
	0, 1, 1023, 1024, 2047, 2048, 4095, 4096, (1 << 20) - 1, 1 << 20,
	(1ULL << 39) - 1, 1ULL << 39, (1ULL << 40) - 1, 1ULL << 40, 1ULL << 55,
};

/* To the nanosecond, on a clock whose tick is one; and only what is delivered counts. */
static void lateness(struct kunit *test)
{
	struct htw_engine_config config = htw_trig_config(test);
	u64 bins[HTWHEEL_LATE_BINS] = {}, deadline_ns, id, left_ns;
	struct htw_timers *timers;
	struct htwheel_event event;
	struct htw_trig *rig;
	u32 i;

	config.tick_shift = 0;
	rig = htw_trig_open(test, &config);
	timers = htw_trig_own(rig, 10);
	for (i = 0; i < ARRAY_SIZE(lates_ns); i++) {
		/* By a pass, */
		deadline_ns = htw_manual.now_ns + 1000 + i;
		htw_trig_arm(rig, timers, deadline_ns, i);
		htw_trig_run(rig, deadline_ns + lates_ns[i]);
		KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 1);
		KUNIT_ASSERT_EQ(test, event.fired_ns - event.deadline_ns, lates_ns[i]);
		bins[bin_of(lates_ns[i])]++;
		expect_late(rig, timers, bins);
		/* and when it was due already at the time of the arm. */
		htw_manual.now_ns += 1ULL << 56;
		htw_trig_arm(rig, timers, htw_manual.now_ns - lates_ns[i], i);
		KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 1);
		KUNIT_ASSERT_EQ(test, event.fired_ns - event.deadline_ns, lates_ns[i]);
		bins[bin_of(lates_ns[i])]++;
		expect_late(rig, timers, bins);
		/* An event that nobody gets to see is none. */
		id = htw_trig_arm(rig, timers, htw_manual.now_ns - lates_ns[i], i);
		KUNIT_ASSERT_EQ(test, htw_trig_cancel(timers, id, &left_ns), HTWHEEL_RES_FIRED);
		expect_late(rig, timers, bins);
	}
	KUNIT_EXPECT_EQ(test, timers->books.fired, 2 * ARRAY_SIZE(lates_ns));
}

#define SHARERS		4

/*
 * Each gets its own, all of it, and in the order in which it was armed if the design promises that.
 */
static void owners_share_a_tick(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_listener listener[SHARERS];
	struct htw_timers *timers[SHARERS];
	u32 i;

	for (i = 0; i < SHARERS; i++) {
		timers[i] = htw_trig_own(rig, EVENTS);
		htw_listen(&listener[i], timers[i]);
	}
	for (i = 0; i < SHARERS * EVENTS; i++)
		htw_trig_arm(rig, timers[i % SHARERS], htw_trig_after(10), i / SHARERS);
	htw_trig_run(rig, htw_trig_after(11));
	htw_trig_judge(rig);
	for (i = 0; i < SHARERS; i++) {
		KUNIT_EXPECT_EQ(test, timers[i]->ready.nr, EVENTS);
		/* Once in a chunk at most, not for each timer. */
		KUNIT_EXPECT_GE(test, listener[i].woken, 1);
		KUNIT_EXPECT_LE(test, listener[i].woken,
				DIV_ROUND_UP(SHARERS * EVENTS, HTW_CHUNK_OPS));
		htw_unlisten(&listener[i], timers[i]);
		if (rig->design->flags & HTW_DESIGN_FIFO)
			expect_ready(rig, timers[i], 0, EVENTS);
	}
}

/* Whoever waits is woken if there is something to read, and only then. */
static void who_is_woken(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 1000), *other = htw_trig_own(rig, 10);
	struct htwheel_event event;
	struct htw_listener listener;
	struct htw_group group;
	u64 id, left_ns;

	htw_listen(&listener, timers);
	/* By a pass, */
	id = htw_trig_arm(rig, timers, htw_trig_after(10), 0);
	htw_trig_arm(rig, other, htw_trig_after(5), 0);
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 0);
	htw_trig_run(rig, htw_trig_after(6));
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 0);
	htw_trig_run(rig, htw_trig_after(11));
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 1);
	KUNIT_EXPECT_TRUE(test, listener.events & EPOLLIN);
	/* not again by one that has nothing new for it, */
	htw_trig_arm(rig, other, htw_trig_after(15), 0);
	htw_trig_run(rig, htw_trig_after(16));
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 0);
	htw_timers_flush(timers);
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 0);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), HTWHEEL_RES_FIRED);

	/* and by an arm or a re-arm that is due at once: after the group. */
	htw_group_begin(&group, rig->engine);
	KUNIT_EXPECT_EQ(test, htw_trig_group_arm(timers, &group, 0, 0, &id), 0);
	htw_group_end(&group);
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 0);
	htw_timers_flush(timers);
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 1);
	htw_timers_flush(timers);
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 0);
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id, htw_trig_after(100)), HTWHEEL_RES_FIRED);
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 0);
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id, 0), 0);
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 1);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);

	/* Not if the event has been withdrawn before. */
	htw_group_begin(&group, rig->engine);
	KUNIT_EXPECT_EQ(test, htw_trig_group_arm(timers, &group, 0, 0, &id), 0);
	KUNIT_EXPECT_EQ(test, htw_timer_cancel(timers, &group, id, &left_ns), HTWHEEL_RES_FIRED);
	htw_group_end(&group);
	htw_timers_flush(timers);
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 0);
	htw_unlisten(&listener, timers);
	htw_trig_judge(rig);
}

/* An owner with some of everything, in @chunks chunks. */
static struct htw_timers *own_some_of_everything(struct htw_trig *rig, u32 nr)
{
	struct htw_timers *timers = htw_trig_own(rig, nr);
	u64 id, left_ns;
	u32 i;

	for (i = 0; i < nr; i++) {
		id = htw_trig_arm(rig, timers, htw_trig_after(1 + i % 7 * 1000), i);
		if (i % 5 == 0)
			htw_trig_cancel(timers, id, &left_ns);
		if (i % 5 == 1)
			htw_trig_rearm(timers, id, 0);
	}
	return timers;
}

/*
 * What is destroyed leaves nothing in the queues, whatever a pass was about to do, and disturbs
 * nobody.
 */
static void b34_destroyed_with_all_it_has(struct kunit *test)
{
	struct htw_engine_config config = htw_trig_config(test);
	struct htw_timers *timers, *others;
	struct htw_trig *rig;
	u32 passes, i;
	u64 pending;

	config.budget_timers = 5;
	for (passes = 0; passes < 100; passes += 13) {
		rig = htw_trig_open(test, &config);
		htw_pin(test, 0);
		others = own_some_of_everything(rig, 300);
		timers = own_some_of_everything(rig, 1100);
		htw_manual.now_ns = htw_trig_after(1000);
		local_bh_disable();
		for (i = 0; i < passes; i++)
			htw_base_pass(per_cpu_ptr(rig->engine->bases, smp_processor_id()));
		local_bh_enable();
		pending = others->pool.live;
		htw_trig_disown(rig, timers);
		htw_trig_judge(rig);

		htw_trig_run(rig, htw_trig_after(10000));
		KUNIT_EXPECT_EQ(test, others->ready.nr, pending);
		timers = own_some_of_everything(rig, 600);
		htw_trig_run(rig, htw_trig_after(20000));
		htw_trig_judge(rig);
		/* The last one goes without anybody having read a thing. */
		htw_trig_close(rig);
	}
}

const struct htw_case htw_timer_cases_event[] = {
	HTW_CASE_EXACT(events_in_order),
	HTW_CASE_EXACT(b28_cancel_before_the_read),
	HTW_CASE_EXACT(b41_nothing_left_to_read),
	HTW_CASE(b37_every_result_counts),
	HTW_CASE_EXACT(lateness),
	HTW_CASE_EXACT(owners_share_a_tick),
	HTW_CASE_EXACT(who_is_woken),
	HTW_CASE(b34_destroyed_with_all_it_has),
	{}
};
