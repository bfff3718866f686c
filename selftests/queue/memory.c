// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that runs out: create() gives NULL; reserve() gives -ENOMEM, and the room is what it was.
 * That nothing leaks and nothing is touched outside the room is the address sanitizer's to see.
 */
#include <stdio.h>

#include <linux/errno.h>
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

	shim_failing_call = 1;
	queue = design->create(&config);
	if (queue)
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
	design->advance(queue, test->start_tick + 20000, HTW_BUDGET_NONE, &due, &work);
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
