// SPDX-License-Identifier: GPL-2.0
/*
 * The state machine of a timer.
 *
 *	            arm                    pass, or deadline passed already
 *	 FREE ---------------> QUEUED ----------------------------------> EXPIRED
 *	  ^  ^                 |   ^                                      | |  |
 *	  |  +-----------------+   +--------------------------------------+ |  |
 *	  |        cancel                        re-arm                     |  |
 *	  +-----------------------------------------------------------------+  |
 *	  |                  cancel: the event is withdrawn                    |
 *	  +--------------------------------------------------------------------+
 *	                     deliver: the event has been read
 *
 * What an operation answers, by the state that it finds:
 *
 *	        | QUEUED          | EXPIRED                        | FREE, or other generation
 *	cancel  | 0, removed      | RES_FIRED, event withdrawn     | -ENOENT
 *	re-arm  | 0, replaced     | RES_FIRED, event withdrawn     | -ENOENT
 *	query   | 0, time left    | RES_FIRED, 0                   | -ENOENT
 *
 * (kunit: htwheel_timer. selftests: cancel, rearm.)
 *
 * The owner's lock serializes everything here but the arrow from QUEUED to EXPIRED, which a pass
 * takes under the base's lock, and the ready lock inside it. So after htw_group_queued() has
 * answered, the answer stands: "queued" because its base's lock is held, "expired" because only the
 * owner can change that.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/poll.h>
#include <linux/sched.h>

#include <kunit/visibility.h>

#include "timer.h"

/* Bin 0 is for less than 2^LATE_SHIFT ns. */
#define LATE_SHIFT	10

static unsigned int late_bin(u64 late_ns)
{
	return min_t(unsigned int, fls64(late_ns >> LATE_SHIFT), HTWHEEL_LATE_BINS - 1);
}

/* Append an expired timer to the ready list. */
static void ready_push(struct htw_timers *timers, struct htw_timer *timer)
{
	lockdep_assert_held(&timers->ready_lock);
	list_add_tail(&timer->node.link, &timers->ready);
	WRITE_ONCE(timers->nr_ready, timers->nr_ready + 1);
}

static void ready_remove(struct htw_timers *timers, struct htw_timer *timer)
{
	lockdep_assert_held(&timers->ready_lock);
	list_del(&timer->node.link);
	WRITE_ONCE(timers->nr_ready, timers->nr_ready - 1);
}

/* Withdraw the event of an expired timer. */
static void ready_withdraw(struct htw_timers *timers, struct htw_timer *timer)
{
	spin_lock_bh(&timers->ready_lock);
	ready_remove(timers, timer);
	spin_unlock_bh(&timers->ready_lock);
}

/*
 * A timer that could not be queued, since its deadline has passed, is ready at once. Its readers
 * are woken by htw_timers_flush(), since wake-ups do not belong under a base's lock.
 */
static void timer_settle(struct htw_timers *timers, struct htw_timer *timer, bool queued)
{
	if (queued)
		return;
	spin_lock_bh(&timers->ready_lock);
	ready_push(timers, timer);
	spin_unlock_bh(&timers->ready_lock);
	timers->wake_owed = true;
}

/**
 * htw_timer_arm() - make a timer
 * @timers: whose
 * @group: the group of operations that this belongs to
 * @deadline_ns: its deadline, at most KTIME_MAX
 * @user_data: for the event
 * @id: receives the name
 *
 * Context: in a group, the owner's lock held. Does not allocate: call htw_timers_reserve() before
 * the group.
 * Return: 0, -ENOSPC at the limit, -ENOMEM if the pool has no free timer.
 */
int htw_timer_arm(struct htw_timers *timers, struct htw_group *group, u64 deadline_ns,
		  u64 user_data, u64 *id)
{
	struct htw_timer *timer;

	if (timers->pool.live >= timers->max)
		return -ENOSPC;
	timer = htw_pool_get(&timers->pool);
	if (!timer)
		return -ENOMEM;
	timer->user_data = user_data;
	timers->books.armed++;
	*id = htw_pool_id(timer);
	timer_settle(timers, timer, htw_group_arm(group, timer, deadline_ns));
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(htw_timer_arm);

/**
 * htw_timer_rearm() - give a timer a new deadline
 * @timers: whose
 * @group: the group of operations that this belongs to
 * @id: its name
 * @deadline_ns: its new deadline, at most KTIME_MAX
 *
 * Context: in a group, the owner's lock held.
 * Return: 0; HTWHEEL_RES_FIRED if it had expired and its event has been withdrawn; -ENOENT.
 */
int htw_timer_rearm(struct htw_timers *timers, struct htw_group *group, u64 id, u64 deadline_ns)
{
	struct htw_timer *timer = htw_pool_find(&timers->pool, id);

	if (!timer)
		return -ENOENT;
	timers->books.armed++;
	timers->books.replaced++;
	if (htw_group_queued(group, timer)) {
		timer_settle(timers, timer, htw_group_rearm(group, timer, deadline_ns));
		return 0;
	}
	ready_withdraw(timers, timer);
	timer_settle(timers, timer, htw_group_arm(group, timer, deadline_ns));
	return HTWHEEL_RES_FIRED;
}
EXPORT_SYMBOL_IF_KUNIT(htw_timer_rearm);

/*
 * Of a queued timer only: the group's time may lie before that of the pass which has just let
 * another one expire, and what has expired has nothing left.
 */
static u64 timer_left_ns(const struct htw_timer *timer, const struct htw_group *group)
{
	return timer->deadline_ns > group->now_ns ? timer->deadline_ns - group->now_ns : 0;
}

/**
 * htw_timer_cancel() - remove a timer
 * @timers: whose
 * @group: the group of operations that this belongs to
 * @id: its name
 * @left_ns: receives the time that was left
 *
 * Context: in a group, the owner's lock held.
 * Return: 0; HTWHEEL_RES_FIRED if it had expired and its event has been withdrawn; -ENOENT.
 */
int htw_timer_cancel(struct htw_timers *timers, struct htw_group *group, u64 id, u64 *left_ns)
{
	struct htw_timer *timer = htw_pool_find(&timers->pool, id);
	int result = 0;

	if (!timer)
		return -ENOENT;
	if (htw_group_queued(group, timer)) {
		*left_ns = timer_left_ns(timer, group);
		htw_group_disarm(group, timer);
	} else {
		*left_ns = 0;
		ready_withdraw(timers, timer);
		result = HTWHEEL_RES_FIRED;
	}
	timers->books.cancelled++;
	htw_pool_put(&timers->pool, timer);
	return result;
}
EXPORT_SYMBOL_IF_KUNIT(htw_timer_cancel);

/**
 * htw_timer_query() - the time that a timer has left
 * @timers: whose
 * @group: the group of operations that this belongs to
 * @id: its name
 * @left_ns: receives the time left, 0 if the deadline has passed
 *
 * Context: in a group, the owner's lock held.
 * Return: 0; HTWHEEL_RES_FIRED if it has expired and its event waits; -ENOENT.
 */
int htw_timer_query(struct htw_timers *timers, struct htw_group *group, u64 id, u64 *left_ns)
{
	struct htw_timer *timer = htw_pool_find(&timers->pool, id);

	if (!timer)
		return -ENOENT;
	if (htw_group_queued(group, timer)) {
		*left_ns = timer_left_ns(timer, group);
		return 0;
	}
	*left_ns = 0;
	return HTWHEEL_RES_FIRED;
}
EXPORT_SYMBOL_IF_KUNIT(htw_timer_query);

/* The owner whose timer @node is. */
static struct htw_timers *node_timers(struct htw_node *node)
{
	return htw_pool_owner(container_of(node, struct htw_timer, node));
}

/* Contexts may take turns in a slot; each is woken once a chunk. */
static void pass_will_wake(struct htw_pass *pass, struct htw_timers *timers)
{
	unsigned int i;

	for (i = pass->nr_wake; i--; ) {
		if (pass->wake[i] == timers)
			return;
	}
	pass->wake[pass->nr_wake++] = timers;
}

/*
 * Take over what a pass found due. The timers of one owner that follow each other share a hold of
 * its lock; so do not let go before another one's comes.
 */
static void timer_expire(struct htw_pass *pass, struct list_head *due)
{
	struct htw_timers *timers = NULL, *owner;
	struct htw_timer *timer;
	struct htw_node *node, *tmp;

	list_for_each_entry_safe(node, tmp, due, link) {
		owner = node_timers(node);
		if (owner != timers) {
			if (timers)
				spin_unlock(&timers->ready_lock);
			timers = owner;
			pass_will_wake(pass, timers);
			spin_lock(&timers->ready_lock);
		}
		list_del(&node->link);
		timer = container_of(node, struct htw_timer, node);
		htw_timer_expired(timer, pass->now_ns);
		ready_push(timers, timer);
	}
	if (timers)
		spin_unlock(&timers->ready_lock);
}

static void timer_wake_all(struct htw_pass *pass)
{
	unsigned int i;

	for (i = 0; i < pass->nr_wake; i++)
		htw_timers_wake(pass->wake[i]);
}

const struct htw_engine_ops htw_timer_engine_ops = {
	.expire	= timer_expire,
	.settle	= timer_wake_all,
};
EXPORT_SYMBOL_IF_KUNIT(htw_timer_engine_ops);

/**
 * htw_timers_wake() - wake who waits, if there is something to read
 * @timers: whose
 *
 * Context: any but hard interrupts, no lock of a base held. @timers may have been destroyed, but
 * its memory must still be there: within an RCU read section, or by the owner.
 */
void htw_timers_wake(struct htw_timers *timers)
{
	/*
	 * Readers look at nr_ready after they have queued themselves, under the wait queue's lock;
	 * wake_up takes that lock after nr_ready was raised. So one of the two sees the other. A
	 * nr_ready that has fallen to 0 again means that somebody has read already.
	 */
	if (READ_ONCE(timers->nr_ready))
		wake_up_interruptible_poll(&timers->wait, EPOLLIN | EPOLLRDNORM);
}

/**
 * htw_timers_flush() - wake who waits, if a group has made something ready
 * @timers: whose
 *
 * Only then: an edge-triggered poller would take each wake-up for news.
 *
 * Context: task, the owner's lock held, after the group.
 */
void htw_timers_flush(struct htw_timers *timers)
{
	if (!timers->wake_owed)
		return;
	timers->wake_owed = false;
	htw_timers_wake(timers);
}
EXPORT_SYMBOL_IF_KUNIT(htw_timers_flush);

/**
 * htw_timer_peek() - the first events that wait, left where they are
 * @timers: whose
 * @out: receives the timers
 * @max: room in @out
 *
 * Nobody but the owner takes timers out of the ready list, so they stay until the owner does
 * something.
 *
 * Context: task, the owner's lock held.
 * Return: how many.
 */
unsigned int htw_timer_peek(struct htw_timers *timers, struct htw_timer **out, unsigned int max)
{
	struct htw_node *node;
	unsigned int nr = 0;

	spin_lock_bh(&timers->ready_lock);
	list_for_each_entry(node, &timers->ready, link) {
		if (nr == max)
			break;
		out[nr++] = container_of(node, struct htw_timer, node);
	}
	spin_unlock_bh(&timers->ready_lock);
	return nr;
}
EXPORT_SYMBOL_IF_KUNIT(htw_timer_peek);

/**
 * htw_timer_deliver() - the events of these timers have been read: they are over
 * @timers: whose
 * @done: from htw_timer_peek()
 * @nr: how many
 *
 * Context: task, the owner's lock held.
 */
void htw_timer_deliver(struct htw_timers *timers, struct htw_timer **done, unsigned int nr)
{
	unsigned int i;

	spin_lock_bh(&timers->ready_lock);
	for (i = 0; i < nr; i++)
		ready_remove(timers, done[i]);
	spin_unlock_bh(&timers->ready_lock);
	for (i = 0; i < nr; i++) {
		timers->late[late_bin(done[i]->fired_ns - done[i]->deadline_ns)]++;
		htw_pool_put(&timers->pool, done[i]);
	}
	timers->books.fired += nr;
}
EXPORT_SYMBOL_IF_KUNIT(htw_timer_deliver);

/**
 * htw_timers_reserve() - see to it that the next arms find free timers
 * @timers: whose
 * @nr: how many arms; those beyond the limit are not provided for
 *
 * Context: task, the owner's lock held; may sleep. Memory is charged to the caller.
 * Return: 0, or -ENOMEM, and then some of the arms will fail with that.
 */
int htw_timers_reserve(struct htw_timers *timers, u64 nr)
{
	struct htw_pool *pool = &timers->pool;
	int err;

	nr = min(nr, timers->max - min(pool->live, timers->max));
	while (pool->free < nr) {
		err = htw_engine_reserve(timers->engine, HTW_CHUNK_PLACES - 1);
		if (err)
			return err;
		err = htw_pool_grow(pool);
		if (err) {
			htw_engine_unreserve(timers->engine, HTW_CHUNK_PLACES - 1);
			return err;
		}
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(htw_timers_reserve);

/**
 * htw_timers_init() - make an empty set of timers
 * @timers: to be filled in
 * @engine: where they will be queued; must outlive them
 * @max: how many there may be at once
 *
 * Context: any.
 */
void htw_timers_init(struct htw_timers *timers, struct htw_engine *engine, u64 max)
{
	*timers = (struct htw_timers){ .engine = engine, .max = max };
	htw_pool_init(&timers->pool, timers);
	spin_lock_init(&timers->ready_lock);
	INIT_LIST_HEAD(&timers->ready);
	init_waitqueue_head(&timers->wait);
}
EXPORT_SYMBOL_IF_KUNIT(htw_timers_init);

/* Take some timers of a chunk, those that are queued, out of their queues. */
static void timers_disarm(struct htw_timers *timers, struct htw_timer *timer, unsigned int nr)
{
	struct htw_group group;

	htw_group_begin(&group, timers->engine);
	for (; nr--; timer++) {
		if (READ_ONCE(timer->state) != HTW_FREE && htw_group_queued(&group, timer))
			htw_group_disarm(&group, timer);
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
	const unsigned int all = HTW_CHUNK_PLACES - 1;
	struct htw_pool *pool = &timers->pool;
	unsigned int place;
	u32 i;

	for (i = 0; i < pool->nr_chunks; i++) {
		for (place = 0; place < all; place += HTW_CHUNK_OPS)
			timers_disarm(timers, &pool->chunks[i]->timer[place],
				      min(HTW_CHUNK_OPS, all - place));
	}
	htw_engine_unreserve(timers->engine, (u64)pool->nr_chunks * all);
	htw_pool_destroy(pool);
}
EXPORT_SYMBOL_IF_KUNIT(htw_timers_destroy);
