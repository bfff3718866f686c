// SPDX-License-Identifier: GPL-2.0
/*
 * Finding designs, and shapes for them.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include <kunit/visibility.h>

#include "designs.h"

/* So that no queue needs more than some megabytes for its slots. */
#define DESIGNS_MAX_RADIX	65536U
#define DESIGNS_MAX_SLOTS	(2 * DESIGNS_MAX_RADIX)

#define DESIGNS_ENTRY(name)	&htw_##name##_design,

const struct htw_design *const htw_designs[] = {
	HTW_DESIGN_TABLE(DESIGNS_ENTRY)
	NULL
};
EXPORT_SYMBOL_IF_KUNIT(htw_designs);

/**
 * htw_design_find() - look a design up by its name
 * @name: name, as a user wrote it
 *
 * Context: any.
 * Return: the design, or NULL.
 */
const struct htw_design *htw_design_find(const char *name)
{
	const struct htw_design *const *design;

	for (design = htw_designs; *design; design++) {
		if (!strcmp((*design)->name, name))
			break;
	}
	return *design;
}
EXPORT_SYMBOL_IF_KUNIT(htw_design_find);

/**
 * htw_design_default() - the shape of a design's queues if nobody asks for another one
 * @design: the design
 *
 * Context: any.
 * Return: the shape, all 0 if the design has no levels.
 */
struct htw_geometry htw_design_default(const struct htw_design *design)
{
	return design->geometries ? design->geometries[0] : (struct htw_geometry){};
}
EXPORT_SYMBOL_IF_KUNIT(htw_design_default);

/**
 * htw_geometry_radix() - the radix of a shape whose levels are all alike
 * @geometry: the shape
 *
 * Context: any.
 * Return: the radix, or 0 if the levels differ.
 */
u32 htw_geometry_radix(const struct htw_geometry *geometry)
{
	u32 level;

	for (level = 1; level < geometry->levels; level++) {
		if (geometry->radix[level] != geometry->radix[0])
			return 0;
	}
	return geometry->radix[0];
}
EXPORT_SYMBOL_IF_KUNIT(htw_geometry_radix);

/**
 * htw_design_fits() - can a queue of a design have this shape?
 * @design: the design
 * @geometry: the shape; not trusted
 * @tick_bits: bits of the highest tick
 *
 * Context: any.
 * Return: whether it can.
 */
bool htw_design_fits(const struct htw_design *design, const struct htw_geometry *geometry,
		     unsigned int tick_bits)
{
	u32 level, slots = 0;

	if (geometry->levels > HTW_MAX_LEVELS || !geometry->levels != !design->fits)
		return false;
	for (level = 0; level < geometry->levels; level++) {
		if (geometry->radix[level] < 2 || geometry->radix[level] > DESIGNS_MAX_RADIX)
			return false;
		slots += design->windows * geometry->radix[level];
	}
	for (; level < HTW_MAX_LEVELS; level++) {
		if (geometry->radix[level])
			return false;
	}
	return !design->fits ||
	       (slots <= DESIGNS_MAX_SLOTS && design->fits(geometry, tick_bits));
}
EXPORT_SYMBOL_IF_KUNIT(htw_design_fits);

/* How many rows a design has. */
static unsigned int designs_rows(const struct htw_design *design)
{
	unsigned int rows = 0;

	if (!design->geometries)
		return 1;
	while (design->geometries[rows].levels)
		rows++;
	return rows;
}

/**
 * htw_design_row() - one of all pairs of a design and a shape that is of interest
 * @index: which, from 0
 * @geometry: receives the shape, all 0 if the design has no levels
 *
 * Context: any.
 * Return: the design, or NULL behind the last row.
 */
const struct htw_design *htw_design_row(unsigned int index, struct htw_geometry *geometry)
{
	const struct htw_design *const *design;

	for (design = htw_designs; *design; design++) {
		if (index < designs_rows(*design))
			break;
		index -= designs_rows(*design);
	}
	if (*design)
		*geometry = (*design)->geometries ? (*design)->geometries[index] :
						    (struct htw_geometry){};
	return *design;
}
EXPORT_SYMBOL_IF_KUNIT(htw_design_row);
