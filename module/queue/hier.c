// SPDX-License-Identifier: GPL-2.0
/*
 * The classic hierarchy of wheels, driven by carry: exact, any radices, nothing is clamped.
 *
 * A slot of a level lasts a turn of the level below, its unit; a tick's number on a level is tick /
 * unit. A timer goes to the lowest level of which a turn is longer than the time that *remains*,
 * there to the slot of its *absolute* time, number % radix. When the levels below carry into that,
 * its timers are placed anew by what remains then: lower down. At level 0 they are due.
 *
 * Example: a tick of 1 s, radices 60, 60, 24. At 10:58:50, tick 39530, a timer for 11:02:05 has 195
 * s left, less than the 3600 of a turn of the minutes, and number 662 there: slot 2. At 11:02:00
 * the seconds carry into it: 5 s are left, so it goes to slot 5 of level 0. A timer of 3599 s has
 * number 718, slot 58, where the hand itself is: above level 0 that is a full turn ahead.
 *
 * Beyond the top (24 hours, above) is one more slot. Its timers wait for the turn of the top level
 * that holds the earliest of them, which begins at earliest / turn * turn, an event like any other:
 * no turn before is looked at. Then all are placed anew, and those of later turns go back.
 *
 * Arm and cancel cost 1. A timer moves at most once a level; from beyond the top, once a turn that
 * others there wait for. What it trades: a slot is moved when its first timer may be due, not
 * before, and all wait for all of it (FAULTS B76; the wheel's second window is the answer).
 *
 * Source: "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme 7. Presets: SEEDS S8, S7, S6.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "designs.h"
#include "slots.h"

/* A level: ticks of a slot (U64_MAX, which no distance reaches, if more); slots; the first one. */
struct hier_level {
	u64			unit;
	u32			radix;
	u32			ring;
};

/*
 * Slots: of the levels, beyond the top, on the way. The top is the end of the levels, and as one
 * more level the slot beyond it, in which no timer is earlier than beyond_tick (if there is any).
 */
struct htw_hier {
	struct htw_slots	slots;
	struct hier_level	*top;
	u64			beyond_tick;
	struct hier_level	level[HTW_MAX_LEVELS + 1];
};

#define to_hier(_queue)		container_of(_queue, struct htw_hier, slots.queue)
#define to_const_hier(_queue)	container_of(_queue, const struct htw_hier, slots.queue)
#define hier_moving(_hier)	((_hier)->slots.nr - 1)

static unsigned int hier_slot(const struct hier_level *level, u64 number)
{
	u32 index;

	div_u64_rem(number, level->radix, &index);
	return level->ring + index;
}

/* The level for @tick, which is not before the clock. */
static const struct hier_level *hier_level(const struct htw_hier *hier, u64 tick)
{
	const struct hier_level *level = hier->level;

	while (level < hier->top && tick - hier->slots.queue.clock_tick >= level[1].unit)
		level++;
	return level;
}

/* A slot wants attention when its time begins. */
static bool hier_add(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_hier *hier = to_hier(queue);
	u64 tick = max(node->tick, queue->clock_tick);
	const struct hier_level *level = hier_level(hier, tick);
	u64 number = div64_u64(tick, level->unit);

	if (level == hier->top &&
	    (tick < hier->beyond_tick || !htw_slots_occupied(&hier->slots, level->ring)))
		hier->beyond_tick = tick;
	htw_slots_put(&hier->slots, hier_slot(level, number), node);
	return htw_slots_added(&hier->slots, number * level->unit);
}

/* When something is to be done next. */
static u64 hier_event(const struct htw_hier *hier)
{
	u64 clock = hier->slots.queue.clock_tick, event = HTW_TICK_NONE, first;
	const struct hier_level *level;
	unsigned int ahead;

	if (htw_slots_occupied(&hier->slots, hier_moving(hier)))
		return clock;
	if (htw_slots_occupied(&hier->slots, hier->top->ring))
		event = div64_u64(hier->beyond_tick, hier->top->unit) * hier->top->unit;
	for (level = hier->level; level < hier->top; level++) {
		first = div64_u64(clock, level->unit) + (level > hier->level);
		ahead = htw_slots_ahead(&hier->slots, level->ring, level->radix,
					hier_slot(level, first) - level->ring);
		if (ahead < level->radix)
			event = min(event, (first + ahead) * level->unit);
	}
	return event;
}

/* Come to @tick: take out what begins there, on each level up to one that does not carry. */
static void hier_enter(struct htw_hier *hier, u64 tick)
{
	const struct hier_level *level;
	u64 number;

	hier->slots.queue.clock_tick = tick;
	for (level = &hier->level[1]; level <= hier->top; level++) {
		number = div64_u64(tick, level->unit);
		if (number * level->unit != tick)
			return;
		if (htw_slots_occupied(&hier->slots, hier_slot(level, number)) &&
		    (level < hier->top || number == div64_u64(hier->beyond_tick, level->unit)))
			htw_slots_splice(&hier->slots, hier_slot(level, number), hier_moving(hier));
	}
}

/* Work off what is to be done at @tick, whose time has come: first move, then hand out. */
static u64 hier_work(struct htw_queue *queue, u64 tick, u64 budget, struct list_head *due,
		     struct htw_work *work)
{
	unsigned int slot = hier_slot(to_hier(queue)->level, tick);
	unsigned int moving = hier_moving(to_hier(queue));
	struct htw_node *node;
	u64 nr = 0;

	work->slots++;
	if (tick > queue->clock_tick)
		hier_enter(to_hier(queue), tick);
	for (; budget && htw_slots_occupied(to_slots(queue), moving); budget--) {
		node = htw_slots_first(to_slots(queue), moving);
		htw_slots_del(queue, node);
		hier_add(queue, node);
		work->moves++;
	}
	if (budget && htw_slots_occupied(to_slots(queue), slot))
		nr = htw_slots_hand_out(to_slots(queue), slot, budget, due);
	work->due += nr;
	return budget - nr;
}

static bool hier_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			 struct htw_work *work)
{
	u64 *next = &to_slots(queue)->next_tick;

	while (*next <= now) {
		*next = hier_event(to_hier(queue));
		if (*next <= now && !budget)
			return true;
		if (*next <= now)
			budget = hier_work(queue, *next, budget, due, work);
	}
	queue->clock_tick = max(queue->clock_tick, now);
	return false;
}

static bool hier_belongs(const struct htw_queue *queue, const struct htw_node *node,
			 unsigned int slot)
{
	const struct htw_hier *hier = to_const_hier(queue);
	const struct hier_level *level = hier->top;
	u64 clock = queue->clock_tick, tick = max(node->tick, clock), number, ahead;

	while (slot < level->ring)
		level--;
	number = div64_u64(tick, level->unit);
	ahead = number - div64_u64(clock, level->unit);
	if (level == hier->top)
		return slot > level->ring ? node->tick == tick : ahead && tick >= hier->beyond_tick;
	return slot == hier_slot(level, number) && ahead - (level > hier->level) < level->radix;
}

static int hier_check(const struct htw_queue *queue)
{
	if (htw_slots_next(queue) > hier_event(to_const_hier(queue)))
		return __LINE__;
	return htw_slots_check(queue, hier_belongs);
}

/* Where the node would go today: perhaps too low. Beyond the top, the slot of it that comes. */
static struct htw_place hier_place(const struct htw_queue *queue, const struct htw_node *node)
{
	const struct htw_hier *hier = to_const_hier(queue);
	u64 tick = max(node->tick, queue->clock_tick);
	const struct hier_level *level = hier_level(hier, tick);

	level -= level == hier->top;
	return (struct htw_place){ level - hier->level,
				   hier_slot(level, div64_u64(tick, level->unit)) - level->ring };
}

static bool hier_fits(const struct htw_geometry *geometry, unsigned int tick_bits)
{
	return true;
}

static struct htw_queue *hier_create(const struct htw_queue_config *config)
{
	unsigned int levels = config->geometry.levels, nr = 2, n;
	struct hier_level *level;
	struct htw_queue *queue;
	u64 unit = 1;

	for (n = 0; n < levels; n++)
		nr += config->geometry.radix[n];
	queue = htw_slots_create(&htw_hier_design, config, sizeof(struct htw_hier), nr, 1);
	if (!queue)
		return NULL;
	for (level = to_hier(queue)->level, nr = 0, n = 0; n <= levels; n++, level++) {
		level->unit = unit;
		level->radix = n < levels ? config->geometry.radix[n] : 1;
		level->ring = nr;
		nr += level->radix;
		unit = unit > div_u64(U64_MAX, level->radix) ? U64_MAX : unit * level->radix;
	}
	to_hier(queue)->top = level - 1;
	return queue;
}

static const struct htw_geometry hier_geometries[] = {
	{ 4, { 64, 64, 64, 64 } },
	{ 3, { 64, 64, 64 } }, { 3, { 60, 60, 24 } },
	{}
};

const struct htw_design htw_hier_design = {
	.name		= "hier",
	.about		= "hierarchy of wheels driven by carry, any radices",
	.costs		= "1 / 1 / amortised 1",
	.windows	= 1,
	.geometries	= hier_geometries,
	.fits		= hier_fits,
	.create		= hier_create,
	.destroy	= htw_slots_destroy,
	.add		= hier_add,
	.del		= htw_slots_del,
	.fetch		= htw_slots_fetch,
	.next		= htw_slots_next,
	.advance	= hier_advance,
	.take		= htw_slots_take,
	.check		= hier_check,
	.place		= hier_place,
};
