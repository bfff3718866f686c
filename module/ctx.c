// SPDX-License-Identifier: GPL-2.0
/*
 * The context: set-up, limits, the operations of a batch, and what is done to all of its timers.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/nospec.h>
#include <linux/prefetch.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "delivery.h"
#include "htwheel.h"
#include "shared.h"

/* What this version has; the header names more. */
#define CTX_FEATURES	(HTWHEEL_FEAT_PERIODIC | HTWHEEL_FEAT_KEEP | HTWHEEL_FEAT_SLACK | \
			 HTWHEEL_FEAT_TAG | HTWHEEL_FEAT_BOOTTIME | HTWHEEL_FEAT_MASS | \
			 HTWHEEL_FEAT_DUMP | HTWHEEL_FEAT_WAKE | HTWHEEL_FEAT_MANUAL | \
			 HTWHEEL_FEAT_PRIVATE | HTWHEEL_FEAT_RING | HTWHEEL_FEAT_TABLE | \
			 (IS_ENABLED(CONFIG_TIME_NS) ? HTWHEEL_FEAT_TIMENS : 0))

/* So many operations ahead, a timer's neighbours are fetched; twice as many, the timer itself. */
#define CTX_AHEAD	8U

/*
 * The names in the UAPI end where the kernel's time does; so a deadline of HTWHEEL_NEVER_NS is one
 * that ktime_t can hold.
 */
static_assert(HTWHEEL_NEVER_NS == KTIME_MAX);

/**
 * htw_ctx_create() - make a context
 * @engines: the engines that may serve it, by clock; they and the array must outlive it
 * @max_timers: its default limit, and the highest that it may ask for
 *
 * Context: task; may sleep. Memory and timers are charged to the caller.
 * Return: the context, or NULL without memory.
 */
struct htw_ctx *htw_ctx_create(struct htw_engine *const *engines, u64 max_timers)
{
	struct htw_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	struct htw_user *user;

	if (!ctx)
		return NULL;
	user = htw_user_get(current_uid());
	if (!user) {
		kfree(ctx);
		return NULL;
	}
	mutex_init(&ctx->lock);
	ctx->engines = engines;
	ctx->max_ceiling = max_timers;
	htw_timers_init(&ctx->timers, engines[HTWHEEL_CLOCK_MONOTONIC], user, max_timers);
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
	if (ctx->own)
		htw_engine_destroy(ctx->own);
	htw_user_put(ctx->timers.user);
	mutex_destroy(&ctx->lock);
	kfree_rcu(ctx, rcu);
}

/* What of INFO is the engine's. */
static void ctx_info_engine(struct htw_engine *engine, struct htwheel_info *info)
{
	const struct htw_engine_config *config = &engine->config;
	struct htw_geometry geometry = htw_engine_geometry(engine);
	struct htw_engine_stats stats;

	htw_engine_read_stats(engine, &stats);
	info->clock = config->clock->id;
	info->tick_ns = 1ULL << config->tick_shift;
	info->cpus = stats.online_cpus;
	info->levels = geometry.levels;
	info->slots = config->design->windows * geometry.radix[0];
	info->now_ns = htw_clock_to_user(htw_clock_now_ns(config->clock),
					 htw_clock_user_offset_ns(config->clock));
	memcpy(info->radix, geometry.radix, min(sizeof(info->radix), sizeof(geometry.radix)));
	strscpy(info->design, config->design->name, sizeof(info->design));
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
	const struct htw_timers *timers = &ctx->timers;
	struct htw_engine *engine;

	if (info->flags || info->reserved || info->reserved2)
		return -EINVAL;
	*info = (struct htwheel_info){
		.size			= info->size,
		.abi			= HTWHEEL_ABI,
		.features		= CTX_FEATURES,
		.max_timers_ceiling	= ctx->max_ceiling,
		.max_batch		= HTW_MAX_BATCH,
		.max_stride		= HTW_MAX_STRIDE,
		.max_user_timers	= htw_user_max_timers(),
	};
	if (mutex_lock_interruptible(&ctx->lock))
		return -ERESTARTSYS;
	engine = timers->engine;
	info->max_timers = timers->max;
	info->setup = (ctx->own ? HTWHEEL_SETUP_PRIVATE : 0) |
		      (timers->table ? HTWHEEL_SETUP_TABLE : 0);
	info->ring_entries = timers->ready.ring ? timers->ready.ring->entries : 0;
	info->table_entries = timers->table ? timers->table->entries : 0;
	info->wake_events = timers->ready.policy.events;
	info->wake_usecs = div_u64(timers->ready.policy.delay_ns, NSEC_PER_USEC);
	mutex_unlock(&ctx->lock);
	ctx_info_engine(engine, info);
	return 0;
}

static int ctx_check_setup(const struct htw_ctx *ctx, const struct htwheel_setup *setup)
{
	if (setup->flags & ~(HTWHEEL_SETUP_PRIVATE | HTWHEEL_SETUP_TABLE))
		return -EINVAL;
	if (setup->reserved || setup->reserved2 || htw_shared_check(setup))
		return -EINVAL;
	if (setup->clock > HTWHEEL_CLOCK_MANUAL || setup->max_timers > ctx->max_ceiling)
		return -EINVAL;
	/* The last events could wait for ever. */
	if (setup->wake_events > 1 && !setup->wake_usecs)
		return -EINVAL;
	return htw_private_wanted(setup) || htw_private_absent(setup) ? 0 : -EINVAL;
}

/* The engine that a SETUP asks for; a private one is made. */
static struct htw_engine *ctx_choose_engine(struct htw_ctx *ctx, const struct htwheel_setup *setup,
					    u64 *max_timers)
{
	bool manual = setup->clock == HTWHEEL_CLOCK_MANUAL;
	unsigned int clock = manual ? 0 : array_index_nospec(setup->clock, HTW_CLOCKS);
	struct htw_engine_config config;
	int err;

	*max_timers = ctx->max_ceiling;
	if (!htw_private_wanted(setup))
		return ctx->engines[clock];
	err = htw_private_config(setup, ctx->engines[clock], &config);
	if (err)
		return ERR_PTR(err);
	*max_timers = htw_private_max_timers(&config, ctx->max_ceiling);
	if (setup->max_timers > *max_timers)
		return ERR_PTR(-EINVAL);
	if (manual) {
		htw_manual_clock_init(&ctx->manual, setup->start_ns);
		config.clock = &ctx->manual.clock;
	}
	return htw_engine_create(&config);
}

static int ctx_setup_locked(struct htw_ctx *ctx, const struct htwheel_setup *setup)
{
	struct htw_timers_config config = {
		.policy = {
			.events		= setup->wake_events,
			.delay_ns	= (u64)setup->wake_usecs * NSEC_PER_USEC,
		},
	};
	struct htw_engine *engine;
	u64 max_timers;
	int err;

	if (ctx->setup_done || ctx->timers.books.armed)
		return -EBUSY;
	engine = ctx_choose_engine(ctx, setup, &max_timers);
	if (IS_ERR(engine))
		return PTR_ERR(engine);
	max_timers = setup->max_timers ?: max_timers;
	err = htw_shared_create(&config, setup, engine->config.clock, max_timers);
	if (!err)
		err = htw_timers_setup(&ctx->timers, engine, &config);
	if (err) {
		htw_shared_destroy(&config);
		if (htw_private_wanted(setup))
			htw_engine_destroy(engine);
		return err;
	}
	if (htw_private_wanted(setup))
		ctx->own = engine;
	ctx->setup_done = true;
	ctx->timers.max = max_timers;
	return 0;
}

/**
 * htw_ctx_setup() - HTWHEEL_IOC_SETUP
 * @ctx: the context
 * @setup: the choices
 *
 * Context: task; may sleep.
 * Return: 0, -EINVAL, -EBUSY, -ENOMEM, -ERESTARTSYS.
 */
int htw_ctx_setup(struct htw_ctx *ctx, const struct htwheel_setup *setup)
{
	int err = ctx_check_setup(ctx, setup);

	if (err)
		return err;
	if (mutex_lock_interruptible(&ctx->lock))
		return -ERESTARTSYS;
	err = ctx_setup_locked(ctx, setup);
	mutex_unlock(&ctx->lock);
	return err;
}

/* The rules of the header for what an arm adds to a time. */
static int ctx_check_arm(const struct htwheel_op *op)
{
	if (op->flags & ~(HTWHEEL_ABSOLUTE | HTWHEEL_PERIODIC | HTWHEEL_KEEP))
		return -EINVAL;
	if (op->slack_ns > HTWHEEL_NEVER_NS)
		return -EINVAL;
	if (!(op->flags & HTWHEEL_PERIODIC))
		return op->period_ns || op->policy ? -EINVAL : 0;
	if (!op->period_ns || op->period_ns > HTWHEEL_NEVER_NS)
		return -EINVAL;
	return op->policy > HTWHEEL_POLICY_DELAY ? -EINVAL : 0;
}

/* The rules of the header for one operation. */
static int ctx_check_op(const struct htwheel_op *op)
{
	bool sets_time = op->opcode == HTWHEEL_OP_ARM || op->opcode == HTWHEEL_OP_REARM;

	if (op->opcode < HTWHEEL_OP_ARM || op->opcode > HTWHEEL_OP_QUERY)
		return -EINVAL;
	if (op->reserved || (sets_time && op->time_ns > HTWHEEL_NEVER_NS))
		return -EINVAL;
	if (op->opcode == HTWHEEL_OP_ARM)
		return ctx_check_arm(op);
	if (op->flags & ~(sets_time ? HTWHEEL_ABSOLUTE : 0))
		return -EINVAL;
	return op->policy || op->tag || op->period_ns || op->slack_ns ? -EINVAL : 0;
}

/**
 * struct ctx_run - what the operations of a chunk share
 * @timers: the context's timers
 * @group: their group
 * @offset_ns: what the caller's time namespace adds to the clock
 */
struct ctx_run {
	struct htw_timers	*timers;
	struct htw_group	group;
	s64			offset_ns;
};

/* Both summands have 63 bits, so the sum has 64. */
static u64 ctx_deadline_ns(const struct ctx_run *run, const struct htwheel_op *op)
{
	if (op->flags & HTWHEEL_ABSOLUTE)
		return htw_clock_from_user(op->time_ns, run->offset_ns);
	return min_t(u64, run->group.now_ns + op->time_ns, HTWHEEL_NEVER_NS);
}

static int ctx_arm(struct ctx_run *run, struct htwheel_op *op)
{
	struct htw_timer_spec spec = {
		.deadline_ns	= ctx_deadline_ns(run, op),
		.period_ns	= op->period_ns,
		.slack_ns	= op->slack_ns,
		.user_data	= op->user_data,
		.tag		= op->tag,
		.policy		= op->policy,
		.keep		= op->flags & HTWHEEL_KEEP,
	};

	return htw_timer_arm(run->timers, &run->group, &spec, &op->id);
}

/* One that has been found faulty has a result already. */
static int ctx_run_op(struct ctx_run *run, struct htwheel_op *op)
{
	if (op->opcode == HTWHEEL_OP_ARM)
		op->id = 0;
	if (op->result)
		return op->result;
	switch (op->opcode) {
	case HTWHEEL_OP_ARM:
		return ctx_arm(run, op);
	case HTWHEEL_OP_REARM:
		return htw_timer_rearm(run->timers, &run->group, op->id, ctx_deadline_ns(run, op));
	case HTWHEEL_OP_CANCEL:
		return htw_timer_cancel(run->timers, &run->group, op->id, &op->time_ns);
	default:
		return htw_timer_query(run->timers, &run->group, op->id, &op->time_ns);
	}
}

static void ctx_fetch_timer(const struct ctx_run *run, const struct htwheel_op *op)
{
	struct htw_timer *timer = htw_pool_peek(&run->timers->pool, op->id);

	if (timer)
		prefetchw(timer);
}

/* A re-arm mostly leaves the timer where it is (htw_group_rearm()). */
static void ctx_fetch_neighbours(const struct ctx_run *run, const struct htwheel_op *op)
{
	struct htw_timer *timer = NULL;

	if (op->opcode == HTWHEEL_OP_CANCEL)
		timer = htw_pool_peek(&run->timers->pool, op->id);
	if (timer)
		htw_group_fetch(&run->group, timer);
}

/*
 * With a million timers an operation is little more than its cache misses. So fetch the timer of
 * one that comes later, and, of one that comes sooner and whose timer should have arrived, its
 * neighbours in the queue.
 */
static void ctx_fetch(const struct ctx_run *run, const struct htwheel_op *ops, unsigned int nr,
		      unsigned int at)
{
	if (at + 2 * CTX_AHEAD < nr)
		ctx_fetch_timer(run, &ops[at + 2 * CTX_AHEAD]);
	if (at + CTX_AHEAD < nr)
		ctx_fetch_neighbours(run, &ops[at + CTX_AHEAD]);
}

/*
 * Give the faulty ones their results. Returns how many of the others will want a timer; no more,
 * for what is reserved here nobody else of this user can have.
 */
static u64 ctx_check_ops(struct htwheel_op *ops, unsigned int nr)
{
	unsigned int i;
	u64 arms = 0;

	for (i = 0; i < nr; i++) {
		if (!ops[i].result)
			ops[i].result = ctx_check_op(&ops[i]);
		arms += ops[i].opcode == HTWHEEL_OP_ARM && !ops[i].result;
	}
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
	struct ctx_run run = { .timers = &ctx->timers };
	u64 arms = ctx_check_ops(ops, nr);
	unsigned int i;

	if (mutex_lock_interruptible(&ctx->lock))
		return -ERESTARTSYS;
	htw_delivery_catch_up(run.timers);
	/* If this fails, the arms that get no timer say so. */
	htw_timers_reserve(run.timers, arms);

	run.offset_ns = htw_clock_user_offset_ns(run.timers->engine->config.clock);
	for (i = 0; i < min(nr, 2 * CTX_AHEAD); i++)
		ctx_fetch_timer(&run, &ops[i]);
	htw_group_begin(&run.group, run.timers->engine);
	for (i = 0; i < nr; i++) {
		ctx_fetch(&run, ops, nr, i);
		ops[i].result = ctx_run_op(&run, &ops[i]);
		htw_group_breathe(&run.group);
	}
	htw_group_end(&run.group);
	htw_timers_flush(run.timers);
	mutex_unlock(&ctx->lock);
	return 0;
}

static int ctx_check_mass(const struct htwheel_mass *mass)
{
	if (mass->opcode < HTWHEEL_MASS_CANCEL || mass->opcode > HTWHEEL_MASS_TRIM)
		return -EINVAL;
	if (mass->flags & ~(mass->opcode == HTWHEEL_MASS_TRIM ? 0 : HTWHEEL_MASS_TAG))
		return -EINVAL;
	if (mass->tag && !(mass->flags & HTWHEEL_MASS_TAG))
		return -EINVAL;
	if (mass->opcode == HTWHEEL_MASS_SHIFT ? mass->shift_ns < -(s64)HTWHEEL_NEVER_NS :
						 mass->shift_ns)
		return -EINVAL;
	if (mass->opcode == HTWHEEL_MASS_SCALE)
		return mass->denominator ? 0 : -EINVAL;
	return mass->numerator || mass->denominator ? -EINVAL : 0;
}

/* One step, in one hold of the lock. */
static int ctx_mass_step(struct htw_ctx *ctx, struct htwheel_mass *mass)
{
	struct htw_timers *timers = &ctx->timers;

	if (mutex_lock_interruptible(&ctx->lock))
		return -ERESTARTSYS;
	htw_delivery_catch_up(timers);
	if (mass->opcode == HTWHEEL_MASS_TRIM) {
		mass->done += htw_timers_trim(timers, &mass->cursor);
	} else {
		mass->done += htw_sweep_mass(timers, mass, &mass->cursor);
		htw_timers_flush(timers);
	}
	mutex_unlock(&ctx->lock);
	cond_resched();
	return 0;
}

/**
 * htw_ctx_mass() - HTWHEEL_IOC_MASS
 * @ctx: the context
 * @mass: in and out
 *
 * Context: task; may sleep.
 * Return: 0, -EINVAL, -EINTR if something was done, otherwise -ERESTARTSYS.
 */
int htw_ctx_mass(struct htw_ctx *ctx, struct htwheel_mass *mass)
{
	int err;

	mass->done = 0;
	err = ctx_check_mass(mass);
	if (err)
		return err;
	do {
		err = ctx_mass_step(ctx, mass);
		if (!err && mass->cursor && task_sigpending(current))
			err = -ERESTARTSYS;
	} while (!err && mass->cursor);
	/* A restarted call would forget how many there were. */
	return err && mass->done ? -EINTR : err;
}

/**
 * htw_ctx_dump() - one step of HTWHEEL_IOC_DUMP
 * @ctx: the context
 * @cursor: where to begin; receives where to go on, 0 at the end
 * @entries: to be filled in
 * @max: room in @entries, at most HTW_DUMP_STEP
 *
 * Context: task; may sleep.
 * Return: how many, which may be 0 before the end; -ERESTARTSYS.
 */
int htw_ctx_dump(struct htw_ctx *ctx, u64 *cursor, struct htwheel_dump_entry *entries,
		 unsigned int max)
{
	unsigned int i, nr;
	s64 offset_ns;

	if (mutex_lock_interruptible(&ctx->lock))
		return -ERESTARTSYS;
	offset_ns = htw_clock_user_offset_ns(ctx->timers.engine->config.clock);
	htw_delivery_catch_up(&ctx->timers);
	nr = htw_sweep_dump(&ctx->timers, cursor, entries, max);
	htw_timers_flush(&ctx->timers);
	mutex_unlock(&ctx->lock);
	for (i = 0; i < nr; i++)
		entries[i].deadline_ns = htw_clock_to_user(entries[i].deadline_ns, offset_ns);
	return nr;
}
