// SPDX-License-Identifier: GPL-2.0
/*
 * The context: set-up, limits, and the operations of a batch.
 */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "htwheel.h"

/* Flags and fields of operations that the header names and this version lacks. */
#define CTX_ABSENT_FLAGS	(HTWHEEL_PERIODIC | HTWHEEL_KEEP)

/*
 * The names in the UAPI end where the kernel's time does; so a deadline of HTWHEEL_NEVER_NS is one
 * that ktime_t can hold.
 */
static_assert(HTWHEEL_NEVER_NS == KTIME_MAX);

/**
 * htw_ctx_create() - make a context
 * @engine: the engine that serves it
 * @max_timers: its default limit, and the highest that it may ask for
 *
 * Context: task; may sleep. Memory is charged to the caller.
 * Return: the context, or NULL without memory.
 */
struct htw_ctx *htw_ctx_create(struct htw_engine *engine, u64 max_timers)
{
	struct htw_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);

	if (!ctx)
		return NULL;
	mutex_init(&ctx->lock);
	ctx->max_ceiling = max_timers;
	htw_timers_init(&ctx->timers, engine, max_timers);
	return ctx;
}

/**
 * htw_ctx_destroy() - end a context and all its timers
 * @ctx: a context that nobody else uses any more
 *
 * Context: task; may sleep.
 */
void htw_ctx_destroy(struct htw_ctx *ctx)
{
	htw_timers_destroy(&ctx->timers);
	mutex_destroy(&ctx->lock);
	kfree_rcu(ctx, rcu);
}

/**
 * htw_ctx_info() - HTWHEEL_IOC_INFO
 * @ctx: the context
 * @info: in and out
 *
 * Context: task; may sleep.
 * Return: 0, -EINVAL, -ERESTARTSYS.
 */
int htw_ctx_info(struct htw_ctx *ctx, struct htwheel_info *info)
{
	const struct htw_engine_config *config = &ctx->timers.engine->config;
	struct htw_geometry geometry = htw_engine_geometry(ctx->timers.engine);
	struct htw_engine_stats stats;
	u64 max_timers;

	if (info->flags || info->reserved)
		return -EINVAL;
	htw_engine_read_stats(ctx->timers.engine, &stats);
	if (mutex_lock_interruptible(&ctx->lock))
		return -ERESTARTSYS;
	max_timers = ctx->timers.max;
	mutex_unlock(&ctx->lock);

	*info = (struct htwheel_info){
		.size			= info->size,
		.abi			= HTWHEEL_ABI,
		.clock			= config->clock->id,
		.tick_ns		= 1ULL << config->tick_shift,
		.max_timers		= max_timers,
		.max_timers_ceiling	= ctx->max_ceiling,
		.max_batch		= HTW_MAX_BATCH,
		.max_stride		= HTW_MAX_STRIDE,
		.cpus			= stats.online_cpus,
		.levels			= geometry.levels,
		.slots			= geometry.slots,
	};
	strscpy(info->design, config->design->name, sizeof(info->design));
	return 0;
}

/**
 * htw_ctx_setup() - HTWHEEL_IOC_SETUP
 * @ctx: the context
 * @setup: the choices
 *
 * Context: task; may sleep.
 * Return: 0, -EINVAL, -EOPNOTSUPP, -EBUSY, -ERESTARTSYS.
 */
int htw_ctx_setup(struct htw_ctx *ctx, const struct htwheel_setup *setup)
{
	int err = 0;

	if (setup->flags || setup->reserved)
		return -EINVAL;
	if (setup->clock > HTWHEEL_CLOCK_MANUAL || setup->max_timers > ctx->max_ceiling)
		return -EINVAL;
	if (setup->clock != HTWHEEL_CLOCK_MONOTONIC)
		return -EOPNOTSUPP;

	if (mutex_lock_interruptible(&ctx->lock))
		return -ERESTARTSYS;
	if (ctx->setup_done || ctx->timers.books.armed) {
		err = -EBUSY;
	} else {
		ctx->setup_done = true;
		if (setup->max_timers)
			ctx->timers.max = setup->max_timers;
	}
	mutex_unlock(&ctx->lock);
	return err;
}

/* The rules of the header for one operation. */
static int ctx_check_op(const struct htwheel_op *op)
{
	bool sets_time = op->opcode == HTWHEEL_OP_ARM || op->opcode == HTWHEEL_OP_REARM;
	u32 known = sets_time ? HTWHEEL_ABSOLUTE : 0;

	if (op->opcode < HTWHEEL_OP_ARM || op->opcode > HTWHEEL_OP_QUERY)
		return -EINVAL;
	if (op->opcode == HTWHEEL_OP_ARM)
		known |= CTX_ABSENT_FLAGS;
	if (op->reserved || op->flags & ~known)
		return -EINVAL;
	if (sets_time && op->time_ns > HTWHEEL_NEVER_NS)
		return -EINVAL;
	if (op->flags & CTX_ABSENT_FLAGS || op->policy || op->tag || op->period_ns || op->slack_ns)
		return -EOPNOTSUPP;
	return 0;
}

/* Both summands have 63 bits, so the sum has 64. */
static u64 ctx_deadline_ns(const struct htwheel_op *op, u64 now_ns)
{
	if (op->flags & HTWHEEL_ABSOLUTE)
		return op->time_ns;
	return min_t(u64, now_ns + op->time_ns, HTWHEEL_NEVER_NS);
}

/* An operation that was found faulty on its way here has a result already. */
static int ctx_run_op(struct htw_timers *timers, struct htw_group *group, struct htwheel_op *op)
{
	int err = op->result ? op->result : ctx_check_op(op);

	if (op->opcode == HTWHEEL_OP_ARM)
		op->id = 0;
	if (err)
		return err;
	switch (op->opcode) {
	case HTWHEEL_OP_ARM:
		return htw_timer_arm(timers, group, ctx_deadline_ns(op, group->now_ns),
				     op->user_data, &op->id);
	case HTWHEEL_OP_REARM:
		return htw_timer_rearm(timers, group, op->id, ctx_deadline_ns(op, group->now_ns));
	case HTWHEEL_OP_CANCEL:
		return htw_timer_cancel(timers, group, op->id, &op->time_ns);
	default:
		return htw_timer_query(timers, group, op->id, &op->time_ns);
	}
}

static u64 ctx_count_arms(const struct htwheel_op *ops, unsigned int nr)
{
	unsigned int i;
	u64 arms = 0;

	for (i = 0; i < nr; i++)
		arms += ops[i].opcode == HTWHEEL_OP_ARM;
	return arms;
}

/**
 * htw_ctx_run() - carry out operations
 * @ctx: the context
 * @ops: copies in kernel memory; each receives its result. One whose result is not 0 but negative
 *	already (it could not be read as it should) keeps it and does nothing
 * @nr: how many, at most HTW_CHUNK_OPS
 *
 * Context: task; may sleep.
 * Return: 0, or -ERESTARTSYS and nothing is done.
 */
int htw_ctx_run(struct htw_ctx *ctx, struct htwheel_op *ops, unsigned int nr)
{
	struct htw_timers *timers = &ctx->timers;
	struct htw_group group;
	unsigned int i;

	if (mutex_lock_interruptible(&ctx->lock))
		return -ERESTARTSYS;
	/* If this fails, the arms that get no timer say so. */
	htw_timers_reserve(timers, ctx_count_arms(ops, nr));

	htw_group_begin(&group, timers->engine);
	for (i = 0; i < nr; i++)
		ops[i].result = ctx_run_op(timers, &group, &ops[i]);
	htw_group_end(&group);
	/* For deadlines in the past, which no pass sees. */
	htw_timers_flush(timers);
	mutex_unlock(&ctx->lock);
	return 0;
}
