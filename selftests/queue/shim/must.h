/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: what must hold, or the program aborts. With NDEBUG, which measurements define, nothing is
 * looked at: then the code costs what it costs in a kernel that has no such checks.
 */
#ifndef SHIM_MUST_H
#define SHIM_MUST_H

#include <stdlib.h>

#ifdef NDEBUG
#define shim_must(condition)	((void)sizeof(condition))
#else
#define shim_must(condition)	((condition) ? (void)0 : abort())
#endif

#endif /* SHIM_MUST_H */
