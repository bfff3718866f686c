/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An array that grows without being moved, for designs that need memory for each node.
 *
 * It is a list of segments, each twice as long as the one before. Element i is in segment k, where
 * k is the position of the highest bit of (i >> HTW_ARRAY_SHIFT) + 1; the segments below hold
 * ((1 << k) - 1) << HTW_ARRAY_SHIFT elements. So a reserve() may run while elements are in use.
 */
#ifndef HTW_ARRAY_H
#define HTW_ARRAY_H

#include <linux/bitops.h>
#include <linux/types.h>

/*
 * The first segment has 1024 elements, the last 2^26: with 24 bytes each, 1.6 GB, and twice that
 * the kernel does not give in one piece. All hold 2^27 - 1024 elements.
 */
#define HTW_ARRAY_SHIFT		10
#define HTW_ARRAY_SEGMENTS	17

/**
 * struct htw_array - the array; zeroed, it is empty
 * @segment: NULL beyond what is reserved
 */
struct htw_array {
	void			*segment[HTW_ARRAY_SEGMENTS];
};

/**
 * htw_array_at() - an element
 * @array: the array
 * @index: which; there must be room for it
 * @size: bytes of an element
 *
 * Return: its address.
 */
static inline void *htw_array_at(const struct htw_array *array, u64 index, size_t size)
{
	unsigned int segment = fls64((index >> HTW_ARRAY_SHIFT) + 1) - 1;
	u64 base = ((1ULL << segment) - 1) << HTW_ARRAY_SHIFT;

	return (char *)array->segment[segment] + (index - base) * size;
}

int htw_array_reserve(struct htw_array *array, u64 nr, size_t size);

#endif /* HTW_ARRAY_H */
