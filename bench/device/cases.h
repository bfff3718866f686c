/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is measured of each facility.
 */
#ifndef BENCH_CASES_H
#define BENCH_CASES_H

#include "measure.h"

/**
 * struct plan - how to measure
 * @n: timers; 0: as the case has it
 * @batch: operations of a call; 0: as the case has it
 * @reps: samples in a round
 * @seconds: how long a load runs
 * @seed: of all that is drawn
 */
struct plan {
	uint32_t	n;
	uint32_t	batch;
	uint32_t	reps;
	uint32_t	seconds;
	uint64_t	seed;
};

/**
 * struct bench_case - a case
 * @name: as in --case
 * @about: what it is
 * @sizes: numbers of timers by default, ended by 0
 * @peers_max: of a facility other than htwheel, so many timers at most by default
 * @receives: is about receiving
 * @ours: only for htwheel
 * @rounds: rounds by default; 1 if a single run says enough
 * @run: measure it once, in a process of its own, on CPU 0
 */
struct bench_case {
	const char	*name;
	const char	*about;
	uint32_t	sizes[5];
	uint32_t	peers_max;
	bool		receives;
	bool		ours;
	uint32_t	rounds;
	void		(*run)(struct set *set, const struct plan *plan);
};

void case_ops(struct set *set, const struct plan *plan);
void case_deliver(struct set *set, const struct plan *plan);
void case_memory(struct set *set, const struct plan *plan);
void case_threads(struct set *set, const struct plan *plan);
void case_seeds(struct set *set, const struct plan *plan);
void case_table(struct set *set, const struct plan *plan);

/* Names of operations, as rows have them. */
extern const char *const kind_names[KINDS];

/* Deadlines that do not come while anything is measured. */
uint64_t far_deadline_ns(uint64_t now_ns, uint64_t *seed);
bool set_open(struct set *set, const char *name, uint32_t n, uint32_t timers);
void arm_all(struct set *set, uint32_t from, uint32_t to, uint64_t *seed);

#endif /* BENCH_CASES_H */
