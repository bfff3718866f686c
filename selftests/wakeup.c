// SPDX-License-Identifier: GPL-2.0
/*
 * Who waits is woken: blocked readers, several of them, and while events come and are withdrawn.
 */
#include <signal.h>

#include "harness.h"
#include "crew.h"

#define MAX_READERS	4
#define MAX_TIMERS	4096

/* The user_data of an event that only ends the wait of a reader who has nothing more to read. */
#define SENTINEL	UINT64_MAX

/* Events of one file, as several readers share them. */
struct shared_reads {
	int		fd;
	/* Those that have come so far, in their order. */
	pid_t		readers[MAX_READERS];
	uint32_t	nr_readers;
	uint32_t	running;
	uint32_t	wanted;
	uint32_t	taken;
	uint32_t	wrong;
	uint8_t		seen[MAX_TIMERS];
};

FIXTURE(wakeup) {
	struct shared_reads reads;
	pthread_t threads[MAX_READERS];
};

FIXTURE_SETUP(wakeup)
{
	self->reads.fd = open_device(0);
	ASSERT_LE(0, self->reads.fd);
}

FIXTURE_TEARDOWN(wakeup)
{
	close(self->reads.fd);
}

static void note_events(struct shared_reads *reads, const struct htwheel_event *events, int nr)
{
	uint64_t read_ns = now_ns();
	int i, taken = 0;

	for (i = 0; i < nr; i++) {
		if (events[i].user_data == SENTINEL)
			continue;
		taken++;
		if (events[i].user_data >= MAX_TIMERS || events[i].deadline_ns > read_ns ||
		    events[i].fired_ns < events[i].deadline_ns ||
		    __atomic_fetch_add(&reads->seen[events[i].user_data], 1, __ATOMIC_RELAXED))
			__atomic_add_fetch(&reads->wrong, 1, __ATOMIC_RELAXED);
	}
	__atomic_add_fetch(&reads->taken, taken, __ATOMIC_RELEASE);
}

static void say_who_reads(struct shared_reads *reads)
{
	uint32_t number = __atomic_fetch_add(&reads->nr_readers, 1, __ATOMIC_RELAXED);

	__atomic_store_n(&reads->readers[number % MAX_READERS], gettid(), __ATOMIC_RELEASE);
}

/* Block for one event, once. */
static void *read_one(void *arg)
{
	struct shared_reads *reads = arg;
	struct htwheel_event event;
	int nr;

	say_who_reads(reads);
	nr = read_events(reads->fd, &event, 1);
	if (nr != 1)
		__atomic_add_fetch(&reads->wrong, 1, __ATOMIC_RELAXED);
	else
		note_events(reads, &event, 1);
	return NULL;
}

/* Block for a few events at a time, until all have been taken by somebody. */
static void *read_many(void *arg)
{
	struct shared_reads *reads = arg;
	struct htwheel_event events[3];
	int nr;

	while (__atomic_load_n(&reads->taken, __ATOMIC_ACQUIRE) < reads->wanted) {
		nr = read_events(reads->fd, events, ARRAY_SIZE(events));
		if (nr > 0)
			note_events(reads, events, nr);
		else
			__atomic_add_fetch(&reads->wrong, 1, __ATOMIC_RELAXED);
	}
	__atomic_sub_fetch(&reads->running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static bool wait_taken(struct shared_reads *reads, uint32_t wanted)
{
	uint64_t end_ns = now_ns() + patience_ns();

	while (__atomic_load_n(&reads->taken, __ATOMIC_ACQUIRE) < wanted) {
		if (now_ns() > end_ns)
			return false;
		sleep_ns(100 * NS_PER_US);
	}
	return true;
}

/* Start readers and wait until all of them are blocked. */
static bool start_readers(FIXTURE_DATA(wakeup) *self, void *(*body)(void *arg), uint32_t nr)
{
	struct shared_reads *reads = &self->reads;
	uint32_t i;

	memset(reads->readers, 0, sizeof(reads->readers));
	reads->nr_readers = 0;
	for (i = 0; i < nr; i++)
		if (pthread_create(&self->threads[i], NULL, body, reads))
			return false;
	for (i = 0; i < nr; i++)
		if (!wait_asleep(&reads->readers[i]))
			return false;
	return true;
}

TEST_F(wakeup, blocked_reader)
{
	struct shared_reads *reads = &self->reads;

	ASSERT_TRUE(start_readers(self, read_one, 1));
	ASSERT_EQ(0, arm_in(reads->fd, 30 * NS_PER_MS, 0, NULL));
	ASSERT_TRUE(wait_taken(reads, 1));
	pthread_join(self->threads[0], NULL);
	EXPECT_EQ(0, reads->wrong);
}

/* By an arm in the past, which no pass sees, and by a re-arm. */
TEST_F(wakeup, blocked_reader_by_another_thread_s_call)
{
	struct shared_reads *reads = &self->reads;
	uint64_t id;

	ASSERT_TRUE(start_readers(self, read_one, 1));
	ASSERT_EQ(0, arm_in(reads->fd, 0, 0, NULL));
	ASSERT_TRUE(wait_taken(reads, 1));
	pthread_join(self->threads[0], NULL);

	ASSERT_EQ(0, arm_in(reads->fd, HOUR_NS, 1, &id));
	ASSERT_TRUE(start_readers(self, read_one, 1));
	ASSERT_EQ(0, rearm_in(reads->fd, id, 0));
	ASSERT_TRUE(wait_taken(reads, 2));
	pthread_join(self->threads[0], NULL);
	EXPECT_EQ(0, reads->wrong);
}

static void *poll_one(void *arg)
{
	struct shared_reads *reads = arg;

	say_who_reads(reads);
	if (!wait_readable(reads->fd))
		reads->wrong++;
	__atomic_add_fetch(&reads->taken, 1, __ATOMIC_RELEASE);
	return NULL;
}

TEST_F(wakeup, blocked_poller)
{
	struct shared_reads *reads = &self->reads;

	ASSERT_TRUE(start_readers(self, poll_one, 1));
	ASSERT_EQ(0, arm_in(reads->fd, 0, 0, NULL));
	ASSERT_TRUE(wait_taken(reads, 1));
	pthread_join(self->threads[0], NULL);
	EXPECT_EQ(0, reads->wrong);
}

/*
 * Each takes one event of the same moment: a wake-up that stops at the first leaves three asleep.
 */
TEST_F(wakeup, as_many_blocked_readers_as_events)
{
	struct shared_reads *reads = &self->reads;
	unsigned int round, rounds = scaled(20);
	struct htwheel_op ops[MAX_READERS];
	uint64_t deadline_ns;
	size_t i;

	for (round = 0; round < rounds; round++) {
		memset(reads->seen, 0, sizeof(reads->seen));
		reads->taken = 0;
		ASSERT_TRUE(start_readers(self, read_one, MAX_READERS));
		deadline_ns = round & 1 ? 0 : now_ns() + NS_PER_MS;
		for (i = 0; i < MAX_READERS; i++)
			ops[i] = (struct htwheel_op){
				.opcode = HTWHEEL_OP_ARM,
				.flags = HTWHEEL_ABSOLUTE,
				.time_ns = deadline_ns,
				.user_data = i,
			};
		ASSERT_EQ(0, submit_all(reads->fd, ops, MAX_READERS));
		ASSERT_TRUE(wait_taken(reads, MAX_READERS));
		for (i = 0; i < MAX_READERS; i++)
			pthread_join(self->threads[i], NULL);
		ASSERT_EQ(0, reads->wrong);
	}
}

/* One event, two readers: one gets it, the other goes on waiting, for the next. */
TEST_F(wakeup, reader_that_comes_too_late_waits_on)
{
	struct shared_reads *reads = &self->reads;

	ASSERT_TRUE(start_readers(self, read_one, 2));
	ASSERT_EQ(0, arm_in(reads->fd, NS_PER_MS, 0, NULL));
	ASSERT_TRUE(wait_taken(reads, 1));
	sleep_ns(10 * NS_PER_MS);
	EXPECT_EQ(1, __atomic_load_n(&reads->taken, __ATOMIC_ACQUIRE));
	ASSERT_EQ(0, arm_in(reads->fd, NS_PER_MS, 1, NULL));
	ASSERT_TRUE(wait_taken(reads, 2));
	pthread_join(self->threads[0], NULL);
	pthread_join(self->threads[1], NULL);
	EXPECT_EQ(0, reads->wrong);
}

/* Readers that block share all events: none is lost, none comes twice. */
TEST_F(wakeup, two_readers_share_events)
{
	const uint32_t nr = MAX_TIMERS;
	struct shared_reads *reads = &self->reads;
	struct htwheel_op ops[BATCH];
	uint32_t first, i, batch;

	reads->wanted = nr;
	reads->running = 2;
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&self->threads[i], NULL, read_many, reads));
	for (first = 0; first < nr; first += batch) {
		batch = nr - first < BATCH ? nr - first : BATCH;
		for (i = 0; i < batch; i++)
			ops[i] = (struct htwheel_op){
				.opcode = HTWHEEL_OP_ARM,
				.time_ns = (first + i) * 37 % 100 * NS_PER_US * 100,
				.user_data = first + i,
			};
		ASSERT_EQ(0, submit_all(reads->fd, ops, batch));
	}
	ASSERT_TRUE(wait_taken(reads, nr));
	/* A reader that was late finds nothing and would wait for ever. */
	while (__atomic_load_n(&reads->running, __ATOMIC_ACQUIRE)) {
		ASSERT_EQ(0, arm_in(reads->fd, 0, SENTINEL, NULL));
		sleep_ns(NS_PER_MS);
	}
	for (i = 0; i < 2; i++)
		pthread_join(self->threads[i], NULL);
	EXPECT_EQ(0, reads->wrong);
	for (i = 0; i < nr; i++)
		ASSERT_EQ(1, reads->seen[i]);
}

/*
 * A blocked reader, and events that are withdrawn before it gets there: it may miss them, but it
 * never returns without an event, never returns one that was withdrawn, and is not left asleep in
 * the end.
 */
TEST_F(wakeup, withdrawn_events_do_not_confuse_a_blocked_reader)
{
	const uint32_t nr = MAX_TIMERS / 2;
	struct shared_reads *reads = &self->reads;
	uint8_t withdrawn[MAX_TIMERS / 2] = { 0 };
	uint64_t id;
	uint32_t i;
	int ret;

	reads->wanted = nr + 1;
	ASSERT_EQ(0, pthread_create(&self->threads[0], NULL, read_many, reads));
	for (i = 0; i < nr; i++) {
		ASSERT_EQ(0, arm_in(reads->fd, i % 3 * 20 * NS_PER_US, i, &id));
		ret = cancel(reads->fd, id, NULL);
		withdrawn[i] = ret >= 0;
		ASSERT_TRUE(ret == 0 || ret == HTWHEEL_RES_FIRED || ret == -ENOENT);
		if (withdrawn[i])
			__atomic_add_fetch(&reads->taken, 1, __ATOMIC_RELEASE);
	}
	ASSERT_TRUE(wait_taken(reads, nr));
	ASSERT_EQ(0, arm_in(reads->fd, 0, nr, NULL));
	pthread_join(self->threads[0], NULL);
	EXPECT_EQ(0, reads->wrong);
	EXPECT_EQ(1, reads->seen[nr]);
	for (i = 0; i < nr; i++)
		ASSERT_EQ(1, withdrawn[i] + reads->seen[i]);
}

/* The descriptor goes while a reader is blocked in it: the file stays until that reader is done. */
TEST_F(wakeup, descriptor_closed_under_a_blocked_reader)
{
	struct shared_reads *reads = &self->reads;
	int fd = reads->fd;

	ASSERT_TRUE(start_readers(self, read_one, 1));
	ASSERT_EQ(0, arm_in(fd, NS_PER_S / 2, 0, NULL));
	close(fd);
	ASSERT_TRUE(wait_taken(reads, 1));
	pthread_join(self->threads[0], NULL);
	EXPECT_EQ(0, reads->wrong);
}

TEST_HARNESS_MAIN
