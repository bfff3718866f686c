/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of a user's limit share: the module with a low one, and open files that hold
 * timers.
 */
#ifndef HTWHEEL_QUOTA_H
#define HTWHEEL_QUOTA_H

#include "module.h"
#include "many.h"

#define LIMIT		1000U

/* As it was found, but for this limit. */
static inline int load_with_limit(void)
{
	char with[sizeof(parameters) + 64];
	int ret = is_loaded() ? unload_soon() : 0;

	snprintf(with, sizeof(with), "%s max_user_timers=%u", parameters, LIMIT);
	return ret ? ret : load(with);
}

/* Timers that this file's user holds, in all files. */
static inline uint64_t user_timers(int fd)
{
	struct htwheel_stats stats;

	return device_stats(fd, &stats) ? UINT64_MAX : stats.user_timers;
}

static inline int arm_far(int fd, uint32_t nr, uint64_t *ids)
{
	return arm_many(fd, &(struct htwheel_op){ .time_ns = HOUR_NS }, 0, nr, 0, ids);
}

/* Nothing more goes in, in whatever way, and a refusal gives no name. */
static inline bool is_full(int fd)
{
	uint64_t id = JUNK64;

	return arm_in(fd, HOUR_NS, 0, &id) == -EDQUOT && !id && arm_at(fd, 0, 0, &id) == -EDQUOT &&
	       !id && arm_in(fd, HTWHEEL_NEVER_NS, 0, &id) == -EDQUOT && !id &&
	       user_timers(fd) == LIMIT;
}

/* Exactly so many go in; they go again. */
static inline bool has_room_for(int fd, uint32_t nr)
{
	uint64_t ids[LIMIT];

	return !arm_far(fd, nr, ids) && is_full(fd) && cancel_many(fd, ids, nr) == nr;
}

/* What a file's end gives back may come a little later. */
static inline bool wait_user_timers(int fd, uint64_t wanted)
{
	uint64_t end_ns = now_ns() + patience_ns();

	while (user_timers(fd) != wanted) {
		if (now_ns() > end_ns)
			return false;
		sleep_ns(NS_PER_MS);
	}
	return true;
}

#endif /* HTWHEEL_QUOTA_H */
