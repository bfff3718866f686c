/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slots: lists of nodes, and a bitmap of those that are occupied. What wheels are made of; a design
 * that is one begins its own struct with struct htw_slots and has most of its operations here.
 *
 * A node does not know its slot. It need not: only if it is the last one does a bit have to go, and
 * then both its neighbours are the head, whose address tells. So every list of such a design has to
 * be a slot.
 */
#ifndef HTW_SLOTS_H
#define HTW_SLOTS_H

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/list.h>

#include "queue.h"

/**
 * struct htw_slots - a queue made of slots
 * @queue: the common part
 * @next_tick: what next() says: never later than it has to be, HTW_TICK_NONE if the queue is empty
 * @nr: slots
 * @map: bit n is set if slot n is occupied
 * @head: the lists
 */
struct htw_slots {
	struct htw_queue	queue;
	u64			next_tick;
	unsigned int		nr;
	unsigned long		*map;
	struct list_head	*head;
};

#define to_slots(_queue)	container_of(_queue, struct htw_slots, queue)

static inline bool htw_slots_occupied(const struct htw_slots *slots, unsigned int slot)
{
	return test_bit(slot, slots->map);
}

static inline void htw_slots_put(struct htw_slots *slots, unsigned int slot, struct htw_node *node)
{
	list_add_tail(&node->link, &slots->head[slot]);
	__set_bit(slot, slots->map);
}

static inline void htw_slots_remove(struct htw_slots *slots, struct htw_node *node)
{
	struct list_head *head = node->link.next;
	bool last = head == node->link.prev;

	list_del(&node->link);
	if (last)
		__clear_bit(head - slots->head, slots->map);
}

/* The first node of a slot that is occupied. */
static inline struct htw_node *htw_slots_first(const struct htw_slots *slots, unsigned int slot)
{
	return list_first_entry(&slots->head[slot], struct htw_node, link);
}

/* Append the nodes of one slot, which is occupied, to another. */
static inline void htw_slots_splice(struct htw_slots *slots, unsigned int from, unsigned int to)
{
	list_splice_tail_init(&slots->head[from], &slots->head[to]);
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

struct htw_queue *htw_slots_create(const struct htw_design *design,
				   const struct htw_queue_config *config, size_t size,
				   unsigned int nr);
u64 htw_slots_hand_out(struct htw_slots *slots, unsigned int slot, u64 max, struct list_head *out);

/* Operations of a design. */
void htw_slots_destroy(struct htw_queue *queue);
void htw_slots_del(struct htw_queue *queue, struct htw_node *node);
u64 htw_slots_next(const struct htw_queue *queue);
u64 htw_slots_take(struct htw_queue *queue, u64 max, struct list_head *out);
int htw_slots_check(const struct htw_queue *queue,
		    bool (*belongs)(const struct htw_queue *queue, const struct htw_node *node,
				    unsigned int slot));

#endif /* HTW_SLOTS_H */
