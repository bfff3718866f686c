/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the interface's rules share: memory with an edge, and looking for written
 * bytes.
 */
#ifndef HTWHEEL_ABI_TEST_H
#define HTWHEEL_ABI_TEST_H

#include "abi_layout.h"
#include "common.h"

/* Pages that can be used, zeroed, with one behind them that cannot be touched; NULL for none. */
static inline unsigned char *map_before_edge(size_t pages)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned char *map;

	map = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	if (map == MAP_FAILED || mprotect(map + pages * page, page, PROT_NONE))
		return NULL;
	return map;
}

/* The last so many bytes before the edge. */
static inline void *at_edge(unsigned char *map, size_t pages, size_t size)
{
	return map + pages * sysconf(_SC_PAGESIZE) - size;
}

static inline bool all_bytes_are(const void *memory, size_t size, unsigned char value)
{
	const unsigned char *byte = memory;

	while (size && *byte == value) {
		byte++;
		size--;
	}
	return !size;
}

/* The call must fail with this error and leave the argument as it was. */
static inline int call_and_compare(int fd, unsigned long nr, void *arg, size_t size)
{
	void *before = malloc(size);
	int ret;

	if (!before)
		return -ENOMEM;
	memcpy(before, arg, size);
	ret = device_ioctl(fd, nr, arg);
	if (memcmp(before, arg, size))
		ret = -EUCLEAN;
	free(before);
	return ret;
}

#endif /* HTWHEEL_ABI_TEST_H */
