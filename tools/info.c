// SPDX-License-Identifier: GPL-2.0
/*
 * htwheelctl info and htwheelctl stats: the answers of the two ioctls, for people or as JSON.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "device.h"

/* Parses the options that the two commands share; true for --json. */
static bool parse_json(int argc, char **argv, const char *purpose)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	bool json = false;
	int option;

	while ((option = getopt_long(argc, argv, "jh", options, NULL)) != -1) {
		if (option == 'j') {
			json = true;
			continue;
		}
		fprintf(option == 'h' ? stdout : stderr,
			"usage: htwheelctl %s [--json]\n\n%s\n", argv[0], purpose);
		exit(option == 'h' ? 0 : EXIT_USAGE);
	}
	if (optind < argc)
		fail(EXIT_USAGE, "%s takes no argument \"%s\"", argv[0], argv[optind]);
	return json;
}

/* A list of named numbers, as lines or as a JSON object. */
struct printer {
	bool	json;
	bool	first;
};

static void print_begin(struct printer *printer, bool json)
{
	*printer = (struct printer){ .json = json, .first = true };
	if (json)
		putchar('{');
}

static void print_number(struct printer *printer, const char *name, uint64_t value)
{
	if (printer->json)
		printf("%s\"%s\":%" PRIu64, printer->first ? "" : ",", name, value);
	else
		printf("%-20s%" PRIu64 "\n", name, value);
	printer->first = false;
}

static void print_text(struct printer *printer, const char *name, const char *value)
{
	if (printer->json)
		printf("%s\"%s\":\"%s\"", printer->first ? "" : ",", name, value);
	else
		printf("%-20s%s\n", name, value);
	printer->first = false;
}

static void print_end(const struct printer *printer)
{
	if (printer->json)
		puts("}");
}

/* For people, the names of the features; for scripts, the number. */
static void print_features(struct printer *printer, uint64_t features)
{
	static const char *const names[] = {
		"periodic", "keep", "slack", "tag", "boottime", "manual", "mass", "dump", "wake",
		"timens", "private", "ring", "table",
	};
	char text[128] = "";
	unsigned int i;

	print_number(printer, "features", features);
	if (printer->json)
		return;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(features >> i & 1))
			continue;
		if (text[0])
			strcat(text, " ");
		strcat(text, names[i]);
	}
	print_text(printer, "", text);
}

int command_info(int argc, char **argv)
{
	bool json = parse_json(argc, argv, "Prints what the module is and can do.");
	struct htwheel_info info;
	struct printer printer;

	device_info(device_open(), &info);
	print_begin(&printer, json);
	print_number(&printer, "abi", info.abi);
	print_features(&printer, info.features);
	print_number(&printer, "clock", info.clock);
	print_text(&printer, "design", info.design);
	print_number(&printer, "levels", info.levels);
	print_number(&printer, "slots", info.slots);
	print_number(&printer, "tick_ns", info.tick_ns);
	print_number(&printer, "cpus", info.cpus);
	print_number(&printer, "max_timers", info.max_timers);
	print_number(&printer, "max_timers_ceiling", info.max_timers_ceiling);
	print_number(&printer, "max_user_timers", info.max_user_timers);
	print_number(&printer, "max_batch", info.max_batch);
	print_number(&printer, "max_stride", info.max_stride);
	print_end(&printer);
	return 0;
}

int command_stats(int argc, char **argv)
{
	bool json = parse_json(argc, argv, "Prints the figures of the engine that all share.");
	struct htwheel_stats stats;
	struct printer printer;

	device_stats(device_open(), &stats);
	print_begin(&printer, json);
	print_number(&printer, "queued", stats.queued);
	print_number(&printer, "passes", stats.passes);
	print_number(&printer, "wakeups", stats.wakeups);
	print_number(&printer, "reprogrammed", stats.reprogrammed);
	print_number(&printer, "moves", stats.moves);
	print_number(&printer, "slots_visited", stats.slots_visited);
	print_number(&printer, "budget_stops", stats.budget_stops);
	print_number(&printer, "backlog_cpus", stats.backlog_cpus);
	print_number(&printer, "backlog_ns", stats.backlog_ns);
	print_number(&printer, "user_timers", stats.user_timers);
	print_end(&printer);
	return 0;
}
