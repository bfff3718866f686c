/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: sizes that saturate instead of wrapping.
 */
#ifndef SHIM_LINUX_OVERFLOW_H
#define SHIM_LINUX_OVERFLOW_H

#include <stddef.h>
#include <stdint.h>

static inline size_t size_mul(size_t a, size_t b)
{
	size_t product;

	return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

static inline size_t size_add(size_t a, size_t b)
{
	size_t sum;

	return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

/* Size of a struct that ends with an array of @nr elements. */
#define struct_size(pointer, array, nr) \
	size_add(sizeof(*(pointer)), size_mul(nr, sizeof((pointer)->array[0])))

/* Whether the product does not fit into *@to, which receives as much of it as does. */
#define check_mul_overflow(a, b, to)	__builtin_mul_overflow(a, b, to)

#endif /* SHIM_LINUX_OVERFLOW_H */
