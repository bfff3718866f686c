// SPDX-License-Identifier: GPL-2.0
/*
 * memory: what n timers cost, all included: what the machine has less of free memory when they are
 * armed than before the facility was opened. Caches are dropped before both looks; MemFree, since
 * MemAvailable counts on slabs that are in use (those of a timerfd's dentry). The program's own
 * table of names (8 bytes a timer of htwheel, 4 of timerfd) and its buffers are taken off, since
 * every program keeps the names in what it has anyway.
 *
 * create: what making and arming them took, for each; destroy: what closing took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"

#define CALM_BYTES	65536
#define LOOK_USECS	200000
#define MAX_LOOKS	25

static uint64_t free_now(void)
{
	unsigned long long kilobytes = 0;
	FILE *file;
	char line[128];

	file = fopen("/proc/sys/vm/drop_caches", "w");
	if (file) {
		fputs("3\n", file);
		fclose(file);
	}
	file = fopen("/proc/meminfo", "r");
	if (!file)
		fail("no /proc/meminfo");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemFree: %llu kB", &kilobytes) == 1)
			break;
	}
	fclose(file);
	return kilobytes * 1024;
}

/* When what others have freed has been freed indeed, which may wait for a grace period. */
static uint64_t free_bytes(void)
{
	uint64_t before, now = free_now();
	unsigned int looks = MAX_LOOKS;

	do {
		before = now;
		usleep(LOOK_USECS);
		now = free_now();
	} while ((now > before ? now - before : before - now) > CALM_BYTES && looks--);
	return now;
}

void case_memory(struct set *set, const struct plan *plan)
{
	uint64_t before, after, from, seed = plan->seed;
	const struct facility *facility = set->facility;
	double create_ns, destroy_ns, empty_ns, bytes;
	struct row *row;

	empty_ns = empty_call_ns();
	before = free_bytes();
	from = ticks();
	if (!set_open(set, "memory", plan->n, plan->n))
		return;
	arm_all(set, 0, plan->n, &seed);
	create_ns = ticks_to_ns(ticks() - from);
	after = free_bytes();
	from = ticks();
	set->facility->close(set);
	destroy_ns = ticks_to_ns(ticks() - from);

	bytes = ((double)before - after - facility->own_bytes) / plan->n - facility->table_bytes;
	row = row_of(set, "memory", plan->n, 0);
	snprintf(row->extra, sizeof(row->extra), ",\"bytes_per_timer\":%.1f", bytes);
	row_add(row_of(set, "create", plan->n, 0), create_ns / plan->n,
		(double)set->calls / plan->n, empty_ns);
	row_add(row_of(set, "destroy", plan->n, 0), destroy_ns / plan->n, 0, empty_ns);
}
