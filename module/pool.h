/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pool of timers: chunks of cache lines, and the names of the timers in them.
 */
#ifndef HTW_POOL_H
#define HTW_POOL_H

#include <linux/types.h>

#include "base.h"

/* A chunk has 512 places of 64 bytes: its header and 511 timers. */
#define HTW_CHUNK_SHIFT		9
#define HTW_CHUNK_PLACES	(1U << HTW_CHUNK_SHIFT)
#define HTW_CHUNK_BYTES		(HTW_CHUNK_PLACES * sizeof(struct htw_timer))

/* Places that one step of a walk looks at: a chunk's. */
#define HTW_POOL_WALK		HTW_CHUNK_PLACES

/* Indices have 32 bits. */
#define HTW_POOL_MAX_CHUNKS	(1U << (32 - HTW_CHUNK_SHIFT))

/**
 * struct htw_chunk - 32 KiB of timers, aligned to that size
 * @owner: whose timers these are; the way from a timer, which has no room for it, to its context
 * @number: place of the chunk in the pool's table
 * @timer: the timers; place 0 of the chunk is the header, so that no index is 0
 */
struct htw_chunk {
	void			*owner;
	u32			number;
	struct htw_timer	timer[HTW_CHUNK_PLACES - 1];
};

/**
 * struct htw_pool_entry - an entry of the pool's table
 * @chunk: the chunk; NULL if it was given back
 * @generation: then: what the timers of the next chunk here begin with
 */
struct htw_pool_entry {
	struct htw_chunk	*chunk;
	u32			generation;
};

/**
 * struct htw_pool - timers, live and free. The owner serializes all calls
 * @owner: for htw_chunk.owner
 * @table: chunks by their number
 * @nr_entries: entries of the table in use, those without a chunk included
 * @nr_chunks: chunks
 * @table_size: room in the table
 * @first_gap: no entry before this one is without a chunk
 * @first_free: index of the first free timer, 0 if there is none; the others follow by node.index,
 *	and lead back by node.seq
 * @free: free timers
 * @live: timers in use
 * @peak: largest @live so far
 */
struct htw_pool {
	void			*owner;
	struct htw_pool_entry	*table;
	u32			nr_entries;
	u32			nr_chunks;
	u32			table_size;
	u32			first_gap;
	u32			first_free;
	u64			free;
	u64			live;
	u64			peak;
};

void htw_pool_init(struct htw_pool *pool, void *owner);
void htw_pool_destroy(struct htw_pool *pool);
int htw_pool_grow(struct htw_pool *pool);
u64 htw_pool_bytes(const struct htw_pool *pool);
struct htw_timer *htw_pool_get(struct htw_pool *pool);
void htw_pool_put(struct htw_pool *pool, struct htw_timer *timer);
struct htw_timer *htw_pool_peek(const struct htw_pool *pool, u64 id);
struct htw_timer *htw_pool_find(const struct htw_pool *pool, u64 id);
unsigned int htw_pool_walk(const struct htw_pool *pool, u64 *cursor, struct htw_timer **out,
			   unsigned int max);
bool htw_pool_trim(struct htw_pool *pool, u64 *cursor);
u64 htw_pool_id(const struct htw_timer *timer);
u32 htw_pool_index(const struct htw_timer *timer);
void *htw_pool_owner(const struct htw_timer *timer);

#endif /* HTW_POOL_H */
