/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: prefetching.
 */
#ifndef SHIM_LINUX_PREFETCH_H
#define SHIM_LINUX_PREFETCH_H

#define prefetch(address)	__builtin_prefetch(address)
#define prefetchw(address)	__builtin_prefetch(address, 1)

#endif /* SHIM_LINUX_PREFETCH_H */
