/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory that a context shares with userspace: which areas there are, and their mapping.
 */
#ifndef HTW_SHARED_H
#define HTW_SHARED_H

#include <linux/htwheel.h>

#include "timer.h"

struct vm_area_struct;

int htw_shared_check(const struct htwheel_setup *setup);
int htw_shared_create(struct htw_timers_config *config, const struct htwheel_setup *setup,
		      const struct htw_clock *clock, u64 max_timers);
void htw_shared_destroy(struct htw_timers_config *config);
int htw_shared_map(const struct htw_timers *timers, struct vm_area_struct *vma);

#endif /* HTW_SHARED_H */
