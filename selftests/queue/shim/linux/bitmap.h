/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: searching bitmaps.
 */
#ifndef SHIM_LINUX_BITMAP_H
#define SHIM_LINUX_BITMAP_H

#include <linux/bitops.h>

#define BITS_TO_LONGS(nr)	(((nr) + BITS_PER_LONG - 1) / BITS_PER_LONG)

/* The first bit that is set, from @from on; @size if there is none below it. */
static inline unsigned long find_next_bit(const unsigned long *map, unsigned long size,
					  unsigned long from)
{
	unsigned long word;

	while (from < size) {
		word = map[from / BITS_PER_LONG] >> (from % BITS_PER_LONG);
		if (word)
			return from + __ffs(word) < size ? from + __ffs(word) : size;
		from += BITS_PER_LONG - from % BITS_PER_LONG;
	}
	return size;
}

#endif /* SHIM_LINUX_BITMAP_H */
