// SPDX-License-Identifier: GPL-2.0
/*
 * The module's queue designs, bare, as the engine uses them inside a group of operations: the lock
 * and the clock are the group's. "locked" takes a lock for each operation instead, as the kernel's
 * own timers have to.
 *
 * A node lies in 64 bytes, as large as the module's own timer is.
 */
#include <linux/cache.h>
#include <linux/errno.h>
#include <linux/numa.h>
#include <linux/spinlock.h>

#include "bench.h"

struct queue_timer {
	struct htw_node	node;
} __aligned(64);

static DEFINE_SPINLOCK(queue_lock);

static struct htw_node *queue_node(struct bench *bench, u32 i)
{
	return &((struct queue_timer *)bench->timers)[i].node;
}

static int queue_open(struct bench *bench)
{
	struct htw_queue_config config = {
		.tick_bits	= 64 - BENCH_TICK_SHIFT,
		.geometry	= htw_design_default(bench->design),
		.numa		= NUMA_NO_NODE,
	};

	bench->queue = bench->design->create(&config);
	if (!bench->queue)
		return -ENOMEM;
	return bench->design->reserve ? bench->design->reserve(bench->queue, bench->nr) : 0;
}

static void queue_close(struct bench *bench)
{
	bench->design->destroy(bench->queue);
}

static __always_inline void queue_arm(struct bench *bench, u32 i, u64 deadline_ns)
{
	struct htw_node *node = queue_node(bench, i);

	node->tick = (deadline_ns >> BENCH_TICK_SHIFT) + 1;
	bench->design->add(bench->queue, node);
}

static __always_inline void queue_cancel(struct bench *bench, u32 i)
{
	bench->design->del(bench->queue, queue_node(bench, i));
}

static __always_inline void queue_rearm(struct bench *bench, u32 i, u64 deadline_ns)
{
	queue_cancel(bench, i);
	queue_arm(bench, i, deadline_ns);
}

static void queue_run(struct bench *bench, enum bench_kind kind, const u32 *order, u32 nr)
{
	bench_run(bench, kind, order, nr, queue_arm, queue_cancel, queue_rearm);
}

static __always_inline void locked_arm(struct bench *bench, u32 i, u64 deadline_ns)
{
	spin_lock_bh(&queue_lock);
	queue_arm(bench, i, deadline_ns);
	spin_unlock_bh(&queue_lock);
}

static __always_inline void locked_cancel(struct bench *bench, u32 i)
{
	spin_lock_bh(&queue_lock);
	queue_cancel(bench, i);
	spin_unlock_bh(&queue_lock);
}

static __always_inline void locked_rearm(struct bench *bench, u32 i, u64 deadline_ns)
{
	spin_lock_bh(&queue_lock);
	queue_rearm(bench, i, deadline_ns);
	spin_unlock_bh(&queue_lock);
}

static void locked_run(struct bench *bench, enum bench_kind kind, const u32 *order, u32 nr)
{
	bench_run(bench, kind, order, nr, locked_arm, locked_cancel, locked_rearm);
}

/*
 * As the engine follows a queue: a pass whenever next() says so, each due timer handed on. To the
 * end, which is later than the last deadline if the design is not exact.
 */
static void queue_expire(struct bench *bench)
{
	struct htw_node *node, *tmp;
	struct htw_work work = {};
	LIST_HEAD(due);
	u64 now;

	while (bench->queue->nr) {
		now = max(bench->design->next(bench->queue), bench->queue->clock_tick);
		bench->design->advance(bench->queue, now, U64_MAX, &due, &work);
		list_for_each_entry_safe(node, tmp, &due, link) {
			list_del(&node->link);
			bench_fired(bench);
		}
	}
	bench->base_ns = (bench->queue->clock_tick + 1) << BENCH_TICK_SHIFT;
}

const struct bench_facility bench_queue = {
	.size		= sizeof(struct queue_timer),
	.open		= queue_open,
	.run		= queue_run,
	.expire		= queue_expire,
	.close		= queue_close,
};

const struct bench_facility bench_queue_locked = {
	.name		= "wheel-locked",
	.size		= sizeof(struct queue_timer),
	.open		= queue_open,
	.run		= locked_run,
	.expire		= queue_expire,
	.close		= queue_close,
};
