// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of HTWHEEL_IOC_SETUP for the event ring and the deadline table, and what the other
 * commands tell of them.
 *
 * Each test breaks one rule and keeps all others. Also built for 32-bit callers, as shared_abi32.
 */
#include "harness.h"
#include "abi.h"
#include "shared_area.h"

FIXTURE(area) {
	struct htwheel_info info;
	struct htwheel_setup arg;
	int fd;
};

FIXTURE_VARIANT(area) {
	uint32_t clock;
	uint32_t flags;
};

FIXTURE_VARIANT_ADD(area, shared) {
	.clock = HTWHEEL_CLOCK_MONOTONIC,
};

FIXTURE_VARIANT_ADD(area, boottime) {
	.clock = HTWHEEL_CLOCK_BOOTTIME,
};

FIXTURE_VARIANT_ADD(area, private) {
	.clock = HTWHEEL_CLOCK_MONOTONIC, .flags = HTWHEEL_SETUP_PRIVATE,
};

FIXTURE_VARIANT_ADD(area, manual) {
	.clock = HTWHEEL_CLOCK_MANUAL, .flags = HTWHEEL_SETUP_PRIVATE,
};

FIXTURE_SETUP(area)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	ASSERT_TRUE(has_features(self->fd, HTWHEEL_FEAT_RING | HTWHEEL_FEAT_TABLE));
	self->arg.size = sizeof(self->arg);
	self->arg.clock = variant->clock;
	self->arg.flags = variant->flags;
}

/* What a test refuses leaves the context as it was, and may be repeated. */
FIXTURE_TEARDOWN(area)
{
	struct htwheel_info info;

	EXPECT_EQ(0, device_info(self->fd, &info));
	EXPECT_EQ(0, info.ring_entries);
	EXPECT_EQ(0, info.table_entries);
	EXPECT_EQ(0, info.setup);
	EXPECT_FALSE(!!map_area(self->fd, 64, PROT_READ, HTWHEEL_MMAP_RING));
	EXPECT_FALSE(!!map_area(self->fd, 64, PROT_READ, HTWHEEL_MMAP_HEAD));
	EXPECT_FALSE(!!map_area(self->fd, 64, PROT_READ, HTWHEEL_MMAP_TABLE));
	self->arg = (struct htwheel_setup){ .size = sizeof(self->arg), .ring_entries = 2 };
	EXPECT_EQ(0, device_ioctl(self->fd, HTWHEEL_IOC_SETUP, &self->arg));
	EXPECT_EQ(0, arm_in(self->fd, HOUR_NS, 0, NULL));
	close(self->fd);
}

static int refusal(FIXTURE_DATA(area) *self)
{
	return call_and_compare(self->fd, HTWHEEL_IOC_SETUP, &self->arg, sizeof(self->arg));
}

TEST_F(area, ring_that_is_no_power_of_two_is_EINVAL)
{
	unsigned int shift;

	for (shift = 1; shift < 32; shift++) {
		self->arg.ring_entries = (1U << shift) + 1;
		EXPECT_EQ(-EINVAL, refusal(self)) {
			TH_LOG("2^%u + 1", shift);
		}
		self->arg.ring_entries = (1U << shift) - 1;
		EXPECT_EQ(-EINVAL, refusal(self)) {
			TH_LOG("2^%u - 1", shift);
		}
		self->arg.ring_entries = 3U << (shift - 1);
		EXPECT_EQ(-EINVAL, refusal(self));
	}
	self->arg.ring_entries = UINT32_MAX;
	EXPECT_EQ(-EINVAL, refusal(self));
}

TEST_F(area, B60_ring_of_other_than_2_to_MAX_RING_is_EINVAL)
{
	uint32_t entries;

	self->arg.ring_entries = 1;
	EXPECT_EQ(-EINVAL, refusal(self));
	for (entries = 2 * HTWHEEL_MAX_RING; entries; entries *= 2) {
		self->arg.ring_entries = entries;
		EXPECT_EQ(-EINVAL, refusal(self)) {
			TH_LOG("%#x entries", entries);
		}
	}
}

TEST_F(area, B57_reserved3_is_EINVAL)
{
	unsigned int bit, ring;

	for (bit = 0; bit < 32; bit++) {
		for (ring = 0; ring <= 64; ring += 64) {
			self->arg.reserved3 = 1U << bit;
			self->arg.ring_entries = ring;
			EXPECT_EQ(-EINVAL, refusal(self)) {
				TH_LOG("bit %u", bit);
			}
		}
	}
}

TEST_F(area, B57_unknown_flag_beside_the_known_ones_is_EINVAL)
{
	unsigned int bit;

	for (bit = 2; bit < 32; bit++) {
		self->arg.flags = variant->flags | HTWHEEL_SETUP_TABLE | 1U << bit;
		EXPECT_EQ(-EINVAL, refusal(self)) {
			TH_LOG("bit %u", bit);
		}
	}
}

/* Whatever else is wrong, there is no area then. */
TEST_F(area, another_fault_makes_none)
{
	self->arg.ring_entries = 64;
	self->arg.flags |= HTWHEEL_SETUP_TABLE;
	self->arg.max_timers = self->info.max_timers_ceiling + 1;
	EXPECT_EQ(-EINVAL, refusal(self));
	self->arg.max_timers = 0;
	self->arg.wake_events = 2;
	EXPECT_EQ(-EINVAL, refusal(self));
	self->arg.wake_events = 0;
	self->arg.clock = UINT32_MAX;
	EXPECT_EQ(-EINVAL, refusal(self));
	self->arg.clock = variant->clock;
	self->arg.tick_ns = 3;
	EXPECT_EQ(-EINVAL, refusal(self));
	self->arg.tick_ns = 0;
	memcpy(self->arg.design, "nosuch", 6);
	EXPECT_EQ(-EINVAL, refusal(self));
}

TEST_F(area, every_size_is_told_back)
{
	struct htwheel_ring *ring;
	struct htwheel_info info;
	uint32_t entries;
	int fd;

	for (entries = 2; entries <= HTWHEEL_MAX_RING; entries *= 2) {
		self->arg.ring_entries = entries;
		fd = open_with(self->arg);
		ASSERT_LE(0, fd) {
			TH_LOG("%u entries", entries);
		}
		ASSERT_EQ(0, device_info(fd, &info));
		EXPECT_EQ(entries, info.ring_entries);
		EXPECT_EQ(0, info.table_entries);
		EXPECT_EQ(0, info.setup & HTWHEEL_SETUP_TABLE);
		ring = map_area(fd, ring_length(entries), PROT_READ, HTWHEEL_MMAP_RING);
		ASSERT_TRUE(!!ring);
		EXPECT_EQ(entries, ring->entries);
		EXPECT_EQ(0, ring->flags);
		EXPECT_LE(sizeof(struct htwheel_event), ring->stride);
		EXPECT_EQ(0, ring->stride % 8);
		EXPECT_LE(sizeof(struct htwheel_ring), ring->events_offset);
		EXPECT_EQ(0, ring->events_offset % 8);
		EXPECT_EQ(ring_length(entries),
			  whole_pages(ring->events_offset + (size_t)entries * ring->stride));
		EXPECT_EQ(0, ring->reserved);
		EXPECT_EQ(0, ring->waited);
		EXPECT_TRUE(all_bytes_are(ring->reserved2, sizeof(ring->reserved2), 0));
		EXPECT_TRUE(all_bytes_are(ring_event(&(struct area){ .ring = ring }, 0),
					  entries * sizeof(struct htwheel_event), 0));
		munmap(ring, ring_length(entries));
		close(fd);
	}
}

/* A word for each timer, and names lead to words. */
TEST_F(area, table_has_a_word_for_each_timer)
{
	const uint64_t limits[] = { 1, 2, 511, 512, 513, 4096, 65536 };
	struct htwheel_info info;
	struct area area;
	uint64_t id, first;
	size_t i;
	uint32_t k;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		self->arg.flags = variant->flags | HTWHEEL_SETUP_TABLE;
		self->arg.max_timers = limits[i];
		ASSERT_EQ(0, open_areas(&area, self->arg)) {
			TH_LOG("%llu timers", (unsigned long long)limits[i]);
		}
		ASSERT_EQ(0, device_info(area.fd, &info));
		EXPECT_LE(limits[i], info.table_entries);
		EXPECT_EQ(0, info.ring_entries);
		EXPECT_EQ(variant->flags | HTWHEEL_SETUP_TABLE, info.setup);
		EXPECT_TRUE(all_bytes_are(area.table, area.table_bytes, 0));
		ASSERT_EQ(0, arm_in(area.fd, HOUR_NS, 0, &first));
		for (k = 1; k < limits[i] && k < 1000; k++) {
			ASSERT_EQ(0, arm_in(area.fd, HOUR_NS, 0, &id));
			ASSERT_GT(info.table_entries, (uint32_t)id);
			ASSERT_NE((uint32_t)first, (uint32_t)id);
		}
		close_areas(&area);
	}
}

TEST_F(area, table_without_a_limit_has_that_of_the_module)
{
	struct htwheel_info info;
	int fd;

	self->arg.flags |= HTWHEEL_SETUP_TABLE;
	fd = open_with(self->arg);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, device_info(fd, &info));
	EXPECT_LE(info.max_timers, info.table_entries);
	EXPECT_EQ(variant->flags | HTWHEEL_SETUP_TABLE, info.setup);
	close(fd);
}

/* A program of before has neither, however it is set up. */
TEST_F(area, shorter_arguments_make_none)
{
	struct htwheel_info info;
	uint32_t size;
	int fd;

	for (size = HTWHEEL_SETUP_V1; size <= offsetof(struct htwheel_setup, ring_entries);
	     size += 8) {
		memset(&self->arg.ring_entries, JUNK, sizeof(self->arg.ring_entries));
		memset(&self->arg.reserved3, JUNK, sizeof(self->arg.reserved3));
		self->arg.size = size;
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, device_ioctl(fd, HTWHEEL_IOC_SETUP, &self->arg)) {
			TH_LOG("size %u", size);
		}
		ASSERT_EQ(0, device_info(fd, &info));
		EXPECT_EQ(0, info.ring_entries);
		EXPECT_EQ(0, info.table_entries);
		EXPECT_FALSE(!!map_area(fd, 64, PROT_READ, HTWHEEL_MMAP_RING));
		close(fd);
	}
}

/* Its flag was there to be given in the first version of the struct, too. */
TEST_F(area, shorter_argument_with_a_table)
{
	struct htwheel_info info;
	int fd = open_device(O_NONBLOCK);

	ASSERT_LE(0, fd);
	self->arg.size = HTWHEEL_SETUP_V1;
	self->arg.flags = variant->flags | HTWHEEL_SETUP_TABLE;
	self->arg.max_timers = 100;
	ASSERT_EQ(0, device_ioctl(fd, HTWHEEL_IOC_SETUP, &self->arg));
	ASSERT_EQ(0, device_info(fd, &info));
	EXPECT_LE(100, info.table_entries);
	close(fd);
}

TEST_F(area, second_setup_is_EBUSY_and_changes_nothing)
{
	struct htwheel_info before, info;
	int fd;

	self->arg.ring_entries = 64;
	self->arg.flags |= HTWHEEL_SETUP_TABLE;
	fd = open_with(self->arg);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, device_info(fd, &before));
	self->arg.ring_entries = 128;
	EXPECT_EQ(-EBUSY, setup_like(fd, self->arg));
	self->arg.ring_entries = 0;
	self->arg.flags &= ~HTWHEEL_SETUP_TABLE;
	EXPECT_EQ(-EBUSY, setup_like(fd, self->arg));
	ASSERT_EQ(0, device_info(fd, &info));
	EXPECT_EQ(before.ring_entries, info.ring_entries);
	EXPECT_EQ(before.table_entries, info.table_entries);
	EXPECT_EQ(before.setup, info.setup);
	close(fd);
}

TEST_F(area, after_the_first_arm_is_EBUSY)
{
	int fd = open_device(O_NONBLOCK);
	struct htwheel_info info;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, arm_in(fd, HOUR_NS, 0, NULL));
	self->arg.ring_entries = 64;
	EXPECT_EQ(-EBUSY, setup_like(fd, self->arg));
	self->arg.flags |= HTWHEEL_SETUP_TABLE;
	EXPECT_EQ(-EBUSY, setup_like(fd, self->arg));
	ASSERT_EQ(0, device_info(fd, &info));
	EXPECT_EQ(0, info.ring_entries);
	EXPECT_EQ(0, info.table_entries);
	EXPECT_FALSE(!!map_area(fd, 64, PROT_READ, HTWHEEL_MMAP_RING));
	close(fd);
}

TEST_HARNESS_MAIN
