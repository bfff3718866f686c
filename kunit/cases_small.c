// SPDX-License-Identifier: GPL-2.0
/*
 * Cases: every sequence of a few operations on queues so small that a few operations go through all
 * of them. No chance involved.
 *
 * An operation is an add of the first timer that is not queued, at each tick that there is; the
 * deletion of each timer; an advance by each step with each small budget; or, if the design can do
 * that, the postponement of the first timer that is queued, to each later tick. A sequence is a
 * number whose digits are operations. One that begins with an operation that makes no sense (a
 * deletion of what is not queued) is left out with all that follow it, and what was judged as part
 * of a shorter sequence is not judged again.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "cases.h"

#define SMALL_TIMERS	3U
#define SMALL_DEPTH	8U

/**
 * struct small - a small queue
 * @name: its design; NULL: any that is not named, with the row's own shape
 * @geometry: its shape
 * @bits: bits of its ticks
 * @ticks: ticks 0 to @ticks - 1 are armed, and the clock goes by steps shorter than that
 * @thin: which of these steps, and ticks to postpone to, the long sequences have, a bit for each
 * @far: ticks that are armed too, if they are not 0
 */
struct small {
	const char		*name;
	struct htw_geometry	geometry;
	unsigned int		bits;
	u32			ticks;
	u32			thin;
	u32			far[8];
};

static const struct small smalls[] = {
	{ "wheel", { 2, { 4, 4 } }, 4, 16, 0x883a, {} },
	{ "wheel", { 3, { 2, 2, 2 } }, 3, 8, 0x9e, {} },
	{ "hier", { 2, { 4, 4 } }, 64, 8, 0xa3a, { 15, 16, 17, 33 } },
	{ "hier", { 2, { 2, 3 } }, 64, 8, 0x266, { 11, 12, 13 } },
	{ "hier", { HTW_MAX_LEVELS, { [0 ... HTW_MAX_LEVELS - 1] = 2 } }, 64, 4, 0x16, { 7, 8 } },
	{ "hashed", { 1, { 4 } }, 64, 6, 0xba, { 8, 9, 12 } },
	{ "linux", { 9, { [0 ... 8] = 64 } }, 64, 2, 0x196, { 7, 62, 63, 64, 65, 71, 504, 505 } },
	{ NULL, {}, 64, 6, 0x26, {} },
};

static const u64 budgets[] = { 0, 1, 2, 3, HTW_BUDGET_NONE };

static u32 small_ticks(const struct small *small)
{
	u32 nr = 0;

	while (nr < ARRAY_SIZE(small->far) && small->far[nr])
		nr++;
	return small->ticks + nr;
}

static u32 small_tick(const struct small *small, u32 nr)
{
	return nr < small->ticks ? nr : small->far[nr - small->ticks];
}

static u32 small_codes(const struct small *small)
{
	return SMALL_TIMERS + (2 + ARRAY_SIZE(budgets)) * small_ticks(small);
}

static bool small_add(struct htw_rig *rig, u64 tick)
{
	u32 timer = 0;

	while (timer < SMALL_TIMERS && htw_rig_is_live(rig, timer))
		timer++;
	if (timer < SMALL_TIMERS)
		htw_rig_add(rig, timer, tick);
	return timer < SMALL_TIMERS;
}

static bool small_postpone(struct htw_rig *rig, u64 tick)
{
	u32 timer;

	if (!rig->oracle.nr || !rig->design->postpone)
		return false;
	timer = htw_oracle_find_live(&rig->oracle, 0);
	if (tick <= rig->oracle.entry[timer].tick)
		return false;
	htw_rig_postpone(rig, timer, tick);
	return true;
}

/* With nothing queued a budget makes no difference, nor one that cannot be used up. */
static bool small_advance(struct htw_rig *rig, u64 step, u64 budget)
{
	u64 most = rig->oracle.nr * (1 + max(rig->geometry.levels, 1U));

	if (step > rig->tick_max - rig->now_tick)
		return false;
	if (budget && (!rig->oracle.nr || (budget >= most && budget != HTW_BUDGET_NONE)))
		return false;
	htw_rig_advance(rig, rig->now_tick + step, budget);
	return true;
}

/* Do the operation that @code says; false if it makes no sense now. */
static bool small_step(struct htw_rig *rig, const struct small *small, u32 code, bool thin)
{
	u32 ticks = small_ticks(small);

	if (code < ticks)
		return small_add(rig, small_tick(small, code));
	code -= ticks;
	if (thin && code < (1 + ARRAY_SIZE(budgets)) * ticks && !(small->thin >> code % ticks & 1))
		return false;
	if (code < ARRAY_SIZE(budgets) * ticks)
		return small_advance(rig, small_tick(small, code % ticks), budgets[code / ticks]);
	code -= ARRAY_SIZE(budgets) * ticks;
	if (code < ticks)
		return small_postpone(rig, small_tick(small, code));
	code -= ticks;
	if (!htw_rig_is_live(rig, code))
		return false;
	htw_rig_del(rig, code);
	return true;
}

/**
 * struct search - sequences under way
 * @small: the queue
 * @depth: operations of a sequence
 * @thin: only the steps of the long sequences
 * @code: the sequence
 */
struct search {
	const struct small	*small;
	u32			depth;
	bool			thin;
	u32			code[SMALL_DEPTH];
};

/* Run a sequence. Returns how many of its operations made sense. */
static u32 small_sequence(struct htw_rig *rig, const struct search *search, u32 judged)
{
	u32 i;

	rig->look_every = U32_MAX;
	rig->check_every = U32_MAX;
	htw_rig_restart(rig, search->small->bits, 0);
	for (i = 0; i < search->depth; i++) {
		rig->look_every = i < judged ? U32_MAX : 1;
		rig->check_every = rig->look_every;
		if (!small_step(rig, search->small, search->code[i], search->thin))
			return i;
	}
	htw_rig_run(rig, min(rig->now_tick + 2048, rig->tick_max));
	htw_rig_expect(rig, "timers left", rig->oracle.nr, 0);
	return search->depth;
}

/* All sequences of so many operations, in the order of their numbers. */
static void small_search(struct htw_rig *rig, const struct small *small, u32 depth, bool thin)
{
	struct search search = { .small = small, .depth = depth, .thin = thin };
	u32 codes = small_codes(small), at = 0;

	do {
		/* The next number, after all that begin like this one if it made no sense. */
		at = min(small_sequence(rig, &search, at), depth - 1);
		while (search.code[at] + 1 == codes && at)
			at--;
		search.code[at]++;
		memset(&search.code[at + 1], 0, (SMALL_DEPTH - at - 1) * sizeof(u32));
	} while (search.code[0] < codes && htw_rig_ok(rig));
}

/*
 * As long as the test allows; and where that is long, shorter ones with all steps. That is 4 and 3
 * operations in userspace, 3 in a kernel, and 2 in one that checks each access.
 */
static void every_small_sequence(struct htw_rig *rig)
{
	const struct htw_geometry own = rig->wanted;
	u32 depth = min(rig->test->depth, SMALL_DEPTH);
	const struct small *small;
	bool named = false;

	if (!rig->test->once)
		return;
	for (small = smalls; small < smalls + ARRAY_SIZE(smalls); small++) {
		if (small->name ? !htw_rig_is(rig, small->name) : named)
			continue;
		named = true;
		rig->wanted = small->name ? small->geometry : own;
		htw_rig_expect(rig, "the design has this shape",
			       htw_design_fits(rig->design, &rig->wanted, small->bits), true);
		small_search(rig, small, depth, true);
		if (depth > 3)
			small_search(rig, small, depth - 1, false);
	}
	rig->wanted = own;
	htw_rig_restart(rig, rig->test->tick_bits, rig->test->start_tick);
}

const struct htw_case htw_cases_small[] = {
	HTW_CASE(every_small_sequence, SMALL_TIMERS),
	{}
};
