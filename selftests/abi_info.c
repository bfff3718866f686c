// SPDX-License-Identifier: GPL-2.0
/*
 * HTWHEEL_IOC_INFO and HTWHEEL_IOC_STATS: every field is filled in, nothing else comes out.
 *
 * Also built for 32-bit callers, as abi_info32.
 */
#include "harness.h"
#include "abi.h"

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
		info.reserved = 0;
		info.reserved2 = 1U << bit;
		EXPECT_EQ(-EINVAL, call_and_compare(self->fd, HTWHEEL_IOC_INFO, &info,
						    sizeof(info)));
	}
}

TEST_F(abi, info_fills_in_every_field)
{
	const uint64_t features = 2 * HTWHEEL_FEAT_TABLE - 1;
	const char *nul;
	uint64_t before_ns;
	uint32_t level;
	struct {
		struct htwheel_info info;
		unsigned char behind[64];
	} arg;

	memset(&arg, JUNK, sizeof(arg));
	arg.info.size = sizeof(arg.info);
	arg.info.flags = 0;
	arg.info.reserved = 0;
	arg.info.reserved2 = 0;
	before_ns = now_ns();
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
	EXPECT_GE(HTWHEEL_MAX_LEVELS, arg.info.levels);
	EXPECT_NE(JUNK32, arg.info.slots);
	EXPECT_EQ(0, arg.info.reserved);
	EXPECT_NE(0, arg.info.max_user_timers);
	EXPECT_GE(1ULL << 32, arg.info.max_user_timers);
	EXPECT_EQ(0, arg.info.wake_events);
	EXPECT_EQ(0, arg.info.wake_usecs);
	EXPECT_LE(before_ns, arg.info.now_ns);
	EXPECT_GE(now_ns(), arg.info.now_ns);
	EXPECT_EQ(0, arg.info.setup);
	EXPECT_EQ(0, arg.info.reserved2);
	for (level = 0; level < HTWHEEL_MAX_LEVELS; level++)
		EXPECT_EQ(level < arg.info.levels, arg.info.radix[level] >= 2);
	EXPECT_EQ(0, arg.info.ring_entries);
	EXPECT_EQ(0, arg.info.table_entries);

	/* Behind the name nothing of the kernel's may come out. */
	nul = memchr(arg.info.design, 0, sizeof(arg.info.design));
	ASSERT_TRUE(!!nul);
	EXPECT_NE(0, arg.info.design[0]);
	EXPECT_TRUE(all_bytes_are(nul, arg.info.design + sizeof(arg.info.design) - nul, 0));
	EXPECT_TRUE(all_bytes_are(arg.behind, sizeof(arg.behind), JUNK));
}

/* A program that was built with an older header gets what it knows, and not a byte more. */
TEST_F(abi, shorter_info_is_the_beginning_of_the_whole)
{
	const uint32_t now = offsetof(struct htwheel_info, now_ns);
	const uint32_t in = offsetof(struct htwheel_info, reserved2);
	struct htwheel_info whole, part;
	uint32_t size;

	ASSERT_EQ(0, device_info(self->fd, &whole));
	for (size = HTWHEEL_INFO_V1; size <= sizeof(whole); size++) {
		memset(&part, JUNK, sizeof(part));
		part.size = size;
		part.flags = 0;
		part.reserved = 0;
		if (size > in)
			memset(&part.reserved2, 0, size - in < 4 ? size - in : 4);
		ASSERT_EQ(0, device_ioctl(self->fd, HTWHEEL_IOC_INFO, &part));
		EXPECT_EQ(size, part.size);
		part.size = sizeof(whole);
		EXPECT_EQ(0, memcmp(&whole, &part, size < now ? size : now));
		if (size >= now + sizeof(whole.now_ns)) {
			EXPECT_LE(whole.now_ns, part.now_ns);
			whole.now_ns = part.now_ns;
			EXPECT_EQ(0, memcmp(&whole, &part, size));
		}
		EXPECT_TRUE(all_bytes_are((char *)&part + size, sizeof(part) - size, JUNK)) {
			TH_LOG("size %u", size);
		}
	}
}

TEST_F(abi, shorter_stats_are_the_beginning_of_the_whole)
{
	const uint32_t own = offsetof(struct htwheel_stats, user_timers);
	const uint32_t from = offsetof(struct htwheel_stats, late);
	struct htwheel_stats part;
	uint32_t size;

	for (size = HTWHEEL_STATS_V1; size <= sizeof(part); size++) {
		memset(&part, JUNK, sizeof(part));
		part.size = size;
		part.flags = 0;
		ASSERT_EQ(0, device_ioctl(self->fd, HTWHEEL_IOC_STATS, &part));
		/* A context that has done nothing. */
		EXPECT_TRUE(all_bytes_are((char *)&part + from,
					  (size < own ? size : own) - from, 0));
		EXPECT_TRUE(all_bytes_are((char *)&part + size, sizeof(part) - size, JUNK)) {
			TH_LOG("size %u", size);
		}
	}
}

static bool read_parameter(const char *name, unsigned long long *value)
{
	char path[96];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "/sys/module/htwheel/parameters/%s", name);
	file = fopen(path, "r");
	if (!file)
		return false;
	ok = fscanf(file, "%llu", value) == 1;
	fclose(file);
	return ok;
}

TEST_F(abi, info_tells_the_module_parameters)
{
	unsigned long long shift, ceiling, user;
	struct htwheel_info info;

	if (!read_parameter("tick_shift", &shift))
		SKIP(return, "no module parameters to read");
	ASSERT_TRUE(read_parameter("max_timers", &ceiling));
	ASSERT_TRUE(read_parameter("max_user_timers", &user));
	ASSERT_EQ(0, device_info(self->fd, &info));
	EXPECT_EQ(1ULL << shift, info.tick_ns);
	EXPECT_EQ(ceiling, info.max_timers);
	EXPECT_EQ(ceiling, info.max_timers_ceiling);
	EXPECT_EQ(user, info.max_user_timers);
}

/* The clock goes on, and is that by which deadlines are measured. */
TEST_F(abi, info_tells_the_present)
{
	struct htwheel_info info;
	uint64_t before_ns;
	unsigned int i;

	for (i = 0; i < 100; i++) {
		before_ns = now_ns();
		ASSERT_EQ(0, device_info(self->fd, &info));
		EXPECT_LE(before_ns, info.now_ns);
		EXPECT_GE(now_ns(), info.now_ns);
	}
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
	for (field = &arg.stats.armed; field <= &arg.stats.postponed; field++) {
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
	EXPECT_EQ(0, stats.idle);
	EXPECT_EQ(0, stats.missed);
	EXPECT_EQ(0, stats.alerts);
	EXPECT_EQ(0, stats.waited);
	EXPECT_EQ(0, stats.postponed);
}

TEST_HARNESS_MAIN
