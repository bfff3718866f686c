// SPDX-License-Identifier: GPL-2.0
/*
 * CPU hotplug: a CPU that goes away hands its timers to one that stays.
 *
 * One multi-instance state serves every engine. Its teardown runs on the CPU that goes down, while
 * that CPU still takes interrupts and softirqs, and before the kernel moves hrtimers away from it:
 * so a base's hrtimer is never found on a CPU that is not its own.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/sched.h>

#include "engine.h"
#include "hotplug.h"

/* The number that the kernel gave our state. Set at load. */
static int hotplug_state;

static int hotplug_online(unsigned int cpu, struct hlist_node *node)
{
	struct htw_engine *engine = hlist_entry(node, struct htw_engine, cpuhp_node);

	htw_base_online(per_cpu_ptr(engine->bases, cpu));
	return 0;
}

/*
 * A base that takes timers, other than @base; NULL if there is none. The answer stays right: only a
 * CPU's departure changes it, and one is under way.
 */
static struct htw_base *hotplug_heir(struct htw_engine *engine, struct htw_base *base)
{
	struct htw_base *heir;
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		heir = per_cpu_ptr(engine->bases, cpu);
		if (heir != base && READ_ONCE(heir->online))
			return heir;
	}
	return NULL;
}

/* A CPU that has timers and no heir cannot go. */
static int hotplug_offline(unsigned int cpu, struct hlist_node *node)
{
	struct htw_engine *engine = hlist_entry(node, struct htw_engine, cpuhp_node);
	struct htw_base *base = per_cpu_ptr(engine->bases, cpu);
	struct htw_base *heir = hotplug_heir(engine, base);

	if (!heir && htw_base_busy(base))
		return -EBUSY;
	/* A kick for each chunk: its first timer may be due before the last one has been moved. */
	while (htw_base_drain(base, heir, HTW_CHUNK_OPS)) {
		htw_base_kick(heir);
		cond_resched();
	}
	htw_base_stop(base);
	return 0;
}

/**
 * htw_hotplug_add() - bring an engine's bases online, now and as CPUs come up
 * @engine: the engine
 *
 * Not by the callbacks, each of which the kernel runs on its own CPU: anybody may have engines
 * made, and that is no reason to disturb every CPU.
 *
 * Context: task; may sleep.
 * Return: 0 or -errno.
 */
int htw_hotplug_add(struct htw_engine *engine)
{
	unsigned int cpu;
	int err;

	err = cpuhp_state_add_instance_nocalls(hotplug_state, &engine->cpuhp_node);
	if (err)
		return err;
	/*
	 * CPUs that come up from now on are told of; one that went down in between is not online.
	 */
	cpus_read_lock();
	for_each_online_cpu(cpu)
		htw_base_online(per_cpu_ptr(engine->bases, cpu));
	cpus_read_unlock();
	return 0;
}

/**
 * htw_hotplug_remove() - stop all bases of an engine
 * @engine: the engine; its queues must be empty
 *
 * Context: task; may sleep.
 */
void htw_hotplug_remove(struct htw_engine *engine)
{
	unsigned int cpu;

	cpuhp_state_remove_instance_nocalls(hotplug_state, &engine->cpuhp_node);
	for_each_possible_cpu(cpu)
		htw_base_stop(per_cpu_ptr(engine->bases, cpu));
}

/**
 * htw_hotplug_init() - register the hotplug state
 *
 * Context: task, at load.
 * Return: 0 or -errno.
 */
int htw_hotplug_init(void)
{
	int state = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "htwheel:online", hotplug_online,
					    hotplug_offline);

	if (state < 0)
		return state;
	hotplug_state = state;
	return 0;
}

/**
 * htw_hotplug_exit() - unregister the hotplug state; no engine is left
 *
 * Context: task, at unload.
 */
void htw_hotplug_exit(void)
{
	cpuhp_remove_multi_state(hotplug_state);
}
