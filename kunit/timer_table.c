// SPDX-License-Identifier: GPL-2.0
/*
 * Every operation on a timer in every state: the table at the head of module/timer.c.
 */
#include "timer_cases.h"

/* How the operation finds the timer. */
enum found {
	FOUND_QUEUED,
	FOUND_OVERDUE,
	FOUND_EXPIRED,
	FOUND_DUE_AT_ARM,
	FOUND_CANCELLED,
	FOUND_DELIVERED,
	FOUND_NR
};

enum operation { CANCEL, REARM_LATER, REARM_EARLIER, REARM_DUE, QUERY, OPERATIONS };

/* Who is whose in the events. */
enum { SUBJECT = 1, READY_BYSTANDER, QUEUED_BYSTANDER };

/**
 * struct scene - one cell of the table
 * @rig: the rig
 * @timers: the owner of the three timers
 * @found: how the operation finds its timer
 * @operation: the operation
 * @id: the timer's name
 * @deadline_ns: its deadline, before and after
 * @result: what the operation answered
 * @left_ns: and what time it said is left
 */
struct scene {
	struct htw_trig		*rig;
	struct htw_timers	*timers;
	enum found		found;
	enum operation		operation;
	u64			id;
	u64			deadline_ns;
	int			result;
	u64			left_ns;
};

static bool is_rearm(enum operation operation)
{
	return operation != CANCEL && operation != QUERY;
}

static bool found_live(const struct scene *scene)
{
	return scene->found < FOUND_CANCELLED;
}

static bool found_fired(const struct scene *scene)
{
	return scene->found == FOUND_EXPIRED || scene->found == FOUND_DUE_AT_ARM;
}

static void arm_subject(struct scene *scene, u64 deadline_ns)
{
	scene->deadline_ns = deadline_ns;
	scene->id = htw_trig_arm(scene->rig, scene->timers, deadline_ns, SUBJECT);
}

static void bring_about(struct scene *scene)
{
	struct htw_timer *subject;
	u64 left_ns;

	switch (scene->found) {
	case FOUND_QUEUED:
		arm_subject(scene, HTW_TRIG_START_NS + 10ULL * NSEC_PER_SEC);
		break;
	case FOUND_OVERDUE:
		/* The pass is late. */
		arm_subject(scene, HTW_TRIG_START_NS + NSEC_PER_SEC);
		htw_manual.now_ns = HTW_TRIG_START_NS + 2ULL * NSEC_PER_SEC;
		break;
	case FOUND_EXPIRED:
		arm_subject(scene, HTW_TRIG_START_NS + NSEC_PER_SEC);
		htw_trig_run(scene->rig, HTW_TRIG_START_NS + 2ULL * NSEC_PER_SEC);
		break;
	case FOUND_DUE_AT_ARM:
		arm_subject(scene, HTW_TRIG_START_NS);
		break;
	case FOUND_CANCELLED:
		arm_subject(scene, HTW_TRIG_START_NS + 10ULL * NSEC_PER_SEC);
		htw_trig_cancel(scene->timers, scene->id, &left_ns);
		break;
	default:
		arm_subject(scene, HTW_TRIG_START_NS);
		subject = htw_pool_find(&scene->timers->pool, scene->id);
		htw_trig_deliver(scene->timers, &subject, 1);
	}
}

static void rearm_subject(struct scene *scene, u64 deadline_ns)
{
	scene->result = htw_trig_rearm(scene->timers, scene->id, deadline_ns);
	if (scene->result >= 0)
		scene->deadline_ns = deadline_ns;
}

static void operate(struct scene *scene)
{
	scene->left_ns = HTW_JUNK;
	switch (scene->operation) {
	case CANCEL:
		scene->result = htw_trig_cancel(scene->timers, scene->id, &scene->left_ns);
		break;
	case REARM_LATER:
		rearm_subject(scene, htw_manual.now_ns + 50ULL * NSEC_PER_SEC);
		break;
	case REARM_EARLIER:
		rearm_subject(scene, htw_manual.now_ns + NSEC_PER_MSEC);
		break;
	case REARM_DUE:
		rearm_subject(scene, htw_manual.now_ns);
		break;
	default:
		scene->result = htw_trig_query(scene->timers, scene->id, &scene->left_ns);
	}
}

/* What the operation has to do with the books; @before becomes what they have to be. */
static void expect_books(struct scene *scene, struct htw_books *before, u64 live, u32 ready)
{
	struct kunit *test = scene->rig->test;

	if (found_live(scene) && is_rearm(scene->operation)) {
		before->armed++;
		before->replaced++;
		ready -= found_fired(scene);
		ready += scene->operation == REARM_DUE;
	}
	if (found_live(scene) && scene->operation == CANCEL) {
		before->cancelled++;
		ready -= found_fired(scene);
		live--;
	}
	KUNIT_ASSERT_EQ(test, scene->timers->books.armed, before->armed);
	KUNIT_ASSERT_EQ(test, scene->timers->books.fired, before->fired);
	KUNIT_ASSERT_EQ(test, scene->timers->books.cancelled, before->cancelled);
	KUNIT_ASSERT_EQ(test, scene->timers->books.replaced, before->replaced);
	KUNIT_ASSERT_EQ(test, scene->timers->pool.live, live);
	KUNIT_ASSERT_EQ(test, scene->timers->ready.nr, ready);
	htw_trig_judge(scene->rig);
}

static void expect_answer(struct scene *scene, u64 deadline_ns)
{
	struct kunit *test = scene->rig->test;
	u64 left_ns = 0;

	if (!found_live(scene))
		KUNIT_ASSERT_EQ(test, scene->result, -ENOENT);
	else
		KUNIT_ASSERT_EQ(test, scene->result, found_fired(scene) ? HTWHEEL_RES_FIRED : 0);

	if (!found_live(scene) || is_rearm(scene->operation))
		left_ns = HTW_JUNK;
	else if (scene->found == FOUND_QUEUED)
		left_ns = deadline_ns - htw_manual.now_ns;
	KUNIT_ASSERT_EQ(test, scene->left_ns, left_ns);
}

/*
 * Let all the time in the world pass, and see who fires: the bystanders once each, and the subject
 * if live.
 */
static void expect_events(struct scene *scene)
{
	const bool live = found_live(scene) && scene->operation != CANCEL;
	struct kunit *test = scene->rig->test;
	struct htwheel_event events[8];
	u32 seen[QUEUED_BYSTANDER + 1] = {};
	u32 i, nr;

	htw_trig_run(scene->rig, HTW_TRIG_START_NS + 1000ULL * NSEC_PER_SEC);
	nr = htw_trig_read(scene->timers, events, ARRAY_SIZE(events));
	KUNIT_ASSERT_EQ(test, nr, 2 + live);
	for (i = 0; i < nr; i++) {
		seen[events[i].user_data]++;
		if (events[i].user_data != SUBJECT)
			continue;
		KUNIT_ASSERT_EQ(test, events[i].id, scene->id);
		KUNIT_ASSERT_EQ(test, events[i].deadline_ns, scene->deadline_ns);
		KUNIT_ASSERT_GE(test, events[i].fired_ns, scene->deadline_ns);
	}
	KUNIT_ASSERT_EQ(test, seen[SUBJECT], live);
	KUNIT_ASSERT_EQ(test, seen[READY_BYSTANDER], 1);
	KUNIT_ASSERT_EQ(test, seen[QUEUED_BYSTANDER], 1);
	KUNIT_ASSERT_EQ(test, scene->timers->pool.live, 0);
	/* Then the name is nobody's. */
	KUNIT_ASSERT_EQ(test, htw_trig_query(scene->timers, scene->id, &scene->left_ns), -ENOENT);
	htw_trig_judge(scene->rig);
}

static void play(struct kunit *test, enum found found, enum operation operation)
{
	struct scene scene = { .found = found, .operation = operation };
	struct htw_books books;
	u64 live, deadline_ns;
	u32 ready;

	scene.rig = htw_trig_open_default(test);
	scene.rig->step = 10 * found + operation;
	scene.timers = htw_trig_own(scene.rig, 3);
	htw_trig_arm(scene.rig, scene.timers, HTW_TRIG_START_NS - 1, READY_BYSTANDER);
	htw_trig_arm(scene.rig, scene.timers, HTW_TRIG_START_NS + 500ULL * NSEC_PER_SEC,
		     QUEUED_BYSTANDER);
	bring_about(&scene);
	htw_trig_judge(scene.rig);

	books = scene.timers->books;
	live = scene.timers->pool.live;
	ready = scene.timers->ready.nr;
	deadline_ns = scene.deadline_ns;
	operate(&scene);
	expect_answer(&scene, deadline_ns);
	expect_books(&scene, &books, live, ready);
	expect_events(&scene);
	htw_trig_close(scene.rig);
}

static void state_table(struct kunit *test)
{
	u32 cell;

	for (cell = 0; cell < FOUND_NR * OPERATIONS; cell++)
		play(test, cell / OPERATIONS, cell % OPERATIONS);
}

/* No timer has this name: every operation says so and touches nothing. */
static void expect_nobody(struct htw_trig *rig, struct htw_timers *timers, u64 id)
{
	const struct htw_books books = timers->books;
	const u32 ready = timers->ready.nr;
	struct kunit *test = rig->test;
	u64 left_ns = HTW_JUNK;

	KUNIT_ASSERT_EQ_MSG(test, htw_trig_query(timers, id, &left_ns), -ENOENT, "%llx", id);
	KUNIT_ASSERT_EQ_MSG(test, htw_trig_cancel(timers, id, &left_ns), -ENOENT, "%llx", id);
	KUNIT_ASSERT_EQ_MSG(test, htw_trig_rearm(timers, id, htw_manual.now_ns + 1), -ENOENT,
			    "%llx", id);
	KUNIT_ASSERT_EQ(test, left_ns, HTW_JUNK);
	KUNIT_ASSERT_EQ(test, memcmp(&books, &timers->books, sizeof(books)), 0);
	KUNIT_ASSERT_EQ(test, timers->ready.nr, ready);
}

static u64 with_generation(u64 id, u32 generation)
{
	return (u64)generation << 32 | (u32)id;
}

static u64 with_index(u64 id, u32 index)
{
	return id >> 32 << 32 | index;
}

/* Names near a good one, which stays good. */
static void try_neighbours(struct htw_trig *rig, struct htw_timers *timers, u64 id)
{
	u32 generation = id >> 32;
	u64 left_ns;

	expect_nobody(rig, timers, with_generation(id, generation + 1));
	expect_nobody(rig, timers, with_generation(id, generation - 1));
	expect_nobody(rig, timers, with_generation(id, 0));
	expect_nobody(rig, timers, with_generation(id, U32_MAX));
	expect_nobody(rig, timers, with_generation(id, generation ^ BIT(31)));
	/* The header of a chunk, of one that there is, and of others. */
	expect_nobody(rig, timers, with_index(id, 0));
	expect_nobody(rig, timers, with_index(id, HTW_CHUNK_PLACES));
	expect_nobody(rig, timers, with_index(id, 2 * HTW_CHUNK_PLACES));
	expect_nobody(rig, timers, with_index(id, 2 * HTW_CHUNK_PLACES + 1));
	expect_nobody(rig, timers, with_index(id, BIT(31) | (u32)id));
	expect_nobody(rig, timers, with_index(id, U32_MAX));
	KUNIT_ASSERT_GE(rig->test, htw_trig_query(timers, id, &left_ns), 0);
}

static void wrong_names(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 1000), *others = htw_trig_own(rig, 1000);
	struct htw_timer *first;
	u64 id, left_ns, free_id;
	u32 i;

	/* Before there is any chunk. */
	expect_nobody(rig, timers, 0);
	expect_nobody(rig, timers, 1ULL << 32 | 1);

	/* Two chunks, of which the second has free timers. */
	for (i = 0; i < HTW_CHUNK_PLACES + 10; i++)
		id = htw_trig_arm(rig, timers, HTW_TRIG_START_NS + NSEC_PER_SEC, i);
	expect_nobody(rig, timers, 0);
	expect_nobody(rig, timers, U64_MAX);
	try_neighbours(rig, timers, id);
	/* A free timer of just this name; it was never armed, or has been cancelled. */
	expect_nobody(rig, timers, with_index(id, (u32)id + 1));
	free_id = htw_trig_arm(rig, timers, HTW_TRIG_START_NS + NSEC_PER_SEC, i);
	KUNIT_ASSERT_EQ(test, htw_trig_cancel(timers, free_id, &left_ns), 0);
	expect_nobody(rig, timers, free_id);
	expect_nobody(rig, timers, with_generation(free_id, (free_id >> 32) + 1));

	/* An expired one's neighbours are no better. */
	htw_trig_run(rig, HTW_TRIG_START_NS + 2ULL * NSEC_PER_SEC);
	KUNIT_ASSERT_EQ(test, htw_ready_peek(&timers->ready, &first, 1), 1);
	try_neighbours(rig, timers, htw_pool_id(first));

	/* And somebody else's name is nobody's here. */
	htw_trig_arm(rig, others, HTW_TRIG_START_NS + 10ULL * NSEC_PER_SEC, 0);
	expect_nobody(rig, others, id);
	htw_trig_judge(rig);
}

static void b25_remaining_time(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10);
	u64 deadline_ns = HTW_TRIG_START_NS + NSEC_PER_SEC;
	u64 left_ns, id = htw_trig_arm(rig, timers, deadline_ns, 0);
	struct htwheel_event event;

	KUNIT_EXPECT_EQ(test, htw_trig_query(timers, id, &left_ns), 0);
	KUNIT_EXPECT_EQ(test, left_ns, NSEC_PER_SEC);
	/* Without a pass: it is due, and even overdue, but has not expired. */
	htw_manual.now_ns = deadline_ns - 1;
	KUNIT_EXPECT_EQ(test, htw_trig_query(timers, id, &left_ns), 0);
	KUNIT_EXPECT_EQ(test, left_ns, 1);
	htw_manual.now_ns = deadline_ns;
	KUNIT_EXPECT_EQ(test, htw_trig_query(timers, id, &left_ns), 0);
	KUNIT_EXPECT_EQ(test, left_ns, 0);
	htw_manual.now_ns = deadline_ns + 1;
	KUNIT_EXPECT_EQ(test, htw_trig_query(timers, id, &left_ns), 0);
	KUNIT_EXPECT_EQ(test, left_ns, 0);

	htw_trig_run(rig, deadline_ns + HTW_TRIG_TICK_NS);
	KUNIT_EXPECT_EQ(test, htw_trig_query(timers, id, &left_ns), HTWHEEL_RES_FIRED);
	KUNIT_EXPECT_EQ(test, left_ns, 0);
	/* The group's time may lie before that of the pass; what has expired has nothing left. */
	htw_manual.now_ns = deadline_ns - NSEC_PER_MSEC;
	left_ns = HTW_JUNK;
	KUNIT_EXPECT_EQ(test, htw_trig_query(timers, id, &left_ns), HTWHEEL_RES_FIRED);
	KUNIT_EXPECT_EQ(test, left_ns, 0);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(test, htw_trig_query(timers, id, &left_ns), -ENOENT);

	id = htw_trig_arm(rig, timers, htw_manual.now_ns, 0);
	htw_manual.now_ns -= NSEC_PER_MSEC;
	left_ns = HTW_JUNK;
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), HTWHEEL_RES_FIRED);
	KUNIT_EXPECT_EQ(test, left_ns, 0);
	htw_trig_judge(rig);
}

/* Where deadlines end, nothing wraps: neither comes at once nor has a strange time left. */
static void b55_last_deadlines(struct kunit *test)
{
	static const u64 deadlines_ns[] = { KTIME_MAX, KTIME_MAX - 1,
					    KTIME_MAX - HTW_TRIG_TICK_NS + 1, 1ULL << 62 };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10);
	u64 id[ARRAY_SIZE(deadlines_ns)], left_ns;
	struct htwheel_event event;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(deadlines_ns); i++)
		id[i] = htw_trig_arm(rig, timers, HTW_TRIG_START_NS + NSEC_PER_SEC, i);
	for (i = 0; i < ARRAY_SIZE(deadlines_ns); i++)
		KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id[i], deadlines_ns[i]), 0);
	htw_trig_run(rig, HTW_TRIG_START_NS + 100ULL * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 0);
	for (i = 0; i < ARRAY_SIZE(deadlines_ns); i++) {
		KUNIT_EXPECT_EQ(test, htw_trig_query(timers, id[i], &left_ns), 0);
		KUNIT_EXPECT_EQ(test, left_ns, deadlines_ns[i] - htw_manual.now_ns);
	}
	htw_trig_run(rig, (1ULL << 62) - 1);
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 0);
	htw_trig_run(rig, 1ULL << 62);
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 1);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(test, event.user_data, 3);
	htw_trig_run(rig, KTIME_MAX - HTW_TRIG_TICK_NS);
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 0);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id[0], &left_ns), 0);
	KUNIT_EXPECT_EQ(test, left_ns, HTW_TRIG_TICK_NS);

	/* The first ones come at once. */
	htw_trig_arm(rig, timers, 0, 0);
	htw_trig_arm(rig, timers, 1, 0);
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 2);
	htw_trig_judge(rig);
}

const struct htw_case htw_timer_cases_table[] = {
	HTW_CASE(state_table),
	HTW_CASE(wrong_names),
	HTW_CASE_EXACT(b25_remaining_time),
	HTW_CASE_EXACT(b55_last_deadlines),
	{}
};
