// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's timer_list: mod_timer() and timer_delete(), in 64 bytes as the others. Its
 * resolution is the jiffy, and coarser for what is farther away.
 */
#include <linux/jiffies.h>
#include <linux/timer.h>

#include "bench.h"

struct kernel_timer {
	struct timer_list	timer;
	struct bench		*bench;
} __aligned(64);

static struct timer_list *timer_of(struct bench *bench, u32 i)
{
	return &((struct kernel_timer *)bench->timers)[i].timer;
}

static void timer_fired(struct timer_list *timer)
{
	bench_fired(container_of(timer, struct kernel_timer, timer)->bench);
}

static int timer_open(struct bench *bench)
{
	struct kernel_timer *timers = bench->timers;
	u32 i;

	for (i = 0; i < bench->nr; i++) {
		timers[i].bench = bench;
		timer_setup(&timers[i].timer, timer_fired, 0);
	}
	return 0;
}

/* @base_ns is a time of the kernel's clock; jiffies are counted from the present one. */
static __always_inline void timer_arm(struct bench *bench, u32 i, u64 deadline_ns)
{
	unsigned long delay = (deadline_ns - bench->base_ns) / TICK_NSEC;

	mod_timer(timer_of(bench, i), jiffies + delay + 1);
}

static __always_inline void timer_cancel(struct bench *bench, u32 i)
{
	timer_delete(timer_of(bench, i));
}

static void timer_run(struct bench *bench, enum bench_kind kind, const u32 *order, u32 nr)
{
	bench_run(bench, kind, order, nr, timer_arm, timer_cancel, timer_arm);
}

static void timer_close(struct bench *bench)
{
	u32 i;

	for (i = 0; i < bench->nr; i++)
		timer_delete_sync(timer_of(bench, i));
}

const struct bench_facility bench_timer_list = {
	.name		= "timer_list",
	.live		= true,
	.size		= sizeof(struct kernel_timer),
	.open		= timer_open,
	.run		= timer_run,
	.close		= timer_close,
};
