// SPDX-License-Identifier: GPL-2.0
/*
 * deliver, drain: what it costs to get at the expirations of n timers that fall due at once.
 *
 * deliver is the time from the common deadline until the program, which sleeps before it, has the
 * last expiration in hand: the kernel's work of letting all expire is in it, and so is the sleeper's
 * being woken. All of it happens on one CPU. drain is what is left of that if the program comes when
 * all have expired already: receiving alone. (Where the kernel defers the work to the receiver, as
 * io_uring does, that is in drain, too.)
 */
#include <stdlib.h>

#include "cases.h"

/* Between the last arm and the deadline. */
#define LEAD_NS		(100 * NSEC_PER_MSEC)
/* For the kernel to let one timer expire, generously. */
#define EXPIRE_NS	(20 * NSEC_PER_USEC)

/* Arm all for one moment; false if that was over before the last was armed. */
static bool arm_storm(struct set *set, uint64_t deadline_ns)
{
	struct item *items = allocate(set->nr, sizeof(*items));
	uint32_t i;

	for (i = 0; i < set->nr; i++)
		items[i] = (struct item){ .timer = i, .deadline_ns = deadline_ns };
	set->facility->submit(set, KIND_ARM, items, set->nr);
	free(items);
	return now_ns() + LEAD_NS / 2 < deadline_ns;
}

/* Receive all; the time on the meter starts when the deadline comes. */
static void receive(struct set *set, const char *name, uint64_t from_ns, bool late)
{
	uint32_t *timers = allocate(MAX_COLLECT, sizeof(*timers)), nr = 0;
	double empty_ns = empty_call_ns();
	uint64_t now, from;

	if (late)
		sleep_until_ns(from_ns + LEAD_NS + set->nr * EXPIRE_NS);
	now = now_ns();
	from = ticks();
	set->calls = 0;
	while (nr < set->nr)
		nr += set->facility->collect(set, timers);
	/* What passed before the deadline was sleep. */
	row_add(row_of(set, name, set->nr, 0),
		(ticks_to_ns(ticks() - from) - (late ? 0 : (double)(from_ns - now))) / set->nr,
		(double)set->calls / set->nr, empty_ns);
	free(timers);
}

static bool storm(struct set *set, uint32_t n, const char *name, bool late, uint64_t arm_ns)
{
	uint64_t deadline_ns;
	bool fits;

	if (!set_open(set, name, n))
		return true;
	deadline_ns = now_ns() + arm_ns + LEAD_NS;
	fits = arm_storm(set, deadline_ns);
	if (fits)
		receive(set, name, deadline_ns, late);
	set->facility->close(set);
	return fits;
}

void case_deliver(struct set *set, const struct plan *plan)
{
	uint64_t arm_ns = plan->n * NSEC_PER_USEC;
	uint32_t rep;

	for (rep = 0; rep < plan->reps; rep++) {
		while (!storm(set, plan->n, "deliver", false, arm_ns) && arm_ns < NSEC_PER_SEC * 60)
			arm_ns *= 2;
		while (!storm(set, plan->n, "drain", true, arm_ns) && arm_ns < NSEC_PER_SEC * 60)
			arm_ns *= 2;
	}
}
