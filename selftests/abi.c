// SPDX-License-Identifier: GPL-2.0
/*
 * The rules that all commands share: size, flags, addresses, numbers.
 *
 * Each test breaks one rule and keeps all others. Also built for 32-bit callers, as abi32.
 */
#include <limits.h>

#include "harness.h"
#include "abi.h"
#include "lab.h"

#define PAGES	2

FIXTURE(command) {
	unsigned char *map;
	size_t page;
	int fd;
};

FIXTURE_VARIANT(command) {
	unsigned long nr;
	/* In the first version, and today. */
	uint32_t v1_size;
	uint32_t size;
	uint32_t known_flags;
	bool fills_in;
	/* It takes a context on a manual clock. */
	bool manual;
};

FIXTURE_VARIANT_ADD(command, info) {
	.nr = HTWHEEL_IOC_INFO, .v1_size = HTWHEEL_INFO_V1, .size = sizeof(struct htwheel_info),
	.fills_in = true,
};

FIXTURE_VARIANT_ADD(command, setup) {
	.nr = HTWHEEL_IOC_SETUP, .v1_size = HTWHEEL_SETUP_V1, .size = sizeof(struct htwheel_setup),
	.known_flags = HTWHEEL_SETUP_PRIVATE | HTWHEEL_SETUP_TABLE,
};

FIXTURE_VARIANT_ADD(command, submit) {
	.nr = HTWHEEL_IOC_SUBMIT, .v1_size = HTWHEEL_SUBMIT_V1,
	.size = sizeof(struct htwheel_submit), .fills_in = true,
};

FIXTURE_VARIANT_ADD(command, stats) {
	.nr = HTWHEEL_IOC_STATS, .v1_size = HTWHEEL_STATS_V1, .size = sizeof(struct htwheel_stats),
	.fills_in = true,
};

FIXTURE_VARIANT_ADD(command, mass) {
	.nr = HTWHEEL_IOC_MASS, .v1_size = HTWHEEL_MASS_V1, .size = sizeof(struct htwheel_mass),
	.known_flags = HTWHEEL_MASS_TAG, .fills_in = true,
};

FIXTURE_VARIANT_ADD(command, dump) {
	.nr = HTWHEEL_IOC_DUMP, .v1_size = HTWHEEL_DUMP_V1, .size = sizeof(struct htwheel_dump),
	.fills_in = true,
};

FIXTURE_VARIANT_ADD(command, advance) {
	.nr = HTWHEEL_IOC_ADVANCE, .v1_size = HTWHEEL_ADVANCE_V1,
	.size = sizeof(struct htwheel_advance),
	.known_flags = HTWHEEL_ADVANCE_TICKS | HTWHEEL_ADVANCE_JUMP, .fills_in = true,
	.manual = true,
};

FIXTURE_VARIANT_ADD(command, design) {
	.nr = HTWHEEL_IOC_DESIGN, .v1_size = HTWHEEL_DESIGN_V1,
	.size = sizeof(struct htwheel_design), .fills_in = true,
};

static int open_for(const FIXTURE_VARIANT(command) *variant)
{
	return variant->manual ? open_manual(0) : open_device(O_NONBLOCK);
}

FIXTURE_SETUP(command)
{
	self->page = sysconf(_SC_PAGESIZE);
	self->map = map_before_edge(PAGES);
	ASSERT_TRUE(!!self->map);
	self->fd = open_for(variant);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(command)
{
	close(self->fd);
}

/* An argument that the command accepts, with the given size in it. */
static void make_valid(void *arg, const FIXTURE_VARIANT(command) *variant, uint32_t size)
{
	static struct htwheel_dump_entry entry;
	struct htwheel_submit *sub = arg;
	struct htwheel_mass *mass = arg;
	struct htwheel_dump *dump = arg;

	memset(arg, 0, size < variant->size ? variant->size : size);
	sub->size = size;
	if (variant->nr == HTWHEEL_IOC_SUBMIT) {
		sub->stride = sizeof(struct htwheel_op);
	} else if (variant->nr == HTWHEEL_IOC_MASS) {
		mass->opcode = HTWHEEL_MASS_CANCEL;
	} else if (variant->nr == HTWHEEL_IOC_DUMP) {
		dump->entries = (uintptr_t)&entry;
		dump->nr = 1;
		dump->stride = sizeof(entry);
	}
}

/* What programs were built with before the struct grew, and anything in between. */
TEST_F(command, size_from_v1_to_today_at_the_end_of_a_page)
{
	uint32_t size;
	void *arg;
	int fd;

	for (size = variant->v1_size; size <= variant->size; size++) {
		unsigned char whole[512];

		fd = open_for(variant);
		ASSERT_LE(0, fd);
		ASSERT_GE(sizeof(whole), size);
		make_valid(whole, variant, size);
		arg = at_edge(self->map, PAGES, size);
		memcpy(arg, whole, size);
		EXPECT_EQ(0, device_ioctl(fd, variant->nr, arg)) {
			TH_LOG("size %u", size);
		}
		EXPECT_EQ(0, memcmp(&size, arg, sizeof(size)));
		close(fd);
	}
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

/* Bytes that the module does not know are zero before and after the call. */
TEST_F(command, longer_size_with_zeros_is_accepted)
{
	const uint32_t sizes[] = { variant->size + 1, variant->size + 8, self->page };
	void *arg;
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		fd = open_for(variant);
		ASSERT_LE(0, fd);
		arg = at_edge(self->map, PAGES, sizes[i]);
		make_valid(arg, variant, sizes[i]);
		EXPECT_EQ(0, device_ioctl(fd, variant->nr, arg)) {
			TH_LOG("size %u", sizes[i]);
		}
		EXPECT_TRUE(all_bytes_are(arg + variant->size, sizes[i] - variant->size, 0));
		close(fd);
	}
}

TEST_F(command, B57_longer_size_with_other_than_zeros_is_E2BIG)
{
	const uint32_t size = variant->size;
	const struct { uint32_t size, at; } cases[] = {
		{ size + 1, size }, { size + 8, size }, { size + 8, size + 7 },
		{ self->page, size }, { self->page, self->page - 1 },
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
	unsigned char *arg = at_edge(self->map, PAGES, variant->size);
	uint32_t size = variant->size + 8;

	make_valid(arg, variant, variant->size);
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
		if (variant->known_flags & 1U << bit)
			continue;
		make_valid(self->map, variant, variant->v1_size);
		words[1] = variant->known_flags | 1U << bit;
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

	for (nr = _IOC_NR(HTWHEEL_IOC_DESIGN) + 1; nr < 256; nr++) {
		EXPECT_EQ(-ENOTTY, call_and_compare(self->fd, _IO(HTWHEEL_IOC_TYPE, nr), arg,
						    sizeof(arg))) {
			TH_LOG("command %#x", nr);
		}
	}
	EXPECT_EQ(-ENOTTY, device_ioctl(self->fd, _IO(HTWHEEL_IOC_TYPE, 0xff), NULL));
	EXPECT_EQ(0, isatty(self->fd));
}

TEST_HARNESS_MAIN
