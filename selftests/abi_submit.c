// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of HTWHEEL_IOC_SUBMIT's own argument: the array's address, number and stride.
 *
 * Each test breaks one rule and keeps all others. Also built for 32-bit callers, as abi_submit32.
 */
#include "harness.h"
#include "abi.h"

#define NR_OPS		8
#define OP_SIZE		sizeof(struct htwheel_op)

FIXTURE(submit) {
	struct htwheel_info info;
	struct htwheel_submit sub;
	/* Wide enough for any stride. */
	unsigned char *array;
	size_t array_size;
	int fd;
};

FIXTURE_SETUP(submit)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	self->array_size = NR_OPS * (self->info.max_stride + 64);
	self->array = calloc(1, self->array_size);
	ASSERT_TRUE(!!self->array);
	self->sub.size = sizeof(self->sub);
	self->sub.ops = (uintptr_t)self->array;
	self->sub.stride = OP_SIZE;
	self->sub.nr = NR_OPS;
	self->sub.done = JUNK32;
	self->sub.failed = JUNK32;
}

FIXTURE_TEARDOWN(submit)
{
	free(self->array);
	close(self->fd);
}

static struct htwheel_op *op_at(FIXTURE_DATA(submit) *self, size_t i)
{
	return (struct htwheel_op *)(self->array + i * self->sub.stride);
}

/* Valid arms, with junk where the module answers. */
static void make_arms(FIXTURE_DATA(submit) *self)
{
	struct htwheel_op *op;
	size_t i;

	memset(self->array, 0, self->array_size);
	for (i = 0; i < NR_OPS; i++) {
		op = op_at(self, i);
		op->opcode = HTWHEEL_OP_ARM;
		op->time_ns = HOUR_NS;
		op->user_data = i;
		op->result = (int32_t)JUNK32;
		op->id = JUNK64;
	}
}

static int call_submit(FIXTURE_DATA(submit) *self)
{
	return device_ioctl(self->fd, HTWHEEL_IOC_SUBMIT, &self->sub);
}

static uint64_t armed(int fd)
{
	struct htwheel_stats stats;

	return device_stats(fd, &stats) ? UINT64_MAX : stats.armed;
}

/*
 * The call fails with this error before it does anything. It may say that nothing was done, because
 * a caller that goes on behind the last operation done must not go on at junk.
 */
static bool refused(FIXTURE_DATA(submit) *self, int error)
{
	struct htwheel_submit expected = self->sub;
	unsigned char *before = malloc(self->array_size);
	bool same;

	if (!before)
		return false;
	memcpy(before, self->array, self->array_size);
	expected.done = 0;
	expected.failed = 0;
	same = call_submit(self) == error && !memcmp(&expected, &self->sub, sizeof(expected)) &&
	       !memcmp(before, self->array, self->array_size) && armed(self->fd) == 0;
	free(before);
	return same;
}

TEST_F(submit, writes_results_and_counts_only)
{
	struct htwheel_submit before = self->sub;
	struct htwheel_op *op;
	size_t i;

	make_arms(self);
	ASSERT_EQ(0, call_submit(self));
	EXPECT_EQ(NR_OPS, self->sub.done);
	EXPECT_EQ(0, self->sub.failed);
	EXPECT_EQ(0, memcmp(&before, &self->sub, offsetof(struct htwheel_submit, done)));
	for (i = 0; i < NR_OPS; i++) {
		op = op_at(self, i);
		EXPECT_EQ(0, op->result);
		EXPECT_NE(0, op->id);
		EXPECT_NE(JUNK64, op->id);
		EXPECT_EQ(HTWHEEL_OP_ARM, op->opcode);
		EXPECT_EQ(0, op->policy);
		EXPECT_EQ(0, op->flags);
		EXPECT_EQ(0, op->tag);
		EXPECT_EQ(HOUR_NS, op->time_ns);
		EXPECT_EQ(0, op->period_ns);
		EXPECT_EQ(0, op->slack_ns);
		EXPECT_EQ(i, op->user_data);
		EXPECT_EQ(0, op->reserved);
	}
	EXPECT_TRUE(all_bytes_are(self->array + NR_OPS * OP_SIZE,
				  self->array_size - NR_OPS * OP_SIZE, 0));
}

TEST_F(submit, no_operations)
{
	self->sub.nr = 0;
	EXPECT_EQ(0, call_submit(self));
	EXPECT_EQ(0, self->sub.done);
	EXPECT_EQ(0, self->sub.failed);

	self->sub.ops = 0;
	self->sub.done = JUNK32;
	self->sub.failed = JUNK32;
	EXPECT_EQ(0, call_submit(self));
	EXPECT_EQ(0, self->sub.done);
	EXPECT_EQ(0, self->sub.failed);
}

TEST_F(submit, B57_bad_stride_is_EINVAL)
{
	const uint32_t strides[] = {
		0, 1, 8, OP_SIZE - 8, OP_SIZE - 1, OP_SIZE + 1, OP_SIZE + 4, OP_SIZE + 7,
		self->info.max_stride + 1, self->info.max_stride + 8, 0x10000 + OP_SIZE,
		0x80000000, UINT32_MAX - 7, UINT32_MAX,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(strides); i++) {
		if (strides[i] % 8 == 0 && strides[i] >= OP_SIZE &&
		    strides[i] <= self->info.max_stride)
			continue;
		self->sub.stride = OP_SIZE;
		make_arms(self);
		self->sub.stride = strides[i];
		EXPECT_TRUE(refused(self, -EINVAL)) {
			TH_LOG("stride %u", strides[i]);
		}
		self->sub.nr = 0;
		EXPECT_TRUE(refused(self, -EINVAL)) {
			TH_LOG("stride %u without operations", strides[i]);
		}
		self->sub.nr = NR_OPS;
	}
}

TEST_F(submit, wide_strides_with_zeros)
{
	const uint32_t strides[] = { 72, 80, self->info.max_stride - 8, self->info.max_stride };
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(strides); i++) {
		if (strides[i] < OP_SIZE || strides[i] > self->info.max_stride)
			continue;
		self->sub.stride = strides[i];
		make_arms(self);
		ASSERT_EQ(0, call_submit(self));
		EXPECT_EQ(NR_OPS, self->sub.done);
		EXPECT_EQ(0, self->sub.failed);
		for (j = 0; j < NR_OPS; j++) {
			EXPECT_EQ(0, op_at(self, j)->result);
			EXPECT_TRUE(all_bytes_are((char *)op_at(self, j) + OP_SIZE,
						  strides[i] - OP_SIZE, 0));
		}
	}
}

TEST_F(submit, B57_unknown_bytes_of_an_operation_are_E2BIG_and_the_others_go_on)
{
	const uint32_t strides[] = { 72, 80, self->info.max_stride };
	uint32_t behind;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(strides); i++) {
		if (strides[i] <= OP_SIZE || strides[i] > self->info.max_stride)
			continue;
		self->sub.stride = strides[i];
		make_arms(self);
		behind = strides[i] - OP_SIZE;
		((char *)op_at(self, 2))[OP_SIZE] = 1;
		((char *)op_at(self, 5))[OP_SIZE + behind - 1] = 1;
		ASSERT_EQ(0, call_submit(self));
		EXPECT_EQ(NR_OPS, self->sub.done);
		EXPECT_EQ(2, self->sub.failed);
		for (j = 0; j < NR_OPS; j++) {
			EXPECT_EQ(j == 2 || j == 5 ? -E2BIG : 0, op_at(self, j)->result);
			EXPECT_EQ(j == 2 || j == 5, op_at(self, j)->id == 0);
		}
	}
}

/* The last operation ends where the memory ends: nothing behind it is read. */
TEST_F(submit, array_at_the_end_of_a_page)
{
	unsigned char *map = map_before_edge(1);
	struct htwheel_op *ops;
	size_t i;

	ASSERT_TRUE(!!map);
	ops = at_edge(map, 1, NR_OPS * OP_SIZE);
	for (i = 0; i < NR_OPS; i++) {
		ops[i].opcode = HTWHEEL_OP_ARM;
		ops[i].time_ns = HOUR_NS;
	}
	self->sub.ops = (uintptr_t)ops;
	ASSERT_EQ(0, call_submit(self));
	EXPECT_EQ(NR_OPS, self->sub.done);
	EXPECT_EQ(0, self->sub.failed);
}

TEST_F(submit, B57_more_than_max_batch_is_EINVAL)
{
	const uint32_t numbers[] = {
		self->info.max_batch + 1, 0x80000000, UINT32_MAX / OP_SIZE + 1, UINT32_MAX,
	};
	size_t i;

	make_arms(self);
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (numbers[i] <= self->info.max_batch)
			continue;
		self->sub.nr = numbers[i];
		self->sub.done = JUNK32;
		self->sub.failed = JUNK32;
		EXPECT_TRUE(refused(self, -EINVAL)) {
			TH_LOG("%u operations", numbers[i]);
		}
	}
}

TEST_F(submit, max_batch_is_accepted)
{
	struct htwheel_op *ops = calloc(self->info.max_batch, OP_SIZE);
	struct htwheel_submit sub;
	uint32_t i, wrong = 0;

	ASSERT_TRUE(!!ops);
	for (i = 0; i < self->info.max_batch; i++) {
		ops[i].opcode = HTWHEEL_OP_QUERY;
		ops[i].result = (int32_t)JUNK32;
	}
	ASSERT_EQ(0, device_submit(self->fd, &sub, ops, self->info.max_batch));
	EXPECT_EQ(self->info.max_batch, sub.done);
	EXPECT_EQ(self->info.max_batch, sub.failed);
	for (i = 0; i < self->info.max_batch; i++)
		wrong += ops[i].result != -ENOENT;
	EXPECT_EQ(0, wrong);
	free(ops);
}

TEST_F(submit, address_that_is_none_is_EFAULT)
{
	/* For a 32-bit caller the third one is its own array, if the upper half gets lost. */
	const uint64_t addresses[] = {
		0, 8, (1ULL << 62) + (uintptr_t)self->array, UINT64_MAX - OP_SIZE + 1,
		UINT64_MAX - 7, UINT64_MAX - NR_OPS * OP_SIZE + 1, 1ULL << 63, INT64_MAX - 7,
	};
	size_t i;

	make_arms(self);
	for (i = 0; i < ARRAY_SIZE(addresses); i++) {
		self->sub.ops = addresses[i];
		self->sub.done = JUNK32;
		self->sub.failed = JUNK32;
		EXPECT_EQ(-EFAULT, call_submit(self)) {
			TH_LOG("address %#llx", (unsigned long long)addresses[i]);
		}
		EXPECT_EQ(0, self->sub.done);
		EXPECT_EQ(0, self->sub.failed);
	}
	EXPECT_EQ(0, armed(self->fd));
}

TEST_F(submit, one_bad_operation_does_not_stop_the_rest)
{
	size_t i;

	make_arms(self);
	op_at(self, 0)->opcode = 0;
	op_at(self, 3)->reserved = 1;
	op_at(self, NR_OPS - 1)->time_ns = JUNK64;
	ASSERT_EQ(0, call_submit(self));
	EXPECT_EQ(NR_OPS, self->sub.done);
	EXPECT_EQ(3, self->sub.failed);
	for (i = 0; i < NR_OPS; i++)
		EXPECT_EQ(i == 0 || i == 3 || i == NR_OPS - 1 ? -EINVAL : 0,
			  op_at(self, i)->result);
	EXPECT_EQ(NR_OPS - 3, armed(self->fd));
}

/* The ids of a batch are known only after it, but its order shows in what the last one did. */
TEST_F(submit, operations_are_carried_out_in_order)
{
	struct htwheel_op ops[6] = { { .opcode = 0 } };
	struct htwheel_submit sub;
	uint64_t id;
	int i;

	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &id));
	for (i = 0; i < 6; i++)
		ops[i].id = id;
	ops[0].opcode = HTWHEEL_OP_QUERY;
	ops[1].opcode = HTWHEEL_OP_REARM;
	ops[1].flags = HTWHEEL_ABSOLUTE;
	ops[1].time_ns = 1;
	ops[2].opcode = HTWHEEL_OP_QUERY;
	ops[3].opcode = HTWHEEL_OP_CANCEL;
	ops[4].opcode = HTWHEEL_OP_CANCEL;
	ops[5].opcode = HTWHEEL_OP_QUERY;
	ASSERT_EQ(0, device_submit(self->fd, &sub, ops, 6));
	EXPECT_EQ(6, sub.done);
	EXPECT_EQ(2, sub.failed);
	EXPECT_EQ(0, ops[0].result);
	EXPECT_EQ(0, ops[1].result);
	EXPECT_EQ(HTWHEEL_RES_FIRED, ops[2].result);
	EXPECT_EQ(HTWHEEL_RES_FIRED, ops[3].result);
	EXPECT_EQ(-ENOENT, ops[4].result);
	EXPECT_EQ(-ENOENT, ops[5].result);
}

TEST_HARNESS_MAIN
