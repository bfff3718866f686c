// SPDX-License-Identifier: GPL-2.0
/*
 * The wake-up policy: when a list of events is readable, and who is told.
 */
#include "listener.h"
#include "timer_cases.h"

#define LOST_NS		(10ULL * NSEC_PER_SEC)

/* So far away that the alarm does not come into it. */
#define FAR_NS		(3600ULL * NSEC_PER_SEC)

static struct htw_timers *own(struct htw_trig *rig, u32 events, u64 delay_ns)
{
	struct htw_timers_config config = {
		.policy = { .events = events, .delay_ns = delay_ns },
	};
	struct htw_timers *timers = htw_trig_own(rig, 100);

	KUNIT_ASSERT_EQ(rig->test, htw_timers_setup(timers, rig->engine, &config), 0);
	return timers;
}

/* Make events that wait at once. */
static void make_events(struct htw_trig *rig, struct htw_timers *timers, u32 nr)
{
	while (nr--)
		htw_trig_arm(rig, timers, 0, 0);
}

/* What poll, read and the figures say; @waiting is what waits if it is not readable. */
static void expect_list(struct htw_trig *rig, struct htw_timers *timers, u32 waiting, bool readable,
			u64 alerts)
{
	struct kunit *test = rig->test;
	struct htw_timer *ready[8];

	KUNIT_ASSERT_EQ(test, timers->ready.nr, waiting);
	KUNIT_ASSERT_EQ(test, timers->ready.readable, readable);
	KUNIT_ASSERT_EQ(test, timers->ready.alerts, alerts);
	KUNIT_ASSERT_EQ(test, htw_ready_peek(&timers->ready, ready, ARRAY_SIZE(ready)),
			readable ? min(waiting, ARRAY_SIZE(ready)) : 0);
}

static void read_events(struct htw_trig *rig, struct htw_timers *timers, u32 nr)
{
	struct htwheel_event event;

	while (nr--)
		KUNIT_ASSERT_EQ(rig->test, htw_trig_read(timers, &event, 1), 1);
}

/* Policies by which every event is told at once. */
static void at_once(struct kunit *test)
{
	static const struct htw_wake_policy policies[] = {
		{ 0, 0 }, { 1, 0 }, { 1, FAR_NS }, { 5, 0 }, { 1, 1 },
	};
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_listener listener;
	struct htw_timers *timers;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		timers = own(rig, policies[i].events, policies[i].delay_ns);
		htw_listen(&listener, timers);
		expect_list(rig, timers, 0, false, 0);
		make_events(rig, timers, 1);
		expect_list(rig, timers, 1, true, 1);
		KUNIT_EXPECT_EQ(test, htw_woken(&listener), 1);
		make_events(rig, timers, 1);
		expect_list(rig, timers, 2, true, 1);
		read_events(rig, timers, 2);
		expect_list(rig, timers, 0, false, 1);
		make_events(rig, timers, 1);
		expect_list(rig, timers, 1, true, 2);
		htw_unlisten(&listener, timers);
		htw_trig_judge(rig);
		htw_trig_disown(rig, timers);
	}
}

/* The number of events is what counts: it rises there, and falls at nothing. */
static void number_of_events(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own(rig, 4, FAR_NS);
	struct htw_listener listener;

	htw_listen(&listener, timers);
	make_events(rig, timers, 3);
	expect_list(rig, timers, 3, false, 0);
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 0);
	make_events(rig, timers, 1);
	expect_list(rig, timers, 4, true, 1);
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 1);
	/* A reader that has been told comes for all of them. */
	read_events(rig, timers, 1);
	expect_list(rig, timers, 3, true, 1);
	make_events(rig, timers, 2);
	expect_list(rig, timers, 5, true, 1);
	read_events(rig, timers, 4);
	expect_list(rig, timers, 1, true, 1);
	read_events(rig, timers, 1);
	expect_list(rig, timers, 0, false, 1);
	/* And the next time it begins anew. */
	htw_woken(&listener);
	make_events(rig, timers, 3);
	expect_list(rig, timers, 3, false, 1);
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 0);
	make_events(rig, timers, 1);
	expect_list(rig, timers, 4, true, 2);
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 1);
	htw_unlisten(&listener, timers);
	htw_trig_judge(rig);
}

/* Those that are withdrawn do not count, whether by a cancel, a re-arm or a sweep. */
static void withdrawn_ones_do_not_count(struct kunit *test)
{
	struct htwheel_mass mass = { .opcode = HTWHEEL_MASS_CANCEL };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own(rig, 3, FAR_NS);
	u64 id[2], left_ns;

	id[0] = htw_trig_arm(rig, timers, 0, 0);
	id[1] = htw_trig_arm(rig, timers, 0, 0);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id[0], &left_ns), HTWHEEL_RES_FIRED);
	make_events(rig, timers, 1);
	expect_list(rig, timers, 2, false, 0);
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id[1], htw_trig_after(10)),
			HTWHEEL_RES_FIRED);
	make_events(rig, timers, 1);
	expect_list(rig, timers, 2, false, 0);
	make_events(rig, timers, 1);
	expect_list(rig, timers, 3, true, 1);
	/* The last one that goes takes the readability along, however it goes. */
	KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &mass), 4);
	expect_list(rig, timers, 0, false, 1);
	id[0] = htw_trig_arm(rig, timers, 0, 0);
	make_events(rig, timers, 2);
	expect_list(rig, timers, 3, true, 2);
	read_events(rig, timers, 1);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id[0], &left_ns), -ENOENT);
	expect_list(rig, timers, 2, true, 2);
	htw_trig_judge(rig);
}

/* What a pass finds due counts like what was due at once, and the pass wakes if it is enough. */
static void number_of_events_of_a_pass(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own(rig, 10, FAR_NS);
	struct htw_listener listener;
	u32 i;

	htw_listen(&listener, timers);
	for (i = 0; i < 30; i++)
		htw_trig_arm(rig, timers, htw_trig_after(1 + i), i);
	for (i = 1; i < 10; i++) {
		htw_trig_run(rig, htw_trig_after(1 + i));
		expect_list(rig, timers, i, false, 0);
		KUNIT_ASSERT_EQ(test, htw_woken(&listener), 0);
	}
	htw_trig_run(rig, htw_trig_after(11));
	expect_list(rig, timers, 10, true, 1);
	KUNIT_ASSERT_EQ(test, htw_woken(&listener), 1);
	/* More of them: they are told, but it was readable before. */
	read_events(rig, timers, 5);
	htw_trig_run(rig, htw_trig_after(16));
	expect_list(rig, timers, 10, true, 1);
	KUNIT_ASSERT_EQ(test, htw_woken(&listener), 1);
	/* What comes in one pass is one piece of news. */
	read_events(rig, timers, 10);
	htw_trig_run(rig, htw_trig_after(31));
	expect_list(rig, timers, 15, true, 2);
	KUNIT_ASSERT_EQ(test, htw_woken(&listener), 1);
	htw_unlisten(&listener, timers);
	htw_trig_judge(rig);
}

/* A group that does not make it readable wakes nobody, and one that does wakes at its end, once. */
static void no_wake_up_before_its_time(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own(rig, 5, FAR_NS);
	struct htw_listener listener;
	struct htw_group group;
	u64 id[10];
	u32 i, round;

	htw_listen(&listener, timers);
	KUNIT_ASSERT_EQ(test, htw_timers_reserve(timers, 10), 0);
	htw_timers_flush(timers);
	for (round = 0; round < 2; round++) {
		htw_group_begin(&group, rig->engine);
		for (i = 0; i < 4; i++)
			KUNIT_EXPECT_EQ(test, htw_trig_group_arm(timers, &group, 0, 0, &id[i]), 0);
		htw_group_end(&group);
		htw_timers_flush(timers);
		KUNIT_EXPECT_EQ(test, htw_woken(&listener), round);
		htw_timers_flush(timers);
		KUNIT_EXPECT_EQ(test, htw_woken(&listener), 0);
		expect_list(rig, timers, 4 + 4 * round, round, round);
	}
	htw_unlisten(&listener, timers);
	htw_trig_judge(rig);
}

/* A turn that follows at once is no news to a reader who has been told, and finds it readable. */
static void turns_stay_readable(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own(rig, 2, FAR_NS);
	struct htw_timer_spec spec = {
		.deadline_ns	= htw_trig_after(10),
		.period_ns	= 10 * HTW_TRIG_TICK_NS,
		.policy		= HTWHEEL_POLICY_BURST,
	};
	struct htwheel_event events[2];
	u64 left_ns;
	u32 i;

	htw_trig_make(rig, timers, &spec);
	htw_trig_run(rig, htw_trig_after(45));
	expect_list(rig, timers, 1, false, 0);
	htw_trig_make(rig, timers, &spec);
	expect_list(rig, timers, 2, true, 1);
	/* Of each, the deadlines 10 to 40. */
	for (i = 1; i <= 4; i++) {
		KUNIT_EXPECT_EQ(test, htw_trig_read(timers, events, 2), 2);
		KUNIT_EXPECT_EQ(test, events[0].deadline_ns, htw_trig_after(10 * i));
		KUNIT_EXPECT_EQ(test, events[1].deadline_ns, htw_trig_after(10 * i));
		expect_list(rig, timers, i < 4 ? 2 : 0, i < 4, 1);
	}
	/* The next ones begin anew; and then one alone goes on. */
	htw_trig_run(rig, htw_trig_after(85));
	expect_list(rig, timers, 2, true, 2);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, events, 2), 2);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, events[0].id, &left_ns), HTWHEEL_RES_FIRED);
	for (i = 6; i <= 8; i++) {
		expect_list(rig, timers, 1, true, 2);
		KUNIT_EXPECT_EQ(test, htw_trig_read(timers, events, 2), 1);
		KUNIT_EXPECT_EQ(test, events[0].deadline_ns, htw_trig_after(10 * i));
	}
	expect_list(rig, timers, 0, false, 2);
	htw_trig_judge(rig);
}

/* The alarm is set for this moment. */
static void expect_alarm(struct htw_trig *rig, struct htw_timers *timers, u64 expires_ns)
{
	struct hrtimer *alarm = &timers->ready.alarm;

	KUNIT_ASSERT_TRUE(rig->test, hrtimer_active(alarm));
	KUNIT_ASSERT_EQ(rig->test, ktime_to_ns(hrtimer_get_expires(alarm)), expires_ns);
}

/* Later events do not put off the alarm of the oldest, however many come. */
static void alarm_is_for_the_oldest(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own(rig, 20, FAR_NS);
	u64 first_ns = htw_manual.now_ns, id, left_ns;
	u32 i;

	timers->ready.clock = &htw_alarm_clock;
	id = htw_trig_arm(rig, timers, htw_trig_after(10), 0);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&timers->ready.alarm));
	for (i = 0; i < 10; i++) {
		make_events(rig, timers, 1);
		expect_alarm(rig, timers, first_ns + FAR_NS);
		htw_manual.now_ns += NSEC_PER_MSEC;
	}
	/* Nor does one that a pass finds due. */
	htw_trig_run(rig, htw_manual.now_ns + NSEC_PER_SEC);
	expect_alarm(rig, timers, first_ns + FAR_NS);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), HTWHEEL_RES_FIRED);
	expect_alarm(rig, timers, first_ns + FAR_NS);
	/* The first of the next list has its own: from when it fired, though time has passed. */
	make_events(rig, timers, 10);
	expect_list(rig, timers, 20, true, 1);
	read_events(rig, timers, 20);
	id = htw_trig_arm(rig, timers, htw_manual.now_ns + NSEC_PER_MSEC, 0);
	htw_manual.step_ns = 1000;
	htw_trig_run(rig, htw_manual.now_ns + NSEC_PER_SEC);
	expect_alarm(rig, timers, htw_trig_find(rig, timers, id)->fired_ns + FAR_NS);
}

/* A delay that passes the end of the clock is cut, and does not become one that has passed. */
static void alarm_at_the_end_of_the_clock(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own(rig, 2, U32_MAX * (u64)NSEC_PER_USEC);

	timers->ready.clock = &htw_alarm_clock;
	htw_manual.now_ns = KTIME_MAX - 1000;
	make_events(rig, timers, 1);
	expect_alarm(rig, timers, KTIME_MAX);
	expect_list(rig, timers, 1, false, 0);
}

/* SETUP takes along what there is of memory, and measures by the new engine's clock. */
static void setup_changes_the_engine(struct kunit *test)
{
	struct htw_engine_config config = htw_trig_config(test);
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 1000);
	struct htw_timers_config choices = { .policy = { .events = 2, .delay_ns = NSEC_PER_MSEC } };
	const u64 nr = rig->design->reserve ? HTW_CHUNK_PLACES - 1 : 0;
	struct htw_engine *other, *first = rig->engine;

	config.clock = &htw_clock_boottime;
	other = htw_engine_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	KUNIT_EXPECT_EQ(test, htw_timers_reserve(timers, 1), 0);
	htw_timers_flush(timers);
	KUNIT_EXPECT_EQ(test, first->reserved, nr);
	KUNIT_EXPECT_EQ(test, htw_timers_setup(timers, other, &choices), 0);
	KUNIT_EXPECT_EQ(test, first->reserved, 0);
	KUNIT_EXPECT_EQ(test, other->reserved, nr);
	KUNIT_EXPECT_PTR_EQ(test, timers->engine, other);
	KUNIT_EXPECT_PTR_EQ(test, timers->ready.clock, &htw_clock_boottime);
	KUNIT_EXPECT_EQ(test, timers->ready.policy.events, 2);
	KUNIT_EXPECT_EQ(test, timers->ready.policy.delay_ns, NSEC_PER_MSEC);
	htw_trig_disown(rig, timers);
	KUNIT_EXPECT_EQ(test, other->reserved, 0);
	htw_engine_destroy(other);
}

static u64 live_ns(void)
{
	return htw_clock_now_ns(&htw_clock_monotonic);
}

/* Sleep until it is readable. Returns a moment at which it was. */
static u64 wait_for_alarm(struct htw_trig *rig, struct htw_timers *timers)
{
	wait_event_interruptible_timeout(timers->ready.wait, READ_ONCE(timers->ready.readable),
					 nsecs_to_jiffies(LOST_NS));
	KUNIT_ASSERT_TRUE_MSG(rig->test, timers->ready.readable, "nobody called");
	return live_ns();
}

static u64 fired_ns(struct htw_trig *rig, struct htw_timers *timers, u64 id)
{
	return htw_trig_find(rig, timers, id)->fired_ns;
}

/* The alarm comes when the oldest has waited, and not before; the number does not matter then. */
static void live_delay(struct kunit *test)
{
	static const u32 events[] = { 0, 3, U32_MAX };
	const u64 delay_ns = 20 * NSEC_PER_MSEC;
	struct htw_trig *rig = htw_trig_open_live(test);
	struct htw_timers *timers;
	u64 id, now_ns, deadline_ns;
	u32 i, round;

	for (i = 0; i < ARRAY_SIZE(events); i++) {
		timers = own(rig, events[i], delay_ns);
		for (round = 0; round < 3; round++) {
			/* By an arm that is due, and by a pass. */
			htw_pin(test, round);
			deadline_ns = round % 2 ? live_ns() + NSEC_PER_MSEC : 0;
			id = htw_trig_arm(rig, timers, deadline_ns, 0);
			now_ns = wait_for_alarm(rig, timers);
			KUNIT_EXPECT_GE(test, now_ns, fired_ns(rig, timers, id) + delay_ns);
			expect_list(rig, timers, 1, true, round + 1);
			make_events(rig, timers, 1);
			read_events(rig, timers, 2);
			expect_list(rig, timers, 0, false, round + 1);
		}
		htw_trig_disown(rig, timers);
	}
}

/*
 * What comes first decides: the number may be reached before the delay. An alarm that rings then is
 * no news. (It cannot ring within the group, which keeps softirqs from its CPU.)
 */
static void live_number_before_delay(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_live(test);
	struct htw_timers *timers = own(rig, 2, 10 * NSEC_PER_MSEC);
	struct htw_listener listener;
	struct htw_group group;
	u64 id;
	u32 i;

	htw_listen(&listener, timers);
	KUNIT_ASSERT_EQ(test, htw_timers_reserve(timers, 2), 0);
	htw_group_begin(&group, rig->engine);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, htw_trig_group_arm(timers, &group, 0, 0, &id), 0);
		KUNIT_EXPECT_EQ(test, timers->ready.readable, i);
	}
	htw_group_end(&group);
	htw_timers_flush(timers);
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 1);
	fsleep(3 * 10 * USEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, htw_woken(&listener), 0);
	expect_list(rig, timers, 2, true, 1);
	htw_unlisten(&listener, timers);
}

/* The oldest is withdrawn: the alarm is for the one that is the oldest then. */
static void live_oldest_is_withdrawn(struct kunit *test)
{
	const u64 delay_ns = 60 * NSEC_PER_MSEC;
	struct htw_trig *rig = htw_trig_open_live(test);
	u64 id[2], left_ns, now_ns;
	struct htw_timers *timers;
	u32 try;

	for (try = 0; try < 20; try++) {
		timers = own(rig, 0, delay_ns);
		id[0] = htw_trig_arm(rig, timers, 0, 0);
		fsleep(15 * USEC_PER_MSEC);
		id[1] = htw_trig_arm(rig, timers, 0, 0);
		htw_trig_cancel(timers, id[0], &left_ns);
		/* On a slow machine it may have been too late for that. */
		if (!READ_ONCE(timers->ready.readable)) {
			now_ns = wait_for_alarm(rig, timers);
			KUNIT_EXPECT_GE(test, now_ns, fired_ns(rig, timers, id[1]) + delay_ns);
			KUNIT_EXPECT_EQ(test, timers->ready.alerts, 1);
			return;
		}
		htw_trig_disown(rig, timers);
	}
	kunit_skip(test, "this machine is too slow");
}

/* An alarm that finds the list empty is of no consequence, and the next event has its full time. */
static void live_all_are_withdrawn(struct kunit *test)
{
	const u64 delay_ns = 20 * NSEC_PER_MSEC;
	struct htw_trig *rig = htw_trig_open_live(test);
	struct htw_timers *timers = own(rig, 0, delay_ns);
	struct htw_listener listener;
	u64 id, left_ns, alerts;
	u32 i;

	htw_listen(&listener, timers);
	for (i = 0; i < 3; i++) {
		alerts = timers->ready.alerts;
		id = htw_trig_arm(rig, timers, 0, 0);
		htw_trig_cancel(timers, id, &left_ns);
		/* It was told before the cancel only if this took so long. */
		htw_woken(&listener);
		if (timers->ready.alerts != alerts)
			continue;
		if (i % 2)
			fsleep(2 * 20 * USEC_PER_MSEC);
		KUNIT_EXPECT_EQ(test, htw_woken(&listener), 0);
		KUNIT_EXPECT_EQ(test, timers->ready.alerts, alerts);
		id = htw_trig_arm(rig, timers, 0, 0);
		KUNIT_EXPECT_GE(test, wait_for_alarm(rig, timers),
				fired_ns(rig, timers, id) + delay_ns);
		KUNIT_EXPECT_EQ(test, timers->ready.alerts, alerts + 1);
		read_events(rig, timers, 1);
	}
	htw_unlisten(&listener, timers);
}

/* Owners that go while their alarm is on its way, or rings. */
static void live_ends_with_the_alarm_on(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_live(test);
	u64 random = htw_timer_seed;
	struct htw_timers *timers;
	u32 i;

	for (i = 0; i < 200; i++) {
		htw_pin(test, i);
		timers = own(rig, 0, 1 + htw_random_length(&random, 17));
		make_events(rig, timers, 1);
		if (i % 2)
			fsleep(50);
		if (i % 3 == 0)
			htw_pin(test, i + 1);
		htw_trig_disown(rig, timers);
	}
}

const struct htw_case htw_timer_cases_wake[] = {
	HTW_CASE(at_once),
	HTW_CASE(number_of_events),
	HTW_CASE(withdrawn_ones_do_not_count),
	HTW_CASE_EXACT(number_of_events_of_a_pass),
	HTW_CASE(no_wake_up_before_its_time),
	HTW_CASE(turns_stay_readable),
	HTW_CASE(alarm_is_for_the_oldest),
	HTW_CASE(alarm_at_the_end_of_the_clock),
	HTW_CASE(setup_changes_the_engine),
	HTW_CASE(live_delay),
	HTW_CASE(live_number_before_delay),
	HTW_CASE(live_oldest_is_withdrawn),
	HTW_CASE(live_all_are_withdrawn),
	HTW_CASE(live_ends_with_the_alarm_on),
	{}
};
