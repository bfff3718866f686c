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
#include "queue/queue.h"
#include "stage.h"

/* More cases, and more designs, than there will ever be; whoever finds out complains. */
#define HTW_SUITE_CASES		128
#define HTW_SUITE_DESIGNS	32

/* KUnit's table is made of the files' at load time. */
static struct kunit_case htw_suite_cases[HTW_SUITE_CASES + 1];

/* How many cases were run for each design. */
static unsigned int htw_suite_roll[HTW_SUITE_DESIGNS];

#ifdef HTW_KUNIT_GENERATOR_HAS_TEST
static const void *htw_suite_design(struct kunit *test, const void *previous, char *description)
#else
static const void *htw_suite_design(const void *previous, char *description)
#endif
{
	const struct htw_design *const *entry = previous;

	entry = entry ? entry + 1 : htw_designs;
	if (!*entry)
		return NULL;
	strscpy(description, (*entry)->name, KUNIT_PARAM_DESC_SIZE);
	return entry;
}

/* Note that a case is run for a design. For the suite's init(). */
static inline int htw_suite_note(struct kunit *test)
{
	const struct htw_design *const *entry = test->param_value;

	if (entry && entry - htw_designs < HTW_SUITE_DESIGNS)
		htw_suite_roll[entry - htw_designs]++;
	return 0;
}

/*
 * The last case: every design of the table has been run, and as often as the others. Fails too if
 * nothing ran before it, so it cannot be run alone.
 */
static void b88_every_design_was_run(struct kunit *test)
{
	unsigned int i;

	for (i = 0; htw_designs[i]; i++) {
		KUNIT_ASSERT_LT(test, i, HTW_SUITE_DESIGNS);
		KUNIT_EXPECT_GT_MSG(test, htw_suite_roll[i], 0, "%s", htw_designs[i]->name);
		KUNIT_EXPECT_EQ_MSG(test, htw_suite_roll[i], htw_suite_roll[0], "%s",
				    htw_designs[i]->name);
	}
	KUNIT_EXPECT_GT(test, i, 0);
}

/* Returns the entry behind those that it filled, or NULL if they are too many. */
static inline struct kunit_case *htw_suite_add(struct kunit_case *entry,
					       const struct htw_case *table)
{
	static const struct kunit_case model = KUNIT_CASE_PARAM(b88_every_design_was_run,
								htw_suite_design);

	for (; table->name; table++) {
		if (entry == htw_suite_cases + HTW_SUITE_CASES)
			return NULL;
		*entry = model;
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

	for (; *tables && entry; tables++)
		entry = htw_suite_add(entry, *tables);
	if (!entry || entry == htw_suite_cases + HTW_SUITE_CASES)
		return -E2BIG;
	*entry = last;
	return 0;
}

#endif /* HTW_KUNIT_SUITE_H */
