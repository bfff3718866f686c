// SPDX-License-Identifier: GPL-2.0
/*
 * The rows of the output. They lie in memory that is shared with the processes that measure, one
 * after the other, so what is known of a row comes from several of them.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "measure.h"

#define MAX_ROWS	1024

static struct rows {
	uint32_t	nr;
	struct row	row[MAX_ROWS];
} *rows;

void rows_open(void)
{
	rows = mmap(NULL, sizeof(*rows), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (rows == MAP_FAILED)
		fail("no memory for the rows");
}

/* The row, which is made if it is not there yet. */
struct row *row_of(const struct set *set, const char *name, uint32_t n, uint32_t batch)
{
	struct row *row;

	for (row = rows->row; row < rows->row + rows->nr; row++) {
		if (!strcmp(row->facility, set->facility->name) && !strcmp(row->name, name) &&
		    row->n == n && row->batch == batch)
			return row;
	}
	if (rows->nr == MAX_ROWS)
		fail("too many rows");
	rows->nr++;
	snprintf(row->facility, sizeof(row->facility), "%s", set->facility->name);
	snprintf(row->name, sizeof(row->name), "%s", name);
	row->n = n;
	row->batch = batch;
	return row;
}

void row_add(struct row *row, double ns, double calls, double empty_ns)
{
	struct sample sample = {
		.ns		= ns,
		.adjusted_ns	= ns - calls * (empty_ns - NATIVE_CALL_NS),
		.empty_ns	= empty_ns,
		.calls		= calls,
	};

	if (row->nr < MAX_SAMPLES)
		row->samples[row->nr++] = sample;
}

void row_fail(struct row *row, const char *why)
{
	snprintf(row->failed, sizeof(row->failed), "%s", why);
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Sorts the figure at @offset of all samples into @figures, and returns the median. */
static double median(const struct row *row, size_t offset, double *figures)
{
	uint32_t i;

	for (i = 0; i < row->nr; i++)
		figures[i] = *(const double *)((const char *)&row->samples[i] + offset);
	qsort(figures, row->nr, sizeof(*figures), compare);
	return row->nr % 2 ? figures[row->nr / 2] :
			     (figures[row->nr / 2 - 1] + figures[row->nr / 2]) / 2;
}

/*
 * One object a line. median_ns, low_ns (least) and high_ns (most) are as measured; adjusted_ns is
 * the median of the samples in each of which empty calls were replaced. What has no time (memory)
 * has only the members in "extra".
 */
static void print_json(const struct row *row, const char *guest)
{
	double figures[MAX_SAMPLES], middle;
	struct utsname name;

	uname(&name);
	printf("{\"layer\":\"device\",\"guest\":\"%s\",\"kernel\":\"%s\",\"facility\":\"%s\","
	       "\"case\":\"%s\",\"n\":%u,\"batch\":%u,\"samples\":%u", guest, name.release,
	       row->facility, row->name, row->n, row->batch, row->nr);
	if (row->failed[0])
		printf(",\"note\":\"%s\"", row->failed);
	if (row->nr) {
		middle = median(row, offsetof(struct sample, ns), figures);
		printf(",\"median_ns\":%.1f,\"low_ns\":%.1f,\"high_ns\":%.1f", middle, figures[0],
		       figures[row->nr - 1]);
		printf(",\"empty_call_ns\":%.1f",
		       median(row, offsetof(struct sample, empty_ns), figures));
		printf(",\"calls_per_op\":%.5f",
		       median(row, offsetof(struct sample, calls), figures));
		printf(",\"adjusted_ns\":%.1f",
		       median(row, offsetof(struct sample, adjusted_ns), figures));
	}
	printf("%s}\n", row->extra);
}

static void print_text(const struct row *row)
{
	double figures[MAX_SAMPLES];

	printf("%-12s %-16s %8u %6u", row->facility, row->name, row->n, row->batch);
	if (row->nr)
		printf(" %12.1f %12.1f %10.1f", median(row, offsetof(struct sample, ns), figures),
		       median(row, offsetof(struct sample, adjusted_ns), figures),
		       median(row, offsetof(struct sample, empty_ns), figures));
	printf(" %s%s\n", row->failed, row->extra[0] ? row->extra + 1 : "");
}

void rows_print(bool json, const char *guest)
{
	struct row *row;

	if (!json)
		printf("%-12s %-16s %8s %6s %12s %12s %10s\n", "FACILITY", "CASE", "N", "BATCH",
		       "NS", "ADJUSTED", "EMPTY CALL");
	for (row = rows->row; row < rows->row + rows->nr; row++) {
		if (json)
			print_json(row, guest);
		else
			print_text(row);
	}
}
