/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The timers of one owner: the state machine and the books.
 */
#ifndef HTW_TIMER_H
#define HTW_TIMER_H

#include <linux/types.h>

#include <linux/htwheel.h>

#include "engine.h"
#include "group.h"
#include "pool.h"
#include "ready.h"
#include "table.h"
#include "user.h"

/**
 * struct htw_books - what became of every arm
 * @armed: arms, re-arms and the further turns of periodic timers included
 * @fired: events delivered
 * @cancelled: arms that a cancel ended
 * @replaced: arms that a re-arm replaced
 * @missed: expirations beyond the first that the events delivered stood for
 *
 * armed = fired + cancelled + replaced + htw_timers_pending()
 */
struct htw_books {
	u64			armed;
	u64			fired;
	u64			cancelled;
	u64			replaced;
	u64			missed;
};

/**
 * struct htw_delivered - what passes did without the owner's lock, until the owner notices
 * @done: timers in HTW_DELIVERED
 * @books: to be added to the owner's
 * @late: the same
 * @postponed: times that a timer came up and the deadline table said later; stays
 */
struct htw_delivered {
	struct list_head	done;
	struct htw_books	books;
	u64			late[HTWHEEL_LATE_BINS];
	u64			postponed;
};

/**
 * struct htw_timers - the timers of one owner
 * @number: for tracepoints: which owner, from 1; wraps
 * @engine: where they are queued
 * @user: who is charged for them
 * @pool: where they come from
 * @books: what became of them
 * @max: how many there may be at once
 * @idle: how many are in HTW_IDLE
 * @credit: timers that @user has been charged for and that do not exist (yet, or any more);
 *	htw_timers_flush() gives it back
 * @quota_short: the last htw_timers_reserve() provided for fewer arms than it was asked to, because
 *	@user had no more credit
 * @late: lateness of the delivered events, as in struct htwheel_stats
 * @wake_owed: a group has made something ready, and nobody has been woken yet
 * @ready: those whose events wait to be read
 * @delivered: those whose events went into the ring
 * @table: the deadline table, or NULL
 */
struct htw_timers {
	u32			number;
	struct htw_engine	*engine;
	struct htw_user		*user;
	struct htw_pool		pool;
	struct htw_books	books;
	u64			max;
	u64			idle;
	u64			credit;
	bool			quota_short;
	u64			late[HTWHEEL_LATE_BINS];
	bool			wake_owed;
	struct htw_ready	ready;
	struct htw_delivered	delivered;
	struct htw_table	*table;
};

/**
 * struct htw_timers_config - what an owner may choose before the first arm
 * @policy: when the reader is told
 * @ring: an event ring, or NULL
 * @table: a deadline table, or NULL
 */
struct htw_timers_config {
	struct htw_wake_policy	policy;
	struct htw_ring		*ring;
	struct htw_table	*table;
};

/**
 * struct htw_timer_spec - what a timer is to be
 * @deadline_ns: its first deadline, at most KTIME_MAX
 * @period_ns: its period, 0 if it is not periodic
 * @slack_ns: how much later than at its deadline it may fire
 * @user_data: for the event
 * @tag: for the event
 * @policy: what becomes of missed periods
 * @keep: it stays when its event has been read
 */
struct htw_timer_spec {
	u64			deadline_ns;
	u64			period_ns;
	u64			slack_ns;
	u64			user_data;
	u32			tag;
	enum htwheel_policy	policy;
	bool			keep;
};

extern const struct htw_engine_ops htw_timer_engine_ops;

/* Timers that are armed or have an unread event. */
static inline u64 htw_timers_pending(const struct htw_timers *timers)
{
	return timers->pool.live - timers->idle;
}

void htw_timers_init(struct htw_timers *timers, struct htw_engine *engine, struct htw_user *user,
		     u64 max);
int htw_timers_setup(struct htw_timers *timers, struct htw_engine *engine,
		     const struct htw_timers_config *config);
void htw_timers_destroy(struct htw_timers *timers);
int htw_timers_reserve(struct htw_timers *timers, u64 nr);
u64 htw_timers_trim(struct htw_timers *timers, u64 *cursor);

/* By name. */
int htw_timer_arm(struct htw_timers *timers, struct htw_group *group,
		  const struct htw_timer_spec *spec, u64 *id);
int htw_timer_rearm(struct htw_timers *timers, struct htw_group *group, u64 id, u64 deadline_ns);
int htw_timer_cancel(struct htw_timers *timers, struct htw_group *group, u64 id, u64 *left_ns);
int htw_timer_query(struct htw_timers *timers, struct htw_group *group, u64 id, u64 *left_ns);

/* For who has found the timer himself. */
bool htw_timer_is_queued(struct htw_group *group, struct htw_timer *timer);
int htw_timer_move(struct htw_timers *timers, struct htw_group *group, struct htw_timer *timer,
		   u64 deadline_ns);
int htw_timer_remove(struct htw_timers *timers, struct htw_group *group, struct htw_timer *timer,
		     u64 *left_ns);
u64 htw_timer_deadline_ns(const struct htw_timers *timers, const struct htw_timer *timer);
u64 htw_timer_left_ns(u64 deadline_ns, const struct htw_group *group);
void htw_timer_begin(struct htw_timers *timers, struct htw_group *group, struct htw_timer *timer,
		     u64 deadline_ns);
void htw_timer_free(struct htw_timers *timers, struct htw_timer *timer);

void htw_timers_flush(struct htw_timers *timers);

#endif /* HTW_TIMER_H */
