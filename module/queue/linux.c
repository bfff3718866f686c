// SPDX-License-Identifier: GPL-2.0
/*
 * The wheel of the Linux kernel's own timers: nothing cascades, and far timers are inexact.
 *
 * Nine levels of 64 slots. A slot covers 1 tick on level 0, 8 on level 1, and eight times as many
 * on each further level. The level follows from the delay, and the slot from the tick, rounded up
 * to the next slot of the level:
 *
 *	level	delay below	granule		at a tick of 2^19 ns: delay	granule
 *	0	63		1		33 ms				0.5 ms
 *	1	504		8		264 ms				4.2 ms
 *	2	4032		64		2.1 s				34 ms
 *	3	32256		512		17 s				268 ms
 *	...
 *	8	63 * 2^24	2^24		6.4 days			2.4 h
 *
 * A timer stays in its slot until the slot's time has come. So every timer is touched twice, when
 * it is armed and when it fires, and no tick ever has to move a crowd. In exchange it fires up to a
 * granule late, at worst an eighth of its delay or so. That suits timeouts, which mostly are
 * cancelled; who needs the exact time uses hrtimers.
 *
 * Rounding up is what keeps a timer from being early, and it is done to the slot behind even if the
 * tick is the first of a slot: in the kernel a tick has begun already when somebody arms for it. So
 * a timer of level 0 fires one tick after its own, although this engine has rounded up before.
 *
 * Example. The clock is at 1000. Tick 1100 is 100 away: level 1, (1100 >> 3) + 1 = slot 138, which
 * lies at 138 % 64 = 10 and comes at 138 * 8 = 1104.
 *
 * What is different here. The kernel lets a timer beyond the last level fire at the end of the
 * wheel, up to which it was cut. Here it is put there too, but looked at when that comes, and put in
 * anew. What is armed for the clock's own tick, or before, is due at once. And a clock that jumps
 * collects each slot once: at most 576 of them, however far it jumps.
 *
 * Source: linux: kernel/time/timer.c since 4.8 (commit 500462a9de65), whose opening comment says the
 * same at greater length.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "designs.h"
#include "slots.h"

#define LINUX_LEVELS		9
#define LINUX_SLOTS		64U
#define LINUX_SHIFT		3

/* The slot of those that are being worked on, behind all levels. */
#define LINUX_MOVING		(LINUX_LEVELS * LINUX_SLOTS)

/* Delays from here on do not fit, and are put in at LINUX_FAR. */
#define LINUX_CUTOFF		(63ULL << ((LINUX_LEVELS - 1) * LINUX_SHIFT))
#define LINUX_FAR		(LINUX_CUTOFF - (1ULL << ((LINUX_LEVELS - 1) * LINUX_SHIFT)))

/* Level and number of the slot of a tick that is @left ticks ahead, more than none. */
static u64 linux_number(u64 tick, u64 left, unsigned int *level)
{
	*level = 0;
	if (left >= LINUX_CUTOFF) {
		tick = tick - left + LINUX_FAR;
		left = LINUX_FAR;
	}
	while (left >= 63ULL << (*level * LINUX_SHIFT))
		(*level)++;
	return (tick >> (*level * LINUX_SHIFT)) + 1;
}

/* When a slot comes. The last of a level may come after all ticks: then with the last tick. */
static u64 linux_expiry(u64 number, unsigned int level)
{
	unsigned int shift = level * LINUX_SHIFT;

	return number > HTW_TICK_MAX >> shift ? HTW_TICK_MAX : number << shift;
}

static struct htw_place linux_place(const struct htw_queue *queue, const struct htw_node *node)
{
	u64 clock = queue->clock_tick, number = clock;
	unsigned int level = 0;

	if (node->tick > clock)
		number = linux_number(node->tick, node->tick - clock, &level);
	return (struct htw_place){ .level = level, .slot = number % LINUX_SLOTS };
}

/* Put a node where it belongs, and say when its slot comes. */
static u64 linux_put(struct htw_slots *slots, struct htw_node *node)
{
	u64 clock = slots->queue.clock_tick, number = clock;
	unsigned int level = 0;

	if (node->tick > clock)
		number = linux_number(node->tick, node->tick - clock, &level);
	htw_slots_put(slots, level * LINUX_SLOTS + number % LINUX_SLOTS, node);
	return linux_expiry(number, level);
}

static bool linux_add(struct htw_queue *queue, struct htw_node *node)
{
	return htw_slots_added(to_slots(queue), linux_put(to_slots(queue), node));
}

/*
 * The slot that comes first, and when. On level 0 the clock's own slot holds what is due at once; on
 * the others it was emptied when the clock entered it, and what is there now is for 64 slots later.
 */
static u64 linux_first(const struct htw_slots *slots, unsigned int *slot)
{
	u64 first = HTW_TICK_NONE, number, expiry;
	unsigned int level, ahead;

	for (level = 0; level < LINUX_LEVELS; level++) {
		number = (slots->queue.clock_tick >> (level * LINUX_SHIFT)) + !!level;
		ahead = htw_slots_ahead(slots, level * LINUX_SLOTS, LINUX_SLOTS,
					number % LINUX_SLOTS);
		expiry = linux_expiry(number + ahead, level);
		if (ahead == LINUX_SLOTS || expiry >= first)
			continue;
		first = expiry;
		*slot = level * LINUX_SLOTS + (number + ahead) % LINUX_SLOTS;
	}
	return first;
}

/* Hand out the timers of the slots that have come, and put in anew those that were too far. */
static u64 linux_settle(struct htw_slots *slots, u64 budget, struct list_head *due,
			struct htw_work *work)
{
	struct htw_node *node;

	work->slots++;
	for (; budget && htw_slots_occupied(slots, LINUX_MOVING); budget--) {
		node = htw_slots_first(slots, LINUX_MOVING);
		htw_slots_remove(slots, node);
		if (node->tick > slots->queue.clock_tick) {
			linux_put(slots, node);
			work->moves++;
			continue;
		}
		list_add_tail(&node->link, due);
		slots->queue.nr--;
		work->due++;
	}
	return budget;
}

/* Collect the slots that have come at @now, in the order of their time, and go there. */
static void linux_collect(struct htw_slots *slots, u64 now, struct htw_work *work)
{
	unsigned int slot;

	while (linux_first(slots, &slot) <= now) {
		htw_slots_splice(slots, slot, LINUX_MOVING);
		work->slots++;
	}
	slots->queue.clock_tick = max(slots->queue.clock_tick, now);
}

static bool linux_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			  struct htw_work *work)
{
	struct htw_slots *slots = to_slots(queue);
	unsigned int slot;

	while (slots->next_tick <= now) {
		if (!htw_slots_occupied(slots, LINUX_MOVING)) {
			slots->next_tick = linux_first(slots, &slot);
			if (slots->next_tick > now)
				break;
			if (!budget)
				return true;
			linux_collect(slots, now, work);
		}
		if (!budget)
			return true;
		budget = linux_settle(slots, budget, due, work);
	}
	queue->clock_tick = max(queue->clock_tick, now);
	return false;
}

/* What was put in earlier may lie on a higher level than it would now. Its slot must come in time. */
static bool linux_belongs(const struct htw_queue *queue, const struct htw_node *node,
			  unsigned int slot)
{
	const struct htw_slots *slots = container_of(queue, const struct htw_slots, queue);
	unsigned int level = slot / LINUX_SLOTS, shift = level * LINUX_SHIFT;
	u64 number = (queue->clock_tick >> shift) + !!level, expiry;

	if (slot == LINUX_MOVING)
		return slots->next_tick <= queue->clock_tick;
	number += (slot - number) % LINUX_SLOTS;
	expiry = linux_expiry(number, level);
	if (expiry < slots->next_tick)
		return false;
	/* One that was too far comes before its tick, all others just after. */
	if (expiry < node->tick)
		return level == LINUX_LEVELS - 1;
	return expiry - node->tick <= 1ULL << shift || expiry == queue->clock_tick;
}

static int linux_check(const struct htw_queue *queue)
{
	return htw_slots_check(queue, linux_belongs);
}

static u64 linux_granule(u64 left)
{
	unsigned int level;

	if (!left)
		return 0;
	linux_number(left, left, &level);
	return 1ULL << (level * LINUX_SHIFT);
}

static bool linux_fits(const struct htw_geometry *geometry, unsigned int tick_bits)
{
	return geometry->levels == LINUX_LEVELS && htw_geometry_radix(geometry) == LINUX_SLOTS;
}

static struct htw_queue *linux_create(const struct htw_queue_config *config)
{
	return htw_slots_create(&htw_linux_design, config, sizeof(struct htw_slots),
				LINUX_MOVING + 1);
}

/* Of slots, not of the steps between levels, which are 8. */
static const struct htw_geometry linux_geometries[] = {
	{ LINUX_LEVELS, { [0 ... LINUX_LEVELS - 1] = LINUX_SLOTS } },
	{}
};

const struct htw_design htw_linux_design = {
	.name		= "linux",
	.about		= "wheel without cascades, far timers rounded up",
	.costs		= "1 / 1 / 1",
	.windows	= 1,
	.geometries	= linux_geometries,
	.fits		= linux_fits,
	.granule	= linux_granule,
	.create		= linux_create,
	.destroy	= htw_slots_destroy,
	.add		= linux_add,
	.del		= htw_slots_del,
	.next		= htw_slots_next,
	.advance	= linux_advance,
	.take		= htw_slots_take,
	.check		= linux_check,
	.place		= linux_place,
};
