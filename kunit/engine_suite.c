// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite htwheel_engine: bases, groups and passes, on a clock that the test moves and on
 * the live one.
 */
#include <linux/module.h>
#include <linux/random.h>

#include "engine_cases.h"
#include "suite.h"

unsigned long long htw_engine_seed;
module_param_named(seed, htw_engine_seed, ullong, 0444);
MODULE_PARM_DESC(seed, "Seed of the random tests; 0, the default, draws one, which the log shows");

unsigned int htw_engine_ms = 100;
module_param_named(ms, htw_engine_ms, uint, 0444);
MODULE_PARM_DESC(ms, "Duration of each test with threads, in milliseconds");

unsigned int htw_engine_ops = 8000;
module_param_named(ops, htw_engine_ops, uint, 0444);
MODULE_PARM_DESC(ops, "Operations of each random stream");

static const struct htw_case *const tables[] = {
	htw_engine_cases_time,
	htw_engine_cases_budget,
	htw_engine_cases_program,
	htw_engine_cases_cpu,
	htw_engine_cases_live,
	htw_engine_cases_storm,
	NULL
};

/* What a case that was given up has left. */
static void clean_up(struct kunit *test)
{
	if (test->priv)
		htw_erig_close(test->priv);
}

static int draw_seed(struct kunit_suite *suite)
{
	if (!htw_engine_seed)
		htw_engine_seed = get_random_u64();
	kunit_info(suite, "seed %llu, %u operations in a stream, %u ms with threads\n",
		   htw_engine_seed, htw_engine_ops, htw_engine_ms);
	return 0;
}

static struct kunit_suite htwheel_engine_suite = {
	.name		= "htwheel_engine",
	.suite_init	= draw_seed,
	.init		= htw_suite_note,
	.exit		= clean_up,
	.test_cases	= htw_suite_cases,
};

kunit_test_suite(htwheel_engine_suite);

static int __init htw_engine_kunit_init(void)
{
	return htw_suite_fill(tables);
}
module_init(htw_engine_kunit_init);

static void __exit htw_engine_kunit_exit(void)
{
}
module_exit(htw_engine_kunit_exit);

MODULE_DESCRIPTION("KUnit suite htwheel_engine: the engine of htwheel");
MODULE_LICENSE("GPL");
HTW_IMPORT_KUNIT_SYMBOLS();
