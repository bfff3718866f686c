// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/htwheel, expirations through the event ring: memory that the kernel writes and the program
 * reads; a system call (poll) only to sleep.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/htwheel.h>

#include "device.h"
#include "measure.h"
#include "shared.h"

#define MAX_ENTRIES	(1U << 20)

/* One set with a ring in a process: the device's own struct is in set->private. */
static struct shared the_ring;

static const char *open_ring(struct set *set)
{
	uint32_t entries = 2;

	while (entries < set->nr && entries < MAX_ENTRIES)
		entries *= 2;
	return shared_open(set, &the_ring, entries, false);
}

/* As many as there are in the ring, MAX_COLLECT at most. */
static uint32_t take(uint32_t *timers)
{
	const struct htwheel_ring *ring = the_ring.ring;
	struct htwheel_ring_head *position = the_ring.head;
	const char *events = (const char *)ring + ring->events_offset;
	uint32_t head = position->head, mask = ring->entries - 1, stride = ring->stride, nr = 0;
	uint32_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	const struct htwheel_event *event;

	for (; head != tail && nr < MAX_COLLECT; head++) {
		event = (const void *)(events + (uint64_t)(head & mask) * stride);
		timers[nr++] = event->user_data;
	}
	__atomic_store_n(&position->head, head, __ATOMIC_RELEASE);
	return nr;
}

/* Those that found no room. */
static uint32_t take_waiting(struct set *set, uint32_t *timers)
{
	const struct htwheel_ring *ring = the_ring.ring;
	struct device *device = set->private;
	ssize_t ret, i;

	if (!(__atomic_load_n(&ring->flags, __ATOMIC_ACQUIRE) & HTWHEEL_RING_WAITING))
		return 0;
	ret = read(device->fd, device->events, MAX_COLLECT * sizeof(*device->events));
	set->calls++;
	if (ret < 0)
		return 0;
	ret /= sizeof(*device->events);
	for (i = 0; i < ret; i++)
		timers[i] = device->events[i].user_data;
	return ret;
}

static uint32_t collect(struct set *set, uint32_t *timers)
{
	struct device *device = set->private;
	struct pollfd file = { .fd = device->fd, .events = POLLIN };
	uint64_t from = ticks();
	uint32_t nr;

	for (;;) {
		nr = take(timers);
		if (!nr)
			nr = take_waiting(set, timers);
		if (nr)
			break;
		poll(&file, 1, -1);
		set->calls++;
	}
	set->ticks += ticks() - from;
	return nr;
}

static void close_ring(struct set *set)
{
	shared_close(&the_ring);
	memset(&the_ring, 0, sizeof(the_ring));
	device_close(set);
}

const struct facility facility_htwheel_ring = {
	.name		= "htwheel-ring",
	.about		= "/dev/htwheel, SUBMIT and the event ring",
	.has_batches	= true,
	.receives	= true,
	.max		= 1000000,
	.open		= open_ring,
	.submit		= device_submit,
	.collect	= collect,
	.close		= close_ring,
};
