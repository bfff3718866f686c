/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is done to all timers of an owner, one step at a time.
 */
#ifndef HTW_SWEEP_H
#define HTW_SWEEP_H

#include <linux/types.h>

#include "timer.h"

/*
 * Entries of a dump that are collected under one hold of the owner's lock; they lie on the stack.
 */
#define HTW_DUMP_STEP	12U

unsigned int htw_sweep_mass(struct htw_timers *timers, const struct htwheel_mass *mass,
			    u64 *cursor);
unsigned int htw_sweep_dump(struct htw_timers *timers, u64 *cursor,
			    struct htwheel_dump_entry *entries, unsigned int max);

#endif /* HTW_SWEEP_H */
