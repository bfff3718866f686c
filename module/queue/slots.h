/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slots: lists of nodes, and a bitmap of those that are occupied. What wheels are made of; a design
 * that is one begins its own struct with struct htw_slots and has most of its operations here.
 *
 * A node does not know its slot. It need not: only if it is the last one does a bit have to go, and
 * then both its neighbours are the head, whose address tells. So every list of such a design has to
 * be a slot, or a lane of one.
 *
 * Lanes. A list can only be walked by one step after the other: of a million nodes each is a cache
 * miss, and the address of the next one comes with it. A slot may therefore have several lists, its
 * lanes. They are drained side by side, and the next node of each is fetched while those of the
 * others are dealt with. The price is memory for the heads, and the order of arrival, which one
 * lane keeps and several do not.
 */
#ifndef HTW_SLOTS_H
#define HTW_SLOTS_H

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/prefetch.h>

#include "queue.h"

/* The most lanes that a slot may have: enough to hide a miss behind the work for other nodes. */
#define HTW_LANES	8U

/* Nodes whose addresses differ by less share a lane: those of the engine lie so far apart. */
#define HTW_LANE_BYTES	64U

/**
 * struct htw_slots - a queue made of slots
 * @queue: the common part
 * @next_tick: what next() says: never later than it has to be, HTW_TICK_NONE if the queue is empty
 * @nr: slots
 * @lanes: lists of a slot, a power of two up to HTW_LANES
 * @map: bit n is set if slot n is occupied
 * @head: the lists, those of a slot side by side
 */
struct htw_slots {
	struct htw_queue	queue;
	u64			next_tick;
	unsigned int		nr;
	unsigned int		lanes;
	unsigned long		*map;
	struct list_head	*head;
};

#define to_slots(_queue)	container_of(_queue, struct htw_slots, queue)

static inline bool htw_slots_occupied(const struct htw_slots *slots, unsigned int slot)
{
	return test_bit(slot, slots->map);
}

/* The lane is the address's: no counter, and neighbours in memory lie in different ones. */
static inline void htw_slots_put(struct htw_slots *slots, unsigned int slot, struct htw_node *node)
{
	unsigned int lane = (unsigned long)node / HTW_LANE_BYTES & (slots->lanes - 1);

	list_add_tail(&node->link, &slots->head[slot * slots->lanes + lane]);
	__set_bit(slot, slots->map);
}

static inline bool htw_slots_empty(const struct htw_slots *slots, unsigned int slot)
{
	const struct list_head *head = &slots->head[slot * slots->lanes];
	unsigned int lane = 0;

	while (lane < slots->lanes && list_empty(&head[lane]))
		lane++;
	return lane == slots->lanes;
}

static inline void htw_slots_remove(struct htw_slots *slots, struct htw_node *node)
{
	struct list_head *head = node->link.next;
	bool last = head == node->link.prev;
	unsigned int slot;

	list_del(&node->link);
	if (!last)
		return;
	slot = (head - slots->head) / slots->lanes;
	if (htw_slots_empty(slots, slot))
		__clear_bit(slot, slots->map);
}

/* The first node of a slot that is occupied, of a design with one lane. */
static inline struct htw_node *htw_slots_first(const struct htw_slots *slots, unsigned int slot)
{
	return list_first_entry(&slots->head[slot], struct htw_node, link);
}

/* Append the nodes of one slot, which is occupied, to another. */
static inline void htw_slots_splice(struct htw_slots *slots, unsigned int from, unsigned int to)
{
	unsigned int lane;

	for (lane = 0; lane < slots->lanes; lane++)
		list_splice_tail_init(&slots->head[from * slots->lanes + lane],
				      &slots->head[to * slots->lanes + lane]);
	__clear_bit(from, slots->map);
	__set_bit(to, slots->map);
}

/* A node was added that wants attention at @tick: what add() says to that. */
static inline bool htw_slots_added(struct htw_slots *slots, u64 tick)
{
	slots->queue.nr++;
	if (tick >= slots->next_tick)
		return false;
	slots->next_tick = tick;
	return true;
}

/**
 * htw_slots_ahead() - how far the next occupied slot of a ring is
 * @slots: the slots
 * @ring: first slot of the ring
 * @nr: slots of the ring
 * @at: where in the ring to begin, 0 to @nr - 1
 *
 * Return: 0 (slot @at itself) to @nr - 1, or @nr if none is occupied.
 */
static inline unsigned int htw_slots_ahead(const struct htw_slots *slots, unsigned int ring,
					   unsigned int nr, unsigned int at)
{
	unsigned long found = find_next_bit(slots->map, ring + nr, ring + at);

	if (found < ring + nr)
		return found - ring - at;
	found = find_next_bit(slots->map, ring + at, ring);
	return found < ring + at ? found + nr - ring - at : nr;
}

/**
 * struct htw_drain - a slot that is being drained
 * @nr: lanes that are not empty; the drain is at its end if there are none
 * @turn: the lane whose turn it is
 * @head: their lists
 * @at: the next node of each
 */
struct htw_drain {
	unsigned int		nr;
	unsigned int		turn;
	struct list_head	*head[HTW_LANES];
	struct list_head	*at[HTW_LANES];
};

/* Begin to drain a slot. Until the end, nothing may be put into it nor be removed from it. */
static inline void htw_drain_begin(struct htw_drain *drain, const struct htw_slots *slots,
				   unsigned int slot)
{
	struct list_head *head = &slots->head[slot * slots->lanes];
	struct list_head *end = head + slots->lanes;

	drain->nr = 0;
	drain->turn = 0;
	for (; head < end; head++) {
		if (list_empty(head))
			continue;
		drain->head[drain->nr] = head;
		drain->at[drain->nr++] = head->next;
	}
}

/*
 * The next node, which has left the slot; its links are the caller's. Neither neighbour is written
 * to: a store that misses would hold up those behind it.
 */
static inline struct htw_node *htw_drain_next(struct htw_drain *drain)
{
	unsigned int lane = drain->turn;
	struct list_head *link = drain->at[lane], *next = link->next;

	if (next != drain->head[lane]) {
		drain->at[lane++] = next;
		prefetchw(next);
	} else {
		INIT_LIST_HEAD(next);
		drain->nr--;
		drain->head[lane] = drain->head[drain->nr];
		drain->at[lane] = drain->at[drain->nr];
	}
	drain->turn = lane < drain->nr ? lane : 0;
	return list_entry(link, struct htw_node, link);
}

/* Leave in the slot what has not been drained. */
static inline void htw_drain_end(struct htw_drain *drain, struct htw_slots *slots,
				 unsigned int slot)
{
	if (!drain->nr)
		__clear_bit(slot, slots->map);
	while (drain->nr--)
		__list_del(drain->head[drain->nr], drain->at[drain->nr]);
}

struct htw_queue *htw_slots_create(const struct htw_design *design,
				   const struct htw_queue_config *config, size_t size,
				   unsigned int nr, unsigned int lanes);
u64 htw_slots_hand_out(struct htw_slots *slots, unsigned int slot, u64 max, struct list_head *out);

/* Operations of a design. */
void htw_slots_destroy(struct htw_queue *queue);
void htw_slots_del(struct htw_queue *queue, struct htw_node *node);
void htw_slots_fetch(const struct htw_node *node);
u64 htw_slots_next(const struct htw_queue *queue);
u64 htw_slots_take(struct htw_queue *queue, u64 max, struct list_head *out);
int htw_slots_check(const struct htw_queue *queue,
		    bool (*belongs)(const struct htw_queue *queue, const struct htw_node *node,
				    unsigned int slot));

#endif /* HTW_SLOTS_H */
