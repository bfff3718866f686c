/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: allocation. Each call is a malloc() of its own, so that the address sanitizer guards its
 * ends, and a test can make one of the next calls fail.
 */
#ifndef SHIM_LINUX_SLAB_H
#define SHIM_LINUX_SLAB_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/overflow.h>
#include <linux/types.h>

#define GFP_KERNEL		0U
#define GFP_KERNEL_ACCOUNT	0U
#define __GFP_NOWARN		0U
#define __GFP_RETRY_MAYFAIL	0U
#define NUMA_NO_NODE		(-1)

/* The call that fails, counted from 1; 0 for none. */
extern unsigned long shim_failing_call;

static inline bool shim_must_fail(void)
{
	return shim_failing_call && !--shim_failing_call;
}

/* What the kernel does not promise to be zero must not be zero by chance. */
static inline void *shim_malloc(size_t size, int fill)
{
	void *memory = shim_must_fail() ? NULL : malloc(size);

	return memory ? memset(memory, fill, size) : NULL;
}

static inline void *kzalloc(size_t size, gfp_t flags)
{
	(void)flags;
	return shim_malloc(size, 0);
}

static inline void *kvzalloc_node(size_t size, gfp_t flags, int numa)
{
	(void)numa;
	return kzalloc(size, flags);
}

static inline void *kzalloc_node(size_t size, gfp_t flags, int numa)
{
	(void)numa;
	return kzalloc(size, flags);
}

static inline void *kvmalloc_array(size_t nr, size_t size, gfp_t flags)
{
	(void)flags;
	return shim_malloc(size_mul(nr, size), 0xa5);
}

static inline void *kvcalloc(size_t nr, size_t size, gfp_t flags)
{
	return kzalloc(size_mul(nr, size), flags);
}

static inline void kfree(const void *memory)
{
	free((void *)memory);
}

static inline void kvfree(const void *memory)
{
	kfree(memory);
}

#endif /* SHIM_LINUX_SLAB_H */
