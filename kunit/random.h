/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The random numbers of the tests. The kernel's and the C library's are not used because a seed has
 * to give the same stream in both builds. The generator is splitmix64: a Weyl sequence and a mixer
 * ("Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
 */
#ifndef HTW_KUNIT_RANDOM_H
#define HTW_KUNIT_RANDOM_H

#include <linux/types.h>

static inline u64 htw_random(u64 *state)
{
	u64 z;

	*state += 0x9e3779b97f4a7c15ULL;
	z = *state;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* From 0 to @limit - 1; without a division, which 32-bit kernels lack for 64 bits. */
static inline u32 htw_random_below(u64 *state, u32 limit)
{
	return ((htw_random(state) >> 32) * limit) >> 32;
}

/*
 * A number of a random length of 1 to @bits bits, so that small ones are as frequent as large ones.
 */
static inline u64 htw_random_length(u64 *state, u32 bits)
{
	u32 length = 1 + htw_random_below(state, bits);

	return htw_random(state) >> (64 - length);
}

#endif /* HTW_KUNIT_RANDOM_H */
