// SPDX-License-Identifier: GPL-2.0
/*
 * Readable means readable: poll, select and epoll agree with read, before and after each change.
 */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>

#include "harness.h"
#include "common.h"

FIXTURE(poll) {
	int epoll_fd;
	int fd;
};

FIXTURE_SETUP(poll)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_LE(0, self->epoll_fd);
}

FIXTURE_TEARDOWN(poll)
{
	close(self->epoll_fd);
	close(self->fd);
}

static int watch(int epoll_fd, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/*
 * The events of the one watched file, 0 after the time-out, -ETIME if only the time-out brought
 * them.
 */
static int wait_epoll(int epoll_fd, uint64_t timeout_ns)
{
	struct epoll_event event = { .events = 0 };
	uint64_t end_ns = now_ns() + timeout_ns;
	int ret = epoll_wait(epoll_fd, &event, 1, timeout_ns / NS_PER_MS);

	if (ret <= 0)
		return ret ? -errno : 0;
	return timeout_ns && now_ns() >= end_ns ? -ETIME : (int)event.events;
}

/* POLLIN holds if and only if a read returns an event; the event is read, if there is one. */
static bool poll_and_read_agree(int fd)
{
	struct htwheel_event event;
	int poll_before = poll_for(fd, 0);
	int ret = read_events(fd, &event, 1);

	return poll_before ? poll_before == (POLLIN | POLLRDNORM) && ret == 1 : ret == -EAGAIN;
}

TEST_F(poll, without_timers)
{
	struct pollfd pfd = { .fd = self->fd, .events = ~0 };

	EXPECT_EQ(0, poll(&pfd, 1, 0));
	EXPECT_TRUE(poll_and_read_agree(self->fd));
}

TEST_F(poll, says_in_and_nothing_else)
{
	struct pollfd pfd = { .fd = self->fd, .events = ~0 };

	ASSERT_EQ(0, arm_in(self->fd, 0, 0, NULL));
	ASSERT_EQ(1, poll(&pfd, 1, 0));
	EXPECT_EQ(POLLIN | POLLRDNORM, pfd.revents);
	pfd.events = POLLOUT;
	EXPECT_EQ(0, poll(&pfd, 1, 0));
}

TEST_F(poll, follows_the_life_of_one_timer)
{
	uint64_t id;

	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &id));
	EXPECT_FALSE(is_readable(self->fd));
	ASSERT_EQ(0, rearm_in(self->fd, id, NS_PER_MS));
	ASSERT_TRUE(wait_readable(self->fd));
	EXPECT_TRUE(poll_and_read_agree(self->fd));
	EXPECT_FALSE(is_readable(self->fd));
	EXPECT_TRUE(poll_and_read_agree(self->fd));
}

TEST_F(poll, stays_until_the_last_event_is_read)
{
	struct htwheel_event event;
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, arm_in(self->fd, 0, i, NULL));
	for (i = 0; i < 3; i++) {
		EXPECT_TRUE(is_readable(self->fd));
		EXPECT_EQ(1, read_events(self->fd, &event, 1));
	}
	EXPECT_FALSE(is_readable(self->fd));
}

TEST_F(poll, B41_not_readable_after_the_only_event_was_withdrawn)
{
	uint64_t ids[2];

	ASSERT_EQ(0, arm_in(self->fd, NS_PER_MS, 0, &ids[0]));
	ASSERT_TRUE(wait_readable(self->fd));
	ASSERT_EQ(0, arm_in(self->fd, 0, 1, &ids[1]));
	ASSERT_EQ(HTWHEEL_RES_FIRED, cancel(self->fd, ids[0], NULL));
	EXPECT_TRUE(is_readable(self->fd));
	ASSERT_EQ(HTWHEEL_RES_FIRED, cancel(self->fd, ids[1], NULL));
	EXPECT_FALSE(is_readable(self->fd));
	EXPECT_TRUE(poll_and_read_agree(self->fd));
}

/* Whatever happens in whatever order, the two agree. */
TEST_F(poll, agrees_with_read_at_random)
{
	uint64_t seed = 88172645463325252ULL, ids[8] = { 0 };
	unsigned int round, rounds = scaled(3000);

	for (round = 0; round < rounds; round++) {
		uint64_t *id = &ids[chance_below(&seed, ARRAY_SIZE(ids))];
		uint64_t delay_ns = chance_below(&seed, 40) * 10 * NS_PER_US;

		switch (chance_below(&seed, 4)) {
		case 0:
			cancel(self->fd, *id, NULL);
			ASSERT_EQ(0, arm_in(self->fd, delay_ns, 0, id));
			break;
		case 1:
			cancel(self->fd, *id, NULL);
			break;
		case 2:
			rearm_in(self->fd, *id, delay_ns);
			break;
		default:
			/*
			 * A timer may fire between the two: only "readable, but nothing to read" is
			 * wrong.
			 */
			if (is_readable(self->fd)) {
				struct htwheel_event event;

				ASSERT_EQ(1, read_events(self->fd, &event, 1));
			}
		}
	}
}

TEST_F(poll, waits_until_a_timer_fires)
{
	uint64_t before_ns = now_ns();

	ASSERT_EQ(0, arm_in(self->fd, 20 * NS_PER_MS, 0, NULL));
	EXPECT_TRUE(wait_readable(self->fd));
	EXPECT_LE(before_ns + 20 * NS_PER_MS, now_ns());
	EXPECT_TRUE(poll_and_read_agree(self->fd));
}

TEST_F(poll, times_out_before_a_timer_fires)
{
	uint64_t before_ns = now_ns();

	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, NULL));
	EXPECT_EQ(0, poll_for(self->fd, 20 * NS_PER_MS));
	EXPECT_LE(before_ns + 20 * NS_PER_MS, now_ns());
}

TEST_F(poll, select_agrees)
{
	struct timeval timeout = { .tv_sec = patience_ns() / NS_PER_S };
	struct htwheel_event event;
	fd_set in, out, except;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&except);
	FD_SET(self->fd, &in);
	FD_SET(self->fd, &out);
	FD_SET(self->fd, &except);
	ASSERT_EQ(0, arm_in(self->fd, 20 * NS_PER_MS, 0, NULL));
	EXPECT_EQ(1, select(self->fd + 1, &in, &out, &except, &timeout));
	EXPECT_TRUE(FD_ISSET(self->fd, &in));
	EXPECT_FALSE(FD_ISSET(self->fd, &out));
	EXPECT_FALSE(FD_ISSET(self->fd, &except));

	EXPECT_EQ(1, read_events(self->fd, &event, 1));
	FD_SET(self->fd, &in);
	timeout = (struct timeval){ .tv_usec = 1000 };
	EXPECT_EQ(0, select(self->fd + 1, &in, NULL, NULL, &timeout));
}

TEST_F(poll, epoll_by_level)
{
	struct htwheel_event event;

	ASSERT_EQ(0, watch(self->epoll_fd, self->fd, EPOLLIN));
	EXPECT_EQ(0, wait_epoll(self->epoll_fd, 0));
	ASSERT_EQ(0, arm_in(self->fd, 20 * NS_PER_MS, 0, NULL));
	EXPECT_EQ(EPOLLIN, wait_epoll(self->epoll_fd, patience_ns()));
	EXPECT_EQ(EPOLLIN, wait_epoll(self->epoll_fd, 0));
	EXPECT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(0, wait_epoll(self->epoll_fd, 0));
}

TEST_F(poll, B41_epoll_by_level_after_the_only_event_was_withdrawn)
{
	uint64_t id;

	ASSERT_EQ(0, watch(self->epoll_fd, self->fd, EPOLLIN));
	ASSERT_EQ(0, arm_in(self->fd, NS_PER_MS, 0, &id));
	EXPECT_EQ(EPOLLIN, wait_epoll(self->epoll_fd, patience_ns()));
	ASSERT_EQ(HTWHEEL_RES_FIRED, cancel(self->fd, id, NULL));
	EXPECT_EQ(0, wait_epoll(self->epoll_fd, 20 * NS_PER_MS));
	ASSERT_EQ(0, arm_in(self->fd, 0, 0, &id));
	EXPECT_EQ(EPOLLIN, wait_epoll(self->epoll_fd, 0));
	ASSERT_EQ(HTWHEEL_RES_FIRED, rearm_in(self->fd, id, HOUR_NS));
	EXPECT_EQ(0, wait_epoll(self->epoll_fd, 20 * NS_PER_MS));
}

/* By edge, each time after the file was drained: from a pass, and from a deadline in the past. */
TEST_F(poll, epoll_by_edge)
{
	struct htwheel_event event;
	unsigned int round;

	ASSERT_EQ(0, watch(self->epoll_fd, self->fd, EPOLLIN | EPOLLET));
	EXPECT_EQ(0, wait_epoll(self->epoll_fd, 0));
	for (round = 0; round < 20; round++) {
		ASSERT_EQ(0, arm_in(self->fd, (round & 1) * NS_PER_MS, 0, NULL));
		ASSERT_EQ(EPOLLIN, wait_epoll(self->epoll_fd, patience_ns()));
		ASSERT_EQ(0, wait_epoll(self->epoll_fd, 0));
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		ASSERT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
	}
}

/* An event waits; what brings no further one is no news. */
TEST_F(poll, epoll_by_edge_only_for_events)
{
	uint64_t id;

	ASSERT_EQ(0, watch(self->epoll_fd, self->fd, EPOLLIN | EPOLLET));
	ASSERT_EQ(0, arm_in(self->fd, 0, 0, NULL));
	ASSERT_EQ(EPOLLIN, wait_epoll(self->epoll_fd, patience_ns()));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &id));
	ASSERT_EQ(0, query(self->fd, id, NULL));
	ASSERT_EQ(0, rearm_in(self->fd, id, 2 * HOUR_NS));
	ASSERT_EQ(0, cancel(self->fd, id, NULL));
	ASSERT_EQ(-EINVAL, arm_in(self->fd, UINT64_MAX, 0, NULL));
	EXPECT_EQ(0, wait_epoll(self->epoll_fd, 0));
	EXPECT_TRUE(is_readable(self->fd));
}

/* Added to the set when it is readable already. */
TEST_F(poll, epoll_by_edge_sees_what_was_there_before)
{
	ASSERT_EQ(0, arm_in(self->fd, 0, 0, NULL));
	ASSERT_EQ(0, watch(self->epoll_fd, self->fd, EPOLLIN | EPOLLET));
	EXPECT_EQ(EPOLLIN, wait_epoll(self->epoll_fd, 0));
	EXPECT_EQ(0, wait_epoll(self->epoll_fd, 0));
}

TEST_F(poll, epoll_once)
{
	struct epoll_event again = { .events = EPOLLIN | EPOLLONESHOT };

	ASSERT_EQ(0, watch(self->epoll_fd, self->fd, EPOLLIN | EPOLLONESHOT));
	ASSERT_EQ(0, arm_in(self->fd, NS_PER_MS, 0, NULL));
	EXPECT_EQ(EPOLLIN, wait_epoll(self->epoll_fd, patience_ns()));
	ASSERT_EQ(0, arm_in(self->fd, NS_PER_MS, 0, NULL));
	EXPECT_EQ(0, wait_epoll(self->epoll_fd, 20 * NS_PER_MS));
	ASSERT_EQ(0, epoll_ctl(self->epoll_fd, EPOLL_CTL_MOD, self->fd, &again));
	EXPECT_EQ(EPOLLIN, wait_epoll(self->epoll_fd, 0));
}

TEST_F(poll, epoll_of_many_contexts)
{
	int fds[32], seen[ARRAY_SIZE(fds)] = { 0 };
	struct epoll_event events[8], add;
	size_t i, nr = 0;
	int ret;

	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = open_device(O_NONBLOCK);
		ASSERT_LE(0, fds[i]);
		add = (struct epoll_event){ .events = EPOLLIN | EPOLLET, .data.u64 = i };
		ASSERT_EQ(0, epoll_ctl(self->epoll_fd, EPOLL_CTL_ADD, fds[i], &add));
		ASSERT_EQ(0, arm_in(fds[i], 20 * NS_PER_MS + i, i, NULL));
	}
	while (nr < ARRAY_SIZE(fds)) {
		ret = epoll_wait(self->epoll_fd, events, ARRAY_SIZE(events),
				 patience_ns() / NS_PER_MS);
		ASSERT_LT(0, ret);
		for (nr += ret; ret--; )
			ASSERT_EQ(1, ++seen[events[ret].data.u64]);
	}
	/* Closed while they are watched. */
	for (i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	EXPECT_EQ(0, wait_epoll(self->epoll_fd, 0));
}

static void on_signal(int signal)
{
	(void)signal;
}

/* Signals until the test ends, so that none can come too early. */
static int signal_always(int flags)
{
	struct itimerval every = { .it_interval.tv_usec = 20000, .it_value.tv_usec = 20000 };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	return sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &every, NULL);
}

TEST_F(poll, blocking_read_is_interrupted_by_a_signal)
{
	struct htwheel_event event;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, 0));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, NULL));
	ASSERT_EQ(0, signal_always(0));
	EXPECT_EQ(-EINTR, read_events(self->fd, &event, 1));
}

TEST_F(poll, blocking_read_goes_on_after_a_signal_with_restart)
{
	struct htwheel_event event;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, 0));
	ASSERT_EQ(0, arm_in(self->fd, 150 * NS_PER_MS, 0, NULL));
	ASSERT_EQ(0, signal_always(SA_RESTART));
	EXPECT_EQ(1, read_events(self->fd, &event, 1));
}

TEST_F(poll, blocking_read_waits_for_the_first_event)
{
	struct htwheel_event events[4];
	uint64_t before_ns = now_ns();

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, 0));
	ASSERT_EQ(0, arm_in(self->fd, 30 * NS_PER_MS, 1, NULL));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 2, NULL));
	EXPECT_EQ(1, read_events(self->fd, events, ARRAY_SIZE(events)));
	EXPECT_LE(before_ns + 30 * NS_PER_MS, now_ns());
	EXPECT_EQ(1, events[0].user_data);
}

TEST_HARNESS_MAIN
