// SPDX-License-Identifier: GPL-2.0
/*
 * The cases: what a queue is filled with before something is measured, and what is checked after.
 */
#include <linux/list.h>
#include <linux/slab.h>

#include "bench.h"

const char *const bench_case_names[NR_CASES] = {
	[CASE_ARM_ADDRESS]	= "arm-address",
	[CASE_CANCEL]		= "cancel-random",
	[CASE_ARM_RANDOM]	= "arm-random",
	[CASE_CHURN]		= "churn",
	[CASE_CHURN_BATCH]	= "churn-batch",
	[CASE_LATER_DELETE]	= "later-by-delete",
	[CASE_LATER]		= "later",
	[CASE_CONSTANT]		= "rearm-constant",
	[CASE_EXPIRE]		= "expire-spread",
	[CASE_STORM_ADDRESS]	= "storm-address",
	[CASE_STORM_RANDOM]	= "storm-random",
	[CASE_NEXT]		= "next",
	[CASE_EMPTY_TICK]	= "empty-tick",
	[CASE_JUMP]		= "jump-day",
	[CASE_RUN_SEEDS]	= "run-seeds",
	[CASE_RUN_IDLE]		= "run-idle",
};

/* Where the clock begins; and what is so far that all jumps, 45 years, end before. */
#define START_TICK	0ULL
#define FAR_TICK	BENCH_TICKS(100ULL * 365 * 24 * 3600)

static void open_queue(struct bench *bench)
{
	const struct htw_design *design = bench->design;
	struct htw_queue_config config = {
		.tick_bits	= 64 - 19,
		.clock_tick	= START_TICK,
		.numa		= NUMA_NO_NODE,
	};

	if (design->geometries)
		config.geometry = design->geometries[0];
	bench->queue = design->create(&config);
	if (!bench->queue || (design->reserve && design->reserve(bench->queue, bench->seq->n + 1)))
		bench_fail("no memory for a queue of %llu timers", bench->seq->n);
	bench->now_tick = START_TICK;
	bench->fired = 0;
}

static void close_queue(struct bench *bench)
{
	if (bench->queue->nr)
		bench_fail("%s has kept %llu timers", bench->design->name, bench->queue->nr);
	bench->design->destroy(bench->queue);
}

static void check_fired(const struct bench *bench, u64 nr)
{
	if (bench->fired != nr)
		bench_fail("%s hands out %llu timers of %llu", bench->design->name, bench->fired,
			   nr);
}

/*
 * A function of its own, and none of the others is called by anything else: callgrind counts what
 * runs below it (see the script "instructions").
 */
__attribute__((noinline, noclone))
static u64 bench_collected(struct bench *bench, u64 (*run)(struct bench *bench))
{
	return run(bench);
}

static void measure(struct bench *bench, enum bench_case which, u64 (*run)(struct bench *bench))
{
	u64 begin, ops;

	if (!bench_wants(which))
		return;
	bench->first = which >= CASE_CHURN && which - CASE_CHURN < BENCH_PICKS ?
		       (which - CASE_CHURN) * bench->seq->ops : 0;
	bench->work = (struct htw_work){};
	begin = bench_ns();
	ops = bench_collected(bench, run);
	bench_sample(bench, which, ops, bench_ns() - begin);
}

/* What the next case builds on happens anyway. */
static void measure_or_run(struct bench *bench, enum bench_case which,
			   u64 (*run)(struct bench *bench))
{
	if (bench_wants(which))
		measure(bench, which, run);
	else
		run(bench);
}

/* Timers that come and go, and never expire. */
void bench_live(struct bench *bench)
{
	open_queue(bench);
	measure_or_run(bench, CASE_ARM_ADDRESS, bench_arm_address);
	measure_or_run(bench, CASE_CANCEL, bench_cancel);
	measure_or_run(bench, CASE_ARM_RANDOM, bench_arm_random);
	measure(bench, CASE_CHURN, bench_churn);
	measure(bench, CASE_CHURN_BATCH, bench_churn_batch);
	measure(bench, CASE_LATER_DELETE, bench_later_delete);
	measure(bench, CASE_LATER, bench_later);
	measure(bench, CASE_CONSTANT, bench_constant);
	bench_cancel(bench);
	close_queue(bench);
}

/* @span: ticks over which the deadlines lie; @order: in which they are armed, or as they lie. */
static void fill(struct bench *bench, u64 from, u64 span, const u32 *order)
{
	struct bench_timer *timer;
	u64 i;

	for (i = 0; i < bench->seq->n; i++) {
		timer = &bench->timer[order ? order[i] : i];
		timer->node.tick = from + bench->seq->tick[i] % span;
		bench->design->add(bench->queue, &timer->node);
	}
}

static void measure_due(struct bench *bench, enum bench_case which, u64 span, const u32 *order)
{
	if (!bench_wants(which))
		return;
	open_queue(bench);
	fill(bench, START_TICK + 1, span, order);
	measure(bench, which, span == 1 ? bench_storm : bench_expire);
	check_fired(bench, bench->seq->n);
	close_queue(bench);
}

/* Timers that expire: spread over 10 s, or all in one tick. */
void bench_due(struct bench *bench)
{
	measure_due(bench, CASE_EXPIRE, BENCH_TICKS(10), bench->seq->order);
	measure_due(bench, CASE_STORM_ADDRESS, 1, NULL);
	measure_due(bench, CASE_STORM_RANDOM, 1, bench->seq->order);
}

/* Timers that wait for years, while the clock goes on. */
void bench_far(struct bench *bench)
{
	if (!bench_wants(CASE_NEXT) && !bench_wants(CASE_EMPTY_TICK) && !bench_wants(CASE_JUMP))
		return;
	open_queue(bench);
	fill(bench, FAR_TICK, BENCH_TICKS(10), bench->seq->order);
	measure(bench, CASE_NEXT, bench_next);
	measure(bench, CASE_EMPTY_TICK, bench_empty_tick);
	measure(bench, CASE_JUMP, bench_jump);
	bench_cancel(bench);
	check_fired(bench, 0);
	close_queue(bench);
}

static void start_run(struct bench *bench)
{
	const struct bench_sequence *seq = bench->seq;
	struct bench_timer *timer;
	u64 i;

	open_queue(bench);
	for (i = 0; i < seq->n; i++) {
		timer = &bench->timer[seq->order[i]];
		timer->expired = 0;
		timer->node.tick = seq->tick[i];
		bench->design->add(bench->queue, &timer->node);
	}
}

static void end_run(struct bench *bench)
{
	u64 i;

	for (i = 0; i < bench->seq->n; i++) {
		if (!bench->timer[i].expired)
			bench->design->del(bench->queue, &bench->timer[i].node);
		bench->timer[i].period_ticks = 0;
	}
	close_queue(bench);
}

/* A minute of connections with two timeouts and a heartbeat; an operation is one that expires. */
void bench_run_seeds_case(struct bench *bench)
{
	const struct bench_sequence *seq = bench->seq;
	u64 i;

	start_run(bench);
	for (i = 2; i < seq->n; i += 3)
		bench->timer[seq->order[i]].period_ticks = seq->tick[i];
	measure(bench, CASE_RUN_SEEDS, bench_run_seeds);
	end_run(bench);
}

/* A minute of idle timeouts, an operation being a re-arm. */
void bench_run_idle_case(struct bench *bench)
{
	start_run(bench);
	measure(bench, CASE_RUN_IDLE, bench_run_idle);
	end_run(bench);
}
