// SPDX-License-Identifier: GPL-2.0
/*
 * REARM: a new deadline, earlier or later, before and after the timer fired, from any CPU.
 */
#include "harness.h"
#include "crew.h"
#include "ledger.h"

FIXTURE(rearm) {
	struct htwheel_info info;
	int fd;
};

FIXTURE_SETUP(rearm)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
}

FIXTURE_TEARDOWN(rearm)
{
	close(self->fd);
}

/* The books after one timer was armed, re-armed so many times, and read. */
static bool books_are(int fd, uint64_t rearms, uint64_t fired, uint64_t pending)
{
	struct htwheel_stats stats;

	return !device_stats(fd, &stats) && stats.armed == 1 + rearms && stats.replaced == rearms &&
	       stats.fired == fired && stats.pending == pending && !stats.cancelled;
}

TEST_F(rearm, later)
{
	uint64_t id, deadline_ns;
	struct htwheel_event event;

	ASSERT_EQ(0, arm_in(self->fd, 50 * NS_PER_MS, 0, &id));
	deadline_ns = now_ns() + 80 * NS_PER_MS;
	ASSERT_LE(0, rearm_at(self->fd, id, deadline_ns));
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_EQ(deadline_ns, event.deadline_ns);
	EXPECT_LE(deadline_ns, event.fired_ns);
	EXPECT_LE(deadline_ns, now_ns());
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
	EXPECT_TRUE(books_are(self->fd, 1, 1, 0));
}

TEST_F(rearm, earlier)
{
	uint64_t id, deadline_ns;
	struct htwheel_event event;

	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &id));
	deadline_ns = now_ns() + 5 * NS_PER_MS;
	ASSERT_EQ(0, rearm_at(self->fd, id, deadline_ns));
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_EQ(deadline_ns, event.deadline_ns);
	EXPECT_LE(deadline_ns, event.fired_ns);
	EXPECT_LE(deadline_ns, now_ns());
	EXPECT_TRUE(books_are(self->fd, 1, 1, 0));
}

TEST_F(rearm, relative)
{
	const uint64_t delay_ns = 5 * NS_PER_MS;
	uint64_t id, before_ns, after_ns;
	struct htwheel_event event;

	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &id));
	before_ns = now_ns();
	ASSERT_EQ(0, rearm_in(self->fd, id, delay_ns));
	after_ns = now_ns();
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_LE(before_ns + delay_ns, event.deadline_ns);
	EXPECT_GE(after_ns + delay_ns, event.deadline_ns);
}

TEST_F(rearm, B17_to_the_past_can_be_read_at_once)
{
	const uint64_t now = now_ns();
	const uint64_t deadlines[] = { 0, 1, now - now / 8, now };
	struct htwheel_event event;
	uint64_t id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(deadlines); i++) {
		ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, i, &id));
		ASSERT_EQ(0, rearm_at(self->fd, id, deadlines[i]));
		ASSERT_TRUE(is_readable(self->fd));
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		EXPECT_EQ(i, event.user_data);
		EXPECT_EQ(deadlines[i], event.deadline_ns);
	}
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, i, &id));
	ASSERT_EQ(0, rearm_in(self->fd, id, 0));
	EXPECT_EQ(1, read_events(self->fd, &event, 1));
}

TEST_F(rearm, name_and_user_data_stay)
{
	const uint64_t user_data = 0x123456789abcdefULL;
	struct htwheel_event event;
	uint64_t id;

	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, user_data, &id));
	ASSERT_EQ(0, rearm_in(self->fd, id, 2 * HOUR_NS));
	ASSERT_EQ(0, query(self->fd, id, NULL));
	ASSERT_EQ(0, rearm_in(self->fd, id, NS_PER_MS));
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(user_data, event.user_data);
}

TEST_F(rearm, B41_unread_event_is_withdrawn_and_comes_once)
{
	struct htwheel_event event;
	uint64_t id, deadline_ns;

	ASSERT_EQ(0, arm_in(self->fd, NS_PER_MS, 5, &id));
	ASSERT_TRUE(wait_readable(self->fd));
	deadline_ns = now_ns() + 300 * NS_PER_MS;
	ASSERT_EQ(HTWHEEL_RES_FIRED, rearm_at(self->fd, id, deadline_ns));
	EXPECT_TRUE(query(self->fd, id, NULL) == 0 || now_ns() >= deadline_ns);
	EXPECT_FALSE(is_readable(self->fd) && now_ns() < deadline_ns);

	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_EQ(deadline_ns, event.deadline_ns);
	EXPECT_LE(deadline_ns, now_ns());
	EXPECT_EQ(1, event.count);
	EXPECT_EQ(5, event.user_data);
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
	EXPECT_TRUE(books_are(self->fd, 1, 1, 0));
}

TEST_F(rearm, B41_unread_event_is_withdrawn_from_poll)
{
	struct htwheel_event event;
	uint64_t id;

	ASSERT_EQ(0, arm_in(self->fd, 0, 0, &id));
	ASSERT_TRUE(is_readable(self->fd));
	ASSERT_EQ(HTWHEEL_RES_FIRED, rearm_in(self->fd, id, HOUR_NS));
	EXPECT_FALSE(is_readable(self->fd));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
	EXPECT_TRUE(books_are(self->fd, 1, 0, 1));
	ASSERT_EQ(0, rearm_in(self->fd, id, 0));
	EXPECT_TRUE(is_readable(self->fd));
	ASSERT_EQ(HTWHEEL_RES_FIRED, rearm_in(self->fd, id, 0));
	EXPECT_TRUE(is_readable(self->fd));
	EXPECT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_FALSE(is_readable(self->fd));
	EXPECT_TRUE(books_are(self->fd, 3, 1, 0));
}

TEST_F(rearm, stale_name_is_ENOENT_and_arms_nothing)
{
	struct htwheel_event event;
	struct htwheel_stats stats;
	uint64_t id;

	ASSERT_EQ(0, arm_in(self->fd, 0, 0, &id));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(-ENOENT, rearm_in(self->fd, id, 0));
	EXPECT_EQ(-ENOENT, rearm_in(self->fd, id, HOUR_NS));
	EXPECT_FALSE(is_readable(self->fd));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &id));
	ASSERT_EQ(0, cancel(self->fd, id, NULL));
	EXPECT_EQ(-ENOENT, rearm_in(self->fd, id, 0));
	EXPECT_FALSE(is_readable(self->fd));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(2, stats.armed);
	EXPECT_EQ(0, stats.replaced);
	EXPECT_EQ(0, stats.pending);
}

TEST_F(rearm, B20_earlier_than_the_engine_sleeps)
{
	const uint64_t firsts[] = { 64, 65, 200, 4095, 4096, 262144 };
	uint64_t id, deadline_ns;
	struct htwheel_event event;
	unsigned int target;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(firsts); i++) {
		for (target = 1; target < 64; target += 20) {
			/* One that is far keeps the engine's sleep long. */
			ASSERT_EQ(0, arm_in(self->fd, HOUR_NS + firsts[i] * self->info.tick_ns, 0,
					    &id));
			sleep_ns(3 * self->info.tick_ns);
			deadline_ns = now_ns() + target * self->info.tick_ns;
			ASSERT_EQ(0, rearm_at(self->fd, id, deadline_ns));
			ASSERT_EQ(0, next_event(self->fd, &event));
			EXPECT_EQ(deadline_ns, event.deadline_ns);
			EXPECT_LE(deadline_ns, event.fired_ns);
		}
	}
}

TEST_F(rearm, B21_new_timer_before_a_sleeping_one)
{
	struct htwheel_event event;

	ASSERT_EQ(0, arm_in(self->fd, 10000 * NS_PER_S, 0, NULL));
	sleep_ns(20 * NS_PER_MS);
	ASSERT_EQ(0, arm_in(self->fd, 60 * NS_PER_MS, 1, NULL));
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_EQ(1, event.user_data);
}

/* CPUs that are late may bring them in another order. */
TEST_F(rearm, B21_later_timer_does_not_hide_the_next)
{
	unsigned int i, seen[6] = { 0 };
	struct htwheel_event event;

	for (i = 1; i <= 5; i++)
		ASSERT_EQ(0, arm_in(self->fd, i * 50 * NS_PER_MS, i, NULL));
	for (i = 1; i <= 5; i++) {
		ASSERT_EQ(0, next_event(self->fd, &event));
		ASSERT_GE(5, event.user_data);
		EXPECT_EQ(1, ++seen[event.user_data]);
		ASSERT_EQ(0, arm_in(self->fd, 1000 * NS_PER_S, 100, NULL));
	}
}

TEST_F(rearm, B24_first_timer_moved_later_leaves_no_ghost)
{
	uint64_t id, deadline_ns, begin_ns = now_ns();
	struct htwheel_event event;

	ASSERT_EQ(0, arm_in(self->fd, 100 * NS_PER_MS, 0, &id));
	deadline_ns = now_ns() + 400 * NS_PER_MS;
	ASSERT_LE(0, rearm_at(self->fd, id, deadline_ns));
	EXPECT_FALSE(poll_for(self->fd, 200 * NS_PER_MS) && now_ns() < deadline_ns);
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_EQ(deadline_ns, event.deadline_ns);
	EXPECT_LE(begin_ns + 400 * NS_PER_MS, now_ns());
	EXPECT_EQ(0, poll_for(self->fd, 20 * NS_PER_MS));
	EXPECT_TRUE(books_are(self->fd, 1, 1, 0));
}

TEST_F(rearm, B85_many_times_is_still_one_timer)
{
	const uint64_t base = queued_timers();
	struct htwheel_op ops[500];
	struct htwheel_stats stats;
	struct htwheel_event event;
	uint64_t id;
	size_t i;

	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &id));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = (struct htwheel_op){
			.opcode = HTWHEEL_OP_REARM,
			.id = id,
			.time_ns = HOUR_NS + i * 37 * NS_PER_S,
		};
	ASSERT_EQ(0, submit_all(self->fd, ops, ARRAY_SIZE(ops)));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ASSERT_EQ(0, ops[i].result);
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(1, stats.pending);
	EXPECT_EQ(1, stats.peak);
	EXPECT_EQ(base + 1, stats.queued);
	ASSERT_EQ(0, rearm_in(self->fd, id, NS_PER_MS));
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_EQ(0, poll_for(self->fd, 20 * NS_PER_MS));
	EXPECT_TRUE(books_are(self->fd, ARRAY_SIZE(ops) + 1, 1, 0));
	EXPECT_EQ(base, queued_timers());
}

/* Postponed again and again, as a heartbeat does, it never fires; left alone, it does. */
TEST_F(rearm, heartbeat_keeps_it_from_firing)
{
	const uint64_t delay_ns = patience_ns();
	uint64_t id, end_ns = now_ns() + 300 * NS_PER_MS;
	struct htwheel_event event;

	ASSERT_EQ(0, arm_in(self->fd, delay_ns, 0, &id));
	while (now_ns() < end_ns) {
		ASSERT_EQ(0, rearm_in(self->fd, id, delay_ns));
		ASSERT_FALSE(is_readable(self->fd));
	}
	ASSERT_EQ(0, rearm_in(self->fd, id, NS_PER_MS));
	ASSERT_EQ(0, next_event(self->fd, &event));
}

/* Armed on one CPU, moved from another, both ways in time, until it fires. */
TEST_F(rearm, from_another_cpu)
{
	unsigned int round, rounds = scaled(30);
	uint64_t id, deadline_ns;
	struct htwheel_event event;

	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, pin_to(round));
		ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, round, &id));
		ASSERT_EQ(0, pin_to(round + 1));
		ASSERT_EQ(0, rearm_in(self->fd, id, 2 * HOUR_NS));
		ASSERT_EQ(0, pin_to(round + 2));
		ASSERT_EQ(0, rearm_in(self->fd, id, HOUR_NS / 2));
		ASSERT_EQ(0, pin_to(round + 3));
		deadline_ns = now_ns() + (round % 5) * NS_PER_MS;
		ASSERT_EQ(0, rearm_at(self->fd, id, deadline_ns));
		ASSERT_EQ(0, next_event(self->fd, &event));
		ASSERT_EQ(round, event.user_data);
		ASSERT_EQ(deadline_ns, event.deadline_ns);
		ASSERT_LE(deadline_ns, event.fired_ns);
	}
}

struct rearm_race {
	int		fd;
	uint64_t	*id;
	uint64_t	accepted;
	uint64_t	wrong;
};

/* Between an event and the next arm there is no such timer; a turn is over when one was found. */
static void rearm_one_id(void *arg)
{
	struct rearm_race *race = arg;
	int ret;

	do {
		ret = rearm_in(race->fd, __atomic_load_n(race->id, __ATOMIC_RELAXED), 1);
	} while (ret == -ENOENT);
	race->accepted += ret >= 0;
	race->wrong += ret < 0;
}

/* Twenty threads postpone one timer by a nanosecond; whoever reads it arms the next. */
TEST_F(rearm, B36_one_timer_from_many_threads)
{
	uint64_t end_ns, id, accepted = 0, wrong = 0, read = 1;
	struct crew crew = { .nr = 0 };
	struct rearm_race races[20];
	struct htwheel_event events[4];
	struct htwheel_stats stats;
	size_t i;
	int nr;

	ASSERT_EQ(0, arm_in(self->fd, 1, 0, &id));
	for (i = 0; i < ARRAY_SIZE(races); i++) {
		races[i] = (struct rearm_race){ .fd = self->fd, .id = &id };
		ASSERT_EQ(0, crew_add(&crew, i, rearm_one_id, &races[i]));
	}
	end_ns = now_ns() + scaled(NS_PER_S / 2);
	while (now_ns() < end_ns || !crew_has_turned(&crew)) {
		ASSERT_EQ(0, device_stats(self->fd, &stats));
		ASSERT_GE(1, stats.pending);
		ASSERT_EQ(stats.armed, stats.fired + stats.replaced + stats.pending);
		nr = read_events(self->fd, events, ARRAY_SIZE(events));
		if (nr == -EAGAIN)
			continue;
		ASSERT_EQ(1, nr);
		ASSERT_EQ(id, events[0].id);
		ASSERT_EQ(read, events[0].user_data + 1);
		ASSERT_EQ(0, arm_in(self->fd, 1, read++, &id));
	}
	crew_end(&crew);
	for (i = 0; i < ARRAY_SIZE(races); i++) {
		accepted += races[i].accepted;
		wrong += races[i].wrong;
	}
	EXPECT_EQ(0, wrong);
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(accepted, stats.replaced);
	EXPECT_EQ(read + accepted, stats.armed);
	EXPECT_EQ(1, stats.pending);
}

TEST_HARNESS_MAIN
