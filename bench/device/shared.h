/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The areas that /dev/htwheel shares with a program: the event ring and the deadline table.
 */
#ifndef BENCH_SHARED_H
#define BENCH_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "facility.h"

/**
 * struct shared - what of it is mapped
 * @ring: the event ring, read only
 * @head: how far the reader is
 * @table: the deadline table
 * @ring_bytes: length of @ring
 * @table_bytes: length of @table
 */
struct shared {
	void		*ring;
	void		*head;
	uint64_t	*table;
	uint64_t	ring_bytes;
	uint64_t	table_bytes;
};

const char *shared_open(struct set *set, struct shared *shared, uint32_t entries, bool table);
void shared_close(struct shared *shared);

#endif /* BENCH_SHARED_H */
