// SPDX-License-Identifier: GPL-2.0
/*
 * The limit of a user, across contexts.
 *
 * A user is a real user id: that of the task that opened the file, wherever the file travels
 * afterwards. Contexts on many CPUs share the user's counter; so they do not touch it for each
 * timer but take credit for a chunk of operations and give back what is left (timer.c).
 */
#include <linux/atomic.h>
#include <linux/hashtable.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include <kunit/visibility.h>

#include "user.h"

#define USER_HASH_BITS	6

/**
 * struct htw_user - one user
 * @uid: who
 * @files: their open contexts; protected by user_lock
 * @timers: timers in those, and those for which credit was given
 * @node: entry in user_table; protected by user_lock
 */
struct htw_user {
	kuid_t			uid;
	unsigned int		files;
	atomic64_t		timers;
	struct hlist_node	node;
};

static DEFINE_HASHTABLE(user_table, USER_HASH_BITS);

/* Protects the table, not the counters. Taken at open and close. */
static DEFINE_MUTEX(user_lock);

/* Set at load. */
static u64 user_max_timers = U64_MAX;

/**
 * htw_users_init() - set the limit of every user
 * @max_timers: the limit
 *
 * Context: task, at load.
 */
void htw_users_init(u64 max_timers)
{
	user_max_timers = max_timers;
}
EXPORT_SYMBOL_IF_KUNIT(htw_users_init);

static struct htw_user *user_find(kuid_t uid)
{
	struct htw_user *user;

	hash_for_each_possible(user_table, user, node, __kuid_val(uid)) {
		if (uid_eq(user->uid, uid))
			return user;
	}
	return NULL;
}

/**
 * htw_user_get() - the user of a new context
 * @uid: who
 *
 * Context: task; may sleep. Must be followed by htw_user_put().
 * Return: the user, NULL without memory.
 */
struct htw_user *htw_user_get(kuid_t uid)
{
	/* Before the lock: who is short of memory may be held up here, and nobody else. */
	struct htw_user *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	struct htw_user *user;

	if (!fresh)
		return NULL;
	fresh->uid = uid;
	mutex_lock(&user_lock);
	user = user_find(uid);
	if (!user) {
		user = fresh;
		fresh = NULL;
		hash_add(user_table, &user->node, __kuid_val(uid));
	}
	user->files++;
	mutex_unlock(&user_lock);
	kfree(fresh);
	return user;
}
EXPORT_SYMBOL_IF_KUNIT(htw_user_get);

/**
 * htw_user_put() - a context of this user has ended, its timers uncharged
 * @user: the user
 *
 * Context: task; may sleep.
 */
void htw_user_put(struct htw_user *user)
{
	mutex_lock(&user_lock);
	if (!--user->files) {
		WARN_ON_ONCE(atomic64_read(&user->timers));
		hash_del(&user->node);
		kfree(user);
	}
	mutex_unlock(&user_lock);
}
EXPORT_SYMBOL_IF_KUNIT(htw_user_put);

/**
 * htw_user_charge() - take credit for timers
 * @user: the user
 * @nr: for how many
 *
 * Context: any.
 * Return: for how many it was given: as many as the limit allows.
 */
u64 htw_user_charge(struct htw_user *user, u64 nr)
{
	s64 used = atomic64_read(&user->timers);
	u64 granted;

	do {
		granted = min(nr, user_max_timers - min_t(u64, used, user_max_timers));
		if (!granted)
			break;
	} while (!atomic64_try_cmpxchg(&user->timers, &used, used + granted));
	return granted;
}
EXPORT_SYMBOL_IF_KUNIT(htw_user_charge);

/**
 * htw_user_uncharge() - give back credit
 * @user: the user
 * @nr: for how many timers
 *
 * Context: any.
 */
void htw_user_uncharge(struct htw_user *user, u64 nr)
{
	atomic64_sub(nr, &user->timers);
}
EXPORT_SYMBOL_IF_KUNIT(htw_user_uncharge);

/**
 * htw_user_timers() - how many timers a user holds
 * @user: the user
 *
 * Context: any.
 * Return: their number at this moment; credit that a running call has taken is included.
 */
u64 htw_user_timers(const struct htw_user *user)
{
	return atomic64_read(&user->timers);
}
EXPORT_SYMBOL_IF_KUNIT(htw_user_timers);

/**
 * htw_user_max_timers() - how many a user may hold
 *
 * Context: any.
 * Return: the limit, the same for all.
 */
u64 htw_user_max_timers(void)
{
	return user_max_timers;
}
EXPORT_SYMBOL_IF_KUNIT(htw_user_max_timers);
