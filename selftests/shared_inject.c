// SPDX-License-Identifier: GPL-2.0
/*
 * B60: every allocation of SETUP and of mmap(2) fails once, one at a time; and none is left where
 * events are published and deadlines looked up.
 */
#include "harness.h"
#include "inject.h"
#include "shared_area.h"

#define ENTRIES		64U
#define MAX_TIMERS	2000U

FIXTURE(inject) {
	struct htwheel_setup setup;
	uint64_t queued;
	int nth_fd;
};

FIXTURE_VARIANT(inject) {
	uint32_t clock;
	uint32_t flags;
	uint32_t entries;
};

FIXTURE_VARIANT_ADD(inject, ring) {
	.entries = ENTRIES,
};

FIXTURE_VARIANT_ADD(inject, table) {
	.flags = HTWHEEL_SETUP_TABLE,
};

FIXTURE_VARIANT_ADD(inject, both) {
	.flags = HTWHEEL_SETUP_TABLE, .entries = ENTRIES,
};

FIXTURE_VARIANT_ADD(inject, both_private) {
	.flags = HTWHEEL_SETUP_TABLE | HTWHEEL_SETUP_PRIVATE, .entries = ENTRIES,
};

FIXTURE_VARIANT_ADD(inject, both_manual) {
	.clock = HTWHEEL_CLOCK_MANUAL, .flags = HTWHEEL_SETUP_TABLE, .entries = ENTRIES,
};

FIXTURE_SETUP(inject)
{
	self->nth_fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	if (self->nth_fd < 0 || !configure_faults())
		SKIP(return, "the kernel injects no faults");
	self->queued = queued_timers();
	self->setup = (struct htwheel_setup){
		.clock = variant->clock, .flags = variant->flags, .max_timers = MAX_TIMERS,
		.ring_entries = variant->entries,
	};
}

FIXTURE_TEARDOWN(inject)
{
	close(self->nth_fd);
	EXPECT_TRUE(wait_queued(self->queued));
}

/* If it fails, nothing was set up, and the same call can be made again. */
TEST_F(inject, set_up)
{
	struct htwheel_info info;
	bool struck = true;
	unsigned int nth;
	int ret, fd;

	for (nth = 1; struck && nth < MAX_NTH; nth++) {
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		fail_nth(self->nth_fd, nth);
		ret = setup_like(fd, self->setup);
		struck = was_injected(self->nth_fd);
		ASSERT_TRUE(is_explained(ret, struck)) {
			TH_LOG("chance %u: %d", nth, ret);
		}
		ASSERT_EQ(0, device_info(fd, &info));
		if (ret) {
			EXPECT_EQ(0, info.ring_entries);
			EXPECT_EQ(0, info.table_entries);
			EXPECT_EQ(0, info.setup);
			EXPECT_EQ(HTWHEEL_CLOCK_MONOTONIC, info.clock);
			EXPECT_NE(MAX_TIMERS, info.max_timers);
			ASSERT_EQ(0, setup_like(fd, self->setup));
			ASSERT_EQ(0, device_info(fd, &info));
		}
		EXPECT_EQ(variant->entries, info.ring_entries);
		EXPECT_EQ(!!(variant->flags & HTWHEEL_SETUP_TABLE), !!info.table_entries);
		ASSERT_EQ(0, arm_in(fd, HOUR_NS, 0, NULL));
		close(fd);
	}
	TH_LOG("%u chances to fail", nth - 2);
	EXPECT_LT(3, nth);
}

/* A mapping that fails is none; what there is stays, and it can be made later. */
TEST_F(inject, map)
{
	bool struck = true, failed;
	struct area area;
	unsigned int nth;
	int fd;

	for (nth = 1; struck && nth < MAX_NTH; nth++) {
		fd = open_with(self->setup);
		ASSERT_LE(0, fd);
		fail_nth(self->nth_fd, nth);
		failed = map_areas(&area, fd);
		struck = was_injected(self->nth_fd);
		ASSERT_TRUE(struck || !failed);
		if (failed) {
			unmap_areas(&area);
			ASSERT_EQ(0, map_areas(&area, fd));
		}
		ASSERT_EQ(0, arm_in(fd, HOUR_NS, 0, NULL));
		close_areas(&area);
	}
	TH_LOG("%u chances to fail", nth - 2);
}

/* I10: what fires needs no memory. */
TEST_F(inject, fire)
{
	struct htwheel_event event;
	bool struck = true;
	struct area area;
	unsigned int nth;
	uint64_t id;
	int ret;

	ASSERT_EQ(0, open_areas(&area, self->setup));
	for (nth = 1; struck && nth < MAX_NTH; nth++) {
		ASSERT_EQ(0, arm_kept(area.fd, HOUR_NS, 7, &id));
		if (area.table)
			postpone(&area, id, 1);
		fail_nth(self->nth_fd, nth);
		ret = rearm_at(area.fd, id, 0);
		struck = was_injected(self->nth_fd);
		ASSERT_TRUE(is_explained(ret, struck) || ret == -ENOENT);
		if (ret)
			rearm_at(area.fd, id, 0);
		if (area.ring)
			ASSERT_EQ(1, take_events(&area, &event, 1));
		else
			ASSERT_EQ(1, read_events(area.fd, &event, 1));
		ASSERT_EQ(id, event.id);
		/* The answer may not have come out, but the timer was moved: one more, then. */
		if (area.ring)
			drop_all(&area);
		else
			drop_events(area.fd);
		ASSERT_EQ(0, cancel(area.fd, id, NULL));
	}
	close_areas(&area);
}

TEST_HARNESS_MAIN
