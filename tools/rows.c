// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the table of designs, and htwheelctl designs, which prints it.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "commands.h"
#include "device.h"
#include "rows.h"

/* All rows, ROWS_MAX at most. Returns how many. */
unsigned int rows_read(int fd, struct htwheel_design *rows)
{
	unsigned int nr;

	for (nr = 0; nr < ROWS_MAX; nr++) {
		rows[nr] = (struct htwheel_design){ .size = sizeof(rows[nr]), .index = nr };
		if (!ioctl(fd, HTWHEEL_IOC_DESIGN, &rows[nr]))
			continue;
		if (errno != ENOENT)
			fail(EXIT_DEVICE, "HTWHEEL_IOC_DESIGN: %s; is the module older than this?",
			     strerror(errno));
		break;
	}
	return nr;
}

/* The shape alone: 64x4, 60/60/24, or - without one. @text has ROW_SHAPE bytes. */
void rows_shape(const struct htwheel_design *row, char *text)
{
	unsigned int level, length = 0;

	strcpy(text, "-");
	for (level = 1; level < row->levels && row->radix[level] == row->radix[0];)
		level++;
	if (row->levels && level == row->levels) {
		snprintf(text, ROW_SHAPE, "%ux%u", row->radix[0], row->levels);
		return;
	}
	for (level = 0; level < row->levels; level++)
		length += snprintf(text + length, ROW_SHAPE - length, "%s%u", level ? "/" : "",
				   row->radix[level]);
}

/* The row as it is written: the name, and the shape behind a colon. */
void rows_text(const struct htwheel_design *row, char *text)
{
	char shape[ROW_SHAPE];

	rows_shape(row, shape);
	snprintf(text, ROW_TEXT, "%.15s%s%s", row->name, row->levels ? ":" : "",
		 row->levels ? shape : "");
}

/* 64x4, or 60/60/24. */
static bool parse_shape(struct htwheel_design *row, const char *text)
{
	unsigned long radix, levels;
	char *end;

	memset(row->radix, 0, sizeof(row->radix));
	radix = strtoul(text, &end, 10);
	if (*end == 'x') {
		levels = strtoul(end + 1, &end, 10);
		if (*end || !levels || levels > HTWHEEL_MAX_LEVELS)
			return false;
		for (row->levels = 0; row->levels < levels; row->levels++)
			row->radix[row->levels] = radix;
		return true;
	}
	row->levels = 0;
	for (;;) {
		if (end == text || row->levels == HTWHEEL_MAX_LEVELS)
			return false;
		row->radix[row->levels++] = radix;
		if (!*end)
			return true;
		if (*end != '/')
			return false;
		text = end + 1;
		radix = strtoul(text, &end, 10);
	}
}

/* The row that somebody means. A shape need not be one of the table's. */
struct htwheel_design rows_parse(const char *text)
{
	struct htwheel_design rows[ROWS_MAX], row;
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);
	int fd = device_open();
	unsigned int i, nr = rows_read(fd, rows);

	close(fd);
	for (i = 0; i < nr; i++) {
		if (strlen(rows[i].name) == length && !strncmp(rows[i].name, text, length))
			break;
	}
	if (i == nr)
		fail(EXIT_USAGE, "there is no design \"%.*s\"; see htwheelctl designs", (int)length,
		     text);
	row = rows[i];
	if (colon && (!row.levels || !parse_shape(&row, colon + 1)))
		fail(EXIT_USAGE, "\"%s\" is no shape of %s; write 64x4 or 60/60/24", colon + 1,
		     row.name);
	return row;
}

static void print_row(const struct htwheel_design *row, bool json, bool first)
{
	bool exact = row->properties & HTWHEEL_DESIGN_EXACT;
	bool fifo = row->properties & HTWHEEL_DESIGN_FIFO;
	bool linear = row->properties & HTWHEEL_DESIGN_LINEAR;
	bool shared = row->properties & HTWHEEL_DESIGN_SHARED;
	char shape[ROW_SHAPE];

	rows_shape(row, shape);
	if (!json) {
		printf("%c %-10s%-10s%-8s%-6s%-8s%-28s%s\n", shared ? '*' : ' ', row->name, shape,
		       exact ? "exact" : "granule", fifo ? "yes" : "no", linear ? "65536" : "-",
		       row->costs, row->about);
		return;
	}
	printf("%s{\"name\":\"%s\",\"shape\":\"%s\",\"exact\":%s,\"fifo\":%s,\"linear\":%s,"
	       "\"shared\":%s,\"costs\":\"%s\",\"about\":\"%s\"}", first ? "" : ",\n ", row->name,
	       shape, exact ? "true" : "false", fifo ? "true" : "false", linear ? "true" : "false",
	       shared ? "true" : "false", row->costs, row->about);
}

int command_designs(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct htwheel_design rows[ROWS_MAX];
	unsigned int i, nr;
	bool json = false;
	int option;

	while ((option = getopt_long(argc, argv, "jh", options, NULL)) != -1) {
		if (option == 'j') {
			json = true;
			continue;
		}
		fputs("usage: htwheelctl designs [--json]\n\n"
		      "Lists the queue designs of the module, with the shapes that are of interest.\n"
		      "The costs are those of arming, cancelling and firing one of n timers. * marks\n"
		      "what the shared engines have. LIMIT: timers of a private engine, if its\n"
		      "operations may look at all of them.\n", option == 'h' ? stdout : stderr);
		return option == 'h' ? 0 : EXIT_USAGE;
	}
	if (optind < argc)
		fail(EXIT_USAGE, "designs takes no argument \"%s\"", argv[optind]);
	nr = rows_read(device_open(), rows);
	fputs(json ? "[" : "  DESIGN    SHAPE     FIRES   FIFO  LIMIT   "
			   "ARM / CANCEL / FIRE         WHAT\n", stdout);
	for (i = 0; i < nr; i++)
		print_row(&rows[i], json, !i);
	if (json)
		puts("]");
	return 0;
}
