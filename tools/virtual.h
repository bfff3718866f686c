/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace on virtual time: a private context of one design on a manual clock, and what came of it.
 */
#ifndef HTWHEELCTL_VIRTUAL_H
#define HTWHEELCTL_VIRTUAL_H

#include <stdbool.h>
#include <stdint.h>

#include "rows.h"
#include "trace.h"

/**
 * struct fire - an expiration
 * @fired_ns: when, on the virtual clock
 * @key: which timer
 * @deadline_ns: its deadline
 */
struct fire {
	uint64_t	fired_ns;
	uint64_t	key;
	uint64_t	deadline_ns;
};

/**
 * struct run - how a trace is run, and what came of it
 * @row: in: the design
 * @tick_ns: in: length of a tick; 0: the module's
 * @jump: in: the clock jumps from operation to operation
 * @keep_fires: in: keep @fires
 * @arms: out: arms and re-arms
 * @armed: out: arms, re-arms and turns of periodic timers
 * @cancels: out: cancels that found their timer
 * @late_ops: out: cancels and re-arms of timers that had fired, or were not there
 * @fired: out: expirations
 * @early: out: those before their deadline
 * @beyond: out: those later than the design may be
 * @late_max_ns: out: largest lateness
 * @late_sum_ns: out: sum of all
 * @moves: out: timers moved
 * @slots: out: slots looked at
 * @passes: out: wake-ups
 * @largest: out: most timers handed out and moved at one moment
 * @peak: out: most timers at once
 * @submit_ns: out: real time in SUBMIT
 * @advance_ns: out: real time in ADVANCE
 * @sum: out: a sum over all expirations; equal for equal sets
 * @keys_sum: out: the same, of keys and deadlines alone
 * @fires: out: the expirations, @fired of them, by time and key
 */
struct run {
	struct htwheel_design	row;
	uint64_t		tick_ns;
	bool			jump;
	bool			keep_fires;
	uint64_t		arms;
	uint64_t		armed;
	uint64_t		cancels;
	uint64_t		late_ops;
	uint64_t		fired;
	uint64_t		early;
	uint64_t		beyond;
	uint64_t		late_max_ns;
	uint64_t		late_sum_ns;
	uint64_t		moves;
	uint64_t		slots;
	uint64_t		passes;
	uint64_t		largest;
	uint64_t		peak;
	uint64_t		submit_ns;
	uint64_t		advance_ns;
	uint64_t		sum;
	uint64_t		keys_sum;
	struct fire		*fires;
};

int virtual_open(const struct htwheel_design *row, uint64_t *tick_ns, uint64_t start_ns,
		 uint64_t nr);
void virtual_run(struct run *run, const struct trace *trace);
bool run_agrees(const struct run *run, const struct run *with);

static inline bool run_is_exact(const struct run *run)
{
	return run->row.properties & HTWHEEL_DESIGN_EXACT;
}

#endif /* HTWHEELCTL_VIRTUAL_H */
