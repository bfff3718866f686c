/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's arithmetic, done in the most naive way there is. For small numbers.
 */
#ifndef HTW_KUNIT_NAIVE_H
#define HTW_KUNIT_NAIVE_H

#include <linux/bitops.h>
#include <linux/types.h>

#include "clock.h"
#include "period.h"

/* One period after the other. */
static inline struct htw_turn htw_naive_turn(enum htwheel_policy policy, u64 deadline_ns,
					     u64 period_ns, u64 now_ns)
{
	u64 next_ns = deadline_ns + period_ns, passed = 1;

	for (; next_ns <= now_ns; next_ns += period_ns)
		passed++;
	switch (policy) {
	case HTWHEEL_POLICY_COUNT:
		return (struct htw_turn){ .count = passed, .next_ns = next_ns };
	case HTWHEEL_POLICY_SKIP:
		return (struct htw_turn){ .count = 1, .next_ns = next_ns };
	case HTWHEEL_POLICY_BURST:
		return (struct htw_turn){ .count = 1, .next_ns = deadline_ns + period_ns };
	default:
		return (struct htw_turn){ .count = 1, .next_ns = now_ns + period_ns };
	}
}

/* Of two ticks, the one that can be divided by the higher power of two. */
static inline u64 htw_naive_rounder(u64 a, u64 b)
{
	return __ffs64(b) > __ffs64(a) ? b : a;
}

/* One tick after the other. */
static inline u64 htw_naive_slack(u64 tick, u32 slack_ticks)
{
	u64 best = tick, i;

	for (i = 1; i <= slack_ticks; i++)
		best = htw_naive_rounder(best, tick + i);
	return best;
}

#endif /* HTW_KUNIT_NAIVE_H */
