// SPDX-License-Identifier: GPL-2.0
/*
 * The test rig: operations on a queue, judged by the contract and by the oracle.
 */
#include <linux/errno.h>
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "judge.h"

/* How often a long test lets others run. */
#define RIG_BREATH_STEPS	1024

/*
 * The contract lets next() be early, and a timer moves once for each level. But a queue with which
 * the engine's timer would fire again and again for nothing is broken. So many passes without a
 * hand-out are allowed for each of the timers and one more.
 */
#define RIG_IDLE_PASSES		16

/**
 * htw_rig_is_live() - whether a timer is queued
 * @rig: the rig
 * @index: the timer
 *
 * Context: any.
 * Return: what the oracle says.
 */
bool htw_rig_is_live(const struct htw_rig *rig, u32 index)
{
	return rig->oracle.entry[index].live;
}

/* Begin an operation, unless the test has failed. */
static bool rig_begin(struct htw_rig *rig, const char *operation, u64 first, u64 second)
{
	if (!htw_rig_ok(rig))
		return false;
	rig->operation = operation;
	rig->argument[0] = first;
	rig->argument[1] = second;
	if (++rig->steps % RIG_BREATH_STEPS == 0)
		cond_resched();
	return true;
}

/**
 * htw_rig_add() - add a timer, or re-add it elsewhere if it is queued
 * @rig: the rig
 * @index: the timer
 * @tick: its tick
 *
 * Context: as the caller's.
 */
void htw_rig_add(struct htw_rig *rig, u32 index, u64 tick)
{
	struct htw_node *node = &rig->timer[index].node;
	u64 before;
	bool earlier;

	if (htw_rig_is_live(rig, index))
		htw_rig_del(rig, index);
	if (!rig_begin(rig, "add", index, tick))
		return;
	before = rig->design->next(rig->queue);
	node->tick = tick;
	earlier = rig->design->add(rig->queue, node);
	htw_oracle_add(&rig->oracle, index, tick, htw_rig_granule(rig, tick),
		       rig->queue->clock_tick);
	htw_rig_expect(rig, "add() says that next() is earlier now", earlier,
		       rig->design->next(rig->queue) < before);
	htw_judge_state(rig, 0, false);
}

/**
 * htw_rig_arm() - add a timer at a distance from the time of the last advance
 * @rig: the rig
 * @index: the timer
 * @distance: the distance; what lies beyond the last tick becomes the last tick
 *
 * Context: as the caller's.
 */
void htw_rig_arm(struct htw_rig *rig, u32 index, u64 distance)
{
	htw_rig_add(rig, index, rig->now_tick + min(distance, rig->tick_max - rig->now_tick));
}

/**
 * htw_rig_del() - delete a timer
 * @rig: the rig
 * @index: the timer, which must be queued
 *
 * Context: as the caller's.
 */
void htw_rig_del(struct htw_rig *rig, u32 index)
{
	if (!rig_begin(rig, "del", index, rig->timer[index].node.tick))
		return;
	if (rig->design->fetch)
		rig->design->fetch(&rig->timer[index].node);
	rig->design->del(rig->queue, &rig->timer[index].node);
	htw_oracle_del(&rig->oracle, index);
	htw_judge_state(rig, 0, false);
}

/**
 * htw_rig_postpone() - give a timer a later tick where it lies
 * @rig: the rig
 * @index: the timer, which must be queued
 * @tick: the new tick, not before the one that it has
 *
 * With a design that cannot do that, delete it and add it again.
 *
 * Context: as the caller's.
 */
void htw_rig_postpone(struct htw_rig *rig, u32 index, u64 tick)
{
	struct htw_node *node = &rig->timer[index].node;
	u64 before;

	if (!rig->design->postpone) {
		htw_rig_add(rig, index, tick);
		return;
	}
	if (!rig_begin(rig, "postpone", index, tick))
		return;
	/* A case that asks for this has a fault itself. */
	if (!htw_rig_expect_at_least(rig, "tick to postpone to", tick, node->tick))
		return;
	before = rig->design->next(rig->queue);
	rig->design->postpone(rig->queue, node, tick);
	htw_oracle_del(&rig->oracle, index);
	htw_oracle_add(&rig->oracle, index, tick, htw_rig_granule(rig, tick),
		       rig->queue->clock_tick);
	htw_rig_expect(rig, "tick after postpone()", node->tick, tick);
	htw_rig_expect(rig, "next() after postpone()", rig->design->next(rig->queue), before);
	htw_judge_state(rig, 0, false);
}

/* Judge the timers that were handed out, and say how many they are. */
static u64 rig_receive(struct htw_rig *rig, u64 now_tick, struct list_head *due)
{
	struct htw_oracle_entry *entry;
	struct htw_rig_timer *timer, *tmp;
	u64 nr = 0;
	u32 index;

	list_for_each_entry_safe(timer, tmp, due, node.link) {
		index = timer - rig->timer;
		entry = &rig->oracle.entry[index];
		if (!htw_rig_expect(rig, "what is handed out is queued", entry->live, true))
			break;
		htw_rig_expect_at_most(rig, "tick of what is handed out", entry->tick, now_tick);
		htw_judge_order(rig, entry, nr);
		rig->last = *entry;
		htw_oracle_del(&rig->oracle, index);
		timer->fired++;
		timer->fired_tick = now_tick;
		nr++;
	}
	return nr;
}

/**
 * htw_rig_advance() - one advance() call
 * @rig: the rig
 * @now_tick: the time
 * @budget: the budget
 *
 * Context: as the caller's.
 * Return: whether work is left; false after a failure.
 */
bool htw_rig_advance(struct htw_rig *rig, u64 now_tick, u64 budget)
{
	u64 clock_tick = rig->clock_tick;
	struct htw_work work = {};
	LIST_HEAD(due);
	u64 received;
	bool more;

	if (!rig_begin(rig, "advance", now_tick, budget))
		return false;
	/* A case that asks for more has a fault itself; a design may do anything then. */
	if (!htw_rig_expect_at_most(rig, "time of an advance", now_tick, HTW_TICK_MAX))
		return false;
	more = rig->design->advance(rig->queue, now_tick, budget, budget ? &due : NULL, &work);
	rig->clock_tick = rig->queue->clock_tick;
	rig->now_tick = max(rig->now_tick, now_tick);
	rig->work.due += work.due;
	rig->work.moves += work.moves;
	rig->work.slots += work.slots;
	received = rig_receive(rig, now_tick, &due);
	htw_rig_expect(rig, "nodes on the list, against the count", received, work.due);
	htw_judge_advance(rig, now_tick, budget, more, &work, clock_tick);
	htw_judge_state(rig, now_tick, !more && now_tick >= clock_tick);
	return more && htw_rig_ok(rig);
}

/**
 * htw_rig_run() - advance with no limit
 * @rig: the rig
 * @now_tick: the time
 *
 * Context: as the caller's.
 */
void htw_rig_run(struct htw_rig *rig, u64 now_tick)
{
	htw_rig_advance(rig, now_tick, HTW_BUDGET_NONE);
}

/**
 * htw_rig_follow() - advance from one next() to the next, as the engine's timer would
 * @rig: the rig
 * @until_tick: the time to come to in the end
 *
 * Context: as the caller's.
 */
void htw_rig_follow(struct htw_rig *rig, u64 until_tick)
{
	/* One that is not exact may look at far timers again and again. */
	u64 passes = rig->design->granule ? BIT_ULL(12) : RIG_IDLE_PASSES;
	u64 most = passes * ((u64)rig->nr_timers + 1);
	u64 idle = 0;
	u64 due;

	while (htw_rig_ok(rig) && htw_rig_next(rig) < until_tick) {
		due = rig->work.due;
		htw_rig_run(rig, max(htw_rig_next(rig), rig->now_tick));
		idle = rig->work.due == due ? idle + 1 : 0;
		htw_rig_expect_at_most(rig, "passes in a row with no hand-out", idle, most);
	}
	htw_rig_run(rig, until_tick);
}

/**
 * htw_rig_end() - advance until all that is due at a time has been handed out
 * @rig: the rig
 * @tick: the time; of a design that is not exact, the passes go on until they have to be there
 *
 * Context: as the caller's.
 */
void htw_rig_end(struct htw_rig *rig, u64 tick)
{
	htw_rig_follow(rig, htw_rig_late(rig, tick));
}

/**
 * htw_rig_take() - take timers out, whatever their ticks
 * @rig: the rig
 * @max: at most so many
 *
 * Context: as the caller's.
 * Return: how many.
 */
u64 htw_rig_take(struct htw_rig *rig, u64 max)
{
	u64 before = rig->oracle.nr;
	struct htw_rig_timer *timer, *tmp;
	u64 taken, nr = 0;
	LIST_HEAD(out);
	u32 index;

	if (!rig_begin(rig, "take", max, before))
		return 0;
	taken = rig->design->take(rig->queue, max, &out);
	list_for_each_entry_safe(timer, tmp, &out, node.link) {
		index = timer - rig->timer;
		if (!htw_rig_expect(rig, "what is taken is queued", rig->oracle.entry[index].live,
				    true))
			break;
		htw_oracle_del(&rig->oracle, index);
		nr++;
	}
	htw_rig_expect(rig, "timers taken", taken, min(max, before));
	htw_rig_expect(rig, "length of the list of taken timers", nr, taken);
	htw_judge_state(rig, 0, false);
	return taken;
}

/**
 * htw_rig_next() - the tick to advance to
 * @rig: the rig
 *
 * Context: as the caller's.
 * Return: what the queue says; HTW_TICK_NONE after a failure.
 */
u64 htw_rig_next(struct htw_rig *rig)
{
	return htw_rig_ok(rig) ? rig->design->next(rig->queue) : HTW_TICK_NONE;
}

/**
 * htw_rig_place() - where a timer sits; checks that this is inside the queue
 * @rig: the rig
 * @index: the timer, which must be queued
 *
 * Context: as the caller's.
 * Return: what the queue says; zeros after a failure.
 */
struct htw_place htw_rig_place(struct htw_rig *rig, u32 index)
{
	u32 levels = rig->geometry.levels;
	/* One that deletes lazily has entries of the dead. */
	u64 slots = rig->design->flags & HTW_DESIGN_PRECISE ? rig->oracle.nr :
							      2 * rig->oracle.nr + 64;
	struct htw_place place = {};

	if (!rig_begin(rig, "place", index, rig->timer[index].node.tick))
		return place;
	place = rig->design->place(rig->queue, &rig->timer[index].node);
	if (levels && htw_rig_expect_at_most(rig, "level", place.level, levels - 1))
		slots = rig->design->windows * rig->geometry.radix[place.level];
	htw_rig_expect_at_most(rig, "slot", place.slot, slots - 1);
	return place;
}

static void rig_create_queue(struct htw_rig *rig, unsigned int tick_bits, u64 clock_tick)
{
	struct htw_queue_config config = {
		.tick_bits	= tick_bits,
		.clock_tick	= clock_tick,
		.geometry	= rig->wanted,
		.numa		= NUMA_NO_NODE,
	};

	rig->tick_max = min(U64_MAX >> (64 - tick_bits), HTW_TICK_MAX);
	rig->now_tick = clock_tick;
	rig->clock_tick = clock_tick;
	rig->last = (struct htw_oracle_entry){};
	rig->queue = rig->design->create(&config);
	if (!htw_rig_expect(rig, "create() has memory", !!rig->queue, true))
		return;
	rig->geometry = rig->queue->geometry;
	if (rig->design->reserve)
		htw_rig_expect(rig, "reserve()",
			       rig->design->reserve(rig->queue, rig->nr_timers), 0);
	htw_rig_expect(rig, "the queue's design", rig->queue->design == rig->design, true);
	htw_judge_state(rig, 0, false);
}

/* Empty the queue and free it. After a failure it cannot be trusted, so it stays behind. */
static void rig_destroy_queue(struct htw_rig *rig)
{
	htw_rig_take(rig, U64_MAX);
	htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
	if (htw_rig_ok(rig))
		rig->design->destroy(rig->queue);
	rig->queue = NULL;
}

/**
 * htw_rig_restart() - begin again with an empty queue
 * @rig: the rig
 * @tick_bits: bits of a tick
 * @clock_tick: the new queue's clock
 *
 * Context: task, may sleep.
 */
void htw_rig_restart(struct htw_rig *rig, unsigned int tick_bits, u64 clock_tick)
{
	rig_destroy_queue(rig);
	if (rig_begin(rig, "create", tick_bits, clock_tick))
		rig_create_queue(rig, tick_bits, clock_tick);
}

/**
 * htw_rig_open() - make a rig, with its queue at the test's start
 * @test: the test
 * @design: the design
 * @nr_timers: how many timers it has
 *
 * Context: task, may sleep.
 * Return: the rig, or NULL without memory, which fails the test.
 */
struct htw_rig *htw_rig_open(struct htw_test *test, const struct htw_design *design, u32 nr_timers)
{
	struct htw_rig *rig = kzalloc(sizeof(*rig), GFP_KERNEL);

	if (!rig)
		goto err_memory;
	rig->timer = kvcalloc(nr_timers, sizeof(*rig->timer), GFP_KERNEL);
	if (!rig->timer || htw_oracle_init(&rig->oracle, nr_timers))
		goto err_memory;
	rig->test = test;
	rig->design = design;
	/* Some have two rigs. */
	rig->wanted = design == test->design ? test->geometry : htw_design_default(design);
	rig->nr_timers = nr_timers;
	rig->look_every = 1;
	rig->check_every = 1;
	rig->operation = "create";
	rig_create_queue(rig, test->tick_bits, test->start_tick);
	return rig;

err_memory:
	test->failed = true;
	snprintf(test->text, sizeof(test->text), "%s: no memory for %u timers", design->name,
		 nr_timers);
	if (rig)
		kvfree(rig->timer);
	kfree(rig);
	return NULL;
}

/**
 * htw_rig_close() - free a rig
 * @rig: the rig
 *
 * Context: task, may sleep.
 */
void htw_rig_close(struct htw_rig *rig)
{
	rig_destroy_queue(rig);
	rig->test->steps += rig->steps;
	htw_oracle_exit(&rig->oracle);
	kvfree(rig->timer);
	kfree(rig);
}
