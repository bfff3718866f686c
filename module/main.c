// SPDX-License-Identifier: GPL-2.0
/*
 * Loading and unloading, and the module's parameters.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "hotplug.h"
#include "htwheel.h"

/* A pass ends after so many timers, or at the first chunk after so much time. */
#define MAIN_BUDGET_TIMERS	4096
#define MAIN_BUDGET_NS		(500 * NSEC_PER_USEC)

static unsigned int tick_shift = 19;
module_param(tick_shift, uint, 0444);
MODULE_PARM_DESC(tick_shift, "A tick is 2^tick_shift ns, 10 to 30 (default 19: 0.52 ms)");

static unsigned int max_timers = 1U << 20;
module_param(max_timers, uint, 0444);
MODULE_PARM_DESC(max_timers, "Timers that one open file may hold, 1 to 2^30 (default 1048576)");

static unsigned long long max_user_timers = 1U << 24;
module_param(max_user_timers, ullong, 0444);
MODULE_PARM_DESC(max_user_timers,
		 "Timers that one user may hold in all, 1 to 2^32 (default 16777216)");

static char *design = "wheel";
module_param(design, charp, 0444);
MODULE_PARM_DESC(design, "Queue design (default wheel); htwheelctl designs lists them");

static unsigned int geometry[HTW_MAX_LEVELS];
static unsigned int geometry_levels;
module_param_array(geometry, uint, &geometry_levels, 0444);
MODULE_PARM_DESC(geometry,
		 "Slots of each level that make one of the next, lowest first (default: the design's)");

static const struct htw_clock *const main_clocks[HTW_CLOCKS] = {
	[HTWHEEL_CLOCK_MONOTONIC]	= &htw_clock_monotonic,
	[HTWHEEL_CLOCK_BOOTTIME]	= &htw_clock_boottime,
};

/* One for each clock. */
static struct htw_engine *main_engines[HTW_CLOCKS];

static int main_check_parameters(void)
{
	if (tick_shift < HTW_MIN_TICK_SHIFT || tick_shift > HTW_MAX_TICK_SHIFT) {
		pr_err("tick_shift=%u is not from %d to %d\n", tick_shift, HTW_MIN_TICK_SHIFT,
		       HTW_MAX_TICK_SHIFT);
		return -EINVAL;
	}
	if (!max_timers || max_timers > HTW_MAX_TIMERS) {
		pr_err("max_timers=%u is not from 1 to %u\n", max_timers, HTW_MAX_TIMERS);
		return -EINVAL;
	}
	if (!max_user_timers || max_user_timers > HTW_MAX_USER_TIMERS) {
		pr_err("max_user_timers=%llu is not from 1 to %llu\n", max_user_timers,
		       HTW_MAX_USER_TIMERS);
		return -EINVAL;
	}
	if (!htw_design_find(design)) {
		pr_err("there is no design \"%s\"\n", design);
		return -EINVAL;
	}
	return 0;
}

/* The shape of the queues: the design's own, or that of the parameter. */
static int main_geometry(const struct htw_design *design, struct htw_geometry *shape)
{
	*shape = htw_design_default(design);
	if (!geometry_levels)
		return 0;
	*shape = (struct htw_geometry){ .levels = geometry_levels };
	memcpy(shape->radix, geometry, geometry_levels * sizeof(geometry[0]));
	if (htw_design_fits(design, shape, 64 - tick_shift))
		return 0;
	pr_err("the design \"%s\" cannot have this geometry\n", design->name);
	return -EINVAL;
}

/* Ends those that there are. */
static void main_destroy_engines(void)
{
	unsigned int clock;

	for (clock = HTW_CLOCKS; clock--;) {
		if (main_engines[clock])
			htw_engine_destroy(main_engines[clock]);
		main_engines[clock] = NULL;
	}
}

static int main_create_engines(void)
{
	struct htw_engine_config config = {
		.design		= htw_design_find(design),
		.ops		= &htw_timer_engine_ops,
		.tick_shift	= tick_shift,
		.budget_timers	= MAIN_BUDGET_TIMERS,
		.budget_ns	= MAIN_BUDGET_NS,
	};
	struct htw_engine *engine;
	unsigned int clock;
	int err;

	err = main_geometry(config.design, &config.geometry);
	if (err)
		return err;
	for (clock = 0; clock < HTW_CLOCKS; clock++) {
		config.clock = main_clocks[clock];
		engine = htw_engine_create(&config);
		if (IS_ERR(engine)) {
			main_destroy_engines();
			return PTR_ERR(engine);
		}
		main_engines[clock] = engine;
	}
	return 0;
}

static int __init htw_init(void)
{
	int err = main_check_parameters();

	if (err)
		return err;
	htw_users_init(max_user_timers);
	err = htw_hotplug_init();
	if (err)
		return err;
	err = main_create_engines();
	if (err)
		goto err_hotplug;
	err = htw_chardev_register(main_engines, max_timers);
	if (err)
		goto err_engines;
	return 0;

err_engines:
	main_destroy_engines();
err_hotplug:
	htw_hotplug_exit();
	return err;
}

static void __exit htw_exit(void)
{
	htw_chardev_unregister();
	main_destroy_engines();
	htw_hotplug_exit();
	/* Contexts are freed by kfree_rcu(), which needs no code of ours; nothing to wait for. */
}

module_init(htw_init);
module_exit(htw_exit);

MODULE_DESCRIPTION("A million timeouts behind one file descriptor, on per-CPU timer wheels");
MODULE_LICENSE("GPL");
MODULE_VERSION(HTW_VERSION);
