// SPDX-License-Identifier: GPL-2.0
/*
 * The user's limit under many threads: never passed, and nothing of it lost in the end.
 *
 * Needs HTWHEEL_KO, to load the module with a low limit.
 */
#include "harness.h"
#include "quota.h"

#define NR_THREADS	8

FIXTURE(quota) {
	int fd;
};

FIXTURE_SETUP(quota)
{
	const char *why = why_no_reload();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, load_with_limit());
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(quota)
{
	close(self->fd);
	ASSERT_EQ(0, restore_module());
}

struct worker {
	int		fd;
	unsigned int	number;
	uint32_t	armed;
	uint32_t	refused;
	uint32_t	wrong;
	/* A result that no operation should have. */
	int32_t		odd;
};

static void *arm_until_full(void *arg)
{
	struct worker *worker = arg;
	uint32_t i;
	int ret;

	pin_to(worker->number);
	for (i = 0; i < LIMIT / 2; i++) {
		ret = arm_in(worker->fd, HOUR_NS, i, NULL);
		worker->armed += !ret;
		worker->refused += ret == -EDQUOT;
		worker->wrong += user_timers(worker->fd) > LIMIT;
	}
	return NULL;
}

TEST_F(quota, threads_with_a_file_each_share_the_limit)
{
	struct worker workers[NR_THREADS];
	pthread_t threads[NR_THREADS];
	uint32_t armed = 0, refused = 0;
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){ .fd = open_device(O_NONBLOCK), .number = i };
		ASSERT_LE(0, workers[i].fd);
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, arm_until_full, &workers[i]));
	}
	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], NULL);
		armed += workers[i].armed;
		refused += workers[i].refused;
		EXPECT_EQ(0, workers[i].wrong);
	}
	TH_LOG("%u armed, %u refused", armed, refused);
	EXPECT_EQ(NR_THREADS * LIMIT / 2, armed + refused);
	EXPECT_EQ(LIMIT, armed);
	EXPECT_TRUE(is_full(self->fd));
	for (i = 0; i < NR_THREADS; i++)
		close(workers[i].fd);
	ASSERT_TRUE(wait_user_timers(self->fd, 0));
	EXPECT_TRUE(has_room_for(self->fd, LIMIT));
}

static bool is_due(const struct htwheel_op *op)
{
	return op->time_ns < NS_PER_S;
}

/*
 * Arm in batches of all sizes, some with mistakes, cancel, read, and now and then close the file
 * and open another.
 */
static void *storm(void *arg)
{
	struct worker *worker = arg;
	uint64_t seed = 42 + worker->number, ids[600];
	struct htwheel_event events[64];
	struct htwheel_op ops[200];
	uint32_t i, nr, live = 0, round;

	pin_to(worker->number);
	for (round = 0; round < scaled(300); round++) {
		nr = 1 + chance_below(&seed, 200);
		for (i = 0; i < nr; i++) {
			ops[i] = (struct htwheel_op){
				.opcode = HTWHEEL_OP_ARM, .time_ns = HOUR_NS,
			};
			if (chance_below(&seed, 4) == 0)
				ops[i].time_ns = chance_below(&seed, NS_PER_MS);
			if (chance_below(&seed, 10) == 0)
				ops[i].reserved = 1;
		}
		worker->wrong += submit_all(worker->fd, ops, nr) != 0;
		for (i = 0; i < nr; i++) {
			worker->armed += !ops[i].result;
			worker->refused += ops[i].result == -EDQUOT;
			if (ops[i].result && ops[i].result != -EDQUOT &&
			    !(ops[i].reserved && ops[i].result == -EINVAL))
				worker->odd = ops[i].result;
			if (!ops[i].result && !is_due(&ops[i]) && live < 600)
				ids[live++] = ops[i].id;
		}
		worker->wrong += user_timers(worker->fd) > LIMIT;
		while (read_events(worker->fd, events, 64) > 0)
			;
		nr = chance_below(&seed, live + 1);
		worker->wrong += cancel_many(worker->fd, ids + live - nr, nr) != nr;
		live -= nr;
		if (round % 23 == 22) {
			close(worker->fd);
			worker->fd = open_device(O_NONBLOCK);
			live = 0;
		}
	}
	return NULL;
}

/* What the files say that they hold is what the user is charged for, to the last one. */
TEST_F(quota, nothing_is_lost_or_left_over)
{
	struct worker workers[NR_THREADS];
	pthread_t threads[NR_THREADS];
	struct htwheel_stats stats;
	uint64_t live = 0, armed = 0;
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){ .fd = open_device(O_NONBLOCK), .number = i };
		ASSERT_LE(0, workers[i].fd);
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, storm, &workers[i]));
	}
	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, workers[i].wrong);
		EXPECT_EQ(0, workers[i].odd);
		armed += workers[i].armed;
		ASSERT_EQ(0, device_stats(workers[i].fd, &stats));
		live += stats.pending + stats.idle;
	}
	TH_LOG("%llu armed, %llu live in the end", (unsigned long long)armed,
	       (unsigned long long)live);
	EXPECT_LT(LIMIT, armed);
	ASSERT_TRUE(wait_user_timers(self->fd, live));
	EXPECT_TRUE(has_room_for(self->fd, LIMIT - live));
	for (i = 0; i < NR_THREADS; i++)
		close(workers[i].fd);
	ASSERT_TRUE(wait_user_timers(self->fd, 0));
	EXPECT_TRUE(has_room_for(self->fd, LIMIT));
}

/* Holders that are killed at any moment, again and again. */
TEST_F(quota, B34_killed_holders_give_back_all)
{
	unsigned int round;
	uint64_t seed = 42;
	int ends[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(ends));
	for (round = 0; round < scaled(20); round++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			struct worker worker = { .fd = open_device(O_NONBLOCK), .number = round };

			if (worker.fd < 0 || write(ends[1], "", 1) != 1)
				_exit(1);
			for (;;)
				storm(&worker);
		}
		ASSERT_EQ(1, read(ends[0], &byte, 1));
		sleep_ns(chance_below(&seed, 30 * NS_PER_MS));
		kill(pid, SIGKILL);
		ASSERT_EQ(-SIGKILL, reap(pid));
	}
	ASSERT_TRUE(wait_user_timers(self->fd, 0));
	EXPECT_TRUE(has_room_for(self->fd, LIMIT));
}

TEST_HARNESS_MAIN
