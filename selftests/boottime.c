// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts on CLOCK_BOOTTIME, alone and beside others.
 *
 * While the machine is awake the two clocks run alike, but not to the nanosecond when it has slept,
 * and by any amount in a time namespace, which one test makes. What a suspend does is in suspend.c.
 */
#include <sched.h>

#include "harness.h"
#include "turns.h"

FIXTURE(boottime) {
	int monotonic_fd;
	int fd;
};

FIXTURE_SETUP(boottime)
{
	self->monotonic_fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->monotonic_fd);
	ASSERT_TRUE(has_features(self->monotonic_fd, HTWHEEL_FEAT_BOOTTIME));
	self->fd = open_on_boottime();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(boottime)
{
	close(self->fd);
	close(self->monotonic_fd);
}

TEST_F(boottime, info_names_the_clock)
{
	struct htwheel_info info;

	ASSERT_EQ(0, device_info(self->fd, &info));
	EXPECT_EQ(HTWHEEL_CLOCK_BOOTTIME, info.clock);
	ASSERT_EQ(0, device_info(self->monotonic_fd, &info));
	EXPECT_EQ(HTWHEEL_CLOCK_MONOTONIC, info.clock);
}

TEST_F(boottime, chosen_once_and_before_the_first_arm)
{
	struct htwheel_setup setup = { .clock = HTWHEEL_CLOCK_BOOTTIME };
	struct htwheel_info info;

	EXPECT_EQ(-EBUSY, setup_like(self->fd, setup));
	ASSERT_EQ(0, arm_in(self->monotonic_fd, HOUR_NS, 0, NULL));
	EXPECT_EQ(-EBUSY, setup_like(self->monotonic_fd, setup));
	ASSERT_EQ(0, device_info(self->monotonic_fd, &info));
	EXPECT_EQ(HTWHEEL_CLOCK_MONOTONIC, info.clock);
}

/* A clock that there is not leaves the one that there was. */
TEST_F(boottime, refused_clocks)
{
	struct htwheel_setup setup = { .clock = 3 };
	struct htwheel_info info;
	int fd = open_device(O_NONBLOCK);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, setup_like(fd, setup));
	setup.clock = UINT32_MAX;
	EXPECT_EQ(-EINVAL, setup_like(fd, setup));
	ASSERT_EQ(0, device_info(fd, &info));
	EXPECT_EQ(HTWHEEL_CLOCK_MONOTONIC, info.clock);
	setup.clock = HTWHEEL_CLOCK_BOOTTIME;
	EXPECT_EQ(0, setup_like(fd, setup));
	close(fd);
}

TEST_F(boottime, deadlines)
{
	uint64_t before_ns, after_ns, deadline_ns, id;
	struct htwheel_event event;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		before_ns = boot_ns();
		deadline_ns = before_ns + i * NS_PER_MS / 2;
		ASSERT_EQ(0, arm_at(self->fd, deadline_ns, i, &id));
		ASSERT_EQ(0, next_event(self->fd, &event));
		EXPECT_EQ(id, event.id);
		EXPECT_EQ(deadline_ns, event.deadline_ns);
		EXPECT_LE(deadline_ns, event.fired_ns);
		EXPECT_GE(boot_ns(), event.fired_ns);

		before_ns = boot_ns();
		ASSERT_EQ(0, arm_in(self->fd, i * NS_PER_MS / 2, i, &id));
		after_ns = boot_ns();
		ASSERT_EQ(0, next_event(self->fd, &event));
		EXPECT_LE(before_ns + i * NS_PER_MS / 2, event.deadline_ns);
		EXPECT_GE(after_ns + i * NS_PER_MS / 2, event.deadline_ns);
		EXPECT_LE(event.deadline_ns, event.fired_ns);
		EXPECT_GE(boot_ns(), event.fired_ns);
	}
}

TEST_F(boottime, past_deadlines_and_never)
{
	struct htwheel_event event;
	uint64_t id, left_ns;

	ASSERT_EQ(0, arm_at(self->fd, 0, 1, NULL));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	ASSERT_EQ(0, arm_at(self->fd, boot_ns(), 2, NULL));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	ASSERT_EQ(0, arm_at(self->fd, HTWHEEL_NEVER_NS, 3, &id));
	EXPECT_EQ(0, poll_for(self->fd, 50 * NS_PER_MS));
	EXPECT_EQ(0, query(self->fd, id, &left_ns));
	EXPECT_LT(HTWHEEL_NEVER_NS / 2, left_ns);
}

TEST_F(boottime, time_left)
{
	uint64_t id, left_ns, deadline_ns, before_ns, after_ns;

	deadline_ns = boot_ns() + HOUR_NS;
	ASSERT_EQ(0, arm_at(self->fd, deadline_ns, 0, &id));
	before_ns = boot_ns();
	ASSERT_EQ(0, query(self->fd, id, &left_ns));
	after_ns = boot_ns();
	EXPECT_GE(deadline_ns - before_ns, left_ns);
	EXPECT_LE(deadline_ns - after_ns, left_ns);
	before_ns = boot_ns();
	ASSERT_EQ(0, cancel(self->fd, id, &left_ns));
	after_ns = boot_ns();
	EXPECT_GE(deadline_ns - before_ns, left_ns);
	EXPECT_LE(deadline_ns - after_ns, left_ns);
}

TEST_F(boottime, periodic)
{
	const uint64_t period_ns = 7 * NS_PER_MS;
	uint64_t id, first_ns, next_ns;
	struct htwheel_event event;
	unsigned int i;

	first_ns = boot_ns() - 3 * period_ns - 1;
	next_ns = first_ns;
	ASSERT_EQ(0, arm_every(self->fd, HTWHEEL_POLICY_COUNT, first_ns, period_ns, 0, &id));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, next_event(self->fd, &event));
		EXPECT_EQ(next_ns, event.deadline_ns);
		EXPECT_LE(next_ns, event.fired_ns);
		EXPECT_LE(i ? 1 : 4, event.count);
		EXPECT_GE(turns_by(next_ns, period_ns, boot_ns()), event.count);
		next_ns += event.count * period_ns;
	}
	EXPECT_EQ(next_ns, dumped_deadline_ns(self->fd, id));
}

/* Contexts of both clocks fire side by side. */
TEST_F(boottime, both_clocks_at_once)
{
	const unsigned int nr = 200;
	struct htwheel_event event;
	struct htwheel_stats stats;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		ASSERT_EQ(0, arm_at(self->fd, boot_ns() + i % 20 * NS_PER_MS, i, NULL));
		ASSERT_EQ(0, arm_at(self->monotonic_fd, now_ns() + i % 20 * NS_PER_MS, i, NULL));
	}
	for (i = 0; i < nr; i++) {
		ASSERT_EQ(0, next_event(self->fd, &event));
		ASSERT_LE(event.deadline_ns, event.fired_ns);
		ASSERT_GE(boot_ns(), event.fired_ns);
		ASSERT_EQ(0, next_event(self->monotonic_fd, &event));
		ASSERT_LE(event.deadline_ns, event.fired_ns);
		ASSERT_GE(now_ns(), event.fired_ns);
	}
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(nr, stats.fired);
	ASSERT_EQ(0, device_stats(self->monotonic_fd, &stats));
	EXPECT_EQ(nr, stats.fired);
}

/* Each clock has queues of its own, whose figures its contexts show. */
TEST_F(boottime, queues_of_its_own)
{
	struct htwheel_stats then[2], now[2];
	uint64_t id;

	ASSERT_EQ(0, device_stats(self->fd, &then[0]));
	ASSERT_EQ(0, device_stats(self->monotonic_fd, &then[1]));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &id));
	ASSERT_EQ(0, device_stats(self->fd, &now[0]));
	ASSERT_EQ(0, device_stats(self->monotonic_fd, &now[1]));
	EXPECT_EQ(then[0].queued + 1, now[0].queued);
	EXPECT_EQ(then[1].queued, now[1].queued);
	EXPECT_EQ(-ENOENT, cancel(self->monotonic_fd, id, NULL));
	EXPECT_EQ(0, cancel(self->fd, id, NULL));
	ASSERT_EQ(0, device_stats(self->fd, &now[0]));
	EXPECT_EQ(then[0].queued, now[0].queued);
}

/* The two clocks an hour apart, so that one cannot pass for the other. */
static int check_in_namespace(void)
{
	const uint64_t delay_ns = 5 * NS_PER_MS;
	struct htwheel_event event;
	uint64_t deadline_ns, id, left_ns;
	int fd = open_on_boottime(), mono_fd = open_device(O_NONBLOCK);

	if (fd < 0 || mono_fd < 0)
		return 10;
	if (boot_ns() < now_ns() + HOUR_NS / 2)
		return 11;
	deadline_ns = boot_ns() + delay_ns;
	if (arm_at(fd, deadline_ns, 0, &id) || next_event(fd, &event))
		return 12;
	if (event.deadline_ns != deadline_ns || event.fired_ns < deadline_ns ||
	    event.fired_ns > boot_ns())
		return 13;
	/* What is past on one clock is half an hour ahead on the other. */
	deadline_ns = now_ns() + HOUR_NS / 2;
	if (arm_at(fd, deadline_ns, 1, &id) || read_events(fd, &event, 1) != 1)
		return 14;
	if (arm_at(mono_fd, deadline_ns, 1, &id) || is_readable(mono_fd))
		return 15;
	if (query(mono_fd, id, &left_ns) || left_ns > HOUR_NS / 2 || left_ns < HOUR_NS / 4)
		return 16;
	return 0;
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t ret = fd < 0 ? -1 : write(fd, text, strlen(text));

	close(fd);
	return ret == (ssize_t)strlen(text) ? 0 : -1;
}

TEST_F(boottime, an_hour_ahead_of_monotonic)
{
	pid_t pid;

	if (!has_features(self->fd, HTWHEEL_FEAT_TIMENS))
		SKIP(return, "no time namespaces in this module");
	if (unshare(CLONE_NEWTIME) || write_file("/proc/self/timens_offsets", "boottime 3600 0\n"))
		SKIP(return, "no time namespaces in this kernel");
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(check_in_namespace());
	EXPECT_EQ(0, reap(pid));
}

TEST_HARNESS_MAIN
