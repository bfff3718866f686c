// SPDX-License-Identifier: GPL-2.0
/*
 * htwheelctl: look at, and show, /dev/htwheel.
 */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "device.h"

static const struct command {
	const char	*name;
	const char	*purpose;
	int		(*run)(int argc, char **argv);
} commands[] = {
	{ "compare", "one load over many queue designs, on virtual time", command_compare },
	{ "demo",  "arm, re-arm, cancel, receive and check a million timers", command_demo },
	{ "designs", "the queue designs that there are", command_designs },
	{ "info",  "what the module is and can do", command_info },
	{ "record", "what is done to timers, as a trace", command_record },
	{ "replay", "a trace over queue designs, on virtual time", command_replay },
	{ "stats", "the figures of the engine that all contexts share", command_stats },
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *out)
{
	unsigned int i;

	fputs("usage: htwheelctl COMMAND [OPTION]...\n\ncommands (each has --help):\n", out);
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  %-9s%s\n", commands[i].name, commands[i].purpose);
	fputs("\nexit codes: 0 all is well; 1 a promise of the module was broken; 2 wrong usage;\n"
	      "3 the device is absent or refuses\n"
	      "\nhtwheelctl --version prints the version.\n", out);
}

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version")) {
		puts("htwheelctl " HTW_VERSION);
		return 0;
	}
	for (i = 0; i < NR_COMMANDS; i++) {
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	}
	fail(EXIT_USAGE, "there is no command \"%s\"; see htwheelctl --help", argv[1]);
}
