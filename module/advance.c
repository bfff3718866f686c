// SPDX-License-Identifier: GPL-2.0
/*
 * HTWHEEL_IOC_ADVANCE: moving a manual clock.
 *
 * The engine of such a context sets no hrtimer; it notes for which tick it would have. So time
 * passes here as it does on a live clock: it stops where the hrtimer would have fired, a pass runs,
 * and it goes on. Each pass is one hold of ctx->lock, which keeps the passes of the one base apart
 * from each other and from everything else that is done to it: nobody else counts there meanwhile.
 */
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "htwheel.h"

/* The clock's end: what never comes has not come there. */
#define ADVANCE_LAST_NS		(HTWHEEL_NEVER_NS - 1)

/**
 * struct advance - one call
 * @ctx: the context
 * @arg: in and out
 * @target_ns: where the clock goes
 * @left: what the budget still allows
 * @moment: units of work done at this moment of the clock
 * @done: nothing is left to do
 */
struct advance {
	struct htw_ctx		*ctx;
	struct htwheel_advance	*arg;
	u64			target_ns;
	u64			left;
	u64			moment;
	bool			done;
};

static int advance_check(const struct htwheel_advance *arg)
{
	if (arg->flags & ~(HTWHEEL_ADVANCE_TICKS | HTWHEEL_ADVANCE_JUMP) || arg->reserved)
		return -EINVAL;
	return 0;
}

static void advance_set_clock(struct advance *advance, u64 now_ns)
{
	struct htw_ctx *ctx = advance->ctx;

	lockdep_assert_held(&ctx->lock);
	advance->arg->now_ns = now_ns;
	if (now_ns == htw_clock_now_ns(&ctx->manual.clock))
		return;
	advance->moment = 0;
	htw_manual_clock_set(&ctx->manual, now_ns);
	/* No alarm waits for this clock. */
	local_bh_disable();
	htw_ready_look(&ctx->timers.ready);
	local_bh_enable();
}

/* Find out where to go. Under the lock, since another call may move the clock. */
static int advance_begin(struct advance *advance)
{
	const struct htw_engine_config *config = &advance->ctx->own->config;
	struct htwheel_advance *arg = advance->arg;
	u64 now_ns = htw_clock_now_ns(config->clock);

	arg->now_ns = now_ns;
	advance->target_ns = arg->to;
	if (arg->flags & HTWHEEL_ADVANCE_TICKS) {
		if (arg->to > (ADVANCE_LAST_NS - now_ns) >> config->tick_shift)
			return -EINVAL;
		advance->target_ns = now_ns + (arg->to << config->tick_shift);
	}
	if (advance->target_ns < now_ns || advance->target_ns > ADVANCE_LAST_NS)
		return -EINVAL;
	advance->left = arg->budget ?: U64_MAX;
	if (arg->flags & HTWHEEL_ADVANCE_JUMP)
		advance_set_clock(advance, advance->target_ns);
	return 0;
}

/* When the hrtimer would fire; NEVER without one. */
static u64 advance_wake_ns(struct htw_base *base, u64 now_ns)
{
	u64 tick;

	spin_lock_bh(&base->lock);
	tick = base->programmed_tick;
	spin_unlock_bh(&base->lock);
	if (tick == HTW_TICK_NONE)
		return HTWHEEL_NEVER_NS;
	return max(now_ns, htw_tick_start(tick, base->engine->config.tick_shift));
}

static void advance_pass(struct advance *advance, struct htw_base *base)
{
	struct htw_work before = base->counters.work, *after = &base->counters.work;
	struct htwheel_advance *arg = advance->arg;
	u64 units;

	local_bh_disable();
	htw_base_pass_within(base, min(advance->left, base->engine->config.budget_timers));
	local_bh_enable();
	arg->passes++;
	arg->due += after->due - before.due;
	arg->moves += after->moves - before.moves;
	arg->slots += after->slots - before.slots;
	units = after->due - before.due + after->moves - before.moves;
	advance->left -= units;
	advance->moment += units;
	arg->largest = max(arg->largest, advance->moment);
}

/* One pass, or the way to the end. */
static void advance_step(struct advance *advance)
{
	struct htw_base *base = htw_engine_home(advance->ctx->own);
	u64 now_ns = htw_clock_now_ns(&advance->ctx->manual.clock);
	u64 wake_ns = advance_wake_ns(base, now_ns);

	if (wake_ns > advance->target_ns) {
		/* Another call may have gone further. */
		advance_set_clock(advance, max(now_ns, advance->target_ns));
		advance->done = true;
		return;
	}
	advance_set_clock(advance, wake_ns);
	advance->arg->more = !advance->left;
	advance->done = !advance->left;
	if (advance->left)
		advance_pass(advance, base);
}

static int advance_step_locked(struct advance *advance, bool first)
{
	struct htw_ctx *ctx = advance->ctx;
	int err = 0;

	if (mutex_lock_interruptible(&ctx->lock))
		return -ERESTARTSYS;
	if (first)
		err = ctx->own && !ctx->own->config.clock->live ? advance_begin(advance) :
								  -EOPNOTSUPP;
	if (!err)
		advance_step(advance);
	mutex_unlock(&ctx->lock);
	return err;
}

/**
 * htw_advance() - HTWHEEL_IOC_ADVANCE
 * @ctx: the context
 * @arg: in and out
 *
 * Context: task; may sleep.
 * Return: 0, -EINVAL, -EOPNOTSUPP, -EINTR if something was done, otherwise -ERESTARTSYS.
 */
int htw_advance(struct htw_ctx *ctx, struct htwheel_advance *arg)
{
	struct advance advance = { .ctx = ctx, .arg = arg };
	bool first = true;
	int err;

	arg->now_ns = 0;
	arg->due = 0;
	arg->moves = 0;
	arg->slots = 0;
	arg->passes = 0;
	arg->largest = 0;
	arg->more = 0;
	err = advance_check(arg);
	while (!err && !advance.done) {
		err = advance_step_locked(&advance, first);
		first = false;
		if (!err && !advance.done && task_sigpending(current))
			err = -ERESTARTSYS;
		cond_resched();
	}
	return err == -ERESTARTSYS && arg->passes ? -EINTR : err;
}
