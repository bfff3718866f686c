// SPDX-License-Identifier: GPL-2.0
/*
 * Groups of operations: arm, re-arm and disarm timers with one lock round for many.
 *
 * A lock taken for each operation costs more than the operation. A group therefore keeps the lock
 * of the base that it touched last and lets go of it only for another base or at its end. At that
 * moment, and not after each operation, the base's hrtimer is brought into line.
 *
 * The user serializes the calls that concern one timer (the module: by the context's lock). Between
 * them and a pass or a CPU's departure, the base's lock decides:
 *
 *	CPU 0: disarm			CPU 1: pass, or departure to CPU 2
 *	cpu = timer->cpu (1)
 *					lock base 1
 *					timer handed over (state = EXPIRED), or moved (cpu = 2)
 *					unlock base 1
 *	lock base 1
 *	timer->cpu != cpu: try again with base 2
 *	or state is EXPIRED: too late, and expire() is through
 *
 * The loop ends because a timer moves only when a CPU goes down. (kunit: htwheel_timer, concurrent
 * cases; selftests: hotplug, stress.)
 */
#include <linux/cpumask.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include <kunit/visibility.h>

#include "engine.h"
#include "group.h"

/* Let go of the base that the group holds. */
static void group_release(struct htw_group *group)
{
	struct htw_base *base = group->held;

	if (!base)
		return;
	if (!htw_base_program(base, group->sooner))
		group->kick = base;
	group->held = NULL;
	group->sooner = false;
	spin_unlock(&base->lock);
}

/* Hold @base, and no other, its clock taken forward. */
static void group_hold(struct htw_group *group, struct htw_base *base)
{
	if (group->held == base)
		return;
	group_release(group);
	spin_lock(&base->lock);
	group->held = base;
	htw_base_forward(base, group->now_ns);
}

/*
 * Hold the base that takes new timers: this CPU's. While this CPU is going down its base takes
 * none; then any other one, which has to be kicked when the group ends.
 */
static struct htw_base *group_hold_home(struct htw_group *group)
{
	struct htw_base *base = htw_engine_home(group->engine);
	unsigned int cpu;

	group_hold(group, base);
	if (likely(base->online))
		return base;
	for_each_online_cpu(cpu) {
		base = per_cpu_ptr(group->engine->bases, cpu);
		group_hold(group, base);
		if (base->online)
			return base;
	}
	/* Not to be reached: the last CPU does not go down. The timer is kept, at worst late. */
	WARN_ON_ONCE(1);
	return base;
}

/**
 * htw_group_begin() - begin a group of operations
 * @group: to be filled in
 * @engine: the engine
 *
 * Reads the clock, for all operations of the group: they all happen "now". Keep a group short, some
 * HTW_CHUNK_OPS operations: softirqs are off, and the CPU is not left, until its end.
 *
 * Context: task. Must be followed by htw_group_end(), without sleeping in between.
 */
void htw_group_begin(struct htw_group *group, struct htw_engine *engine)
{
	local_bh_disable();
	*group = (struct htw_group){ .engine = engine, .now_ns = htw_engine_now_ns(engine) };
}
EXPORT_SYMBOL_IF_KUNIT(htw_group_begin);

/**
 * htw_group_breathe() - between two operations: let others run, if one may take long
 * @group: the group
 *
 * With a design that may look at all timers in one operation, a group of them would keep softirqs
 * off for too long. The group's time stays what it is.
 *
 * Context: task, within a group, where sleeping would be right without it.
 */
void htw_group_breathe(struct htw_group *group)
{
	if (!(group->engine->config.design->flags & HTW_DESIGN_LINEAR))
		return;
	group_release(group);
	local_bh_enable();
	cond_resched();
	local_bh_disable();
}
EXPORT_SYMBOL_IF_KUNIT(htw_group_breathe);

/**
 * htw_group_end() - end a group of operations
 * @group: the group
 *
 * Context: task, as htw_group_begin(). May wait for another CPU if this one is going down.
 */
void htw_group_end(struct htw_group *group)
{
	group_release(group);
	local_bh_enable();
	if (unlikely(group->kick))
		htw_base_kick(group->kick);
}
EXPORT_SYMBOL_IF_KUNIT(htw_group_end);

/**
 * htw_group_fetch() - fetch what an operation to come will touch besides the timer
 * @group: the group
 * @timer: a timer in any state, which has been fetched itself
 *
 * Context: within a group.
 */
void htw_group_fetch(const struct htw_group *group, const struct htw_timer *timer)
{
	const struct htw_design *design = group->engine->config.design;

	if (design->fetch)
		design->fetch(&timer->node);
}

/**
 * htw_group_arm() - queue a timer
 * @group: the group
 * @timer: a timer that is not queued, nor in any list
 * @deadline_ns: its deadline, at most KTIME_MAX
 *
 * Context: within a group; the caller serializes calls for this timer.
 * Return: true if it is queued; false if the deadline is not after the group's time. Then the timer
 * is in HTW_EXPIRED, expire() will not be called for it, and the caller deals with it. A deadline
 * in the past thus never reaches the hardware, however often somebody asks.
 */
bool htw_group_arm(struct htw_group *group, struct htw_timer *timer, u64 deadline_ns)
{
	if (deadline_ns <= group->now_ns) {
		timer->deadline_ns = deadline_ns;
		WRITE_ONCE(timer->cpu, htw_engine_home(group->engine)->cpu);
		htw_timer_expired(timer, group->now_ns);
		return false;
	}
	htw_base_enqueue(group_hold_home(group), timer, deadline_ns);
	group->sooner = true;
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(htw_group_arm);

/**
 * htw_group_queued() - is a timer queued?
 * @group: the group
 * @timer: a timer that has been armed
 *
 * Context: within a group; the caller serializes calls for this timer.
 * Return: true if it is queued, and then it stays so until the group's next operation; false if it
 * is in HTW_EXPIRED, and then expire(), if it was called, has returned.
 */
bool htw_group_queued(struct htw_group *group, struct htw_timer *timer)
{
	unsigned int cpu;

	do {
		cpu = READ_ONCE(timer->cpu);
		group_hold(group, per_cpu_ptr(group->engine->bases, cpu));
	} while (READ_ONCE(timer->cpu) != cpu);
	return timer->state == HTW_QUEUED;
}
EXPORT_SYMBOL_IF_KUNIT(htw_group_queued);

/**
 * htw_group_disarm() - take a queued timer out of its queue
 * @group: the group
 * @timer: a timer of which htw_group_queued() has just said that it is queued
 *
 * Its state is left to the caller. expire() has not been called for it and will not be.
 *
 * Context: within a group; the caller serializes calls for this timer.
 */
void htw_group_disarm(struct htw_group *group, struct htw_timer *timer)
{
	struct htw_base *base = group->held;

	lockdep_assert_held(&base->lock);
	base->queue->design->del(base->queue, &timer->node);
}
EXPORT_SYMBOL_IF_KUNIT(htw_group_disarm);

/**
 * htw_group_rearm() - give a queued timer a new deadline
 * @group: the group
 * @timer: a timer of which htw_group_queued() has just said that it is queued
 * @deadline_ns: the new deadline, at most KTIME_MAX
 *
 * A later deadline leaves it on its base, whose hrtimer is early enough and is let be, and, if the
 * design can do that, at its place in the queue: then the timer's cache line is all that is
 * touched. An earlier one (or any, with a design that is not exact) takes it to this CPU's base, so
 * that no other CPU has to be interrupted.
 *
 * Context: within a group; the caller serializes calls for this timer.
 * Return: as htw_group_arm().
 */
bool htw_group_rearm(struct htw_group *group, struct htw_timer *timer, u64 deadline_ns)
{
	struct htw_base *base = group->held;
	const struct htw_design *design = base->queue->design;
	u64 tick = htw_base_tick(base, timer, deadline_ns);

	lockdep_assert_held(&base->lock);
	/*
	 * With a design that is not exact, a later tick may come out of the queue earlier: armed
	 * nearer to it, the timer has a smaller granule.
	 */
	if (deadline_ns <= group->now_ns || tick < timer->node.tick || !base->online ||
	    design->granule) {
		htw_group_disarm(group, timer);
		return htw_group_arm(group, timer, deadline_ns);
	}
	if (design->postpone) {
		timer->deadline_ns = deadline_ns;
		design->postpone(base->queue, &timer->node, tick);
	} else {
		htw_group_disarm(group, timer);
		htw_base_enqueue(base, timer, deadline_ns);
	}
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(htw_group_rearm);

/**
 * htw_group_place() - where a queued timer sits
 * @group: the group
 * @timer: a timer of which htw_group_queued() has just said that it is queued
 *
 * Context: within a group; the caller serializes calls for this timer.
 * Return: its place in the queue of the base of htw_timer.cpu.
 */
struct htw_place htw_group_place(const struct htw_group *group, const struct htw_timer *timer)
{
	const struct htw_queue *queue = group->held->queue;

	lockdep_assert_held(&group->held->lock);
	return queue->design->place(queue, &timer->node);
}
