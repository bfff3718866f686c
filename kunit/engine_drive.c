// SPDX-License-Identifier: GPL-2.0
/*
 * The rig of the suite htwheel_engine: operations, time, and what has to hold afterwards.
 */
#include <linux/minmax.h>

#include "engine_rig.h"

/* Passes that follow the hrtimer may not be more than this, or it runs for ever. */
#define ERIG_MANY_PASSES	1000000

struct htw_base *htw_erig_base(const struct htw_erig *rig, unsigned int cpu)
{
	return per_cpu_ptr(rig->engine->bases, cpu);
}

u64 htw_erig_next(const struct htw_base *base)
{
	return base->queue->design->next(base->queue);
}

/* What was armed: queued if its deadline lies ahead, expired if not, and nothing else. */
static void erig_check_armed(struct htw_erig *rig, const struct htw_group *group,
			     struct htw_erig_timer *entry, u64 deadline_ns, bool queued)
{
	const struct htw_timer *timer = &entry->timer;
	struct htw_fault *fault = &rig->fault;
	u64 clock;

	htw_expect(fault, "it is queued if it is due later", queued, deadline_ns > group->now_ns);
	htw_expect(fault, "deadline of an armed timer", timer->deadline_ns, deadline_ns);
	htw_expect(fault, "state of an armed timer", timer->state,
		   queued ? HTW_QUEUED : HTW_EXPIRED);
	if (!queued) {
		htw_expect(fault, "time of a timer that was due", timer->fired_ns, group->now_ns);
		return;
	}
	htw_expect(fault, "tick of an armed timer", timer->node.tick,
		   htw_tick_up(deadline_ns, htw_erig_shift(rig)));
	htw_expect(fault, "base of an armed timer", timer->cpu, group->held->cpu);
	/* One that is re-armed within its tick may stay where it is, with what it had then. */
	if (entry->tick != timer->node.tick)
		entry->granule = 0;
	entry->tick = timer->node.tick;
	clock = group->held->queue->clock_tick;
	if (rig->design->granule && entry->tick > clock)
		entry->granule = max(entry->granule, rig->design->granule(entry->tick - clock));
}

/* The books of one timer: of its arms only the last may be open, and is if the timer is queued. */
static void erig_check_books(struct htw_erig *rig, const struct htw_erig_timer *entry, bool queued)
{
	u64 ends = entry->refused + entry->disarmed + entry->replaced + entry->fired;

	htw_expect(&rig->fault, "arms of a timer: all but the open one have ended", ends + queued,
		   entry->arms);
}

/* Arm a timer that is not queued. Returns whether it is queued now. */
bool htw_erig_group_arm(struct htw_erig *rig, struct htw_group *group, u32 index, u64 deadline_ns)
{
	struct htw_erig_timer *entry = &rig->timer[index];
	bool queued;

	/* Then the test would break what it wants to test. */
	if (entry->timer.state == HTW_QUEUED) {
		htw_blame(&rig->fault, "a timer that the test arms is not queued", true, false);
		return true;
	}
	entry->arms++;
	queued = htw_group_arm(group, &entry->timer, deadline_ns);
	entry->refused += !queued;
	erig_check_armed(rig, group, entry, deadline_ns, queued);
	return queued;
}

/* Re-arm a timer, queued or not. Returns whether it is queued now. */
bool htw_erig_group_rearm(struct htw_erig *rig, struct htw_group *group, u32 index,
			  u64 deadline_ns)
{
	struct htw_erig_timer *entry = &rig->timer[index];
	bool queued = htw_group_queued(group, &entry->timer);

	erig_check_books(rig, entry, queued);
	if (!queued)
		return htw_erig_group_arm(rig, group, index, deadline_ns);
	entry->replaced++;
	entry->arms++;
	queued = htw_group_rearm(group, &entry->timer, deadline_ns);
	entry->refused += !queued;
	erig_check_armed(rig, group, entry, deadline_ns, queued);
	return queued;
}

/* Disarm a timer, queued or not. Returns whether it was. */
bool htw_erig_group_disarm(struct htw_erig *rig, struct htw_group *group, u32 index)
{
	struct htw_erig_timer *entry = &rig->timer[index];
	bool queued = htw_group_queued(group, &entry->timer);

	erig_check_books(rig, entry, queued);
	if (!queued)
		return false;
	htw_group_disarm(group, &entry->timer);
	entry->timer.state = HTW_FREE;
	entry->disarmed++;
	return true;
}

bool htw_erig_arm(struct htw_erig *rig, u32 index, u64 deadline_ns)
{
	struct htw_group group;
	bool queued;

	htw_group_begin(&group, rig->engine);
	queued = htw_erig_group_arm(rig, &group, index, deadline_ns);
	htw_group_end(&group);
	htw_erig_judge(rig);
	return queued;
}

bool htw_erig_rearm(struct htw_erig *rig, u32 index, u64 deadline_ns)
{
	struct htw_group group;
	bool queued;

	htw_group_begin(&group, rig->engine);
	queued = htw_erig_group_rearm(rig, &group, index, deadline_ns);
	htw_group_end(&group);
	htw_erig_judge(rig);
	return queued;
}

bool htw_erig_disarm(struct htw_erig *rig, u32 index)
{
	struct htw_group group;
	bool removed;

	htw_group_begin(&group, rig->engine);
	removed = htw_erig_group_disarm(rig, &group, index);
	htw_group_end(&group);
	htw_erig_judge(rig);
	return removed;
}

bool htw_erig_is_queued(struct htw_erig *rig, u32 index)
{
	struct htw_group group;
	bool queued;

	htw_group_begin(&group, rig->engine);
	queued = htw_group_queued(&group, &rig->timer[index].timer);
	htw_group_end(&group);
	return queued;
}

/* Arm many, in groups of the usual size. */
void htw_erig_arm_all(struct htw_erig *rig, u32 first, u32 nr, u64 (*deadline_ns)(u32 index))
{
	struct htw_group group;
	u32 index, end;

	for (index = first; index < first + nr;) {
		end = min(index + HTW_CHUNK_OPS, first + nr);
		htw_group_begin(&group, rig->engine);
		for (; index < end; index++)
			htw_erig_group_arm(rig, &group, index, deadline_ns(index));
		htw_group_end(&group);
	}
	htw_erig_judge(rig);
}

/* Take every timer out of its queue. */
void htw_erig_disarm_all(struct htw_erig *rig)
{
	struct htw_group group;
	u32 index;

	for (index = 0; index < rig->nr; index++) {
		htw_group_begin(&group, rig->engine);
		htw_erig_group_disarm(rig, &group, index);
		htw_group_end(&group);
	}
}

/* One run of the base of @cpu, as its hrtimer would start it. Returns whether work is left. */
bool htw_erig_pass(struct htw_erig *rig, unsigned int cpu)
{
	bool more;

	local_bh_disable();
	rig->pass_ns = htw_manual.now_ns;
	rig->last_tick = 0;
	more = htw_base_pass(htw_erig_base(rig, cpu));
	local_bh_enable();
	htw_erig_judge(rig);
	return more;
}

/* Move the time and let every base finish what is due. */
void htw_erig_run(struct htw_erig *rig, u64 now_ns)
{
	unsigned int cpu;

	htw_manual.now_ns = now_ns;
	for_each_online_cpu(cpu) {
		while (htw_erig_pass(rig, cpu))
			;
	}
}

/* The base whose hrtimer would be next. */
static struct htw_base *erig_first_base(const struct htw_erig *rig)
{
	struct htw_base *base, *first = NULL;
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		base = htw_erig_base(rig, cpu);
		if (!first || base->programmed_tick < first->programmed_tick)
			first = base;
	}
	return first;
}

/**
 * htw_erig_follow() - let the time pass, from one hrtimer to the next
 * @rig: the rig
 * @until_ns: how far; U64_MAX: until all hrtimers are off
 *
 * Return: passes that it took.
 */
u64 htw_erig_follow(struct htw_erig *rig, u64 until_ns)
{
	struct htw_base *base = erig_first_base(rig);
	u64 passes = 0, start_ns;

	while (base->programmed_tick != HTW_TICK_NONE) {
		start_ns = htw_tick_start(base->programmed_tick, htw_erig_shift(rig));
		if (start_ns > until_ns)
			break;
		htw_manual.now_ns = max(htw_manual.now_ns, start_ns);
		htw_erig_pass(rig, base->cpu);
		KUNIT_ASSERT_LT_MSG(rig->test, ++passes, ERIG_MANY_PASSES, "no end of passes");
		base = erig_first_base(rig);
	}
	if (until_ns != U64_MAX)
		htw_manual.now_ns = max(htw_manual.now_ns, until_ns);
	return passes;
}

/* Timers in the queues. */
u64 htw_erig_queued(struct htw_erig *rig)
{
	return htw_erig_stats(rig).queued;
}

/* Live clock: wait until so many are queued. False if they must be taken for lost. */
bool htw_erig_await(struct htw_erig *rig, u64 nr)
{
	u64 start_ns = htw_engine_now_ns(rig->engine);

	while (htw_erig_queued(rig) != nr) {
		if (htw_engine_now_ns(rig->engine) - start_ns > HTW_ERIG_LOST_NS)
			return false;
		usleep_range(1000, 2000);
	}
	return true;
}

struct htw_engine_stats htw_erig_stats(struct htw_erig *rig)
{
	struct htw_engine_stats stats;

	htw_engine_read_stats(rig->engine, &stats);
	return stats;
}

/* The earliest tick at which a timer of a CPU has to be handed over, with what the design adds. */
u64 htw_erig_earliest(const struct htw_erig *rig, unsigned int cpu)
{
	u64 earliest = HTW_TICK_NONE;
	const struct htw_timer *timer;
	u32 i;

	for (i = 0; i < rig->nr; i++) {
		timer = &rig->timer[i].timer;
		if (timer->state == HTW_QUEUED && timer->cpu == cpu)
			earliest = min(earliest, timer->node.tick + rig->timer[i].granule);
	}
	return earliest;
}

/*
 * Nobody works on @base: what must hold of its queue, and of its hrtimer (I5). This need not be as
 * early as next(), which may have work to do that nobody waits for.
 */
static void erig_judge_base(struct htw_erig *rig, struct htw_base *base)
{
	struct kunit *test = rig->test;
	u64 earliest, next, programmed;
	bool running;
	int line;

	spin_lock_bh(&base->lock);
	line = rig->design->check(base->queue);
	next = htw_erig_next(base);
	/* An overdue timer is as good as one that is due now. */
	earliest = max(htw_erig_earliest(rig, base->cpu), base->queue->clock_tick);
	programmed = base->programmed_tick;
	running = base->running;
	spin_unlock_bh(&base->lock);

	KUNIT_ASSERT_EQ_MSG(test, line, 0, "%s: broken structure", rig->design->name);
	KUNIT_ASSERT_FALSE(test, running);
	KUNIT_ASSERT_LE_MSG(test, next, earliest, "the queue's next expiry is too late");
	KUNIT_ASSERT_LE_MSG(test, programmed, earliest, "the hrtimer would come too late");
	KUNIT_ASSERT_EQ_MSG(test, programmed == HTW_TICK_NONE, base->queue->nr == 0,
			    "the hrtimer is off if and only if the queue is empty");
	KUNIT_ASSERT_EQ_MSG(test, next == HTW_TICK_NONE, base->queue->nr == 0,
			    "there is no next expiry if and only if the queue is empty");
}

/*
 * The state of all bases between two operations. On the live clock passes may come at any time;
 * then this is not called.
 */
void htw_erig_judge(struct htw_erig *rig)
{
	unsigned int cpu;

	if (htw_erig_is_live(rig))
		return;
	for_each_online_cpu(cpu) {
		if (htw_erig_base(rig, cpu)->online)
			erig_judge_base(rig, htw_erig_base(rig, cpu));
	}
	htw_fault_report(rig->test, &rig->fault);
}

/**
 * htw_erig_audit() - close the books: every arm ended exactly once, or is queued
 * @rig: the rig; nobody but passes works with it
 */
void htw_erig_audit(struct htw_erig *rig)
{
	struct htw_group group;
	u64 queued = 0;
	bool pending;
	u32 index;

	for (index = 0; index < rig->nr; index++) {
		htw_group_begin(&group, rig->engine);
		pending = htw_group_queued(&group, &rig->timer[index].timer);
		erig_check_books(rig, &rig->timer[index], pending);
		htw_group_end(&group);
		queued += pending;
	}
	/* On the live clock they may become fewer all the time. */
	if (!htw_erig_is_live(rig))
		KUNIT_EXPECT_EQ(rig->test, htw_erig_queued(rig), queued);
	htw_fault_report(rig->test, &rig->fault);
}
