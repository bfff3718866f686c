// SPDX-License-Identifier: GPL-2.0
/*
 * The memory that the device shares.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "device.h"
#include "shared.h"

static void *map(int fd, size_t bytes, int protection, off_t offset)
{
	void *area = mmap(NULL, bytes, protection, MAP_SHARED, fd, offset);

	if (area == MAP_FAILED)
		fail(EXIT_DEVICE, "mmap of /dev/htwheel: %s", strerror(errno));
	return area;
}

/* Map what the context has. It stays mapped until the program ends. */
void shared_map(struct shared *shared, int fd)
{
	struct htwheel_info info;

	device_info(fd, &info);
	*shared = (struct shared){};
	if (info.ring_entries) {
		shared->ring = map(fd, sizeof(*shared->ring) +
				   info.ring_entries * sizeof(struct htwheel_event), PROT_READ,
				   HTWHEEL_MMAP_RING);
		shared->position = map(fd, sizeof(*shared->position), PROT_READ | PROT_WRITE,
				       HTWHEEL_MMAP_HEAD);
	}
	if (info.table_entries)
		shared->table = map(fd, info.table_entries * sizeof(*shared->table),
				    PROT_READ | PROT_WRITE, HTWHEEL_MMAP_TABLE);
}

/* Take up to @nr events from the ring, without a system call. Returns how many there were. */
unsigned int shared_take(struct shared *shared, struct htwheel_event *events, unsigned int nr)
{
	const struct htwheel_ring *ring = shared->ring;
	const char *places = (const char *)ring + ring->events_offset;
	uint32_t head = shared->position->head;
	uint32_t tail = atomic_load_explicit((const _Atomic uint32_t *)&ring->tail,
					     memory_order_acquire);
	unsigned int taken;

	for (taken = 0; taken < nr && head != tail; taken++, head++)
		memcpy(&events[taken], places + (size_t)(head & (ring->entries - 1)) * ring->stride,
		       sizeof(events[taken]));
	atomic_store_explicit((_Atomic uint32_t *)&shared->position->head, head,
			      memory_order_release);
	return taken;
}

/* Do events wait outside the ring, for read? */
bool shared_waiting(const struct shared *shared)
{
	return atomic_load_explicit((const _Atomic uint32_t *)&shared->ring->flags,
				    memory_order_acquire) & HTWHEEL_RING_WAITING;
}

/* Postpone a timer, without a system call. */
void shared_postpone(struct shared *shared, uint64_t id, uint64_t deadline_ns)
{
	atomic_store_explicit((_Atomic uint64_t *)&shared->table[(uint32_t)id], deadline_ns,
			      memory_order_relaxed);
}
