// SPDX-License-Identifier: GPL-2.0
/*
 * The live clocks.
 */
#include <linux/ktime.h>

#include <linux/htwheel.h>

#include <kunit/visibility.h>

#include "clock.h"

const struct htw_clock htw_clock_monotonic = {
	.name		= "monotonic",
	.id		= HTWHEEL_CLOCK_MONOTONIC,
	.hrtimer_clock	= CLOCK_MONOTONIC,
	.live		= true,
	.now_ns		= ktime_get_ns,
};
EXPORT_SYMBOL_IF_KUNIT(htw_clock_monotonic);
