// SPDX-License-Identifier: GPL-2.0
/*
 * Proofs of the radix wheel. BITS: of the radix. TICK_BITS: of a tick.
 */
#include "prove.h"
#include "queue/wheel.c"

static struct htw_wheel wheel;

PROVE_CREATE(wheel)

#define LEVELS	((TICK_BITS + BITS - 1) / BITS)

static void make_wheel(u64 clock)
{
	struct htw_queue_config config = {
		.tick_bits = TICK_BITS, .clock_tick = clock, .geometry = { .levels = 16 },
	};
	unsigned int level;

	for (level = 0; level < 16; level++)
		config.geometry.radix[level] = 1 << BITS;
	wheel_create(&config);
	PROVE(wheel.levels == LEVELS, "levels");
}

/* The number of the slot, told by the slot: the one that the ring holds, seen from the clock. */
static u64 number_of(struct htw_place place)
{
	u64 number = wheel_number(&wheel, wheel.slots.queue.clock_tick, place.level);

	return number + ((place.slot - number) & ((2ULL << BITS) - 1));
}

static bool holds(u64 clock, u64 tick, unsigned int level)
{
	/* In two steps, for the shift may be by 64 and more. */
	return (tick >> level * BITS >> BITS) - (clock >> level * BITS >> BITS) <= 1;
}

/* A timer is put where it belongs, and the wheel will know what the slot stands for. */
void placing(void)
{
	u64 clock = prove_tick(TICK_BITS), later, number, attention, tick;
	struct htw_node node = { .tick = prove_tick(TICK_BITS) };
	struct htw_place place;

	make_wheel(clock);
	place = wheel_place(&wheel.slots.queue, &node);
	tick = max(node.tick, clock);
	number = wheel_number(&wheel, tick, place.level);
	attention = wheel_attention(&wheel, number, place.level);

	PROVE(place.level < wheel.levels, "the level is one of the wheel");
	PROVE(place.slot < 2 << BITS, "the slot is one of the level");
	PROVE(holds(clock, tick, place.level), "one of the two windows holds the tick");
	PROVE(!place.level || !holds(clock, tick, place.level - 1), "no lower level does");
	PROVE(number_of(place) == number, "no other number of the windows has this slot");
	PROVE(attention <= tick, "attention is not late");
	PROVE(place.level || attention == tick, "a timer of level 0 is due at its tick");
	PROVE(!place.level || attention > clock, "attention of the others lies ahead");
	if (node.tick <= clock)
		PROVE(!place.level && number == clock, "what is overdue is in the clock's slot");

	/* The clock does not pass what wants attention. */
	later = prove_between(clock, attention);
	wheel.slots.queue.clock_tick = later;
	PROVE(number_of(place) == number, "nor has one of a later clock's windows");
}

/* A timer whose slot wants attention goes down, whenever it is moved before it has to be. */
void moving(void)
{
	u64 clock = prove_tick(TICK_BITS), number, later, deadline;
	struct htw_node node = { .tick = prove_tick(TICK_BITS) };
	struct htw_place place, below;

	make_wheel(clock);
	place = wheel_place(&wheel.slots.queue, &node);
	if (!place.level)
		return;
	number = wheel_number(&wheel, node.tick, place.level);
	deadline = (number << place.level * BITS) - 1;
	later = prove_between(wheel_attention(&wheel, number, place.level), deadline);
	PROVE(deadline < node.tick, "it is moved before it is due");
	wheel.slots.queue.clock_tick = later;
	below = wheel_place(&wheel.slots.queue, &node);
	PROVE(below.level < place.level, "it goes to a lower level");
	prove_slot = wheel_moving(&wheel, place.level);
	wheel.busy = 1U << place.level;
	PROVE(wheel_event(&wheel).tick == deadline, "the move is an event, at the last moment");
	PROVE(wheel_event(&wheel).level == place.level, "of this level");
}

/* What comes next is that timer, seen from any clock until then. */
void next(void)
{
	u64 clock = prove_tick(TICK_BITS), attention, tick;
	struct htw_node node = { .tick = prove_tick(TICK_BITS) };
	struct wheel_event event;
	struct htw_place place;

	make_wheel(clock);
	tick = max(node.tick, clock);
	place = wheel_place(&wheel.slots.queue, &node);
	attention = wheel_put(&wheel, &node);
	PROVE(prove_slot == wheel_ring(&wheel, place.level) + place.slot, "place() says where");
	wheel.slots.queue.clock_tick = prove_between(clock, attention);
	event = wheel_event(&wheel);
	PROVE(event.tick == attention, "the next event is the timer's");
	PROVE(event.level == place.level && event.slot == prove_slot, "and is its slot");
	PROVE(event.tick <= tick, "and not late");
}
