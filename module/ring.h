/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The event ring of one owner.
 */
#ifndef HTW_RING_H
#define HTW_RING_H

#include <linux/types.h>

#include <linux/htwheel.h>

#include "area.h"

/**
 * struct htw_ring - an event ring; all but the areas is protected by the lock of the ready list
 * @area: struct htwheel_ring and the events, which userspace can only read
 * @head_area: struct htwheel_ring_head, which userspace writes
 * @shared: the beginning of @area
 * @head: the beginning of @head_area
 * @entries: places; a power of two
 * @tail: events written so far. What userspace sees is a copy
 * @offset_ns: what the time namespace of its maker adds to the clock
 */
struct htw_ring {
	struct htw_area			area;
	struct htw_area			head_area;
	struct htwheel_ring		*shared;
	const struct htwheel_ring_head	*head;
	u32				entries;
	u32				tail;
	s64				offset_ns;
};

struct htw_ring *htw_ring_create(u32 entries, s64 offset_ns);
void htw_ring_destroy(struct htw_ring *ring);
u32 htw_ring_used(const struct htw_ring *ring);
bool htw_ring_readable(const struct htw_ring *ring);
bool htw_ring_put(struct htw_ring *ring, const struct htwheel_event *event);
u64 htw_ring_oldest_ns(const struct htw_ring *ring);
void htw_ring_wait(struct htw_ring *ring, bool waiting);

#endif /* HTW_RING_H */
