/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: what only tests see is seen.
 */
#ifndef SHIM_KUNIT_VISIBILITY_H
#define SHIM_KUNIT_VISIBILITY_H

#define VISIBLE_IF_KUNIT

/* Nothing is exported. */
#define EXPORT_SYMBOL_IF_KUNIT(symbol)

#endif /* SHIM_KUNIT_VISIBILITY_H */
