// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of struct htwheel_op, for each opcode: which values are refused, what a refusal leaves
 * alone.
 *
 * Each test breaks one rule and keeps all others. Also built for 32-bit callers, as abi_op32.
 */
#include "harness.h"
#include "abi.h"

#define DELAY_NS	(2 * HOUR_NS)

FIXTURE(op) {
	struct htwheel_info info;
	struct htwheel_stats stats;
	/* A live timer, that of the operation if it needs one. */
	uint64_t id;
	int fd;
};

FIXTURE_VARIANT(op) {
	uint16_t opcode;
	bool takes_time;
};

FIXTURE_VARIANT_ADD(op, arm) {
	.opcode = HTWHEEL_OP_ARM, .takes_time = true,
};

FIXTURE_VARIANT_ADD(op, rearm) {
	.opcode = HTWHEEL_OP_REARM, .takes_time = true,
};

FIXTURE_VARIANT_ADD(op, cancel) {
	.opcode = HTWHEEL_OP_CANCEL,
};

FIXTURE_VARIANT_ADD(op, query) {
	.opcode = HTWHEEL_OP_QUERY,
};

FIXTURE_SETUP(op)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &self->id));
	ASSERT_EQ(0, device_stats(self->fd, &self->stats));
}

FIXTURE_TEARDOWN(op)
{
	close(self->fd);
}

/* An operation that is accepted, with junk in all that the module fills in or does not look at. */
static struct htwheel_op valid_op(const FIXTURE_DATA(op) *self, uint16_t opcode, bool takes_time)
{
	return (struct htwheel_op){
		.opcode = opcode,
		.result = (int32_t)JUNK32,
		.id = opcode == HTWHEEL_OP_ARM ? JUNK64 : self->id,
		.time_ns = takes_time ? DELAY_NS : JUNK64,
		.user_data = JUNK64,
	};
}

/* The live timer is as it was, and so are the books. */
static bool nothing_happened(const FIXTURE_DATA(op) *self)
{
	struct htwheel_stats stats;
	uint64_t left_ns;

	return !device_stats(self->fd, &stats) && stats.armed == self->stats.armed &&
	       stats.cancelled == self->stats.cancelled &&
	       stats.replaced == self->stats.replaced && stats.pending == self->stats.pending &&
	       !query(self->fd, self->id, &left_ns) && left_ns <= HOUR_NS &&
	       !is_readable(self->fd);
}

/* What the operation did, or -EUCLEAN if a refusal was not all that happened. */
static int refusal(const FIXTURE_DATA(op) *self, struct htwheel_op op)
{
	struct htwheel_op before = op;
	int ret = submit_one(self->fd, &op);

	if (ret >= 0)
		return ret;
	if (op.opcode == HTWHEEL_OP_ARM)
		before.id = 0;
	if (op.opcode == HTWHEEL_OP_CANCEL || op.opcode == HTWHEEL_OP_QUERY)
		before.time_ns = op.time_ns;
	before.result = ret;
	if (memcmp(&before, &op, sizeof(op)) || !nothing_happened(self))
		return -EUCLEAN;
	return ret;
}

#define VALID_OP	valid_op(self, variant->opcode, variant->takes_time)

TEST_F(op, valid_is_accepted_and_only_answers_are_written)
{
	struct htwheel_op op = VALID_OP, before = op;

	ASSERT_EQ(0, submit_one(self->fd, &op));
	if (variant->opcode == HTWHEEL_OP_ARM) {
		EXPECT_NE(0, op.id);
		EXPECT_NE(JUNK64, op.id);
		EXPECT_NE(self->id, op.id);
		before.id = op.id;
	}
	if (!variant->takes_time) {
		EXPECT_LT(0, op.time_ns);
		EXPECT_GE(HOUR_NS, op.time_ns);
		before.time_ns = op.time_ns;
	}
	before.result = 0;
	EXPECT_EQ(0, memcmp(&before, &op, sizeof(op)));
}

TEST_F(op, B57_each_unknown_flag_is_EINVAL)
{
	struct htwheel_op op = VALID_OP;
	unsigned int bit;

	for (bit = 3; bit < 32; bit++) {
		op.flags = 1U << bit;
		EXPECT_EQ(-EINVAL, refusal(self, op)) {
			TH_LOG("bit %u", bit);
		}
		if (!variant->takes_time)
			continue;
		op.flags |= HTWHEEL_ABSOLUTE;
		EXPECT_EQ(-EINVAL, refusal(self, op));
	}
}

TEST_F(op, B57_absolute_where_there_is_no_time_is_EINVAL)
{
	struct htwheel_op op = VALID_OP;

	op.flags = HTWHEEL_ABSOLUTE;
	if (variant->takes_time) {
		op.time_ns += now_ns();
		EXPECT_EQ(0, submit_one(self->fd, &op));
		return;
	}
	EXPECT_EQ(-EINVAL, refusal(self, op));
}

/* PERIODIC and KEEP are for ARM alone; PERIODIC without a period is half an order. */
TEST_F(op, B57_flags_of_arm_alone_are_EINVAL_elsewhere)
{
	const uint32_t flags[] = {
		HTWHEEL_PERIODIC, HTWHEEL_KEEP, HTWHEEL_PERIODIC | HTWHEEL_KEEP,
		HTWHEEL_ABSOLUTE | HTWHEEL_KEEP,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		struct htwheel_op op = VALID_OP;

		op.flags = flags[i];
		if (flags[i] & HTWHEEL_PERIODIC && variant->opcode == HTWHEEL_OP_ARM)
			op.period_ns = HOUR_NS;
		EXPECT_EQ(variant->opcode == HTWHEEL_OP_ARM ? 0 : -EINVAL,
			  variant->opcode == HTWHEEL_OP_ARM ? submit_one(self->fd, &op) :
							      refusal(self, op)) {
			TH_LOG("flags %#x", flags[i]);
		}
	}
}

TEST_F(op, B57_policy_without_PERIODIC_is_EINVAL)
{
	struct htwheel_op op = VALID_OP;
	unsigned int bit;

	for (bit = 0; bit < 16; bit++) {
		op.policy = 1U << bit;
		EXPECT_EQ(-EINVAL, refusal(self, op)) {
			TH_LOG("bit %u", bit);
		}
	}
}

TEST_F(op, B57_period_without_PERIODIC_is_EINVAL)
{
	struct htwheel_op op = VALID_OP;
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		op.period_ns = 1ULL << bit;
		EXPECT_EQ(-EINVAL, refusal(self, op)) {
			TH_LOG("bit %u", bit);
		}
	}
}

/* ARM takes any that is a time; the others take none. */
TEST_F(op, slack)
{
	struct htwheel_op op = VALID_OP;
	unsigned int bit;
	int ret;

	for (bit = 0; bit < 64; bit++) {
		op.slack_ns = 1ULL << bit;
		if (variant->opcode == HTWHEEL_OP_ARM && bit < 63)
			ret = submit_one(self->fd, &op);
		else
			ret = refusal(self, op);
		EXPECT_EQ(variant->opcode == HTWHEEL_OP_ARM && bit < 63 ? 0 : -EINVAL, ret) {
			TH_LOG("bit %u", bit);
		}
		if (!ret)
			ASSERT_EQ(0, device_stats(self->fd, &self->stats));
	}
}

TEST_F(op, tag)
{
	struct htwheel_op op = VALID_OP;
	unsigned int bit;

	for (bit = 0; bit < 32; bit++) {
		op.tag = 1U << bit;
		EXPECT_EQ(variant->opcode == HTWHEEL_OP_ARM ? 0 : -EINVAL,
			  variant->opcode == HTWHEEL_OP_ARM ? submit_one(self->fd, &op) :
							      refusal(self, op)) {
			TH_LOG("bit %u", bit);
		}
	}
}

TEST_F(op, B57_reserved_is_EINVAL)
{
	struct htwheel_op op = VALID_OP;
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		op.reserved = 1ULL << bit;
		EXPECT_EQ(-EINVAL, refusal(self, op)) {
			TH_LOG("bit %u", bit);
		}
	}
}

TEST_F(op, B55_time_with_the_top_bit_is_EINVAL_where_it_is_looked_at)
{
	const uint64_t times[] = {
		1ULL << 63, (1ULL << 63) + 1, (1ULL << 63) + DELAY_NS, (uint64_t)-NS_PER_S,
		UINT64_MAX - 1, UINT64_MAX,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		struct htwheel_op op = VALID_OP;

		op.time_ns = times[i];
		if (!variant->takes_time) {
			op.opcode = HTWHEEL_OP_QUERY;
			EXPECT_EQ(0, submit_one(self->fd, &op));
			EXPECT_GE(HOUR_NS, op.time_ns);
			continue;
		}
		EXPECT_EQ(-EINVAL, refusal(self, op)) {
			TH_LOG("delay %#llx", (unsigned long long)times[i]);
		}
		op.flags = HTWHEEL_ABSOLUTE;
		EXPECT_EQ(-EINVAL, refusal(self, op)) {
			TH_LOG("deadline %#llx", (unsigned long long)times[i]);
		}
	}
}

/*
 * A rule is broken and the timer does not exist: the rule comes first, or it could never be tested.
 */
TEST_F(op, B57_broken_rule_of_an_unknown_timer_is_EINVAL)
{
	struct htwheel_op op = VALID_OP;

	if (variant->opcode == HTWHEEL_OP_ARM)
		SKIP(return, "ARM names no timer");
	op.id = 1ULL << 40 | 12345;
	EXPECT_EQ(-ENOENT, refusal(self, op));
	op.reserved = 1;
	EXPECT_EQ(-EINVAL, refusal(self, op));
}

FIXTURE(arm) {
	FIXTURE_DATA(op) op;
	struct htwheel_op periodic;
};

FIXTURE_SETUP(arm)
{
	op_setup(_metadata, &self->op, NULL);
	self->periodic = valid_op(&self->op, HTWHEEL_OP_ARM, true);
	self->periodic.flags = HTWHEEL_PERIODIC;
	self->periodic.period_ns = HOUR_NS;
}

FIXTURE_TEARDOWN(arm)
{
	close(self->op.fd);
}

TEST_F(arm, B46_period_of_0_or_with_the_top_bit_is_EINVAL)
{
	const uint64_t periods[] = { 0, 1ULL << 63, (1ULL << 63) + 1, UINT64_MAX - 1, UINT64_MAX };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		self->periodic.period_ns = periods[i];
		EXPECT_EQ(-EINVAL, refusal(&self->op, self->periodic)) {
			TH_LOG("period %#llx", (unsigned long long)periods[i]);
		}
	}
}

TEST_F(arm, B46_period_from_1_to_NEVER)
{
	const uint64_t periods[] = {
		1, 2, 1023, 1024, NS_PER_S, 1ULL << 32, 1ULL << 62, HTWHEEL_NEVER_NS - 1,
		HTWHEEL_NEVER_NS,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		self->periodic.period_ns = periods[i];
		EXPECT_EQ(0, submit_one(self->op.fd, &self->periodic)) {
			TH_LOG("period %#llx", (unsigned long long)periods[i]);
		}
	}
}

TEST_F(arm, B57_unknown_policy_is_EINVAL)
{
	uint32_t policy;

	for (policy = 0; policy <= HTWHEEL_POLICY_DELAY; policy++) {
		self->periodic.policy = policy;
		EXPECT_EQ(0, submit_one(self->op.fd, &self->periodic));
	}
	ASSERT_EQ(0, device_stats(self->op.fd, &self->op.stats));
	self->periodic.id = JUNK64;
	for (; policy < 0x10000; policy = policy < 0x100 ? policy + 1 : policy << 1) {
		self->periodic.policy = policy;
		EXPECT_EQ(-EINVAL, refusal(&self->op, self->periodic)) {
			TH_LOG("policy %#x", policy);
		}
	}
}

TEST_F(arm, slack_of_NEVER)
{
	struct htwheel_op op = valid_op(&self->op, HTWHEEL_OP_ARM, true);

	op.slack_ns = HTWHEEL_NEVER_NS;
	EXPECT_EQ(0, submit_one(self->op.fd, &op));
	ASSERT_EQ(0, device_stats(self->op.fd, &self->op.stats));
	op.id = JUNK64;
	op.slack_ns++;
	EXPECT_EQ(-EINVAL, refusal(&self->op, op));
	op.slack_ns = UINT64_MAX;
	EXPECT_EQ(-EINVAL, refusal(&self->op, op));
}

FIXTURE(opcode) {
	FIXTURE_DATA(op) op;
};

FIXTURE_SETUP(opcode)
{
	op_setup(_metadata, &self->op, NULL);
}

FIXTURE_TEARDOWN(opcode)
{
	close(self->op.fd);
}

/* Only the result may be written: the kernel cannot know what the other fields mean. */
TEST_F(opcode, B57_unknown_is_EINVAL)
{
	const uint16_t opcodes[] = {
		0, 5, 6, 7, 8, 0xff, 0x100 + HTWHEEL_OP_ARM, 0x7fff, 0x8000,
		0x8000 + HTWHEEL_OP_CANCEL, 0xffff,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct htwheel_op op = valid_op(&self->op, opcodes[i], true);

		op.id = self->op.id;
		EXPECT_EQ(-EINVAL, refusal(&self->op, op)) {
			TH_LOG("opcode %#x", opcodes[i]);
		}
	}
}

TEST_HARNESS_MAIN
