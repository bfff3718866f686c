// SPDX-License-Identifier: GPL-2.0
/*
 * What a cancel costs; and memory that runs out: create() gives NULL; reserve() gives -ENOMEM, and
 * the room is what it was. That nothing leaks and nothing is touched outside the room is the
 * address sanitizer's to see.
 */
#include <stdio.h>
#include <time.h>

#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "memory.h"

/* Two full segments of the heap, so that the next timer would need more room. */
#define ROOM		3072
#define MORE_ROOM	50000

unsigned long shim_failing_call;

static void fill(struct htw_queue *queue, struct htw_node *node, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		node[i].tick = (u64)i * 7919 % 10007;
		queue->design->add(queue, &node[i]);
	}
}

static bool reserve_fails_at(struct htw_queue *queue, unsigned long call)
{
	int ret;

	shim_failing_call = call;
	ret = queue->design->reserve(queue, MORE_ROOM);
	if (!shim_failing_call)
		return ret == -ENOMEM;
	/* It made fewer calls than that, so it has succeeded: give the room back. */
	shim_failing_call = 0;
	return !ret && !queue->design->reserve(queue, ROOM);
}

/* Each of the allocations in turn; there is one, at least. False if all of them were noticed. */
static bool create_fails(const struct htw_design *design, const struct htw_queue_config *config)
{
	struct htw_queue *queue;
	unsigned long call;

	for (call = 1;; call++) {
		shim_failing_call = call;
		queue = design->create(config);
		if (shim_failing_call)
			break;
		if (queue)
			return true;
	}
	/* It made fewer calls than that. */
	shim_failing_call = 0;
	if (queue)
		design->destroy(queue);
	return !queue || call == 1;
}

static const char *memory_fault(const struct htw_test *test, struct htw_node *node)
{
	const struct htw_design *design = test->design;
	struct htw_queue_config config = {
		.tick_bits	= test->tick_bits,
		.clock_tick	= test->start_tick,
		.geometry	= test->geometry,
		.numa		= NUMA_NO_NODE,
	};
	struct htw_work work = {};
	struct htw_queue *queue;
	unsigned long call;
	LIST_HEAD(due);

	if (create_fails(design, &config))
		return "create() without memory gives a queue";
	queue = design->create(&config);
	if (!queue)
		return "create() with memory gives none";
	if (design->reserve && design->reserve(queue, ROOM))
		return "reserve() with memory fails";
	fill(queue, node, ROOM);
	for (call = 1; design->reserve && call < 10; call++) {
		if (!reserve_fails_at(queue, call))
			return "wrong answer of reserve() when memory runs out";
	}
	if (design->check(queue))
		return "check() finds a fault afterwards";
	/* By then one that is not exact has to have them handed out too. */
	design->advance(queue, test->start_tick + 200000, HTW_BUDGET_NONE, &due, &work);
	if (work.due != ROOM)
		return "not all timers are handed out afterwards";
	design->destroy(queue);
	return NULL;
}

/**
 * memory_case() - let memory run out at each call
 * @test: the test
 */
void memory_case(struct htw_test *test)
{
	struct htw_node *node = kvcalloc(ROOM, sizeof(*node), GFP_KERNEL);
	const char *fault = node ? memory_fault(test, node) : "no memory for the test";

	shim_failing_call = 0;
	kvfree(node);
	if (!fault)
		return;
	test->failed = true;
	snprintf(test->text, sizeof(test->text), "%s: %s", test->design->name, fault);
}

#define FEW		2000
#define MANY		200000
#define CANCELS		1000
#define ROUNDS		5

/*
 * By how much a cancel may become dearer if there are a hundred times as many timers: a few cache
 * misses, or steps in a tree, but no search (FAULTS B89).
 */
#define CANCEL_GROWTH	40

static u64 cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* The CPU time of CANCELS scattered cancels among @nr timers; the best of some rounds. */
static u64 cancels_ns(struct htw_queue *queue, struct htw_node *node, u32 nr, u64 start_tick)
{
	u64 best = U64_MAX, begin;
	u32 round, i;

	for (i = 0; i < nr; i++) {
		node[i].tick = start_tick + 100 + i / 16;
		queue->design->add(queue, &node[i]);
	}
	for (round = 0; round < ROUNDS; round++) {
		begin = cpu_ns();
		for (i = 0; i < CANCELS; i++)
			queue->design->del(queue, &node[(u64)i * 7919 % nr]);
		best = min(best, cpu_ns() - begin);
		/* At the end, where a list finds their places at once. */
		for (i = 0; i < CANCELS; i++) {
			node[(u64)i * 7919 % nr].tick = start_tick + 100 + nr;
			queue->design->add(queue, &node[(u64)i * 7919 % nr]);
		}
	}
	for (i = 0; i < nr; i++)
		queue->design->del(queue, &node[i]);
	return best;
}

/**
 * cancel_case() - a cancel takes about as long among many timers as among few
 * @test: the test
 */
void cancel_case(struct htw_test *test)
{
	const struct htw_design *design = test->design;
	struct htw_queue_config config = {
		.tick_bits	= test->tick_bits,
		.clock_tick	= test->start_tick,
		.geometry	= test->geometry,
		.numa		= NUMA_NO_NODE,
	};
	struct htw_node *node;
	struct htw_queue *queue;
	u64 few, many;

	/* The clock does not matter. */
	if (!test->once)
		return;
	node = kvcalloc(MANY, sizeof(*node), GFP_KERNEL);
	queue = design->create(&config);
	if (!node || !queue || (design->reserve && design->reserve(queue, MANY))) {
		test->failed = true;
		snprintf(test->text, sizeof(test->text), "%s: no memory", design->name);
		return;
	}
	few = cancels_ns(queue, node, FEW, test->start_tick);
	many = cancels_ns(queue, node, MANY, test->start_tick);
	test->failed = many > few * CANCEL_GROWTH;
	snprintf(test->text, sizeof(test->text), "%s: %u cancels take %llu ns of %u, %llu ns of %u",
		 design->name, CANCELS, few, FEW, many, MANY);
	design->destroy(queue);
	kvfree(node);
}
