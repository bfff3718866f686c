// SPDX-License-Identifier: GPL-2.0
/*
 * Cases: passes that stop for their budget and go on, and clocks that do not go as expected.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "cases.h"
#include "random.h"

/* Add each of the first @nr timers that is not queued. */
static void rearm_handed_out(struct htw_rig *rig, u32 nr, u64 tick)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (!htw_rig_is_live(rig, i))
			htw_rig_add(rig, i, tick);
	}
}

static void expect_all_fired_in_time(struct htw_rig *rig, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		htw_rig_expect_fired(rig, i, rig->timer[i].node.tick);
}

/* Whole turns of wheels of any size, and of this shape. */
static u64 turn_distance(const struct htw_rig *rig, u32 nr)
{
	static const u64 distances[] = {
		1, 63, 64, 65, 255, 256, 257, 511, 512, 513, 4095, 4096, 4097,
	};

	if (nr < ARRAY_SIZE(distances))
		return distances[nr];
	return max(rig->geometry.radix[0], 2U) + nr - ARRAY_SIZE(distances) - 1;
}

/*
 * While the slot of tick t is being emptied, its timers come back by whole turns of wheels: not in
 * this pass.
 */
static void b06_rearm_while_draining(struct htw_rig *rig)
{
	u64 tick, late, due, distance;
	unsigned int i, calls;
	bool more;
	u32 timer;

	for (i = 0; i < 8 * 16; i++) {
		distance = turn_distance(rig, i / 8);
		tick = rig->now_tick + 1 + i;
		for (timer = 0; timer < rig->nr_timers; timer++)
			htw_rig_add(rig, timer, tick);
		due = rig->work.due;
		late = htw_rig_late(rig, tick);
		calls = 0;
		do {
			more = htw_rig_advance(rig, late, 1);
			rearm_handed_out(rig, rig->nr_timers, late + distance);
		} while (more && htw_rig_expect_at_most(rig, "calls", ++calls, 100));
		htw_rig_expect(rig, "hand-outs in the pass", rig->work.due - due, rig->nr_timers);
		htw_rig_follow(rig, htw_rig_late(rig, late + distance));
		expect_all_fired_in_time(rig, rig->nr_timers);
	}
}

/*
 * One advance brings all that came due meanwhile; with a budget, further ones at the same time do.
 */
static void b09_a_thousand_due_at_once(struct htw_rig *rig)
{
	u64 base = rig->now_tick;
	u64 calls, units, late;
	u32 i;

	rig->check_every = 50;
	for (i = 0; i < rig->nr_timers; i++)
		htw_rig_add(rig, i, base + 1 + i);
	late = htw_rig_late(rig, base + rig->nr_timers);
	htw_rig_run(rig, late);
	for (i = 0; i < rig->nr_timers; i++)
		htw_rig_expect_fired(rig, i, late);

	base = rig->now_tick;
	rig->work = (struct htw_work){};
	for (i = 0; i < rig->nr_timers; i++)
		htw_rig_add(rig, i, base + 1 + i);
	late = htw_rig_late(rig, base + rig->nr_timers);
	for (calls = 1; htw_rig_advance(rig, late, 7); calls++)
		;
	htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
	/* Each call but the last used all of its budget. */
	units = rig->work.due + rig->work.moves;
	htw_rig_expect_at_least(rig, "units of work", units, 7 * (calls - 1));
	htw_rig_expect_at_most(rig, "units of work", units, 7 * calls);
}

/* Steps longer than a turn of a level miss nothing. */
static void b15_steps_against_the_oracle(struct htw_rig *rig)
{
	static const u64 steps[] = {
		63, 64, 65, 127, 128, 4095, 4096, 4097, BIT_ULL(24), BIT_ULL(24) + 1,
	};
	u64 random = rig->test->seed;
	u32 timer, nr = htw_rig_many(rig);
	unsigned int i, turn;

	rig->check_every = 2000;
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		rig->look_every = 1000;
		for (timer = 0; timer < nr; timer++)
			htw_rig_arm(rig, timer, htw_random_below(&random, steps[i] * 20));
		rig->look_every = 1;
		for (turn = 0; turn < 20; turn++)
			htw_rig_run(rig, rig->now_tick + steps[i]);
		htw_rig_run(rig, htw_rig_late(rig, rig->now_tick));
		htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
	}
}

/*
 * "Now" seen smaller than before: the clock stays, nothing is early, and nothing is lost when time
 * goes on.
 */
static void b65_time_goes_backwards(struct htw_rig *rig)
{
	static const u64 backwards[] = { 1, 5, 64, 4097, 7000 };
	u64 base = rig->now_tick;
	unsigned int i;
	u32 timer;

	for (i = 0; i < ARRAY_SIZE(backwards); i++) {
		base += 10000;
		htw_rig_run(rig, base);
		for (timer = 0; timer < 4; timer++)
			htw_rig_add(rig, timer, base + BIT_ULL(4 * timer));
		htw_rig_run(rig, base - backwards[i]);
		htw_rig_advance(rig, base - backwards[i], 0);
		htw_rig_expect(rig, "clock", rig->clock_tick, base);
		/* Armed by one who saw the smaller time too: overdue by the clock. */
		for (timer = 4; timer < 8; timer++)
			htw_rig_add(rig, timer, base - backwards[i] + timer - 4);
		htw_rig_advance(rig, base - backwards[i], 2);
		htw_rig_follow(rig, htw_rig_late(rig, base + 2));
		for (timer = 4; timer < 8; timer++)
			htw_rig_expect(rig, "an overdue timer is queued",
				       htw_rig_is_live(rig, timer), false);
		htw_rig_follow(rig, base + 9000);
		expect_all_fired_in_time(rig, 4);
		htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
	}
}

/*
 * Each event answered by a timer of no delay: passes end, it fires in the next one, the others keep
 * their time.
 */
static void b71_answer_with_zero_delay(struct htw_rig *rig)
{
	u64 base = rig->now_tick;
	u32 pass;

	htw_rig_arm(rig, 0, 0);
	htw_rig_arm(rig, 1, 5);
	for (pass = 0; pass < 500; pass++) {
		htw_rig_run(rig, base + pass / 10);
		htw_rig_expect(rig, "hand-outs, one a pass", rig->timer[0].fired, pass + 1);
		if (!rig->design->granule)
			htw_rig_expect(rig, "hand-outs at 5 ticks", rig->timer[1].fired, pass / 50);
		htw_rig_arm(rig, 0, 0);
		if (!htw_rig_is_live(rig, 1))
			htw_rig_arm(rig, 1, 5);
	}
}

static void budget_zero_hands_out_nothing(struct htw_rig *rig)
{
	u64 base = (rig->now_tick | 4095) + 1;

	htw_rig_run(rig, base);
	htw_rig_add(rig, 0, base);
	htw_rig_expect(rig, "work is left", htw_rig_advance(rig, base, 0), true);
	htw_rig_run(rig, base);
	if (rig->design->granule)
		return;
	htw_rig_add(rig, 1, base + 70);
	htw_rig_add(rig, 2, base + 5000);
	htw_rig_follow(rig, base + 65);
	htw_rig_expect(rig, "work is left", htw_rig_advance(rig, base + 69, 0), false);
	htw_rig_expect(rig, "clock", rig->clock_tick, base + 69);
	htw_rig_expect(rig, "work is left", htw_rig_advance(rig, base + 70, 0), true);
	htw_rig_expect(rig, "work is left", htw_rig_advance(rig, base + 6000, 0), true);
	htw_rig_expect(rig, "hand-outs", rig->work.due, 1);
	htw_rig_run(rig, base + 6000);
	htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
}

/* Timers all around @boundary, three of each. */
static void add_around(struct htw_rig *rig, u64 boundary)
{
	static const u64 offsets[] = { 0, 1, 63, 64, 64, 65, 127, 128 };
	u32 i;

	for (i = 0; i < rig->nr_timers; i++)
		htw_rig_add(rig, i, boundary - 64 + offsets[i % ARRAY_SIZE(offsets)]);
}

/* A pass of small budgets, at one time or at times that go on, over a slot's start. */
static void resume_at(struct htw_rig *rig, u64 boundary, u64 budget, u64 step)
{
	u64 now = boundary - step;

	add_around(rig, boundary);
	while (htw_rig_advance(rig, now, budget))
		now += step;
	htw_rig_follow(rig, htw_rig_late(rig, boundary + 64));
	htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
}

/* For the starts of slots of each level of this shape. */
static void resume_at_own_boundaries(struct htw_rig *rig)
{
	unsigned int i;
	u64 unit;
	u32 level;

	for (level = 0; level <= rig->geometry.levels; level++) {
		unit = htw_rig_unit(rig, level);
		if (!unit || unit > BIT_ULL(37))
			break;
		for (i = 0; i < 6; i++)
			resume_at(rig, htw_rig_boundary(rig, unit) + 64 * unit, 1 + i % 3, i / 3);
	}
}

/* For the starts of slots of each level. */
static void resume_at_slot_boundaries(struct htw_rig *rig)
{
	unsigned int shift, i;
	u64 boundary;

	for (shift = 6; shift <= 36; shift += 6) {
		for (i = 0; i < 6; i++) {
			boundary = ((rig->now_tick + 64) | (BIT_ULL(shift) - 1)) + 1;
			resume_at(rig, boundary, 1 + i % 3, i / 3);
		}
	}
}

/* Timers in the first two thirds of a slot of level 2, or of two, whose start is given back. */
static u64 add_spread(struct htw_rig *rig, u32 nr, u64 spread)
{
	u64 start = ((rig->now_tick >> 12) + 3) << 12;
	u32 i;

	for (i = 0; i < nr; i++)
		htw_rig_add(rig, i, start + i * spread);
	return start;
}

/*
 * Run @body for passes that have stopped, at each of @nr timers. The pass comes to the start of the
 * timers' slot, or to a time when they can be moved but need not yet, and uses a budget that is too
 * small; so some of them have been handed out, some moved, and some wait on the way.
 */
static void with_stopped_passes(struct htw_rig *rig, u32 nr,
				void (*body)(struct htw_rig *rig, u32 timer, u64 start))
{
	static const u64 spreads[] = { 0, 1, 3, 70, 600, 1000 };
	unsigned int i, budget;
	u64 start, ahead;
	u32 timer;

	for (i = 0; i < 2 * ARRAY_SIZE(spreads) * nr; i++) {
		timer = i % nr;
		ahead = i / nr % 2 ? 4000 : 0;
		for (budget = 1; budget <= nr; budget++) {
			start = add_spread(rig, nr, spreads[i / nr / 2]);
			htw_rig_advance(rig, start - ahead, budget);
			body(rig, timer, start);
			htw_rig_follow(rig, start + 8192);
			htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
		}
	}
}

static void cancel_one(struct htw_rig *rig, u32 timer, u64 start)
{
	u32 i;

	if (htw_rig_is_live(rig, timer)) {
		htw_rig_place(rig, timer);
		htw_rig_del(rig, timer);
	}
	htw_rig_follow(rig, start + 8192);
	for (i = 0; i < rig->nr_timers; i++) {
		if (i != timer)
			htw_rig_expect_fired(rig, i, rig->timer[i].node.tick);
	}
}

static void cancel_all(struct htw_rig *rig, u32 timer, u64 start)
{
	u32 i;

	for (i = 0; i < rig->nr_timers; i++) {
		if (htw_rig_is_live(rig, (timer + i) % rig->nr_timers))
			htw_rig_del(rig, (timer + i) % rig->nr_timers);
	}
	htw_rig_expect(rig, "next() after the last cancel", htw_rig_next(rig), HTW_TICK_NONE);
}

/*
 * A timer that a pass has taken out of its slot and not yet put elsewhere can be cancelled like any
 * other.
 */
static void cancel_in_a_stopped_pass(struct htw_rig *rig)
{
	with_stopped_passes(rig, rig->nr_timers, cancel_one);
	with_stopped_passes(rig, rig->nr_timers, cancel_all);
}

static void take_some(struct htw_rig *rig, u32 timer, u64 start)
{
	htw_rig_take(rig, timer);
	htw_rig_expect(rig, "timers taken of none", htw_rig_take(rig, 0), 0);
	if (timer % 2)
		htw_rig_take(rig, U64_MAX);
}

/* The CPU goes away in the middle of a pass. */
static void take_from_a_stopped_pass(struct htw_rig *rig)
{
	with_stopped_passes(rig, rig->nr_timers, take_some);
}

static void add_others(struct htw_rig *rig, u32 timer, u64 start)
{
	static const u64 distances[] = { 0, 1, 63, 64, 65, 4096 };
	u32 i;

	/* Overdue, at the clock's own tick, in the slot that is being emptied, behind it. */
	htw_rig_add(rig, 6, start - 4096);
	htw_rig_add(rig, 7, start - 1);
	for (i = 8; i < rig->nr_timers; i++)
		htw_rig_add(rig, i, start + distances[(timer + i) % ARRAY_SIZE(distances)]);
	/* And a queued one elsewhere, from wherever it waits. */
	htw_rig_add(rig, timer, start + distances[timer]);
	/* A time before all that does not hide them. */
	htw_rig_advance(rig, start - 4097, 0);
	htw_rig_advance(rig, start - 4097, 1);
	htw_rig_advance(rig, start, 1);
	htw_rig_run(rig, start);
	htw_rig_expect_fired(rig, 6, start);
	htw_rig_expect_fired(rig, 7, start);
	htw_rig_follow(rig, start + 8192);
	for (i = 8; i < rig->nr_timers; i++)
		htw_rig_expect_fired(rig, i, rig->timer[i].node.tick);
}

static void add_in_a_stopped_pass(struct htw_rig *rig)
{
	with_stopped_passes(rig, 6, add_others);
}

/* A timer moves at most once for each level above the lowest, alone or in company. */
static void moves_once_a_level(struct htw_rig *rig)
{
	/* Others look at far timers before they can be moved, or at those of other rounds. */
	bool bounded = htw_rig_never_moves(rig) || htw_rig_is(rig, "wheel");
	unsigned int shift;
	u64 random = 1;
	u64 most, tick;
	u32 i;

	for (shift = 0; shift <= 40; shift++) {
		rig->work = (struct htw_work){};
		tick = rig->now_tick + BIT_ULL(shift) + (BIT_ULL(shift) >> 2) + 1;
		htw_rig_add(rig, 0, tick);
		most = rig->geometry.levels ? htw_rig_place(rig, 0).level : 0;
		htw_rig_follow(rig, htw_rig_late(rig, tick));
		htw_rig_expect_fired(rig, 0, tick);
		if (bounded)
			htw_rig_expect_at_most(rig, "moves of one timer", rig->work.moves, most);
	}
	rig->work = (struct htw_work){};
	most = 0;
	for (i = 0; i < rig->nr_timers; i++) {
		htw_rig_arm(rig, i, htw_random_length(&random, 40));
		most += rig->geometry.levels ? htw_rig_place(rig, i).level : 0;
	}
	htw_rig_follow(rig, htw_rig_late(rig, rig->now_tick + BIT_ULL(40)));
	expect_all_fired_in_time(rig, rig->nr_timers);
	if (bounded)
		htw_rig_expect_at_most(rig, "moves of many timers", rig->work.moves, most);
}

const struct htw_case htw_cases_pass[] = {
	HTW_CASE(b06_rearm_while_draining, 4),
	HTW_CASE(b09_a_thousand_due_at_once, 1000),
	HTW_CASE(b15_steps_against_the_oracle, 10000),
	HTW_CASE(b65_time_goes_backwards, 8),
	HTW_CASE(b71_answer_with_zero_delay, 2),
	HTW_CASE(budget_zero_hands_out_nothing, 3),
	HTW_CASE(resume_at_slot_boundaries, 24),
	HTW_CASE(resume_at_own_boundaries, 24),
	HTW_CASE(cancel_in_a_stopped_pass, 6),
	HTW_CASE(take_from_a_stopped_pass, 6),
	HTW_CASE(add_in_a_stopped_pass, 12),
	HTW_CASE(moves_once_a_level, 64),
	{}
};
