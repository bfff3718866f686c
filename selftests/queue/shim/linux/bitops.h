/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: finding bits. As in the kernel, the result of __ffs() and __ffs64() is undefined for 0;
 * here it is an abort.
 */
#ifndef SHIM_LINUX_BITOPS_H
#define SHIM_LINUX_BITOPS_H

#include <linux/bits.h>
#include <linux/types.h>
#include <must.h>

/* Position of the last set bit, counted from 1; 0 if there is none. */
static inline int fls64(u64 word)
{
	return word ? 64 - __builtin_clzll(word) : 0;
}

static inline int fls(unsigned int word)
{
	return fls64(word);
}

/* Position of the first set bit, counted from 0. */
static inline unsigned int __ffs64(u64 word)
{
	shim_must(word);
	return __builtin_ctzll(word);
}

static inline unsigned int __ffs(unsigned long word)
{
	return __ffs64(word);
}

static inline bool test_bit(unsigned int nr, const unsigned long *map)
{
	return map[nr / BITS_PER_LONG] >> (nr % BITS_PER_LONG) & 1;
}

static inline void __set_bit(unsigned int nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] |= BIT(nr % BITS_PER_LONG);
}

static inline void __clear_bit(unsigned int nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] &= ~BIT(nr % BITS_PER_LONG);
}

#endif /* SHIM_LINUX_BITOPS_H */
