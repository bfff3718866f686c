// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the battery of kunit/ in userspace, under sanitizers, and reports in TAP.
 *
 * Processes share the work: each goes through all jobs and runs those of its turn. Their reports
 * come by pipes and are put together again in the order of their numbers.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/minmax.h>

#include "cases.h"
#include "memory.h"
#include "stream.h"

#define DEFAULT_OPS	20000

/* A broken queue may never come back from a call. One job takes about a second, the longest. */
#define HANG_SECONDS	400

#define MAX_WORKERS	64U

static const char usage[] =
	"usage: %s [--seed N] [--ops N] [--design NAME] [--test PREFIX] [--jobs N]\n"
	"\n"
	"Tests the queue designs of htwheel; TAP on standard output, 0 if all passed, else 1.\n"
	"\n"
	"  --seed N       seed of the random tests; by default from the clock, and printed\n"
	"  --ops N        operations of each random stream (%u; fewer of those that cost more)\n"
	"  --design NAME  this design only\n"
	"  --test PREFIX  tests whose names begin so\n"
	"  --jobs N       processes that share the work; by default one for each CPU\n"
	"  --help         this text\n";

/* What runs in one test. */
struct job {
	const char			*name;
	const struct htw_case		*what;
	const struct htw_stream_profile	*profile;
	const struct htw_design		*other;
	void				(*own)(struct htw_test *test);
};

static struct htw_row rows[HTW_ROWS_MAX];
static unsigned int nr_rows;
static const struct htw_design *only;
static const char *prefix = "";
static u64 seed;
static u64 ops = DEFAULT_OPS;
static unsigned int nr_tests, nr_workers;

/* Which of them this process is. */
static unsigned int self;

/**
 * struct sums - what the processes add up
 * @steps: operations
 * @failed: jobs that failed
 * @roll: runs of each row
 */
struct sums {
	u64		steps;
	unsigned int	failed;
	unsigned long	roll[HTW_ROWS_MAX];
};

static struct sums *sums;

static void report(bool passed, const char *name, const char *design, const char *detail,
		   const struct htw_start *start)
{
	printf("%sok %u - %s %s%s", passed ? "" : "not ", nr_tests, name, design, detail);
	if (start)
		printf(" %u bits from %llu", start->bits, start->tick);
	putchar('\n');
	__atomic_add_fetch(&sums->failed, !passed, __ATOMIC_RELAXED);
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
		.once		= htw_start_once(row, start),
		.depth		= 4,
		.start_tick	= start->tick,
		.tick_bits	= start->bits,
		.seed		= seed,
		.ops		= ops,
	};
	char detail[64] = "", name[HTW_ROW_NAME];

	if (strncmp(job->name, prefix, strlen(prefix)))
		return;
	if (nr_tests++ % nr_workers != self)
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
		job->own(&test);
	}
	__atomic_add_fetch(&sums->steps, test.steps, __ATOMIC_RELAXED);
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
	job = (struct job){ .name = "memory_runs_out", .own = memory_case };
	run_everywhere(&job);
	job = (struct job){ .name = "b89_cancel_does_not_search", .own = cancel_case };
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

	nr_tests++;
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
		{ "jobs", required_argument, NULL, 'j' },
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
		case 'j':
			nr_workers = number(optarg);
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

/* What one process does. Its exit says what the leak checker found. */
static void work(unsigned int worker, int out)
{
	unsigned int i;

	self = worker;
	dup2(out, STDOUT_FILENO);
	run_cases();
	run_streams();
	for (i = 0; i < HTW_ROWS_MAX; i++)
		__atomic_add_fetch(&sums->roll[i], htw_roll[i], __ATOMIC_RELAXED);
	fflush(stdout);
	/* After a failure queues stay behind, which the leak checker need not tell. */
	if (sums->failed)
		_exit(0);
	exit(0);
}

static FILE *start_worker(unsigned int worker)
{
	FILE *from;
	int ends[2];

	if (pipe(ends))
		return NULL;
	fflush(stdout);
	switch (fork()) {
	case -1:
		return NULL;
	case 0:
		close(ends[0]);
		work(worker, ends[1]);
	}
	close(ends[1]);
	from = fdopen(ends[0], "r");
	return from;
}

/* Pass on one report: a line, and those behind it that explain it. False at the end. */
static bool pass_on(FILE *from)
{
	char line[1024];
	int next;

	if (!fgets(line, sizeof(line), from))
		return false;
	do {
		fputs(line, stdout);
		next = getc(from);
		ungetc(next, from);
	} while (next == '#' && fgets(line, sizeof(line), from));
	fflush(stdout);
	return true;
}

/* False if a process has ended in another way than it should. */
static bool run_workers(void)
{
	FILE *from[MAX_WORKERS];
	bool good = true;
	unsigned int i;
	int status;

	for (i = 0; i < nr_workers; i++) {
		from[i] = start_worker(i);
		if (!from[i])
			return false;
	}
	while (pass_on(from[nr_tests % nr_workers]))
		nr_tests++;
	/* After one that has died early, the others have more to say. */
	for (i = 0; i < nr_workers; i++) {
		while (pass_on(from[i]))
			nr_tests++;
		fclose(from[i]);
	}
	while (wait(&status) > 0)
		good = good && WIFEXITED(status) && !WEXITSTATUS(status);
	return good;
}

int main(int argc, char **argv)
{
	struct timespec begin, end;
	bool good;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	seed = begin.tv_sec * 1000000000ULL + begin.tv_nsec;
	nr_workers = sysconf(_SC_NPROCESSORS_ONLN);
	parse(argc, argv);
	nr_workers = min(max(nr_workers, 1U), MAX_WORKERS);
	signal(SIGALRM, give_up);
	nr_rows = htw_rows_fill(rows);
	sums = mmap(NULL, sizeof(*sums), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sums == MAP_FAILED)
		return 2;

	printf("TAP version 13\n# seed %llu, %llu operations in a stream\n", seed, ops);
	good = run_workers();
	memcpy(htw_roll, sums->roll, sizeof(htw_roll));
	if (!only && !*prefix && good)
		run_roll_call();
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (!good)
		printf("Bail out! A process has died.\n");
	printf("1..%u\n# %llu operations in %.1f s\n", nr_tests, sums->steps,
	       (end.tv_sec - begin.tv_sec) + (end.tv_nsec - begin.tv_nsec) / 1e9);
	fflush(stdout);
	return sums->failed || !good;
}
