// SPDX-License-Identifier: GPL-2.0
/*
 * Delivery, of two kinds.
 *
 * By read(2): the owner copies the event out, and htw_timer_deliver() makes of the timer what
 * becomes of it then, under the owner's lock.
 *
 * Through the event ring: the event is written where userspace reads it without a call, at the
 * moment at which the timer expires. That is mostly in a pass, which has the locks of base and
 * ready list but not the owner's. A periodic timer goes back into the queue of that base at once.
 * Any other one is put aside in HTW_DELIVERED, and the owner's next operation frees it, or keeps
 * it; the same goes for the books. The owner catches up before it looks at anything, so nobody can
 * tell the difference.
 *
 *	pass					owner
 *	event -> ring, timer -> done,
 *	  delivered.books	(ready lock)
 *						catch up: done, books (ready lock)
 *						operation on the timer's name: -ENOENT
 *
 * A timer that is delivered after the owner has caught up, and before the owner comes to its name,
 * is noticed by its state.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/sched.h>

#include <kunit/visibility.h>

#include "delivery.h"
#include "period.h"

/* Bin 0 is for less than 2^LATE_SHIFT ns. */
#define LATE_SHIFT	10

static unsigned int late_bin(u64 late_ns)
{
	return min_t(unsigned int, fls64(late_ns >> LATE_SHIFT), HTWHEEL_LATE_BINS - 1);
}

static enum htwheel_policy delivery_policy(const struct htw_timer *timer)
{
	return timer->traits & HTW_TRAIT_POLICY;
}

static struct htw_turn delivery_turn(const struct htw_timer *timer, u64 now_ns)
{
	return htw_period_turn(delivery_policy(timer), timer->deadline_ns, timer->period_ns,
			       now_ns);
}

/**
 * htw_timer_event() - the event of an expired timer
 * @timer: the timer
 * @now_ns: the moment of the delivery, read after the timer has expired
 * @event: to be filled in
 *
 * Context: the timer stays expired: it is in the ready list and the owner's lock is held, or it is
 * in no list and the lock of its base, or the owner's, is held.
 */
void htw_timer_event(const struct htw_timer *timer, u64 now_ns, struct htwheel_event *event)
{
	bool stays = timer->period_ns || timer->traits & HTW_TRAIT_KEEP;

	*event = (struct htwheel_event){
		.id		= htw_pool_id(timer),
		.user_data	= timer->user_data,
		.deadline_ns	= timer->deadline_ns,
		.fired_ns	= timer->fired_ns,
		.count		= timer->period_ns ? delivery_turn(timer, now_ns).count : 1,
		.tag		= timer->tag,
		.flags		= stays ? HTWHEEL_EVENT_LIVE : 0,
	};
}
EXPORT_SYMBOL_IF_KUNIT(htw_timer_event);

/* What becomes of a timer that is not periodic when its event has been delivered. */
static void delivery_finish(struct htw_timers *timers, struct htw_timer *timer)
{
	if (!(timer->traits & HTW_TRAIT_KEEP)) {
		htw_timer_free(timers, timer);
		return;
	}
	WRITE_ONCE(timer->state, HTW_IDLE);
	timers->idle++;
}

/* Arm the periodic ones among @done again. */
static void delivery_next_turns(struct htw_timers *timers, struct htw_timer **done, unsigned int nr,
				u64 now_ns)
{
	struct htw_group group;
	struct htw_turn turn;
	unsigned int i;

	htw_group_begin(&group, timers->engine);
	/* The moment of the events: a period that has ended since is the next one's to count. */
	group.now_ns = now_ns;
	for (i = 0; i < nr; i++) {
		/* The others are free or idle by now; nobody has touched the field since. */
		if (!done[i]->period_ns)
			continue;
		turn = delivery_turn(done[i], now_ns);
		timers->books.missed += turn.count - 1;
		htw_timer_begin(timers, &group, done[i], turn.next_ns);
	}
	htw_group_end(&group);
}

/**
 * htw_timer_deliver() - the events of these timers have been read
 * @timers: whose
 * @done: from htw_ready_peek()
 * @nr: how many
 * @now_ns: as given to htw_timer_event()
 *
 * Only now is a periodic timer armed again. So one that nobody reads costs nothing, however short
 * its period (FAULTS B70; the rule is timerfd's).
 *
 * Context: task, the owner's lock held. Must be followed by htw_timers_flush().
 */
void htw_timer_deliver(struct htw_timers *timers, struct htw_timer **done, unsigned int nr,
		       u64 now_ns)
{
	unsigned int i, periodic = 0;

	htw_ready_take(&timers->ready, done, nr);
	for (i = 0; i < nr; i++) {
		timers->late[late_bin(done[i]->fired_ns - done[i]->deadline_ns)]++;
		if (done[i]->period_ns)
			periodic++;
		else
			delivery_finish(timers, done[i]);
	}
	timers->books.fired += nr;
	if (periodic)
		delivery_next_turns(timers, done, nr, now_ns);
	htw_ready_rest(&timers->ready);
}
EXPORT_SYMBOL_IF_KUNIT(htw_timer_deliver);

/**
 * htw_delivery_publish() - deliver the event of a timer through the ring
 * @timers: whose
 * @timer: a timer in HTW_EXPIRED, in no list
 * @now_ns: the moment
 * @next_ns: of a periodic timer: receives its next deadline, for which it is to be armed by the
 *	caller; that arm is in the books already
 *
 * Context: softirqs off, the lock of the ready list held, and that of the timer's base or the
 * owner's.
 * Return: false if there is no ring, or no room in it: then nothing has happened.
 */
bool htw_delivery_publish(struct htw_timers *timers, struct htw_timer *timer, u64 now_ns,
			  u64 *next_ns)
{
	struct htw_delivered *delivered = &timers->delivered;
	struct htwheel_event event;
	struct htw_turn turn;

	lockdep_assert_held(&timers->ready.lock);
	if (!timers->ready.ring)
		return false;
	htw_timer_event(timer, now_ns, &event);
	if (!htw_ready_publish(&timers->ready, &event))
		return false;
	delivered->books.fired++;
	delivered->late[late_bin(event.fired_ns - event.deadline_ns)]++;
	if (!timer->period_ns) {
		WRITE_ONCE(timer->state, HTW_DELIVERED);
		list_add_tail(&timer->ready_link, &delivered->done);
		return true;
	}
	turn = delivery_turn(timer, now_ns);
	delivered->books.missed += turn.count - 1;
	delivered->books.armed++;
	*next_ns = turn.next_ns;
	return true;
}

/**
 * htw_delivery_notice() - notice that the event of a timer was delivered
 * @timers: whose
 * @timer: a live timer that is not queued
 *
 * Context: the owner's lock held. Must be followed by htw_timers_flush().
 * Return: false if that was the end of the timer; true if it is still there, in HTW_EXPIRED or
 * HTW_IDLE.
 */
bool htw_delivery_notice(struct htw_timers *timers, struct htw_timer *timer)
{
	if (timer->state != HTW_DELIVERED)
		return true;
	spin_lock_bh(&timers->ready.lock);
	list_del(&timer->ready_link);
	spin_unlock_bh(&timers->ready.lock);
	delivery_finish(timers, timer);
	return timer->state == HTW_IDLE;
}

static void delivery_add_books(struct htw_timers *timers, struct htw_delivered *delivered)
{
	unsigned int i;

	timers->books.armed += delivered->books.armed;
	timers->books.fired += delivered->books.fired;
	timers->books.missed += delivered->books.missed;
	delivered->books = (struct htw_books){};
	for (i = 0; i < HTWHEEL_LATE_BINS; i++) {
		timers->late[i] += delivered->late[i];
		delivered->late[i] = 0;
	}
}

/**
 * htw_delivery_catch_up() - notice all that was delivered through the ring
 * @timers: whose
 *
 * Before anything else that the owner does. Takes time for each event that was delivered since the
 * last time: what the operation that cancelled or read it would have taken.
 *
 * Context: task, the owner's lock held; may sleep.
 */
void htw_delivery_catch_up(struct htw_timers *timers)
{
	struct htw_timer *timer, *tmp;
	LIST_HEAD(done);

	if (!timers->ready.ring)
		return;
	spin_lock_bh(&timers->ready.lock);
	list_splice_init(&timers->delivered.done, &done);
	delivery_add_books(timers, &timers->delivered);
	spin_unlock_bh(&timers->ready.lock);
	list_for_each_entry_safe(timer, tmp, &done, ready_link) {
		delivery_finish(timers, timer);
		cond_resched();
	}
	htw_timers_flush(timers);
}
EXPORT_SYMBOL_IF_KUNIT(htw_delivery_catch_up);
