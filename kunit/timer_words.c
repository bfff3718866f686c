// SPDX-License-Identifier: GPL-2.0
/*
 * The deadline table: words that userspace writes at any moment.
 */
#include "timer_cases.h"

#define PERIOD_NS	(10 * HTW_TRIG_TICK_NS)

/* An owner with a table, whose maker sees the clock at ours plus @offset_ns. */
static struct htw_timers *own_table(struct htw_trig *rig, u32 entries, s64 offset_ns)
{
	struct htw_timers *timers = htw_trig_own(rig, 100);
	struct htw_timers_config config = { .table = htw_table_create(entries, offset_ns) };

	KUNIT_ASSERT_NOT_NULL(rig->test, config.table);
	KUNIT_ASSERT_EQ(rig->test, htw_timers_setup(timers, rig->engine, &config), 0);
	return timers;
}

/* As userspace does. */
static void store(struct htw_timers *timers, u64 id, u64 value)
{
	((u64 *)timers->table->area.memory)[(u32)id] = value;
}

static u64 word(struct htw_timers *timers, u64 id)
{
	return ((u64 *)timers->table->area.memory)[(u32)id];
}

/* Nothing comes until then, and then this. */
static void expect_at(struct htw_trig *rig, struct htw_timers *timers, u64 deadline_ns)
{
	struct htwheel_event event = {};

	htw_trig_run(rig, deadline_ns - 1);
	KUNIT_EXPECT_EQ(rig->test, htw_trig_read(timers, &event, 1), 0);
	htw_trig_judge(rig);
	htw_trig_run(rig, deadline_ns + 16 * HTW_TRIG_TICK_NS);
	KUNIT_EXPECT_EQ(rig->test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(rig->test, event.deadline_ns, deadline_ns);
	KUNIT_EXPECT_LE(rig->test, event.deadline_ns, event.fired_ns);
	htw_trig_judge(rig);
}

static void later_postpones(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_table(rig, 512, 0);
	u64 id = htw_trig_arm(rig, timers, htw_trig_after(10), 0);

	store(timers, id, htw_trig_after(40) + 1);
	expect_at(rig, timers, htw_trig_after(40) + 1);
	KUNIT_EXPECT_EQ(test, timers->delivered.postponed, 1);
	KUNIT_EXPECT_EQ(test, timers->books.armed, 1);
	htw_trig_close(rig);
}

static void again_and_again(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_table(rig, 512, 0);
	u64 id = htw_trig_arm(rig, timers, htw_trig_after(10), 0);
	struct htwheel_event event;
	unsigned int i;

	for (i = 1; i <= 50; i++) {
		store(timers, id, htw_trig_after(10 + 7 * i));
		htw_trig_run(rig, htw_trig_after(9 + 7 * i));
		KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 0);
	}
	expect_at(rig, timers, htw_trig_after(360));
	/* Each time that it came up, and never when it had been postponed twice before that. */
	KUNIT_EXPECT_GT(test, timers->delivered.postponed, 10);
	KUNIT_EXPECT_LE(test, timers->delivered.postponed, 50);
	htw_trig_close(rig);
}

/* What is no later time changes nothing. */
static void b78_any_word(struct kunit *test)
{
	static const u64 words[] = { 0, 1, HTW_TRIG_START_NS, BIT_ULL(63), U64_MAX,
				     BIT_ULL(63) | HTW_TRIG_START_NS << 1 };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_table(rig, 512, 0);
	u64 base_ns = HTW_TRIG_START_NS, id;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		id = htw_trig_arm(rig, timers, base_ns + 10 * HTW_TRIG_TICK_NS, i);
		store(timers, id, words[i]);
		expect_at(rig, timers, base_ns + 10 * HTW_TRIG_TICK_NS);
		base_ns = htw_manual.now_ns;
	}
	KUNIT_EXPECT_EQ(test, timers->delivered.postponed, 0);
	htw_trig_close(rig);
}

/* A deadline between now and the word when it comes up late: it fires, with the word's. */
static void passed_already(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_table(rig, 512, 0);
	u64 id = htw_trig_arm(rig, timers, htw_trig_after(10), 0);
	struct htwheel_event event;

	store(timers, id, htw_trig_after(20));
	htw_trig_run(rig, htw_trig_after(40));
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(test, event.deadline_ns, htw_trig_after(20));
	htw_trig_close(rig);
}

static void never(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_table(rig, 512, 0);
	u64 id = htw_trig_arm(rig, timers, htw_trig_after(10), 0), left_ns;
	struct htwheel_event event;

	store(timers, id, HTWHEEL_NEVER_NS);
	htw_trig_run(rig, htw_trig_after(1000));
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 0);
	KUNIT_EXPECT_EQ(test, htw_trig_query(timers, id, &left_ns), 0);
	KUNIT_EXPECT_EQ(test, left_ns, HTWHEEL_NEVER_NS - htw_trig_after(1000));
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id, htw_trig_after(1010)), 0);
	expect_at(rig, timers, htw_trig_after(1010));
	htw_trig_close(rig);
}

/* Whoever asks is told of the later one. */
static void all_see_it(struct kunit *test)
{
	struct htwheel_mass shift = { .opcode = HTWHEEL_MASS_SHIFT, .shift_ns = PERIOD_NS };
	struct htwheel_mass half = {
		.opcode = HTWHEEL_MASS_SCALE, .numerator = 1, .denominator = 2 };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_table(rig, 512, 0);
	u64 id = htw_trig_arm(rig, timers, htw_trig_after(10), 0), left_ns;
	struct htwheel_dump_entry entry;

	store(timers, id, htw_trig_after(50));
	KUNIT_EXPECT_EQ(test, htw_trig_query(timers, id, &left_ns), 0);
	KUNIT_EXPECT_EQ(test, left_ns, 50 * HTW_TRIG_TICK_NS);
	htw_trig_dump(rig, timers, id, &entry);
	KUNIT_EXPECT_EQ(test, entry.deadline_ns, htw_trig_after(50));
	KUNIT_EXPECT_EQ(test, entry.left_ns, 50 * HTW_TRIG_TICK_NS);
	KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &shift), 1);
	KUNIT_EXPECT_EQ(test, htw_trig_find(rig, timers, id)->deadline_ns, htw_trig_after(60));
	KUNIT_EXPECT_EQ(test, word(timers, id), 0);
	store(timers, id, htw_trig_after(80));
	KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &half), 1);
	KUNIT_EXPECT_EQ(test, htw_trig_find(rig, timers, id)->deadline_ns, htw_trig_after(40));
	store(timers, id, htw_trig_after(70));
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), 0);
	KUNIT_EXPECT_EQ(test, left_ns, 70 * HTW_TRIG_TICK_NS);
	htw_trig_close(rig);
}

/* ARM and REARM forget the word, also that of the timer before. */
static void arms_forget(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_table(rig, 512, 0);
	u64 id = htw_trig_arm(rig, timers, htw_trig_after(10), 0), old = id, left_ns;

	store(timers, id, htw_trig_after(90));
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id, htw_trig_after(20)), 0);
	KUNIT_EXPECT_EQ(test, word(timers, id), 0);
	store(timers, id, htw_trig_after(90));
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), 0);
	id = htw_trig_arm(rig, timers, htw_trig_after(30), 1);
	KUNIT_ASSERT_EQ(test, (u32)id, (u32)old);
	expect_at(rig, timers, htw_trig_after(30));
	htw_trig_close(rig);
}

/* A postponed turn is what the following are counted from. */
static void periodic_counts_from_it(struct kunit *test)
{
	struct htw_timer_spec spec = { .deadline_ns = htw_trig_after(10), .period_ns = PERIOD_NS };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_table(rig, 512, 0);
	u64 id = htw_trig_make(rig, timers, &spec);
	struct htwheel_event event;

	store(timers, id, htw_trig_after(13));
	htw_trig_run(rig, htw_trig_after(12));
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 0);
	htw_trig_run(rig, htw_trig_after(14));
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(test, event.deadline_ns, htw_trig_after(13));
	htw_trig_run(rig, htw_trig_after(22));
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 0);
	htw_trig_run(rig, htw_trig_after(24));
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(test, event.deadline_ns, htw_trig_after(23));
	htw_trig_judge(rig);
	htw_trig_close(rig);
}

/* A timer beyond the table has no word. */
static void beyond_the_table(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_table(rig, 1, 0);
	u64 *words = timers->table->area.memory;
	unsigned int i;

	htw_trig_arm(rig, timers, htw_trig_after(10), 0);
	for (i = 0; i < PAGE_SIZE / sizeof(u64); i++)
		words[i] = htw_trig_after(99);
	expect_at(rig, timers, htw_trig_after(10));
	KUNIT_EXPECT_EQ(test, words[1], htw_trig_after(99));
	htw_trig_close(rig);
}

/* Words are on the clock of the time namespace that made the table. */
static void in_a_namespace(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_table(rig, 512, 1000 * NSEC_PER_SEC);
	u64 id = htw_trig_arm(rig, timers, htw_trig_after(10), 0);

	store(timers, id, htw_trig_after(30) + 1000 * NSEC_PER_SEC);
	expect_at(rig, timers, htw_trig_after(30));
	htw_trig_close(rig);
}

const struct htw_case htw_timer_cases_words[] = {
	HTW_CASE(later_postpones),
	HTW_CASE(again_and_again),
	HTW_CASE(b78_any_word),
	HTW_CASE(passed_already),
	HTW_CASE(never),
	HTW_CASE(all_see_it),
	HTW_CASE(arms_forget),
	HTW_CASE_EXACT(periodic_counts_from_it),
	HTW_CASE(beyond_the_table),
	HTW_CASE(in_a_namespace),
	{}
};
