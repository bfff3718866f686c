// SPDX-License-Identifier: GPL-2.0
/*
 * Cases: the slots of the design "linux", against the rules of kernel/time/timer.c, written down
 * here by themselves, level by level.
 */
#include <linux/bits.h>
#include <linux/kernel.h>

#include "cases.h"

#define LEVELS		9

/* Where the kernel puts a timer, and when that slot is due. */
struct slow_slot {
	u32	level;
	u64	index;
	u64	due;
};

/*
 * A level takes what is less than 63 of its slots away; of the first one that does, the slot behind
 * the one that has the tick. What no level takes is put where the wheel ends.
 */
static struct slow_slot slow_slot(u64 clock, u64 tick)
{
	static const u64 slot_ticks[LEVELS] = {
		1, 8, 64, 512, 4096, 32768, 262144, 2097152, 16777216,
	};
	struct slow_slot slot = {};
	u64 number;

	while (slot.level < LEVELS && tick - clock >= 63 * slot_ticks[slot.level])
		slot.level++;
	if (slot.level == LEVELS) {
		slot.level--;
		tick = clock + 62 * slot_ticks[slot.level];
	}
	number = tick / slot_ticks[slot.level] + 1;
	slot.index = number % 64;
	slot.due = number * slot_ticks[slot.level];
	return slot;
}

/* Armed at the present phase of the clock: its slot, and the tick at which it leaves. */
static void expect_slot(struct htw_rig *rig, u64 distance, bool fire)
{
	u64 tick = rig->now_tick + distance;
	struct slow_slot slot = slow_slot(rig->now_tick, tick);
	struct htw_place place;

	if (slot.due > rig->tick_max)
		return;
	htw_rig_add(rig, 0, tick);
	place = htw_rig_place(rig, 0);
	htw_rig_expect(rig, "level", place.level, slot.level);
	htw_rig_expect(rig, "slot", place.slot, slot.index);
	htw_rig_expect_at_most(rig, "next()", htw_rig_next(rig), slot.due);
	if (!fire || slot.due < tick) {
		htw_rig_del(rig, 0);
		return;
	}
	htw_rig_run(rig, slot.due - 1);
	htw_rig_expect(rig, "queued a tick before its slot", htw_rig_is_live(rig, 0), true);
	htw_rig_run(rig, slot.due);
	htw_rig_expect(rig, "queued when its slot is due", htw_rig_is_live(rig, 0), false);
}

/* The distances around where each level ends, and in between. */
static void expect_levels(struct htw_rig *rig, bool fire)
{
	static const u64 parts[] = { 2, 8, 31, 32, 61, 62, 63, 64 };
	u64 distance;
	u32 i, around, level;

	for (level = 0; level < LEVELS; level++) {
		for (i = 0; i < 3 * ARRAY_SIZE(parts); i++) {
			around = i % 3;
			distance = (parts[i / 3] << (3 * level)) - 1 + around;
			expect_slot(rig, distance, fire);
		}
	}
}

/* From every phase of the two lowest levels, and from the slot ends of all. */
static void b04_slots_of_the_kernel(struct htw_rig *rig)
{
	u32 phase, level;

	if (!htw_rig_is(rig, "linux"))
		return;
	for (phase = 0; phase < 128; phase++) {
		expect_levels(rig, false);
		htw_rig_run(rig, rig->now_tick + 1 + (phase / 64) * 7);
	}
	for (level = 0; level < LEVELS; level++) {
		htw_rig_run(rig, htw_rig_boundary(rig, BIT_ULL(3 * level)) - 1);
		for (phase = 0; phase < 3; phase++) {
			expect_levels(rig, false);
			htw_rig_run(rig, rig->now_tick + 1);
		}
	}
	for (phase = 0; phase < 8; phase++)
		expect_levels(rig, true);
}

const struct htw_case htw_cases_linux[] = {
	HTW_CASE(b04_slots_of_the_kernel, 1),
	{}
};
