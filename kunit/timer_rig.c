// SPDX-License-Identifier: GPL-2.0
/*
 * The rig of the suite htwheel_timer.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "timer_rig.h"

struct htw_manual htw_manual;

const struct htw_clock htw_manual_clock = {
	.name		= "test",
	.hrtimer_clock	= CLOCK_MONOTONIC,
	.now_ns		= htw_manual_read,
};

/* One that an alarm is set for. In the test's time, none of them comes. */
const struct htw_clock htw_alarm_clock = {
	.name		= "test, with alarms",
	.hrtimer_clock	= CLOCK_MONOTONIC,
	.live		= true,
	.now_ns		= htw_manual_read,
};

/**
 * htw_trig_config() - the usual configuration of an engine, for a case to alter
 * @test: the test, whose parameter is the design
 *
 * Return: manual clock, the default tick, no budget to speak of.
 */
struct htw_engine_config htw_trig_config(struct kunit *test)
{
	return (struct htw_engine_config){
		.design		= htw_param_row(test)->design,
		.geometry	= htw_param_row(test)->geometry,
		.clock		= &htw_manual_clock,
		.ops		= &htw_timer_engine_ops,
		.tick_shift	= HTW_TRIG_SHIFT,
		.budget_timers	= U64_MAX,
		.budget_ns	= U64_MAX,
	};
}

/**
 * htw_trig_open() - make an engine
 * @test: the test
 * @config: what kind of engine
 *
 * One at a time. It is closed when the test ends, at the latest.
 */
struct htw_trig *htw_trig_open(struct kunit *test, const struct htw_engine_config *config)
{
	struct htw_trig *rig;

	rig = kzalloc(sizeof(*rig), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rig);
	test->priv = rig;
	rig->test = test;
	rig->design = config->design;
	htw_manual = (struct htw_manual){ .now_ns = HTW_TRIG_START_NS };
	rig->engine = htw_engine_create(config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, rig->engine);
	return rig;
}

/* The usual engine. */
struct htw_trig *htw_trig_open_default(struct kunit *test)
{
	struct htw_engine_config config = htw_trig_config(test);

	return htw_trig_open(test, &config);
}

/* The usual engine on the live clock, with the budgets that the module has. */
struct htw_trig *htw_trig_open_live(struct kunit *test)
{
	struct htw_engine_config config = htw_trig_config(test);

	config.clock = &htw_clock_monotonic;
	config.budget_timers = 8192;
	config.budget_ns = 2 * NSEC_PER_MSEC;
	return htw_trig_open(test, &config);
}

/**
 * struct trig_owner - an owner, with what its end needs
 * @timers: the owner
 * @rcu: for the grace period before the memory goes: a pass may be about to wake its readers
 */
struct trig_owner {
	struct htw_timers	timers;
	struct rcu_head		rcu;
};

/* Add an owner of at most @max timers. It ends with the rig. */
struct htw_timers *htw_trig_own(struct htw_trig *rig, u64 max)
{
	struct trig_owner *owner;
	struct htw_user *user;

	KUNIT_ASSERT_LT(rig->test, rig->nr_owners, HTW_TRIG_OWNERS);
	owner = kzalloc(sizeof(*owner), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(rig->test, owner);
	user = htw_user_get(HTW_TRIG_UID);
	KUNIT_ASSERT_NOT_NULL(rig->test, user);
	htw_timers_init(&owner->timers, rig->engine, user, max);
	rig->owner[rig->nr_owners++] = &owner->timers;
	return &owner->timers;
}

static void trig_end(struct htw_timers *timers)
{
	struct trig_owner *owner = container_of(timers, struct trig_owner, timers);

	htw_timers_destroy(timers);
	htw_user_put(timers->user);
	kfree_rcu(owner, rcu);
}

/* End an owner before the rig does. */
void htw_trig_disown(struct htw_trig *rig, struct htw_timers *timers)
{
	unsigned int i;

	for (i = 0; rig->owner[i] != timers; i++)
		;
	rig->owner[i] = rig->owner[--rig->nr_owners];
	trig_end(timers);
}

/* Somebody has broken a queue; to go on would crash. */
static bool trig_is_broken(const struct htw_trig *rig)
{
	unsigned int cpu;
	int line = 0;

	for_each_possible_cpu(cpu)
		line = line ?: rig->design->check(per_cpu_ptr(rig->engine->bases, cpu)->queue);
	return line;
}

/* Report what threads have seen and free everything; the queues have to be empty by then. */
void htw_trig_close(struct htw_trig *rig)
{
	struct kunit *test = rig->test;

	test->priv = NULL;
	htw_fault_report(test, &rig->fault);
	if (test->status == KUNIT_FAILURE)
		kunit_info(test, "at step %llu\n", rig->step);
	if (!IS_ERR_OR_NULL(rig->engine)) {
		if (trig_is_broken(rig)) {
			KUNIT_FAIL(test, "a broken queue is left behind");
			return;
		}
		while (rig->nr_owners)
			trig_end(rig->owner[--rig->nr_owners]);
		KUNIT_EXPECT_EQ(test, htw_trig_queued(rig), 0);
		if (!htw_trig_queued(rig))
			htw_engine_destroy(rig->engine);
	}
	kfree(rig);
}

/* A plain timer, in a group that the caller holds. */
int htw_trig_group_arm(struct htw_timers *timers, struct htw_group *group, u64 deadline_ns,
		       u64 user_data, u64 *id)
{
	struct htw_timer_spec spec = { .deadline_ns = deadline_ns, .user_data = user_data };

	return htw_timer_arm(timers, group, &spec, id);
}

/* As an ARM in a batch of one. */
int htw_trig_arm_spec(struct htw_timers *timers, const struct htw_timer_spec *spec, u64 *id)
{
	struct htw_group group;
	int ret;

	htw_timers_reserve(timers, 1);
	htw_group_begin(&group, timers->engine);
	ret = htw_timer_arm(timers, &group, spec, id);
	htw_group_end(&group);
	htw_timers_flush(timers);
	return ret;
}

/* The same for a plain timer. */
int htw_trig_try_arm(struct htw_timers *timers, u64 deadline_ns, u64 user_data, u64 *id)
{
	struct htw_timer_spec spec = { .deadline_ns = deadline_ns, .user_data = user_data };

	return htw_trig_arm_spec(timers, &spec, id);
}

/* The same where it has to succeed. Returns the name. */
u64 htw_trig_arm(struct htw_trig *rig, struct htw_timers *timers, u64 deadline_ns, u64 user_data)
{
	u64 id = 0;

	KUNIT_ASSERT_EQ(rig->test, htw_trig_try_arm(timers, deadline_ns, user_data, &id), 0);
	KUNIT_ASSERT_NE(rig->test, id, 0);
	return id;
}

/* The same for one of any kind. */
u64 htw_trig_make(struct htw_trig *rig, struct htw_timers *timers,
		  const struct htw_timer_spec *spec)
{
	u64 id = 0;

	KUNIT_ASSERT_EQ(rig->test, htw_trig_arm_spec(timers, spec, &id), 0);
	KUNIT_ASSERT_NE(rig->test, id, 0);
	return id;
}

int htw_trig_rearm(struct htw_timers *timers, u64 id, u64 deadline_ns)
{
	struct htw_group group;
	int ret;

	htw_group_begin(&group, timers->engine);
	ret = htw_timer_rearm(timers, &group, id, deadline_ns);
	htw_group_end(&group);
	htw_timers_flush(timers);
	return ret;
}

int htw_trig_cancel(struct htw_timers *timers, u64 id, u64 *left_ns)
{
	struct htw_group group;
	int ret;

	htw_group_begin(&group, timers->engine);
	ret = htw_timer_cancel(timers, &group, id, left_ns);
	htw_group_end(&group);
	htw_timers_flush(timers);
	return ret;
}

int htw_trig_query(struct htw_timers *timers, u64 id, u64 *left_ns)
{
	struct htw_group group;
	int ret;

	htw_group_begin(&group, timers->engine);
	ret = htw_timer_query(timers, &group, id, left_ns);
	htw_group_end(&group);
	return ret;
}

/* The events of these have been read. */
void htw_trig_deliver(struct htw_timers *timers, struct htw_timer **done, unsigned int nr)
{
	htw_timer_deliver(timers, done, nr, htw_engine_now_ns(timers->engine));
	htw_timers_flush(timers);
}

/* As a read() of so many events, at most 64. */
unsigned int htw_trig_read(struct htw_timers *timers, struct htwheel_event *events,
			   unsigned int max)
{
	struct htw_timer *ready[HTW_CHUNK_OPS];
	unsigned int i, nr;
	u64 now_ns;

	nr = htw_ready_peek(&timers->ready, ready, min(max, HTW_CHUNK_OPS));
	now_ns = htw_engine_now_ns(timers->engine);
	for (i = 0; i < nr; i++)
		htw_timer_event(ready[i], now_ns, &events[i]);
	htw_timer_deliver(timers, ready, nr, now_ns);
	htw_timers_flush(timers);
	return nr;
}

/* Manual clock: move the time and let every base finish what is due. */
void htw_trig_run(struct htw_trig *rig, u64 now_ns)
{
	unsigned int cpu;

	htw_manual.now_ns = now_ns;
	for_each_online_cpu(cpu) {
		local_bh_disable();
		while (htw_base_pass(per_cpu_ptr(rig->engine->bases, cpu)))
			;
		local_bh_enable();
	}
}

/* As HTWHEEL_IOC_MASS, but for TRIM: all its steps. Returns to how many timers it was done. */
u64 htw_trig_mass(struct htw_timers *timers, const struct htwheel_mass *mass)
{
	u64 cursor = 0, done = 0;

	do {
		done += htw_sweep_mass(timers, mass, &cursor);
		htw_timers_flush(timers);
	} while (cursor);
	return done;
}

/* The timer of a name that has to be good. */
struct htw_timer *htw_trig_find(struct htw_trig *rig, struct htw_timers *timers, u64 id)
{
	struct htw_timer *timer = htw_pool_find(&timers->pool, id);

	KUNIT_ASSERT_NOT_NULL(rig->test, timer);
	return timer;
}

/* What HTWHEEL_IOC_DUMP says of a timer whose name has to be good. */
void htw_trig_dump(struct htw_trig *rig, struct htw_timers *timers, u64 id,
		   struct htwheel_dump_entry *entry)
{
	u64 cursor = (u32)id;

	memset(entry, 0xcc, sizeof(*entry));
	KUNIT_ASSERT_EQ(rig->test, htw_sweep_dump(timers, &cursor, entry, 1), 1);
	KUNIT_ASSERT_EQ(rig->test, entry->id, id);
}

/* As a whole TRIM. Returns how many bytes were given back. */
u64 htw_trig_trim(struct htw_timers *timers)
{
	u64 bytes = 0, cursor = 0;

	do {
		bytes += htw_timers_trim(timers, &cursor);
	} while (cursor);
	return bytes;
}

/* Timers in the queues, of all owners. */
u64 htw_trig_queued(struct htw_trig *rig)
{
	struct htw_engine_stats stats;

	htw_engine_read_stats(rig->engine, &stats);
	return stats.queued;
}

/* I4. */
bool htw_trig_balanced(const struct htw_timers *timers)
{
	const struct htw_books *books = &timers->books;

	return books->armed == books->fired + books->cancelled + books->replaced +
			       htw_timers_pending(timers);
}

/* Timers of the pool in each state. */
static void count_states(const struct htw_pool *pool, u64 *nr)
{
	const struct htw_timer *timer, *end;
	u32 i;

	for (i = 0; i < pool->nr_entries; i++) {
		if (!pool->table[i].chunk)
			continue;
		end = pool->table[i].chunk->timer + HTW_CHUNK_PLACES - 1;
		for (timer = pool->table[i].chunk->timer; timer < end; timer++)
			nr[timer->state]++;
	}
}

static u64 count_ready(struct kunit *test, struct htw_timers *timers)
{
	struct htw_timer *timer;
	u64 nr = 0, foreign = 0;

	spin_lock_bh(&timers->ready.lock);
	list_for_each_entry(timer, &timers->ready.list, ready_link) {
		nr++;
		foreign += timer->state != HTW_EXPIRED || timer->fired_ns < timer->deadline_ns;
	}
	spin_unlock_bh(&timers->ready.lock);
	KUNIT_ASSERT_EQ_MSG(test, foreign, 0, "in the ready list, but not expired, or too early");
	return nr;
}

/* Readable only with something to read; and, without a wake-up policy, as soon as there is. */
static void judge_readable(struct kunit *test, const struct htw_ready *ready)
{
	u64 unread = ready->nr + (ready->ring ? htw_ring_used(ready->ring) : 0);

	KUNIT_ASSERT_TRUE(test, unread || !ready->readable);
	if (!ready->policy.delay_ns)
		KUNIT_ASSERT_EQ(test, ready->readable, unread > 0);
}

/*
 * What has to hold of an owner between two operations. Returns how many of its timers are queued.
 */
static u64 judge_owner(struct kunit *test, struct htw_timers *timers)
{
	u64 nr[HTW_IDLE + 1] = {};

	htw_delivery_catch_up(timers);
	if (timers->ready.ring)
		htw_ready_refresh(&timers->ready);
	count_states(&timers->pool, nr);
	KUNIT_ASSERT_TRUE_MSG(test, htw_trig_balanced(timers), "%llu armed, %llu live",
			      timers->books.armed, timers->pool.live);
	KUNIT_ASSERT_EQ(test, htw_timers_pending(timers), nr[HTW_QUEUED] + nr[HTW_EXPIRED]);
	KUNIT_ASSERT_EQ(test, timers->idle, nr[HTW_IDLE]);
	KUNIT_ASSERT_EQ(test, timers->credit, 0);
	KUNIT_ASSERT_LE(test, timers->pool.live, timers->max);
	/* Those that are retired are free, too, but not to be had. */
	KUNIT_ASSERT_LE(test, timers->pool.free, nr[HTW_FREE]);
	KUNIT_ASSERT_EQ(test, timers->ready.nr, nr[HTW_EXPIRED]);
	KUNIT_ASSERT_EQ(test, count_ready(test, timers), nr[HTW_EXPIRED]);
	judge_readable(test, &timers->ready);
	return nr[HTW_QUEUED];
}

/* What has to hold between two operations, on the manual clock. */
void htw_trig_judge(struct htw_trig *rig)
{
	u64 queued = 0, live = 0;
	unsigned int i;

	for (i = 0; i < rig->nr_owners; i++) {
		queued += judge_owner(rig->test, rig->owner[i]);
		live += rig->owner[i]->pool.live;
	}
	if (rig->nr_owners)
		KUNIT_ASSERT_EQ(rig->test, htw_user_timers(rig->owner[0]->user), live);
	KUNIT_ASSERT_EQ(rig->test, htw_trig_queued(rig), queued);
	KUNIT_ASSERT_FALSE(rig->test, trig_is_broken(rig));
}
