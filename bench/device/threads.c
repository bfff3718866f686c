// SPDX-License-Identifier: GPL-2.0
/*
 * threads: what a second thread adds. Each thread, on a CPU of its own, cancels timers of its own,
 * drawn at random, and arms them again, as fast as it can. First one does, then two with a context
 * each, then two in one context, again and again.
 *
 * The rows have the time of an operation, all threads together, by the clock. "speedup" is how many
 * times more they do than one.
 */
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>

#include "cases.h"

#define RUN_NS		(200 * NSEC_PER_MSEC)
#define BATCH		256
#define WORKERS		2

/**
 * struct worker - a thread
 * @set: its timers
 * @cpu: where it runs
 * @end: the counter's value at which it stops
 * @done: operations
 * @calls: system calls
 * @seed: of its choice
 */
struct worker {
	struct set	set;
	unsigned int	cpu;
	uint64_t	end;
	uint64_t	done;
	uint64_t	calls;
	uint64_t	seed;
	pthread_t	thread;
} __attribute__((aligned(64)));

static void churn(struct worker *worker, struct item *items)
{
	uint32_t i, first = chance(&worker->seed) % worker->set.nr;
	uint64_t now = now_ns();

	/* A stride that is prime to all sizes that are no multiple of it: no timer comes twice. */
	for (i = 0; i < BATCH; i++)
		items[i] = (struct item){
			.timer = (first + (uint64_t)i * 7919) % worker->set.nr,
			.deadline_ns = far_deadline_ns(now, &worker->seed),
		};
	worker->set.facility->submit(&worker->set, KIND_CANCEL, items, BATCH);
	worker->set.facility->submit(&worker->set, KIND_ARM, items, BATCH);
	worker->done += 2 * BATCH;
}

static void *work(void *argument)
{
	struct item *items = allocate(BATCH, sizeof(*items));
	struct worker *worker = argument;

	pin_to(worker->cpu);
	worker->done = 0;
	worker->set.calls = 0;
	while (ticks() < worker->end)
		churn(worker, items);
	free(items);
	return NULL;
}

/* Operations in RUN_NS of so many threads. */
static double run(struct worker *workers, unsigned int nr, double *calls)
{
	uint64_t from = ticks(), done = 0;
	unsigned int i;

	*calls = 0;
	for (i = 0; i < nr; i++) {
		workers[i].end = from + RUN_NS / ticks_to_ns(1);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			fail("no thread");
	}
	for (i = 0; i < nr; i++) {
		pthread_join(workers[i].thread, NULL);
		done += workers[i].done;
		*calls += workers[i].set.calls;
	}
	*calls /= done;
	return done / ticks_to_ns(ticks() - from);
}

static bool open_worker(struct worker *worker, const struct set *like, struct set *share,
			const struct plan *plan)
{
	worker->set = (struct set){ .facility = like->facility, .batch = BATCH, .share = share };
	worker->seed = plan->seed + worker->cpu;
	if (!set_open(&worker->set, "threads", plan->n))
		return false;
	arm_all(&worker->set, 0, plan->n, &worker->seed);
	return true;
}

/* Time of an operation of @nr threads, and how that compares with one of them alone. */
static void compare(struct worker *workers, const char *name, const struct plan *plan)
{
	struct row *row = row_of(&workers->set, name, plan->n, BATCH);
	struct row *alone = row_of(&workers->set, "threads1", plan->n, BATCH);
	double empty_ns, calls, rate, one, ratio = 0;
	uint32_t rep;

	run(workers, WORKERS, &calls);
	for (rep = 0; rep < plan->reps; rep++) {
		empty_ns = empty_call_ns();
		one = run(workers, 1, &calls);
		row_add(alone, 1 / one, calls, empty_ns);
		rate = run(workers, WORKERS, &calls);
		/* Two threads are in their calls at the same time. */
		row_add(row, 1 / rate, calls / WORKERS, empty_ns);
		ratio += rate / one / plan->reps;
	}
	snprintf(row->extra, sizeof(row->extra), ",\"speedup\":%.2f", ratio);
}

void case_threads(struct set *set, const struct plan *plan)
{
	struct worker *workers = aligned_alloc(64, WORKERS * sizeof(*workers));
	unsigned int i;

	if (!workers)
		fail("no memory");
	if (set->facility->linear || nr_cpus() < WORKERS) {
		row_fail(row_of(set, "threads2_own", plan->n, BATCH),
			 set->facility->linear ? "a cancel walks all timers" : "one CPU");
		return;
	}
	for (i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){ .cpu = i };
		if (!open_worker(&workers[i], set, NULL, plan))
			return;
	}
	compare(workers, "threads2_own", plan);
	workers[1].set.facility->close(&workers[1].set);
	if (set->facility->can_share) {
		if (!open_worker(&workers[1], set, &workers[0].set, plan))
			return;
		compare(workers, "threads2_shared", plan);
		workers[1].set.facility->close(&workers[1].set);
	}
	workers[0].set.facility->close(&workers[0].set);
	free(workers);
}
