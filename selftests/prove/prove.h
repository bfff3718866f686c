/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the proofs of the designs' arithmetic share. cbmc translates the design's own source and one
 * function of a proof, from which it starts, into a formula and asks a SAT solver whether there is
 * any input at all that breaks an assertion. What nondet_u64() gives is such an input: every value
 * of 64 bits that PROVE_ASSUME() allows. cbmc asserts by itself that no shift is too wide, nothing
 * is divided by 0, no index is out of bounds, no pointer astray, no signed number too large.
 *
 * What is proved, and what is not. A queue is seen with one timer in it: where it is put by one
 * clock, what next() makes of that by the same or any later clock before the timer's time, and
 * what the design does then. Lists and bitmaps are left out: what a design does with a slot is
 * noted here instead, and what a search of the bitmap finds is told by the one slot that is
 * occupied. That the real search finds this is proved in slots.c. What many timers do to one
 * another is for the fuzzer (selftests/fuzz).
 *
 * Bounds. None for ticks and clocks unless a proof states one. Loops are unrolled to their ends,
 * which cbmc asserts. Shapes are those that the proof names.
 */
#ifndef SELFTEST_PROVE_H
#define SELFTEST_PROVE_H

#include <linux/types.h>

#include "queue/slots.h"

u64 nondet_u64(void);

#define PROVE(_condition, _text)	__CPROVER_assert(_condition, _text)
#define PROVE_ASSUME(_condition)	__CPROVER_assume(_condition)

/* The one slot that is occupied; and the last one that was emptied into another. */
static unsigned int prove_slot;
static unsigned int prove_spliced = ~0U;

#define PROVE_NO_SLOT	(~0U)

static inline unsigned int prove_ahead(const struct htw_slots *slots, unsigned int ring,
				       unsigned int nr, unsigned int at)
{
	unsigned int slot = prove_slot - ring;

	(void)slots;
	PROVE(at < nr, "a search begins in its ring");
	if (prove_slot < ring || slot >= nr)
		return nr;
	return slot >= at ? slot - at : slot + nr - at;
}

static inline bool prove_occupied(const struct htw_slots *slots, unsigned int slot)
{
	(void)slots;
	return slot == prove_slot;
}

static inline void prove_put(struct htw_slots *slots, unsigned int slot, struct htw_node *node)
{
	(void)slots;
	(void)node;
	prove_slot = slot;
}

static inline void prove_splice(struct htw_slots *slots, unsigned int from, unsigned int to)
{
	(void)slots;
	(void)to;
	prove_spliced = from;
}

#define htw_slots_ahead		prove_ahead
#define htw_slots_occupied	prove_occupied
#define htw_slots_put		prove_put
#define htw_slots_splice	prove_splice

/* A tick, or a clock, of so many bits. */
static inline u64 prove_tick(unsigned int bits)
{
	u64 tick = nondet_u64();

	PROVE_ASSUME(tick <= HTW_TICK_MAX && tick <= U64_MAX >> (64 - bits));
	return tick;
}

/* A time from @from to @to. */
static inline u64 prove_between(u64 from, u64 to)
{
	u64 tick = nondet_u64();

	PROVE_ASSUME(tick >= from && tick <= to);
	return tick;
}

/*
 * A queue without memory for slots, which the design's create() then fills in. @object is the
 * design's struct, all 0 as static memory is.
 */
#define PROVE_CREATE(_object)								\
struct htw_queue *htw_slots_create(const struct htw_design *design,			\
				   const struct htw_queue_config *config, size_t size,	\
				   unsigned int nr, unsigned int lanes)			\
{											\
	PROVE(size == sizeof(_object), "create() knows its struct");			\
	(_object).slots.queue.clock_tick = config->clock_tick;				\
	(_object).slots.queue.geometry = config->geometry;				\
	(_object).slots.next_tick = HTW_TICK_NONE;					\
	(_object).slots.nr = nr;							\
	(_object).slots.lanes = lanes;							\
	return &(_object).slots.queue;							\
}

#endif /* SELFTEST_PROVE_H */
