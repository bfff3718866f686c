// SPDX-License-Identifier: GPL-2.0
/*
 * The event ring: its head that nobody may believe, delivery in a pass, and what the owner finds
 * when he comes back.
 */
#include "timer_cases.h"

#define PERIOD_NS	(10 * HTW_TRIG_TICK_NS)

static void own_setup(struct htw_trig *rig, struct htw_timers *timers, u32 entries,
		      struct htw_wake_policy policy)
{
	struct htw_timers_config config = {
		.policy = policy, .ring = htw_ring_create(entries, 0) };

	KUNIT_ASSERT_NOT_NULL(rig->test, config.ring);
	KUNIT_ASSERT_EQ(rig->test, htw_timers_setup(timers, rig->engine, &config), 0);
}

/* An owner with a ring. */
static struct htw_timers *own_ring(struct htw_trig *rig, u32 entries)
{
	struct htw_timers *timers = htw_trig_own(rig, 1000);

	own_setup(rig, timers, entries, (struct htw_wake_policy){});
	return timers;
}

static void set_head(struct htw_ring *ring, u32 head)
{
	((struct htwheel_ring_head *)ring->head_area.memory)->head = head;
}

/* Take the next event, as userspace does; false if there is none. */
static bool take(struct htw_timers *timers, struct htwheel_event *event)
{
	struct htw_ring *ring = timers->ready.ring;
	const char *places = (const char *)ring->shared + ring->shared->events_offset;
	u32 head = ring->head->head;

	/* Pairs with htw_ring_put(). */
	if (head == smp_load_acquire(&ring->shared->tail))
		return false;
	memcpy(event, places + (head & (ring->entries - 1)) * ring->shared->stride, sizeof(*event));
	set_head(ring, head + 1);
	return true;
}

static void expect_event(struct htw_trig *rig, struct htw_timers *timers, u64 user_data,
			 u64 deadline_ns, u64 count)
{
	struct htwheel_event event = {};

	KUNIT_EXPECT_TRUE(rig->test, take(timers, &event));
	KUNIT_EXPECT_EQ(rig->test, event.user_data, user_data);
	KUNIT_EXPECT_EQ(rig->test, event.deadline_ns, deadline_ns);
	KUNIT_EXPECT_EQ(rig->test, event.count, count);
	KUNIT_EXPECT_LE(rig->test, event.deadline_ns, event.fired_ns);
}

static void expect_empty(struct htw_trig *rig, struct htw_timers *timers)
{
	struct htwheel_event event;

	KUNIT_EXPECT_FALSE(rig->test, take(timers, &event));
}

static bool is_waiting(const struct htw_timers *timers)
{
	return timers->ready.ring->shared->flags & HTWHEEL_RING_WAITING;
}

/* Every head there is, to a ring of any fill and any position: no answer is beyond its bounds. */
static void b78_any_head(struct kunit *test)
{
	static const u32 tails[] = { 0, 1, 3, 4, 1000, U32_MAX - 1, U32_MAX };
	struct htw_ring *ring = htw_ring_create(4, 0);
	struct htwheel_event event = { .id = 1 };
	unsigned int i;
	s32 behind;
	u32 used;

	KUNIT_ASSERT_NOT_NULL(test, ring);
	for (i = 0; i < ARRAY_SIZE(tails); i++) {
		for (behind = -9; behind <= 9; behind++) {
			ring->tail = tails[i];
			set_head(ring, tails[i] - behind);
			used = behind < 0 || behind > 4 ? 4 : behind;
			KUNIT_EXPECT_EQ(test, htw_ring_used(ring), used);
			KUNIT_EXPECT_EQ(test, htw_ring_readable(ring), behind > 0 && behind <= 4);
			KUNIT_EXPECT_EQ(test, htw_ring_put(ring, &event), used < 4);
			KUNIT_EXPECT_EQ(test, ring->tail, tails[i] + (used < 4));
		}
		set_head(ring, tails[i] - BIT(31));
		KUNIT_EXPECT_EQ(test, htw_ring_used(ring), 4);
		KUNIT_EXPECT_FALSE(test, htw_ring_readable(ring));
	}
	htw_ring_destroy(ring);
}

/* Publication is delivery: the name is stale, also before the owner has caught up. */
static void published_is_delivered(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_ring(rig, 4);
	u64 id[3], left_ns;
	unsigned int i;

	for (i = 0; i < 3; i++)
		id[i] = htw_trig_arm(rig, timers, htw_trig_after(10 + 2 * i), i);
	htw_trig_run(rig, htw_trig_after(30));
	KUNIT_EXPECT_EQ(test, htw_trig_find(rig, timers, id[0])->state, HTW_DELIVERED);
	KUNIT_EXPECT_EQ(test, htw_trig_query(timers, id[0], &left_ns), -ENOENT);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id[0], &left_ns), -ENOENT);
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id[1], htw_trig_after(99)), -ENOENT);
	KUNIT_EXPECT_EQ(test, timers->pool.live, 1);
	htw_delivery_catch_up(timers);
	KUNIT_EXPECT_EQ(test, timers->pool.live, 0);
	KUNIT_EXPECT_EQ(test, timers->books.fired, 3);
	KUNIT_EXPECT_EQ(test, timers->books.cancelled, 0);
	for (i = 0; i < 3; i++)
		expect_event(rig, timers, i, htw_trig_after(10 + 2 * i), 1);
	expect_empty(rig, timers);
	htw_trig_judge(rig);
	htw_trig_close(rig);
}

/* One whose deadline has passed goes the same way, without a pass. */
static void armed_in_the_past(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_ring(rig, 2);
	unsigned int i;

	for (i = 0; i < 5; i++)
		htw_trig_arm(rig, timers, HTW_TRIG_START_NS - i, i);
	KUNIT_EXPECT_TRUE(test, timers->ready.readable);
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 3);
	expect_event(rig, timers, 0, HTW_TRIG_START_NS, 1);
	expect_event(rig, timers, 1, HTW_TRIG_START_NS - 1, 1);
	htw_trig_judge(rig);
	htw_trig_close(rig);
}

/* A kept timer is idle, and can be armed, queried and cancelled as such, noticed or not. */
static void kept_is_idle(struct kunit *test)
{
	struct htw_timer_spec spec = { .deadline_ns = htw_trig_after(10), .keep = true };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_ring(rig, 4);
	u64 id = htw_trig_make(rig, timers, &spec), left_ns;

	htw_trig_run(rig, htw_trig_after(20));
	KUNIT_EXPECT_EQ(test, htw_trig_query(timers, id, &left_ns), -ENOENT);
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers, id, htw_trig_after(40)), 0);
	htw_trig_run(rig, htw_trig_after(60));
	htw_delivery_catch_up(timers);
	KUNIT_EXPECT_EQ(test, timers->idle, 1);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), 0);
	expect_event(rig, timers, 0, htw_trig_after(10), 1);
	expect_event(rig, timers, 0, htw_trig_after(40), 1);
	KUNIT_EXPECT_EQ(test, timers->books.fired, 2);
	htw_trig_judge(rig);
	htw_trig_close(rig);
}

/* Periodic ones go on by themselves, and their missed periods are what the policy makes of them. */
static void periodic_goes_on(struct kunit *test)
{
	struct htw_timer_spec spec = { .period_ns = PERIOD_NS };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers;
	unsigned int begin, i;

	for (spec.policy = 0; spec.policy <= HTWHEEL_POLICY_DELAY; spec.policy++) {
		begin = 100 * spec.policy;
		timers = own_ring(rig, 8);
		htw_trig_run(rig, htw_trig_after(begin));
		spec.deadline_ns = htw_trig_after(begin + 10);
		htw_trig_make(rig, timers, &spec);
		/* Of a burst, an event a tick. */
		for (i = 0; i < 4; i++)
			htw_trig_run(rig, htw_trig_after(begin + 35 + i));
		expect_event(rig, timers, 0, htw_trig_after(begin + 10),
			     spec.policy == HTWHEEL_POLICY_COUNT ? 3 : 1);
		for (i = 2; spec.policy == HTWHEEL_POLICY_BURST && i <= 3; i++)
			expect_event(rig, timers, 0, htw_trig_after(begin + 10 * i), 1);
		expect_empty(rig, timers);
		htw_trig_run(rig, htw_trig_after(begin + 49));
		expect_event(rig, timers, 0, htw_trig_after(begin + (spec.policy ==
			     HTWHEEL_POLICY_DELAY ? 45 : 40)), 1);
		expect_empty(rig, timers);
		htw_trig_judge(rig);
		htw_trig_disown(rig, timers);
	}
	htw_trig_close(rig);
}

/* What finds no room waits outside, in order, and nothing overtakes it. */
static void b80_overflow(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_ring(rig, 2);
	struct htwheel_event events[4];
	unsigned int i;

	for (i = 1; i <= 5; i++)
		htw_trig_arm(rig, timers, htw_trig_after(i), i);
	htw_trig_run(rig, htw_trig_after(20));
	KUNIT_EXPECT_TRUE(test, is_waiting(timers));
	KUNIT_EXPECT_EQ(test, timers->ready.ring->shared->waited, 3);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, events, 4), 0);
	expect_event(rig, timers, 1, htw_trig_after(1), 1);
	/* There is room, but others wait. */
	htw_trig_arm(rig, timers, htw_trig_after(21), 6);
	htw_trig_run(rig, htw_trig_after(40));
	expect_event(rig, timers, 2, htw_trig_after(2), 1);
	expect_empty(rig, timers);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, events, 4), 4);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, events[i].user_data, i + 3);
	KUNIT_EXPECT_FALSE(test, is_waiting(timers));
	htw_trig_arm(rig, timers, htw_trig_after(41), 7);
	htw_trig_run(rig, htw_trig_after(60));
	expect_event(rig, timers, 7, htw_trig_after(41), 1);
	KUNIT_EXPECT_EQ(test, timers->ready.ring->shared->waited, 4);
	htw_delivery_catch_up(timers);
	KUNIT_EXPECT_EQ(test, timers->books.fired, 7);
	htw_trig_judge(rig);
	htw_trig_close(rig);
}

/* With a head that is nonsense all wait outside, and can be read. */
static void b78_nonsense_loses_nothing(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_ring(rig, 4);
	struct htwheel_event events[4];
	unsigned int i;

	set_head(timers->ready.ring, 1);
	for (i = 0; i < 3; i++)
		htw_trig_arm(rig, timers, htw_trig_after(10), i);
	htw_trig_run(rig, htw_trig_after(30));
	KUNIT_EXPECT_EQ(test, timers->ready.ring->tail, 0);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, events, 4), 3);
	set_head(timers->ready.ring, 0);
	htw_trig_arm(rig, timers, htw_trig_after(31), 9);
	htw_trig_run(rig, htw_trig_after(50));
	expect_event(rig, timers, 9, htw_trig_after(31), 1);
	htw_delivery_catch_up(timers);
	KUNIT_EXPECT_EQ(test, timers->books.fired, 4);
	htw_trig_judge(rig);
	htw_trig_close(rig);
}

/* Sweeps meet the living only. */
static void sweeps_meet_the_living(struct kunit *test)
{
	struct htwheel_mass mass = { .opcode = HTWHEEL_MASS_CANCEL };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = own_ring(rig, 8);
	struct htwheel_dump_entry entries[HTW_DUMP_STEP];
	u64 cursor = 0, id;

	htw_trig_arm(rig, timers, htw_trig_after(10), 0);
	id = htw_trig_arm(rig, timers, htw_trig_after(1000), 1);
	htw_trig_arm(rig, timers, htw_trig_after(10), 2);
	htw_trig_run(rig, htw_trig_after(30));
	KUNIT_EXPECT_EQ(test, htw_sweep_dump(timers, &cursor, entries, HTW_DUMP_STEP), 1);
	htw_timers_flush(timers);
	KUNIT_EXPECT_EQ(test, entries[0].id, id);
	KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &mass), 1);
	KUNIT_EXPECT_EQ(test, timers->pool.live, 0);
	htw_delivery_catch_up(timers);
	KUNIT_EXPECT_EQ(test, timers->books.fired, 2);
	htw_trig_judge(rig);
	htw_trig_close(rig);
}

/* The policy counts what is in the ring, and what has been taken from it no more. */
static void policy_counts_the_ring(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 100);
	struct htw_ready *ready = &timers->ready;
	struct htwheel_event event;
	unsigned int i;

	own_setup(rig, timers, 2, (struct htw_wake_policy){ .events = 3, .delay_ns = PERIOD_NS });
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_FALSE(test, ready->readable);
		htw_trig_arm(rig, timers, HTW_TRIG_START_NS, i);
	}
	/* Two in the ring, one outside. */
	KUNIT_EXPECT_TRUE(test, ready->readable);
	take(timers, &event);
	take(timers, &event);
	htw_ready_refresh(ready);
	KUNIT_EXPECT_TRUE(test, ready->readable);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_FALSE(test, ready->readable);
	htw_trig_arm(rig, timers, HTW_TRIG_START_NS, 3);
	htw_trig_arm(rig, timers, HTW_TRIG_START_NS, 4);
	take(timers, &event);
	htw_trig_arm(rig, timers, HTW_TRIG_START_NS, 5);
	KUNIT_EXPECT_FALSE(test, ready->readable);
	/* The older of the two has waited long enough. */
	htw_manual.now_ns += PERIOD_NS;
	local_bh_disable();
	htw_ready_look(ready);
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, ready->readable);
	KUNIT_EXPECT_EQ(test, ready->alerts, 2);
	take(timers, &event);
	take(timers, &event);
	htw_ready_refresh(ready);
	KUNIT_EXPECT_FALSE(test, ready->readable);
	htw_trig_close(rig);
}

/* In one pass, owners with rings and without. */
static void owners_in_one_pass(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *owner[3];
	struct htwheel_event events[16];
	unsigned int i;

	for (i = 0; i < 3; i++)
		owner[i] = i == 1 ? htw_trig_own(rig, 100) : own_ring(rig, 16);
	for (i = 0; i < 30; i++)
		htw_trig_arm(rig, owner[i % 3], htw_trig_after(10), i);
	htw_trig_run(rig, htw_trig_after(30));
	KUNIT_EXPECT_EQ(test, htw_trig_read(owner[1], events, 16), 10);
	for (i = 0; i < 3; i += 2) {
		KUNIT_EXPECT_EQ(test, htw_ring_used(owner[i]->ready.ring), 10);
		htw_delivery_catch_up(owner[i]);
		KUNIT_EXPECT_EQ(test, owner[i]->books.fired, 10);
	}
	htw_trig_judge(rig);
	htw_trig_close(rig);
}

const struct htw_case htw_timer_cases_ring[] = {
	HTW_CASE(b78_any_head),
	HTW_CASE(published_is_delivered),
	HTW_CASE(armed_in_the_past),
	HTW_CASE(kept_is_idle),
	HTW_CASE_EXACT(periodic_goes_on),
	HTW_CASE_EXACT(b80_overflow),
	HTW_CASE(b78_nonsense_loses_nothing),
	HTW_CASE(sweeps_meet_the_living),
	HTW_CASE(policy_counts_the_ring),
	HTW_CASE(owners_in_one_pass),
	{}
};
