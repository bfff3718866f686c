// SPDX-License-Identifier: GPL-2.0
/*
 * Reading events, waiting for them, and poll.
 */
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "delivery.h"
#include "htwheel.h"

/* Events that are copied under one hold of the lock; they lie on the stack. */
#define EVENT_CHUNK	16U

/* How often a page is faulted in that is gone again before it could be written. */
#define EVENT_FAULTS	16U

/* Fill in the events of @timers. Returns the moment for which they are right. */
static u64 event_fill(struct htw_ctx *ctx, struct htw_timer **timers, unsigned int nr,
		      struct htwheel_event *events)
{
	const struct htw_clock *clock = ctx->timers.engine->config.clock;
	s64 offset_ns = htw_clock_user_offset_ns(clock);
	u64 now_ns = htw_clock_now_ns(clock);
	unsigned int i;

	for (i = 0; i < nr; i++) {
		htw_timer_event(timers[i], now_ns, &events[i]);
		events[i].deadline_ns = htw_clock_to_user(events[i].deadline_ns, offset_ns);
		events[i].fired_ns = htw_clock_to_user(events[i].fired_ns, offset_ns);
	}
	return now_ns;
}

/*
 * Copy the first events out, as many as fit and as can be written without faulting pages in, and
 * take those off the ready list. All in one hold of ctx->lock: an event is either still there to be
 * cancelled or has been read, and one that could not be written has never left the list (I8, I9).
 *
 * Returns how many were copied; -EAGAIN if there is none; -EFAULT if the first could not be
 * written.
 */
static int event_copy(struct htw_ctx *ctx, struct iov_iter *to)
{
	size_t room = min_t(size_t, iov_iter_count(to) / sizeof(struct htwheel_event), EVENT_CHUNK);
	struct htwheel_event events[EVENT_CHUNK];
	struct htw_timer *timers[EVENT_CHUNK];
	unsigned int nr;
	size_t copied;
	u64 now_ns;

	lockdep_assert_held(&ctx->lock);
	htw_delivery_catch_up(&ctx->timers);
	nr = htw_ready_peek(&ctx->timers.ready, timers, room);
	if (!nr)
		return -EAGAIN;
	now_ns = event_fill(ctx, timers, nr, events);

	pagefault_disable();
	copied = copy_to_iter(events, nr * sizeof(events[0]), to);
	pagefault_enable();

	/* A piece of an event does not count. */
	iov_iter_revert(to, copied % sizeof(events[0]));
	nr = copied / sizeof(events[0]);
	if (!nr)
		return -EFAULT;
	htw_timer_deliver(&ctx->timers, timers, nr, now_ns);
	htw_timers_flush(&ctx->timers);
	return nr;
}

static int event_copy_locked(struct htw_ctx *ctx, struct iov_iter *to, bool nowait)
{
	int nr;

	if (!mutex_trylock(&ctx->lock)) {
		if (nowait)
			return -EAGAIN;
		if (mutex_lock_interruptible(&ctx->lock))
			return -ERESTARTSYS;
	}
	nr = event_copy(ctx, to);
	mutex_unlock(&ctx->lock);
	return nr;
}

/* Make room for one event writable, without the lock. */
static int event_fault_in(struct iov_iter *to)
{
	if (fault_in_iov_iter_writeable(to, sizeof(struct htwheel_event)))
		return -EFAULT;
	/* Other signals can wait: there is an event, and the tries are counted. */
	return fatal_signal_pending(current) ? -ERESTARTSYS : 0;
}

static int event_wait(struct htw_ctx *ctx)
{
	return wait_event_interruptible(ctx->timers.ready.wait,
					READ_ONCE(ctx->timers.ready.readable));
}

/*
 * What is in a ring is not read here, so the file may be readable and there be nothing to wait for.
 * Asked anew each time: SETUP may have made the ring while somebody waited without one.
 */
static bool event_in_ring(const struct htw_ctx *ctx)
{
	/* Pairs with htw_timers_setup(). */
	return smp_load_acquire(&ctx->timers.ready.ring);
}

/**
 * htw_event_read() - read(2): whole events, as many as there are and fit
 * @ctx: the context
 * @to: where to
 * @nonblock: do not wait for the first event
 * @nowait: do not wait for the lock either (io_uring); implies @nonblock. Faulting in pages of the
 *	buffer is allowed, as in the reads of pipes and sockets
 *
 * Context: task; may sleep.
 * Return: bytes, or -EINVAL, -EAGAIN, -EFAULT, -ERESTARTSYS, and no event is lost.
 */
ssize_t htw_event_read(struct htw_ctx *ctx, struct iov_iter *to, bool nonblock, bool nowait)
{
	unsigned int faults = 0;
	ssize_t bytes = 0;
	int ret;

	if (iov_iter_count(to) < sizeof(struct htwheel_event))
		return -EINVAL;
	do {
		ret = event_copy_locked(ctx, to, nowait);
		if (ret > 0) {
			bytes += ret * sizeof(struct htwheel_event);
			faults = 0;
			ret = signal_pending(current) ? -ERESTARTSYS : 0;
			cond_resched();
		} else if (ret == -EFAULT && faults++ < EVENT_FAULTS) {
			ret = event_fault_in(to);
		} else if (ret == -EAGAIN && !bytes && !nonblock && !nowait &&
			   !event_in_ring(ctx)) {
			ret = event_wait(ctx);
		}
	} while (!ret && iov_iter_count(to) >= sizeof(struct htwheel_event));
	return bytes ? bytes : ret;
}

/**
 * htw_event_poll() - poll(2): readable if, and only if, read() would return an event
 * @ctx: the context
 * @file: its file
 * @wait: as given to the file operation
 *
 * Context: task; may sleep.
 * Return: EPOLLIN | EPOLLRDNORM, or 0.
 */
__poll_t htw_event_poll(struct htw_ctx *ctx, struct file *file, poll_table *wait)
{
	poll_wait(file, &ctx->timers.ready.wait, wait);
	if (event_in_ring(ctx))
		htw_ready_refresh(&ctx->timers.ready);
	/* Pairs with the lock in htw_ready_wake(), as explained there. */
	return READ_ONCE(ctx->timers.ready.readable) ? EPOLLIN | EPOLLRDNORM : 0;
}
