// SPDX-License-Identifier: GPL-2.0
/*
 * The engine: its making and end, the room in its queues, its figures.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/slab.h>

#include <kunit/visibility.h>

#include "engine.h"
#include "hotplug.h"

/**
 * htw_engine_reserve() - make room for more timers
 * @engine: the engine
 * @nr: how many more may be queued from now on
 *
 * All of them could end up on one CPU, so each base gets the room. Costs nothing with designs that
 * need none, like the wheel.
 *
 * Context: task; may sleep. Memory is charged to the caller, though others will use it too.
 * Return: 0, or -ENOMEM and nothing is changed.
 */
int htw_engine_reserve(struct htw_engine *engine, u64 nr)
{
	const struct htw_design *design = engine->config.design;
	unsigned int cpu, undo;
	int err = 0;

	if (!design->reserve)
		return 0;
	mutex_lock(&engine->reserve_lock);
	for_each_cpu(cpu, engine->cpus) {
		err = design->reserve(per_cpu_ptr(engine->bases, cpu)->queue,
				      engine->reserved + nr);
		if (err)
			break;
	}
	if (!err) {
		engine->reserved += nr;
		goto out;
	}
	for_each_cpu(undo, engine->cpus) {
		if (undo == cpu)
			break;
		design->reserve(per_cpu_ptr(engine->bases, undo)->queue, engine->reserved);
	}
out:
	mutex_unlock(&engine->reserve_lock);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(htw_engine_reserve);

/**
 * htw_engine_unreserve() - give back room
 * @engine: the engine
 * @nr: how many timers fewer may be queued from now on; they are not queued any more
 *
 * Context: task; may sleep.
 */
void htw_engine_unreserve(struct htw_engine *engine, u64 nr)
{
	const struct htw_design *design = engine->config.design;
	unsigned int cpu;

	if (!design->reserve)
		return;
	mutex_lock(&engine->reserve_lock);
	engine->reserved -= nr;
	for_each_cpu(cpu, engine->cpus)
		design->reserve(per_cpu_ptr(engine->bases, cpu)->queue, engine->reserved);
	mutex_unlock(&engine->reserve_lock);
}
EXPORT_SYMBOL_IF_KUNIT(htw_engine_unreserve);

/* Add a base's figures to @stats. */
static void base_read_stats(struct htw_base *base, u64 now_ns, struct htw_engine_stats *stats)
{
	u64 since_ns;

	spin_lock_bh(&base->lock);
	stats->counters.passes += base->counters.passes;
	stats->counters.wakeups += base->counters.wakeups;
	stats->counters.reprogrammed += base->counters.reprogrammed;
	stats->counters.budget_stops += base->counters.budget_stops;
	stats->counters.work.due += base->counters.work.due;
	stats->counters.work.moves += base->counters.work.moves;
	stats->counters.work.slots += base->counters.work.slots;
	stats->queued += base->queue->nr;
	stats->online_cpus += base->online;
	since_ns = base->backlog_since_ns;
	spin_unlock_bh(&base->lock);

	if (!since_ns)
		return;
	stats->backlog_cpus++;
	if (now_ns > since_ns)
		stats->backlog_ns = max(stats->backlog_ns, now_ns - since_ns);
}

/**
 * htw_engine_read_stats() - what an engine has done and holds
 * @engine: the engine
 * @stats: to be filled in
 *
 * Context: task; takes each base's lock for a moment.
 */
void htw_engine_read_stats(struct htw_engine *engine, struct htw_engine_stats *stats)
{
	u64 now_ns = htw_engine_now_ns(engine);
	unsigned int cpu;

	*stats = (struct htw_engine_stats){};
	for_each_cpu(cpu, engine->cpus)
		base_read_stats(per_cpu_ptr(engine->bases, cpu), now_ns, stats);
}
EXPORT_SYMBOL_IF_KUNIT(htw_engine_read_stats);

/**
 * htw_engine_geometry() - the shape of an engine's queues
 * @engine: the engine
 *
 * Context: any.
 * Return: the geometry, the same for all bases.
 */
struct htw_geometry htw_engine_geometry(struct htw_engine *engine)
{
	unsigned int cpu = cpumask_first(engine->cpus);
	struct htw_queue *queue = per_cpu_ptr(engine->bases, cpu)->queue;

	return queue->geometry;
}
EXPORT_SYMBOL_IF_KUNIT(htw_engine_geometry);

static void engine_free(struct htw_engine *engine)
{
	struct htw_queue *queue;
	unsigned int cpu;

	for_each_cpu(cpu, engine->cpus) {
		queue = per_cpu_ptr(engine->bases, cpu)->queue;
		if (queue)
			engine->config.design->destroy(queue);
	}
	free_percpu(engine->bases);
	kfree(engine);
}

/**
 * htw_engine_create() - make an engine
 * @config: what it is to be; copied
 *
 * Context: task; may sleep. Memory is charged to the caller.
 * Return: the engine, or an error pointer.
 */
struct htw_engine *htw_engine_create(const struct htw_engine_config *config)
{
	struct htw_engine *engine;
	unsigned int cpu;
	int err;

	engine = kzalloc(sizeof(*engine), GFP_KERNEL_ACCOUNT);
	if (!engine)
		return ERR_PTR(-ENOMEM);
	engine->config = *config;
	mutex_init(&engine->reserve_lock);
	engine->cpus = config->one_base ? cpumask_of(cpumask_first(cpu_possible_mask)) :
					  cpu_possible_mask;
	if (!engine->config.geometry.levels)
		engine->config.geometry = htw_design_default(config->design);
	engine->bases = alloc_percpu_gfp(struct htw_base, GFP_KERNEL_ACCOUNT);
	if (!engine->bases) {
		kfree(engine);
		return ERR_PTR(-ENOMEM);
	}
	for_each_cpu(cpu, engine->cpus) {
		err = htw_base_init(per_cpu_ptr(engine->bases, cpu), engine, cpu);
		if (err)
			goto err_free;
	}
	if (config->one_base) {
		htw_base_online(htw_engine_home(engine));
		return engine;
	}
	err = htw_hotplug_add(engine);
	if (err)
		goto err_free;
	return engine;

err_free:
	engine_free(engine);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_IF_KUNIT(htw_engine_create);

/**
 * htw_engine_destroy() - end an engine
 * @engine: the engine; its queues must be empty
 *
 * Context: task; may sleep.
 */
void htw_engine_destroy(struct htw_engine *engine)
{
	if (!engine->config.one_base)
		htw_hotplug_remove(engine);
	engine_free(engine);
}
EXPORT_SYMBOL_IF_KUNIT(htw_engine_destroy);
