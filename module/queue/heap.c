// SPDX-License-Identifier: GPL-2.0
/*
 * The binary min-heap, indexed: the baseline that every other design is compared with.
 *
 * An array in which entry i is not later than its children 2i + 1 and 2i + 2, so that the earliest
 * is entry 0. Each node knows its index, so that one which is deleted leaves at once: the last
 * entry takes its place and moves up or down until the order holds again. Add, delete and hand-out
 * cost log2(n) steps; the next expiry is a look at entry 0, and is exact.
 *
 * The order is by (tick, sequence number), so equal ticks leave in the order of arrival. Keys lie
 * in the array, not in the nodes: comparing entries then touches a small, dense piece of memory
 * instead of a cache line for each timer, which is what makes an array heap hard to beat below some
 * 100,000 timers. (Each step does store the new index in the node that it moves.)
 *
 * Example. Ticks 3, 5, 4, 9, 6 are the array [3 5 4 9 6]. Deleting 3 puts 6 on top: [6 5 4 9]; its
 * smaller child is 4, so they change places: [4 5 6 9].
 *
 * Sources: "Algorithm 232: Heapsort", CACM 1964; deletion by index as in
 * libevent's and Go's timer heaps.
 */
#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "designs.h"
#include "sift.h"

/**
 * struct htw_heap - an indexed heap
 * @queue: the common part; its nr is the length of the array
 * @seq: number of the next arrival; wraps, and is compared by difference
 * @array: of struct htw_entry
 */
struct htw_heap {
	struct htw_queue	queue;
	u64			seq;
	struct htw_array	array;
};

static struct htw_heap *to_heap(struct htw_queue *queue)
{
	return container_of(queue, struct htw_heap, queue);
}

static void heap_set(struct htw_array *array, u64 index, struct htw_entry entry)
{
	*htw_entry_at(array, index) = entry;
	htw_entry_node(&entry)->index = index;
}

static u64 heap_next(const struct htw_queue *queue)
{
	const struct htw_heap *heap = container_of(queue, const struct htw_heap, queue);

	return queue->nr ? htw_entry_at(&heap->array, 0)->tick : HTW_TICK_NONE;
}

static bool heap_add(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_heap *heap = to_heap(queue);
	struct htw_entry entry = { .tick = node->tick, .seq = heap->seq++ };
	u64 before = heap_next(queue), index = queue->nr++;

	node->seq = entry.seq;
	entry.owner = (unsigned long)node;
	htw_sift(&heap->array, queue->nr, index, entry, heap_set);
	return node->tick < before;
}

/* The last entry fills the hole; it may belong above it or below it. */
static void heap_del(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_heap *heap = to_heap(queue);
	u64 length = --queue->nr, index = node->index;

	if (index != length)
		htw_sift(&heap->array, length, index, *htw_entry_at(&heap->array, length),
			 heap_set);
}

static bool heap_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			 struct htw_work *work)
{
	struct htw_heap *heap = to_heap(queue);
	struct htw_node *node;

	for (; heap_next(queue) <= now; budget--) {
		if (!budget)
			return true;
		node = htw_entry_node(htw_entry_at(&heap->array, 0));
		heap_del(queue, node);
		list_add_tail(&node->link, due);
		work->slots++;
		work->due++;
	}
	queue->clock_tick = max(queue->clock_tick, now);
	return false;
}

/* From the end of the array, where a removal moves nothing. */
static u64 heap_take(struct htw_queue *queue, u64 max, struct list_head *out)
{
	struct htw_heap *heap = to_heap(queue);
	struct htw_node *node;
	u64 taken;

	for (taken = 0; taken < max && queue->nr; taken++) {
		node = htw_entry_node(htw_entry_at(&heap->array, --queue->nr));
		list_add_tail(&node->link, out);
	}
	return taken;
}

static struct htw_place heap_place(const struct htw_queue *queue, const struct htw_node *node)
{
	return (struct htw_place){ .level = fls64(node->index + 1) - 1, .slot = node->index };
}

static int heap_check(const struct htw_queue *queue)
{
	const struct htw_heap *heap = container_of(queue, const struct htw_heap, queue);
	const struct htw_entry *entry;
	const struct htw_node *node;
	u64 i;

	for (i = 0; i < queue->nr; i++) {
		entry = htw_entry_at(&heap->array, i);
		node = htw_entry_node(entry);
		if (node->index != i)
			return __LINE__;
		if (node->tick != entry->tick || node->seq != entry->seq)
			return __LINE__;
		if (i && htw_entry_before(entry, htw_entry_at(&heap->array, (i - 1) / 2)))
			return __LINE__;
	}
	return 0;
}

static int heap_reserve(struct htw_queue *queue, u64 nr)
{
	return htw_array_reserve(&to_heap(queue)->array, nr, sizeof(struct htw_entry));
}

static struct htw_queue *heap_create(const struct htw_queue_config *config)
{
	struct htw_heap *heap;

	heap = kzalloc_node(sizeof(*heap), GFP_KERNEL_ACCOUNT, config->numa);
	if (!heap)
		return NULL;
	heap->queue.design = &htw_heap_design;
	heap->queue.clock_tick = config->clock_tick;
	heap->seq = HTW_COUNTER_START;
	return &heap->queue;
}

static void heap_destroy(struct htw_queue *queue)
{
	heap_reserve(queue, 0);
	kfree(to_heap(queue));
}

const struct htw_design htw_heap_design = {
	.name		= "heap",
	.about		= "indexed binary min-heap",
	.costs		= "log n / log n / log n",
	.flags		= HTW_DESIGN_FIFO | HTW_DESIGN_PRECISE,
	.create		= heap_create,
	.destroy	= heap_destroy,
	.reserve	= heap_reserve,
	.add		= heap_add,
	.del		= heap_del,
	.next		= heap_next,
	.advance	= heap_advance,
	.take		= heap_take,
	.check		= heap_check,
	.place		= heap_place,
};
