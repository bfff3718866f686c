// SPDX-License-Identifier: GPL-2.0
/*
 * The table of queue designs.
 */
#include <linux/string.h>

#include <kunit/visibility.h>

#include "designs.h"

const struct htw_design *const htw_designs[] = {
	&htw_wheel_design,
	&htw_heap_design,
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
