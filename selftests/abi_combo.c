// SPDX-License-Identifier: GPL-2.0
/*
 * Every combination of what an operation can hold, against the rules of the header.
 *
 * Also built for 32-bit callers, as abi_combo32.
 */
#include "harness.h"
#include "abi.h"

/* Values of each field: valid for one opcode or another, at a border, or wrong for all. */
static const uint16_t opcodes[] = {
	0, HTWHEEL_OP_ARM, HTWHEEL_OP_REARM, HTWHEEL_OP_CANCEL, HTWHEEL_OP_QUERY, 5,
};

static const uint32_t flags[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x80000001 };
static const uint16_t policies[] = { 0, 1, 2, 3, 4, 0x8000 };
static const uint64_t periods[] = { 0, 1, HTWHEEL_NEVER_NS, 1ULL << 63 };
static const uint64_t slacks[] = { 0, 1, HTWHEEL_NEVER_NS, UINT64_MAX };
static const uint32_t tags[] = { 0, 1, UINT32_MAX };
static const uint64_t times[] = { 1000 * HOUR_NS, HTWHEEL_NEVER_NS, 1ULL << 63 };
static const uint64_t reserved[] = { 0, 1ULL << 32 };

#define NR_COMBINATIONS									\
	(ARRAY_SIZE(opcodes) * ARRAY_SIZE(flags) * ARRAY_SIZE(policies) *		\
	 ARRAY_SIZE(periods) * ARRAY_SIZE(slacks) * ARRAY_SIZE(tags) *			\
	 ARRAY_SIZE(times) * ARRAY_SIZE(reserved))

static struct htwheel_op nth_op(size_t n)
{
	struct htwheel_op op = { .result = -JUNK, .user_data = n };

#define PICK(field, values)								\
	do {										\
		op.field = (values)[n % ARRAY_SIZE(values)];				\
		n /= ARRAY_SIZE(values);						\
	} while (0)
	PICK(opcode, opcodes);
	PICK(flags, flags);
	PICK(policy, policies);
	PICK(period_ns, periods);
	PICK(slack_ns, slacks);
	PICK(tag, tags);
	PICK(time_ns, times);
	PICK(reserved, reserved);
#undef PICK
	return op;
}

static bool is_time(uint64_t ns)
{
	return ns <= HTWHEEL_NEVER_NS;
}

/* The rules for ARM: what follows from PERIODIC, and times that are times. */
static bool is_valid_arm(const struct htwheel_op *op)
{
	if (op->flags & ~(HTWHEEL_ABSOLUTE | HTWHEEL_PERIODIC | HTWHEEL_KEEP) ||
	    !is_time(op->slack_ns) || !is_time(op->time_ns))
		return false;
	if (!(op->flags & HTWHEEL_PERIODIC))
		return !op->policy && !op->period_ns;
	return op->policy <= HTWHEEL_POLICY_DELAY && op->period_ns && is_time(op->period_ns);
}

/* The rules for the others: REARM takes a time, and that is all. */
static bool is_valid(const struct htwheel_op *op)
{
	if (op->reserved)
		return false;
	if (op->opcode == HTWHEEL_OP_ARM)
		return is_valid_arm(op);
	if (op->policy || op->period_ns || op->slack_ns || op->tag)
		return false;
	switch (op->opcode) {
	case HTWHEEL_OP_REARM:
		return !(op->flags & ~HTWHEEL_ABSOLUTE) && is_time(op->time_ns);
	case HTWHEEL_OP_CANCEL:
	case HTWHEEL_OP_QUERY:
		return !op->flags;
	default:
		return false;
	}
}

FIXTURE(combo) {
	struct htwheel_op ops[BATCH];
	/* The timers that the operations name, one each. */
	struct htwheel_op targets[BATCH];
	uint64_t accepted;
	int fd;
};

FIXTURE_SETUP(combo)
{
	const uint64_t needed = HTWHEEL_FEAT_PERIODIC | HTWHEEL_FEAT_KEEP | HTWHEEL_FEAT_SLACK |
				HTWHEEL_FEAT_TAG;
	struct htwheel_info info;

	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &info));
	if (~info.features & needed)
		SKIP(return, "the module lacks a feature");
}

FIXTURE_TEARDOWN(combo)
{
	close(self->fd);
}

/* The operation's answer is that of the rules, and nothing but answers was written. */
static const char *check_op(const struct htwheel_op *op, struct htwheel_op before)
{
	bool valid = is_valid(&before);

	if (op->result != (valid ? 0 : -EINVAL))
		return "result";
	before.result = op->result;
	if (before.opcode == HTWHEEL_OP_ARM) {
		if (valid != !!op->id)
			return "id";
		before.id = op->id;
	}
	if (valid && (before.opcode == HTWHEEL_OP_CANCEL || before.opcode == HTWHEEL_OP_QUERY)) {
		if (op->time_ns > HOUR_NS)
			return "time left";
		before.time_ns = op->time_ns;
	}
	if (!valid && (before.opcode == HTWHEEL_OP_CANCEL || before.opcode == HTWHEEL_OP_QUERY))
		before.time_ns = op->time_ns;
	return memcmp(op, &before, sizeof(before)) ? "more was written than the answer" : NULL;
}

/* Combinations [first, first + nr): returns what was wrong with the n-th, or NULL. */
static const char *run_batch(FIXTURE_DATA(combo) *self, size_t first, uint32_t nr, size_t *n)
{
	struct htwheel_submit sub;
	uint32_t i, failed = 0;
	const char *wrong;

	for (i = 0; i < nr; i++)
		self->targets[i] = (struct htwheel_op){
			.opcode = HTWHEEL_OP_ARM, .time_ns = HOUR_NS,
		};
	if (device_submit(self->fd, &sub, self->targets, nr) || sub.failed)
		return "arming the timers";
	for (i = 0; i < nr; i++) {
		self->ops[i] = nth_op(first + i);
		self->ops[i].id = self->ops[i].opcode == HTWHEEL_OP_ARM ? JUNK64 :
									   self->targets[i].id;
		failed += !is_valid(&self->ops[i]);
	}
	if (device_submit(self->fd, &sub, self->ops, nr))
		return "the call";
	if (sub.done != nr || sub.failed != failed)
		return "done or failed";
	for (i = 0; i < nr; i++) {
		struct htwheel_op before = nth_op(first + i);

		*n = first + i;
		before.id = before.opcode == HTWHEEL_OP_ARM ? JUNK64 : self->targets[i].id;
		wrong = check_op(&self->ops[i], before);
		if (wrong)
			return wrong;
		self->accepted += !self->ops[i].result;
	}
	return NULL;
}

/* The timers that were named live, but for those cancelled; then all are cancelled. */
static const char *end_batch(FIXTURE_DATA(combo) *self, size_t first, uint32_t nr, size_t *n)
{
	struct htwheel_submit sub;
	struct htwheel_op before;
	uint32_t i;
	bool gone;

	for (i = 0; i < nr; i++)
		self->targets[i].opcode = HTWHEEL_OP_CANCEL;
	for (i = 0; i < nr; i++)
		self->targets[i].time_ns = 0;
	if (device_submit(self->fd, &sub, self->targets, nr))
		return "cancelling the timers";
	for (i = 0; i < nr; i++) {
		*n = first + i;
		before = nth_op(first + i);
		gone = before.opcode == HTWHEEL_OP_CANCEL && is_valid(&before);
		if (self->targets[i].result != (gone ? -ENOENT : 0))
			return "whether the timer lives";
		if (before.opcode == HTWHEEL_OP_ARM && !self->ops[i].result &&
		    cancel(self->fd, self->ops[i].id, NULL))
			return "whether the new timer lives";
	}
	return NULL;
}

TEST_F(combo, B42_B57_every_combination)
{
	const char *wrong = NULL;
	struct htwheel_stats stats;
	size_t first, n = 0;
	uint32_t nr;

	for (first = 0; first < NR_COMBINATIONS && !wrong; first += nr) {
		nr = NR_COMBINATIONS - first < BATCH ? NR_COMBINATIONS - first : BATCH;
		wrong = run_batch(self, first, nr, &n);
		if (!wrong)
			wrong = end_batch(self, first, nr, &n);
	}
	if (wrong) {
		struct htwheel_op op = nth_op(n);

		TH_LOG("combination %zu: opcode %u, flags %#x, policy %u, tag %#x", n, op.opcode,
		       op.flags, op.policy, op.tag);
		TH_LOG("time %#llx, period %#llx, slack %#llx, reserved %#llx: %d",
		       (unsigned long long)op.time_ns, (unsigned long long)op.period_ns,
		       (unsigned long long)op.slack_ns, (unsigned long long)op.reserved,
		       self->ops[n % BATCH].result);
	}
	ASSERT_STREQ("nothing", wrong ? wrong : "nothing");
	/*
	 * ARM: 2 times, 3 tags, 3 slacks, and ABSOLUTE and KEEP or not; with PERIODIC 4 policies by
	 * 2 periods, too. REARM: 2 times, ABSOLUTE or not. CANCEL, QUERY: whatever the time.
	 */
	EXPECT_EQ(2 * 3 * 3 * 4 * (1 + 4 * 2) + 2 * 2 + 3 + 3, self->accepted);
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(0, stats.pending);
	EXPECT_EQ(0, stats.fired);
	EXPECT_EQ(stats.armed, stats.cancelled + stats.replaced);
}

TEST_HARNESS_MAIN
