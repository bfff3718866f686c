// SPDX-License-Identifier: GPL-2.0
/*
 * The random numbers: drawn beforehand, from one seed, and the same for all contestants.
 *
 * The clock of the queue stands while timers are armed; what its moving costs is measured by the
 * cases that move it. So that constant timeouts are not all due in one tick, which no server ever
 * sees, their deadlines go up from arm to arm, by as much as if n of them were armed in that time.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static u64 state;

/* xorshift64*: for loads and not for secrets. */
u64 bench_random(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 2685821657736338717ULL;
}

/* From @from to @to, either included. */
static u32 between(u64 from, u64 to)
{
	return from + (bench_random() >> 16) % (to - from + 1);
}

static u32 draw_uniform(u64 k, u64 n)
{
	return between(BENCH_TICKS(1), BENCH_TICKS(120));
}

static u32 draw_constant(u64 k, u64 n)
{
	return BENCH_TICKS(30) + k * BENCH_TICKS(30) / n;
}

/* A connection has two timeouts, and a heartbeat of 0.5 to 5 s. */
static u32 draw_seeds(u64 k, u64 n)
{
	return k % 3 == 2 ? between(BENCH_TICKS(1) / 2, BENCH_TICKS(5)) : draw_uniform(k, n);
}

const struct bench_load bench_loads[] = {
	{ "uniform", draw_uniform },
	{ "constant", draw_constant },
	{ "seeds", draw_seeds },
	{}
};

const struct bench_load *bench_load_find(const char *name)
{
	const struct bench_load *load;

	for (load = bench_loads; load->name; load++) {
		if (!strcmp(load->name, name))
			return load;
	}
	return NULL;
}

static u32 *permutation(u64 n)
{
	u32 *order = bench_allocate(n, sizeof(*order)), swap;
	u64 i, with;

	for (i = 0; i < n; i++) {
		with = (bench_random() >> 16) % (i + 1);
		swap = order[with];
		order[with] = i;
		order[i] = with == i ? i : swap;
	}
	return order;
}

void bench_sequence_make(struct bench_sequence *seq, const struct bench_load *load, u64 n, u64 ops)
{
	u64 i, picks = BENCH_PICKS * ops;

	state = 88172645463325252ULL;
	*seq = (struct bench_sequence){ .load = load, .n = n, .ops = ops };
	seq->order = permutation(n);
	seq->cancels = permutation(n);
	seq->tick = bench_allocate(n, sizeof(u32));
	seq->pick = bench_allocate(picks, sizeof(u32));
	seq->pick_tick = bench_allocate(picks, sizeof(u32));
	seq->delta = bench_allocate(picks, sizeof(u32));
	for (i = 0; i < n; i++)
		seq->tick[i] = load->draw(i, n);
	for (i = 0; i < picks; i++) {
		seq->pick[i] = (bench_random() >> 16) % n;
		seq->pick_tick[i] = load->draw(n + i, n);
		seq->delta[i] = between(BENCH_TICKS(1), BENCH_TICKS(2));
	}
	/* Behind all of those that are constant already. */
	seq->constant_tick = load->draw == draw_constant ?
			     draw_constant(n + picks, n) + BENCH_TICKS(2) : draw_constant(0, n);
}

void bench_sequence_free(struct bench_sequence *seq)
{
	free(seq->order);
	free(seq->cancels);
	free(seq->tick);
	free(seq->pick);
	free(seq->pick_tick);
	free(seq->delta);
}
