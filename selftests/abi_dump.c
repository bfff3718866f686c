// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of HTWHEEL_IOC_DUMP: the array's address, number and stride.
 *
 * Also built for 32-bit callers, as abi_dump32.
 */
#include "harness.h"
#include "abi.h"

#define NR_TIMERS	5
#define ENTRY_SIZE	sizeof(struct htwheel_dump_entry)

FIXTURE(dump) {
	struct htwheel_info info;
	struct htwheel_dump arg;
	uint64_t ids[NR_TIMERS];
	/* Wide enough for any stride. */
	unsigned char *array;
	size_t array_size;
	int fd;
};

FIXTURE_SETUP(dump)
{
	int i;

	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	if (!(self->info.features & HTWHEEL_FEAT_DUMP))
		SKIP(return, "the module has no DUMP");
	self->array_size = (NR_TIMERS + 1) * (self->info.max_stride + 64);
	self->array = malloc(self->array_size);
	ASSERT_TRUE(!!self->array);
	memset(self->array, JUNK, self->array_size);
	for (i = 0; i < NR_TIMERS; i++)
		ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, i, &self->ids[i]));
	self->arg = (struct htwheel_dump){
		.size		= sizeof(self->arg),
		.entries	= (uintptr_t)self->array,
		.nr		= NR_TIMERS + 1,
		.stride		= ENTRY_SIZE,
		.done		= JUNK32,
	};
}

FIXTURE_TEARDOWN(dump)
{
	free(self->array);
	close(self->fd);
}

static int call_dump(FIXTURE_DATA(dump) *self)
{
	return device_ioctl(self->fd, HTWHEEL_IOC_DUMP, &self->arg);
}

/* The call fails, says that nothing was done, and writes nothing else. */
static bool refused(FIXTURE_DATA(dump) *self, int error)
{
	struct htwheel_dump before = self->arg, expected = self->arg;
	int ret = call_dump(self);
	bool same;

	expected.done = 0;
	same = !memcmp(&expected, &self->arg, sizeof(expected));
	self->arg = before;
	return ret == error && same && all_bytes_are(self->array, self->array_size, JUNK);
}

TEST_F(dump, writes_entries_cursor_and_done_only)
{
	struct htwheel_dump before = self->arg;
	struct htwheel_dump_entry *entry = (void *)self->array;
	uint32_t i, seen = 0;

	ASSERT_EQ(0, call_dump(self));
	EXPECT_EQ(NR_TIMERS, self->arg.done);
	EXPECT_EQ(0, self->arg.cursor);
	before.done = NR_TIMERS;
	before.cursor = 0;
	EXPECT_EQ(0, memcmp(&before, &self->arg, sizeof(before)));
	for (i = 0; i < NR_TIMERS; i++, entry++) {
		ASSERT_GT(NR_TIMERS, entry->user_data);
		EXPECT_EQ(self->ids[entry->user_data], entry->id);
		seen |= 1U << entry->user_data;
	}
	EXPECT_EQ((1U << NR_TIMERS) - 1, seen);
	EXPECT_TRUE(all_bytes_are(self->array + NR_TIMERS * ENTRY_SIZE,
				  self->array_size - NR_TIMERS * ENTRY_SIZE, JUNK));
}

TEST_F(dump, context_without_timers)
{
	int fd = open_device(O_NONBLOCK);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, device_ioctl(fd, HTWHEEL_IOC_DUMP, &self->arg));
	EXPECT_EQ(0, self->arg.done);
	EXPECT_EQ(0, self->arg.cursor);
	EXPECT_TRUE(all_bytes_are(self->array, self->array_size, JUNK));
	/* It is no arm. */
	EXPECT_EQ(0, device_setup(fd, 5));
	close(fd);
}

TEST_F(dump, B57_reserved_is_EINVAL)
{
	unsigned int bit;

	for (bit = 0; bit < 32; bit++) {
		self->arg.reserved = 1U << bit;
		EXPECT_TRUE(refused(self, -EINVAL)) {
			TH_LOG("bit %u", bit);
		}
	}
}

TEST_F(dump, B57_each_flag_is_EINVAL)
{
	unsigned int bit;

	for (bit = 0; bit < 32; bit++) {
		self->arg.flags = 1U << bit;
		EXPECT_TRUE(refused(self, -EINVAL)) {
			TH_LOG("bit %u", bit);
		}
	}
}

/* Number 0 would never come to an end. */
TEST_F(dump, B57_number_of_0_or_above_max_batch_is_EINVAL)
{
	const uint32_t numbers[] = {
		0, self->info.max_batch + 1, 0x80000000, UINT32_MAX / ENTRY_SIZE + 1, UINT32_MAX,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (numbers[i] && numbers[i] <= self->info.max_batch)
			continue;
		self->arg.nr = numbers[i];
		EXPECT_TRUE(refused(self, -EINVAL)) {
			TH_LOG("%u entries", numbers[i]);
		}
	}
}

TEST_F(dump, max_batch_is_accepted)
{
	self->arg.nr = self->info.max_batch;
	ASSERT_EQ(0, call_dump(self));
	EXPECT_EQ(NR_TIMERS, self->arg.done);
	EXPECT_EQ(0, self->arg.cursor);
}

TEST_F(dump, B57_bad_stride_is_EINVAL)
{
	const uint32_t strides[] = {
		0, 1, 8, 64, ENTRY_SIZE - 8, ENTRY_SIZE - 1, ENTRY_SIZE + 1, ENTRY_SIZE + 4,
		ENTRY_SIZE + 7, self->info.max_stride + 1, self->info.max_stride + 8,
		0x10000 + ENTRY_SIZE, 0x80000000, UINT32_MAX - 7, UINT32_MAX,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(strides); i++) {
		if (strides[i] % 8 == 0 && strides[i] >= ENTRY_SIZE &&
		    strides[i] <= self->info.max_stride)
			continue;
		self->arg.stride = strides[i];
		EXPECT_TRUE(refused(self, -EINVAL)) {
			TH_LOG("stride %u", strides[i]);
		}
	}
}

TEST_F(dump, wide_strides_are_filled_with_zeros)
{
	const uint32_t strides[] = { 80, 88, self->info.max_stride - 8, self->info.max_stride };
	struct htwheel_dump_entry *entry;
	uint32_t j, stride, seen;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(strides); i++) {
		stride = strides[i];
		if (stride < ENTRY_SIZE || stride > self->info.max_stride)
			continue;
		memset(self->array, JUNK, self->array_size);
		self->arg.stride = stride;
		self->arg.cursor = 0;
		ASSERT_EQ(0, call_dump(self));
		ASSERT_EQ(NR_TIMERS, self->arg.done);
		for (j = 0, seen = 0; j < NR_TIMERS; j++) {
			entry = (void *)(self->array + j * stride);
			ASSERT_GT(NR_TIMERS, entry->user_data);
			seen |= 1U << entry->user_data;
			EXPECT_TRUE(all_bytes_are(entry + 1, stride - ENTRY_SIZE, 0)) {
				TH_LOG("stride %u, entry %u", stride, j);
			}
		}
		EXPECT_EQ((1U << NR_TIMERS) - 1, seen);
		EXPECT_TRUE(all_bytes_are(self->array + NR_TIMERS * stride,
					  self->array_size - NR_TIMERS * stride, JUNK));
	}
}

/* The last entry ends where the memory ends: nothing behind it is written. */
TEST_F(dump, array_at_the_end_of_a_page)
{
	unsigned char *map = map_before_edge(1);

	ASSERT_TRUE(!!map);
	self->arg.entries = (uintptr_t)at_edge(map, 1, NR_TIMERS * ENTRY_SIZE);
	self->arg.nr = NR_TIMERS;
	ASSERT_EQ(0, call_dump(self));
	EXPECT_EQ(NR_TIMERS, self->arg.done);
}

TEST_F(dump, address_that_is_none_is_EFAULT)
{
	/* For a 32-bit caller the third one is its own array, if the upper half gets lost. */
	const uint64_t addresses[] = {
		0, 8, (1ULL << 62) + (uintptr_t)self->array, UINT64_MAX - ENTRY_SIZE + 1,
		UINT64_MAX - 7, 1ULL << 63, INT64_MAX - 7,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(addresses); i++) {
		self->arg.entries = addresses[i];
		self->arg.cursor = 0;
		self->arg.done = JUNK32;
		EXPECT_EQ(-EFAULT, call_dump(self)) {
			TH_LOG("address %#llx", (unsigned long long)addresses[i]);
		}
		EXPECT_EQ(0, self->arg.done);
	}
	EXPECT_TRUE(all_bytes_are(self->array, self->array_size, JUNK));
	/* All are still to come. */
	self->arg.entries = (uintptr_t)self->array;
	ASSERT_EQ(0, call_dump(self));
	EXPECT_EQ(NR_TIMERS, self->arg.done);
}

/* Whatever cursor comes in, it is at worst refused, and lists nothing that is not there. */
TEST_F(dump, cursors_that_no_call_gave)
{
	uint64_t seed = 42, cursor;
	unsigned int i;
	int ret;

	for (i = 0; i < 200; i++) {
		cursor = i < 128 ? (1ULL << (i / 2)) - i % 2 : chance(&seed) >> i % 64;
		self->arg.cursor = cursor;
		ret = call_dump(self);
		EXPECT_TRUE(ret == 0 || ret == -EINVAL) {
			TH_LOG("cursor %#llx: %d", (unsigned long long)cursor, ret);
		}
		EXPECT_GE(NR_TIMERS, self->arg.done);
	}
}

TEST_HARNESS_MAIN
