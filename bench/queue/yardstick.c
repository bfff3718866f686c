// SPDX-License-Identifier: GPL-2.0
/*
 * The yardstick: a plain linked wheel, of the same nodes, and no more than that.
 *
 * Four levels of 256 slots, each slot one circular list; the level by what is left, the slot by the
 * tick. When the clock comes to a multiple of 256^n, the slot of level n that begins there is
 * emptied into the levels below. Kernels had that for twenty years; it is what one writes first.
 *
 * It keeps no bitmap. So arm and cancel do nothing but link and unlink, which is what makes it a
 * hard yardstick for them; and the clock goes tick by tick, over a day too, and the next expiry is
 * looked for in the slots, which is what that costs.
 *
 * It hands out within a budget, but empties a slot into the levels below in one go.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "bench.h"

#define YARDSTICK_LEVELS	4
#define YARDSTICK_BITS		8
#define YARDSTICK_SLOTS		(1 << YARDSTICK_BITS)
#define YARDSTICK_REACH		(1ULL << YARDSTICK_LEVELS * YARDSTICK_BITS)

/**
 * struct yardstick - a plain wheel
 * @queue: the common part; all slots up to its clock have been worked off
 * @slot: the lists
 */
struct yardstick {
	struct htw_queue	queue;
	struct list_head	slot[YARDSTICK_LEVELS][YARDSTICK_SLOTS];
};

static struct yardstick *to_yardstick(const struct htw_queue *queue)
{
	return (struct yardstick *)container_of(queue, const struct yardstick, queue);
}

static struct list_head *yardstick_slot(struct yardstick *wheel, unsigned int level, u64 tick)
{
	return &wheel->slot[level][tick >> level * YARDSTICK_BITS & (YARDSTICK_SLOTS - 1)];
}

/* What is farther than the wheel reaches goes as far as that does, and is put in again there. */
static void yardstick_put(struct yardstick *wheel, struct htw_node *node)
{
	u64 clock = wheel->queue.clock_tick, left = max(node->tick, clock) - clock;
	unsigned int level;

	left = min(left, YARDSTICK_REACH - 1);
	level = left < YARDSTICK_SLOTS ? 0 : (fls64(left) - 1) / YARDSTICK_BITS;
	list_add_tail(&node->link, yardstick_slot(wheel, level, clock + left));
}

static bool yardstick_add(struct htw_queue *queue, struct htw_node *node)
{
	yardstick_put(to_yardstick(queue), node);
	queue->nr++;
	return true;
}

static void yardstick_del(struct htw_queue *queue, struct htw_node *node)
{
	list_del(&node->link);
	queue->nr--;
}

static void yardstick_cascade(struct yardstick *wheel, unsigned int level, struct htw_work *work)
{
	struct list_head *slot = yardstick_slot(wheel, level, wheel->queue.clock_tick);
	struct htw_node *node, *next;
	LIST_HEAD(list);

	list_splice_tail_init(slot, &list);
	list_for_each_entry_safe(node, next, &list, link) {
		yardstick_put(wheel, node);
		work->moves++;
	}
}

static void yardstick_tick(struct yardstick *wheel, struct htw_work *work)
{
	u64 clock = ++wheel->queue.clock_tick;
	unsigned int level;

	for (level = YARDSTICK_LEVELS - 1; level; level--) {
		if (!(clock & ((1ULL << level * YARDSTICK_BITS) - 1)))
			yardstick_cascade(wheel, level, work);
	}
}

static bool yardstick_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			      struct htw_work *work)
{
	struct yardstick *wheel = to_yardstick(queue);
	struct list_head *slot;

	for (;;) {
		slot = yardstick_slot(wheel, 0, queue->clock_tick);
		for (; !list_empty(slot); budget--) {
			if (!budget)
				return true;
			list_move_tail(slot->next, due);
			queue->nr--;
			work->due++;
		}
		if (queue->clock_tick >= now)
			return false;
		yardstick_tick(wheel, work);
	}
}

/* The first occupied slot of each level, from the clock's on. */
static u64 yardstick_next(const struct htw_queue *queue)
{
	struct yardstick *wheel = to_yardstick(queue);
	u64 next = HTW_TICK_NONE, number;
	unsigned int level, ahead, shift;

	for (level = 0; level < YARDSTICK_LEVELS && queue->nr; level++) {
		shift = level * YARDSTICK_BITS;
		/* Above the lowest level, the clock's own slot is that of the next turn. */
		for (ahead = level ? 1 : 0; ahead <= YARDSTICK_SLOTS; ahead++) {
			number = (queue->clock_tick >> shift) + ahead;
			if (number << shift >= next)
				break;
			if (!list_empty(yardstick_slot(wheel, level, number << shift)))
				next = number << shift;
		}
	}
	return next;
}

static struct htw_queue *yardstick_create(const struct htw_queue_config *config)
{
	struct yardstick *wheel = kzalloc(sizeof(*wheel), GFP_KERNEL);
	unsigned int i;

	if (!wheel)
		return NULL;
	wheel->queue.design = &yardstick_design;
	wheel->queue.clock_tick = config->clock_tick;
	for (i = 0; i < YARDSTICK_LEVELS * YARDSTICK_SLOTS; i++)
		INIT_LIST_HEAD(&wheel->slot[0][0] + i);
	return &wheel->queue;
}

static void yardstick_destroy(struct htw_queue *queue)
{
	kfree(to_yardstick(queue));
}

/* Only what is measured; the tests never see it. */
const struct htw_design yardstick_design = {
	.name		= "yardstick",
	.about		= "plain linked wheel, 4 x 256",
	.costs		= "1 / 1 / amortised 1",
	.create		= yardstick_create,
	.destroy	= yardstick_destroy,
	.add		= yardstick_add,
	.del		= yardstick_del,
	.next		= yardstick_next,
	.advance	= yardstick_advance,
};
