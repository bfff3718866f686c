/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The second half of harness.h: choose the tests, run each in a process of its own, print the TAP.
 */
#ifndef HTWHEEL_HARNESS_RUN_H
#define HTWHEEL_HARNESS_RUN_H

struct harness_options {
	char	**filters;
	int	nr_filters;
	bool	list;
};

struct harness_totals {
	unsigned int	run;
	unsigned int	failed;
	unsigned int	skipped;
};

static inline unsigned int harness_slow(void)
{
	const char *text = getenv("HTWHEEL_SLOW");
	long slow = text ? strtol(text, NULL, 10) : 1;

	return slow < 1 ? 1 : slow;
}

static inline void harness_full_name(char *name, size_t size, const struct __test_metadata *test,
				     const struct harness_variant *variant)
{
	snprintf(name, size, "%s%s%s%s%s", test->fixture ? test->fixture->name : "",
		 test->fixture ? "." : "", variant ? variant->name : "", variant ? "." : "",
		 test->name);
}

static inline bool harness_chosen(const struct harness_options *options, const char *name)
{
	int i;

	for (i = 0; i < options->nr_filters; i++)
		if (strstr(name, options->filters[i]))
			return true;
	return !options->nr_filters;
}

/* Wait for the end of a process whose SIGCHLD is blocked; false if the time is up before. */
static inline bool harness_wait(pid_t pid, int *status, unsigned int timeout_s)
{
	struct timespec now, end, left;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += timeout_s;
	for (;;) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec >= end.tv_sec)
			return false;
		left.tv_sec = end.tv_sec - now.tv_sec;
		left.tv_nsec = 0;
		sigtimedwait(&child, NULL, &left);
	}
}

static inline void harness_child(struct __test_metadata *test,
				 const struct harness_variant *variant, const sigset_t *mask)
{
	setpgid(0, 0);
	sigprocmask(SIG_SETMASK, mask, NULL);
	test->pid = getpid();
	test->run(test, variant ? variant->data : NULL);
	fflush(stdout);
	_exit(test->failed ? HARNESS_FAIL : test->report->skipped ? HARNESS_SKIP : HARNESS_PASS);
}

static inline int harness_run_child(struct __test_metadata *test,
				    const struct harness_variant *variant, const sigset_t *mask)
{
	unsigned int timeout_s = test->timeout_s * harness_slow();
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		harness_print("# cannot fork\n");
		return HARNESS_FAIL;
	}
	if (!pid)
		harness_child(test, variant, mask);
	/* Both do it, because either may come first. */
	setpgid(pid, pid);
	if (!harness_wait(pid, &status, timeout_s)) {
		harness_print("# %s: not finished after %u s, killed\n", test->name, timeout_s);
		kill(-pid, SIGKILL);
		waitpid(pid, &status, 0);
		return HARNESS_FAIL;
	}
	/* What the test left behind must not disturb the next one. */
	kill(-pid, SIGKILL);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	harness_print("# %s: killed by signal %d\n", test->name, WTERMSIG(status));
	return HARNESS_FAIL;
}

static inline double harness_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static inline void harness_run_one(struct __test_metadata *test,
				   const struct harness_variant *variant, const sigset_t *mask,
				   struct harness_totals *totals)
{
	double start_s = harness_seconds(), end_s;
	char name[200];
	int ret;

	memset(test->report, 0, sizeof(*test->report));
	harness_full_name(name, sizeof(name), test, variant);
	ret = harness_run_child(test, variant, mask);
	end_s = harness_seconds();
	if (end_s - start_s >= 1)
		harness_print("# %s: %.1f s\n", name, end_s - start_s);
	totals->run++;
	if (ret == HARNESS_SKIP) {
		totals->skipped++;
		harness_print("ok %u %s # SKIP %s\n", totals->run, name, test->report->reason);
	} else if (ret) {
		totals->failed++;
		harness_print("not ok %u %s\n", totals->run, name);
	} else {
		harness_print("ok %u %s\n", totals->run, name);
	}
}

/*
 * Visit the chosen tests, each with all variants of its fixture; without totals only count or list.
 */
static inline unsigned int harness_visit(const struct harness_options *options,
					 const sigset_t *mask, struct harness_totals *totals)
{
	struct harness_variant *variant;
	struct __test_metadata *test;
	unsigned int nr = 0;
	char name[200];

	for (test = harness_tests; test; test = test->next) {
		variant = test->fixture ? test->fixture->variants : NULL;
		do {
			harness_full_name(name, sizeof(name), test, variant);
			if (!harness_chosen(options, name))
				continue;
			nr++;
			if (totals)
				harness_run_one(test, variant, mask, totals);
			else if (options->list)
				printf("%s\n", name);
		} while (variant && (variant = variant->next));
	}
	return nr;
}

static inline int harness_usage(const char *program, int status)
{
	fprintf(status ? stderr : stdout,
		"usage: %s [--list] [--filter NAME]... [--help]\n"
		"\n"
		"  --list         print the names of the tests\n"
		"  --filter NAME  only the tests with NAME in their name; repeatable\n"
		"\n"
		"Exit status: 0 passed, 1 failed, 2 wrong usage, 4 there is nothing to test here.\n"
		"The variable HTWHEEL_SLOW multiplies the time that a test may take (%d s).\n",
		program, HARNESS_TIMEOUT_S);
	return status;
}

/* Return 0, or an exit status + 1. */
static inline int harness_parse(int argc, char **argv, struct harness_options *options)
{
	int i;

	options->filters = calloc(argc, sizeof(*options->filters));
	if (!options->filters)
		return HARNESS_FAIL + 1;
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return harness_usage(argv[0], 0) + 1;
		if (!strcmp(argv[i], "--list") || !strcmp(argv[i], "-l"))
			options->list = true;
		else if (!strcmp(argv[i], "--filter") && i + 1 < argc)
			options->filters[options->nr_filters++] = argv[++i];
		else
			return harness_usage(argv[0], HARNESS_USAGE) + 1;
	}
	return 0;
}

static inline void harness_share_report(void)
{
	struct harness_report *report;
	struct __test_metadata *test;

	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (report == MAP_FAILED) {
		perror("mmap");
		exit(HARNESS_FAIL);
	}
	for (test = harness_tests; test; test = test->next)
		test->report = report;
}

static inline int harness_main(int argc, char **argv)
{
	struct harness_options options = { .nr_filters = 0 };
	struct harness_totals totals = { .run = 0 };
	sigset_t child, mask;
	int ret;

	ret = harness_parse(argc, argv, &options);
	if (ret)
		return ret - 1;
	if (options.list) {
		harness_visit(&options, NULL, NULL);
		return HARNESS_PASS;
	}

	harness_share_report();
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &mask);
	harness_print("TAP version 13\n1..%u\n", harness_visit(&options, NULL, NULL));
	harness_visit(&options, &mask, &totals);
	harness_print("# Totals: pass:%u fail:%u skip:%u\n",
		      totals.run - totals.failed - totals.skipped, totals.failed, totals.skipped);
	return totals.failed ? HARNESS_FAIL : HARNESS_PASS;
}

#endif /* HTWHEEL_HARNESS_RUN_H */
