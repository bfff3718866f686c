// SPDX-License-Identifier: GPL-2.0
/*
 * bench-device: what timers cost a program, through /dev/htwheel and through its peers.
 *
 * Each measurement runs in a process of its own: facility after facility, and all of that again in
 * the next round, so that what changes slowly in the machine is in all of them. A row has the
 * samples of all rounds.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

const struct facility *const facilities[] = {
	&facility_htwheel,
	&facility_htwheel_ring,
	&facility_timerfd,
	&facility_posix,
	&facility_uring,
	&facility_libevent,
	NULL
};

static const struct bench_case cases[] = {
	{
		.name		= "ops",
		.about		= "arm, rearm, cancel while n are pending",
		.sizes		= { 1000, 10000, 100000, 1000000 },
		.peers_max	= 100000,
		.rounds		= 2,
		.run		= case_ops,
	}, {
		.name		= "table",
		.about		= "postpone by a store into the deadline table",
		.sizes		= { 1000, 100000, 1000000 },
		.ours		= true,
		.rounds		= 1,
		.run		= case_table,
	}, {
		.name		= "deliver",
		.about		= "receive n that fall due at once",
		.sizes		= { 10000, 100000 },
		.peers_max	= 100000,
		.receives	= true,
		.rounds		= 1,
		.run		= case_deliver,
	}, {
		.name		= "memory",
		.about		= "memory, making and closing of n",
		.sizes		= { 100000, 1000000 },
		.peers_max	= 100000,
		.rounds		= 1,
		.run		= case_memory,
	}, {
		.name		= "threads",
		.about		= "two threads, in a context each and in one",
		.sizes		= { 100000 },
		.peers_max	= 100000,
		.rounds		= 1,
		.run		= case_threads,
	}, {
		.name		= "seeds",
		.about		= "10000 connections: CPU time, wake-ups, lateness",
		.sizes		= { 10000 },
		.peers_max	= 10000,
		.receives	= true,
		.rounds		= 1,
		.run		= case_seeds,
	},
	{ }
};

/**
 * struct choice - what the command line says
 * @facility: which, or NULL
 * @name: which case, or NULL
 * @left_out: which case not, or NULL
 * @plan: how
 * @rounds: how often; 0: as the case has it
 * @full: peers have the same sizes as htwheel
 * @json: print JSON
 * @guest: what to call the guest
 */
struct choice {
	const char	*facility;
	const char	*name;
	const char	*left_out;
	struct plan	plan;
	uint32_t	rounds;
	bool		full;
	bool		json;
	const char	*guest;
};

static void usage(FILE *out)
{
	const struct facility *const *facility;
	const struct bench_case *bench_case;

	fputs("usage: bench-device [OPTION]...\n\n"
	      "Measures what timers cost a program. Prints a table; progress goes to standard error.\n\n"
	      "  --facility NAME  only this one\n"
	      "  --case NAME      only this one\n"
	      "  --not NAME       all cases but this one\n"
	      "  -n N             timers (default: several sizes)\n"
	      "  --batch N        operations of a call, 1 to 4096 (default: 1, 16, 256, 4096)\n"
	      "  --reps N         samples in a round (default 3)\n"
	      "  --rounds N       rounds (default: as the case has it)\n"
	      "  --seconds N      how long the load of seeds runs (default 15)\n"
	      "  --full           peers have the same sizes as htwheel\n"
	      "  --seed N         of all that is drawn (default 1)\n"
	      "  --json           print JSON, an object a line\n"
	      "  --guest NAME     what to call this machine in it\n\nfacilities:\n", out);
	for (facility = facilities; *facility; facility++)
		fprintf(out, "  %-14s %s\n", (*facility)->name, (*facility)->about);
	fputs("cases:\n", out);
	for (bench_case = cases; bench_case->name; bench_case++)
		fprintf(out, "  %-14s %s\n", bench_case->name, bench_case->about);
}

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (*end || end == text || *text == '-' || value < least || value > most) {
		fprintf(stderr, "bench-device: a number from %llu to %llu, not \"%s\"\n",
			(unsigned long long)least, (unsigned long long)most, text);
		exit(2);
	}
	return value;
}

static void parse(struct choice *choice, int argc, char **argv)
{
	static const struct option options[] = {
		{ "facility", required_argument, NULL, 'f' },
		{ "case", required_argument, NULL, 'c' },
		{ "not", required_argument, NULL, 'x' },
		{ "batch", required_argument, NULL, 'b' },
		{ "reps", required_argument, NULL, 'r' },
		{ "rounds", required_argument, NULL, 'R' },
		{ "seconds", required_argument, NULL, 't' },
		{ "seed", required_argument, NULL, 's' },
		{ "full", no_argument, NULL, 'F' },
		{ "json", no_argument, NULL, 'j' },
		{ "guest", required_argument, NULL, 'g' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int option;

	while ((option = getopt_long(argc, argv, "hn:", options, NULL)) != -1) {
		switch (option) {
		case 'f':
			choice->facility = optarg;
			break;
		case 'c':
			choice->name = optarg;
			break;
		case 'n':
			choice->plan.n = number(optarg, 2, 1000000);
			break;
		case 'x':
			choice->left_out = optarg;
			break;
		case 'b':
			choice->plan.batch = number(optarg, 1, MAX_BATCH);
			break;
		case 'r':
			choice->plan.reps = number(optarg, 1, MAX_SAMPLES);
			break;
		case 'R':
			choice->rounds = number(optarg, 1, MAX_SAMPLES);
			break;
		case 't':
			choice->plan.seconds = number(optarg, 1, 3600);
			break;
		case 's':
			choice->plan.seed = number(optarg, 1, UINT64_MAX);
			break;
		case 'F':
			choice->full = true;
			break;
		case 'j':
			choice->json = true;
			break;
		case 'g':
			choice->guest = optarg;
			break;
		default:
			usage(option == 'h' ? stdout : stderr);
			exit(option == 'h' ? 0 : 2);
		}
	}
	if (optind < argc) {
		usage(stderr);
		exit(2);
	}
}

/* One measurement, in a process of its own. */
static void measure(const struct facility *facility, const struct bench_case *bench_case,
		    const struct plan *plan)
{
	struct set set = { .facility = facility };
	uint64_t from = ticks();
	int status;
	pid_t pid;

	fprintf(stderr, "%s, %s of %u: ", bench_case->name, facility->name, plan->n);
	pid = fork();
	if (pid < 0)
		fail("fork failed");
	if (!pid) {
		pin_to(0);
		bench_case->run(&set, plan);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		row_fail(row_of(&set, bench_case->name, plan->n, 0), "failed");
	fprintf(stderr, "%.1f s\n", ticks_to_ns(ticks() - from) / NSEC_PER_SEC);
}

static bool is_ours(const struct facility *facility)
{
	return !strncmp(facility->name, "htwheel", strlen("htwheel"));
}

/* Does the case say anything about the facility that no other row says? */
static bool is_apt(const struct facility *facility, const struct bench_case *bench_case)
{
	return (!facility->receives || bench_case->receives) &&
	       (!bench_case->ours || is_ours(facility));
}

static void run_size(const struct choice *choice, const struct bench_case *bench_case, uint32_t n)
{
	uint32_t peers_max = choice->full || choice->plan.n ? n : bench_case->peers_max;
	const struct facility *const *facility;
	struct plan plan = choice->plan;

	plan.n = n;
	for (facility = facilities; *facility; facility++) {
		if (choice->facility && strcmp(choice->facility, (*facility)->name))
			continue;
		if (!is_apt(*facility, bench_case))
			continue;
		if (n > (*facility)->max || (!is_ours(*facility) && n > peers_max))
			continue;
		measure(*facility, bench_case, &plan);
	}
}

static void run_case(const struct choice *choice, const struct bench_case *bench_case)
{
	uint32_t round, rounds = choice->rounds ? choice->rounds : bench_case->rounds;
	const uint32_t *n;

	for (round = 0; round < rounds; round++) {
		if (choice->plan.n) {
			run_size(choice, bench_case, choice->plan.n);
			continue;
		}
		for (n = bench_case->sizes; *n; n++)
			run_size(choice, bench_case, *n);
	}
}

int main(int argc, char **argv)
{
	struct choice choice = {
		.plan	= { .reps = 3, .seconds = 15, .seed = 1 },
		.guest	= "host",
	};
	const struct bench_case *bench_case;

	parse(&choice, argc, argv);
	rows_open();
	measure_start();
	for (bench_case = cases; bench_case->name; bench_case++) {
		if (choice.left_out && !strcmp(choice.left_out, bench_case->name))
			continue;
		if (!choice.name || !strcmp(choice.name, bench_case->name))
			run_case(&choice, bench_case);
	}
	rows_print(choice.json, choice.guest);
	return 0;
}
