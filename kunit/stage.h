/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the suites htwheel_engine and htwheel_timer share: a clock that the test moves, CPUs, and a
 * place for complaints from where a test must not stop. Inline, since each suite is a module of its
 * own.
 */
#ifndef HTW_KUNIT_STAGE_H
#define HTW_KUNIT_STAGE_H

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/sched.h>

#include "clock.h"
#include "rows.h"

/**
 * struct htw_case - a case
 * @name: its name
 * @run: does it
 * @exact: it says at which tick a timer leaves, so it is not for designs that are not exact
 */
struct htw_case {
	const char		*name;
	void			(*run)(struct kunit *test);
	bool			exact;
};

#define HTW_CASE(_name) { .name = #_name, .run = _name }
#define HTW_CASE_EXACT(_name) { .name = #_name, .run = _name, .exact = true }

/**
 * struct htw_manual - the time of a test that moves it by hand
 * @now_ns: the time
 * @step_ns: how far each reading moves it, for passes that take their time
 */
struct htw_manual {
	u64			now_ns;
	u64			step_ns;
};

extern struct htw_manual htw_manual;
extern const struct htw_clock htw_manual_clock;

/* How the clock is read. */
static inline u64 htw_manual_read(const struct htw_clock *clock)
{
	u64 now_ns = htw_manual.now_ns;

	htw_manual.now_ns += htw_manual.step_ns;
	return now_ns;
}

/**
 * struct htw_fault - the first violation that was seen where KUnit may not be called: with a
 *	lock held, in softirq, in a thread of the test's
 * @what: what should have held; NULL as long as all is well
 * @got: what was seen instead
 * @expected: what would have been right, or the bound
 */
struct htw_fault {
	const char		*what;
	u64			got;
	u64			expected;
};

static inline void htw_blame(struct htw_fault *fault, const char *what, u64 got, u64 expected)
{
	if (cmpxchg(&fault->what, NULL, what))
		return;
	fault->got = got;
	fault->expected = expected;
}

static inline void htw_expect(struct htw_fault *fault, const char *what, u64 got, u64 expected)
{
	if (got != expected)
		htw_blame(fault, what, got, expected);
}

static inline bool htw_faultless(const struct htw_fault *fault)
{
	return !READ_ONCE(fault->what);
}

/* Tell KUnit, once; the threads that may complain have ended. */
static inline void htw_fault_report(struct kunit *test, struct htw_fault *fault)
{
	if (fault->what)
		KUNIT_FAIL(test, "%s: got %llu, expected %llu", fault->what, fault->got,
			   fault->expected);
	*fault = (struct htw_fault){};
}

/* The design that a case is run for. */
static inline const struct htw_row *htw_param_row(struct kunit *test)
{
	return test->param_value;
}

/* The @nr-th CPU that is online; they begin again after the last. */
static inline unsigned int htw_nth_cpu(unsigned int nr)
{
	unsigned int cpu;

	nr %= num_online_cpus();
	for_each_online_cpu(cpu) {
		if (!nr--)
			break;
	}
	return cpu;
}

/*
 * Make the test run on the @nr-th CPU, which decides to which base its timers go. It ends with the
 * test.
 */
static inline unsigned int htw_pin(struct kunit *test, unsigned int nr)
{
	unsigned int cpu = htw_nth_cpu(nr);

	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(cpu)), 0);
	return cpu;
}

/* Skip a test that means nothing with fewer CPUs. */
static inline void htw_need_cpus(struct kunit *test, unsigned int nr)
{
	if (num_online_cpus() < nr)
		kunit_skip(test, "needs %u CPUs", nr);
}

#endif /* HTW_KUNIT_STAGE_H */
