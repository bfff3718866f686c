// SPDX-License-Identifier: GPL-2.0
/*
 * The event ring: events come in order and exactly once, in the ring as long as there is room and
 * by read(2) otherwise; what was published is over.
 *
 * On a manual clock, so that nothing fires but when the test says so.
 */
#include "harness.h"
#include "many.h"
#include "shared_area.h"

#define START_NS	(1ULL << 32)
#define MS		NS_PER_MS
#define ENTRIES		64U

FIXTURE(ring) {
	struct area area;
	int fd;
};

FIXTURE_SETUP(ring)
{
	ASSERT_EQ(0, open_manual_ring(&self->area, ENTRIES, START_NS));
	self->fd = self->area.fd;
}

FIXTURE_TEARDOWN(ring)
{
	close_areas(&self->area);
}

static int pass_ms(int fd, unsigned int ms)
{
	return advance_to(fd, clock_of(fd) + ms * MS);
}

/* The event is that of this timer, and in order. */
static bool is_right(const struct htwheel_event *event, uint64_t id, uint64_t user_data)
{
	return event->id == id && event->user_data == user_data && event->count == 1 &&
	       !event->flags && event->fired_ns >= event->deadline_ns;
}

TEST_F(ring, has_the_event_of_a_timer)
{
	struct htwheel_event event = { .id = 0 };
	struct htwheel_op op = { .time_ns = 5 * MS, .tag = 77, .user_data = 42 };
	uint64_t id;

	ASSERT_EQ(0, arm_like(self->fd, op, &id));
	EXPECT_EQ(0, ring_unread(&self->area));
	ASSERT_EQ(0, pass_ms(self->fd, 4));
	EXPECT_EQ(0, ring_unread(&self->area));
	EXPECT_FALSE(is_readable(self->fd));
	ASSERT_EQ(0, pass_ms(self->fd, 6));
	EXPECT_TRUE(is_readable(self->fd));
	ASSERT_EQ(1, take_events(&self->area, &event, 1));
	EXPECT_TRUE(is_right(&event, id, 42));
	EXPECT_EQ(START_NS + 5 * MS, event.deadline_ns);
	EXPECT_GE(START_NS + 10 * MS, event.fired_ns);
	EXPECT_EQ(77, event.tag);
	EXPECT_FALSE(is_readable(self->fd));
	EXPECT_EQ(0, take_events(&self->area, &event, 1));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
}

/* What is due when it is armed is there when the call returns. */
TEST_F(ring, has_the_event_of_the_past_at_once)
{
	struct htwheel_event event = { .id = 0 };
	uint64_t id;

	ASSERT_EQ(0, arm_at(self->fd, START_NS - 1, 1, &id));
	ASSERT_EQ(1, take_events(&self->area, &event, 1));
	EXPECT_TRUE(is_right(&event, id, 1));
	EXPECT_EQ(-ENOENT, query(self->fd, id, NULL));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 2, &id));
	ASSERT_EQ(0, rearm_in(self->fd, id, 0));
	ASSERT_EQ(1, take_events(&self->area, &event, 1));
	EXPECT_TRUE(is_right(&event, id, 2));
	EXPECT_EQ(-ENOENT, cancel(self->fd, id, NULL));
}

/* In the order of their deadlines, each of another tick. */
TEST_F(ring, is_in_order)
{
	struct htwheel_event events[ENTRIES];
	uint64_t ids[ENTRIES];
	unsigned int i, k;

	for (i = 0; i < ENTRIES; i++) {
		k = i * 37 % ENTRIES;
		ASSERT_EQ(0, arm_in(self->fd, (k + 1) * MS, k, &ids[k]));
	}
	ASSERT_EQ(0, pass_ms(self->fd, 2 * ENTRIES));
	EXPECT_EQ(0, ring_flags(&self->area));
	ASSERT_EQ(ENTRIES, take_events(&self->area, events, ENTRIES));
	for (i = 0; i < ENTRIES; i++)
		EXPECT_TRUE(is_right(&events[i], ids[i], i));
	EXPECT_EQ(0, ring_waited(&self->area));
}

/*
 * B80: far more events than places, and nobody looks until all have fired. The counter is exact,
 * and so is the flag.
 */
TEST_F(ring, B80_overflow)
{
	const uint32_t nr = 10000;
	uint64_t *ids = calloc(nr, sizeof(*ids));
	struct htwheel_event *events = calloc(nr, sizeof(*events));
	struct htwheel_stats stats;
	uint32_t i;
	int ret, seen;

	ASSERT_TRUE(ids && events);
	ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){ .time_ns = MS }, 0, nr, MS, ids));
	ASSERT_EQ(0, pass_ms(self->fd, 2 * nr));
	EXPECT_EQ(ENTRIES, ring_unread(&self->area));
	EXPECT_EQ(HTWHEEL_RING_WAITING, ring_flags(&self->area));
	EXPECT_EQ(nr - ENTRIES, ring_waited(&self->area));
	ASSERT_EQ(0, check_books(self->fd, &stats));
	EXPECT_EQ(nr - ENTRIES, stats.waited);
	EXPECT_EQ(ENTRIES, stats.fired);
	EXPECT_EQ(nr - ENTRIES, stats.expired);
	EXPECT_EQ(nr - ENTRIES, stats.pending);

	/* The ring first, and then read until there is no more. */
	seen = take_events(&self->area, events, nr);
	EXPECT_EQ(ENTRIES, seen);
	while ((ret = read_events(self->fd, events + seen, nr - seen < 100 ? nr - seen : 100)) > 0)
		seen += ret;
	EXPECT_EQ(nr, seen);
	for (i = 0; i < nr; i++)
		ASSERT_TRUE(is_right(&events[i], ids[i], i)) {
			TH_LOG("event %u is that of timer %llu", i,
			       (unsigned long long)events[i].user_data);
		}
	EXPECT_EQ(0, ring_flags(&self->area));
	EXPECT_EQ(0, ring_unread(&self->area));
	EXPECT_FALSE(is_readable(self->fd));
	ASSERT_EQ(0, check_books(self->fd, &stats));
	EXPECT_EQ(nr, stats.fired);
	EXPECT_EQ(0, stats.pending);
	EXPECT_EQ(nr - ENTRIES, stats.waited);
	free(ids);
	free(events);
}

/* As long as one waits outside, none that comes later gets into the ring before it. */
TEST_F(ring, B80_none_overtakes_those_outside)
{
	struct htwheel_event event = { .id = 0 };
	struct area area;
	unsigned int i;

	ASSERT_EQ(0, open_manual_ring(&area, 2, START_NS));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, arm_in(area.fd, 0, i, NULL));
	EXPECT_EQ(2, ring_waited(&area));
	ASSERT_EQ(1, take_events(&area, &event, 1));
	EXPECT_EQ(0, event.user_data);
	ASSERT_EQ(0, arm_in(area.fd, 0, 4, NULL));
	EXPECT_EQ(1, ring_unread(&area));
	EXPECT_EQ(3, ring_waited(&area));
	ASSERT_EQ(1, take_events(&area, &event, 1));
	EXPECT_EQ(1, event.user_data);
	ASSERT_EQ(0, arm_in(area.fd, 0, 5, NULL));
	EXPECT_EQ(0, ring_unread(&area));
	for (i = 2; i < 6; i++) {
		EXPECT_EQ(HTWHEEL_RING_WAITING, ring_flags(&area));
		EXPECT_TRUE(is_readable(area.fd));
		ASSERT_EQ(1, read_events(area.fd, &event, 1));
		EXPECT_EQ(i, event.user_data);
	}
	EXPECT_EQ(0, ring_flags(&area));
	EXPECT_FALSE(is_readable(area.fd));
	ASSERT_EQ(0, arm_in(area.fd, 0, 6, NULL));
	ASSERT_EQ(1, take_events(&area, &event, 1));
	EXPECT_EQ(6, event.user_data);
	EXPECT_EQ(4, ring_waited(&area));
	close_areas(&area);
}

/* Withdrawn, too, they make way. */
TEST_F(ring, B80_the_last_one_outside_is_withdrawn)
{
	struct htwheel_event events[4];
	struct htwheel_stats stats;
	struct area area;
	uint64_t ids[4];
	unsigned int i;

	ASSERT_EQ(0, open_manual_ring(&area, 2, START_NS));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, arm_in(area.fd, 0, i, &ids[i]));
	EXPECT_EQ(-ENOENT, cancel(area.fd, ids[0], NULL));
	EXPECT_EQ(HTWHEEL_RES_FIRED, query(area.fd, ids[2], NULL));
	EXPECT_EQ(HTWHEEL_RES_FIRED, cancel(area.fd, ids[2], NULL));
	EXPECT_EQ(HTWHEEL_RING_WAITING, ring_flags(&area));
	EXPECT_EQ(HTWHEEL_RES_FIRED, rearm_in(area.fd, ids[3], HOUR_NS));
	EXPECT_EQ(0, ring_flags(&area));
	EXPECT_TRUE(is_readable(area.fd));
	EXPECT_EQ(-EAGAIN, read_events(area.fd, events, 4));
	ASSERT_EQ(2, take_events(&area, events, 4));
	EXPECT_EQ(ids[1], events[1].id);
	EXPECT_FALSE(is_readable(area.fd));
	ASSERT_EQ(0, advance_to(area.fd, START_NS + 2 * HOUR_NS));
	ASSERT_EQ(1, take_events(&area, events, 4));
	EXPECT_EQ(ids[3], events[0].id);
	ASSERT_EQ(0, check_books(area.fd, &stats));
	EXPECT_EQ(5, stats.armed);
	EXPECT_EQ(3, stats.fired);
	EXPECT_EQ(1, stats.cancelled);
	EXPECT_EQ(1, stats.replaced);
	EXPECT_EQ(2, stats.waited);
	close_areas(&area);
}

/* The counters go on; places are used again and again. */
TEST_F(ring, many_rounds_of_two_places)
{
	const unsigned int rounds = scaled(20000);
	struct htwheel_event events[2];
	struct area area;
	unsigned int i, nr;
	uint32_t first;

	ASSERT_EQ(0, open_manual_ring(&area, 2, 0));
	first = ring_tail(&area);
	for (i = 0; i < rounds; i += nr) {
		nr = 1 + (i & 4) / 4;
		ASSERT_EQ(0, arm_at(area.fd, 0, i, NULL));
		if (nr == 2)
			ASSERT_EQ(0, arm_at(area.fd, 0, i + 1, NULL));
		ASSERT_EQ(nr, take_events(&area, events, 2));
		ASSERT_EQ(i, events[0].user_data);
		ASSERT_EQ(i + nr - 1, events[nr - 1].user_data);
		ASSERT_EQ(first + i + nr, ring_tail(&area));
	}
	EXPECT_EQ(0, ring_waited(&area));
	close_areas(&area);
}

/* What was published cannot be cancelled, moved or asked for; other names are as they were. */
TEST_F(ring, operations_on_what_was_published)
{
	uint64_t ids[3], other, left_ns;
	struct htwheel_stats stats;
	unsigned int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, arm_in(self->fd, MS, i, &ids[i]));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 3, &other));
	ASSERT_EQ(0, pass_ms(self->fd, 10));
	EXPECT_EQ(-ENOENT, cancel(self->fd, ids[0], NULL));
	EXPECT_EQ(-ENOENT, rearm_in(self->fd, ids[1], 0));
	EXPECT_EQ(-ENOENT, query(self->fd, ids[2], NULL));
	EXPECT_EQ(3, ring_unread(&self->area));
	EXPECT_EQ(0, query(self->fd, other, &left_ns));
	ASSERT_EQ(0, check_books(self->fd, &stats));
	EXPECT_EQ(4, stats.armed);
	EXPECT_EQ(3, stats.fired);
	EXPECT_EQ(1, stats.pending);
	EXPECT_EQ(0, stats.expired);
	EXPECT_EQ(3, drop_all(&self->area));
}

TEST_F(ring, kept_timer_is_idle_when_it_was_published)
{
	struct htwheel_dump_entry entry;
	struct htwheel_event event = { .id = 0 };
	struct htwheel_stats stats;
	unsigned int round;
	uint64_t id;

	ASSERT_EQ(0, arm_kept(self->fd, MS, 5, &id));
	for (round = 0; round < 10; round++) {
		ASSERT_EQ(0, pass_ms(self->fd, 10));
		if (round % 2)
			EXPECT_EQ(-ENOENT, query(self->fd, id, NULL));
		ASSERT_EQ(0, dump_one(self->fd, id, &entry));
		EXPECT_EQ(HTWHEEL_STATE_IDLE, entry.state);
		EXPECT_EQ(0, entry.left_ns);
		ASSERT_EQ(0, check_books(self->fd, &stats));
		EXPECT_EQ(1, stats.idle);
		EXPECT_EQ(round + 1, stats.fired);
		/* Armed again before its event was taken: that one is as it was. */
		if (round % 3 == 0)
			ASSERT_EQ(0, rearm_in(self->fd, id, MS));
		ASSERT_EQ(1, take_events(&self->area, &event, 1));
		EXPECT_EQ(id, event.id);
		EXPECT_EQ(HTWHEEL_EVENT_LIVE, event.flags);
		if (round % 3)
			ASSERT_EQ(0, rearm_in(self->fd, id, MS));
	}
	ASSERT_EQ(0, pass_ms(self->fd, 10));
	EXPECT_EQ(0, cancel(self->fd, id, NULL));
	EXPECT_EQ(-ENOENT, cancel(self->fd, id, NULL));
	ASSERT_EQ(0, check_books(self->fd, &stats));
	EXPECT_EQ(0, stats.idle + stats.pending);
	/* It had fired before. */
	ASSERT_EQ(1, take_events(&self->area, &event, 1));
}

/* Outside of the ring, a kept one is as it ever was. */
TEST_F(ring, kept_timer_outside)
{
	struct htwheel_event event;
	struct area area;
	uint64_t id;

	ASSERT_EQ(0, open_manual_ring(&area, 2, START_NS));
	ASSERT_EQ(0, arm_in(area.fd, 0, 1, NULL));
	ASSERT_EQ(0, arm_in(area.fd, 0, 2, NULL));
	ASSERT_EQ(0, arm_kept(area.fd, 0, 3, &id));
	EXPECT_EQ(HTWHEEL_RES_FIRED, query(area.fd, id, NULL));
	EXPECT_EQ(HTWHEEL_RES_FIRED, rearm_in(area.fd, id, MS));
	EXPECT_EQ(0, ring_flags(&area));
	ASSERT_EQ(0, pass_ms(area.fd, 10));
	EXPECT_EQ(HTWHEEL_RING_WAITING, ring_flags(&area));
	EXPECT_EQ(2, ring_waited(&area));
	EXPECT_EQ(2, take_events(&area, (struct htwheel_event[2]){}, 2));
	ASSERT_EQ(1, read_events(area.fd, &event, 1));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(-ENOENT, query(area.fd, id, NULL));
	EXPECT_EQ(0, rearm_in(area.fd, id, 0));
	EXPECT_EQ(1, take_events(&area, &event, 1));
	EXPECT_EQ(id, event.id);
	close_areas(&area);
}

/* With a ring there is nothing to wait for in read(2), blocking or not. */
TEST_F(ring, read_never_blocks)
{
	struct htwheel_event event;
	char byte;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, 0));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, NULL));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
	ASSERT_EQ(0, arm_in(self->fd, 0, 0, NULL));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, &event, 1));
	EXPECT_EQ(-1, read(self->fd, &byte, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(1, ring_unread(&self->area));
}

/* Each context has its own. */
TEST_F(ring, of_two_contexts)
{
	struct htwheel_event event = { .id = 0 };
	struct area other;

	ASSERT_EQ(0, open_manual_ring(&other, 2, START_NS));
	ASSERT_EQ(0, arm_in(self->fd, 0, 1, NULL));
	EXPECT_EQ(0, ring_unread(&other));
	EXPECT_FALSE(is_readable(other.fd));
	ASSERT_EQ(0, arm_in(other.fd, 0, 2, NULL));
	ASSERT_EQ(1, take_events(&self->area, &event, 1));
	EXPECT_EQ(1, event.user_data);
	ASSERT_EQ(1, take_events(&other, &event, 1));
	EXPECT_EQ(2, event.user_data);
	close_areas(&other);
}

static void *read_blocking(void *arg)
{
	struct htwheel_event event;

	return (void *)(intptr_t)read_events(*(int *)arg, &event, 1);
}

/* One who waits in read when SETUP makes a ring is not left there, nor kept from being killed. */
TEST(setup_under_a_blocking_read)
{
	struct htwheel_event event = {};
	pthread_t thread;
	struct area area;
	void *result;
	int fd = open_device(0);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_blocking, &fd));
	sleep_ns(50 * NS_PER_MS);
	ASSERT_EQ(0, setup_like(fd, (struct htwheel_setup){ .ring_entries = 2 }));
	ASSERT_EQ(0, map_areas(&area, fd));
	ASSERT_EQ(0, arm_in(fd, 0, 7, NULL));
	ASSERT_EQ(0, pthread_join(thread, &result));
	EXPECT_EQ(-EAGAIN, (int)(intptr_t)result);
	EXPECT_EQ(1, take_events(&area, &event, 1));
	EXPECT_EQ(7, event.user_data);
	close_areas(&area);
}

TEST_HARNESS_MAIN
