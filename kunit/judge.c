// SPDX-License-Identifier: GPL-2.0
/*
 * The judge: the rules of queue.h, and the text of a failure.
 *
 * Two rules are about a clock that may be ahead of the time given to advance(), because a time may
 * lie before an earlier one (FAULTS B65), and because a pass that stops for its budget may leave
 * the clock at the slot that it was emptying. Then only "never early" is asked of the call. What is
 * overdue by the time but not by the clock may come now or when the time has caught up with the
 * clock: the wheel does the latter, the heap, which has no use for its clock, the former.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "judge.h"
#include "rows.h"

/* Where, what was done, and what came out. */
#define RIG_FAILURE	"%s, %u bits from %llu, seed %llu, step %u, clock %llu, " \
			"%s(%llu, %llu): %s: expected %s%llu, got %llu"

static void rig_fail(struct htw_rig *rig, const char *what, u64 got, const char *relation,
		     u64 expected)
{
	struct htw_row row = { .design = rig->design, .geometry = rig->geometry };
	struct htw_test *test = rig->test;
	char name[HTW_ROW_NAME];

	if (test->failed)
		return;
	test->failed = true;
	htw_row_name(&row, name);
	snprintf(test->text, sizeof(test->text),
		 RIG_FAILURE, name, test->tick_bits, test->start_tick, test->seed,
		 rig->steps, rig->queue ? rig->queue->clock_tick : 0, rig->operation,
		 rig->argument[0], rig->argument[1], what, relation, expected, got);
}

/**
 * htw_rig_ok() - whether nothing has failed yet
 * @rig: the rig
 *
 * Context: any.
 * Return: whether operations still do something.
 */
bool htw_rig_ok(const struct htw_rig *rig)
{
	return !rig->test->failed;
}

/**
 * htw_rig_expect() - expect one value
 * @rig: the rig
 * @what: what is compared
 * @got: the value
 * @expected: what it should be
 *
 * Context: any.
 * Return: false if this or any expectation before has failed.
 */
bool htw_rig_expect(struct htw_rig *rig, const char *what, u64 got, u64 expected)
{
	if (got != expected)
		rig_fail(rig, what, got, "", expected);
	return htw_rig_ok(rig);
}

/**
 * htw_rig_expect_at_least() - expect a value that is not below another
 * @rig: the rig
 * @what: what is compared
 * @got: the value
 * @least: the least that it should be
 *
 * Context: any.
 * Return: false if this or any expectation before has failed.
 */
bool htw_rig_expect_at_least(struct htw_rig *rig, const char *what, u64 got, u64 least)
{
	if (got < least)
		rig_fail(rig, what, got, "at least ", least);
	return htw_rig_ok(rig);
}

/**
 * htw_rig_expect_at_most() - expect a value that is not above another
 * @rig: the rig
 * @what: what is compared
 * @got: the value
 * @most: the most that it should be
 *
 * Context: any.
 * Return: false if this or any expectation before has failed.
 */
bool htw_rig_expect_at_most(struct htw_rig *rig, const char *what, u64 got, u64 most)
{
	if (got > most)
		rig_fail(rig, what, got, "at most ", most);
	return htw_rig_ok(rig);
}

/**
 * htw_rig_expect_fired() - expect that a timer is no longer queued, and when it was handed out
 * @rig: the rig
 * @index: the timer
 * @tick: the time; a design that is not exact may be late by its granule, and is given the time
 *
 * Context: as the caller's.
 * Return: false if this or any expectation before has failed.
 */
bool htw_rig_expect_fired(struct htw_rig *rig, u32 index, u64 tick)
{
	const struct htw_oracle_entry *entry = &rig->oracle.entry[index];

	if (rig->design->granule) {
		if (htw_rig_is_live(rig, index))
			htw_rig_follow(rig, entry->last_tick);
		tick = clamp(rig->timer[index].fired_tick, tick, max(tick, entry->last_tick));
	}
	rig->argument[0] = index;
	rig->argument[1] = rig->timer[index].node.tick;
	htw_rig_expect(rig, "the timer is queued", htw_rig_is_live(rig, index), false);
	return htw_rig_expect(rig, "time of the hand-out", rig->timer[index].fired_tick, tick);
}

/* Only a design without slots can, and then must, name the earliest tick itself. */
static void judge_next(struct htw_rig *rig, const struct htw_oracle_view *view)
{
	u64 next = rig->design->next(rig->queue);

	if (!rig->oracle.nr) {
		htw_rig_expect(rig, "next() of an empty queue", next, HTW_TICK_NONE);
		return;
	}
	htw_rig_expect_at_most(rig, "next() of a queue that is not empty", next, HTW_TICK_MAX);
	if (!view)
		return;
	if (!(rig->design->flags & HTW_DESIGN_PRECISE))
		htw_rig_expect_at_most(rig, "next(), against the earliest tick or the clock", next,
				       max(view->earliest_tick, rig->queue->clock_tick));
	else
		htw_rig_expect(rig, "next(), which is exact", next, view->earliest_tick);
}

/**
 * htw_judge_state() - judge what holds after each operation
 * @rig: the rig
 * @now_tick: the time
 * @complete: whether nothing may be left that is due at this time
 *
 * Context: as the caller's.
 */
void htw_judge_state(struct htw_rig *rig, u64 now_tick, bool complete)
{
	struct htw_oracle_view view;
	bool look = rig->steps % rig->look_every == 0;
	bool check = rig->steps % rig->check_every == 0;

	if (look)
		view = htw_oracle_look(&rig->oracle, now_tick);
	htw_rig_expect(rig, "number of nodes", rig->queue->nr, rig->oracle.nr);
	judge_next(rig, look ? &view : NULL);
	if (look && complete)
		htw_rig_expect(rig, "timers left that are due", view.due, 0);
	if (check)
		htw_rig_expect(rig, "line of the fault that check() found",
			       rig->design->check(rig->queue), 0);
	htw_rig_expect(rig, "clock, which only advance() moves", rig->queue->clock_tick,
		       rig->clock_tick);
}

/**
 * htw_judge_order() - judge that a timer is handed out after those that precede it
 * @rig: the rig
 * @entry: the timer
 * @same_call: whether the last one was handed out by the same call
 *
 * A timer that was handed out by an earlier call can only be compared with one that was in the
 * queue at that time, which is one that arrived before it.
 *
 * Context: any.
 */
void htw_judge_order(struct htw_rig *rig, const struct htw_oracle_entry *entry, bool same_call)
{
	const struct htw_oracle_entry *last = &rig->last;
	bool older = last->live && entry->order < last->order;

	if (rig->design->granule)
		return;

	if (same_call || older)
		htw_rig_expect_at_least(rig, "order of hand-outs", entry->key, last->key);
	if (older && entry->tick == last->tick && (rig->design->flags & HTW_DESIGN_FIFO))
		rig_fail(rig, "arrival among equal ticks", entry->order, "at least ", last->order);
}

/**
 * htw_judge_advance() - judge an advance() call
 * @rig: the rig
 * @now_tick: the time that it was given
 * @budget: the budget that it was given
 * @more: its answer
 * @work: what it did
 * @clock_tick: where the clock was before
 *
 * Context: as the caller's.
 */
void htw_judge_advance(struct htw_rig *rig, u64 now_tick, u64 budget, bool more,
		       const struct htw_work *work, u64 clock_tick)
{
	u64 slots = htw_rig_slots(rig);
	u64 next = rig->design->next(rig->queue);
	u64 units = work->due + work->moves;

	htw_rig_expect_at_least(rig, "clock after advance()", rig->clock_tick, clock_tick);
	htw_rig_expect_at_most(rig, "clock after advance()", rig->clock_tick,
			       max(clock_tick, now_tick));
	htw_rig_expect_at_most(rig, "units of work", units, budget);
	htw_rig_expect_at_most(rig, "slots looked at", work->slots, 2 * units + slots);
	if (work->due)
		htw_rig_expect_at_least(rig, "slots looked at", work->slots, 1);
	if (more) {
		htw_rig_expect(rig, "units of work if some is left", units, budget);
		htw_rig_expect_at_most(rig, "next() if work is left", next, now_tick);
		return;
	}
	htw_rig_expect_at_least(rig, "clock after a finished pass", rig->clock_tick, now_tick);
	if (now_tick >= clock_tick)
		htw_rig_expect_at_least(rig, "next() after a finished pass", next, now_tick + 1);
}
