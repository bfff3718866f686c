// SPDX-License-Identifier: GPL-2.0
/*
 * htwheelctl replay: a trace on virtual time.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "device.h"
#include "results.h"

static const char usage[] =
	"usage: htwheelctl replay FILE [OPTION]...\n"
	"\n"
	"Runs a trace (- for standard input) on a manual clock and prints what came of it. With several\n"
	"designs, the exact ones have to fire the same timers at the same moments.\n"
	"\n"
	"  --design NAME[:SHAPE]  run it with this design; repeatable (default: the module's)\n"
	"  --tick NS              length of a tick, a power of two (default: the module's)\n"
	"  --jump                 the clock jumps from one operation to the next, as if the machine\n"
	"                         had slept in between\n"
	"  --fires FILE           write the expirations (- for standard output), a line each:\n"
	"                         FIRED KEY DEADLINE, by time and key; with one design\n"
	"  --json                 for scripts\n"
	"\n"
	"A trace is a text of one operation a line; times are nanoseconds and never go back:\n"
	"\n"
	"  # htwheel trace 1              the first line, as it is\n"
	"  TIME arm KEY DEADLINE [period=NS] [slack=NS] [policy=count|skip|burst|delay] [keep]\n"
	"  TIME rearm KEY DEADLINE\n"
	"  TIME cancel KEY\n"
	"  TIME fire KEY DEADLINE         seen by who recorded it; replay does not look at it\n"
	"  TIME end                       where time ends (else: when nothing waits any more; needed\n"
	"                                 if there are periodic timers)\n"
	"\n"
	"KEY is any number and means one timer at a time: an arm of one that is armed replaces it, a\n"
	"rearm of one that is not armed arms it, a cancel of one that is not does nothing. A deadline of\n"
	"9223372036854775807 never comes. What follows a # is a comment.\n"
	"\n"
	"Exit codes: 0; 1 if a design was early, later than it may be, or did not fire as the others;\n"
	"2 wrong usage or no trace; 3 the device is absent or refuses.\n";

struct options {
	struct run	runs[ROWS_MAX];
	unsigned int	nr;
	uint64_t	tick_ns;
	const char	*file;
	const char	*fires;
	bool		jump;
	bool		json;
};

static uint64_t parse_tick(const char *text)
{
	char *end;
	uint64_t tick_ns = strtoull(text, &end, 0);

	if (!*text || *end || !tick_ns || tick_ns & (tick_ns - 1) || tick_ns > 1 << 30)
		fail(EXIT_USAGE, "\"%s\" is no tick: a power of two, 1 to 1073741824", text);
	return tick_ns;
}

static void parse(struct options *options, int argc, char **argv)
{
	static const struct option names[] = {
		{ "design", required_argument, NULL, 'd' },
		{ "tick", required_argument, NULL, 't' },
		{ "jump", no_argument, NULL, 'J' },
		{ "fires", required_argument, NULL, 'f' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct htwheel_info info;
	int option;

	while ((option = getopt_long(argc, argv, "d:jh", names, NULL)) != -1) {
		switch (option) {
		case 'd':
			if (options->nr == ROWS_MAX)
				fail(EXIT_USAGE, "too many designs");
			options->runs[options->nr++].row = rows_parse(optarg);
			break;
		case 't':
			options->tick_ns = parse_tick(optarg);
			break;
		case 'J':
			options->jump = true;
			break;
		case 'f':
			options->fires = optarg;
			break;
		case 'j':
			options->json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(EXIT_USAGE);
		}
	}
	if (optind + 1 != argc)
		fail(EXIT_USAGE, "which file? See htwheelctl replay --help");
	options->file = argv[optind];
	if (options->fires && options->nr > 1)
		fail(EXIT_USAGE, "--fires is for one design");
	if (!options->nr) {
		device_info(device_open(), &info);
		options->runs[options->nr++].row = rows_parse(info.design);
	}
}

static void write_fires(const char *path, const struct run *run)
{
	FILE *out = strcmp(path, "-") ? fopen(path, "w") : stdout;
	uint64_t i;

	if (!out)
		fail(EXIT_USAGE, "%s: %s", path, strerror(errno));
	for (i = 0; i < run->fired; i++)
		fprintf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", run->fires[i].fired_ns,
			run->fires[i].key, run->fires[i].deadline_ns);
	if (fflush(out) || (out != stdout && fclose(out)))
		fail(EXIT_USAGE, "%s: %s", path, strerror(errno));
}

int command_replay(int argc, char **argv)
{
	struct options options = { };
	struct trace trace = { };
	unsigned int i;

	parse(&options, argc, argv);
	trace_read(&trace, options.file);
	for (i = 0; i < options.nr; i++) {
		options.runs[i].tick_ns = options.tick_ns;
		options.runs[i].jump = options.jump;
		options.runs[i].keep_fires = options.fires;
		virtual_run(&options.runs[i], &trace);
	}
	if (options.fires)
		write_fires(options.fires, &options.runs[0]);
	if (options.json)
		results_json(options.file, options.runs, options.nr);
	else if (!options.fires || strcmp(options.fires, "-"))
		results_table(options.runs, options.nr);
	trace_free(&trace);
	return results_judge(options.runs, options.nr) ? 0 : EXIT_BROKEN;
}
