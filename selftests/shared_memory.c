// SPDX-License-Identifier: GPL-2.0
/*
 * B60: the memory of ring and table is charged to who calls SETUP, and given back when the last of
 * file and mappings has gone; where there is not enough of it, SETUP changes nothing.
 *
 * Needs a cgroup v2 with the memory controller.
 */
#include "harness.h"
#include "memory_group.h"
#include "shared_area.h"

#define RING_BYTES	(HTWHEEL_MAX_RING * sizeof(struct htwheel_event))

/* What the group may use above what it uses by then: not enough for the largest ring. */
#define ROOM		(8ULL << 20)

FIXTURE(memory) {
	struct memory_group group;
	struct htwheel_info info;
	struct htwheel_setup largest;
	uint64_t table_bytes;
	int fd;
};

FIXTURE_SETUP(memory)
{
	const char *why = enter_group(&self->group);

	if (why)
		SKIP(return, "%s", why);
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	self->largest = (struct htwheel_setup){
		.flags = HTWHEEL_SETUP_TABLE, .max_timers = self->info.max_timers_ceiling,
		.ring_entries = HTWHEEL_MAX_RING,
	};
	self->table_bytes = self->info.max_timers_ceiling * sizeof(uint64_t);
}

FIXTURE_TEARDOWN(memory)
{
	close(self->fd);
	leave_group(&self->group);
}

/* It may come a little later. */
static bool wait_charged_at_most(const char *group, uint64_t bytes)
{
	uint64_t end_ns = now_ns() + patience_ns();

	while (charged(group) > bytes) {
		if (now_ns() > end_ns)
			return false;
		sleep_ns(10 * NS_PER_MS);
	}
	return true;
}

TEST_F(memory, is_charged_when_it_is_made)
{
	const uint64_t least = RING_BYTES + self->table_bytes;
	uint64_t before, during;
	struct area area;

	before = charged(self->group.path);
	ASSERT_EQ(0, open_areas(&area, self->largest));
	during = charged(self->group.path);
	EXPECT_LE(before + least, during + SLACK);
	/* Neither touching it nor using it needs more, but for the timers' own memory. */
	memset(area.table, 0, area.table_bytes);
	EXPECT_EQ(0, *(volatile char *)((char *)area.ring + area.ring_bytes - 1));
	EXPECT_GE(during + SLACK, charged(self->group.path));
	TH_LOG("%llu KiB before, %llu KiB with areas of %llu KiB",
	       (unsigned long long)before / 1024, (unsigned long long)during / 1024,
	       (unsigned long long)least / 1024);
	/* Mapped, it outlives the file. */
	close(area.fd);
	area.fd = -1;
	EXPECT_LE(before + least, charged(self->group.path) + SLACK);
	close_areas(&area);
	EXPECT_TRUE(wait_charged_at_most(self->group.path, before + SLACK));
}

/* Who is refused is not killed, keeps what there was, and may ask again. */
static const char *ask_for_too_much(FIXTURE_DATA(memory) *self, int limit_fd, uint64_t limit)
{
	struct htwheel_setup setup = self->largest;
	struct htwheel_info info;
	struct area area;
	unsigned int round;
	char text[32];
	int length, ret;

	if (mlockall(MCL_CURRENT))
		return "mlockall";
	length = snprintf(text, sizeof(text), "%llu", (unsigned long long)limit);
	if (write(limit_fd, text, length) != length)
		return "limit";
	for (round = 0; round < 5; round++) {
		ret = setup_like(self->fd, setup);
		if (ret != -ENOMEM)
			return ret ? "another error" : "there was enough";
		if (device_info(self->fd, &info) || info.ring_entries || info.table_entries ||
		    info.setup || info.max_timers != self->info.max_timers)
			return "something has changed";
		if (map_area(self->fd, 64, PROT_READ, HTWHEEL_MMAP_RING))
			return "there is a ring";
		/* With a private engine, that goes as well. */
		setup.flags ^= HTWHEEL_SETUP_PRIVATE;
		setup.flags ^= round & 1 ? HTWHEEL_SETUP_TABLE : 0;
	}
	/* Less, it can have at once. */
	setup = (struct htwheel_setup){
		.flags = HTWHEEL_SETUP_TABLE, .max_timers = 1000, .ring_entries = 64,
	};
	ret = open_areas(&area, setup);
	if (ret)
		return "not even a little";
	close_areas(&area);
	if (write(limit_fd, "max", 3) != 3)
		return "no more limit";
	if (setup_like(self->fd, self->largest))
		return "refused without a limit";
	if (map_areas(&area, self->fd) || arm_in(self->fd, 0, 0, NULL) || ring_unread(&area) != 1)
		return "it does not work";
	unmap_areas(&area);
	return NULL;
}

TEST_F(memory, B60_none_left_is_ENOMEM_and_changes_nothing)
{
	char path[192];
	const char *wrong;
	uint64_t before;
	int limit_fd;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/memory.max", self->group.path);
	limit_fd = open(path, O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, limit_fd);
	before = charged(self->group.path);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		wrong = ask_for_too_much(self, limit_fd, before + ROOM);
		printf("# in the group: %s\n", wrong ? wrong : "all right");
		fflush(stdout);
		_exit(!!wrong);
	}
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(3, write(limit_fd, "max", 3));
	close(limit_fd);
	EXPECT_EQ(0, event_of(self->group.path, "oom_kill"));
	EXPECT_LT(0, event_of(self->group.path, "max"));
	close(self->fd);
	self->fd = -1;
	EXPECT_TRUE(wait_charged_at_most(self->group.path, before + SLACK));
}

/* What is freed with the last mapping has an end, however often it is made. */
TEST_F(memory, again_and_again)
{
	const unsigned int rounds = scaled(50);
	uint64_t before = charged(self->group.path);
	struct htwheel_setup setup = self->largest;
	unsigned int round;
	struct area area;

	setup.ring_entries = 1 << 14;
	setup.max_timers = setup.max_timers < 65536 ? setup.max_timers : 65536;
	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, open_areas(&area, setup));
		if (round % 2) {
			close(area.fd);
			area.fd = -1;
		}
		close_areas(&area);
		/* Half made. */
		setup.ring_entries ^= 1;
		ASSERT_EQ(-EINVAL, open_areas(&area, setup));
		setup.ring_entries ^= 1;
	}
	EXPECT_TRUE(wait_charged_at_most(self->group.path, before + SLACK));
}

TEST_HARNESS_MAIN
