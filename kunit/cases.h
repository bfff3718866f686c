/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cases: named tests of one queue, each run for every design at every start clock. Those that answer a
 * fault of others bear its number in FAULTS.md.
 *
 * A new case is its function and its line in the list. HTW_QUEUE_CASES(X) calls X(name, timers) for each;
 * the function's name is htw_case_ and the name, and it gets a rig with so many timers.
 */
#ifndef HTW_KUNIT_CASES_H
#define HTW_KUNIT_CASES_H

#include "rig.h"

#define HTW_QUEUE_CASES(X)								\
	/* cases_tick.c: a timer leaves at its tick, whatever the two clocks' digits */	\
	X(b02_one_tick_after_a_long_idle, 3)						\
	X(b04_distances_around_level_ends, 16)						\
	X(b08_deadline_inside_a_tick, 2)						\
	X(b10_longer_than_the_wheel, 40)						\
	X(b11_every_phase_of_512, 16)							\
	X(b12_from_multiples_of_slots, 2)						\
	X(b13_chain_of_a_million_ticks, 1)						\
	X(b16_reach_of_each_level, 3)							\
	X(b17_exactly_now, 4)								\
	X(b51_never, 3)									\
	X(b53_across_the_start, 200)							\
	X(b61_phases_of_a_tick, 1)							\
	X(last_tick_of_all, 4)								\
	/* cases_next.c: the next expiry */						\
	X(b14_last_cancel_in_each_slot, 1)						\
	X(b18_empty_has_no_next, 1)							\
	X(b20_modify_to_earlier, 1)							\
	X(b21_later_insert_hides_nothing, 6)						\
	X(b24_first_moved_later, 1)							\
	X(b75_long_idle_is_free, 2)							\
	/* cases_pass.c: passes, budgets and clocks */					\
	X(b06_rearm_while_draining, 4)							\
	X(b09_a_thousand_due_at_once, 1000)						\
	X(b15_steps_against_the_oracle, 10000)						\
	X(b65_time_goes_backwards, 8)							\
	X(b71_answer_with_zero_delay, 2)						\
	X(b76_full_slot_obeys_the_budget, 20000)					\
	X(b76_nobody_waits_for_moves, 20000)						\
	X(budget_zero_hands_out_nothing, 3)						\
	X(resume_at_slot_boundaries, 24)						\
	X(cancel_in_a_stopped_pass, 6)							\
	X(take_from_a_stopped_pass, 6)							\
	X(add_in_a_stopped_pass, 12)							\
	X(moves_once_a_level, 64)							\
	/* cases_shape.c: arrival, structure, memory */					\
	X(b40_arrivals_across_the_wrap, 64)						\
	X(b85_readd_is_never_two, 8)							\
	X(b87_equal_ticks, 1000)							\
	X(every_short_sequence, 3)							\
	X(take_leaves_nothing, 500)							\
	X(place_of_each_level, 16)							\
	X(geometry_covers_the_ticks, 1)							\
	X(reserve_in_use, 5000)								\
	X(design_table, 1)

#define HTW_CASE_PROTOTYPE(name, timers)	void htw_case_##name(struct htw_rig *rig);
HTW_QUEUE_CASES(HTW_CASE_PROTOTYPE)
#undef HTW_CASE_PROTOTYPE

/**
 * struct htw_start - where the clock of a queue starts
 * @tick: the clock
 * @bits: bits of a tick
 */
struct htw_start {
	u64			tick;
	unsigned int		bits;
};

/* Where clocks and their halves wrap (FAULTS B53); ended by one of no bits. */
extern const struct htw_start htw_starts[];

void htw_case_run(struct htw_test *test, void (*run)(struct htw_rig *rig), u32 timers);

/* The roll: which design was run how often (FAULTS B88). */
void htw_roll_note(const struct htw_design *design);
const char *htw_roll_missing(void);

#endif /* HTW_KUNIT_CASES_H */
