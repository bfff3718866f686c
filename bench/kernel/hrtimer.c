// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's hrtimer, on which timerfd, POSIX timers and io_uring's timeouts are built, with the
 * callback in the interrupt, as theirs.
 */
#include <linux/hrtimer.h>

#include "bench.h"

struct high_res_timer {
	struct hrtimer	timer;
	struct bench	*bench;
};

static struct hrtimer *timer_of(struct bench *bench, u32 i)
{
	return &((struct high_res_timer *)bench->timers)[i].timer;
}

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	bench_fired(container_of(timer, struct high_res_timer, timer)->bench);
	return HRTIMER_NORESTART;
}

static int timer_open(struct bench *bench)
{
	struct high_res_timer *timers = bench->timers;
	u32 i;

	for (i = 0; i < bench->nr; i++) {
		timers[i].bench = bench;
		hrtimer_setup(&timers[i].timer, timer_fired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	}
	return 0;
}

static __always_inline void timer_arm(struct bench *bench, u32 i, u64 deadline_ns)
{
	hrtimer_start(timer_of(bench, i), ns_to_ktime(deadline_ns), HRTIMER_MODE_ABS);
}

static __always_inline void timer_cancel(struct bench *bench, u32 i)
{
	hrtimer_try_to_cancel(timer_of(bench, i));
}

static void timer_run(struct bench *bench, enum bench_kind kind, const u32 *order, u32 nr)
{
	bench_run(bench, kind, order, nr, timer_arm, timer_cancel, timer_arm);
}

static void timer_close(struct bench *bench)
{
	u32 i;

	for (i = 0; i < bench->nr; i++)
		hrtimer_cancel(timer_of(bench, i));
}

const struct bench_facility bench_hrtimer = {
	.name		= "hrtimer",
	.live		= true,
	.size		= sizeof(struct high_res_timer),
	.open		= timer_open,
	.run		= timer_run,
	.close		= timer_close,
};
