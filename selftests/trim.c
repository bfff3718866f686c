// SPDX-License-Identifier: GPL-2.0
/*
 * HTWHEEL_MASS_TRIM: memory that timers have left is given back, names stay what they were.
 */
#include "harness.h"
#include "crew.h"
#include "many.h"

#define NR_LIVE		1000U

FIXTURE(trim) {
	struct htwheel_dump_entry before[NR_LIVE];
	struct htwheel_dump_entry after[NR_LIVE];
	uint64_t live[NR_LIVE];
	uint64_t *ids;
	uint32_t nr;
	int fd;
};

FIXTURE_SETUP(trim)
{
	struct htwheel_info info;

	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &info));
	if (~info.features & (HTWHEEL_FEAT_MASS | HTWHEEL_FEAT_DUMP))
		SKIP(return, "the module lacks a feature");
	self->nr = scaled(200000);
	self->ids = calloc(2 * self->nr, sizeof(*self->ids));
	ASSERT_TRUE(!!self->ids);
}

FIXTURE_TEARDOWN(trim)
{
	free(self->ids);
	close(self->fd);
}

static uint64_t pool_bytes(int fd)
{
	struct htwheel_stats stats;

	return device_stats(fd, &stats) ? UINT64_MAX : stats.pool_bytes;
}

static int trim(int fd, uint64_t *done)
{
	return mass_all(fd, (struct htwheel_mass){ .opcode = HTWHEEL_MASS_TRIM }, done);
}

/* The number that is listed is the timer's, so each set starts at 0. */
static int arm_live(FIXTURE_DATA(trim) *self)
{
	return arm_many(self->fd, &(struct htwheel_op){
		.flags = HTWHEEL_ABSOLUTE, .time_ns = now_ns() + 10 * HOUR_NS, .tag = 9,
	}, 0, NR_LIVE, NS_PER_S, self->live);
}

/* So many timers come and go; returns an errno. */
static int flood(FIXTURE_DATA(trim) *self, uint64_t *ids)
{
	int ret = arm_many(self->fd, &(struct htwheel_op){ .time_ns = HOUR_NS }, 0, self->nr,
			   NS_PER_US, ids);

	if (ret)
		return ret;
	return cancel_many(self->fd, ids, self->nr) == self->nr ? 0 : -EPROTO;
}

static bool live_as_before(FIXTURE_DATA(trim) *self)
{
	uint32_t i;

	if (dump_by_number(self->fd, self->after, NR_LIVE, 333) != (int)NR_LIVE)
		return false;
	for (i = 0; i < NR_LIVE; i++)
		if (self->after[i].id != self->before[i].id ||
		    self->after[i].deadline_ns != self->before[i].deadline_ns ||
		    self->after[i].tag != 9 || self->after[i].state != HTWHEEL_STATE_ARMED)
			return false;
	return true;
}

TEST_F(trim, B60_memory_returns_to_where_it_was)
{
	uint64_t start, most, done, end;

	ASSERT_EQ(0, arm_live(self));
	ASSERT_EQ(NR_LIVE, dump_by_number(self->fd, self->before, NR_LIVE, 512));
	start = pool_bytes(self->fd);
	ASSERT_EQ(0, flood(self, self->ids));
	most = pool_bytes(self->fd);
	ASSERT_LE(start + 64 * (self->nr - NR_LIVE), most);
	ASSERT_EQ(0, trim(self->fd, &done));
	end = pool_bytes(self->fd);
	TH_LOG("%llu bytes with %u timers, %llu with %u more, %llu trimmed",
	       (unsigned long long)start, NR_LIVE, (unsigned long long)most, self->nr,
	       (unsigned long long)end);
	EXPECT_EQ(most - end, done);
	/* What stays tells old names from new ones; it is small next to what the timers took. */
	EXPECT_GE(start + start / 10 + most / 100, end);
	EXPECT_TRUE(live_as_before(self));
	/* There is nothing more to be had. */
	ASSERT_EQ(0, trim(self->fd, &done));
	EXPECT_EQ(0, done);
	EXPECT_EQ(NR_LIVE, cancel_many(self->fd, self->live, NR_LIVE));
}

TEST_F(trim, B60_of_a_context_that_is_empty_again)
{
	uint64_t most, done, end;

	ASSERT_EQ(0, flood(self, self->ids));
	most = pool_bytes(self->fd);
	ASSERT_EQ(0, trim(self->fd, &done));
	end = pool_bytes(self->fd);
	EXPECT_EQ(most - end, done);
	EXPECT_GE(most / 10, end);
	ASSERT_EQ(0, flood(self, self->ids));
}

/* What is left must tell an old name from a new one at the same place. */
TEST_F(trim, B59_names_are_never_used_twice)
{
	uint64_t done, index = 0;
	uint32_t i;

	ASSERT_EQ(0, arm_live(self));
	ASSERT_EQ(NR_LIVE, dump_by_number(self->fd, self->before, NR_LIVE, 512));
	ASSERT_EQ(0, flood(self, self->ids));
	ASSERT_EQ(0, trim(self->fd, &done));
	EXPECT_EQ(self->nr, count_stale(self->fd, self->ids, self->nr));
	/* The pool grows again, over the same indices. */
	ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){ .time_ns = HOUR_NS }, NR_LIVE,
			      self->nr, 0, self->ids + self->nr - NR_LIVE));
	for (i = 0; i < self->nr; i++)
		if (index < (uint32_t)self->ids[self->nr + i])
			index = (uint32_t)self->ids[self->nr + i];
	EXPECT_GE(self->nr + 2 * NR_LIVE + 4096, index);
	EXPECT_EQ(self->nr, count_stale(self->fd, self->ids, self->nr));
	EXPECT_EQ(self->nr, count_results(self->fd, HTWHEEL_OP_CANCEL, self->ids, self->nr,
					  -ENOENT));
	EXPECT_EQ(self->nr, count_results(self->fd, HTWHEEL_OP_QUERY, self->ids + self->nr,
					  self->nr, 0));
	EXPECT_TRUE(ids_are_unique(self->ids, 2 * self->nr));
	EXPECT_EQ(NR_LIVE, cancel_many(self->fd, self->live, NR_LIVE));
}

/* Again and again, so that a generation that is forgotten would come back. */
TEST_F(trim, B59_names_of_many_rounds)
{
	const uint32_t nr = 3000, rounds = 2 * self->nr / nr < 50 ? 2 * self->nr / nr : 50;
	uint64_t done;
	uint32_t i;

	self->nr = nr;
	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, flood(self, self->ids + i * nr));
		ASSERT_EQ(0, trim(self->fd, &done));
	}
	EXPECT_EQ(rounds * nr, count_stale(self->fd, self->ids, rounds * nr));
	EXPECT_TRUE(ids_are_unique(self->ids, rounds * nr));
}

/* A few that live, far apart: what is between them may go, they may not. */
TEST_F(trim, timers_far_apart_stay)
{
	const uint32_t apart = self->nr / NR_LIVE;
	struct htwheel_stats stats;
	uint64_t done, most;
	uint32_t i, n = 0;

	ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){ .time_ns = HOUR_NS }, 0, self->nr, 0,
			      self->ids));
	/* No timer has the name 0. */
	for (i = apart / 2; i < self->nr && n < 20; i += 50 * apart) {
		self->live[n++] = self->ids[i];
		self->ids[i] = 0;
	}
	ASSERT_EQ(self->nr - n, cancel_many(self->fd, self->ids, self->nr));
	most = pool_bytes(self->fd);
	ASSERT_EQ(0, trim(self->fd, &done));
	EXPECT_EQ(most - done, pool_bytes(self->fd));
	EXPECT_GE(most / 2, pool_bytes(self->fd));
	EXPECT_EQ(n, count_results(self->fd, HTWHEEL_OP_QUERY, self->live, n, 0));
	ASSERT_EQ(0, flood(self, self->ids));
	EXPECT_EQ(n, cancel_many(self->fd, self->live, n));
	ASSERT_TRUE(books_are_right(self->fd, &stats));
	EXPECT_EQ(0, stats.pending);
}

/* Events that wait and timers that are kept are alive, too. */
TEST_F(trim, fired_and_idle_timers_stay)
{
	struct htwheel_event events[200];
	uint64_t done;
	int i;

	ASSERT_EQ(0, flood(self, self->ids));
	ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){
		.flags = HTWHEEL_ABSOLUTE | HTWHEEL_KEEP,
	}, 0, 100, 0, self->live));
	ASSERT_EQ(100, read_events(self->fd, events, 200));
	ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){ .flags = HTWHEEL_ABSOLUTE }, 100, 100,
			      0, self->live));
	ASSERT_EQ(0, trim(self->fd, &done));
	ASSERT_EQ(100, read_events(self->fd, events, 200));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(self->live[events[i].user_data], events[i].id);
	EXPECT_EQ(100, count_results(self->fd, HTWHEEL_OP_REARM, self->live, 100, 0));
}

struct worker {
	int		fd;
	uint64_t	seed;
	uint64_t	armed;
	uint32_t	wrong;
};

static void trim_once(void *arg)
{
	struct worker *worker = arg;
	uint64_t done;

	worker->wrong += trim(worker->fd, &done) != 0;
}

/* The pool grows and shrinks at once; no timer gets lost over it. */
TEST_F(trim, while_timers_come_and_go)
{
	const uint32_t nr = 2000, rounds = scaled(60);
	struct crew crew = { .nr = 0 };
	struct worker trimmers[2];
	struct htwheel_stats stats;
	uint32_t i;

	ASSERT_EQ(0, arm_live(self));
	ASSERT_EQ(NR_LIVE, dump_by_number(self->fd, self->before, NR_LIVE, 512));
	for (i = 0; i < 2; i++) {
		trimmers[i] = (struct worker){ .fd = self->fd };
		ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, trim_once, &trimmers[i]));
	}
	self->nr = nr;
	/* The names of further rounds are not kept. */
	for (i = 0; i < rounds || !crew_has_turned(&crew); i++)
		ASSERT_EQ(0, flood(self, self->ids + (i < rounds ? i : rounds) * nr));
	crew_end(&crew);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, trimmers[i].wrong);
	EXPECT_TRUE(live_as_before(self));
	EXPECT_EQ(rounds * nr, count_stale(self->fd, self->ids, rounds * nr));
	EXPECT_TRUE(ids_are_unique(self->ids, rounds * nr));
	ASSERT_TRUE(books_are_right(self->fd, &stats));
	EXPECT_EQ(NR_LIVE, stats.pending);
}

static void arm_soon(void *arg)
{
	struct worker *armer = arg;

	armer->wrong += arm_many(armer->fd, &(struct htwheel_op){
		.time_ns = chance_below(&armer->seed, 300 * NS_PER_US),
	}, 0, 600, 3 * NS_PER_US, NULL) != 0;
	armer->armed += 600;
	/* So that whole chunks become free now and then. */
	sleep_ns(2 * NS_PER_MS);
}

/* Chunks go right after the events of their last timers, which passes on other CPUs let fire. */
TEST_F(trim, B33_while_timers_fire_and_are_read)
{
	struct htwheel_event events[256];
	struct crew crew = { .nr = 0 };
	struct worker workers[4];
	struct htwheel_stats stats;
	uint64_t seen = 0, armed = 0, end_ns;
	int i, ret;

	for (i = 0; i < 4; i++) {
		workers[i] = (struct worker){ .fd = self->fd, .seed = 1 + i };
		ASSERT_EQ(0, crew_add(&crew, i < 3 ? i : 0, i < 3 ? arm_soon : trim_once,
				      &workers[i]));
	}
	end_ns = now_ns() + scaled(1) * NS_PER_S;
	while (now_ns() < end_ns || !crew_has_turned(&crew)) {
		ret = read_events(self->fd, events, 256);
		seen += ret > 0 ? ret : 0;
	}
	crew_end(&crew);
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, workers[i].wrong);
		armed += workers[i].armed;
	}
	while (seen < armed) {
		ASSERT_TRUE(wait_readable(self->fd));
		ret = read_events(self->fd, events, 256);
		ASSERT_LT(0, ret);
		seen += ret;
	}
	TH_LOG("%llu timers, %llu trims", (unsigned long long)armed,
	       (unsigned long long)crew_turns(&crew, 3));
	ASSERT_TRUE(books_are_right(self->fd, &stats));
	EXPECT_EQ(armed, stats.fired);
	EXPECT_EQ(0, stats.pending);
}

TEST_HARNESS_MAIN
