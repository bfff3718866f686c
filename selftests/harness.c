// SPDX-License-Identifier: GPL-2.0
/*
 * The harness itself: what should fail does, what should not does not, and the output says which.
 *
 * The program runs itself with a variable set; its tests then have names that begin with the result
 * that they should have, and it looks whether they do. Not built with the kernel's harness.
 */
#include "harness.h"

#define INNER		"HTWHEEL_HARNESS_INNER"

/* A line of the inner run's output. */
#define NOT_REACHED	"# this must not be reached\n"

TEST(passes_empty)
{
}

TEST(passes_equal)
{
	EXPECT_EQ(1, 1U);
	EXPECT_EQ(-1, -1LL);
	EXPECT_NE(-1, UINT32_MAX);
	EXPECT_NE(-1, UINT64_MAX);
	EXPECT_STREQ("a", "a");
	EXPECT_STRNE("a", "b");
	EXPECT_TRUE(2);
	EXPECT_FALSE(0);
}

TEST(passes_order)
{
	EXPECT_LT(-1, 0U);
	EXPECT_LE(-1, 0U);
	EXPECT_LE(1, 1);
	EXPECT_GT(UINT64_MAX, -5);
	EXPECT_GE(UINT64_MAX, INT64_MAX);
	EXPECT_GE(1, 1);
}

TEST(fails_equal)
{
	EXPECT_EQ(-1, UINT64_MAX);
}

TEST(fails_not_equal)
{
	EXPECT_NE(2, 2ULL);
}

TEST(fails_less)
{
	EXPECT_LT(1, 1);
}

TEST(fails_less_or_equal)
{
	EXPECT_LE(0U, -1);
}

TEST(fails_greater)
{
	EXPECT_GT(1, 1);
}

TEST(fails_greater_or_equal)
{
	EXPECT_GE(-1, 0U);
}

TEST(fails_true)
{
	EXPECT_TRUE(0);
}

TEST(fails_false)
{
	EXPECT_FALSE(4);
}

TEST(fails_strings_equal)
{
	EXPECT_STREQ("a", "b");
}

TEST(fails_strings_not_equal)
{
	EXPECT_STRNE("a", "a");
}

TEST(fails_once_of_three)
{
	EXPECT_EQ(1, 1);
	EXPECT_EQ(1, 2);
	EXPECT_EQ(1, 1);
}

TEST(fails_in_a_child)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		ASSERT_EQ(1, 2);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

TEST(fails_by_a_signal)
{
	raise(SIGSEGV);
}

TEST(skips_with_a_reason)
{
	SKIP(return, "reason %d", 1);
}

FIXTURE(fixture) {
	int value;
};

FIXTURE_SETUP(fixture)
{
	EXPECT_EQ(0, self->value);
	self->value = 1;
}

FIXTURE_TEARDOWN(fixture)
{
	EXPECT_EQ(1, self->value);
}

TEST_F(fixture, passes)
{
	EXPECT_EQ(1, self->value);
}

TEST_F(fixture, passes_with_a_fresh_one)
{
	EXPECT_EQ(1, self->value);
}

TEST_F(fixture, fails_at_the_assertion)
{
	ASSERT_EQ(1, 2) {
		TH_LOG("block");
	}
	harness_print(NOT_REACHED);
}

TEST_F(fixture, fails_in_the_tear_down)
{
	self->value = 2;
}

TEST_F_TIMEOUT(fixture, fails_by_its_time_limit, 1)
{
	if (!fork())
		pause();
	pause();
}

FIXTURE(unready) {
	int value;
};

FIXTURE_VARIANT(unready) {
	bool skip;
};

FIXTURE_VARIANT_ADD(unready, fails) {
	.skip = false,
};

FIXTURE_VARIANT_ADD(unready, skips) {
	.skip = true,
};

FIXTURE_SETUP(unready)
{
	if (variant->skip)
		SKIP(return, "not ready");
	ASSERT_EQ(1, 2);
}

FIXTURE_TEARDOWN(unready)
{
	harness_print(NOT_REACHED);
}

TEST_F(unready, test)
{
	harness_print(NOT_REACHED);
}

/* The words of a result line after its number, NULL if the line is none. */
static const char *result_name(const char *line, bool *ok)
{
	int length = 0;

	*ok = !strncmp(line, "ok ", 3);
	if (!*ok && strncmp(line, "not ok ", 7))
		return NULL;
	if (sscanf(line + (*ok ? 3 : 7), "%*u %n", &length) != 0 || !length)
		return NULL;
	return line + (*ok ? 3 : 7) + length;
}

static bool is_as_named(const char *name, bool ok)
{
	if (strstr(name, "skips"))
		return ok && strstr(name, "# SKIP ");
	return ok == !strstr(name, "fails");
}

/* Look at the inner run's output; returns how many results it had, and how many were wrong. */
static unsigned int judge(FILE *output, unsigned int *wrong)
{
	unsigned int results = 0;
	const char *name;
	char line[512];
	bool ok;

	while (fgets(line, sizeof(line), output)) {
		*wrong += !strcmp(line, NOT_REACHED);
		name = result_name(line, &ok);
		if (!name)
			continue;
		results++;
		if (is_as_named(name, ok))
			continue;
		harness_print("# wrong: %s", line);
		(*wrong)++;
	}
	return results;
}

static unsigned int count_tests(void)
{
	struct harness_options all = { .nr_filters = 0 };

	return harness_visit(&all, NULL, NULL);
}

/* The inner run; its exit status has to say that tests failed. */
static bool inner_run_is_right(void)
{
	char path[256] = "", command[300];
	unsigned int wrong = 0;
	FILE *output;

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return false;
	snprintf(command, sizeof(command), "'%s' 2>&1", path);
	setenv(INNER, "1", 1);
	output = popen(command, "r");
	if (!output)
		return false;
	if (judge(output, &wrong) != count_tests())
		wrong++;
	return WEXITSTATUS(pclose(output)) == HARNESS_FAIL && !wrong;
}

int main(int argc, char **argv)
{
	bool right;

	if (getenv(INNER) || argc > 1)
		return harness_main(argc, argv);
	harness_print("TAP version 13\n1..1\n");
	right = inner_run_is_right();
	printf("%s 1 results_are_as_named\n", right ? "ok" : "not ok");
	return right ? HARNESS_PASS : HARNESS_FAIL;
}
