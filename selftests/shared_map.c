// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of mmap(2): which area, how much of it, and what may be done with it.
 *
 * Also built for 32-bit callers, as shared_map32.
 */
#include "harness.h"
#include "shared_area.h"

/* The ring has several pages, and so has the table. */
#define RING_ENTRIES	1024U
#define MAX_TIMERS	4096U

FIXTURE(map) {
	size_t page;
	size_t bytes;
	off_t offset;
	bool writable;
	int fd;
};

FIXTURE_VARIANT(map) {
	off_t offset;
};

FIXTURE_VARIANT_ADD(map, ring) {
	.offset = HTWHEEL_MMAP_RING,
};

FIXTURE_VARIANT_ADD(map, head) {
	.offset = HTWHEEL_MMAP_HEAD,
};

FIXTURE_VARIANT_ADD(map, table) {
	.offset = HTWHEEL_MMAP_TABLE,
};

FIXTURE_SETUP(map)
{
	struct htwheel_info info;

	self->page = sysconf(_SC_PAGESIZE);
	self->offset = variant->offset;
	self->writable = variant->offset != HTWHEEL_MMAP_RING;
	self->fd = open_with((struct htwheel_setup){
		.flags = HTWHEEL_SETUP_TABLE, .max_timers = MAX_TIMERS,
		.ring_entries = RING_ENTRIES,
	});
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &info));
	self->bytes = variant->offset == HTWHEEL_MMAP_RING ? ring_length(RING_ENTRIES) :
		      variant->offset == HTWHEEL_MMAP_HEAD ? self->page :
		      whole_pages(info.table_entries * sizeof(uint64_t));
}

FIXTURE_TEARDOWN(map)
{
	close(self->fd);
}

/* The errno, negative, of a mapping that is refused; 0 for one that is not, and is gone again. */
static int try_map(int fd, size_t bytes, int how, int flags, off_t offset)
{
	void *map = mmap(NULL, bytes, how, flags, fd, offset);
	int ret = map == MAP_FAILED ? -errno : 0;

	if (!ret)
		munmap(map, bytes);
	return ret;
}

static int try_read(FIXTURE_DATA(map) *self, size_t bytes, off_t offset)
{
	return try_map(self->fd, bytes, PROT_READ, MAP_SHARED, offset);
}

TEST_F(map, whole_or_its_beginning)
{
	size_t bytes;

	for (bytes = self->page; bytes <= self->bytes; bytes += self->page)
		EXPECT_EQ(0, try_read(self, bytes, self->offset));
	EXPECT_EQ(0, try_read(self, 1, self->offset));
	EXPECT_EQ(-EINVAL, try_read(self, self->bytes + 1, self->offset));
	EXPECT_EQ(-EINVAL, try_read(self, self->bytes + self->page, self->offset));
	EXPECT_EQ(-EINVAL, try_read(self, 1U << 28, self->offset));
	EXPECT_EQ(-EINVAL, try_read(self, 0, self->offset));
}

/* Only the beginning: not the rest, and nothing that lies before an area or behind it. */
TEST_F(map, other_offsets_are_EINVAL)
{
	const off_t offsets[] = {
		self->offset + self->page, self->offset + self->bytes - self->page,
		self->offset + self->bytes, self->offset + 0x8000000, 0x30000000, 0x40000000,
		0x7ffff000, self->offset ^ 0x8000000,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		if (offsets[i] == self->offset)
			continue;
		EXPECT_EQ(-EINVAL, try_read(self, self->page, offsets[i])) {
			TH_LOG("offset %#llx", (unsigned long long)offsets[i]);
		}
	}
	if (sizeof(off_t) == 8)
		EXPECT_EQ(-EINVAL, try_read(self, self->page, self->offset + (1LL << 32)));
}

TEST_F(map, private_is_EINVAL)
{
	EXPECT_EQ(-EINVAL, try_map(self->fd, self->page, PROT_READ, MAP_PRIVATE, self->offset));
	EXPECT_NE(0, try_map(self->fd, self->page, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			     self->offset));
}

TEST_F(map, write_access)
{
	EXPECT_EQ(self->writable ? 0 : -EACCES,
		  try_map(self->fd, self->page, PROT_READ | PROT_WRITE, MAP_SHARED, self->offset));
	EXPECT_EQ(self->writable ? 0 : -EACCES,
		  try_map(self->fd, self->bytes, PROT_WRITE, MAP_SHARED, self->offset));
}

/* What was mapped for reading stays so, if the area is not the user's to write. */
TEST_F(map, mprotect_to_write)
{
	void *map = map_area(self->fd, self->bytes, PROT_READ, self->offset);

	ASSERT_TRUE(!!map);
	errno = 0;
	EXPECT_EQ(self->writable ? 0 : -1, mprotect(map, self->bytes, PROT_READ | PROT_WRITE));
	EXPECT_EQ(self->writable ? 0 : EACCES, errno);
	munmap(map, self->bytes);
	/* The same for one that could not be touched at all. */
	map = map_area(self->fd, self->bytes, PROT_NONE, self->offset);
	ASSERT_TRUE(!!map);
	EXPECT_EQ(self->writable ? 0 : -1, mprotect(map, self->page, PROT_WRITE));
	EXPECT_EQ(0, mprotect(map, self->page, PROT_READ));
	munmap(map, self->bytes);
}

/* A file that was not opened for writing gives no memory to write. */
TEST_F(map, file_for_reading)
{
	struct htwheel_setup setup = {
		.flags = HTWHEEL_SETUP_TABLE, .max_timers = MAX_TIMERS,
		.ring_entries = RING_ENTRIES,
	};
	int fd = open(DEVICE, O_RDONLY | O_CLOEXEC);
	void *map;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, setup_like(fd, setup));
	EXPECT_EQ(-EACCES, try_map(fd, self->page, PROT_READ | PROT_WRITE, MAP_SHARED,
				   self->offset));
	map = map_area(fd, self->page, PROT_READ, self->offset);
	ASSERT_TRUE(!!map);
	EXPECT_EQ(-1, mprotect(map, self->page, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	munmap(map, self->page);
	close(fd);
}

TEST_F(map, mremap_cannot_grow)
{
	char *map = map_area(self->fd, self->page, PROT_READ, self->offset);
	size_t bytes;

	ASSERT_TRUE(!!map);
	for (bytes = 2 * self->page; bytes <= self->bytes + self->page; bytes += self->page) {
		EXPECT_TRUE(mremap(map, self->page, bytes, MREMAP_MAYMOVE) == MAP_FAILED);
		EXPECT_TRUE(mremap(map, self->page, bytes, 0) == MAP_FAILED);
	}
	munmap(map, self->page);
}

TEST_F(map, mremap_moves_and_shrinks)
{
	char *map = map_area(self->fd, self->bytes, PROT_READ, self->offset), *moved;
	char *there = mmap(NULL, self->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char first;

	ASSERT_TRUE(!!map && there != MAP_FAILED);
	first = map[self->bytes - 1];
	moved = mremap(map, self->bytes, self->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, there);
	ASSERT_TRUE(moved == there);
	EXPECT_EQ(first, moved[self->bytes - 1]);
	if (self->offset == HTWHEEL_MMAP_RING)
		EXPECT_EQ(RING_ENTRIES, ((struct htwheel_ring *)moved)->entries);
	ASSERT_TRUE(mremap(moved, self->bytes, self->page, 0) == moved);
	if (self->offset == HTWHEEL_MMAP_RING)
		EXPECT_EQ(RING_ENTRIES, ((struct htwheel_ring *)moved)->entries);
	munmap(moved, self->page);
}

/* There is one of each, however often it is mapped and with what protection. */
TEST_F(map, two_mappings_show_the_same)
{
	uint64_t *one, *two;
	uint64_t id;

	one = map_area(self->fd, self->bytes, PROT_READ, self->offset);
	two = map_area(self->fd, self->page,
		       self->writable ? PROT_READ | PROT_WRITE : PROT_READ, self->offset);
	ASSERT_TRUE(!!one && !!two);
	if (self->writable) {
		two[1] = JUNK64;
		EXPECT_EQ(JUNK64, *(volatile uint64_t *)&one[1]);
	} else {
		struct area area = { .ring = (struct htwheel_ring *)one };

		ASSERT_EQ(0, arm_in(self->fd, 0, 0, &id));
		EXPECT_EQ(id, ring_event(&area, ring_tail(&area) - 1)->id);
		EXPECT_EQ(0, memcmp(one, two, self->page));
	}
	munmap(one, self->bytes);
	munmap(two, self->page);
}

/* A place that the mapping does not show can be unmapped and be something else. */
TEST_F(map, unmapped_in_the_middle)
{
	char *map = map_area(self->fd, self->bytes, PROT_READ, self->offset), *other;
	size_t pages = self->bytes / self->page;

	ASSERT_TRUE(!!map);
	if (pages < 3) {
		munmap(map, self->bytes);
		return;
	}
	ASSERT_EQ(0, munmap(map + self->page, self->page));
	other = mmap(map + self->page, self->page, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ASSERT_TRUE(other == map + self->page);
	memset(other, JUNK, self->page);
	if (self->offset == HTWHEEL_MMAP_RING)
		EXPECT_EQ(RING_ENTRIES, ((struct htwheel_ring *)map)->entries);
	EXPECT_EQ(0, map[2 * self->page]);
	munmap(map, self->bytes);
}

/* The kernel reads and writes through it as through any other memory. */
TEST_F(map, as_a_buffer_of_system_calls)
{
	char *map = map_area(self->fd, self->page,
			     self->writable ? PROT_READ | PROT_WRITE : PROT_READ, self->offset);
	int pipes[2];

	ASSERT_TRUE(!!map);
	ASSERT_EQ(0, pipe(pipes));
	EXPECT_EQ(64, write(pipes[1], map, 64));
	errno = 0;
	EXPECT_EQ(self->writable ? 64 : -1, read(pipes[0], map, 64));
	EXPECT_EQ(self->writable ? 0 : EFAULT, errno);
	close(pipes[0]);
	close(pipes[1]);
	munmap(map, self->page);
}

TEST_F(map, of_an_area_that_is_not_there_is_EINVAL)
{
	const struct htwheel_setup setups[] = {
		{ .max_timers = MAX_TIMERS },
		{ .ring_entries = RING_ENTRIES },
		{ .flags = HTWHEEL_SETUP_TABLE, .max_timers = MAX_TIMERS },
	};
	bool there;
	size_t i;
	int fd;

	fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, try_map(fd, self->page, PROT_READ, MAP_SHARED, self->offset));
	close(fd);
	for (i = 0; i < ARRAY_SIZE(setups); i++) {
		fd = open_with(setups[i]);
		ASSERT_LE(0, fd);
		there = self->offset == HTWHEEL_MMAP_TABLE ? setups[i].flags :
			setups[i].ring_entries;
		EXPECT_EQ(there ? 0 : -EINVAL, try_map(fd, self->page, PROT_READ, MAP_SHARED,
						       self->offset)) {
			TH_LOG("setup %zu", i);
		}
		close(fd);
	}
}

TEST_HARNESS_MAIN
