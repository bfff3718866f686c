// SPDX-License-Identifier: GPL-2.0
/*
 * Timers that outlive their events: kept ones, which are idle then, and periodic ones. Every
 * operation on them in every state, and what idle ones count for.
 */
#include "timer_cases.h"

#define PERIOD_TICKS	10
#define PERIOD_NS	(PERIOD_TICKS * HTW_TRIG_TICK_NS)

/* What the timer is. */
enum kind { KEPT, PERIODIC, BURST, KEPT_PERIODIC, KINDS };

/* How the operation finds it. */
enum found {
	FOUND_QUEUED,
	FOUND_OVERDUE,
	FOUND_EXPIRED,
	FOUND_READ,
	FOUND_CANCELLED,
	FOUND_NR
};

enum operation { CANCEL, REARM_LATER, REARM_EARLIER, REARM_DUE, QUERY, OPERATIONS };

/**
 * struct scene - one cell of the table
 * @rig: the rig
 * @timers: the owner of the timer
 * @kind: what the timer is
 * @found: how the operation finds it
 * @state: in which state that is; HTW_FREE if its name is stale
 * @id: its name
 * @deadline_ns: its deadline
 * @result: what the operation answered
 * @left_ns: and what time it said is left
 */
struct scene {
	struct htw_trig		*rig;
	struct htw_timers	*timers;
	enum kind		kind;
	enum found		found;
	enum htw_state		state;
	u64			id;
	u64			deadline_ns;
	int			result;
	u64			left_ns;
};

static u64 make(struct htw_trig *rig, struct htw_timers *timers, enum kind kind, u64 deadline_ns)
{
	struct htw_timer_spec spec = {
		.deadline_ns	= deadline_ns,
		.period_ns	= kind == KEPT ? 0 : PERIOD_NS,
		.user_data	= kind,
		.tag		= 7 + kind,
		.policy		= kind == BURST ? HTWHEEL_POLICY_BURST : HTWHEEL_POLICY_COUNT,
		.keep		= kind == KEPT || kind == KEPT_PERIODIC,
	};

	return htw_trig_make(rig, timers, &spec);
}

static void set_scene(struct scene *scene, enum htw_state state, u64 deadline_ns)
{
	scene->state = state;
	scene->deadline_ns = deadline_ns;
}

/* The first event has been read, at 35 ticks, when those of 20 and 30 were due, too. */
static void read_first(struct scene *scene)
{
	struct htwheel_event event;

	KUNIT_ASSERT_EQ(scene->rig->test, htw_trig_read(scene->timers, &event, 1), 1);
	KUNIT_ASSERT_EQ(scene->rig->test, event.id, scene->id);
	if (scene->kind == KEPT)
		set_scene(scene, HTW_IDLE, htw_trig_after(10));
	else if (scene->kind == BURST)
		set_scene(scene, HTW_EXPIRED, htw_trig_after(20));
	else
		set_scene(scene, HTW_QUEUED, htw_trig_after(40));
}

static void bring_about(struct scene *scene)
{
	u64 first_ns = htw_trig_after(scene->found == FOUND_QUEUED ? 100 : 10);
	u64 left_ns;

	scene->id = make(scene->rig, scene->timers, scene->kind, first_ns);
	set_scene(scene, HTW_QUEUED, first_ns);
	if (scene->found <= FOUND_OVERDUE) {
		htw_manual.now_ns = htw_trig_after(35);
		return;
	}
	htw_trig_run(scene->rig, htw_trig_after(35));
	set_scene(scene, HTW_EXPIRED, first_ns);
	if (scene->found >= FOUND_READ)
		read_first(scene);
	if (scene->found == FOUND_CANCELLED) {
		KUNIT_ASSERT_GE(scene->rig->test,
				htw_trig_cancel(scene->timers, scene->id, &left_ns), 0);
		set_scene(scene, HTW_FREE, 0);
	}
}

static void rearm(struct scene *scene, u64 deadline_ns)
{
	scene->result = htw_trig_rearm(scene->timers, scene->id, deadline_ns);
	if (scene->state != HTW_FREE)
		set_scene(scene, deadline_ns <= htw_manual.now_ns ? HTW_EXPIRED : HTW_QUEUED,
			  deadline_ns);
}

static void operate(struct scene *scene, enum operation operation)
{
	scene->left_ns = HTW_JUNK;
	switch (operation) {
	case CANCEL:
		scene->result = htw_trig_cancel(scene->timers, scene->id, &scene->left_ns);
		set_scene(scene, HTW_FREE, 0);
		break;
	case REARM_LATER:
		rearm(scene, htw_trig_after(1000));
		break;
	case REARM_EARLIER:
		rearm(scene, htw_trig_after(37));
		break;
	case REARM_DUE:
		rearm(scene, htw_trig_after(33));
		break;
	default:
		scene->result = htw_trig_query(scene->timers, scene->id, &scene->left_ns);
	}
}

/* The table at the head of module/timer.c. */
static void expect_answer(struct scene *scene, enum operation operation, enum htw_state state,
			  u64 deadline_ns)
{
	bool unknown = state == HTW_FREE || (state == HTW_IDLE && operation == QUERY);
	struct kunit *test = scene->rig->test;
	u64 left_ns = 0;

	if (unknown)
		KUNIT_ASSERT_EQ(test, scene->result, -ENOENT);
	else
		KUNIT_ASSERT_EQ(test, scene->result, state == HTW_EXPIRED ? HTWHEEL_RES_FIRED : 0);
	if (unknown || (operation != CANCEL && operation != QUERY))
		left_ns = HTW_JUNK;
	else if (state == HTW_QUEUED && deadline_ns > htw_manual.now_ns)
		left_ns = deadline_ns - htw_manual.now_ns;
	KUNIT_ASSERT_EQ(test, scene->left_ns, left_ns);
}

static void expect_books(struct scene *scene, enum operation operation, enum htw_state state,
			 struct htw_books expected)
{
	const bool pending = state == HTW_QUEUED || state == HTW_EXPIRED;
	struct htw_timers *timers = scene->timers;
	struct kunit *test = scene->rig->test;

	if (operation == CANCEL) {
		expected.cancelled += pending;
	} else if (operation != QUERY) {
		expected.armed += state != HTW_FREE;
		expected.replaced += pending;
	}
	KUNIT_ASSERT_EQ(test, memcmp(&timers->books, &expected, sizeof(expected)), 0);
	KUNIT_ASSERT_EQ(test, timers->idle, scene->state == HTW_IDLE);
	KUNIT_ASSERT_EQ(test, timers->pool.live, scene->state != HTW_FREE);
	KUNIT_ASSERT_EQ(test, timers->ready.nr, scene->state == HTW_EXPIRED);
	KUNIT_ASSERT_EQ(test, htw_user_timers(timers->user), scene->state != HTW_FREE);
	htw_trig_judge(scene->rig);
}

/* It fires as it was armed, counting from its last deadline; or it does not fire any more. */
static void expect_future(struct scene *scene)
{
	const bool fires = scene->state == HTW_QUEUED || scene->state == HTW_EXPIRED;
	struct kunit *test = scene->rig->test;
	struct htwheel_event event;
	u64 now_ns, count = 1;

	now_ns = max(scene->deadline_ns, htw_manual.now_ns) + 25 * HTW_TRIG_TICK_NS;
	htw_trig_run(scene->rig, now_ns);
	KUNIT_ASSERT_EQ(test, htw_trig_read(scene->timers, &event, 1), fires);
	htw_trig_judge(scene->rig);
	if (!fires)
		return;
	if (scene->kind == PERIODIC || scene->kind == KEPT_PERIODIC)
		count += div64_u64(now_ns - scene->deadline_ns, PERIOD_NS);
	KUNIT_ASSERT_EQ(test, event.id, scene->id);
	KUNIT_ASSERT_EQ(test, event.deadline_ns, scene->deadline_ns);
	KUNIT_ASSERT_EQ(test, event.count, count);
	KUNIT_ASSERT_EQ(test, event.user_data, scene->kind);
	KUNIT_ASSERT_EQ(test, event.tag, 7 + scene->kind);
	KUNIT_ASSERT_EQ(test, event.flags, HTWHEEL_EVENT_LIVE);
	KUNIT_ASSERT_EQ(test, scene->timers->idle, scene->kind == KEPT);
	KUNIT_ASSERT_EQ(test, scene->timers->pool.live, 1);
}

static void play(struct kunit *test, enum kind kind, enum found found, enum operation operation)
{
	struct scene scene = { .kind = kind, .found = found };
	struct htw_books books;
	enum htw_state state;
	u64 deadline_ns;

	scene.rig = htw_trig_open_default(test);
	scene.rig->step = 100 * kind + 10 * found + operation;
	scene.timers = htw_trig_own(scene.rig, 1);
	bring_about(&scene);
	htw_trig_judge(scene.rig);
	KUNIT_ASSERT_EQ(test, scene.timers->idle, scene.state == HTW_IDLE);

	books = scene.timers->books;
	state = scene.state;
	deadline_ns = scene.deadline_ns;
	operate(&scene, operation);
	expect_answer(&scene, operation, state, deadline_ns);
	expect_books(&scene, operation, state, books);
	expect_future(&scene);
	/* Whatever it is doing now, it goes with its owner. */
	htw_trig_close(scene.rig);
}

static void state_table_of_those_that_stay(struct kunit *test)
{
	u32 cell;

	for (cell = 0; cell < KINDS * FOUND_NR * OPERATIONS; cell++)
		play(test, cell / OPERATIONS / FOUND_NR, cell / OPERATIONS % FOUND_NR,
		     cell % OPERATIONS);
}

/* Idle ones count towards the limit, and are no part of what is pending. */
static void idle_ones_count(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 3);
	u64 id[3], other, left_ns;
	struct htwheel_event event;
	u32 i;

	for (i = 0; i < 3; i++) {
		id[i] = make(rig, timers, KEPT, 0);
		KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
		KUNIT_EXPECT_EQ(test, timers->idle, i + 1);
		KUNIT_EXPECT_EQ(test, htw_timers_pending(timers), 0);
	}
	KUNIT_EXPECT_EQ(test, htw_trig_try_arm(timers, 0, 0, &other), -ENOSPC);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 3);
	/* A re-arm needs no room. */
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id[1], htw_trig_after(10)), 0);
	KUNIT_EXPECT_EQ(test, htw_timers_pending(timers), 1);
	KUNIT_EXPECT_EQ(test, timers->pool.peak, 3);
	KUNIT_EXPECT_EQ(test, timers->books.replaced, 0);
	/* The cancel of an idle one makes room, and ends no arm. */
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id[0], &left_ns), 0);
	KUNIT_EXPECT_EQ(test, left_ns, 0);
	KUNIT_EXPECT_EQ(test, timers->books.cancelled, 0);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 2);
	htw_trig_arm(rig, timers, htw_trig_after(5), 0);
	KUNIT_EXPECT_EQ(test, htw_trig_try_arm(timers, 0, 0, &other), -ENOSPC);
	htw_trig_judge(rig);
	/* What is left is gone with its owner, and off the user's account. */
	other = htw_user_timers(timers->user);
	KUNIT_EXPECT_EQ(test, other, 3);
	timers = htw_trig_own(rig, 1);
	htw_trig_disown(rig, rig->owner[0]);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 0);
}

/* It can be armed and read a thousand times, under one name and for one charge. */
static void one_name_for_ever(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 1);
	u64 id = make(rig, timers, KEPT, 0);
	struct htwheel_event event;
	u32 i;

	for (i = 0; i < 1000; i++) {
		KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 1);
		KUNIT_ASSERT_EQ(test, event.id, id);
		KUNIT_ASSERT_EQ(test, event.count, 1);
		KUNIT_ASSERT_EQ(test, event.flags, HTWHEEL_EVENT_LIVE);
		KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 0);
		KUNIT_ASSERT_EQ(test, timers->idle, 1);
		KUNIT_ASSERT_EQ(test, htw_user_timers(timers->user), 1);
		KUNIT_ASSERT_EQ(test, htw_trig_rearm(timers, id, htw_trig_after(10 * (i + 1))), 0);
		KUNIT_ASSERT_EQ(test, timers->idle, 0);
		htw_trig_run(rig, htw_trig_after(10 * (i + 1) + 1));
		htw_trig_judge(rig);
	}
	KUNIT_EXPECT_EQ(test, timers->books.armed, 1001);
	KUNIT_EXPECT_EQ(test, timers->books.fired, 1000);
	KUNIT_EXPECT_EQ(test, timers->books.replaced, 0);
	KUNIT_EXPECT_EQ(test, timers->books.missed, 0);
}

/* Only those that stay say so; of a plain timer everything ends with the event. */
static void who_stays(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10);
	struct htwheel_event event;
	u64 id, left_ns;
	u32 kind;

	id = htw_trig_arm(rig, timers, 0, 0);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(test, event.flags, 0);
	KUNIT_EXPECT_EQ(test, event.count, 1);
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 0);
	for (kind = 0; kind < KINDS; kind++) {
		id = make(rig, timers, kind, htw_manual.now_ns);
		KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
		KUNIT_EXPECT_EQ(test, event.flags, HTWHEEL_EVENT_LIVE);
		KUNIT_EXPECT_EQ(test, timers->idle, kind == KEPT);
		KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 1);
		KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), 0);
		KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 0);
	}
	/* The next one in the same place is plain again. */
	id = htw_trig_arm(rig, timers, 0, 0);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(test, event.flags, 0);
	KUNIT_EXPECT_EQ(test, event.tag, 0);
	KUNIT_EXPECT_EQ(test, htw_trig_query(timers, id, &left_ns), -ENOENT);
	htw_trig_judge(rig);
}

/* One read of a mixture: each goes where it belongs. */
static void read_of_a_mixture(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 20);
	struct htwheel_event events[16];
	u32 i, live[KINDS + 1] = {};

	for (i = 0; i < 15; i++) {
		if (i % 5 == KINDS)
			htw_trig_arm(rig, timers, htw_trig_after(1 + i), KINDS);
		else
			make(rig, timers, i % 5, htw_trig_after(1 + i));
	}
	htw_trig_run(rig, htw_trig_after(16));
	KUNIT_ASSERT_EQ(test, htw_trig_read(timers, events, 16), 15);
	htw_trig_judge(rig);
	for (i = 0; i < 15; i++)
		live[events[i].user_data] += events[i].flags == HTWHEEL_EVENT_LIVE;
	for (i = 0; i < KINDS; i++)
		KUNIT_EXPECT_EQ(test, live[i], 3);
	KUNIT_EXPECT_EQ(test, live[KINDS], 0);
	KUNIT_EXPECT_EQ(test, timers->idle, 3);
	KUNIT_EXPECT_EQ(test, timers->pool.live, 12);
	/* One of the bursts has gone on to what is due already, 13, and the others wait. */
	KUNIT_EXPECT_EQ(test, timers->books.armed, 15 + 9);
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 1);
	KUNIT_EXPECT_EQ(test, htw_trig_queued(rig), 8);
}

const struct htw_case htw_timer_cases_keep[] = {
	HTW_CASE(state_table_of_those_that_stay),
	HTW_CASE(idle_ones_count),
	HTW_CASE_EXACT(one_name_for_ever),
	HTW_CASE(who_stays),
	HTW_CASE_EXACT(read_of_a_mixture),
	{}
};
