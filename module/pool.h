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
 * struct htw_pool - timers, live and free. The owner serializes all calls
 * @owner: for htw_chunk.owner
 * @chunks: table of chunks
 * @nr_chunks: chunks in the table
 * @table_size: room in the table
 * @first_free: index of the first free timer, 0 if there is none; the others follow by node.index
 * @free: free timers
 * @live: timers in use
 * @peak: largest @live so far
 */
struct htw_pool {
	void			*owner;
	struct htw_chunk	**chunks;
	u32			nr_chunks;
	u32			table_size;
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
struct htw_timer *htw_pool_find(const struct htw_pool *pool, u64 id);
u64 htw_pool_id(const struct htw_timer *timer);
void *htw_pool_owner(const struct htw_timer *timer);

#endif /* HTW_POOL_H */
