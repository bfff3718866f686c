/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: where older kernels have kvmalloc() and its like.
 */
#include <linux/slab.h>
