// SPDX-License-Identifier: GPL-2.0
/*
 * The live clock: threads on several CPUs that use timers as programs do, and do not trust what
 * they are told. Nothing here fails because a machine is slow: what is lost is told from what is
 * late by a limit of many seconds.
 */
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "timer_cases.h"

#define HANDS		4
#define OWNERS		(HANDS + 1)
#define SLOTS		128
#define ROUND_OPS	16
#define READ_EVENTS	16
#define LOST_NS		(10ULL * NSEC_PER_SEC)

/**
 * struct client_timer - what a client knows of a timer
 * @live: armed, and neither cancelled nor read
 * @id: its name
 * @deadline_ns: its deadline
 */
struct client_timer {
	bool			live;
	u64			id;
	u64			deadline_ns;
};

/**
 * struct client - an owner of timers, and what it has seen of them
 * @lock: serializes all use of it, as a context's does
 * @timers: the owner
 * @fault: where to complain
 * @slot: its timers; user_data is the place in this array
 * @live: how many are live
 * @books: what has become of all
 */
struct client {
	struct mutex		lock;
	struct htw_timers	*timers;
	struct htw_fault	*fault;
	struct client_timer	slot[SLOTS];
	u32			live;
	struct htw_books	books;
};

/**
 * struct hall - clients, and the threads' habits
 * @delay_bits: delays are of so many bits
 * @shared: threads use the client that all share, and not their own
 * @client: each thread's, and then the shared one
 */
struct hall {
	unsigned int		delay_bits;
	bool			shared;
	struct client		client[OWNERS];
};

static u64 live_ns(void)
{
	return htw_clock_now_ns(&htw_clock_monotonic);
}

/* From what has passed already to what comes soon. */
static u64 random_deadline_ns(struct htw_hand *hand, u64 now_ns)
{
	const struct hall *hall = hand->crew->data;
	u64 delay_ns = htw_random(&hand->random) & (BIT_ULL(hall->delay_bits) - 1);

	return htw_random_below(&hand->random, 16) ? now_ns + delay_ns : now_ns - delay_ns;
}

static void client_forget(struct client *client, struct client_timer *slot)
{
	slot->live = false;
	client->live--;
}

static void client_arm(struct htw_hand *hand, struct client *client, struct htw_group *group,
		       struct client_timer *slot)
{
	u64 deadline_ns = random_deadline_ns(hand, group->now_ns);
	int ret;

	ret = htw_trig_group_arm(client->timers, group, deadline_ns, slot - client->slot,
				 &slot->id);
	htw_expect(client->fault, "an arm succeeds", ret, 0);
	if (ret)
		return;
	slot->live = true;
	slot->deadline_ns = deadline_ns;
	client->live++;
	client->books.armed++;
}

/* An answer about a live timer is "queued", or "fired", and this only when its time had come. */
static void check_answer(struct client *client, const struct client_timer *slot, int ret)
{
	if (ret == HTWHEEL_RES_FIRED && live_ns() < slot->deadline_ns)
		htw_blame(client->fault, "fired, but too early", live_ns(), slot->deadline_ns);
	else if (ret && ret != HTWHEEL_RES_FIRED)
		htw_blame(client->fault, "answer about a live timer", ret, 0);
}

static void client_rearm(struct htw_hand *hand, struct client *client, struct htw_group *group,
			 struct client_timer *slot)
{
	u64 deadline_ns = random_deadline_ns(hand, group->now_ns);

	check_answer(client, slot, htw_timer_rearm(client->timers, group, slot->id, deadline_ns));
	slot->deadline_ns = deadline_ns;
	client->books.armed++;
	client->books.replaced++;
}

static void client_cancel(struct client *client, struct htw_group *group, struct client_timer *slot)
{
	u64 left_ns;

	check_answer(client, slot, htw_timer_cancel(client->timers, group, slot->id, &left_ns));
	client_forget(client, slot);
	client->books.cancelled++;
}

static void client_query(struct client *client, struct htw_group *group, struct client_timer *slot)
{
	u64 left_ns = HTW_JUNK, expected_ns = 0;
	int ret;

	ret = htw_timer_query(client->timers, group, slot->id, &left_ns);
	check_answer(client, slot, ret);
	if (!ret && slot->deadline_ns > group->now_ns)
		expected_ns = slot->deadline_ns - group->now_ns;
	htw_expect(client->fault, "time left", left_ns, expected_ns);
}

static void client_operate(struct htw_hand *hand, struct client *client, struct htw_group *group)
{
	struct client_timer *slot = &client->slot[htw_random_below(&hand->random, SLOTS)];

	if (!slot->live) {
		client_arm(hand, client, group, slot);
		return;
	}
	switch (htw_random_below(&hand->random, 4)) {
	case 0:
		client_cancel(client, group, slot);
		break;
	case 1:
		client_query(client, group, slot);
		break;
	default:
		client_rearm(hand, client, group, slot);
	}
}

static void client_receive(struct client *client, const struct htwheel_event *event)
{
	struct client_timer *slot = &client->slot[event->user_data % SLOTS];
	struct htw_fault *fault = client->fault;

	htw_expect(fault, "an event is of a live timer", slot->live, true);
	htw_expect(fault, "name in an event", event->id, slot->id);
	htw_expect(fault, "deadline in an event", event->deadline_ns, slot->deadline_ns);
	if (event->fired_ns < event->deadline_ns)
		htw_blame(fault, "never early", event->fired_ns, event->deadline_ns);
	if (event->fired_ns > live_ns())
		htw_blame(fault, "fired in the future", event->fired_ns, live_ns());
	if (!slot->live)
		return;
	client_forget(client, slot);
	client->books.fired++;
}

/* Returns how many events there were, up to READ_EVENTS. */
static unsigned int client_read(struct client *client)
{
	struct htwheel_event events[READ_EVENTS];
	unsigned int i, nr;

	nr = htw_trig_read(client->timers, events, READ_EVENTS);
	for (i = 0; i < nr; i++)
		client_receive(client, &events[i]);
	return nr;
}

/* Read all there is; if something is still to come, which is soon, somebody has to call. */
static void client_wait(struct client *client)
{
	struct htw_timers *timers = client->timers;
	u64 since_ns;

	while (client_read(client))
		;
	if (!client->live)
		return;
	since_ns = live_ns();
	wait_event_interruptible_timeout(timers->ready.wait, READ_ONCE(timers->ready.readable),
					 nsecs_to_jiffies(LOST_NS));
	if (live_ns() - since_ns > LOST_NS / 2)
		htw_blame(client->fault, "waited for an event (ns)", live_ns() - since_ns, 0);
}

static void client_check(struct client *client)
{
	struct htw_timers *timers = client->timers;

	htw_expect(client->fault, "books balance", htw_trig_balanced(timers), true);
	htw_expect(client->fault, "live timers", timers->pool.live, client->live);
	htw_expect(client->fault, "books are right",
		   memcmp(&timers->books, &client->books, sizeof(client->books)), 0);
}

/* A round with one's own owner, or with the one that all share. */
static void client_round(struct htw_hand *hand)
{
	struct hall *hall = hand->crew->data;
	bool own = !hall->shared && htw_random_below(&hand->random, 2);
	struct client *client = &hall->client[own ? hand->nr : HANDS];
	struct htw_group group;
	u32 i;

	mutex_lock(&client->lock);
	htw_timers_reserve(client->timers, ROUND_OPS);
	htw_group_begin(&group, client->timers->engine);
	for (i = 0; i < ROUND_OPS; i++)
		client_operate(hand, client, &group);
	htw_group_end(&group);
	htw_timers_flush(client->timers);
	client_read(client);
	client_check(client);
	if (own && htw_random_below(&hand->random, 64) == 0)
		client_wait(client);
	mutex_unlock(&client->lock);
}

/* Nobody works any more: all that is armed fires, once, and the books close. */
static void client_close(struct htw_trig *rig, struct client *client)
{
	u64 since_ns = live_ns(), late = 0;
	u32 i;

	while (client->live && live_ns() - since_ns < LOST_NS) {
		client_wait(client);
		client_read(client);
	}
	client_check(client);
	htw_fault_report(rig->test, &rig->fault);
	KUNIT_EXPECT_EQ_MSG(rig->test, client->live, 0, "lost timers");
	KUNIT_EXPECT_EQ(rig->test, client->timers->ready.nr, 0);
	for (i = 0; i < HTWHEEL_LATE_BINS; i++)
		late += client->timers->late[i];
	KUNIT_EXPECT_EQ(rig->test, late, client->books.fired);
}

static void run_hall(struct kunit *test, struct htw_trig *rig, struct hall *hall, unsigned int ms)
{
	struct htw_crew *crew = htw_crew_new(test, client_round, hall);
	u64 rounds, fired = 0;
	u32 i;

	for (i = 0; i < OWNERS; i++) {
		mutex_init(&hall->client[i].lock);
		hall->client[i].timers = htw_trig_own(rig, SLOTS);
		hall->client[i].fault = &rig->fault;
	}
	rounds = htw_crew_run(test, crew, HANDS, ms, htw_timer_seed);
	for (i = 0; i < OWNERS; i++) {
		client_close(rig, &hall->client[i]);
		fired += hall->client[i].books.fired;
	}
	KUNIT_EXPECT_GT(test, fired, 0);
	KUNIT_EXPECT_EQ(test, htw_trig_queued(rig), 0);
	kunit_info(test, "%llu rounds, %llu events\n", rounds, fired);
}

/* Threads with an owner each, and one that they share. */
static void live_own_and_shared(struct kunit *test)
{
	struct hall *hall = kunit_kzalloc(test, sizeof(*hall), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, hall);
	htw_need_cpus(test, 2);
	hall->delay_bits = 21;
	run_hall(test, htw_trig_open_live(test), hall, htw_timer_ms / 2);
}

/* All on one owner: while one CPU's thread withdraws and reads, passes of the others push. */
static void live_shared_by_all(struct kunit *test)
{
	struct htw_engine_config config = htw_trig_config(test);
	struct hall *hall = kunit_kzalloc(test, sizeof(*hall), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, hall);
	htw_need_cpus(test, 2);
	config.clock = &htw_clock_monotonic;
	config.tick_shift = 10;
	config.budget_timers = 5;
	hall->delay_bits = 16;
	hall->shared = true;
	run_hall(test, htw_trig_open(test, &config), hall, htw_timer_ms / 2);
}

/* A reader that sleeps is called, every time, by the pass that has something for it. */
static void live_reader_is_woken(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_live(test);
	struct htw_timers *timers = htw_trig_own(rig, 10);
	struct htwheel_event event;
	u64 since_ns;
	u32 i;

	for (i = 0; i < 50; i++) {
		htw_pin(test, i);
		since_ns = live_ns();
		htw_trig_arm(rig, timers, since_ns + NSEC_PER_MSEC, i);
		if (i % 2)
			htw_pin(test, i + 1);
		wait_event_interruptible_timeout(timers->ready.wait,
						 READ_ONCE(timers->ready.readable),
						 nsecs_to_jiffies(LOST_NS));
		KUNIT_ASSERT_LT_MSG(test, live_ns() - since_ns, LOST_NS / 2, "nobody called");
		KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 1);
		KUNIT_ASSERT_EQ(test, event.user_data, i);
	}
}

/**
 * struct mortal - an owner that does not live long
 * @timers: it
 * @rcu: for the grace period before the memory goes
 */
struct mortal {
	struct htw_timers	timers;
	struct rcu_head		rcu;
};

/**
 * struct graveyard - where threads leave owners for others to destroy
 * @rig: the engine
 * @mortal: the owner that was left last
 */
struct graveyard {
	struct htw_trig		*rig;
	struct mortal		*mortal;
};

#define MORTAL_TIMERS	300

/*
 * An owner whose timers are due now and in the next half millisecond, and whose reader would be
 * told then: by the number of events, or by the alarm.
 */
static struct mortal *beget(struct htw_hand *hand, struct htw_trig *rig)
{
	struct mortal *mortal = kzalloc(sizeof(*mortal), GFP_KERNEL);
	struct htw_timers_config config = {
		.policy.events		= htw_random_below(&hand->random, MORTAL_TIMERS),
		.policy.delay_ns	= htw_random_length(&hand->random, 19),
	};
	struct htw_user *user = htw_user_get(HTW_TRIG_UID);
	u64 id, delay_ns;
	u32 i;

	if (!mortal || !user) {
		kfree(mortal);
		if (user)
			htw_user_put(user);
		return NULL;
	}
	htw_timers_init(&mortal->timers, rig->engine, user, MORTAL_TIMERS);
	htw_timers_setup(&mortal->timers, rig->engine, &config);
	for (i = 0; i < MORTAL_TIMERS; i++) {
		delay_ns = htw_random_length(&hand->random, 20);
		htw_trig_try_arm(&mortal->timers, live_ns() + delay_ns, i, &id);
	}
	return mortal;
}

static void bury(struct mortal *mortal)
{
	if (!mortal)
		return;
	htw_timers_destroy(&mortal->timers);
	htw_user_put(mortal->timers.user);
	kfree_rcu(mortal, rcu);
}

/* Leave an owner, and destroy the one that somebody else has left, while its timers fire. */
static void one_life(struct htw_hand *hand)
{
	struct graveyard *graveyard = hand->crew->data;
	struct mortal *mortal = beget(hand, graveyard->rig);

	if (htw_random_below(&hand->random, 2))
		usleep_range(10, 300);
	bury(xchg(&graveyard->mortal, mortal));
}

static void live_b34_destroyed_by_others(struct kunit *test)
{
	struct graveyard graveyard = {};
	struct htw_crew *crew = htw_crew_new(test, one_life, &graveyard);
	struct htw_engine_stats stats;
	struct htw_trig *rig;
	u64 rounds;

	htw_need_cpus(test, 2);
	rig = htw_trig_open_live(test);
	graveyard.rig = rig;
	rounds = htw_crew_run(test, crew, HANDS, htw_timer_ms / 2, htw_timer_seed);
	bury(graveyard.mortal);
	htw_engine_read_stats(rig->engine, &stats);
	KUNIT_EXPECT_EQ(test, stats.queued, 0);
	KUNIT_EXPECT_EQ(test, rig->engine->reserved, 0);
	KUNIT_EXPECT_GT(test, stats.counters.work.due, 0);
	kunit_info(test, "%llu owners, %llu of their timers fired\n", rounds,
		   stats.counters.work.due);
}

const struct htw_case htw_timer_cases_live[] = {
	HTW_CASE(live_own_and_shared),
	HTW_CASE(live_shared_by_all),
	HTW_CASE(live_reader_is_woken),
	HTW_CASE(live_b34_destroyed_by_others),
	{}
};
