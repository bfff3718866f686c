// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring: a timeout request for each timer, submitted in batches, as fast as the kernel has it:
 * a ring of one submitter, task work when we ask for it, no completions of updates and removals.
 *
 * A timer that repeats is submitted anew, for its next deadline, with the call that waits for the
 * next completion: so it costs no call, and does not drift, as multishot timeouts do.
 */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

#define COMPLETIONS	65536
/* Of requests that have no timer. */
#define NOBODY		UINT64_MAX

/**
 * struct repeat - a timer that repeats
 * @deadline_ns: for when it is armed
 * @period_ns: 0: it does not
 */
struct repeat {
	uint64_t	deadline_ns;
	uint64_t	period_ns;
};

/**
 * struct uring - the ring
 * @ring: the library's struct
 * @repeats: for each timer
 * @times: of the requests that are not yet submitted, by their place in the batch
 * @nr_queued: requests that are not yet submitted
 */
struct uring {
	struct io_uring			ring;
	struct repeat			*repeats;
	struct __kernel_timespec	*times;
	uint32_t			nr_queued;
};

static const char *open_all(struct set *set)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_CQSIZE | IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_DEFER_TASKRUN,
		.cq_entries = COMPLETIONS,
	};
	struct uring *uring = allocate(1, sizeof(*uring));
	int err;

	set->private = uring;
	uring->repeats = allocate(set->nr, sizeof(*uring->repeats));
	uring->times = allocate(MAX_BATCH, sizeof(*uring->times));
	err = io_uring_queue_init_params(MAX_BATCH, &uring->ring, &params);
	return err ? strerror(-err) : NULL;
}

static void put(struct uring *uring, enum kind kind, const struct item *item)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);
	struct __kernel_timespec *time = &uring->times[uring->nr_queued++];

	time->tv_sec = item->deadline_ns / NSEC_PER_SEC;
	time->tv_nsec = item->deadline_ns % NSEC_PER_SEC;
	if (kind == KIND_ARM) {
		io_uring_prep_timeout(sqe, time, 0, IORING_TIMEOUT_ABS);
		io_uring_sqe_set_data64(sqe, item->timer);
		return;
	}
	if (kind == KIND_REARM)
		io_uring_prep_timeout_update(sqe, time, item->timer, IORING_TIMEOUT_ABS);
	else
		io_uring_prep_timeout_remove(sqe, item->timer, 0);
	io_uring_sqe_set_data64(sqe, NOBODY);
	io_uring_sqe_set_flags(sqe, IOSQE_CQE_SKIP_SUCCESS);
}

/* The completions that are there; what has expired goes to @timers, if that is not NULL. */
static uint32_t reap(struct uring *uring, uint32_t *timers)
{
	struct io_uring_cqe *cqes[MAX_COLLECT];
	struct item again = {};
	struct repeat *repeat;
	uint32_t i, nr, nr_timers = 0;

	nr = io_uring_peek_batch_cqe(&uring->ring, cqes, MAX_COLLECT);
	for (i = 0; i < nr; i++) {
		if (cqes[i]->user_data == NOBODY)
			fail("io_uring: %s", strerror(-cqes[i]->res));
		if (cqes[i]->res != -ETIME || !timers)
			continue;
		timers[nr_timers++] = cqes[i]->user_data;
		repeat = &uring->repeats[cqes[i]->user_data];
		if (!repeat->period_ns)
			continue;
		repeat->deadline_ns += repeat->period_ns;
		again.timer = cqes[i]->user_data;
		again.deadline_ns = repeat->deadline_ns;
		put(uring, KIND_ARM, &again);
	}
	io_uring_cq_advance(&uring->ring, nr);
	return timers ? nr_timers : nr;
}

static void submit(struct set *set, enum kind kind, const struct item *items, uint32_t nr)
{
	struct uring *uring = set->private;
	uint32_t i, part;
	uint64_t from;
	int ret;

	for (; nr; nr -= part, items += part) {
		part = nr < set->batch ? nr : set->batch;
		for (i = 0; i < part; i++) {
			put(uring, kind, &items[i]);
			uring->repeats[items[i].timer] = (struct repeat){
				items[i].deadline_ns, items[i].period_ns };
		}
		from = ticks();
		ret = io_uring_submit_and_get_events(&uring->ring);
		set->ticks += ticks() - from;
		set->calls++;
		if (ret != (int)part)
			fail("io_uring took %d of %u", ret, part);
		uring->nr_queued = 0;
		while (reap(uring, NULL))
			;
	}
}

static uint32_t collect(struct set *set, uint32_t *timers)
{
	struct uring *uring = set->private;
	uint64_t from = ticks();
	uint32_t nr = 0;

	if (uring->nr_queued <= MAX_BATCH - MAX_COLLECT)
		nr = reap(uring, timers);
	while (!nr) {
		io_uring_submit_and_wait(&uring->ring, 1);
		set->calls++;
		uring->nr_queued = 0;
		nr = reap(uring, timers);
	}
	set->ticks += ticks() - from;
	return nr;
}

static void close_all(struct set *set)
{
	struct uring *uring = set->private;

	io_uring_queue_exit(&uring->ring);
	free(uring->times);
	free(uring->repeats);
	free(uring);
}

const struct facility facility_uring = {
	.name		= "io_uring",
	.about		= "timeout requests in batches",
	.has_batches	= true,
	.linear		= true,
	.max		= 1000000,
	.own_bytes	= MAX_BATCH * sizeof(struct __kernel_timespec),
	.table_bytes	= sizeof(struct repeat),
	.open		= open_all,
	.submit		= submit,
	.collect	= collect,
	.close		= close_all,
};
