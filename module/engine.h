/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The engine: a clock, a design, and a base for each CPU.
 *
 * It knows nothing of files and contexts. Its user makes timers, arms and disarms them in groups
 * (group.h), and gets those that are due through htw_engine_ops.expire(). Kernel code can use it
 * directly; kunit/ does.
 */
#ifndef HTW_ENGINE_H
#define HTW_ENGINE_H

#include <linux/cpumask.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "base.h"

/**
 * struct htw_engine_config - how an engine is made
 * @design: its queues
 * @geometry: their shape; all 0: the design's default
 * @clock: its clock
 * @ops: its user
 * @one_base: one base for all CPUs, which cannot go away with any of them; only with a clock that
 *	is not live
 * @tick_shift: a tick is 2^tick_shift ns
 * @budget_timers: timers that a pass hands over or moves at most, at least 1
 * @budget_ns: time after which a pass stops at the next chunk of HTW_CHUNK_OPS
 */
struct htw_engine_config {
	const struct htw_design		*design;
	struct htw_geometry		geometry;
	const struct htw_clock		*clock;
	const struct htw_engine_ops	*ops;
	bool				one_base;
	unsigned int			tick_shift;
	u64				budget_timers;
	u64				budget_ns;
};

/**
 * struct htw_engine - an engine
 * @config: as given to htw_engine_create()
 * @cpus: the CPUs that have a base: all that are possible, or one
 * @bases: the bases
 * @cpuhp_node: entry in the list of the CPU hotplug state
 * @reserve_lock: protects @reserved and serializes the reserve() calls of the queues
 * @reserved: timers that may be queued at once
 */
struct htw_engine {
	struct htw_engine_config	config;
	const struct cpumask		*cpus;
	struct htw_base __percpu	*bases;
	struct hlist_node		cpuhp_node;
	struct mutex			reserve_lock;
	u64				reserved;
};

/**
 * struct htw_engine_stats - the sum over the bases, each read under its lock at a moment of its own
 * @counters: as for a base
 * @queued: timers in the queues
 * @backlog_cpus: bases whose last pass left work
 * @backlog_ns: age of the oldest such backlog
 * @online_cpus: bases that are online
 */
struct htw_engine_stats {
	struct htw_counters	counters;
	u64			queued;
	u64			backlog_cpus;
	u64			backlog_ns;
	u32			online_cpus;
};

/* The present time on the engine's clock. */
static inline u64 htw_engine_now_ns(const struct htw_engine *engine)
{
	return htw_clock_now_ns(engine->config.clock);
}

/* The base that takes what is armed on this CPU. Preemption is off, or the answer is a guess. */
static inline struct htw_base *htw_engine_home(const struct htw_engine *engine)
{
	if (engine->config.one_base)
		return per_cpu_ptr(engine->bases, cpumask_first(engine->cpus));
	return this_cpu_ptr(engine->bases);
}

struct htw_engine *htw_engine_create(const struct htw_engine_config *config);
void htw_engine_destroy(struct htw_engine *engine);
int htw_engine_reserve(struct htw_engine *engine, u64 nr);
void htw_engine_unreserve(struct htw_engine *engine, u64 nr);
void htw_engine_read_stats(struct htw_engine *engine, struct htw_engine_stats *stats);
struct htw_geometry htw_engine_geometry(struct htw_engine *engine);

#endif /* HTW_ENGINE_H */
