/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Groups: operations on an engine's timers that share a clock reading and a hold of a base's lock.
 */
#ifndef HTW_GROUP_H
#define HTW_GROUP_H

#include <linux/types.h>

#include "queue/queue.h"

struct htw_base;
struct htw_engine;
struct htw_timer;

/**
 * struct htw_group - a run of operations that share one reading of the clock
 * @engine: the engine
 * @now_ns: the time of the group
 * @held: the base whose lock is held, or NULL
 * @sooner: a timer came to @held that may be earlier than what its hrtimer waits for
 * @kick: a base of another CPU that has to look at its queue, or NULL
 *
 * Operations that follow each other and concern the same base share a hold of its lock, too. Lives
 * on the stack, between begin and end.
 */
struct htw_group {
	struct htw_engine	*engine;
	u64			now_ns;
	struct htw_base		*held;
	bool			sooner;
	struct htw_base		*kick;
};

void htw_group_begin(struct htw_group *group, struct htw_engine *engine);
void htw_group_breathe(struct htw_group *group);
void htw_group_end(struct htw_group *group);
void htw_group_fetch(const struct htw_group *group, const struct htw_timer *timer);
bool htw_group_arm(struct htw_group *group, struct htw_timer *timer, u64 deadline_ns);
bool htw_group_queued(struct htw_group *group, struct htw_timer *timer);
bool htw_group_rearm(struct htw_group *group, struct htw_timer *timer, u64 deadline_ns);
void htw_group_disarm(struct htw_group *group, struct htw_timer *timer);
struct htw_place htw_group_place(const struct htw_group *group, const struct htw_timer *timer);

#endif /* HTW_GROUP_H */
