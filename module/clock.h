/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clocks of an engine, and the conversion between nanoseconds and ticks.
 */
#ifndef HTW_CLOCK_H
#define HTW_CLOCK_H

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
	u64		(*now_ns)(void);
};

extern const struct htw_clock htw_clock_monotonic;

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
