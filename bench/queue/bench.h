/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Measuring queues, alone, in userspace.
 *
 * A *case* is one thing that is done to a queue many times, a *load* is how the deadlines of its
 * timers are distributed, a *contestant* is a design of module/queue or the yardstick. For a number
 * of timers and a load, one sequence of random numbers is drawn, which all contestants run.
 */
#ifndef HTW_BENCH_H
#define HTW_BENCH_H

#include <queue/queue.h>

/* The engine's tick, and how many make a second, rounded up. */
#define BENCH_TICK_NS		(1ULL << 19)
#define BENCH_TICKS(seconds)	(((seconds) * 1000000000ULL + BENCH_TICK_NS - 1) / BENCH_TICK_NS)

/*
 * The cases from CASE_CHURN on that pick timers. Each has picks of its own: what one has touched
 * would be in the caches for the next.
 */
#define BENCH_PICKS		5

/* Operations of one batch, and timers that a pass hands out under one hold of the lock. */
#define BENCH_BATCH		128

#define BENCH_MAX_REPS		99

/*
 * A design that is linear is not asked for more timers than this, nor for more operations that
 * pick some: one repetition would take minutes.
 */
#define BENCH_MAX_LINEAR	10000
#define BENCH_LINEAR_OPS	2048

enum bench_case {
	CASE_ARM_ADDRESS,
	CASE_CANCEL,
	CASE_ARM_RANDOM,
	CASE_CHURN,
	CASE_CHURN_BATCH,
	CASE_LATER_DELETE,
	CASE_LATER,
	CASE_CONSTANT,
	CASE_EXPIRE,
	CASE_STORM_ADDRESS,
	CASE_STORM_RANDOM,
	CASE_NEXT,
	CASE_EMPTY_TICK,
	CASE_JUMP,
	CASE_RUN_SEEDS,
	CASE_RUN_IDLE,
	NR_CASES
};

/**
 * struct bench_timer - as large as the module's timers are, the node in the same place
 * @node: the queue's
 * @deadline_ns: not used, like the rest unless said otherwise
 * @period_ticks: of a heartbeat; 0 of a timeout
 * @user_data: tag of the owner
 * @expired: was handed out
 */
struct bench_timer {
	struct htw_node		node;
	u64			deadline_ns;
	u64			period_ticks;
	u64			user_data;
	u64			spare;
	u64			expired;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct bench_timer) == 64, "a timer is one cache line");

/**
 * struct bench_load - a distribution of deadlines
 * @name: as in the results
 * @draw: the deadline of the @k-th of all arms, in ticks, of @n timers
 */
struct bench_load {
	const char	*name;
	u32		(*draw)(u64 k, u64 n);
};

/**
 * struct bench_sequence - what all contestants do
 * @load: the load
 * @n: timers
 * @ops: operations of each case that picks timers, at most
 * @order: a permutation of the timers
 * @cancels: another one
 * @tick: for each arm of a queue that is being filled, the deadline
 * @pick: for each operation of each such case, a timer
 * @pick_tick: and a deadline
 * @delta: and by how many ticks it is put off
 * @constant_tick: where the deadlines of constant timeouts begin
 */
struct bench_sequence {
	const struct bench_load	*load;
	u64			n;
	u64			ops;
	u32			*order;
	u32			*cancels;
	u32			*tick;
	u32			*pick;
	u32			*pick_tick;
	u32			*delta;
	u32			constant_tick;
};

/**
 * struct bench - one contestant, at it
 * @design: the contestant
 * @queue: its queue
 * @timer: the timers, which all contestants use in turn
 * @seq: what is done
 * @ops: how many operations of the cases that pick timers
 * @first: the first pick of the case
 * @work: what the queue says it did
 * @now_tick: where its clock was set to last
 * @fired: timers handed out
 * @limit_ops: at most so many operations of those that may take long; @limit_ns: or so long
 * @sink: what is computed goes here, so that it has to be computed
 */
struct bench {
	const struct htw_design		*design;
	struct htw_queue		*queue;
	struct bench_timer		*timer;
	const struct bench_sequence	*seq;
	u64				ops;
	u64				first;
	struct htw_work			work;
	u64				now_tick;
	u64				fired;
	u64				limit_ops;
	u64				limit_ns;
	u64				sink;
};

/* Operations that not every design has. */
static inline bool bench_postpone(struct htw_queue *queue, struct htw_node *node, u64 tick)
{
	if (!queue->design->postpone || tick < node->tick)
		return false;
	queue->design->postpone(queue, node, tick);
	return true;
}

static inline void bench_fetch(struct htw_queue *queue, struct htw_node *node)
{
	if (queue->design->fetch)
		queue->design->fetch(node);
}

/* To a later deadline in place, if the design can do that; to others, by cancel and arm. */
static inline void bench_rearm(struct bench *bench, struct htw_node *node, u64 tick)
{
	if (bench_postpone(bench->queue, node, tick))
		return;
	bench->design->del(bench->queue, node);
	node->tick = tick;
	bench->design->add(bench->queue, node);
}

extern const struct htw_design yardstick_design;
extern const struct bench_load bench_loads[];
extern const char *const bench_case_names[NR_CASES];

/* turns.c */
__attribute__((format(printf, 1, 2), noreturn)) void bench_fail(const char *format, ...);
bool bench_wants(enum bench_case which);
void bench_sample(struct bench *bench, enum bench_case which, u64 ops, u64 ns);
u64 bench_ns(void);

/* memory.c */
void *bench_allocate(size_t nr, size_t size);

/* sequence.c */
u64 bench_random(void);
void bench_sequence_make(struct bench_sequence *seq, const struct bench_load *load, u64 n, u64 ops);
void bench_sequence_free(struct bench_sequence *seq);
const struct bench_load *bench_load_find(const char *name);

/* operations.c */
u64 bench_arm_address(struct bench *bench);
u64 bench_arm_random(struct bench *bench);
u64 bench_churn(struct bench *bench);
u64 bench_churn_batch(struct bench *bench);
u64 bench_cancel(struct bench *bench);
u64 bench_later_delete(struct bench *bench);
u64 bench_later(struct bench *bench);
u64 bench_constant(struct bench *bench);
u64 bench_next(struct bench *bench);
u64 bench_empty_tick(struct bench *bench);
u64 bench_jump(struct bench *bench);

/* passes.c */
void bench_pass(struct bench *bench, u64 now_tick);
u64 bench_expire(struct bench *bench);
u64 bench_storm(struct bench *bench);
u64 bench_run_seeds(struct bench *bench);
u64 bench_run_idle(struct bench *bench);

/* cases.c */
void bench_live(struct bench *bench);
void bench_due(struct bench *bench);
void bench_far(struct bench *bench);
void bench_run_seeds_case(struct bench *bench);
void bench_run_idle_case(struct bench *bench);

#endif /* HTW_BENCH_H */
