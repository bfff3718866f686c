/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rig of the suite htwheel_timer: an engine as the module uses it, and owners of timers, each
 * of which stands for a context. Every operation is a group of its own, as if it had come in a
 * batch of one.
 */
#ifndef HTW_KUNIT_TIMER_RIG_H
#define HTW_KUNIT_TIMER_RIG_H

#include <linux/types.h>

#include "delivery.h"
#include "sweep.h"
#include "timer.h"

#include "crew.h"
#include "stage.h"

#define HTW_TRIG_SHIFT		19
#define HTW_TRIG_TICK_NS	BIT_ULL(HTW_TRIG_SHIFT)
#define HTW_TRIG_START_NS	(1000ULL * NSEC_PER_SEC)
#define HTW_TRIG_OWNERS		8

/* Who owns the timers of the tests: nobody else. */
#define HTW_TRIG_UID		KUIDT_INIT(0x7ffffff0)

/* A point in time: so many ticks after the beginning. */
static inline u64 htw_trig_after(u64 ticks)
{
	return HTW_TRIG_START_NS + ticks * HTW_TRIG_TICK_NS;
}

/* What a place that is to be filled in holds before. */
#define HTW_JUNK		0xdeadbeefdeadbeefULL

/**
 * struct htw_trig - an engine and the owners of its timers
 * @test: the test
 * @design: the design
 * @engine: the engine
 * @owner: the owners
 * @nr_owners: how many
 * @step: where the test is, for whoever wants to know where it failed
 * @fault: the first violation that threads have seen
 */
struct htw_trig {
	struct kunit		*test;
	const struct htw_design	*design;
	struct htw_engine	*engine;
	struct htw_timers	*owner[HTW_TRIG_OWNERS];
	unsigned int		nr_owners;
	u64			step;
	struct htw_fault	fault;
};

extern const struct htw_clock htw_alarm_clock;

struct htw_engine_config htw_trig_config(struct kunit *test);
struct htw_trig *htw_trig_open(struct kunit *test, const struct htw_engine_config *config);
struct htw_trig *htw_trig_open_default(struct kunit *test);
struct htw_trig *htw_trig_open_live(struct kunit *test);
void htw_trig_close(struct htw_trig *rig);
struct htw_timers *htw_trig_own(struct htw_trig *rig, u64 max);
void htw_trig_disown(struct htw_trig *rig, struct htw_timers *timers);

/* Operations. */
int htw_trig_group_arm(struct htw_timers *timers, struct htw_group *group, u64 deadline_ns,
		       u64 user_data, u64 *id);
int htw_trig_arm_spec(struct htw_timers *timers, const struct htw_timer_spec *spec, u64 *id);
int htw_trig_try_arm(struct htw_timers *timers, u64 deadline_ns, u64 user_data, u64 *id);
u64 htw_trig_arm(struct htw_trig *rig, struct htw_timers *timers, u64 deadline_ns, u64 user_data);
u64 htw_trig_make(struct htw_trig *rig, struct htw_timers *timers,
		  const struct htw_timer_spec *spec);
int htw_trig_rearm(struct htw_timers *timers, u64 id, u64 deadline_ns);
int htw_trig_cancel(struct htw_timers *timers, u64 id, u64 *left_ns);
int htw_trig_query(struct htw_timers *timers, u64 id, u64 *left_ns);
void htw_trig_deliver(struct htw_timers *timers, struct htw_timer **done, unsigned int nr);
unsigned int htw_trig_read(struct htw_timers *timers, struct htwheel_event *events,
			   unsigned int max);
void htw_trig_run(struct htw_trig *rig, u64 now_ns);
u64 htw_trig_trim(struct htw_timers *timers);
u64 htw_trig_mass(struct htw_timers *timers, const struct htwheel_mass *mass);

/* Views. */
struct htw_timer *htw_trig_find(struct htw_trig *rig, struct htw_timers *timers, u64 id);
void htw_trig_dump(struct htw_trig *rig, struct htw_timers *timers, u64 id,
		   struct htwheel_dump_entry *entry);
u64 htw_trig_queued(struct htw_trig *rig);
bool htw_trig_balanced(const struct htw_timers *timers);
void htw_trig_judge(struct htw_trig *rig);

#endif /* HTW_KUNIT_TIMER_RIG_H */
