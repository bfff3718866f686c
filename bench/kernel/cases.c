// SPDX-License-Identifier: GPL-2.0
/*
 * What is measured of each facility. The same timers, in the same random order, with the same
 * delays; nanoseconds of real time for each timer, by the processor's counter, on one CPU. Nothing
 * keeps interrupts out, of which a tick is one; the median of some samples is what counts.
 *
 *	arm_address	arm n, in the order in which they lie in memory
 *	arm		arm n, in random order
 *	cancel		cancel all n, in random order
 *	rearm		give each a new deadline, in random order
 *	churn		cancel each and arm it again, in random order
 *	storm		n expire at one moment, armed in random order
 *	spread		n expire over ten seconds, armed in random order
 *
 * Expiry of a queue design is advance() and a callback for each timer, on virtual time. The
 * kernel's own timers expire on real time. Their storm is what passes from the first callback to
 * the last. Their spread is the time that is missing to a loop on the same CPU, less what is
 * missing to it without timers: interrupts, softirqs and callbacks. An interrupt of user-mode
 * Linux is dearer than one of a machine, and so is to lock them out ("lock", irqsave: a pair of
 * calls, of which timer_list and hrtimer have one for each operation and each callback, and our
 * designs one for a batch); therefore "in_a_row_ns" says in addition how long it took from one
 * callback to the next where one followed the other at once, which leaves out interrupts, and
 * which is the figure to compare a design with.
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "bench.h"

#define SAMPLES		3
#define SPREAD_NS	(10 * NSEC_PER_SEC)
/* For arming them before they are due. */
#define LEAD_NS		(500 * NSEC_PER_MSEC)
#define LEAD_EACH_NS	(4 * NSEC_PER_USEC)
/* Gaps from here on are not the loop's own. */
#define GAP_NS		500
/* Callbacks so close to each other are of one interrupt. */
#define ROW_NS		(5 * NSEC_PER_USEC)
/* How long to wait for the last one at most. */
#define PATIENCE_MS	20000
/* One operation of such a design may look at all timers. */
#define LINEAR_MAX	10000
#define LOCK_PAIRS	100000

/* What each callback does. */
void bench_fired(struct bench *bench)
{
	u64 now = bench_ticks();

	if (!bench->fired++)
		bench->first = now;
	else if (now - bench->last < bench->in_a_row_limit)
		bench->in_a_row += now - bench->last;
	bench->last = now;
}

static u64 tenths_of(u64 ticks, u32 nr)
{
	return div64_u64(bench_ns(ticks) * 10, nr);
}

/* Time for each, of one operation on all. */
static u64 timed(struct bench *bench, enum bench_kind kind, const u32 *order)
{
	u64 from;

	cond_resched();
	if (bench->facility->live)
		bench->base_ns = ktime_get_ns();
	from = bench_ticks();
	bench->facility->run(bench, kind, order, bench->nr);
	return tenths_of(bench_ticks() - from, bench->nr);
}

static void case_operations(struct bench *bench)
{
	static const char *const names[] = { "arm_address", "cancel", "arm", "rearm", "churn" };
	u64 tenths[ARRAY_SIZE(names)][SAMPLES];
	u32 *address = bench->order + bench->nr;
	unsigned int i, sample;

	bench->least_ns = BENCH_FAR_NS;
	bench->spread_ns = BENCH_FAR_SPREAD_NS;
	for (sample = 0; sample < SAMPLES; sample++) {
		tenths[0][sample] = timed(bench, BENCH_ARM, address);
		tenths[1][sample] = timed(bench, BENCH_CANCEL, bench->order);
		tenths[2][sample] = timed(bench, BENCH_ARM, bench->order);
		tenths[3][sample] = timed(bench, BENCH_REARM, bench->order);
		tenths[4][sample] = timed(bench, BENCH_CHURN, bench->order);
		timed(bench, BENCH_CANCEL, bench->order);
	}
	for (i = 0; i < ARRAY_SIZE(names); i++)
		bench_row(bench, names[i], tenths[i], SAMPLES, "");
}

static void forget(struct bench *bench)
{
	bench->fired = 0;
	bench->in_a_row = 0;
	bench->in_a_row_limit = bench_ticks_of(ROW_NS);
}

/* Time that others took from this CPU, in ticks, in a loop of @duration_ns. */
static u64 missing(u64 duration_ns)
{
	u64 end = ktime_get_ns() + duration_ns, missing = 0, now = bench_ticks(), before;
	u64 gap = bench_ticks_of(GAP_NS), i;

	do {
		for (i = 0; i < 10000; i++) {
			before = now;
			now = bench_ticks();
			if (now - before > gap)
				missing += now - before;
		}
		cond_resched();
		now = bench_ticks();
	} while (ktime_get_ns() < end);
	return missing;
}

static void wait_for_all(struct bench *bench)
{
	unsigned int ms;

	for (ms = 0; READ_ONCE(bench->fired) < bench->nr && ms < PATIENCE_MS; ms += 50)
		msleep(50);
}

/* Arm all for @spread_ns from a moment on that lies behind the last arm; returns that. */
static u64 arm_to_expire(struct bench *bench, u64 spread_ns)
{
	bench->least_ns = bench->facility->live ? LEAD_NS + bench->nr * LEAD_EACH_NS : 0;
	bench->spread_ns = spread_ns;
	forget(bench);
	timed(bench, BENCH_ARM, bench->order);
	return bench->base_ns + bench->least_ns;
}

/* One sample of a design; its clock goes on from sample to sample. */
static u64 expire_virtually(struct bench *bench, u64 spread_ns)
{
	u64 from;

	arm_to_expire(bench, spread_ns);
	from = bench_ticks();
	bench->facility->expire(bench);
	return tenths_of(bench_ticks() - from, bench->nr);
}

static void case_expiry(struct bench *bench)
{
	u64 storm[SAMPLES], spread[SAMPLES];
	unsigned int sample;

	for (sample = 0; sample < SAMPLES; sample++) {
		storm[sample] = expire_virtually(bench, 0);
		cond_resched();
		spread[sample] = expire_virtually(bench, SPREAD_NS);
		cond_resched();
	}
	bench_row(bench, "storm", storm, SAMPLES, "");
	bench_row(bench, "spread", spread, SAMPLES, "");
}

static void case_live_expiry(struct bench *bench)
{
	u64 storm[SAMPLES], spread, duration_ns, idle, in_a_row;
	unsigned int sample;
	char extra[64];

	for (sample = 0; sample < SAMPLES; sample++) {
		arm_to_expire(bench, 0);
		wait_for_all(bench);
		storm[sample] = tenths_of(bench->last - bench->first, bench->nr);
	}
	bench_row(bench, "storm", storm, SAMPLES, "");

	idle = missing(NSEC_PER_SEC);
	duration_ns = arm_to_expire(bench, SPREAD_NS) + SPREAD_NS + NSEC_PER_SEC - ktime_get_ns();
	spread = missing(duration_ns);
	idle = mul_u64_u64_div_u64(idle, duration_ns, NSEC_PER_SEC);
	spread = tenths_of(spread > idle ? spread - idle : 0, bench->nr);
	wait_for_all(bench);
	in_a_row = tenths_of(bench->in_a_row, bench->nr);
	scnprintf(extra, sizeof(extra), ",\"in_a_row_ns\":%llu.%llu", in_a_row / 10, in_a_row % 10);
	bench_row(bench, "spread", &spread, 1, extra);
}

/* What a lock costs here, taken and released. */
void bench_lock(void)
{
	static const struct bench_facility facility = { .name = "lock" };
	struct bench bench = { .facility = &facility, .nr = LOCK_PAIRS };
	static DEFINE_SPINLOCK(lock);
	u64 tenths[SAMPLES], from;
	unsigned long flags;
	unsigned int sample;
	u32 i;

	for (sample = 0; sample < SAMPLES; sample++) {
		from = bench_ticks();
		for (i = 0; i < LOCK_PAIRS; i++) {
			spin_lock_irqsave(&lock, flags);
			spin_unlock_irqrestore(&lock, flags);
		}
		tenths[sample] = tenths_of(bench_ticks() - from, LOCK_PAIRS);
	}
	bench_row(&bench, "irqsave", tenths, SAMPLES, "");
}

/* All cases, on a set that is open and empty. */
void bench_cases(struct bench *bench)
{
	if (bench->design && bench->design->flags & HTW_DESIGN_LINEAR && bench->nr > LINEAR_MAX)
		return;
	case_operations(bench);
	if (bench->facility->live)
		case_live_expiry(bench);
	else
		case_expiry(bench);
}
