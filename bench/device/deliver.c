// SPDX-License-Identifier: GPL-2.0
/*
 * deliver, drain: what it costs to get at the expirations of n timers that fall due at once.
 *
 * deliver is the time from the common deadline until the program, which sleeps before it, has the
 * last expiration in hand: the kernel's work of letting all expire is in it, and so is the
 * sleeper's being woken. All of it happens on one CPU. drain is what is left of that if the
 * program comes when all have expired already: receiving alone. (Where the kernel defers the work
 * to the receiver, as io_uring does, that is in drain, too.)
 */
#include <stdlib.h>

#include "cases.h"

/* Between the last arm and the deadline. */
#define LEAD_NS		(100 * NSEC_PER_MSEC)
/* For the kernel to let one timer expire, generously. */
#define EXPIRE_NS	(5 * NSEC_PER_USEC)

/* Beside the system call, if a timer has one of its own: for arming it, generously. */
#define ARM_NS		(10 * NSEC_PER_USEC)
#define ARM_BATCHED_NS	(3 * NSEC_PER_USEC)

#define MAX_ATTEMPTS	3
#define PATIENT_SIZE	20000

/* How long arming all may take, by a guess. */
static uint64_t guess_arm_ns(const struct set *set)
{
	return set->nr * (set->facility->has_batches ? ARM_BATCHED_NS : ARM_NS + empty_call_ns());
}

/* Arm all for one moment, which this returns; 0 if that was over before the last was armed. */
static uint64_t arm_storm(struct set *set, uint64_t *arm_ns)
{
	struct item *items = allocate(set->nr, sizeof(*items));
	uint64_t from_ns, deadline_ns, end_ns;
	uint32_t i;

	if (!*arm_ns)
		*arm_ns = guess_arm_ns(set);
	from_ns = now_ns();
	deadline_ns = from_ns + *arm_ns + LEAD_NS;
	for (i = 0; i < set->nr; i++)
		items[i] = (struct item){ .timer = i, .deadline_ns = deadline_ns };
	set->facility->submit(set, KIND_ARM, items, set->nr);
	free(items);
	end_ns = now_ns();
	/* The next attempt knows better. */
	*arm_ns = (end_ns - from_ns) * 3 / 2;
	return end_ns + LEAD_NS / 2 < deadline_ns ? deadline_ns : 0;
}

/*
 * Receive all; the time starts when the deadline comes, for what passed before it was sleep. What
 * an empty call costs is measured at both ends, since many calls take long.
 */
static void receive(struct set *set, const char *name, uint64_t deadline_ns, bool late)
{
	uint32_t *timers = allocate(MAX_COLLECT, sizeof(*timers)), nr = 0;
	double empty_ns = empty_call_ns(), slept_ns = 0;
	uint64_t from;

	if (late)
		sleep_until_ns(deadline_ns + LEAD_NS + set->nr * EXPIRE_NS);
	else
		slept_ns = (double)deadline_ns - now_ns();
	from = ticks();
	set->calls = 0;
	while (nr < set->nr)
		nr += set->facility->collect(set, timers);
	from = ticks() - from;
	empty_ns = (empty_ns + empty_call_ns()) / 2;
	row_add(row_of(set, name, set->nr, 0), (ticks_to_ns(from) - slept_ns) / set->nr,
		(double)set->calls / set->nr, empty_ns);
	free(timers);
}

static void storm(struct set *set, uint32_t n, const char *name, bool late, uint64_t *arm_ns)
{
	uint64_t deadline_ns = 0;
	unsigned int attempt;

	for (attempt = 0; attempt < MAX_ATTEMPTS && !deadline_ns; attempt++) {
		if (!set_open(set, name, n, n))
			return;
		deadline_ns = arm_storm(set, arm_ns);
		if (deadline_ns)
			receive(set, name, deadline_ns, late);
		set->facility->close(set);
	}
	if (!deadline_ns)
		row_fail(row_of(set, name, n, 0), "too slow to arm");
}

void case_deliver(struct set *set, const struct plan *plan)
{
	uint32_t rep, reps = plan->reps;
	uint64_t arm_ns = 0;

	/* Half a minute of system calls for each in some guests. */
	if (!set->facility->has_batches && plan->n > PATIENT_SIZE)
		reps = 1;
	for (rep = 0; rep < reps; rep++) {
		storm(set, plan->n, "deliver", false, &arm_ns);
		storm(set, plan->n, "drain", true, &arm_ns);
	}
}
