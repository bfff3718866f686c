// SPDX-License-Identifier: GPL-2.0
/*
 * The hashed wheel: one level, and timers of all rounds in it. Exact.
 *
 * A wheel of some slots, and a timer goes to the slot of its tick, tick % slots, however far it is:
 * with 512 slots, those of tick 3, 515 and 1027 share one. Published ones count the rounds that a
 * timer has to wait and decrement them in each turn. Here the timer's own tick says the same, so
 * that nothing has to be counted and turns may be left out.
 *
 * Each slot keeps a lower bound of its ticks. A slot is not looked at when the hand passes it but
 * when its bound comes, and the clock goes from bound to bound: a timer alone in 2^40 ticks costs
 * one look, not two thousand million turns. A look meets all timers of the slot, one by one. Those
 * that are due leave. The others are laid aside, which finds the new bound, and when the slot is
 * empty they are put back, in their order. So a look may stop anywhere, and equal ticks leave in
 * the order of arrival.
 *
 * Example. 8 slots, the clock at 5, and ticks 31, 7 and 15 in slot 7, whose bound is 7. At 7 the
 * look hands out 7, lays 31 and 15 aside and finds the bound 15. At 15 it meets both, at 31 the
 * last one; at 23 nobody looks. If 15 is deleted before its time, the look at 15 is in vain, for
 * nobody else knows that 31 is next: the bound becomes 31.
 *
 * What it costs. Arm and cancel: 1, and there is no level to be found. Each event looks at all the
 * timers of its slot, n / slots of them if they are spread well, and at the bounds of occupied
 * slots until one lies within the present turn. What it trades: a bad spread, as of timeouts that
 * are multiples of the slots, or more timers than slots makes it quadratic: n timers in one slot at
 * n different ticks are looked at n * n / 2 times.
 *
 * Source: "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme 6; with 512 slots and rounds,
 * as in Netty's and Agrona's wheels.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "designs.h"
#include "slots.h"

/**
 * struct htw_hashed - a hashed wheel
 * @slots: the slots, and one more: the timers of the clock's slot that a look has laid aside
 * @radix: slots without that one
 * @bound_tick: for each, a tick of the slot such that no timer in it is earlier, an overdue one
 *	counting as of the clock; means nothing if the slot is empty
 */
struct htw_hashed {
	struct htw_slots	slots;
	u32			radix;
	u64			bound_tick[];
};

#define to_hashed(_queue)	container_of(_queue, struct htw_hashed, slots.queue)
#define to_const_hashed(_queue)	container_of(_queue, const struct htw_hashed, slots.queue)

static unsigned int hashed_slot(const struct htw_hashed *hashed, u64 tick)
{
	u32 slot = tick & (hashed->radix - 1);

	if (!is_power_of_2(hashed->radix))
		div_u64_rem(tick, hashed->radix, &slot);
	return slot;
}

static void hashed_put(struct htw_hashed *hashed, unsigned int slot, struct htw_node *node,
		       u64 tick)
{
	u64 *bound = &hashed->bound_tick[slot];

	*bound = htw_slots_occupied(&hashed->slots, slot) ? min(*bound, tick) : tick;
	htw_slots_put(&hashed->slots, slot, node);
}

static bool hashed_add(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_hashed *hashed = to_hashed(queue);
	u64 tick = max(node->tick, queue->clock_tick);

	hashed_put(hashed, hashed_slot(hashed, tick), node, tick);
	return htw_slots_added(&hashed->slots, tick);
}

/*
 * The earliest bound, HTW_TICK_NONE if the wheel is empty. A bound in the present turn is as far as
 * its slot, so those of the slots behind it are later.
 */
static u64 hashed_event(const struct htw_hashed *hashed)
{
	u64 clock = hashed->slots.queue.clock_tick, event = HTW_TICK_NONE;
	u32 radix = hashed->radix, at = hashed_slot(hashed, clock), distance, slot;

	/* A look has not come to its end. */
	if (htw_slots_occupied(&hashed->slots, radix))
		return clock;
	for (distance = 0; distance < radix; distance++) {
		slot = (at + distance) % radix;
		distance += htw_slots_ahead(&hashed->slots, 0, radix, slot);
		if (distance >= radix)
			break;
		slot = (at + distance) % radix;
		event = min(event, hashed->bound_tick[slot]);
		if (event - clock < radix)
			break;
	}
	return event;
}

/* Look at the timers of the clock's slot, as far as the budget goes. */
static u64 hashed_look(struct htw_hashed *hashed, u64 budget, struct list_head *due,
		       struct htw_work *work)
{
	u64 clock = hashed->slots.queue.clock_tick;
	u32 aside = hashed->radix, slot = hashed_slot(hashed, clock);
	struct htw_node *node;

	work->slots++;
	for (; budget && htw_slots_occupied(&hashed->slots, slot); budget--) {
		node = htw_slots_first(&hashed->slots, slot);
		if (node->tick <= clock) {
			work->due += htw_slots_hand_out(&hashed->slots, slot, 1, due);
			continue;
		}
		htw_slots_remove(&hashed->slots, node);
		hashed_put(hashed, aside, node, node->tick);
		work->moves++;
	}
	if (!htw_slots_occupied(&hashed->slots, slot) &&
	    htw_slots_occupied(&hashed->slots, aside)) {
		htw_slots_splice(&hashed->slots, aside, slot);
		hashed->bound_tick[slot] = hashed->bound_tick[aside];
	}
	return budget;
}

static bool hashed_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			   struct htw_work *work)
{
	struct htw_hashed *hashed = to_hashed(queue);
	u64 *next = &hashed->slots.next_tick;

	while (*next <= now) {
		*next = hashed_event(hashed);
		if (*next <= now && !budget)
			return true;
		if (*next > now)
			break;
		queue->clock_tick = *next;
		budget = hashed_look(hashed, budget, due, work);
	}
	queue->clock_tick = max(queue->clock_tick, now);
	return false;
}

/* What is laid aside is on its way back to the clock's slot. */
static struct htw_place hashed_place(const struct htw_queue *queue, const struct htw_node *node)
{
	u64 tick = max(node->tick, queue->clock_tick);

	return (struct htw_place){ .slot = hashed_slot(to_const_hashed(queue), tick) };
}

static bool hashed_belongs(const struct htw_queue *queue, const struct htw_node *node,
			   unsigned int slot)
{
	const struct htw_hashed *hashed = to_const_hashed(queue);
	unsigned int clock_slot = hashed_slot(hashed, queue->clock_tick);
	u64 tick = max(node->tick, queue->clock_tick);

	if (hashed->bound_tick[slot] > tick)
		return false;
	if (slot == hashed->radix)
		return tick > queue->clock_tick && hashed_slot(hashed, tick) == clock_slot;
	return hashed_slot(hashed, tick) == slot &&
	       hashed_slot(hashed, hashed->bound_tick[slot]) == slot;
}

static int hashed_check(const struct htw_queue *queue)
{
	if (htw_slots_next(queue) > hashed_event(to_const_hashed(queue)))
		return __LINE__;
	return htw_slots_check(queue, hashed_belongs);
}

static bool hashed_fits(const struct htw_geometry *geometry, unsigned int tick_bits)
{
	return geometry->levels == 1;
}

static struct htw_queue *hashed_create(const struct htw_queue_config *config)
{
	u32 radix = config->geometry.radix[0];
	size_t size = sizeof(struct htw_hashed) + (radix + 1) * sizeof(u64);
	struct htw_queue *queue = htw_slots_create(&htw_hashed_design, config, size, radix + 1, 1);

	if (queue)
		to_hashed(queue)->radix = radix;
	return queue;
}

static const struct htw_geometry hashed_geometries[] = {
	{ 1, { 512 } },
	{ 1, { 8 } },
	{}
};

const struct htw_design htw_hashed_design = {
	.name		= "hashed",
	.about		= "one wheel with rounds",
	.costs		= "1 / 1 / n over slots",
	.flags		= HTW_DESIGN_FIFO | HTW_DESIGN_LINEAR,
	.windows	= 1,
	.geometries	= hashed_geometries,
	.fits		= hashed_fits,
	.create		= hashed_create,
	.destroy	= htw_slots_destroy,
	.add		= hashed_add,
	.del		= htw_slots_del,
	.fetch		= htw_slots_fetch,
	.next		= htw_slots_next,
	.advance	= hashed_advance,
	.take		= htw_slots_take,
	.check		= hashed_check,
	.place		= hashed_place,
};
