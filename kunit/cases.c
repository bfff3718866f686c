// SPDX-License-Identifier: GPL-2.0
/*
 * Running cases, and the roll of what was run.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "cases.h"

const struct htw_case *const htw_case_tables[] = {
	htw_cases_tick,
	htw_cases_next,
	htw_cases_pass,
	htw_cases_shape,
	htw_cases_mass,
	htw_cases_postpone,
	htw_cases_small,
	htw_cases_linux,
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

/* Runs of each row, in the order of the table. */
static struct htw_row roll_rows[HTW_ROWS_MAX];
unsigned long htw_roll[HTW_ROWS_MAX];
static unsigned int roll_nr;

/**
 * htw_roll_note() - note that a test runs for a row
 * @test: the test
 *
 * Context: task; one at a time.
 */
void htw_roll_note(const struct htw_test *test)
{
	unsigned int i;

	if (!roll_nr)
		roll_nr = htw_rows_fill(roll_rows);
	for (i = 0; i < roll_nr; i++)
		htw_roll[i] += roll_rows[i].design == test->design &&
			   !memcmp(&roll_rows[i].geometry, &test->geometry, sizeof(test->geometry));
}

/* The first row that counts like row @i: the first of all, or the first second one. */
static unsigned int roll_peer(unsigned int i)
{
	unsigned int peer = 0;

	while (roll_rows[peer].second != roll_rows[i].second)
		peer++;
	return peer;
}

/**
 * htw_roll_missing() - find a row that was not run as often as the others of its kind
 *
 * Context: task; after everything else.
 * Return: its design's name, or NULL.
 */
const char *htw_roll_missing(void)
{
	unsigned int i;

	if (!roll_nr)
		roll_nr = htw_rows_fill(roll_rows);
	if (roll_nr == HTW_ROWS_MAX)
		return "those beyond HTW_ROWS_MAX";
	for (i = 0; i < roll_nr; i++) {
		if (!htw_roll[i] || htw_roll[i] != htw_roll[roll_peer(i)])
			return roll_rows[i].design->name;
	}
	return i ? NULL : "every one";
}

/**
 * htw_start_wanted() - is a row run from a start?
 * @row: the row
 * @start: the start
 *
 * Context: any.
 * Return: always, but of a second shape, which is run from two: one in the middle of its levels,
 * and one with fewer levels.
 */
bool htw_start_wanted(const struct htw_row *row, const struct htw_start *start)
{
	bool few = row->second;

	/* All starts of all rows would take a checking kernel ten minutes; others run them. */
#ifdef CONFIG_KASAN
	few = true;
#endif
	return !few || start == htw_starts + 3 || !start[1].bits;
}

/**
 * htw_start_once() - is this the first start that a row is run from?
 * @row: the row
 * @start: the start
 *
 * Context: any.
 * Return: true for one of its starts.
 */
bool htw_start_once(const struct htw_row *row, const struct htw_start *start)
{
	return start == (row->second ? htw_starts + 3 : htw_starts);
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

	htw_roll_note(test);
	if (!rig)
		return;
	what->run(rig);
	htw_rig_close(rig);
}
