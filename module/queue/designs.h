/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of queue designs. A new one is its file in this directory, which defines
 * htw_NAME_design, and its line here; everything else finds it by the table.
 */
#ifndef HTW_DESIGNS_H
#define HTW_DESIGNS_H

#include "queue.h"

/* The first is the default. */
#define HTW_DESIGN_TABLE(DESIGN)	\
	DESIGN(wheel)			\
	DESIGN(linux)			\
	DESIGN(hier)			\
	DESIGN(hashed)			\
	DESIGN(heap)			\
	DESIGN(lazyheap)		\
	DESIGN(rbtree)			\
	DESIGN(list)			\

#define HTW_DESIGN_DECLARE(name)	extern const struct htw_design htw_##name##_design;
HTW_DESIGN_TABLE(HTW_DESIGN_DECLARE)
#undef HTW_DESIGN_DECLARE

#endif /* HTW_DESIGNS_H */
