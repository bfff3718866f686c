// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the battery of kunit/ in userspace, under sanitizers, and reports in TAP.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "memory.h"
#include "stream.h"

#define DEFAULT_OPS	20000

/* A broken queue may never come back from a call. One job takes about a second, the longest. */
#define HANG_SECONDS	60

static const char usage[] =
	"usage: %s [--seed N] [--ops N] [--design NAME] [--test PREFIX]\n"
	"\n"
	"Tests the queue designs of htwheel; TAP on standard output, 0 if all passed, else 1.\n"
	"\n"
	"  --seed N       seed of the random tests; by default from the clock, and printed\n"
	"  --ops N        operations of each random stream (%u; fewer of those that cost more)\n"
	"  --design NAME  this design only\n"
	"  --test PREFIX  tests whose names begin so\n"
	"  --help         this text\n";

/* What runs in one test. */
struct job {
	const char			*name;
	const struct htw_case		*what;
	const struct htw_stream_profile	*profile;
	const struct htw_design		*other;
};

static struct htw_row rows[HTW_ROWS_MAX];
static unsigned int nr_rows;
static const struct htw_design *only;
static const char *prefix = "";
static u64 seed;
static u64 ops = DEFAULT_OPS;
static u64 steps;
static unsigned int nr_tests, nr_failed;

static void report(bool passed, const char *name, const char *design, const char *detail,
		   const struct htw_start *start)
{
	printf("%sok %u - %s %s%s", passed ? "" : "not ", ++nr_tests, name, design, detail);
	if (start)
		printf(" %u bits from %llu", start->bits, start->tick);
	putchar('\n');
	nr_failed += !passed;
}

/* The output is whole lines at this time; only the signal-safe write() may be used. */
static void give_up(int signal)
{
	static const char text[] = "Bail out! The next test hangs.\n";

	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(2);
	_exit(1);
}

static void run_job(const struct job *job, const struct htw_row *row, const struct htw_start *start)
{
	struct htw_test test = {
		.design		= row->design,
		.geometry	= row->geometry,
		.start_tick	= start->tick,
		.tick_bits	= start->bits,
		.seed		= seed,
		.ops		= ops,
	};
	char detail[64] = "", name[HTW_ROW_NAME];

	if (strncmp(job->name, prefix, strlen(prefix)))
		return;
	/* More operations than usual get more time. */
	alarm(HANG_SECONDS + ops / 1000);
	if (job->other) {
		snprintf(detail, sizeof(detail), " and %s, %s", job->other->name,
			 job->profile->name);
		htw_roll_note(&test);
		htw_stream_run_pair(&test, job->other, job->profile);
	} else if (job->profile) {
		snprintf(detail, sizeof(detail), ", %s", job->profile->name);
		htw_roll_note(&test);
		htw_stream_run(&test, job->profile);
	} else if (job->what) {
		htw_case_run(&test, job->what);
	} else {
		memory_case(&test);
	}
	steps += test.steps;
	htw_row_name(row, name);
	report(!test.failed, job->name, name, detail, start);
	if (test.failed)
		printf("# %s\n", test.text);
	fflush(stdout);
}

static void run_from_starts(const struct job *job, const struct htw_row *row)
{
	const struct htw_start *start;

	for (start = htw_starts; start->bits; start++) {
		if (htw_start_wanted(row, start))
			run_job(job, row, start);
	}
}

static void run_everywhere(const struct job *job)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++) {
		if (!only || only == rows[i].design)
			run_from_starts(job, &rows[i]);
	}
}

static void run_cases(void)
{
	const struct htw_case *const *table;
	const struct htw_case *what;
	struct job job = {};

	for (table = htw_case_tables; *table; table++) {
		for (what = *table; what->name; what++) {
			job = (struct job){ .name = what->name, .what = what };
			run_everywhere(&job);
		}
	}
	job = (struct job){ .name = "memory_runs_out" };
	run_everywhere(&job);
}

/* Each row with the next one that is exact, and the last with the first. */
static void run_pairs(const struct htw_stream_profile *profile)
{
	struct job job = { .name = "designs_agree", .profile = profile };
	unsigned int i;

	for (i = 0; i < nr_rows; i++) {
		job.other = htw_row_partner(rows, nr_rows, &rows[i]);
		run_from_starts(&job, &rows[i]);
	}
}

static void run_streams(void)
{
	const struct htw_stream_profile *profile;
	struct job job = { .name = "random_stream" };

	for (profile = htw_stream_profiles; profile->name; profile++) {
		job.profile = profile;
		run_everywhere(&job);
		if (!only)
			run_pairs(profile);
	}
}

static void run_roll_call(void)
{
	const char *missing = htw_roll_missing();

	report(!missing, "b88_every_design_was_run", "all", "", NULL);
	if (missing)
		printf("# not run, or not as often as the default: %s\n", missing);
}

static const struct htw_design *design_named(const char *name)
{
	const struct htw_design *design = htw_design_find(name);

	if (design)
		return design;
	fprintf(stderr, "no such design: %s\n", name);
	exit(2);
}

static u64 number(const char *text)
{
	char *end;
	u64 value = strtoull(text, &end, 0);

	if (*text && !*end)
		return value;
	fprintf(stderr, "not a number: %s\n", text);
	exit(2);
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "ops", required_argument, NULL, 'o' },
		{ "design", required_argument, NULL, 'd' },
		{ "test", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 's':
			seed = number(optarg);
			break;
		case 'o':
			ops = number(optarg);
			break;
		case 'd':
			only = design_named(optarg);
			break;
		case 't':
			prefix = optarg;
			break;
		case 'h':
			printf(usage, argv[0], DEFAULT_OPS);
			exit(0);
		default:
			fprintf(stderr, usage, argv[0], DEFAULT_OPS);
			exit(2);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "what is %s?\n", argv[optind]);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	seed = begin.tv_sec * 1000000000ULL + begin.tv_nsec;
	parse(argc, argv);
	signal(SIGALRM, give_up);
	nr_rows = htw_rows_fill(rows);

	printf("TAP version 13\n# seed %llu, %llu operations in a stream\n", seed, ops);
	run_cases();
	run_streams();
	if (!only && !*prefix)
		run_roll_call();
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("1..%u\n# %llu operations in %.1f s\n", nr_tests, steps,
	       (end.tv_sec - begin.tv_sec) + (end.tv_nsec - begin.tv_nsec) / 1e9);
	fflush(stdout);
	/* After a failure queues stay behind, which the leak checker need not tell. */
	if (nr_failed)
		_exit(1);
	return 0;
}
