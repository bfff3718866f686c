// SPDX-License-Identifier: GPL-2.0
/*
 * Sweeps: what is done to all timers of an owner.
 */
#include <linux/slab.h>

#include "listener.h"
#include "timer_cases.h"

#define FAR_NS		(HTW_TRIG_START_NS + 3600ULL * NSEC_PER_SEC)
#define NEVER		HTWHEEL_NEVER_NS

static struct htwheel_mass shift_by(s64 shift_ns)
{
	return (struct htwheel_mass){ .opcode = HTWHEEL_MASS_SHIFT, .shift_ns = shift_ns };
}

static struct htwheel_mass scale_by(u32 numerator, u32 denominator)
{
	return (struct htwheel_mass){
		.opcode		= HTWHEEL_MASS_SCALE,
		.numerator	= numerator,
		.denominator	= denominator,
	};
}

/* Ten thousand, of all kinds and in all states; afterwards there is nothing. */
static void b39_cancel_all(struct kunit *test)
{
	const u32 nr = 10000;
	struct htwheel_mass mass = { .opcode = HTWHEEL_MASS_CANCEL };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, nr), *other = htw_trig_own(rig, 10);
	u64 *id, pending, left_ns, bystander;
	struct htw_timer_spec spec = {};
	struct htwheel_event event;
	u32 i;

	id = kunit_kcalloc(test, nr, sizeof(*id), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, id);
	bystander = htw_trig_arm(rig, other, FAR_NS, 0);
	for (i = 0; i < nr; i++) {
		spec.deadline_ns = htw_manual.now_ns + i % 3 * NSEC_PER_MSEC * i;
		spec.keep = i % 5 == 0;
		spec.period_ns = i % 7 ? 0 : NSEC_PER_SEC;
		id[i] = htw_trig_make(rig, timers, &spec);
		if (i % 1000 == 0)
			htw_pin(test, i / 1000);
	}
	for (i = 0; i < 2000; i++)
		KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	htw_trig_run(rig, htw_manual.now_ns + NSEC_PER_SEC);
	htw_trig_judge(rig);
	KUNIT_EXPECT_GT(test, timers->idle, 0);
	KUNIT_EXPECT_GT(test, timers->ready.nr, 0);

	pending = htw_timers_pending(timers);
	left_ns = timers->pool.live;
	KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &mass), left_ns);
	KUNIT_EXPECT_EQ(test, timers->books.cancelled, pending);
	KUNIT_EXPECT_EQ(test, timers->pool.live, 0);
	KUNIT_EXPECT_EQ(test, timers->idle, 0);
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 0);
	KUNIT_EXPECT_EQ(test, htw_trig_queued(rig), 1);
	htw_trig_judge(rig);
	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_EQ(test, htw_trig_query(timers, id[i], &left_ns), -ENOENT);
	KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &mass), 0);
	htw_trig_run(rig, FAR_NS - 1);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 0);
	KUNIT_EXPECT_EQ(test, htw_trig_query(other, bystander, &left_ns), 0);
}

#define GROUPS		5

/* Only the timers of the tag, among all the others; 0 is a tag like any. */
static void tags(struct kunit *test)
{
	struct htwheel_mass mass = { .opcode = HTWHEEL_MASS_CANCEL, .flags = HTWHEEL_MASS_TAG };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 2000);
	struct htw_timer_spec spec = { .deadline_ns = FAR_NS };
	static const u32 tag[GROUPS] = { 0, 1, 0x80000000, 0x7fffffff, U32_MAX };
	struct htwheel_mass shift = shift_by(NSEC_PER_SEC);
	u64 id[GROUPS], left_ns;
	u32 i, group;

	for (i = 0; i < 2000; i++) {
		spec.tag = tag[i % GROUPS];
		id[i % GROUPS] = htw_trig_make(rig, timers, &spec);
	}
	/* Nobody has this one. */
	mass.tag = 2;
	KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &mass), 0);
	shift.flags = HTWHEEL_MASS_TAG;
	shift.tag = tag[2];
	KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &shift), 400);
	for (group = 0; group < GROUPS; group++)
		KUNIT_EXPECT_EQ(test, htw_trig_find(rig, timers, id[group])->deadline_ns,
				group == 2 ? FAR_NS + NSEC_PER_SEC : FAR_NS);
	for (group = 0; group < GROUPS; group++) {
		mass.tag = tag[group];
		KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &mass), 400);
		KUNIT_EXPECT_EQ(test, timers->pool.live, 2000 - 400 * (group + 1));
		for (i = 0; i < GROUPS; i++)
			KUNIT_EXPECT_EQ(test, htw_trig_query(timers, id[i], &left_ns),
					i <= group ? -ENOENT : 0);
		htw_trig_judge(rig);
	}
	/* Without the flag the tag does not matter. */
	spec.tag = 77;
	htw_trig_make(rig, timers, &spec);
	mass.flags = 0;
	mass.tag = 0;
	KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &mass), 1);
}

/* One timer of this deadline becomes one of that deadline. */
static void expect_move(struct htw_trig *rig, struct htw_timers *timers,
			const struct htwheel_mass *mass, u64 deadline_ns, u64 expected_ns)
{
	const bool moves = deadline_ns != NEVER, due = expected_ns <= htw_manual.now_ns;
	struct htw_books books = timers->books;
	struct kunit *test = rig->test;
	struct htw_timer *timer;
	u64 id, left_ns;

	id = htw_trig_arm(rig, timers, deadline_ns, 0);
	timer = htw_trig_find(rig, timers, id);
	KUNIT_ASSERT_EQ(test, htw_trig_mass(timers, mass), moves);
	KUNIT_ASSERT_EQ(test, timer->deadline_ns, expected_ns);
	KUNIT_ASSERT_EQ(test, timers->ready.nr, due);
	KUNIT_ASSERT_EQ(test, timers->books.armed, books.armed + 1 + moves);
	KUNIT_ASSERT_EQ(test, timers->books.replaced, books.replaced + moves);
	htw_trig_judge(rig);
	KUNIT_ASSERT_EQ(test, htw_trig_cancel(timers, id, &left_ns), due ? HTWHEEL_RES_FIRED : 0);
	KUNIT_ASSERT_EQ(test, left_ns, due ? 0 : expected_ns - htw_manual.now_ns);
}

static void shift_to_the_nanosecond(struct kunit *test)
{
	static const struct {
		u64	deadline_ns;
		s64	shift_ns;
		u64	expected_ns;
	} shifts[] = {
		{ FAR_NS, 0, FAR_NS },
		{ FAR_NS, 1, FAR_NS + 1 },
		{ FAR_NS, -1, FAR_NS - 1 },
		{ FAR_NS, NSEC_PER_SEC, FAR_NS + NSEC_PER_SEC },
		/* Down to the present and below, and to where the clock began. */
		{ FAR_NS, -3600LL * NSEC_PER_SEC, HTW_TRIG_START_NS },
		{ FAR_NS, -3600LL * NSEC_PER_SEC + 1, HTW_TRIG_START_NS + 1 },
		{ FAR_NS, -3600LL * NSEC_PER_SEC - 1, HTW_TRIG_START_NS - 1 },
		{ FAR_NS, -(s64)FAR_NS, 0 },
		{ FAR_NS, -(s64)FAR_NS - 1, 0 },
		{ FAR_NS, -(s64)NEVER, 0 },
		/* Up to where it ends. */
		{ FAR_NS, NEVER, NEVER },
		{ FAR_NS, NEVER - FAR_NS, NEVER },
		{ FAR_NS, NEVER - FAR_NS - 1, NEVER - 1 },
		{ NEVER - 1, 1, NEVER },
		{ NEVER - 1, NEVER, NEVER },
		{ NEVER - 1, -(s64)NEVER, 0 },
		{ NEVER - 1, -(s64)(NEVER - 2), 1 },
		/* What never comes stays where it is. */
		{ NEVER, -1, NEVER },
		{ NEVER, -(s64)NEVER, NEVER },
		{ NEVER, 1, NEVER },
	};
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 1);
	struct htwheel_mass mass;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shifts); i++) {
		rig->step = i;
		mass = shift_by(shifts[i].shift_ns);
		expect_move(rig, timers, &mass, shifts[i].deadline_ns, shifts[i].expected_ns);
	}
}

/* By school: a product of three 32-bit digits, divided from the top. */
static u64 scaled(u64 left_ns, u32 numerator, u32 denominator)
{
	u64 low = (left_ns & U32_MAX) * numerator, high = (left_ns >> 32) * numerator;
	u32 digit[3], quotient[3], rest = 0, i;

	high += low >> 32;
	digit[0] = high >> 32;
	digit[1] = high;
	digit[2] = low;
	for (i = 0; i < 3; i++)
		quotient[i] = div_u64_rem((u64)rest << 32 | digit[i], denominator, &rest);
	if (quotient[0])
		return NEVER;
	return min((u64)quotient[1] << 32 | quotient[2], NEVER);
}

static void expect_scale(struct htw_trig *rig, struct htw_timers *timers, u64 left_ns,
			 u32 numerator, u32 denominator)
{
	struct htwheel_mass mass = scale_by(numerator, denominator);
	u64 now_ns = htw_manual.now_ns, deadline_ns = min(now_ns + left_ns, NEVER);
	u64 expected_ns;

	expected_ns = now_ns + scaled(deadline_ns - now_ns, numerator, denominator);
	if (deadline_ns == NEVER)
		expected_ns = NEVER;
	expect_move(rig, timers, &mass, deadline_ns, min(expected_ns, NEVER));
}

static void scale_to_the_nanosecond(struct kunit *test)
{
	static const u32 factors[] = { 1, 2, 3, 7, 0x7fffffff, 0x80000000, U32_MAX - 1, U32_MAX };
	static const u64 lefts_ns[] = { 1, 2, 3, U32_MAX, 1ULL << 32, 1ULL << 62, NEVER / 2 };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 1);
	u64 random = htw_timer_seed;
	u32 i, j, k;

	/* The reference is right where one can see it. */
	KUNIT_ASSERT_EQ(test, scaled(1000, 1, 3), 333);
	KUNIT_ASSERT_EQ(test, scaled(1ULL << 62, 2, 1), NEVER);
	KUNIT_ASSERT_EQ(test, scaled((1ULL << 62) - 1, 2, 1), NEVER - 1);
	KUNIT_ASSERT_EQ(test, scaled(NEVER, U32_MAX, U32_MAX), NEVER);
	for (i = 0; i < ARRAY_SIZE(lefts_ns); i++) {
		expect_scale(rig, timers, lefts_ns[i], 0, 1);
		expect_scale(rig, timers, lefts_ns[i], 0, U32_MAX);
		for (j = 0; j < ARRAY_SIZE(factors); j++) {
			for (k = 0; k < ARRAY_SIZE(factors); k++)
				expect_scale(rig, timers, lefts_ns[i], factors[j], factors[k]);
		}
	}
	expect_scale(rig, timers, NEVER, 0, 1);
	expect_scale(rig, timers, NEVER, 1, 2);
	for (i = 0; i < 5000; i++) {
		rig->step = i;
		expect_scale(rig, timers, 1 + htw_random_length(&random, 63),
			     htw_random_length(&random, 32),
			     max(htw_random_length(&random, 32), 1ULL));
	}
}

/* What is due, has fired, or is idle has no time left to be changed. */
static void moves_only_what_is_armed(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10);
	struct htw_timer_spec kept = { .keep = true };
	struct htwheel_mass mass[2] = { shift_by(NSEC_PER_SEC), scale_by(2, 1) };
	u64 fired, idle, overdue, armed, left_ns, deadline_ns = htw_trig_after(20);
	struct htwheel_event event;
	u32 i;

	idle = htw_trig_make(rig, timers, &kept);
	KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	for (i = 0; i < ARRAY_SIZE(mass); i++) {
		fired = htw_trig_arm(rig, timers, htw_manual.now_ns, 0);
		overdue = htw_trig_arm(rig, timers, deadline_ns, 0);
		htw_manual.now_ns = deadline_ns + 1000;
		armed = htw_trig_arm(rig, timers, htw_manual.now_ns + 1000, 0);
		KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &mass[i]), 2);
		KUNIT_EXPECT_EQ(test, htw_trig_query(timers, fired, &left_ns), HTWHEEL_RES_FIRED);
		KUNIT_EXPECT_EQ(test, htw_trig_query(timers, idle, &left_ns), -ENOENT);
		KUNIT_EXPECT_EQ(test, timers->idle, 1);
		/* One that no pass has seen yet is armed: SHIFT moves it, and SCALE has it fire. */
		if (mass[i].opcode == HTWHEEL_MASS_SHIFT) {
			KUNIT_EXPECT_EQ(test, htw_trig_query(timers, overdue, &left_ns), 0);
			KUNIT_EXPECT_EQ(test, left_ns, NSEC_PER_SEC - 1000);
			KUNIT_EXPECT_EQ(test, htw_trig_query(timers, armed, &left_ns), 0);
			KUNIT_EXPECT_EQ(test, left_ns, NSEC_PER_SEC + 1000);
		} else {
			KUNIT_EXPECT_EQ(test, htw_trig_query(timers, overdue, &left_ns),
					HTWHEEL_RES_FIRED);
			KUNIT_EXPECT_EQ(test, htw_trig_query(timers, armed, &left_ns), 0);
			KUNIT_EXPECT_EQ(test, left_ns, 2000);
			KUNIT_EXPECT_EQ(test, htw_trig_find(rig, timers, overdue)->deadline_ns,
					deadline_ns);
		}
		htw_trig_judge(rig);
		KUNIT_EXPECT_GE(test, htw_trig_cancel(timers, fired, &left_ns), 0);
		KUNIT_EXPECT_GE(test, htw_trig_cancel(timers, overdue, &left_ns), 0);
		KUNIT_EXPECT_GE(test, htw_trig_cancel(timers, armed, &left_ns), 0);
		deadline_ns = htw_manual.now_ns + HTW_TRIG_TICK_NS;
	}
}

/* A SHIFT that makes hundreds due wakes the reader, once a step and after the locks are gone. */
static void sweep_wakes_the_reader(struct kunit *test)
{
	struct htwheel_mass mass = shift_by(-(s64)NEVER);
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 1000);
	struct htw_listener listener;
	u64 cursor = 0;
	u32 i, due = 0;

	for (i = 0; i < 1000; i++)
		htw_trig_arm(rig, timers, FAR_NS, i);
	htw_listen(&listener, timers);
	do {
		due += htw_sweep_mass(timers, &mass, &cursor);
		KUNIT_ASSERT_EQ(test, htw_woken(&listener), 0);
		KUNIT_ASSERT_EQ(test, timers->ready.nr, due);
		htw_timers_flush(timers);
		KUNIT_ASSERT_LE(test, htw_woken(&listener), 1);
	} while (cursor);
	KUNIT_EXPECT_EQ(test, due, 1000);
	KUNIT_EXPECT_EQ(test, timers->ready.alerts, 1);
	htw_unlisten(&listener, timers);
	htw_trig_judge(rig);
}

/* Of a periodic timer, the deadlines that follow are counted from where it was moved to. */
static void turns_follow_the_shift(struct kunit *test)
{
	struct htwheel_mass mass = shift_by(3 * HTW_TRIG_TICK_NS);
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 1);
	struct htw_timer_spec spec = {
		.deadline_ns	= htw_trig_after(10),
		.period_ns	= 10 * HTW_TRIG_TICK_NS,
	};
	struct htwheel_event event;
	u32 i;

	htw_trig_make(rig, timers, &spec);
	for (i = 1; i < 50; i++) {
		KUNIT_ASSERT_EQ(test, htw_trig_mass(timers, &mass), 1);
		htw_trig_run(rig, htw_trig_after(13 * i + 1));
		KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 1);
		KUNIT_ASSERT_EQ(test, event.deadline_ns, htw_trig_after(13 * i));
		KUNIT_ASSERT_EQ(test, event.count, 1);
	}
	htw_trig_judge(rig);
}

const struct htw_case htw_timer_cases_sweep[] = {
	HTW_CASE(b39_cancel_all),
	HTW_CASE(tags),
	HTW_CASE(shift_to_the_nanosecond),
	HTW_CASE(scale_to_the_nanosecond),
	HTW_CASE(moves_only_what_is_armed),
	HTW_CASE(sweep_wakes_the_reader),
	HTW_CASE_EXACT(turns_follow_the_shift),
	{}
};
