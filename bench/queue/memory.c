// SPDX-License-Identifier: GPL-2.0
/*
 * Memory, as the kernel has it: large pieces lie on huge pages (the kernel's own map of all memory
 * is made of them), so that misses are those of the caches and not of the table of pages. Linked
 * with --wrap=malloc, so that what the designs allocate through the shim comes from here too.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

#define HUGE_BYTES	(2UL << 20)

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

/* The shim's allocation that is to fail: none. */
unsigned long shim_failing_call;

void *__wrap_malloc(size_t size)
{
	void *memory;

	if (size < HUGE_BYTES)
		return __real_malloc(size);
	size = (size + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
	memory = aligned_alloc(HUGE_BYTES, size);
	/* Without huge pages it is slower, and the same for all. */
	if (memory)
		madvise(memory, size, MADV_HUGEPAGE);
	return memory;
}

/* Zeroed, so that no page is touched first while the clock runs. */
void *bench_allocate(size_t nr, size_t size)
{
	size_t bytes = nr * size;
	/* A whole huge page at least: 64-byte objects have to lie on cache lines. */
	void *memory = __wrap_malloc(bytes < HUGE_BYTES ? HUGE_BYTES : bytes);

	if (!memory)
		bench_fail("no memory for %zu bytes", bytes);
	return memset(memory, 0, bytes);
}
