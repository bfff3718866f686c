/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The order in an array heap: entry i is not later than its children 2i + 1 and 2i + 2. What heap.c
 * and lazyheap.c share. Keys lie in the entries, so that comparing them touches a small, dense
 * piece of memory instead of a cache line for each timer.
 */
#ifndef HTW_SIFT_H
#define HTW_SIFT_H

#include "array.h"
#include "queue.h"

/**
 * struct htw_entry - an element of the heap
 * @tick: the node's tick
 * @seq: its number of arrival; wraps, and is compared by difference
 * @owner: the node's address, whose index is this entry's; or what else the design knows by an odd
 *	number
 */
struct htw_entry {
	u64			tick;
	u64			seq;
	unsigned long		owner;
};

static inline struct htw_node *htw_entry_node(const struct htw_entry *entry)
{
	return (struct htw_node *)entry->owner;
}

static inline struct htw_entry *htw_entry_at(const struct htw_array *heap, u64 index)
{
	return htw_array_at(heap, index, sizeof(struct htw_entry));
}

/* Equal ticks: by arrival. Right as long as there are not 2^63 arrivals between two nodes. */
static inline bool htw_entry_before(const struct htw_entry *a, const struct htw_entry *b)
{
	if (a->tick != b->tick)
		return a->tick < b->tick;
	return (s64)(a->seq - b->seq) < 0;
}

/**
 * htw_sift() - put an entry where its order demands
 * @heap: the array
 * @length: how many entries it has
 * @index: a hole in it, from which the entry moves up or down
 * @entry: the entry
 * @set: puts an entry at an index, and tells its owner
 */
static inline void htw_sift(struct htw_array *heap, u64 length, u64 index, struct htw_entry entry,
			    void (*set)(struct htw_array *heap, u64 index, struct htw_entry entry))
{
	u64 at;

	for (; index; index = at) {
		at = (index - 1) / 2;
		if (!htw_entry_before(&entry, htw_entry_at(heap, at)))
			break;
		set(heap, index, *htw_entry_at(heap, at));
	}
	/* One that has moved up is not later than what is below it now, and stays. */
	for (; (at = 2 * index + 1) < length; index = at) {
		if (at + 1 < length &&
		    htw_entry_before(htw_entry_at(heap, at + 1), htw_entry_at(heap, at)))
			at++;
		if (!htw_entry_before(htw_entry_at(heap, at), &entry))
			break;
		set(heap, index, *htw_entry_at(heap, at));
	}
	set(heap, index, entry);
}

#endif /* HTW_SIFT_H */
