/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: the smaller and the larger of two. Both must be of one type, which the compiler says by a
 * warning about the comparison of two pointers.
 */
#ifndef SHIM_LINUX_MINMAX_H
#define SHIM_LINUX_MINMAX_H

#define shim_choose(a, b, relation) __extension__ ({	\
	__typeof__(a) shim_a = (a);			\
	__typeof__(b) shim_b = (b);			\
	(void)(&shim_a == &shim_b);			\
	shim_a relation shim_b ? shim_a : shim_b;	\
})

#define min(a, b)	shim_choose(a, b, <)
#define max(a, b)	shim_choose(a, b, >)
#define min3(a, b, c)	min(min(a, b), c)
#define max3(a, b, c)	max(max(a, b), c)

#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))

#define clamp(value, low, high)	min(max(value, low), high)

#endif /* SHIM_LINUX_MINMAX_H */
