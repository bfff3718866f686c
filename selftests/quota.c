// SPDX-License-Identifier: GPL-2.0
/*
 * The user's limit: over all files that one user opened, exactly, and nobody else's concern.
 *
 * Needs HTWHEEL_KO, to load the module with a low limit.
 */
#include "harness.h"
#include "quota.h"

FIXTURE(quota) {
	uint64_t ids[LIMIT];
	int fd;
	int other;
};

/* Two files. */
FIXTURE_SETUP(quota)
{
	const char *why = why_no_reload();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, load_with_limit());
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->other = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->other);
}

FIXTURE_TEARDOWN(quota)
{
	close(self->fd);
	close(self->other);
	ASSERT_EQ(0, restore_module());
}

TEST_F(quota, is_shown)
{
	struct htwheel_info info;

	ASSERT_EQ(0, device_info(self->fd, &info));
	EXPECT_EQ(LIMIT, info.max_user_timers);
	EXPECT_EQ(0, user_timers(self->fd));
	ASSERT_EQ(0, arm_far(self->fd, 10, self->ids));
	EXPECT_EQ(10, user_timers(self->fd));
	EXPECT_EQ(10, user_timers(self->other));
}

TEST_F(quota, is_shared_by_a_user_s_files)
{
	int third = open_device(O_NONBLOCK);

	ASSERT_LE(0, third);
	ASSERT_EQ(0, arm_far(self->fd, 400, self->ids));
	ASSERT_EQ(0, arm_far(self->other, 400, self->ids));
	ASSERT_EQ(0, arm_far(third, LIMIT - 800, self->ids));
	EXPECT_TRUE(is_full(self->fd));
	EXPECT_TRUE(is_full(self->other));
	EXPECT_TRUE(is_full(third));
	/* Its end makes room for what it held, and no more. */
	close(third);
	ASSERT_TRUE(wait_user_timers(self->fd, 800));
	EXPECT_TRUE(has_room_for(self->other, LIMIT - 800));
}

TEST_F(quota, is_shared_by_a_user_s_processes)
{
	int ends[2], status;
	pid_t pid;
	char byte;
	int fd;

	ASSERT_EQ(0, pipe(ends));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		fd = open_device(O_NONBLOCK);
		status = arm_far(fd, LIMIT - 300, self->ids) != 0;
		if (write(ends[1], &status, 1) != 1)
			_exit(1);
		pause();
	}
	ASSERT_EQ(1, read(ends[0], &byte, 1));
	ASSERT_EQ(0, byte);
	ASSERT_EQ(0, arm_far(self->fd, 300, self->ids));
	EXPECT_TRUE(is_full(self->fd));
	/* Killed, it gives back all that it held. */
	kill(pid, SIGKILL);
	EXPECT_EQ(-SIGKILL, reap(pid));
	ASSERT_TRUE(wait_user_timers(self->fd, 300));
	EXPECT_TRUE(has_room_for(self->other, LIMIT - 300));
}

TEST_F(quota, after_one_cancel_exactly_one_more)
{
	uint64_t id, done;

	ASSERT_EQ(0, arm_far(self->fd, LIMIT, self->ids));
	ASSERT_TRUE(is_full(self->other));
	ASSERT_EQ(0, cancel(self->fd, self->ids[7], NULL));
	EXPECT_TRUE(has_room_for(self->other, 1));
	ASSERT_EQ(0, arm_in(self->other, HOUR_NS, 0, &id));
	EXPECT_TRUE(is_full(self->fd));
	/* In another way. */
	ASSERT_EQ(0, mass_all(self->other, (struct htwheel_mass){ .opcode = HTWHEEL_MASS_CANCEL },
			      &done));
	ASSERT_EQ(1, done);
	EXPECT_TRUE(has_room_for(self->fd, 1));
	EXPECT_TRUE(has_room_for(self->other, 1));
}

/* The event of a timer of one shot is its end; it waits to be read until then. */
TEST_F(quota, after_one_event_was_read_exactly_one_more)
{
	struct htwheel_event event;

	ASSERT_EQ(0, arm_far(self->fd, LIMIT, self->ids));
	ASSERT_EQ(0, rearm_in(self->fd, self->ids[5], 0));
	ASSERT_TRUE(wait_readable(self->fd));
	EXPECT_TRUE(is_full(self->other));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_TRUE(has_room_for(self->other, 1));
	EXPECT_TRUE(has_room_for(self->fd, 1));
}

/* What lives on after its event is still held: kept ones, and periodic ones. */
TEST_F(quota, reading_gives_back_nothing_of_what_lives_on)
{
	struct htwheel_op periodic = { .flags = HTWHEEL_PERIODIC, .period_ns = HOUR_NS };
	struct htwheel_op kept = { .flags = HTWHEEL_KEEP };
	struct htwheel_event event;
	uint64_t ids[2];
	int i;

	ASSERT_EQ(0, arm_far(self->fd, LIMIT - 2, self->ids));
	ASSERT_EQ(0, arm_many(self->other, &kept, 0, 1, 0, ids));
	ASSERT_EQ(0, arm_many(self->other, &periodic, 1, 1, 0, ids));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, next_event(self->other, &event));
	EXPECT_TRUE(is_full(self->fd));
	/* An idle one needs no more room when it is armed again, and gives its room back. */
	ASSERT_EQ(0, rearm_in(self->other, ids[0], HOUR_NS));
	EXPECT_TRUE(is_full(self->fd));
	ASSERT_EQ(0, rearm_in(self->other, ids[0], 0));
	ASSERT_EQ(0, next_event(self->other, &event));
	ASSERT_EQ(0, cancel(self->other, ids[0], NULL));
	EXPECT_TRUE(has_room_for(self->fd, 1));
	ASSERT_EQ(0, cancel(self->other, ids[1], NULL));
	EXPECT_TRUE(has_room_for(self->fd, 2));
}

/* A batch runs in order, at the limit as anywhere. */
TEST_F(quota, batch_that_arms_and_cancels_at_the_limit)
{
	struct htwheel_op ops[7] = { { .opcode = 0 } };
	struct htwheel_submit sub;
	int i;

	ASSERT_EQ(0, arm_far(self->fd, LIMIT, self->ids));
	for (i = 0; i < 7; i++) {
		ops[i].opcode = HTWHEEL_OP_ARM;
		ops[i].time_ns = HOUR_NS;
	}
	for (i = 1; i < 7; i += 3) {
		ops[i].opcode = HTWHEEL_OP_CANCEL;
		ops[i].time_ns = 0;
		ops[i].id = self->ids[i];
	}
	ASSERT_EQ(0, device_submit(self->fd, &sub, ops, 7));
	for (i = 0; i < 7; i++)
		EXPECT_EQ(i % 3 ? 0 : -EDQUOT, ops[i].result) {
			TH_LOG("operation %d", i);
		}
	EXPECT_EQ(3, sub.failed);
	EXPECT_TRUE(is_full(self->other));
}

/* The first ones go in, the others do not; and turn by turn all do. */
TEST_F(quota, long_batches_across_the_limit)
{
	struct htwheel_op ops[300];
	struct htwheel_submit sub;
	uint32_t i;

	ASSERT_EQ(0, arm_far(self->other, LIMIT - 123, self->ids));
	for (i = 0; i < 300; i++)
		ops[i] = (struct htwheel_op){ .opcode = HTWHEEL_OP_ARM, .time_ns = HOUR_NS };
	ASSERT_EQ(0, device_submit(self->fd, &sub, ops, 300));
	EXPECT_EQ(300 - 123, sub.failed);
	for (i = 0; i < 300; i++) {
		ASSERT_EQ(i < 123 ? 0 : -EDQUOT, ops[i].result) {
			TH_LOG("operation %u", i);
		}
		ASSERT_EQ(i < 123, ops[i].id != 0);
		self->ids[i] = ops[i].id;
	}
	EXPECT_TRUE(is_full(self->other));
	/* A cancel and an arm by turns: each finds the room that the one before it made. */
	for (i = 0; i < 246; i++) {
		ops[i] = (struct htwheel_op){ .opcode = HTWHEEL_OP_ARM, .time_ns = HOUR_NS };
		if (i % 2 == 0)
			ops[i] = (struct htwheel_op){
				.opcode = HTWHEEL_OP_CANCEL, .id = self->ids[i / 2],
			};
	}
	ASSERT_EQ(0, device_submit(self->fd, &sub, ops, 246));
	EXPECT_EQ(0, sub.failed);
	EXPECT_TRUE(is_full(self->other));
	/* All of the cancels first. */
	for (i = 0; i < 246; i++) {
		if (i % 2)
			self->ids[i / 2] = ops[i].id;
	}
	for (i = 0; i < 246; i++) {
		ops[i] = (struct htwheel_op){ .opcode = HTWHEEL_OP_ARM, .time_ns = HOUR_NS };
		if (i < 123)
			ops[i] = (struct htwheel_op){
				.opcode = HTWHEEL_OP_CANCEL, .id = self->ids[i],
			};
	}
	ASSERT_EQ(0, device_submit(self->fd, &sub, ops, 246));
	EXPECT_EQ(0, sub.failed);
	EXPECT_TRUE(is_full(self->other));
}

TEST_F(quota, rearm_needs_no_room)
{
	uint32_t i;

	ASSERT_EQ(0, arm_far(self->fd, LIMIT, self->ids));
	for (i = 0; i < LIMIT; i += 17)
		ASSERT_EQ(0, rearm_in(self->fd, self->ids[i], 2 * HOUR_NS));
	EXPECT_TRUE(is_full(self->fd));
}

TEST_F(quota, arms_that_fail_charge_nothing)
{
	struct htwheel_op bad = { .opcode = HTWHEEL_OP_ARM, .flags = 1U << 31 };
	struct htwheel_submit sub;
	struct htwheel_op op;
	int i;

	ASSERT_EQ(0, device_setup(self->fd, 10));
	ASSERT_EQ(0, arm_far(self->fd, 10, self->ids));
	for (i = 0; i < 100; i++) {
		op = bad;
		ASSERT_EQ(-EINVAL, submit_one(self->fd, &op));
		op = (struct htwheel_op){ .opcode = HTWHEEL_OP_ARM, .time_ns = UINT64_MAX };
		ASSERT_EQ(-EINVAL, submit_one(self->other, &op));
		ASSERT_EQ(-ENOSPC, arm_in(self->fd, HOUR_NS, 0, NULL));
		ASSERT_EQ(-EFAULT, device_submit(self->other, &sub, NULL, 50));
	}
	EXPECT_EQ(10, user_timers(self->fd));
	EXPECT_TRUE(has_room_for(self->other, LIMIT - 10));
}

/* Both limits are reached at once. The header does not say which comes first. */
TEST_F(quota, both_limits_at_once)
{
	int ret;

	ASSERT_EQ(0, device_setup(self->fd, LIMIT));
	ASSERT_EQ(0, arm_far(self->fd, LIMIT, self->ids));
	ret = arm_in(self->fd, HOUR_NS, 0, NULL);
	TH_LOG("both limits reached: %s", ret == -ENOSPC ? "ENOSPC" : "EDQUOT");
	EXPECT_TRUE(ret == -ENOSPC || ret == -EDQUOT);
	EXPECT_TRUE(is_full(self->other));
	ASSERT_EQ(0, cancel(self->fd, self->ids[0], NULL));
	EXPECT_EQ(0, arm_in(self->fd, HOUR_NS, 0, NULL));
}

/* In a process of this user: what is wrong, as its exit status; 0 for nothing. */
static int as_user(uid_t uid, int (*what)(int fd), int fd)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
			_exit(100);
		if (fd < 0)
			fd = open_device(O_NONBLOCK);
		_exit(fd < 0 ? 101 : what(fd));
	}
	return reap(pid);
}

/* Nobody has taken anything of this user's. */
static int use_it_up(int fd)
{
	uint64_t ids[LIMIT];

	if (user_timers(fd))
		return 1;
	if (arm_far(fd, LIMIT, ids))
		return 2;
	return is_full(fd) ? 0 : 3;
}

static int find_it_full(int fd)
{
	return is_full(fd) ? 0 : 1;
}

TEST_F(quota, of_other_users_is_their_own)
{
	ASSERT_EQ(0, chmod(DEVICE, 0666));
	ASSERT_EQ(0, arm_far(self->fd, LIMIT, self->ids));
	EXPECT_EQ(0, as_user(12345, use_it_up, -1));
	EXPECT_EQ(0, as_user(12346, use_it_up, -1));
	EXPECT_TRUE(is_full(self->other));
	/* What the first one held is free again. */
	EXPECT_EQ(0, as_user(12345, use_it_up, -1));
}

/* Who opened the file pays, whoever arms. */
TEST_F(quota, counts_for_who_opened_the_file)
{
	ASSERT_EQ(0, chmod(DEVICE, 0666));
	ASSERT_EQ(0, as_user(12345, use_it_up, self->fd));
	EXPECT_TRUE(is_full(self->fd));
	EXPECT_EQ(0, as_user(12345, find_it_full, self->fd));
	EXPECT_EQ(0, as_user(12345, use_it_up, -1));
}

TEST_HARNESS_MAIN
