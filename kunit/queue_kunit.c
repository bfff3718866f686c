// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite htwheel_queue: the battery that selftests/queue runs in userspace, on the designs as
 * they are in htwheel.ko. Every test runs for each design of the table at each start clock.
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

/* With two designs this makes some 1.5 million operations of all streams together. */
static unsigned long long ops = 20000;
module_param(ops, ullong, 0444);
MODULE_PARM_DESC(ops, "Operations of each random stream");

/* KUnit's table is made of the battery's at load time. */
#define MAX_CASES	96
static struct kunit_case kunit_cases[MAX_CASES + 1];

static u64 steps;

/*
 * KUnit takes a parameter for an opaque pointer and only asks whether it is NULL. Ours is no
 * pointer but a number: 1 + the index of the design * the number of starts + the index of the
 * start.
 */
static unsigned int nr_starts(void)
{
	unsigned int nr = 0;

	while (htw_starts[nr].bits)
		nr++;
	return nr;
}

static unsigned int nr_designs(void)
{
	unsigned int nr = 0;

	while (htw_designs[nr])
		nr++;
	return nr;
}

#ifdef HTW_KUNIT_GENERATOR_HAS_TEST
static const void *designs_and_starts(struct kunit *test, const void *previous, char *description)
#else
static const void *designs_and_starts(const void *previous, char *description)
#endif
{
	unsigned long index = (unsigned long)previous;
	const struct htw_design *design;
	const struct htw_start *start;

	if (index == nr_designs() * nr_starts())
		return NULL;
	design = htw_designs[index / nr_starts()];
	start = &htw_starts[index % nr_starts()];
	snprintf(description, KUNIT_PARAM_DESC_SIZE, "%s, %u bits from %llu", design->name,
		 start->bits, start->tick);
	return (void *)(index + 1);
}

static void describe(struct htw_test *run, struct kunit *test, unsigned int *design)
{
	unsigned long index = (unsigned long)test->param_value - 1;
	const struct htw_start *start = &htw_starts[index % nr_starts()];

	*design = index / nr_starts();
	*run = (struct htw_test){
		.design		= htw_designs[*design],
		.start_tick	= start->tick,
		.geometry	= htw_design_default(htw_designs[*design]),
		.tick_bits	= start->bits,
		.seed		= seed,
		.ops		= ops,
	};
}

static struct htw_test *new_run(struct kunit *test, unsigned int *design)
{
	struct htw_test *run = kunit_kzalloc(test, sizeof(*run), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, run);
	describe(run, test, design);
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
	unsigned int design;
	struct htw_test *run = new_run(test, &design);

	KUNIT_ASSERT_NOT_NULL(test, what);
	htw_case_run(run, what);
	judge(test, run);
}

static void random_stream(struct kunit *test)
{
	const struct htw_stream_profile *profile;
	unsigned int design;
	struct htw_test *run = new_run(test, &design);

	htw_roll_note(run->design);
	for (profile = htw_stream_profiles; profile->name && !run->failed; profile++)
		htw_stream_run(run, profile);
	judge(test, run);
}

/* Each design with the next one of the table, the last with the first. */
static void designs_agree(struct kunit *test)
{
	const struct htw_stream_profile *profile;
	unsigned int design;
	struct htw_test *run = new_run(test, &design);

	htw_roll_note(run->design);
	for (profile = htw_stream_profiles; profile->name && !run->failed; profile++)
		htw_stream_run_pair(run, htw_designs[(design + 1) % nr_designs()], profile);
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
	KUNIT_CASE_PARAM(random_stream, designs_and_starts),
	KUNIT_CASE_PARAM(designs_agree, designs_and_starts),
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
	static const struct kunit_case model = KUNIT_CASE_PARAM(run_case, designs_and_starts);

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
