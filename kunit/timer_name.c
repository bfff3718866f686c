// SPDX-License-Identifier: GPL-2.0
/*
 * Names, limits, and the pool that the timers come from.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "timer_cases.h"

#define FAR_NS		(HTW_TRIG_START_NS + 3600ULL * NSEC_PER_SEC)
#define NAMES		100000
#define INDICES		65536

/* In a build whose generations start below their end, timers are retired all the time. */
static u64 next_free_ns(u32 nr)
{
	return FAR_NS + nr * NSEC_PER_USEC;
}

/*
 * A timer that is used again and again gets a new name each time. Nothing but the generation can
 * make it new, so it is enough to see that this goes up.
 */
static void b59_names_are_unique(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 3);
	u64 id[3] = {}, left_ns;
	u32 *generation, nr;

	generation = kunit_kcalloc(test, INDICES, sizeof(*generation), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, generation);
	for (nr = 0; nr < NAMES; nr++) {
		if (id[nr % 3])
			KUNIT_ASSERT_EQ(test, htw_trig_cancel(timers, id[nr % 3], &left_ns), 0);
		id[nr % 3] = htw_trig_arm(rig, timers, next_free_ns(nr), nr);
		KUNIT_ASSERT_LT(test, (u32)id[nr % 3], INDICES);
		KUNIT_ASSERT_GT(test, id[nr % 3] >> 32, generation[(u32)id[nr % 3]]);
		generation[(u32)id[nr % 3]] = id[nr % 3] >> 32;
		if (nr % 1024 == 0)
			cond_resched();
	}
	KUNIT_EXPECT_EQ(test, timers->books.armed, NAMES);
	KUNIT_EXPECT_EQ(test, timers->pool.peak, 3);
	htw_trig_judge(rig);
}

/* Bring a timer to its last name, as if it had been used 2^32 times; returns the name. */
static u64 age(struct htw_trig *rig, struct htw_timers *timers)
{
	u64 left_ns, id = htw_trig_arm(rig, timers, FAR_NS, 0);
	struct htw_timer *timer = htw_pool_find(&timers->pool, id);

	KUNIT_ASSERT_NOT_NULL(rig->test, timer);
	timer->generation = U32_MAX - 1;
	KUNIT_ASSERT_EQ(rig->test, htw_trig_cancel(timers, htw_pool_id(timer), &left_ns), 0);
	/* The one that was freed last is the first to be used. */
	id = htw_trig_arm(rig, timers, FAR_NS, 1);
	KUNIT_ASSERT_EQ(rig->test, id, (u64)U32_MAX << 32 | (u32)id);
	KUNIT_ASSERT_PTR_EQ(rig->test, htw_pool_find(&timers->pool, id), timer);
	return id;
}

/* Nobody has this index any more, whatever the generation. */
static void expect_retired(struct htw_trig *rig, struct htw_timers *timers, u32 index)
{
	static const u32 generations[] = { 0, 1, 2, U32_MAX - 1, U32_MAX };
	u64 left_ns, id;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(generations); i++) {
		id = (u64)generations[i] << 32 | index;
		KUNIT_ASSERT_EQ_MSG(rig->test, htw_trig_query(timers, id, &left_ns), -ENOENT,
				    "%llx", id);
	}
}

/* A timer that has used up its names retires, and the pool replaces it. */
static void b59_last_generation(struct kunit *test)
{
	const u64 max = HTW_CHUNK_PLACES + 100;
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, max);
	u64 left_ns, cancelled, delivered, id;
	struct htwheel_event event;
	u32 i;

	cancelled = age(rig, timers);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, cancelled, &left_ns), 0);
	expect_retired(rig, timers, cancelled);
	delivered = age(rig, timers);
	KUNIT_EXPECT_NE(test, (u32)delivered, (u32)cancelled);
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, delivered, 0), 0);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(test, event.id, delivered);
	expect_retired(rig, timers, delivered);
	KUNIT_EXPECT_EQ(test, timers->pool.live, 0);
	htw_trig_judge(rig);

	/* It costs nothing of the limit. */
	for (i = 0; i < max; i++) {
		id = htw_trig_arm(rig, timers, FAR_NS, i);
		KUNIT_ASSERT_NE(test, (u32)id, (u32)cancelled);
		KUNIT_ASSERT_NE(test, (u32)id, (u32)delivered);
	}
	KUNIT_EXPECT_EQ(test, htw_trig_try_arm(timers, FAR_NS, 0, &id), -ENOSPC);
	expect_retired(rig, timers, cancelled);
	htw_trig_judge(rig);
}

static void expect_full(struct htw_trig *rig, struct htw_timers *timers)
{
	const struct htw_books books = timers->books;
	u64 id = HTW_JUNK;

	KUNIT_ASSERT_EQ(rig->test, htw_trig_try_arm(timers, FAR_NS, 0, &id), -ENOSPC);
	/* Also if it would not have to wait. */
	KUNIT_ASSERT_EQ(rig->test, htw_trig_try_arm(timers, 0, 0, &id), -ENOSPC);
	KUNIT_ASSERT_EQ(rig->test, id, HTW_JUNK);
	KUNIT_ASSERT_EQ(rig->test, memcmp(&books, &timers->books, sizeof(books)), 0);
	htw_trig_judge(rig);
}

static void fill_to(struct kunit *test, u64 max)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, max);
	struct htwheel_event event;
	u64 id = 0, left_ns;
	u32 i;

	for (i = 0; i < max; i++)
		id = htw_trig_arm(rig, timers, FAR_NS, i);
	expect_full(rig, timers);

	/* One that has expired counts until it is read; a re-arm needs no room. */
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id, 0), 0);
	expect_full(rig, timers);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	id = htw_trig_arm(rig, timers, FAR_NS, 0);
	expect_full(rig, timers);

	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), 0);
	/* A cancel that fails makes no room. */
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), -ENOENT);
	htw_trig_arm(rig, timers, FAR_NS, 0);
	expect_full(rig, timers);
	KUNIT_EXPECT_EQ(test, timers->pool.peak, max);
	htw_trig_close(rig);
}

static void limit_is_exact(struct kunit *test)
{
	static const u64 limits[] = { 1, 2, HTW_CHUNK_PLACES - 2, HTW_CHUNK_PLACES - 1,
				      HTW_CHUNK_PLACES, 1500 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(limits); i++)
		fill_to(test, limits[i]);
}

/* Arm as many as that in one group, without a chance to allocate. Returns the last answer. */
static int arm_without_reserve(struct htw_timers *timers, u64 *id, u32 nr)
{
	struct htw_group group;
	int ret = 0;
	u32 i;

	htw_group_begin(&group, timers->engine);
	for (i = 0; i < nr && !ret; i++)
		ret = htw_trig_group_arm(timers, &group, FAR_NS, i, &id[i]);
	htw_group_end(&group);
	htw_timers_flush(timers);
	return ret;
}

/*
 * Up to the largest number that there ever was, an arm needs no memory (I10), and no more is taken.
 */
static void pool_keeps_what_it_has(struct kunit *test)
{
	const u32 nr = 2 * (HTW_CHUNK_PLACES - 1);
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 3 * HTW_CHUNK_PLACES);
	const bool counts = rig->design->reserve;
	u64 *id, left_ns, round;
	u32 i;

	id = kunit_kcalloc(test, nr + 1, sizeof(*id), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, id);
	KUNIT_EXPECT_EQ(test, arm_without_reserve(timers, id, 1), -ENOMEM);
	KUNIT_EXPECT_EQ(test, timers->books.armed, 0);
	htw_trig_judge(rig);

	KUNIT_EXPECT_EQ(test, htw_timers_reserve(timers, nr), 0);
	KUNIT_EXPECT_EQ(test, timers->pool.nr_chunks, 2);
	KUNIT_EXPECT_EQ(test, rig->engine->reserved, counts ? nr : 0);
	/* Few rounds, for a build whose timers retire after 14 of them. */
	for (round = 0; round < 5; round++) {
		KUNIT_EXPECT_EQ(test, arm_without_reserve(timers, id, nr), 0);
		KUNIT_EXPECT_EQ(test, arm_without_reserve(timers, id + nr, 1), -ENOMEM);
		KUNIT_EXPECT_EQ(test, timers->pool.live, nr);
		htw_trig_judge(rig);
		for (i = 0; i < nr; i++)
			KUNIT_ASSERT_EQ(test, htw_trig_cancel(timers, id[i], &left_ns), 0);
		KUNIT_EXPECT_EQ(test, htw_timers_reserve(timers, nr), 0);
	}
	KUNIT_EXPECT_EQ(test, timers->pool.nr_chunks, 2);
	KUNIT_EXPECT_EQ(test, arm_without_reserve(timers, id, 1), 0);
	KUNIT_EXPECT_EQ(test, timers->pool.peak, nr);

	/* What lies beyond the limit is not provided for. */
	timers->max = nr + 1;
	KUNIT_EXPECT_EQ(test, htw_timers_reserve(timers, U64_MAX), 0);
	KUNIT_EXPECT_EQ(test, timers->pool.nr_chunks, 3);
	htw_trig_disown(rig, timers);
	KUNIT_EXPECT_EQ(test, rig->engine->reserved, 0);
}

/* Whatever is done to one name, there is one timer behind it, and one entry in one queue. */
static void b85_never_two_entries(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 100);
	u64 random = htw_timer_seed, id = htw_trig_arm(rig, timers, FAR_NS, 7);
	struct htwheel_event event;
	u32 i;

	for (i = 0; i < 1000; i++) {
		if (i % 100 == 0)
			htw_pin(test, i / 100);
		KUNIT_ASSERT_EQ(test, htw_trig_rearm(timers, id, htw_manual.now_ns + 1 +
						     htw_random_length(&random, 40)), 0);
		KUNIT_ASSERT_EQ(test, htw_trig_queued(rig), 1);
		KUNIT_ASSERT_EQ(test, timers->pool.live, 1);
	}
	/* An arm, on the other hand, is always another timer. */
	KUNIT_EXPECT_NE(test, htw_trig_arm(rig, timers, FAR_NS, 8), id);
	KUNIT_EXPECT_EQ(test, htw_trig_queued(rig), 2);
	htw_trig_judge(rig);
	htw_trig_run(rig, 2 * FAR_NS);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 0);
}

const struct htw_case htw_timer_cases_name[] = {
	HTW_CASE(b59_names_are_unique),
	HTW_CASE(b59_last_generation),
	HTW_CASE(limit_is_exact),
	HTW_CASE(pool_keeps_what_it_has),
	HTW_CASE(b85_never_two_entries),
	{}
};
