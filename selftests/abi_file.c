// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of the file: open, read with any buffer, and the calls that have no meaning here.
 *
 * Also built for 32-bit callers, as abi_file32.
 */
#include <sys/uio.h>

#include "harness.h"
#include "abi.h"

#define NR_EVENTS	3
#define EVENT_SIZE	sizeof(struct htwheel_event)

FIXTURE(file) {
	struct htwheel_event events[NR_EVENTS + 1];
	uint64_t ids[NR_EVENTS];
	/* Timers whose event has been seen. */
	uint32_t seen;
	int fd;
};

/* Three events are waiting. */
FIXTURE_SETUP(file)
{
	int i;

	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	for (i = 0; i < NR_EVENTS; i++)
		ASSERT_EQ(0, arm_at(self->fd, 0, i, &self->ids[i]));
	memset(self->events, JUNK, sizeof(self->events));
}

FIXTURE_TEARDOWN(file)
{
	close(self->fd);
}

static int read_bytes(int fd, void *buffer, size_t size)
{
	ssize_t ret = read(fd, buffer, size);

	return ret == -1 ? -errno : ret;
}

/* These are events that wait to be read, and none of them was read before. */
static bool take(FIXTURE_DATA(file) *self, const void *buffer, int nr)
{
	struct htwheel_event event;

	for (; nr; nr--, buffer += EVENT_SIZE) {
		memcpy(&event, buffer, EVENT_SIZE);
		if (event.user_data >= NR_EVENTS || event.id != self->ids[event.user_data] ||
		    self->seen & 1U << event.user_data || event.count != 1)
			return false;
		self->seen |= 1U << event.user_data;
	}
	return true;
}

/* What was not read so far can still be read, once. */
static bool rest_is_there(FIXTURE_DATA(file) *self)
{
	struct htwheel_event events[NR_EVENTS];
	int left = NR_EVENTS - __builtin_popcount(self->seen);
	int ret = read_bytes(self->fd, events, sizeof(events));

	if (!left)
		return ret == -EAGAIN && !is_readable(self->fd);
	return ret == left * (int)EVENT_SIZE && take(self, events, left) &&
	       read_bytes(self->fd, events, sizeof(events)) == -EAGAIN;
}

TEST_F(file, read_returns_whole_events_as_many_as_fit)
{
	const struct { size_t size; int nr; } cases[] = {
		{ EVENT_SIZE, 1 }, { EVENT_SIZE + 1, 1 }, { 2 * EVENT_SIZE - 1, 1 },
		{ 2 * EVENT_SIZE, 2 }, { 3 * EVENT_SIZE - 1, 2 }, { 3 * EVENT_SIZE, 3 },
		{ sizeof(self->events), 3 },
	};
	size_t i;
	int j;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(self->events, JUNK, sizeof(self->events));
		EXPECT_EQ(cases[i].nr * EVENT_SIZE,
			  read_bytes(self->fd, self->events, cases[i].size)) {
			TH_LOG("buffer of %zu bytes", cases[i].size);
		}
		EXPECT_TRUE(take(self, self->events, cases[i].nr));
		EXPECT_TRUE(all_bytes_are(&self->events[cases[i].nr],
					  (NR_EVENTS + 1 - cases[i].nr) * EVENT_SIZE, JUNK));
		EXPECT_TRUE(rest_is_there(self));
		self->seen = 0;
		for (j = 0; j < NR_EVENTS; j++)
			ASSERT_EQ(0, arm_at(self->fd, 0, j, &self->ids[j]));
	}
}

TEST_F(file, read_into_less_than_an_event_is_EINVAL)
{
	const size_t sizes[] = { 0, 1, EVENT_SIZE / 2, EVENT_SIZE - 8, EVENT_SIZE - 1 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_EQ(-EINVAL, read_bytes(self->fd, self->events, sizes[i])) {
			TH_LOG("buffer of %zu bytes", sizes[i]);
		}
	}
	EXPECT_TRUE(all_bytes_are(self->events, sizeof(self->events), JUNK));
	EXPECT_TRUE(rest_is_there(self));
}

/* Whether there is an event or not, and whether the file blocks or not: it would not fit. */
TEST_F(file, read_into_less_than_an_event_is_EINVAL_without_events)
{
	char byte;

	ASSERT_TRUE(rest_is_there(self));
	EXPECT_EQ(-EINVAL, read_bytes(self->fd, &byte, 1));
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, 0));
	EXPECT_EQ(-EINVAL, read_bytes(self->fd, &byte, 1));
}

TEST_F(file, read_without_events_is_EAGAIN)
{
	ASSERT_TRUE(rest_is_there(self));
	EXPECT_EQ(-EAGAIN, read_bytes(self->fd, self->events, sizeof(self->events)));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, NULL));
	EXPECT_EQ(-EAGAIN, read_bytes(self->fd, self->events, sizeof(self->events)));
	EXPECT_TRUE(all_bytes_are(self->events, sizeof(self->events), JUNK));
}

TEST_F(file, read_to_a_bad_address_is_EFAULT_and_loses_nothing)
{
	unsigned char *map = map_before_edge(1);
	unsigned char *edge = map + sysconf(_SC_PAGESIZE);
	void *const addresses[] = { NULL, edge, edge - 1, edge - EVENT_SIZE + 1 };
	size_t i;

	ASSERT_TRUE(!!map);
	for (i = 0; i < ARRAY_SIZE(addresses); i++) {
		EXPECT_EQ(-EFAULT, read_bytes(self->fd, addresses[i], EVENT_SIZE)) {
			TH_LOG("address %zu", i);
		}
		EXPECT_TRUE(is_readable(self->fd));
	}
	EXPECT_TRUE(rest_is_there(self));
}

/* The events that fit before the edge may be returned, or none; those that do not fit must stay. */
TEST_F(file, read_that_runs_into_a_bad_address_loses_nothing)
{
	unsigned char *map = map_before_edge(1);
	unsigned char *buffer;
	size_t room;
	int ret, i;

	ASSERT_TRUE(!!map);
	for (room = 0; room < NR_EVENTS * EVENT_SIZE; room += 8) {
		buffer = at_edge(map, 1, room);
		ret = read_bytes(self->fd, buffer, NR_EVENTS * EVENT_SIZE);
		if (ret != -EFAULT) {
			ASSERT_LT(0, ret);
			ASSERT_EQ(0, ret % EVENT_SIZE);
			ASSERT_GE(room, ret);
			EXPECT_TRUE(take(self, buffer, ret / EVENT_SIZE));
		}
		EXPECT_TRUE(rest_is_there(self)) {
			TH_LOG("room for %zu bytes, read answered %d", room, ret);
		}
		self->seen = 0;
		for (i = 0; i < NR_EVENTS; i++)
			ASSERT_EQ(0, arm_at(self->fd, 0, i, &self->ids[i]));
	}
}

TEST_F(file, read_into_read_only_memory_is_EFAULT_and_loses_nothing)
{
	unsigned char *map = map_before_edge(1);

	ASSERT_TRUE(!!map);
	ASSERT_EQ(0, mprotect(map, sysconf(_SC_PAGESIZE), PROT_READ));
	EXPECT_EQ(-EFAULT, read_bytes(self->fd, map, EVENT_SIZE));
	EXPECT_TRUE(rest_is_there(self));
}

/* The page in the middle of an event is not there yet: it comes, and the event is whole. */
TEST_F(file, read_across_an_untouched_page)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	unsigned char *map, *buffer;
	size_t before;
	int i;

	for (before = 0; before < NR_EVENTS * EVENT_SIZE; before += 8) {
		map = map_before_edge(2);
		ASSERT_TRUE(!!map);
		buffer = map + page - before;
		map[0] = 1;
		ASSERT_EQ(NR_EVENTS * EVENT_SIZE,
			  read_bytes(self->fd, buffer, NR_EVENTS * EVENT_SIZE));
		ASSERT_TRUE(take(self, buffer, NR_EVENTS)) {
			TH_LOG("%zu bytes before the untouched page", before);
		}
		EXPECT_TRUE(rest_is_there(self));
		munmap(map, 3 * page);
		self->seen = 0;
		for (i = 0; i < NR_EVENTS; i++)
			ASSERT_EQ(0, arm_at(self->fd, 0, i, &self->ids[i]));
	}
}

TEST_F(file, readv_loses_nothing)
{
	char bytes[2 * EVENT_SIZE];
	struct iovec whole[] = { { bytes, EVENT_SIZE }, { bytes + EVENT_SIZE, EVENT_SIZE } };
	struct iovec split[] = { { bytes, 20 }, { bytes + 20, sizeof(bytes) - 20 } };
	ssize_t ret;

	EXPECT_EQ(2 * EVENT_SIZE, readv(self->fd, whole, 2));
	EXPECT_TRUE(take(self, bytes, 2));
	ret = readv(self->fd, split, 2);
	if (ret == -1) {
		EXPECT_EQ(EINVAL, errno);
	} else {
		EXPECT_EQ(EVENT_SIZE, ret);
		EXPECT_TRUE(take(self, bytes, 1));
	}
	EXPECT_TRUE(rest_is_there(self));
}

/* A call that must not wait does not, whatever the file's flags say. */
TEST_F(file, read_with_nowait_does_not_block)
{
	struct iovec iov = { self->events, EVENT_SIZE };
	ssize_t ret;

	ASSERT_TRUE(rest_is_there(self));
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, 0));
	ret = preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT);
	EXPECT_EQ(-1, ret);
	EXPECT_TRUE(errno == EAGAIN || errno == EOPNOTSUPP) {
		TH_LOG("errno %d", errno);
	}
}

/*
 * Nothing has touched this memory yet, but it is there: to put it off is right, to call it bad is
 * not.
 */
TEST_F(file, read_with_nowait_into_untouched_memory_is_not_EFAULT)
{
	struct iovec iov = { map_before_edge(1), NR_EVENTS * EVENT_SIZE };
	ssize_t ret;

	ASSERT_TRUE(!!iov.iov_base);
	ret = preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT);
	if (ret == -1) {
		EXPECT_TRUE(errno == EAGAIN || errno == EOPNOTSUPP) {
			TH_LOG("errno %d", errno);
		}
	} else {
		EXPECT_TRUE(ret % EVENT_SIZE == 0 && take(self, iov.iov_base, ret / EVENT_SIZE));
	}
	EXPECT_TRUE(rest_is_there(self));
}

TEST_F(file, there_is_no_position)
{
	ssize_t ret;

	errno = 0;
	ret = lseek(self->fd, 0, SEEK_CUR);
	EXPECT_TRUE(ret == 0 || (ret == -1 && errno == ESPIPE));
	errno = 0;
	ret = lseek(self->fd, 4096, SEEK_SET);
	EXPECT_TRUE(ret == 0 || (ret == -1 && errno == ESPIPE));
	errno = 0;
	ret = pread(self->fd, self->events, EVENT_SIZE, 4096);
	if (ret == -1) {
		EXPECT_EQ(ESPIPE, errno);
	} else {
		EXPECT_EQ(EVENT_SIZE, ret);
		EXPECT_TRUE(take(self, self->events, 1));
	}
	EXPECT_TRUE(rest_is_there(self));
}

TEST_F(file, write_is_refused)
{
	errno = 0;
	EXPECT_EQ(-1, write(self->fd, self->events, EVENT_SIZE));
	EXPECT_TRUE(errno == EINVAL || errno == EBADF) {
		TH_LOG("errno %d", errno);
	}
	EXPECT_EQ(-1, pwrite(self->fd, self->events, EVENT_SIZE, 0));
	EXPECT_TRUE(rest_is_there(self));
}

/* There is nothing to be seen, unless SETUP made it. */
TEST_F(file, mmap_is_refused)
{
	void *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd, 0);

	EXPECT_TRUE(map == MAP_FAILED);
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(file, truncate_and_sync_are_refused)
{
	EXPECT_EQ(-1, ftruncate(self->fd, 0));
	EXPECT_EQ(-1, fsync(self->fd));
	EXPECT_TRUE(rest_is_there(self));
}

TEST_F(file, open_modes)
{
	struct htwheel_info info;
	char byte;
	int fd;

	fd = open(DEVICE, O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EBADF, read_bytes(fd, &byte, 1));
	EXPECT_EQ(0, device_info(fd, &info));
	close(fd);

	fd = open(DEVICE, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EAGAIN, read_bytes(fd, self->events, EVENT_SIZE));
	EXPECT_EQ(0, device_info(fd, &info));
	close(fd);
}

TEST_F(file, node_is_for_its_owner_only)
{
	struct stat st;

	ASSERT_EQ(0, fstat(self->fd, &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT_EQ(0, st.st_mode & 0007);
}

TEST_HARNESS_MAIN
