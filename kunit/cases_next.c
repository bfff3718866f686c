// SPDX-License-Identifier: GPL-2.0
/*
 * Cases: the next expiry. The rig holds next() against the oracle after each operation, and fails a
 * pass that ends with a next() that is not later than its time, so that one which only follows
 * next() never spins.
 */
#include <linux/bits.h>
#include <linux/kernel.h>

#include "cases.h"

/* Arm and cancel in the slot that @digit names on @level, if the clock leaves it reachable. */
static void arm_and_cancel(struct htw_rig *rig, unsigned int level, u64 digit)
{
	unsigned int shift = level * 6;
	u64 above = shift + 6 < 64 ? U64_MAX << (shift + 6) : 0;
	u64 tick = (rig->clock_tick & above) | digit << shift;

	if (digit << shift >> shift != digit || tick < rig->clock_tick || tick > rig->tick_max)
		return;
	htw_rig_add(rig, 0, tick);
	htw_rig_del(rig, 0);
}

/* The same for the slots of this shape: those of a turn of @level, and of the one after it. */
static void arm_and_cancel_turns(struct htw_rig *rig, u32 level)
{
	u32 slots = rig->design->windows * rig->geometry.radix[level];
	u64 unit = htw_rig_unit(rig, level), start;
	u32 slot;

	start = unit ? htw_rig_boundary(rig, unit) : 0;
	for (slot = 0; unit && slot < slots; slot++) {
		/* Not beyond the end, but in the slots that there are. */
		if (unit > (rig->tick_max - rig->now_tick) / (slot + 3))
			break;
		htw_rig_add(rig, 0, start + slot * unit);
		htw_rig_del(rig, 0);
	}
}

static void arm_and_cancel_everywhere(struct htw_rig *rig)
{
	unsigned int level, digit;

	for (level = 0; level * 6 < 64; level++) {
		for (digit = 0; digit < 64; digit++)
			arm_and_cancel(rig, level, digit);
	}
	for (level = 0; level < rig->geometry.levels; level++)
		arm_and_cancel_turns(rig, level);
}

/*
 * No slot keeps its mark: next() is none, which the rig sees, and a pass over all of it does no
 * work.
 */
static void b14_last_cancel_in_each_slot(struct htw_rig *rig)
{
	arm_and_cancel_everywhere(rig);
	htw_rig_run(rig, rig->tick_max);
	htw_rig_restart(rig, rig->test->tick_bits, 0);
	arm_and_cancel_everywhere(rig);
	htw_rig_run(rig, rig->tick_max);
	htw_rig_expect(rig, "units of work", rig->work.due + rig->work.moves, 0);
	htw_rig_expect(rig, "slots looked at", rig->work.slots, 0);
}

static void b18_empty_has_no_next(struct htw_rig *rig)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		htw_rig_arm(rig, 0, 10 << (6 * i));
		htw_rig_del(rig, 0);
		htw_rig_expect(rig, "next()", htw_rig_next(rig), HTW_TICK_NONE);
		htw_rig_run(rig, rig->now_tick + BIT_ULL(31));
		htw_rig_expect(rig, "next()", htw_rig_next(rig), HTW_TICK_NONE);
	}
	htw_rig_expect(rig, "units of work", rig->work.due + rig->work.moves, 0);

	/* And after the last hand-out. */
	htw_rig_arm(rig, 0, 10);
	htw_rig_follow(rig, htw_rig_late(rig, rig->now_tick + 10));
	htw_rig_expect(rig, "next()", htw_rig_next(rig), HTW_TICK_NONE);
}

/*
 * Armed for later, a pass meanwhile, modified to earlier. Follow next(), which must have noticed.
 */
static void b20_modify_to_earlier(struct htw_rig *rig)
{
	u32 initial, target;
	u64 base;

	rig->check_every = 16;
	for (initial = 64; initial < 4096; initial += 61) {
		for (target = 4; target < 64; target += 3) {
			base = rig->now_tick;
			htw_rig_add(rig, 0, base + initial);
			htw_rig_run(rig, base + 3);
			htw_rig_add(rig, 0, base + target);
			htw_rig_follow(rig, base + 64);
			htw_rig_expect_fired(rig, 0, base + target);
		}
	}
}

static void b21_later_insert_hides_nothing(struct htw_rig *rig)
{
	u64 base = rig->now_tick;
	u32 i;

	htw_rig_add(rig, 0, base + 10000);
	htw_rig_add(rig, 1, base + 600);
	htw_rig_expect_at_most(rig, "next()", htw_rig_next(rig), htw_rig_late(rig, base + 600));
	htw_rig_follow(rig, base + 601);
	htw_rig_expect_fired(rig, 1, base + 600);
	htw_rig_del(rig, 0);

	/* Five timers, 1000 ticks apart; a late one is armed after the first has gone. */
	base = rig->now_tick;
	for (i = 0; i < 5; i++)
		htw_rig_add(rig, i, base + 1000 * (i + 1));
	htw_rig_follow(rig, base + 1000);
	htw_rig_expect_fired(rig, 0, base + 1000);
	htw_rig_arm(rig, 5, 10000);
	htw_rig_follow(rig, base + 11000);
	for (i = 1; i < 5; i++)
		htw_rig_expect_fired(rig, i, base + 1000 * (i + 1));
	htw_rig_expect_fired(rig, 5, base + 11000);
}

static void b24_first_moved_later(struct htw_rig *rig)
{
	u64 base = rig->now_tick;

	htw_rig_add(rig, 0, base + 10);
	htw_rig_add(rig, 0, base + 1000);
	htw_rig_run(rig, base + 10);
	htw_rig_expect(rig, "hand-outs at 10", rig->timer[0].fired, 0);
	htw_rig_expect_at_least(rig, "next()", htw_rig_next(rig), base + 11);
	htw_rig_follow(rig, base + 2000);
	htw_rig_expect_fired(rig, 0, base + 1000);
	htw_rig_expect(rig, "hand-outs", rig->timer[0].fired, 1);
}

/*
 * 3 s, a day and 10 years of ticks of 2^19 ns: the same few slots, with nothing queued and with a
 * far timer.
 */
static void b75_long_idle_is_free(struct htw_rig *rig)
{
	static const u64 idles[] = { 5722, 164794921, 601500000000ULL };
	u32 levels = rig->geometry.levels;
	struct htw_work before;
	unsigned int i;

	for (i = 0; i < 2 * ARRAY_SIZE(idles); i++) {
		if (i == ARRAY_SIZE(idles)) {
			htw_rig_restart(rig, rig->test->tick_bits, rig->test->start_tick);
			htw_rig_add(rig, 0, rig->tick_max);
		}
		before = rig->work;
		htw_rig_run(rig, rig->now_tick + idles[i % ARRAY_SIZE(idles)]);
		htw_rig_expect(rig, "hand-outs", rig->work.due, before.due);
		htw_rig_expect_at_most(rig, "moves", rig->work.moves - before.moves, levels);
		htw_rig_expect_at_most(rig, "slots looked at", rig->work.slots - before.slots,
				       levels * 64);
	}
}

const struct htw_case htw_cases_next[] = {
	HTW_CASE(b14_last_cancel_in_each_slot, 1),
	HTW_CASE(b18_empty_has_no_next, 1),
	HTW_CASE(b20_modify_to_earlier, 1),
	HTW_CASE(b21_later_insert_hides_nothing, 6),
	HTW_CASE(b24_first_moved_later, 1),
	HTW_CASE(b75_long_idle_is_free, 2),
	{}
};
