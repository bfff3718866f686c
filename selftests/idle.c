// SPDX-License-Identifier: GPL-2.0
/*
 * An engine without work does nothing, and finds back to the present when there is work again.
 *
 * These tests need the engine for themselves: no other program may have timers.
 */
#include "harness.h"
#include "crew.h"
#include "ledger.h"
#include "turns.h"

/*
 * After an idle time, a clock that was not brought forward makes short timers late by about that
 * time. A machine that stands still for so long may do so once, but not each time.
 */
#define LATE_NS		(2 * NS_PER_S)
#define IDLE_NS		(LATE_NS + NS_PER_S / 4)

FIXTURE(idle) {
	struct htwheel_info info;
	int fd;
};

FIXTURE_SETUP(idle)
{
	struct htwheel_stats stats;

	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	if (stats.queued)
		SKIP(return, "another program has timers");
}

FIXTURE_TEARDOWN(idle)
{
	close(self->fd);
}

static bool engine_is_at_rest(const struct htwheel_stats *then, const struct htwheel_stats *now)
{
	return now->passes == then->passes && now->wakeups == then->wakeups &&
	       now->reprogrammed == then->reprogrammed && now->moves == then->moves &&
	       now->slots_visited == then->slots_visited && !now->backlog_cpus && !now->queued;
}

/* A first look after the last wake-up, which may be under way; from then on nothing may move. */
static bool stays_at_rest(int fd, uint64_t time_ns)
{
	struct htwheel_stats then, now;

	/* Neither a pass nor another one that it asked for is cut off by a CPU that is late. */
	visit_cpus();
	sleep_ns(200 * NS_PER_MS);
	visit_cpus();
	if (device_stats(fd, &then))
		return false;
	sleep_ns(time_ns);
	return !device_stats(fd, &now) && engine_is_at_rest(&then, &now);
}

TEST_F(idle, B18_no_timer_no_work)
{
	EXPECT_TRUE(stays_at_rest(self->fd, NS_PER_S / 4));
}

TEST_F(idle, B18_no_work_after_the_last_cancel)
{
	uint64_t ids[64];
	unsigned int cpu;
	size_t i;

	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		ASSERT_EQ(0, pin_to(cpu));
		for (i = 0; i < ARRAY_SIZE(ids); i++)
			ASSERT_EQ(0, arm_in(self->fd, NS_PER_S / 2 + (1ULL << i / 3), i, &ids[i]));
		for (i = 0; i < ARRAY_SIZE(ids); i++)
			ASSERT_LE(0, cancel(self->fd, ids[i], NULL));
	}
	/* Longer than the deadlines were away: a ghost of one would show. */
	EXPECT_TRUE(stays_at_rest(self->fd, NS_PER_S));
}

TEST_F(idle, B18_no_work_after_the_last_event)
{
	struct ledger ledger;

	ASSERT_EQ(0, ledger_init(&ledger, 1000));
	ASSERT_EQ(0, ledger_arm(&ledger, self->fd, 0, ledger.nr, 0, 20 * NS_PER_MS));
	ASSERT_EQ(0, ledger_drain(&ledger, self->fd, 0));
	EXPECT_LEDGER_RIGHT(&ledger);
	EXPECT_TRUE(stays_at_rest(self->fd, NS_PER_S / 2));
}

/* Unread events cost nothing, either. */
TEST_F(idle, no_work_for_unread_events)
{
	unsigned int i;

	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, arm_in(self->fd, i * NS_PER_US, i, NULL));
	ASSERT_TRUE(wait_readable(self->fd));
	EXPECT_TRUE(stays_at_rest(self->fd, NS_PER_S / 2));
	EXPECT_TRUE(is_readable(self->fd));
}

/* Nor do names that wait for their next deadline, and periodic timers that nobody reads. */
TEST_F(idle, B70_no_work_for_kept_and_periodic_timers)
{
	struct htwheel_event events[100];
	struct htwheel_stats stats;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(events); i++)
		ASSERT_EQ(0, arm_kept(self->fd, 0, i, NULL));
	ASSERT_EQ(100, read_events(self->fd, events, ARRAY_SIZE(events)));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, arm_every(self->fd, i % 4, now_ns() + i * NS_PER_US, 1, i, NULL));
	ASSERT_TRUE(wait_expired(self->fd, 100));
	EXPECT_TRUE(stays_at_rest(self->fd, NS_PER_S / 2));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(100, stats.idle);
	EXPECT_EQ(100, stats.pending);
}

/* Far timers are not worth a wake-up a tick: each costs at most one move for each level, in all. */
TEST_F(idle, B75_far_timers_cost_no_passes)
{
	struct htwheel_stats then, now;
	unsigned int i;

	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, arm_in(self->fd, HOUR_NS + i * 60 * NS_PER_S, i, NULL));
	sleep_ns(100 * NS_PER_MS);
	ASSERT_EQ(0, device_stats(self->fd, &then));
	sleep_ns(NS_PER_S / 2);
	ASSERT_EQ(0, device_stats(self->fd, &now));
	/* A border of a level's slot may be passed in this time; that is a pass, not one a tick. */
	EXPECT_GE(16 * nr_cpus(), now.passes - then.passes);
}

/*
 * Let nothing happen for long; then timers of one tick, through each way of arming: on a CPU that
 * had no timer at all, and on one that had a far one. Returns a set of the timers that came, or a
 * negative errno; and how late the latest of them fired.
 */
static int wake_up_from_idle(int fd, uint64_t tick_ns, uint64_t *late_ns)
{
	struct htwheel_op ops[3] = { { .opcode = 0 } };
	struct htwheel_event event;
	uint64_t id, armed_ns;
	unsigned int i;
	int seen = 0;

	/* The far one, which another CPU will bring forward. */
	if (pin_to(1) || arm_in(fd, HOUR_NS, 0, &id) || pin_to(0))
		return -EINVAL;
	sleep_ns(IDLE_NS);

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = (struct htwheel_op){
			.opcode = i < 2 ? HTWHEEL_OP_ARM : HTWHEEL_OP_REARM,
			.id = i < 2 ? 0 : id,
			.time_ns = tick_ns,
			.user_data = 1 + i,
		};
	if (submit_all(fd, ops, ARRAY_SIZE(ops)) || pin_to(1) || arm_in(fd, 1, 3, NULL))
		return -EINVAL;
	armed_ns = now_ns() + tick_ns;
	*late_ns = 0;
	for (i = 0; i < 4; i++) {
		if (next_event(fd, &event) || event.fired_ns < event.deadline_ns)
			return -ETIME;
		seen |= 1 << event.user_data;
		if (event.fired_ns > armed_ns + *late_ns)
			*late_ns = event.fired_ns - armed_ns;
	}
	return seen;
}

TEST_F(idle, B02_B75_short_timers_after_a_long_idle_time)
{
	struct htwheel_stats then, now;
	unsigned int attempt;
	uint64_t late_ns;

	for (attempt = 0; attempt < 5; attempt++) {
		ASSERT_EQ(0, device_stats(self->fd, &then));
		ASSERT_EQ(0xf, wake_up_from_idle(self->fd, self->info.tick_ns, &late_ns));
		ASSERT_EQ(0, device_stats(self->fd, &now));
		/* Catching up must not mean to visit the ticks in which nothing happened. */
		EXPECT_GE(1000, now.slots_visited - then.slots_visited);
		EXPECT_GE(1000, now.passes - then.passes);
		if (late_ns < LATE_NS)
			break;
	}
	EXPECT_GT(LATE_NS, late_ns);
}

TEST_HARNESS_MAIN
