// SPDX-License-Identifier: GPL-2.0
/*
 * Making the rows, and their names.
 */
#include <linux/kernel.h>

#include "rows.h"

/**
 * htw_rows_fill() - all rows
 * @rows: room for HTW_ROWS_MAX
 *
 * Context: any.
 * Return: how many; HTW_ROWS_MAX and more are too many, and not all are there.
 */
unsigned int htw_rows_fill(struct htw_row *rows)
{
	const struct htw_design *last = NULL;
	unsigned int nr;

	for (nr = 0; nr < HTW_ROWS_MAX; nr++) {
		rows[nr].design = htw_design_row(nr, &rows[nr].geometry);
		if (!rows[nr].design)
			break;
		rows[nr].second = rows[nr].design == last;
		last = rows[nr].design;
	}
	return nr;
}

/* Equal radices in short: 64x11. */
static void name_shape(const struct htw_geometry *geometry, char *name, size_t size)
{
	u32 radix = htw_geometry_radix(geometry), level, length;

	if (radix && geometry->levels > 1) {
		snprintf(name, size, " %ux%u", radix, geometry->levels);
		return;
	}
	length = snprintf(name, size, " %u", geometry->radix[0]);
	for (level = 1; level < geometry->levels && length < size; level++)
		length += snprintf(name + length, size - length, "/%u", geometry->radix[level]);
}

/**
 * htw_row_name() - the name of a row, as "hier 60/60/24"
 * @row: the row
 * @name: room for HTW_ROW_NAME
 *
 * Context: any.
 */
void htw_row_name(const struct htw_row *row, char *name)
{
	size_t length = snprintf(name, HTW_ROW_NAME, "%s", row->design->name);

	if (row->geometry.levels && length < HTW_ROW_NAME)
		name_shape(&row->geometry, name + length, HTW_ROW_NAME - length);
}

/**
 * htw_row_partner() - a design to compare a row with
 * @rows: all rows
 * @nr: how many
 * @row: one of them
 *
 * Context: any.
 * Return: the next other design, going round.
 */
const struct htw_design *htw_row_partner(const struct htw_row *rows, unsigned int nr,
					 const struct htw_row *row)
{
	const struct htw_row *other = row;

	do {
		other = other + 1 < rows + nr ? other + 1 : rows;
	} while (other->design == row->design && other != row);
	return other->design;
}
