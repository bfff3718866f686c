// SPDX-License-Identifier: GPL-2.0
/*
 * Sweeps: one operation on all timers of an owner, and their list.
 *
 * A sweep walks the pool by index (pool.c), so it meets each timer that is there throughout exactly
 * once, whatever happens between two steps. It costs one look at each place of the pool: no list of
 * all timers, and none by tag, has to be kept up in every arm and cancel for its sake.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>

#include <kunit/visibility.h>

#include "delivery.h"
#include "sweep.h"

/* Saturating at both ends; what never comes does not come sooner or later. */
static u64 sweep_shifted_ns(u64 deadline_ns, s64 shift_ns)
{
	if (shift_ns < 0)
		return deadline_ns - min_t(u64, deadline_ns, -shift_ns);
	return min_t(u64, deadline_ns + shift_ns, HTWHEEL_NEVER_NS);
}

/*
 * left * numerator / denominator, rounded down, without 128-bit numbers: with left = q *
 * denominator + r, it is q * numerator + r * numerator / denominator, and the second product has 64
 * bits.
 */
static u64 sweep_scaled_ns(u64 left_ns, u32 numerator, u32 denominator)
{
	u32 rest;
	u64 whole = div_u64_rem(left_ns, denominator, &rest);
	u64 part = div_u64((u64)rest * numerator, denominator);

	if (check_mul_overflow(whole, (u64)numerator, &whole) ||
	    check_add_overflow(whole, part, &whole))
		return HTWHEEL_NEVER_NS;
	return min_t(u64, whole, HTWHEEL_NEVER_NS);
}

/* The new deadline of a queued timer. */
static u64 sweep_deadline_ns(const struct htwheel_mass *mass, u64 deadline_ns,
			     const struct htw_group *group)
{
	u64 left_ns = htw_timer_left_ns(deadline_ns, group);

	if (mass->opcode == HTWHEEL_MASS_SHIFT)
		return sweep_shifted_ns(deadline_ns, mass->shift_ns);
	/* It waits for its tick, or uses its slack. The deadline is what its periods count from. */
	if (!left_ns)
		return deadline_ns;
	left_ns = sweep_scaled_ns(left_ns, mass->numerator, mass->denominator);
	return min_t(u64, group->now_ns + left_ns, HTWHEEL_NEVER_NS);
}

/* Returns whether the timer was one of those that are meant. */
static bool sweep_timer(struct htw_timers *timers, struct htw_group *group,
			const struct htwheel_mass *mass, struct htw_timer *timer)
{
	u64 deadline_ns, left_ns;

	if (mass->flags & HTWHEEL_MASS_TAG && timer->tag != mass->tag)
		return false;
	if (mass->opcode == HTWHEEL_MASS_CANCEL)
		return htw_timer_remove(timers, group, timer, &left_ns) >= 0;
	if (!htw_timer_is_queued(group, timer))
		return false;
	deadline_ns = htw_timer_deadline_ns(timers, timer);
	if (deadline_ns == HTWHEEL_NEVER_NS)
		return false;
	htw_timer_move(timers, group, timer, sweep_deadline_ns(mass, deadline_ns, group));
	return true;
}

/**
 * htw_sweep_mass() - one step of HTWHEEL_MASS_CANCEL, SHIFT or SCALE
 * @timers: whose
 * @mass: what to do; valid
 * @cursor: where to begin; receives where to go on, 0 at the end
 *
 * Context: task, the owner's lock held. Must be followed by htw_timers_flush().
 * Return: timers to which it was done, at most HTW_CHUNK_OPS; may be 0 before the end.
 */
unsigned int htw_sweep_mass(struct htw_timers *timers, const struct htwheel_mass *mass, u64 *cursor)
{
	struct htw_timer *live[HTW_CHUNK_OPS];
	unsigned int i, nr, done = 0;
	struct htw_group group;

	nr = htw_pool_walk(&timers->pool, cursor, live, HTW_CHUNK_OPS);
	if (!nr)
		return 0;
	htw_group_begin(&group, timers->engine);
	for (i = 0; i < nr; i++) {
		done += sweep_timer(timers, &group, mass, live[i]);
		htw_group_breathe(&group);
	}
	htw_group_end(&group);
	return done;
}
EXPORT_SYMBOL_IF_KUNIT(htw_sweep_mass);

/* What only a queued timer has; its base is held. */
static void sweep_dump_queued(const struct htw_timers *timers, const struct htw_timer *timer,
			      const struct htw_group *group, struct htwheel_dump_entry *entry)
{
	struct htw_place place = htw_group_place(group, timer);

	entry->state = HTWHEEL_STATE_ARMED;
	entry->deadline_ns = htw_timer_deadline_ns(timers, timer);
	entry->left_ns = htw_timer_left_ns(entry->deadline_ns, group);
	entry->cpu = timer->cpu;
	entry->level = place.level;
	entry->slot = place.slot;
}

/* Returns whether the timer is still there. */
static bool sweep_dump_timer(struct htw_timers *timers, struct htw_group *group,
			     struct htw_timer *timer, struct htwheel_dump_entry *entry)
{
	bool queued = htw_timer_is_queued(group, timer);

	if (!queued && !htw_delivery_notice(timers, timer))
		return false;
	*entry = (struct htwheel_dump_entry){
		.id		= htw_pool_id(timer),
		.user_data	= timer->user_data,
		.deadline_ns	= timer->deadline_ns,
		.period_ns	= timer->period_ns,
		.slack_ns	= (u64)timer->slack_ticks << timers->engine->config.tick_shift,
		.tag		= timer->tag,
		.policy		= timer->traits & HTW_TRAIT_POLICY,
	};
	if (timer->period_ns)
		entry->flags |= HTWHEEL_PERIODIC;
	if (timer->traits & HTW_TRAIT_KEEP)
		entry->flags |= HTWHEEL_KEEP;
	if (queued)
		sweep_dump_queued(timers, timer, group, entry);
	else
		entry->state = timer->state == HTW_IDLE ? HTWHEEL_STATE_IDLE : HTWHEEL_STATE_FIRED;
	return true;
}

/**
 * htw_sweep_dump() - one step of HTWHEEL_IOC_DUMP
 * @timers: whose
 * @cursor: where to begin; receives where to go on, 0 at the end
 * @entries: receives the timers, in the order of their indices, which are the lower halves of their
 *	names
 * @max: room in @entries, at most HTW_DUMP_STEP
 *
 * Context: task, the owner's lock held. Must be followed by htw_timers_flush().
 * Return: how many entries; may be 0 before the end.
 */
unsigned int htw_sweep_dump(struct htw_timers *timers, u64 *cursor,
			    struct htwheel_dump_entry *entries, unsigned int max)
{
	struct htw_timer *live[HTW_DUMP_STEP];
	struct htw_group group;
	unsigned int i, nr, listed = 0;

	nr = htw_pool_walk(&timers->pool, cursor, live, max);
	if (!nr)
		return 0;
	htw_group_begin(&group, timers->engine);
	for (i = 0; i < nr; i++)
		listed += sweep_dump_timer(timers, &group, live[i], &entries[listed]);
	htw_group_end(&group);
	return listed;
}
EXPORT_SYMBOL_IF_KUNIT(htw_sweep_dump);
