// SPDX-License-Identifier: GPL-2.0
/*
 * table_store: to postpone a timer by a store into the deadline table, timers in random order.
 *
 * It is the program's side alone: no system call is in it. What the kernel does later, once for
 * each deadline that comes and was postponed, is postpone: the time that is missing to a loop on
 * the same CPU while n such deadlines come at one moment, an interrupt's or two included.
 */
#include <stdlib.h>

#include "cases.h"
#include "device.h"
#include "shared.h"

#define STORES		(1U << 20)
#define LEAD_NS		(200 * NSEC_PER_MSEC)
/* A gap that only something else than the loop can make. */
#define GAP_NS		500

static struct shared the_table;

static const char *open_table(struct set *set)
{
	return shared_open(set, &the_table, 0, true);
}

static void close_table(struct set *set)
{
	shared_close(&the_table);
	device_close(set);
}

static void store(const struct set *set, uint32_t *order, struct row *row, uint64_t *seed)
{
	const struct device *device = set->private;
	uint64_t from, time_ns = now_ns() + 300 * NSEC_PER_SEC;
	double empty_ns = empty_call_ns();
	uint32_t i;

	/* The word is known from the name; a program keeps that where it keeps the connection. */
	for (i = 0; i < STORES; i++)
		order[i] = device->ids[chance(seed) % set->nr];
	from = ticks();
	for (i = 0; i < STORES; i++)
		__atomic_store_n(&the_table.table[order[i]], time_ns + i, __ATOMIC_RELAXED);
	row_add(row, ticks_to_ns(ticks() - from) / STORES, 0, empty_ns);
}

/* Time that something else took from this CPU for so long. */
static double missing_ns(uint64_t duration_ns)
{
	uint64_t gap = GAP_NS / ticks_to_ns(1), now = ticks(), before, missing = 0;
	uint64_t end = now + duration_ns / ticks_to_ns(1);

	while (now < end) {
		before = now;
		now = ticks();
		if (now - before > gap)
			missing += now - before;
	}
	return ticks_to_ns(missing);
}

/* All come at one moment, and all have been postponed. */
static void postpone(struct set *set, struct row *row, uint64_t *seed)
{
	uint64_t duration_ns = 2 * (LEAD_NS + set->nr * NSEC_PER_USEC), far_ns;
	struct item *items = allocate(set->nr, sizeof(*items));
	const struct device *device = set->private;
	double idle_ns = missing_ns(duration_ns);
	uint32_t i;

	far_ns = now_ns() + LEAD_NS + set->nr * NSEC_PER_USEC;
	for (i = 0; i < set->nr; i++)
		items[i] = (struct item){ .timer = i, .deadline_ns = far_ns };
	set->facility->submit(set, KIND_REARM, items, set->nr);
	far_ns = now_ns();
	for (i = 0; i < set->nr; i++)
		__atomic_store_n(&the_table.table[(uint32_t)device->ids[i]],
				 far_deadline_ns(far_ns, seed), __ATOMIC_RELAXED);
	row_add(row, (missing_ns(duration_ns) - idle_ns) / set->nr, 0, 0);
	free(items);
}

void case_table(struct set *set, const struct plan *plan)
{
	struct facility facility = *set->facility;
	uint32_t *order, rep;
	uint64_t seed = plan->seed;

	if (facility.linear || !facility.can_share)
		return;
	facility.open = open_table;
	facility.close = close_table;
	set->facility = &facility;
	if (!set_open(set, "table_store", plan->n, plan->n))
		return;
	order = allocate(STORES, sizeof(*order));
	arm_all(set, 0, plan->n, &seed);
	for (rep = 0; rep < plan->reps; rep++)
		store(set, order, row_of(set, "table_store", plan->n, 0), &seed);
	for (rep = 0; rep < plan->reps; rep++)
		postpone(set, row_of(set, "postpone", plan->n, 0), &seed);
	set->facility->close(set);
	free(order);
}
