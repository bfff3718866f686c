// SPDX-License-Identifier: GPL-2.0
/*
 * One context in several processes: nobody sets it up again, no one's end disturbs the others, and
 * the last one's end is its end.
 */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "harness.h"
#include "crew.h"
#include "many.h"
#include "pass_fd.h"

/* Asks this program, started anew, to use the descriptor of that number. */
#define PROBE		"HTWHEEL_SHARE_PROBE"

#define LIMIT		100

FIXTURE(share) {
	uint64_t queued;
	uint64_t user_timers;
	int fd;
};

static uint64_t user_timers(int fd)
{
	struct htwheel_stats stats;

	return device_stats(fd, &stats) ? UINT64_MAX : stats.user_timers;
}

/* Set up, with a timer in it. */
FIXTURE_SETUP(share)
{
	self->queued = queued_timers();
	self->fd = open_device(0);
	ASSERT_LE(0, self->fd);
	self->user_timers = user_timers(self->fd);
	ASSERT_EQ(0, device_setup(self->fd, LIMIT));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 1, NULL));
}

FIXTURE_TEARDOWN(share)
{
	int fd = open_device(0);

	close(self->fd);
	EXPECT_TRUE(wait_queued(self->queued));
	EXPECT_EQ(self->user_timers, user_timers(fd));
	close(fd);
}

/*
 * What every process does that gets the descriptor: 0 if it is refused what would start the context
 * anew, and finds it as it was left.
 */
static int use(int fd)
{
	struct htwheel_setup setup = {
		.size = sizeof(setup), .clock = HTWHEEL_CLOCK_BOOTTIME, .wake_usecs = 1000,
	};
	struct htwheel_info info;

	if (device_setup(fd, LIMIT + 1) != -EBUSY || device_setup(fd, 0) != -EBUSY ||
	    device_ioctl(fd, HTWHEEL_IOC_SETUP, &setup) != -EBUSY)
		return 1;
	if (device_info(fd, &info) || info.max_timers != LIMIT || info.wake_usecs ||
	    info.clock != HTWHEEL_CLOCK_MONOTONIC)
		return 2;
	return arm_in(fd, HOUR_NS, 2, NULL) ? 3 : 0;
}

/* In the program that was started. */
static void __attribute__((constructor)) answer_probe(void)
{
	const char *text = getenv(PROBE);

	if (text)
		_exit(use(atoi(text)));
}

static uint64_t pending(int fd)
{
	struct htwheel_stats stats;

	return device_stats(fd, &stats) ? UINT64_MAX : stats.pending;
}

TEST_F(share, B82_set_up_again_by_a_child)
{
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(use(self->fd));
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(2, pending(self->fd));
}

TEST_F(share, B82_set_up_again_by_another_program)
{
	char text[16];
	pid_t pid;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFD, 0));
	snprintf(text, sizeof(text), "%d", self->fd);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		setenv(PROBE, text, 1);
		execl("/proc/self/exe", "share", NULL);
		_exit(100);
	}
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(2, pending(self->fd));
}

/* A process that never had the file but for what came through the socket. */
TEST_F(share, B82_set_up_again_by_a_receiver)
{
	int sockets[2], fd;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(self->fd);
		fd = receive_fd(sockets[1]);
		_exit(fd < 0 ? 100 : use(fd));
	}
	ASSERT_EQ(0, send_fd(sockets[0], self->fd));
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(2, pending(self->fd));
	close(sockets[0]);
	close(sockets[1]);
}

struct sleeper {
	int	fd;
	pid_t	tid;
};

static void *read_one(void *arg)
{
	struct sleeper *sleeper = arg;
	struct htwheel_event event;

	__atomic_store_n(&sleeper->tid, gettid(), __ATOMIC_RELEASE);
	return (void *)(uintptr_t)(read_events(sleeper->fd, &event, 1) == 1 &&
				   event.user_data == 7);
}

/* Children close it, exit and are killed, while the parent sleeps in read and in epoll_wait. */
TEST_F(share, B82_ends_of_children_disturb_no_waiting_parent)
{
	struct epoll_event watch = { .events = EPOLLIN }, found;
	struct sleeper sleeper = { .fd = self->fd };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	uint64_t stop_ns;
	pthread_t thread;
	int i, ends[2];
	void *seen;
	pid_t pid;
	char byte;

	ASSERT_LE(0, epoll);
	ASSERT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, self->fd, &watch));
	ASSERT_EQ(0, pipe(ends));
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_one, &sleeper));
	ASSERT_TRUE(wait_asleep(&sleeper.tid));
	for (i = 0; i < 12; i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			if (i % 3 == 0)
				close(self->fd);
			if (write(ends[1], "", 1) != 1)
				_exit(1);
			while (i % 3 == 1)
				pause();
			_exit(0);
		}
		ASSERT_EQ(1, read(ends[0], &byte, 1));
		if (i % 3 == 1)
			kill(pid, SIGKILL);
		EXPECT_EQ(i % 3 == 1 ? -SIGKILL : 0, reap(pid));
	}
	EXPECT_EQ(0, epoll_wait(epoll, &found, 1, 0));
	EXPECT_EQ(1, pending(self->fd));
	/* One for the reader, and one more, which epoll finds. */
	ASSERT_EQ(0, arm_in(self->fd, NS_PER_MS, 7, NULL));
	pthread_join(thread, &seen);
	EXPECT_TRUE(!!seen);
	ASSERT_EQ(0, arm_in(self->fd, NS_PER_MS, 8, NULL));
	stop_ns = now_ns() + patience_ns();
	while (epoll_wait(epoll, &found, 1, 1000) != 1)
		ASSERT_GT(stop_ns, now_ns());
	close(epoll);
}

/* A chain of processes, each the child of the one before; they end in no special order. */
static void chain(int fd, unsigned int depth)
{
	pid_t pid = 0;

	for (; depth && !pid; depth -= !pid)
		pid = fork();
	if (pid < 0)
		_exit(100);
	sleep_ns(depth * 7 % 5 * NS_PER_MS);
	if (arm_in(fd, HOUR_NS, 3, NULL))
		_exit(101);
	if (depth % 2)
		close(fd);
	_exit(pid ? reap(pid) : 0);
}

TEST_F(share, B82_last_end_is_the_context_s)
{
	int sockets[2], fd;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		chain(self->fd, 6);
	EXPECT_EQ(0, reap(pid));
	/* What they armed is the context's, not theirs. */
	EXPECT_EQ(1 + 7, pending(self->fd));
	ASSERT_EQ(0, send_fd(sockets[0], self->fd));
	close(self->fd);
	EXPECT_EQ(self->queued + 8, queued_timers());
	fd = receive_fd(sockets[1]);
	ASSERT_LE(0, fd);
	EXPECT_EQ(8, pending(fd));
	EXPECT_EQ(self->user_timers + 8, user_timers(fd));
	close(fd);
	EXPECT_TRUE(wait_queued(self->queued));
	close(sockets[0]);
	close(sockets[1]);
	self->fd = -1;
}

TEST_HARNESS_MAIN
