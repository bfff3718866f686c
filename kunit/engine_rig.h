/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rig of the suite htwheel_engine: an engine, timers, and the user that gets those that are
 * due.
 *
 * What has to hold for every timer that is handed over, and for every base between two operations,
 * is checked here, so that a case only says what is special to it.
 */
#ifndef HTW_KUNIT_ENGINE_RIG_H
#define HTW_KUNIT_ENGINE_RIG_H

#include <linux/types.h>

#include "engine.h"
#include "group.h"

#include "crew.h"
#include "stage.h"

/* The default length of a tick. */
#define HTW_ERIG_SHIFT		19
#define HTW_ERIG_TICK_NS	BIT_ULL(HTW_ERIG_SHIFT)

/* Where the clocks of most cases start: 1000 s, at no special tick and in the middle of it. */
#define HTW_ERIG_START_NS	(1000ULL * NSEC_PER_SEC)

/* Live clock: who has not come by then is lost, and not late on a slow machine. */
#define HTW_ERIG_LOST_NS	(10ULL * NSEC_PER_SEC)

/**
 * struct htw_erig_timer - a timer of a test and its books
 * @timer: what the engine sees
 * @arms: how often it was armed or re-armed
 * @refused: arms that found the deadline passed
 * @disarmed: how often it was taken out
 * @replaced: arms that a re-arm of the queued timer replaced
 * @fired: arms that ended in a pass
 * @tick: its tick, and
 * @granule: how many ticks later it may be handed over
 *
 * Written by whoever serializes the operations on the timer; @fired by passes, with the lock of its
 * base.
 */
struct htw_erig_timer {
	struct htw_timer	timer;
	u64			arms;
	u64			refused;
	u64			disarmed;
	u64			replaced;
	u64			fired;
	u64			tick;
	u64			granule;
};

/**
 * struct htw_erig - an engine under test
 * @test: the test
 * @design: its design
 * @ops: the engine's user; leads a pass back to the rig
 * @engine: the engine
 * @timer: the timers
 * @nr: how many
 * @handed: timers handed over so far
 * @pass_ns: manual clock: the time at which the pass began
 * @last_tick: manual clock: the tick of the timer that was handed over last in this pass
 * @any_order: timers may be overdue when they come into a queue, and those have no order
 * @max_late_ns: largest lateness, beyond the tick and what the design may add to it, of what was
 *	handed over
 * @settle: called by each settle(); may be NULL
 * @fault: the first violation
 */
struct htw_erig {
	struct kunit			*test;
	const struct htw_design		*design;
	struct htw_engine_ops		ops;
	struct htw_engine		*engine;
	struct htw_erig_timer		*timer;
	u32				nr;
	atomic64_t			handed;
	u64				pass_ns;
	u64				last_tick;
	bool				any_order;
	atomic64_t			max_late_ns;
	void				(*settle)(struct htw_erig *rig);
	struct htw_fault		fault;
};

static inline bool htw_erig_is_live(const struct htw_erig *rig)
{
	return rig->engine->config.clock->live;
}

static inline unsigned int htw_erig_shift(const struct htw_erig *rig)
{
	return rig->engine->config.tick_shift;
}

struct htw_engine_config htw_erig_config(struct kunit *test);
struct htw_erig *htw_erig_open(struct kunit *test, const struct htw_engine_config *config,
			       u64 start_ns, u32 nr);
struct htw_erig *htw_erig_open_default(struct kunit *test, u32 nr);
struct htw_erig *htw_erig_open_live(struct kunit *test, u32 nr);
void htw_erig_close(struct htw_erig *rig);

/* Operations in a group that the caller holds. They may be used by several threads. */
bool htw_erig_group_arm(struct htw_erig *rig, struct htw_group *group, u32 index, u64 deadline_ns);
bool htw_erig_group_rearm(struct htw_erig *rig, struct htw_group *group, u32 index,
			  u64 deadline_ns);
bool htw_erig_group_disarm(struct htw_erig *rig, struct htw_group *group, u32 index);

/* Operations, each in a group of its own; on the manual clock they judge the bases. */
bool htw_erig_arm(struct htw_erig *rig, u32 index, u64 deadline_ns);
bool htw_erig_rearm(struct htw_erig *rig, u32 index, u64 deadline_ns);
bool htw_erig_disarm(struct htw_erig *rig, u32 index);
bool htw_erig_is_queued(struct htw_erig *rig, u32 index);
void htw_erig_arm_all(struct htw_erig *rig, u32 first, u32 nr, u64 (*deadline_ns)(u32 index));
void htw_erig_disarm_all(struct htw_erig *rig);

/* Time, on the manual clock. */
bool htw_erig_pass(struct htw_erig *rig, unsigned int cpu);
void htw_erig_run(struct htw_erig *rig, u64 now_ns);
u64 htw_erig_follow(struct htw_erig *rig, u64 until_ns);

/* Views. */
struct htw_base *htw_erig_base(const struct htw_erig *rig, unsigned int cpu);
u64 htw_erig_next(const struct htw_base *base);
u64 htw_erig_earliest(const struct htw_erig *rig, unsigned int cpu);
u64 htw_erig_queued(struct htw_erig *rig);
bool htw_erig_await(struct htw_erig *rig, u64 nr);
struct htw_engine_stats htw_erig_stats(struct htw_erig *rig);
void htw_erig_judge(struct htw_erig *rig);
void htw_erig_audit(struct htw_erig *rig);

#endif /* HTW_KUNIT_ENGINE_RIG_H */
