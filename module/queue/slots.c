// SPDX-License-Identifier: GPL-2.0
/*
 * Slots: their memory, and the operations that all designs made of them share.
 */
#include <linux/kernel.h>
#include <linux/slab.h>

#include "slots.h"

/**
 * htw_slots_create() - make a queue of empty slots
 * @design: its design
 * @config: as given to create()
 * @size: of the design's struct, which begins with struct htw_slots; the rest of it is zero
 * @nr: slots
 * @lanes: lists of a slot, a power of two up to HTW_LANES; 1 if the order of arrival counts
 *
 * Context: may sleep. Memory is charged to the caller.
 * Return: the queue, or NULL without memory.
 */
struct htw_queue *htw_slots_create(const struct htw_design *design,
				   const struct htw_queue_config *config, size_t size,
				   unsigned int nr, unsigned int lanes)
{
	size_t heads = ALIGN(size, sizeof(long));
	size_t map = heads + nr * lanes * sizeof(struct list_head);
	struct htw_slots *slots;
	unsigned int i;
	char *memory;

	memory = kvzalloc_node(map + BITS_TO_LONGS(nr) * sizeof(long), GFP_KERNEL_ACCOUNT,
			       config->numa);
	if (!memory)
		return NULL;
	slots = (struct htw_slots *)memory;
	slots->queue.design = design;
	slots->queue.clock_tick = config->clock_tick;
	slots->queue.geometry = config->geometry;
	slots->next_tick = HTW_TICK_NONE;
	slots->nr = nr;
	slots->lanes = lanes;
	slots->head = (struct list_head *)(memory + heads);
	slots->map = (unsigned long *)(memory + map);
	for (i = 0; i < nr * lanes; i++)
		INIT_LIST_HEAD(&slots->head[i]);
	return &slots->queue;
}

/* The design's destroy(). */
void htw_slots_destroy(struct htw_queue *queue)
{
	kvfree(to_slots(queue));
}

/* The design's del(). */
void htw_slots_del(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_slots *slots = to_slots(queue);

	htw_slots_remove(slots, node);
	if (!--queue->nr)
		slots->next_tick = HTW_TICK_NONE;
}

/* The design's fetch(). What a node that is in no slot has here may be no address: no harm. */
void htw_slots_fetch(const struct htw_node *node)
{
	prefetchw(READ_ONCE(node->link.next));
	prefetchw(READ_ONCE(node->link.prev));
}

/* The design's next(). */
u64 htw_slots_next(const struct htw_queue *queue)
{
	return container_of(queue, const struct htw_slots, queue)->next_tick;
}

/**
 * htw_slots_hand_out() - take nodes out of one slot
 * @slots: the slots
 * @slot: an occupied one
 * @max: how many nodes at most
 * @out: receives them at its tail; of a slot with one lane, in the order in which they entered it
 *
 * Context: as the queue's.
 * Return: how many.
 */
u64 htw_slots_hand_out(struct htw_slots *slots, unsigned int slot, u64 max, struct list_head *out)
{
	struct htw_drain drain;
	u64 nr;

	htw_drain_begin(&drain, slots, slot);
	for (nr = 0; nr < max && drain.nr; nr++)
		list_add_tail(&htw_drain_next(&drain)->link, out);
	htw_drain_end(&drain, slots, slot);
	slots->queue.nr -= nr;
	return nr;
}

/* The design's take(): whichever nodes are found first. */
u64 htw_slots_take(struct htw_queue *queue, u64 max, struct list_head *out)
{
	struct htw_slots *slots = to_slots(queue);
	unsigned long slot = 0;
	u64 nr = 0;

	while (nr < max && queue->nr) {
		slot = find_next_bit(slots->map, slots->nr, slot);
		nr += htw_slots_hand_out(slots, slot, max - nr, out);
	}
	if (!queue->nr)
		slots->next_tick = HTW_TICK_NONE;
	return nr;
}

static int slots_check_one(const struct htw_slots *slots, unsigned int slot,
			   bool (*belongs)(const struct htw_queue *queue,
					   const struct htw_node *node, unsigned int slot), u64 *nr)
{
	const struct list_head *head = &slots->head[slot * slots->lanes];
	const struct list_head *end = head + slots->lanes;
	const struct htw_node *node;

	if (htw_slots_occupied(slots, slot) == htw_slots_empty(slots, slot))
		return __LINE__;
	for (; head < end; head++) {
		list_for_each_entry(node, head, link) {
			if (node->link.next->prev != &node->link)
				return __LINE__;
			if (!belongs(&slots->queue, node, slot))
				return __LINE__;
			(*nr)++;
		}
	}
	return 0;
}

/**
 * htw_slots_check() - walk all slots and prove what holds of slots
 * @queue: their queue
 * @belongs: says whether a node that is in a slot should be there
 *
 * Context: as the queue's; takes as long as it takes.
 * Return: 0, or the number of the line that found something broken.
 */
int htw_slots_check(const struct htw_queue *queue,
		    bool (*belongs)(const struct htw_queue *queue, const struct htw_node *node,
				    unsigned int slot))
{
	const struct htw_slots *slots = container_of(queue, const struct htw_slots, queue);
	unsigned int slot;
	int line = 0;
	u64 nr = 0;

	for (slot = 0; slot < slots->nr && !line; slot++)
		line = slots_check_one(slots, slot, belongs, &nr);
	if (line)
		return line;
	if (queue->nr ? slots->next_tick == HTW_TICK_NONE : slots->next_tick != HTW_TICK_NONE)
		return __LINE__;
	return nr == queue->nr ? 0 : __LINE__;
}
