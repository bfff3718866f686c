/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The timers of one owner: the state machine, the ready list, the books.
 */
#ifndef HTW_TIMER_H
#define HTW_TIMER_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <linux/htwheel.h>

#include "engine.h"
#include "group.h"
#include "pool.h"

/**
 * struct htw_books - what became of every arm
 * @armed: arms, re-arms included
 * @fired: events delivered
 * @cancelled: timers cancelled
 * @replaced: arms that a re-arm replaced
 *
 * armed = fired + cancelled + replaced + htw_pool.live
 */
struct htw_books {
	u64			armed;
	u64			fired;
	u64			cancelled;
	u64			replaced;
};

/**
 * struct htw_timers - the timers of one owner
 * @engine: where they are queued
 * @pool: where they come from
 * @books: what became of them
 * @max: how many there may be at once
 * @late: lateness of the delivered events, as in struct htwheel_stats
 * @wake_owed: a group has made something ready, and nobody has been woken yet
 * @ready_lock: protects @ready and @nr_ready; inside a base's lock
 * @ready: expired timers, in the order in which they expired; an event waits in its own timer, so
 *	there is no queue that could overflow
 * @nr_ready: timers in @ready; also read without the lock, as a hint that says "try"
 * @wait: who waits for @nr_ready
 */
struct htw_timers {
	struct htw_engine	*engine;
	struct htw_pool		pool;
	struct htw_books	books;
	u64			max;
	u64			late[HTWHEEL_LATE_BINS];
	bool			wake_owed;

	spinlock_t		ready_lock;
	struct list_head	ready;
	unsigned int		nr_ready;
	wait_queue_head_t	wait;
};

extern const struct htw_engine_ops htw_timer_engine_ops;

void htw_timers_init(struct htw_timers *timers, struct htw_engine *engine, u64 max);
void htw_timers_destroy(struct htw_timers *timers);
int htw_timers_reserve(struct htw_timers *timers, u64 nr);

int htw_timer_arm(struct htw_timers *timers, struct htw_group *group, u64 deadline_ns,
		  u64 user_data, u64 *id);
int htw_timer_rearm(struct htw_timers *timers, struct htw_group *group, u64 id, u64 deadline_ns);
int htw_timer_cancel(struct htw_timers *timers, struct htw_group *group, u64 id, u64 *left_ns);
int htw_timer_query(struct htw_timers *timers, struct htw_group *group, u64 id, u64 *left_ns);

unsigned int htw_timer_peek(struct htw_timers *timers, struct htw_timer **out, unsigned int max);
void htw_timer_deliver(struct htw_timers *timers, struct htw_timer **done, unsigned int nr);
void htw_timers_wake(struct htw_timers *timers);
void htw_timers_flush(struct htw_timers *timers);

#endif /* HTW_TIMER_H */
