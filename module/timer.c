// SPDX-License-Identifier: GPL-2.0
/*
 * The state machine of a timer.
 *
 *	            arm                    pass, or deadline passed already
 *	 FREE ---------------> QUEUED ----------------------------------> EXPIRED
 *	  ^  ^                 |  ^  ^                                    | |  |
 *	  |  +-----------------+  |  +------------------------------------+ |  |
 *	  |        cancel         |    re-arm; deliver a periodic one       |  |
 *	  |                       |                                         |  |
 *	  |        cancel         | re-arm        deliver a kept one        |  |
 *	  |<--------------------- IDLE <------------------------------------+  |
 *	  |                                                                    |
 *	  +--------------------------------------------------------------------+
 *	            cancel: the event is withdrawn; deliver: it has been read
 *
 * With an event ring, an arrow that leads to EXPIRED may go on to delivery at once, and the state
 * is DELIVERED until the owner makes of it what deliver makes (delivery.c).
 *
 * What an operation answers, by the state that it finds:
 *
 *	        | QUEUED          | EXPIRED                        | IDLE        | FREE, or other
 *	        |                 |                                |             | generation
 *	cancel  | 0, removed      | RES_FIRED, event withdrawn     | 0, removed  | -ENOENT
 *	re-arm  | 0, replaced     | RES_FIRED, event withdrawn     | 0, armed    | -ENOENT
 *	query   | 0, time left    | RES_FIRED, 0                   | -ENOENT     | -ENOENT
 *
 * (kunit: htwheel_timer. selftests: cancel, rearm, keep, periodic.)
 *
 * The owner's lock serializes everything here but the arrow from QUEUED to EXPIRED, which a pass
 * takes under the base's lock, and the ready list's lock inside it. So after htw_timer_is_queued()
 * has answered, the answer stands: "queued" because its base's lock is held, the others because
 * only the owner can change them.
 *
 * The books: an arm begins with arm, re-arm, and the next turn of a periodic timer, and ends with
 * cancel, re-arm and deliver. An idle timer has no arm.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>

#include <kunit/visibility.h>

#include "delivery.h"
#include "timer.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/*
 * Send the event of an expired timer where its reader finds it. Returns whether the timer is to be
 * armed again, for @next_ns.
 */
static bool timer_emit(struct htw_timers *timers, struct htw_timer *timer, u64 now_ns, u64 *next_ns)
{
	lockdep_assert_held(&timers->ready.lock);
	if (htw_delivery_publish(timers, timer, now_ns, next_ns))
		return timer->period_ns;
	htw_ready_push(&timers->ready, timer);
	return false;
}

/*
 * A timer that could not be queued, since its deadline has passed, is ready at once. Its readers
 * are woken by htw_timers_flush(), since wake-ups do not belong under a base's lock.
 */
static void timer_settle(struct htw_timers *timers, struct htw_group *group,
			 struct htw_timer *timer, bool queued)
{
	bool again;
	u64 next_ns;

	if (queued)
		return;
	timers->wake_owed = true;
	spin_lock_bh(&timers->ready.lock);
	again = timer_emit(timers, timer, group->now_ns, &next_ns);
	spin_unlock_bh(&timers->ready.lock);
	if (!again || htw_group_arm(group, timer, next_ns))
		return;
	/* A burst. The rest of it waits, as it would take too long here. */
	spin_lock_bh(&timers->ready.lock);
	htw_ready_push(&timers->ready, timer);
	spin_unlock_bh(&timers->ready.lock);
}

/**
 * htw_timer_begin() - begin an arm
 * @timers: whose
 * @group: the group of operations that this belongs to
 * @timer: a timer that is in no queue and in no list
 * @deadline_ns: its deadline, at most KTIME_MAX
 *
 * Context: in a group, the owner's lock held.
 */
void htw_timer_begin(struct htw_timers *timers, struct htw_group *group, struct htw_timer *timer,
		     u64 deadline_ns)
{
	timers->books.armed++;
	timer_settle(timers, group, timer, htw_group_arm(group, timer, deadline_ns));
}

/**
 * htw_timer_free() - end a timer; its name is stale from now on
 * @timers: whose
 * @timer: a timer that is in no queue and in no list
 *
 * Context: the owner's lock held. Must be followed by htw_timers_flush(), which gives back what the
 * user was charged for it.
 */
void htw_timer_free(struct htw_timers *timers, struct htw_timer *timer)
{
	htw_pool_put(&timers->pool, timer);
	timers->credit++;
}

/*
 * Of a batch, htw_timers_reserve() has taken credit for all arms at once, as far as there was some.
 */
static bool timer_has_credit(struct htw_timers *timers)
{
	if (!timers->credit)
		timers->credit = htw_user_charge(timers->user, 1);
	return timers->credit;
}

/* Longer slack than the field holds is legal to cut: the timer only has less of it. */
static u32 timer_slack_ticks(const struct htw_timers *timers, u64 slack_ns)
{
	return min_t(u64, slack_ns >> timers->engine->config.tick_shift, U32_MAX);
}

/**
 * htw_timer_arm() - make a timer
 * @timers: whose
 * @group: the group of operations that this belongs to
 * @spec: what it is to be
 * @id: receives the name
 *
 * Context: in a group, the owner's lock held. Does not allocate: call htw_timers_reserve() before
 * the group.
 * Return: 0, -ENOSPC at the limit, -EDQUOT at the user's, -ENOMEM if the pool has no free timer.
 */
int htw_timer_arm(struct htw_timers *timers, struct htw_group *group,
		  const struct htw_timer_spec *spec, u64 *id)
{
	struct htw_timer *timer;

	if (timers->pool.live >= timers->max)
		return -ENOSPC;
	if (!timer_has_credit(timers))
		return -EDQUOT;
	timer = htw_pool_get(&timers->pool);
	/* What the user lacked a moment ago was not provided for, though it may be there by now. */
	if (!timer)
		return timers->quota_short ? -EDQUOT : -ENOMEM;
	timers->credit--;
	timer->period_ns = spec->period_ns;
	timer->user_data = spec->user_data;
	timer->tag = spec->tag;
	timer->slack_ticks = timer_slack_ticks(timers, spec->slack_ns);
	timer->traits = spec->policy | (spec->keep ? HTW_TRAIT_KEEP : 0);
	*id = htw_pool_id(timer);
	if (timers->table)
		htw_table_reset(timers->table, (u32)*id);
	htw_timer_begin(timers, group, timer, spec->deadline_ns);
	trace_htwheel_arm(timers->number, timer, group->now_ns, spec->slack_ns);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(htw_timer_arm);

/**
 * htw_timer_is_queued() - is a live timer queued?
 * @group: the group of operations that this belongs to
 * @timer: the timer
 *
 * Context: in a group, the owner's lock held.
 * Return: true if it is, until the group's next operation; false if it has expired or is idle, and
 * then nobody but the owner changes its state.
 */
bool htw_timer_is_queued(struct htw_group *group, struct htw_timer *timer)
{
	/*
	 * Nobody but the owner changes IDLE. EXPIRED has to be asked for under the base's lock all
	 * the same: the pass that has just written it may not be through with the timer.
	 */
	return READ_ONCE(timer->state) != HTW_IDLE && htw_group_queued(group, timer);
}

/**
 * htw_timer_move() - give a timer a new deadline
 * @timers: whose
 * @group: the group of operations that this belongs to
 * @timer: a live timer
 * @deadline_ns: its new deadline, at most KTIME_MAX
 *
 * Context: in a group, the owner's lock held.
 * Return: 0; HTWHEEL_RES_FIRED if it had expired and its event has been withdrawn; -ENOENT if the
 * event was delivered meanwhile and the timer ended with that.
 */
int htw_timer_move(struct htw_timers *timers, struct htw_group *group, struct htw_timer *timer,
		   u64 deadline_ns)
{
	bool queued = htw_timer_is_queued(group, timer);

	if (!queued && !htw_delivery_notice(timers, timer))
		return -ENOENT;
	trace_htwheel_rearm(timers->number, timer, group->now_ns, deadline_ns);
	if (timers->table)
		htw_table_reset(timers->table, htw_pool_index(timer));
	if (queued) {
		timers->books.armed++;
		timers->books.replaced++;
		timer_settle(timers, group, timer, htw_group_rearm(group, timer, deadline_ns));
		return 0;
	}
	if (timer->state == HTW_IDLE) {
		timers->idle--;
		htw_timer_begin(timers, group, timer, deadline_ns);
		return 0;
	}
	htw_ready_withdraw(&timers->ready, timer);
	timers->books.replaced++;
	htw_timer_begin(timers, group, timer, deadline_ns);
	return HTWHEEL_RES_FIRED;
}

/**
 * htw_timer_rearm() - give the timer of a name a new deadline
 * @timers: whose
 * @group: the group of operations that this belongs to
 * @id: its name
 * @deadline_ns: its new deadline, at most KTIME_MAX
 *
 * Context: in a group, the owner's lock held.
 * Return: as htw_timer_move(); -ENOENT.
 */
int htw_timer_rearm(struct htw_timers *timers, struct htw_group *group, u64 id, u64 deadline_ns)
{
	struct htw_timer *timer = htw_pool_find(&timers->pool, id);

	return timer ? htw_timer_move(timers, group, timer, deadline_ns) : -ENOENT;
}
EXPORT_SYMBOL_IF_KUNIT(htw_timer_rearm);

/**
 * htw_timer_deadline_ns() - the deadline of a queued timer
 * @timers: whose
 * @timer: a queued timer
 *
 * Context: in a group, the base's lock held.
 * Return: its deadline, postponed by what the deadline table says.
 */
u64 htw_timer_deadline_ns(const struct htw_timers *timers, const struct htw_timer *timer)
{
	/* The index is looked up only where it is needed: it lies in another cache line. */
	if (!timers->table)
		return timer->deadline_ns;
	return htw_table_deadline_ns(timers->table, htw_pool_index(timer), timer->deadline_ns);
}

/**
 * htw_timer_left_ns() - the time that a deadline leaves
 * @deadline_ns: the deadline of a queued timer. (Of another one this would be wrong: the group's
 *	time may lie before that
 *	of the pass which has just let it expire, and what has expired has nothing left.)
 * @group: the group whose time is the present
 *
 * Context: in a group, the base's lock held.
 * Return: the time left, 0 if the deadline has passed.
 */
u64 htw_timer_left_ns(u64 deadline_ns, const struct htw_group *group)
{
	return deadline_ns > group->now_ns ? deadline_ns - group->now_ns : 0;
}

/**
 * htw_timer_remove() - end a timer
 * @timers: whose
 * @group: the group of operations that this belongs to
 * @timer: a live timer
 * @left_ns: receives the time that was left
 *
 * Context: in a group, the owner's lock held.
 * Return: as htw_timer_move().
 */
int htw_timer_remove(struct htw_timers *timers, struct htw_group *group, struct htw_timer *timer,
		     u64 *left_ns)
{
	bool queued = htw_timer_is_queued(group, timer);
	int result = 0;

	if (!queued && !htw_delivery_notice(timers, timer))
		return -ENOENT;
	trace_htwheel_cancel(timers->number, timer, group->now_ns, timer->deadline_ns);
	*left_ns = 0;
	if (queued) {
		*left_ns = htw_timer_left_ns(htw_timer_deadline_ns(timers, timer), group);
		htw_group_disarm(group, timer);
		timers->books.cancelled++;
	} else if (timer->state == HTW_IDLE) {
		timers->idle--;
	} else {
		htw_ready_withdraw(&timers->ready, timer);
		timers->books.cancelled++;
		result = HTWHEEL_RES_FIRED;
	}
	htw_timer_free(timers, timer);
	return result;
}

/**
 * htw_timer_cancel() - end the timer of a name
 * @timers: whose
 * @group: the group of operations that this belongs to
 * @id: its name
 * @left_ns: receives the time that was left
 *
 * Context: in a group, the owner's lock held.
 * Return: as htw_timer_remove(); -ENOENT.
 */
int htw_timer_cancel(struct htw_timers *timers, struct htw_group *group, u64 id, u64 *left_ns)
{
	struct htw_timer *timer = htw_pool_find(&timers->pool, id);

	return timer ? htw_timer_remove(timers, group, timer, left_ns) : -ENOENT;
}
EXPORT_SYMBOL_IF_KUNIT(htw_timer_cancel);

/**
 * htw_timer_query() - the time that the timer of a name has left
 * @timers: whose
 * @group: the group of operations that this belongs to
 * @id: its name
 * @left_ns: receives the time left, 0 if the deadline has passed
 *
 * Context: in a group, the owner's lock held.
 * Return: 0; HTWHEEL_RES_FIRED if it has expired and its event waits; -ENOENT, also if it is idle:
 * it has no deadline to ask about (FAULTS B25).
 */
int htw_timer_query(struct htw_timers *timers, struct htw_group *group, u64 id, u64 *left_ns)
{
	struct htw_timer *timer = htw_pool_find(&timers->pool, id);

	if (!timer)
		return -ENOENT;
	if (htw_timer_is_queued(group, timer)) {
		*left_ns = htw_timer_left_ns(htw_timer_deadline_ns(timers, timer), group);
		return 0;
	}
	if (timer->state != HTW_EXPIRED)
		return -ENOENT;
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
 * The deadline of a timer has come. Unless the table knows of a later one: its event finds its way,
 * its readers will be woken, and the next turn of a periodic one begins.
 */
static void timer_come_up(struct htw_pass *pass, struct htw_timers *timers, struct htw_timer *timer)
{
	u64 deadline_ns = htw_timer_deadline_ns(timers, timer), next_ns;

	if (deadline_ns > pass->now_ns) {
		timers->delivered.postponed++;
		htw_base_requeue(pass, timer, deadline_ns);
		return;
	}
	timer->deadline_ns = deadline_ns;
	pass_will_wake(pass, timers);
	htw_timer_expired(timer, pass->now_ns);
	trace_htwheel_expire(timers->number, timer, pass->now_ns, deadline_ns);
	if (timer_emit(timers, timer, pass->now_ns, &next_ns))
		htw_base_requeue(pass, timer, next_ns);
}

/*
 * Take over what a pass found due. The timers of one owner that follow each other share a hold of
 * its lock; so do not let go before another one's comes.
 */
static void timer_expire(struct htw_pass *pass, struct list_head *due)
{
	struct htw_timers *timers = NULL, *owner;
	struct htw_node *node, *tmp;

	list_for_each_entry_safe(node, tmp, due, link) {
		owner = node_timers(node);
		if (owner != timers) {
			if (timers)
				spin_unlock(&timers->ready.lock);
			timers = owner;
			spin_lock(&timers->ready.lock);
		}
		list_del(&node->link);
		timer_come_up(pass, timers, container_of(node, struct htw_timer, node));
	}
	if (timers)
		spin_unlock(&timers->ready.lock);
}

static void timer_wake_all(struct htw_pass *pass)
{
	struct htw_timers *timers;
	unsigned int i;

	for (i = 0; i < pass->nr_wake; i++) {
		timers = pass->wake[i];
		htw_ready_wake(&timers->ready);
	}
}

const struct htw_engine_ops htw_timer_engine_ops = {
	.expire	= timer_expire,
	.settle	= timer_wake_all,
};
EXPORT_SYMBOL_IF_KUNIT(htw_timer_engine_ops);

/**
 * htw_timers_flush() - what is left to do after operations, when no lock of a base is held
 * @timers: whose
 *
 * Gives back the credit that was not used, and wakes who waits if something was made ready: only
 * then, since an edge-triggered poller would take each wake-up for news. (One who arms in the past
 * and cancels that in one batch gives a needless wake-up to himself.)
 *
 * Context: task, the owner's lock held.
 */
void htw_timers_flush(struct htw_timers *timers)
{
	if (timers->credit)
		htw_user_uncharge(timers->user, timers->credit);
	timers->credit = 0;
	if (!timers->wake_owed)
		return;
	timers->wake_owed = false;
	htw_ready_wake(&timers->ready);
}
EXPORT_SYMBOL_IF_KUNIT(htw_timers_flush);

