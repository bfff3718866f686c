// SPDX-License-Identifier: GPL-2.0
/*
 * The classic hierarchy: wheels that turn each other, like the hands of a clock.
 *
 * Each level has slots, and so many of them make one slot of the next level; the numbers are free
 * (64, 64, 64, 64; or 60, 60, 24, a clock face). The level of a timer follows from the time that it
 * has left: the lowest one whose turn is longer than that. Its slot follows from its tick: on a
 * level whose slots cover u ticks, tick / u, modulo the slots of the level.
 *
 * When the clock enters a slot, the timers in it have less than a slot's length to go, so they are
 * put in anew, on a lower level: the cascade. It happens on carry only, when the level below has
 * made a turn, and on level 0 the slot is due. Whatever happens between two such moments leaves the
 * queue as it is, so they are found from the occupied slots, and no tick is walked through.
 *
 * Example, 60/60/24 with a tick of a second. At 10:00:00, a timer for 12:34:56 goes to slot 12 of
 * the hours; at 12:00:00 to slot 34 of the minutes; at 12:34:00 to slot 56 of the seconds.
 *
 * What is further away than the top level turns is not cut, as it is in most descendants: it waits
 * in one more slot, far, of which an earliest tick is known. When the top level enters a slot from
 * which that tick can be reached, all of far is put in anew, and what is still too far goes back.
 *
 * It costs a few instructions to arm and to cancel, and at most a move for each level. In exchange
 * all timers of a slot have to be moved at the moment when the first of them may be due: a crowd
 * there makes others wait, though no pass exceeds its budget (the wheel, with its second window, is
 * about that). Radices that are no powers of two cost divisions.
 *
 * Sources: "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme 7; linux: kernel/timer.c until
 * 4.7. As systems S6, S7, S8 in what the project grew out of.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>

#include "designs.h"
#include "slots.h"

/**
 * struct htw_hier - a hierarchy of wheels
 * @slots: those of each level; then those that are far; then those on their way
 * @levels: levels
 * @unit: for each level, ticks that a slot covers; the last but one's turn is the last, U64_MAX if
 *	it has more than 64 bits
 * @ring: for each level, its first slot; then far
 * @far_tick: no timer in far is before this
 */
struct htw_hier {
	struct htw_slots	slots;
	unsigned int		levels;
	u64			unit[HTW_MAX_LEVELS + 1];
	unsigned int		ring[HTW_MAX_LEVELS + 1];
	u64			far_tick;
};

#define to_hier(_queue)		container_of(_queue, struct htw_hier, slots.queue)
#define to_const_hier(_queue)	container_of(_queue, const struct htw_hier, slots.queue)

static unsigned int hier_far(const struct htw_hier *hier)
{
	return hier->ring[hier->levels];
}

static u32 hier_radix(const struct htw_hier *hier, unsigned int level)
{
	return hier->ring[level + 1] - hier->ring[level];
}

/* The lowest level whose turn is longer than @left; one more than there are if it is none. */
static unsigned int hier_level(const struct htw_hier *hier, u64 left)
{
	unsigned int level = 0;

	while (level < hier->levels && left >= hier->unit[level + 1])
		level++;
	return level;
}

/* Which slot of its level slot @number is. */
static u32 hier_index(const struct htw_hier *hier, unsigned int level, u64 number)
{
	u32 index;

	div_u64_rem(number, hier_radix(hier, level), &index);
	return index;
}

/* When the top level enters the first slot from which @far_tick, which is too far, can be reached. */
static u64 hier_reach(const struct htw_hier *hier, u64 far_tick)
{
	u64 unit = hier->unit[hier->levels - 1];

	return (div64_u64(far_tick - hier->unit[hier->levels], unit) + 1) * unit;
}

/* Put a node where it belongs, and say when its slot wants attention. Overdue means due now. */
static u64 hier_put(struct htw_hier *hier, struct htw_node *node)
{
	u64 clock = hier->slots.queue.clock_tick, tick = max(node->tick, clock);
	unsigned int level = hier_level(hier, tick - clock);
	u64 number;

	if (level == hier->levels) {
		hier->far_tick = min(hier->far_tick, tick);
		htw_slots_put(&hier->slots, hier_far(hier), node);
		return hier_reach(hier, tick);
	}
	number = div64_u64(tick, hier->unit[level]);
	htw_slots_put(&hier->slots, hier->ring[level] + hier_index(hier, level, number), node);
	return number * hier->unit[level];
}

static bool hier_add(struct htw_queue *queue, struct htw_node *node)
{
	return htw_slots_added(to_slots(queue), hier_put(to_hier(queue), node));
}

/*
 * The occupied slot of @level that the clock comes to first, and when. On level 0 that may be its
 * own, which is due; on the others its own was emptied when the clock entered it, and what is there
 * now is for a turn later.
 */
static u64 hier_first(const struct htw_hier *hier, unsigned int level, unsigned int *slot)
{
	u64 number = div64_u64(hier->slots.queue.clock_tick, hier->unit[level]) + !!level;
	u32 ahead, radix = hier_radix(hier, level);

	ahead = htw_slots_ahead(&hier->slots, hier->ring[level], radix,
				hier_index(hier, level, number));
	if (ahead == radix)
		return HTW_TICK_NONE;
	*slot = hier->ring[level] + hier_index(hier, level, number + ahead);
	return (number + ahead) * hier->unit[level];
}

/* What comes next; of one tick, far and the highest level first. */
static u64 hier_event(const struct htw_hier *hier, unsigned int *slot)
{
	unsigned int level, other = 0;
	u64 first = HTW_TICK_NONE, tick;

	if (htw_slots_occupied(&hier->slots, hier_far(hier))) {
		first = hier_reach(hier, hier->far_tick);
		*slot = hier_far(hier);
	}
	for (level = hier->levels; level--;) {
		tick = hier_first(hier, level, &other);
		if (tick >= first)
			continue;
		first = tick;
		*slot = other;
	}
	return first;
}

/* Put in anew what is on its way. */
static u64 hier_settle(struct htw_hier *hier, u64 budget, struct htw_work *work)
{
	unsigned int moving = hier_far(hier) + 1;
	struct htw_node *node;

	for (; budget && htw_slots_occupied(&hier->slots, moving); budget--) {
		node = htw_slots_first(&hier->slots, moving);
		htw_slots_remove(&hier->slots, node);
		hier_put(hier, node);
		work->moves++;
	}
	return budget;
}

/* The level of a slot; of far and of those on their way, one more than there are. */
static unsigned int hier_level_of(const struct htw_hier *hier, unsigned int slot)
{
	unsigned int level = 0;

	while (level < hier->levels && slot >= hier->ring[level + 1])
		level++;
	return level;
}

/*
 * The clock has come to @slot. If that is one of a higher level, it has entered a slot of each level
 * below as well: that is the carry.
 */
static u64 hier_work(struct htw_hier *hier, unsigned int slot, u64 budget, struct list_head *due,
		     struct htw_work *work)
{
	unsigned int level = hier_level_of(hier, slot), moving = hier_far(hier) + 1;
	u64 clock = hier->slots.queue.clock_tick, nr;

	work->slots++;
	if (!level) {
		nr = htw_slots_hand_out(&hier->slots, slot, budget, due);
		work->due += nr;
		return budget - nr;
	}
	if (level == hier->levels) {
		hier->far_tick = HTW_TICK_NONE;
		htw_slots_splice(&hier->slots, slot, moving);
		level--;
	}
	for (; level; level--) {
		slot = hier->ring[level] +
		       hier_index(hier, level, div64_u64(clock, hier->unit[level]));
		if (htw_slots_occupied(&hier->slots, slot))
			htw_slots_splice(&hier->slots, slot, moving);
	}
	return budget;
}

static bool hier_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			 struct htw_work *work)
{
	struct htw_hier *hier = to_hier(queue);
	u64 *next = &hier->slots.next_tick;
	unsigned int slot = 0;

	while (*next <= now) {
		budget = hier_settle(hier, budget, work);
		if (htw_slots_occupied(&hier->slots, hier_far(hier) + 1))
			return true;
		*next = hier_event(hier, &slot);
		if (*next <= now && !budget)
			return true;
		if (*next <= now) {
			queue->clock_tick = max(queue->clock_tick, *next);
			budget = hier_work(hier, slot, budget, due, work);
		}
	}
	queue->clock_tick = max(queue->clock_tick, now);
	return false;
}

/* Of one that is far: where it will come to the top level. */
static struct htw_place hier_place(const struct htw_queue *queue, const struct htw_node *node)
{
	const struct htw_hier *hier = to_const_hier(queue);
	u64 tick = max(node->tick, queue->clock_tick);
	unsigned int level = min(hier_level(hier, tick - queue->clock_tick), hier->levels - 1);

	return (struct htw_place){
		.level	= level,
		.slot	= hier_index(hier, level, div64_u64(tick, hier->unit[level])),
	};
}

/* What was put in earlier may have less left than its level is for, but not less than its slot. */
static bool hier_belongs(const struct htw_queue *queue, const struct htw_node *node,
			 unsigned int slot)
{
	const struct htw_hier *hier = to_const_hier(queue);
	u64 tick = max(node->tick, queue->clock_tick), number, clock;
	unsigned int level;

	if (slot > hier_far(hier))
		return hier->slots.next_tick <= queue->clock_tick;
	if (slot == hier_far(hier))
		return hier->far_tick <= tick;
	level = hier_level_of(hier, slot);
	number = div64_u64(tick, hier->unit[level]);
	clock = div64_u64(queue->clock_tick, hier->unit[level]);
	return slot == hier->ring[level] + hier_index(hier, level, number) &&
	       number * hier->unit[level] >= hier->slots.next_tick &&
	       number - clock >= !!level && number - clock < hier_radix(hier, level) + !!level;
}

static int hier_check(const struct htw_queue *queue)
{
	return htw_slots_check(queue, hier_belongs);
}

/* The slots of all levels have to cover a number of ticks that has 64 bits. */
static bool hier_fits(const struct htw_geometry *geometry, unsigned int tick_bits)
{
	u64 unit = 1;
	u32 level;

	for (level = 0; level + 1 < geometry->levels; level++) {
		if (check_mul_overflow(unit, (u64)geometry->radix[level], &unit))
			return false;
	}
	return true;
}

static struct htw_queue *hier_create(const struct htw_queue_config *config)
{
	const struct htw_geometry *geometry = &config->geometry;
	struct htw_hier shape = { .levels = geometry->levels, .unit = { 1 } }, *hier;
	struct htw_queue *queue;
	unsigned int level;

	for (level = 0; level < geometry->levels; level++) {
		shape.ring[level + 1] = shape.ring[level] + geometry->radix[level];
		if (check_mul_overflow(shape.unit[level], (u64)geometry->radix[level],
				       &shape.unit[level + 1]))
			shape.unit[level + 1] = U64_MAX;
	}
	queue = htw_slots_create(&htw_hier_design, config, sizeof(*hier), hier_far(&shape) + 2);
	if (!queue)
		return NULL;
	hier = to_hier(queue);
	shape.slots = hier->slots;
	shape.far_tick = HTW_TICK_NONE;
	*hier = shape;
	return queue;
}

static const struct htw_geometry hier_geometries[] = {
	{ 4, { 64, 64, 64, 64 } },
	{ 3, { 64, 64, 64 } },
	{ 3, { 60, 60, 24 } },
	{}
};

const struct htw_design htw_hier_design = {
	.name		= "hier",
	.about		= "hierarchical wheels of any radices, cascade on carry",
	.costs		= "1 / 1 / amortised 1",
	.windows	= 1,
	.geometries	= hier_geometries,
	.fits		= hier_fits,
	.create		= hier_create,
	.destroy	= htw_slots_destroy,
	.add		= hier_add,
	.del		= htw_slots_del,
	.next		= htw_slots_next,
	.advance	= hier_advance,
	.take		= htw_slots_take,
	.check		= hier_check,
	.place		= hier_place,
};
