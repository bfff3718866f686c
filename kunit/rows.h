/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows of the test matrix: each design with each of its shapes. They come straight from the
 * module's table, so a new design is in by itself, and cannot be forgotten (FAULTS B88).
 */
#ifndef HTW_KUNIT_ROWS_H
#define HTW_KUNIT_ROWS_H

#include <linux/types.h>

#include "queue/queue.h"

/* More than there will ever be; whoever finds out complains. */
#define HTW_ROWS_MAX	64

/* Room for a row's name. */
#define HTW_ROW_NAME	64

/**
 * struct htw_row - a row
 * @design: the design
 * @geometry: the shape
 * @second: not the design's first shape; such rows are run at fewer starts
 */
struct htw_row {
	const struct htw_design	*design;
	struct htw_geometry	geometry;
	bool			second;
};

unsigned int htw_rows_fill(struct htw_row *rows);
const struct htw_design *htw_row_partner(const struct htw_row *rows, unsigned int nr,
					 const struct htw_row *row);
void htw_row_name(const struct htw_row *row, char *name);

#endif /* HTW_KUNIT_ROWS_H */
