// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite htwheel_queue: the battery that selftests/queue runs in userspace, on the designs as
 * they are in htwheel.ko. Every test runs for each row, a design and a shape, at its start
 * clocks.
 */
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "cases.h"
#include "kunit_compat.h"
#include "stream.h"

static unsigned long long seed;
module_param(seed, ullong, 0444);
MODULE_PARM_DESC(seed, "Seed of the random tests; 0, the default, draws one, which the log shows");

/* With a dozen of rows this makes some 2 million operations of all streams together. */
static unsigned long long ops = 5000;
module_param(ops, ullong, 0444);
MODULE_PARM_DESC(ops, "Operations of each random stream");

/* KUnit's table is made of the battery's at load time. */
#define MAX_CASES	96
static struct kunit_case kunit_cases[MAX_CASES + 1];

static u64 steps;

/**
 * struct param - what one run of a test is about
 * @row: the row
 * @start: the start
 */
struct param {
	const struct htw_row	*row;
	const struct htw_start	*start;
};

#define MAX_PARAMS	256
static struct htw_row rows[HTW_ROWS_MAX];
static unsigned int nr_rows;
static struct param params[MAX_PARAMS + 1];

/* Ends with one without a row. */
static int fill_params(void)
{
	const struct htw_start *start;
	struct param *param = params;
	unsigned int i;

	nr_rows = htw_rows_fill(rows);
	for (i = 0; i < nr_rows; i++) {
		for (start = htw_starts; start->bits; start++) {
			if (!htw_start_wanted(&rows[i], start))
				continue;
			if (param == params + MAX_PARAMS)
				return -E2BIG;
			*param++ = (struct param){ .row = &rows[i], .start = start };
		}
	}
	return 0;
}

#ifdef HTW_KUNIT_GENERATOR_HAS_TEST
static const void *rows_and_starts(struct kunit *test, const void *previous, char *description)
#else
static const void *rows_and_starts(const void *previous, char *description)
#endif
{
	const struct param *param = previous ? (const struct param *)previous + 1 : params;
	char name[HTW_ROW_NAME];

	if (!param->row)
		return NULL;
	htw_row_name(param->row, name);
	snprintf(description, KUNIT_PARAM_DESC_SIZE, "%s, %u bits from %llu", name,
		 param->start->bits, param->start->tick);
	return param;
}

static const struct htw_row *run_row(struct kunit *test)
{
	return ((const struct param *)test->param_value)->row;
}

static struct htw_test *new_run(struct kunit *test)
{
	struct htw_test *run = kunit_kzalloc(test, sizeof(*run), GFP_KERNEL);
	const struct param *param = test->param_value;

	KUNIT_ASSERT_NOT_NULL(test, run);
	*run = (struct htw_test){
		.design		= param->row->design,
		.geometry	= param->row->geometry,
		.once		= htw_start_once(param->row, param->start),
		/* Each sequence makes a queue of its own, which is slow with all checkers on. */
		.depth		= IS_ENABLED(CONFIG_KASAN) ? 2 : 3,
		.start_tick	= param->start->tick,
		.tick_bits	= param->start->bits,
		.seed		= seed,
		.ops		= param->row->second ? ops / 4 : ops,
	};
	return run;
}

static void judge(struct kunit *test, const struct htw_test *run)
{
	steps += run->steps;
	if (run->failed)
		KUNIT_FAIL(test, "%s", run->text);
}

static const struct htw_case *find_case(const char *name)
{
	const struct htw_case *const *table = htw_case_tables;
	const struct htw_case *what = *table;

	while (what && strcmp(what->name, name)) {
		what++;
		if (!what->name)
			what = *++table;
	}
	return what;
}

static void run_case(struct kunit *test)
{
	const struct htw_case *what = find_case(test->name);
	struct htw_test *run = new_run(test);

	KUNIT_ASSERT_NOT_NULL(test, what);
	htw_case_run(run, what);
	judge(test, run);
}

static void random_stream(struct kunit *test)
{
	const struct htw_stream_profile *profile;
	struct htw_test *run = new_run(test);

	htw_roll_note(run);
	for (profile = htw_stream_profiles; profile->name && !run->failed; profile++)
		htw_stream_run(run, profile);
	judge(test, run);
}

/* Each row with the next other design, the last with the first. */
static void designs_agree(struct kunit *test)
{
	const struct htw_stream_profile *profile;
	struct htw_test *run = new_run(test);

	htw_roll_note(run);
	for (profile = htw_stream_profiles; profile->name && !run->failed; profile++)
		htw_stream_run_pair(run, htw_row_partner(rows, nr_rows, run_row(test)), profile);
	judge(test, run);
}

/* Fails too if nothing ran before it, so it cannot be run alone. */
static void b88_every_design_was_run(struct kunit *test)
{
	const char *missing = htw_roll_missing();

	if (missing)
		KUNIT_FAIL(test, "not run, or not as often as the default: %s", missing);
	kunit_info(test, "seed %llu, %llu operations\n", (u64)seed, steps);
}

static int draw_seed(struct kunit_suite *suite)
{
	if (!seed)
		seed = get_random_u64();
	kunit_info(suite, "seed %llu, %llu operations in a stream\n", seed, ops);
	return 0;
}

static const struct kunit_case own_cases[] = {
	KUNIT_CASE_PARAM(random_stream, rows_and_starts),
	KUNIT_CASE_PARAM(designs_agree, rows_and_starts),
	KUNIT_CASE(b88_every_design_was_run),
};

static struct kunit_suite htwheel_queue_suite = {
	.name		= "htwheel_queue",
	.suite_init	= draw_seed,
	.test_cases	= kunit_cases,
};

kunit_test_suite(htwheel_queue_suite);

/* Returns the entry behind those that it filled, or NULL if they are too many. */
static struct kunit_case *fill_cases(struct kunit_case *entry, const struct htw_case *table)
{
	static const struct kunit_case model = KUNIT_CASE_PARAM(run_case, rows_and_starts);

	for (; table->name; table++) {
		if (entry == kunit_cases + MAX_CASES)
			return NULL;
		*entry = model;
		entry->name = table->name;
		entry++;
	}
	return entry;
}

/* KUnit looks at the suite after this, when the module goes live. */
static int __init htw_queue_kunit_init(void)
{
	const struct htw_case *const *table;
	struct kunit_case *entry = kunit_cases;

	for (table = htw_case_tables; *table && entry; table++)
		entry = fill_cases(entry, *table);
	if (fill_params())
		return -E2BIG;
	if (!entry || entry + ARRAY_SIZE(own_cases) > kunit_cases + MAX_CASES)
		return -E2BIG;
	memcpy(entry, own_cases, sizeof(own_cases));
	return 0;
}
module_init(htw_queue_kunit_init);

static void __exit htw_queue_kunit_exit(void)
{
}
module_exit(htw_queue_kunit_exit);

MODULE_DESCRIPTION("KUnit suite htwheel_queue: the queue designs of htwheel");
MODULE_LICENSE("GPL");
HTW_IMPORT_KUNIT_SYMBOLS();
