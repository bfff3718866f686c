// SPDX-License-Identifier: GPL-2.0
/*
 * What is done while the clock of the queue stands, or steps over nothing. Each function returns
 * how many operations that were.
 */
#include "bench.h"

/* How far ahead of an operation its timer is asked for: some 100 ns. */
#define AHEAD_NODE	16
#define AHEAD_LINKS	8

static struct htw_node *picked(struct bench *bench, u64 op)
{
	return &bench->timer[bench->seq->pick[bench->first + op]].node;
}

static void arm(struct bench *bench, struct htw_node *node, u64 tick)
{
	node->tick = tick;
	bench->design->add(bench->queue, node);
}

/* As the timers lie in memory: a server that starts. */
u64 bench_arm_address(struct bench *bench)
{
	const struct bench_sequence *seq = bench->seq;
	u64 i;

	for (i = 0; i < seq->n; i++)
		arm(bench, &bench->timer[i].node, seq->tick[i]);
	return seq->n;
}

/* A server that has run for a while. */
u64 bench_arm_random(struct bench *bench)
{
	const struct bench_sequence *seq = bench->seq;
	u64 i;

	for (i = 0; i < seq->n; i++)
		arm(bench, &bench->timer[seq->order[i]].node, seq->tick[i]);
	return seq->n;
}

/* Cancel one, arm another. The pool gives back what was freed last, so that is the same object. */
static void churn(struct bench *bench, u64 op)
{
	struct htw_node *node = picked(bench, op);

	bench->design->del(bench->queue, node);
	arm(bench, node, bench->seq->pick_tick[bench->first + op]);
}

u64 bench_churn(struct bench *bench)
{
	u64 op;

	for (op = 0; op < bench->ops; op++)
		churn(bench, op);
	return op;
}

/*
 * In batches, as operations come to the engine. It knows the whole batch, so the next timers can be
 * asked for while one is worked on; and, if the design has a hook for that, what they touch.
 */
u64 bench_churn_batch(struct bench *bench)
{
	u64 op, ahead, end;

	for (op = 0; op < bench->ops;) {
		end = op + BENCH_BATCH;
		if (end > bench->ops)
			end = bench->ops;
		for (ahead = op; ahead < end && ahead < op + AHEAD_NODE; ahead++)
			__builtin_prefetch(picked(bench, ahead), 1);
		for (; op < end; op++) {
			if (op + AHEAD_NODE < end)
				__builtin_prefetch(picked(bench, op + AHEAD_NODE), 1);
			if (op + AHEAD_LINKS < end)
				bench_fetch(bench->queue, picked(bench, op + AHEAD_LINKS));
			churn(bench, op);
		}
	}
	return op;
}

/* All of them. */
u64 bench_cancel(struct bench *bench)
{
	const struct bench_sequence *seq = bench->seq;
	u64 i;

	for (i = 0; i < seq->n; i++)
		bench->design->del(bench->queue, &bench->timer[seq->cancels[i]].node);
	return seq->n;
}

/* Later by one to two seconds, by cancel and arm: what a design that can do better has to beat. */
u64 bench_later_delete(struct bench *bench)
{
	struct htw_node *node;
	u64 op;

	for (op = 0; op < bench->ops; op++) {
		node = picked(bench, op);
		bench->design->del(bench->queue, node);
		arm(bench, node, node->tick + bench->seq->delta[bench->first + op]);
	}
	return op;
}

u64 bench_later(struct bench *bench)
{
	struct htw_node *node;
	u64 op;

	for (op = 0; op < bench->ops; op++) {
		node = picked(bench, op);
		bench_rearm(bench, node, node->tick + bench->seq->delta[bench->first + op]);
	}
	return op;
}

/* To 30 s from now, and now goes on by as much as if all are re-armed once in 30 s. */
u64 bench_constant(struct bench *bench)
{
	const struct bench_sequence *seq = bench->seq;
	u64 op;

	for (op = 0; op < bench->ops; op++)
		bench_rearm(bench, picked(bench, op),
			    seq->constant_tick + op * BENCH_TICKS(30) / seq->n);
	return op;
}

/*
 * The three below take some nanoseconds with one design and a second with another. So they are
 * done 1, 2, 4, ... times until there were enough, or it took long enough.
 */
static u64 repeat(struct bench *bench, void (*once)(struct bench *bench))
{
	u64 begin = bench_ns(), chunk, ops = 0, i;

	for (chunk = 1; ops + chunk <= bench->limit_ops; chunk *= 2) {
		for (i = 0; i < chunk; i++)
			once(bench);
		ops += chunk;
		if (bench->limit_ns && bench_ns() - begin > bench->limit_ns)
			break;
	}
	return ops;
}

static void next_once(struct bench *bench)
{
	bench->sink += bench->design->next(bench->queue);
}

static void tick_once(struct bench *bench)
{
	bench_pass(bench, bench->now_tick + 1);
}

static void jump_once(struct bench *bench)
{
	bench_pass(bench, bench->now_tick + BENCH_TICKS(24 * 3600));
}

u64 bench_next(struct bench *bench)
{
	return repeat(bench, next_once);
}

u64 bench_empty_tick(struct bench *bench)
{
	return repeat(bench, tick_once);
}

u64 bench_jump(struct bench *bench)
{
	return repeat(bench, jump_once);
}
