/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traces: what was done to timers, and when.
 *
 * A trace is a text, one operation a line, times in nanoseconds that never go back:
 *
 *	# htwheel trace 1			the first line
 *	TIME arm KEY DEADLINE [period=NS] [slack=NS] [policy=POLICY] [keep]
 *	TIME rearm KEY DEADLINE
 *	TIME cancel KEY
 *	TIME fire KEY DEADLINE		seen when it was recorded; replay does not look at it
 *	TIME end			where time ends (else: when nothing waits any more)
 *
 * POLICY is count, skip, burst or delay. KEY is any number of 64 bits and means one timer at a
 * time: an arm of one that is armed replaces it; a rearm of one that is not, arms it; a cancel of
 * one that is not, is counted and does nothing. A deadline of 9223372036854775807 never comes.
 * Empty lines, and what follows a #, are comments.
 */
#ifndef HTWHEELCTL_TRACE_H
#define HTWHEELCTL_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum trace_kind { TRACE_ARM, TRACE_REARM, TRACE_CANCEL };

/**
 * struct trace_op - an operation
 * @time_ns: when
 * @key: on which timer; of a finished trace, its index in trace.keys
 * @deadline_ns: arm, rearm
 * @period_ns: arm: 0 if it is not periodic
 * @slack_ns: arm
 * @order: which of the trace, as it was added
 * @kind: what
 * @policy: arm: enum htwheel_policy
 * @keep: arm
 */
struct trace_op {
	uint64_t	time_ns;
	uint64_t	key;
	uint64_t	deadline_ns;
	uint64_t	period_ns;
	uint64_t	slack_ns;
	uint64_t	order;
	uint8_t		kind;
	uint8_t		policy;
	uint8_t		keep;
};

/**
 * struct trace - a trace
 * @ops: the operations
 * @nr: how many
 * @room: how many @ops has room for
 * @end_ns: where time ends; 0: when nothing waits any more
 * @keys: the keys, once each, ascending
 * @nr_keys: how many
 */
struct trace {
	struct trace_op	*ops;
	size_t		nr;
	size_t		room;
	uint64_t	end_ns;
	uint64_t	*keys;
	size_t		nr_keys;
};

void trace_add(struct trace *trace, struct trace_op op);
void trace_finish(struct trace *trace);
void trace_read(struct trace *trace, const char *path);
void trace_free(struct trace *trace);

#endif /* HTWHEELCTL_TRACE_H */
