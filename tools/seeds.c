// SPDX-License-Identifier: GPL-2.0
/*
 * htwheelctl compare --seeds: three articles compared structures for timeouts, and published
 * figures. Their systems are rows here, their load and their tables are run, and what they
 * published stands beside what came out.
 *
 * Their nanoseconds are those of a library in one process on another machine; ours hold a share of
 * a system call and of the way to the kernel and back. So the ratios are what can be compared.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "device.h"
#include "load.h"
#include "results.h"
#include "seeds.h"

/* As near to the articles' millisecond as a power of two comes. */
#define SEEDS_TICK_NS	(1ULL << 20)

#define CHUNK		1024U

/* A system of the articles, and the design that stands for it. */
static const struct system {
	const char	*number;
	const char	*what;
	const char	*design;
} systems[] = {
	{ "S1", "min-heap, lazy deletion", "lazyheap" },
	{ "S2", "min-heap, indexed", "heap" },
	{ "S3", "red-black tree", "rbtree" },
	{ "S4", "sorted list", "list" },
	{ "S5", "single wheel with rounds, 512", "hashed:512x1" },
	{ "S6", "clock-face hierarchy", "hier:60/60/24" },
	{ "S7", "three-level wheel of 64", "hier:64x3" },
	{ "S8", "four-level wheel of 64", "hier:64x4" },
	{ "S9", "Linux kernel timers", "linux" },
	{ "S9", "Kafka's purgatory, and our default", "wheel" },
};

#define NR_SYSTEMS	(sizeof(systems) / sizeof(systems[0]))

/* The measurements; of those with a number of timers, fewer if the design takes no more. */
enum table { INSERT_LIVE, INSERT_BATCH, EXPIRE, CANCEL, TABLES };

static const struct {
	const char	*name;
	const char	*what;
	double		wheel_ns;
	double		heap_ns;
} tables[TABLES] = {
	[INSERT_LIVE]	= { "insert", "insert at 100,000 live timers", 50, 800 },
	[INSERT_BATCH]	= { "batch", "insert 30,000 in a batch", 70, 187 },
	[EXPIRE]	= { "expire", "expire 100,000 due timers", 380, 520 },
	[CANCEL]	= { "cancel", "cancel 5,000 at random of 100,000", 240, 760 },
};

/* What came of one system: nanoseconds a timer, and with how many. */
struct measured {
	struct run	run;
	double		ns[TABLES];
	uint32_t	timers;
};

static uint64_t random_deadline(uint64_t *seed)
{
	return NSEC_PER_SEC + load_random(seed) % (119 * NSEC_PER_SEC);
}

/* Arm @nr timers; their names go to @ids. Returns the nanoseconds that it took. */
static uint64_t arm_many(int fd, uint64_t *seed, uint64_t *ids, uint32_t nr)
{
	struct htwheel_op ops[CHUNK];
	uint64_t spent_ns = 0, begin_ns;
	uint32_t i, chunk;

	for (; nr; nr -= chunk, ids += chunk) {
		chunk = nr < CHUNK ? nr : CHUNK;
		for (i = 0; i < chunk; i++)
			ops[i] = (struct htwheel_op){ .opcode = HTWHEEL_OP_ARM,
						      .flags = HTWHEEL_ABSOLUTE,
						      .time_ns = random_deadline(seed) };
		begin_ns = now_ns();
		device_submit(fd, ops, chunk);
		spent_ns += now_ns() - begin_ns;
		for (i = 0; i < chunk; i++) {
			if (ops[i].result)
				fail(EXIT_DEVICE, "arm: %s", strerror(-ops[i].result));
			ids[i] = ops[i].id;
		}
	}
	return spent_ns;
}

static uint64_t cancel_random(int fd, uint64_t *seed, uint64_t *ids, uint32_t nr, uint32_t cancels)
{
	struct htwheel_op ops[CHUNK];
	uint64_t spent_ns = 0, begin_ns, id;
	uint32_t i, at, chunk;

	for (; cancels; cancels -= chunk) {
		chunk = cancels < CHUNK ? cancels : CHUNK;
		for (i = 0; i < chunk; i++, nr--) {
			/* Each once: the last takes the place of the one that goes. */
			at = load_random(seed) % nr;
			id = ids[at];
			ids[at] = ids[nr - 1];
			ops[i] = (struct htwheel_op){ .opcode = HTWHEEL_OP_CANCEL, .id = id };
		}
		begin_ns = now_ns();
		device_submit(fd, ops, chunk);
		spent_ns += now_ns() - begin_ns;
	}
	return spent_ns;
}

static uint64_t expire_all(int fd)
{
	struct htwheel_advance arg = { .size = sizeof(arg), .to = 300 * NSEC_PER_SEC,
				       .flags = HTWHEEL_ADVANCE_JUMP };
	uint64_t begin_ns = now_ns();

	if (ioctl(fd, HTWHEEL_IOC_ADVANCE, &arg))
		fail(EXIT_DEVICE, "HTWHEEL_IOC_ADVANCE failed");
	return now_ns() - begin_ns;
}

static void measure(struct measured *measured, uint64_t seed)
{
	bool linear = measured->run.row.properties & HTWHEEL_DESIGN_LINEAR;
	uint32_t live = linear ? 20000 : 100000, batch = linear ? 10000 : 30000, few = 5000;
	uint64_t tick_ns = SEEDS_TICK_NS, *ids = calloc(live + few, sizeof(*ids));
	int fd;

	if (!ids)
		fail(EXIT_DEVICE, "no memory");
	measured->timers = live;
	fd = virtual_open(&measured->run.row, &tick_ns, 0, live + few);
	arm_many(fd, &seed, ids, live);
	measured->ns[INSERT_LIVE] = (double)arm_many(fd, &seed, ids + live, few) / few;
	measured->ns[CANCEL] = (double)cancel_random(fd, &seed, ids, live + few, few) / few;
	measured->ns[EXPIRE] = (double)expire_all(fd) / live;
	close(fd);
	fd = virtual_open(&measured->run.row, &tick_ns, 0, batch);
	measured->ns[INSERT_BATCH] = (double)arm_many(fd, &seed, ids, batch) / batch;
	close(fd);
	free(ids);
}

static void print_tables(const struct measured *all, const struct measured *heap)
{
	const struct measured *measured;
	unsigned int i, table;

	puts("\nNanoseconds a timer (and the ratio, heap S2 : this one). Fewer timers, 20,000 and\n"
	     "10,000, where a design takes no 100,000; those ratios say little.\n");
	printf("%-4s%-36s", "", "");
	for (table = 0; table < TABLES; table++)
		printf("%16s", tables[table].name);
	printf("\n%-4s%-36s", "", "published: wheel, heap (ratio)");
	for (table = 0; table < TABLES; table++)
		printf("  %4.0f %4.0f (%.1f)", tables[table].wheel_ns, tables[table].heap_ns,
		       tables[table].heap_ns / tables[table].wheel_ns);
	putchar('\n');
	for (i = 0; i < NR_SYSTEMS; i++) {
		measured = &all[i];
		printf("%-4s%-36s", systems[i].number, systems[i].what);
		for (table = 0; table < TABLES; table++)
			printf("%9.0f (%4.1f)", measured->ns[table],
			       heap->ns[table] / measured->ns[table]);
		printf("%s\n", measured->timers < 100000 ? "  fewer" : "");
	}
	for (table = 0; table < TABLES; table++)
		printf("  %s: %s\n", tables[table].name, tables[table].what);
}

static void print_json(const struct measured *all)
{
	unsigned int i, table;

	printf("{\"tick_ns\":%llu,\"systems\":[", SEEDS_TICK_NS);
	for (i = 0; i < NR_SYSTEMS; i++) {
		printf("%s\n{\"system\":\"%s\",\"design\":\"%s\",\"timers\":%u", i ? "," : "",
		       systems[i].number, systems[i].design, all[i].timers);
		for (table = 0; table < TABLES; table++)
			printf(",\"%s_ns\":%.1f", tables[table].name, all[i].ns[table]);
		printf(",\"fired\":%" PRIu64 ",\"moves\":%" PRIu64 ",\"armed\":%" PRIu64
		       ",\"largest\":%" PRIu64 ",\"passes\":%" PRIu64 ",\"late_max_ns\":%" PRIu64
		       "}", all[i].run.fired, all[i].run.moves, all[i].run.armed,
		       all[i].run.largest, all[i].run.passes, all[i].run.late_max_ns);
	}
	puts("]}");
}

/* The load of the articles, over all systems, and their tables. */
int seeds_tables(uint64_t seed, bool json)
{
	const struct load *load = load_find("seeds");
	struct measured all[NR_SYSTEMS] = { }, *heap = NULL;
	struct run runs[NR_SYSTEMS];
	struct trace trace = { }, few = { };
	unsigned int i, nr = 0;
	bool right, linear;

	seed *= 0x9e3779b97f4a7c15ULL;
	load->make(&trace, load->timers, load->seconds, seed);
	trace_finish(&trace);
	load->make(&few, load->timers / 10, load->seconds, seed);
	trace_finish(&few);
	for (i = 0; i < NR_SYSTEMS; i++) {
		fprintf(stderr, "compare: %s, %s\n", systems[i].number, systems[i].what);
		all[i].run.row = rows_parse(systems[i].design);
		all[i].run.tick_ns = SEEDS_TICK_NS;
		linear = all[i].run.row.properties & HTWHEEL_DESIGN_LINEAR;
		virtual_run(&all[i].run, linear ? &few : &trace);
		measure(&all[i], seed);
		if (!linear)
			runs[nr++] = all[i].run;
		if (!strcmp(systems[i].design, "heap"))
			heap = &all[i];
	}
	right = results_judge(runs, nr);
	nr = 0;
	for (i = 0; i < NR_SYSTEMS; i++)
		runs[nr++] = all[i].run;
	if (json) {
		print_json(all);
	} else {
		printf("The load: 10,000 connections, each with two timeouts of 1 to 120 s and a\n"
		       "heartbeat of 0.5 to 5 s, for 60 s of virtual time, tick %llu ns. Published:\n"
		       "about 1.8 million expirations (by arithmetic, heartbeats alone: 307,000), 1 to 2\n"
		       "demotions a timer, late by at most 1 ms, 2 ms with demotion. A tenth of the\n"
		       "connections for S4 and S5, whose operations may look at all timers.\n\n",
		       SEEDS_TICK_NS);
		results_table(runs, nr);
		print_tables(all, heap);
	}
	trace_free(&trace);
	trace_free(&few);
	return right ? 0 : EXIT_BROKEN;
}
