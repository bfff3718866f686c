/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: from a member to what holds it.
 */
#ifndef SHIM_LINUX_CONTAINER_OF_H
#define SHIM_LINUX_CONTAINER_OF_H

#include <stddef.h>

/* A pointer to something else than the member is a warning. */
#define container_of(pointer, type, member) __extension__ ({			\
	__typeof__(&((type *)0)->member) shim_member = (pointer);		\
	(type *)((char *)shim_member - offsetof(type, member));			\
})

#endif /* SHIM_LINUX_CONTAINER_OF_H */
