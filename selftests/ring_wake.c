// SPDX-License-Identifier: GPL-2.0
/*
 * Readable with a ring: poll, select and epoll find what is in the ring and what waits outside, by
 * the wake-up policy, and nothing when both are empty.
 */
#include <sys/epoll.h>
#include <sys/select.h>

#include "harness.h"
#include "crew.h"
#include "shared_area.h"

#define HOUR_US		3600000000U
#define NR		4U

FIXTURE(wake) {
	struct area area;
	int epoll_fd;
	int edge_fd;
	int fd;
};

FIXTURE_VARIANT(wake) {
	uint32_t wake_events;
	uint32_t entries;
};

FIXTURE_VARIANT_ADD(wake, at_once) {
	.wake_events = 1, .entries = 64,
};

FIXTURE_VARIANT_ADD(wake, policy) {
	.wake_events = NR, .entries = 64,
};

/* Some of the events of the policy are in the ring, and some wait outside. */
FIXTURE_VARIANT_ADD(wake, policy_and_overflow) {
	.wake_events = NR, .entries = 2,
};

static int watch(int epoll_fd, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

FIXTURE_SETUP(wake)
{
	ASSERT_EQ(0, open_areas(&self->area, (struct htwheel_setup){
		.ring_entries = variant->entries, .wake_events = variant->wake_events,
		.wake_usecs = variant->wake_events > 1 ? HOUR_US : 0,
	}));
	self->fd = self->area.fd;
	self->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	self->edge_fd = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_EQ(0, watch(self->epoll_fd, self->fd, EPOLLIN));
	ASSERT_EQ(0, watch(self->edge_fd, self->fd, EPOLLIN | EPOLLET));
}

FIXTURE_TEARDOWN(wake)
{
	close(self->epoll_fd);
	close(self->edge_fd);
	close_areas(&self->area);
}

static bool epoll_says_so(int epoll_fd)
{
	struct epoll_event event;

	return epoll_wait(epoll_fd, &event, 1, 0) == 1 && event.events == EPOLLIN;
}

static bool select_says_so(int fd)
{
	struct timeval now = { 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, &now) == 1;
}

static bool all_say_so(FIXTURE_DATA(wake) *self)
{
	return is_readable(self->fd) && epoll_says_so(self->epoll_fd) && select_says_so(self->fd);
}

static bool all_deny(FIXTURE_DATA(wake) *self)
{
	return poll_for(self->fd, 0) == 0 && !epoll_says_so(self->epoll_fd) &&
	       !select_says_so(self->fd);
}

/* One that was due before it was armed, or soon after, and is ready when this returns. */
static int make_event(struct area *area, uint64_t user_data)
{
	uint64_t end_ns = now_ns() + patience_ns();
	struct htwheel_stats then, stats;
	int ret = device_stats(area->fd, &then);

	if (!ret)
		ret = arm_in(area->fd, user_data % 2 ? NS_PER_US : 0, user_data, NULL);
	while (!ret) {
		ret = device_stats(area->fd, &stats);
		if (stats.fired + stats.expired > then.fired + then.expired)
			break;
		if (now_ns() > end_ns)
			ret = -ETIME;
	}
	return ret;
}

TEST_F(wake, when_there_are_enough_and_until_none_is_left)
{
	struct htwheel_event event;
	unsigned int round, i;
	struct htwheel_stats stats;

	for (round = 0; round < 4; round++) {
		for (i = 0; i < variant->wake_events; i++) {
			EXPECT_TRUE(all_deny(self)) {
				TH_LOG("round %u, %u events", round, i);
			}
			EXPECT_FALSE(epoll_says_so(self->edge_fd));
			ASSERT_EQ(0, make_event(&self->area, i));
		}
		EXPECT_TRUE(epoll_says_so(self->edge_fd));
		for (i = 0; i < variant->wake_events; i++) {
			EXPECT_TRUE(all_say_so(self)) {
				TH_LOG("round %u, %u taken", round, i);
			}
			ASSERT_EQ(1, take_or_read(&self->area, &event, 1));
			EXPECT_EQ(i, event.user_data);
		}
		EXPECT_TRUE(all_deny(self));
		ASSERT_EQ(0, check_books(self->fd, &stats));
		EXPECT_EQ(round + 1, stats.alerts);
	}
}

/* The policy is about poll alone: what is there can be taken. */
TEST_F(wake, nothing_is_held_back)
{
	struct htwheel_event event = { .id = 0 };
	unsigned int i;

	for (i = 0; i < 3 * variant->wake_events; i++) {
		ASSERT_EQ(0, make_event(&self->area, i));
		ASSERT_EQ(1, take_or_read(&self->area, &event, 1));
		EXPECT_EQ(i, event.user_data);
		EXPECT_TRUE(all_deny(self));
	}
	/* Outside of the ring, too. */
	if (variant->entries > 2)
		return;
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, make_event(&self->area, i));
	EXPECT_TRUE(all_deny(self));
	ASSERT_EQ(2, take_events(&self->area, (struct htwheel_event[2]){}, 2));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(2, event.user_data);
	EXPECT_TRUE(all_deny(self));
}

/* An edge for each time that it becomes readable; the ring was emptied without a call meanwhile. */
TEST_F(wake, edge_after_edge)
{
	const unsigned int rounds = scaled(200);
	struct epoll_event edge;
	unsigned int round, i;

	for (round = 0; round < rounds; round++) {
		for (i = 0; i < variant->wake_events; i++)
			ASSERT_EQ(0, arm_in(self->fd, round % 3 * NS_PER_US, i, NULL));
		ASSERT_EQ(1, epoll_wait(self->edge_fd, &edge, 1, patience_ns() / NS_PER_MS)) {
			TH_LOG("round %u", round);
		}
		/* The others of this round may come a moment later. */
		for (i = 0; i < variant->wake_events; i++) {
			struct htwheel_event event;

			ASSERT_EQ(0, wait_event(&self->area, &event));
		}
	}
}

/* A thread that waits is woken, by each of the calls. */
TEST_F(wake, waits_end)
{
	struct htwheel_event event;
	struct epoll_event ready;
	unsigned int round, i;
	uint64_t begin_ns;
	fd_set set;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < variant->wake_events; i++)
			ASSERT_EQ(0, arm_in(self->fd, 2 * NS_PER_MS, i, NULL));
		begin_ns = now_ns();
		if (round % 3 == 0) {
			EXPECT_TRUE(wait_readable(self->fd));
		} else if (round % 3 == 1) {
			EXPECT_EQ(1, epoll_wait(self->epoll_fd, &ready, 1,
						patience_ns() / NS_PER_MS));
		} else {
			struct timeval tv = { .tv_sec = patience_ns() / NS_PER_S };

			FD_ZERO(&set);
			FD_SET(self->fd, &set);
			EXPECT_EQ(1, select(self->fd + 1, &set, NULL, NULL, &tv));
		}
		ASSERT_GT(begin_ns + patience_ns(), now_ns());
		for (i = 0; i < variant->wake_events; i++)
			ASSERT_EQ(0, wait_event(&self->area, &event));
	}
}

/* wake_usecs is time of the context's clock. */
TEST_F(wake, time_of_the_policy)
{
	struct htwheel_event event;
	struct area area;
	unsigned int round;

	ASSERT_EQ(0, open_areas(&area, (struct htwheel_setup){
		.clock = HTWHEEL_CLOCK_MANUAL, .ring_entries = variant->entries,
		.wake_events = 1000, .wake_usecs = 50000,
	}));
	for (round = 0; round < 5; round++) {
		ASSERT_EQ(0, arm_in(area.fd, 0, 1, NULL));
		EXPECT_FALSE(is_readable(area.fd));
		ASSERT_EQ(0, advance_to(area.fd, clock_of(area.fd) + 30 * NS_PER_MS));
		EXPECT_FALSE(is_readable(area.fd));
		/* It is the oldest that counts. */
		ASSERT_EQ(0, arm_in(area.fd, 0, 2, NULL));
		ASSERT_EQ(0, advance_to(area.fd, clock_of(area.fd) + 30 * NS_PER_MS));
		EXPECT_TRUE(is_readable(area.fd));
		ASSERT_EQ(1, take_or_read(&area, &event, 1));
		EXPECT_TRUE(is_readable(area.fd));
		ASSERT_EQ(1, take_or_read(&area, &event, 1));
		EXPECT_FALSE(is_readable(area.fd));
		/* One that is taken before its time tells nobody. */
		ASSERT_EQ(0, arm_in(area.fd, 0, 3, NULL));
		ASSERT_EQ(0, advance_to(area.fd, clock_of(area.fd) + 30 * NS_PER_MS));
		ASSERT_EQ(1, take_or_read(&area, &event, 1));
		ASSERT_EQ(0, arm_in(area.fd, 0, 4, NULL));
		ASSERT_EQ(0, advance_to(area.fd, clock_of(area.fd) + 40 * NS_PER_MS));
		EXPECT_FALSE(is_readable(area.fd));
		ASSERT_EQ(0, advance_to(area.fd, clock_of(area.fd) + 20 * NS_PER_MS));
		EXPECT_TRUE(is_readable(area.fd));
		ASSERT_EQ(1, take_or_read(&area, &event, 1));
		/* Nor does it when another one came before that, whose time is its own. */
		ASSERT_EQ(0, arm_in(area.fd, 0, 5, NULL));
		ASSERT_EQ(0, advance_to(area.fd, clock_of(area.fd) + 30 * NS_PER_MS));
		ASSERT_EQ(0, arm_in(area.fd, 0, 6, NULL));
		ASSERT_EQ(1, take_or_read(&area, &event, 1));
		ASSERT_EQ(0, advance_to(area.fd, clock_of(area.fd) + 40 * NS_PER_MS));
		EXPECT_FALSE(is_readable(area.fd));
		ASSERT_EQ(0, advance_to(area.fd, clock_of(area.fd) + 20 * NS_PER_MS));
		EXPECT_TRUE(is_readable(area.fd));
		ASSERT_EQ(1, take_or_read(&area, &event, 1));
	}
	close_areas(&area);
}

/* On the live clock the alarm comes by itself. */
TEST_F(wake, time_of_the_policy_live)
{
	struct htwheel_event event = { .fired_ns = 0 };
	struct area area;
	unsigned int i;

	ASSERT_EQ(0, open_areas(&area, (struct htwheel_setup){
		.ring_entries = variant->entries, .wake_events = 1000, .wake_usecs = 20000,
	}));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, arm_in(area.fd, i % 2 * NS_PER_MS, i, NULL));
		ASSERT_TRUE(wait_readable(area.fd));
		ASSERT_EQ(1, take_or_read(&area, &event, 1));
		EXPECT_LE(event.fired_ns + 20 * NS_PER_MS, now_ns());
	}
	close_areas(&area);
}

struct stream {
	struct area	area;
	uint64_t	armed;
};

/* Events without an end, some at once and some from passes. */
static void arm_one(void *arg)
{
	struct stream *stream = arg;

	if (!arm_in(stream->area.fd, stream->armed % 3 * NS_PER_US, stream->armed, NULL))
		__atomic_add_fetch(&stream->armed, 1, __ATOMIC_RELEASE);
	if (stream->armed % 64 == 0)
		sleep_ns(NS_PER_MS);
}

/*
 * Who goes by edges takes all that there is, looks once more after having said so, and waits then.
 * No edge may be missing: the last events would stay in the ring for ever.
 */
TEST_F(wake, no_edge_is_lost)
{
	const uint64_t wanted = scaled(5000);
	struct stream *stream = calloc(1, sizeof(*stream));
	struct crew crew = { .nr = 0 };
	struct htwheel_event events[32];
	struct epoll_event edge;
	uint64_t seen = 0;
	bool over = false;
	int ret;

	if (variant->wake_events > 1)
		return;
	ASSERT_TRUE(!!stream);
	stream->area = self->area;
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, arm_one, stream));
	for (;;) {
		do {
			ret = take_or_read(&self->area, events, 32);
			ASSERT_LE(0, ret);
			seen += ret;
			atomic_thread_fence(memory_order_seq_cst);
		} while (ret || ring_unread(&self->area));
		if (seen >= wanted && !over) {
			crew_end(&crew);
			over = true;
		}
		if (over && seen == stream->armed)
			break;
		ASSERT_EQ(1, epoll_wait(self->edge_fd, &edge, 1, patience_ns() / NS_PER_MS)) {
			TH_LOG("%llu events seen of %llu", (unsigned long long)seen,
			       (unsigned long long)stream->armed);
		}
	}
	free(stream);
}

TEST_HARNESS_MAIN
