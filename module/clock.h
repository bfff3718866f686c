/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clocks of an engine, and the conversion between nanoseconds and ticks.
 */
#ifndef HTW_CLOCK_H
#define HTW_CLOCK_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/types.h>

/**
 * struct htw_clock - what an engine measures time on
 * @name: for people
 * @id: the UAPI's number of the clock, enum htwheel_clock
 * @hrtimer_clock: the clock of the hrtimer that wakes the bases
 * @live: true if time passes by itself and an hrtimer can wait for it; without it the engine
 *	programs no hrtimer and a pass runs when it is called
 * @now_ns: the present time. Any context
 */
struct htw_clock {
	const char	*name;
	u32		id;
	clockid_t	hrtimer_clock;
	bool		live;
	u64		(*now_ns)(const struct htw_clock *clock);
};

/**
 * struct htw_manual_clock - a clock that is moved by hand
 * @clock: the clock
 * @now_ns: where it stands; whoever moves it serializes that
 */
struct htw_manual_clock {
	struct htw_clock	clock;
	atomic64_t		now_ns;
};

static inline u64 htw_clock_now_ns(const struct htw_clock *clock)
{
	return clock->now_ns(clock);
}

static inline void htw_manual_clock_set(struct htw_manual_clock *manual, u64 now_ns)
{
	atomic64_set(&manual->now_ns, now_ns);
}

void htw_manual_clock_init(struct htw_manual_clock *manual, u64 now_ns);

extern const struct htw_clock htw_clock_monotonic;
extern const struct htw_clock htw_clock_boottime;

u64 htw_clock_from_user(u64 ns, s64 offset_ns);
u64 htw_clock_to_user(u64 ns, s64 offset_ns);
s64 htw_clock_user_offset_ns(const struct htw_clock *clock);

/**
 * htw_tick_up() - the first tick that begins at or after a time
 * @ns: time; at most KTIME_MAX, so that the sum cannot wrap
 * @shift: a tick is 2^shift ns
 *
 * Deadlines become ticks by this, once, and by nothing else: rounding up here and down in
 * htw_tick_down() is what makes "never early" true to the nanosecond.
 *
 * Return: the tick.
 */
static inline u64 htw_tick_up(u64 ns, unsigned int shift)
{
	return (ns + (1ULL << shift) - 1) >> shift;
}

/**
 * htw_tick_slack() - the tick to queue a timer at that may fire later than at its deadline
 * @tick: the tick of its deadline, at least 1
 * @slack_ticks: how many ticks later it may be
 *
 * The roundest number from @tick to @tick + @slack_ticks, the one that can be divided by the
 * highest power of two. Timers whose windows overlap mostly agree on it, without knowing of each
 * other, and so share a wake-up. Found by keeping, of the window's end, only the highest bit in
 * which it differs from the tick before the window, and those above. (The idea: apply_slack() in
 * linux 2.6.35 to 4.7, which starts from the window's beginning and so passes a round one that is
 * there.)
 *
 * Example: 1000 with 100 ticks of slack: 999 is 01111100111 and 1100 is 10001001100 in binary, the
 * highest difference is at 1024, and so the tick is 1024.
 *
 * Return: the tick.
 */
static inline u64 htw_tick_slack(u64 tick, u32 slack_ticks)
{
	u64 last = tick + slack_ticks;
	unsigned int bit = fls64((tick - 1) ^ last) - 1;

	return last & ~(BIT_ULL(bit) - 1);
}

/**
 * htw_tick_down() - the tick that a moment lies in
 * @ns: the moment
 * @shift: a tick is 2^shift ns
 *
 * Return: the tick.
 */
static inline u64 htw_tick_down(u64 ns, unsigned int shift)
{
	return ns >> shift;
}

/**
 * htw_tick_start() - the moment at which a tick begins
 * @tick: the tick
 * @shift: a tick is 2^shift ns
 *
 * Return: ns, at most KTIME_MAX: the tick of the last deadline of all begins just after it.
 */
static inline u64 htw_tick_start(u64 tick, unsigned int shift)
{
	return tick > (u64)KTIME_MAX >> shift ? KTIME_MAX : tick << shift;
}

#endif /* HTW_CLOCK_H */
