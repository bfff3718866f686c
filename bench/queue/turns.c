// SPDX-License-Identifier: GPL-2.0
/*
 * Taking turns. The machine is not ours alone, and its speed changes. So in each repetition all
 * contestants run, one after the other, beginning with another one each time, and what is compared
 * was measured within the same seconds. A repetition before the first, of few timers, warms up.
 * Time is that of the thread, which stands while others have the CPU.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "turns.h"

#define MAX_CONTESTANTS	32

/**
 * struct contestant - a design, and what it has done for one n and load
 * @design: the design
 * @samples: for each case, nanoseconds an operation
 * @nr: how many
 * @ops: operations of one of them
 * @moves: timers that the queue moved in that, in all
 * @spent_ns: time that it has had
 * @last_ns: of that, for the last repetition
 * @too_slow: it is not asked
 */
struct contestant {
	const struct htw_design	*design;
	double			samples[NR_CASES][BENCH_MAX_REPS];
	unsigned int		nr[NR_CASES];
	u64			ops[NR_CASES];
	u64			moves[NR_CASES];
	u64			spent_ns;
	u64			last_ns;
	bool			too_slow;
};

static struct contestant contestants[MAX_CONTESTANTS];
static unsigned int nr_contestants;

/* Where samples go. */
static struct contestant *current;
static bool warming_up;

struct turns turns = { .reps = 5, .seconds = 12 };

void bench_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("queue-bench: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

u64 bench_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

bool bench_wants(enum bench_case which)
{
	return turns.wanted[which];
}

void bench_sample(struct bench *bench, enum bench_case which, u64 ops, u64 ns)
{
	if (turns.once)
		printf("%s\t%s\t%s\t%llu\t%llu\n", bench->design->name, bench_case_names[which],
		       bench->seq->load->name, bench->seq->n, ops);
	if (warming_up)
		return;
	current->samples[which][current->nr[which]++] = (double)ns / ops;
	current->ops[which] = ops;
	current->moves[which] = bench->work.moves;
}

void turns_enter(const struct htw_design *design)
{
	if (nr_contestants == MAX_CONTESTANTS)
		bench_fail("more than %d designs", MAX_CONTESTANTS);
	contestants[nr_contestants++].design = design;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median(const double *sorted, unsigned int nr)
{
	return nr % 2 ? sorted[nr / 2] : (sorted[nr / 2 - 1] + sorted[nr / 2]) / 2;
}

static void print_json(const char *row, unsigned int samples, const char *figures)
{
	static struct utsname host;

	if (!host.release[0])
		uname(&host);
	fprintf(turns.json, "{\"layer\":\"queue\",\"guest\":\"native\",\"kernel\":\"%s\",%s,"
		"\"samples\":%u,%s}\n", host.release, row, samples, figures);
	fflush(turns.json);
}

static void print_row(struct contestant *contestant, enum bench_case which, const char *load, u64 n)
{
	const char *design = contestant->design->name, *name = bench_case_names[which];
	double *samples = contestant->samples[which], middle;
	unsigned int nr = contestant->nr[which];
	char row[256], figures[160];

	snprintf(row, sizeof(row),
		 "\"case\":\"%s\",\"load\":\"%s\",\"design\":\"%s\",\"n\":%llu,\"batch\":%d", name,
		 load, design, n, which == CASE_CHURN_BATCH ? BENCH_BATCH : 1);
	printf("%-15s %-8s %8llu  %-10s ", name, load, n, design);
	if (nr) {
		qsort(samples, nr, sizeof(*samples), compare);
		middle = median(samples, nr);
		printf("%10.1f %10.1f %10.1f\n", middle, samples[0], samples[nr - 1]);
		snprintf(figures, sizeof(figures),
			 "\"median_ns\":%.2f,\"low_ns\":%.2f,\"high_ns\":%.2f,\"ops\":%llu,"
			 "\"moves\":%llu", middle, samples[0], samples[nr - 1],
			 contestant->ops[which], contestant->moves[which]);
	} else {
		puts("  too slow");
		snprintf(figures, sizeof(figures), "\"median_ns\":null,\"low_ns\":null,"
			 "\"high_ns\":null,\"note\":\"too slow\"");
	}
	if (turns.json)
		print_json(row, nr, figures);
}

/* The rows of the cases from @from to before @to. */
void turns_print(enum bench_case from, enum bench_case to, const char *load, u64 n)
{
	unsigned int which, i;

	if (turns.once)
		return;
	for (which = from; which < to; which++) {
		for (i = 0; turns.wanted[which] && i < nr_contestants; i++)
			print_row(&contestants[i], which, load, n);
	}
	fflush(stdout);
}

static void begin(struct contestant *contestant, u64 n)
{
	memset(contestant->nr, 0, sizeof(contestant->nr));
	contestant->spent_ns = 0;
	contestant->last_ns = 0;
	contestant->too_slow = contestant->design->flags & HTW_DESIGN_LINEAR &&
			       n > BENCH_MAX_LINEAR;
}

/* Once, however slow; and then as long as there is time. */
static bool may_run(const struct contestant *contestant, u64 rep)
{
	if (contestant->too_slow)
		return false;
	return !rep ||
	       contestant->spent_ns + contestant->last_ns <= turns.seconds * 1000000000ULL;
}

static void run(struct contestant *contestant, struct bench *bench, bench_scenario *scenario)
{
	u64 begin_ns = bench_ns();

	current = contestant;
	bench->design = contestant->design;
	bench->ops = bench->seq->ops;
	if (bench->design->flags & HTW_DESIGN_LINEAR && bench->ops > BENCH_LINEAR_OPS)
		bench->ops = BENCH_LINEAR_OPS;
	for (; *scenario; scenario++)
		(*scenario)(bench);
	contestant->last_ns = bench_ns() - begin_ns;
	contestant->spent_ns += contestant->last_ns;
}

/* Each contestant once, and not for a figure. */
void turns_warm_up(struct bench *bench, bench_scenario *scenario)
{
	unsigned int i;

	warming_up = true;
	for (i = 0; i < nr_contestants; i++)
		run(&contestants[i], bench, scenario);
	warming_up = false;
}

/* All contestants, all repetitions, of one n and load. */
void turns_take(struct bench *bench, bench_scenario *scenario)
{
	struct contestant *contestant;
	unsigned int i;
	u64 rep;

	for (i = 0; i < nr_contestants; i++)
		begin(&contestants[i], bench->seq->n);
	for (rep = 0; rep < turns.reps; rep++) {
		for (i = 0; i < nr_contestants; i++) {
			contestant = &contestants[(i + rep) % nr_contestants];
			if (may_run(contestant, rep))
				run(contestant, bench, scenario);
		}
	}
}
