// SPDX-License-Identifier: GPL-2.0
/*
 * Time, chance, and small things.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

#define CALIBRATE_NS	(100 * NSEC_PER_MSEC)
#define EMPTY_CALLS	500
#define EMPTY_ROUNDS	5

static double ns_per_tick;

/* Print a sentence and end the program. */
void fail(const char *format, ...)
{
	va_list arguments;

	fputs("bench-device: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

/* Zeroed, and each page of it touched, so that nothing of it is measured as somebody's. */
void *allocate(size_t nr, size_t size)
{
	void *memory = malloc(nr * size + 1);

	if (!memory)
		fail("no memory for %zu times %zu bytes", nr, size);
	return memset(memory, 0, nr * size + 1);
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

void sleep_until_ns(uint64_t time_ns)
{
	struct timespec ts = {
		.tv_sec = time_ns / NSEC_PER_SEC,
		.tv_nsec = time_ns % NSEC_PER_SEC,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* Find out how fast the counter counts. */
void measure_start(void)
{
	uint64_t from_ns = now_ns(), from = ticks(), end_ns;

	do {
		end_ns = now_ns();
	} while (end_ns - from_ns < CALIBRATE_NS);
	ns_per_tick = (double)(end_ns - from_ns) / (ticks() - from);
}

double ticks_to_ns(uint64_t nr)
{
	return nr * ns_per_tick;
}

/* A generator of 64 bits (xorshift64*), for loads and not for secrets. */
uint64_t chance(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ULL;
}

unsigned int nr_cpus(void)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);

	return nr < 1 ? 1 : nr;
}

/* Run the calling thread on one CPU only; the number wraps. */
void pin_to(unsigned int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu % nr_cpus(), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		fail("CPU %u: %s", cpu, strerror(errno));
}

/* The median of some rounds. */
double empty_call_ns(void)
{
	double rounds[EMPTY_ROUNDS], swap;
	uint64_t from;
	int i, j;

	for (i = 0; i < EMPTY_ROUNDS; i++) {
		from = ticks();
		for (j = 0; j < EMPTY_CALLS; j++)
			syscall(SYS_getppid);
		rounds[i] = ticks_to_ns(ticks() - from) / EMPTY_CALLS;
		for (j = i; j && rounds[j] < rounds[j - 1]; j--) {
			swap = rounds[j];
			rounds[j] = rounds[j - 1];
			rounds[j - 1] = swap;
		}
	}
	return rounds[EMPTY_ROUNDS / 2];
}
