// SPDX-License-Identifier: GPL-2.0
/*
 * A context is one open file description: what shares it, and when it ends.
 */
#include <sys/resource.h>
#include <sys/socket.h>

#include "harness.h"
#include "ledger.h"
#include "pass_fd.h"

#define NR_TIMERS	1000

/* Asks this program, started anew, whether it has the descriptor of that number. */
#define PROBE		"HTWHEEL_LIFETIME_PROBE"

FIXTURE(life) {
	uint64_t queued;
	struct ledger ledger;
	int fd;
};

FIXTURE_SETUP(life)
{
	self->queued = queued_timers();
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, ledger_init(&self->ledger, NR_TIMERS));
}

/* Whatever a test did, nothing of it is left in the end. */
FIXTURE_TEARDOWN(life)
{
	close(self->fd);
	ledger_free(&self->ledger);
	EXPECT_TRUE(wait_queued(self->queued));
}

static int arm_all(FIXTURE_DATA(life) *self, uint64_t from_ns)
{
	return ledger_arm(&self->ledger, self->fd, 0, NR_TIMERS, from_ns, HOUR_NS);
}

TEST_F(life, close_ends_armed_timers)
{
	ASSERT_EQ(0, arm_all(self, HOUR_NS));
	EXPECT_EQ(self->queued + NR_TIMERS, queued_timers());
	close(self->fd);
	EXPECT_TRUE(wait_queued(self->queued));
	self->fd = -1;
}

TEST_F(life, close_ends_unread_events)
{
	ASSERT_EQ(0, ledger_arm(&self->ledger, self->fd, 0, NR_TIMERS, 0, NS_PER_MS));
	ASSERT_TRUE(wait_readable(self->fd));
	close(self->fd);
	EXPECT_TRUE(wait_queued(self->queued));
	self->fd = -1;
}

TEST_F(life, dup_is_the_same_context)
{
	int other = dup(self->fd);
	struct htwheel_event event;
	uint64_t id;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 5, &id));
	EXPECT_EQ(0, query(other, id, NULL));
	ASSERT_EQ(0, rearm_in(other, id, 0));
	EXPECT_TRUE(is_readable(self->fd));
	EXPECT_EQ(1, read_events(other, &event, 1));
	EXPECT_FALSE(is_readable(self->fd));
	/* The other one keeps it. */
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 6, &id));
	close(self->fd);
	self->fd = other;
	EXPECT_EQ(0, query(self->fd, id, NULL));
}

TEST_F(life, B82_setup_through_dup_is_EBUSY)
{
	int other = dup(self->fd);

	ASSERT_LE(0, other);
	EXPECT_EQ(0, device_setup(self->fd, 5));
	EXPECT_EQ(-EBUSY, device_setup(other, 5));
	close(other);
	EXPECT_EQ(-EBUSY, device_setup(self->fd, 5));
}

TEST_F(life, two_opens_are_two_contexts)
{
	int other = open_device(O_NONBLOCK);
	struct htwheel_stats stats;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, arm_in(self->fd, 0, 0, NULL));
	EXPECT_FALSE(is_readable(other));
	ASSERT_EQ(0, device_stats(other, &stats));
	EXPECT_EQ(0, stats.armed);
	close(other);
	EXPECT_TRUE(is_readable(self->fd));
}

/*
 * A child's timers are its parent's; its end changes nothing, because the parent has the file, too.
 */
TEST_F(life, B82_fork_shares_the_context)
{
	struct htwheel_event event;
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(arm_in(self->fd, 30 * NS_PER_MS, 77, NULL) ||
		      arm_in(self->fd, HOUR_NS, 78, NULL) ||
		      device_setup(self->fd, 1) != -EBUSY);
	ASSERT_EQ(0, reap(pid));
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_EQ(77, event.user_data);
	EXPECT_EQ(self->queued + 1, queued_timers());
}

TEST_F(life, fork_outlives_its_parent_s_close)
{
	struct htwheel_event event;
	int ends[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(ends));
	ASSERT_EQ(0, arm_in(self->fd, 30 * NS_PER_MS, 77, NULL));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 78, NULL));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) != 0 || next_event(self->fd, &event) ||
		      event.user_data != 77);
	}
	close(self->fd);
	self->fd = -1;
	EXPECT_LE(self->queued + 1, queued_timers());
	close(ends[1]);
	EXPECT_EQ(0, reap(pid));
	EXPECT_TRUE(wait_queued(self->queued));
	close(ends[0]);
}

/* What another process got through a socket is the context itself, not a copy. */
TEST_F(life, B82_sent_through_a_socket)
{
	struct htwheel_event event;
	int sockets[2], fd;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(self->fd);
		close(sockets[0]);
		fd = receive_fd(sockets[1]);
		_exit(fd < 0 || arm_in(fd, HOUR_NS, 1, NULL) || next_event(fd, &event) ||
		      event.user_data != 77);
	}
	close(sockets[1]);
	ASSERT_EQ(0, arm_in(self->fd, 50 * NS_PER_MS, 77, NULL));
	ASSERT_EQ(0, send_fd(sockets[0], self->fd));
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(0, reap(pid));
	EXPECT_TRUE(wait_queued(self->queued));
	close(sockets[0]);
}

/* It lives in the socket alone, its timer fires there, and it dies with the socket. */
TEST_F(life, B82_left_in_a_socket)
{
	struct htwheel_event event;
	int sockets[2], fd;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	ASSERT_EQ(0, arm_in(self->fd, 5 * NS_PER_MS, 77, NULL));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 78, NULL));
	ASSERT_EQ(0, send_fd(sockets[0], self->fd));
	close(self->fd);
	sleep_ns(20 * NS_PER_MS);
	fd = receive_fd(sockets[1]);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, next_event(fd, &event));
	EXPECT_EQ(77, event.user_data);
	ASSERT_EQ(0, send_fd(sockets[0], fd));
	close(fd);
	EXPECT_EQ(self->queued + 1, queued_timers());
	close(sockets[0]);
	close(sockets[1]);
	EXPECT_TRUE(wait_queued(self->queued));
	self->fd = -1;
}

/*
 * In the program that was started: 0 if the descriptor is a live context, 1 if it is not open, else
 * 2.
 */
static void __attribute__((constructor)) answer_probe(void)
{
	const char *text = getenv(PROBE);
	struct htwheel_stats stats;
	int fd, ret;

	if (!text)
		return;
	fd = atoi(text);
	/* The one who started it may be about to close the descriptor. */
	if (fcntl(fd, F_GETFD) < 0)
		_exit(wait_queued(0) ? 1 : 3);
	ret = device_stats(fd, &stats);
	_exit(ret || stats.pending != 2 || !wait_readable(fd) ? 2 : 0);
}

static int exec_probe(int fd)
{
	char text[16];
	pid_t pid;

	snprintf(text, sizeof(text), "%d", fd);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		setenv(PROBE, text, 1);
		execl("/proc/self/exe", "lifetime", NULL);
		_exit(4);
	}
	close(fd);
	return reap(pid);
}

/* The program that was started finds the descriptor closed and its timers gone. */
TEST_F(life, exec_closes_with_CLOEXEC)
{
	if (self->queued)
		SKIP(return, "another program has timers");
	ASSERT_EQ(0, arm_all(self, HOUR_NS));
	EXPECT_EQ(1, exec_probe(self->fd));
	self->fd = -1;
}

TEST_F(life, exec_keeps_without_CLOEXEC)
{
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, NULL));
	ASSERT_EQ(0, arm_in(self->fd, 20 * NS_PER_MS, 0, NULL));
	ASSERT_EQ(0, fcntl(self->fd, F_SETFD, 0));
	EXPECT_EQ(0, exec_probe(self->fd));
	self->fd = -1;
}

TEST_F(life, many_contexts_at_once)
{
	struct rlimit limit = { 4096, 4096 };
	struct htwheel_event event;
	uint32_t i, nr = 1000;
	int *fds = calloc(nr, sizeof(*fds));

	ASSERT_TRUE(!!fds);
	setrlimit(RLIMIT_NOFILE, &limit);
	for (i = 0; i < nr; i++) {
		fds[i] = open_device(O_NONBLOCK);
		ASSERT_LE(0, fds[i]);
		ASSERT_EQ(0, arm_in(fds[i], 10 * NS_PER_MS + i * 10 * NS_PER_US, i, NULL));
		ASSERT_EQ(0, arm_in(fds[i], HOUR_NS, i, NULL));
	}
	for (i = 0; i < nr; i++) {
		ASSERT_EQ(0, next_event(fds[i], &event));
		ASSERT_EQ(i, event.user_data);
	}
	EXPECT_EQ(self->queued + nr, queued_timers());
	for (i = 0; i < nr; i++)
		close(fds[i]);
	free(fds);
}

TEST_F(life, open_and_close_storm)
{
	unsigned int round, rounds = scaled(1000);
	int fd;

	for (round = 0; round < rounds; round++) {
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		if (round % 3)
			ASSERT_EQ(0, arm_in(fd, round % 7 * 200 * NS_PER_US, 0, NULL));
		close(fd);
	}
}

TEST_HARNESS_MAIN
