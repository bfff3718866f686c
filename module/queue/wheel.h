/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arithmetic of the radix wheel (wheel.c, which explains it): where a tick belongs, seen from
 * the clock, and when that place wants attention. Apart from the lists, so that it can be proved
 * for all ticks and clocks (selftests/prove).
 */
#ifndef HTW_WHEEL_H
#define HTW_WHEEL_H

#include <linux/bitops.h>
#include <linux/container_of.h>
#include <linux/minmax.h>

#include "slots.h"

/**
 * struct htw_wheel - a radix wheel
 * @slots: for each level two windows, in which a slot lies at its number modulo their length; then,
 *	for each level, the timers of the slot behind the clock's, on their way to the level below
 * @levels: levels in use
 * @busy: bit n is set if level n may have timers; the next look at one that has none clears it
 * @bits: a window has 2^bits slots
 * @digit: for each bit of a tick, the number of the digit that it belongs to
 */
struct htw_wheel {
	struct htw_slots	slots;
	unsigned int		levels;
	unsigned int		busy;
	unsigned int		bits;
	u8			digit[64];
};

#define to_wheel(_queue)	container_of(_queue, struct htw_wheel, slots.queue)
#define to_const_wheel(_queue)	container_of(_queue, const struct htw_wheel, slots.queue)

/* The number of the slot of @level in which @tick lies. */
static inline u64 wheel_number(const struct htw_wheel *wheel, u64 tick, unsigned int level)
{
	return tick >> level * wheel->bits;
}

/* The first slot of @level in the array. */
static inline unsigned int wheel_ring(const struct htw_wheel *wheel, unsigned int level)
{
	return level << (wheel->bits + 1);
}

/* Where the timers of @level are that are on their way down. */
static inline unsigned int wheel_moving(const struct htw_wheel *wheel, unsigned int level)
{
	return wheel_ring(wheel, wheel->levels) + level;
}

/*
 * The lowest level of which one of the two windows holds @tick, which is not before the clock: for
 * a distance from 64^n to less than 64^(n+1), level n - 1 if that is close enough, or else n.
 */
static inline unsigned int wheel_level(const struct htw_wheel *wheel, u64 tick)
{
	u64 clock = wheel->slots.queue.clock_tick;
	unsigned int n = tick == clock ? 0 : wheel->digit[fls64(tick - clock) - 1];

	if (n && wheel_number(wheel, tick, n) - wheel_number(wheel, clock, n) < 2)
		n--;
	return n;
}

/* Where a node belongs (of one on its way: where it goes). An overdue one is due now. */
static inline struct htw_place wheel_place(const struct htw_queue *queue,
					   const struct htw_node *node)
{
	const struct htw_wheel *wheel = to_const_wheel(queue);
	u64 tick = max(node->tick, queue->clock_tick);
	unsigned int level = wheel_level(wheel, tick);

	return (struct htw_place){
		.level	= level,
		.slot	= wheel_number(wheel, tick, level) & (wheel_ring(wheel, 1) - 1),
	};
}

/* When slot @number wants attention: at its tick, or when the level below can reach it. */
static inline u64 wheel_attention(const struct htw_wheel *wheel, u64 number, unsigned int level)
{
	return level ? (number - 1) << level * wheel->bits : number;
}

#endif /* HTW_WHEEL_H */
