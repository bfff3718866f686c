// SPDX-License-Identifier: GPL-2.0
/*
 * The rules that all commands share (size, flags, addresses, numbers), the layout, INFO and STATS.
 *
 * Each test breaks one rule and keeps all others. Also built for 32-bit callers, as abi32.
 */
#include <limits.h>

#include "harness.h"
#include "abi.h"

#define ASSERT_FIELD(type, field, offset, bytes)					\
	_Static_assert(offsetof(struct type, field) == (offset) &&			\
		       sizeof(((struct type *)0)->field) == (bytes), #type "." #field)

/* A command's number never changes, whatever its argument grows to. */
_Static_assert(HTWHEEL_IOC_INFO == 0xd700 && HTWHEEL_IOC_SETUP == 0xd701 &&
	       HTWHEEL_IOC_SUBMIT == 0xd702 && HTWHEEL_IOC_STATS == 0xd703, "command numbers");
_Static_assert(HTWHEEL_ABI == 1 && HTWHEEL_NEVER_NS == INT64_MAX, "constants");
_Static_assert(HTWHEEL_CLOCK_MONOTONIC == 0 && HTWHEEL_CLOCK_BOOTTIME == 1 &&
	       HTWHEEL_CLOCK_MANUAL == 2, "clocks");
_Static_assert(HTWHEEL_FEAT_PERIODIC == 1 && HTWHEEL_FEAT_KEEP == 2 && HTWHEEL_FEAT_SLACK == 4 &&
	       HTWHEEL_FEAT_TAG == 8 && HTWHEEL_FEAT_BOOTTIME == 16 && HTWHEEL_FEAT_MANUAL == 32,
	       "features");
_Static_assert(HTWHEEL_OP_ARM == 1 && HTWHEEL_OP_REARM == 2 && HTWHEEL_OP_CANCEL == 3 &&
	       HTWHEEL_OP_QUERY == 4, "opcodes");
_Static_assert(HTWHEEL_ABSOLUTE == 1 && HTWHEEL_PERIODIC == 2 && HTWHEEL_KEEP == 4 &&
	       HTWHEEL_RES_FIRED == 1, "flags and results");

ASSERT_FIELD(htwheel_info, size, 0, 4);
ASSERT_FIELD(htwheel_info, flags, 4, 4);
ASSERT_FIELD(htwheel_info, abi, 8, 4);
ASSERT_FIELD(htwheel_info, clock, 12, 4);
ASSERT_FIELD(htwheel_info, features, 16, 8);
ASSERT_FIELD(htwheel_info, tick_ns, 24, 8);
ASSERT_FIELD(htwheel_info, max_timers, 32, 8);
ASSERT_FIELD(htwheel_info, max_timers_ceiling, 40, 8);
ASSERT_FIELD(htwheel_info, max_batch, 48, 4);
ASSERT_FIELD(htwheel_info, max_stride, 52, 4);
ASSERT_FIELD(htwheel_info, cpus, 56, 4);
ASSERT_FIELD(htwheel_info, levels, 60, 4);
ASSERT_FIELD(htwheel_info, slots, 64, 4);
ASSERT_FIELD(htwheel_info, reserved, 68, 4);
ASSERT_FIELD(htwheel_info, design, 72, 16);
_Static_assert(sizeof(struct htwheel_info) == 88, "htwheel_info");

ASSERT_FIELD(htwheel_setup, size, 0, 4);
ASSERT_FIELD(htwheel_setup, flags, 4, 4);
ASSERT_FIELD(htwheel_setup, clock, 8, 4);
ASSERT_FIELD(htwheel_setup, reserved, 12, 4);
ASSERT_FIELD(htwheel_setup, max_timers, 16, 8);
_Static_assert(sizeof(struct htwheel_setup) == 24, "htwheel_setup");

ASSERT_FIELD(htwheel_op, opcode, 0, 2);
ASSERT_FIELD(htwheel_op, policy, 2, 2);
ASSERT_FIELD(htwheel_op, flags, 4, 4);
ASSERT_FIELD(htwheel_op, result, 8, 4);
ASSERT_FIELD(htwheel_op, tag, 12, 4);
ASSERT_FIELD(htwheel_op, id, 16, 8);
ASSERT_FIELD(htwheel_op, time_ns, 24, 8);
ASSERT_FIELD(htwheel_op, period_ns, 32, 8);
ASSERT_FIELD(htwheel_op, slack_ns, 40, 8);
ASSERT_FIELD(htwheel_op, user_data, 48, 8);
ASSERT_FIELD(htwheel_op, reserved, 56, 8);
_Static_assert(sizeof(struct htwheel_op) == 64, "htwheel_op");

ASSERT_FIELD(htwheel_submit, size, 0, 4);
ASSERT_FIELD(htwheel_submit, flags, 4, 4);
ASSERT_FIELD(htwheel_submit, ops, 8, 8);
ASSERT_FIELD(htwheel_submit, nr, 16, 4);
ASSERT_FIELD(htwheel_submit, stride, 20, 4);
ASSERT_FIELD(htwheel_submit, done, 24, 4);
ASSERT_FIELD(htwheel_submit, failed, 28, 4);
_Static_assert(sizeof(struct htwheel_submit) == 32, "htwheel_submit");

ASSERT_FIELD(htwheel_event, id, 0, 8);
ASSERT_FIELD(htwheel_event, user_data, 8, 8);
ASSERT_FIELD(htwheel_event, deadline_ns, 16, 8);
ASSERT_FIELD(htwheel_event, fired_ns, 24, 8);
ASSERT_FIELD(htwheel_event, count, 32, 8);
ASSERT_FIELD(htwheel_event, tag, 40, 4);
ASSERT_FIELD(htwheel_event, flags, 44, 4);
_Static_assert(sizeof(struct htwheel_event) == 48, "htwheel_event");

ASSERT_FIELD(htwheel_stats, size, 0, 4);
ASSERT_FIELD(htwheel_stats, flags, 4, 4);
ASSERT_FIELD(htwheel_stats, armed, 8, 8);
ASSERT_FIELD(htwheel_stats, fired, 16, 8);
ASSERT_FIELD(htwheel_stats, cancelled, 24, 8);
ASSERT_FIELD(htwheel_stats, replaced, 32, 8);
ASSERT_FIELD(htwheel_stats, pending, 40, 8);
ASSERT_FIELD(htwheel_stats, expired, 48, 8);
ASSERT_FIELD(htwheel_stats, peak, 56, 8);
ASSERT_FIELD(htwheel_stats, pool_bytes, 64, 8);
ASSERT_FIELD(htwheel_stats, passes, 72, 8);
ASSERT_FIELD(htwheel_stats, wakeups, 80, 8);
ASSERT_FIELD(htwheel_stats, reprogrammed, 88, 8);
ASSERT_FIELD(htwheel_stats, moves, 96, 8);
ASSERT_FIELD(htwheel_stats, slots_visited, 104, 8);
ASSERT_FIELD(htwheel_stats, budget_stops, 112, 8);
ASSERT_FIELD(htwheel_stats, backlog_cpus, 120, 8);
ASSERT_FIELD(htwheel_stats, backlog_ns, 128, 8);
ASSERT_FIELD(htwheel_stats, queued, 136, 8);
ASSERT_FIELD(htwheel_stats, late, 144, 8 * HTWHEEL_LATE_BINS);
_Static_assert(sizeof(struct htwheel_stats) == 400 && HTWHEEL_LATE_BINS == 32, "htwheel_stats");

#define PAGES	2

FIXTURE(command) {
	unsigned char *map;
	size_t page;
	int fd;
};

FIXTURE_VARIANT(command) {
	unsigned long nr;
	uint32_t v1_size;
	bool fills_in;
};

FIXTURE_VARIANT_ADD(command, info) {
	.nr = HTWHEEL_IOC_INFO, .v1_size = sizeof(struct htwheel_info), .fills_in = true,
};

FIXTURE_VARIANT_ADD(command, setup) {
	.nr = HTWHEEL_IOC_SETUP, .v1_size = sizeof(struct htwheel_setup),
};

FIXTURE_VARIANT_ADD(command, submit) {
	.nr = HTWHEEL_IOC_SUBMIT, .v1_size = sizeof(struct htwheel_submit), .fills_in = true,
};

FIXTURE_VARIANT_ADD(command, stats) {
	.nr = HTWHEEL_IOC_STATS, .v1_size = sizeof(struct htwheel_stats), .fills_in = true,
};

FIXTURE_SETUP(command)
{
	self->page = sysconf(_SC_PAGESIZE);
	self->map = map_before_edge(PAGES);
	ASSERT_TRUE(!!self->map);
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(command)
{
	close(self->fd);
}

/* An argument that the command accepts, with the given size in it. */
static void make_valid(void *arg, const FIXTURE_VARIANT(command) *variant, uint32_t size)
{
	struct htwheel_submit *sub = arg;

	memset(arg, 0, size < variant->v1_size ? variant->v1_size : size);
	sub->size = size;
	if (variant->nr == HTWHEEL_IOC_SUBMIT)
		sub->stride = sizeof(struct htwheel_op);
}

/* The call must fail with this error and leave the argument as it was. */
static int call_and_compare(int fd, unsigned long nr, void *arg, size_t size)
{
	void *before = malloc(size);
	int ret;

	if (!before)
		return -ENOMEM;
	memcpy(before, arg, size);
	ret = device_ioctl(fd, nr, arg);
	if (memcmp(before, arg, size))
		ret = -EUCLEAN;
	free(before);
	return ret;
}

TEST_F(command, size_of_v1_at_the_end_of_a_page_is_accepted)
{
	void *arg = at_edge(self->map, PAGES, variant->v1_size);

	make_valid(arg, variant, variant->v1_size);
	EXPECT_EQ(0, device_ioctl(self->fd, variant->nr, arg));
}

TEST_F(command, B57_shorter_size_is_EINVAL)
{
	const uint32_t sizes[] = {
		0, 1, 4, 8, variant->v1_size - 8, variant->v1_size - 4, variant->v1_size - 1,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		make_valid(self->map, variant, sizes[i]);
		EXPECT_EQ(-EINVAL, call_and_compare(self->fd, variant->nr, self->map, self->page)) {
			TH_LOG("size %u", sizes[i]);
		}
	}
}

TEST_F(command, longer_size_with_zeros_is_accepted)
{
	const uint32_t sizes[] = { variant->v1_size + 1, variant->v1_size + 8, self->page };
	void *arg;
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		arg = at_edge(self->map, PAGES, sizes[i]);
		make_valid(arg, variant, sizes[i]);
		EXPECT_EQ(0, device_ioctl(fd, variant->nr, arg)) {
			TH_LOG("size %u", sizes[i]);
		}
		EXPECT_TRUE(all_bytes_are(arg + variant->v1_size, sizes[i] - variant->v1_size, 0));
		close(fd);
	}
}

TEST_F(command, B57_longer_size_with_other_than_zeros_is_E2BIG)
{
	const uint32_t v1 = variant->v1_size;
	const struct { uint32_t size, at; } cases[] = {
		{ v1 + 1, v1 }, { v1 + 8, v1 }, { v1 + 8, v1 + 7 }, { self->page, v1 },
		{ self->page, self->page - 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		make_valid(self->map, variant, cases[i].size);
		self->map[cases[i].at] = 1;
		EXPECT_EQ(-E2BIG, call_and_compare(self->fd, variant->nr, self->map, self->page)) {
			TH_LOG("size %u, byte %u", cases[i].size, cases[i].at);
		}
		self->map[cases[i].at] = 0;
	}
}

/* No command's argument will ever be longer than a page, so the zeros need not be looked at. */
TEST_F(command, B57_size_beyond_a_page_is_E2BIG)
{
	const uint32_t sizes[] = {
		self->page + 8, 2 * self->page, 0x10000, INT32_MAX, 0x80000000, UINT32_MAX - 7,
		UINT32_MAX,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		make_valid(self->map, variant, variant->v1_size);
		memcpy(self->map, &sizes[i], sizeof(sizes[i]));
		EXPECT_EQ(-E2BIG, call_and_compare(self->fd, variant->nr, self->map, self->page)) {
			TH_LOG("size %u", sizes[i]);
		}
	}
}

TEST_F(command, argument_that_cannot_be_read_is_EFAULT)
{
	unsigned char *edge = self->map + PAGES * self->page;
	uint32_t readable, size = variant->v1_size;

	EXPECT_EQ(-EFAULT, device_ioctl(self->fd, variant->nr, NULL));
	EXPECT_EQ(-EFAULT, device_ioctl(self->fd, variant->nr, edge));
	EXPECT_EQ(-EFAULT, device_ioctl(self->fd, variant->nr, (void *)-8L));
	EXPECT_EQ(-EFAULT, device_ioctl(self->fd, variant->nr, (void *)(ULONG_MAX / 2 + 1)));
	for (readable = 1; readable < size; readable++) {
		memcpy(edge - readable, &size, readable < 4 ? readable : 4);
		EXPECT_EQ(-EFAULT, device_ioctl(self->fd, variant->nr, edge - readable)) {
			TH_LOG("%u bytes can be read", readable);
		}
		memset(edge - readable, 0, readable);
	}
}

TEST_F(command, longer_argument_that_cannot_be_read_is_EFAULT)
{
	unsigned char *arg = at_edge(self->map, PAGES, variant->v1_size);
	uint32_t size = variant->v1_size + 8;

	make_valid(arg, variant, variant->v1_size);
	memcpy(arg, &size, sizeof(size));
	EXPECT_EQ(-EFAULT, device_ioctl(self->fd, variant->nr, arg));
}

TEST_F(command, argument_that_cannot_be_written)
{
	make_valid(self->map, variant, variant->v1_size);
	ASSERT_EQ(0, mprotect(self->map, self->page, PROT_READ));
	EXPECT_EQ(variant->fills_in ? -EFAULT : 0,
		  device_ioctl(self->fd, variant->nr, self->map));
}

TEST_F(command, B57_each_unknown_flag_is_EINVAL)
{
	uint32_t *words = (uint32_t *)self->map;
	unsigned int bit;

	for (bit = 0; bit < 32; bit++) {
		make_valid(self->map, variant, variant->v1_size);
		words[1] = 1U << bit;
		EXPECT_EQ(-EINVAL, call_and_compare(self->fd, variant->nr, self->map, self->page)) {
			TH_LOG("bit %u", bit);
		}
	}
	make_valid(self->map, variant, variant->v1_size);
	words[1] = UINT32_MAX;
	EXPECT_EQ(-EINVAL, call_and_compare(self->fd, variant->nr, self->map, self->page));
}

/* The size is in the argument; a number that encodes one as well is another command. */
TEST_F(command, number_with_a_direction_or_a_size_is_ENOTTY)
{
	unsigned int direction;
	unsigned long nr;

	for (direction = 0; direction < 4; direction++) {
		nr = _IOC(direction, HTWHEEL_IOC_TYPE, _IOC_NR(variant->nr), variant->v1_size);
		make_valid(self->map, variant, variant->v1_size);
		EXPECT_EQ(-ENOTTY, call_and_compare(self->fd, nr, self->map, self->page)) {
			TH_LOG("command %#lx", nr);
		}
		nr = _IOC(direction, HTWHEEL_IOC_TYPE, _IOC_NR(variant->nr), 0);
		if (!direction)
			continue;
		EXPECT_EQ(-ENOTTY, call_and_compare(self->fd, nr, self->map, self->page));
	}
}

TEST_F(command, number_of_another_type_is_ENOTTY)
{
	const unsigned int types[] = { 1, 'T', HTWHEEL_IOC_TYPE - 1, HTWHEEL_IOC_TYPE + 1, 0xff };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		make_valid(self->map, variant, variant->v1_size);
		EXPECT_EQ(-ENOTTY, call_and_compare(self->fd, _IO(types[i], _IOC_NR(variant->nr)),
						    self->map, self->page)) {
			TH_LOG("type %#x", types[i]);
		}
	}
}

FIXTURE(abi) {
	int fd;
};

FIXTURE_SETUP(abi)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(abi)
{
	close(self->fd);
}

TEST_F(abi, B57_unknown_commands_are_ENOTTY)
{
	unsigned char arg[512] = { sizeof(arg) & 0xff, sizeof(arg) >> 8 };
	unsigned int nr;

	for (nr = _IOC_NR(HTWHEEL_IOC_STATS) + 1; nr < 256; nr++) {
		EXPECT_EQ(-ENOTTY, call_and_compare(self->fd, _IO(HTWHEEL_IOC_TYPE, nr), arg,
						    sizeof(arg))) {
			TH_LOG("command %#x", nr);
		}
	}
	EXPECT_EQ(-ENOTTY, device_ioctl(self->fd, _IO(HTWHEEL_IOC_TYPE, 0xff), NULL));
	EXPECT_EQ(0, isatty(self->fd));
}

TEST_F(abi, info_reserved_is_EINVAL)
{
	struct htwheel_info info;
	unsigned int bit;

	for (bit = 0; bit < 32; bit++) {
		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		info.reserved = 1U << bit;
		EXPECT_EQ(-EINVAL, call_and_compare(self->fd, HTWHEEL_IOC_INFO, &info,
						    sizeof(info)));
	}
}

TEST_F(abi, info_fills_in_every_field)
{
	const uint64_t features = HTWHEEL_FEAT_PERIODIC | HTWHEEL_FEAT_KEEP | HTWHEEL_FEAT_SLACK |
				  HTWHEEL_FEAT_TAG | HTWHEEL_FEAT_BOOTTIME | HTWHEEL_FEAT_MANUAL;
	const char *nul;
	struct {
		struct htwheel_info info;
		unsigned char behind[64];
	} arg;

	memset(&arg, JUNK, sizeof(arg));
	arg.info.size = sizeof(arg.info);
	arg.info.flags = 0;
	arg.info.reserved = 0;
	ASSERT_EQ(0, device_ioctl(self->fd, HTWHEEL_IOC_INFO, &arg.info));

	EXPECT_EQ(sizeof(arg.info), arg.info.size);
	EXPECT_EQ(0, arg.info.flags);
	EXPECT_EQ(HTWHEEL_ABI, arg.info.abi);
	EXPECT_EQ(HTWHEEL_CLOCK_MONOTONIC, arg.info.clock);
	EXPECT_EQ(0, arg.info.features & ~features);
	EXPECT_NE(0, arg.info.tick_ns);
	EXPECT_EQ(0, arg.info.tick_ns & (arg.info.tick_ns - 1));
	EXPECT_NE(0, arg.info.max_timers);
	EXPECT_LE(arg.info.max_timers, arg.info.max_timers_ceiling);
	EXPECT_GT(JUNK64, arg.info.max_timers_ceiling);
	EXPECT_NE(0, arg.info.max_batch);
	EXPECT_NE(JUNK32, arg.info.max_batch);
	EXPECT_LE(sizeof(struct htwheel_op), arg.info.max_stride);
	EXPECT_NE(JUNK32, arg.info.max_stride);
	EXPECT_EQ(0, arg.info.max_stride % 8);
	EXPECT_EQ(nr_cpus(), arg.info.cpus);
	EXPECT_EQ(!arg.info.levels, !arg.info.slots);
	EXPECT_GT(64, arg.info.levels);
	EXPECT_NE(JUNK32, arg.info.slots);
	EXPECT_EQ(0, arg.info.reserved);

	/* Behind the name nothing of the kernel's may come out. */
	nul = memchr(arg.info.design, 0, sizeof(arg.info.design));
	ASSERT_TRUE(!!nul);
	EXPECT_NE(0, arg.info.design[0]);
	EXPECT_TRUE(all_bytes_are(nul, arg.info.design + sizeof(arg.info.design) - nul, 0));
	EXPECT_TRUE(all_bytes_are(arg.behind, sizeof(arg.behind), JUNK));
}

TEST_F(abi, info_tells_the_module_parameters)
{
	unsigned long long shift = 0, ceiling = 0;
	struct htwheel_info info;
	FILE *file;

	file = fopen("/sys/module/htwheel/parameters/tick_shift", "r");
	if (!file)
		SKIP(return, "no module parameters to read");
	ASSERT_EQ(1, fscanf(file, "%llu", &shift));
	fclose(file);
	file = fopen("/sys/module/htwheel/parameters/max_timers", "r");
	ASSERT_TRUE(!!file);
	ASSERT_EQ(1, fscanf(file, "%llu", &ceiling));
	fclose(file);

	ASSERT_EQ(0, device_info(self->fd, &info));
	EXPECT_EQ(1ULL << shift, info.tick_ns);
	EXPECT_EQ(ceiling, info.max_timers);
	EXPECT_EQ(ceiling, info.max_timers_ceiling);
}

TEST_F(abi, stats_fill_in_every_field)
{
	__u64 *field;
	struct {
		struct htwheel_stats stats;
		unsigned char behind[64];
	} arg;

	memset(&arg, JUNK, sizeof(arg));
	arg.stats.size = sizeof(arg.stats);
	arg.stats.flags = 0;
	ASSERT_EQ(0, device_ioctl(self->fd, HTWHEEL_IOC_STATS, &arg.stats));

	EXPECT_EQ(sizeof(arg.stats), arg.stats.size);
	EXPECT_EQ(0, arg.stats.flags);
	for (field = &arg.stats.armed; field < &arg.stats.late[HTWHEEL_LATE_BINS]; field++) {
		EXPECT_NE(JUNK64, *field) {
			TH_LOG("offset %td", (char *)field - (char *)&arg.stats);
		}
	}
	EXPECT_TRUE(all_bytes_are(arg.behind, sizeof(arg.behind), JUNK));
}

TEST_F(abi, stats_of_a_new_context_are_zero)
{
	struct htwheel_stats stats;

	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(0, stats.armed);
	EXPECT_EQ(0, stats.fired);
	EXPECT_EQ(0, stats.cancelled);
	EXPECT_EQ(0, stats.replaced);
	EXPECT_EQ(0, stats.pending);
	EXPECT_EQ(0, stats.expired);
	EXPECT_EQ(0, stats.peak);
	EXPECT_TRUE(all_bytes_are(stats.late, sizeof(stats.late), 0));
}

TEST_HARNESS_MAIN
