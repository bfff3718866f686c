// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the queue designs beside each other: what is measured, and the command line.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/minmax.h>

#include "turns.h"

#define MAX_SIZES	8

/* The runs over a minute have the timers of SEEDS: 10,000 connections with three timers each. */
#define RUN_TIMERS	30000

#define WARM_UP_TIMERS	4096ULL

static const char usage[] =
	"usage: %s [OPTION]...\n"
	"\n"
	"Measures the queue designs of htwheel, in nanoseconds an operation: the median of the\n"
	"repetitions, the lowest, the highest.\n"
	"\n"
	"  --design NAME  this design only; repeatable. \"yardstick\" is a plain linked wheel\n"
	"  --case NAME    this case only; repeatable\n"
	"  --load NAME    this load only: uniform, constant, seeds\n"
	"  -n N           so many timers; repeatable. By default 10000, 100000 and 1000000\n"
	"  --ops N        operations of the cases that pick timers (65536; of a design that is\n"
	"                 linear, 2048 at most)\n"
	"  --reps N       repetitions, behind one of few timers that warms up (5)\n"
	"  --seconds N    no further repetition with a design that has had so much time for one n\n"
	"                 and load (12); the results tell how many there were\n"
	"  --cpu N        run on this CPU (the last that is allowed)\n"
	"  --json FILE    append a line of JSON for each row\n"
	"  --once         take no time: each case once; design, case, load, n and operations\n"
	"  --list         name the designs, cases and loads\n"
	"  --help         this text\n";

static const char *program;
static u64 sizes[MAX_SIZES];
static unsigned int nr_sizes;
static const char *only_load;
static u64 ops = 65536;
static bool have_design, have_case;

static __attribute__((noreturn)) void misuse(const char *what, const char *name)
{
	fprintf(stderr, "%s: %s: %s\n", program, what, name);
	exit(2);
}

static void measure(const struct bench_load *load, u64 n, u64 nr_ops, bench_scenario *scenario)
{
	struct bench_sequence few, seq;
	struct bench bench = {
		.limit_ops	= turns.once ? 63 : 16383,
		.limit_ns	= turns.once ? 0 : 20000000,
	};

	bench_sequence_make(&few, load, min(n, WARM_UP_TIMERS), min(nr_ops, WARM_UP_TIMERS));
	bench_sequence_make(&seq, load, n, nr_ops);
	bench.timer = bench_allocate(n, sizeof(*bench.timer));
	bench.seq = &few;
	if (!turns.once)
		turns_warm_up(&bench, scenario);
	bench.seq = &seq;
	turns_take(&bench, scenario);
	free(bench.timer);
	bench_sequence_free(&few);
	bench_sequence_free(&seq);
}

static void measure_size(u64 n)
{
	static bench_scenario live[] = { bench_live, NULL };
	static bench_scenario others[] = { bench_due, bench_far, NULL };
	const struct bench_load *load;

	for (load = bench_loads; load->name; load++) {
		if (only_load && strcmp(only_load, load->name))
			continue;
		measure(load, n, ops, live);
		turns_print(0, CASE_EXPIRE, load->name, n);
	}
	/* Where the deadlines lie is part of these cases. */
	measure(bench_loads, n, 1, others);
	turns_print(CASE_EXPIRE, CASE_NEXT, "due", n);
	turns_print(CASE_NEXT, CASE_RUN_SEEDS, "far", n);
}

static void measure_runs(void)
{
	static bench_scenario seeds[] = { bench_run_seeds_case, NULL };
	static bench_scenario idle[] = { bench_run_idle_case, NULL };

	if (turns.once)
		return;
	if (turns.wanted[CASE_RUN_SEEDS])
		measure(bench_load_find("seeds"), RUN_TIMERS, 1, seeds);
	turns_print(CASE_RUN_SEEDS, CASE_RUN_IDLE, "seeds", RUN_TIMERS);
	if (turns.wanted[CASE_RUN_IDLE])
		measure(bench_load_find("constant"), RUN_TIMERS, 4 * RUN_TIMERS, idle);
	turns_print(CASE_RUN_IDLE, NR_CASES, "constant", RUN_TIMERS);
}

static void pin(u64 cpu)
{
	cpu_set_t allowed, one;

	CPU_ZERO(&allowed);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	if (cpu == CPU_SETSIZE) {
		while (cpu && !CPU_ISSET(cpu - 1, &allowed))
			cpu--;
		cpu--;
	}
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		bench_fail("CPU %llu: %s", cpu, strerror(errno));
}

static u64 number(const char *text, u64 most)
{
	char *end;
	u64 value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || value > most)
		misuse("not a number, or too large", text);
	return value;
}

static u64 positive(const char *text, u64 most)
{
	u64 value = number(text, most);

	if (!value)
		misuse("0 is too few", text);
	return value;
}

static void want_design(const char *name)
{
	const struct htw_design *design = htw_design_find(name);

	if (!design && !strcmp(name, yardstick_design.name))
		design = &yardstick_design;
	if (!design)
		misuse("no such design", name);
	turns_enter(design);
	have_design = true;
}

static void want_case(const char *name)
{
	unsigned int which;

	for (which = 0; which < NR_CASES; which++) {
		if (!strcmp(bench_case_names[which], name))
			break;
	}
	if (which == NR_CASES)
		misuse("no such case", name);
	turns.wanted[which] = true;
	have_case = true;
}

static void want_all(void)
{
	const struct htw_design *const *design;
	unsigned int which;

	for (design = htw_designs; !have_design && *design; design++)
		turns_enter(*design);
	if (!have_design)
		turns_enter(&yardstick_design);
	for (which = 0; !have_case && which < NR_CASES; which++)
		turns.wanted[which] = true;
	if (nr_sizes)
		return;
	nr_sizes = 3;
	sizes[0] = 10000;
	sizes[1] = 100000;
	sizes[2] = 1000000;
}

static void list(void)
{
	const struct htw_design *const *design;
	const struct bench_load *load;
	unsigned int which;

	for (design = htw_designs; *design; design++)
		printf("design %-16s %s\n", (*design)->name, (*design)->about);
	printf("design %-16s %s\n", yardstick_design.name, yardstick_design.about);
	for (which = 0; which < NR_CASES; which++)
		printf("case   %s\n", bench_case_names[which]);
	for (load = bench_loads; load->name; load++)
		printf("load   %s\n", load->name);
}

enum { DESIGN = 256, CASE, LOAD, OPS, REPS, SECONDS, CPU, JSON, ONCE, LIST, HELP };

static const struct option options[] = {
	{ "design", required_argument, NULL, DESIGN },
	{ "case", required_argument, NULL, CASE },
	{ "load", required_argument, NULL, LOAD },
	{ "ops", required_argument, NULL, OPS },
	{ "reps", required_argument, NULL, REPS },
	{ "seconds", required_argument, NULL, SECONDS },
	{ "cpu", required_argument, NULL, CPU },
	{ "json", required_argument, NULL, JSON },
	{ "once", no_argument, NULL, ONCE },
	{ "list", no_argument, NULL, LIST },
	{ "help", no_argument, NULL, HELP },
	{}
};

static void set_option(int option, u64 *cpu)
{
	switch (option) {
	case DESIGN:
		want_design(optarg);
		break;
	case CASE:
		want_case(optarg);
		break;
	case LOAD:
		if (!bench_load_find(optarg))
			misuse("no such load", optarg);
		only_load = optarg;
		break;
	case 'n':
		if (nr_sizes == MAX_SIZES)
			misuse("too many sizes", optarg);
		sizes[nr_sizes++] = positive(optarg, 100000000);
		break;
	case OPS:
		ops = positive(optarg, 100000000);
		break;
	case REPS:
		turns.reps = positive(optarg, BENCH_MAX_REPS);
		break;
	case SECONDS:
		turns.seconds = number(optarg, 1000000);
		break;
	case CPU:
		*cpu = number(optarg, CPU_SETSIZE - 1);
		break;
	case JSON:
		turns.json = fopen(optarg, "a");
		if (!turns.json)
			misuse(optarg, strerror(errno));
		break;
	case ONCE:
		turns.once = true;
		turns.reps = 1;
		break;
	case LIST:
		list();
		exit(0);
	case HELP:
		printf(usage, program);
		exit(0);
	default:
		fprintf(stderr, usage, program);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	u64 cpu = CPU_SETSIZE;
	unsigned int i;
	int option;

	program = argv[0];
	while ((option = getopt_long(argc, argv, "n:", options, NULL)) != -1)
		set_option(option, &cpu);
	if (optind < argc)
		misuse("what is this", argv[optind]);
	want_all();
	pin(cpu);
	if (!turns.once)
		printf("%-15s %-8s %8s  %-10s %10s %10s %10s\n", "CASE", "LOAD", "TIMERS", "DESIGN",
		       "MEDIAN NS", "LOW", "HIGH");
	for (i = 0; i < nr_sizes; i++)
		measure_size(sizes[i]);
	measure_runs();
	return 0;
}
