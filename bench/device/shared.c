// SPDX-License-Identifier: GPL-2.0
/*
 * Setting up and mapping the areas that /dev/htwheel shares. A module that has none of them only
 * makes the answer "absent".
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/htwheel.h>

#include "device.h"
#include "measure.h"
#include "shared.h"

#define HEAD_BYTES	4096

static void *map(int fd, uint64_t bytes, int protection, uint64_t offset)
{
	void *area = mmap(NULL, bytes, protection, MAP_SHARED | MAP_POPULATE, fd, offset);

	return area == MAP_FAILED ? NULL : area;
}

static bool has_features(int fd, uint64_t features)
{
	struct htwheel_info info = { .size = sizeof(info) };

	return !ioctl(fd, HTWHEEL_IOC_INFO, &info) && (info.features & features) == features;
}

/* @entries: of the event ring, 0 without one. Returns NULL, or why not. */
const char *shared_open(struct set *set, struct shared *shared, uint32_t entries, bool table)
{
	struct htwheel_setup setup = {
		.size		= sizeof(setup),
		.flags		= table ? HTWHEEL_SETUP_TABLE : 0,
		.max_timers	= set->nr,
		.ring_entries	= entries,
	};
	uint64_t features = (entries ? HTWHEEL_FEAT_RING : 0) | (table ? HTWHEEL_FEAT_TABLE : 0);
	struct htwheel_info info = { .size = sizeof(info) };
	const char *why = device_open(set);
	int fd;

	if (why)
		return why;
	fd = ((struct device *)set->private)->fd;
	if (!has_features(fd, features))
		return "not in this module";
	if (ioctl(fd, HTWHEEL_IOC_SETUP, &setup) || ioctl(fd, HTWHEEL_IOC_INFO, &info))
		return "SETUP failed";
	shared->ring_bytes = sizeof(struct htwheel_ring) +
			     (uint64_t)info.ring_entries * sizeof(struct htwheel_event);
	shared->table_bytes = info.table_entries * sizeof(uint64_t);
	if (entries) {
		shared->ring = map(fd, shared->ring_bytes, PROT_READ, HTWHEEL_MMAP_RING);
		shared->head = map(fd, HEAD_BYTES, PROT_READ | PROT_WRITE, HTWHEEL_MMAP_HEAD);
	}
	if (table)
		shared->table = map(fd, shared->table_bytes, PROT_READ | PROT_WRITE,
				    HTWHEEL_MMAP_TABLE);
	return (entries && !(shared->ring && shared->head)) || (table && !shared->table) ?
	       "mmap failed" : NULL;
}

void shared_close(struct shared *shared)
{
	if (shared->ring)
		munmap(shared->ring, shared->ring_bytes);
	if (shared->head)
		munmap(shared->head, HEAD_BYTES);
	if (shared->table)
		munmap(shared->table, shared->table_bytes);
}
