/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory that the device shares: event ring and deadline table, as the header says to use them.
 */
#ifndef HTWHEELCTL_SHARED_H
#define HTWHEELCTL_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/htwheel.h>

/**
 * struct shared - areas of one context; what it does not have is NULL
 * @ring: the event ring
 * @position: how far we are in it
 * @table: the deadline table
 */
struct shared {
	struct htwheel_ring		*ring;
	struct htwheel_ring_head	*position;
	uint64_t			*table;
};

void shared_map(struct shared *shared, int fd);
unsigned int shared_take(struct shared *shared, struct htwheel_event *events, unsigned int nr);
bool shared_waiting(const struct shared *shared);
void shared_postpone(struct shared *shared, uint64_t id, uint64_t deadline_ns);

#endif /* HTWHEELCTL_SHARED_H */
