// SPDX-License-Identifier: GPL-2.0
/*
 * The user's limit with rings: a timer whose event is in the ring counts until the next call, and
 * none that is over keeps room from others for good.
 */
#include "harness.h"
#include "quota.h"
#include "shared_area.h"

FIXTURE(quota) {
	struct area area;
	uint64_t ids[LIMIT];
	int other_fd;
};

FIXTURE_SETUP(quota)
{
	const char *why = why_no_reload();

	self->other_fd = -1;
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, load_with_limit());
	ASSERT_EQ(0, open_ring(&self->area, 4096));
	self->other_fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->other_fd);
}

FIXTURE_TEARDOWN(quota)
{
	close_areas(&self->area);
	close(self->other_fd);
	EXPECT_EQ(0, restore_module());
}

static int arm_all(FIXTURE_DATA(quota) *self, uint64_t delay_ns, uint32_t nr)
{
	const struct htwheel_op like = { .time_ns = delay_ns };

	return arm_many(self->area.fd, &like, 0, nr, 0, self->ids);
}

/* The events come by themselves; any call gives back what they leave. */
TEST_F(quota, published_timers_give_back_their_room)
{
	uint64_t end_ns = now_ns() + patience_ns(), ids[LIMIT];
	struct htwheel_stats stats;
	unsigned int round;
	uint64_t left_ns;

	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, arm_all(self, NS_PER_MS, LIMIT));
		while (ring_unread(&self->area) < (round + 1) * LIMIT && now_ns() < end_ns)
			sleep_ns(NS_PER_MS);
		ASSERT_EQ((round + 1) * LIMIT, ring_unread(&self->area));
		/* Any of these. */
		if (round == 0)
			EXPECT_EQ(0, device_stats(self->area.fd, &stats));
		else if (round == 1)
			EXPECT_EQ(-ENOENT, query(self->area.fd, self->ids[0], &left_ns));
		else
			EXPECT_EQ(-EAGAIN, read_events(self->area.fd,
						       &(struct htwheel_event){}, 1));
		ASSERT_EQ(0, user_timers(self->other_fd));
		ASSERT_EQ(0, arm_far(self->other_fd, LIMIT, ids));
		EXPECT_TRUE(is_full(self->other_fd));
		EXPECT_EQ(-EDQUOT, arm_in(self->area.fd, 0, 0, NULL));
		ASSERT_EQ(LIMIT, cancel_many(self->other_fd, ids, LIMIT));
	}
}

/* Who is at the limit arms again without more ado, when the timers are over. */
TEST_F(quota, own_room_is_there_at_once)
{
	uint64_t end_ns = now_ns() + patience_ns();
	unsigned int round;

	for (round = 1; round <= 4; round++) {
		ASSERT_EQ(0, arm_all(self, NS_PER_US, LIMIT));
		while (ring_unread(&self->area) < round * LIMIT && now_ns() < end_ns)
			sleep_ns(NS_PER_MS);
	}
	EXPECT_EQ(4 * LIMIT, ring_unread(&self->area));
}

/* In the past, they never held room for longer than their own arm. */
TEST_F(quota, past_deadlines)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, arm_all(self, 0, LIMIT / 2));
	EXPECT_EQ(2 * LIMIT, ring_unread(&self->area));
	EXPECT_EQ(0, user_timers(self->area.fd));
}

/* The end of the context takes what was not noticed. */
TEST_F(quota, close_gives_back_what_was_published)
{
	uint64_t end_ns = now_ns() + patience_ns();

	ASSERT_EQ(0, arm_all(self, NS_PER_MS, LIMIT));
	while (ring_unread(&self->area) < LIMIT && now_ns() < end_ns)
		sleep_ns(NS_PER_MS);
	close_areas(&self->area);
	EXPECT_TRUE(wait_user_timers(self->other_fd, 0));
	EXPECT_TRUE(has_room_for(self->other_fd, LIMIT));
}

/* A mapping keeps the module from being unloaded, as a file does. */
TEST_F(quota, B33_mapped_module_is_not_unloaded)
{
	close(self->area.fd);
	self->area.fd = -1;
	close(self->other_fd);
	self->other_fd = -1;
	EXPECT_EQ(-EWOULDBLOCK, unload());
	munmap(self->area.ring, self->area.ring_bytes);
	self->area.ring = NULL;
	EXPECT_EQ(-EWOULDBLOCK, unload());
	close_areas(&self->area);
	EXPECT_EQ(0, unload_soon());
	ASSERT_EQ(0, load(parameters));
}

TEST_HARNESS_MAIN
