/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private engines, and the table of designs.
 */
#ifndef HTW_PRIVATE_H
#define HTW_PRIVATE_H

#include <linux/htwheel.h>

#include "engine.h"

/* Ticks that a live clock may have. */
#define HTW_MIN_TICK_SHIFT	10
#define HTW_MAX_TICK_SHIFT	30

/*
 * Timers that a private engine may hold whose operations may look at all of them: at a few ns each,
 * some 100 us with softirqs off.
 */
#define HTW_MAX_LINEAR		65536U

bool htw_private_wanted(const struct htwheel_setup *setup);
bool htw_private_absent(const struct htwheel_setup *setup);
int htw_private_config(const struct htwheel_setup *setup, const struct htw_engine *shared,
		       struct htw_engine_config *config);
u64 htw_private_max_timers(const struct htw_engine_config *config, u64 ceiling);
int htw_private_row(struct htwheel_design *row, const struct htw_engine *shared);

#endif /* HTW_PRIVATE_H */
