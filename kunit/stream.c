// SPDX-License-Identifier: GPL-2.0
/*
 * Random streams of operations on one queue, or the same on two queues of different designs.
 *
 * Ticks and times are drawn where queues go wrong: at and around powers of 64, at the ticks of
 * other timers, at next() itself, behind the clock, and at the last tick of all. Steps of all
 * lengths are equally frequent.
 *
 * A pair of queues is only comparable when both have finished a pass, for a budget buys each of
 * them another share of the work. So in a pair every advance goes on, at the same budget, until
 * nothing is left; then the same timers must be live in both. A single queue is left in the middle
 * of a pass, and anything may follow.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "random.h"
#include "stream.h"

/*
 * Far timers would stay for ever, and the clock would come to its end and stay: so begin again at
 * times.
 */
#define STREAM_RESTART_OPS	2048

/* Most steps and distances are below 2^24 ticks, two hours; these are the lengths of the others. */
#define STREAM_STEP_BITS	40
#define STREAM_DISTANCE_BITS	63

/*
 * To go to the next timer is a good step, but with far timers only it takes the clock to its end.
 */
#define STREAM_JUMP		BIT_ULL(STREAM_STEP_BITS)

const struct htw_stream_profile htw_stream_profiles[] = {
	{ .name = "tiny",	.timers = 3,	.check_every = 1,	.ops_shift = 1 },
	{ .name = "small",	.timers = 24,	.check_every = 5 },
	{ .name = "medium",	.timers = 300,	.check_every = 16,	.ops_shift = 1 },
	{ .name = "large",	.timers = 4000,	.check_every = 512,	.ops_shift = 3 },
	{}
};

/**
 * struct htw_stream - a stream under way
 * @test: the test
 * @profile: the kind
 * @rig: the queues; ticks and times are drawn by the state of the first
 * @nr_rigs: how many
 * @random: state of the random numbers
 * @tick: the tick that was drawn last
 */
struct htw_stream {
	struct htw_test			*test;
	const struct htw_stream_profile	*profile;
	struct htw_rig			*rig[2];
	unsigned int			nr_rigs;
	u64				random;
	u64				tick;
};

static u32 stream_below(struct htw_stream *stream, u32 limit)
{
	return htw_random_below(&stream->random, limit);
}

/* One in @nr. */
static bool stream_chance(struct htw_stream *stream, u32 nr)
{
	return !stream_below(stream, nr);
}

static u64 stream_table_step(struct htw_stream *stream)
{
	static const u64 steps[] = {
		0, 1, 2, 63, 64, 65, 127, 128, 4095, 4096, 4097,
		(1 << 18) - 1, 1 << 18, (1 << 18) + 1, 1 << 24, (1 << 24) + 1,
	};

	return steps[stream_below(stream, ARRAY_SIZE(steps))];
}

static u64 stream_distance(struct htw_stream *stream, u32 bits)
{
	switch (stream_below(stream, 8)) {
	case 0:
		return stream_below(stream, 4);
	case 1:
	case 2:
		return stream_table_step(stream);
	case 3:
		return htw_random_length(&stream->random, bits);
	default:
		return htw_random_length(&stream->random, 24);
	}
}

/* Around a boundary of a slot of some level ahead of @tick. */
static u64 stream_boundary(struct htw_stream *stream, u64 tick)
{
	u64 below = BIT_ULL(6 * (1 + stream_below(stream, 5))) - 1;

	return (tick | below) + stream_below(stream, 3);
}

/* The tick of a timer that is queued, or of one that was. */
static u64 stream_known_tick(struct htw_stream *stream)
{
	struct htw_rig *rig = stream->rig[0];
	u32 index = stream_below(stream, rig->nr_timers);

	if (rig->oracle.nr)
		index = htw_oracle_find_live(&rig->oracle, index);
	return rig->oracle.entry[index].tick;
}

/* @tick + @distance, which may be beyond 64 bits. */
static u64 stream_ahead(u64 tick, u64 distance)
{
	return tick + min(distance, HTW_TICK_MAX - tick);
}

static u64 stream_draw_tick(struct htw_stream *stream)
{
	struct htw_rig *rig = stream->rig[0];
	u64 now = rig->now_tick;

	switch (stream_below(stream, 16)) {
	case 0:
		return now - min(now, stream_distance(stream, STREAM_STEP_BITS));
	case 1:
		return stream->tick;
	case 2:
	case 3:
		return stream_known_tick(stream);
	case 4:
	case 5:
		return stream_boundary(stream, now);
	case 6:
		return rig->tick_max - stream_below(stream, 2);
	default:
		return stream_ahead(now, stream_distance(stream, STREAM_DISTANCE_BITS));
	}
}

static u64 stream_draw_now(struct htw_stream *stream)
{
	struct htw_rig *rig = stream->rig[0];
	u64 now = rig->now_tick;

	switch (stream_below(stream, 16)) {
	case 0:
		return now - min(now, stream_distance(stream, STREAM_STEP_BITS));
	case 1:
		return now;
	case 2:
		return htw_rig_next(rig);
	case 3:
		return max(htw_rig_next(rig), 1ULL) - 1;
	case 4:
		return stream_known_tick(stream);
	case 5:
		return stream_boundary(stream, now);
	default:
		return stream_ahead(now, stream_distance(stream, STREAM_STEP_BITS));
	}
}

static u64 stream_draw_budget(struct htw_stream *stream)
{
	switch (stream_below(stream, 8)) {
	case 0:
		return 0;
	case 1:
	case 2:
		return 1 + stream_below(stream, 3);
	case 3:
		return 1 + stream_below(stream, 200);
	default:
		return HTW_BUDGET_NONE;
	}
}

/*
 * Both queues have finished at the same time: what one has handed out, the other has too. One that
 * is not exact may be behind, as far as its own judge allows, but not ahead.
 */
static void stream_compare(struct htw_stream *stream)
{
	struct htw_rig *rig = stream->rig[0], *other = stream->rig[1];
	u32 i;

	for (i = 0; i < rig->nr_timers && htw_rig_ok(rig); i++) {
		rig->argument[0] = i;
		if (htw_rig_is_live(rig, i) ? rig->design->granule : other->design->granule)
			continue;
		htw_rig_expect(rig, "queued in one design as in the other",
			       htw_rig_is_live(rig, i), htw_rig_is_live(other, i));
	}
	htw_rig_expect(rig, "the clock of one design is that of the other", rig->clock_tick,
		       other->clock_tick);
}

static void stream_advance(struct htw_stream *stream)
{
	u64 now = stream_draw_now(stream);
	u64 budget = stream_draw_budget(stream);
	unsigned int i;

	if (now > stream_ahead(stream->rig[0]->now_tick, STREAM_JUMP) && !stream_chance(stream, 16))
		now = stream_boundary(stream, stream->rig[0]->now_tick);
	now = min(now, stream->rig[0]->tick_max);
	for (i = 0; i < stream->nr_rigs; i++)
		htw_rig_advance(stream->rig[i], now, budget);
	if (stream->nr_rigs < 2)
		return;
	/*
	 * In a pair: to the end, and to the same end if the time given lies before the clock of
	 * either.
	 */
	now = max3(now, stream->rig[0]->clock_tick, stream->rig[1]->clock_tick);
	for (i = 0; i < stream->nr_rigs; i++) {
		while (htw_rig_advance(stream->rig[i], now, budget ?: 1))
			;
	}
	stream_compare(stream);
}

static void stream_add(struct htw_stream *stream)
{
	u32 index = stream_below(stream, stream->rig[0]->nr_timers);
	unsigned int i;

	stream->tick = min(stream_draw_tick(stream), stream->rig[0]->tick_max);
	for (i = 0; i < stream->nr_rigs; i++)
		htw_rig_add(stream->rig[i], index, stream->tick);
}

static void stream_del(struct htw_stream *stream)
{
	u32 index = stream_below(stream, stream->rig[0]->nr_timers);
	unsigned int i;

	if (!stream->rig[0]->oracle.nr)
		return;
	index = htw_oracle_find_live(&stream->rig[0]->oracle, index);
	for (i = 0; i < stream->nr_rigs; i++) {
		if (htw_rig_is_live(stream->rig[i], index))
			htw_rig_del(stream->rig[i], index);
	}
}

/* What is drawn may lie before the timer's tick; then it stays where it is, or goes a step on. */
static void stream_postpone(struct htw_stream *stream)
{
	struct htw_rig *rig = stream->rig[0];
	u32 index = stream_below(stream, rig->nr_timers);
	unsigned int i;
	u64 tick;

	if (!rig->oracle.nr)
		return;
	index = htw_oracle_find_live(&rig->oracle, index);
	tick = rig->oracle.entry[index].tick;
	if (stream_chance(stream, 2))
		tick = stream_ahead(tick, stream_distance(stream, STREAM_STEP_BITS));
	stream->tick = min(max(tick, stream_draw_tick(stream)), rig->tick_max);
	for (i = 0; i < stream->nr_rigs; i++) {
		if (htw_rig_is_live(stream->rig[i], index))
			htw_rig_postpone(stream->rig[i], index, stream->tick);
	}
}

/* Which ones are taken is up to the design; in a pair it must not matter, so take all. */
static void stream_take(struct htw_stream *stream)
{
	u64 max = stream_below(stream, 8);
	unsigned int i;

	if (stream->nr_rigs > 1 || stream_chance(stream, 8))
		max = U64_MAX;
	for (i = 0; i < stream->nr_rigs; i++)
		htw_rig_take(stream->rig[i], max);
}

static void stream_place(struct htw_stream *stream)
{
	u32 index = stream_below(stream, stream->rig[0]->nr_timers);
	unsigned int i;

	if (!stream->rig[0]->oracle.nr)
		return;
	index = htw_oracle_find_live(&stream->rig[0]->oracle, index);
	for (i = 0; i < stream->nr_rigs; i++) {
		if (htw_rig_is_live(stream->rig[i], index))
			htw_rig_place(stream->rig[i], index);
	}
}

/* Now and then near the end of time. */
static void stream_restart(struct htw_stream *stream)
{
	u64 clock = stream->test->start_tick;
	unsigned int i;

	if (stream_chance(stream, 4))
		clock = stream->rig[0]->tick_max - htw_random_length(&stream->random, 30);
	for (i = 0; i < stream->nr_rigs; i++)
		htw_rig_restart(stream->rig[i], stream->test->tick_bits, clock);
}

static void stream_step(struct htw_stream *stream)
{
	struct htw_rig *rig = stream->rig[0];

	if (stream_chance(stream, STREAM_RESTART_OPS) ||
	    (rig->now_tick == rig->tick_max && stream_chance(stream, 16))) {
		stream_restart(stream);
		return;
	}
	switch (stream_below(stream, 32)) {
	case 0:
		if (stream_chance(stream, 4))
			stream_take(stream);
		break;
	case 1:
		stream_place(stream);
		break;
	case 2 ... 4:
		stream_del(stream);
		break;
	case 5 ... 14:
		stream_advance(stream);
		break;
	case 15 ... 18:
		stream_postpone(stream);
		break;
	default:
		stream_add(stream);
	}
}

static void stream_run(struct htw_stream *stream)
{
	u64 ops = max(stream->test->ops >> stream->profile->ops_shift, 1ULL);
	unsigned int i;
	u64 op;

	stream->random = stream->test->seed ^ stream->profile->timers;
	for (i = 0; i < stream->nr_rigs; i++)
		stream->rig[i]->check_every = stream->profile->check_every;
	for (op = 0; op < ops && htw_rig_ok(stream->rig[0]); op++)
		stream_step(stream);
}

/**
 * htw_stream_run() - feed a random stream to a queue
 * @test: the test; says design, start, seed and number of operations
 * @profile: the kind of stream
 *
 * Context: task, may sleep.
 */
void htw_stream_run(struct htw_test *test, const struct htw_stream_profile *profile)
{
	struct htw_stream stream = { .test = test, .profile = profile, .nr_rigs = 1 };

	stream.rig[0] = htw_rig_open(test, test->design, profile->timers);
	if (!stream.rig[0])
		return;
	stream_run(&stream);
	htw_rig_close(stream.rig[0]);
}

/**
 * htw_stream_run_pair() - feed the same random stream to queues of two designs
 * @test: the test; says one design, start, seed and number of operations
 * @other: the other design
 * @profile: the kind of stream
 *
 * Context: task, may sleep.
 */
void htw_stream_run_pair(struct htw_test *test, const struct htw_design *other,
			 const struct htw_stream_profile *profile)
{
	struct htw_stream stream = { .test = test, .profile = profile, .nr_rigs = 2 };

	stream.rig[0] = htw_rig_open(test, test->design, profile->timers);
	if (!stream.rig[0])
		return;
	stream.rig[1] = htw_rig_open(test, other, profile->timers);
	if (stream.rig[1]) {
		stream_run(&stream);
		htw_rig_close(stream.rig[1]);
	}
	htw_rig_close(stream.rig[0]);
}
