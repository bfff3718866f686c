/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The frame of the suites htwheel_engine and htwheel_timer: the tables of cases, each of which is
 * run for every design. The designs come straight from the module's table, so that a new one cannot
 * be forgotten; the roll proves it (FAULTS B88).
 *
 * A new case is its function and its line in the table at the end of its file.
 */
#ifndef HTW_KUNIT_SUITE_H
#define HTW_KUNIT_SUITE_H

#include <linux/errno.h>
#include <linux/module.h>
#include <linux/string.h>

#include "kunit_compat.h"
#include "rows.h"
#include "stage.h"

/* More cases than there will ever be; whoever finds out complains. */
#define HTW_SUITE_CASES		128

/* KUnit's table is made of the files' at load time. */
static struct kunit_case htw_suite_cases[HTW_SUITE_CASES + 1];

static struct htw_row htw_suite_rows[HTW_ROWS_MAX];
static unsigned int htw_suite_nr_rows;

/* How many cases were run for each row. */
static unsigned int htw_suite_roll[HTW_ROWS_MAX];

#ifdef HTW_KUNIT_GENERATOR_HAS_TEST
static const void *htw_suite_row(struct kunit *test, const void *previous, char *description)
#else
static const void *htw_suite_row(const void *previous, char *description)
#endif
{
	const struct htw_row *row = previous ? (const struct htw_row *)previous + 1 :
					       htw_suite_rows;
	char name[HTW_ROW_NAME];

	if (row == htw_suite_rows + htw_suite_nr_rows)
		return NULL;
	htw_row_name(row, name);
	strscpy(description, name, KUNIT_PARAM_DESC_SIZE);
	return row;
}

/* The case behind each of KUnit's. */
static const struct htw_case *htw_suite_origin[HTW_SUITE_CASES + 1];

static inline bool htw_suite_is_exact(const char *name)
{
	unsigned int i;

	for (i = 0; htw_suite_origin[i]; i++) {
		if (!strcmp(htw_suite_origin[i]->name, name))
			return htw_suite_origin[i]->exact;
	}
	return false;
}

/* Note that a case is run for a row. For the suite's init(). */
static inline int htw_suite_note(struct kunit *test)
{
	const struct htw_row *row = test->param_value;

	if (!row)
		return 0;
	htw_suite_roll[row - htw_suite_rows]++;
	if (row->design->granule && htw_suite_is_exact(test->name))
		kunit_skip(test, "says at which tick a timer leaves");
	/* What threads find on the live clock does not depend on the shape, and takes its time. */
	if (row->second && strstarts(test->name, "live_"))
		kunit_skip(test, "run with the first shape");
	return 0;
}

/*
 * The last case: every row has been run, and as often as the others. Fails too if nothing ran
 * before it, so it cannot be run alone.
 */
static void b88_every_design_was_run(struct kunit *test)
{
	unsigned int i;

	KUNIT_ASSERT_LT(test, htw_suite_nr_rows, HTW_ROWS_MAX);
	for (i = 0; i < htw_suite_nr_rows; i++) {
		KUNIT_EXPECT_GT_MSG(test, htw_suite_roll[i], 0, "%s",
				    htw_suite_rows[i].design->name);
		KUNIT_EXPECT_EQ_MSG(test, htw_suite_roll[i], htw_suite_roll[0], "%s",
				    htw_suite_rows[i].design->name);
	}
	KUNIT_EXPECT_GT(test, i, 0);
}

/* Returns the entry behind those that it filled, or NULL if they are too many. */
static inline struct kunit_case *htw_suite_add(struct kunit_case *entry,
					       const struct htw_case *table)
{
	static const struct kunit_case model = KUNIT_CASE_PARAM(b88_every_design_was_run,
								htw_suite_row);

	for (; table->name; table++) {
		if (entry == htw_suite_cases + HTW_SUITE_CASES)
			return NULL;
		*entry = model;
		htw_suite_origin[entry - htw_suite_cases] = table;
		entry->name = (char *)table->name;
		entry->run_case = table->run;
		entry++;
	}
	return entry;
}

/*
 * At load: KUnit looks at the suite after this, when the module goes live. @tables ends with NULL.
 */
static inline int htw_suite_fill(const struct htw_case *const *tables)
{
	static const struct kunit_case last = KUNIT_CASE(b88_every_design_was_run);
	struct kunit_case *entry = htw_suite_cases;

	htw_suite_nr_rows = htw_rows_fill(htw_suite_rows);
	for (; *tables && entry; tables++)
		entry = htw_suite_add(entry, *tables);
	if (!entry || entry == htw_suite_cases + HTW_SUITE_CASES)
		return -E2BIG;
	*entry = last;
	return 0;
}

#endif /* HTW_KUNIT_SUITE_H */
