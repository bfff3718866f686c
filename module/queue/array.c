// SPDX-License-Identifier: GPL-2.0
/*
 * The growing array: its memory.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "array.h"

/* Charged to the caller; fails rather than have somebody killed for it. */
#define ARRAY_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

/* Segments that hold @nr elements. */
static unsigned int array_segments(u64 nr)
{
	return nr ? fls64(((nr - 1) >> HTW_ARRAY_SHIFT) + 1) : 0;
}

static void array_free(struct htw_array *array, unsigned int from, unsigned int to)
{
	for (; from < to; from++) {
		kvfree(array->segment[from]);
		array->segment[from] = NULL;
	}
}

/**
 * htw_array_reserve() - make room, or give back what is beyond
 * @array: the array
 * @nr: elements in all; 0 frees the array
 * @size: bytes of an element
 *
 * Context: may sleep; alone of its kind, while elements below @nr may be in use.
 * Return: 0, or -ENOMEM and the room is what it was.
 */
int htw_array_reserve(struct htw_array *array, u64 nr, size_t size)
{
	unsigned int want = array_segments(nr), had, i;

	if (want > HTW_ARRAY_SEGMENTS)
		return -ENOMEM;
	for (had = 0; had < HTW_ARRAY_SEGMENTS && array->segment[had]; had++)
		;
	for (i = had; i < want; i++) {
		array->segment[i] = kvmalloc_array(1UL << i << HTW_ARRAY_SHIFT, size, ARRAY_GFP);
		if (!array->segment[i]) {
			array_free(array, had, i);
			return -ENOMEM;
		}
	}
	array_free(array, want, had);
	return 0;
}
