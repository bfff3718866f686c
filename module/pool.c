// SPDX-License-Identifier: GPL-2.0
/*
 * The pool: timers come from chunks that the context keeps until it closes, or asks for a trim.
 *
 * So an arm below the highest count that the context has had never fails for memory (I10), costs no
 * allocation, and finds its cache line warm: the timer that was freed last is used first.
 *
 * Names. A timer's name is generation << 32 | index. The index leads to the timer without a search;
 * the generation, which goes up each time the timer is freed, tells a stale name from a good one. A
 * timer whose generation would wrap is retired, so a name is never given twice (FAULTS B28, B59).
 * That costs 64 bytes (and, in a trim, keeps their chunk) for every 2^32 arms of one timer. A chunk
 * that is given back leaves the highest generation of its timers in the table, where the next one
 * takes over.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/prefetch.h>
#include <linux/slab.h>

#include <kunit/visibility.h>

#include "pool.h"

/* Generations begin at 1, so that even the smallest name does not look like a small number. */
#define POOL_FIRST_GENERATION	((u32)(HTW_COUNTER_START) + 1)

#define POOL_FIRST_TABLE	16U

/*
 * Charged to the caller. Fails rather than have somebody killed for it, and silently: the arm that
 * gets no timer says so.
 */
#define POOL_GFP		(GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

static_assert(sizeof(struct htw_chunk) == HTW_CHUNK_BYTES);
static_assert(offsetof(struct htw_chunk, timer) == sizeof(struct htw_timer));

static struct htw_chunk *pool_chunk(const struct htw_timer *timer)
{
	return (struct htw_chunk *)((unsigned long)timer & ~(HTW_CHUNK_BYTES - 1));
}

/**
 * htw_pool_index() - the index of a timer, the lower half of its name
 * @timer: a timer from a pool
 *
 * Context: any.
 * Return: the index; never 0.
 */
u32 htw_pool_index(const struct htw_timer *timer)
{
	struct htw_chunk *chunk = pool_chunk(timer);

	return chunk->number << HTW_CHUNK_SHIFT | (timer - chunk->timer + 1);
}

static struct htw_timer *pool_at(const struct htw_pool *pool, u32 index)
{
	u32 place = index & (HTW_CHUNK_PLACES - 1);

	return &pool->table[index >> HTW_CHUNK_SHIFT].chunk->timer[place - 1];
}

static bool pool_is_live(const struct htw_timer *timer)
{
	return READ_ONCE(timer->state) != HTW_FREE;
}

/**
 * htw_pool_id() - the name of a timer
 * @timer: a timer from a pool
 *
 * Context: the owner's lock.
 * Return: the name; never 0.
 */
u64 htw_pool_id(const struct htw_timer *timer)
{
	return (u64)timer->generation << 32 | htw_pool_index(timer);
}
EXPORT_SYMBOL_IF_KUNIT(htw_pool_id);

/**
 * htw_pool_owner() - whose timer this is
 * @timer: a timer from a pool
 *
 * Context: any, as long as the pool lives.
 * Return: the owner, as given to htw_pool_init().
 */
void *htw_pool_owner(const struct htw_timer *timer)
{
	return pool_chunk(timer)->owner;
}

/**
 * htw_pool_peek() - where the timer of a name would be
 * @pool: the pool
 * @id: a name, from anywhere; it is not trusted
 *
 * Does not touch the timer, so that its cache line can be fetched ahead of its turn.
 *
 * Context: the owner's lock.
 * Return: a timer of the pool, whatever its name and state; NULL if there is none at this place.
 */
struct htw_timer *htw_pool_peek(const struct htw_pool *pool, u64 id)
{
	u32 number = (u32)id >> HTW_CHUNK_SHIFT;
	u32 place = id & (HTW_CHUNK_PLACES - 1);
	struct htw_chunk *chunk;

	if (!place || number >= pool->nr_entries)
		return NULL;
	number = array_index_nospec(number, pool->nr_entries);
	chunk = pool->table[number].chunk;
	return chunk ? &chunk->timer[place - 1] : NULL;
}

/**
 * htw_pool_find() - the timer of a name
 * @pool: the pool
 * @id: a name, from anywhere; it is not trusted
 *
 * Context: the owner's lock.
 * Return: the timer, or NULL if no live timer has this name.
 */
struct htw_timer *htw_pool_find(const struct htw_pool *pool, u64 id)
{
	struct htw_timer *timer = htw_pool_peek(pool, id);

	if (!timer || timer->generation != id >> 32 || !pool_is_live(timer))
		return NULL;
	return timer;
}
EXPORT_SYMBOL_IF_KUNIT(htw_pool_find);

/* The live timer at an index, or NULL. */
static struct htw_timer *pool_live_at(const struct htw_pool *pool, u64 index)
{
	struct htw_timer *timer;

	if (!(index & (HTW_CHUNK_PLACES - 1)) || !pool->table[index >> HTW_CHUNK_SHIFT].chunk)
		return NULL;
	timer = pool_at(pool, index);
	return pool_is_live(timer) ? timer : NULL;
}

/*
 * A cursor is the index where to go on and, above it, how many entries the table had when the walk
 * began: what is armed behind that is not met, so a walk ends however fast the pool grows. Returns
 * the index where the walk ends; @at is not below it if the walk is over. Nothing in a cursor is
 * trusted.
 */
static u64 pool_cursor_read(const struct htw_pool *pool, u64 cursor, u32 *at)
{
	u32 entries = cursor >> 32;

	*at = cursor;
	if (!entries || entries > pool->nr_entries)
		entries = pool->nr_entries;
	return (u64)entries << HTW_CHUNK_SHIFT;
}

static u64 pool_cursor(u64 at, u64 end)
{
	return at < end ? end >> HTW_CHUNK_SHIFT << 32 | at : 0;
}

/**
 * htw_pool_walk() - one step of a walk over the live timers, in the order of their indices
 * @pool: the pool
 * @cursor: where to begin, from anywhere; it is not trusted. Receives where to go on, 0 at the end
 * @out: receives the timers
 * @max: room in @out
 *
 * An index never changes while a timer lives. So whatever comes and goes between the steps, the
 * walk meets each timer that lives from its begin to its end exactly once. It ends where the pool
 * ended when it began.
 *
 * Context: the owner's lock. Looks at HTW_POOL_WALK places at most.
 * Return: how many timers; may be 0 before the end.
 */
unsigned int htw_pool_walk(const struct htw_pool *pool, u64 *cursor, struct htw_timer **out,
			   unsigned int max)
{
	struct htw_timer *timer;
	unsigned int nr = 0;
	u64 end, at, stop;
	u32 number, from;

	end = pool_cursor_read(pool, *cursor, &from);
	if (from >= end) {
		*cursor = 0;
		return 0;
	}
	/* For the processor, too, which may have guessed that the cursor lies inside. */
	number = array_index_nospec(from >> HTW_CHUNK_SHIFT, pool->nr_entries);
	at = (u64)number << HTW_CHUNK_SHIFT | (from & (HTW_CHUNK_PLACES - 1));
	stop = min(end, at + HTW_POOL_WALK);
	for (; at < stop && nr < max; at++) {
		timer = pool_live_at(pool, at);
		if (timer)
			out[nr++] = timer;
	}
	*cursor = pool_cursor(at, end);
	return nr;
}
EXPORT_SYMBOL_IF_KUNIT(htw_pool_walk);

/*
 * The list of free timers is linked both ways, by indices: node.index leads to the next one,
 * node.seq back. A get leaves the first one's way back as it is, since nobody goes it.
 */
static void pool_push_free(struct htw_pool *pool, struct htw_timer *timer)
{
	u32 index = htw_pool_index(timer);

	timer->state = HTW_FREE;
	timer->node.index = pool->first_free;
	if (pool->first_free)
		pool_at(pool, pool->first_free)->node.seq = index;
	pool->first_free = index;
	pool->free++;
}

static void pool_unlink_free(struct htw_pool *pool, struct htw_timer *timer)
{
	u32 next = timer->node.index;

	if (pool->first_free == htw_pool_index(timer))
		pool->first_free = next;
	else
		pool_at(pool, timer->node.seq)->node.index = next;
	if (next)
		pool_at(pool, next)->node.seq = timer->node.seq;
	pool->free--;
}

/**
 * htw_pool_get() - take a free timer
 * @pool: the pool
 *
 * Context: the owner's lock.
 * Return: a timer that is in no list and whose state the caller sets; NULL if none is free: grow
 * the pool.
 */
struct htw_timer *htw_pool_get(struct htw_pool *pool)
{
	struct htw_timer *timer;

	if (!pool->first_free)
		return NULL;
	timer = pool_at(pool, pool->first_free);
	pool->first_free = timer->node.index;
	/* The next one to be taken; after many frees in any order it is in no cache. */
	if (pool->first_free)
		prefetchw(pool_at(pool, pool->first_free));
	pool->free--;
	pool->live++;
	pool->peak = max(pool->peak, pool->live);
	return timer;
}
EXPORT_SYMBOL_IF_KUNIT(htw_pool_get);

/**
 * htw_pool_put() - free a timer; its name is stale from now on
 * @pool: the pool
 * @timer: a timer of the pool that is in no list
 *
 * Context: the owner's lock.
 */
void htw_pool_put(struct htw_pool *pool, struct htw_timer *timer)
{
	pool->live--;
	if (timer->generation == U32_MAX)
		timer->state = HTW_FREE;
	else
		pool_push_free(pool, timer);
	timer->generation++;
}
EXPORT_SYMBOL_IF_KUNIT(htw_pool_put);

static int pool_grow_table(struct htw_pool *pool)
{
	u32 size = max(pool->table_size * 2, POOL_FIRST_TABLE);
	struct htw_pool_entry *table;

	if (pool->nr_entries < pool->table_size)
		return 0;
	table = kvmalloc_array(size, sizeof(*table), POOL_GFP);
	if (!table)
		return -ENOMEM;
	if (pool->nr_entries)
		memcpy(table, pool->table, pool->nr_entries * sizeof(*table));
	kvfree(pool->table);
	pool->table = table;
	pool->table_size = size;
	return 0;
}

/* An entry without a chunk: the first that a trim has left, or a new one at the end. */
static int pool_empty_entry(struct htw_pool *pool, u32 *number)
{
	int err;

	if (pool->nr_chunks < pool->nr_entries) {
		while (pool->table[pool->first_gap].chunk)
			pool->first_gap++;
		*number = pool->first_gap;
		return 0;
	}
	*number = pool->nr_entries;
	if (pool->nr_entries == HTW_POOL_MAX_CHUNKS)
		return -ENOSPC;
	err = pool_grow_table(pool);
	if (err)
		return err;
	pool->table[*number] = (struct htw_pool_entry){ .generation = POOL_FIRST_GENERATION };
	pool->nr_entries++;
	return 0;
}

/**
 * htw_pool_grow() - add a chunk of HTW_CHUNK_PLACES - 1 free timers
 * @pool: the pool
 *
 * Context: task, the owner's lock (which must allow to sleep). Memory is charged to the caller.
 * Return: 0, -ENOMEM, or -ENOSPC if all indices are in use.
 */
int htw_pool_grow(struct htw_pool *pool)
{
	struct htw_pool_entry *entry;
	struct htw_chunk *chunk;
	u32 number, place;
	int err;

	err = pool_empty_entry(pool, &number);
	if (err)
		return err;
	/* Zeroed: no timer starts with what another user of the page left. */
	chunk = (void *)__get_free_pages(POOL_GFP | __GFP_ZERO, get_order(HTW_CHUNK_BYTES));
	if (!chunk)
		return -ENOMEM;
	entry = &pool->table[number];
	entry->chunk = chunk;
	pool->nr_chunks++;
	chunk->owner = pool->owner;
	chunk->number = number;
	for (place = HTW_CHUNK_PLACES - 1; place--;) {
		chunk->timer[place].generation = entry->generation;
		pool_push_free(pool, &chunk->timer[place]);
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(htw_pool_grow);

static void pool_free_chunk(struct htw_chunk *chunk)
{
	free_pages((unsigned long)chunk, get_order(HTW_CHUNK_BYTES));
}

/*
 * The highest generation among the timers of a chunk, none of which has been part of a name yet; 0
 * if the chunk has to stay, because one of them is live, or retired (it has wrapped to 0).
 */
static u32 pool_spare_generation(const struct htw_chunk *chunk)
{
	const struct htw_timer *timer, *end = chunk->timer + HTW_CHUNK_PLACES - 1;
	u32 generation = 0;

	for (timer = chunk->timer; timer < end; timer++) {
		if (pool_is_live(timer) || !timer->generation)
			return 0;
		generation = max(generation, timer->generation);
	}
	return generation;
}

/**
 * htw_pool_trim() - one step of giving back the chunks that hold no live timer
 * @pool: the pool
 * @cursor: where to begin, from anywhere, as for htw_pool_walk(); receives where to go on, 0 at the
 *	end
 *
 * Context: the owner's lock. Looks at one chunk.
 * Return: whether it was given back.
 */
bool htw_pool_trim(struct htw_pool *pool, u64 *cursor)
{
	u32 number, place, generation, from;
	struct htw_pool_entry *entry;
	u64 end;

	end = pool_cursor_read(pool, *cursor, &from);
	if (from >= end) {
		*cursor = 0;
		return false;
	}
	number = array_index_nospec(from >> HTW_CHUNK_SHIFT, pool->nr_entries);
	*cursor = pool_cursor((u64)(number + 1) << HTW_CHUNK_SHIFT, end);
	entry = &pool->table[number];
	generation = entry->chunk ? pool_spare_generation(entry->chunk) : 0;
	if (!generation)
		return false;
	for (place = 0; place < HTW_CHUNK_PLACES - 1; place++)
		pool_unlink_free(pool, &entry->chunk->timer[place]);
	pool_free_chunk(entry->chunk);
	*entry = (struct htw_pool_entry){ .generation = generation };
	pool->nr_chunks--;
	pool->first_gap = min(pool->first_gap, number);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(htw_pool_trim);

/**
 * htw_pool_bytes() - memory that the pool holds
 * @pool: the pool
 *
 * Context: the owner's lock.
 * Return: bytes, the table included.
 */
u64 htw_pool_bytes(const struct htw_pool *pool)
{
	return (u64)pool->nr_chunks * (PAGE_SIZE << get_order(HTW_CHUNK_BYTES)) +
	       (u64)pool->table_size * sizeof(*pool->table);
}
EXPORT_SYMBOL_IF_KUNIT(htw_pool_bytes);

/**
 * htw_pool_init() - make an empty pool
 * @pool: the pool
 * @owner: for htw_pool_owner()
 *
 * Context: any.
 */
void htw_pool_init(struct htw_pool *pool, void *owner)
{
	*pool = (struct htw_pool){ .owner = owner };
}
EXPORT_SYMBOL_IF_KUNIT(htw_pool_init);

/**
 * htw_pool_destroy() - free all memory of a pool
 * @pool: the pool; no timer of it is in a queue
 *
 * Context: task; may sleep.
 */
void htw_pool_destroy(struct htw_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->nr_entries; i++) {
		if (pool->table[i].chunk)
			pool_free_chunk(pool->table[i].chunk);
		cond_resched();
	}
	kvfree(pool->table);
}
EXPORT_SYMBOL_IF_KUNIT(htw_pool_destroy);
