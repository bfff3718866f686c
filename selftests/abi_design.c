// SPDX-License-Identifier: GPL-2.0
/*
 * HTWHEEL_IOC_DESIGN: the table of queue designs, row by row, and nothing else comes out.
 *
 * What all commands have in common is in abi.c. Also built for 32-bit callers, as abi_design32.
 */
#include "harness.h"
#include "abi.h"
#include "lab.h"

FIXTURE(design) {
	struct htwheel_design rows[MAX_ROWS];
	int nr;
	int fd;
};

FIXTURE_SETUP(design)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->nr = read_designs(self->rows, MAX_ROWS);
	ASSERT_LE(1, self->nr);
}

FIXTURE_TEARDOWN(design)
{
	close(self->fd);
}

/* NUL-terminated, and nothing of the kernel's behind. */
static bool is_text(const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	return length && length < size && all_bytes_are(text + length, size - length, 0);
}

TEST_F(design, every_field_is_filled_in)
{
	const uint32_t known = HTWHEEL_DESIGN_EXACT | HTWHEEL_DESIGN_FIFO | HTWHEEL_DESIGN_LINEAR |
			       HTWHEEL_DESIGN_SHARED;
	struct {
		struct htwheel_design row;
		unsigned char behind[64];
	} arg;
	uint32_t level;
	int i;

	for (i = 0; i < self->nr; i++) {
		const struct htwheel_design *row = &arg.row;

		memset(&arg, JUNK, sizeof(arg));
		arg.row.size = sizeof(arg.row);
		arg.row.flags = 0;
		arg.row.index = i;
		ASSERT_EQ(0, device_ioctl(self->fd, HTWHEEL_IOC_DESIGN, &arg.row));
		ROW_EQ(0, memcmp(row, &self->rows[i], sizeof(*row)));
		ROW_EQ(sizeof(*row), row->size);
		ROW_EQ(0, row->flags);
		ROW_EQ(i, row->index);
		ROW_EQ(0, row->properties & ~known);
		ROW_GE(HTWHEEL_MAX_LEVELS, row->levels);
		ROW_EQ(!row->levels, !row->windows);
		ROW_GE(64, row->windows);
		for (level = 0; level < HTWHEEL_MAX_LEVELS; level++) {
			ROW_EQ(level < row->levels, row->radix[level] >= 2);
			ROW_GE(65536, row->radix[level]);
		}
		ROW_TRUE(is_text(row->name, sizeof(row->name)));
		ROW_TRUE(is_text(row->costs, sizeof(row->costs)));
		ROW_TRUE(is_text(row->about, sizeof(row->about)));
		/* Of arming, of cancelling, of firing. */
		ROW_TRUE(strchr(row->costs, '/') &&
			 strchr(row->costs, '/') != strrchr(row->costs, '/'));
		ROW_TRUE(all_bytes_are(arg.behind, sizeof(arg.behind), JUNK));
	}
}

TEST_F(design, ENOENT_behind_the_last_row)
{
	const uint32_t nr = self->nr;
	const uint32_t indices[] = {
		nr, nr + 1, 0xff, 0x100, 0x10000, INT32_MAX, 0x80000000, 0x80000001, UINT32_MAX - 1,
		UINT32_MAX,
	};
	struct htwheel_design row;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(indices); i++) {
		memset(&row, JUNK, sizeof(row));
		row.size = sizeof(row);
		row.flags = 0;
		row.index = indices[i];
		EXPECT_EQ(-ENOENT, call_and_compare(self->fd, HTWHEEL_IOC_DESIGN, &row,
						    sizeof(row))) {
			TH_LOG("index %#x", indices[i]);
		}
	}
}

TEST_F(design, B57_flags_are_EINVAL)
{
	struct htwheel_design row;
	unsigned int bit;
	int i;

	for (i = 0; i <= self->nr; i += self->nr) {
		for (bit = 0; bit < 32; bit++) {
			memset(&row, JUNK, sizeof(row));
			row.size = sizeof(row);
			row.flags = 1U << bit;
			row.index = i;
			EXPECT_EQ(-EINVAL, call_and_compare(self->fd, HTWHEEL_IOC_DESIGN, &row,
							    sizeof(row))) {
				TH_LOG("bit %u", bit);
			}
		}
	}
}

/* A row stands once; those of one design stand together. */
TEST_F(design, no_row_twice)
{
	const struct htwheel_design *row, *other;
	int i, k;

	for (i = 0; i < self->nr; i++) {
		row = &self->rows[i];
		for (k = 0; k < i; k++) {
			other = &self->rows[k];
			if (strcmp(row->name, other->name))
				continue;
			ROW_TRUE(row->levels != other->levels ||
				 memcmp(row->radix, other->radix, sizeof(row->radix)));
			ROW_EQ(0, strcmp(row->name, self->rows[i - 1].name));
			ROW_EQ(other->windows, row->windows);
			ROW_EQ(0, strcmp(row->about, other->about));
			ROW_EQ(0, strcmp(row->costs, other->costs));
			ROW_EQ(0, (row->properties ^ other->properties) & ~HTWHEEL_DESIGN_SHARED);
		}
	}
}

/* The one that has the flag is what INFO says of a context with a shared engine. */
TEST_F(design, SHARED_is_what_INFO_tells)
{
	const struct htwheel_design *row;
	struct htwheel_info info;
	int i, shared = 0;

	ASSERT_EQ(0, device_info(self->fd, &info));
	EXPECT_EQ(0, info.setup);
	for (i = 0; i < self->nr; i++) {
		row = &self->rows[i];
		if (!(row->properties & HTWHEEL_DESIGN_SHARED))
			continue;
		shared++;
		ROW_EQ(0, memcmp(info.design, row->name, sizeof(row->name)));
		ROW_TRUE(has_shape_of(&info, row));
		ROW_EQ(info.slots, row->windows * row->radix[0]);
	}
	/* With the parameter geometry= they may have a shape that is in no row. */
	EXPECT_GE(1, shared);
}

/* Whatever the context is: the table is the module's. */
TEST_F(design, same_for_every_context)
{
	const struct htwheel_setup setups[] = {
		{ .clock = HTWHEEL_CLOCK_BOOTTIME },
		{ .clock = HTWHEEL_CLOCK_MANUAL },
		setup_of_row(&self->rows[self->nr - 1]),
	};
	struct htwheel_design row;
	size_t i;
	int k, fd;

	for (i = 0; i < ARRAY_SIZE(setups); i++) {
		fd = open_with(setups[i]);
		ASSERT_LE(0, fd);
		for (k = 0; k < self->nr; k++) {
			ASSERT_EQ(0, device_design(fd, k, &row));
			EXPECT_EQ(0, memcmp(&row, &self->rows[k], sizeof(row)));
		}
		EXPECT_EQ(-ENOENT, device_design(fd, k, &row));
		close(fd);
	}
}

/* It is a question, and changes nothing. */
TEST_F(design, before_and_after_anything_else)
{
	struct htwheel_design row;
	uint64_t id;

	ASSERT_EQ(0, device_design(self->fd, 0, &row));
	ASSERT_EQ(0, device_setup(self->fd, 5));
	ASSERT_EQ(0, device_design(self->fd, 0, &row));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &id));
	ASSERT_EQ(0, device_design(self->fd, 0, &row));
	EXPECT_EQ(0, query(self->fd, id, NULL));
}

TEST_HARNESS_MAIN
