/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The designs by name, for the table in designs.c alone; everybody else asks the table.
 */
#ifndef HTW_DESIGNS_H
#define HTW_DESIGNS_H

#include "queue.h"

extern const struct htw_design htw_wheel_design;
extern const struct htw_design htw_heap_design;

#endif /* HTW_DESIGNS_H */
