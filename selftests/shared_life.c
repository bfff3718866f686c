// SPDX-License-Identifier: GPL-2.0
/*
 * B79: mappings and the file they came from end in any order. A mapping is good until it is
 * unmapped, and keeps the context and its timers alive, as a descriptor does.
 */
#include <signal.h>
#include <sys/socket.h>

#include "harness.h"
#include "many.h"
#include "pass_fd.h"
#include "shared_area.h"

#define ENTRIES		1024U
#define NR_TIMERS	100U
#define MAX_TIMERS	4096U

FIXTURE(life) {
	uint64_t queued;
	struct area area;
	uint64_t ids[NR_TIMERS];
	size_t page;
};

static int open_both(struct area *area)
{
	return open_areas(area, (struct htwheel_setup){
		.flags = HTWHEEL_SETUP_TABLE, .max_timers = MAX_TIMERS, .ring_entries = ENTRIES,
	});
}

FIXTURE_SETUP(life)
{
	self->page = sysconf(_SC_PAGESIZE);
	self->queued = queued_timers();
	ASSERT_EQ(0, open_both(&self->area));
}

/* Whatever a test did, nothing of it is left in the end. */
FIXTURE_TEARDOWN(life)
{
	close_areas(&self->area);
	EXPECT_TRUE(wait_queued(self->queued));
}

static int arm_all(FIXTURE_DATA(life) *self, uint64_t delay_ns)
{
	return arm_many(self->area.fd, &(struct htwheel_op){ .time_ns = delay_ns }, 0, NR_TIMERS, 0,
			self->ids);
}

static void close_file(struct area *area)
{
	close(area->fd);
	area->fd = -1;
}

/* So many events come into the ring, though there is no file to ask. */
static bool ring_gets(struct area *area, uint32_t nr)
{
	uint64_t end_ns = now_ns() + patience_ns();

	while (ring_unread(area) < nr && now_ns() < end_ns)
		sleep_ns(NS_PER_MS);
	return ring_unread(area) == nr;
}

TEST_F(life, timers_live_as_long_as_a_mapping)
{
	struct htwheel_event events[NR_TIMERS];
	uint32_t i;

	ASSERT_EQ(0, arm_all(self, 20 * NS_PER_MS));
	close_file(&self->area);
	ASSERT_TRUE(ring_gets(&self->area, NR_TIMERS));
	ASSERT_EQ(NR_TIMERS, take_events(&self->area, events, NR_TIMERS));
	for (i = 0; i < NR_TIMERS; i++)
		EXPECT_LE(events[i].deadline_ns, events[i].fired_ns);
}

/* Each alone is enough, and the last one to go takes the timers along. */
TEST_F(life, any_one_of_them_keeps_the_context)
{
	unsigned int last, which;

	for (last = 0; last < 4; last++) {
		struct area area;

		ASSERT_EQ(0, open_both(&area));
		ASSERT_EQ(0, arm_in(area.fd, HOUR_NS, 0, NULL));
		/* All but one, in different orders. */
		for (which = last + 1; which < last + 4; which++) {
			switch (which % 4) {
			case 0:
				close(area.fd);
				break;
			case 1:
				munmap(area.ring, area.ring_bytes);
				break;
			case 2:
				munmap(area.position, self->page);
				break;
			case 3:
				munmap(area.table, area.table_bytes);
				break;
			}
			EXPECT_EQ(self->queued + 1, queued_timers()) {
				TH_LOG("the last is %u, %u has gone", last, which % 4);
			}
		}
		switch (last) {
		case 0:
			close(area.fd);
			break;
		case 1:
			EXPECT_EQ(ENTRIES, area.ring->entries);
			munmap(area.ring, area.ring_bytes);
			break;
		case 2:
			set_head(&area, 5);
			munmap(area.position, self->page);
			break;
		case 3:
			postpone(&area, 1, 5);
			munmap(area.table, area.table_bytes);
			break;
		}
		EXPECT_TRUE(wait_queued(self->queued));
	}
}

/* Unmapped page by page, from either end; what is left is what it was. */
TEST_F(life, unmapped_in_parts)
{
	size_t pages = self->area.ring_bytes / self->page, i;
	char *ring = (char *)self->area.ring;

	ASSERT_EQ(0, arm_all(self, 0));
	ASSERT_EQ(0, arm_in(self->area.fd, HOUR_NS, 0, NULL));
	close_file(&self->area);
	for (i = pages - 1; i; i--) {
		ASSERT_EQ(0, munmap(ring + i * self->page, self->page));
		ASSERT_EQ(ENTRIES, self->area.ring->entries);
	}
	EXPECT_EQ(self->ids[0], ring_event(&self->area, ring_tail(&self->area) - NR_TIMERS)->id);
	munmap(ring, self->page);
	self->area.ring = NULL;
	for (i = 0; i + 1 < self->area.table_bytes / self->page; i++)
		ASSERT_EQ(0, munmap((char *)self->area.table + i * self->page, self->page));
	EXPECT_EQ(0, ((uint64_t *)((char *)self->area.table + i * self->page))[0]);
	munmap(self->area.position, self->page);
	self->area.position = NULL;
	EXPECT_EQ(self->queued + 1, queued_timers());
	munmap((char *)self->area.table + i * self->page, self->page);
	self->area.table = NULL;
	EXPECT_TRUE(wait_queued(self->queued));
}

/* A child has the mappings, too: it takes the events, it postpones, and its end changes nothing. */
TEST_F(life, B79_fork)
{
	struct htwheel_event events[NR_TIMERS];
	uint64_t id;
	pid_t pid;

	ASSERT_EQ(0, arm_all(self, 0));
	ASSERT_EQ(0, arm_in(self->area.fd, HOUR_NS, 0, &id));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (take_events(&self->area, events, NR_TIMERS / 2) != NR_TIMERS / 2)
			_exit(1);
		postpone(&self->area, id, HTWHEEL_NEVER_NS);
		_exit(0);
	}
	ASSERT_EQ(0, reap(pid));
	EXPECT_EQ(NR_TIMERS / 2, ring_unread(&self->area));
	EXPECT_EQ(HTWHEEL_NEVER_NS, postponed_to(&self->area, id));
	EXPECT_EQ(HTWHEEL_NEVER_NS, dumped_deadline_ns(self->area.fd, id));
	EXPECT_EQ(NR_TIMERS / 2, take_events(&self->area, events, NR_TIMERS));
}

/* A child that has nothing but the mappings keeps the context when its parent has let go of it. */
TEST_F(life, B79_fork_outlives_the_file)
{
	int go[2], done[2];
	char byte = 0;
	pid_t pid;

	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(done));
	ASSERT_EQ(0, arm_in(self->area.fd, HOUR_NS, 0, NULL));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close_file(&self->area);
		if (write(done[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(1);
		_exit(self->area.ring->entries != ENTRIES);
	}
	EXPECT_EQ(1, read(done[0], &byte, 1));
	close_areas(&self->area);
	EXPECT_EQ(self->queued + 1, queued_timers());
	EXPECT_EQ(1, write(go[1], &byte, 1));
	EXPECT_EQ(0, reap(pid));
	EXPECT_TRUE(wait_queued(self->queued));
}

TEST_F(life, B79_killed_with_mappings)
{
	unsigned int round;
	pid_t pid;

	for (round = 0; round < 10; round++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			struct area area;
			uint64_t i;

			if (open_both(&area))
				_exit(1);
			if (round % 2)
				close_file(&self->area);
			for (i = 0; ; i++) {
				arm_in(area.fd, i % 3 * NS_PER_US, i, NULL);
				postpone(&area, i % MAX_TIMERS, i);
				set_head(&area, ring_tail(&area));
			}
		}
		sleep_ns(10 * NS_PER_MS);
		kill(pid, SIGKILL);
		EXPECT_EQ(-SIGKILL, reap(pid));
	}
}

/* What SETUP refuses, and what gives back memory, touches no area. */
TEST_F(life, B79_setup_and_trim_touch_no_area)
{
	struct htwheel_setup setup = { .ring_entries = 2 };
	uint64_t done, id;

	ASSERT_EQ(0, arm_all(self, 0));
	ASSERT_EQ(0, arm_in(self->area.fd, HOUR_NS, 0, &id));
	postpone(&self->area, id, HTWHEEL_NEVER_NS);
	EXPECT_EQ(-EBUSY, setup_like(self->area.fd, setup));
	setup.flags = HTWHEEL_SETUP_TABLE;
	EXPECT_EQ(-EBUSY, setup_like(self->area.fd, setup));
	ASSERT_EQ(0, mass_all(self->area.fd, (struct htwheel_mass){
		.opcode = HTWHEEL_MASS_TRIM,
	}, &done));
	EXPECT_EQ(NR_TIMERS, ring_unread(&self->area));
	EXPECT_EQ(ENTRIES, self->area.ring->entries);
	EXPECT_EQ(HTWHEEL_NEVER_NS, postponed_to(&self->area, id));
	ASSERT_EQ(0, mass_all(self->area.fd, (struct htwheel_mass){
		.opcode = HTWHEEL_MASS_CANCEL,
	}, &done));
	ASSERT_EQ(0, mass_all(self->area.fd, (struct htwheel_mass){
		.opcode = HTWHEEL_MASS_TRIM,
	}, &done));
	EXPECT_EQ(NR_TIMERS, drop_all(&self->area));
	/* Names that were given back and came again have words again. */
	ASSERT_EQ(0, arm_in(self->area.fd, HOUR_NS, 0, &id));
	EXPECT_EQ(0, postponed_to(&self->area, id));
}

/* Gone from the kernel's view: mapped again, it shows what it showed before. */
TEST_F(life, mapped_again)
{
	uint64_t id;
	int fd = self->area.fd;

	ASSERT_EQ(0, arm_all(self, 0));
	ASSERT_EQ(0, arm_in(fd, HOUR_NS, 0, &id));
	postpone(&self->area, id, HTWHEEL_NEVER_NS);
	set_head(&self->area, self->area.position->head + 7);
	unmap_areas(&self->area);
	ASSERT_EQ(0, arm_in(fd, 0, 0, NULL));
	EXPECT_TRUE(is_readable(fd));
	ASSERT_EQ(0, map_areas(&self->area, fd));
	EXPECT_EQ(NR_TIMERS + 1 - 7, ring_unread(&self->area));
	EXPECT_EQ(HTWHEEL_NEVER_NS, postponed_to(&self->area, id));
}

/* A ring works unmapped: it fills, and nothing is read until somebody takes from it. */
TEST_F(life, never_mapped)
{
	struct htwheel_event events[NR_TIMERS];
	struct area area;
	int fd = open_with((struct htwheel_setup){ .ring_entries = 64 });

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, arm_many(fd, &(struct htwheel_op){ .flags = HTWHEEL_ABSOLUTE }, 0, NR_TIMERS,
			      0, self->ids));
	EXPECT_TRUE(is_readable(fd));
	EXPECT_EQ(-EAGAIN, read_events(fd, events, NR_TIMERS));
	ASSERT_EQ(0, map_areas(&area, fd));
	EXPECT_EQ(NR_TIMERS, drop_all(&area));
	close_areas(&area);
}

/* Travelling through a socket, the file takes its areas along. */
TEST_F(life, file_that_is_passed_on)
{
	int sockets[2], other;
	struct area area;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	ASSERT_EQ(0, send_fd(sockets[0], self->area.fd));
	close_areas(&self->area);
	other = receive_fd(sockets[1]);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, map_areas(&area, other));
	ASSERT_EQ(0, arm_in(other, 0, 3, NULL));
	EXPECT_EQ(1, ring_unread(&area));
	close_areas(&area);
	close(sockets[0]);
	close(sockets[1]);
}

/* Locked, advised about, and asked for: what may fail may, and no page changes hands. */
TEST_F(life, other_calls_on_the_memory)
{
	static const int advice[] = {
		MADV_WILLNEED, MADV_RANDOM, MADV_DONTFORK, MADV_DOFORK, MADV_HUGEPAGE,
		MADV_MERGEABLE, MADV_DONTDUMP, MADV_DODUMP, MADV_FREE, MADV_REMOVE, 1000,
	};
	unsigned char present[16];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(advice); i++) {
		madvise(self->area.ring, self->area.ring_bytes, advice[i]);
		madvise(self->area.table, self->page, advice[i]);
	}
	mlock(self->area.ring, self->area.ring_bytes);
	munlock(self->area.ring, self->area.ring_bytes);
	mincore(self->area.ring, self->page, present);
	msync(self->area.table, self->area.table_bytes, MS_SYNC);
	ASSERT_EQ(0, arm_all(self, 0));
	EXPECT_EQ(NR_TIMERS, ring_unread(&self->area));
	EXPECT_EQ(NR_TIMERS, drop_all(&self->area));
}

/* Thrown away by its user, it comes back as it was, or not at all. */
TEST_F(life, thrown_away_by_advice)
{
	uint64_t id;
	pid_t pid;
	int ret;

	ASSERT_EQ(0, arm_in(self->area.fd, HOUR_NS, 0, &id));
	postpone(&self->area, id, JUNK64);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		madvise(self->area.ring, self->page, MADV_DONTNEED);
		madvise(self->area.table, self->area.table_bytes, MADV_DONTNEED);
		_exit(self->area.ring->entries != ENTRIES ||
		      postponed_to(&self->area, id) != JUNK64);
	}
	ret = reap(pid);
	EXPECT_TRUE(!ret || ret == -SIGBUS) {
		TH_LOG("the child ended with %d", ret);
	}
	EXPECT_EQ(ENTRIES, self->area.ring->entries);
	EXPECT_EQ(JUNK64, postponed_to(&self->area, id));
}

TEST_HARNESS_MAIN
