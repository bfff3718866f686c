/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: small things.
 */
#ifndef SHIM_LINUX_KERNEL_H
#define SHIM_LINUX_KERNEL_H

#include <stdio.h>

#include <linux/bitops.h>
#include <linux/container_of.h>
#include <linux/types.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define ALIGN(n, to)		(((n) + (to) - 1) / (to) * (to))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

#define READ_ONCE(value)	(*(const volatile __typeof__(value) *)&(value))

#endif /* SHIM_LINUX_KERNEL_H */
