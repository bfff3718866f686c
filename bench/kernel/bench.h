/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ordered sets of timers inside the kernel, behind one interface: the module's queue designs, and
 * the kernel's own timer_list and hrtimer.
 */
#ifndef HTW_BENCH_H
#define HTW_BENCH_H

#include <linux/types.h>

#include "queue/queue.h"

/* As the engine has it by default. */
#define BENCH_TICK_SHIFT	19

#define BENCH_SAMPLES		16

/* Delays while nothing is to expire: 150 to 270 s. */
#define BENCH_FAR_NS		(150 * NSEC_PER_SEC)
#define BENCH_FAR_SPREAD_NS	(120 * NSEC_PER_SEC)

enum bench_kind {
	BENCH_ARM,
	BENCH_CANCEL,
	BENCH_REARM,
	BENCH_CHURN,
};

/**
 * struct bench - a set of timers under measurement
 * @facility: what it is a set of
 * @design: of a queue design: which
 * @queue: of a queue design: the queue
 * @timers: the timers, in the facility's own layout
 * @nr: how many
 * @order: their numbers, in random order
 * @base_ns: delays are counted from here: the facility's clock
 * @least_ns: smallest delay
 * @spread_ns: the largest is so much more
 * @seed: of the delays
 * @fired: expirations so far
 * @first: the processor's counter at the first expiration
 * @last: and at the last
 * @in_a_row: what passed between those that followed close on each other, in ticks
 * @in_a_row_limit: how close that is
 */
struct bench {
	const struct bench_facility	*facility;
	const struct htw_design		*design;
	struct htw_queue		*queue;
	void				*timers;
	u32				nr;
	u32				*order;
	u64				base_ns;
	u64				least_ns;
	u64				spread_ns;
	u64				seed;
	u64				fired;
	u64				first;
	u64				last;
	u64				in_a_row;
	u64				in_a_row_limit;
};

/**
 * struct bench_facility - a kind of timers
 * @name: name; NULL: as the design's
 * @live: expires by itself, on real time. Otherwise expire() makes it
 * @size: of a timer
 * @open: make an empty set; the timers' memory is there, zeroed
 * @run: one operation on each of @nr timers
 * @expire: let all expire
 * @close: end an empty set
 */
struct bench_facility {
	const char	*name;
	bool		live;
	size_t		size;
	int		(*open)(struct bench *bench);
	void		(*run)(struct bench *bench, enum bench_kind kind, const u32 *order, u32 nr);
	void		(*expire)(struct bench *bench);
	void		(*close)(struct bench *bench);
};

extern const struct bench_facility bench_queue;
extern const struct bench_facility bench_queue_locked;
extern const struct bench_facility bench_timer_list;
extern const struct bench_facility bench_hrtimer;

void bench_cases(struct bench *bench);
void bench_lock(void);
void bench_fired(struct bench *bench);

/* result.c */
void bench_clock_start(void);
u64 bench_ns(u64 ticks);
u64 bench_ticks_of(u64 ns);
void bench_row(const struct bench *bench, const char *name, u64 *tenths, unsigned int samples,
	       const char *extra);
char *bench_text(size_t *length);

/* The processor's counter, which costs nothing; the kernel's clock is a call of the host here. */
static inline u64 bench_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* xorshift64*; the same for all facilities. */
static inline u64 bench_random(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ULL;
}

/* A deadline without a division. */
static inline u64 bench_deadline_ns(struct bench *bench)
{
	u64 fraction = bench_random(&bench->seed) >> 40;

	return bench->base_ns + bench->least_ns + (fraction * (bench->spread_ns >> 8) >> 16);
}

/*
 * The loop over the timers, compiled for each facility with its operations in it, so that none has
 * an indirect call more than it has in use.
 */
static __always_inline void
bench_run(struct bench *bench, enum bench_kind kind, const u32 *order, u32 nr,
	  void (*arm)(struct bench *bench, u32 i, u64 deadline_ns),
	  void (*cancel)(struct bench *bench, u32 i),
	  void (*rearm)(struct bench *bench, u32 i, u64 deadline_ns))
{
	u32 i;

	switch (kind) {
	case BENCH_ARM:
		for (i = 0; i < nr; i++)
			arm(bench, order[i], bench_deadline_ns(bench));
		break;
	case BENCH_CANCEL:
		for (i = 0; i < nr; i++)
			cancel(bench, order[i]);
		break;
	case BENCH_REARM:
		for (i = 0; i < nr; i++)
			rearm(bench, order[i], bench_deadline_ns(bench));
		break;
	case BENCH_CHURN:
		for (i = 0; i < nr; i++) {
			cancel(bench, order[i]);
			arm(bench, order[i], bench_deadline_ns(bench));
		}
		break;
	}
}

#endif /* HTW_BENCH_H */
