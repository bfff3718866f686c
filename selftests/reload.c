// SPDX-License-Identifier: GPL-2.0
/*
 * Loading and unloading the module: refused while it is in use, possible at any other time, and
 * never with a bad parameter.
 */
#include <sys/socket.h>

#include "harness.h"
#include "module.h"
#include "crew.h"
#include "ledger.h"

FIXTURE(reload) {
	int unused;
};

FIXTURE_SETUP(reload)
{
	const char *why = why_no_reload();

	if (why)
		SKIP(return, "%s", why);
}

FIXTURE_TEARDOWN(reload)
{
	ASSERT_EQ(0, restore_module());
}

/* Refused, and the context works on. */
static bool is_in_use(int fd)
{
	struct htwheel_event event;
	int ret = unload();

	return (ret == -EWOULDBLOCK || ret == -EBUSY) && !arm_in(fd, NS_PER_MS, 5, NULL) &&
	       !next_event(fd, &event) && event.user_data == 5;
}

TEST_F(reload, B33_refused_while_open)
{
	int fd = open_device(O_NONBLOCK);

	ASSERT_LE(0, fd);
	EXPECT_TRUE(is_in_use(fd));
	ASSERT_EQ(0, arm_in(fd, HOUR_NS, 0, NULL));
	EXPECT_TRUE(is_in_use(fd));
	close(fd);
	EXPECT_EQ(0, unload());
	EXPECT_EQ(-ENOENT, open_device(0));
	EXPECT_FALSE(is_loaded());
}

TEST_F(reload, B33_refused_while_a_child_has_it_open)
{
	int fd = open_device(O_NONBLOCK);
	int ends[2];
	char byte;
	pid_t pid;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, pipe(ends));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) != 0 || !is_in_use(fd));
	}
	close(fd);
	EXPECT_NE(0, unload());
	close(ends[1]);
	EXPECT_EQ(0, reap(pid));
	close(ends[0]);
	EXPECT_EQ(0, unload_soon());
}

TEST_F(reload, B33_refused_while_a_socket_has_it_open)
{
	char control[CMSG_SPACE(sizeof(int))] = "", byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int fd = open_device(O_NONBLOCK);
	int sockets[2];

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, arm_in(fd, HOUR_NS, 0, NULL));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	ASSERT_EQ(1, sendmsg(sockets[0], &msg, 0));
	close(fd);
	EXPECT_NE(0, unload());
	close(sockets[0]);
	close(sockets[1]);
	EXPECT_EQ(0, unload_soon());
}

TEST_F(reload, twice_is_refused)
{
	EXPECT_EQ(-EEXIST, load(parameters));
	EXPECT_TRUE(is_loaded());
}

TEST_F(reload, idle_many_times)
{
	unsigned int round, rounds = scaled(5);
	int fd;

	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, unload());
		ASSERT_EQ(0, load(parameters));
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		EXPECT_TRUE(is_in_use(fd));
		close(fd);
	}
}

/* Right after the last close, while interrupts and grace periods of its timers may be under way. */
TEST_F(reload, B33_right_after_a_close_under_fire)
{
	unsigned int round, rounds = scaled(4), cpu;
	struct ledger ledger;
	int fd;

	ASSERT_EQ(0, ledger_init(&ledger, 2000));
	for (round = 0; round < rounds; round++) {
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		for (cpu = 0; cpu < 4; cpu++) {
			ASSERT_EQ(0, pin_to(cpu));
			ASSERT_EQ(0, ledger_arm(&ledger, fd, cpu * 500, 500, 0, 3 * NS_PER_MS));
		}
		sleep_ns(round % 5 * 500 * NS_PER_US);
		close(fd);
		ASSERT_EQ(0, unload_soon());
		ASSERT_EQ(0, load(parameters));
	}
	ledger_free(&ledger);
}

/* Whether the module is there or not. */
static void try_to_open(void *arg)
{
	int fd = open_device(O_NONBLOCK);

	(void)arg;
	if (fd < 0)
		return;
	arm_in(fd, 50 * NS_PER_US, 0, NULL);
	close(fd);
	/* Or the module would hardly ever be without a user. */
	sleep_ns(200 * NS_PER_US);
}

/* Somebody opens the device all the time: each attempt to unload succeeds or is refused. */
TEST_F(reload, B33_races_open)
{
	unsigned int round, rounds = scaled(8), unloaded = 0;
	struct crew crew = { .nr = 0 };
	int i, ret;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, try_to_open, NULL));
	for (round = 0; round < rounds || !crew_has_turned(&crew); round++) {
		ret = unload();
		ASSERT_TRUE(ret == 0 || ret == -EWOULDBLOCK || ret == -EBUSY);
		if (!ret) {
			unloaded++;
			ASSERT_EQ(0, load(parameters));
		}
		sleep_ns(100 * NS_PER_US);
	}
	crew_end(&crew);
	TH_LOG("unloaded %u times of %u", unloaded, round);
}

TEST_F(reload, bad_parameter_is_refused)
{
	static const char *const bad[] = {
		"tick_shift=9", "tick_shift=31", "tick_shift=-1", "tick_shift=", "tick_shift=19x",
		"tick_shift=4294967315", "max_timers=0", "max_timers=-1", "max_timers=x",
		"max_timers=4294967297", "max_user_timers=0", "max_user_timers=-1",
		"max_user_timers=x", "max_user_timers=4294967297",
		"max_user_timers=18446744073709551616", "design=", "design=nonsense",
		"design=wheels", "design=heap tick_shift=9",
	};
	size_t i;
	int ret;

	ASSERT_EQ(0, unload());
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ret = load(bad[i]);
		/* Numbers that the kernel itself cannot read are ERANGE to it. */
		EXPECT_TRUE(ret == -EINVAL || ret == -ERANGE) {
			TH_LOG("\"%s\": %d", bad[i], ret);
		}
		EXPECT_FALSE(is_loaded());
		EXPECT_EQ(-ENOENT, open_device(0));
		if (!ret)
			unload();
	}
	EXPECT_EQ(0, load(""));
}

/* Loaded with these parameters, the module says so and works. */
static const char *try_parameters(const char *with, struct htwheel_info *info)
{
	struct htwheel_event event;
	const char *wrong = NULL;
	int fd;

	if (is_loaded() && unload())
		return "unload";
	if (load(with))
		return "load";
	fd = open_device(O_NONBLOCK);
	if (fd < 0 || device_info(fd, info))
		return "info";
	if (arm_in(fd, 1, 7, NULL) || next_event(fd, &event) || event.user_data != 7 ||
	    event.fired_ns < event.deadline_ns)
		wrong = "arm and read";
	close(fd);
	return wrong;
}

#define ASSERT_LOADS(with, info)							\
	do {										\
		const char *_wrong = try_parameters(with, info);			\
											\
		ASSERT_STREQ("nothing", _wrong ? _wrong : "nothing") {			\
			TH_LOG("parameters \"%s\"", with);				\
		}									\
	} while (0)

TEST_F(reload, defaults)
{
	struct htwheel_info info;

	ASSERT_LOADS("", &info);
	EXPECT_EQ(1ULL << 19, info.tick_ns);
	EXPECT_EQ(1048576, info.max_timers);
	EXPECT_EQ(1048576, info.max_timers_ceiling);
	EXPECT_EQ(1 << 24, info.max_user_timers);
	EXPECT_STREQ("wheel", info.design);
	EXPECT_LT(0, info.levels);
	EXPECT_LT(0, info.slots);
}

TEST_F(reload, tick_shift)
{
	struct htwheel_info info;

	ASSERT_LOADS("tick_shift=10", &info);
	EXPECT_EQ(1ULL << 10, info.tick_ns);
	ASSERT_LOADS("tick_shift=30", &info);
	EXPECT_EQ(1ULL << 30, info.tick_ns);
}

TEST_F(reload, max_timers)
{
	struct htwheel_info info;
	int fd;

	ASSERT_LOADS("max_timers=1", &info);
	EXPECT_EQ(1, info.max_timers);
	EXPECT_EQ(1, info.max_timers_ceiling);
	fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, device_setup(fd, 2));
	EXPECT_EQ(0, arm_in(fd, HOUR_NS, 0, NULL));
	EXPECT_EQ(-ENOSPC, arm_in(fd, HOUR_NS, 0, NULL));
	close(fd);
}

TEST_F(reload, max_user_timers)
{
	struct htwheel_info info;
	int fd;

	ASSERT_LOADS("max_user_timers=4294967296", &info);
	EXPECT_EQ(1ULL << 32, info.max_user_timers);
	ASSERT_LOADS("max_user_timers=1", &info);
	EXPECT_EQ(1, info.max_user_timers);
	EXPECT_EQ(1048576, info.max_timers);
	fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, arm_in(fd, HOUR_NS, 0, NULL));
	EXPECT_EQ(-EDQUOT, arm_in(fd, HOUR_NS, 0, NULL));
	close(fd);
}

TEST_F(reload, design_heap)
{
	struct htwheel_info info;
	struct ledger ledger;
	int fd;

	ASSERT_LOADS("design=heap", &info);
	EXPECT_STREQ("heap", info.design);
	EXPECT_EQ(0, info.levels);
	EXPECT_EQ(0, info.slots);
	fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ledger_init(&ledger, 3000));
	ASSERT_EQ(0, ledger_arm(&ledger, fd, 0, ledger.nr, 0, 50 * NS_PER_MS));
	ASSERT_EQ(0, ledger_drain(&ledger, fd, 0));
	EXPECT_LEDGER_RIGHT(&ledger);
	ASSERT_BOOKS_MATCH(&ledger, fd);
	close(fd);
}

TEST_HARNESS_MAIN
