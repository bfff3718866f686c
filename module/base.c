// SPDX-License-Identifier: GPL-2.0
/*
 * A base: the hrtimer, the pass, and the departure of the CPU.
 *
 * Tickless. A base's hrtimer is set to the queue's next expiry and is off while the queue is empty.
 * Every change of a queue happens under its base's lock, and whoever is about to release that lock
 * compares the queue's next expiry with what the hrtimer is set to (htw_base_program()): so no arm
 * can hide behind a sleep that was computed before it (FAULTS B20, B21, B23). After a cancel the
 * hrtimer may be early, and then costs one pass that finds nothing; it is never late.
 *
 * hrtimers are started on their own CPU only. Therefore an arm, and a re-arm to an earlier time, go
 * to the base of the CPU that asks (group.c). No operation sends an interrupt to another CPU, with
 * one exception: those of a CPU that is on its way out, and of who arms there.
 *
 * A pass does at most its budget of work, in chunks between which the lock is free, and reads the
 * clock once: a timer that is armed meanwhile waits for the next pass. One that has work left sets
 * the hrtimer to the present and leaves; the softirq code then decides who runs next. The queue's
 * clock stands still meanwhile, at the tick that is being worked on.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/topology.h>

#include <kunit/visibility.h>

#include "compat.h"
#include "engine.h"

/*
 * A design may use what is left of a budget to move timers ahead of time (the wheel does). A call
 * that has used up its chunk, with nothing due any more, may have more of that to do: so many
 * further chunks are granted to a pass. More would delay the next timers, and it can go on at the
 * next tick.
 */
#define BASE_EARLY_CHUNKS	3

static bool base_live(const struct htw_base *base)
{
	return base->engine->config.clock->live;
}

/* Set the hrtimer. On the base's own CPU. */
static void base_start(struct htw_base *base, u64 tick, u64 expires_ns)
{
	lockdep_assert_held(&base->lock);
	base->programmed_tick = tick;
	base->counters.reprogrammed++;
	if (base_live(base))
		hrtimer_start(&base->timer, ns_to_ktime(expires_ns), HRTIMER_MODE_ABS_PINNED_SOFT);
}

/*
 * If the callback runs already and waits for our lock, the attempt to cancel fails; that pass will
 * find the empty queue and leave the hrtimer off.
 */
static void base_switch_off(struct htw_base *base)
{
	lockdep_assert_held(&base->lock);
	/* Whoever cancelled the backlog has ended it. */
	base->backlog_since_ns = 0;
	if (base->programmed_tick == HTW_TICK_NONE)
		return;
	base->programmed_tick = HTW_TICK_NONE;
	base->counters.reprogrammed++;
	if (base_live(base))
		hrtimer_try_to_cancel(&base->timer);
}

/**
 * htw_base_program() - bring the hrtimer into line with the queue
 * @base: the base, its lock held and about to be released
 * @sooner: timers were added, so that the next expiry may be earlier than what the hrtimer waits
 *	for. Without it no deadline has become earlier, and an earlier next() only says that the
 *	queue would like to move timers (the wheel, after a re-arm to a later time), which can wait
 *
 * Stops it if the queue is empty, starts it if the next expiry is earlier than what it waits for. A
 * later next expiry is let be. While a pass is between two chunks it is left alone, since the pass
 * ends with this.
 *
 * Context: softirqs off.
 * Return: false if the base belongs to another CPU and needs an earlier wake-up than it has; then
 * the caller owes it a htw_base_kick().
 */
bool htw_base_program(struct htw_base *base, bool sooner)
{
	u64 next = base->queue->design->next(base->queue);

	lockdep_assert_held(&base->lock);
	if (base->running)
		return true;
	if (next == HTW_TICK_NONE) {
		base_switch_off(base);
		return true;
	}
	if (!sooner || next >= base->programmed_tick)
		return true;
	if (base_live(base) && base->cpu != smp_processor_id())
		return false;
	base_start(base, next, htw_tick_start(next, base->engine->config.tick_shift));
	return true;
}

static void base_kick_local(void *info)
{
	struct htw_base *base = info;

	hrtimer_start(&base->timer, ns_to_ktime(htw_engine_now_ns(base->engine)),
		      HRTIMER_MODE_ABS_PINNED_SOFT);
}

/**
 * htw_base_kick() - have a base on another CPU look at its queue
 * @base: the base
 *
 * For timers that came in from elsewhere. Runs a pass at once over there, which then programs the
 * hrtimer; the base's lock cannot be taken in the interrupt itself (on PREEMPT_RT it sleeps). An
 * arm on that CPU that sets the hrtimer to a later time in between has seen the new timers in the
 * queue, so nothing is lost. If that CPU has gone away in the meantime, it has handed its timers on
 * itself.
 *
 * Context: task, interrupts on, no lock of the engine held. Waits for the other CPU.
 */
void htw_base_kick(struct htw_base *base)
{
	if (base_live(base))
		smp_call_function_single(base->cpu, base_kick_local, base, 1);
}
EXPORT_SYMBOL_IF_KUNIT(htw_base_kick);

/**
 * htw_base_forward() - take a base's clock forward as far as that needs no work
 * @base: the base, its lock held
 * @now_ns: the present, or a moment before it
 *
 * So that what is added next is placed by today's clock, not by that of the last pass (FAULTS B02).
 *
 * Context: softirqs off.
 */
void htw_base_forward(struct htw_base *base, u64 now_ns)
{
	u64 now_tick = htw_tick_down(now_ns, base->engine->config.tick_shift);

	lockdep_assert_held(&base->lock);
	base->queue->design->advance(base->queue, now_tick, 0, NULL, &base->counters.work);
}

/**
 * htw_base_tick() - where in the queue a deadline belongs
 * @base: the base
 * @timer: the timer
 * @deadline_ns: its deadline, at most KTIME_MAX
 *
 * Context: any.
 * Return: the first tick of the deadline, or where its slack allows.
 */
u64 htw_base_tick(const struct htw_base *base, const struct htw_timer *timer, u64 deadline_ns)
{
	return htw_tick_slack(htw_tick_up(deadline_ns, base->engine->config.tick_shift),
			      timer->slack_ticks);
}

static void base_add(struct htw_base *base, struct htw_timer *timer, u64 deadline_ns, u64 tick)
{
	lockdep_assert_held(&base->lock);
	timer->deadline_ns = deadline_ns;
	timer->node.tick = tick;
	WRITE_ONCE(timer->cpu, base->cpu);
	/* Pairs with READ_ONCE() in pool_is_live() and htw_timer_is_queued(). */
	WRITE_ONCE(timer->state, HTW_QUEUED);
	base->queue->design->add(base->queue, &timer->node);
}

/**
 * htw_base_enqueue() - put a timer into the queue of a base
 * @base: the base, its lock held; online
 * @timer: a timer that is in no queue and in no list
 * @deadline_ns: its deadline, at most KTIME_MAX
 *
 * The hrtimer is brought into line when the lock is released.
 *
 * Context: softirqs off.
 */
void htw_base_enqueue(struct htw_base *base, struct htw_timer *timer, u64 deadline_ns)
{
	base_add(base, timer, deadline_ns, htw_base_tick(base, timer, deadline_ns));
}

/**
 * htw_base_requeue() - in expire(): a timer that came up is not done with
 * @pass: the pass
 * @timer: one of those that it found due, in no list any more
 * @deadline_ns: its deadline, at most KTIME_MAX. If that has passed, the timer is due at the next
 *	tick, so that it comes up once a tick at most
 *
 * A base that is going offline may get its timer back: whoever drains it comes for it.
 *
 * Context: the base's lock held.
 */
void htw_base_requeue(struct htw_pass *pass, struct htw_timer *timer, u64 deadline_ns)
{
	struct htw_base *base = pass->base;
	u64 now_tick = htw_tick_down(pass->now_ns, base->engine->config.tick_shift);

	base_add(base, timer, deadline_ns,
		 max(htw_base_tick(base, timer, deadline_ns), now_tick + 1));
}

static u64 base_work_done(const struct htw_base *base)
{
	return base->counters.work.due + base->counters.work.moves;
}

static void base_begin_pass(struct htw_base *base)
{
	lockdep_assert_held(&base->lock);
	base->running = true;
	base->programmed_tick = HTW_TICK_NONE;
	base->counters.passes++;
	if (!base->backlog_since_ns)
		base->counters.wakeups++;
}

/* @more: the budget did not suffice. */
static void base_end_pass(struct htw_base *base, u64 now_ns, bool more)
{
	lockdep_assert_held(&base->lock);
	base->running = false;
	if (!more) {
		base->backlog_since_ns = 0;
		htw_base_program(base, true);
		return;
	}
	base->counters.budget_stops++;
	if (!base->backlog_since_ns)
		base->backlog_since_ns = now_ns;
	/*
	 * One nanosecond after the present: later than the time by which the softirq that we are in
	 * picks its timers, even on a clock that has not moved, so that it ends before we are
	 * called again.
	 */
	base_start(base, base->queue->design->next(base->queue),
		   htw_engine_now_ns(base->engine) + 1);
}

/**
 * htw_base_pass_within() - one run of a base: hand over what is due now, within a budget
 * @base: the base
 * @budget: timers to hand over or to move at most
 *
 * Context: softirqs off, on the base's CPU; with a clock that is not live, on any. Passes of one
 * base exclude each other: only its hrtimer starts them (or, without a live clock, the one who
 * moves the time).
 * Return: true if due timers are left.
 */
bool htw_base_pass_within(struct htw_base *base, u64 budget)
{
	const struct htw_engine_config *config = &base->engine->config;
	struct htw_pass pass = { .base = base, .now_ns = htw_clock_now_ns(config->clock) };
	u64 now_tick = htw_tick_down(pass.now_ns, config->tick_shift);
	struct htw_queue *queue = base->queue;
	LIST_HEAD(due);
	unsigned int early = BASE_EARLY_CHUNKS;
	u64 chunk, used;
	bool more, stop;

	/* Who is woken may be closing at this moment; it is freed after a grace period. */
	rcu_read_lock();
	spin_lock(&base->lock);
	base_begin_pass(base);
	for (;;) {
		chunk = min_t(u64, budget, HTW_CHUNK_OPS);
		budget -= chunk;
		pass.nr_wake = 0;
		used = base_work_done(base);
		more = queue->design->advance(queue, now_tick, chunk, &due, &base->counters.work);
		used = base_work_done(base) - used;
		config->ops->expire(&pass, &due);
		stop = (!more && (used < chunk || !early--)) || !budget ||
		       htw_clock_now_ns(config->clock) - pass.now_ns >= config->budget_ns;
		if (stop)
			base_end_pass(base, pass.now_ns, more);
		spin_unlock(&base->lock);

		config->ops->settle(&pass);
		if (stop)
			break;
		spin_lock(&base->lock);
	}
	rcu_read_unlock();
	return more;
}

/**
 * htw_base_pass() - one run of a base, within the budget of its engine
 * @base: the base
 *
 * Context: as htw_base_pass_within().
 * Return: true if due timers are left.
 */
bool htw_base_pass(struct htw_base *base)
{
	return htw_base_pass_within(base, base->engine->config.budget_timers);
}
EXPORT_SYMBOL_IF_KUNIT(htw_base_pass);

static enum hrtimer_restart base_tick(struct hrtimer *timer)
{
	htw_base_pass(container_of(timer, struct htw_base, timer));
	/* The pass has started the hrtimer itself if there is something to wait for. */
	return HRTIMER_NORESTART;
}

/**
 * htw_base_init() - prepare a base; it is offline and empty
 * @base: zeroed memory
 * @engine: its engine, whose config is complete
 * @cpu: its CPU
 *
 * Context: task; may sleep.
 * Return: 0 or -ENOMEM.
 */
int htw_base_init(struct htw_base *base, struct htw_engine *engine, unsigned int cpu)
{
	const struct htw_engine_config *config = &engine->config;
	struct htw_queue_config queue = {
		.tick_bits	= 64 - config->tick_shift,
		.clock_tick	= htw_tick_down(htw_engine_now_ns(engine), config->tick_shift),
		.geometry	= config->geometry,
		.numa		= cpu_to_node(cpu),
	};

	spin_lock_init(&base->lock);
	base->engine = engine;
	base->cpu = cpu;
	base->programmed_tick = HTW_TICK_NONE;
	hrtimer_setup(&base->timer, base_tick, config->clock->hrtimer_clock,
		      HRTIMER_MODE_ABS_PINNED_SOFT);
	base->queue = config->design->create(&queue);
	return base->queue ? 0 : -ENOMEM;
}

/**
 * htw_base_online() - let a base take timers
 * @base: the base
 *
 * Context: task, when the CPU comes up, or when the engine is made.
 */
void htw_base_online(struct htw_base *base)
{
	spin_lock_bh(&base->lock);
	base->online = true;
	spin_unlock_bh(&base->lock);
}
EXPORT_SYMBOL_IF_KUNIT(htw_base_online);

/**
 * htw_base_drain() - move timers from a base whose CPU goes away to another one
 * @base: the base; takes no timers from the first call on
 * @to: where they go, an online base; may be NULL if @base is known to be empty
 * @max: how many at most
 *
 * Each timer is at any moment in one of the two queues for whoever looks with the lock held. The
 * two locks are nested here and nowhere else; CPUs go down one at a time, so no other drain can
 * nest them the other way round. @to's hrtimer learns of the timers by htw_base_kick(), which is
 * left to the caller.
 *
 * Context: task.
 * Return: how many were moved; 0 if none is left.
 */
u64 htw_base_drain(struct htw_base *base, struct htw_base *to, u64 max)
{
	struct htw_node *node, *tmp;
	LIST_HEAD(moved);
	u64 nr;

	spin_lock_bh(&base->lock);
	base->online = false;
	nr = base->queue->design->take(base->queue, to ? max : 0, &moved);
	if (nr) {
		spin_lock_nested(&to->lock, SINGLE_DEPTH_NESTING);
		htw_base_forward(to, htw_engine_now_ns(to->engine));
		list_for_each_entry_safe(node, tmp, &moved, link) {
			list_del(&node->link);
			WRITE_ONCE(container_of(node, struct htw_timer, node)->cpu, to->cpu);
			to->queue->design->add(to->queue, node);
		}
		spin_unlock(&to->lock);
	}
	spin_unlock_bh(&base->lock);
	return nr;
}
EXPORT_SYMBOL_IF_KUNIT(htw_base_drain);

/**
 * htw_base_busy() - does a base hold timers?
 * @base: the base
 *
 * Context: task.
 * Return: true if its queue is not empty at this moment.
 */
bool htw_base_busy(struct htw_base *base)
{
	bool busy;

	spin_lock_bh(&base->lock);
	busy = base->queue->nr;
	spin_unlock_bh(&base->lock);
	return busy;
}

/**
 * htw_base_stop() - stop the hrtimer of a drained base
 * @base: the base
 *
 * What the CPU leaves behind is what it began with: no hrtimer, no backlog (FAULTS B66, B67).
 *
 * Context: task; may wait for a pass.
 */
void htw_base_stop(struct htw_base *base)
{
	hrtimer_cancel(&base->timer);
	spin_lock_bh(&base->lock);
	WARN_ON_ONCE(base->queue->nr);
	base->programmed_tick = HTW_TICK_NONE;
	base->backlog_since_ns = 0;
	spin_unlock_bh(&base->lock);
}
