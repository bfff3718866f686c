/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The test rig: a queue, its timers and an oracle, driven together. Each operation is made on the
 * queue and told to the oracle, and whatever the contract in queue.h says about it is checked at
 * once. A case or a stream only says what to do, and adds what is special to it.
 *
 * The first violation is kept as text in struct htw_test, and from then on operations do nothing
 * and expectations hold. So a case needs no error paths: it runs to its end, and its loops end too
 * as long as they count or look at htw_rig_ok().
 */
#ifndef HTW_KUNIT_RIG_H
#define HTW_KUNIT_RIG_H

#include <linux/types.h>

#include "queue/queue.h"

#include "oracle.h"

#define HTW_TEXT_SIZE		512

/**
 * struct htw_test - one test: what is tested and how, and what came out of it
 * @design: the design
 * @start_tick: the queue's clock at the start
 * @geometry: the shape of its queues
 * @once: the first start of its row; cases that have clocks of their own are run only there
 * @depth: so many operations have the sequences of which all are tried
 * @tick_bits: bits of a tick
 * @seed: for random tests
 * @ops: operations of a random test
 * @steps: operations made in all
 * @failed: an expectation did not hold
 * @text: which one
 */
struct htw_test {
	const struct htw_design	*design;
	u64			start_tick;
	struct htw_geometry	geometry;
	bool			once;
	unsigned int		depth;
	unsigned int		tick_bits;
	u64			seed;
	u64			ops;
	u64			steps;
	bool			failed;
	char			text[HTW_TEXT_SIZE];
};

/**
 * struct htw_rig_timer - a timer of a test
 * @node: what the queue sees
 * @fired: how often it has been handed out
 * @fired_tick: at which time it was handed out last
 */
struct htw_rig_timer {
	struct htw_node		node;
	u64			fired;
	u64			fired_tick;
};

/**
 * struct htw_rig - a queue under test
 * @test: the test
 * @design: the design; not always the test's, for some have two rigs
 * @queue: the queue
 * @wanted: the shape with which its queues are made
 * @geometry: the shape that it has
 * @oracle: what the queue has to do
 * @timer: the timers; a timer's index is its place in this array and in the oracle's
 * @nr_timers: how many
 * @tick_max: the last tick that the queue takes
 * @now_tick: the latest time that the queue was advanced to
 * @clock_tick: the queue's clock, as seen last
 * @last: the timer that was handed out last
 * @work: the work of all advance() calls together
 * @steps: operations so far
 * @look_every: after how many operations the oracle is asked; 1 unless the timers are many
 * @check_every: after how many operations the design's own check runs
 * @operation: the operation under way, for the text of a failure
 * @argument: and what it was given
 */
struct htw_rig {
	struct htw_test		*test;
	const struct htw_design	*design;
	struct htw_queue	*queue;
	struct htw_geometry	wanted;
	struct htw_geometry	geometry;
	struct htw_oracle	oracle;
	struct htw_rig_timer	*timer;
	u32			nr_timers;
	u64			tick_max;
	u64			now_tick;
	u64			clock_tick;
	struct htw_oracle_entry	last;
	struct htw_work		work;
	u32			steps;
	u32			look_every;
	u32			check_every;
	const char		*operation;
	u64			argument[2];
};

/* No limit to the work of an advance() call. */
#define HTW_BUDGET_NONE		U64_MAX

struct htw_rig *htw_rig_open(struct htw_test *test, const struct htw_design *design, u32 nr_timers);
void htw_rig_close(struct htw_rig *rig);
void htw_rig_restart(struct htw_rig *rig, unsigned int tick_bits, u64 clock_tick);

/* Operations. */
void htw_rig_add(struct htw_rig *rig, u32 index, u64 tick);
void htw_rig_arm(struct htw_rig *rig, u32 index, u64 distance);
void htw_rig_del(struct htw_rig *rig, u32 index);
void htw_rig_postpone(struct htw_rig *rig, u32 index, u64 tick);
bool htw_rig_advance(struct htw_rig *rig, u64 now_tick, u64 budget);
void htw_rig_run(struct htw_rig *rig, u64 now_tick);
void htw_rig_follow(struct htw_rig *rig, u64 until_tick);
void htw_rig_end(struct htw_rig *rig, u64 tick);
u64 htw_rig_take(struct htw_rig *rig, u64 max);
u64 htw_rig_next(struct htw_rig *rig);
struct htw_place htw_rig_place(struct htw_rig *rig, u32 index);
bool htw_rig_is_live(const struct htw_rig *rig, u32 index);

/* Expectations; what is printed with both values if it does not hold. */
bool htw_rig_expect(struct htw_rig *rig, const char *what, u64 got, u64 expected);
bool htw_rig_expect_at_least(struct htw_rig *rig, const char *what, u64 got, u64 least);
bool htw_rig_expect_at_most(struct htw_rig *rig, const char *what, u64 got, u64 most);
bool htw_rig_expect_fired(struct htw_rig *rig, u32 index, u64 tick);
bool htw_rig_ok(const struct htw_rig *rig);
u64 htw_rig_slots(const struct htw_rig *rig);
u64 htw_rig_unit(const struct htw_rig *rig, u32 level);
u64 htw_rig_boundary(const struct htw_rig *rig, u64 unit);
u32 htw_rig_many(const struct htw_rig *rig);
bool htw_rig_never_moves(const struct htw_rig *rig);
bool htw_rig_is(const struct htw_rig *rig, const char *name);
u64 htw_rig_late(const struct htw_rig *rig, u64 tick);
u64 htw_rig_granule(const struct htw_rig *rig, u64 tick);

#endif /* HTW_KUNIT_RIG_H */
