// SPDX-License-Identifier: GPL-2.0
/*
 * The rig of the suite htwheel_engine.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "engine_rig.h"

struct htw_manual htw_manual;

const struct htw_clock htw_manual_clock = {
	.name		= "test",
	.hrtimer_clock	= CLOCK_MONOTONIC,
	.now_ns		= htw_manual_read,
};

static struct htw_erig *erig_of_pass(const struct htw_pass *pass)
{
	return container_of(pass->base->engine->config.ops, struct htw_erig, ops);
}

static void erig_note_late(struct htw_erig *rig, u64 late_ns)
{
	s64 max_ns = atomic64_read(&rig->max_late_ns);

	while ((s64)late_ns > max_ns && !atomic64_try_cmpxchg(&rig->max_late_ns, &max_ns, late_ns))
		;
}

/* Passes of a manual clock come one at a time, so more can be said about them. */
static void erig_check_manual(struct htw_erig *rig, const struct htw_pass *pass, u64 tick)
{
	htw_expect(&rig->fault, "time of the pass", pass->now_ns, rig->pass_ns);
	if (tick < rig->last_tick && !rig->any_order)
		htw_blame(&rig->fault, "ticks come in order", tick, rig->last_tick);
	rig->last_tick = tick;
}

static void erig_receive(struct htw_erig *rig, const struct htw_pass *pass,
			 struct htw_erig_timer *entry)
{
	struct htw_timer *timer = &entry->timer;
	u64 start_ns = htw_tick_start(timer->node.tick + entry->granule, htw_erig_shift(rig));

	if (pass->now_ns < timer->deadline_ns)
		htw_blame(&rig->fault, "never early", pass->now_ns, timer->deadline_ns);
	htw_expect(&rig->fault, "what is handed over was queued", timer->state, HTW_QUEUED);
	htw_expect(&rig->fault, "it was queued here", timer->cpu, pass->base->cpu);
	if (pass->now_ns > start_ns)
		erig_note_late(rig, pass->now_ns - start_ns);
	if (!htw_erig_is_live(rig))
		erig_check_manual(rig, pass, timer->node.tick);
	htw_timer_expired(timer, pass->now_ns);
	entry->fired++;
}

static void erig_expire(struct htw_pass *pass, struct list_head *due)
{
	struct htw_erig *rig = erig_of_pass(pass);
	struct htw_erig_timer *entry, *tmp;
	u32 nr = 0;

	lockdep_assert_held(&pass->base->lock);
	htw_expect(&rig->fault, "expire() runs with softirqs off", !in_softirq(), false);
	if (htw_erig_is_live(rig))
		htw_expect(&rig->fault, "a pass runs on the CPU of its base", smp_processor_id(),
			   pass->base->cpu);
	htw_expect(&rig->fault, "each chunk begins with nobody to wake", pass->nr_wake, 0);
	pass->wake[pass->nr_wake++] = rig;
	list_for_each_entry_safe(entry, tmp, due, timer.node.link) {
		list_del(&entry->timer.node.link);
		erig_receive(rig, pass, entry);
		nr++;
	}
	if (nr > HTW_CHUNK_OPS)
		htw_blame(&rig->fault, "timers of a chunk", nr, HTW_CHUNK_OPS);
	atomic64_add(nr, &rig->handed);
}

static void erig_settle(struct htw_pass *pass)
{
	struct htw_erig *rig = erig_of_pass(pass);

	lockdep_assert_not_held(&pass->base->lock);
	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "settle() outside an RCU read section");
	htw_expect(&rig->fault, "settle() follows expire()", pass->nr_wake, 1);
	if (rig->settle)
		rig->settle(rig);
}

/**
 * htw_erig_config() - the usual configuration of an engine, for a case to alter
 * @test: the test, whose parameter is the design
 *
 * Return: manual clock, the default tick, no budget to speak of. The user is filled in by
 * htw_erig_open().
 */
struct htw_engine_config htw_erig_config(struct kunit *test)
{
	return (struct htw_engine_config){
		.design		= htw_param_row(test)->design,
		.geometry	= htw_param_row(test)->geometry,
		.clock		= &htw_manual_clock,
		.tick_shift	= HTW_ERIG_SHIFT,
		.budget_timers	= U64_MAX,
		.budget_ns	= U64_MAX,
	};
}

/**
 * htw_erig_open() - make an engine and timers
 * @test: the test
 * @config: what kind of engine
 * @start_ns: where the manual clock starts
 * @nr: how many timers
 *
 * One at a time. It is closed when the test ends, at the latest.
 */
struct htw_erig *htw_erig_open(struct kunit *test, const struct htw_engine_config *config,
			       u64 start_ns, u32 nr)
{
	struct htw_engine_config own = *config;
	struct htw_erig *rig;

	rig = kzalloc(sizeof(*rig), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rig);
	test->priv = rig;
	rig->test = test;
	rig->design = config->design;
	rig->any_order = rig->design->granule;
	rig->ops = (struct htw_engine_ops){ .expire = erig_expire, .settle = erig_settle };
	own.ops = &rig->ops;
	htw_manual = (struct htw_manual){ .now_ns = start_ns };
	rig->engine = htw_engine_create(&own);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, rig->engine);
	/* Whole pages, because timers are cache lines. */
	rig->timer = vzalloc(array_size(nr, sizeof(*rig->timer)));
	KUNIT_ASSERT_NOT_NULL(test, rig->timer);
	rig->nr = nr;
	KUNIT_ASSERT_EQ(test, htw_engine_reserve(rig->engine, nr), 0);
	return rig;
}

/* The usual engine. */
struct htw_erig *htw_erig_open_default(struct kunit *test, u32 nr)
{
	struct htw_engine_config config = htw_erig_config(test);

	return htw_erig_open(test, &config, HTW_ERIG_START_NS, nr);
}

/* The usual engine on the live clock, with the budgets that the module has. */
struct htw_erig *htw_erig_open_live(struct kunit *test, u32 nr)
{
	struct htw_engine_config config = htw_erig_config(test);

	config.clock = &htw_clock_monotonic;
	config.budget_timers = 8192;
	config.budget_ns = 2 * NSEC_PER_MSEC;
	return htw_erig_open(test, &config, 0, nr);
}

/* Somebody has broken a queue; to go on would crash. */
static bool erig_is_broken(const struct htw_erig *rig)
{
	unsigned int cpu;
	int line = 0;

	for_each_possible_cpu(cpu)
		line = line ?: rig->design->check(htw_erig_base(rig, cpu)->queue);
	return line;
}

/**
 * htw_erig_close() - report what was seen and free everything
 * @rig: the rig
 */
void htw_erig_close(struct htw_erig *rig)
{
	struct kunit *test = rig->test;

	test->priv = NULL;
	htw_fault_report(test, &rig->fault);
	if (!IS_ERR_OR_NULL(rig->engine)) {
		if (erig_is_broken(rig)) {
			KUNIT_FAIL(test, "a broken queue is left behind");
			return;
		}
		htw_erig_disarm_all(rig);
		htw_engine_destroy(rig->engine);
	}
	vfree(rig->timer);
	kfree(rig);
}
