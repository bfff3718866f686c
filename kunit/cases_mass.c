// SPDX-License-Identifier: GPL-2.0
/*
 * Cases: crowds. Many timers in one slot, in one tick, or cancelled.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "cases.h"
#include "random.h"

/* A full slot of a high level comes down in pieces. */
static void b76_full_slot_obeys_the_budget(struct htw_rig *rig)
{
	u64 start = ((rig->now_tick >> 12) + 2) << 12;
	u32 i, nr = htw_rig_many(rig);
	u64 random = 76;
	u64 calls = 0;
	u64 now;

	rig->look_every = 1000;
	rig->check_every = 5000;
	htw_rig_run(rig, start - 4096);
	for (i = 0; i < nr; i++)
		htw_rig_add(rig, i, start + htw_random_below(&random, 4096));
	rig->look_every = 1;
	rig->check_every = 100;
	for (now = start; now <= start + 4096; now += 64) {
		do {
			calls++;
		} while (htw_rig_advance(rig, now, 1000));
	}
	htw_rig_end(rig, now);
	htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
	/* Others may have their reasons to look at a node more often. */
	if (!htw_rig_never_moves(rig) && !htw_rig_is(rig, "wheel") && !htw_rig_is(rig, "hier"))
		return;
	/* From level 2 to 1 to 0. */
	htw_rig_expect_at_most(rig, "moves", rig->work.moves, 2 * rig->nr_timers);
	htw_rig_expect_at_most(rig, "calls", calls, 3 * rig->nr_timers / 1000 + 65);
}

/*
 * The moves of a full slot are done before its time, a few in each pass, so that nobody waits for
 * them.
 */
static void b76_nobody_waits_for_moves(struct htw_rig *rig)
{
	u64 start = ((rig->now_tick >> 12) + 3) << 12;
	u64 random = 76;
	u64 now;
	u32 i;

	/* A promise of this design. */
	if (!htw_rig_is(rig, "wheel"))
		return;
	rig->look_every = 1000;
	rig->check_every = 1000;
	for (i = 0; i < rig->nr_timers; i++)
		htw_rig_add(rig, i, start + htw_random_below(&random, 4096));
	/*
	 * 5 due at each tick, 20,000 in the slot; passes when next() says so, as the engine's are.
	 */
	now = start - 4096;
	while (htw_rig_ok(rig) && rig->oracle.nr) {
		htw_rig_expect(rig, "work is left", htw_rig_advance(rig, now, 100), false);
		now = htw_rig_next(rig);
	}
	htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
}

/* A full slot of level 3 on its way does not delay the moves of level 1, needed sooner. */
static void b76_soonest_moves_first(struct htw_rig *rig)
{
	u64 start = ((rig->now_tick >> 18) + 3) << 18;
	u64 reach = start - BIT_ULL(18);
	u64 random = 76;
	u64 now;
	u32 i;

	if (!htw_rig_is(rig, "wheel"))
		return;
	rig->look_every = 1000;
	rig->check_every = 1000;
	htw_rig_run(rig, reach - 8192);
	/* One due at each tick, 64 in a slot of level 1; and 16,000 come into reach meanwhile. */
	for (i = 0; i < rig->nr_timers; i++)
		htw_rig_add(rig, i, i < 4000 ? reach + htw_random_below(&random, 4096) :
					       start + htw_random_below(&random, 1 << 18));
	now = rig->now_tick;
	while (htw_rig_ok(rig) && now < reach + 4096) {
		htw_rig_expect(rig, "work is left", htw_rig_advance(rig, now, 40), false);
		now = htw_rig_next(rig);
	}
	htw_rig_expect(rig, "hand-outs", rig->work.due, 4000);
}

/* Delete every third timer that is queued, beginning with @first. */
static void delete_scattered(struct htw_rig *rig, u32 first)
{
	u32 i;

	for (i = first; i < rig->nr_timers; i += 3) {
		if (htw_rig_is_live(rig, i))
			htw_rig_del(rig, i);
	}
}

/*
 * Ten thousand in one tick, scattered ones deleted before the pass and in the midst of it: each of
 * the others comes once, in passes of this budget.
 */
static void storm(struct htw_rig *rig, u64 budget)
{
	u64 tick = rig->now_tick + 77, due = rig->work.due, gone;
	u32 i, calls = 0;

	for (i = 0; i < rig->nr_timers; i++)
		htw_rig_add(rig, i, tick);
	delete_scattered(rig, 0);
	tick = htw_rig_late(rig, tick);
	while (htw_rig_advance(rig, tick, budget) && calls++ * budget < rig->nr_timers / 3)
		;
	gone = rig->work.due - due + rig->oracle.nr;
	htw_rig_expect(rig, "timers that are left or came", gone,
		       rig->nr_timers - (rig->nr_timers + 2) / 3);
	delete_scattered(rig, 1);
	gone = rig->work.due - due + rig->oracle.nr;
	while (htw_rig_advance(rig, tick, budget))
		;
	htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
	htw_rig_expect(rig, "hand-outs", rig->work.due - due, gone);
}

static void storm_in_one_tick(struct htw_rig *rig)
{
	rig->look_every = 2500;
	rig->check_every = 5000;
	storm(rig, HTW_BUDGET_NONE);
	storm(rig, 1);
	storm(rig, 2);
	storm(rig, 3);
	storm(rig, 64);
}

/*
 * Between two calls of one pass, at one time: one that waits is deleted, one that was handed out
 * comes back for now, one for later. Those for now are of this pass.
 */
static void changes_inside_a_pass(struct htw_rig *rig)
{
	u64 random = 1, now, budget;
	u32 i, turn, calls;
	bool more;

	for (turn = 0; turn < 24; turn++) {
		for (i = 0; i < rig->nr_timers; i++)
			htw_rig_arm(rig, i, 1 + htw_random_below(&random, turn < 12 ? 3 : 200));
		now = htw_rig_late(rig, rig->now_tick + 200);
		budget = 1 + turn % 3;
		calls = 0;
		do {
			more = htw_rig_advance(rig, now, budget);
			i = htw_random_below(&random, rig->nr_timers);
			if (!more || calls >= 2 * rig->nr_timers)
				continue;
			if (htw_rig_is_live(rig, i) && calls % 4 == 0)
				htw_rig_del(rig, i);
			else if (calls % 4 == 1)
				htw_rig_add(rig, i, now);
			else if (calls % 4 == 2)
				htw_rig_add(rig, i, now - htw_random_below(&random, 200));
			else
				htw_rig_add(rig, i, now + 1 + htw_random_below(&random, 70));
		} while (more && htw_rig_expect_at_most(rig, "calls", calls++, 1000));
		htw_rig_end(rig, now + 70);
		htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
	}
}

/*
 * A crowd that is armed for an hour and cancelled leaves nothing: the structure is sound, and the
 * places of those that stay are as near as their number allows, all the way down. A heap that
 * deletes lazily may keep a constant number of the dead beyond that of the living.
 */
static void b86_cancelled_ones_go(struct htw_rig *rig)
{
	const u32 nr = rig->nr_timers, hour = 6866455;
	u64 base = rig->now_tick;
	u32 i, index;

	/* It takes its time, and the clock does not matter. */
	if (!rig->test->once)
		return;
	rig->look_every = U32_MAX;
	rig->check_every = nr / 4;
	for (i = 0; i < nr; i++)
		htw_rig_add(rig, i, base + hour + i / 64);
	for (i = 0; i < nr; i++) {
		index = (u64)i * 7919 % nr;
		/* The last ones each. */
		if (i == nr - 300)
			rig->check_every = 1;
		if (i % 1000 == 0 || rig->check_every == 1)
			htw_rig_place(rig, nr - 1);
		/* Two witnesses stay. */
		if (index != nr / 2 && index != nr - 1)
			htw_rig_del(rig, index);
	}
	rig->look_every = 1;
	htw_rig_expect(rig, "timers left", rig->oracle.nr, 2);
	htw_rig_end(rig, base + hour + nr);
	htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
	htw_rig_expect(rig, "hand-outs", rig->work.due, 2);
}

const struct htw_case htw_cases_mass[] = {
	HTW_CASE(b76_full_slot_obeys_the_budget, 20000),
	HTW_CASE(b76_nobody_waits_for_moves, 20000),
	HTW_CASE(b76_soonest_moves_first, 20000),
	HTW_CASE(storm_in_one_tick, 10000),
	HTW_CASE(changes_inside_a_pass, 40),
	HTW_CASE(b86_cancelled_ones_go, 100000),
	{}
};
