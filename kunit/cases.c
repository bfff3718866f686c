// SPDX-License-Identifier: GPL-2.0
/*
 * Running cases, and the roll of what was run.
 */
#include <linux/bits.h>
#include <linux/kernel.h>

#include "cases.h"

const struct htw_case *const htw_case_tables[] = {
	htw_cases_tick,
	htw_cases_next,
	htw_cases_pass,
	htw_cases_shape,
	NULL
};

const struct htw_start htw_starts[] = {
	{ .bits = 64, .tick = 0 },
	{ .bits = 64, .tick = BIT_ULL(31) - 5 },
	{ .bits = 64, .tick = BIT_ULL(32) - 5 },
	{ .bits = 64, .tick = BIT_ULL(36) - 5 },
	{ .bits = 64, .tick = BIT_ULL(48) - 5 },
	{ .bits = 64, .tick = BIT_ULL(63) - BIT_ULL(40) },
	{ .bits = 45, .tick = 0 },
	{}
};

/* Runs of each design, in the order of the table; a longer table fails. */
#define ROLL_SIZE	32
static unsigned long roll[ROLL_SIZE];

/**
 * htw_roll_note() - note that a test runs for a design
 * @design: the design
 *
 * Context: task; one at a time.
 */
void htw_roll_note(const struct htw_design *design)
{
	unsigned int i;

	for (i = 0; i < ROLL_SIZE && htw_designs[i]; i++)
		roll[i] += htw_designs[i] == design;
}

/**
 * htw_roll_missing() - find a design that was not run as often as the default
 *
 * Context: task; after everything else.
 * Return: its name, or NULL.
 */
const char *htw_roll_missing(void)
{
	unsigned int i;

	for (i = 0; htw_designs[i]; i++) {
		if (i == ROLL_SIZE || !roll[i] || roll[i] != roll[0])
			return htw_designs[i]->name;
	}
	return i ? NULL : "every one";
}

/**
 * htw_case_run() - run a case
 * @test: the test; says design and start
 * @what: the case
 *
 * Context: task, may sleep.
 */
void htw_case_run(struct htw_test *test, const struct htw_case *what)
{
	struct htw_rig *rig = htw_rig_open(test, test->design, what->timers);

	htw_roll_note(test->design);
	if (!rig)
		return;
	what->run(rig);
	htw_rig_close(rig);
}
