// SPDX-License-Identifier: GPL-2.0
/*
 * The ready list, and the wake-up policy.
 *
 * One flag, readable, is the answer to "would read() return an event?" for poll, for read itself
 * and for whoever is woken; so they cannot disagree (I6). It rises when the policy is met: at once,
 * or when enough events wait, or when the oldest has waited long enough. It falls when the last
 * event is gone, and not before: a reader that has been told comes for all of them.
 *
 *	nr	0    1    2 ... events          0
 *	readable	                 |---------|
 *	alarm	     started  ...   (or here)
 *
 * The alarm is started by the first event of an empty list and looks at the oldest when it fires:
 * if that one has not waited long enough, since those before it were withdrawn, the alarm goes on.
 * So it is never late, nobody has to move it when an event is withdrawn, and one that finds nothing
 * to do costs one softirq.
 *
 * With an event ring, what userspace has taken from it is only known when somebody looks: at the
 * next event, when the alarm fires, and when somebody polls. Until then readable may stand though
 * nothing is left, and nobody notices, since each of these looks first. Looking and raising both
 * happen under the lock, so a poll that finds nothing comes before the event that raises, and is
 * woken by it. An alarm is running whenever something is unread and readable has not been raised.
 */
#include <linux/ktime.h>
#include <linux/poll.h>

#include <kunit/visibility.h>

#include "compat.h"
#include "ready.h"

/* Tell the readers; who calls wakes them, once the locks are gone. */
static void ready_raise(struct htw_ready *ready)
{
	lockdep_assert_held(&ready->lock);
	ready->alerts++;
	/* Pairs with READ_ONCE() in htw_event_poll() and event_wait(); see htw_ready_wake(). */
	WRITE_ONCE(ready->readable, true);
}

static void ready_start_alarm(struct htw_ready *ready, u64 expires_ns)
{
	lockdep_assert_held(&ready->lock);
	if (!ready->clock->live)
		return;
	/* On this CPU: no interrupt is sent to another one. */
	hrtimer_start(&ready->alarm, ns_to_ktime(min_t(u64, expires_ns, KTIME_MAX)),
		      HRTIMER_MODE_ABS_PINNED_SOFT);
}

/* Events that wait to be read. */
static u64 ready_unread(const struct htw_ready *ready)
{
	return ready->nr + (ready->ring ? htw_ring_used(ready->ring) : 0ULL);
}

/* When the oldest of them fired. */
static u64 ready_oldest_ns(const struct htw_ready *ready)
{
	if (ready->ring && htw_ring_used(ready->ring))
		return htw_ring_oldest_ns(ready->ring);
	/* Userspace may just have taken the last one. */
	if (!ready->nr)
		return 0;
	return list_first_entry(&ready->list, struct htw_timer, ready_link)->fired_ns;
}

/* Is nothing left? Then the policy begins anew. */
static void ready_settle(struct htw_ready *ready)
{
	lockdep_assert_held(&ready->lock);
	if (ready->readable && !ready_unread(ready))
		WRITE_ONCE(ready->readable, false);
}

/*
 * Has userspace emptied the ring? Without one this is not for others to ask: the owner may have
 * taken the last event and be about to bring its next turn.
 */
static void ready_settle_ring(struct htw_ready *ready)
{
	if (ready->ring)
		ready_settle(ready);
}

/* An event has come. */
static void ready_arrived(struct htw_ready *ready, u64 fired_ns)
{
	const struct htw_wake_policy *policy = &ready->policy;
	u64 unread;

	if (ready->readable)
		return;
	unread = ready_unread(ready);
	if (!policy->delay_ns || (policy->events && unread >= policy->events))
		ready_raise(ready);
	else if (unread <= 1)
		ready_start_alarm(ready, fired_ns + policy->delay_ns);
}

/**
 * htw_ready_look() - raise readable if the oldest event has waited long enough
 * @ready: the list
 *
 * For the alarm, and for who moves a clock that no alarm can wait for.
 *
 * Context: softirqs off. The owner's memory must be there, as for htw_ready_wake().
 */
void htw_ready_look(struct htw_ready *ready)
{
	bool raised = false;
	u64 due_ns;

	spin_lock(&ready->lock);
	ready_settle_ring(ready);
	if (!ready->readable && ready_unread(ready)) {
		due_ns = ready_oldest_ns(ready) + ready->policy.delay_ns;
		raised = due_ns <= htw_clock_now_ns(ready->clock);
		if (raised)
			ready_raise(ready);
		else
			ready_start_alarm(ready, due_ns);
	}
	spin_unlock(&ready->lock);
	/* Only then: an edge-triggered poller would take each wake-up for news. */
	if (raised)
		htw_ready_wake(ready);
}
EXPORT_SYMBOL_IF_KUNIT(htw_ready_look);

static enum hrtimer_restart ready_alarm(struct hrtimer *alarm)
{
	htw_ready_look(container_of(alarm, struct htw_ready, alarm));
	/* It has been started again where that is needed. */
	return HRTIMER_NORESTART;
}

/**
 * htw_ready_push() - append an expired timer
 * @ready: the list, its lock held
 * @timer: a timer in HTW_EXPIRED, in no list
 *
 * The caller owes a htw_ready_wake(), without locks.
 *
 * Context: softirqs off.
 */
void htw_ready_push(struct htw_ready *ready, struct htw_timer *timer)
{
	lockdep_assert_held(&ready->lock);
	ready_settle_ring(ready);
	list_add_tail(&timer->ready_link, &ready->list);
	ready->nr++;
	if (ready->ring)
		htw_ring_wait(ready->ring, true);
	ready_arrived(ready, timer->fired_ns);
}

/**
 * htw_ready_publish() - put an event into the ring
 * @ready: the list, its lock held
 * @event: the event, its times on the kernel's clock
 *
 * The caller owes a htw_ready_wake(), without locks.
 *
 * Context: softirqs off.
 * Return: false if there is no ring, or no room in it, or events wait outside, which are older.
 */
bool htw_ready_publish(struct htw_ready *ready, const struct htwheel_event *event)
{
	lockdep_assert_held(&ready->lock);
	if (!ready->ring || ready->nr)
		return false;
	ready_settle(ready);
	if (!htw_ring_put(ready->ring, event))
		return false;
	ready_arrived(ready, event->fired_ns);
	return true;
}

/**
 * htw_ready_refresh() - before somebody polls: look how far userspace has emptied the ring
 * @ready: the list
 *
 * Context: task.
 */
void htw_ready_refresh(struct htw_ready *ready)
{
	spin_lock_bh(&ready->lock);
	ready_settle(ready);
	/* If the head has been nonsense, an event may have come without an alarm. */
	if (!ready->readable && ready_unread(ready))
		ready_start_alarm(ready, ready_oldest_ns(ready) + ready->policy.delay_ns);
	spin_unlock_bh(&ready->lock);
}
EXPORT_SYMBOL_IF_KUNIT(htw_ready_refresh);

/**
 * htw_ready_take() - take timers off the list
 * @ready: the list
 * @timers: timers in it
 * @nr: how many
 *
 * An empty list stays readable until htw_ready_rest(), which has to follow: a timer that comes back
 * in between (the next of a burst) belongs to what the reader was told of.
 *
 * Context: task, the owner's lock held; nobody else takes timers off.
 */
void htw_ready_take(struct htw_ready *ready, struct htw_timer **timers, unsigned int nr)
{
	unsigned int i;

	spin_lock_bh(&ready->lock);
	for (i = 0; i < nr; i++)
		list_del(&timers[i]->ready_link);
	ready->nr -= nr;
	if (ready->ring && !ready->nr)
		htw_ring_wait(ready->ring, false);
	spin_unlock_bh(&ready->lock);
}

/**
 * htw_ready_rest() - no longer readable if nothing is left
 * @ready: the list
 *
 * Context: task, the owner's lock held.
 */
void htw_ready_rest(struct htw_ready *ready)
{
	spin_lock_bh(&ready->lock);
	ready_settle(ready);
	spin_unlock_bh(&ready->lock);
}

/**
 * htw_ready_withdraw() - take back the event of a timer
 * @ready: the list
 * @timer: a timer in it
 *
 * Context: task, the owner's lock held.
 */
void htw_ready_withdraw(struct htw_ready *ready, struct htw_timer *timer)
{
	htw_ready_take(ready, &timer, 1);
	htw_ready_rest(ready);
}

/**
 * htw_ready_peek() - the first events that may be read, left where they are
 * @ready: the list
 * @out: receives the timers
 * @max: room in @out
 *
 * Nobody but the owner takes timers off, so they stay until the owner does something.
 *
 * Context: task, the owner's lock held.
 * Return: how many; 0 as long as the policy has not been met. With a ring, the policy is for poll
 * alone; 0 as long as the ring, whose events are older, is not empty.
 */
unsigned int htw_ready_peek(struct htw_ready *ready, struct htw_timer **out, unsigned int max)
{
	struct htw_timer *timer;
	unsigned int nr = 0;

	spin_lock_bh(&ready->lock);
	if (ready->ring ? !htw_ring_readable(ready->ring) : ready->readable) {
		list_for_each_entry(timer, &ready->list, ready_link) {
			if (nr == max)
				break;
			out[nr++] = timer;
		}
	}
	spin_unlock_bh(&ready->lock);
	return nr;
}
EXPORT_SYMBOL_IF_KUNIT(htw_ready_peek);

/**
 * htw_ready_wake() - wake who waits, if there is something to read
 * @ready: the list
 *
 * Context: any but hard interrupts, no lock of a base held. The owner may be ending, but its memory
 * must still be there: within an RCU read section, or by the owner.
 */
void htw_ready_wake(struct htw_ready *ready)
{
	/*
	 * Readers look at readable after they have queued themselves, under the wait queue's lock;
	 * wake_up takes that lock after readable was raised. So one of the two sees the other. One
	 * that has fallen again means that somebody has read already.
	 */
	if (READ_ONCE(ready->readable))
		wake_up_interruptible_poll(&ready->wait, EPOLLIN | EPOLLRDNORM);
}

/**
 * htw_ready_setup() - choose clock and policy
 * @ready: an empty list
 * @clock: what the timers' fired_ns will be measured on
 * @policy: when readers are told
 *
 * Context: task; nothing can expire yet.
 */
void htw_ready_setup(struct htw_ready *ready, const struct htw_clock *clock,
		     struct htw_wake_policy policy)
{
	ready->clock = clock;
	ready->policy = policy;
	hrtimer_setup(&ready->alarm, ready_alarm, clock->hrtimer_clock,
		      HRTIMER_MODE_ABS_PINNED_SOFT);
}
EXPORT_SYMBOL_IF_KUNIT(htw_ready_setup);

/**
 * htw_ready_init() - make an empty list whose readers are told at once
 * @ready: zeroed memory
 * @clock: what the timers' fired_ns will be measured on
 *
 * Context: any.
 */
void htw_ready_init(struct htw_ready *ready, const struct htw_clock *clock)
{
	spin_lock_init(&ready->lock);
	INIT_LIST_HEAD(&ready->list);
	init_waitqueue_head(&ready->wait);
	htw_ready_setup(ready, clock, (struct htw_wake_policy){});
}

/**
 * htw_ready_destroy() - stop the alarm
 * @ready: the list; nothing can expire any more
 *
 * Context: task; may wait for the alarm.
 */
void htw_ready_destroy(struct htw_ready *ready)
{
	hrtimer_cancel(&ready->alarm);
}
