/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of HTWHEEL_IOC_MASS share: a context with a few thousand timers in every state.
 */
#ifndef HTWHEEL_MASS_TEST_H
#define HTWHEEL_MASS_TEST_H

#include "many.h"

#define NEVER		HTWHEEL_NEVER_NS
#define YEAR_NS		(365 * 24 * HOUR_NS)

/* Enough for several steps of a call. */
#define NR_TIMERS	3000U

struct many_timers {
	uint64_t			ids[NR_TIMERS];
	struct htwheel_dump_entry	before[NR_TIMERS];
	struct htwheel_dump_entry	after[NR_TIMERS];
	struct htwheel_stats		stats;
	int				fd;
};

static inline bool has_mass(int fd)
{
	struct htwheel_info info;

	return !device_info(fd, &info) &&
	       !(~info.features & (HTWHEEL_FEAT_MASS | HTWHEEL_FEAT_DUMP | HTWHEEL_FEAT_TAG |
				   HTWHEEL_FEAT_KEEP | HTWHEEL_FEAT_PERIODIC));
}

static inline int arm_like(struct many_timers *self, struct htwheel_op like, uint32_t first,
			   uint32_t nr, uint64_t step_ns)
{
	return arm_many(self->fd, &like, first, nr, step_ns, self->ids);
}

/* The timers are due at points of this and the next years. */
static inline int arm_far(struct many_timers *self, uint32_t first, uint32_t nr)
{
	struct htwheel_op like = {
		.flags = HTWHEEL_ABSOLUTE, .time_ns = now_ns() + 2 * HOUR_NS + 12345,
	};

	return arm_like(self, like, first, nr, YEAR_NS / 100 + 7919);
}

/* Fired and not read, kept and idle: states that only CANCEL touches. */
static inline int arm_fired(struct many_timers *self, uint32_t first, uint32_t nr)
{
	return arm_like(self, (struct htwheel_op){ .flags = HTWHEEL_ABSOLUTE, .time_ns = 5 }, first,
			nr, 0);
}

static inline int arm_idle(struct many_timers *self, uint32_t first, uint32_t nr)
{
	struct htwheel_op like = { .flags = HTWHEEL_ABSOLUTE | HTWHEEL_KEEP, .time_ns = 5 };
	struct htwheel_event events[BATCH];
	int ret = arm_like(self, like, first, nr, 0);

	while (!ret && nr) {
		ret = read_events(self->fd, events, nr < BATCH ? nr : BATCH);
		if (ret < 0)
			return ret;
		nr -= ret;
		ret = 0;
	}
	return ret;
}

static inline int shift(int fd, int64_t shift_ns, uint64_t *done)
{
	return mass_all(fd, (struct htwheel_mass){
		.opcode = HTWHEEL_MASS_SHIFT, .shift_ns = shift_ns,
	}, done);
}

static inline int scale(int fd, uint32_t numerator, uint32_t denominator, uint64_t *done)
{
	return mass_all(fd, (struct htwheel_mass){
		.opcode = HTWHEEL_MASS_SCALE, .numerator = numerator, .denominator = denominator,
	}, done);
}

static inline int cancel_all(int fd, uint64_t *done)
{
	return mass_all(fd, (struct htwheel_mass){ .opcode = HTWHEEL_MASS_CANCEL }, done);
}

static inline int list(struct many_timers *self, struct htwheel_dump_entry *entries)
{
	return dump_by_number(self->fd, entries, NR_TIMERS, 512);
}

/* The operation changed so many deadlines, and the books say the same; nothing else has moved. */
static inline bool replaced_in_books(struct many_timers *self, uint64_t nr)
{
	struct htwheel_stats old = self->stats;

	return books_are_right(self->fd, &self->stats) && self->stats.armed == old.armed + nr &&
	       self->stats.replaced == old.replaced + nr && self->stats.fired == old.fired &&
	       self->stats.cancelled == old.cancelled && self->stats.idle == old.idle &&
	       self->stats.peak == old.peak;
}

#endif /* HTWHEEL_MASS_TEST_H */
