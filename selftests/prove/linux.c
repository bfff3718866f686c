// SPDX-License-Identifier: GPL-2.0
/*
 * Proofs of the wheel that does not cascade. TICK_BITS: of a tick.
 */
#include "prove.h"
#include "queue/linux.c"

static struct htw_linux wheel;

PROVE_CREATE(wheel)

static void make_wheel(u64 clock)
{
	struct htw_queue_config config = { .tick_bits = TICK_BITS, .clock_tick = clock };

	linux_create(&config);
}

/* The number of the slot, told by the slot. */
static u64 number_of(unsigned int index)
{
	unsigned int level = index / LINUX_RADIX;
	u64 first = (wheel.slots.queue.clock_tick >> LINUX_SHIFT(level)) + !!level;

	return first + (index - first) % LINUX_RADIX;
}

/* A timer is put where it is due neither early nor later than the design promises. */
void placing(void)
{
	u64 clock = prove_tick(TICK_BITS), tick = prove_tick(TICK_BITS), expiry, left, late;
	struct linux_slot slot;
	unsigned int index;

	make_wheel(clock);
	slot = linux_slot(&wheel, tick);
	index = linux_index(slot);
	expiry = linux_expiry(&wheel, slot);
	left = tick - clock;

	PROVE(slot.level < LINUX_LEVELS && index < LINUX_MOVING, "the slot is one of the wheel");
	PROVE(index / LINUX_RADIX == slot.level, "and one of its level");
	PROVE(number_of(index) == slot.number, "no other number in reach has this slot");
	PROVE(expiry <= wheel.last_tick, "it is due within time");
	if (tick <= clock) {
		PROVE(!slot.level && expiry == clock, "what is overdue is due by the clock");
		return;
	}
	PROVE(expiry > clock, "what is not overdue does not get into what is due");
	late = linux_granule(left);
	if (left < LINUX_FAR) {
		PROVE(expiry >= tick, "it is not early");
		PROVE(expiry - tick <= late, "nor later than by the granule");
		PROVE(late <= 1 || late <= left / 7, "which is about an eighth of the distance");
	} else {
		PROVE(expiry <= tick, "a stage ends before the tick");
		PROVE(expiry - clock > LINUX_STAGE, "and takes the timer on");
	}
	wheel.slots.queue.clock_tick = prove_between(clock, expiry - 1);
	PROVE(number_of(index) == slot.number, "nor has one in a later clock's reach");
}

/* A far timer is put in again, at any time from its expiry to its tick: later by no more. */
void staging(void)
{
	u64 clock = prove_tick(TICK_BITS), tick = prove_tick(TICK_BITS), granule, now;

	make_wheel(clock);
	PROVE_ASSUME(tick > clock && tick - clock >= LINUX_FAR);
	granule = linux_granule(tick - clock);
	now = prove_between(linux_expiry(&wheel, linux_slot(&wheel, tick)), tick);
	PROVE_ASSUME(now < tick);
	wheel.slots.queue.clock_tick = now;
	PROVE(linux_granule(tick - now) <= granule, "the granule does not grow");
	PROVE(linux_expiry(&wheel, linux_slot(&wheel, tick)) > now, "it does not stay here");
}

/* What comes next is that timer, seen from any clock until then. */
void next(void)
{
	u64 clock = prove_tick(TICK_BITS), tick = prove_tick(TICK_BITS), expiry;
	struct linux_slot slot, event = {};

	make_wheel(clock);
	slot = linux_slot(&wheel, tick);
	prove_slot = linux_index(slot);
	expiry = linux_expiry(&wheel, slot);
	wheel.slots.queue.clock_tick = tick > clock ? prove_between(clock, expiry - 1) : clock;
	PROVE(linux_event(&wheel, &event) == expiry, "the next event is the timer's");
	PROVE(event.level == slot.level && event.number == slot.number, "and is its slot");
}
