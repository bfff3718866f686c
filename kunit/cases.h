/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cases: named tests of one queue, each run for every row at its start clocks. Those that
 * answer a fault of others bear its number in FAULTS.md.
 *
 * A new case is its function and its line in the table at the end of its file.
 */
#ifndef HTW_KUNIT_CASES_H
#define HTW_KUNIT_CASES_H

#include "rig.h"
#include "rows.h"

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
extern const struct htw_case htw_cases_mass[];
extern const struct htw_case htw_cases_postpone[];
extern const struct htw_case htw_cases_small[];
extern const struct htw_case htw_cases_linux[];

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

/* The roll: which row was run how often (FAULTS B88). */
extern unsigned long htw_roll[HTW_ROWS_MAX];
void htw_roll_note(const struct htw_test *test);
bool htw_start_wanted(const struct htw_row *row, const struct htw_start *start);
bool htw_start_once(const struct htw_row *row, const struct htw_start *start);
const char *htw_roll_missing(void);

#endif /* HTW_KUNIT_CASES_H */
