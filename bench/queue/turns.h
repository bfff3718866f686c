/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contestants, their turns, and the rows that come of it.
 */
#ifndef HTW_BENCH_TURNS_H
#define HTW_BENCH_TURNS_H

#include <stdio.h>

#include "bench.h"

/* What a contestant does in one repetition; ended by NULL. */
typedef void (*const bench_scenario)(struct bench *bench);

/**
 * struct turns - how it is measured
 * @reps: repetitions
 * @seconds: no further one with a contestant that has had so much time for one n and load
 * @once: take no time: each case once, its operations on standard output
 * @wanted: the cases
 * @json: where lines of JSON go; NULL without
 */
struct turns {
	u64	reps;
	u64	seconds;
	bool	once;
	bool	wanted[NR_CASES];
	FILE	*json;
};

extern struct turns turns;

void turns_enter(const struct htw_design *design);
void turns_warm_up(struct bench *bench, bench_scenario *scenario);
void turns_take(struct bench *bench, bench_scenario *scenario);
void turns_print(enum bench_case from, enum bench_case to, const char *load, u64 n);

#endif /* HTW_BENCH_TURNS_H */
