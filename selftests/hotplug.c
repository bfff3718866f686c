// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs go and come back: their timers move to another CPU, and new ones work on the CPU that
 * returned.
 *
 * Needs a CPU 1 that can be taken offline; user-mode Linux has none.
 */
#include "harness.h"
#include "crew.h"
#include "ledger.h"
#include "turns.h"

#define ONLINE		"/sys/devices/system/cpu/cpu1/online"

FIXTURE(hotplug) {
	struct ledger ledger;
	struct htwheel_info info;
	uint64_t queued;
	int fd;
};

FIXTURE_VARIANT(hotplug) {
	uint32_t clock;
};

FIXTURE_VARIANT_ADD(hotplug, monotonic) {
	.clock = HTWHEEL_CLOCK_MONOTONIC,
};

/* Another engine, whose CPUs go and come as well. A guest has not slept: the two clocks agree. */
FIXTURE_VARIANT_ADD(hotplug, boottime) {
	.clock = HTWHEEL_CLOCK_BOOTTIME,
};

static int open_on_clock(uint32_t clock)
{
	int fd = open_device(O_NONBLOCK), ret;

	if (fd < 0)
		return fd;
	ret = setup_like(fd, (struct htwheel_setup){ .clock = clock });
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/* As queued_timers(), of the contexts with that clock. */
static uint64_t queued_on(uint32_t clock)
{
	struct htwheel_stats stats = { .queued = 0 };
	int fd = open_on_clock(clock);

	if (fd < 0 || device_stats(fd, &stats))
		stats.queued = UINT64_MAX;
	close(fd);
	return stats.queued;
}

static bool write_online(const char *value)
{
	int fd = open(ONLINE, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, value, 1) == 1;

	close(fd);
	return ok;
}

static bool set_online(bool online)
{
	return write_online(online ? "1" : "0");
}

/* Threads keep a mask of CPUs; the one that is left must be in it. */
static int unpin(void)
{
	cpu_set_t cpus;

	memset(&cpus, 0xff, sizeof(cpus));
	return sched_setaffinity(0, sizeof(cpus), &cpus);
}

FIXTURE_SETUP(hotplug)
{
	if (access(ONLINE, W_OK))
		SKIP(return, "CPU 1 cannot be taken offline");
	set_online(true);
	self->queued = queued_on(variant->clock);
	self->fd = open_on_clock(variant->clock);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	ASSERT_EQ(0, ledger_init(&self->ledger, scaled(20000)));
}

FIXTURE_TEARDOWN(hotplug)
{
	unpin();
	EXPECT_TRUE(set_online(true));
	close(self->fd);
	ledger_free(&self->ledger);
	EXPECT_EQ(self->queued, queued_on(variant->clock));
}

static uint32_t info_cpus(int fd)
{
	struct htwheel_info info;

	return device_info(fd, &info) ? 0 : info.cpus;
}

TEST_F(hotplug, info_counts_cpus)
{
	ASSERT_EQ(self->info.cpus, nr_cpus());
	ASSERT_TRUE(set_online(false));
	EXPECT_EQ(self->info.cpus - 1, info_cpus(self->fd));
	ASSERT_TRUE(set_online(true));
	EXPECT_EQ(self->info.cpus, info_cpus(self->fd));
}

/* Armed on the CPU that goes: near ones fire in time on another, far ones are still there. */
TEST_F(hotplug, B68_pending_timers_survive_their_cpu)
{
	struct ledger *ledger = &self->ledger;
	const uint32_t half = ledger->nr / 2;
	uint64_t left = half;
	uint32_t i;

	ASSERT_EQ(0, pin_to(1));
	ASSERT_EQ(0, ledger_arm(ledger, self->fd, 0, half, 100 * NS_PER_MS, NS_PER_S));
	ASSERT_EQ(0, ledger_arm(ledger, self->fd, half, half, HOUR_NS, HOUR_NS));
	ASSERT_EQ(0, unpin());
	ASSERT_TRUE(set_online(false));
	ASSERT_EQ(0, ledger_drain(ledger, self->fd, half));
	EXPECT_LEDGER_RIGHT(ledger);
	ASSERT_BOOKS_MATCH(ledger, self->fd);
	for (i = half; i < 2 * half; i += 1 + half / 500)
		ASSERT_EQ(0, query(self->fd, ledger->timers[i].id, NULL));

	/* And what is moved or cancelled now, wherever it went. */
	ASSERT_EQ(0, ledger_rearm(ledger, self->fd, half, half / 4, 0, 50 * NS_PER_MS));
	ASSERT_EQ(0, ledger_cancel(ledger, self->fd, half + half / 4, half / 4));
	left -= 2 * (half / 4);
	ASSERT_TRUE(set_online(true));
	ASSERT_EQ(0, ledger_drain(ledger, self->fd, left));
	EXPECT_LEDGER_RIGHT(ledger);
}

/*
 * The returned CPU's clock has been standing: its first timers must neither come early nor be
 * forgotten.
 */
TEST_F(hotplug, B66_arms_on_the_cpu_that_returned)
{
	struct ledger *ledger = &self->ledger;
	unsigned int round;

	for (round = 0; round < 4; round++) {
		ASSERT_TRUE(set_online(false));
		sleep_ns(round * 300 * NS_PER_MS);
		ASSERT_TRUE(set_online(true));
		ASSERT_EQ(0, pin_to(1));
		ASSERT_EQ(0, ledger_arm(ledger, self->fd, 0, 1, 10 * NS_PER_MS, 0));
		ASSERT_EQ(0, ledger_drain(ledger, self->fd, 0));
		ASSERT_EQ(0, ledger_arm(ledger, self->fd, 0, 2000, 0, 50 * NS_PER_MS));
		ASSERT_EQ(0, ledger_drain(ledger, self->fd, 0));
		ASSERT_EQ(0, unpin());
	}
	EXPECT_LEDGER_RIGHT(ledger);
	ASSERT_BOOKS_MATCH(ledger, self->fd);
}

/*
 * It goes while it has more due timers than a pass handles, and must not come back as "busy for
 * ever".
 */
TEST_F(hotplug, B67_offline_in_a_backlog)
{
	struct ledger *ledger = &self->ledger;
	unsigned int round;

	for (round = 0; round < 4; round++) {
		ASSERT_EQ(0, pin_to(1));
		ASSERT_EQ(0, ledger_arm(ledger, self->fd, 0, ledger->nr, 30 * NS_PER_MS, 0));
		ASSERT_EQ(0, unpin());
		sleep_ns(round * 10 * NS_PER_MS);
		ASSERT_TRUE(set_online(false));
		ASSERT_TRUE(set_online(true));
		ASSERT_EQ(0, ledger_drain(ledger, self->fd, 0));
		ASSERT_EQ(0, pin_to(1));
		ASSERT_EQ(0, ledger_arm(ledger, self->fd, 0, 10, NS_PER_MS, NS_PER_MS));
		ASSERT_EQ(0, ledger_drain(ledger, self->fd, 0));
		ASSERT_EQ(0, unpin());
	}
	EXPECT_LEDGER_RIGHT(ledger);
	ASSERT_BOOKS_MATCH(ledger, self->fd);
}

struct storm {
	struct ledger	ledger;
	unsigned int	number;
	uint32_t	at;
	int		fd;
	int		error;
};

/* Arms, moves and reads one, from whatever CPU it finds itself on. */
static void storm(void *arg)
{
	struct storm *me = arg;
	struct ledger *ledger = &me->ledger;
	uint32_t i = me->at;
	int ret;

	if (me->error)
		return;
	/* Fails while that CPU is away. */
	pin_to(me->number + i);
	i = (i + 1) % ledger->nr;
	me->at = i;
	if (ledger->timers[i].state != LEDGER_LIVE)
		me->error = ledger_arm(ledger, me->fd, i, 1, 0,
				       i % 3 ? 20 * NS_PER_MS : NS_PER_S / 5);
	else
		me->error = ledger_rearm(ledger, me->fd, i, 1, i % 50 * NS_PER_MS, 0);
	ret = ledger_read(ledger, me->fd);
	if (ret < 0)
		me->error = ret;
}

TEST_F(hotplug, B68_under_load)
{
	unsigned int round, rounds = scaled(10), i;
	struct crew crew = { .nr = 0 };
	struct storm storms[4];

	ASSERT_EQ(0, pin_to(1));
	ASSERT_EQ(0, ledger_arm(&self->ledger, self->fd, 0, self->ledger.nr, HOUR_NS, HOUR_NS));
	ASSERT_EQ(0, unpin());
	for (i = 0; i < ARRAY_SIZE(storms); i++) {
		memset(&storms[i], 0, sizeof(storms[i]));
		storms[i].number = i;
		/* Half of them on the other clock. */
		storms[i].fd = open_on_clock(i & 1);
		ASSERT_LE(0, storms[i].fd);
		ASSERT_EQ(0, ledger_init(&storms[i].ledger, 500));
		ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, storm, &storms[i]));
	}
	for (round = 0; round < rounds || !crew_has_turned(&crew); round++) {
		EXPECT_TRUE(set_online(false));
		sleep_ns(round % 4 * 10 * NS_PER_MS);
		EXPECT_TRUE(set_online(true));
		sleep_ns(round % 3 * 10 * NS_PER_MS);
	}
	crew_end(&crew);
	for (i = 0; i < ARRAY_SIZE(storms); i++) {
		EXPECT_EQ(0, storms[i].error);
		EXPECT_EQ(0, ledger_drain(&storms[i].ledger, storms[i].fd, 0));
		EXPECT_LEDGER_RIGHT(&storms[i].ledger);
		ASSERT_BOOKS_MATCH(&storms[i].ledger, storms[i].fd);
		close(storms[i].fd);
	}
	/* The far ones have travelled, and all are there. */
	EXPECT_EQ(self->queued + self->ledger.nr, queued_on(variant->clock));
	for (i = 0; i < self->ledger.nr; i += 1 + self->ledger.nr / 1000)
		ASSERT_EQ(0, cancel(self->fd, self->ledger.timers[i].id, NULL));
}

/* A periodic timer that is re-armed on CPUs which go away, with slack, keeps its beat. */
TEST_F(hotplug, B68_periodic_timers_keep_their_beat)
{
	const uint64_t period_ns = 5 * NS_PER_MS;
	struct htwheel_op op = {
		.flags = HTWHEEL_ABSOLUTE | HTWHEEL_PERIODIC,
		.policy = HTWHEEL_POLICY_COUNT,
		.time_ns = now_ns() + period_ns,
		.period_ns = period_ns,
	};
	uint64_t next_ns[2] = { op.time_ns, op.time_ns }, number;
	struct htwheel_event event;
	unsigned int round, i;

	ASSERT_EQ(0, arm_like(self->fd, op, NULL));
	op.slack_ns = period_ns;
	op.user_data = 1;
	ASSERT_EQ(0, arm_like(self->fd, op, NULL));
	for (round = 0; round < scaled(6); round++) {
		ASSERT_EQ(0, pin_to(1));
		for (i = 0; i < 10; i++) {
			ASSERT_EQ(0, next_event(self->fd, &event));
			number = event.user_data;
			ASSERT_GE(1, number);
			ASSERT_EQ(next_ns[number], event.deadline_ns);
			ASSERT_LE(event.deadline_ns, event.fired_ns);
			next_ns[number] += event.count * period_ns;
		}
		ASSERT_EQ(0, unpin());
		ASSERT_TRUE(set_online(round & 1));
	}
}

/* The wait before readers are told runs on the CPU that goes. */
TEST_F(hotplug, B68_wait_of_a_wake_up_policy)
{
	const uint32_t usecs = 300000;
	uint64_t armed_ns;
	unsigned int round;
	int fd;

	for (round = 0; round < 3; round++) {
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, setup_like(fd, (struct htwheel_setup){
			.clock = variant->clock,
			.wake_usecs = usecs,
		}));
		ASSERT_EQ(0, pin_to(1));
		armed_ns = now_ns();
		/* By the arm itself, and by a pass. */
		ASSERT_EQ(0, arm_in(fd, round * NS_PER_MS, 0, NULL));
		sleep_ns(10 * NS_PER_MS);
		ASSERT_EQ(0, unpin());
		ASSERT_TRUE(set_online(false));
		EXPECT_TRUE(wait_readable(fd));
		EXPECT_LE(armed_ns + usecs * NS_PER_US, now_ns());
		ASSERT_TRUE(set_online(true));
		close(fd);
	}
}

TEST_HARNESS_MAIN
