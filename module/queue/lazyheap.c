// SPDX-License-Identifier: GPL-2.0
/*
 * The binary min-heap with lazy deletion: a cancel only marks.
 *
 * The array is that of the indexed heap (heap.c): entry i is not later than its children 2i + 1 and
 * 2i + 2, keys lie in the array, equal ticks leave in the order of arrival. But a node that is
 * deleted leaves its entry behind, dead, and is free at once; the entry is dropped when it comes to
 * the top. That makes a cancel a store, where the indexed heap moves log2(n) entries. It pays if
 * most timers fire; if most are cancelled, as timeouts are, the heap fills with the dead, and they
 * still have to be moved to the top one by one.
 *
 * So they are bounded: there are never more than LAZY_SPARE beyond the number of the living. A
 * delete (or hand-out) that would pass the bound drops another dead entry in exchange, at log2(n)
 * steps: what is saved is a constant factor, and memory is at most twice that of the indexed heap.
 * To find a dead entry without a search, the dead are numbered, and a second array tells where each
 * is; an entry that moves brings that up to date, as it does the index of a node.
 *
 * Example. Ticks [3 5 4], and 5 is deleted: [3 x 4], one dead. 3 is due: 4 comes to the top, [4 x].
 * Had the dead one come to the top, it would have been dropped, at one unit of work; and next()
 * would have said 5, which is early, and allowed.
 *
 * Sources: "Algorithm 232: Heapsort", CACM 1964, for the heap. That a timer is marked and dropped
 * later is folklore; what becomes of it without a bound: golang/go issues 15698 and 75935.
 */
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "array.h"
#include "designs.h"

#define LAZY_SPARE	64

/**
 * struct lazy_entry - an element of the heap
 * @tick: the tick of its node
 * @seq: its number of arrival
 * @node: the node, whose index is this entry's; NULL if it is dead
 * @dead: of a dead one: its number among the dead
 */
struct lazy_entry {
	u64			tick;
	u64			seq;
	struct htw_node		*node;
	u64			dead;
};

/**
 * struct htw_lazy - a heap with lazy deletion
 * @queue: the common part; its nr is the number of the living
 * @seq: number of the next arrival; wraps, and is compared by difference
 * @dead: number of the dead; the heap has queue.nr + dead entries
 * @room: as reserved
 * @heap: of struct lazy_entry
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

static struct lazy_entry *lazy_at(const struct htw_lazy *lazy, u64 index)
{
	return htw_array_at(&lazy->heap, index, sizeof(struct lazy_entry));
}

static u64 *lazy_where(const struct htw_lazy *lazy, u64 dead)
{
	return htw_array_at(&lazy->where, dead, sizeof(u64));
}

static u64 lazy_length(const struct htw_lazy *lazy)
{
	return lazy->queue.nr + lazy->dead;
}

static bool lazy_before(const struct lazy_entry *a, const struct lazy_entry *b)
{
	if (a->tick != b->tick)
		return a->tick < b->tick;
	return (s64)(a->seq - b->seq) < 0;
}

static void lazy_set(struct htw_lazy *lazy, u64 index, struct lazy_entry entry)
{
	*lazy_at(lazy, index) = entry;
	if (entry.node)
		entry.node->index = index;
	else
		*lazy_where(lazy, entry.dead) = index;
}

/* Put @entry where its order demands, from the hole at @index on; the heap has @length entries. */
static void lazy_sift(struct htw_lazy *lazy, u64 index, u64 length, struct lazy_entry entry)
{
	u64 start = index, at;

	for (; index && lazy_before(&entry, lazy_at(lazy, (index - 1) / 2)); index = (index - 1) / 2)
		lazy_set(lazy, index, *lazy_at(lazy, (index - 1) / 2));
	while (index == start && (at = 2 * index + 1) < length) {
		if (at + 1 < length && lazy_before(lazy_at(lazy, at + 1), lazy_at(lazy, at)))
			at++;
		if (!lazy_before(lazy_at(lazy, at), &entry))
			break;
		lazy_set(lazy, index, *lazy_at(lazy, at));
		start = index = at;
	}
	lazy_set(lazy, index, entry);
}

/* Fill the hole at @index with the last of @length + 1 entries. */
static void lazy_close(struct htw_lazy *lazy, u64 index, u64 length)
{
	if (index != length)
		lazy_sift(lazy, index, length, *lazy_at(lazy, length));
}

/* Drop one of the dead. The last number takes over the one that becomes free. */
static void lazy_drop(struct htw_lazy *lazy, u64 dead)
{
	u64 index = *lazy_where(lazy, dead), last = *lazy_where(lazy, --lazy->dead);

	*lazy_where(lazy, dead) = last;
	lazy_at(lazy, last)->dead = dead;
	lazy_close(lazy, index, lazy_length(lazy));
}

/* After a living one has gone. */
static void lazy_keep_bound(struct htw_lazy *lazy)
{
	if (!lazy->queue.nr)
		lazy->dead = 0;
	if (lazy->dead > lazy->queue.nr + LAZY_SPARE)
		lazy_drop(lazy, lazy->dead - 1);
}

static u64 lazy_next(const struct htw_queue *queue)
{
	return queue->nr ? lazy_at(to_const_lazy(queue), 0)->tick : HTW_TICK_NONE;
}

static bool lazy_add(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_lazy *lazy = to_lazy(queue);
	u64 before = lazy_next(queue), length = lazy_length(lazy);

	queue->nr++;
	lazy_sift(lazy, length, length + 1, (struct lazy_entry){
		.tick = node->tick, .seq = lazy->seq++, .node = node });
	return node->tick < before;
}

static void lazy_del(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_lazy *lazy = to_lazy(queue);
	struct lazy_entry *entry = lazy_at(lazy, node->index);

	queue->nr--;
	entry->node = NULL;
	entry->dead = lazy->dead;
	*lazy_where(lazy, lazy->dead++) = node->index;
	/* Now there may be one too many, and one fewer living: twice. */
	lazy_keep_bound(lazy);
	lazy_keep_bound(lazy);
}

static bool lazy_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			 struct htw_work *work)
{
	struct htw_lazy *lazy = to_lazy(queue);
	struct htw_node *node;

	for (; lazy_next(queue) <= now; budget--) {
		if (!budget)
			return true;
		work->slots++;
		node = lazy_at(lazy, 0)->node;
		if (!node) {
			lazy_drop(lazy, lazy_at(lazy, 0)->dead);
			work->moves++;
			continue;
		}
		queue->nr--;
		lazy_close(lazy, 0, lazy_length(lazy));
		lazy_keep_bound(lazy);
		list_add_tail(&node->link, due);
		work->due++;
	}
	queue->clock_tick = max(queue->clock_tick, now);
	return false;
}

static u64 lazy_take(struct htw_queue *queue, u64 max, struct list_head *out)
{
	struct htw_lazy *lazy = to_lazy(queue);
	struct htw_node *node;
	u64 taken = 0;

	while (taken < max && queue->nr) {
		node = lazy_at(lazy, lazy_length(lazy) - 1)->node;
		if (!node) {
			lazy_drop(lazy, lazy_at(lazy, lazy_length(lazy) - 1)->dead);
			continue;
		}
		queue->nr--;
		lazy_keep_bound(lazy);
		list_add_tail(&node->link, out);
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
	const struct lazy_entry *entry;
	u64 i, dead = 0;

	for (i = 0; i < lazy_length(lazy); i++) {
		entry = lazy_at(lazy, i);
		if (entry->node ? entry->node->index != i || entry->node->tick != entry->tick :
				  entry->dead >= lazy->dead || *lazy_where(lazy, entry->dead) != i)
			return __LINE__;
		if (i && lazy_before(entry, lazy_at(lazy, (i - 1) / 2)))
			return __LINE__;
		dead += !entry->node;
	}
	return dead == lazy->dead && dead <= queue->nr + LAZY_SPARE ? 0 : __LINE__;
}

/* At a delete there may be two more entries, for a moment, than the bound allows. */
static int lazy_reserve(struct htw_queue *queue, u64 nr)
{
	struct htw_lazy *lazy = to_lazy(queue);
	u64 spare = nr || lazy->queue.nr ? LAZY_SPARE + 2 : 0;

	if (nr > U32_MAX)
		return -ENOMEM;
	if (htw_array_reserve(&lazy->heap, 2 * nr + spare, sizeof(struct lazy_entry)))
		return -ENOMEM;
	if (htw_array_reserve(&lazy->where, nr + spare, sizeof(u64))) {
		spare = lazy->room ? LAZY_SPARE + 2 : 0;
		htw_array_reserve(&lazy->heap, 2 * lazy->room + spare, sizeof(struct lazy_entry));
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
