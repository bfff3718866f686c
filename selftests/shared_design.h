/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's parameter design= gives the shared engines another design. What tests may expect of
 * each is in the table of HTWHEEL_IOC_DESIGN; few tests have to ask.
 */
#ifndef HTWHEEL_SHARED_DESIGN_H
#define HTWHEEL_SHARED_DESIGN_H

#include "common.h"

/*
 * What the design of the shared engines promises, enum htwheel_design_property. A module without
 * the table has an exact design.
 */
static inline uint32_t shared_design(int fd)
{
	struct htwheel_design row = { .size = sizeof(row) };
	struct htwheel_info info;

	if (device_info(fd, &info))
		return 0;
	while (!device_ioctl(fd, HTWHEEL_IOC_DESIGN, &row)) {
		if (!strcmp(row.name, info.design))
			return row.properties;
		row.index++;
	}
	return HTWHEEL_DESIGN_EXACT;
}

/*
 * A spread of deadlines, or none with a design that looks at all timers to find the place of one:
 * what is not later than the others it takes at once.
 */
static inline uint64_t spread_for_design(int fd, uint64_t spread_ns)
{
	return shared_design(fd) & HTWHEEL_DESIGN_LINEAR ? 0 : spread_ns;
}

#endif /* HTWHEEL_SHARED_DESIGN_H */
