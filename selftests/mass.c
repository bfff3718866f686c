// SPDX-License-Identifier: GPL-2.0
/*
 * HTWHEEL_MASS_CANCEL: all timers of a context, or those of a tag, in whatever state.
 */
#include "harness.h"
#include "mass.h"

FIXTURE(mass) {
	struct many_timers data;
};

FIXTURE_SETUP(mass)
{
	self->data.fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->data.fd);
	if (!has_mass(self->data.fd))
		SKIP(return, "the module lacks a feature");
}

FIXTURE_TEARDOWN(mass)
{
	close(self->data.fd);
}

TEST_F(mass, B39_cancel_all_of_10000)
{
	struct many_timers *mass = &self->data;
	const uint32_t nr = 10000;
	uint64_t *ids = calloc(nr, sizeof(*ids));
	struct htwheel_event event;
	uint64_t done;

	/* Some of them are soon due. */
	ASSERT_TRUE(!!ids);
	ASSERT_EQ(0, arm_many(mass->fd, &(struct htwheel_op){ .time_ns = 100 * NS_PER_MS }, 0, nr,
			      NS_PER_MS, ids));
	ASSERT_EQ(0, device_stats(mass->fd, &mass->stats));
	ASSERT_EQ(nr, mass->stats.pending);
	ASSERT_EQ(0, cancel_all(mass->fd, &done));
	EXPECT_EQ(nr, done);
	ASSERT_TRUE(books_are_right(mass->fd, &mass->stats));
	EXPECT_EQ(nr, mass->stats.cancelled);
	EXPECT_EQ(0, mass->stats.pending);
	EXPECT_EQ(0, mass->stats.expired);
	EXPECT_EQ(0, poll_for(mass->fd, NS_PER_S / 2));
	EXPECT_EQ(-EAGAIN, read_events(mass->fd, &event, 1));
	EXPECT_EQ(nr, count_stale(mass->fd, ids, nr));
	EXPECT_EQ(nr, count_results(mass->fd, HTWHEEL_OP_CANCEL, ids, nr, -ENOENT));
	EXPECT_EQ(nr, count_results(mass->fd, HTWHEEL_OP_REARM, ids, nr, -ENOENT));
	ASSERT_EQ(0, cancel_all(mass->fd, &done));
	EXPECT_EQ(0, done);
	free(ids);
}

/* An idle timer is no part of the books' pending ones, so it is not among the cancelled. */
TEST_F(mass, B39_cancel_in_every_state)
{
	struct many_timers *mass = &self->data;
	uint64_t done;

	ASSERT_EQ(0, arm_far(mass, 0, 1000));
	ASSERT_EQ(0, arm_idle(mass, 1000, 300));
	ASSERT_EQ(0, arm_fired(mass, 1300, 200));
	ASSERT_EQ(0, arm_like(mass, (struct htwheel_op){
		.flags = HTWHEEL_PERIODIC, .time_ns = HOUR_NS, .period_ns = NS_PER_MS,
	}, 1500, 100, 0));
	ASSERT_EQ(0, arm_like(mass, (struct htwheel_op){ .time_ns = NEVER }, 1600, 50, 0));
	ASSERT_TRUE(books_are_right(mass->fd, &mass->stats));
	ASSERT_EQ(300, mass->stats.idle);
	ASSERT_EQ(200, mass->stats.expired);
	ASSERT_TRUE(is_readable(mass->fd));
	ASSERT_EQ(0, cancel_all(mass->fd, &done));
	EXPECT_EQ(1650, done);
	EXPECT_FALSE(is_readable(mass->fd));
	ASSERT_TRUE(books_are_right(mass->fd, &mass->stats));
	EXPECT_EQ(1350, mass->stats.cancelled);
	EXPECT_EQ(300, mass->stats.fired);
	EXPECT_EQ(0, mass->stats.pending);
	EXPECT_EQ(0, mass->stats.expired);
	EXPECT_EQ(0, mass->stats.idle);
	EXPECT_EQ(1650, count_stale(mass->fd, mass->ids, 1650));
	EXPECT_EQ(0, list(mass, mass->after));
}

/* Tags 0, 1 and 2, in every state: each operation with a tag finds those of that tag alone. */
TEST_F(mass, cancel_by_tag)
{
	struct many_timers *mass = &self->data;
	const uint32_t tags[] = { 1, 0, UINT32_MAX };
	uint32_t i, tag;
	uint64_t done;

	for (i = 0; i < 600; i++) {
		struct htwheel_op like = {
			.flags = HTWHEEL_ABSOLUTE | (i % 2 ? HTWHEEL_KEEP : 0),
			.tag = tags[i % 3],
			.time_ns = i % 4 == 3 ? 5 : now_ns() + HOUR_NS,
		};

		ASSERT_EQ(0, arm_like(mass, like, i, 1, 0));
	}
	for (tag = 0; tag < 3; tag++) {
		ASSERT_EQ(0, mass_all(mass->fd, (struct htwheel_mass){
			.opcode = HTWHEEL_MASS_CANCEL, .flags = HTWHEEL_MASS_TAG, .tag = tags[tag],
		}, &done));
		EXPECT_EQ(200, done);
		ASSERT_EQ(400 - 200 * tag, list(mass, mass->after));
		for (i = 0; i < 600; i++)
			ASSERT_EQ(i % 3 > tag, mass->after[i].id != 0);
		ASSERT_TRUE(books_are_right(mass->fd, &mass->stats));
	}
	EXPECT_FALSE(is_readable(mass->fd));
	ASSERT_EQ(0, mass_all(mass->fd, (struct htwheel_mass){
		.opcode = HTWHEEL_MASS_CANCEL, .flags = HTWHEEL_MASS_TAG, .tag = 2,
	}, &done));
	EXPECT_EQ(0, done);
}

TEST_HARNESS_MAIN
