/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: the kernel's types for userspace. As in the kernel, 64-bit types are long long everywhere.
 */
#ifndef SHIM_LINUX_TYPES_H
#define SHIM_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef unsigned char		u8;
typedef unsigned short		u16;
typedef unsigned int		u32;
typedef unsigned long long	u64;
typedef signed char		s8;
typedef short			s16;
typedef int			s32;
typedef long long		s64;

typedef u8			__u8;
typedef u16			__u16;
typedef u32			__u32;
typedef u64			__u64;
typedef s8			__s8;
typedef s16			__s16;
typedef s32			__s32;
typedef s64			__s64;

typedef unsigned int		gfp_t;

#define U32_MAX			((u32)~0U)
#define U64_MAX			((u64)~0ULL)
#define S64_MAX			((s64)(U64_MAX >> 1))

struct list_head {
	struct list_head	*next;
	struct list_head	*prev;
};

#endif /* SHIM_LINUX_TYPES_H */
