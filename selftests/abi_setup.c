// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of HTWHEEL_IOC_SETUP: what may be chosen, once, and before the first arm.
 *
 * Each test breaks one rule and keeps all others. Also built for 32-bit callers, as abi_setup32.
 */
#include "harness.h"
#include "abi.h"

#define NR_THREADS	4

FIXTURE(setup) {
	struct htwheel_info info;
	struct htwheel_setup arg;
	int fd;
};

FIXTURE_SETUP(setup)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	self->arg.size = sizeof(self->arg);
}

FIXTURE_TEARDOWN(setup)
{
	close(self->fd);
}

static int call_setup(int fd, struct htwheel_setup *arg)
{
	return device_ioctl(fd, HTWHEEL_IOC_SETUP, arg);
}

/* The limit that holds now, 0 if the call fails. */
static uint64_t limit_of(int fd)
{
	struct htwheel_info info;

	return device_info(fd, &info) ? 0 : info.max_timers;
}

TEST_F(setup, defaults_are_accepted_and_the_argument_is_left)
{
	struct htwheel_setup before = self->arg;

	EXPECT_EQ(0, call_setup(self->fd, &self->arg));
	EXPECT_EQ(0, memcmp(&before, &self->arg, sizeof(before)));
	EXPECT_EQ(self->info.max_timers, limit_of(self->fd));
}

TEST_F(setup, B57_unknown_clock_is_EINVAL)
{
	const uint32_t clocks[] = { 3, 4, 0x100, 0x10000, 0x80000000, UINT32_MAX };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		self->arg.clock = clocks[i];
		EXPECT_EQ(-EINVAL, call_setup(self->fd, &self->arg)) {
			TH_LOG("clock %#x", clocks[i]);
		}
	}
}

TEST_F(setup, boottime_if_it_is_there)
{
	const bool there = self->info.features & HTWHEEL_FEAT_BOOTTIME;

	self->arg.clock = HTWHEEL_CLOCK_BOOTTIME;
	EXPECT_EQ(there ? 0 : -EOPNOTSUPP, call_setup(self->fd, &self->arg));
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	EXPECT_EQ(there ? HTWHEEL_CLOCK_BOOTTIME : HTWHEEL_CLOCK_MONOTONIC, self->info.clock);
}

/* Above 1 event, the last ones could wait for ever. */
TEST_F(setup, number_of_events_without_a_time_is_EINVAL)
{
	const uint32_t numbers[] = { 2, 3, 0x100, 0x10000, 0x80000000, UINT32_MAX };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		self->arg.wake_events = numbers[i];
		EXPECT_EQ(-EINVAL, call_setup(self->fd, &self->arg)) {
			TH_LOG("%u events", numbers[i]);
		}
	}
	self->arg.wake_events = 1;
	EXPECT_EQ(0, call_setup(self->fd, &self->arg));
}

/* INFO says what was given, whether it is the default in disguise or not. */
TEST_F(setup, wake_up_policies)
{
	const uint32_t events[] = { 0, 1, 2, 1000, UINT32_MAX };
	const uint32_t usecs[] = { 0, 1, 1000, 60000000, UINT32_MAX };
	struct htwheel_info info;
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(events) * ARRAY_SIZE(usecs); i++) {
		self->arg.wake_events = events[i % ARRAY_SIZE(events)];
		self->arg.wake_usecs = usecs[i / ARRAY_SIZE(events)];
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		if (self->arg.wake_events > 1 && !self->arg.wake_usecs) {
			EXPECT_EQ(-EINVAL, call_setup(fd, &self->arg));
			self->arg.wake_events = 0;
		}
		EXPECT_EQ(0, call_setup(fd, &self->arg)) {
			TH_LOG("%u events, %u us", self->arg.wake_events, self->arg.wake_usecs);
		}
		ASSERT_EQ(0, device_info(fd, &info));
		EXPECT_EQ(self->arg.wake_events, info.wake_events);
		EXPECT_EQ(self->arg.wake_usecs, info.wake_usecs);
		close(fd);
	}
}

/* What an older program leaves out is 0; what it has in part counts as far as it goes. */
TEST_F(setup, shorter_argument_has_no_more_than_it_has)
{
	struct htwheel_info info;
	uint32_t size;
	int fd;

	for (size = HTWHEEL_SETUP_V1; size <= sizeof(self->arg); size++) {
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		memset(&self->arg, JUNK, sizeof(self->arg));
		self->arg.size = size;
		self->arg.flags = 0;
		self->arg.clock = HTWHEEL_CLOCK_MONOTONIC;
		self->arg.reserved = 0;
		/* Zeros mean the same as what is not there. */
		memset(&self->arg.tick_ns, size & 1 ? JUNK : 0, sizeof(self->arg) -
		       offsetof(struct htwheel_setup, tick_ns));
		if (size > offsetof(struct htwheel_setup, tick_ns))
			memset(&self->arg.tick_ns, 0, size -
			       offsetof(struct htwheel_setup, tick_ns));
		self->arg.max_timers = 7;
		/* Its lowest byte comes first on all machines that run the tests. */
		self->arg.wake_events = 1;
		if (size < offsetof(struct htwheel_setup, wake_usecs))
			memset(&self->arg.wake_usecs, JUNK, sizeof(self->arg.wake_usecs));
		else
			self->arg.wake_usecs = 0x01010101;
		EXPECT_EQ(0, call_setup(fd, &self->arg)) {
			TH_LOG("size %u", size);
		}
		ASSERT_EQ(0, device_info(fd, &info));
		EXPECT_EQ(7, info.max_timers);
		EXPECT_EQ(size > HTWHEEL_SETUP_V1, info.wake_events);
		if (size <= offsetof(struct htwheel_setup, wake_usecs))
			EXPECT_EQ(0, info.wake_usecs);
		if (size >= offsetof(struct htwheel_setup, tick_ns))
			EXPECT_EQ(0x01010101, info.wake_usecs);
		EXPECT_EQ(0, info.setup);
		close(fd);
	}
}

TEST_F(setup, argument_of_v1_makes_a_file_that_is_readable_at_once)
{
	self->arg.size = HTWHEEL_SETUP_V1;
	self->arg.wake_events = 1000;
	self->arg.wake_usecs = UINT32_MAX;
	ASSERT_EQ(0, call_setup(self->fd, &self->arg));
	ASSERT_EQ(0, arm_at(self->fd, 0, 0, NULL));
	EXPECT_TRUE(is_readable(self->fd));
}

TEST_F(setup, B57_reserved_is_EINVAL)
{
	unsigned int bit;

	for (bit = 0; bit < 32; bit++) {
		self->arg.reserved = 1U << bit;
		EXPECT_EQ(-EINVAL, call_setup(self->fd, &self->arg)) {
			TH_LOG("bit %u", bit);
		}
		self->arg.reserved = 0;
		self->arg.reserved2 = 1U << bit;
		EXPECT_EQ(-EINVAL, call_setup(self->fd, &self->arg)) {
			TH_LOG("bit %u", bit);
		}
		self->arg.flags ^= HTWHEEL_SETUP_PRIVATE;
		EXPECT_EQ(-EINVAL, call_setup(self->fd, &self->arg));
		self->arg.reserved2 = 0;
		self->arg.reserved3 = 1U << bit;
		EXPECT_EQ(-EINVAL, call_setup(self->fd, &self->arg));
		self->arg.reserved3 = 0;
	}
}

TEST_F(setup, B60_max_timers_above_the_ceiling_is_EINVAL)
{
	const uint64_t ceiling = self->info.max_timers_ceiling;
	const uint64_t limits[] = {
		ceiling + 1, 1ULL << 32, (1ULL << 32) + 1, 1ULL << 58, 1ULL << 62, INT64_MAX,
		1ULL << 63, UINT64_MAX - 1, UINT64_MAX,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		if (limits[i] <= ceiling)
			continue;
		self->arg.max_timers = limits[i];
		EXPECT_EQ(-EINVAL, call_setup(self->fd, &self->arg)) {
			TH_LOG("limit %llu", (unsigned long long)limits[i]);
		}
	}
	EXPECT_EQ(self->info.max_timers, limit_of(self->fd));
}

TEST_F(setup, max_timers_from_one_to_the_ceiling)
{
	const uint64_t limits[] = { 1, 2, 1000, self->info.max_timers_ceiling };
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		if (limits[i] > self->info.max_timers_ceiling)
			continue;
		fd = open_device(0);
		ASSERT_LE(0, fd);
		EXPECT_EQ(0, device_setup(fd, limits[i]));
		EXPECT_EQ(limits[i], limit_of(fd));
		close(fd);
	}
	EXPECT_EQ(self->info.max_timers, limit_of(self->fd));
}

TEST_F(setup, twice_is_EBUSY)
{
	EXPECT_EQ(0, device_setup(self->fd, 1));
	EXPECT_EQ(-EBUSY, device_setup(self->fd, 1));
	EXPECT_EQ(-EBUSY, device_setup(self->fd, 0));
	EXPECT_EQ(1, limit_of(self->fd));
}

TEST_F(setup, after_the_first_arm_is_EBUSY)
{
	uint64_t id;

	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &id));
	EXPECT_EQ(-EBUSY, device_setup(self->fd, 1));
	ASSERT_EQ(0, cancel(self->fd, id, NULL));
	EXPECT_EQ(-EBUSY, device_setup(self->fd, 1));
	EXPECT_EQ(self->info.max_timers, limit_of(self->fd));
}

TEST_F(setup, after_other_calls_than_arm_is_accepted)
{
	struct htwheel_event event;
	struct htwheel_stats stats;
	struct htwheel_submit sub;

	EXPECT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
	EXPECT_FALSE(is_readable(self->fd));
	EXPECT_EQ(0, device_submit(self->fd, &sub, NULL, 0));
	EXPECT_EQ(-ENOENT, query(self->fd, 1, NULL));
	EXPECT_EQ(-EINVAL, arm_at(self->fd, UINT64_MAX, 0, NULL));
	EXPECT_EQ(0, device_setup(self->fd, 1));
}

TEST_F(setup, failure_changes_nothing_and_may_be_repeated)
{
	struct htwheel_setup wrong = { .size = sizeof(wrong), .max_timers = 1 };

	wrong.reserved = 1;
	EXPECT_EQ(-EINVAL, call_setup(self->fd, &wrong));
	wrong.reserved = 0;
	wrong.flags = 4;
	EXPECT_EQ(-EINVAL, call_setup(self->fd, &wrong));
	wrong.flags = 0;
	wrong.clock = UINT32_MAX;
	EXPECT_EQ(-EINVAL, call_setup(self->fd, &wrong));
	EXPECT_EQ(self->info.max_timers, limit_of(self->fd));

	EXPECT_EQ(0, device_setup(self->fd, 3));
	EXPECT_EQ(3, limit_of(self->fd));
}

TEST_F(setup, belongs_to_one_context)
{
	int other = open_device(0);

	ASSERT_LE(0, other);
	EXPECT_EQ(0, device_setup(self->fd, 1));
	EXPECT_EQ(self->info.max_timers, limit_of(other));
	EXPECT_EQ(0, device_setup(other, 2));
	EXPECT_EQ(1, limit_of(self->fd));
	close(other);
}

struct setup_race {
	pthread_barrier_t	barrier;
	int			fd;
	int			succeeded;
	int			busy;
	int			other;
};

static void *race_setup(void *arg)
{
	struct setup_race *race = arg;
	int ret;

	pthread_barrier_wait(&race->barrier);
	ret = device_setup(race->fd, 1);
	__atomic_add_fetch(!ret ? &race->succeeded : ret == -EBUSY ? &race->busy : &race->other, 1,
			   __ATOMIC_RELAXED);
	return NULL;
}

static void *race_arm(void *arg)
{
	struct setup_race *race = arg;

	pthread_barrier_wait(&race->barrier);
	if (arm_in(race->fd, HOUR_NS, 0, NULL))
		__atomic_add_fetch(&race->other, 1, __ATOMIC_RELAXED);
	return NULL;
}

static int run_race(struct setup_race *race, void *(*odd)(void *))
{
	pthread_t threads[NR_THREADS];
	int i;

	race->succeeded = 0;
	race->busy = 0;
	race->other = 0;
	race->fd = open_device(0);
	if (race->fd < 0 || pthread_barrier_init(&race->barrier, NULL, NR_THREADS))
		return -1;
	for (i = 0; i < NR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, i ? race_setup : odd, race))
			return -1;
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&race->barrier);
	close(race->fd);
	return 0;
}

TEST_F(setup, of_many_at_once_exactly_one_succeeds)
{
	unsigned long rounds = scaled(20);
	struct setup_race race;

	while (rounds--) {
		ASSERT_EQ(0, run_race(&race, race_setup));
		ASSERT_EQ(1, race.succeeded);
		ASSERT_EQ(NR_THREADS - 1, race.busy);
	}
}

TEST_F(setup, racing_the_first_arm_succeeds_at_most_once)
{
	unsigned long rounds = scaled(20);
	struct setup_race race;

	while (rounds--) {
		ASSERT_EQ(0, run_race(&race, race_arm));
		ASSERT_EQ(0, race.other);
		ASSERT_GE(1, race.succeeded);
		ASSERT_EQ(NR_THREADS - 1, race.succeeded + race.busy);
	}
}

TEST_HARNESS_MAIN
