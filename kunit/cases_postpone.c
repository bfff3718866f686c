// SPDX-License-Identifier: GPL-2.0
/*
 * Cases: timers that are postponed where they lie, so that their places are older than their ticks.
 * Designs that cannot do that delete them and add them again, and have to come to the same.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "cases.h"
#include "random.h"

/* Within a slot, to the next one, over one level and over several. */
static const u64 distances[] = {
	0, 1, 2, 63, 64, 65, 127, 128, 4095, 4097, BIT_ULL(18), BIT_ULL(24)
};

static u64 postpone_tick(const struct htw_rig *rig, u32 index, u64 distance)
{
	u64 tick = rig->timer[index].node.tick;

	return tick + min(distance, rig->tick_max - tick);
}

/* From each distance by each distance: at the new tick, and not before. */
static void postponed_to_any_level(struct htw_rig *rig)
{
	unsigned int from, by;

	for (from = 0; from < ARRAY_SIZE(distances); from++) {
		for (by = 0; by < ARRAY_SIZE(distances); by++) {
			htw_rig_arm(rig, 0, distances[from]);
			/* A neighbour, which stays. */
			htw_rig_arm(rig, 1, distances[from]);
			htw_rig_postpone(rig, 0, postpone_tick(rig, 0, distances[by]));
			htw_rig_end(rig, rig->timer[0].node.tick);
			htw_rig_expect_fired(rig, 1, rig->timer[1].node.tick);
			htw_rig_expect_fired(rig, 0, rig->timer[0].node.tick);
		}
	}
}

/* Wherever its tick is now, a deleted one leaves nothing behind. */
static void postponed_and_deleted(struct htw_rig *rig)
{
	unsigned int from, by;

	for (from = 0; from < ARRAY_SIZE(distances); from++) {
		for (by = 0; by < ARRAY_SIZE(distances); by++) {
			htw_rig_arm(rig, 0, distances[from]);
			htw_rig_arm(rig, 1, distances[from]);
			htw_rig_postpone(rig, 0, postpone_tick(rig, 0, distances[by]));
			htw_rig_del(rig, 0);
			htw_rig_postpone(rig, 1, postpone_tick(rig, 1, distances[by]));
			htw_rig_del(rig, 1);
			htw_rig_expect(rig, "next()", htw_rig_next(rig), HTW_TICK_NONE);
			htw_rig_run(rig, rig->now_tick + 100);
		}
	}
	htw_rig_expect(rig, "hand-outs", rig->work.due, 0);
}

/* The only timer: next() may be early, and the pass that it leads to finds a later one. */
static void postponed_alone(struct htw_rig *rig)
{
	u64 next, late;

	htw_rig_arm(rig, 0, 5);
	htw_rig_postpone(rig, 0, postpone_tick(rig, 0, 5000));
	late = htw_rig_late(rig, rig->timer[0].node.tick);
	while (htw_rig_ok(rig) && htw_rig_is_live(rig, 0)) {
		next = htw_rig_next(rig);
		if (!htw_rig_expect_at_least(rig, "next()", next, rig->now_tick + 1) ||
		    !htw_rig_expect_at_most(rig, "next()", next, late))
			break;
		htw_rig_run(rig, next);
	}
	htw_rig_expect_fired(rig, 0, rig->timer[0].node.tick);
	htw_rig_expect(rig, "next()", htw_rig_next(rig), HTW_TICK_NONE);
}

/* An idle timeout: put off again and again, it is not visited for each time, and comes at last. */
static void postponed_again_and_again(struct htw_rig *rig)
{
	const u64 timeout = 10000, step = 7;
	unsigned int beat;

	htw_rig_arm(rig, 0, timeout);
	for (beat = 0; beat < 4 * timeout / step; beat++) {
		htw_rig_run(rig, rig->now_tick + step);
		htw_rig_postpone(rig, 0, max(rig->timer[0].node.tick, rig->now_tick + timeout));
	}
	htw_rig_expect(rig, "hand-outs", rig->work.due, 0);
	/* Through three levels in the time of one timeout. */
	if (htw_rig_is(rig, "wheel"))
		htw_rig_expect_at_most(rig, "moves", rig->work.moves, 4 * 4);
	htw_rig_end(rig, rig->timer[0].node.tick);
	htw_rig_expect_fired(rig, 0, rig->timer[0].node.tick);
}

/* All of one slot to one tick, or each to its own, in passes of every budget. */
static void postponed_crowd(struct htw_rig *rig)
{
	static const u64 budgets[] = { HTW_BUDGET_NONE, 1, 7, 64 };
	u64 tick, late, due, random = 3;
	u32 i, turn, nr = htw_rig_many(rig);

	rig->look_every = 100;
	rig->check_every = 100;
	for (turn = 0; turn < 8; turn++) {
		tick = rig->now_tick + 300;
		for (i = 0; i < nr; i++)
			htw_rig_add(rig, i, tick);
		tick += 500;
		for (i = 0; i < nr; i++)
			htw_rig_postpone(rig, i, turn < 4 ? tick :
							tick - htw_random_below(&random, 500));
		due = rig->work.due;
		if (turn < 4)
			htw_rig_run(rig, tick - 1);
		htw_rig_expect(rig, "hand-outs before the time", rig->work.due, due);
		late = htw_rig_late(rig, tick);
		while (htw_rig_advance(rig, late, budgets[turn % 4]))
			;
		htw_rig_end(rig, late);
		htw_rig_expect(rig, "hand-outs", rig->work.due - due, nr);
	}
}

/*
 * In the midst of a pass with a budget of 1, at one time: those that have not come yet are put off,
 * to this time still, or to a later one.
 */
static void postponed_inside_a_pass(struct htw_rig *rig)
{
	u64 random = 5, now, tick;
	u32 i, turn, calls;
	bool more;

	for (turn = 0; turn < 16; turn++) {
		for (i = 0; i < rig->nr_timers; i++)
			htw_rig_arm(rig, i, 1 + htw_random_below(&random, turn < 8 ? 3 : 9000));
		now = htw_rig_late(rig, rig->now_tick + (turn < 8 ? 3 : 9000));
		calls = 0;
		do {
			more = htw_rig_advance(rig, now, 1);
			i = htw_random_below(&random, rig->nr_timers);
			if (!htw_rig_is_live(rig, i) || calls >= 200)
				continue;
			tick = rig->timer[i].node.tick;
			htw_rig_postpone(rig, i, calls % 2 ? max(tick, now) :
							     max(tick, now + calls));
		} while (more && htw_rig_expect_at_most(rig, "calls", calls++, 2000));
		htw_rig_end(rig, now + 200);
		htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
	}
}

/* What is overdue may be put off too, before and behind the clock; and to the last tick of all. */
static void postponed_at_the_ends(struct htw_rig *rig)
{
	htw_rig_run(rig, rig->now_tick + 1000);
	htw_rig_add(rig, 0, rig->now_tick - 900);
	htw_rig_add(rig, 1, rig->now_tick - 900);
	htw_rig_add(rig, 2, rig->now_tick - 900);
	htw_rig_postpone(rig, 0, rig->now_tick - 10);
	htw_rig_postpone(rig, 1, rig->now_tick + 10);
	htw_rig_postpone(rig, 2, rig->tick_max);
	htw_rig_run(rig, rig->now_tick);
	htw_rig_expect_fired(rig, 0, rig->now_tick);
	htw_rig_end(rig, rig->now_tick + 10);
	htw_rig_expect_fired(rig, 1, rig->timer[1].node.tick);
	htw_rig_expect(rig, "the last one waits", htw_rig_is_live(rig, 2), true);
	htw_rig_run(rig, rig->tick_max);
	htw_rig_expect_fired(rig, 2, rig->tick_max);
}

const struct htw_case htw_cases_postpone[] = {
	HTW_CASE(postponed_to_any_level, 2),
	HTW_CASE(postponed_and_deleted, 2),
	HTW_CASE(postponed_alone, 1),
	HTW_CASE(postponed_again_and_again, 1),
	HTW_CASE(postponed_crowd, 1000),
	HTW_CASE(postponed_inside_a_pass, 20),
	HTW_CASE(postponed_at_the_ends, 3),
	{}
};
