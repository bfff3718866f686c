/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: powers of two.
 */
#ifndef SHIM_LINUX_LOG2_H
#define SHIM_LINUX_LOG2_H

#include <linux/bitops.h>

#define ilog2(number)	(fls64(number) - 1)

static inline bool is_power_of_2(unsigned long number)
{
	return number && !(number & (number - 1));
}

#endif /* SHIM_LINUX_LOG2_H */
