// SPDX-License-Identifier: GPL-2.0
/*
 * The wake-up policy's time: readable when an event has waited for so long, not before; and SETUP
 * and INFO of the policy.
 */
#include <sys/epoll.h>

#include "harness.h"
#include "turns.h"

#define WAIT_US		30000U
#define WAIT_NS		(WAIT_US * NS_PER_US)

FIXTURE(wake_time) {
	int fd;
};

FIXTURE_VARIANT(wake_time) {
	uint32_t events;
};

/* By its own, and with a number that is not reached. */
FIXTURE_VARIANT_ADD(wake_time, alone) {
	.events = 0,
};

FIXTURE_VARIANT_ADD(wake_time, with_a_number) {
	.events = 100,
};

FIXTURE_SETUP(wake_time)
{
	self->fd = open_with_policy(variant->events, WAIT_US);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(wake_time)
{
	close(self->fd);
}

/* When the file becomes readable, and 0 if it does not. */
static uint64_t readable_at_ns(int fd)
{
	return wait_readable(fd) ? now_ns() : 0;
}

TEST_F(wake_time, not_before_an_event_has_waited)
{
	struct htwheel_event event;
	struct htwheel_stats stats;
	uint64_t armed_ns;
	unsigned int round;
	int ret;

	for (round = 0; round < 5; round++) {
		armed_ns = now_ns();
		ASSERT_EQ(0, arm_in(self->fd, 0, round, NULL));
		ret = read_events(self->fd, &event, 1);
		if (ret == -EAGAIN) {
			EXPECT_LE(armed_ns + WAIT_NS, readable_at_ns(self->fd));
			ret = read_events(self->fd, &event, 1);
		}
		EXPECT_LE(armed_ns + WAIT_NS, now_ns());
		ASSERT_EQ(1, ret);
		EXPECT_EQ(round, event.user_data);
		EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
		ASSERT_EQ(0, device_stats(self->fd, &stats));
		EXPECT_EQ(round + 1, stats.alerts);
	}
}

/* Fired by a pass: counted from there. */
TEST_F(wake_time, counted_from_the_expiration)
{
	struct htwheel_event event;
	uint64_t readable_ns;

	ASSERT_EQ(0, arm_in(self->fd, 10 * NS_PER_MS, 0, NULL));
	readable_ns = readable_at_ns(self->fd);
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_LE(event.fired_ns + WAIT_NS, readable_ns);
}

/* The oldest decides, and all that wait by then are read together. */
TEST_F(wake_time, the_oldest_decides)
{
	struct htwheel_event events[8];
	uint64_t armed_ns = now_ns();
	unsigned int i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, arm_in(self->fd, 0, i, NULL));
	EXPECT_LE(armed_ns + WAIT_NS, readable_at_ns(self->fd));
	EXPECT_EQ(5, read_events(self->fd, events, ARRAY_SIZE(events)));
}

TEST_F(wake_time, B41_withdrawn_and_a_new_one)
{
	struct htwheel_event event;
	uint64_t id, armed_ns;
	unsigned int round;
	int ret;

	for (round = 0; round < 5; round++) {
		ASSERT_EQ(0, arm_in(self->fd, 0, 0, &id));
		sleep_ns(WAIT_NS / 2);
		ret = round & 1 ? rearm_in(self->fd, id, HOUR_NS) : cancel(self->fd, id, NULL);
		ASSERT_EQ(HTWHEEL_RES_FIRED, ret);
		EXPECT_FALSE(is_readable(self->fd));
		armed_ns = now_ns();
		ASSERT_EQ(0, arm_in(self->fd, 0, 1, NULL));
		EXPECT_LE(armed_ns + WAIT_NS, readable_at_ns(self->fd));
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		EXPECT_EQ(1, event.user_data);
	}
}

/* The oldest goes before its time; the one that stays has not waited as long. */
TEST_F(wake_time, B41_oldest_withdrawn)
{
	uint64_t oldest, id = 0, first_ns, armed_ns, cancelled_ns;
	struct htwheel_event event;

	/* On a slow machine the oldest may have waited long enough, and then it is no test. */
	do {
		cancel(self->fd, id, NULL);
		first_ns = now_ns();
		ASSERT_EQ(0, arm_in(self->fd, 0, 0, &oldest));
		sleep_ns(WAIT_NS / 2);
		armed_ns = now_ns();
		ASSERT_EQ(0, arm_in(self->fd, 0, 1, &id));
		ASSERT_EQ(HTWHEEL_RES_FIRED, cancel(self->fd, oldest, NULL));
		cancelled_ns = now_ns();
	} while (cancelled_ns >= first_ns + WAIT_NS);
	EXPECT_LE(armed_ns + WAIT_NS, readable_at_ns(self->fd));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(1, event.user_data);
}

/* Nothing waits any more: the time is nobody's. */
TEST_F(wake_time, B41_withdrawn_for_good)
{
	struct htwheel_stats then, now;
	struct htwheel_event event;
	uint64_t id, armed_ns;

	/* On a slow machine it may have waited long enough, and then it is no test. */
	do {
		ASSERT_EQ(0, device_stats(self->fd, &then));
		armed_ns = now_ns();
		ASSERT_EQ(0, arm_in(self->fd, 0, 0, &id));
		ASSERT_EQ(HTWHEEL_RES_FIRED, cancel(self->fd, id, NULL));
	} while (now_ns() >= armed_ns + WAIT_NS);
	EXPECT_EQ(0, poll_for(self->fd, 2 * WAIT_NS));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
	ASSERT_EQ(0, device_stats(self->fd, &now));
	EXPECT_EQ(then.alerts, now.alerts);
}

/* Read to the end, then one more: that one waits for its own time. */
TEST_F(wake_time, each_batch_has_its_own_time)
{
	struct htwheel_event events[4];
	unsigned int round;
	uint64_t armed_ns;

	for (round = 0; round < 4; round++) {
		armed_ns = now_ns();
		ASSERT_EQ(0, arm_in(self->fd, 0, 0, NULL));
		ASSERT_EQ(0, arm_in(self->fd, 0, 1, NULL));
		EXPECT_LE(armed_ns + WAIT_NS, readable_at_ns(self->fd));
		ASSERT_EQ(1, read_events(self->fd, events, 1));
		EXPECT_TRUE(is_readable(self->fd));
		ASSERT_EQ(1, read_events(self->fd, events, ARRAY_SIZE(events)));
	}
}

TEST_F(wake_time, blocked_read)
{
	struct htwheel_event events[4];
	uint64_t armed_ns = now_ns();

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, 0));
	ASSERT_EQ(0, arm_in(self->fd, 0, 0, NULL));
	ASSERT_EQ(0, arm_in(self->fd, NS_PER_MS, 1, NULL));
	EXPECT_LE(1, read_events(self->fd, events, ARRAY_SIZE(events)));
	EXPECT_LE(armed_ns + WAIT_NS, now_ns());
}

/* The end of the time is news, each time, and nothing else is. */
TEST_F(wake_time, epoll_by_edge)
{
	struct epoll_event in = { .events = EPOLLIN | EPOLLET };
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct htwheel_event events[4];
	uint64_t armed_ns, end_ns;
	unsigned int round;

	ASSERT_LE(0, epoll_fd);
	ASSERT_EQ(0, epoll_ctl(epoll_fd, EPOLL_CTL_ADD, self->fd, &in));
	for (round = 0; round < 4; round++) {
		armed_ns = now_ns();
		end_ns = armed_ns + patience_ns();
		ASSERT_EQ(0, arm_in(self->fd, 0, 0, NULL));
		ASSERT_EQ(0, arm_in(self->fd, NS_PER_MS, 1, NULL));
		ASSERT_EQ(1, epoll_wait(epoll_fd, &in, 1, patience_ns() / NS_PER_MS));
		EXPECT_EQ(EPOLLIN, in.events);
		EXPECT_LE(armed_ns + WAIT_NS, now_ns());
		EXPECT_GT(end_ns, now_ns());
		ASSERT_TRUE(wait_expired(self->fd, 2));
		ASSERT_EQ(2, read_events(self->fd, events, ARRAY_SIZE(events)));
		EXPECT_EQ(0, epoll_wait(epoll_fd, &in, 1, 0));
	}
	close(epoll_fd);
}

/* The last descriptor goes while the time runs, before it, at its end, after it. */
TEST_F(wake_time, close_while_the_time_runs)
{
	unsigned int round, rounds = scaled(300), usecs;
	uint64_t seed = 31;
	int fd;

	for (round = 0; round < rounds; round++) {
		usecs = 1 + chance_below(&seed, 300);
		fd = open_with_policy(variant->events, usecs);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, arm_in(fd, round % 3 * 100 * NS_PER_US, 0, NULL));
		if (round & 1)
			ASSERT_EQ(0, arm_in(fd, 0, 0, NULL));
		sleep_ns(chance_below(&seed, 400) * NS_PER_US);
		close(fd);
	}
	/* Time for what was left behind. */
	sleep_ns(20 * NS_PER_MS);
}

/* A number that is reached makes the time nobody's, for this batch; not for the next. */
TEST(number_before_time)
{
	struct htwheel_event events[4];
	struct htwheel_stats stats;
	unsigned int round;
	uint64_t armed_ns;
	int fd = open_with_policy(2, WAIT_US);

	ASSERT_LE(0, fd);
	for (round = 0; round < 5; round++) {
		ASSERT_EQ(0, arm_in(fd, 0, 0, NULL));
		ASSERT_EQ(0, arm_in(fd, 0, 1, NULL));
		ASSERT_TRUE(is_readable(fd));
		ASSERT_EQ(2, read_events(fd, events, ARRAY_SIZE(events)));
		sleep_ns(WAIT_NS / 4);
		armed_ns = now_ns();
		ASSERT_EQ(0, arm_in(fd, 0, 2, NULL));
		ASSERT_LE(armed_ns + WAIT_NS, readable_at_ns(fd));
		ASSERT_EQ(1, read_events(fd, events, ARRAY_SIZE(events)));
	}
	ASSERT_EQ(0, device_stats(fd, &stats));
	EXPECT_EQ(10, stats.alerts);
	close(fd);
}

/* As it was given; and what is refused changes nothing. */
TEST(policy_of_setup_and_info)
{
	const struct {
		uint32_t	events;
		uint32_t	usecs;
		int		ret;
		bool		at_once;
	} cases[] = {
		{ 0, 0, 0, true },
		{ 1, 0, 0, true },
		{ 1, UINT32_MAX, 0, true },
		{ 2, 0, -EINVAL, true },
		{ UINT32_MAX, 0, -EINVAL, true },
		{ 2, 3600000000U, 0, false },
		{ 0, UINT32_MAX, 0, false },
		{ UINT32_MAX, UINT32_MAX, 0, false },
	};
	struct htwheel_setup setup;
	struct htwheel_info info;
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		setup = (struct htwheel_setup){
			.wake_events = cases[i].events,
			.wake_usecs = cases[i].usecs,
		};
		EXPECT_EQ(cases[i].ret, setup_like(fd, setup)) {
			TH_LOG("case %zu", i);
		}
		ASSERT_EQ(0, device_info(fd, &info));
		EXPECT_EQ(cases[i].ret ? 0 : cases[i].events, info.wake_events);
		EXPECT_EQ(cases[i].ret ? 0 : cases[i].usecs, info.wake_usecs);
		ASSERT_EQ(0, arm_in(fd, 0, 0, NULL));
		EXPECT_EQ(cases[i].at_once, is_readable(fd)) {
			TH_LOG("case %zu", i);
		}
		EXPECT_EQ(-EBUSY, setup_like(fd, (struct htwheel_setup){ .clock = 0 }));
		close(fd);
	}
}

/* Refused, then repeated with a good one. */
TEST(setup_may_be_repeated_after_a_refusal)
{
	struct htwheel_setup setup = { .wake_events = 3 };
	int fd = open_device(O_NONBLOCK);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, setup_like(fd, setup));
	setup.wake_usecs = 3600000000U;
	EXPECT_EQ(0, setup_like(fd, setup));
	ASSERT_EQ(0, arm_in(fd, 0, 0, NULL));
	EXPECT_FALSE(is_readable(fd));
	close(fd);
}

/*
 * Whatever happens in whatever order, "readable" is never said of nothing. The time and the number
 * are such that both come into play. Goes on until an event was seen.
 */
TEST(readable_is_the_truth_at_random)
{
	uint64_t seed = 88172645463325252ULL, ids[8] = { 0 }, *id, delay_ns;
	unsigned int round, rounds = scaled(4000), seen = 0;
	int fd = open_with_policy(4, 200);
	struct htwheel_event event;

	ASSERT_LE(0, fd);
	for (round = 0; round < rounds || !seen; round++) {
		id = &ids[chance_below(&seed, ARRAY_SIZE(ids))];
		delay_ns = chance_below(&seed, 10) * 20 * NS_PER_US;
		switch (chance_below(&seed, 16)) {
		case 0:
			cancel(fd, *id, NULL);
			break;
		case 1 ... 4:
			if (rearm_in(fd, *id, delay_ns) < 0)
				ASSERT_EQ(0, arm_in(fd, delay_ns, 0, id));
			break;
		default:
			if (!is_readable(fd))
				break;
			ASSERT_EQ(1, read_events(fd, &event, 1));
			seen++;
		}
	}
	TH_LOG("%u events in %u rounds", seen, round);
	close(fd);
}

TEST_HARNESS_MAIN
