// SPDX-License-Identifier: GPL-2.0
/*
 * The binary min-heap with lazy deletion: a cancel only marks.
 *
 * The array is that of the indexed heap (heap.c). But a node that is deleted leaves its entry
 * behind, dead, and is free at once; the entry is dropped when it comes to the top. So a cancel is
 * a store, where the indexed heap moves log2(n) entries, which pays if most timers fire.
 *
 * They are bounded: never more than LAZY_SPARE beyond the number of the living. A delete that would
 * pass the bound drops others in exchange, at log2(n) steps, so what is saved is a constant factor,
 * and memory is twice that of the indexed heap. To find a dead entry without a search, the dead are
 * numbered, and a second array tells where each is.
 *
 * Example. Ticks [3 5 4], and 5 is deleted: [3 x 4]. 3 is due: 4 comes to the top, [4 x]. Had the
 * dead one come there, it would have been dropped.
 *
 * Sources: folklore; what becomes of it without a bound: golang/go issues 15698 and 75935.
 */
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "designs.h"
#include "sift.h"

#define LAZY_SPARE	64

/**
 * struct htw_lazy - a heap with lazy deletion
 * @queue: the common part; its nr is the number of the living
 * @seq: number of the next arrival
 * @dead: number of the dead; the heap has queue.nr + dead entries
 * @room: as reserved
 * @heap: of struct htw_entry
 * @where: of u64: for each of the dead, its position in the heap
 */
struct htw_lazy {
	struct htw_queue	queue;
	u64			seq;
	u64			dead;
	u64			room;
	struct htw_array	heap;
	struct htw_array	where;
};

#define to_lazy(_queue)		container_of(_queue, struct htw_lazy, queue)
#define to_const_lazy(_queue)	container_of(_queue, const struct htw_lazy, queue)

static u64 *lazy_where(const struct htw_lazy *lazy, u64 dead)
{
	return htw_array_at(&lazy->where, dead, sizeof(u64));
}

static u64 lazy_length(const struct htw_lazy *lazy)
{
	return lazy->queue.nr + lazy->dead;
}

/* The owner of a dead one is twice its number among the dead, and one. */
static bool lazy_is_dead(const struct htw_entry *entry)
{
	return entry->owner & 1;
}

static void lazy_set(struct htw_array *heap, u64 index, struct htw_entry entry)
{
	*htw_entry_at(heap, index) = entry;
	if (lazy_is_dead(&entry))
		*lazy_where(container_of(heap, struct htw_lazy, heap), entry.owner >> 1) = index;
	else
		htw_entry_node(&entry)->index = index;
}

/* Fill the hole at @index with the last entry; the counts are those without it. */
static void lazy_close(struct htw_lazy *lazy, u64 index)
{
	u64 length = lazy_length(lazy);

	if (index != length)
		htw_sift(&lazy->heap, length, index, *htw_entry_at(&lazy->heap, length), lazy_set);
}

/* Drop one of the dead. The last number takes over the one that becomes free. */
static void lazy_drop(struct htw_lazy *lazy, u64 dead)
{
	u64 index = *lazy_where(lazy, dead), last = *lazy_where(lazy, --lazy->dead);

	*lazy_where(lazy, dead) = last;
	htw_entry_at(&lazy->heap, last)->owner = dead << 1 | 1;
	lazy_close(lazy, index);
}

/* After a living one has gone, and may have left a dead one: two may be too many. */
static void lazy_keep_bound(struct htw_lazy *lazy)
{
	if (!lazy->queue.nr)
		lazy->dead = 0;
	while (lazy->dead > lazy->queue.nr + LAZY_SPARE)
		lazy_drop(lazy, lazy->dead - 1);
}

static u64 lazy_next(const struct htw_queue *queue)
{
	return queue->nr ? htw_entry_at(&to_const_lazy(queue)->heap, 0)->tick : HTW_TICK_NONE;
}

static bool lazy_add(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_lazy *lazy = to_lazy(queue);
	u64 before = lazy_next(queue), length = lazy_length(lazy);

	queue->nr++;
	htw_sift(&lazy->heap, length + 1, length, (struct htw_entry){
		.tick = node->tick, .seq = lazy->seq++, .owner = (unsigned long)node }, lazy_set);
	return node->tick < before;
}

static void lazy_del(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_lazy *lazy = to_lazy(queue);

	queue->nr--;
	htw_entry_at(&lazy->heap, node->index)->owner = lazy->dead << 1 | 1;
	*lazy_where(lazy, lazy->dead++) = node->index;
	lazy_keep_bound(lazy);
}

static bool lazy_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			 struct htw_work *work)
{
	struct htw_lazy *lazy = to_lazy(queue);
	struct htw_entry *first;

	for (; lazy_next(queue) <= now; budget--) {
		if (!budget)
			return true;
		work->slots++;
		first = htw_entry_at(&lazy->heap, 0);
		if (lazy_is_dead(first)) {
			lazy_drop(lazy, first->owner >> 1);
			work->moves++;
			continue;
		}
		list_add_tail(&htw_entry_node(first)->link, due);
		queue->nr--;
		lazy_close(lazy, 0);
		lazy_keep_bound(lazy);
		work->due++;
	}
	queue->clock_tick = max(queue->clock_tick, now);
	return false;
}

static u64 lazy_take(struct htw_queue *queue, u64 max, struct list_head *out)
{
	struct htw_lazy *lazy = to_lazy(queue);
	struct htw_entry *last;
	u64 taken = 0;

	while (taken < max && queue->nr) {
		last = htw_entry_at(&lazy->heap, lazy_length(lazy) - 1);
		if (lazy_is_dead(last)) {
			lazy_drop(lazy, last->owner >> 1);
			continue;
		}
		list_add_tail(&htw_entry_node(last)->link, out);
		queue->nr--;
		lazy_keep_bound(lazy);
		taken++;
	}
	return taken;
}

static struct htw_place lazy_place(const struct htw_queue *queue, const struct htw_node *node)
{
	return (struct htw_place){ .level = fls64(node->index + 1) - 1, .slot = node->index };
}

static int lazy_check(const struct htw_queue *queue)
{
	const struct htw_lazy *lazy = to_const_lazy(queue);
	const struct htw_entry *entry;
	u64 i, at, dead = 0;

	for (i = 0; i < lazy_length(lazy); i++) {
		entry = htw_entry_at(&lazy->heap, i);
		at = entry->owner >> 1;
		if (lazy_is_dead(entry) ? at >= lazy->dead || *lazy_where(lazy, at) != i :
		    htw_entry_node(entry)->index != i || htw_entry_node(entry)->tick != entry->tick)
			return __LINE__;
		if (i && htw_entry_before(entry, htw_entry_at(&lazy->heap, (i - 1) / 2)))
			return __LINE__;
		dead += lazy_is_dead(entry);
	}
	return dead == lazy->dead && dead <= queue->nr + LAZY_SPARE ? 0 : __LINE__;
}

/* At a delete there may be two more entries, for a moment, than the bound allows. */
static int lazy_reserve(struct htw_queue *queue, u64 nr)
{
	struct htw_lazy *lazy = to_lazy(queue);
	u64 spare = nr ? LAZY_SPARE + 2 : 0;

	if (nr > U32_MAX ||
	    htw_array_reserve(&lazy->heap, 2 * nr + spare, sizeof(struct htw_entry)))
		return -ENOMEM;
	if (htw_array_reserve(&lazy->where, nr + spare, sizeof(u64))) {
		spare = lazy->room ? LAZY_SPARE + 2 : 0;
		htw_array_reserve(&lazy->heap, 2 * lazy->room + spare, sizeof(struct htw_entry));
		return -ENOMEM;
	}
	lazy->room = nr;
	return 0;
}

static struct htw_queue *lazy_create(const struct htw_queue_config *config)
{
	struct htw_lazy *lazy;

	lazy = kzalloc_node(sizeof(*lazy), GFP_KERNEL_ACCOUNT, config->numa);
	if (!lazy)
		return NULL;
	lazy->queue.design = &htw_lazyheap_design;
	lazy->queue.clock_tick = config->clock_tick;
	lazy->seq = HTW_COUNTER_START;
	return &lazy->queue;
}

static void lazy_destroy(struct htw_queue *queue)
{
	lazy_reserve(queue, 0);
	kfree(to_lazy(queue));
}

const struct htw_design htw_lazyheap_design = {
	.name		= "lazyheap",
	.about		= "binary min-heap, lazy deletion, dead entries bounded",
	.costs		= "log n / 1 to log n / log n",
	.flags		= HTW_DESIGN_FIFO,
	.create		= lazy_create,
	.destroy	= lazy_destroy,
	.reserve	= lazy_reserve,
	.add		= lazy_add,
	.del		= lazy_del,
	.next		= lazy_next,
	.advance	= lazy_advance,
	.take		= lazy_take,
	.check		= lazy_check,
	.place		= lazy_place,
};
