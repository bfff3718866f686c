/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time, chance, and what was measured.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>
#include <x86intrin.h>

#include "facility.h"

/* What an empty system call costs where none of the guests' burden is on it. */
#define NATIVE_CALL_NS	100

#define MAX_SAMPLES	64
#define EXTRA_SIZE	512

/**
 * struct sample - one measurement
 * @ns: for each operation, as it was
 * @adjusted_ns: the same, with each system call's share that an empty one has replaced by
 *	NATIVE_CALL_NS
 * @empty_ns: what an empty call cost just then
 * @calls: system calls for each operation
 */
struct sample {
	double		ns;
	double		adjusted_ns;
	double		empty_ns;
	double		calls;
};

/**
 * struct row - a line of the output
 * @facility: the facility's name
 * @name: the case
 * @n: timers
 * @batch: operations of a call
 * @nr: samples
 * @samples: the samples
 * @extra: more members of the JSON object, each with a comma before it
 * @failed: why there is nothing, or empty
 */
struct row {
	char		facility[16];
	char		name[16];
	uint32_t	n;
	uint32_t	batch;
	uint32_t	nr;
	struct sample	samples[MAX_SAMPLES];
	char		extra[EXTRA_SIZE];
	char		failed[80];
};

/*
 * The processor's counter: in guests clock_gettime() is a system call, or as dear as one. It is of
 * constant speed on all processors of the last fifteen years.
 */
static inline uint64_t ticks(void)
{
	return __rdtsc();
}

void measure_start(void);
double ticks_to_ns(uint64_t nr);
uint64_t now_ns(void);
void sleep_until_ns(uint64_t time_ns);
uint64_t chance(uint64_t *state);
void pin_to(unsigned int cpu);
unsigned int nr_cpus(void);
double empty_call_ns(void);
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void *allocate(size_t nr, size_t size);

void rows_open(void);
struct row *row_of(const struct set *set, const char *name, uint32_t n, uint32_t batch);
void row_add(struct row *row, double ns, double calls, double empty_ns);
void row_fail(struct row *row, const char *why);
void rows_print(bool json, const char *guest);

#endif /* BENCH_MEASURE_H */
