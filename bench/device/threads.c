// SPDX-License-Identifier: GPL-2.0
/*
 * threads: what a second CPU adds. Each worker, on a CPU of its own, cancels timers of its own and
 * arms them again, as fast as it can: one alone, then two with a context each, or two in one
 * context, in turns.
 *
 * The workers are processes, not threads of one: user-mode Linux lets only one thread of a process
 * run its own code at a time. In the kernel they are the same; of what they share there is the
 * context, if they share one.
 *
 * The rows have the time of an operation, both workers together, by the clock. "speedup" is how
 * many times more two do than one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "cases.h"

#define WORKERS		2
#define BATCH		256
/* A stride between the timers of a batch that is prime to all usual sizes: none comes twice. */
#define STRIDE		7919ULL
#define RUN_NS		(200 * NSEC_PER_MSEC)
#define LEAD_NS		(20 * NSEC_PER_MSEC)
#define POLL_USECS	1000

/**
 * struct board - what parent and workers tell each other
 * @turn: number of the turn
 * @active: how many workers take part in it
 * @start: when it begins, by the counter
 * @end: and when it ends
 * @ready: for each worker, the last turn that it has finished
 * @done: and its operations in that
 * @calls: and its system calls
 */
struct board {
	uint32_t	turn;
	uint32_t	active;
	uint64_t	start;
	uint64_t	end;
	struct {
		uint32_t	ready;
		uint64_t	done;
		uint64_t	calls;
	} __attribute__((aligned(64))) worker[WORKERS];
};

static void churn(struct set *set, struct item *items, uint64_t *seed, uint64_t now)
{
	uint64_t first = chance(seed) % set->nr;
	uint32_t i;

	for (i = 0; i < BATCH; i++)
		items[i] = (struct item){
			.timer = (first + i * STRIDE) % set->nr,
			.deadline_ns = far_deadline_ns(now, seed),
		};
	set->facility->submit(set, KIND_CANCEL, items, BATCH);
	set->facility->submit(set, KIND_ARM, items, BATCH);
}

static void take_turn(struct board *board, unsigned int number, struct set *set,
		      struct item *items, uint64_t *seed)
{
	uint64_t now = now_ns(), done = 0;

	set->calls = 0;
	while (ticks() < board->start)
		;
	while (ticks() < board->end) {
		churn(set, items, seed, now);
		done += 2 * BATCH;
	}
	board->worker[number].done = done;
	board->worker[number].calls = set->calls;
}

/* A process that takes turns until it is killed. */
static void work(struct board *board, unsigned int number, const struct facility *facility,
		 struct set *share, uint32_t n)
{
	struct set set = { .facility = facility, .batch = BATCH, .share = share };
	struct item *items = allocate(BATCH, sizeof(*items));
	uint32_t turn = 0;
	uint64_t seed = number + 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin_to(number);
	if (!set_open(&set, "threads", n, n))
		exit(0);
	arm_all(&set, 0, n, &seed);
	for (;;) {
		__atomic_store_n(&board->worker[number].ready, turn, __ATOMIC_RELEASE);
		while (__atomic_load_n(&board->turn, __ATOMIC_ACQUIRE) == turn)
			usleep(POLL_USECS);
		turn = board->turn;
		if (number < board->active)
			take_turn(board, number, &set, items, &seed);
	}
}

/* Wait until all have finished the turn; false if one has died. */
static bool wait_ready(const struct board *board, uint32_t turn, const pid_t *pids)
{
	unsigned int i;

	for (i = 0; i < WORKERS; i++) {
		while (__atomic_load_n(&board->worker[i].ready, __ATOMIC_ACQUIRE) != turn) {
			if (waitpid(pids[i], NULL, WNOHANG))
				return false;
			usleep(10 * POLL_USECS);
		}
	}
	return true;
}

/* Nanoseconds for an operation of @active workers; 0 if there is none. */
static double turn(struct board *board, uint32_t active, const pid_t *pids, double *calls)
{
	uint64_t done = 0;
	uint32_t i;

	board->active = active;
	board->start = ticks() + LEAD_NS / ticks_to_ns(1);
	board->end = board->start + RUN_NS / ticks_to_ns(1);
	__atomic_store_n(&board->turn, board->turn + 1, __ATOMIC_RELEASE);
	if (!wait_ready(board, board->turn, pids))
		return 0;
	*calls = 0;
	for (i = 0; i < active; i++) {
		done += board->worker[i].done;
		*calls += board->worker[i].calls;
	}
	*calls /= done;
	return (double)RUN_NS / done;
}

static void take_turns(struct board *board, const char *name, struct set *set, const pid_t *pids,
		       const struct plan *plan)
{
	struct row *row = row_of(set, name, plan->n, BATCH), *alone;
	double empty_ns, calls, one_ns, two_ns, ratio = 0;
	uint32_t rep;

	if (!wait_ready(board, 0, pids)) {
		row_fail(row, "a worker failed");
		return;
	}
	alone = row_of(set, "threads1", plan->n, BATCH);
	for (rep = 0; rep <= plan->reps; rep++) {
		empty_ns = empty_call_ns();
		one_ns = turn(board, 1, pids, &calls);
		if (rep)
			row_add(alone, one_ns, calls, empty_ns);
		two_ns = turn(board, WORKERS, pids, &calls);
		if (!rep)
			continue;
		/* Two are in their calls at the same time. */
		row_add(row, two_ns, calls / WORKERS, empty_ns);
		ratio += one_ns / two_ns / plan->reps;
	}
	snprintf(row->extra, sizeof(row->extra), ",\"speedup\":%.2f", ratio);
}

static void run(const char *name, struct set *set, struct set *share, const struct plan *plan)
{
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[WORKERS];
	unsigned int i;

	if (board == MAP_FAILED)
		fail("no memory");
	for (i = 0; i < WORKERS; i++) {
		/* Not what it is before the worker has its timers. */
		board->worker[i].ready = UINT32_MAX;
		pids[i] = fork();
		if (!pids[i])
			work(board, i, set->facility, share, plan->n);
	}
	take_turns(board, name, set, pids, plan);
	for (i = 0; i < WORKERS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	munmap(board, sizeof(*board));
}

void case_threads(struct set *set, const struct plan *plan)
{
	if (set->facility->linear || nr_cpus() < WORKERS) {
		row_fail(row_of(set, "threads2_own", plan->n, BATCH),
			 set->facility->linear ? "a cancel walks all timers" : "one CPU");
		return;
	}
	run("threads2_own", set, NULL, plan);
	if (!set->facility->can_share || !set_open(set, "threads2_shared", plan->n, plan->n))
		return;
	run("threads2_shared", set, set, plan);
	set->facility->close(set);
}
