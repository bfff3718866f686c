// SPDX-License-Identifier: GPL-2.0
/*
 * Make the kernel report a fault of the wanted kind, to prove that the test guests notice it.
 *
 * Loading with kind=NAME provokes the fault in the init function. Nothing here uses htwheel. Only
 * for a guest that may die.
 */
#include <linux/bug.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *kind = "none";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "fault to provoke: warn, bug, atomic, lockdep, kasan, ubsan, kmemleak, list");

static DEFINE_SPINLOCK(atomic_lock);
static DEFINE_MUTEX(first_mutex);
static DEFINE_MUTEX(second_mutex);

static void provoke_warn(void)
{
	WARN(1, "provoked\n");
}

static void provoke_bug(void)
{
	BUG();
}

static void provoke_atomic(void)
{
	spin_lock(&atomic_lock);
	msleep(1);
	spin_unlock(&atomic_lock);
}

static void provoke_lockdep(void)
{
	mutex_lock(&first_mutex);
	mutex_lock(&second_mutex);
	mutex_unlock(&second_mutex);
	mutex_unlock(&first_mutex);

	mutex_lock(&second_mutex);
	mutex_lock(&first_mutex);
	mutex_unlock(&first_mutex);
	mutex_unlock(&second_mutex);
}

static void provoke_kasan(void)
{
	u8 *object = kmalloc(24, GFP_KERNEL);

	if (!object)
		return;
	kfree(object);
	/* Hide the pointer's past from the compiler, which would refuse the use after free. */
	OPTIMIZER_HIDE_VAR(object);
	WRITE_ONCE(object[0], 1);
}

static void provoke_ubsan(void)
{
	unsigned int distance = 40;

	OPTIMIZER_HIDE_VAR(distance);
	pr_info("provoked: %u\n", 1U << distance);
}

static void provoke_kmemleak(void)
{
	unsigned int i;

	/* Many, since a stale word somewhere may look like a pointer to one of them. */
	for (i = 0; i < 16; i++) {
		void *object = kzalloc(24, GFP_KERNEL);

		/* Keep the compiler from dropping an allocation that nobody uses. */
		OPTIMIZER_HIDE_VAR(object);
	}
}

static void provoke_list(void)
{
	struct list_head entry;

	INIT_LIST_HEAD(&entry);
	entry.next = NULL;
	list_del(&entry);
}

static const struct {
	const char *name;
	void (*provoke)(void);
} kinds[] = {
	{ "warn", provoke_warn },
	{ "bug", provoke_bug },
	{ "atomic", provoke_atomic },
	{ "lockdep", provoke_lockdep },
	{ "kasan", provoke_kasan },
	{ "ubsan", provoke_ubsan },
	{ "kmemleak", provoke_kmemleak },
	{ "list", provoke_list },
};

static int __init htwheel_provoke_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kind, kinds[i].name) == 0) {
			kinds[i].provoke();
			return 0;
		}
	}
	return strcmp(kind, "none") == 0 ? 0 : -EINVAL;
}

static void __exit htwheel_provoke_exit(void)
{
}

module_init(htwheel_provoke_init);
module_exit(htwheel_provoke_exit);

MODULE_DESCRIPTION("Provoke kernel reports to test the test guests of htwheel");
MODULE_LICENSE("GPL");
MODULE_INFO(test, "Y");
