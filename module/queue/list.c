// SPDX-License-Identifier: GPL-2.0
/*
 * The sorted list: what everybody writes first, and what everything else has to beat.
 *
 * One list in the order of ticks. Cancel takes a node out of it, the next expiry is its head, and
 * both cost a few instructions, whatever the length. The price is the arm: it has to find its
 * place. The search begins at the end, since most timers are armed for later than those that are
 * there; with one common delay it ends at once, with random delays it sees half of the list.
 *
 * Example. 3 5 9: tick 7 is compared with 9, then with 5, and goes between them; tick 5 goes behind
 * the 5 that is there, so equal ticks leave in the order of arrival.
 *
 * It is right for a few dozen timers, where nothing is smaller or faster. With n of them a walk is
 * n cache misses under a lock, so HTW_DESIGN_LINEAR keeps it from those who could choose a large n
 * for others.
 *
 * Source: the "ordered list" of "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme 2; the
 * timer queues of early Unix kernels.
 */
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "designs.h"

/**
 * struct htw_sorted - a sorted list
 * @queue: the common part
 * @list: the nodes
 */
struct htw_sorted {
	struct htw_queue	queue;
	struct list_head	list;
};

static struct htw_sorted *to_sorted(struct htw_queue *queue)
{
	return container_of(queue, struct htw_sorted, queue);
}

static u64 sorted_next(const struct htw_queue *queue)
{
	const struct htw_sorted *sorted = container_of(queue, const struct htw_sorted, queue);

	return queue->nr ? list_first_entry(&sorted->list, struct htw_node, link)->tick :
			   HTW_TICK_NONE;
}

static bool sorted_add(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_sorted *sorted = to_sorted(queue);
	u64 before = sorted_next(queue);
	struct htw_node *other;

	/* Without one that is not later, this ends at the head. */
	list_for_each_entry_reverse(other, &sorted->list, link) {
		if (other->tick <= node->tick)
			break;
	}
	list_add(&node->link, &other->link);
	queue->nr++;
	return node->tick < before;
}

static void sorted_del(struct htw_queue *queue, struct htw_node *node)
{
	list_del(&node->link);
	queue->nr--;
}

static bool sorted_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			   struct htw_work *work)
{
	struct htw_sorted *sorted = to_sorted(queue);

	for (; sorted_next(queue) <= now; budget--) {
		if (!budget)
			return true;
		list_move_tail(sorted->list.next, due);
		queue->nr--;
		work->slots++;
		work->due++;
	}
	queue->clock_tick = max(queue->clock_tick, now);
	return false;
}

static u64 sorted_take(struct htw_queue *queue, u64 max, struct list_head *out)
{
	struct htw_sorted *sorted = to_sorted(queue);
	u64 taken;

	for (taken = 0; taken < max && queue->nr; taken++) {
		list_move_tail(sorted->list.next, out);
		queue->nr--;
	}
	return taken;
}

static int sorted_check(const struct htw_queue *queue)
{
	const struct htw_sorted *sorted = container_of(queue, const struct htw_sorted, queue);
	const struct htw_node *node;
	u64 nr = 0, last = 0;

	list_for_each_entry(node, &sorted->list, link) {
		if (node->link.next->prev != &node->link)
			return __LINE__;
		if (node->tick < last)
			return __LINE__;
		last = node->tick;
		nr++;
	}
	return nr == queue->nr ? 0 : __LINE__;
}

/* To count the nodes before it would take too long. */
static struct htw_place sorted_place(const struct htw_queue *queue, const struct htw_node *node)
{
	return (struct htw_place){};
}

static struct htw_queue *sorted_create(const struct htw_queue_config *config)
{
	struct htw_sorted *sorted;

	sorted = kzalloc_node(sizeof(*sorted), GFP_KERNEL_ACCOUNT, config->numa);
	if (!sorted)
		return NULL;
	sorted->queue.design = &htw_list_design;
	sorted->queue.clock_tick = config->clock_tick;
	INIT_LIST_HEAD(&sorted->list);
	return &sorted->queue;
}

static void sorted_destroy(struct htw_queue *queue)
{
	kfree(to_sorted(queue));
}

const struct htw_design htw_list_design = {
	.name		= "list",
	.about		= "sorted list, searched from its end",
	.costs		= "n / 1 / 1",
	.flags		= HTW_DESIGN_FIFO | HTW_DESIGN_PRECISE | HTW_DESIGN_LINEAR,
	.create		= sorted_create,
	.destroy	= sorted_destroy,
	.add		= sorted_add,
	.del		= sorted_del,
	.next		= sorted_next,
	.advance	= sorted_advance,
	.take		= sorted_take,
	.check		= sorted_check,
	.place		= sorted_place,
};
