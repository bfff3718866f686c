// SPDX-License-Identifier: GPL-2.0
/*
 * When a periodic timer is due next.
 *
 * By division, never by a loop: the time that has passed may be 10^18 periods (FAULTS B44). And
 * from the deadline, never from the present, but for DELAY, which asks for that: so nothing drifts,
 * and what a late CPU or a slow reader adds to one turn is not in the next (B49).
 *
 * Worked example, with a deadline of 10, a period of 10, and the event read at 105: passed is
 * (105 - 10) / 10 + 1 = 10, the deadlines 10 to 100; the next is 10 + 10 * 10 = 110.
 */
#include <linux/export.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include <kunit/visibility.h>

#include "period.h"

/**
 * htw_period_turn() - the event of a periodic timer, and its next deadline
 * @policy: what is to become of missed periods
 * @deadline_ns: the deadline that has passed
 * @period_ns: the period, 1 to HTWHEEL_NEVER_NS
 * @now_ns: the present, at most HTWHEEL_NEVER_NS; a moment before @deadline_ns, which a clock that
 *	goes back could give (FAULTS B65), counts as @deadline_ns
 *
 * No sum overflows: passed * period_ns is at most the time since the deadline and one period more,
 * so adding the deadline gives at most now_ns + period_ns, two numbers of 63 bits.
 *
 * Context: any.
 * Return: the turn.
 */
struct htw_turn htw_period_turn(enum htwheel_policy policy, u64 deadline_ns, u64 period_ns,
				u64 now_ns)
{
	struct htw_turn turn = { .count = 1 };
	u64 passed;

	now_ns = max(now_ns, deadline_ns);
	passed = div64_u64(now_ns - deadline_ns, period_ns) + 1;
	switch (policy) {
	case HTWHEEL_POLICY_COUNT:
		turn.count = passed;
		fallthrough;
	case HTWHEEL_POLICY_SKIP:
		turn.next_ns = deadline_ns + passed * period_ns;
		break;
	case HTWHEEL_POLICY_BURST:
		turn.next_ns = deadline_ns + period_ns;
		break;
	case HTWHEEL_POLICY_DELAY:
		turn.next_ns = now_ns + period_ns;
		break;
	}
	turn.next_ns = min_t(u64, turn.next_ns, HTWHEEL_NEVER_NS);
	return turn;
}
EXPORT_SYMBOL_IF_KUNIT(htw_period_turn);
