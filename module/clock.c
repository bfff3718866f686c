// SPDX-License-Identifier: GPL-2.0
/*
 * The clocks, and how a time namespace sees them.
 */
#include <linux/container_of.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/time_namespace.h>

#include <linux/htwheel.h>

#include <kunit/visibility.h>

#include "clock.h"

static u64 clock_monotonic_ns(const struct htw_clock *clock)
{
	return ktime_get_ns();
}

static u64 clock_boottime_ns(const struct htw_clock *clock)
{
	return ktime_get_boottime_ns();
}

static u64 clock_manual_ns(const struct htw_clock *clock)
{
	return atomic64_read(&container_of(clock, const struct htw_manual_clock, clock)->now_ns);
}

const struct htw_clock htw_clock_monotonic = {
	.name		= "monotonic",
	.id		= HTWHEEL_CLOCK_MONOTONIC,
	.hrtimer_clock	= CLOCK_MONOTONIC,
	.live		= true,
	.now_ns		= clock_monotonic_ns,
};
EXPORT_SYMBOL_IF_KUNIT(htw_clock_monotonic);

/*
 * Its hrtimers are looked at when the system resumes, so what fell due in suspend fires then,
 * within the budgets of the passes.
 */
const struct htw_clock htw_clock_boottime = {
	.name		= "boottime",
	.id		= HTWHEEL_CLOCK_BOOTTIME,
	.hrtimer_clock	= CLOCK_BOOTTIME,
	.live		= true,
	.now_ns		= clock_boottime_ns,
};
EXPORT_SYMBOL_IF_KUNIT(htw_clock_boottime);

/**
 * htw_manual_clock_init() - make a clock that stands still
 * @manual: to be filled in
 * @now_ns: where it stands
 *
 * Context: any.
 */
void htw_manual_clock_init(struct htw_manual_clock *manual, u64 now_ns)
{
	manual->clock = (struct htw_clock){
		.name		= "manual",
		.id		= HTWHEEL_CLOCK_MANUAL,
		.hrtimer_clock	= CLOCK_MONOTONIC,
		.now_ns		= clock_manual_ns,
	};
	htw_manual_clock_set(manual, now_ns);
}

/**
 * htw_clock_user_offset_ns() - what the caller's time namespace adds to a clock
 * @clock: the clock
 *
 * The kernel's own helper for absolute times is not exported to modules; the offsets are there to
 * be read. They do not change any more once a task lives in the namespace. (In a kernel without
 * CONFIG_TIME_NS_VDSO they may; a call that falls into that moment may see half of the change.)
 *
 * Context: task.
 * Return: the offset: the caller sees the clock at our time plus this.
 */
s64 htw_clock_user_offset_ns(const struct htw_clock *clock)
{
#ifdef CONFIG_TIME_NS
	const struct timens_offsets *offsets;

	/* A task that is on its way out has left its namespaces. */
	if (!current->nsproxy)
		return 0;
	offsets = &current->nsproxy->time_ns->offsets;
	switch (clock->id) {
	case HTWHEEL_CLOCK_MONOTONIC:
		return timespec64_to_ns(&offsets->monotonic);
	case HTWHEEL_CLOCK_BOOTTIME:
		return timespec64_to_ns(&offsets->boottime);
	}
#endif
	return 0;
}

/**
 * htw_clock_from_user() - a point in time, as a time namespace sees it, on our clock
 * @ns: the point, at most HTWHEEL_NEVER_NS, which stays what it is
 * @offset_ns: from htw_clock_user_offset_ns()
 *
 * Context: any.
 * Return: the point, moved to the beginning or the end of the clock if it lies beyond.
 */
u64 htw_clock_from_user(u64 ns, s64 offset_ns)
{
	s64 host;

	if (ns == HTWHEEL_NEVER_NS || check_sub_overflow((s64)ns, offset_ns, &host))
		return HTWHEEL_NEVER_NS;
	return max_t(s64, host, 0);
}
EXPORT_SYMBOL_IF_KUNIT(htw_clock_from_user);

/**
 * htw_clock_to_user() - a point on our clock, as a time namespace sees it
 * @ns: the point, at most HTWHEEL_NEVER_NS, which stays what it is
 * @offset_ns: from htw_clock_user_offset_ns()
 *
 * Context: any.
 * Return: the point, moved to the beginning or the end of the clock if it lies beyond.
 */
u64 htw_clock_to_user(u64 ns, s64 offset_ns)
{
	s64 user;

	if (ns == HTWHEEL_NEVER_NS || check_add_overflow((s64)ns, offset_ns, &user))
		return HTWHEEL_NEVER_NS;
	return max_t(s64, user, 0);
}
EXPORT_SYMBOL_IF_KUNIT(htw_clock_to_user);
