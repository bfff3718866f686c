// SPDX-License-Identifier: GPL-2.0
/*
 * Points in time as a time namespace shows them, and what a jump of the clock does to an engine.
 */
#include "timer_cases.h"

/**
 * struct view - a point in time and what it becomes
 * @ns: the point
 * @offset_ns: what the namespace adds
 * @result_ns: the point on the other side
 */
struct view {
	u64			ns;
	s64			offset_ns;
	u64			result_ns;
};

#define NEVER		HTWHEEL_NEVER_NS

static const struct view from_user[] = {
	{ 0, 0, 0 },
	{ 1000, 0, 1000 },
	{ 1000, 300, 700 },
	{ 1000, -300, 1300 },
	{ 1000, 1000, 0 },
	/* Before the clock began. */
	{ 1000, 1001, 0 },
	{ 0, 1, 0 },
	{ 0, S64_MAX, 0 },
	{ NEVER - 1, S64_MAX, 0 },
	/* After its end. */
	{ NEVER - 1, -1, NEVER },
	{ NEVER - 1, -2, NEVER },
	{ NEVER - 10, -9, NEVER - 1 },
	{ 1, S64_MIN, NEVER },
	{ 0, S64_MIN, NEVER },
	{ 1ULL << 62, -(1LL << 62), NEVER },
	{ 1ULL << 62, -(1LL << 62) + 1, NEVER },
	{ 1ULL << 62, -(1LL << 62) + 2, NEVER - 1 },
	{ NEVER - 1, 0, NEVER - 1 },
	/* What never comes. */
	{ NEVER, 0, NEVER },
	{ NEVER, 1, NEVER },
	{ NEVER, -1, NEVER },
	{ NEVER, S64_MAX, NEVER },
	{ NEVER, S64_MIN, NEVER },
};

static const struct view to_user[] = {
	{ 0, 0, 0 },
	{ 700, 300, 1000 },
	{ 1300, -300, 1000 },
	{ 300, -300, 0 },
	{ 299, -300, 0 },
	{ 0, S64_MIN, 0 },
	{ NEVER - 1, S64_MIN, 0 },
	{ NEVER - 1, -S64_MAX, 0 },
	{ NEVER - 1, 1, NEVER },
	{ NEVER - 1, 2, NEVER },
	{ NEVER - 10, 9, NEVER - 1 },
	{ 1, S64_MAX, NEVER },
	{ 0, S64_MAX, NEVER },
	{ 1ULL << 62, 1LL << 62, NEVER },
	{ NEVER, 0, NEVER },
	{ NEVER, -1, NEVER },
	{ NEVER, S64_MIN, NEVER },
	{ NEVER, S64_MAX, NEVER },
};

static void views_at_the_ends(struct kunit *test)
{
	const struct view *view;

	for (view = from_user; view < from_user + ARRAY_SIZE(from_user); view++)
		KUNIT_EXPECT_EQ_MSG(test, htw_clock_from_user(view->ns, view->offset_ns),
				    view->result_ns, "%llu, %lld", view->ns, view->offset_ns);
	for (view = to_user; view < to_user + ARRAY_SIZE(to_user); view++)
		KUNIT_EXPECT_EQ_MSG(test, htw_clock_to_user(view->ns, view->offset_ns),
				    view->result_ns, "%llu, %lld", view->ns, view->offset_ns);
}

/* A point that has a place on both sides comes back as it went. */
static void views_there_and_back(struct kunit *test)
{
	u64 random = htw_timer_seed, ns, there;
	s64 offset_ns;
	u32 i;

	for (i = 0; i < 100000; i++) {
		ns = htw_random_length(&random, 62);
		offset_ns = htw_random_length(&random, 61);
		there = htw_clock_to_user(ns, offset_ns);
		KUNIT_ASSERT_EQ(test, there, ns + offset_ns);
		KUNIT_ASSERT_EQ(test, htw_clock_from_user(there, offset_ns), ns);
		there = htw_clock_from_user(ns, -offset_ns);
		KUNIT_ASSERT_EQ(test, there, ns + offset_ns);
		KUNIT_ASSERT_EQ(test, htw_clock_to_user(there, -offset_ns), ns);
	}
}

#define SUSPEND_NS	(60ULL * NSEC_PER_SEC)
#define PLAIN		100

/* What the sleeper has armed: plain timers within the time of the suspend and after, and a beat. */
struct sleeper {
	struct htw_trig		*rig;
	struct htw_timers	*timers;
	u64			beat;
};

/* Plain timers are due after 1, 2, ... 100 seconds, the periodic one every 10. */
static struct sleeper go_to_sleep(struct kunit *test, enum htwheel_policy policy)
{
	struct htw_timer_spec beat = {
		.deadline_ns	= HTW_TRIG_START_NS + 10ULL * NSEC_PER_SEC,
		.period_ns	= 10ULL * NSEC_PER_SEC,
		.user_data	= PLAIN,
		.policy		= policy,
	};
	struct sleeper sleeper = {};
	u32 i;

	sleeper.rig = htw_trig_open_default(test);
	sleeper.timers = htw_trig_own(sleeper.rig, PLAIN + 1);
	for (i = 0; i < PLAIN; i++) {
		htw_pin(test, i);
		htw_trig_arm(sleeper.rig, sleeper.timers,
			     HTW_TRIG_START_NS + (i + 1) * NSEC_PER_SEC, i);
	}
	sleeper.beat = htw_trig_make(sleeper.rig, sleeper.timers, &beat);
	return sleeper;
}

/* Returns how many plain ones fired; each once, and none before its time. */
static u32 catch_up(struct sleeper *sleeper, struct htwheel_event *beat, u32 *beats)
{
	struct kunit *test = sleeper->rig->test;
	bool seen[PLAIN] = {};
	struct htwheel_event event;
	u32 fired = 0;

	*beats = 0;
	while (htw_trig_read(sleeper->timers, &event, 1)) {
		if (event.user_data == PLAIN) {
			*beat = event;
			++*beats;
			continue;
		}
		KUNIT_ASSERT_LT(test, event.user_data, PLAIN);
		KUNIT_ASSERT_FALSE(test, seen[event.user_data]);
		seen[event.user_data] = true;
		KUNIT_ASSERT_GE(test, event.fired_ns, event.deadline_ns);
		fired++;
	}
	return fired;
}

/*
 * A suspend, with injected time: nothing runs, and then CLOCK_BOOTTIME is a minute further. What
 * was due meanwhile fires once, at resume, and the periodic timer says what it has missed.
 */
static void b64_boottime_at_resume(struct kunit *test)
{
	static const struct {
		enum htwheel_policy	policy;
		u32			beats;
		u64			count;
		u64			next_ns;
	} rules[] = {
		{ HTWHEEL_POLICY_COUNT, 1, 6, 70ULL * NSEC_PER_SEC },
		{ HTWHEEL_POLICY_SKIP, 1, 1, 70ULL * NSEC_PER_SEC },
		{ HTWHEEL_POLICY_BURST, 6, 1, 70ULL * NSEC_PER_SEC },
		{ HTWHEEL_POLICY_DELAY, 1, 1, 70ULL * NSEC_PER_SEC + HTW_TRIG_TICK_NS },
	};
	struct htwheel_event beat;
	struct sleeper sleeper;
	u32 i, beats;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		sleeper = go_to_sleep(test, rules[i].policy);
		htw_trig_run(sleeper.rig, HTW_TRIG_START_NS + SUSPEND_NS + HTW_TRIG_TICK_NS);
		htw_trig_judge(sleeper.rig);
		KUNIT_EXPECT_EQ(test, catch_up(&sleeper, &beat, &beats), 60);
		KUNIT_EXPECT_EQ(test, beats, rules[i].beats);
		KUNIT_EXPECT_EQ(test, beat.count, rules[i].count);
		KUNIT_EXPECT_EQ(test, htw_trig_find(sleeper.rig, sleeper.timers,
						    sleeper.beat)->deadline_ns,
				HTW_TRIG_START_NS + rules[i].next_ns);
		/* The rest comes in its time. */
		htw_trig_run(sleeper.rig, HTW_TRIG_START_NS + 101ULL * NSEC_PER_SEC);
		KUNIT_EXPECT_EQ(test, catch_up(&sleeper, &beat, &beats), 40);
		htw_trig_judge(sleeper.rig);
		htw_trig_close(sleeper.rig);
	}
}

/*
 * The same, for CLOCK_MONOTONIC: it has stood still, so nothing is due at resume, and all comes a
 * minute later than it would have: when the same time has passed on this clock.
 */
static void b64_monotonic_at_resume(struct kunit *test)
{
	struct sleeper sleeper = go_to_sleep(test, HTWHEEL_POLICY_COUNT);
	struct htwheel_event beat;
	u32 second, beats;

	htw_trig_run(sleeper.rig, HTW_TRIG_START_NS + HTW_TRIG_TICK_NS);
	KUNIT_EXPECT_EQ(test, catch_up(&sleeper, &beat, &beats), 0);
	KUNIT_EXPECT_EQ(test, beats, 0);
	for (second = 1; second <= PLAIN; second++) {
		htw_trig_run(sleeper.rig,
			     HTW_TRIG_START_NS + second * NSEC_PER_SEC + HTW_TRIG_TICK_NS);
		KUNIT_EXPECT_EQ(test, catch_up(&sleeper, &beat, &beats), 1);
		KUNIT_EXPECT_EQ(test, beats, second % 10 == 0);
		if (beats)
			KUNIT_EXPECT_EQ(test, beat.count, 1);
	}
	htw_trig_judge(sleeper.rig);
}

const struct htw_case htw_timer_cases_clock[] = {
	HTW_CASE(views_at_the_ends),
	HTW_CASE(views_there_and_back),
	HTW_CASE_EXACT(b64_boottime_at_resume),
	HTW_CASE_EXACT(b64_monotonic_at_resume),
	{}
};
