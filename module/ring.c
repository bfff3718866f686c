// SPDX-License-Identifier: GPL-2.0
/*
 * The event ring: one producer, who holds the ready list's lock, and one consumer, in userspace.
 *
 *	kernel, htw_ring_put()			userspace
 *
 *	load-acquire head       (A) <---------- store-release head: what was read may be overwritten
 *	write the event				read the event
 *	store-release tail      (B) ----------> load-acquire tail: the event is there
 *
 * The one word that userspace can write is the head. It is read once for each question, and answers
 * no more than "is there room?" and "is something unread?": a wrong one makes events wait in their
 * timers, or wakes somebody for nothing (FAULTS B78). Everything else that userspace sees is a copy
 * of what is kept here.
 */
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include <kunit/visibility.h>

#include "clock.h"
#include "ring.h"

/**
 * htw_ring_create() - make an empty ring
 * @entries: places; a power of two, at most HTWHEEL_MAX_RING
 * @offset_ns: what the caller's time namespace adds to the clock
 *
 * Context: task; may sleep. Memory is charged to the caller.
 * Return: the ring, or NULL without memory.
 */
struct htw_ring *htw_ring_create(u32 entries, s64 offset_ns)
{
	struct htw_ring *ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	u64 bytes = sizeof(struct htwheel_ring) + (u64)entries * sizeof(struct htwheel_event);

	if (!ring)
		return NULL;
	if (htw_area_init(&ring->area, bytes) ||
	    htw_area_init(&ring->head_area, sizeof(struct htwheel_ring_head))) {
		htw_ring_destroy(ring);
		return NULL;
	}
	ring->entries = entries;
	ring->offset_ns = offset_ns;
	ring->head = ring->head_area.memory;
	ring->shared = ring->area.memory;
	*ring->shared = (struct htwheel_ring){
		.entries	= entries,
		.stride		= sizeof(struct htwheel_event),
		.events_offset	= sizeof(struct htwheel_ring),
	};
	return ring;
}
EXPORT_SYMBOL_IF_KUNIT(htw_ring_create);

/**
 * htw_ring_destroy() - free a ring
 * @ring: the ring, or NULL
 *
 * Context: task; may sleep.
 */
void htw_ring_destroy(struct htw_ring *ring)
{
	if (!ring)
		return;
	htw_area_destroy(&ring->area);
	htw_area_destroy(&ring->head_area);
	kfree(ring);
}
EXPORT_SYMBOL_IF_KUNIT(htw_ring_destroy);

/* The place of the event of this number. */
static struct htwheel_event *ring_place(const struct htw_ring *ring, u32 number)
{
	struct htwheel_event *events = ring->area.memory + sizeof(struct htwheel_ring);

	return &events[number & (ring->entries - 1)];
}

/**
 * htw_ring_used() - how many events are unread
 * @ring: the ring
 *
 * Context: the ready list's lock held.
 * Return: 0 to htw_ring.entries; that if the head is nonsense.
 */
u32 htw_ring_used(const struct htw_ring *ring)
{
	/* (A). Userspace may write at any moment: once. */
	u32 head = smp_load_acquire(&ring->head->head);

	return min(ring->tail - head, ring->entries);
}
EXPORT_SYMBOL_IF_KUNIT(htw_ring_used);

/**
 * htw_ring_readable() - has the reader something to take from the ring first?
 * @ring: the ring
 *
 * Context: the ready list's lock held.
 * Return: true if it has; false if the ring is empty, or the head is nonsense: who does not know
 * where the ring begins may read what waits outside.
 */
bool htw_ring_readable(const struct htw_ring *ring)
{
	/* (A), for who is about to read what waits outside. */
	u32 head = smp_load_acquire(&ring->head->head);

	return ring->tail != head && ring->tail - head <= ring->entries;
}
EXPORT_SYMBOL_IF_KUNIT(htw_ring_readable);

/**
 * htw_ring_put() - append an event
 * @ring: the ring
 * @event: the event, its times on the kernel's clock
 *
 * Context: the ready list's lock held.
 * Return: false if there is no room.
 */
bool htw_ring_put(struct htw_ring *ring, const struct htwheel_event *event)
{
	struct htwheel_event *place = ring_place(ring, ring->tail);

	if (htw_ring_used(ring) == ring->entries)
		return false;
	*place = *event;
	place->deadline_ns = htw_clock_to_user(event->deadline_ns, ring->offset_ns);
	place->fired_ns = htw_clock_to_user(event->fired_ns, ring->offset_ns);
	ring->tail++;
	/* (B) */
	smp_store_release(&ring->shared->tail, ring->tail);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(htw_ring_put);

/**
 * htw_ring_oldest_ns() - when the oldest unread event fired
 * @ring: a ring of which htw_ring_used() has just said that it is not empty. It may be by now, or
 *	the head may be nonsense; the answer is then when some other event fired
 *
 * Context: the ready list's lock held.
 * Return: ns on the kernel's clock.
 */
u64 htw_ring_oldest_ns(const struct htw_ring *ring)
{
	u32 head = READ_ONCE(ring->head->head);

	return htw_clock_from_user(ring_place(ring, head)->fired_ns, ring->offset_ns);
}

/**
 * htw_ring_wait() - tell userspace whether events wait outside
 * @ring: the ring
 * @waiting: they do: one more than before
 *
 * Context: the ready list's lock held.
 */
void htw_ring_wait(struct htw_ring *ring, bool waiting)
{
	if (waiting)
		WRITE_ONCE(ring->shared->waited, ring->shared->waited + 1);
	WRITE_ONCE(ring->shared->flags, waiting ? HTWHEEL_RING_WAITING : 0);
}
