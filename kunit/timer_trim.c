// SPDX-License-Identifier: GPL-2.0
/*
 * Trim: memory goes back, and no name comes back.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "timer_cases.h"

#define FAR_NS		(HTW_TRIG_START_NS + 3600ULL * NSEC_PER_SEC)
#define OF_CHUNK	(HTW_CHUNK_PLACES - 1)
#define CHUNKS		6
#define TIMERS		(CHUNKS * OF_CHUNK)
#define INDICES		(64 * HTW_CHUNK_PLACES)
#define CHUNK_BYTES	(PAGE_SIZE << get_order(HTW_CHUNK_BYTES))

/**
 * struct names - the names that have been given
 * @rig: the rig
 * @timers: by whom
 * @highest: of each index, the generation that was given last. As it only goes up, no name is given
 *	twice
 * @id: the names of the live ones, 0 for the others
 */
struct names {
	struct htw_trig		*rig;
	struct htw_timers	*timers;
	u32			highest[INDICES];
	u64			id[TIMERS];
};

static struct names *open_names(struct kunit *test)
{
	struct names *names = kunit_kzalloc(test, sizeof(*names), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, names);
	names->rig = htw_trig_open_default(test);
	names->timers = htw_trig_own(names->rig, TIMERS);
	return names;
}

/* Chunks, room in the queues, and figures belong together. */
static void expect_memory(struct names *names, u32 chunks)
{
	struct htw_timers *timers = names->timers;
	struct kunit *test = names->rig->test;

	KUNIT_ASSERT_EQ(test, timers->pool.nr_chunks, chunks);
	KUNIT_ASSERT_EQ(test, names->rig->engine->reserved,
			names->rig->design->reserve ? chunks * OF_CHUNK : 0);
	KUNIT_ASSERT_EQ(test, htw_pool_bytes(&timers->pool),
			chunks * CHUNK_BYTES +
			timers->pool.table_size * sizeof(*timers->pool.table));
	htw_trig_judge(names->rig);
}

static void name_one(struct names *names, u32 nr)
{
	struct kunit *test = names->rig->test;
	u64 id = htw_trig_arm(names->rig, names->timers, FAR_NS, nr);

	KUNIT_ASSERT_LT(test, (u32)id, INDICES);
	KUNIT_ASSERT_GT(test, id >> 32, names->highest[(u32)id]);
	names->highest[(u32)id] = id >> 32;
	names->id[nr] = id;
}

static void cancel_one(struct names *names, u32 nr)
{
	u64 left_ns;

	KUNIT_ASSERT_EQ(names->rig->test,
			htw_trig_cancel(names->timers, names->id[nr], &left_ns), 0);
	names->id[nr] = 0;
}

/* Returns how many bytes it gave back; that is as many as are missing then. */
static u64 trim(struct names *names)
{
	u64 before = htw_pool_bytes(&names->timers->pool), given;

	given = htw_trig_trim(names->timers);
	KUNIT_ASSERT_EQ(names->rig->test, before - given, htw_pool_bytes(&names->timers->pool));
	return given;
}

/* Good names are good, and all that may have been are not. */
static void expect_names(struct names *names)
{
	struct kunit *test = names->rig->test;
	u64 left_ns, id;
	u32 i, index;

	for (i = 0; i < TIMERS; i++) {
		if (!names->id[i])
			continue;
		KUNIT_ASSERT_EQ(test, htw_trig_query(names->timers, names->id[i], &left_ns), 0);
		KUNIT_ASSERT_EQ(test, htw_trig_find(names->rig, names->timers,
						    names->id[i])->user_data, i);
		names->highest[(u32)names->id[i]]--;
	}
	for (index = 0; index < INDICES; index++) {
		id = (u64)names->highest[index] << 32 | index;
		KUNIT_ASSERT_EQ(test, htw_trig_query(names->timers, id, &left_ns), -ENOENT);
	}
	for (i = 0; i < TIMERS; i++) {
		if (names->id[i])
			names->highest[(u32)names->id[i]]++;
	}
}

/* What has no live timer goes, what has one stays, and a second trim finds nothing. */
static void chunks_without_timers_go(struct kunit *test)
{
	struct names *names = open_names(test);
	u32 i;

	KUNIT_EXPECT_EQ(test, trim(names), 0);
	expect_memory(names, 0);
	for (i = 0; i < TIMERS; i++)
		name_one(names, i);
	expect_memory(names, CHUNKS);
	KUNIT_EXPECT_EQ(test, trim(names), 0);
	expect_memory(names, CHUNKS);

	/* One that stays is enough, wherever it is. */
	for (i = OF_CHUNK; i < 4 * OF_CHUNK; i++) {
		if (i != 2 * OF_CHUNK - 1 && i != 3 * OF_CHUNK)
			cancel_one(names, i);
	}
	KUNIT_EXPECT_EQ(test, trim(names), CHUNK_BYTES);
	expect_memory(names, CHUNKS - 1);
	expect_names(names);
	/* Holes come below and above the one that there is. */
	cancel_one(names, 2 * OF_CHUNK - 1);
	KUNIT_EXPECT_EQ(test, trim(names), CHUNK_BYTES);
	cancel_one(names, 3 * OF_CHUNK);
	KUNIT_EXPECT_EQ(test, trim(names), CHUNK_BYTES);
	KUNIT_EXPECT_EQ(test, trim(names), 0);
	expect_memory(names, CHUNKS - 3);
	expect_names(names);
	/* They are filled again before the table grows. */
	for (i = 0; i < TIMERS; i++) {
		if (!names->id[i])
			name_one(names, i);
	}
	expect_memory(names, CHUNKS);
	KUNIT_EXPECT_EQ(test, names->timers->pool.nr_entries, CHUNKS);
	expect_names(names);
	for (i = 0; i < TIMERS; i++)
		cancel_one(names, i);
	KUNIT_EXPECT_EQ(test, trim(names), CHUNKS * CHUNK_BYTES);
	expect_memory(names, 0);
	expect_names(names);
}

/* A timer that has fired, or is idle, is live. */
static void states_that_stay(struct kunit *test)
{
	struct names *names = open_names(test);
	struct htw_timers *timers = names->timers;
	struct htw_timer_spec kept = { .keep = true };
	struct htwheel_event event;
	u64 id, left_ns;

	htw_trig_arm(names->rig, timers, 0, 0);
	KUNIT_EXPECT_EQ(test, trim(names), 0);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(test, trim(names), CHUNK_BYTES);
	id = htw_trig_make(names->rig, timers, &kept);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(test, trim(names), 0);
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id, FAR_NS), 0);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), 0);
	KUNIT_EXPECT_EQ(test, trim(names), CHUNK_BYTES);
	expect_memory(names, 0);
}

/* Random arms and cancels, now few and now many, and trims. */
static void b59_no_name_twice_over_trims(struct kunit *test)
{
	struct names *names = open_names(test);
	u64 random = htw_timer_seed, given = 0;
	u32 round, i, nr, goal, live = 0;

	for (round = 0; round < 40; round++) {
		names->rig->step = round;
		goal = round % 4 == 3 ? 0 : htw_random_length(&random, 12) % TIMERS;
		for (i = 0; live != goal; i++) {
			KUNIT_ASSERT_LT(test, i, 10 * TIMERS * TIMERS);
			nr = htw_random_below(&random, TIMERS);
			if (live < goal && !names->id[nr]) {
				name_one(names, nr);
				live++;
			} else if (live > goal && names->id[nr]) {
				cancel_one(names, nr);
				live--;
			}
		}
		given += trim(names);
		expect_memory(names, names->timers->pool.nr_chunks);
		if (round % 8 == 0)
			expect_names(names);
	}
	KUNIT_EXPECT_GT(test, given, 0);
}

static struct htw_timer *timer_at(const struct htw_pool *pool, u32 index)
{
	struct htw_chunk *chunk = pool->table[index >> HTW_CHUNK_SHIFT].chunk;

	return chunk ? &chunk->timer[index % HTW_CHUNK_PLACES - 1] : NULL;
}

/* The list of free timers has as many as it should, and leads back the way it came. */
static void expect_links(struct kunit *test, const struct htw_pool *pool)
{
	u32 index, last = 0;
	struct htw_timer *timer;
	u64 nr = 0;

	for (index = pool->first_free; index; index = timer->node.index) {
		timer = timer_at(pool, index);
		KUNIT_ASSERT_NOT_NULL(test, timer);
		KUNIT_ASSERT_EQ(test, timer->state, HTW_FREE);
		if (last)
			KUNIT_ASSERT_EQ(test, timer->node.seq, last);
		last = index;
		KUNIT_ASSERT_LT(test, nr++, pool->free);
	}
	KUNIT_ASSERT_EQ(test, nr, pool->free);
}

/* Each free timer can be got, once; then there is no more. */
static void expect_free_list(struct names *names)
{
	struct htw_timers *timers = names->timers;
	struct kunit *test = names->rig->test;
	u64 free = timers->pool.free;
	struct htw_group group;
	u64 id = 0;
	int ret = 0;
	u32 i;

	expect_links(test, &timers->pool);
	for (i = 0; i < free; i++) {
		KUNIT_ASSERT_EQ(test, htw_timers_reserve(timers, 1), 0);
		htw_group_begin(&group, timers->engine);
		ret = htw_trig_group_arm(timers, &group, FAR_NS, TIMERS, &id);
		htw_group_end(&group);
		htw_timers_flush(timers);
		KUNIT_ASSERT_EQ(test, ret, 0);
		KUNIT_ASSERT_LT(test, (u32)id, INDICES);
		KUNIT_ASSERT_GT(test, id >> 32, names->highest[(u32)id]);
		names->highest[(u32)id] = id >> 32;
	}
	KUNIT_ASSERT_EQ(test, timers->pool.free, 0);
	KUNIT_ASSERT_EQ(test, timers->pool.first_free, 0);
	htw_group_begin(&group, timers->engine);
	ret = htw_trig_group_arm(timers, &group, FAR_NS, 0, &id);
	htw_group_end(&group);
	htw_timers_flush(timers);
	KUNIT_ASSERT_EQ(test, ret, -ENOMEM);
	htw_trig_judge(names->rig);
}

/* The timers of chunks that are given back leave the list of free ones, wherever they are in it. */
static void free_list_after_a_trim(struct kunit *test)
{
	struct names *names = open_names(test);
	u64 random = htw_timer_seed;
	u32 i, nr;

	for (i = 0; i < 4 * OF_CHUNK; i++)
		name_one(names, i);
	/* The second chunk goes, of the others half of the timers. */
	for (i = 0; i < 4 * OF_CHUNK; i++) {
		if (i / OF_CHUNK == 1 || htw_random_below(&random, 2))
			cancel_one(names, i);
	}
	nr = names->timers->pool.live;
	KUNIT_EXPECT_EQ(test, trim(names), CHUNK_BYTES);
	KUNIT_EXPECT_EQ(test, names->timers->pool.free, 3 * OF_CHUNK - nr);
	expect_names(names);
	expect_memory(names, 3);
	expect_free_list(names);
	KUNIT_EXPECT_EQ(test, trim(names), 0);
	expect_free_list(names);
	expect_memory(names, 3);
}

/* The timer that is used next has only one name left. */
static void age_one(struct names *names)
{
	struct htw_timer *timer;
	u64 left_ns, id;

	id = htw_trig_arm(names->rig, names->timers, FAR_NS, 0);
	timer = htw_trig_find(names->rig, names->timers, id);
	timer->generation = U32_MAX - 1;
	KUNIT_ASSERT_EQ(names->rig->test,
			htw_trig_cancel(names->timers, htw_pool_id(timer), &left_ns), 0);
}

/* A timer that is retired keeps its chunk: without it, its index would begin anew. */
static void retired_ones_keep_their_chunk(struct kunit *test)
{
	struct names *names = open_names(test);
	u64 id, left_ns;
	u32 i;

	age_one(names);
	id = htw_trig_arm(names->rig, names->timers, FAR_NS, 0);
	KUNIT_EXPECT_EQ(test, id >> 32, U32_MAX);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(names->timers, id, &left_ns), 0);
	KUNIT_EXPECT_EQ(test, trim(names), 0);
	expect_memory(names, 1);
	/* It is in no list of free ones, and the other 510 are. */
	KUNIT_EXPECT_EQ(test, names->timers->pool.free, OF_CHUNK - 1);
	for (i = 0; i < OF_CHUNK; i++) {
		name_one(names, i);
		KUNIT_ASSERT_NE(test, (u32)names->id[i], (u32)id);
	}
	expect_memory(names, 2);
	for (i = 0; i < OF_CHUNK; i++)
		cancel_one(names, i);
	KUNIT_EXPECT_EQ(test, trim(names), CHUNK_BYTES);
	expect_memory(names, 1);
}

/* One with a single name left does not: the whole next chunk begins, and ends, with this name. */
static void last_names_after_a_trim(struct kunit *test)
{
	struct names *names = open_names(test);
	u64 left_ns;
	u32 i;

	age_one(names);
	KUNIT_EXPECT_EQ(test, trim(names), CHUNK_BYTES);
	expect_memory(names, 0);
	for (i = 0; i < OF_CHUNK; i++) {
		name_one(names, i);
		KUNIT_ASSERT_EQ(test, names->id[i] >> 32, U32_MAX);
		KUNIT_ASSERT_LE(test, (u32)names->id[i], OF_CHUNK);
	}
	for (i = 0; i < OF_CHUNK; i++)
		KUNIT_ASSERT_EQ(test, htw_trig_cancel(names->timers, names->id[i], &left_ns), 0);
	/* All of them are retired. It costs a chunk, and no name. */
	KUNIT_EXPECT_EQ(test, trim(names), 0);
	KUNIT_EXPECT_EQ(test, names->timers->pool.free, 0);
	expect_memory(names, 1);
	for (i = 0; i < OF_CHUNK; i++) {
		name_one(names, i);
		KUNIT_ASSERT_GT(test, (u32)names->id[i], HTW_CHUNK_PLACES);
	}
	expect_memory(names, 2);
}

/* The memory of a crowd that has left; only the table stays, a thousandth of it. */
static void b60_nothing_stays_of_a_crowd(struct kunit *test)
{
	const u32 nr = 100000;
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, nr);
	struct htwheel_mass mass = { .opcode = HTWHEEL_MASS_CANCEL };
	u64 id, peak;
	u32 i, round;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < nr; i++)
			KUNIT_ASSERT_EQ(test, htw_trig_try_arm(timers, FAR_NS + i, i, &id), 0);
		peak = htw_pool_bytes(&timers->pool);
		KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &mass), nr);
		KUNIT_EXPECT_GT(test, htw_trig_trim(timers), peak - peak / 1000);
		KUNIT_EXPECT_LT(test, htw_pool_bytes(&timers->pool), peak / 1000);
		KUNIT_EXPECT_EQ(test, timers->pool.nr_entries, DIV_ROUND_UP(nr, OF_CHUNK));
		KUNIT_EXPECT_EQ(test, rig->engine->reserved, 0);
		htw_trig_judge(rig);
	}
}

const struct htw_case htw_timer_cases_trim[] = {
	HTW_CASE(chunks_without_timers_go),
	HTW_CASE(states_that_stay),
	HTW_CASE(b59_no_name_twice_over_trims),
	HTW_CASE(free_list_after_a_trim),
	HTW_CASE(retired_ones_keep_their_chunk),
	HTW_CASE(last_names_after_a_trim),
	HTW_CASE(b60_nothing_stays_of_a_crowd),
	{}
};
