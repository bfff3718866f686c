// SPDX-License-Identifier: GPL-2.0
/*
 * CANCEL tells the truth: removed, removed with its event, or there is no such timer.
 */
#include "harness.h"
#include "crew.h"
#include "ledger.h"

FIXTURE(cancel) {
	uint64_t id;
	int fd;
};

FIXTURE_SETUP(cancel)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &self->id));
}

FIXTURE_TEARDOWN(cancel)
{
	close(self->fd);
}

/* Names that look like this one: other generations, other places. */
static size_t neighbours(uint64_t id, uint64_t *names)
{
	const uint64_t generation = id >> 32, index = id & UINT32_MAX;
	size_t nr = 0;

	names[nr++] = 0;
	names[nr++] = UINT64_MAX;
	names[nr++] = index;
	names[nr++] = generation << 32;
	names[nr++] = (generation + 1) << 32 | index;
	names[nr++] = (generation - 1) << 32 | index;
	names[nr++] = (generation ^ 1ULL << 31) << 32 | index;
	names[nr++] = UINT64_MAX << 32 | index;
	names[nr++] = generation << 32 | (index + 1);
	names[nr++] = generation << 32 | (index - 1);
	names[nr++] = generation << 32 | (index ^ 1U << 31);
	names[nr++] = generation << 32 | UINT32_MAX;
	return nr;
}

TEST_F(cancel, armed_timer_is_removed)
{
	struct htwheel_stats stats;
	uint64_t left_ns;

	ASSERT_EQ(0, cancel(self->fd, self->id, &left_ns));
	EXPECT_GE(HOUR_NS, left_ns);
	EXPECT_LT(HOUR_NS / 2, left_ns);
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(1, stats.armed);
	EXPECT_EQ(1, stats.cancelled);
	EXPECT_EQ(0, stats.pending);
	EXPECT_FALSE(is_readable(self->fd));
}

TEST_F(cancel, never_comes_after_it_was_removed)
{
	struct htwheel_event event;
	uint64_t ids[100];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ids); i++)
		ASSERT_EQ(0, arm_in(self->fd, 20 * NS_PER_MS + i * NS_PER_US, i, &ids[i]));
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		ASSERT_LE(0, cancel(self->fd, ids[i], NULL));
	EXPECT_EQ(0, poll_for(self->fd, 100 * NS_PER_MS));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
}

TEST_F(cancel, B41_unread_event_is_withdrawn)
{
	struct htwheel_event event;
	struct htwheel_stats stats;
	uint64_t id, left_ns;

	ASSERT_EQ(0, arm_in(self->fd, NS_PER_MS, 7, &id));
	ASSERT_TRUE(wait_readable(self->fd));
	EXPECT_EQ(HTWHEEL_RES_FIRED, cancel(self->fd, id, &left_ns));
	EXPECT_EQ(0, left_ns);
	EXPECT_FALSE(is_readable(self->fd));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(2, stats.armed);
	EXPECT_EQ(1, stats.cancelled);
	EXPECT_EQ(0, stats.fired);
	EXPECT_EQ(1, stats.pending);
	EXPECT_EQ(0, stats.expired);
}

TEST_F(cancel, B28_one_of_two_events_of_a_tick_is_withdrawn)
{
	struct htwheel_event event;
	uint64_t a, b, deadline_ns;
	unsigned int round;

	for (round = 0; round < 20; round++) {
		deadline_ns = now_ns() + NS_PER_MS;
		ASSERT_EQ(0, arm_at(self->fd, deadline_ns, 'a', &a));
		ASSERT_EQ(0, arm_at(self->fd, deadline_ns, 'b', &b));
		while (query(self->fd, a, NULL) != HTWHEEL_RES_FIRED ||
		       query(self->fd, b, NULL) != HTWHEEL_RES_FIRED)
			;
		ASSERT_EQ(HTWHEEL_RES_FIRED, cancel(self->fd, round & 1 ? a : b, NULL));
		ASSERT_EQ(0, next_event(self->fd, &event));
		EXPECT_EQ(round & 1 ? 'b' : 'a', event.user_data);
		EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
		EXPECT_EQ(-ENOENT, cancel(self->fd, a, NULL));
		EXPECT_EQ(-ENOENT, cancel(self->fd, b, NULL));
	}
}

TEST_F(cancel, after_the_event_was_read_is_ENOENT)
{
	struct htwheel_event event;
	struct htwheel_stats stats;
	uint64_t id;

	ASSERT_EQ(0, arm_in(self->fd, 0, 7, &id));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(-ENOENT, cancel(self->fd, id, NULL));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(1, stats.fired);
	EXPECT_EQ(0, stats.cancelled);
	EXPECT_EQ(1, stats.pending);
}

TEST_F(cancel, twice_is_ENOENT)
{
	struct htwheel_stats stats;

	EXPECT_EQ(0, cancel(self->fd, self->id, NULL));
	EXPECT_EQ(-ENOENT, cancel(self->fd, self->id, NULL));
	EXPECT_EQ(-ENOENT, query(self->fd, self->id, NULL));
	EXPECT_EQ(-ENOENT, rearm_in(self->fd, self->id, 1));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(1, stats.armed);
	EXPECT_EQ(1, stats.cancelled);
	EXPECT_EQ(0, stats.pending);
}

TEST_F(cancel, twice_in_one_call_is_ENOENT)
{
	struct htwheel_op ops[3] = {
		{ .opcode = HTWHEEL_OP_CANCEL, .id = self->id },
		{ .opcode = HTWHEEL_OP_CANCEL, .id = self->id },
		{ .opcode = HTWHEEL_OP_CANCEL, .id = self->id },
	};
	struct htwheel_submit sub;

	ASSERT_EQ(0, device_submit(self->fd, &sub, ops, 3));
	EXPECT_EQ(3, sub.done);
	EXPECT_EQ(2, sub.failed);
	EXPECT_EQ(0, ops[0].result);
	EXPECT_EQ(-ENOENT, ops[1].result);
	EXPECT_EQ(-ENOENT, ops[2].result);
}

TEST_F(cancel, name_that_was_never_given_is_ENOENT_and_touches_nothing)
{
	const uint16_t opcodes[] = { HTWHEEL_OP_CANCEL, HTWHEEL_OP_REARM, HTWHEEL_OP_QUERY };
	struct htwheel_stats stats;
	uint64_t names[16];
	size_t i, j, nr;

	nr = neighbours(self->id, names);
	for (i = 0; i < nr; i++) {
		for (j = 0; j < ARRAY_SIZE(opcodes); j++) {
			struct htwheel_op op = { .opcode = opcodes[j], .id = names[i] };

			EXPECT_EQ(-ENOENT, submit_one(self->fd, &op)) {
				TH_LOG("name %#llx, opcode %u", (unsigned long long)names[i],
				       opcodes[j]);
			}
		}
	}
	EXPECT_EQ(0, query(self->fd, self->id, NULL));
	EXPECT_FALSE(is_readable(self->fd));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(1, stats.armed);
	EXPECT_EQ(1, stats.pending);
}

/* Its place is taken again, by a timer of the same index perhaps; the old name is dead. */
TEST_F(cancel, old_name_does_not_reach_the_place_s_new_timer)
{
	uint64_t old = self->id, id;
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(0, cancel(self->fd, old, NULL));
		ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &id));
		ASSERT_NE(old, id);
		ASSERT_EQ(-ENOENT, cancel(self->fd, old, NULL));
		ASSERT_EQ(-ENOENT, cancel(self->fd, self->id, NULL));
		ASSERT_EQ(0, query(self->fd, id, NULL));
		old = id;
	}
}

TEST_F(cancel, name_of_another_context_is_ENOENT)
{
	int other = open_device(O_NONBLOCK);

	ASSERT_LE(0, other);
	EXPECT_EQ(-ENOENT, cancel(other, self->id, NULL));
	EXPECT_EQ(-ENOENT, rearm_in(other, self->id, 0));
	EXPECT_EQ(-ENOENT, query(other, self->id, NULL));
	EXPECT_EQ(0, query(self->fd, self->id, NULL));
	close(other);
}

/* The same number may name a timer of each; each call means its own. */
TEST_F(cancel, same_name_in_another_context_is_another_timer)
{
	int other = open_device(O_NONBLOCK);
	uint64_t id;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, arm_in(other, HOUR_NS, 0, &id));
	if (id != self->id)
		SKIP(return, "this module does not give names twice");
	EXPECT_EQ(0, cancel(other, id, NULL));
	EXPECT_EQ(-ENOENT, query(other, id, NULL));
	EXPECT_EQ(0, query(self->fd, self->id, NULL));
	close(other);
}

/* The only event is withdrawn while the clock moves on: never both an event and "removed". */
TEST_F(cancel, B37_results_and_events_add_up_at_the_deadline)
{
	const unsigned int rounds = scaled(20);
	struct htwheel_op ops[256] = { { .opcode = 0 } };
	struct htwheel_event events[64];
	unsigned int round, removed, gone, nr;
	size_t i;
	int ret;

	for (round = 0; round < rounds; round++) {
		for (i = 0; i < ARRAY_SIZE(ops); i++)
			ops[i] = (struct htwheel_op){
				.opcode = HTWHEEL_OP_ARM,
				.time_ns = i * 8 * NS_PER_US,
				.user_data = i,
			};
		ASSERT_EQ(0, submit_all(self->fd, ops, ARRAY_SIZE(ops)));
		sleep_ns(round * 50 * NS_PER_US);
		nr = 0;
		ret = read_events(self->fd, events, ARRAY_SIZE(events));
		if (ret > 0)
			nr += ret;
		for (i = 0; i < ARRAY_SIZE(ops); i++) {
			ASSERT_EQ(0, ops[i].result);
			ops[i].opcode = HTWHEEL_OP_CANCEL;
			ops[i].result = -JUNK;
		}
		ASSERT_EQ(0, submit_all(self->fd, ops, ARRAY_SIZE(ops)));
		removed = 0;
		gone = 0;
		for (i = 0; i < ARRAY_SIZE(ops); i++) {
			removed += ops[i].result == 0 || ops[i].result == HTWHEEL_RES_FIRED;
			gone += ops[i].result == -ENOENT;
		}
		ASSERT_EQ(ARRAY_SIZE(ops), removed + gone);
		ASSERT_EQ(nr, gone);
		ASSERT_EQ(-EAGAIN, read_events(self->fd, events, 1));
	}
}

#define RACE_TIMERS	256

struct cancel_race {
	int		fd;
	uint8_t		read[RACE_TIMERS];
	unsigned long	wrong;
};

static void read_some(void *arg)
{
	struct cancel_race *race = arg;
	struct htwheel_event events[8];
	int i, nr;

	nr = read_events(race->fd, events, ARRAY_SIZE(events));
	race->wrong += nr < 0 && nr != -EAGAIN;
	for (i = 0; i < nr; i++) {
		if (events[i].user_data < RACE_TIMERS)
			race->read[events[i].user_data]++;
		else
			race->wrong++;
	}
}

/*
 * One thread reads, one cancels: each timer goes to exactly one of them, and the answer says to
 * whom.
 */
TEST_F(cancel, B28_against_a_reader_each_timer_ends_once)
{
	const unsigned int rounds = scaled(40);
	struct htwheel_op ops[RACE_TIMERS];
	struct cancel_race race;
	unsigned int round;
	struct crew crew;
	size_t i;

	for (round = 0; round < rounds; round++) {
		memset(&race, 0, sizeof(race));
		race.fd = self->fd;
		for (i = 0; i < RACE_TIMERS; i++)
			ops[i] = (struct htwheel_op){
				.opcode = HTWHEEL_OP_ARM,
				.time_ns = i * 2 * NS_PER_US,
				.user_data = i,
			};
		crew = (struct crew){ .nr = 0 };
		ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, read_some, &race));
		crew_wait(&crew);
		ASSERT_EQ(0, submit_all(self->fd, ops, RACE_TIMERS));
		for (i = 0; i < RACE_TIMERS; i++)
			ops[i].opcode = HTWHEEL_OP_CANCEL;
		ASSERT_EQ(0, submit_all(self->fd, ops, RACE_TIMERS));
		/* What was removed cannot come; what was read had been read before. */
		crew_end(&crew);
		ASSERT_EQ(0, race.wrong);
		for (i = 0; i < RACE_TIMERS; i++)
			ASSERT_EQ(ops[i].result == -ENOENT, race.read[i]);
		ASSERT_FALSE(is_readable(self->fd));
	}
}

TEST_HARNESS_MAIN
