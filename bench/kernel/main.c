// SPDX-License-Identifier: GPL-2.0
/*
 * Measures ordered sets of timers inside the kernel when it is loaded, which takes minutes; the
 * result is in debugfs: htwheel_bench.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

#include "bench.h"

static unsigned int largest = 1000000;
module_param(largest, uint, 0444);
MODULE_PARM_DESC(largest, "Most timers: 10000, 100000 or 1000000 (default)");

static char *only;
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "Only this facility (default: all)");

static const u32 sizes[] = { 10000, 100000, 1000000 };

static struct debugfs_blob_wrapper blob;
static struct dentry *file;

/* Numbers from 0 in random order, and behind them the same in order. */
static u32 *make_order(u32 nr)
{
	u32 *order = vmalloc(2 * nr * sizeof(*order));
	u64 seed = 1;
	u32 i, j;

	for (i = 0; order && i < nr; i++) {
		order[i] = i;
		order[nr + i] = i;
	}
	for (i = nr - 1; order && i; i--) {
		j = bench_random(&seed) % (i + 1);
		swap(order[i], order[j]);
	}
	return order;
}

static int measure(const struct bench_facility *facility, const struct htw_design *design, u32 nr)
{
	struct bench bench = { .facility = facility, .design = design, .nr = nr, .seed = 1 };
	const char *name = facility->name ?: design->name;
	int err = -ENOMEM;

	if (only && strcmp(only, name))
		return 0;
	pr_info("htwheel_bench: %s, %u\n", name, nr);
	bench.timers = vzalloc(nr * facility->size);
	bench.order = make_order(nr);
	if (bench.timers && bench.order)
		err = facility->open(&bench);
	if (!err) {
		bench_cases(&bench);
		facility->close(&bench);
	}
	vfree(bench.order);
	vfree(bench.timers);
	return err;
}

static int measure_size(u32 nr)
{
	const struct htw_design *const *design;
	int err = 0;

	for (design = htw_designs; *design && !err; design++)
		err = measure(&bench_queue, *design, nr);
	if (!err)
		err = measure(&bench_queue_locked, htw_designs[0], nr);
	if (!err)
		err = measure(&bench_timer_list, NULL, nr);
	return err ?: measure(&bench_hrtimer, NULL, nr);
}

static int measure_all(void *done)
{
	unsigned int i;
	int err = 0;

	bench_clock_start();
	bench_lock();
	for (i = 0; i < ARRAY_SIZE(sizes) && !err; i++) {
		if (sizes[i] <= largest)
			err = measure_size(sizes[i]);
	}
	kthread_complete_and_exit(done, err);
}

/* In a thread of its own, which stays on one CPU. */
static int __init bench_init(void)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *task;

	task = kthread_create_on_cpu(measure_all, &done, 0, "htwheel_bench/%u");
	if (IS_ERR(task))
		return PTR_ERR(task);
	wake_up_process(task);
	wait_for_completion(&done);
	blob.data = bench_text((size_t *)&blob.size);
	file = debugfs_create_blob("htwheel_bench", 0444, NULL, &blob);
	return 0;
}

static void __exit bench_exit(void)
{
	debugfs_remove(file);
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("Measurements of ordered sets of timers");
MODULE_LICENSE("GPL");
MODULE_INFO(import_ns, "EXPORTED_FOR_KUNIT_TESTING");
