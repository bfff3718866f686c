/* SPDX-License-Identifier: GPL-2.0 */
/*
 * htwheel: the context, and the locks of the whole module.
 *
 * Overview
 * ========
 *
 * A context (struct htw_ctx) is what one open() made. It owns timers (struct htw_timers: a pool,
 * the ready list, the books), which lie in the queues of a shared engine (struct htw_engine: a
 * clock and a base for each CPU), or of one of its own. System calls work from the context down; a
 * base's hrtimer works from below: it takes due timers out of the queue and appends them to the
 * ready list of their context, where read() finds them.
 *
 * Dependencies point down, one file to a noun:
 *
 *	main.c -> chardev.c -> ioctl.c, event.c, stats.c, advance.c, ctx.c
 *	       -> sweep.c, private.c, shared.c -> timer.c, timers.c, delivery.c
 *	       -> pool.c, ready.c, ring.c, table.c, user.c, period.c -> area.c
 *	       -> group.c -> base.c, engine.c, hotplug.c, clock.c -> queue/
 *
 * Locks
 * =====
 *
 *	user_lock (user.c)		mutex		the table of users; open and close
 *	htw_ctx.lock			mutex		one context; system calls
 *	  htw_engine.reserve_lock	mutex		sizes of queues
 *	  htw_base.lock			spin lock, bh	queue of a CPU; system calls and passes
 *	    htw_base.lock		nested		of the heir, while a dead CPU is drained
 *	    htw_ready.lock		spin lock, bh	ready list of one context
 *	  htw_ready.wait.lock		spin lock	the wait queue; never inside the two above
 *
 * Why so many:
 *
 * - ctx->lock keeps system calls on one context apart, so that a timer's name, its arms and its end
 *   have an order that the books can follow. It may sleep, since a pool has to grow. No user memory
 *   is touched with it held in a way that could fault in pages: a fault may take any time. Nor is
 *   it taken inside the mmap lock, since SETUP, which holds it, waits for CPU hotplug.
 * - base->lock is taken in softirq. It is held for a chunk of operations or timers, and makes the
 *   step from "queued" to "expired, and in the ready list" one step for everybody else: a cancel
 *   comes before it or after it.
 * - ready->lock exists because passes of several CPUs append to the ready list of one context, and
 *   the alarm of its wake-up policy looks at it.
 * - Readers are woken after base->lock and ready->lock are gone: what a wake-up runs (epoll,
 *   io_uring) is not ours. The context may be closed by then, so its memory waits for an RCU grace
 *   period, and a pass is an RCU read section.
 *
 * What protects what
 * ==================
 *
 *	htw_ctx.engines, .max_ceiling		constant after open
 *	htw_ctx.setup_done, .own		ctx->lock
 *	htw_ctx.manual				written with ctx->lock, read without
 *	htw_timers.user				constant after open
 *	htw_timers.engine			ctx->lock; constant after the first arm
 *	htw_timers, other fields		ctx->lock
 *	htw_timers.table, htw_ready.ring	ctx->lock; constant after SETUP; mmap, poll and read
 *						look without it
 *	htw_timers.delivered			ready->lock
 *	htw_table, htw_area			constant after creation
 *	words of the table			nobody: read once, believed never
 *	htw_ring, what userspace reads of it	ready->lock
 *	htw_ring.head				userspace: read once, believed never
 *	htw_ready.list, .nr, .alerts		ready->lock
 *	htw_ready.readable			ready->lock; also read without it: a stale value
 *						makes poll or read look once more, or sleep until
 *						the wake-up that follows the store
 *	htw_ready.policy, .clock		ctx->lock; constant after the first arm, and so
 *						after the first push
 *	htw_ready.alarm				started under ready->lock; has a lock of its own
 *	htw_ready.wait				its own lock
 *	htw_user.timers				atomic
 *	htw_user, other fields			user_lock
 *	htw_chunk.owner, .number		constant after growth
 *	htw_timer.node, FREE			ctx->lock (free list)
 *	htw_timer.node, QUEUED			lock of the base of .cpu (queue)
 *	htw_timer.ready_link, EXPIRED,		ready->lock (ready list)
 *	 DELIVERED
 *	htw_timer.deadline_ns, QUEUED		lock of the base of .cpu
 *	htw_timer.deadline_ns, .period_ns,	ctx->lock
 *	 .user_data, .tag, .slack_ticks,
 *	 .traits, .generation
 *	htw_timer.fired_ns, EXPIRED		written before the timer enters the ready list
 *	htw_timer.state, QUEUED -> EXPIRED,	lock of the base of .cpu
 *	 DELIVERED, or QUEUED again
 *	htw_timer.state, all other steps	ctx->lock, and lock of the base of .cpu if QUEUED
 *	htw_timer.cpu				lock of the base that it names; read without it to
 *						find the lock, then again under it
 *	htw_base.engine, .cpu, .queue		constant after creation
 *	htw_base.*queue, all other fields	base->lock
 *	htw_base.timer				started on its own CPU; hrtimers have their own lock
 *	htw_engine.reserved			reserve_lock
 *	htw_engine, other fields		constant after creation
 */
#ifndef HTW_HTWHEEL_H
#define HTW_HTWHEEL_H

#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/uio.h>

#include <linux/htwheel.h>

#include "private.h"
#include "sweep.h"

/* Clocks that contexts may choose; each has an engine, at its number in enum htwheel_clock. */
#define HTW_CLOCKS		2

/* Limits that HTWHEEL_IOC_INFO reports. */
#define HTW_MAX_BATCH		(1U << 20)
#define HTW_MAX_STRIDE		4096U

/* The largest value of the parameter max_timers; indices and counters stay within 32 bits. */
#define HTW_MAX_TIMERS		(1U << 30)

/* The largest value of the parameter max_user_timers. */
#define HTW_MAX_USER_TIMERS	(1ULL << 32)

/**
 * struct htw_ctx - one open file description
 * @lock: see above
 * @engines: what serves it, one for each clock
 * @own: its own engine, or NULL
 * @manual: the clock of @own, if it is moved by hand
 * @timers: its timers
 * @max_ceiling: largest limit that SETUP grants
 * @setup_done: SETUP has succeeded
 * @rcu: for the grace period before the memory goes
 */
struct htw_ctx {
	struct mutex		lock;
	struct htw_engine	*const *engines;
	struct htw_engine	*own;
	struct htw_manual_clock	manual;
	struct htw_timers	timers;
	u64			max_ceiling;
	bool			setup_done;
	struct rcu_head		rcu;
};

/* ctx.c */
struct htw_ctx *htw_ctx_create(struct htw_engine *const *engines, u64 max_timers);
void htw_ctx_destroy(struct htw_ctx *ctx);
int htw_ctx_info(struct htw_ctx *ctx, struct htwheel_info *info);
int htw_ctx_setup(struct htw_ctx *ctx, const struct htwheel_setup *setup);
int htw_ctx_run(struct htw_ctx *ctx, struct htwheel_op *ops, unsigned int nr);
int htw_ctx_mass(struct htw_ctx *ctx, struct htwheel_mass *mass);
int htw_ctx_dump(struct htw_ctx *ctx, u64 *cursor, struct htwheel_dump_entry *entries,
		 unsigned int max);

/* advance.c */
int htw_advance(struct htw_ctx *ctx, struct htwheel_advance *arg);

/* event.c */
ssize_t htw_event_read(struct htw_ctx *ctx, struct iov_iter *to, bool nonblock, bool nowait);
__poll_t htw_event_poll(struct htw_ctx *ctx, struct file *file, poll_table *wait);

/* stats.c */
int htw_stats_read(struct htw_ctx *ctx, struct htwheel_stats *stats);

/* ioctl.c */
long htw_ioctl(struct htw_ctx *ctx, unsigned int cmd, void __user *argument);

/* chardev.c */
int htw_chardev_register(struct htw_engine *const *engines, u64 max_timers);
void htw_chardev_unregister(void);

#endif /* HTW_HTWHEEL_H */
