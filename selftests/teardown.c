// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a context while everything is going on: killed with many timers, closed while they
 * fire, closed under threads that arm. Memory and queues come back to what they were.
 */
#include <signal.h>
#include <sys/epoll.h>

#include "harness.h"
#include "crew.h"
#include "ledger.h"
#include "shared_design.h"
#include "turns.h"

#define NR_THREADS	4

FIXTURE(teardown) {
	uint64_t queued;
};

FIXTURE_SETUP(teardown)
{
	self->queued = queued_timers();
}

FIXTURE_TEARDOWN(teardown)
{
	EXPECT_TRUE(wait_queued(self->queued));
}

/*
 * In a child: some timers that fire at once and later, some that never do; then wait to be killed.
 */
static void hold_timers(int ready_fd, uint32_t nr, uint32_t firing)
{
	int fd = open_device(O_NONBLOCK);
	struct ledger ledger;

	if (fd < 0 || ledger_init(&ledger, nr) ||
	    ledger_arm(&ledger, fd, firing, nr - firing, HOUR_NS,
		       spread_for_design(fd, HOUR_NS)) ||
	    ledger_arm(&ledger, fd, 0, firing, 0, 10 * NS_PER_MS) ||
	    write(ready_fd, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* Kill such a child; 0 if it had got as far as it should. */
static int kill_holder(uint32_t nr, uint32_t firing, uint64_t after_ns)
{
	int ends[2], status;
	char byte;
	pid_t pid;

	if (pipe(ends))
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		hold_timers(ends[1], nr, firing);
	close(ends[1]);
	status = read(ends[0], &byte, 1) == 1 ? 0 : -EIO;
	close(ends[0]);
	sleep_ns(after_ns);
	kill(pid, SIGKILL);
	if (reap(pid) != -SIGKILL)
		return -ECHILD;
	return status;
}

TEST_F(teardown, B34_killed_with_100000_armed)
{
	ASSERT_EQ(0, kill_holder(100000, 0, 0));
}

/* Killed at any point of a wave of expirations; in the end nothing is left, whatever the round. */
TEST_F(teardown, B34_killed_while_timers_fire)
{
	unsigned int round, rounds = scaled(5);

	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, kill_holder(20000, 10000, round * NS_PER_MS));
		ASSERT_TRUE(wait_queued(self->queued)) {
			TH_LOG("round %u", round);
		}
	}
}

/* If each round left its timers' memory behind, the loss would be twice the bound. */
TEST_F(teardown, B34_memory_comes_back)
{
	const uint32_t nr = 60000;
	const uint64_t bytes = nr * 64ULL;
	unsigned int round, rounds = scaled(8);
	uint64_t before, after, end_ns;

	/* The first rounds fill caches, of the debug kernel as well. */
	for (round = 0; round < 3; round++)
		ASSERT_EQ(0, kill_holder(nr, nr / 10, 0));
	before = meminfo("MemAvailable");
	ASSERT_LT(0, before);
	for (round = 0; round < rounds; round++)
		ASSERT_EQ(0, kill_holder(nr, nr / 10, 0));
	ASSERT_TRUE(wait_queued(self->queued));
	/* What the last ones held may be freed a little later. */
	end_ns = now_ns() + patience_ns();
	do {
		sleep_ns(10 * NS_PER_MS);
		after = meminfo("MemAvailable");
	} while (after + rounds * bytes / 2 <= before && now_ns() < end_ns);
	TH_LOG("%lld KiB less after %u rounds of %llu KiB",
	       (long long)(before - after) / 1024, rounds, (unsigned long long)bytes / 1024);
	EXPECT_GT(rounds * bytes / 2 + after, before);
}

/* Close it at any point of a wave of expirations on all CPUs (B32). */
TEST_F(teardown, closed_while_timers_fire)
{
	unsigned int round, rounds = scaled(16);
	struct ledger ledger;
	int fd;

	ASSERT_EQ(0, ledger_init(&ledger, 4000));
	for (round = 0; round < rounds; round++) {
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, pin_to(round));
		ASSERT_EQ(0, ledger_arm(&ledger, fd, 0, 2000, 0, 5 * NS_PER_MS));
		ASSERT_EQ(0, pin_to(round + 1));
		ASSERT_EQ(0, ledger_arm(&ledger, fd, 2000, 2000, 0, 5 * NS_PER_MS));
		sleep_ns(round % 8 * 500 * NS_PER_US);
		close(fd);
	}
	ledger_free(&ledger);
}

/*
 * The same with all that a context can have: both clocks, a wait before readers are told, timers
 * that are armed again, that are kept, that may come late.
 */
TEST_F(teardown, closed_while_timers_of_all_kinds_fire)
{
	unsigned int round, rounds = scaled(60), i;
	struct htwheel_event events[16];
	struct htwheel_setup setup;
	struct htwheel_op op;
	int fd;

	for (round = 0; round < rounds; round++) {
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		setup = (struct htwheel_setup){
			.clock = round & 1 ? HTWHEEL_CLOCK_BOOTTIME : HTWHEEL_CLOCK_MONOTONIC,
			.wake_events = round & 2 ? 40 : 0,
			.wake_usecs = round & 6 ? 100 + round * 10 : 0,
		};
		ASSERT_EQ(0, setup_like(fd, setup));
		for (i = 0; i < 80; i++) {
			op = (struct htwheel_op){
				.time_ns = i * 20 * NS_PER_US,
				.slack_ns = i & 1 ? NS_PER_MS : 0,
			};
			if (i & 2) {
				op.flags = HTWHEEL_PERIODIC;
				op.policy = i / 4 % 4;
				op.period_ns = 1 + i * NS_PER_US;
			} else if (i & 4) {
				op.flags = HTWHEEL_KEEP;
			}
			pin_to(i / 16);
			ASSERT_EQ(0, arm_like(fd, op, NULL));
		}
		sleep_ns(round % 8 * 250 * NS_PER_US);
		if (round & 8)
			read_events(fd, events, ARRAY_SIZE(events));
		close(fd);
	}
}

/*
 * Contexts whose timers fire in one pass, closed from another CPU as soon as the first event shows,
 * the last one first: the pass has yet to wake its readers, and the context goes under its hands.
 */
TEST_F(teardown, closed_between_the_event_and_its_wake_up)
{
	struct epoll_event in = { .events = EPOLLIN };
	unsigned int round, rounds = scaled(15);
	uint64_t due_ns, end_ns;
	int fds[64], i, epoll_fd;

	for (round = 0; round < rounds; round++) {
		epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		ASSERT_LE(0, epoll_fd);
		ASSERT_EQ(0, pin_to(1));
		due_ns = now_ns() + 10 * NS_PER_MS;
		for (i = 0; i < (int)ARRAY_SIZE(fds); i++) {
			fds[i] = open_device(O_NONBLOCK);
			ASSERT_LE(0, fds[i]);
			ASSERT_EQ(0, epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fds[i], &in));
			ASSERT_EQ(0, arm_at(fds[i], due_ns, i, NULL));
		}
		ASSERT_EQ(0, pin_to(0));
		end_ns = now_ns() + patience_ns();
		while (!is_readable(fds[0]))
			ASSERT_GT(end_ns, now_ns());
		while (i--)
			close(fds[i]);
		close(epoll_fd);
	}
}

struct closing {
	int		fd;
	unsigned int	number;
	unsigned long	wrong;
};

static void arm_and_rearm(void *arg)
{
	struct closing *closing = arg;
	uint64_t id = 0;
	int ret;

	ret = arm_in(closing->fd, closing->number * 100 * NS_PER_US, 0, &id);
	closing->wrong += ret && ret != -ENOTTY && ret != -ENOSPC;
	ret = rearm_in(closing->fd, id, NS_PER_MS);
	closing->wrong += ret < 0 && ret != -ENOTTY && ret != -ENOENT;
}

/*
 * Threads arm and re-arm while the descriptor's file is replaced by another one, which closes the
 * first: each call is made on the one or on the other, and the timers of the first are gone.
 */
TEST_F(teardown, B33_closed_under_threads_that_arm)
{
	unsigned int round, rounds = scaled(8), i;
	struct closing closings[NR_THREADS];
	struct crew crew;
	int fd, null_fd = open("/dev/null", O_RDWR);

	if (null_fd < 0)
		SKIP(return, "no /dev/null");
	for (round = 0; round < rounds; round++) {
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, device_setup(fd, 1000));
		crew = (struct crew){ .nr = 0 };
		for (i = 0; i < NR_THREADS; i++) {
			closings[i] = (struct closing){ .fd = fd, .number = i };
			ASSERT_EQ(0, crew_add(&crew, i, arm_and_rearm, &closings[i]));
		}
		crew_wait(&crew);
		sleep_ns(round % 8 * NS_PER_MS);
		ASSERT_EQ(fd, dup2(null_fd, fd));
		crew_from_now(&crew);
		crew_wait(&crew);
		crew_end(&crew);
		for (i = 0; i < NR_THREADS; i++)
			EXPECT_EQ(0, closings[i].wrong);
		close(fd);
		ASSERT_TRUE(wait_queued(self->queued)) {
			TH_LOG("round %u", round);
		}
	}
	close(null_fd);
}

/* In a child, that says when it is at it. */
static void arm_until_killed(int ready_fd, unsigned int number)
{
	struct closing closing = { .fd = open_device(O_NONBLOCK), .number = number };

	pin_to(number);
	arm_and_rearm(&closing);
	if (closing.wrong || write(ready_fd, "", 1) != 1)
		_exit(1);
	for (;;)
		arm_and_rearm(&closing);
}

/* Many processes, each killed in the middle of what it does. */
TEST_F(teardown, storm_of_killed_processes)
{
	unsigned int round, rounds = scaled(3), i;
	pid_t pids[8];
	int ends[2];
	char byte;

	ASSERT_EQ(0, pipe(ends));
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < ARRAY_SIZE(pids); i++) {
			pids[i] = fork();
			ASSERT_LE(0, pids[i]);
			if (!pids[i])
				arm_until_killed(ends[1], i);
		}
		for (i = 0; i < ARRAY_SIZE(pids); i++)
			ASSERT_EQ(1, read(ends[0], &byte, 1));
		sleep_ns(30 * NS_PER_MS);
		for (i = 0; i < ARRAY_SIZE(pids); i++)
			kill(pids[i], SIGKILL);
		for (i = 0; i < ARRAY_SIZE(pids); i++)
			EXPECT_EQ(-SIGKILL, reap(pids[i]));
	}
}

TEST_HARNESS_MAIN
