/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loads: traces that are made, not recorded.
 */
#ifndef HTWHEELCTL_LOAD_H
#define HTWHEELCTL_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "trace.h"

/**
 * struct load - a load
 * @name: as in --load
 * @about: what it is
 * @timers: how many timers (connections) by default
 * @seconds: how long by default
 * @make: make the trace
 */
struct load {
	const char	*name;
	const char	*about;
	uint32_t	timers;
	uint32_t	seconds;
	void		(*make)(struct trace *trace, uint32_t timers, uint32_t seconds,
				uint64_t seed);
};

/* Ended by one without a name. */
extern const struct load loads[];

const struct load *load_find(const char *name);
uint64_t load_random(uint64_t *state);

#endif /* HTWHEELCTL_LOAD_H */
