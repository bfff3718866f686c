// SPDX-License-Identifier: GPL-2.0
/*
 * A template for a queue design of your own, which is one that works: the radix heap.
 * Documentation/own-design.rst says how to go on from here.
 *
 * (1) Begin with the argument: how a node is placed, what that costs, what it trades, an example,
 * the source. Here:
 *
 * There are 65 buckets, and a base, which is a tick that no node lies before. A node is in the
 * bucket whose number is the highest bit in which its tick differs from the base, counted from 1;
 * bucket 0 is for those that do not differ. So every node of a bucket is earlier than every node of
 * the next one, and within one there is no order. A bucket knows its earliest tick.
 *
 * When that has come, the base moves there, and the nodes of the bucket are spread over the buckets
 * below, at least one of them over bucket 0, from where they leave. The buckets above stay as they
 * are: the bits that they are about have not changed.
 *
 * Example. The base is 0. Ticks 5 and 7 go to bucket 3 (ticks 4 to 7), tick 9 to bucket 4 (8 to
 * 15). At 5 the base becomes 5: tick 5 goes to bucket 0 and leaves, 7 differs from 5 in bit 1 and
 * goes to bucket 2. At 7 it moves again, to bucket 0, and leaves.
 *
 * Add and delete cost a few instructions. A node moves down at most 64 times, mostly a few. In
 * exchange, a bucket has to be spread at once, before anything leaves from it: with n timers of one
 * distance, half of them may wait for the others' moves. And if the earliest node of a bucket is
 * deleted, the bucket still asks for a pass at its tick.
 *
 * Source: "Faster Algorithms for the Shortest Path Problem", JACM 1990.
 */
#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "designs.h"

/* One for each bit of a tick, and bucket 0. */
#define RADIXHEAP_BUCKETS	65

/**
 * struct radixheap_bucket - nodes that differ from the base in the same bit first
 * @list: the nodes, equal ticks in the order of their arrival
 * @earliest_tick: no node is earlier; means nothing if there is none
 */
struct radixheap_bucket {
	struct list_head	list;
	u64			earliest_tick;
};

/**
 * struct htw_radixheap - a radix heap
 * @queue: (2) the common part comes first; the operations get its address
 * @base_tick: the base, at or before the clock
 * @spreading: the bucket that is being spread over those below, which may take several passes; 0
 *	if none is
 * @bucket: the nodes
 */
struct htw_radixheap {
	struct htw_queue	queue;
	u64			base_tick;
	unsigned int		spreading;
	struct radixheap_bucket	bucket[RADIXHEAP_BUCKETS];
};

#define to_radixheap(_queue)	container_of(_queue, struct htw_radixheap, queue)

/* Where a tick belongs. One before the base is overdue, and as good as one at the base. */
static unsigned int radixheap_index(const struct htw_radixheap *heap, u64 tick)
{
	return tick <= heap->base_tick ? 0 : fls64(tick ^ heap->base_tick);
}

static struct radixheap_bucket *radixheap_grow(struct htw_radixheap *heap, u64 tick)
{
	struct radixheap_bucket *bucket = &heap->bucket[radixheap_index(heap, tick)];

	if (list_empty(&bucket->list) || tick < bucket->earliest_tick)
		bucket->earliest_tick = tick;
	return bucket;
}

/* The bucket to look at next, RADIXHEAP_BUCKETS if all are empty. */
static unsigned int radixheap_first(const struct htw_radixheap *heap)
{
	unsigned int i;

	/* What is to be spread may be earlier than what lies below. */
	if (!list_empty(&heap->bucket[heap->spreading].list))
		return heap->spreading;
	for (i = 0; i < RADIXHEAP_BUCKETS && list_empty(&heap->bucket[i].list); i++)
		;
	return i;
}

/*
 * (3) The tick at which advance() is to be called, and will find something to do. Too early costs a
 * pass, too late is a fault. HTW_TICK_NONE if the queue is empty, and only then.
 *
 * Never before the clock here: advance() hands out nothing before the clock's time, so to be called
 * then would be in vain, again and again.
 */
static u64 radixheap_next(const struct htw_queue *queue)
{
	const struct htw_radixheap *heap = container_of(queue, const struct htw_radixheap, queue);
	unsigned int first = radixheap_first(heap);

	if (first == RADIXHEAP_BUCKETS)
		return HTW_TICK_NONE;
	return max(heap->bucket[first].earliest_tick, queue->clock_tick);
}

/*
 * (4) The node's tick may be anything from 0 to HTW_TICK_MAX, also before the clock. The answer
 * lets the caller set the hardware only if it must.
 */
static bool radixheap_add(struct htw_queue *queue, struct htw_node *node)
{
	u64 before = radixheap_next(queue);

	list_add_tail(&node->link, &radixheap_grow(to_radixheap(queue), node->tick)->list);
	queue->nr++;
	return radixheap_next(queue) < before;
}

/* (5) Any node, at any time, also between two advance() calls of which the first has left work. */
static void radixheap_del(struct htw_queue *queue, struct htw_node *node)
{
	list_del(&node->link);
	queue->nr--;
}

/* Spread one node. From the tail to the head, because what was added meanwhile arrived later. */
static void radixheap_spread(struct htw_radixheap *heap, struct radixheap_bucket *from)
{
	struct htw_node *node = list_entry(from->list.prev, struct htw_node, link);

	list_del(&node->link);
	list_add(&node->link, &radixheap_grow(heap, node->tick)->list);
}

/*
 * (6) The heart. Count each node that is handed out or moved, in @work and against @budget, and
 * stop in such a state that the next call can go on: here with heap->spreading. The clock is moved
 * here and nowhere else.
 */
static bool radixheap_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			      struct htw_work *work)
{
	struct htw_radixheap *heap = to_radixheap(queue);
	struct radixheap_bucket *bucket;

	/*
	 * If now lies before the clock, so it does before next(): nothing leaves, so nothing early.
	 */
	while (radixheap_next(queue) <= now) {
		if (!budget)
			return true;
		/* A slot is counted when there is something to do in it. */
		work->slots++;
		heap->spreading = radixheap_first(heap);
		bucket = &heap->bucket[heap->spreading];
		if (heap->spreading) {
			heap->base_tick = bucket->earliest_tick;
			queue->clock_tick = max(queue->clock_tick, heap->base_tick);
		}
		for (; budget && !list_empty(&bucket->list); budget--) {
			if (heap->spreading) {
				radixheap_spread(heap, bucket);
				work->moves++;
				continue;
			}
			list_move_tail(bucket->list.next, due);
			queue->nr--;
			work->due++;
		}
	}
	queue->clock_tick = max(queue->clock_tick, now);
	return false;
}

/* (7) Everything has to be reachable from here, in any order. */
static u64 radixheap_take(struct htw_queue *queue, u64 max, struct list_head *out)
{
	struct htw_radixheap *heap = to_radixheap(queue);
	u64 taken;

	for (taken = 0; taken < max && queue->nr; taken++) {
		list_move_tail(heap->bucket[radixheap_first(heap)].list.next, out);
		queue->nr--;
	}
	return taken;
}

/*
 * (8) Every rule that the other operations rely on, so that a fault is found where it is made and
 * not a thousand operations later. Never called by the engine.
 */
static int radixheap_check(const struct htw_queue *queue)
{
	const struct htw_radixheap *heap = container_of(queue, const struct htw_radixheap, queue);
	const struct htw_node *node;
	unsigned int i;
	u64 nr = 0;

	if (heap->base_tick > queue->clock_tick)
		return __LINE__;
	for (i = 0; i < RADIXHEAP_BUCKETS; i++) {
		list_for_each_entry(node, &heap->bucket[i].list, link) {
			if (node->link.next->prev != &node->link)
				return __LINE__;
			if (node->tick < heap->bucket[i].earliest_tick)
				return __LINE__;
			/* The base has moved on below one that is being spread. */
			if (i != heap->spreading && i != radixheap_index(heap, node->tick))
				return __LINE__;
			nr++;
		}
	}
	return nr == queue->nr ? 0 : __LINE__;
}

/* (9) For pictures. Of one that is on its way, where it goes to. */
static struct htw_place radixheap_place(const struct htw_queue *queue, const struct htw_node *node)
{
	const struct htw_radixheap *heap = container_of(queue, const struct htw_radixheap, queue);

	return (struct htw_place){ .level = radixheap_index(heap, node->tick) };
}

/* (10) GFP_KERNEL_ACCOUNT, since anybody may have a queue made. */
static struct htw_queue *radixheap_create(const struct htw_queue_config *config)
{
	struct htw_radixheap *heap;
	unsigned int i;

	heap = kzalloc_node(sizeof(*heap), GFP_KERNEL_ACCOUNT, config->numa);
	if (!heap)
		return NULL;
	heap->queue.design = &htw_radixheap_design;
	heap->queue.clock_tick = config->clock_tick;
	heap->base_tick = config->clock_tick;
	for (i = 0; i < RADIXHEAP_BUCKETS; i++)
		INIT_LIST_HEAD(&heap->bucket[i].list);
	return &heap->queue;
}

static void radixheap_destroy(struct htw_queue *queue)
{
	kfree(to_radixheap(queue));
}

/* (11) What is not there is NULL: no shapes, no granule, no memory to reserve. */
const struct htw_design htw_radixheap_design = {
	.name		= "radixheap",
	.about		= "radix heap, buckets by the highest bit that differs",
	.costs		= "1 / 1 / amortised 64",
	.flags		= HTW_DESIGN_FIFO,
	.create		= radixheap_create,
	.destroy	= radixheap_destroy,
	.add		= radixheap_add,
	.del		= radixheap_del,
	.next		= radixheap_next,
	.advance	= radixheap_advance,
	.take		= radixheap_take,
	.check		= radixheap_check,
	.place		= radixheap_place,
};
