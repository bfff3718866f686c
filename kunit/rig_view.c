// SPDX-License-Identifier: GPL-2.0
/*
 * What a case may ask of its rig: shape, bounds, and who it has before it.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "rig.h"

/**
 * htw_rig_slots() - how many slots a queue has
 * @rig: the rig
 *
 * Context: any.
 * Return: those of all levels; 0 if the design has none.
 */
u64 htw_rig_slots(const struct htw_rig *rig)
{
	u64 slots = 0;
	u32 level;

	for (level = 0; level < rig->geometry.levels; level++)
		slots += rig->design->windows * rig->geometry.radix[level];
	return slots;
}

/**
 * htw_rig_unit() - how many ticks a slot covers
 * @rig: the rig
 * @level: its level; one more than there are for what the top level turns
 *
 * Context: any.
 * Return: ticks; 0 if that is more than 2^60.
 */
u64 htw_rig_unit(const struct htw_rig *rig, u32 level)
{
	/* The slots of one level overlap with those of the next one. */
	bool overlap = htw_rig_is(rig, "linux");
	u64 unit = 1;
	u32 i;

	for (i = 0; i < level && unit; i++) {
		unit *= overlap ? 8 : rig->geometry.radix[i];
		if (unit > BIT_ULL(60))
			unit = 0;
	}
	return unit;
}

/**
 * htw_rig_boundary() - where the next slot but one begins
 * @rig: the rig
 * @unit: ticks that a slot covers
 *
 * Context: any.
 * Return: its first tick.
 */
u64 htw_rig_boundary(const struct htw_rig *rig, u64 unit)
{
	return (div64_u64(rig->now_tick, unit) + 2) * unit;
}

/**
 * htw_rig_many() - how many timers a case with very many of them uses
 * @rig: the rig
 *
 * Context: any.
 * Return: all; of a design for which that would be quadratic, a part.
 */
u32 htw_rig_many(const struct htw_rig *rig)
{
	return rig->design->flags & HTW_DESIGN_LINEAR ? rig->nr_timers / 10 : rig->nr_timers;
}

/**
 * htw_rig_granule() - how much later than its tick a timer may be handed out
 * @rig: the rig
 * @tick: the tick of a timer that is added now
 *
 * Context: any.
 * Return: ticks; 0 if the design is exact.
 */
u64 htw_rig_granule(const struct htw_rig *rig, u64 tick)
{
	u64 clock = rig->queue->clock_tick;

	return rig->design->granule && tick > clock ? rig->design->granule(tick - clock) : 0;
}

/* Whether the design is the one of this name, of which more is known than the contract says. */
bool htw_rig_is(const struct htw_rig *rig, const char *name)
{
	return !strcmp(rig->design->name, name);
}

/* Whether it is one of those that keep a node where it is until it is handed out. */
bool htw_rig_never_moves(const struct htw_rig *rig)
{
	return htw_rig_is(rig, "heap") || htw_rig_is(rig, "rbtree") || htw_rig_is(rig, "list");
}

/**
 * htw_rig_late() - when all that is due at a time must have been handed out
 * @rig: the rig
 * @tick: the time
 *
 * Context: any.
 * Return: the tick; of a design that is not exact, by so much later as its timers may be.
 */
u64 htw_rig_late(const struct htw_rig *rig, u64 tick)
{
	const struct htw_oracle_entry *entry;
	u64 late = tick;
	u32 i;

	for (i = 0; i < rig->oracle.size; i++) {
		entry = &rig->oracle.entry[i];
		if (entry->live && entry->tick <= tick)
			late = max(late, entry->last_tick);
	}
	return late;
}
