/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Timers with more than a deadline: periodic, kept, with slack; and contexts with choices.
 *
 * As in common.h, the calls answer with a negative errno, and nothing here makes checks of its own.
 */
#ifndef HTWHEEL_TURNS_H
#define HTWHEEL_TURNS_H

#include "common.h"

static inline bool has_features(int fd, uint64_t features)
{
	struct htwheel_info info;

	return !device_info(fd, &info) && (info.features & features) == features;
}

/* An arm that the caller describes, but for the opcode. */
static inline int arm_like(int fd, struct htwheel_op op, uint64_t *id)
{
	int ret;

	op.opcode = HTWHEEL_OP_ARM;
	op.id = JUNK64;
	ret = submit_one(fd, &op);
	if (id)
		*id = op.id;
	return ret;
}

/* The first deadline is a point on the clock. */
static inline int arm_every(int fd, uint16_t policy, uint64_t first_ns, uint64_t period_ns,
			    uint64_t user_data, uint64_t *id)
{
	struct htwheel_op op = {
		.flags = HTWHEEL_ABSOLUTE | HTWHEEL_PERIODIC,
		.policy = policy,
		.time_ns = first_ns,
		.period_ns = period_ns,
		.user_data = user_data,
	};

	return arm_like(fd, op, id);
}

static inline int arm_kept(int fd, uint64_t delay_ns, uint64_t user_data, uint64_t *id)
{
	struct htwheel_op op = {
		.flags = HTWHEEL_KEEP,
		.time_ns = delay_ns,
		.user_data = user_data,
	};

	return arm_like(fd, op, id);
}

/* SETUP with choices that the caller describes, but for the size. */
static inline int setup_like(int fd, struct htwheel_setup setup)
{
	setup.size = sizeof(setup);
	return device_ioctl(fd, HTWHEEL_IOC_SETUP, &setup);
}

/* A context of its own with a wake-up policy, or a negative errno. */
static inline int open_with_policy(uint32_t events, uint32_t usecs)
{
	struct htwheel_setup setup = { .wake_events = events, .wake_usecs = usecs };
	int fd = open_device(O_NONBLOCK), ret;

	if (fd < 0)
		return fd;
	ret = setup_like(fd, setup);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/* The deadline that DUMP shows; 0 if it shows none. */
static inline uint64_t dumped_deadline_ns(int fd, uint64_t id)
{
	struct htwheel_dump_entry entry;

	return dump_one(fd, id, &entry) ? 0 : entry.deadline_ns;
}

/* How many deadlines of a periodic timer have passed at a moment. */
static inline uint64_t turns_by(uint64_t first_ns, uint64_t period_ns, uint64_t now)
{
	return now < first_ns ? 0 : (now - first_ns) / period_ns + 1;
}

static inline bool books_balance(const struct htwheel_stats *stats)
{
	return stats->armed == stats->fired + stats->cancelled + stats->replaced + stats->pending;
}

/* Two snapshots between which the engine did nothing. */
static inline bool engine_did_nothing(const struct htwheel_stats *then,
				      const struct htwheel_stats *now)
{
	return now->passes == then->passes && now->wakeups == then->wakeups &&
	       now->reprogrammed == then->reprogrammed && now->moves == then->moves;
}

/* Wait until so many events of a context are ready, without reading them. */
static inline bool wait_expired(int fd, uint64_t nr)
{
	uint64_t end_ns = now_ns() + patience_ns();
	struct htwheel_stats stats;

	while (!device_stats(fd, &stats) && now_ns() < end_ns) {
		if (stats.expired >= nr)
			return true;
		sleep_ns(NS_PER_MS);
	}
	return false;
}

static inline uint64_t boot_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static inline int open_on_boottime(void)
{
	struct htwheel_setup setup = { .clock = HTWHEEL_CLOCK_BOOTTIME };
	int fd = open_device(O_NONBLOCK);

	return fd < 0 ? fd : setup_like(fd, setup) ? -1 : fd;
}

#endif /* HTWHEEL_TURNS_H */
