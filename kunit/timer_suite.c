// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite htwheel_timer: the state machine, the names and the books of timers, on a clock
 * that the test moves and on the live one.
 */
#include <linux/module.h>
#include <linux/random.h>

#include "timer_cases.h"
#include "suite.h"

unsigned long long htw_timer_seed;
module_param_named(seed, htw_timer_seed, ullong, 0444);
MODULE_PARM_DESC(seed, "Seed of the random tests; 0, the default, draws one, which the log shows");

unsigned int htw_timer_ms = 150;
module_param_named(ms, htw_timer_ms, uint, 0444);
MODULE_PARM_DESC(ms, "Duration of each test with threads, in milliseconds");

unsigned int htw_timer_ops = 8000;
module_param_named(ops, htw_timer_ops, uint, 0444);
MODULE_PARM_DESC(ops, "Operations of each random stream");

static const struct htw_case *const tables[] = {
	htw_timer_cases_table,
	htw_timer_cases_name,
	htw_timer_cases_event,
	htw_timer_cases_turn,
	htw_timer_cases_period,
	htw_timer_cases_keep,
	htw_timer_cases_slack,
	htw_timer_cases_wake,
	htw_timer_cases_user,
	htw_timer_cases_clock,
	htw_timer_cases_ring,
	htw_timer_cases_words,
	htw_timer_cases_sweep,
	htw_timer_cases_walk,
	htw_timer_cases_trim,
	htw_timer_cases_model,
	htw_timer_cases_live,
	htw_timer_cases_mix,
	NULL
};

/* The limit of a user, which some cases change. */
static u64 max_user_timers;

/* What a case that was given up has left. */
static void clean_up(struct kunit *test)
{
	htw_users_init(max_user_timers);
	if (test->priv)
		htw_trig_close(test->priv);
}

static int set_up_all(struct kunit_suite *suite)
{
	if (!htw_timer_seed)
		htw_timer_seed = get_random_u64();
	max_user_timers = htw_user_max_timers();
	kunit_info(suite, "seed %llu, %u operations in a stream, %u ms with threads\n",
		   htw_timer_seed, htw_timer_ops, htw_timer_ms);
	return 0;
}

static struct kunit_suite htwheel_timer_suite = {
	.name		= "htwheel_timer",
	.suite_init	= set_up_all,
	.init		= htw_suite_note,
	.exit		= clean_up,
	.test_cases	= htw_suite_cases,
};

kunit_test_suite(htwheel_timer_suite);

static int __init htw_timer_kunit_init(void)
{
	return htw_suite_fill(tables);
}
module_init(htw_timer_kunit_init);

static void __exit htw_timer_kunit_exit(void)
{
}
module_exit(htw_timer_kunit_exit);

MODULE_DESCRIPTION("KUnit suite htwheel_timer: the timers of htwheel");
MODULE_LICENSE("GPL");
HTW_IMPORT_KUNIT_SYMBOLS();
