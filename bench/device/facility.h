/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ways to hold many timers, behind one interface.
 *
 * A set of timers is numbered from 0. The cases say which of them to arm, to re-arm and to cancel;
 * the facility turns that into its own calls, and puts the time that passes in them, and nothing
 * else, on the set's meter. What it prepares before a call and looks at after it is not counted,
 * with any of them.
 */
#ifndef BENCH_FACILITY_H
#define BENCH_FACILITY_H

#include <stdbool.h>
#include <stdint.h>

#define NSEC_PER_USEC	1000ULL
#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL

/* Calls of facilities without batches that are measured together, so that the meter is cheap. */
#define CHUNK		64
/* Most operations of one call. */
#define MAX_BATCH	4096
/* Most expirations of one collect(). */
#define MAX_COLLECT	1024

enum kind {
	KIND_ARM,
	KIND_REARM,
	KIND_CANCEL,
	KINDS,
};

/**
 * struct item - one operation
 * @deadline_ns: on CLOCK_MONOTONIC
 * @period_ns: of an arm: 0, or again and again
 * @timer: which
 */
struct item {
	uint64_t	deadline_ns;
	uint64_t	period_ns;
	uint32_t	timer;
};

/**
 * struct set - timers of one facility
 * @facility: the facility
 * @nr: how many at most
 * @batch: operations of a call, if the facility has batches
 * @share: a set whose context this one shares, or NULL
 * @ticks: the meter: time in calls, in ticks of the processor's counter
 * @calls: the meter: system calls
 * @private: the facility's own
 */
struct set {
	const struct facility	*facility;
	uint32_t		nr;
	uint32_t		batch;
	struct set		*share;
	uint64_t		ticks;
	uint64_t		calls;
	void			*private;
};

/**
 * struct facility - one way
 * @name: as in --facility
 * @about: what it is
 * @has_batches: one call takes many operations
 * @can_share: two sets can be in one context (struct set.share)
 * @receives: only receiving is different from another facility
 * @linear: finds a timer, to re-arm or to cancel it, by walking a list of all
 * @max: most timers that it is asked for
 * @own_bytes: memory of this program for a set, beside what the facility needs
 * @table_bytes: the same, for each timer
 * @open: make room for set->nr timers; NULL, or why it cannot
 * @submit: carry out operations
 * @collect: receive expirations, MAX_COLLECT at most; wait for the first; returns how many. Each
 *	is the number of a timer. Metered as one
 * @close: end all
 */
struct facility {
	const char	*name;
	const char	*about;
	bool		has_batches;
	bool		can_share;
	bool		receives;
	bool		linear;
	uint32_t	max;
	uint32_t	own_bytes;
	uint32_t	table_bytes;
	const char	*(*open)(struct set *set);
	void		(*submit)(struct set *set, enum kind kind, const struct item *items,
				  uint32_t nr);
	uint32_t	(*collect)(struct set *set, uint32_t *timers);
	void		(*close)(struct set *set);
};

extern const struct facility facility_htwheel;
extern const struct facility facility_htwheel_ring;
extern const struct facility facility_timerfd;
extern const struct facility facility_posix;
extern const struct facility facility_uring;
extern const struct facility facility_libevent;

/* Ended by NULL. */
extern const struct facility *const facilities[];

#endif /* BENCH_FACILITY_H */
