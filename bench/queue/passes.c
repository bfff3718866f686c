// SPDX-License-Identifier: GPL-2.0
/*
 * What is done while the clock goes: passes, tick by tick. Each function but the first returns how
 * many operations that were.
 */
#include <linux/list.h>
#include <linux/minmax.h>

#include "bench.h"

/* As the engine's pass: so many chunks ahead of time after the last that had something due. */
#define EARLY_CHUNKS	3

/*
 * What the engine does to each timer that is due: it writes into it. A timer that comes before its
 * tick is the end of the measurement, since what is fast and wrong is not worth a figure.
 */
static void take_over(struct bench *bench, struct list_head *due, bool again)
{
	struct bench_timer *timer;
	struct htw_node *node, *next;

	list_for_each_entry_safe(node, next, due, link) {
		timer = container_of(node, struct bench_timer, node);
		if (node->tick > bench->now_tick)
			bench_fail("%s hands out before the tick", bench->design->name);
		bench->fired++;
		timer->expired = 1;
		if (!again || !timer->period_ticks)
			continue;
		timer->expired = 0;
		node->tick += timer->period_ticks;
		bench->design->add(bench->queue, node);
	}
	INIT_LIST_HEAD(due);
}

static void pass(struct bench *bench, u64 now_tick, bool again)
{
	unsigned int early = EARLY_CHUNKS;
	LIST_HEAD(due);
	u64 used;
	bool more;

	bench->now_tick = now_tick;
	do {
		used = bench->work.due + bench->work.moves;
		more = bench->design->advance(bench->queue, now_tick, BENCH_BATCH, &due,
					      &bench->work);
		used = bench->work.due + bench->work.moves - used;
		if (!list_empty(&due))
			take_over(bench, &due, again);
	} while (more || (used >= BENCH_BATCH && early--));
}

/* One run of a base at @now_tick: hand out in chunks until all is handed out. */
void bench_pass(struct bench *bench, u64 now_tick)
{
	pass(bench, now_tick, false);
}

/* Tick by tick until nothing is left. */
u64 bench_expire(struct bench *bench)
{
	while (bench->queue->nr)
		bench_pass(bench, bench->now_tick + 1);
	return bench->fired;
}

/* All in one tick. A design that is not exact may need some more. */
u64 bench_storm(struct bench *bench)
{
	bench_pass(bench, bench->now_tick + 1);
	return bench_expire(bench);
}

/* A minute of SEEDS: heartbeats are armed again when they have come. */
u64 bench_run_seeds(struct bench *bench)
{
	u64 end = bench->now_tick + BENCH_TICKS(60);

	while (bench->now_tick < end)
		pass(bench, bench->now_tick + 1, true);
	return bench->fired;
}

/*
 * A minute of idle timeouts of 30 s, each pushed back about four times: a re-arm, and what it
 * leaves to be done when the clock comes by.
 */
u64 bench_run_idle(struct bench *bench)
{
	const struct bench_sequence *seq = bench->seq;
	u64 begin = bench->now_tick, op = 0, until, now;
	struct bench_timer *timer;

	for (now = begin + 1; now <= begin + BENCH_TICKS(60); now++) {
		bench_pass(bench, now);
		until = (now - begin) * bench->ops / BENCH_TICKS(60);
		for (; op < until; op++) {
			timer = &bench->timer[seq->pick[op]];
			if (!timer->expired) {
				bench_rearm(bench, &timer->node, now + BENCH_TICKS(30));
				continue;
			}
			timer->expired = 0;
			timer->node.tick = now + BENCH_TICKS(30);
			bench->design->add(bench->queue, &timer->node);
		}
	}
	return op;
}
