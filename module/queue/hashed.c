// SPDX-License-Identifier: GPL-2.0
/*
 * The hashed wheel: one wheel, as many rounds as a timer needs.
 *
 * A timer lies in slot tick % 512, together with those of other rounds. When the clock comes to a
 * slot, its timers are looked at one by one: those of this round are due, the others stay. So arm
 * and cancel are a few instructions whatever the delay, nothing ever moves from level to level, and
 * the price is that a timer may be looked at once a round, that is its delay / 512 times.
 *
 * Example. At 1000 (slot 488), tick 1100 goes to slot 76, and so does 1612, a round later. When the
 * clock comes to 1100, both are looked at; 1100 is handed out and 1612 stays.
 *
 * Two things are more than the textbook has. The rounds are not counted down but told from the
 * tick, so a clock that jumps need not visit every round. And each slot knows the earliest tick in
 * it (or an earlier one, if that was deleted), so one that only holds later rounds is passed by: the
 * next expiry is then the next slot whose earliest tick is of this round, or else the earliest of
 * all, which takes a look at each slot.
 *
 * A crowd in one slot (deadlines a multiple of 512 apart, which anybody can choose) makes each of
 * its ticks a look at all of them: hence HTW_DESIGN_LINEAR. Each look counts as work, so a pass
 * stays within its budget and goes on in the middle of a slot.
 *
 * Source: "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme 6.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "designs.h"
#include "slots.h"

/**
 * struct htw_hashed - a hashed wheel
 * @slots: the slots, and one more for what is being looked at
 * @radix: how many slots the wheel has
 * @earliest: for each of them a tick that none of its timers is before
 */
struct htw_hashed {
	struct htw_slots	slots;
	u32			radix;
	u64			earliest[];
};

#define to_hashed(_queue)	container_of(_queue, struct htw_hashed, slots.queue)
#define to_const_hashed(_queue)	container_of(_queue, const struct htw_hashed, slots.queue)

static u32 hashed_slot(const struct htw_hashed *hashed, u64 tick)
{
	u32 slot;

	div_u64_rem(tick, hashed->radix, &slot);
	return slot;
}

/* An overdue timer is due with the clock's own tick. Returns that, or its tick. */
static u64 hashed_put(struct htw_hashed *hashed, struct htw_node *node)
{
	u64 tick = max(node->tick, hashed->slots.queue.clock_tick);
	u32 slot = hashed_slot(hashed, tick);

	if (!htw_slots_occupied(&hashed->slots, slot))
		hashed->earliest[slot] = tick;
	hashed->earliest[slot] = min(hashed->earliest[slot], tick);
	htw_slots_put(&hashed->slots, slot, node);
	return tick;
}

static bool hashed_add(struct htw_queue *queue, struct htw_node *node)
{
	return htw_slots_added(to_slots(queue), hashed_put(to_hashed(queue), node));
}

/*
 * The slot that is due first, and when. From the clock's slot on: one whose earliest tick is of this
 * round comes before all that follow, and what comes before it is of later rounds.
 */
static u64 hashed_first(const struct htw_hashed *hashed, u32 *slot)
{
	u32 start = hashed_slot(hashed, hashed->slots.queue.clock_tick), at = start, ahead, seen = 0;
	u64 first = HTW_TICK_NONE;

	while (seen < hashed->radix) {
		ahead = htw_slots_ahead(&hashed->slots, 0, hashed->radix, at);
		seen += ahead;
		if (seen >= hashed->radix)
			break;
		at = at + ahead < hashed->radix ? at + ahead : at + ahead - hashed->radix;
		if (hashed->earliest[at] < first) {
			first = hashed->earliest[at];
			*slot = at;
		}
		if (first - hashed->slots.queue.clock_tick <= seen)
			break;
		seen++;
		at = at + 1 < hashed->radix ? at + 1 : 0;
	}
	return first;
}

/* Look at the timers that were in the slot of the clock's tick. */
static u64 hashed_visit(struct htw_hashed *hashed, u64 budget, struct list_head *due,
			struct htw_work *work)
{
	struct htw_queue *queue = &hashed->slots.queue;
	struct htw_node *node;

	work->slots++;
	for (; budget && htw_slots_occupied(&hashed->slots, hashed->radix); budget--) {
		node = htw_slots_first(&hashed->slots, hashed->radix);
		htw_slots_remove(&hashed->slots, node);
		if (node->tick > queue->clock_tick) {
			hashed_put(hashed, node);
			work->moves++;
			continue;
		}
		list_add_tail(&node->link, due);
		queue->nr--;
		work->due++;
	}
	return budget;
}

static bool hashed_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			   struct htw_work *work)
{
	struct htw_hashed *hashed = to_hashed(queue);
	u64 *next = &hashed->slots.next_tick;
	u32 slot = 0;

	while (*next <= now) {
		/* What is being looked at is due now, for all that is known. */
		if (!htw_slots_occupied(&hashed->slots, hashed->radix)) {
			*next = hashed_first(hashed, &slot);
			if (*next > now)
				break;
			if (!budget)
				return true;
			queue->clock_tick = max(queue->clock_tick, *next);
			htw_slots_splice(&hashed->slots, slot, hashed->radix);
		}
		if (!budget)
			return true;
		budget = hashed_visit(hashed, budget, due, work);
	}
	queue->clock_tick = max(queue->clock_tick, now);
	return false;
}

static struct htw_place hashed_place(const struct htw_queue *queue, const struct htw_node *node)
{
	return (struct htw_place){
		.slot = hashed_slot(to_const_hashed(queue), max(node->tick, queue->clock_tick)),
	};
}

static bool hashed_belongs(const struct htw_queue *queue, const struct htw_node *node,
			   unsigned int slot)
{
	const struct htw_hashed *hashed = to_const_hashed(queue);
	u64 tick = max(node->tick, queue->clock_tick);

	if (slot == hashed->radix)
		return hashed->slots.next_tick <= queue->clock_tick;
	return slot == hashed_slot(hashed, tick) && hashed->earliest[slot] <= tick &&
	       hashed->earliest[slot] >= hashed->slots.next_tick;
}

static int hashed_check(const struct htw_queue *queue)
{
	return htw_slots_check(queue, hashed_belongs);
}

static bool hashed_fits(const struct htw_geometry *geometry, unsigned int tick_bits)
{
	return geometry->levels == 1;
}

static struct htw_queue *hashed_create(const struct htw_queue_config *config)
{
	u32 radix = config->geometry.radix[0];
	struct htw_queue *queue;

	queue = htw_slots_create(&htw_hashed_design, config,
				 sizeof(struct htw_hashed) + radix * sizeof(u64), radix + 1);
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
	.costs		= "1 / 1 / length of a slot",
	.flags		= HTW_DESIGN_LINEAR,
	.windows	= 1,
	.geometries	= hashed_geometries,
	.fits		= hashed_fits,
	.create		= hashed_create,
	.destroy	= htw_slots_destroy,
	.add		= hashed_add,
	.del		= htw_slots_del,
	.next		= htw_slots_next,
	.advance	= hashed_advance,
	.take		= htw_slots_take,
	.check		= hashed_check,
	.place		= hashed_place,
};
