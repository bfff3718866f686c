// SPDX-License-Identifier: GPL-2.0
/*
 * Time, and the rows of the result: JSON objects, one a line.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sort.h>
#include <linux/utsname.h>

#include "bench.h"

#define CALIBRATE_NS	(100 * NSEC_PER_MSEC)

static u64 ticks_per_ms;
static char text[128 * 1024];
static size_t text_length;

/* Find out how fast the counter counts. */
void bench_clock_start(void)
{
	u64 from_ns = ktime_get_ns(), from = bench_ticks(), end_ns;

	do {
		end_ns = ktime_get_ns();
	} while (end_ns - from_ns < CALIBRATE_NS);
	ticks_per_ms = div64_u64((bench_ticks() - from) * NSEC_PER_MSEC, end_ns - from_ns);
}

u64 bench_ns(u64 ticks)
{
	return mul_u64_u64_div_u64(ticks, NSEC_PER_MSEC, ticks_per_ms);
}

u64 bench_ticks_of(u64 ns)
{
	return mul_u64_u64_div_u64(ns, ticks_per_ms, NSEC_PER_MSEC);
}

char *bench_text(size_t *length)
{
	*length = text_length;
	return text;
}

static int compare(const void *left, const void *right)
{
	u64 a = *(const u64 *)left, b = *(const u64 *)right;

	return (a > b) - (a < b);
}

/* @tenths: of a nanosecond, for each timer; sorted on return. @extra: more members, or "". */
void bench_row(const struct bench *bench, const char *name, u64 *tenths, unsigned int samples,
	       const char *extra)
{
	const char *facility = bench->facility->name ?: bench->design->name;
	size_t begin = text_length;
	u64 middle, low, high;

	sort(tenths, samples, sizeof(*tenths), compare, NULL);
	low = tenths[0];
	middle = tenths[samples / 2];
	high = tenths[samples - 1];
	text_length += scnprintf(text + text_length, sizeof(text) - text_length,
		"{\"layer\":\"kernel\",\"guest\":\"uml\",\"kernel\":\"%s\",\"facility\":\"%s\"",
		utsname()->release, facility);
	text_length += scnprintf(text + text_length, sizeof(text) - text_length,
		",\"case\":\"%s\",\"n\":%u,\"samples\":%u,\"median_ns\":%llu.%llu",
		name, bench->nr, samples, middle / 10, middle % 10);
	text_length += scnprintf(text + text_length, sizeof(text) - text_length,
		",\"low_ns\":%llu.%llu,\"high_ns\":%llu.%llu%s}\n",
		low / 10, low % 10, high / 10, high % 10, extra);
	/* For who cannot wait, or is cut short. */
	pr_info("htwheel_bench: %s", text + begin);
}
