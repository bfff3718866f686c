// SPDX-License-Identifier: GPL-2.0
/*
 * Many private engines at once, their end in every way, and CPUs that go and come below them.
 */
#include <signal.h>

#include "harness.h"
#include "lab.h"

#define NR_ENGINES	200U

/* Rounds of a memory test, after the first, which fill caches; and how much they may not lose. */
#define FIRST_ROUNDS	3U
#define NR_ROUNDS	(FIRST_ROUNDS + 12U)
#define MAX_LOSS	(60ULL << 20)

#define ONLINE		"/sys/devices/system/cpu/cpu1/online"

FIXTURE(crowd) {
	struct htwheel_design rows[MAX_ROWS];
	int fds[NR_ENGINES];
	int nr;
};

FIXTURE_SETUP(crowd)
{
	self->nr = read_designs(self->rows, MAX_ROWS);
	ASSERT_LE(1, self->nr);
}

FIXTURE_TEARDOWN(crowd)
{
}

/* All designs, all clocks, each with timers that come soon and timers that do not. */
static int open_crowd(FIXTURE_DATA(crowd) *self)
{
	unsigned int i, k;
	int ret = 0;

	for (i = 0; i < NR_ENGINES && ret >= 0; i++) {
		struct htwheel_setup setup = setup_of_row(&self->rows[i % self->nr]);

		setup.clock = i / self->nr % 3;
		self->fds[i] = open_with(setup);
		ret = self->fds[i];
		for (k = 0; k < 20 && ret >= 0; k++)
			ret = arm_in(self->fds[i], k & 1 ? HOUR_NS : k * NS_PER_MS, k, NULL);
	}
	return ret < 0 ? ret : 0;
}

TEST_F(crowd, closed_with_timers_pending)
{
	struct htwheel_event event;
	unsigned int round, i;

	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, open_crowd(self));
		for (i = 0; i < NR_ENGINES; i++) {
			/* Those of a manual clock have one that is due right away. */
			ASSERT_EQ(0, next_event(self->fds[i], &event));
			EXPECT_LE(event.deadline_ns, event.fired_ns);
		}
		for (i = 0; i < NR_ENGINES; i++)
			close(self->fds[i]);
	}
}

/* What all of them held comes back, again and again. */
TEST_F(crowd, B34_killed_with_timers_pending)
{
	uint64_t before = 0, after, end_ns;
	unsigned int round;
	int ends[2];
	char byte;
	pid_t pid;

	for (round = 0; round < NR_ROUNDS; round++) {
		if (round == FIRST_ROUNDS)
			before = meminfo("MemAvailable");
		ASSERT_EQ(0, pipe(ends));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			if (open_crowd(self) || write(ends[1], "", 1) != 1)
				_exit(1);
			for (;;)
				pause();
		}
		close(ends[1]);
		EXPECT_EQ(1, read(ends[0], &byte, 1));
		close(ends[0]);
		sleep_ns(round % 6 * NS_PER_MS);
		kill(pid, SIGKILL);
		EXPECT_EQ(-SIGKILL, reap(pid));
	}
	/*
	 * Twelve rounds of some ten megabytes, freed a little later. What the kernel keeps for
	 * itself goes up and down by twenty.
	 */
	end_ns = now_ns() + patience_ns();
	do {
		sleep_ns(10 * NS_PER_MS);
		after = meminfo("MemAvailable");
	} while (after + MAX_LOSS <= before && now_ns() < end_ns);
	TH_LOG("%lld KiB less", (long long)(before - after) / 1024);
	EXPECT_GT(after + MAX_LOSS, before);
}

struct setup_racer {
	struct htwheel_setup	setup;
	int			fd;
	int			succeeded;
	int			busy;
};

static void *race_setup(void *arg)
{
	struct setup_racer *racer = arg;
	int ret = setup_like(racer->fd, racer->setup);

	racer->succeeded = !ret;
	racer->busy = ret == -EBUSY;
	return NULL;
}

/* Of several SETUPs at once one succeeds; the engines of the others are gone without a trace. */
TEST_F(crowd, setups_that_race)
{
	struct setup_racer racers[4];
	struct htwheel_info info;
	pthread_t threads[4];
	unsigned int round, i;
	int fd;

	for (round = 0; round < scaled(30); round++) {
		int succeeded = 0, busy = 0;

		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		for (i = 0; i < 4; i++) {
			racers[i] = (struct setup_racer){
				.setup = setup_of_row(&self->rows[(round + i) % self->nr]),
				.fd = fd,
			};
			racers[i].setup.clock = i % 3;
			ASSERT_EQ(0, pthread_create(&threads[i], NULL, race_setup, &racers[i]));
		}
		for (i = 0; i < 4; i++) {
			pthread_join(threads[i], NULL);
			succeeded += racers[i].succeeded;
			busy += racers[i].busy;
		}
		EXPECT_EQ(1, succeeded);
		EXPECT_EQ(3, busy);
		for (i = 0; i < 4; i++) {
			if (!racers[i].succeeded)
				continue;
			ASSERT_EQ(0, device_info(fd, &info));
			EXPECT_EQ(racers[i].setup.clock, info.clock);
			EXPECT_EQ(0, memcmp(info.design, racers[i].setup.design,
					    sizeof(info.design)));
		}
		EXPECT_EQ(0, arm_in(fd, HOUR_NS, 0, NULL));
		close(fd);
	}
}

static bool set_online(bool online)
{
	int fd = open(ONLINE, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, online ? "1" : "0", 1) == 1;

	close(fd);
	return ok;
}

/* Threads keep a mask of CPUs; the one that is left must be in it. */
static void unpin(void)
{
	cpu_set_t cpus;

	memset(&cpus, 0xff, sizeof(cpus));
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

/* Private engines are told of CPUs as the shared ones are: timers move, and none is lost. */
TEST_F(crowd, B66_B68_a_cpu_goes_and_comes)
{
	const struct htwheel_design *row;
	struct htwheel_event event;
	struct htwheel_info info;
	unsigned int k;
	int i, fd;

	if (access(ONLINE, W_OK))
		SKIP(return, "CPU 1 cannot be taken offline");
	for (i = 0; i < self->nr; i++) {
		self->fds[i] = open_with(setup_of_row(&self->rows[i]));
		ASSERT_LE(0, self->fds[i]);
		ASSERT_EQ(0, pin_to(1));
		for (k = 0; k < 200; k++)
			ASSERT_EQ(0, arm_in(self->fds[i], k & 1 ? HOUR_NS : k * NS_PER_MS, k,
					    NULL));
	}
	unpin();
	ASSERT_TRUE(set_online(false));
	/* One that is made while the CPU is away. */
	fd = open_with(setup_of_row(&self->rows[0]));
	EXPECT_LE(0, fd);
	for (i = 0; i < self->nr; i++) {
		row = &self->rows[i];
		ROW_EQ(0, device_info(self->fds[i], &info));
		EXPECT_EQ(nr_cpus(), info.cpus);
		for (k = 0; k < 100; k++) {
			ASSERT_EQ(0, next_event(self->fds[i], &event)) {
				TH_LOG("design %s, event %u", row_text(row), k);
				set_online(true);
			}
			EXPECT_LE(event.deadline_ns, event.fired_ns);
		}
	}
	ASSERT_TRUE(set_online(true));
	ASSERT_EQ(0, pin_to(1));
	for (i = 0; i < self->nr; i++) {
		row = &self->rows[i];
		ROW_EQ(0, device_info(self->fds[i], &info));
		EXPECT_EQ(nr_cpus(), info.cpus);
		ROW_EQ(0, arm_in(self->fds[i], NS_PER_MS, 1000, NULL));
		ROW_EQ(0, next_event(self->fds[i], &event));
		ROW_EQ(1000, event.user_data);
		close(self->fds[i]);
	}
	EXPECT_EQ(0, arm_in(fd, NS_PER_MS, 1000, NULL));
	EXPECT_EQ(0, next_event(fd, &event));
	close(fd);
	unpin();
}

TEST_HARNESS_MAIN
