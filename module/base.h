/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A base: one CPU's share of an engine, a queue driven by an hrtimer.
 */
#ifndef HTW_BASE_H
#define HTW_BASE_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "clock.h"
#include "queue/queue.h"

/**
 * enum htw_state - where a timer is
 * @HTW_FREE: in the pool; no name leads here
 * @HTW_QUEUED: in the queue of the base of htw_timer.cpu, waiting for its deadline
 * @HTW_EXPIRED: handed to the user by a pass, or due when it was armed; its event is unread
 * @HTW_DELIVERED: the same, and its event was delivered at once; the owner has yet to notice
 * @HTW_IDLE: the user keeps it, without a deadline
 */
enum htw_state {
	HTW_FREE,
	HTW_QUEUED,
	HTW_EXPIRED,
	HTW_DELIVERED,
	HTW_IDLE,
};

/* htw_timer.traits: the user's. The low bits are its policy about missed periods. */
#define HTW_TRAIT_POLICY	3U
#define HTW_TRAIT_KEEP		4U

/**
 * struct htw_timer - a timer: one cache line
 * @node: the queue's part; its link serves as the due list's between queue and expire()
 * @ready_link: HTW_EXPIRED, HTW_DELIVERED: for the user's list
 * @fired_ns: HTW_EXPIRED: when it expired; in the room that the queue's part no longer needs
 * @deadline_ns: when it is due, on the engine's clock; of an idle one, when it was
 * @period_ns: the user's; 0 if it is not periodic
 * @user_data: the user's
 * @generation: the user's (the pool's): upper half of the timer's name
 * @tag: the user's
 * @slack_ticks: how much later than the tick of its deadline it may be queued
 * @cpu: the base whose queue holds it or held it last. Written with that base's lock held, or while
 *	it is in no queue; read without, to know which lock to take, and then again under it
 * @state: enum htw_state; leaves HTW_QUEUED only with the lock of the base of @cpu held
 * @traits: HTW_TRAIT_...
 */
struct htw_timer {
	union {
		struct htw_node	node;
		struct {
			struct list_head	ready_link;
			u64			fired_ns;
		};
	};
	u64			deadline_ns;
	u64			period_ns;
	u64			user_data;
	u32			generation;
	u32			tag;
	u32			slack_ticks;
	u16			cpu;
	u8			state;
	u8			traits;
} __aligned(64);

static_assert(sizeof(struct htw_timer) == 64);

/**
 * htw_timer_expired() - note that a timer has expired
 * @timer: a timer that is in no queue and in no list
 * @now_ns: when
 *
 * Context: the lock of the base of htw_timer.cpu is held, or the timer was in no queue before.
 */
static inline void htw_timer_expired(struct htw_timer *timer, u64 now_ns)
{
	timer->fired_ns = now_ns;
	/*
	 * Pairs with READ_ONCE() in pool_is_live(), which only asks for HTW_FREE, and in
	 * htw_timer_is_queued(), which only asks for HTW_IDLE.
	 */
	WRITE_ONCE(timer->state, HTW_EXPIRED);
}

/* Timers that a pass hands over, and operations of a batch, under one hold of a base's lock. */
#define HTW_CHUNK_OPS	64U

struct htw_base;
struct htw_engine;

/**
 * struct htw_pass - one run of a base, as its user sees it
 * @base: the base
 * @now_ns: the time of the pass, read once
 * @nr_wake: entries in @wake
 * @wake: for the user: whom to wake when the lock is gone, collected by expire(), used by settle()
 */
struct htw_pass {
	struct htw_base		*base;
	u64			now_ns;
	unsigned int		nr_wake;
	void			*wake[HTW_CHUNK_OPS];
};

/**
 * struct htw_engine_ops - what the engine calls
 * @expire: take over the timers of @due (linked by node.link), at most HTW_CHUNK_OPS, and call
 *	htw_timer_expired() or htw_base_requeue() for each. Called with the base's lock held, in
 *	softirq: it has to be short and to wake nobody.
 * @settle: called after expire(), without the lock, in the same RCU read section
 */
struct htw_engine_ops {
	void (*expire)(struct htw_pass *pass, struct list_head *due);
	void (*settle)(struct htw_pass *pass);
};

/**
 * struct htw_counters - what a base, or all bases of an engine, did
 * @passes: runs of a base
 * @wakeups: those that the hrtimer began, and not the continuation of a backlog
 * @reprogrammed: starts and stops of the hrtimer
 * @budget_stops: passes that left work behind
 * @work: timers handed over and moved, slots looked at
 */
struct htw_counters {
	u64			passes;
	u64			wakeups;
	u64			reprogrammed;
	u64			budget_stops;
	struct htw_work		work;
};

/**
 * struct htw_base - one CPU's share of an engine. htwheel.h says which lock protects what
 * @lock: see htwheel.h
 * @engine: the engine
 * @cpu: the CPU
 * @online: the CPU runs passes; if false, nothing may be added
 * @running: a pass is under way and will program the hrtimer at its end
 * @queue: the timers
 * @programmed_tick: what the hrtimer is set to, HTW_TICK_NONE if it is off
 * @backlog_since_ns: when the backlog began that the last pass left, 0 if it left none
 * @counters: what it did
 * @timer: ABS, PINNED, SOFT; only started on @cpu
 */
struct htw_base {
	spinlock_t		lock;
	struct htw_engine	*engine;
	unsigned int		cpu;
	bool			online;
	bool			running;
	struct htw_queue	*queue;
	u64			programmed_tick;
	u64			backlog_since_ns;
	struct htw_counters	counters;
	struct hrtimer		timer;
};

int htw_base_init(struct htw_base *base, struct htw_engine *engine, unsigned int cpu);
void htw_base_online(struct htw_base *base);
u64 htw_base_tick(const struct htw_base *base, const struct htw_timer *timer, u64 deadline_ns);
void htw_base_enqueue(struct htw_base *base, struct htw_timer *timer, u64 deadline_ns);
void htw_base_requeue(struct htw_pass *pass, struct htw_timer *timer, u64 deadline_ns);
bool htw_base_program(struct htw_base *base, bool sooner);
void htw_base_forward(struct htw_base *base, u64 now_ns);
bool htw_base_pass(struct htw_base *base);
bool htw_base_pass_within(struct htw_base *base, u64 budget);
void htw_base_kick(struct htw_base *base);
u64 htw_base_drain(struct htw_base *base, struct htw_base *to, u64 max);
bool htw_base_busy(struct htw_base *base);
void htw_base_stop(struct htw_base *base);

#endif /* HTW_BASE_H */
