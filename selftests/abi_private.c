// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of HTWHEEL_IOC_SETUP for private engines and manual clocks: what is refused.
 *
 * Each test breaks one rule and keeps all others. Also built for 32-bit callers, as abi_private32.
 */
#include "harness.h"
#include "abi.h"
#include "lab.h"

FIXTURE(setup) {
	struct htwheel_info info;
	struct htwheel_setup arg;
	int fd;
};

FIXTURE_VARIANT(setup) {
	uint32_t clock;
};

FIXTURE_VARIANT_ADD(setup, monotonic) {
	.clock = HTWHEEL_CLOCK_MONOTONIC,
};

FIXTURE_VARIANT_ADD(setup, boottime) {
	.clock = HTWHEEL_CLOCK_BOOTTIME,
};

FIXTURE_VARIANT_ADD(setup, manual) {
	.clock = HTWHEEL_CLOCK_MANUAL,
};

FIXTURE_SETUP(setup)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	self->arg.size = sizeof(self->arg);
	self->arg.flags = HTWHEEL_SETUP_PRIVATE;
	self->arg.clock = variant->clock;
}

FIXTURE_TEARDOWN(setup)
{
	struct htwheel_info info;

	/* What a test refuses leaves the context as it was, and may be repeated. */
	EXPECT_EQ(0, device_info(self->fd, &info));
	if (!info.setup) {
		EXPECT_EQ(HTWHEEL_CLOCK_MONOTONIC, info.clock);
		EXPECT_EQ(self->info.max_timers, info.max_timers);
		EXPECT_EQ(0, arm_in(self->fd, HOUR_NS, 0, NULL));
	}
	close(self->fd);
}

static int refusal(FIXTURE_DATA(setup) *self)
{
	return call_and_compare(self->fd, HTWHEEL_IOC_SETUP, &self->arg, sizeof(self->arg));
}

static void choose_shape(struct htwheel_setup *arg, const char *design, uint32_t levels,
			 uint32_t radix)
{
	uint32_t level;

	memset(arg->design, 0, sizeof(arg->design));
	memcpy(arg->design, design, strlen(design));
	memset(arg->radix, 0, sizeof(arg->radix));
	arg->levels = levels;
	for (level = 0; level < levels && level < HTWHEEL_MAX_LEVELS; level++)
		arg->radix[level] = radix;
}

TEST_F(setup, refused_then_accepted)
{
	struct htwheel_info info;

	self->arg.tick_ns = 3 << 20;
	ASSERT_EQ(-EINVAL, refusal(self));
	self->arg.tick_ns = 1 << 20;
	self->arg.max_timers = 77;
	ASSERT_EQ(0, refusal(self));
	ASSERT_EQ(-EBUSY, refusal(self));
	ASSERT_EQ(0, device_info(self->fd, &info));
	EXPECT_EQ(HTWHEEL_SETUP_PRIVATE, info.setup);
	EXPECT_EQ(variant->clock, info.clock);
	EXPECT_EQ(1 << 20, info.tick_ns);
	EXPECT_EQ(77, info.max_timers);
	EXPECT_EQ(self->info.max_timers_ceiling, info.max_timers_ceiling);
}

TEST_F(setup, after_the_first_arm_is_EBUSY)
{
	uint64_t id;

	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &id));
	EXPECT_EQ(-EBUSY, refusal(self));
	EXPECT_EQ(0, cancel(self->fd, id, NULL));
	EXPECT_EQ(-EBUSY, refusal(self));
}

TEST_F(setup, B57_each_unknown_flag_is_EINVAL)
{
	unsigned int bit;

	for (bit = 2; bit < 32; bit++) {
		self->arg.flags = HTWHEEL_SETUP_PRIVATE | 1U << bit;
		EXPECT_EQ(-EINVAL, refusal(self)) {
			TH_LOG("bit %u", bit);
		}
	}
}

TEST_F(setup, tick_that_is_no_power_of_two_is_EINVAL)
{
	uint64_t tick_ns;
	unsigned int shift;

	for (shift = 2; shift < 64; shift++) {
		tick_ns = 1ULL << shift;
		self->arg.tick_ns = tick_ns - 1;
		EXPECT_EQ(-EINVAL, refusal(self)) {
			TH_LOG("2^%u - 1", shift);
		}
		self->arg.tick_ns = tick_ns + 1;
		EXPECT_EQ(-EINVAL, refusal(self));
		self->arg.tick_ns = tick_ns | tick_ns >> 1;
		EXPECT_EQ(-EINVAL, refusal(self));
	}
	self->arg.tick_ns = UINT64_MAX;
	EXPECT_EQ(-EINVAL, refusal(self));
}

TEST_F(setup, tick_outside_of_its_range_is_EINVAL)
{
	const bool manual = variant->clock == HTWHEEL_CLOCK_MANUAL;
	unsigned int shift;

	for (shift = 0; shift < 64; shift++) {
		self->arg.tick_ns = 1ULL << shift;
		if (shift >= (manual ? 0 : 10) && shift <= 30) {
			EXPECT_LE(0, open_with(self->arg)) {
				TH_LOG("2^%u", shift);
			}
			continue;
		}
		EXPECT_EQ(-EINVAL, refusal(self)) {
			TH_LOG("2^%u", shift);
		}
	}
}

TEST_F(setup, unknown_design_is_EINVAL)
{
	static const char *const names[] = {
		"nosuch", "Wheel", "WHEEL", " wheel", "wheel ", "whee", "wheels", "heap\n", "lis",
		"0", "a", "fifteen_letters",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		memset(self->arg.design, 0, sizeof(self->arg.design));
		memcpy(self->arg.design, names[i], strlen(names[i]));
		EXPECT_EQ(-EINVAL, refusal(self)) {
			TH_LOG("\"%s\"", names[i]);
		}
	}
}

TEST_F(setup, B57_junk_behind_the_name_is_EINVAL)
{
	size_t i, length;

	memcpy(self->arg.design, self->info.design, sizeof(self->arg.design));
	length = strlen(self->info.design);
	for (i = length + 1; i < sizeof(self->arg.design); i++) {
		self->arg.design[i] = 1;
		EXPECT_EQ(-EINVAL, refusal(self)) {
			TH_LOG("byte %zu", i);
		}
		self->arg.design[i] = 0;
	}
	/* Of no name, too. */
	memset(self->arg.design, 0, sizeof(self->arg.design));
	for (i = 1; i < sizeof(self->arg.design); i++) {
		self->arg.design[i] = 'w';
		EXPECT_EQ(-EINVAL, refusal(self));
		self->arg.design[i] = 0;
	}
}

TEST_F(setup, name_without_an_end_is_EINVAL)
{
	memset(self->arg.design, 'w', sizeof(self->arg.design));
	EXPECT_EQ(-EINVAL, refusal(self));
	memcpy(self->arg.design, "wheelwheelwheelw", sizeof(self->arg.design));
	EXPECT_EQ(-EINVAL, refusal(self));
	memset(self->arg.design, JUNK, sizeof(self->arg.design));
	EXPECT_EQ(-EINVAL, refusal(self));
}

/* On a manual clock they need no flag, since its engine is private in any case. */
TEST_F(setup, fields_without_the_flag)
{
	const bool manual = variant->clock == HTWHEEL_CLOCK_MANUAL;
	struct htwheel_setup arg = { .clock = variant->clock }, with;
	struct htwheel_info info;
	size_t at;
	int fd;

	for (at = offsetof(struct htwheel_setup, tick_ns);
	     at < offsetof(struct htwheel_setup, ring_entries); at++) {
		with = arg;
		((unsigned char *)&with)[at] = 1;
		/* A byte of the tick may make a good one, one of start any; a name has more. */
		if (manual && at < offsetof(struct htwheel_setup, design))
			continue;
		EXPECT_EQ(-EINVAL, setup_like(self->fd, with)) {
			TH_LOG("byte %zu", at);
		}
	}
	with = arg;
	with.tick_ns = self->info.tick_ns;
	memcpy(with.design, self->info.design, sizeof(with.design));
	with.levels = self->info.levels;
	memcpy(with.radix, self->info.radix, sizeof(with.radix));
	fd = open_with(with);
	EXPECT_EQ(!manual, fd == -EINVAL);
	if (fd < 0)
		return;
	ASSERT_EQ(0, device_info(fd, &info));
	EXPECT_EQ(HTWHEEL_SETUP_PRIVATE, info.setup);
	close(fd);
}

TEST_F(setup, start_of_a_live_clock_is_EINVAL)
{
	const bool manual = variant->clock == HTWHEEL_CLOCK_MANUAL;
	unsigned int shift;

	for (shift = 0; shift < 64; shift++) {
		self->arg.start_ns = 1ULL << shift;
		if (manual && shift < 63) {
			EXPECT_LE(0, open_with(self->arg));
			continue;
		}
		EXPECT_EQ(-EINVAL, refusal(self)) {
			TH_LOG("2^%u", shift);
		}
	}
	self->arg.start_ns = HTWHEEL_NEVER_NS;
	EXPECT_EQ(-EINVAL, refusal(self));
	self->arg.start_ns = UINT64_MAX;
	EXPECT_EQ(-EINVAL, refusal(self));
	self->arg.start_ns = LAST_NS;
	EXPECT_EQ(manual, open_with(self->arg) >= 0);
}

TEST_F(setup, levels_without_radices_and_the_reverse_are_EINVAL)
{
	uint32_t level, levels;

	for (levels = 1; levels <= HTWHEEL_MAX_LEVELS; levels++) {
		choose_shape(&self->arg, "hier", levels, 0);
		EXPECT_EQ(-EINVAL, refusal(self));
		/* All but one. */
		choose_shape(&self->arg, "hier", levels, 16);
		for (level = 0; level < levels; level++) {
			self->arg.radix[level] = 0;
			EXPECT_EQ(-EINVAL, refusal(self)) {
				TH_LOG("level %u of %u", level, levels);
			}
			self->arg.radix[level] = 16;
		}
		/* One more, or none. */
		for (level = levels; level < HTWHEEL_MAX_LEVELS; level++) {
			self->arg.radix[level] = 16;
			EXPECT_EQ(-EINVAL, refusal(self));
			self->arg.radix[level] = 0;
		}
		self->arg.levels = 0;
		EXPECT_EQ(-EINVAL, refusal(self));
	}
}

TEST_F(setup, radices_from_2_to_65536)
{
	const uint32_t radices[] = {
		1, 65537, 65538, 0x20000, 0x10000 + 64, 0x80000000, 0x80000040, UINT32_MAX,
	};
	uint32_t level;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(radices); i++) {
		for (level = 0; level < 4; level++) {
			choose_shape(&self->arg, "hier", 4, 64);
			self->arg.radix[level] = radices[i];
			EXPECT_EQ(-EINVAL, refusal(self)) {
				TH_LOG("radix %#x on level %u", radices[i], level);
			}
		}
		choose_shape(&self->arg, "hashed", 1, radices[i]);
		EXPECT_EQ(-EINVAL, refusal(self));
	}
	choose_shape(&self->arg, "hier", 1, 2);
	EXPECT_LE(0, open_with(self->arg));
	choose_shape(&self->arg, "hier", 1, 65536);
	EXPECT_LE(0, open_with(self->arg));
}

TEST_F(setup, more_than_16_levels_are_EINVAL)
{
	const uint32_t levels[] = { 17, 32, 0x100, 0x10000, 0x80000000, 0x80000008, UINT32_MAX };
	size_t i;

	choose_shape(&self->arg, "hier", HTWHEEL_MAX_LEVELS, 16);
	EXPECT_LE(0, open_with(self->arg));
	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		self->arg.levels = levels[i];
		EXPECT_EQ(-EINVAL, refusal(self)) {
			TH_LOG("%#x levels", levels[i]);
		}
	}
}

TEST_F(setup, shapes_that_the_design_cannot_have_are_EINVAL)
{
	const struct {
		const char	*design;
		uint32_t	levels;
		uint32_t	radix;
	} shapes[] = {
		/* Too few bits for the ticks; no power of two; more than a word of slots. */
		{ "wheel", 1, 64 }, { "wheel", 5, 64 }, { "wheel", 16, 2 }, { "wheel", 11, 63 },
		{ "wheel", 11, 128 }, { "wheel", 11, 3 },
		{ "linux", 8, 64 }, { "linux", 10, 64 },
		{ "hashed", 2, 64 }, { "hashed", 16, 256 },
		{ "heap", 1, 2 }, { "lazyheap", 1, 64 }, { "rbtree", 8, 64 }, { "list", 1, 64 },
		/* More slots than anybody needs. */
		{ "hier", 3, 65536 }, { "hier", 16, 65536 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		choose_shape(&self->arg, shapes[i].design, shapes[i].levels, shapes[i].radix);
		EXPECT_EQ(-EINVAL, refusal(self)) {
			TH_LOG("%s, %u levels of %u", shapes[i].design, shapes[i].levels,
			       shapes[i].radix);
		}
	}
	/* Levels of the wheel that differ. */
	choose_shape(&self->arg, "wheel", 12, 64);
	EXPECT_LE(0, open_with(self->arg));
	self->arg.radix[3] = 32;
	EXPECT_EQ(-EINVAL, refusal(self));
	self->arg.radix[3] = 64;
	self->arg.radix[11] = 32;
	EXPECT_EQ(-EINVAL, refusal(self));
}

TEST_F(setup, limits_and_policies_are_those_of_any_context)
{
	self->arg.max_timers = self->info.max_timers_ceiling + 1;
	EXPECT_EQ(-EINVAL, refusal(self));
	self->arg.max_timers = 0;
	self->arg.wake_events = 2;
	EXPECT_EQ(-EINVAL, refusal(self));
	self->arg.wake_usecs = 1;
	self->arg.reserved = 1;
	EXPECT_EQ(-EINVAL, refusal(self));
	self->arg.reserved = 0;
	self->arg.reserved2 = 1;
	EXPECT_EQ(-EINVAL, refusal(self));
	self->arg.reserved2 = 0;
	EXPECT_LE(0, open_with(self->arg));
}

TEST_HARNESS_MAIN
