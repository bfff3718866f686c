// SPDX-License-Identifier: GPL-2.0
/*
 * arm, rearm, cancel: what an operation costs while n timers are pending.
 *
 * A sample is: cancel some timers, drawn at random, arm them again, then re-arm others, drawn
 * anew. So the number of pending timers stays between n and n less a sample's.
 */
#include <stdlib.h>
#include <string.h>

#include "cases.h"

#define SAMPLE_OPS	4096U
/* Where a timer is found by walking all of them. */
#define LINEAR_WORK	10000000U
#define LINEAR_LEAST	32U
#define LINEAR_PATIENT	50000U

/* A usual one. */
#define BATCH		256U

/* Delays of 150 to 270 s: nothing fires meanwhile, and the spread is that of 1 to 120 s. */
#define FAR_NS		(150 * NSEC_PER_SEC)
#define FAR_SPREAD_NS	(120 * NSEC_PER_SEC)

static const uint32_t batches[] = { 1, 16, 256, 4096 };

const char *const kind_names[KINDS] = {
	[KIND_ARM]	= "arm",
	[KIND_REARM]	= "rearm",
	[KIND_CANCEL]	= "cancel",
};

uint64_t far_deadline_ns(uint64_t now_ns, uint64_t *seed)
{
	return now_ns + FAR_NS + chance(seed) % FAR_SPREAD_NS;
}

/* Room for @timers; false, and a row of @n that says why, if the facility cannot. */
bool set_open(struct set *set, const char *name, uint32_t n, uint32_t timers)
{
	const char *why;

	set->nr = timers;
	if (!set->batch)
		set->batch = MAX_BATCH;
	why = set->facility->open(set);
	if (why)
		row_fail(row_of(set, name, n, 0), why);
	return !why;
}

/* Arm the timers from @from to before @to. */
void arm_all(struct set *set, uint32_t from, uint32_t to, uint64_t *seed)
{
	struct item *items = allocate(MAX_BATCH, sizeof(*items));
	uint64_t now = now_ns();
	uint32_t i, part;

	for (; from < to; from += part) {
		part = to - from < MAX_BATCH ? to - from : MAX_BATCH;
		for (i = 0; i < part; i++)
			items[i] = (struct item){
				.timer = from + i,
				.deadline_ns = far_deadline_ns(now, seed),
			};
		set->facility->submit(set, KIND_ARM, items, part);
	}
	free(items);
}

/**
 * struct draw - timers in random order, for drawing without putting back
 * @order: all timers
 * @n: how many
 * @items: those that were drawn
 * @seed: of the draw
 */
struct draw {
	uint32_t	*order;
	uint32_t	n;
	struct item	*items;
	uint64_t	seed;
};

static void draw(struct draw *from, uint32_t nr)
{
	uint64_t now = now_ns();
	uint32_t i, j, swap;

	for (i = 0; i < nr; i++) {
		j = i + chance(&from->seed) % (from->n - i);
		swap = from->order[i];
		from->order[i] = from->order[j];
		from->order[j] = swap;
		from->items[i] = (struct item){
			.timer = from->order[i],
			.deadline_ns = far_deadline_ns(now, &from->seed),
		};
	}
}

/* One sample of one kind; @row is NULL to warm up. */
static void sample(struct set *set, enum kind kind, const struct draw *drawn, uint32_t nr,
		   struct row *row)
{
	double empty_ns = row ? empty_call_ns() : 0;

	set->ticks = 0;
	set->calls = 0;
	set->facility->submit(set, kind, drawn->items, nr);
	if (row)
		row_add(row, ticks_to_ns(set->ticks) / nr, (double)set->calls / nr, empty_ns);
}

static uint32_t sample_ops(const struct set *set)
{
	uint32_t most = SAMPLE_OPS;

	if (set->facility->linear && LINEAR_WORK / set->nr < most)
		most = LINEAR_WORK / set->nr;
	if (most < LINEAR_LEAST)
		most = LINEAR_LEAST;
	/* Half of them stay. */
	return most < set->nr / 2 ? most : set->nr / 2;
}

static void sample_all(struct set *set, struct draw *from, bool warm)
{
	uint32_t n = set->nr, nr = sample_ops(set), batch = set->batch;
	struct row *rows[KINDS] = {};
	int kind;

	if (!set->facility->has_batches)
		batch = 1;
	for (kind = 0; kind < KINDS && warm; kind++)
		rows[kind] = row_of(set, kind_names[kind], n, batch);
	draw(from, nr);
	sample(set, KIND_CANCEL, from, nr, rows[KIND_CANCEL]);
	sample(set, KIND_ARM, from, nr, rows[KIND_ARM]);
	draw(from, nr);
	sample(set, KIND_REARM, from, nr, rows[KIND_REARM]);
}

void case_ops(struct set *set, const struct plan *plan)
{
	uint32_t n = plan->n, rep, i, nr_batches = sizeof(batches) / sizeof(*batches);
	struct draw from = { .n = n, .seed = plan->seed };

	if (!set_open(set, "arm", n, n))
		return;
	from.order = allocate(n, sizeof(*from.order));
	from.items = allocate(SAMPLE_OPS, sizeof(*from.items));
	for (i = 0; i < n; i++)
		from.order[i] = i;
	arm_all(set, 0, n, &from.seed);
	for (rep = 0; rep <= plan->reps; rep++) {
		for (i = 0; i < nr_batches; i++) {
			set->batch = plan->batch ? plan->batch : batches[i];
			if (set->batch > 1 && set->batch > n)
				continue;
			/* The walk hides the batch. */
			if (set->facility->linear && n > LINEAR_PATIENT && set->batch != BATCH)
				continue;
			sample_all(set, &from, rep);
			if (!set->facility->has_batches || plan->batch)
				break;
		}
	}
	set->facility->close(set);
	free(from.order);
	free(from.items);
}
