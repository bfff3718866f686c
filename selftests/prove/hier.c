// SPDX-License-Identifier: GPL-2.0
/*
 * Proofs of the hierarchy of wheels. LEVELS and RADICES: the shape. TICK_BITS: of a tick.
 */
#include <linux/math64.h>

#include "prove.h"

/* To divide by what may be one of many is too hard for the solver; by each of them it is not. */
static u64 prove_divide(u64 number, u64 unit);
static u64 prove_rest(u64 number, u32 radix);

#define div64_u64(_number, _unit)		prove_divide(_number, _unit)
#define div_u64_rem(_number, _radix, _rest)	(*(_rest) = prove_rest(_number, _radix))

#include "queue/hier.c"

static struct htw_hier hier;

static u64 prove_divide(u64 number, u64 unit)
{
	unsigned int n;

	for (n = 0; n < LEVELS; n++) {
		if (unit == hier.level[n].unit)
			return number / hier.level[n].unit;
	}
	PROVE(unit == hier.level[LEVELS].unit, "what is divided by is the unit of a level");
	return number / hier.level[LEVELS].unit;
}

static u64 prove_rest(u64 number, u32 radix)
{
	unsigned int n;

	for (n = 0; n < LEVELS; n++) {
		if (radix == hier.level[n].radix)
			return number % hier.level[n].radix;
	}
	PROVE(radix == 1, "or its radix, or that of the slot beyond");
	return 0;
}

PROVE_CREATE(hier)

static void make_hier(u64 clock)
{
	struct htw_queue_config config = {
		.tick_bits = 64, .clock_tick = clock, .geometry = { LEVELS, { RADICES } },
	};
	unsigned int n;

	hier_create(&config);
	PROVE(hier.top == &hier.level[LEVELS], "the top is the end of the levels");
	for (n = 0; n < LEVELS; n++)
		PROVE(hier.level[n].unit < hier.level[n + 1].unit, "each unit is a multiple");
	prove_slot = PROVE_NO_SLOT;
}

/* The number of the slot, told by the slot. */
static u64 number_of(const struct hier_level *level, unsigned int slot)
{
	u64 first = hier.slots.queue.clock_tick / level->unit + (level > hier.level);
	unsigned int at = first % level->radix;

	slot -= level->ring;
	return first + (slot >= at ? slot - at : slot + level->radix - at);
}

/* A timer goes to one level; so each is a proof of its own, with constants to divide by. */
static void place_on(const struct hier_level *level, u64 clock, u64 tick)
{
	u64 unit = level->unit, number = tick / unit, begin = number * unit;
	unsigned int slot = hier_slot(level, number);

	PROVE(begin <= tick && tick - begin < unit, "the slot holds the tick");
	PROVE(level == hier.level ? begin == tick : begin > clock, "and begins ahead");
	hier.slots.queue.clock_tick = begin;
	PROVE(level == hier.level || hier_level(&hier, tick) < level, "then it goes lower");
	if (level == hier.top)
		return;
	PROVE(slot >= level->ring && slot < level[1].ring, "the slot is one of the level");
	hier.slots.queue.clock_tick = clock;
	PROVE(number_of(level, slot) == number, "no other number in reach has this slot");
	hier.slots.queue.clock_tick = prove_between(clock, level > hier.level ? begin - 1 : tick);
	PROVE(number_of(level, slot) == number, "nor has one in a later clock's reach");
}

void placing(void)
{
	u64 clock = prove_tick(TICK_BITS), tick = prove_tick(TICK_BITS);
	const struct hier_level *level;
	unsigned int n;

	PROVE_ASSUME(tick >= clock);
	make_hier(clock);
	level = hier_level(&hier, tick);
	PROVE(level <= hier.top, "the level is one of the hierarchy");
	for (n = 0; n <= LEVELS; n++) {
		if (level == &hier.level[n])
			place_on(&hier.level[n], clock, tick);
	}
}

/* What comes next is that timer, seen from any clock until then; and then its slot is emptied. */
void next(void)
{
	u64 clock = prove_tick(TICK_BITS), due;
	struct htw_node node = { .tick = prove_tick(TICK_BITS) };

	make_hier(clock);
	hier_add(&hier.slots.queue, &node);
	due = hier.slots.next_tick;
	PROVE(due <= max(node.tick, clock), "next() is not late");
	PROVE(due >= clock, "and not before the clock");
	hier.slots.queue.clock_tick = due > clock ? prove_between(clock, due - 1) : clock;
	PROVE(hier_event(&hier) == due, "the next event is the timer's");
	if (prove_slot < hier.level[1].ring) {
		PROVE(due == max(node.tick, clock), "a timer of level 0 is due at its tick");
		return;
	}
	hier_enter(&hier, due);
	PROVE(prove_spliced == prove_slot, "the clock that comes there empties its slot");
}
