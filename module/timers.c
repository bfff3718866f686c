// SPDX-License-Identifier: GPL-2.0
/*
 * The set of an owner's timers: its making, the room in it, its end. What happens to one timer is
 * in timer.c.
 */
#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/sched.h>

#include <kunit/visibility.h>

#include "timer.h"

/* Timers of a chunk. */
#define TIMERS_OF_CHUNK	(HTW_CHUNK_PLACES - 1)

/**
 * htw_timers_reserve() - see to it that the next arms find credit and free timers
 * @timers: whose
 * @nr: how many arms; those beyond the limits are not provided for
 *
 * Context: task, the owner's lock held; may sleep. Memory is charged to the caller. Must be
 * followed by htw_timers_flush().
 * Return: 0; -ENOMEM, or -ENOSPC if the pool has no index left, and then some of the arms will fail
 * for want of memory.
 */
int htw_timers_reserve(struct htw_timers *timers, u64 nr)
{
	struct htw_pool *pool = &timers->pool;
	u64 granted;
	int err;

	timers->quota_short = false;
	nr = min(nr, timers->max - min(pool->live, timers->max));
	if (!nr)
		return 0;
	granted = htw_user_charge(timers->user, nr);
	timers->credit += granted;
	while (pool->free < granted) {
		err = htw_engine_reserve(timers->engine, TIMERS_OF_CHUNK);
		if (err)
			return err;
		err = htw_pool_grow(pool);
		if (err) {
			htw_engine_unreserve(timers->engine, TIMERS_OF_CHUNK);
			return err;
		}
	}
	timers->quota_short = granted < nr;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(htw_timers_reserve);

/**
 * htw_timers_trim() - one step of giving back memory that holds no timer
 * @timers: whose
 * @cursor: where to begin; receives where to go on, 0 at the end
 *
 * Context: task, the owner's lock held; may sleep.
 * Return: how many bytes; may be 0 before the end.
 */
u64 htw_timers_trim(struct htw_timers *timers, u64 *cursor)
{
	u64 before = htw_pool_bytes(&timers->pool);

	if (!htw_pool_trim(&timers->pool, cursor))
		return 0;
	htw_engine_unreserve(timers->engine, TIMERS_OF_CHUNK);
	return before - htw_pool_bytes(&timers->pool);
}
EXPORT_SYMBOL_IF_KUNIT(htw_timers_trim);

/**
 * htw_timers_init() - make an empty set of timers
 * @timers: to be filled in
 * @engine: where they will be queued; must outlive them
 * @user: who is charged for them; must outlive them
 * @max: how many there may be at once
 *
 * Context: any.
 */
void htw_timers_init(struct htw_timers *timers, struct htw_engine *engine, struct htw_user *user,
		     u64 max)
{
	static atomic_t number;

	*timers = (struct htw_timers){
		.number = atomic_inc_return(&number), .engine = engine, .user = user, .max = max };
	htw_pool_init(&timers->pool, timers);
	htw_ready_init(&timers->ready, engine->config.clock);
	INIT_LIST_HEAD(&timers->delivered.done);
}
EXPORT_SYMBOL_IF_KUNIT(htw_timers_init);

/**
 * htw_timers_setup() - choose engine, wake-up policy, ring and table
 * @timers: a set in which nothing was ever armed. It may have memory: of an arm that failed
 * @engine: where they will be queued; must outlive them
 * @config: the rest; on success @timers own its ring and table
 *
 * Context: task, the owner's lock held; may sleep.
 * Return: 0, or -ENOMEM and nothing is changed.
 */
int htw_timers_setup(struct htw_timers *timers, struct htw_engine *engine,
		     const struct htw_timers_config *config)
{
	u64 nr = (u64)timers->pool.nr_chunks * TIMERS_OF_CHUNK;
	int err = htw_engine_reserve(engine, nr);

	if (err)
		return err;
	htw_engine_unreserve(timers->engine, nr);
	timers->engine = engine;
	htw_ready_setup(&timers->ready, engine->config.clock, config->policy);
	/*
	 * Pairs with htw_shared_map(), htw_event_poll() and htw_event_read(), which look without
	 * the lock.
	 */
	smp_store_release(&timers->table, config->table);
	/* As above. */
	smp_store_release(&timers->ready.ring, config->ring);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(htw_timers_setup);

/* End the timers of one step of a walk: out of their queues, and out of the user's account. */
static void timers_disarm(struct htw_timers *timers, struct htw_timer **live, unsigned int nr)
{
	struct htw_group group;
	unsigned int i;

	htw_group_begin(&group, timers->engine);
	for (i = 0; i < nr; i++) {
		if (htw_timer_is_queued(&group, live[i]))
			htw_group_disarm(&group, live[i]);
	}
	htw_group_end(&group);
	cond_resched();
}

/**
 * htw_timers_destroy() - end all timers and free their memory
 * @timers: the set. The struct itself has to stay until an RCU grace period has passed: a pass may
 *	be about to wake those who waited for it
 *
 * Context: task, nobody else uses @timers; may sleep.
 */
void htw_timers_destroy(struct htw_timers *timers)
{
	struct htw_timer *live[HTW_CHUNK_OPS];
	struct htw_pool *pool = &timers->pool;
	unsigned int nr;
	u64 cursor = 0;

	do {
		nr = htw_pool_walk(pool, &cursor, live, HTW_CHUNK_OPS);
		timers_disarm(timers, live, nr);
	} while (cursor);
	/* No pass knows any of them now, so nothing starts the alarm again. */
	htw_ready_destroy(&timers->ready);
	htw_ring_destroy(timers->ready.ring);
	htw_table_destroy(timers->table);
	htw_user_uncharge(timers->user, pool->live + timers->credit);
	htw_engine_unreserve(timers->engine, (u64)pool->nr_chunks * TIMERS_OF_CHUNK);
	htw_pool_destroy(pool);
}
EXPORT_SYMBOL_IF_KUNIT(htw_timers_destroy);
