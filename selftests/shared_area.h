/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory that a context shares: the event ring and the deadline table, mapped, and used as the
 * header of the interface says.
 *
 * As in common.h, the calls answer with a negative errno, and nothing here makes checks of its own.
 */
#ifndef HTWHEEL_SHARED_AREA_H
#define HTWHEEL_SHARED_AREA_H

#include <stdatomic.h>

#include "lab.h"

/* What a test maps of one context; what it did not ask for is NULL. */
struct area {
	struct htwheel_ring		*ring;
	struct htwheel_ring_head	*position;
	uint64_t			*table;
	size_t				ring_bytes;
	size_t				table_bytes;
	int				fd;
};

static inline size_t whole_pages(size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static inline size_t ring_length(uint32_t entries)
{
	return whole_pages(sizeof(struct htwheel_ring) +
			   (size_t)entries * sizeof(struct htwheel_event));
}

/* NULL with errno for one that is refused. */
static inline void *map_area(int fd, size_t bytes, int how, off_t offset)
{
	void *map = mmap(NULL, bytes, how, MAP_SHARED, fd, offset);

	return map == MAP_FAILED ? NULL : map;
}

static inline void unmap_areas(struct area *area)
{
	if (area->ring)
		munmap(area->ring, area->ring_bytes);
	if (area->position)
		munmap(area->position, sysconf(_SC_PAGESIZE));
	if (area->table)
		munmap(area->table, area->table_bytes);
	area->ring = NULL;
	area->position = NULL;
	area->table = NULL;
}

static inline void close_areas(struct area *area)
{
	unmap_areas(area);
	if (area->fd >= 0)
		close(area->fd);
	area->fd = -1;
}

/* All areas that a context has: 0 or a negative errno. */
static inline int map_areas(struct area *area, int fd)
{
	struct htwheel_info info;
	int ret = device_info(fd, &info);

	*area = (struct area){ .fd = fd };
	if (ret)
		return ret;
	if (info.ring_entries) {
		area->ring_bytes = ring_length(info.ring_entries);
		area->ring = map_area(fd, area->ring_bytes, PROT_READ, HTWHEEL_MMAP_RING);
		if (area->ring)
			area->position = map_area(fd, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
						  HTWHEEL_MMAP_HEAD);
		if (!area->position)
			return -errno;
	}
	if (info.table_entries) {
		area->table_bytes = whole_pages(info.table_entries * sizeof(uint64_t));
		area->table = map_area(fd, area->table_bytes, PROT_READ | PROT_WRITE,
				       HTWHEEL_MMAP_TABLE);
		if (!area->table)
			return -errno;
	}
	return 0;
}

/* A context with these choices, and its areas: 0 or a negative errno. */
static inline int open_areas(struct area *area, struct htwheel_setup setup)
{
	int fd = open_with(setup), ret;

	*area = (struct area){ .fd = fd };
	if (fd < 0)
		return fd;
	ret = map_areas(area, fd);
	if (ret)
		close_areas(area);
	return ret;
}

/* On the shared engine; a ring of so many places. */
static inline int open_ring(struct area *area, uint32_t entries)
{
	return open_areas(area, (struct htwheel_setup){ .ring_entries = entries });
}

/* On a clock that begins there. */
static inline int open_manual_ring(struct area *area, uint32_t entries, uint64_t start_ns)
{
	return open_areas(area, (struct htwheel_setup){
		.clock = HTWHEEL_CLOCK_MANUAL, .start_ns = start_ns, .ring_entries = entries,
	});
}

/* The ring, by the code of the header. */

static inline uint32_t ring_tail(const struct area *area)
{
	return atomic_load_explicit((_Atomic uint32_t *)&area->ring->tail, memory_order_acquire);
}

static inline uint32_t ring_flags(const struct area *area)
{
	return atomic_load_explicit((_Atomic uint32_t *)&area->ring->flags, memory_order_acquire);
}

static inline uint64_t ring_waited(const struct area *area)
{
	return atomic_load_explicit((_Atomic uint64_t *)&area->ring->waited, memory_order_acquire);
}

static inline void set_head(struct area *area, uint32_t head)
{
	atomic_store_explicit((_Atomic uint32_t *)&area->position->head, head,
			      memory_order_release);
}

static inline uint32_t ring_unread(const struct area *area)
{
	return ring_tail(area) - area->position->head;
}

static inline const struct htwheel_event *ring_event(const struct area *area, uint32_t number)
{
	const struct htwheel_ring *ring = area->ring;
	const char *first = (const char *)ring + ring->events_offset;

	return (const void *)(first + (size_t)(number & (ring->entries - 1)) * ring->stride);
}

/* Take what is in the ring, at most so many: how many. */
static inline int take_events(struct area *area, struct htwheel_event *events, uint32_t max)
{
	uint32_t head = area->position->head;
	uint32_t tail = ring_tail(area);
	uint32_t nr = 0;

	for (; head != tail && nr < max; head++)
		events[nr++] = *ring_event(area, head);
	set_head(area, head);
	return nr;
}

/*
 * Take from the ring, and if that is empty from what waits outside: number of events, 0 if there is
 * none, or a negative errno.
 */
static inline int take_or_read(struct area *area, struct htwheel_event *events, uint32_t max)
{
	int nr = take_events(area, events, max);

	if (!nr) {
		nr = read_events(area->fd, events, max);
		nr = nr == -EAGAIN ? 0 : nr;
	}
	return nr;
}

/* One event, waited for; 0 or a negative errno, -ETIME if it never comes. */
static inline int wait_event(struct area *area, struct htwheel_event *event)
{
	int ret = take_or_read(area, event, 1);

	if (!ret) {
		if (!wait_readable(area->fd))
			return -ETIME;
		ret = take_or_read(area, event, 1);
	}
	return ret < 0 ? ret : ret ? 0 : -EPROTO;
}

/* All that there is at this moment, thrown away: how many, or a negative errno. */
static inline int64_t drop_all(struct area *area)
{
	struct htwheel_event events[64];
	int64_t nr = 0;
	int ret;

	while ((ret = take_or_read(area, events, 64)) > 0)
		nr += ret;
	return ret ? ret : nr;
}

/* The table. */

static inline _Atomic uint64_t *table_word(const struct area *area, uint64_t id)
{
	return (_Atomic uint64_t *)&area->table[(uint32_t)id];
}

static inline void postpone(struct area *area, uint64_t id, uint64_t deadline_ns)
{
	atomic_store_explicit(table_word(area, id), deadline_ns, memory_order_relaxed);
}

static inline uint64_t postponed_to(const struct area *area, uint64_t id)
{
	return atomic_load_explicit(table_word(area, id), memory_order_relaxed);
}

/* The books balance, and nothing contradicts what any context may show; -EPROTO otherwise. */
static inline int check_books(int fd, struct htwheel_stats *stats)
{
	uint64_t late = 0;
	int i, ret = device_stats(fd, stats);

	for (i = 0; i < HTWHEEL_LATE_BINS; i++)
		late += stats->late[i];
	if (ret)
		return ret;
	return books_balance(stats) && stats->expired <= stats->pending &&
	       stats->pending + stats->idle <= stats->peak && late == stats->fired ? 0 : -EPROTO;
}

#endif /* HTWHEEL_SHARED_AREA_H */
