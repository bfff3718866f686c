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

#include "period.h"
#include "timer.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* Bin 0 is for less than 2^LATE_SHIFT ns. */
#define LATE_SHIFT	10

static unsigned int late_bin(u64 late_ns)
{
	return min_t(unsigned int, fls64(late_ns >> LATE_SHIFT), HTWHEEL_LATE_BINS - 1);
}

/*
 * A timer that could not be queued, since its deadline has passed, is ready at once. Its readers
 * are woken by htw_timers_flush(), since wake-ups do not belong under a base's lock.
 */
static void timer_settle(struct htw_timers *timers, struct htw_timer *timer, bool queued)
{
	if (queued)
		return;
	spin_lock_bh(&timers->ready.lock);
	htw_ready_push(&timers->ready, timer);
	spin_unlock_bh(&timers->ready.lock);
	timers->wake_owed = true;
}

/* Begin an arm of a timer that is in no queue and in no list. */
static void timer_begin(struct htw_timers *timers, struct htw_group *group,
			struct htw_timer *timer, u64 deadline_ns)
{
	timers->books.armed++;
	timer_settle(timers, timer, htw_group_arm(group, timer, deadline_ns));
}

/* Its name is stale from now on. What the user was charged for it is given back by flush. */
static void timer_free(struct htw_timers *timers, struct htw_timer *timer)
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

static enum htwheel_policy timer_policy(const struct htw_timer *timer)
{
	return timer->traits & HTW_TRAIT_POLICY;
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
	timer_begin(timers, group, timer, spec->deadline_ns);
	trace_htwheel_arm(timers->number, *id, group->now_ns, timer, spec->slack_ns);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(htw_timer_arm);

/**
 * htw_timer_is_queued() - is a live timer queued?
 * @group: the group of operations that this belongs to
 * @timer: the timer
 *
 * Context: in a group, the owner's lock held.
 * Return: true if it is, until the group's next operation; false if it has expired or is idle.
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
 * Return: 0; HTWHEEL_RES_FIRED if it had expired and its event has been withdrawn.
 */
int htw_timer_move(struct htw_timers *timers, struct htw_group *group, struct htw_timer *timer,
		   u64 deadline_ns)
{
	trace_htwheel_rearm(timers->number, htw_pool_id(timer), group->now_ns, deadline_ns);
	if (htw_timer_is_queued(group, timer)) {
		timers->books.armed++;
		timers->books.replaced++;
		timer_settle(timers, timer, htw_group_rearm(group, timer, deadline_ns));
		return 0;
	}
	if (timer->state == HTW_IDLE) {
		timers->idle--;
		timer_begin(timers, group, timer, deadline_ns);
		return 0;
	}
	htw_ready_withdraw(&timers->ready, timer);
	timers->books.replaced++;
	timer_begin(timers, group, timer, deadline_ns);
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
 * htw_timer_left_ns() - the time that a queued timer has left
 * @timer: a queued timer. (Of another one this would be wrong: the group's time may lie before that
 *	of the pass which has just let it expire, and what has expired has nothing left.)
 * @group: the group whose time is the present
 *
 * Context: in a group, the base's lock held.
 * Return: the time left, 0 if the deadline has passed.
 */
u64 htw_timer_left_ns(const struct htw_timer *timer, const struct htw_group *group)
{
	return timer->deadline_ns > group->now_ns ? timer->deadline_ns - group->now_ns : 0;
}

/**
 * htw_timer_remove() - end a timer
 * @timers: whose
 * @group: the group of operations that this belongs to
 * @timer: a live timer
 * @left_ns: receives the time that was left
 *
 * Context: in a group, the owner's lock held.
 * Return: 0; HTWHEEL_RES_FIRED if it had expired and its event has been withdrawn.
 */
int htw_timer_remove(struct htw_timers *timers, struct htw_group *group, struct htw_timer *timer,
		     u64 *left_ns)
{
	int result = 0;

	trace_htwheel_cancel(timers->number, htw_pool_id(timer), group->now_ns,
			     timer->deadline_ns);
	*left_ns = 0;
	if (htw_timer_is_queued(group, timer)) {
		*left_ns = htw_timer_left_ns(timer, group);
		htw_group_disarm(group, timer);
		timers->books.cancelled++;
	} else if (timer->state == HTW_IDLE) {
		timers->idle--;
	} else {
		htw_ready_withdraw(&timers->ready, timer);
		timers->books.cancelled++;
		result = HTWHEEL_RES_FIRED;
	}
	timer_free(timers, timer);
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
		*left_ns = htw_timer_left_ns(timer, group);
		return 0;
	}
	if (timer->state == HTW_IDLE)
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
				spin_unlock(&timers->ready.lock);
			timers = owner;
			pass_will_wake(pass, timers);
			spin_lock(&timers->ready.lock);
		}
		list_del(&node->link);
		timer = container_of(node, struct htw_timer, node);
		htw_timer_expired(timer, pass->now_ns);
		trace_htwheel_expire(owner->number, htw_pool_id(timer), pass->now_ns,
				     timer->deadline_ns);
		htw_ready_push(&timers->ready, timer);
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

static struct htw_turn timer_turn(const struct htw_timer *timer, u64 now_ns)
{
	return htw_period_turn(timer_policy(timer), timer->deadline_ns, timer->period_ns, now_ns);
}

/**
 * htw_timer_event() - the event of an expired timer
 * @timer: the timer
 * @now_ns: the moment of the delivery, read after the timer was found in the ready list
 * @event: to be filled in
 *
 * Context: task, the owner's lock held.
 */
void htw_timer_event(const struct htw_timer *timer, u64 now_ns, struct htwheel_event *event)
{
	bool stays = timer->period_ns || timer->traits & HTW_TRAIT_KEEP;

	*event = (struct htwheel_event){
		.id		= htw_pool_id(timer),
		.user_data	= timer->user_data,
		.deadline_ns	= timer->deadline_ns,
		.fired_ns	= timer->fired_ns,
		.count		= timer->period_ns ? timer_turn(timer, now_ns).count : 1,
		.tag		= timer->tag,
		.flags		= stays ? HTWHEEL_EVENT_LIVE : 0,
	};
}
EXPORT_SYMBOL_IF_KUNIT(htw_timer_event);

/* What becomes of a timer that is not periodic when its event has been read. */
static void timer_finish(struct htw_timers *timers, struct htw_timer *timer)
{
	if (!(timer->traits & HTW_TRAIT_KEEP)) {
		timer_free(timers, timer);
		return;
	}
	WRITE_ONCE(timer->state, HTW_IDLE);
	timers->idle++;
}

/* Arm the periodic ones among @done again. */
static void timers_next_turn(struct htw_timers *timers, struct htw_timer **done, unsigned int nr,
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
		turn = timer_turn(done[i], now_ns);
		timers->books.missed += turn.count - 1;
		timer_begin(timers, &group, done[i], turn.next_ns);
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
			timer_finish(timers, done[i]);
	}
	timers->books.fired += nr;
	if (periodic)
		timers_next_turn(timers, done, nr, now_ns);
	htw_ready_rest(&timers->ready);
}
EXPORT_SYMBOL_IF_KUNIT(htw_timer_deliver);

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

