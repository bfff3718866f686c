// SPDX-License-Identifier: GPL-2.0
/*
 * The wheel of kernel/time/timer.c since 4.8, which never cascades: a timer stays in the slot in
 * which it was put, and is late by up to the length of that slot. Not exact.
 *
 * Nine levels of 64 slots, each eight times as coarse as the one below. A timer goes to the lowest
 * level that its distance allows, and there to the slot *behind* the one that holds its tick, so
 * that it is never early: slot number (tick >> 3n) + 1, which is due as a whole when it begins.
 *
 *	level n	distance less than	slot, lateness, 8^n	at a tick of 2^19 ns
 *	0	63 ticks		1 tick			33 ms, 0.5 ms
 *	1	504			8			264 ms, 4.2 ms
 *	2	4032			64			2.1 s, 34 ms
 *	...
 *	8	63 * 2^24		2^24			6.4 days, 2.4 h
 *
 * That is the kernel's rule on level 0 too, where it makes up for the part of a tick that has gone
 * when a timer is armed. Here the engine has rounded up to a tick already: one more comes on top.
 *
 * Example. The clock is at 1000. Tick 1040 is 40 ahead: level 0, due at 1041. Tick 1200 is 200
 * ahead: level 1, number (1200 >> 3) + 1 = 151, due at 151 * 8 = 1208. From 1007, tick 1510 is 503
 * ahead and has number 189 there, and so the slot of 125, in which the clock is: that is a full
 * turn ahead, except on level 0, whose slot of the clock has what is overdue, and due at once.
 *
 * The one departure: what is farther than level 8 reaches goes as far as that does, as in the
 * kernel, but when that slot is due and the tick has not come it is put in again by what is left.
 * The kernel lets it expire there, early. A timer of a year is moved some 56 times.
 *
 * Arm, cancel and hand-out cost a few instructions, no pass is longer than what is due, and a jump
 * of any length looks at each slot once. What it trades is lateness, an eighth of the distance;
 * and timers of one tick that were armed at different times leave in any order. That suits
 * timeouts, most of which are cancelled.
 *
 * Sources: linux, commit 500462a9de65 (2016); "Reinventing the timer wheel", LWN 2015.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "designs.h"
#include "slots.h"

#define LINUX_LEVELS		9
#define LINUX_RADIX		64
#define LINUX_SHIFT(_level)	(3 * (_level))
#define LINUX_UNIT(_level)	(1ULL << LINUX_SHIFT(_level))
/* Distances that a level does not take any more, of the last level those that are too far. */
#define LINUX_END(_level)	((LINUX_RADIX - 1) * LINUX_UNIT(_level))
#define LINUX_FAR		LINUX_END(LINUX_LEVELS - 1)
/* A far timer goes where this distance does. */
#define LINUX_STAGE		(LINUX_FAR - LINUX_UNIT(LINUX_LEVELS - 1))
/* The slot of timers that came due, or have to be put in again. */
#define LINUX_MOVING		(LINUX_LEVELS * LINUX_RADIX)

/**
 * struct htw_linux - a wheel that does not cascade
 * @slots: of all levels, and one of those that have come due
 * @last_tick: the highest tick; what comes due after it does so at it
 */
struct htw_linux {
	struct htw_slots	slots;
	u64			last_tick;
};

#define to_linux(_queue)	container_of(_queue, struct htw_linux, slots.queue)
#define to_const_linux(_queue)	container_of(_queue, const struct htw_linux, slots.queue)

/* A slot, by its number on its level. */
struct linux_slot {
	unsigned int		level;
	u64			number;
};

static unsigned int linux_index(struct linux_slot slot)
{
	return slot.level * LINUX_RADIX + slot.number % LINUX_RADIX;
}

/* When the slot is due: not after the last tick, and not beyond 64 bits. */
static u64 linux_expiry(const struct htw_linux *wheel, struct linux_slot slot)
{
	unsigned int shift = LINUX_SHIFT(slot.level);

	return slot.number > wheel->last_tick >> shift ? wheel->last_tick : slot.number << shift;
}

static unsigned int linux_level(u64 left)
{
	unsigned int level = 0;

	while (level < LINUX_LEVELS - 1 && left >= LINUX_END(level))
		level++;
	return level;
}

/* Where @tick goes. */
static struct linux_slot linux_slot(const struct htw_linux *wheel, u64 tick)
{
	u64 clock = wheel->slots.queue.clock_tick;
	unsigned int level;

	if (tick <= clock)
		return (struct linux_slot){ 0, clock };
	level = linux_level(tick - clock);
	if (tick - clock >= LINUX_FAR)
		tick = clock + LINUX_STAGE;
	return (struct linux_slot){ level, (tick >> LINUX_SHIFT(level)) + 1 };
}

static bool linux_add(struct htw_queue *queue, struct htw_node *node)
{
	struct linux_slot slot = linux_slot(to_linux(queue), node->tick);

	htw_slots_put(to_slots(queue), linux_index(slot), node);
	return htw_slots_added(to_slots(queue), linux_expiry(to_linux(queue), slot));
}

/* The slot that is due next, if any, and when. Of one tick, the highest level first. */
static u64 linux_event(const struct htw_linux *wheel, struct linux_slot *event)
{
	u64 clock = wheel->slots.queue.clock_tick, first, tick = HTW_TICK_NONE;
	struct linux_slot slot;
	unsigned int level, ahead;

	for (level = LINUX_LEVELS; level--;) {
		first = (clock >> LINUX_SHIFT(level)) + !!level;
		ahead = htw_slots_ahead(&wheel->slots, level * LINUX_RADIX, LINUX_RADIX,
					first % LINUX_RADIX);
		slot = (struct linux_slot){ level, first + ahead };
		if (ahead < LINUX_RADIX && linux_expiry(wheel, slot) < tick) {
			tick = linux_expiry(wheel, slot);
			*event = slot;
		}
	}
	return tick;
}

static bool linux_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			  struct htw_work *work)
{
	struct htw_slots *slots = to_slots(queue);
	struct linux_slot slot;
	struct htw_node *node;

	if (slots->next_tick > now) {
		queue->clock_tick = max(queue->clock_tick, now);
		return false;
	}
	work->slots += budget && htw_slots_occupied(slots, LINUX_MOVING);
	/* Collect the slots that are due, each once. That takes no budget, so the clock moves. */
	for (; linux_event(to_linux(queue), &slot) <= now; work->slots++)
		htw_slots_splice(slots, linux_index(slot), LINUX_MOVING);
	queue->clock_tick = now;
	for (; budget && htw_slots_occupied(slots, LINUX_MOVING); budget--) {
		node = htw_slots_first(slots, LINUX_MOVING);
		if (node->tick <= now) {
			work->due += htw_slots_hand_out(slots, LINUX_MOVING, 1, due);
			continue;
		}
		htw_slots_del(queue, node);
		linux_add(queue, node);
		work->moves++;
	}
	slots->next_tick = htw_slots_occupied(slots, LINUX_MOVING) ?
			   now : linux_event(to_linux(queue), &slot);
	return slots->next_tick <= now;
}

/* A slot of the last level holds far timers too, which it meets before their ticks. */
static bool linux_belongs(const struct htw_queue *queue, const struct htw_node *node,
			  unsigned int index)
{
	unsigned int level = index / LINUX_RADIX, shift = LINUX_SHIFT(level);
	u64 clock = queue->clock_tick, number = (clock >> shift) + 1;

	if (index == LINUX_MOVING)
		return htw_slots_next(queue) <= clock;
	if (!level && node->tick <= clock && index == clock % LINUX_RADIX)
		return true;
	number += (index - number) % LINUX_RADIX;
	return number == (node->tick >> shift) + 1 ||
	       (level == LINUX_LEVELS - 1 && number << shift <= node->tick);
}

static int linux_check(const struct htw_queue *queue)
{
	struct linux_slot slot;

	if (htw_slots_next(queue) > linux_event(to_const_linux(queue), &slot))
		return __LINE__;
	return htw_slots_check(queue, linux_belongs);
}

/* Where the node would go today: perhaps too low. */
static struct htw_place linux_place(const struct htw_queue *queue, const struct htw_node *node)
{
	struct linux_slot slot = linux_slot(to_const_linux(queue), node->tick);

	return (struct htw_place){ slot.level, slot.number % LINUX_RADIX };
}

/*
 * Of a far timer, that of the level that it comes to in the end. A stage takes it more than
 * LINUX_STAGE ticks on, and how many depends on the clock: after two of them any level may be left.
 */
static u64 linux_granule(u64 left)
{
	if (left >= LINUX_FAR)
		left = min(left - LINUX_STAGE - 1, LINUX_FAR - 1);
	return LINUX_UNIT(linux_level(left));
}

static bool linux_fits(const struct htw_geometry *geometry, unsigned int tick_bits)
{
	return geometry->levels == LINUX_LEVELS && htw_geometry_radix(geometry) == LINUX_RADIX;
}

static struct htw_queue *linux_create(const struct htw_queue_config *config)
{
	struct htw_queue *queue = htw_slots_create(&htw_linux_design, config,
						   sizeof(struct htw_linux), LINUX_MOVING + 1, 1);

	if (queue)
		to_linux(queue)->last_tick = min(U64_MAX >> (64 - config->tick_bits), HTW_TICK_MAX);
	return queue;
}

static const struct htw_geometry linux_geometries[] = {
	{ LINUX_LEVELS, { [0 ... LINUX_LEVELS - 1] = LINUX_RADIX } },
	{}
};

const struct htw_design htw_linux_design = {
	.name		= "linux",
	.about		= "kernel/time/timer.c: no cascades, late by an eighth",
	.costs		= "1 / 1 / 1",
	.windows	= 1,
	.geometries	= linux_geometries,
	.fits		= linux_fits,
	.granule	= linux_granule,
	.create		= linux_create,
	.destroy	= htw_slots_destroy,
	.add		= linux_add,
	.del		= htw_slots_del,
	.fetch		= htw_slots_fetch,
	.next		= htw_slots_next,
	.advance	= linux_advance,
	.take		= htw_slots_take,
	.check		= linux_check,
	.place		= linux_place,
};
