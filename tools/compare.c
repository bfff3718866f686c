// SPDX-License-Identifier: GPL-2.0
/*
 * htwheelctl compare: one load over many designs, on virtual time.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "device.h"
#include "load.h"
#include "results.h"
#include "seeds.h"

static const char usage[] =
	"usage: htwheelctl compare [OPTION]...\n"
	"\n"
	"Runs one load over many queue designs, each on a manual clock of its own, and prints what\n"
	"each of them did. All see the same operations; the exact ones have to fire the same timers\n"
	"at the same moments.\n"
	"\n"
	"  --design NAME[:SHAPE]  this design, e.g. heap, hier:60/60/24, wheel:64x11; repeatable\n"
	"                         (default: every row of htwheelctl designs)\n"
	"  --load LOAD            what is done; or a trace file (see htwheelctl replay --help):\n";

static const char more_usage[] =
	"  --timers N             timers or connections (default: the load's)\n"
	"  --seconds N            length in seconds of virtual time (default: the load's)\n"
	"  --seed N               of the random numbers (default 1)\n"
	"  --tick NS              length of a tick, a power of two (default: the module's)\n"
	"  --seeds                the systems and tables that the project grew out of, with the\n"
	"                         published figures beside ours\n"
	"  --json                 for scripts\n"
	"  --plot FILE            a picture: FILE.svg by gnuplot, FILE.gp or - as gnuplot's input\n"
	"\n"
	"Exit codes: 0; 1 if a design was early, later than it may be, or did not fire as the others;\n"
	"2 wrong usage; 3 the device is absent or refuses.\n";

struct options {
	struct run	runs[ROWS_MAX];
	unsigned int	nr;
	const char	*load;
	uint32_t	timers;
	uint32_t	seconds;
	uint64_t	seed;
	uint64_t	tick_ns;
	bool		seeds;
	bool		json;
	const char	*plot;
};

static void print_usage(FILE *out)
{
	const struct load *load;

	fputs(usage, out);
	for (load = loads; load->name; load++)
		fprintf(out, "    %-10s %s%s\n", load->name, load->about,
			load == loads ? " (default)" : "");
	fputs(more_usage, out);
}

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (!*text || *end || value < least || value > most)
		fail(EXIT_USAGE, "\"%s\" is not a number from %llu to %llu", text,
		     (unsigned long long)least, (unsigned long long)most);
	return value;
}

static void parse(struct options *options, int argc, char **argv)
{
	static const struct option names[] = {
		{ "design", required_argument, NULL, 'd' },
		{ "load", required_argument, NULL, 'l' },
		{ "timers", required_argument, NULL, 'n' },
		{ "seconds", required_argument, NULL, 's' },
		{ "seed", required_argument, NULL, 'r' },
		{ "tick", required_argument, NULL, 't' },
		{ "seeds", no_argument, NULL, 'S' },
		{ "json", no_argument, NULL, 'j' },
		{ "plot", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int option;

	while ((option = getopt_long(argc, argv, "d:l:jh", names, NULL)) != -1) {
		switch (option) {
		case 'd':
			if (options->nr == ROWS_MAX)
				fail(EXIT_USAGE, "too many designs");
			options->runs[options->nr++].row = rows_parse(optarg);
			break;
		case 'l':
			options->load = optarg;
			break;
		case 'n':
			options->timers = number(optarg, 1, 10000000);
			break;
		case 's':
			options->seconds = number(optarg, 1, 1000000);
			break;
		case 'r':
			options->seed = number(optarg, 1, UINT64_MAX);
			break;
		case 't':
			options->tick_ns = number(optarg, 1, 1 << 30);
			break;
		case 'S':
			options->seeds = true;
			break;
		case 'j':
			options->json = true;
			break;
		case 'p':
			options->plot = optarg;
			break;
		case 'h':
			print_usage(stdout);
			exit(0);
		default:
			print_usage(stderr);
			exit(EXIT_USAGE);
		}
	}
	if (optind < argc)
		fail(EXIT_USAGE, "compare takes no argument \"%s\"", argv[optind]);
}

/* Every row, unless somebody has chosen. */
static void choose_all(struct options *options)
{
	struct htwheel_design rows[ROWS_MAX];
	unsigned int i;
	int fd;

	if (options->nr)
		return;
	fd = device_open();
	options->nr = rows_read(fd, rows);
	close(fd);
	for (i = 0; i < options->nr; i++)
		options->runs[i].row = rows[i];
}

/* Which is slow shows what it is at; a script's log need not be spared. */
static void say_progress(const struct run *run, unsigned int at, unsigned int nr)
{
	char text[ROW_TEXT];

	rows_text(&run->row, text);
	fprintf(stderr, "compare: %s (%u of %u)\n", text, at + 1, nr);
}

int command_compare(int argc, char **argv)
{
	struct options options = { .load = "seeds", .seed = 1 };
	const struct load *load;
	struct trace trace = { };
	bool right, quiet;
	unsigned int i;

	parse(&options, argc, argv);
	if (options.seeds)
		return seeds_tables(options.seed, options.json);
	choose_all(&options);
	load = load_find(options.load);
	if (load) {
		load->make(&trace, options.timers ?: load->timers, options.seconds ?: load->seconds,
			   options.seed * 0x9e3779b97f4a7c15ULL);
		trace_finish(&trace);
	} else {
		trace_read(&trace, options.load);
	}
	quiet = !isatty(STDERR_FILENO) && trace.nr < 20000;
	for (i = 0; i < options.nr; i++) {
		options.runs[i].tick_ns = options.tick_ns;
		if (!quiet)
			say_progress(&options.runs[i], i, options.nr);
		virtual_run(&options.runs[i], &trace);
	}
	right = results_judge(options.runs, options.nr);
	if (options.json)
		results_json(options.load, options.runs, options.nr);
	else if (!options.plot || strcmp(options.plot, "-"))
		results_table(options.runs, options.nr);
	if (options.plot)
		results_plot(options.plot, options.load, options.runs, options.nr);
	trace_free(&trace);
	return right ? 0 : EXIT_BROKEN;
}
