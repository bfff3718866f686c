/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cases: named tests of one queue, each run for every design at every start clock. Those that
 * answer a fault of others bear its number in FAULTS.md.
 *
 * A new case is its function and its line in the table at the end of its file.
 */
#ifndef HTW_KUNIT_CASES_H
#define HTW_KUNIT_CASES_H

#include "rig.h"

/**
 * struct htw_case - a case
 * @name: its name
 * @timers: how many timers its rig has
 * @run: does it
 */
struct htw_case {
	const char		*name;
	u32			timers;
	void			(*run)(struct htw_rig *rig);
};

#define HTW_CASE(_name, _timers) { .name = #_name, .timers = _timers, .run = _name }

/* Each ended by a case without a name. */
extern const struct htw_case htw_cases_tick[];
extern const struct htw_case htw_cases_next[];
extern const struct htw_case htw_cases_pass[];
extern const struct htw_case htw_cases_shape[];

/* All of them, ended by NULL. */
extern const struct htw_case *const htw_case_tables[];

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

void htw_case_run(struct htw_test *test, const struct htw_case *what);

/* The roll: which design was run how often (FAULTS B88). */
void htw_roll_note(const struct htw_design *design);
const char *htw_roll_missing(void);

#endif /* HTW_KUNIT_CASES_H */
