/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What htwheelctl demo knows of its run.
 */
#ifndef HTWHEELCTL_DEMO_H
#define HTWHEELCTL_DEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "shared.h"

/* Where a timer is, for all that the program knows. */
enum state {
	ARMED,
	RECEIVED,
	CANCELLED,
};

/**
 * struct record - what the program knows of a timer
 * @id: its name
 * @not_before_ns: when it may come
 * @armed_ns: the same, without the store into the deadline table
 * @stored_ns: when that store was through; 0 if there was none
 * @state: where it is
 */
struct record {
	uint64_t	id;
	uint64_t	not_before_ns;
	uint64_t	armed_ns;
	uint64_t	stored_ns;
	enum state	state;
};

/**
 * struct demo - the run
 * @fd: the device
 * @epoll: an epoll with @fd in it
 * @nr: timers to arm
 * @batch: operations of a call
 * @min_ns: smallest delay
 * @max_ns: largest delay
 * @random: state of the generator
 * @records: one for each timer
 * @ops: room for a batch
 * @targets: for each operation of the batch, its timer
 * @armed: timers armed so far; the following ones count as well
 * @last_ns: no deadline lies later
 * @late_ns: lateness of each event when it was received
 * @kernel_late_ns: lateness of each event when it fired
 * @ring_entries: places of the event ring, 0 to receive by read
 * @with_table: postpone by the deadline table
 * @shared: the two
 * @postponed: timers that were postponed by the table
 * @too_late: those of them that fired before the store was through
 * @calls: system calls made to receive
 * @began_ns: for the progress report
 * @reported_ns: for the progress report
 */
struct demo {
	int		fd;
	int		epoll;
	uint32_t	nr;
	uint32_t	batch;
	uint64_t	min_ns;
	uint64_t	max_ns;
	uint64_t	random;
	struct record	*records;
	struct htwheel_op *ops;
	uint32_t	*targets;
	uint64_t	armed;
	uint64_t	replaced;
	uint64_t	cancelled;
	uint64_t	fired;
	uint64_t	duplicated;
	uint64_t	early;
	uint64_t	refused;
	uint64_t	last_ns;
	uint64_t	*late_ns;
	uint64_t	*kernel_late_ns;
	uint32_t	ring_entries;
	bool		with_table;
	struct shared	shared;
	uint64_t	postponed;
	uint64_t	too_late;
	uint64_t	calls;
	uint64_t	began_ns;
	uint64_t	reported_ns;
};

static inline uint64_t demo_pending(const struct demo *demo)
{
	return demo->armed - demo->cancelled - demo->fired;
}

int demo_report(struct demo *demo);

#endif /* HTWHEELCTL_DEMO_H */
