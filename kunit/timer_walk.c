// SPDX-License-Identifier: GPL-2.0
/*
 * The walk over an owner's timers, and the list of them.
 */
#include <linux/slab.h>

#include "timer_cases.h"

#define FAR_NS		(HTW_TRIG_START_NS + 3600ULL * NSEC_PER_SEC)
#define PLACES		3000

/**
 * struct walked - what the walk may meet
 * @id: the timer's name, 0 if there is none
 * @throughout: it has been there since the walk began
 * @met: how often the walk has met it
 */
struct walked {
	u64			id;
	bool			throughout;
	u32			met;
};

/**
 * struct path - a walk, and what goes on meanwhile
 * @rig: the rig
 * @timers: whose; user_data is the place in @place
 * @random: state of the random numbers
 * @entry: what was listed last
 * @place: all timers
 */
struct path {
	struct htw_trig		*rig;
	struct htw_timers	*timers;
	u64			random;
	struct htwheel_dump_entry entry[HTW_DUMP_STEP];
	struct walked		place[PLACES];
};

static void arm_or_cancel(struct path *path, u32 nr)
{
	struct walked *place;
	u64 left_ns;

	while (nr--) {
		place = &path->place[htw_random_below(&path->random, PLACES)];
		if (!place->id) {
			place->id = htw_trig_arm(path->rig, path->timers, FAR_NS,
						 place - path->place);
			continue;
		}
		KUNIT_ASSERT_GE(path->rig->test,
				htw_trig_cancel(path->timers, place->id, &left_ns), 0);
		*place = (struct walked){};
	}
}

/* A step of a dump: what it lists is there, under this name. */
static void dump_step(struct path *path, u64 *cursor)
{
	struct htwheel_dump_entry *entry = path->entry;
	struct kunit *test = path->rig->test;
	struct walked *place;
	u32 i, nr;

	nr = htw_sweep_dump(path->timers, cursor, entry,
			    1 + htw_random_below(&path->random, HTW_DUMP_STEP));
	for (i = 0; i < nr; i++) {
		KUNIT_ASSERT_LT(test, entry[i].user_data, PLACES);
		place = &path->place[entry[i].user_data];
		KUNIT_ASSERT_EQ(test, entry[i].id, place->id);
		place->met++;
		if (i)
			KUNIT_ASSERT_LT(test, (u32)entry[i - 1].id, (u32)entry[i].id);
	}
}

static void begin_walk(struct path *path)
{
	u32 i;

	for (i = 0; i < PLACES; i++) {
		path->place[i].throughout = path->place[i].id;
		path->place[i].met = 0;
	}
}

/* Who was there all the time was met once, the others at most once. */
static void end_walk(struct path *path)
{
	struct walked *place;

	for (place = path->place; place < path->place + PLACES; place++) {
		if (place->throughout)
			KUNIT_ASSERT_EQ(path->rig->test, place->met, 1);
		else
			KUNIT_ASSERT_LE(path->rig->test, place->met, 1);
	}
}

/* Room for what a step lists; too much for the stack. */
static struct htwheel_dump_entry *new_entries(struct kunit *test)
{
	struct htwheel_dump_entry *entry;

	entry = kunit_kcalloc(test, HTW_DUMP_STEP, sizeof(*entry), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	return entry;
}

static struct path *new_path(struct kunit *test)
{
	struct path *path = kunit_kzalloc(test, sizeof(*path), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, path);
	path->random = htw_timer_seed;
	path->rig = htw_trig_open_default(test);
	path->timers = htw_trig_own(path->rig, PLACES);
	return path;
}

/* Whatever is armed, cancelled and trimmed between the steps. */
static void each_is_listed_once(struct kunit *test)
{
	struct path *path = new_path(test);
	u32 round, steps;
	u64 cursor;

	for (round = 0; round < 12; round++) {
		path->rig->step = round;
		arm_or_cancel(path, round * 500);
		begin_walk(path);
		cursor = 0;
		steps = 0;
		do {
			dump_step(path, &cursor);
			arm_or_cancel(path, htw_random_below(&path->random, 20));
			if (htw_random_below(&path->random, 50) == 0)
				htw_trig_trim(path->timers);
			KUNIT_ASSERT_LT(test, ++steps, 100000);
		} while (cursor);
		end_walk(path);
		htw_trig_judge(path->rig);
	}
}

/* The same for a sweep: each that is there throughout is shifted once, and none twice. */
static void each_is_shifted_once(struct kunit *test)
{
	struct htwheel_mass mass = { .opcode = HTWHEEL_MASS_SHIFT, .shift_ns = NSEC_PER_SEC };
	struct path *path = new_path(test);
	struct walked *place;
	u32 round, done;
	u64 cursor;

	for (round = 0; round < 6; round++) {
		path->rig->step = round;
		arm_or_cancel(path, 1000);
		begin_walk(path);
		cursor = 0;
		done = 0;
		do {
			done += htw_sweep_mass(path->timers, &mass, &cursor);
			htw_timers_flush(path->timers);
			arm_or_cancel(path, htw_random_below(&path->random, 20));
		} while (cursor);
		for (place = path->place; place < path->place + PLACES; place++) {
			if (!place->id)
				continue;
			place->met = div_u64(htw_trig_find(path->rig, path->timers,
							   place->id)->deadline_ns - FAR_NS,
					     NSEC_PER_SEC);
			/* All start the next round from the same deadline. */
			KUNIT_ASSERT_EQ(test, htw_trig_rearm(path->timers, place->id, FAR_NS), 0);
		}
		end_walk(path);
		KUNIT_EXPECT_GT(test, done, 0);
		htw_trig_judge(path->rig);
	}
}

/* A cursor comes from outside. Wherever it points, the walk ends, and meets what there is. */
static void cursors_from_anywhere(struct kunit *test)
{
	static const u64 cursors[] = { 1, 511, 512, 513, 1023, 1024, 1535, 1536, 1537, U32_MAX,
				       1ULL << 32, 1ULL << 33 | 513, 3ULL << 32 | 1535,
				       4ULL << 32, 1ULL << 41, 1ULL << 63, U64_MAX - 511,
				       U64_MAX - 1, U64_MAX };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 2000);
	const u32 chunks = 3, nr = chunks * (HTW_CHUNK_PLACES - 1);
	struct htwheel_dump_entry *entry = new_entries(test);
	u32 i, steps, listed, expected, at, end;
	u64 cursor = 0;

	/* An empty pool has nothing to show. */
	KUNIT_EXPECT_EQ(test, htw_sweep_dump(timers, &cursor, entry, HTW_DUMP_STEP), 0);
	KUNIT_EXPECT_EQ(test, cursor, 0);
	for (i = 0; i < nr; i++)
		htw_trig_arm(rig, timers, FAR_NS, i);
	for (i = 0; i < ARRAY_SIZE(cursors); i++) {
		cursor = cursors[i];
		listed = 0;
		steps = 0;
		do {
			listed += htw_sweep_dump(timers, &cursor, entry, HTW_DUMP_STEP);
			KUNIT_ASSERT_LT(test, ++steps, nr);
		} while (cursor);
		at = (u32)cursors[i];
		end = cursors[i] >> 32 ?: chunks;
		end = min(end, chunks);
		expected = 0;
		if (at < end * HTW_CHUNK_PLACES)
			expected = end * (HTW_CHUNK_PLACES - 1) - at +
				   DIV_ROUND_UP(at, HTW_CHUNK_PLACES);
		KUNIT_EXPECT_EQ_MSG(test, listed, expected, "from %llu", cursors[i]);
	}
	htw_trig_judge(rig);
}

/* As much is armed in each step as the step lists, and more. */
static void walk_of_a_pool_that_grows_ends(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 40000);
	struct htwheel_dump_entry *entry = new_entries(test);
	u32 i, steps, listed = 0, nr = 1000;
	u64 cursor = 0;

	for (i = 0; i < nr; i++)
		htw_trig_arm(rig, timers, FAR_NS, i);
	for (steps = 0; !steps || cursor; steps++) {
		KUNIT_ASSERT_LT(test, steps, 3 * nr / HTW_DUMP_STEP);
		listed += htw_sweep_dump(timers, &cursor, entry, HTW_DUMP_STEP);
		for (i = 0; i < 2 * HTW_DUMP_STEP; i++)
			htw_trig_arm(rig, timers, FAR_NS, nr);
	}
	KUNIT_EXPECT_GE(test, listed, nr);
	htw_trig_judge(rig);
}

/* A step looks at a chunk's places, however few of them are in use. */
static void steps_are_short(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10000);
	struct htwheel_dump_entry *entry = new_entries(test);
	struct htwheel_mass mass = { .opcode = HTWHEEL_MASS_CANCEL };
	u64 cursor = 0, last = 0;
	u32 i, steps = 0;

	for (i = 0; i < 10000; i++)
		htw_trig_arm(rig, timers, FAR_NS, i);
	do {
		KUNIT_ASSERT_LE(test, htw_sweep_mass(timers, &mass, &cursor), HTW_CHUNK_OPS);
		htw_timers_flush(timers);
		steps++;
	} while (cursor);
	KUNIT_EXPECT_GE(test, steps, 10000 / HTW_CHUNK_OPS);
	htw_trig_arm(rig, timers, FAR_NS, 0);
	steps = 0;
	do {
		htw_sweep_dump(timers, &cursor, entry, HTW_DUMP_STEP);
		KUNIT_ASSERT_LE(test, (u32)cursor, last + HTW_POOL_WALK);
		last = (u32)cursor;
		steps++;
	} while (cursor);
	KUNIT_EXPECT_GE(test, steps, DIV_ROUND_UP(10000, HTW_POOL_WALK));
}

/* Names that a dump gives are good, also when the pool has grown many times. */
static void b83_cancel_what_was_listed(struct kunit *test)
{
	const u32 nr = 100000;
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, nr);
	struct htwheel_dump_entry *entry = new_entries(test);
	u32 i, listed = 0, got;
	u64 cursor = 0, *id, left_ns;

	id = kvcalloc(nr, sizeof(*id), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, id);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ(test, htw_trig_try_arm(timers, FAR_NS + i, i, &left_ns), 0);
	do {
		got = htw_sweep_dump(timers, &cursor, entry, HTW_DUMP_STEP);
		for (i = 0; i < got && listed < nr; i++)
			id[listed++] = entry[i].id;
	} while (cursor);
	KUNIT_EXPECT_EQ(test, listed, nr);
	for (i = 0; i < listed; i++) {
		KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id[i], &left_ns), 0);
		if (i % 1024 == 0)
			cond_resched();
	}
	for (i = 0; i < listed; i += 97)
		KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id[i], &left_ns), -ENOENT);
	kvfree(id);
	KUNIT_EXPECT_EQ(test, htw_timers_pending(timers), 0);
	KUNIT_EXPECT_EQ(test, htw_trig_queued(rig), 0);
	htw_trig_judge(rig);
}

/* Every field, in every state; and looking changes nothing. */
static void dump_shows_the_state(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10);
	struct htw_timer_spec spec = {
		.deadline_ns	= htw_trig_after(10),
		.period_ns	= 12345,
		.slack_ns	= 5 * HTW_TRIG_TICK_NS + 1,
		.user_data	= 0x123456789abcdef0ULL,
		.tag		= 0xcafe,
		.policy		= HTWHEEL_POLICY_DELAY,
	};
	struct htwheel_dump_entry entry, expected = {
		.user_data	= spec.user_data,
		.deadline_ns	= spec.deadline_ns,
		.left_ns	= 10 * HTW_TRIG_TICK_NS,
		.period_ns	= 12345,
		.slack_ns	= 5 * HTW_TRIG_TICK_NS,
		.tag		= 0xcafe,
		.flags		= HTWHEEL_PERIODIC,
		.state		= HTWHEEL_STATE_ARMED,
		.policy		= HTWHEEL_POLICY_DELAY,
	};
	const struct htw_books *books = &timers->books;
	struct htw_books before;
	struct htwheel_event event;
	u32 i;

	/* Armed, and overdue, which no pass has seen. */
	expected.id = htw_trig_make(rig, timers, &spec);
	before = *books;
	for (i = 0; i < 2; i++) {
		htw_trig_dump(rig, timers, expected.id, &entry);
		expected.cpu = entry.cpu;
		expected.level = entry.level;
		expected.slot = entry.slot;
		KUNIT_EXPECT_EQ(test, memcmp(&entry, &expected, sizeof(entry)), 0);
		htw_manual.now_ns = htw_trig_after(11);
		expected.left_ns = 0;
	}
	/* Fired. */
	htw_trig_run(rig, htw_trig_after(40));
	expected.state = HTWHEEL_STATE_FIRED;
	expected.cpu = 0;
	expected.level = 0;
	expected.slot = 0;
	htw_trig_dump(rig, timers, expected.id, &entry);
	KUNIT_EXPECT_EQ(test, memcmp(&entry, &expected, sizeof(entry)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&before, books, sizeof(before)), 0);
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 1);
	htw_trig_judge(rig);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);

	/* Idle, of another one. */
	spec = (struct htw_timer_spec){ .deadline_ns = htw_trig_after(20), .keep = true };
	expected = (struct htwheel_dump_entry){
		.id		= htw_trig_make(rig, timers, &spec),
		.deadline_ns	= htw_trig_after(20),
		.flags		= HTWHEEL_KEEP,
		.state		= HTWHEEL_STATE_FIRED,
	};
	htw_trig_dump(rig, timers, expected.id, &entry);
	KUNIT_EXPECT_EQ(test, memcmp(&entry, &expected, sizeof(entry)), 0);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	expected.state = HTWHEEL_STATE_IDLE;
	htw_trig_dump(rig, timers, expected.id, &entry);
	KUNIT_EXPECT_EQ(test, memcmp(&entry, &expected, sizeof(entry)), 0);
	htw_trig_judge(rig);
}

/* Where the queue says that a timer is exists. */
static void expect_place(struct htw_trig *rig, const struct htwheel_dump_entry *entry)
{
	struct htw_geometry geometry = htw_engine_geometry(rig->engine);
	struct kunit *test = rig->test;

	KUNIT_ASSERT_TRUE(test, cpu_online(entry->cpu));
	if (geometry.levels) {
		KUNIT_ASSERT_LT(test, entry->level, geometry.levels);
		KUNIT_ASSERT_LT(test, entry->slot, rig->engine->config.design->windows *
				geometry.radix[entry->level]);
		return;
	}
	/* An array heap; others say what they like. */
	if (strcmp(rig->engine->config.design->name, "heap") &&
	    strcmp(rig->engine->config.design->name, "lazyheap"))
		return;
	KUNIT_ASSERT_LT(test, entry->slot, per_cpu_ptr(rig->engine->bases, entry->cpu)->queue->nr);
	KUNIT_ASSERT_GE(test, entry->slot + 1, 1U << entry->level);
	KUNIT_ASSERT_LT(test, entry->slot + 1, 2U << entry->level);
}

/* All deadlines that there are have their place, and the CPU is that of the arm. */
static void dump_shows_the_place(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 2000);
	u64 random = htw_timer_seed, id, cursor = 0;
	struct htwheel_dump_entry entry;
	u32 i, cpu;

	for (i = 0; i < 2000; i++) {
		cpu = htw_pin(test, i / 100);
		id = htw_trig_arm(rig, timers, htw_manual.now_ns + 1 +
				  htw_random_length(&random, 62), i);
		htw_trig_dump(rig, timers, id, &entry);
		KUNIT_ASSERT_EQ(test, entry.cpu, cpu);
		expect_place(rig, &entry);
	}
	/* Wheels turn. */
	for (i = 1; i < 100; i++) {
		htw_trig_run(rig, htw_manual.now_ns + htw_random_length(&random, 45));
		while (htw_sweep_dump(timers, &cursor, &entry, 1)) {
			if (entry.state == HTWHEEL_STATE_ARMED)
				expect_place(rig, &entry);
			if (!cursor)
				break;
		}
		cursor = 0;
	}
}

const struct htw_case htw_timer_cases_walk[] = {
	HTW_CASE(each_is_listed_once),
	HTW_CASE(each_is_shifted_once),
	HTW_CASE(cursors_from_anywhere),
	HTW_CASE(walk_of_a_pool_that_grows_ends),
	HTW_CASE(steps_are_short),
	HTW_CASE(b83_cancel_what_was_listed),
	HTW_CASE(dump_shows_the_state),
	HTW_CASE(dump_shows_the_place),
	{}
};
