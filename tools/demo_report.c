// SPDX-License-Identifier: GPL-2.0
/*
 * htwheelctl demo: what came of it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "demo.h"
#include "device.h"

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts @late_ns and prints its percentiles; returns the 99th in ms. */
static double report_lateness(const char *what, uint64_t *late_ns, uint64_t nr)
{
	if (!nr)
		return 0;
	qsort(late_ns, nr, sizeof(*late_ns), compare_u64);
	printf("lateness when %-9s p50 %.3f ms, p99 %.3f ms, max %.3f ms\n", what,
	       late_ns[nr / 2] / 1e6, late_ns[nr * 99 / 100] / 1e6, late_ns[nr - 1] / 1e6);
	return late_ns[nr * 99 / 100] / 1e6;
}

/* The module's books have to balance, and to say the same as ours. */
static bool books_agree(const struct demo *demo)
{
	struct htwheel_stats stats;
	bool agree;

	device_stats(demo->fd, &stats);
	printf("books of the module: armed %llu = fired %llu + cancelled %llu + "
	       "replaced %llu + pending %llu\n", stats.armed, stats.fired,
	       stats.cancelled, stats.replaced, stats.pending);
	printf("engine: %llu passes, %llu wake-ups, %llu moves, %llu hrtimer starts and stops\n",
	       stats.passes, stats.wakeups, stats.moves, stats.reprogrammed);
	printf("memory: %llu bytes for at most %llu timers at once\n", stats.pool_bytes,
	       stats.peak);
	agree = stats.armed == stats.fired + stats.cancelled + stats.replaced + stats.pending &&
		stats.armed == demo->armed + demo->replaced && stats.fired == demo->fired &&
		stats.cancelled == demo->cancelled && stats.replaced == demo->replaced;
	if (!agree)
		puts("the books of the module do NOT agree with what this program counted");
	return agree;
}

int demo_report(struct demo *demo)
{
	uint64_t left, lost = 0;
	bool agree;
	double p99;
	uint64_t i;

	for (i = 0; i < demo->armed; i++)
		lost += demo->records[i].state == ARMED;
	/* What is still missing long after its deadline is not pending but lost. */
	left = demo_pending(demo) - lost;
	printf("%.1f s in all\n", (now_ns() - demo->began_ns) / 1e9);
	agree = books_agree(demo);
	report_lateness("fired:", demo->kernel_late_ns, demo->fired);
	p99 = report_lateness("received:", demo->late_ns, demo->fired);
	if (demo->fired)
		printf("%.4f system calls an event to receive\n",
		       (double)demo->calls / demo->fired);
	if (demo->with_table)
		printf("%" PRIu64 " postponed by the deadline table, %" PRIu64 " of them too "
		       "late\n", demo->postponed, demo->too_late);
	if (demo->refused)
		printf("%" PRIu64 " re-arms or cancels of live timers were refused\n",
		       demo->refused);
	printf("demo: armed=%" PRIu64 " replaced=%" PRIu64 " cancelled=%" PRIu64 " fired=%" PRIu64
	       " pending=%" PRIu64 " lost=%" PRIu64 " duplicated=%" PRIu64 " early=%" PRIu64
	       " late_p99_ms=%.3f\n", demo->armed, demo->replaced, demo->cancelled, demo->fired,
	       left, lost, demo->duplicated, demo->early, p99);
	return agree && !left && !lost && !demo->duplicated && !demo->early && !demo->refused &&
	       demo->armed == demo->nr ? 0 : EXIT_BROKEN;
}
