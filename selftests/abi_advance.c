// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of HTWHEEL_IOC_ADVANCE: whose clock may be moved, where to, and what is written.
 *
 * What all commands have in common is in abi.c. Also built for 32-bit callers, as abi_advance32.
 */
#include "harness.h"
#include "abi.h"
#include "lab.h"

#define START_NS	(NS_PER_S + 12345)

FIXTURE(advance) {
	struct htwheel_info info;
	/* A timer that is due a second after the start. */
	uint64_t id;
	int fd;
};

FIXTURE_SETUP(advance)
{
	self->fd = open_manual(START_NS);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	ASSERT_EQ(0, arm_in(self->fd, NS_PER_S, 7, &self->id));
}

FIXTURE_TEARDOWN(advance)
{
	close(self->fd);
}

/*
 * What the call answers, or -EUCLEAN if a refusal was not all that happened: the outputs say that
 * nothing was done, the clock stands, the timer lives.
 */
static int refusal(FIXTURE_DATA(advance) *self, struct htwheel_advance adv)
{
	struct htwheel_advance before = adv;
	int ret = device_advance(self->fd, &adv);

	if (!ret)
		return 0;
	if (adv.due || adv.moves || adv.slots || adv.passes || adv.largest || adv.more)
		return -EUCLEAN;
	if (adv.size != sizeof(adv) || adv.flags != before.flags || adv.to != before.to ||
	    adv.budget != before.budget || adv.reserved != before.reserved)
		return -EUCLEAN;
	if (clock_of(self->fd) != START_NS || query(self->fd, self->id, NULL) ||
	    is_readable(self->fd))
		return -EUCLEAN;
	return ret;
}

TEST_F(advance, every_output_is_written_and_no_input)
{
	struct {
		struct htwheel_advance adv;
		unsigned char behind[64];
	} arg;

	memset(&arg, JUNK, sizeof(arg));
	arg.adv.flags = HTWHEEL_ADVANCE_JUMP;
	arg.adv.to = START_NS + 2 * NS_PER_S;
	arg.adv.budget = 1000;
	arg.adv.reserved = 0;
	ASSERT_EQ(0, device_advance(self->fd, &arg.adv));
	EXPECT_EQ(sizeof(arg.adv), arg.adv.size);
	EXPECT_EQ(HTWHEEL_ADVANCE_JUMP, arg.adv.flags);
	EXPECT_EQ(START_NS + 2 * NS_PER_S, arg.adv.to);
	EXPECT_EQ(1000, arg.adv.budget);
	EXPECT_EQ(START_NS + 2 * NS_PER_S, arg.adv.now_ns);
	EXPECT_EQ(1, arg.adv.due);
	EXPECT_GT(1000, arg.adv.moves);
	EXPECT_GT(100000, arg.adv.slots);
	EXPECT_LE(1, arg.adv.passes);
	EXPECT_GT(1000, arg.adv.passes);
	EXPECT_LE(1, arg.adv.largest);
	EXPECT_GT(1000, arg.adv.largest);
	EXPECT_EQ(0, arg.adv.more);
	EXPECT_EQ(0, arg.adv.reserved);
	EXPECT_TRUE(all_bytes_are(arg.behind, sizeof(arg.behind), JUNK));
}

/* What comes in where an output goes out does not matter. */
TEST_F(advance, outputs_are_no_inputs)
{
	struct htwheel_advance adv;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		memset(&adv, i & 1 ? 0xff : 0x80, sizeof(adv));
		adv.size = sizeof(adv);
		adv.flags = 0;
		adv.to = START_NS + i;
		adv.budget = 0;
		adv.reserved = 0;
		ASSERT_EQ(0, device_ioctl(self->fd, HTWHEEL_IOC_ADVANCE, &adv));
		EXPECT_EQ(START_NS + i, adv.now_ns);
		EXPECT_EQ(0, adv.due);
		EXPECT_EQ(0, adv.more);
	}
}

TEST_F(advance, B57_each_unknown_flag_is_EINVAL)
{
	const uint32_t known = HTWHEEL_ADVANCE_TICKS | HTWHEEL_ADVANCE_JUMP;
	unsigned int bit;
	uint32_t with;

	for (bit = 0; bit < 32; bit++) {
		if (known & 1U << bit)
			continue;
		for (with = 0; with <= known; with++) {
			struct htwheel_advance adv = {
				.flags = with | 1U << bit,
				.to = with & HTWHEEL_ADVANCE_TICKS ? 1 : START_NS + 1,
			};

			EXPECT_EQ(-EINVAL, refusal(self, adv)) {
				TH_LOG("flags %#x", adv.flags);
			}
		}
	}
}

TEST_F(advance, B57_reserved_is_EINVAL)
{
	struct htwheel_advance adv = { .to = START_NS + 1 };
	unsigned int bit;

	for (bit = 0; bit < 32; bit++) {
		adv.reserved = 1U << bit;
		EXPECT_EQ(-EINVAL, refusal(self, adv)) {
			TH_LOG("bit %u", bit);
		}
	}
}

TEST_F(advance, B65_into_the_past_is_EINVAL)
{
	const uint64_t times[] = {
		0, 1, START_NS - 1, START_NS - 5 * NS_PER_MS, START_NS / 2, START_NS & ~0xffffULL,
	};
	size_t i;

	for (i = 0; i < 2 * ARRAY_SIZE(times); i++) {
		struct htwheel_advance adv = {
			.flags = i & 1 ? HTWHEEL_ADVANCE_JUMP : 0, .to = times[i / 2],
		};

		EXPECT_EQ(-EINVAL, refusal(self, adv)) {
			TH_LOG("to %llu", (unsigned long long)adv.to);
		}
	}
}

TEST_F(advance, beyond_the_end_is_EINVAL)
{
	const uint64_t times[] = {
		HTWHEEL_NEVER_NS, HTWHEEL_NEVER_NS + 1, 1ULL << 63, UINT64_MAX - 1, UINT64_MAX,
		(1ULL << 63) + START_NS,
	};
	size_t i;

	for (i = 0; i < 2 * ARRAY_SIZE(times); i++) {
		struct htwheel_advance adv = {
			.flags = i & 1 ? HTWHEEL_ADVANCE_JUMP : 0, .to = times[i / 2],
		};

		EXPECT_EQ(-EINVAL, refusal(self, adv)) {
			TH_LOG("to %#llx", (unsigned long long)adv.to);
		}
	}
	EXPECT_EQ(0, advance_to(self->fd, LAST_NS));
	EXPECT_EQ(LAST_NS, clock_of(self->fd));
	EXPECT_TRUE(is_readable(self->fd));
}

TEST_F(advance, B54_ticks_that_lead_beyond_the_end_are_EINVAL)
{
	const uint64_t tick_ns = self->info.tick_ns, most = (LAST_NS - START_NS) / tick_ns;
	const uint64_t ticks[] = {
		most + 1, most + 2, 2 * most, UINT64_MAX / tick_ns, UINT64_MAX / tick_ns + 1,
		UINT64_MAX / tick_ns + 2, 1ULL << 63, UINT64_MAX - 1, UINT64_MAX,
	};
	size_t i;

	for (i = 0; i < 2 * ARRAY_SIZE(ticks); i++) {
		struct htwheel_advance adv = {
			.flags = HTWHEEL_ADVANCE_TICKS | (i & 1 ? HTWHEEL_ADVANCE_JUMP : 0),
			.to = ticks[i / 2],
		};

		EXPECT_EQ(-EINVAL, refusal(self, adv)) {
			TH_LOG("%#llx ticks", (unsigned long long)adv.to);
		}
	}
	EXPECT_EQ(0, advance_ticks(self->fd, most));
	EXPECT_EQ(START_NS + most * tick_ns, clock_of(self->fd));
	EXPECT_EQ(-EINVAL, advance_ticks(self->fd, 1));
	EXPECT_EQ(0, advance_ticks(self->fd, 0));
	EXPECT_EQ(0, advance_to(self->fd, LAST_NS));
}

/* Ticks are lengths: the clock need not stand at the beginning of one. */
TEST_F(advance, ticks_are_counted_from_where_the_clock_stands)
{
	uint64_t now = START_NS;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		EXPECT_EQ(0, advance_ticks(self->fd, i));
		now += i * self->info.tick_ns;
		EXPECT_EQ(now, clock_of(self->fd));
	}
}

TEST_F(advance, to_the_present_is_accepted)
{
	struct htwheel_advance adv = { .to = START_NS };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		adv.flags = i;
		adv.to = i & HTWHEEL_ADVANCE_TICKS ? 0 : START_NS;
		EXPECT_EQ(0, device_advance(self->fd, &adv));
		EXPECT_EQ(START_NS, adv.now_ns);
		EXPECT_EQ(0, adv.due);
		EXPECT_EQ(0, adv.more);
	}
	EXPECT_EQ(0, query(self->fd, self->id, NULL));
}

TEST_F(advance, any_budget_is_accepted)
{
	const uint64_t budgets[] = {
		0, 1, 2, 1ULL << 31, 1ULL << 32, INT64_MAX, 1ULL << 63, UINT64_MAX,
	};
	struct htwheel_advance adv = { .to = START_NS };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(budgets); i++) {
		adv.budget = budgets[i];
		adv.to++;
		EXPECT_EQ(0, device_advance(self->fd, &adv));
		EXPECT_EQ(adv.to, adv.now_ns);
		EXPECT_EQ(budgets[i], adv.budget);
	}
}

/* Whatever else is asked, and whether the engine is the context's own or not. */
TEST_F(advance, of_a_live_clock_is_EOPNOTSUPP)
{
	const struct htwheel_setup setups[] = {
		{ .clock = HTWHEEL_CLOCK_MONOTONIC },
		{ .clock = HTWHEEL_CLOCK_BOOTTIME },
		{ .clock = HTWHEEL_CLOCK_MONOTONIC, .flags = HTWHEEL_SETUP_PRIVATE },
		{ .clock = HTWHEEL_CLOCK_BOOTTIME, .flags = HTWHEEL_SETUP_PRIVATE },
	};
	const uint64_t times[] = { 0, 1, NS_PER_S, LAST_NS };
	struct htwheel_stats stats;
	size_t i, time;
	int fd;

	for (i = 0; i <= ARRAY_SIZE(setups); i++) {
		fd = i == ARRAY_SIZE(setups) ? open_device(O_NONBLOCK) : open_with(setups[i]);
		ASSERT_LE(0, fd);
		for (time = 0; time < ARRAY_SIZE(times); time++) {
			struct htwheel_advance adv = { .flags = time, .to = times[time] };

			EXPECT_EQ(-EOPNOTSUPP, device_advance(fd, &adv));
			EXPECT_EQ(0, adv.due);
			EXPECT_EQ(0, adv.passes);
			EXPECT_EQ(0, adv.more);
		}
		/* It is no arm. */
		ASSERT_EQ(0, device_stats(fd, &stats));
		EXPECT_EQ(0, stats.armed);
		EXPECT_EQ(i == ARRAY_SIZE(setups) ? 0 : -EBUSY, device_setup(fd, 5));
		close(fd);
	}
}

/* The answer has no place: nothing is done, so that nothing is lost. */
TEST_F(advance, argument_that_cannot_be_written_moves_nothing)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	unsigned char *map = map_before_edge(1);
	struct htwheel_advance *adv = (struct htwheel_advance *)map;

	ASSERT_TRUE(!!map);
	adv->size = sizeof(*adv);
	adv->to = START_NS + 2 * NS_PER_S;
	ASSERT_EQ(0, mprotect(map, page, PROT_READ));
	EXPECT_EQ(-EFAULT, device_ioctl(self->fd, HTWHEEL_IOC_ADVANCE, map));
	EXPECT_EQ(START_NS, clock_of(self->fd));
	EXPECT_EQ(0, query(self->fd, self->id, NULL));
	munmap(map, page);
}

TEST_HARNESS_MAIN
