/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small test harness with the macro names of the kernel's kselftest_harness.h.
 *
 * The tests of this directory are built against it by default, because kernel headers packages do
 * not carry the kernel's own. With HTWHEEL_KSFT defined (make KSFT=...) the kernel's takes its
 * place; so the tests use only what both have:
 *
 *   TEST(name) { ... }                      a test without a fixture
 *   FIXTURE(f) { int fd; };                 what the tests of a fixture find in *self
 *   FIXTURE_SETUP(f) { ... }                runs before each of them
 *   FIXTURE_TEARDOWN(f) { ... }             and after, unless the set-up failed or skipped
 *   FIXTURE_VARIANT(f) { int x; };          what they find in *variant, if there are variants
 *   FIXTURE_VARIANT_ADD(f, v) { .x = 1 };   each test runs once for each of them
 *   TEST_F(f, name) { ... }
 *   EXPECT_EQ(expected, seen) and so on     notes a failure and goes on; may be followed by a block
 *   ASSERT_EQ(expected, seen) and so on     notes a failure and ends the test
 *   SKIP(statement, fmt, ...), TH_LOG(fmt, ...), TEST_HARNESS_MAIN
 *
 * A check needs the variable _metadata and belongs into the thread that runs the test; other
 * threads count what they find, and the test checks the count. Output is TAP version 13.
 *
 * Every test runs in a child process, in a process group of its own, which is killed when the
 * test's time is up or when it has ended: a hang is one failed test.
 */
#ifndef HTWHEEL_HARNESS_H
#define HTWHEEL_HARNESS_H

#ifdef HTWHEEL_KSFT
#include "kselftest_harness.h"
#else

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HARNESS_PASS		0
#define HARNESS_FAIL		1
#define HARNESS_USAGE		2
#define HARNESS_SKIP		4

/* Seconds that a test may take; the variable HTWHEEL_SLOW multiplies them for slow machines. */
#define HARNESS_TIMEOUT_S	60

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#endif

struct harness_variant {
	const char		*name;
	const void		*data;
	int			line;
	struct harness_variant	*next;
};

struct harness_fixture {
	const char		*name;
	struct harness_variant	*variants;
};

/* What a test's process tells the one that started it. */
struct harness_report {
	bool	skipped;
	char	reason[200];
};

/* The name is the kernel's, because helper functions with checks have to spell it. */
struct __test_metadata {
	const char		*name;
	struct harness_fixture	*fixture;
	void			(*run)(struct __test_metadata *_metadata, const void *variant);
	int			line;
	unsigned int		timeout_s;
	struct __test_metadata	*next;

	bool			failed;
	pid_t			pid;
	jmp_buf			stop;
	struct harness_report	*report;
};

/*
 * An integer of any type, so that -1 and 4294967295U differ in every comparison; and how the source
 * calls it.
 */
struct harness_int {
	unsigned long long	bits;
	bool			negative;
	const char		*text;
};

/* Where a check stands. */
struct harness_place {
	const char	*file;
	int		line;
};

static struct __test_metadata *harness_tests;

/* Constructors need not run in the order of the source, the tests do. */
static inline void harness_add_test(struct __test_metadata *test)
{
	struct __test_metadata **place = &harness_tests;

	while (*place && (*place)->line < test->line)
		place = &(*place)->next;
	test->next = *place;
	*place = test;
}

static inline void harness_add_variant(struct harness_fixture *fixture,
				       struct harness_variant *variant)
{
	struct harness_variant **place = &fixture->variants;

	while (*place && (*place)->line < variant->line)
		place = &(*place)->next;
	variant->next = *place;
	*place = variant;
}

static inline __attribute__((format(printf, 1, 2))) void harness_print(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	fflush(stdout);
}

static inline int harness_compare(struct harness_int a, struct harness_int b)
{
	if (a.negative != b.negative)
		return a.negative ? -1 : 1;
	return a.bits < b.bits ? -1 : a.bits > b.bits;
}

/* Whether an order (negative, 0, positive) is what an operator of C asks for. */
static inline bool harness_fits(int order, const char *op)
{
	if (order && !strcmp(op, "!="))
		return true;
	return order ? op[0] == (order < 0 ? '<' : '>') : op[1] == '=' && op[0] != '!';
}

static inline void harness_print_place(const struct __test_metadata *test,
				       struct harness_place place)
{
	printf("# %s:%d:%s: expected ", place.file, place.line, test->name);
}

static inline void harness_print_int(struct harness_int value)
{
	if (value.negative)
		printf("%s (%lld)", value.text, (long long)value.bits);
	else
		printf("%s (%llu)", value.text, value.bits);
}

/* The checks return whether they failed, and say so. */
static inline int harness_check_int(const struct __test_metadata *test, struct harness_place place,
				    struct harness_int expected, const char *op,
				    struct harness_int seen)
{
	if (harness_fits(harness_compare(expected, seen), op))
		return 0;
	harness_print_place(test, place);
	harness_print_int(expected);
	printf(" %s ", op);
	harness_print_int(seen);
	harness_print("\n");
	return 1;
}

static inline int harness_check_bool(const struct __test_metadata *test, struct harness_place place,
				     bool expected, bool seen, const char *text)
{
	if (expected == seen)
		return 0;
	harness_print_place(test, place);
	harness_print("%s: %s\n", expected ? "true" : "false", text);
	return 1;
}

static inline int harness_check_str(const struct __test_metadata *test, struct harness_place place,
				    const char *expected, const char *op, const char *seen)
{
	if (harness_fits(strcmp(expected, seen), op))
		return 0;
	harness_print_place(test, place);
	harness_print("\"%s\" %s \"%s\"\n", expected, op, seen);
	return 1;
}

/*
 * The end of a failed check; 0 ends the check's loop. A process that the test forked cannot end the
 * test, but its exit status can.
 */
static inline int harness_failed(struct __test_metadata *test, bool fatal)
{
	test->failed = true;
	if (fatal && getpid() != test->pid)
		_exit(HARNESS_FAIL);
	if (fatal)
		longjmp(test->stop, 1);
	return 0;
}

/* "< 1 and not 0" rather than "< 0", which compilers call pointless for unsigned types. */
#define HARNESS_INT(x, name)								\
	({										\
		__typeof__(x) _value = (x);						\
		(struct harness_int){							\
			.bits = (unsigned long long)_value,				\
			.negative = _value < 1 && _value != 0,				\
			.text = (name),							\
		};									\
	})

#define HARNESS_PLACE	((struct harness_place){ __FILE__, __LINE__ })

/* A loop, so that a block may follow, which runs if the check failed. */
#define HARNESS_CHECK(fatal, failed)							\
	for (int _bad = (failed); _bad; _bad = harness_failed(_metadata, fatal))

#define HARNESS_CHECK_INT(fatal, expected, op, seen)					\
	HARNESS_CHECK(fatal, harness_check_int(_metadata, HARNESS_PLACE, expected, op, seen))

#define HARNESS_CHECK_BOOL(fatal, expected, seen, text)					\
	HARNESS_CHECK(fatal, harness_check_bool(_metadata, HARNESS_PLACE, expected, seen, text))

#define HARNESS_CHECK_STR(fatal, expected, op, seen)					\
	HARNESS_CHECK(fatal, harness_check_str(_metadata, HARNESS_PLACE, expected, op, seen))

#define EXPECT_EQ(expected, seen)							\
	HARNESS_CHECK_INT(false, HARNESS_INT(expected, #expected), "==",		\
			  HARNESS_INT(seen, #seen))
#define EXPECT_NE(expected, seen)							\
	HARNESS_CHECK_INT(false, HARNESS_INT(expected, #expected), "!=",		\
			  HARNESS_INT(seen, #seen))
#define EXPECT_LT(expected, seen)							\
	HARNESS_CHECK_INT(false, HARNESS_INT(expected, #expected), "<",		\
			  HARNESS_INT(seen, #seen))
#define EXPECT_LE(expected, seen)							\
	HARNESS_CHECK_INT(false, HARNESS_INT(expected, #expected), "<=",		\
			  HARNESS_INT(seen, #seen))
#define EXPECT_GT(expected, seen)							\
	HARNESS_CHECK_INT(false, HARNESS_INT(expected, #expected), ">",		\
			  HARNESS_INT(seen, #seen))
#define EXPECT_GE(expected, seen)							\
	HARNESS_CHECK_INT(false, HARNESS_INT(expected, #expected), ">=",		\
			  HARNESS_INT(seen, #seen))
#define EXPECT_TRUE(seen)	HARNESS_CHECK_BOOL(false, true, seen, #seen)
#define EXPECT_FALSE(seen)	HARNESS_CHECK_BOOL(false, false, seen, #seen)
#define EXPECT_STREQ(expected, seen)	HARNESS_CHECK_STR(false, expected, "==", seen)
#define EXPECT_STRNE(expected, seen)	HARNESS_CHECK_STR(false, expected, "!=", seen)

#define ASSERT_EQ(expected, seen)							\
	HARNESS_CHECK_INT(true, HARNESS_INT(expected, #expected), "==",		\
			  HARNESS_INT(seen, #seen))
#define ASSERT_NE(expected, seen)							\
	HARNESS_CHECK_INT(true, HARNESS_INT(expected, #expected), "!=",		\
			  HARNESS_INT(seen, #seen))
#define ASSERT_LT(expected, seen)							\
	HARNESS_CHECK_INT(true, HARNESS_INT(expected, #expected), "<",		\
			  HARNESS_INT(seen, #seen))
#define ASSERT_LE(expected, seen)							\
	HARNESS_CHECK_INT(true, HARNESS_INT(expected, #expected), "<=",		\
			  HARNESS_INT(seen, #seen))
#define ASSERT_GT(expected, seen)							\
	HARNESS_CHECK_INT(true, HARNESS_INT(expected, #expected), ">",		\
			  HARNESS_INT(seen, #seen))
#define ASSERT_GE(expected, seen)							\
	HARNESS_CHECK_INT(true, HARNESS_INT(expected, #expected), ">=",		\
			  HARNESS_INT(seen, #seen))
#define ASSERT_TRUE(seen)	HARNESS_CHECK_BOOL(true, true, seen, #seen)
#define ASSERT_FALSE(seen)	HARNESS_CHECK_BOOL(true, false, seen, #seen)
#define ASSERT_STREQ(expected, seen)	HARNESS_CHECK_STR(true, expected, "==", seen)
#define ASSERT_STRNE(expected, seen)	HARNESS_CHECK_STR(true, expected, "!=", seen)

#define TH_LOG(fmt, ...)								\
	harness_print("# %s:%d:%s: " fmt "\n", __FILE__, __LINE__, _metadata->name,	\
		      ##__VA_ARGS__)

#define SKIP(statement, fmt, ...)							\
	do {										\
		snprintf(_metadata->report->reason, sizeof(_metadata->report->reason),	\
			 fmt, ##__VA_ARGS__);						\
		_metadata->report->skipped = true;					\
		statement;								\
	} while (0)

#define HARNESS_REGISTER(symbol, ...)							\
	static struct __test_metadata symbol##_test = { .line = __LINE__, __VA_ARGS__ };	\
	static void __attribute__((constructor)) symbol##_register(void)		\
	{										\
		harness_add_test(&symbol##_test);					\
	}

#define TEST(test_name)									\
	static void test_name##_body(struct __test_metadata *_metadata);		\
	static void test_name##_run(struct __test_metadata *_metadata,			\
				    const void *variant __attribute__((unused)))	\
	{										\
		if (!setjmp(_metadata->stop))						\
			test_name##_body(_metadata);					\
	}										\
	HARNESS_REGISTER(test_name, .name = #test_name, .run = test_name##_run,		\
			 .timeout_s = HARNESS_TIMEOUT_S)				\
	static void test_name##_body(struct __test_metadata *_metadata __attribute__((unused)))

#define FIXTURE_DATA(fixture_name)	struct fixture_name##_data
#define FIXTURE_VARIANT(fixture_name)	struct fixture_name##_variant

#define HARNESS_PARAMETERS(fixture_name)						\
	struct __test_metadata *_metadata __attribute__((unused)),			\
	FIXTURE_DATA(fixture_name) *self __attribute__((unused)),			\
	const FIXTURE_VARIANT(fixture_name) *variant __attribute__((unused))

#define FIXTURE(fixture_name)								\
	FIXTURE_VARIANT(fixture_name);							\
	static struct harness_fixture fixture_name##_fixture = { .name = #fixture_name };	\
	FIXTURE_DATA(fixture_name)

#define FIXTURE_SETUP(fixture_name)							\
	static void fixture_name##_setup(HARNESS_PARAMETERS(fixture_name))

#define FIXTURE_TEARDOWN(fixture_name)							\
	static void fixture_name##_teardown(HARNESS_PARAMETERS(fixture_name))

#define FIXTURE_VARIANT_ADD(fixture_name, variant_name)					\
	extern const FIXTURE_VARIANT(fixture_name) fixture_name##_##variant_name##_data;	\
	static struct harness_variant fixture_name##_##variant_name##_variant = {	\
		.name = #variant_name,							\
		.data = &fixture_name##_##variant_name##_data,				\
		.line = __LINE__,							\
	};										\
	static void __attribute__((constructor)) fixture_name##_##variant_name##_add(void)	\
	{										\
		harness_add_variant(&fixture_name##_fixture,				\
				    &fixture_name##_##variant_name##_variant);		\
	}										\
	const FIXTURE_VARIANT(fixture_name) fixture_name##_##variant_name##_data =

#define TEST_F(fixture_name, test_name)							\
	TEST_F_TIMEOUT(fixture_name, test_name, HARNESS_TIMEOUT_S)

/* The second setjmp keeps a check that fails in the tear-down from running the tear-down again. */
#define TEST_F_TIMEOUT(fixture_name, test_name, seconds)				\
	static void fixture_name##_##test_name##_body(HARNESS_PARAMETERS(fixture_name));	\
	static void fixture_name##_##test_name##_run(struct __test_metadata *_metadata,	\
						     const void *variant)		\
	{										\
		static FIXTURE_DATA(fixture_name) self;					\
		static bool ready;							\
											\
		if (!setjmp(_metadata->stop)) {						\
			fixture_name##_setup(_metadata, &self, variant);		\
			ready = !_metadata->failed && !_metadata->report->skipped;	\
			if (ready)							\
				fixture_name##_##test_name##_body(_metadata, &self, variant);	\
		}									\
		if (ready && !setjmp(_metadata->stop))					\
			fixture_name##_teardown(_metadata, &self, variant);		\
	}										\
	HARNESS_REGISTER(fixture_name##_##test_name, .name = #test_name,		\
			 .fixture = &fixture_name##_fixture,				\
			 .run = fixture_name##_##test_name##_run, .timeout_s = (seconds))	\
	static void fixture_name##_##test_name##_body(HARNESS_PARAMETERS(fixture_name))

#include "harness_run.h"

#define TEST_HARNESS_MAIN								\
	int main(int argc, char **argv)							\
	{										\
		return harness_main(argc, argv);					\
	}

#endif /* HTWHEEL_KSFT */
#endif /* HTWHEEL_HARNESS_H */
