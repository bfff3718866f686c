// SPDX-License-Identifier: GPL-2.0
/*
 * Cases: order of arrival, places, memory, and what the table of designs promises.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "cases.h"
#include "random.h"

/*
 * A test build starts the counters just below a wrap (HTW_COUNTER_START), so the arrivals of this
 * case lie on both sides of it. That equal ticks come in the order of arrival, if the design says
 * so, is judged at each hand-out.
 */
static void b40_arrivals_across_the_wrap(struct htw_rig *rig)
{
	u64 base = rig->now_tick, late;
	u32 i;

	for (i = 0; i < rig->nr_timers; i++)
		htw_rig_add(rig, i, base + 10);
	late = htw_rig_late(rig, base + 10);
	while (htw_rig_advance(rig, late, 1))
		;
	htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
	for (i = 0; i < rig->nr_timers; i++)
		htw_rig_expect_fired(rig, i, base + 10);
}

/* Re-adding takes out and puts in: one entry, one event, however often. */
static void b85_readd_is_never_two(struct htw_rig *rig)
{
	u64 base = rig->now_tick;
	u64 random = 85;
	u32 i;

	for (i = 0; i < 1000; i++)
		htw_rig_add(rig, i % rig->nr_timers, base + 1 + htw_random_below(&random, 5000));
	htw_rig_follow(rig, base + 5001);
	for (i = 0; i < rig->nr_timers; i++) {
		htw_rig_expect(rig, "hand-outs", rig->timer[i].fired, 1);
		htw_rig_expect_fired(rig, i, rig->timer[i].node.tick);
	}
}

/*
 * A thousand on one tick, some cancelled, some re-added: by arrival if the design says so, all in
 * any case.
 */
static void b87_equal_ticks(struct htw_rig *rig)
{
	u64 tick = rig->now_tick + 5000;
	u32 i;

	rig->check_every = 100;
	for (i = 0; i < rig->nr_timers; i++)
		htw_rig_add(rig, i, tick);
	for (i = 0; i < rig->nr_timers; i += 3)
		htw_rig_del(rig, i);
	for (i = 0; i < rig->nr_timers; i += 5)
		htw_rig_add(rig, i, tick);
	tick = htw_rig_late(rig, tick);
	htw_rig_advance(rig, tick, 100);
	htw_rig_run(rig, tick);
	for (i = 0; i < rig->nr_timers; i++)
		htw_rig_expect(rig, "hand-outs", rig->timer[i].fired, i % 3 || !(i % 5));
}

/* One step of a short sequence. */
static void short_step(struct htw_rig *rig, u32 code)
{
	switch (code) {
	case 0:
		htw_rig_arm(rig, 0, 1);
		break;
	case 1:
	case 2:
		htw_rig_arm(rig, code - 1, 64);
		break;
	case 3:
		htw_rig_arm(rig, 1, 4097);
		break;
	case 4:
		htw_rig_add(rig, 2, max(rig->now_tick, 1ULL) - 1);
		break;
	case 5:
	case 6:
		if (htw_rig_is_live(rig, code - 5))
			htw_rig_del(rig, code - 5);
		break;
	case 7:
		htw_rig_run(rig, rig->now_tick + 1);
		break;
	case 8:
		htw_rig_advance(rig, rig->now_tick + 64, 1);
		break;
	case 9:
		htw_rig_run(rig, rig->now_tick + 64);
		break;
	case 10:
		htw_rig_advance(rig, rig->now_tick + 4096, 2);
		break;
	default:
		htw_rig_take(rig, 1);
	}
}

#define SHORT_CODES	12U
#define SHORT_STEPS	4
#define SHORT_SEQUENCES	(SHORT_CODES * SHORT_CODES * SHORT_CODES * SHORT_CODES)

static void short_sequence(struct htw_rig *rig, u32 code)
{
	unsigned int step;

	for (step = 0; step < SHORT_STEPS; step++) {
		short_step(rig, code % SHORT_CODES);
		code /= SHORT_CODES;
	}
	htw_rig_run(rig, rig->now_tick + 8192);
	htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
}

/*
 * Every sequence of a few steps, from several phases of the lower digits; no chance involved. All
 * on one queue, because to allocate some ten thousand takes minutes in a kernel with all its
 * checkers on.
 */
static void every_short_sequence(struct htw_rig *rig)
{
	static const u64 phases[] = { 0, 63, 4032 };
	unsigned int i;
	u64 clock;

	/* The clocks are its own: once is enough. */
	if (!rig->test->once)
		return;
	htw_rig_restart(rig, 36, 0);
	for (i = 0; i < ARRAY_SIZE(phases) * SHORT_SEQUENCES && htw_rig_ok(rig); i++) {
		clock = (rig->now_tick | (BIT_ULL(18) - 1)) + 1;
		htw_rig_run(rig, clock + phases[i / SHORT_SEQUENCES]);
		short_sequence(rig, i % SHORT_SEQUENCES);
	}
}

/* Take some, take all, begin again: no mark, no node stays behind. */
static void take_leaves_nothing(struct htw_rig *rig)
{
	u64 random = rig->test->seed;
	unsigned int turn;
	u32 i;

	for (turn = 0; turn < 5; turn++) {
		rig->look_every = 50;
		rig->check_every = 50;
		for (i = 0; i < rig->nr_timers; i++)
			htw_rig_arm(rig, i, htw_random_length(&random, 43));
		rig->look_every = 1;
		rig->check_every = 1;
		htw_rig_run(rig, rig->now_tick + 100);
		htw_rig_take(rig, 0);
		htw_rig_take(rig, 1);
		htw_rig_take(rig, 99);
		htw_rig_take(rig, U64_MAX);
		htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
		htw_rig_expect(rig, "next()", htw_rig_next(rig), HTW_TICK_NONE);
		htw_rig_arm(rig, 0, 1);
		htw_rig_follow(rig, rig->now_tick + 1);
		htw_rig_expect_fired(rig, 0, rig->now_tick);
	}
}

/*
 * The radix wheel's place, found the slow way: the first level whose window, or the next one, has
 * the tick.
 */
static struct htw_place slow_place(const struct htw_rig *rig, u64 tick)
{
	struct htw_place place = {};
	unsigned int bits = fls64(rig->geometry.radix[0]) - 1;
	u64 window, clock_window;

	tick = max(tick, rig->clock_tick);
	for (;; place.level++) {
		/* In two steps, for the last level's is a shift by 66. */
		window = tick >> (bits * place.level) >> bits;
		clock_window = rig->clock_tick >> (bits * place.level) >> bits;
		if (window <= clock_window + 1)
			break;
	}
	place.slot = (tick >> (bits * place.level)) % (2 << bits);
	return place;
}

static void expect_place(struct htw_rig *rig, u32 timer)
{
	struct htw_place slow, place;

	if (!htw_rig_is_live(rig, timer))
		return;
	place = htw_rig_place(rig, timer);
	if (htw_rig_is(rig, "wheel")) {
		slow = slow_place(rig, rig->timer[timer].node.tick);
		htw_rig_expect(rig, "level", place.level, slow.level);
		htw_rig_expect(rig, "slot", place.slot, slow.slot);
	}
	if (htw_rig_is(rig, "heap") || htw_rig_is(rig, "lazyheap"))
		htw_rig_expect(rig, "depth of the slot", place.level, fls64(place.slot + 1) - 1);
}

static void place_of_each_level(struct htw_rig *rig)
{
	u64 random = rig->test->seed;
	unsigned int turn;
	u64 seen = 0;
	u32 i;

	for (turn = 0; turn < 200; turn++) {
		for (i = 0; i < rig->nr_timers; i++)
			htw_rig_arm(rig, i, htw_random_length(&random, 43));
		htw_rig_run(rig, rig->now_tick + htw_random_length(&random, 30));
		if (rig->oracle.nr)
			htw_rig_advance(rig, max(htw_rig_next(rig), rig->now_tick), 1);
		for (i = 0; i < rig->nr_timers; i++)
			expect_place(rig, i);
	}

	/* In an array each timer has a place of its own. */
	if (!htw_rig_is(rig, "heap") && !htw_rig_is(rig, "rbtree"))
		return;
	for (i = 0; i < rig->nr_timers; i++)
		htw_rig_arm(rig, i, htw_random_length(&random, 30));
	for (i = 0; i < rig->nr_timers; i++)
		seen |= BIT_ULL(htw_rig_place(rig, i).slot);
	htw_rig_expect(rig, "slots in use", seen, BIT_ULL(rig->nr_timers) - 1);
}

/*
 * Of timers in one slot that have come into reach, those that the budget did not move are on their
 * way, and are said to be where they go.
 */
static void place_while_moving(struct htw_rig *rig)
{
	u64 start = ((rig->now_tick >> 12) + 3) << 12;
	u32 below = 0;
	u32 i;

	if (!htw_rig_is(rig, "wheel") || rig->geometry.radix[0] != 64)
		return;
	for (i = 0; i < rig->nr_timers; i++)
		htw_rig_add(rig, i, start + i);
	htw_rig_run(rig, start - 4097);
	rig->work = (struct htw_work){};
	htw_rig_advance(rig, start - 4096, 3);
	for (i = 0; i < rig->nr_timers; i++)
		below += htw_rig_place(rig, i).level == 1;
	htw_rig_expect(rig, "moves", rig->work.moves, 3);
	htw_rig_expect(rig, "timers that are below, or on their way there", below, rig->nr_timers);
}

/* Levels of two windows of 64 slots, as many as the ticks have digits of 6 bits; or none. */
static void geometry_covers_the_ticks(struct htw_rig *rig)
{
	static const u32 bits[] = { 6, 7, 12, 18, 32, 42, 43, 45, 48, 63, 64 };
	unsigned int i;
	u32 levels;

	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		htw_rig_restart(rig, bits[i], 0);
		levels = rig->geometry.levels;
		htw_rig_expect(rig, "slots, with levels or without", !htw_rig_slots(rig), !levels);
		if (htw_rig_is(rig, "wheel"))
			htw_rig_expect(rig, "levels", levels,
				       DIV_ROUND_UP(bits[i], fls64(rig->geometry.radix[0]) - 1));
		/* The last tick has a place, and leaves from it. */
		htw_rig_add(rig, 0, rig->tick_max);
		htw_rig_place(rig, 0);
		if (!rig->design->granule)
			htw_rig_follow(rig, rig->tick_max);
		htw_rig_run(rig, rig->tick_max);
		htw_rig_expect_fired(rig, 0, rig->tick_max);
	}
}

static int reserve(struct htw_rig *rig, u64 nr)
{
	return htw_rig_ok(rig) ? rig->design->reserve(rig->queue, nr) : 0;
}

/* Room grows and shrinks under queued timers, at and around the ends of the heap's segments. */
static void reserve_in_use(struct htw_rig *rig)
{
	u64 random = rig->test->seed;
	u64 base = rig->now_tick;
	bool refused;
	u32 i;

	if (!rig->design->reserve)
		return;
	rig->look_every = 500;
	rig->check_every = 500;
	htw_rig_expect(rig, "reserve(0)", reserve(rig, 0), 0);
	for (i = 0; i < rig->nr_timers; i++) {
		/* No more than what is needed, then all, then again no more than what is needed. */
		if (i % 128 < 2)
			htw_rig_expect(rig, "reserve()", reserve(rig, i + 1), 0);
		else if (i % 128 == 2)
			htw_rig_expect(rig, "reserve()", reserve(rig, rig->nr_timers), 0);
		htw_rig_add(rig, i, base + htw_random_below(&random, 5000));
	}
	/* More than any machine has; what was there stays. */
	refused = reserve(rig, BIT_ULL(40)) == -ENOMEM && reserve(rig, U64_MAX) == -ENOMEM;
	htw_rig_expect(rig, "reserve() of 2^40 and more is refused", refused, htw_rig_ok(rig));
	for (i = rig->nr_timers; i; i--) {
		if (i % 64 == 0)
			htw_rig_expect(rig, "reserve()", reserve(rig, i), 0);
		htw_rig_del(rig, i - 1);
	}
	htw_rig_expect(rig, "reserve()", reserve(rig, 1), 0);
	htw_rig_add(rig, 0, base);
	htw_rig_run(rig, base);
}

/*
 * B88 for the table itself: each design is complete and can be found, and the default is the first.
 */
static void design_table(struct htw_rig *rig)
{
	const struct htw_design *design = rig->design;

	htw_rig_expect(rig, "found by its name", htw_design_find(design->name) == design, true);
	htw_rig_expect(rig, "a name that nothing has", !htw_design_find("no such design"), true);
	htw_rig_expect(rig, "an empty name", !htw_design_find(""), true);
	htw_rig_expect(rig, "the default is the wheel", strcmp(htw_designs[0]->name, "wheel"), 0);
	htw_rig_expect(rig, "unknown flags",
		       design->flags & ~(HTW_DESIGN_FIFO | HTW_DESIGN_PRECISE | HTW_DESIGN_LINEAR),
		       0);
	htw_rig_expect(rig, "operations complete",
		       design->create && design->destroy && design->add && design->del &&
		       design->next && design->advance && design->take && design->check &&
		       design->place, true);
}

const struct htw_case htw_cases_shape[] = {
	HTW_CASE(b40_arrivals_across_the_wrap, 64),
	HTW_CASE(b85_readd_is_never_two, 8),
	HTW_CASE(b87_equal_ticks, 1000),
	HTW_CASE(every_short_sequence, 3),
	HTW_CASE(take_leaves_nothing, 500),
	HTW_CASE(place_of_each_level, 16),
	HTW_CASE(place_while_moving, 8),
	HTW_CASE(geometry_covers_the_ticks, 1),
	HTW_CASE(reserve_in_use, 5000),
	HTW_CASE(design_table, 1),
	{}
};
