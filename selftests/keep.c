// SPDX-License-Identifier: GPL-2.0
/*
 * KEEP: a timer that outlives its event, idle until it is armed again.
 */
#include "harness.h"
#include "crew.h"
#include "turns.h"

FIXTURE(keep) {
	int fd;
};

FIXTURE_SETUP(keep)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(has_features(self->fd, HTWHEEL_FEAT_KEEP | HTWHEEL_FEAT_DUMP));
}

FIXTURE_TEARDOWN(keep)
{
	close(self->fd);
}

/* A kept timer whose event was read: the name, or 0. */
static uint64_t make_idle(int fd, uint64_t user_data)
{
	struct htwheel_event event;
	uint64_t id;

	if (arm_kept(fd, 0, user_data, &id) || read_events(fd, &event, 1) != 1 || event.id != id)
		return 0;
	return id;
}

/* The books, all of them: armed, fired, cancelled, replaced, pending, idle. */
static bool books_are(int fd, const uint64_t expected[6])
{
	struct htwheel_stats stats;

	return !device_stats(fd, &stats) && books_balance(&stats) && stats.armed == expected[0] &&
	       stats.fired == expected[1] && stats.cancelled == expected[2] &&
	       stats.replaced == expected[3] && stats.pending == expected[4] &&
	       stats.idle == expected[5] && !stats.missed;
}

#define EXPECT_BOOKS(...)								\
	do {										\
		const uint64_t _books[] = { __VA_ARGS__ };				\
		struct htwheel_stats _seen;						\
											\
		EXPECT_TRUE(books_are(self->fd, _books)) {				\
			device_stats(self->fd, &_seen);					\
			TH_LOG("seen: %llu, %llu, %llu, %llu, %llu, %llu",		\
			       (unsigned long long)_seen.armed,				\
			       (unsigned long long)_seen.fired,				\
			       (unsigned long long)_seen.cancelled,			\
			       (unsigned long long)_seen.replaced,			\
			       (unsigned long long)_seen.pending,			\
			       (unsigned long long)_seen.idle);				\
		}									\
	} while (0)

TEST_F(keep, name_survives_its_event)
{
	struct htwheel_dump_entry entry;
	struct htwheel_event event;
	uint64_t id, deadline_ns;

	ASSERT_EQ(0, arm_kept(self->fd, NS_PER_MS, 42, &id));
	EXPECT_BOOKS(1, 0, 0, 0, 1, 0);
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(42, event.user_data);
	EXPECT_EQ(1, event.count);
	EXPECT_EQ(HTWHEEL_EVENT_LIVE, event.flags);
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
	EXPECT_BOOKS(1, 1, 0, 0, 0, 1);
	ASSERT_EQ(0, dump_one(self->fd, id, &entry));
	EXPECT_EQ(HTWHEEL_STATE_IDLE, entry.state);
	EXPECT_EQ(HTWHEEL_KEEP, entry.flags);
	EXPECT_EQ(0, entry.left_ns);

	deadline_ns = now_ns() + 3 * NS_PER_MS;
	ASSERT_EQ(0, rearm_at(self->fd, id, deadline_ns));
	EXPECT_BOOKS(2, 1, 0, 0, 1, 0);
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(42, event.user_data);
	EXPECT_EQ(deadline_ns, event.deadline_ns);
	EXPECT_LE(deadline_ns, event.fired_ns);
	EXPECT_EQ(HTWHEEL_EVENT_LIVE, event.flags);
	EXPECT_BOOKS(2, 2, 0, 0, 0, 1);
}

/* Without the flag, the event says that the name is gone, and it is. */
TEST_F(keep, others_do_not)
{
	struct htwheel_event event;
	uint64_t id;

	ASSERT_EQ(0, arm_in(self->fd, 0, 0, &id));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(0, event.flags);
	EXPECT_EQ(-ENOENT, rearm_in(self->fd, id, 0));
	EXPECT_BOOKS(1, 1, 0, 0, 0, 0);
}

TEST_F(keep, rearm_from_idle_to_the_past)
{
	struct htwheel_event event;
	uint64_t id = make_idle(self->fd, 1);

	ASSERT_NE(0, id);
	ASSERT_EQ(0, rearm_at(self->fd, id, 0));
	EXPECT_TRUE(is_readable(self->fd));
	EXPECT_EQ(HTWHEEL_RES_FIRED, query(self->fd, id, NULL));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(0, event.deadline_ns);
	EXPECT_BOOKS(2, 2, 0, 0, 0, 1);
}

TEST_F(keep, rearm_from_idle_to_never)
{
	uint64_t id = make_idle(self->fd, 1), left_ns;

	ASSERT_NE(0, id);
	ASSERT_EQ(0, rearm_in(self->fd, id, HTWHEEL_NEVER_NS));
	EXPECT_EQ(0, query(self->fd, id, &left_ns));
	EXPECT_LT(HTWHEEL_NEVER_NS / 2, left_ns);
	EXPECT_BOOKS(2, 1, 0, 0, 1, 0);
	EXPECT_EQ(0, poll_for(self->fd, 20 * NS_PER_MS));
}

/* A refused re-arm leaves it idle. */
TEST_F(keep, refused_rearm_from_idle)
{
	uint64_t id = make_idle(self->fd, 1);

	ASSERT_NE(0, id);
	EXPECT_EQ(-EINVAL, rearm_in(self->fd, id, UINT64_MAX));
	EXPECT_EQ(-EINVAL, rearm(self->fd, HTWHEEL_KEEP, id, 0));
	EXPECT_BOOKS(1, 1, 0, 0, 0, 1);
	EXPECT_EQ(0, rearm_in(self->fd, id, HOUR_NS));
}

TEST_F(keep, cancel_from_idle)
{
	struct htwheel_dump_entry entry;
	uint64_t id = make_idle(self->fd, 1), left_ns;

	ASSERT_NE(0, id);
	EXPECT_EQ(0, cancel(self->fd, id, &left_ns));
	EXPECT_EQ(0, left_ns);
	EXPECT_BOOKS(1, 1, 0, 0, 0, 0);
	EXPECT_EQ(-ENOENT, cancel(self->fd, id, NULL));
	EXPECT_EQ(-ENOENT, rearm_in(self->fd, id, 0));
	EXPECT_EQ(-ENOENT, query(self->fd, id, NULL));
	EXPECT_EQ(-ENOENT, dump_one(self->fd, id, &entry));
	EXPECT_BOOKS(1, 1, 0, 0, 0, 0);
	/* Its place is used again, its name is not. */
	EXPECT_NE(id, make_idle(self->fd, 2));
	EXPECT_EQ(-ENOENT, cancel(self->fd, id, NULL));
	EXPECT_BOOKS(2, 2, 0, 0, 0, 1);
}

TEST_F(keep, B25_query_in_each_state)
{
	uint64_t id, left_ns;
	struct htwheel_event event;

	ASSERT_EQ(0, arm_kept(self->fd, HOUR_NS, 0, &id));
	EXPECT_EQ(0, query(self->fd, id, &left_ns));
	EXPECT_GE(HOUR_NS, left_ns);
	EXPECT_LT(HOUR_NS / 2, left_ns);
	/* Expired, unread. */
	ASSERT_EQ(0, rearm_in(self->fd, id, 0));
	EXPECT_EQ(HTWHEEL_RES_FIRED, query(self->fd, id, &left_ns));
	EXPECT_EQ(0, left_ns);
	/* Of exactly now, and the tick in which it fires. */
	ASSERT_EQ(HTWHEEL_RES_FIRED, rearm_at(self->fd, id, now_ns()));
	EXPECT_EQ(HTWHEEL_RES_FIRED, query(self->fd, id, &left_ns));
	EXPECT_EQ(0, left_ns);
	/* Idle. */
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(-ENOENT, query(self->fd, id, NULL));
	EXPECT_EQ(-ENOENT, query(self->fd, id, NULL));
	/* And back. */
	ASSERT_EQ(0, rearm_in(self->fd, id, 2 * HOUR_NS));
	EXPECT_EQ(0, query(self->fd, id, &left_ns));
	EXPECT_GE(2 * HOUR_NS, left_ns);
	EXPECT_LT(HOUR_NS, left_ns);
}

TEST_F(keep, operations_on_an_armed_one)
{
	uint64_t id;

	ASSERT_EQ(0, arm_kept(self->fd, HOUR_NS, 0, &id));
	EXPECT_EQ(0, rearm_in(self->fd, id, 2 * HOUR_NS));
	EXPECT_BOOKS(2, 0, 0, 1, 1, 0);
	EXPECT_EQ(0, cancel(self->fd, id, NULL));
	EXPECT_BOOKS(2, 0, 1, 1, 0, 0);
	EXPECT_EQ(-ENOENT, rearm_in(self->fd, id, HOUR_NS));
}

TEST_F(keep, B41_operations_on_a_fired_one)
{
	struct htwheel_event event;
	uint64_t id;

	ASSERT_EQ(0, arm_kept(self->fd, 0, 0, &id));
	EXPECT_EQ(HTWHEEL_RES_FIRED, rearm_in(self->fd, id, HOUR_NS));
	EXPECT_FALSE(is_readable(self->fd));
	EXPECT_BOOKS(2, 0, 0, 1, 1, 0);
	EXPECT_EQ(0, rearm_in(self->fd, id, 0));
	EXPECT_EQ(HTWHEEL_RES_FIRED, cancel(self->fd, id, NULL));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
	EXPECT_BOOKS(3, 0, 1, 2, 0, 0);
	EXPECT_EQ(-ENOENT, rearm_in(self->fd, id, 0));
}

/* Idle timers keep their places, so they count towards the limit. */
TEST_F(keep, idle_ones_count_towards_the_limit)
{
	struct htwheel_stats stats;
	uint64_t ids[5], id;
	size_t i;

	ASSERT_EQ(0, device_setup(self->fd, ARRAY_SIZE(ids)));
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		ids[i] = make_idle(self->fd, i);
		ASSERT_NE(0, ids[i]);
	}
	EXPECT_EQ(-ENOSPC, arm_in(self->fd, 0, 0, &id));
	EXPECT_EQ(0, id);
	/* A re-arm takes no place. */
	EXPECT_EQ(0, rearm_in(self->fd, ids[0], HOUR_NS));
	EXPECT_EQ(-ENOSPC, arm_kept(self->fd, 0, 0, &id));
	EXPECT_EQ(0, cancel(self->fd, ids[1], NULL));
	EXPECT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &id));
	EXPECT_EQ(-ENOSPC, arm_in(self->fd, HOUR_NS, 0, &id));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(ARRAY_SIZE(ids), stats.peak);
	EXPECT_EQ(3, stats.idle);
	EXPECT_EQ(2, stats.pending);
	EXPECT_TRUE(books_balance(&stats));
}

/* The user's figure counts them as well. */
TEST_F(keep, idle_ones_are_the_user_s)
{
	struct htwheel_stats then, now;
	uint64_t id;

	ASSERT_EQ(0, device_stats(self->fd, &then));
	id = make_idle(self->fd, 0);
	ASSERT_NE(0, id);
	ASSERT_EQ(0, device_stats(self->fd, &now));
	EXPECT_EQ(then.user_timers + 1, now.user_timers);
	EXPECT_EQ(0, now.queued - then.queued);
	ASSERT_EQ(0, cancel(self->fd, id, NULL));
	ASSERT_EQ(0, device_stats(self->fd, &now));
	EXPECT_EQ(then.user_timers, now.user_timers);
}

TEST_F(keep, a_thousand_lives_of_one_name)
{
	unsigned int round, rounds = scaled(1000);
	struct htwheel_event event;
	uint64_t id, deadline_ns;

	ASSERT_EQ(0, arm_kept(self->fd, HOUR_NS, 3, &id));
	for (round = 0; round < rounds; round++) {
		deadline_ns = round % 10 ? round : now_ns() + NS_PER_MS / 2;
		ASSERT_EQ(0, rearm_at(self->fd, id, deadline_ns));
		ASSERT_EQ(0, next_event(self->fd, &event));
		ASSERT_EQ(id, event.id);
		ASSERT_EQ(3, event.user_data);
		ASSERT_EQ(deadline_ns, event.deadline_ns);
		ASSERT_LE(deadline_ns, event.fired_ns);
		ASSERT_EQ(-ENOENT, query(self->fd, id, NULL));
	}
	/* Only the first re-arm replaced anything. */
	EXPECT_BOOKS(1 + rounds, rounds, 0, 1, 0, 1);
}

/* Idle, armed and fired ones at the end; nothing of them is left. */
TEST_F(keep, close_with_idle_timers)
{
	struct htwheel_stats then, now;
	int fd = open_device(O_NONBLOCK);
	unsigned int i;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, device_stats(self->fd, &then));
	for (i = 0; i < 1000; i++)
		ASSERT_NE(0, make_idle(fd, i));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, arm_kept(fd, i & 1 ? HOUR_NS : 0, i, NULL));
	ASSERT_EQ(0, device_stats(fd, &now));
	EXPECT_EQ(1000, now.idle);
	EXPECT_EQ(then.user_timers + 1100, now.user_timers);
	close(fd);
	EXPECT_TRUE(wait_queued(then.queued));
	ASSERT_EQ(0, device_stats(self->fd, &now));
	EXPECT_EQ(then.user_timers, now.user_timers);
}

#define NR_RACED	8

/* Names that one thread re-arms and cancels while another reads them. */
struct race {
	int		fd;
	uint64_t	ids[NR_RACED];
	uint64_t	fired;
	uint64_t	wrong;
	uint64_t	armed;
	uint64_t	fired_seen;
};

static void read_raced(void *arg)
{
	struct htwheel_event events[4];
	struct race *race = arg;
	int i, nr;

	nr = read_events(race->fd, events, ARRAY_SIZE(events));
	for (i = 0; i < nr; i++)
		race->wrong += events[i].user_data >= NR_RACED ||
			       events[i].id != race->ids[events[i].user_data] ||
			       events[i].fired_ns < events[i].deadline_ns ||
			       !(events[i].flags & HTWHEEL_EVENT_LIVE);
	race->fired += nr > 0 ? nr : 0;
	race->wrong += nr < 0 && nr != -EAGAIN;
}

/*
 * Each re-arm finds its timer armed, fired or idle, and each of these is one entry in the books;
 * which one is chance, but they must add up.
 */
TEST_F(keep, rearm_races_read)
{
	const unsigned int rounds = scaled(4000);
	struct race race = { .fd = self->fd };
	struct crew crew = { .nr = 0 };
	struct htwheel_stats stats;
	uint64_t seed = 77;
	unsigned int i;
	int ret;

	for (i = 0; i < NR_RACED; i++)
		ASSERT_EQ(0, arm_kept(self->fd, HOUR_NS, i, &race.ids[i]));
	ASSERT_EQ(0, crew_add(&crew, 1, read_raced, &race));
	pin_to(0);
	for (i = 0; i < rounds || !crew_has_turned(&crew); i++) {
		ret = rearm_in(self->fd, race.ids[i % NR_RACED],
			       chance_below(&seed, 3) * 100 * NS_PER_US);
		race.armed += ret >= 0;
		race.fired_seen += ret == HTWHEEL_RES_FIRED;
		ASSERT_LE(0, ret);
	}
	/* At the end all come. */
	for (i = 0; i < NR_RACED; i++) {
		ASSERT_LE(0, rearm_in(self->fd, race.ids[i], NS_PER_MS));
		race.armed++;
	}
	do {
		sleep_ns(5 * NS_PER_MS);
		ASSERT_EQ(0, device_stats(self->fd, &stats));
		EXPECT_TRUE(books_balance(&stats));
		EXPECT_EQ(NR_RACED, stats.pending + stats.idle);
	} while (stats.pending);
	crew_end(&crew);
	TH_LOG("%llu events, %llu withdrawn, %llu replaced", (unsigned long long)race.fired,
	       (unsigned long long)race.fired_seen, (unsigned long long)stats.replaced);
	EXPECT_EQ(0, race.wrong);
	EXPECT_EQ(NR_RACED + race.armed, stats.armed);
	EXPECT_EQ(race.fired, stats.fired);
	EXPECT_LE(race.fired_seen, stats.replaced);
	EXPECT_EQ(0, stats.cancelled);
	EXPECT_EQ(NR_RACED, stats.idle);
}

TEST_HARNESS_MAIN
