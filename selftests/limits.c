// SPDX-License-Identifier: GPL-2.0
/*
 * The context's limit: reached exactly, freed one by one, and nobody else's concern.
 */
#include "harness.h"
#include "ledger.h"
#include "many.h"

FIXTURE(limit) {
	struct ledger ledger;
	uint32_t limit;
	int fd;
};

FIXTURE_VARIANT(limit) {
	uint32_t limit;
};

/* Around what a pool may grow by. */
FIXTURE_VARIANT_ADD(limit, of_1) { .limit = 1, };
FIXTURE_VARIANT_ADD(limit, of_63) { .limit = 63, };
FIXTURE_VARIANT_ADD(limit, of_64) { .limit = 64, };
FIXTURE_VARIANT_ADD(limit, of_1000) { .limit = 1000, };
FIXTURE_VARIANT_ADD(limit, of_4097) { .limit = 4097, };

FIXTURE_SETUP(limit)
{
	struct htwheel_info info;

	self->limit = variant->limit;
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &info));
	if (info.max_timers_ceiling < variant->limit)
		SKIP(return, "the module's ceiling is lower");
	ASSERT_EQ(0, device_setup(self->fd, variant->limit));
	ASSERT_EQ(0, ledger_init(&self->ledger, 2 * variant->limit + 2));
	ASSERT_EQ(0, ledger_arm(&self->ledger, self->fd, 0, self->limit, HOUR_NS, HOUR_NS));
}

FIXTURE_TEARDOWN(limit)
{
	ledger_free(&self->ledger);
	close(self->fd);
}

static bool is_full(FIXTURE_DATA(limit) *self)
{
	struct htwheel_stats stats;
	uint64_t id;

	return arm_in(self->fd, HOUR_NS, 0, &id) == -ENOSPC && id == 0 &&
	       arm_at(self->fd, 0, 0, &id) == -ENOSPC && id == 0 && !is_readable(self->fd) &&
	       !device_stats(self->fd, &stats) && stats.pending == self->limit &&
	       stats.peak == self->limit;
}

TEST_F(limit, B59_full_is_ENOSPC)
{
	EXPECT_TRUE(is_full(self));
	ASSERT_BOOKS_MATCH(&self->ledger, self->fd);
}

TEST_F(limit, after_one_cancel_exactly_one_more)
{
	struct ledger *ledger = &self->ledger;

	ASSERT_EQ(0, ledger_cancel(ledger, self->fd, self->limit / 2, 1));
	ASSERT_EQ(0, ledger_arm(ledger, self->fd, self->limit, 1, HOUR_NS, 0));
	EXPECT_TRUE(is_full(self));
	ASSERT_BOOKS_MATCH(ledger, self->fd);
}

/* An event that waits to be read is a timer that lives. */
TEST_F(limit, after_one_event_was_read_exactly_one_more)
{
	struct htwheel_event event;
	uint64_t id;

	ASSERT_EQ(0, rearm_in(self->fd, self->ledger.timers[0].id, 0));
	ASSERT_TRUE(is_readable(self->fd));
	ASSERT_EQ(-ENOSPC, arm_in(self->fd, HOUR_NS, 0, &id));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &id));
	EXPECT_TRUE(is_full(self));
}

/* One that is kept is a timer, whether it has a deadline or not. */
TEST_F(limit, idle_timers_count)
{
	struct htwheel_op op = {
		.opcode = HTWHEEL_OP_ARM, .flags = HTWHEEL_ABSOLUTE | HTWHEEL_KEEP,
	};
	struct htwheel_event event;
	struct htwheel_stats stats;

	ASSERT_EQ(0, cancel(self->fd, self->ledger.timers[0].id, NULL));
	ASSERT_EQ(0, submit_one(self->fd, &op));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	ASSERT_EQ(HTWHEEL_EVENT_LIVE, event.flags);
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(1, stats.idle);
	EXPECT_EQ(self->limit - 1, stats.pending);
	EXPECT_EQ(self->limit, stats.peak);
	EXPECT_EQ(-ENOSPC, arm_in(self->fd, HOUR_NS, 0, NULL));
	ASSERT_EQ(0, rearm_in(self->fd, op.id, HOUR_NS));
	EXPECT_TRUE(is_full(self));
	ASSERT_EQ(0, cancel(self->fd, op.id, NULL));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, NULL));
	EXPECT_TRUE(is_full(self));
}

TEST_F(limit, rearm_needs_no_room)
{
	uint32_t i;

	for (i = 0; i < self->limit; i += 1 + self->limit / 16)
		ASSERT_EQ(0, rearm_in(self->fd, self->ledger.timers[i].id, 2 * HOUR_NS));
	EXPECT_TRUE(is_full(self));
}

/*
 * A batch that passes the limit: the first ones get in, and a cancel in between makes room for one.
 */
TEST_F(limit, batch_across_the_limit)
{
	struct htwheel_op ops[6] = { { .opcode = 0 } };
	struct htwheel_submit sub;
	int i;

	ASSERT_EQ(0, cancel(self->fd, self->ledger.timers[0].id, NULL));
	ASSERT_EQ(0, ledger_arm(&self->ledger, self->fd, 0, 1, HOUR_NS, 0));
	ASSERT_EQ(0, cancel(self->fd, self->ledger.timers[0].id, NULL));
	for (i = 0; i < 6; i++) {
		ops[i].opcode = HTWHEEL_OP_ARM;
		ops[i].time_ns = HOUR_NS;
	}
	if (self->limit > 1) {
		ops[2].opcode = HTWHEEL_OP_CANCEL;
		ops[2].id = self->ledger.timers[1].id;
	}
	ASSERT_EQ(0, device_submit(self->fd, &sub, ops, 6));
	EXPECT_EQ(6, sub.done);
	EXPECT_EQ(self->limit > 1 ? 3 : 5, sub.failed);
	EXPECT_EQ(0, ops[0].result);
	EXPECT_EQ(-ENOSPC, ops[1].result);
	EXPECT_EQ(self->limit > 1 ? 0 : -ENOSPC, ops[2].result);
	EXPECT_EQ(self->limit > 1 ? 0 : -ENOSPC, ops[3].result);
	EXPECT_EQ(-ENOSPC, ops[4].result);
	EXPECT_EQ(-ENOSPC, ops[5].result);
	EXPECT_TRUE(is_full(self));
}

#define FILLS	6

/*
 * No allocation can fail any more once the pool has grown; and names are never given again (B59).
 */
TEST_F(limit, B59_filled_again_and_again_with_new_names)
{
	uint64_t *ids = calloc(FILLS * self->limit, sizeof(*ids));
	struct ledger *ledger = &self->ledger;
	struct htwheel_stats stats;
	uint64_t pool_bytes = 0;
	unsigned int fill;
	uint32_t i;

	ASSERT_TRUE(!!ids);
	for (fill = 0; fill < FILLS; fill++) {
		for (i = 0; i < self->limit; i++)
			ids[fill * self->limit + i] = ledger->timers[i].id;
		ASSERT_EQ(0, device_stats(self->fd, &stats));
		EXPECT_TRUE(!fill || stats.pool_bytes == pool_bytes);
		pool_bytes = stats.pool_bytes;
		ASSERT_EQ(0, ledger_cancel(ledger, self->fd, 0, self->limit));
		ASSERT_EQ(0, ledger_arm(ledger, self->fd, 0, self->limit, HOUR_NS, 0));
	}
	EXPECT_TRUE(ids_are_unique(ids, FILLS * self->limit));
	EXPECT_TRUE(is_full(self));
	ASSERT_BOOKS_MATCH(ledger, self->fd);
	free(ids);
}

TEST_F(limit, others_are_not_disturbed)
{
	struct ledger other;
	int fd = open_device(O_NONBLOCK);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ledger_init(&other, 200));
	ASSERT_EQ(0, ledger_arm(&other, fd, 0, 100, 0, 5 * NS_PER_MS));
	EXPECT_TRUE(is_full(self));
	ASSERT_EQ(0, ledger_arm(&other, fd, 100, 100, 0, 5 * NS_PER_MS));
	EXPECT_TRUE(is_full(self));
	ASSERT_EQ(0, ledger_drain(&other, fd, 0));
	EXPECT_LEDGER_RIGHT(&other);
	ASSERT_BOOKS_MATCH(&other, fd);
	close(fd);
}

/* A full context fires its timers as any other, and has room then. */
TEST_F(limit, full_context_fires)
{
	struct ledger *ledger = &self->ledger;

	ASSERT_EQ(0, ledger_rearm(ledger, self->fd, 0, self->limit, 0, 7 * NS_PER_MS));
	ASSERT_EQ(0, ledger_drain(ledger, self->fd, 0));
	EXPECT_LEDGER_RIGHT(ledger);
	ASSERT_BOOKS_MATCH(ledger, self->fd);
	ASSERT_EQ(0, ledger_arm(ledger, self->fd, 0, self->limit, HOUR_NS, 0));
	EXPECT_TRUE(is_full(self));
}

FIXTURE(many) {
	int fd;
};

FIXTURE_SETUP(many)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(many)
{
	close(self->fd);
}

struct limit_race {
	int		fd;
	unsigned int	cpu;
	uint32_t	attempts;
	uint32_t	armed;
	uint32_t	refused;
};

static void *arm_until_full(void *arg)
{
	struct limit_race *race = arg;
	uint32_t i;
	int ret;

	pin_to(race->cpu);
	for (i = 0; i < race->attempts; i++) {
		ret = arm_in(race->fd, HOUR_NS, i, NULL);
		race->armed += ret == 0;
		race->refused += ret == -ENOSPC;
	}
	return NULL;
}

TEST_F(many, threads_share_the_limit)
{
	const uint32_t limit = 1000, attempts = 500;
	struct limit_race races[4];
	pthread_t threads[4];
	uint32_t armed = 0, refused = 0;
	int i;

	ASSERT_EQ(0, device_setup(self->fd, limit));
	for (i = 0; i < 4; i++) {
		races[i] = (struct limit_race){ self->fd, i, attempts, 0, 0 };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, arm_until_full, &races[i]));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		armed += races[i].armed;
		refused += races[i].refused;
	}
	EXPECT_EQ(limit, armed);
	EXPECT_EQ(4 * attempts - limit, refused);
}

struct id_maker {
	int		fd;
	uint32_t	nr;
	uint32_t	wrong;
	uint64_t	*ids;
};

/* Arm and cancel, so that places are reused as fast as can be. */
static void *make_ids(void *arg)
{
	struct id_maker *maker = arg;
	uint32_t i;

	for (i = 0; i < maker->nr; i++) {
		maker->wrong += arm_in(maker->fd, HOUR_NS, i, &maker->ids[i]) != 0;
		maker->wrong += cancel(maker->fd, maker->ids[i], NULL) != 0;
	}
	return NULL;
}

TEST_F(many, B59_names_from_many_threads_are_unique)
{
	const uint32_t nr = scaled(700), nr_threads = 8;
	uint64_t *ids = calloc(nr * nr_threads, sizeof(*ids));
	struct id_maker makers[8];
	pthread_t threads[8];
	uint32_t i;

	ASSERT_TRUE(!!ids);
	ASSERT_EQ(0, device_setup(self->fd, nr_threads));
	for (i = 0; i < nr_threads; i++) {
		makers[i] = (struct id_maker){ self->fd, nr, 0, ids + i * nr };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, make_ids, &makers[i]));
	}
	for (i = 0; i < nr_threads; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, makers[i].wrong);
	}
	EXPECT_TRUE(ids_are_unique(ids, nr * nr_threads));
	free(ids);
}

/* Growth step by step; afterwards each name still means its timer. */
TEST_F(many, B83_names_stay_right_while_the_pool_grows)
{
	const uint32_t nr = scaled(30000);
	struct htwheel_stats stats;
	struct ledger ledger;
	uint64_t last = 0;
	uint32_t i, batch;

	ASSERT_EQ(0, ledger_init(&ledger, nr));
	for (i = 0; i < nr; i += batch) {
		batch = 1 + i / 3 < nr - i ? 1 + i / 3 : nr - i;
		ASSERT_EQ(0, ledger_arm(&ledger, self->fd, i, batch, HOUR_NS, HOUR_NS));
		ASSERT_EQ(0, device_stats(self->fd, &stats));
		ASSERT_EQ(i + batch, stats.peak);
		ASSERT_LE(64 * stats.peak, stats.pool_bytes);
		ASSERT_LE(last, stats.pool_bytes);
		last = stats.pool_bytes;
	}
	ASSERT_EQ(0, ledger_cancel(&ledger, self->fd, 0, nr));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(0, stats.pending);
	EXPECT_EQ(nr, stats.peak);
	EXPECT_EQ(last, stats.pool_bytes);
	ASSERT_BOOKS_MATCH(&ledger, self->fd);
	ledger_free(&ledger);
}

TEST_HARNESS_MAIN
