/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ready list of one owner: expired timers whose events wait to be read, and when their readers
 * are told.
 */
#ifndef HTW_READY_H
#define HTW_READY_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "base.h"
#include "ring.h"

/**
 * struct htw_wake_policy - when a reader is told that events wait
 * @events: when there are so many; 0 if their number does not matter
 * @delay_ns: when the oldest has waited so long
 *
 * Whichever comes first; a delay of 0 is at once.
 */
struct htw_wake_policy {
	u32			events;
	u64			delay_ns;
};

/**
 * struct htw_ready - the ready list; htwheel.h says which lock protects what
 * @lock: inside the lock of a base
 * @list: expired timers, in the order in which they expired; an event waits in its own timer, so
 *	there is no queue that could overflow. With a ring: those that found no room there
 * @nr: timers in @list
 * @ring: the event ring, or NULL; what is in it is unread like what is in @list, and older
 * @readable: the policy has been met, and something has been unread since. What poll and read go
 *	by; also read without the lock
 * @policy: when @readable becomes true
 * @clock: what htw_timer.fired_ns is measured on
 * @alarm: for @policy.delay_ns; runs at the latest when the oldest event has waited long enough
 * @alerts: times that @readable became true
 * @wait: who waits for @readable
 */
struct htw_ready {
	spinlock_t		lock;
	struct list_head	list;
	unsigned int		nr;
	struct htw_ring		*ring;
	bool			readable;
	struct htw_wake_policy	policy;
	const struct htw_clock	*clock;
	struct hrtimer		alarm;
	u64			alerts;
	wait_queue_head_t	wait;
};

void htw_ready_init(struct htw_ready *ready, const struct htw_clock *clock);
void htw_ready_setup(struct htw_ready *ready, const struct htw_clock *clock,
		     struct htw_wake_policy policy);
void htw_ready_destroy(struct htw_ready *ready);
void htw_ready_push(struct htw_ready *ready, struct htw_timer *timer);
bool htw_ready_publish(struct htw_ready *ready, const struct htwheel_event *event);
void htw_ready_refresh(struct htw_ready *ready);
void htw_ready_take(struct htw_ready *ready, struct htw_timer **timers, unsigned int nr);
void htw_ready_rest(struct htw_ready *ready);
void htw_ready_withdraw(struct htw_ready *ready, struct htw_timer *timer);
unsigned int htw_ready_peek(struct htw_ready *ready, struct htw_timer **out, unsigned int max);
void htw_ready_wake(struct htw_ready *ready);
void htw_ready_look(struct htw_ready *ready);

#endif /* HTW_READY_H */
