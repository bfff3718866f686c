// SPDX-License-Identifier: GPL-2.0
/*
 * HTWHEEL_IOC_STATS: the books of a context and the figures of its engine.
 */
#include <linux/string.h>

#include "delivery.h"
#include "htwheel.h"

/* Taken in one hold of ctx->lock, so that the books balance in what the user sees. */
static void stats_read_timers(struct htw_timers *timers, struct htwheel_stats *stats)
{
	stats->armed = timers->books.armed;
	stats->fired = timers->books.fired;
	stats->cancelled = timers->books.cancelled;
	stats->replaced = timers->books.replaced;
	stats->pending = htw_timers_pending(timers);
	stats->idle = timers->idle;
	stats->missed = timers->books.missed;
	stats->peak = timers->pool.peak;
	stats->pool_bytes = htw_pool_bytes(&timers->pool);
	memcpy(stats->late, timers->late, sizeof(stats->late));

	spin_lock_bh(&timers->ready.lock);
	stats->expired = timers->ready.nr;
	stats->alerts = timers->ready.alerts;
	stats->waited = timers->ready.ring ? timers->ready.ring->shared->waited : 0;
	stats->postponed = timers->delivered.postponed;
	spin_unlock_bh(&timers->ready.lock);
}

static void stats_read_engine(struct htw_engine *engine, struct htwheel_stats *stats)
{
	struct htw_engine_stats sum;

	htw_engine_read_stats(engine, &sum);
	stats->passes = sum.counters.passes;
	stats->wakeups = sum.counters.wakeups;
	stats->reprogrammed = sum.counters.reprogrammed;
	stats->moves = sum.counters.work.moves;
	stats->slots_visited = sum.counters.work.slots;
	stats->budget_stops = sum.counters.budget_stops;
	stats->backlog_cpus = sum.backlog_cpus;
	stats->backlog_ns = sum.backlog_ns;
	stats->queued = sum.queued;
}

/**
 * htw_stats_read() - HTWHEEL_IOC_STATS
 * @ctx: the context
 * @stats: in and out
 *
 * Context: task; may sleep.
 * Return: 0, -EINVAL, -ERESTARTSYS.
 */
int htw_stats_read(struct htw_ctx *ctx, struct htwheel_stats *stats)
{
	struct htw_engine *engine;

	if (stats->flags)
		return -EINVAL;
	if (mutex_lock_interruptible(&ctx->lock))
		return -ERESTARTSYS;
	htw_delivery_catch_up(&ctx->timers);
	stats_read_timers(&ctx->timers, stats);
	engine = ctx->timers.engine;
	mutex_unlock(&ctx->lock);
	stats_read_engine(engine, stats);
	stats->user_timers = htw_user_timers(ctx->timers.user);
	return 0;
}
