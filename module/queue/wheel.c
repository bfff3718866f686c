// SPDX-License-Identifier: GPL-2.0
/*
 * The radix wheel: exact, covers every 64-bit tick, clamps nothing.
 *
 * Write a tick as digits of 6 bits. Level 0 is for the lowest digit, and each level has 64 slots, one for
 * each value of its digit. A timer goes to the level of the *highest digit in which its tick differs from
 * the clock*, into the slot that this digit names:
 *
 *	level	slot covers	level reaches	at a tick of 2^19 ns: slot	reach
 *	0	1 tick		64 ticks	0.52 ms				33.6 ms
 *	1	64		4096		33.6 ms				2.15 s
 *	2	4096		2^18		2.15 s				137 s
 *	3	2^18		2^24		137 s				2.44 h
 *	4	2^24		2^30		2.44 h				6.5 days
 *	5	2^30		2^36		6.5 days			417 days
 *	6	2^36		2^42		417 days			73 years
 *	7	2^42		2^48		73 years			all of 64 bits of ns
 *
 * Example. The clock is at 1000, digits (15, 40). Tick 1010 is (15, 50): level 0, slot 50. Tick 1030 is
 * (16, 6): it differs in the upper digit, so it sits on level 1, slot 16, though it is only 30 ticks away.
 * When the clock reaches 1024 = (16, 0), the pass empties that slot; 1030 now differs from the clock in
 * the lowest digit only and moves to level 0, slot 6; at 1030 it is handed out.
 *
 * Why so, and not by the distance to the deadline as other wheels do:
 *
 * - All digits above the timer's level are equal to the clock's, and its own is larger than the clock's
 *   (the tick lies ahead). So within a level slots come in the order of time without wrapping round, and
 *   *every timer of a level precedes every timer of the next level*. The next expiry is therefore the first
 *   set bit of the first level that is not empty: two find-first-set instructions.
 * - As the clock reaches the start of a slot, all levels below are empty, and each timer of the slot goes to
 *   a lower one. A timer moves at most once for each level and in the end leaves level 0 at its very tick.
 * - A top digit exists for every tick, so nothing has to be clamped or re-queued at a horizon.
 * - The clock may be set to any time before the next expiry without touching a timer: the digits above a
 *   timer's level stay equal, and its own digit stays larger. That makes a long idle free.
 *
 * What it costs: next() names the start of a slot, so a timer alone on a high level wakes the CPU once for
 * each level that it passes; the moves are pointer chasing. Timers of one tick are handed out in no
 * particular order.
 *
 * A pass that runs out of budget while it empties a slot leaves the rest on the moving list, and the clock
 * at the slot's start; the next call goes on there. An overdue timer (tick at or before the clock) goes to
 * the level 0 slot of the clock's own digit, which is due at once.
 *
 * Sources: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme 7; the level
 * by the highest differing bit: R. Ahuja, K. Mehlhorn, J. Orlin and R. Tarjan, "Faster Algorithms for the
 * Shortest Path Problem" (radix heap), JACM 1990.
 */
#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "designs.h"

#define WHEEL_BITS		6
#define WHEEL_SLOTS		(1U << WHEEL_BITS)

/* A 64-bit tick has 11 digits, the highest of 4 bits. */
#define WHEEL_MAX_LEVELS	((64 + WHEEL_BITS - 1) / WHEEL_BITS)

/**
 * struct htw_wheel - a radix wheel
 * @queue: the common part
 * @levels: levels in use; ticks have at most this many digits
 * @level_map: bit n is set if a slot of level n is occupied
 * @occupied: for each level, bit n is set if slot n is not empty
 * @moving: timers taken from a slot whose start has come, which wait for their next place
 * @slot: the slots, level by level
 */
struct htw_wheel {
	struct htw_queue	queue;
	unsigned int		levels;
	unsigned long		level_map;
	u64			occupied[WHEEL_MAX_LEVELS];
	struct list_head	moving;
	struct list_head	slot[];
};

static struct htw_wheel *to_wheel(struct htw_queue *queue)
{
	return container_of(queue, struct htw_wheel, queue);
}

static const struct htw_wheel *to_const_wheel(const struct htw_queue *queue)
{
	return container_of(queue, const struct htw_wheel, queue);
}

/* The digit of @tick at @level. */
static unsigned int wheel_digit(u64 tick, unsigned int level)
{
	return (tick >> (level * WHEEL_BITS)) & (WHEEL_SLOTS - 1);
}

/* The level of a timer: that of the highest digit in which @tick differs from @clock; 0 if none does. */
static unsigned int wheel_level(u64 tick, u64 clock)
{
	u64 diff = tick ^ clock;

	return diff ? (fls64(diff) - 1) / WHEEL_BITS : 0;
}

/* The first tick of slot @digit at @level, the digits above being those of the clock. */
static u64 wheel_slot_start(u64 clock, unsigned int level, unsigned int digit)
{
	unsigned int above = (level + 1) * WHEEL_BITS;
	u64 upper = above < 64 ? clock >> above << above : 0;

	return upper | (u64)digit << (level * WHEEL_BITS);
}

static struct list_head *wheel_slot(struct htw_wheel *wheel, unsigned int level, unsigned int digit)
{
	return &wheel->slot[level * WHEEL_SLOTS + digit];
}

static void wheel_mark(struct htw_wheel *wheel, unsigned int level, unsigned int digit)
{
	wheel->occupied[level] |= BIT_ULL(digit);
	wheel->level_map |= BIT(level);
}

static void wheel_unmark(struct htw_wheel *wheel, unsigned int level, unsigned int digit)
{
	wheel->occupied[level] &= ~BIT_ULL(digit);
	if (!wheel->occupied[level])
		wheel->level_map &= ~BIT(level);
}

/* Put a node where the clock says it belongs. An overdue one belongs where the clock itself does. */
static void wheel_put(struct htw_wheel *wheel, struct htw_node *node)
{
	u64 clock = wheel->queue.clock_tick;
	u64 tick = max(node->tick, clock);
	unsigned int level = wheel_level(tick, clock);
	unsigned int digit = wheel_digit(tick, level);

	list_add_tail(&node->link, wheel_slot(wheel, level, digit));
	wheel_mark(wheel, level, digit);
}

static u64 wheel_next(const struct htw_queue *queue)
{
	const struct htw_wheel *wheel = to_const_wheel(queue);
	unsigned int level;

	if (!list_empty(&wheel->moving))
		return queue->clock_tick;
	if (!wheel->level_map)
		return HTW_TICK_NONE;
	level = __ffs(wheel->level_map);
	return wheel_slot_start(queue->clock_tick, level, __ffs64(wheel->occupied[level]));
}

static bool wheel_add(struct htw_queue *queue, struct htw_node *node)
{
	u64 before = wheel_next(queue);

	wheel_put(to_wheel(queue), node);
	queue->nr++;
	return wheel_next(queue) < before;
}

/*
 * A node does not know its slot. It need not: only if it is the last of its list does the slot's bit have to
 * go, and then both its neighbours are the head, whose address is the slot.
 */
static void wheel_del(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_wheel *wheel = to_wheel(queue);
	struct list_head *head = node->link.next;
	bool last = head == node->link.prev;

	list_del(&node->link);
	queue->nr--;
	if (last && head != &wheel->moving)
		wheel_unmark(wheel, (head - wheel->slot) / WHEEL_SLOTS, (head - wheel->slot) % WHEEL_SLOTS);
}

/* Hand @node, which is in a list of the wheel's, out. */
static void wheel_hand_out(struct htw_wheel *wheel, struct htw_node *node, struct list_head *due,
			   struct htw_work *work)
{
	list_move_tail(&node->link, due);
	wheel->queue.nr--;
	work->due++;
}

/*
 * Give the nodes of the moving list their next place. Those that are due at the slot's very start are handed
 * out: they were armed before anything that now sits in the clock's own slot.
 */
static u64 wheel_settle(struct htw_wheel *wheel, u64 budget, struct list_head *due,
			struct htw_work *work)
{
	struct htw_node *node, *tmp;

	list_for_each_entry_safe(node, tmp, &wheel->moving, link) {
		if (!budget)
			break;
		budget--;
		if (node->tick <= wheel->queue.clock_tick) {
			wheel_hand_out(wheel, node, due, work);
			continue;
		}
		list_del(&node->link);
		wheel_put(wheel, node);
		work->moves++;
	}
	return budget;
}

/* Hand out a slot of level 0, as far as the budget goes. */
static u64 wheel_drain(struct htw_wheel *wheel, unsigned int digit, u64 budget,
		       struct list_head *due, struct htw_work *work)
{
	struct list_head *slot = wheel_slot(wheel, 0, digit);
	struct htw_node *node, *tmp;

	list_for_each_entry_safe(node, tmp, slot, link) {
		if (!budget)
			return 0;
		budget--;
		wheel_hand_out(wheel, node, due, work);
	}
	wheel_unmark(wheel, 0, digit);
	return budget;
}

static bool wheel_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			  struct htw_work *work)
{
	struct htw_wheel *wheel = to_wheel(queue);
	unsigned int level, digit;
	u64 next;

	for (;;) {
		next = wheel_next(queue);
		if (next > now)
			break;
		if (!budget)
			return true;
		if (!list_empty(&wheel->moving)) {
			budget = wheel_settle(wheel, budget, due, work);
			continue;
		}
		queue->clock_tick = max(queue->clock_tick, next);
		level = __ffs(wheel->level_map);
		digit = __ffs64(wheel->occupied[level]);
		work->slots++;
		if (!level) {
			budget = wheel_drain(wheel, digit, budget, due, work);
			continue;
		}
		list_splice_tail_init(wheel_slot(wheel, level, digit), &wheel->moving);
		wheel_unmark(wheel, level, digit);
	}
	queue->clock_tick = max(queue->clock_tick, now);
	return false;
}

static u64 wheel_take(struct htw_queue *queue, u64 max, struct list_head *out)
{
	struct htw_wheel *wheel = to_wheel(queue);
	struct list_head *list;
	struct htw_node *node;
	unsigned int level;
	u64 taken;

	for (taken = 0; taken < max && queue->nr; taken++) {
		list = &wheel->moving;
		if (list_empty(list)) {
			level = __ffs(wheel->level_map);
			list = wheel_slot(wheel, level, __ffs64(wheel->occupied[level]));
		}
		node = list_first_entry(list, struct htw_node, link);
		wheel_del(queue, node);
		list_add_tail(&node->link, out);
	}
	return taken;
}

static struct htw_place wheel_place(const struct htw_queue *queue, const struct htw_node *node)
{
	const struct htw_wheel *wheel = to_const_wheel(queue);
	u64 clock = queue->clock_tick;
	u64 tick = max(node->tick, clock);
	struct htw_place place = { .level = HTW_LEVEL_MOVING };
	const struct htw_node *moving;

	list_for_each_entry(moving, &wheel->moving, link) {
		if (moving == node)
			return place;
	}
	place.level = wheel_level(tick, clock);
	place.slot = wheel_digit(tick, place.level);
	return place;
}

static struct htw_geometry wheel_geometry(const struct htw_queue *queue)
{
	return (struct htw_geometry){ .levels = to_const_wheel(queue)->levels, .slots = WHEEL_SLOTS };
}

/* Check one slot; adds its nodes to @nr. */
static int wheel_check_slot(const struct htw_wheel *wheel, unsigned int level, unsigned int digit,
			    u64 *nr)
{
	const struct list_head *slot = &wheel->slot[level * WHEEL_SLOTS + digit];
	bool occupied = wheel->occupied[level] & BIT_ULL(digit);
	u64 clock = wheel->queue.clock_tick;
	const struct htw_node *node;
	u64 tick;

	if (occupied == list_empty(slot))
		return __LINE__;
	list_for_each_entry(node, slot, link) {
		if (node->link.next->prev != &node->link)
			return __LINE__;
		tick = max(node->tick, clock);
		if (wheel_level(tick, clock) != level || wheel_digit(tick, level) != digit)
			return __LINE__;
		(*nr)++;
	}
	return 0;
}

static int wheel_check(const struct htw_queue *queue)
{
	const struct htw_wheel *wheel = to_const_wheel(queue);
	const struct htw_node *node;
	unsigned int level, digit;
	u64 nr = 0;
	int line;

	for (level = 0; level < wheel->levels; level++) {
		if (test_bit(level, &wheel->level_map) != (wheel->occupied[level] != 0))
			return __LINE__;
		for (digit = 0; digit < WHEEL_SLOTS; digit++) {
			line = wheel_check_slot(wheel, level, digit, &nr);
			if (line)
				return line;
		}
	}
	if (wheel->level_map >> wheel->levels)
		return __LINE__;
	list_for_each_entry(node, &wheel->moving, link) {
		if (node->link.next->prev != &node->link)
			return __LINE__;
		nr++;
	}
	return nr == queue->nr ? 0 : __LINE__;
}

static struct htw_queue *wheel_create(unsigned int tick_bits, u64 clock_tick, int numa)
{
	unsigned int levels = (tick_bits + WHEEL_BITS - 1) / WHEEL_BITS;
	struct htw_wheel *wheel;
	unsigned int i;

	wheel = kvzalloc_node(struct_size(wheel, slot, levels * WHEEL_SLOTS), GFP_KERNEL_ACCOUNT, numa);
	if (!wheel)
		return NULL;
	wheel->queue.design = &htw_wheel_design;
	wheel->queue.clock_tick = clock_tick;
	wheel->levels = levels;
	INIT_LIST_HEAD(&wheel->moving);
	for (i = 0; i < levels * WHEEL_SLOTS; i++)
		INIT_LIST_HEAD(&wheel->slot[i]);
	return &wheel->queue;
}

static void wheel_destroy(struct htw_queue *queue)
{
	kvfree(to_wheel(queue));
}

const struct htw_design htw_wheel_design = {
	.name		= "wheel",
	.create		= wheel_create,
	.destroy	= wheel_destroy,
	.add		= wheel_add,
	.del		= wheel_del,
	.next		= wheel_next,
	.advance	= wheel_advance,
	.take		= wheel_take,
	.check		= wheel_check,
	.place		= wheel_place,
	.geometry	= wheel_geometry,
};
