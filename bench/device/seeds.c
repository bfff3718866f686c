// SPDX-License-Identifier: GPL-2.0
/*
 * seeds: a server at rest. n connections, each with two timeouts of 1 to 120 s and a heartbeat of
 * 0.5 to 5 s, on real time; one thread sleeps until something expires and receives it.
 *
 * busy_ns is what the CPUs, all together, were not idle: processes, softirqs and interrupts; of a
 * tickless kernel this is exact to some 10 ms. process_ns is what the process was charged.
 * Lateness is what the program sees: the time when it has the expiration in hand, less the
 * deadline. The row of the facility "none" has only a sleeper, for comparison.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cases.h"

#define TIMERS_EACH	3
#define STAT_HZ		100

/* What the machine says. */
struct reading {
	uint64_t	at_ns;
	uint64_t	idle;
	uint64_t	interrupts;
	uint64_t	switches;
	uint64_t	softirqs;
	uint64_t	process_ns;
	uint64_t	wakeups;
};

static uint64_t timeval_ns(struct timeval time)
{
	return time.tv_sec * NSEC_PER_SEC + time.tv_usec * NSEC_PER_USEC;
}

static void read_count(const char *line, const char *name, uint64_t *count)
{
	if (!strncmp(line, name, strlen(name)))
		*count = strtoull(line + strlen(name), NULL, 10);
}

static void read_machine(struct reading *reading)
{
	unsigned long long idle = 0, waiting = 0;
	struct rusage usage;
	char line[4096];
	FILE *file;

	memset(reading, 0, sizeof(*reading));
	file = fopen("/proc/stat", "r");
	if (!file)
		fail("no /proc/stat");
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "cpu ", strlen("cpu ")) &&
		    sscanf(line, "cpu %*u %*u %*u %llu %llu", &idle, &waiting) == 2)
			reading->idle = idle + waiting;
		read_count(line, "intr ", &reading->interrupts);
		read_count(line, "ctxt ", &reading->switches);
		read_count(line, "softirq ", &reading->softirqs);
	}
	fclose(file);
	getrusage(RUSAGE_SELF, &usage);
	reading->process_ns = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
	reading->wakeups = usage.ru_nvcsw;
	reading->at_ns = now_ns();
}

/**
 * struct server - the run
 * @items: for each timer, when it is due next and its period
 * @nr: how many
 * @late_ns: of each expiration
 * @room: for how many there is room
 * @fired: expirations
 * @early: those before their deadline
 */
struct server {
	struct item	*items;
	uint32_t	nr;
	uint64_t	*late_ns;
	uint64_t	room;
	uint64_t	fired;
	uint64_t	early;
};

static uint64_t between_ns(uint64_t *seed, uint64_t from_ns, uint64_t to_ns)
{
	return from_ns + chance(seed) % (to_ns - from_ns + 1);
}

static void make_load(struct server *server, const struct plan *plan)
{
	uint64_t now = now_ns() + 2 * NSEC_PER_SEC, seed = plan->seed;
	struct item *item;
	uint32_t i;

	server->nr = plan->n * TIMERS_EACH;
	server->items = allocate(server->nr, sizeof(*server->items));
	server->room = plan->n * (plan->seconds + 5ULL) * 2;
	server->late_ns = allocate(server->room, sizeof(*server->late_ns));
	for (i = 0; i < server->nr; i++) {
		item = &server->items[i];
		item->timer = i;
		if (i % TIMERS_EACH == 2)
			item->period_ns = between_ns(&seed, NSEC_PER_SEC / 2, 5 * NSEC_PER_SEC);
		item->deadline_ns = now + (item->period_ns ? item->period_ns :
			between_ns(&seed, NSEC_PER_SEC, 120 * NSEC_PER_SEC));
	}
}

static void receive(struct server *server, uint32_t timer, uint64_t now)
{
	struct item *item = &server->items[timer];

	server->early += now < item->deadline_ns;
	if (server->fired < server->room)
		server->late_ns[server->fired++] =
			now > item->deadline_ns ? now - item->deadline_ns : 0;
	if (!item->period_ns)
		return;
	do {
		item->deadline_ns += item->period_ns;
	} while (item->deadline_ns <= now);
}

static void serve(struct set *set, struct server *server, uint64_t end_ns)
{
	uint32_t *timers = allocate(MAX_COLLECT, sizeof(*timers)), nr, i;
	uint64_t now;

	do {
		nr = set->facility->collect(set, timers);
		now = now_ns();
		for (i = 0; i < nr; i++)
			receive(server, timers[i], now);
	} while (now < end_ns);
	free(timers);
}

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static void report(struct row *row, struct server *server, const struct reading *from,
		   const struct reading *to)
{
	uint64_t last = server->fired ? server->fired - 1 : 0, elapsed_ns = to->at_ns - from->at_ns;
	double idle_ns = (double)(to->idle - from->idle) * NSEC_PER_SEC / STAT_HZ;

	qsort(server->late_ns, server->fired, sizeof(*server->late_ns), compare);
	snprintf(row->extra, sizeof(row->extra),
		 ",\"seconds\":%.2f,\"events\":%" PRIu64 ",\"early\":%" PRIu64
		 ",\"busy_ns\":%.0f,\"process_ns\":%" PRIu64 ",\"wakeups\":%" PRIu64
		 ",\"switches\":%" PRIu64 ",\"interrupts\":%" PRIu64 ",\"softirqs\":%" PRIu64
		 ",\"late_p50_ns\":%" PRIu64 ",\"late_p99_ns\":%" PRIu64
		 ",\"late_max_ns\":%" PRIu64,
		 (double)elapsed_ns / NSEC_PER_SEC, server->fired, server->early,
		 (double)elapsed_ns * nr_cpus() - idle_ns, to->process_ns - from->process_ns,
		 to->wakeups - from->wakeups, to->switches - from->switches,
		 to->interrupts - from->interrupts, to->softirqs - from->softirqs,
		 server->late_ns[last / 2], server->late_ns[last * 99 / 100],
		 server->late_ns[last]);
}

/* A process that sleeps. */
static void idle_run(const struct plan *plan)
{
	static const struct facility nothing = { .name = "none" };
	struct set set = { .facility = &nothing };
	struct server server = { .late_ns = (uint64_t [1]){} };
	struct reading from, to;

	read_machine(&from);
	sleep(plan->seconds < 5 ? plan->seconds : 5);
	read_machine(&to);
	report(row_of(&set, "seeds", plan->n, 0), &server, &from, &to);
}

void case_seeds(struct set *set, const struct plan *plan)
{
	struct reading from, to;
	struct server server = {};

	if (!strcmp(set->facility->name, facility_htwheel.name))
		idle_run(plan);
	if (!set_open(set, "seeds", plan->n, plan->n * TIMERS_EACH))
		return;
	make_load(&server, plan);
	set->facility->submit(set, KIND_ARM, server.items, server.nr);
	read_machine(&from);
	serve(set, &server, from.at_ns + plan->seconds * NSEC_PER_SEC);
	read_machine(&to);
	report(row_of(set, "seeds", plan->n, 0), &server, &from, &to);
	set->facility->close(set);
	free(server.items);
	free(server.late_ns);
}
