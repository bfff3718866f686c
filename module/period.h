/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arithmetic of periodic timers.
 */
#ifndef HTW_PERIOD_H
#define HTW_PERIOD_H

#include <linux/types.h>

#include <linux/htwheel.h>

/**
 * struct htw_turn - what follows when the event of a periodic timer is read
 * @count: expirations that the event stands for
 * @next_ns: the next deadline, at most HTWHEEL_NEVER_NS; it may have passed already (BURST)
 */
struct htw_turn {
	u64			count;
	u64			next_ns;
};

struct htw_turn htw_period_turn(enum htwheel_policy policy, u64 deadline_ns, u64 period_ns,
				u64 now_ns);

#endif /* HTW_PERIOD_H */
