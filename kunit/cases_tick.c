// SPDX-License-Identifier: GPL-2.0
/*
 * Cases: a timer leaves at its tick, neither before nor after, whatever the digits of the tick and
 * the clock. That it is never early and never left behind is the rig's to see; so most cases arm,
 * go on, and look at the time of the hand-out.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "cases.h"
#include "random.h"

/*
 * After a long idle a timer of one tick takes one tick, through each way that leads into the queue.
 */
static void b02_one_tick_after_a_long_idle(struct htw_rig *rig)
{
	static const u64 idles[] = { 1000000, BIT_ULL(31), BIT_ULL(36) };
	enum { FORWARDED, STALE, MODIFIED };
	unsigned int i, timer;
	u64 now, moves;

	for (i = 0; i < ARRAY_SIZE(idles); i++) {
		/*
		 * The engine forwards the clock of an idle queue, so the timer never has to move.
		 */
		now = rig->now_tick + idles[i];
		htw_rig_advance(rig, now, 0);
		htw_rig_expect(rig, "clock of an empty queue", rig->clock_tick, now);
		moves = rig->work.moves;
		htw_rig_add(rig, FORWARDED, now + 1);
		htw_rig_run(rig, now + 1);
		htw_rig_expect_fired(rig, FORWARDED, now + 1);
		if (htw_rig_never_moves(rig) || htw_rig_is(rig, "wheel"))
			htw_rig_expect(rig, "moves", rig->work.moves, moves);

		/*
		 * And if the clock is that of the last pass, because something far is queued or
		 * nobody did.
		 */
		now = rig->now_tick + idles[i];
		htw_rig_add(rig, MODIFIED, now + idles[i]);
		htw_rig_add(rig, STALE, now + 1);
		htw_rig_advance(rig, now, 0);
		htw_rig_add(rig, MODIFIED, now + 1);
		htw_rig_add(rig, FORWARDED, now + 1);
		htw_rig_follow(rig, now + 2);
		for (timer = 0; timer < rig->nr_timers; timer++)
			htw_rig_expect_fired(rig, timer, now + 1);
	}
}

static void b04_distances_around_level_ends(struct htw_rig *rig)
{
	static const u64 distances[] = {
		1, 62, 63, 64, 65, 503, 504, 505, 4031, 4032, 4033, 4095, 4096, 4097, 32255, 32256,
	};
	unsigned int i, phase;
	u64 base;

	for (phase = 0; phase < 64; phase++) {
		base = rig->now_tick;
		for (i = 0; i < ARRAY_SIZE(distances); i++)
			htw_rig_add(rig, i, base + distances[i]);
		/* 32257 is 1 beyond a multiple of 64: the next phase. */
		htw_rig_follow(rig, base + 32257);
		for (i = 0; i < ARRAY_SIZE(distances); i++)
			htw_rig_expect_fired(rig, i, base + distances[i]);
	}
}

/* A deadline inside a tick belongs to the tick that ends after it. */
static void b08_deadline_inside_a_tick(struct htw_rig *rig)
{
	u64 base = rig->now_tick;
	u32 poll_ms;

	/* Ticks of 10 ms, deadline 12 ms. */
	htw_rig_add(rig, 0, base + DIV_ROUND_UP(12, 10));
	htw_rig_run(rig, base + 10 / 10);
	htw_rig_expect(rig, "queued at 10 ms", htw_rig_is_live(rig, 0), true);
	htw_rig_run(rig, base + 20 / 10);
	htw_rig_expect_fired(rig, 0, base + 20 / 10);

	/*
	 * Ticks of 2 s, a look every 1.8 s, deadline 11 s: seen at 12.6 s, the first look after 12
	 * s.
	 */
	base = rig->now_tick;
	htw_rig_add(rig, 1, base + DIV_ROUND_UP(11000, 2000));
	for (poll_ms = 1800; poll_ms < 12600; poll_ms += 1800) {
		htw_rig_run(rig, base + poll_ms / 2000);
		htw_rig_expect(rig, "queued before 12.6 s", htw_rig_is_live(rig, 1), true);
	}
	htw_rig_run(rig, base + poll_ms / 2000);
	htw_rig_expect_fired(rig, 1, base + 6);
}

/* Beyond the reach of one level, of several, of the whole wheel. */
static void b10_longer_than_the_wheel(struct htw_rig *rig)
{
	u64 slots = rig->geometry.levels ? rig->geometry.radix[0] : 64;
	u64 base = rig->now_tick;
	u64 reach = slots, last = slots;
	u32 level = 0, nr = 0;
	u32 i;

	/* The last reaches 2^44, as far as the smallest queue of the suite does. */
	while (reach < rig->tick_max >> 3 && reach < BIT_ULL(41) && nr + 4 <= rig->nr_timers) {
		htw_rig_add(rig, nr++, base + reach - 1);
		htw_rig_add(rig, nr++, base + reach);
		htw_rig_add(rig, nr++, base + reach + 1);
		htw_rig_add(rig, nr++, base + reach * 10);
		last = reach * 10;
		/* Each level has a radix of its own; beyond the last, go on with the first. */
		level++;
		reach *= level < rig->geometry.levels ? rig->geometry.radix[level] : slots;
	}
	htw_rig_follow(rig, base + max(last, reach));
	for (i = 0; i < nr; i++)
		htw_rig_expect_fired(rig, i, rig->timer[i].node.tick);
}

/*
 * The report: index 200 of 512, 600 ticks, came after 88. Here at each index, with other distances
 * too.
 */
static void b11_every_phase_of_512(struct htw_rig *rig)
{
	u32 phase, i;
	u64 base;

	rig->check_every = 64;
	for (phase = 0; phase < 512; phase++) {
		base = rig->now_tick;
		htw_rig_add(rig, 0, base + 600);
		for (i = 1; i < rig->nr_timers; i++)
			htw_rig_add(rig, i, base + 1 + (phase * 131 + i * 127) % 2000);
		htw_rig_follow(rig, base + 2049);
		for (i = 0; i < rig->nr_timers; i++)
			htw_rig_expect_fired(rig, i, rig->timer[i].node.tick);
	}
}

/* The same with the slots of this shape. */
static void from_own_multiples(struct htw_rig *rig, u64 unit, u64 turn)
{
	u64 base = htw_rig_boundary(rig, turn);

	htw_rig_run(rig, base);
	htw_rig_add(rig, 0, base + unit);
	htw_rig_add(rig, 1, base + turn);
	htw_rig_run(rig, base + unit - 1);
	htw_rig_expect(rig, "queued a tick before", htw_rig_is_live(rig, 0), true);
	htw_rig_run(rig, base + unit);
	htw_rig_expect_fired(rig, 0, base + unit);
	htw_rig_run(rig, max(base + turn, rig->now_tick));
	htw_rig_expect_fired(rig, 1, max(base + turn, rig->now_tick));
}

static void b12_from_multiples_of_slots(struct htw_rig *rig)
{
	static const u64 multiples[] = { 64, 4096, 64 * 4096 };
	unsigned int i;
	u64 base;
	u32 level;

	for (level = 0; level < rig->geometry.levels; level++) {
		base = htw_rig_unit(rig, level + 1);
		if (base && base < BIT_ULL(40))
			from_own_multiples(rig, htw_rig_unit(rig, level), base);
	}

	for (i = 0; i < 5 * ARRAY_SIZE(multiples); i++) {
		base = (rig->now_tick | (multiples[i / 5] - 1)) + 1;
		htw_rig_run(rig, base);
		htw_rig_add(rig, 0, base + 64);
		htw_rig_add(rig, 1, base + 4096);
		if (i % 2) {
			htw_rig_run(rig, base + 63);
			htw_rig_expect(rig, "queued after 63 ticks", htw_rig_is_live(rig, 0), true);
		}
		htw_rig_run(rig, base + 64);
		htw_rig_expect_fired(rig, 0, base + 64);
		htw_rig_run(rig, base + 4096);
		htw_rig_expect_fired(rig, 1, base + 4096);
	}
}

/* Each re-arm from the hand-out of the last one: 100 ticks stay 100 ticks. */
static void b13_chain_of_a_million_ticks(struct htw_rig *rig)
{
	u64 base = rig->now_tick;
	u32 turn;

	rig->check_every = 64;
	for (turn = 1; turn <= 10000 && htw_rig_ok(rig); turn++) {
		htw_rig_arm(rig, 0, 100);
		htw_rig_follow(rig, base + turn * 100);
		htw_rig_expect_fired(rig, 0, base + turn * 100);
		if (turn == 12)
			htw_rig_expect(rig, "events in 1230 ticks", rig->timer[0].fired, 12);
	}
}

/* Three timers around a distance: nothing now, and those that are not too far at their time. */
static void arm_around(struct htw_rig *rig, u64 distance)
{
	u64 base = rig->now_tick;
	u32 i;

	for (i = 0; i < 3; i++)
		htw_rig_add(rig, i, base + distance - 1 + i);
	htw_rig_run(rig, base);
	htw_rig_expect(rig, "timers queued", rig->oracle.nr, 3);
	if (distance <= BIT_ULL(24))
		htw_rig_follow(rig, base + distance + 1);
	else
		htw_rig_take(rig, 3);
}

/* The reaches of this shape, the last slot of each level, and where the kernel's wheel cuts. */
static void arm_around_own(struct htw_rig *rig)
{
	u64 unit, turn;
	u32 level;

	for (level = 0; level < rig->geometry.levels; level++) {
		unit = htw_rig_unit(rig, level);
		turn = unit * rig->geometry.radix[level];
		if (!unit || unit > BIT_ULL(40) || turn > BIT_ULL(40))
			break;
		arm_around(rig, max(turn, 2ULL));
		arm_around(rig, max(turn - unit, 2ULL));
		arm_around(rig, max(rig->design->windows * turn, 2ULL));
	}
}

/* What is as far away as a level reaches must not alias with now. */
static void b16_reach_of_each_level(struct htw_rig *rig)
{
	unsigned int phase, shift;

	for (phase = 0; phase < 70; phase++) {
		for (shift = 6; shift < 61; shift += 6) {
			if (BIT_ULL(shift) < rig->tick_max - rig->now_tick)
				arm_around(rig, BIT_ULL(shift));
		}
		arm_around_own(rig);
		htw_rig_run(rig, rig->now_tick + 1);
	}
}

/*
 * Armed, modified to, or armed again after the hand-out at exactly now: the next pass, and only
 * once.
 */
static void b17_exactly_now(struct htw_rig *rig)
{
	unsigned int i;
	u64 now;

	for (i = 0; i < 130; i++) {
		now = rig->now_tick;
		htw_rig_add(rig, 0, now);
		htw_rig_arm(rig, 1, 5000);
		htw_rig_add(rig, 1, now);
		htw_rig_add(rig, 2, now);
		htw_rig_add(rig, 2, now);
		htw_rig_expect_at_most(rig, "next()", htw_rig_next(rig), now);
		htw_rig_run(rig, now);
		htw_rig_expect_fired(rig, 0, now);
		htw_rig_expect_fired(rig, 1, now);
		htw_rig_expect_fired(rig, 2, now);
		htw_rig_add(rig, 2, now);
		htw_rig_run(rig, now);
		htw_rig_expect(rig, "hand-outs, two a turn", rig->timer[2].fired, 2 * (i + 1));
		htw_rig_run(rig, now + 1);
	}
}

/* "Never" is not now, not in 3 s, not in 10 years of ticks of 2^19 ns. */
static void b51_never(struct htw_rig *rig)
{
	u64 base = rig->now_tick;

	htw_rig_add(rig, 0, rig->tick_max);
	htw_rig_add(rig, 1, rig->tick_max - 1);
	htw_rig_add(rig, 2, min(rig->tick_max, BIT_ULL(63) - 1));
	htw_rig_expect_at_least(rig, "next()", htw_rig_next(rig), base + 1);
	htw_rig_run(rig, base);
	htw_rig_follow(rig, base + 5723);
	htw_rig_follow(rig, base + 601500000000ULL);
	htw_rig_expect(rig, "timers queued", rig->oracle.nr, 3);
	htw_rig_del(rig, 0);
	htw_rig_del(rig, 1);
	htw_rig_del(rig, 2);
}

/* The starts lie just before a wrap: the same distances give the same results there as anywhere. */
static void b53_across_the_start(struct htw_rig *rig)
{
	u64 base = rig->now_tick;
	u64 random = 53;
	u32 i;

	for (i = 0; i < rig->nr_timers; i++)
		htw_rig_arm(rig, i, i < 100 ? i / 4 : htw_random_length(&random, 41));
	htw_rig_follow(rig, base + BIT_ULL(41));
	for (i = 0; i < rig->nr_timers; i++)
		htw_rig_expect_fired(rig, i, rig->timer[i].node.tick);
}

/*
 * A deadline is rounded up to a tick, the time down. Ticks of 1 ms, all times in us: never early,
 * less than a tick late, and not late at all if armed at the start of a tick.
 */
static void b61_phases_of_a_tick(struct htw_rig *rig)
{
	static const u32 phases[] = { 0, 300, 700, 999 };
	static const u32 distances[] = { 1000, 1200, 20000 };
	u32 phase, distance, now;
	u64 base, tick, late;
	unsigned int i;

	rig->check_every = 512;
	for (i = 0; i < ARRAY_SIZE(phases) * ARRAY_SIZE(distances); i++) {
		base = rig->now_tick;
		phase = phases[i % ARRAY_SIZE(phases)];
		distance = distances[i / ARRAY_SIZE(phases)];
		tick = base + DIV_ROUND_UP(phase + distance, 1000);
		htw_rig_add(rig, 0, tick);
		late = htw_rig_late(rig, tick) - tick;
		for (now = phase; htw_rig_ok(rig) && htw_rig_is_live(rig, 0); now++)
			htw_rig_run(rig, base + now / 1000);
		now--;
		htw_rig_expect_at_least(rig, "us from arm to hand-out", now - phase, distance);
		htw_rig_expect_at_most(rig, "us from arm to hand-out", now - phase, distance + 999 +
				       1000 * late);
		if (!phase && !late)
			htw_rig_expect(rig, "us at phase 0", now,
				       DIV_ROUND_UP(distance, 1000) * 1000);
	}
}

/* The end of time: nothing wraps, and what is overdue there is handed out there. */
static void last_tick_of_all(struct htw_rig *rig)
{
	u64 last = rig->tick_max;

	/* Through all the levels there are; without cascades, the way would be too long. */
	htw_rig_add(rig, 0, last);
	if (!rig->design->granule)
		htw_rig_follow(rig, last);
	htw_rig_run(rig, last);
	htw_rig_expect_fired(rig, 0, last);
	if (htw_rig_never_moves(rig) || htw_rig_is(rig, "wheel"))
		htw_rig_expect_at_most(rig, "moves", rig->work.moves, rig->geometry.levels);

	htw_rig_restart(rig, rig->test->tick_bits, last - 70);
	htw_rig_add(rig, 0, last);
	htw_rig_add(rig, 1, last - 1);
	htw_rig_add(rig, 2, last - 63);
	htw_rig_add(rig, 3, last - 71);
	htw_rig_follow(rig, last - 1);
	if (!rig->design->granule) {
		htw_rig_expect_fired(rig, 1, last - 1);
		htw_rig_expect(rig, "the last one is queued", htw_rig_is_live(rig, 0), true);
	}
	htw_rig_run(rig, last);
	htw_rig_expect_fired(rig, 0, last);

	htw_rig_add(rig, 0, 0);
	htw_rig_add(rig, 1, last);
	htw_rig_run(rig, max(last, rig->now_tick));
	htw_rig_expect_fired(rig, 0, last);
	htw_rig_expect_fired(rig, 1, last);
}

const struct htw_case htw_cases_tick[] = {
	HTW_CASE(b02_one_tick_after_a_long_idle, 3),
	HTW_CASE(b04_distances_around_level_ends, 16),
	HTW_CASE(b08_deadline_inside_a_tick, 2),
	HTW_CASE(b10_longer_than_the_wheel, 40),
	HTW_CASE(b11_every_phase_of_512, 16),
	HTW_CASE(b12_from_multiples_of_slots, 2),
	HTW_CASE(b13_chain_of_a_million_ticks, 1),
	HTW_CASE(b16_reach_of_each_level, 3),
	HTW_CASE(b17_exactly_now, 4),
	HTW_CASE(b51_never, 3),
	HTW_CASE(b53_across_the_start, 200),
	HTW_CASE(b61_phases_of_a_tick, 1),
	HTW_CASE(last_tick_of_all, 4),
	{}
};
