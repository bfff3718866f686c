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

#include "array.h"
#include "designs.h"

/**
 * struct heap_entry - an element of the array
 * @tick: the node's tick
 * @seq: its number of arrival
 * @node: the node, whose index is this entry's
 */
struct heap_entry {
	u64			tick;
	u64			seq;
	struct htw_node		*node;
};

/**
 * struct htw_heap - an indexed heap
 * @queue: the common part; its nr is the length of the array
 * @seq: number of the next arrival; wraps, and is compared by difference
 * @array: of struct heap_entry
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

static struct heap_entry *heap_at(const struct htw_heap *heap, u64 index)
{
	return htw_array_at(&heap->array, index, sizeof(struct heap_entry));
}

/* Equal ticks: by arrival. Right as long as there are not 2^63 arrivals between two nodes. */
static bool heap_before(const struct heap_entry *a, const struct heap_entry *b)
{
	if (a->tick != b->tick)
		return a->tick < b->tick;
	return (s64)(a->seq - b->seq) < 0;
}

static void heap_set(struct htw_heap *heap, u64 index, struct heap_entry entry)
{
	*heap_at(heap, index) = entry;
	entry.node->index = index;
}

/* Move @entry from the hole at @index towards the top, as far as its order demands. */
static void heap_sift_up(struct htw_heap *heap, u64 index, struct heap_entry entry)
{
	struct heap_entry *parent;

	while (index) {
		parent = heap_at(heap, (index - 1) / 2);
		if (!heap_before(&entry, parent))
			break;
		heap_set(heap, index, *parent);
		index = (index - 1) / 2;
	}
	heap_set(heap, index, entry);
}

/* Move @entry from the hole at @index towards the bottom. */
static void heap_sift_down(struct htw_heap *heap, u64 index, struct heap_entry entry)
{
	u64 nr = heap->queue.nr;
	struct heap_entry *child;
	u64 at;

	while ((at = 2 * index + 1) < nr) {
		child = heap_at(heap, at);
		if (at + 1 < nr && heap_before(heap_at(heap, at + 1), child))
			child = heap_at(heap, ++at);
		if (!heap_before(child, &entry))
			break;
		heap_set(heap, index, *child);
		index = at;
	}
	heap_set(heap, index, entry);
}

static u64 heap_next(const struct htw_queue *queue)
{
	const struct htw_heap *heap = container_of(queue, const struct htw_heap, queue);

	return queue->nr ? heap_at(heap, 0)->tick : HTW_TICK_NONE;
}

static bool heap_add(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_heap *heap = to_heap(queue);
	struct heap_entry entry = { .tick = node->tick, .seq = heap->seq++, .node = node };
	u64 before = heap_next(queue);

	node->seq = entry.seq;
	heap_sift_up(heap, queue->nr++, entry);
	return node->tick < before;
}

/* The last entry fills the hole; it may belong above it or below it. */
static void heap_del(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_heap *heap = to_heap(queue);
	u64 index = node->index;
	struct heap_entry last = *heap_at(heap, --queue->nr);

	if (index == queue->nr)
		return;
	if (index && heap_before(&last, heap_at(heap, (index - 1) / 2)))
		heap_sift_up(heap, index, last);
	else
		heap_sift_down(heap, index, last);
}

static bool heap_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			 struct htw_work *work)
{
	struct htw_heap *heap = to_heap(queue);
	struct htw_node *node;

	for (; heap_next(queue) <= now; budget--) {
		if (!budget)
			return true;
		node = heap_at(heap, 0)->node;
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
		node = heap_at(heap, --queue->nr)->node;
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
	const struct heap_entry *entry;
	u64 i;

	for (i = 0; i < queue->nr; i++) {
		entry = heap_at(heap, i);
		if (entry->node->index != i)
			return __LINE__;
		if (entry->node->tick != entry->tick || entry->node->seq != entry->seq)
			return __LINE__;
		if (i && heap_before(entry, heap_at(heap, (i - 1) / 2)))
			return __LINE__;
	}
	return 0;
}

static int heap_reserve(struct htw_queue *queue, u64 nr)
{
	return htw_array_reserve(&to_heap(queue)->array, nr, sizeof(struct heap_entry));
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
