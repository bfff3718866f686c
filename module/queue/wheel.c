// SPDX-License-Identifier: GPL-2.0
/*
 * The radix wheel: exact, covers every 64-bit tick, clamps nothing, and moves timers down ahead of
 * time.
 *
 * Cut time into slots of 64^n ticks, for each level n from 0. Call the number of the slot in which
 * a tick lies on a level its number there: tick >> 6n. Sixty-four slots of a level make one slot of
 * the next. Each level keeps two such windows of 64 slots: the one that the clock is in, and the
 * one that follows. A timer goes to *the lowest level of which one of the two windows holds its
 * tick*:
 *
 *	level	slot covers	level reaches	at a tick of 2^19 ns: slot	reach, at least
 *	0	1 tick		64..127 ticks	0.52 ms				33.6 ms
 *	1	64		64 times as far	33.6 ms				2.15 s
 *	2	4096				2.15 s				137 s
 *	3	2^18				137 s				2.44 h
 *	...
 *	7	2^42				73 years			all of 64 bits of ns
 *
 * Example. The clock is at 1000; on level 1 that is number 15 (960 to 1023), so level 0 holds the
 * ticks of the numbers 15 and 16: up to 1087. Tick 1030 goes to level 0 at once. Tick 1200 has
 * number 18 on level 1 and goes there. When the clock enters number 17, at 1088, number 18 comes
 * into reach of level 0: from now on the pass may move 1200 down, and it must have done so when the
 * clock enters 18, at 1152. At 1200 the timer is handed out.
 *
 * Why two windows. With one, all timers of a slot become movable when the first of them may be due:
 * a million timers over 10 s put some 200,000 into one slot of level 2, and whoever is due while
 * they are moved waits for 20 ms. With two, the moves have the whole length of a slot (2.15 s on
 * level 2): each pass does a few when it has handed out what is due.
 *
 * A timer that is postponed stays where it is and only its tick changes: its place says no more
 * than "not before". When its slot is emptied or handed out, it is put where its tick then belongs.
 * So a timeout that is postponed a thousand times before it runs out, which is what most of them
 * are for, is moved once for that.
 *
 * What it costs. Arm and cancel: a few instructions. Postpone: a store. A timer moves at most once
 * for each level, and leaves level 0 at its very tick. The next expiry is a look at each level's
 * bitmap. Between two events the clock may be set freely: a long idle is free. In exchange, a timer
 * alone on a high level wakes the CPU once for each level that it passes, and timers of one tick
 * are handed out in no particular order, so that a slot can have several lists (slots.h).
 *
 * Sources: "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme 7; levels by the radix of the
 * remaining digits: "Faster Algorithms for the Shortest Path Problem" (radix heap), JACM 1990. The
 * second window is ours.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "designs.h"
#include "wheel.h"

static u64 wheel_put(struct htw_wheel *wheel, struct htw_node *node)
{
	struct htw_queue *queue = &wheel->slots.queue;
	struct htw_place place = wheel_place(queue, node);
	u64 tick = max(node->tick, queue->clock_tick);

	htw_slots_put(&wheel->slots, wheel_ring(wheel, place.level) + place.slot, node);
	wheel->busy |= 1U << place.level;
	return wheel_attention(wheel, wheel_number(wheel, tick, place.level), place.level);
}

static bool wheel_add(struct htw_queue *queue, struct htw_node *node)
{
	return htw_slots_added(to_slots(queue), wheel_put(to_wheel(queue), node));
}

static void wheel_postpone(struct htw_queue *queue, struct htw_node *node, u64 tick)
{
	node->tick = tick;
}

/* What comes next, HTW_TICK_NONE if the wheel is empty: the slot, and its level. */
struct wheel_event {
	u64			tick;
	unsigned int		level;
	unsigned int		slot;
};

/* The next of one level. */
static struct wheel_event wheel_level_event(const struct htw_wheel *wheel, unsigned int level)
{
	unsigned int ring = wheel_ring(wheel, level), length = wheel_ring(wheel, 1), ahead;
	u64 number = wheel_number(wheel, wheel->slots.queue.clock_tick, level), tick;
	struct wheel_event event = { .tick = HTW_TICK_NONE, .level = level };

	ahead = htw_slots_ahead(&wheel->slots, ring, length, number & (length - 1));
	if (ahead < length) {
		event.tick = wheel_attention(wheel, number + ahead, level);
		event.slot = ring + ((number + ahead) & (length - 1));
	}
	/* These have to be below when the clock enters the slot that they are from. */
	tick = ((number + 1) << level * wheel->bits) - 1;
	if (tick < event.tick && htw_slots_occupied(&wheel->slots, wheel_moving(wheel, level))) {
		event.tick = tick;
		event.slot = wheel_moving(wheel, level);
	}
	return event;
}

/* Most levels are empty, most of the time. */
static struct wheel_event wheel_event(struct htw_wheel *wheel)
{
	struct wheel_event first = { .tick = HTW_TICK_NONE }, event;
	unsigned int busy = wheel->busy;

	/* Of one tick, the highest level first: then nothing is left where it does not belong. */
	while (busy) {
		event = wheel_level_event(wheel, fls(busy) - 1);
		busy &= ~(1U << event.level);
		if (event.tick == HTW_TICK_NONE &&
		    !htw_slots_occupied(&wheel->slots, wheel_moving(wheel, event.level)))
			wheel->busy &= ~(1U << event.level);
		if (event.tick < first.tick)
			first = event;
	}
	return first;
}

/* Empty a slot, as far as the budget goes: hand out what is due, and put the others again. */
static u64 wheel_empty(struct htw_wheel *wheel, unsigned int slot, u64 budget,
		       struct list_head *due, struct htw_work *work)
{
	struct htw_queue *queue = &wheel->slots.queue;
	struct htw_drain drain;
	struct htw_node *node;

	if (!budget || !htw_slots_occupied(&wheel->slots, slot))
		return budget;
	htw_drain_begin(&drain, &wheel->slots, slot);
	for (; budget && drain.nr; budget--) {
		node = htw_drain_next(&drain);
		if (node->tick > queue->clock_tick) {
			wheel_put(wheel, node);
			work->moves++;
			continue;
		}
		list_add_tail(&node->link, due);
		queue->nr--;
		work->due++;
	}
	htw_drain_end(&drain, &wheel->slots, slot);
	return budget;
}

/* Work off one event, whose time has come. */
static u64 wheel_work(struct htw_wheel *wheel, const struct wheel_event *event, u64 budget,
		      struct list_head *due, struct htw_work *work)
{
	u64 *clock = &wheel->slots.queue.clock_tick;

	work->slots++;
	*clock = max(*clock, event->tick);
	if (!event->level || event->slot >= wheel_moving(wheel, 0))
		return wheel_empty(wheel, event->slot, budget, due, work);
	htw_slots_splice(&wheel->slots, event->slot, wheel_moving(wheel, event->level));
	return budget;
}

static bool wheel_is_moving(const struct htw_wheel *wheel)
{
	unsigned int nr = wheel->slots.nr;

	return find_next_bit(wheel->slots.map, nr, wheel_moving(wheel, 0)) < nr;
}

static bool wheel_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			  struct htw_work *work)
{
	struct htw_wheel *wheel = to_wheel(queue);
	u64 *next = &wheel->slots.next_tick;
	struct wheel_event event;
	unsigned int level;

	while (*next <= now) {
		event = wheel_event(wheel);
		*next = event.tick;
		if (event.tick <= now && !budget)
			return true;
		if (event.tick <= now)
			budget = wheel_work(wheel, &event, budget, due, work);
	}
	queue->clock_tick = max(queue->clock_tick, now);
	if (!wheel_is_moving(wheel))
		return false;

	/* Nobody waits for us: move timers ahead of time, what is needed soonest first. */
	for (level = 1; level < wheel->levels; level++)
		budget = wheel_empty(wheel, wheel_moving(wheel, level), budget, due, work);
	*next = wheel_event(wheel).tick;
	/* If that was not all, go on at the next tick rather than at the last moment. */
	if (wheel_is_moving(wheel))
		*next = min(*next, queue->clock_tick + 1);
	return false;
}

/* Not after its tick, for it may have been postponed; in a window; and not overdue to be moved. */
static bool wheel_belongs(const struct htw_queue *queue, const struct htw_node *node,
			  unsigned int slot)
{
	const struct htw_wheel *wheel = to_const_wheel(queue);
	unsigned int moving = wheel_moving(wheel, 0), mask = wheel_ring(wheel, 1) - 1;
	unsigned int level = slot < moving ? slot / (mask + 1) : slot - moving;
	u64 clock = wheel_number(wheel, queue->clock_tick, level);
	u64 number = slot < moving ? clock + ((slot - clock) & mask) : clock + 1;

	if (slot >= moving && !level)
		return false;
	if (number > wheel_number(wheel, max(node->tick, queue->clock_tick), level))
		return false;
	if (slot >= moving)
		return true;
	return (number >> wheel->bits) - (clock >> wheel->bits) < 2 &&
	       (!level || wheel_attention(wheel, number, level) > queue->clock_tick);
}

static int wheel_check(const struct htw_queue *queue)
{
	return htw_slots_check(queue, wheel_belongs);
}

static bool wheel_fits(const struct htw_geometry *geometry, unsigned int tick_bits)
{
	u32 radix = htw_geometry_radix(geometry);

	return radix <= 64 && is_power_of_2(radix) && geometry->levels * ilog2(radix) >= tick_bits;
}

/* Levels that no tick needs are left out. */
static struct htw_queue *wheel_create(const struct htw_queue_config *config)
{
	unsigned int bits = ilog2(config->geometry.radix[0]), bit;
	unsigned int levels = DIV_ROUND_UP(config->tick_bits, bits);
	struct htw_queue *queue;

	queue = htw_slots_create(&htw_wheel_design, config, sizeof(struct htw_wheel),
				 (levels << (bits + 1)) + levels, HTW_LANES);
	if (!queue)
		return NULL;
	queue->geometry.levels = levels;
	memset(&queue->geometry.radix[levels], 0, (HTW_MAX_LEVELS - levels) * sizeof(u32));
	to_wheel(queue)->levels = levels;
	to_wheel(queue)->bits = bits;
	for (bit = 0; bit < 64; bit++)
		to_wheel(queue)->digit[bit] = bit / bits;
	return queue;
}

static const struct htw_geometry wheel_geometries[] = {
	{ 11, { [0 ... 10] = 64 } },
	{ 16, { [0 ... 15] = 16 } },
	{}
};

const struct htw_design htw_wheel_design = {
	.name		= "wheel",
	.about		= "radix wheel of two windows, moves ahead of time",
	.costs		= "1 / 1 / amortised 1",
	.windows	= 2,
	.geometries	= wheel_geometries,
	.fits		= wheel_fits,
	.create		= wheel_create,
	.destroy	= htw_slots_destroy,
	.add		= wheel_add,
	.del		= htw_slots_del,
	.postpone	= wheel_postpone,
	.fetch		= htw_slots_fetch,
	.next		= htw_slots_next,
	.advance	= wheel_advance,
	.take		= htw_slots_take,
	.check		= wheel_check,
	.place		= wheel_place,
};
