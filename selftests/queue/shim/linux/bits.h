/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: single bits.
 */
#ifndef SHIM_LINUX_BITS_H
#define SHIM_LINUX_BITS_H

#define BITS_PER_LONG	(8 * (unsigned int)sizeof(long))
#define BIT(nr)		(1UL << (nr))
#define BIT_ULL(nr)	(1ULL << (nr))

#endif /* SHIM_LINUX_BITS_H */
