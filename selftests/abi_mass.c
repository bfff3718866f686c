// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of HTWHEEL_IOC_MASS: which fields each of its operations takes.
 *
 * Also built for 32-bit callers, as abi_mass32.
 */
#include "harness.h"
#include "abi.h"

#define NEVER	((int64_t)HTWHEEL_NEVER_NS)
#define TAG	7U

FIXTURE(mass) {
	struct htwheel_info info;
	struct htwheel_stats stats;
	/* A live timer with a tag. */
	uint64_t id;
	int fd;
};

static int arm_tagged(int fd, uint64_t *id)
{
	struct htwheel_op op = {
		.opcode = HTWHEEL_OP_ARM,
		.time_ns = HOUR_NS,
		.tag = TAG,
	};
	int ret = submit_one(fd, &op);

	*id = op.id;
	return ret;
}

FIXTURE_SETUP(mass)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	if (!(self->info.features & HTWHEEL_FEAT_MASS))
		SKIP(return, "the module has no MASS");
	ASSERT_EQ(0, arm_tagged(self->fd, &self->id));
	ASSERT_EQ(0, device_stats(self->fd, &self->stats));
}

FIXTURE_TEARDOWN(mass)
{
	close(self->fd);
}

/* What each operation takes, and is accepted. */
static struct htwheel_mass valid_mass(uint32_t opcode)
{
	struct htwheel_mass mass = { .size = sizeof(mass), .opcode = opcode, .done = JUNK64 };

	if (opcode == HTWHEEL_MASS_SHIFT)
		mass.shift_ns = HOUR_NS;
	if (opcode == HTWHEEL_MASS_SCALE) {
		mass.numerator = 2;
		mass.denominator = 1;
	}
	return mass;
}

/*
 * What the call answers, or -EUCLEAN if a refusal was not all that happened. It says that nothing
 * was done.
 */
static int refusal(FIXTURE_DATA(mass) *self, struct htwheel_mass mass)
{
	struct htwheel_mass before = mass;
	struct htwheel_stats stats;
	int ret = device_mass(self->fd, &mass);

	if (!ret)
		return 0;
	before.done = 0;
	if (memcmp(&before, &mass, sizeof(mass)) || device_stats(self->fd, &stats) ||
	    stats.armed != self->stats.armed || stats.cancelled != self->stats.cancelled ||
	    stats.replaced != self->stats.replaced || query(self->fd, self->id, NULL))
		return -EUCLEAN;
	return ret;
}

TEST_F(mass, valid_writes_cursor_and_done_only)
{
	uint32_t opcode;

	for (opcode = HTWHEEL_MASS_TRIM; opcode >= HTWHEEL_MASS_CANCEL; opcode--) {
		struct htwheel_mass mass = valid_mass(opcode), before = mass;

		ASSERT_EQ(0, device_mass(self->fd, &mass));
		EXPECT_EQ(0, mass.cursor);
		EXPECT_TRUE(opcode == HTWHEEL_MASS_TRIM ? mass.done != JUNK64 : mass.done == 1);
		before.cursor = mass.cursor;
		before.done = mass.done;
		EXPECT_EQ(0, memcmp(&before, &mass, sizeof(mass))) {
			TH_LOG("opcode %u", opcode);
		}
	}
	EXPECT_EQ(-ENOENT, query(self->fd, self->id, NULL));
}

TEST_F(mass, context_without_timers)
{
	int fd = open_device(O_NONBLOCK);
	uint32_t opcode;

	ASSERT_LE(0, fd);
	for (opcode = HTWHEEL_MASS_CANCEL; opcode <= HTWHEEL_MASS_TRIM; opcode++) {
		struct htwheel_mass mass = valid_mass(opcode);

		EXPECT_EQ(0, device_mass(fd, &mass));
		EXPECT_EQ(0, mass.cursor);
		EXPECT_EQ(0, mass.done);
	}
	/* None of them is an arm. */
	EXPECT_EQ(0, device_setup(fd, 5));
	close(fd);
}

TEST_F(mass, B57_unknown_opcode_is_EINVAL)
{
	const uint32_t opcodes[] = {
		0, 5, 6, 7, 8, 0xff, 0x100 + HTWHEEL_MASS_CANCEL, 0x10000 + HTWHEEL_MASS_CANCEL,
		0x80000000, 0x80000000 + HTWHEEL_MASS_CANCEL, UINT32_MAX,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		EXPECT_EQ(-EINVAL, refusal(self, valid_mass(opcodes[i]))) {
			TH_LOG("opcode %#x", opcodes[i]);
		}
	}
}

TEST_F(mass, B42_each_unknown_flag_of_each_operation_is_EINVAL)
{
	uint32_t opcode;
	unsigned int bit;

	for (opcode = HTWHEEL_MASS_CANCEL; opcode <= HTWHEEL_MASS_TRIM; opcode++) {
		struct htwheel_mass mass = valid_mass(opcode);

		for (bit = 1; bit < 32; bit++) {
			mass.flags = 1U << bit;
			EXPECT_EQ(-EINVAL, refusal(self, mass)) {
				TH_LOG("opcode %u, bit %u", opcode, bit);
			}
			mass.flags |= HTWHEEL_MASS_TAG;
			EXPECT_EQ(-EINVAL, refusal(self, mass));
		}
	}
}

TEST_F(mass, B57_tag_without_its_flag_is_EINVAL)
{
	uint32_t opcode;
	unsigned int bit;

	for (opcode = HTWHEEL_MASS_CANCEL; opcode <= HTWHEEL_MASS_TRIM; opcode++) {
		struct htwheel_mass mass = valid_mass(opcode);

		for (bit = 0; bit < 32; bit++) {
			mass.tag = 1U << bit;
			EXPECT_EQ(-EINVAL, refusal(self, mass)) {
				TH_LOG("opcode %u, bit %u", opcode, bit);
			}
		}
	}
}

TEST_F(mass, trim_takes_no_tag)
{
	struct htwheel_mass mass = valid_mass(HTWHEEL_MASS_TRIM);

	mass.flags = HTWHEEL_MASS_TAG;
	EXPECT_EQ(-EINVAL, refusal(self, mass));
	mass.tag = TAG;
	EXPECT_EQ(-EINVAL, refusal(self, mass));
}

TEST_F(mass, shift_from_minus_to_plus_NEVER)
{
	const int64_t shifts[] = { 0, 1, -1, NEVER - 1, NEVER, -NEVER + 1, -NEVER };
	struct htwheel_mass mass = valid_mass(HTWHEEL_MASS_SHIFT);
	size_t i;

	mass.shift_ns = INT64_MIN;
	EXPECT_EQ(-EINVAL, refusal(self, mass));
	for (i = 0; i < ARRAY_SIZE(shifts); i++) {
		mass.shift_ns = shifts[i];
		EXPECT_EQ(0, device_mass(self->fd, &mass)) {
			TH_LOG("shift %lld", (long long)shifts[i]);
		}
	}
}

TEST_F(mass, B46_scale_by_a_denominator_of_0_is_EINVAL)
{
	const uint32_t numerators[] = { 0, 1, UINT32_MAX };
	struct htwheel_mass mass = valid_mass(HTWHEEL_MASS_SCALE);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numerators); i++) {
		mass.numerator = numerators[i];
		mass.denominator = 0;
		EXPECT_EQ(-EINVAL, refusal(self, mass));
	}
	for (i = 0; i < ARRAY_SIZE(numerators); i++) {
		mass.numerator = numerators[i];
		mass.denominator = 1;
		EXPECT_EQ(0, device_mass(self->fd, &mass));
		mass.denominator = UINT32_MAX;
		EXPECT_EQ(0, device_mass(self->fd, &mass));
	}
}

/* Values of each field, valid for one operation or another, and wrong for all. */
static const uint32_t opcodes[] = { 0, 1, 2, 3, 4, 5 };
static const uint32_t flags[] = { 0, HTWHEEL_MASS_TAG, 2, 3, 0x80000000 };
static const uint32_t tags[] = { 0, TAG, 0x80000000 };
static const int64_t shifts[] = { 0, 1, -1, 1LL << 40, NEVER, -NEVER, INT64_MIN };
static const uint32_t numerators[] = { 0, 1, UINT32_MAX };
static const uint32_t denominators[] = { 0, 1, 0x80000000 };

/* The header's rules, once more. */
static bool is_valid(const struct htwheel_mass *mass)
{
	bool shift = mass->opcode == HTWHEEL_MASS_SHIFT, scale = mass->opcode == HTWHEEL_MASS_SCALE;

	if (mass->opcode < HTWHEEL_MASS_CANCEL || mass->opcode > HTWHEEL_MASS_TRIM)
		return false;
	if (mass->flags & ~HTWHEEL_MASS_TAG ||
	    (mass->flags && mass->opcode == HTWHEEL_MASS_TRIM))
		return false;
	if (mass->tag && !(mass->flags & HTWHEEL_MASS_TAG))
		return false;
	if (shift ? mass->shift_ns == INT64_MIN : mass->shift_ns != 0)
		return false;
	return scale ? mass->denominator != 0 : !mass->numerator && !mass->denominator;
}

static struct htwheel_mass nth_mass(size_t n)
{
	struct htwheel_mass mass = { .size = sizeof(mass), .done = JUNK64 };

#define PICK(field, values)								\
	do {										\
		mass.field = (values)[n % ARRAY_SIZE(values)];				\
		n /= ARRAY_SIZE(values);						\
	} while (0)
	PICK(opcode, opcodes);
	PICK(flags, flags);
	PICK(tag, tags);
	PICK(shift_ns, shifts);
	PICK(numerator, numerators);
	PICK(denominator, denominators);
#undef PICK
	return mass;
}

#define NR_MASSES	(ARRAY_SIZE(opcodes) * ARRAY_SIZE(flags) * ARRAY_SIZE(tags) *		\
			 ARRAY_SIZE(shifts) * ARRAY_SIZE(numerators) * ARRAY_SIZE(denominators))

/* The timer's end: what the operation was to do with it, and that the books say so. */
static const char *check_accepted(FIXTURE_DATA(mass) *self, const struct htwheel_mass *mass)
{
	bool hit = !mass->flags || mass->tag == TAG, cancels = mass->opcode == HTWHEEL_MASS_CANCEL;
	struct htwheel_stats stats;
	int ret;

	if (mass->cursor)
		return "cursor";
	if (mass->opcode != HTWHEEL_MASS_TRIM && mass->done > hit)
		return "done is too much";
	if (cancels && mass->done != hit)
		return "done";
	ret = query(self->fd, self->id, NULL);
	if (cancels && hit ? ret != -ENOENT : ret < 0)
		return "query";
	if (device_stats(self->fd, &stats) || stats.pending != !(cancels && hit) ||
	    stats.armed != stats.cancelled + stats.replaced + stats.pending)
		return "books";
	if (cancel(self->fd, self->id, NULL) < 0 && !(cancels && hit))
		return "cancel";
	return arm_tagged(self->fd, &self->id) ? "arm" : NULL;
}

TEST_F(mass, B42_B57_every_combination)
{
	uint32_t accepted = 0;
	const char *wrong;
	size_t n;

	for (n = 0; n < NR_MASSES; n++) {
		struct htwheel_mass mass = nth_mass(n);

		if (!is_valid(&mass)) {
			ASSERT_EQ(-EINVAL, refusal(self, mass)) {
				TH_LOG("combination %zu", n);
			}
			continue;
		}
		accepted++;
		ASSERT_EQ(0, device_mass(self->fd, &mass)) {
			TH_LOG("combination %zu", n);
		}
		wrong = check_accepted(self, &mass);
		ASSERT_STREQ("nothing", wrong ? wrong : "nothing") {
			TH_LOG("combination %zu: opcode %u, flags %u, tag %u, shift %lld", n,
			       mass.opcode, mass.flags, mass.tag, (long long)mass.shift_ns);
		}
		ASSERT_EQ(0, device_stats(self->fd, &self->stats));
	}
	/* CANCEL: 4 of flag and tag. SHIFT: 4 by 6 shifts. SCALE: 4 by 3 by 2. TRIM: 1. */
	EXPECT_EQ(4 + 4 * 6 + 4 * 3 * 2 + 1, accepted);
}

/* Whatever cursor comes in, it is at worst refused; the context is none the worse for it. */
TEST_F(mass, cursors_that_no_call_gave)
{
	uint64_t seed = 42, cursor;
	unsigned int i;
	int ret;

	for (i = 0; i < 200; i++) {
		struct htwheel_mass mass = valid_mass(HTWHEEL_MASS_SHIFT);

		cursor = i < 128 ? (1ULL << (i / 2)) - i % 2 : chance(&seed) >> i % 64;
		mass.cursor = cursor;
		mass.shift_ns = 1;
		ret = device_mass(self->fd, &mass);
		EXPECT_TRUE(ret == 0 || ret == -EINVAL) {
			TH_LOG("cursor %#llx: %d", (unsigned long long)cursor, ret);
		}
		EXPECT_GE(1, mass.done);
		EXPECT_TRUE(ret || !mass.cursor);
	}
	EXPECT_EQ(0, query(self->fd, self->id, NULL));
}

TEST_HARNESS_MAIN
