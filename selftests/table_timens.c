// SPDX-License-Identifier: GPL-2.0
/*
 * What lies in shared memory is on the clock as the time namespace of who called SETUP shows it,
 * whoever looks; calls go by the caller's, as ever.
 */
#include "harness.h"
#include "pass_fd.h"
#include "shared_area.h"
#include "timens.h"

#define MS		NS_PER_MS

FIXTURE(timens) {
	/* The machine's view. */
	struct area area;
	int fd;
};

FIXTURE_VARIANT(timens) {
	uint32_t clock;
	/* What the child's clocks are ahead of the machine's, in seconds. */
	int64_t ahead_s;
};

FIXTURE_VARIANT_ADD(timens, monotonic_ahead) {
	.clock = HTWHEEL_CLOCK_MONOTONIC, .ahead_s = 1000000,
};

FIXTURE_VARIANT_ADD(timens, monotonic_behind) {
	.clock = HTWHEEL_CLOCK_MONOTONIC, .ahead_s = -1,
};

FIXTURE_VARIANT_ADD(timens, boottime_ahead) {
	.clock = HTWHEEL_CLOCK_BOOTTIME, .ahead_s = 1000000,
};

FIXTURE_VARIANT_ADD(timens, boottime_behind) {
	.clock = HTWHEEL_CLOCK_BOOTTIME, .ahead_s = -1,
};

static int open_here(struct area *area, uint32_t clock, uint32_t entries)
{
	return open_areas(area, (struct htwheel_setup){
		.clock = clock, .flags = HTWHEEL_SETUP_TABLE, .max_timers = 1000,
		.ring_entries = entries,
	});
}

/* The areas of the machine's context; a child finds them here. */
static struct area machine;

FIXTURE_SETUP(timens)
{
	if (access("/proc/self/timens_offsets", W_OK))
		SKIP(return, "the kernel has no time namespaces");
	ASSERT_EQ(0, open_here(&self->area, variant->clock, 2));
	self->fd = self->area.fd;
	machine = self->area;
	/* A clock cannot be set to before its beginning. */
	while (now_ns() < 2 * NS_PER_S)
		sleep_ns(100 * NS_PER_MS);
}

FIXTURE_TEARDOWN(timens)
{
	close_areas(&self->area);
}

/* A context of one's own: all is on one's own clock. */
static const char *own_context(int fd, uint32_t clock, int64_t ahead_ns)
{
	uint64_t due_ns, later_ns, listed_ns, read_ns, id;
	struct htwheel_event event;
	struct area area;
	int i;

	(void)fd;
	(void)ahead_ns;
	if (open_here(&area, clock, 2))
		return "open";
	/* In the ring, and, by and by, outside. */
	for (i = 0; i < 10; i++) {
		due_ns = clock_ns(clock) + 3 * MS;
		later_ns = due_ns + 10 * MS;
		if (i == 5 && (arm_in(area.fd, 0, 100, NULL) || arm_in(area.fd, 0, 100, NULL)))
			return "arm two";
		if (arm_at(area.fd, due_ns, i, &id))
			return "arm";
		postpone(&area, id, later_ns);
		listed_ns = dumped_deadline_ns(area.fd, id);
		do {
			if (wait_event(&area, &event))
				return "no event";
		} while (event.user_data == 100);
		read_ns = clock_ns(clock);
		/* If the store was done before the deadline, which it need not have been. */
		if (event.deadline_ns != later_ns && event.deadline_ns != due_ns)
			return "deadline";
		/* It may have fired before it was listed, and be gone. */
		if (listed_ns && listed_ns != event.deadline_ns)
			return "the deadline that is listed";
		if (event.fired_ns < event.deadline_ns || event.fired_ns > read_ns)
			return "fired_ns";
	}
	close_areas(&area);
	return NULL;
}

TEST_F(timens, own_context)
{
	EXPECT_RIGHT_INSIDE(own_context);
}

/* The machine's context, used from inside: its memory is on the machine's clock. */
static const char *machines_context(int fd, uint32_t clock, int64_t ahead_ns)
{
	uint64_t due_ns = clock_ns(clock) + HOUR_NS, machine_ns = due_ns - ahead_ns, left_ns, id;
	struct htwheel_event event;
	int i;

	if (arm_at(fd, due_ns, 1, &id))
		return "arm";
	postpone(&machine, id, machine_ns + HOUR_NS);
	if (query(fd, id, &left_ns) || left_ns > 2 * HOUR_NS || left_ns < HOUR_NS + HOUR_NS / 2)
		return "time left";
	if (dumped_deadline_ns(fd, id) != due_ns + HOUR_NS)
		return "listed";
	/* Just before and behind the deadline. */
	postpone(&machine, id, machine_ns - 1);
	if (dumped_deadline_ns(fd, id) != due_ns)
		return "an earlier value";
	postpone(&machine, id, machine_ns + 1);
	if (dumped_deadline_ns(fd, id) != due_ns + 1)
		return "a value that is later by a nanosecond";
	postpone(&machine, id, HTWHEEL_NEVER_NS);
	if (dumped_deadline_ns(fd, id) != HTWHEEL_NEVER_NS)
		return "never";
	if (cancel(fd, id, NULL))
		return "cancel";

	/* In the ring the machine's clock, by read the caller's. */
	due_ns = clock_ns(clock);
	for (i = 0; i < 3; i++)
		if (arm_at(fd, due_ns, i, NULL))
			return "arm three";
	for (i = 0; i < 2; i++)
		if (take_events(&machine, &event, 1) != 1 ||
		    event.deadline_ns != due_ns - ahead_ns || event.fired_ns < event.deadline_ns ||
		    event.fired_ns > clock_ns(clock) - ahead_ns)
			return "an event in the ring";
	if (read_events(fd, &event, 1) != 1 || event.deadline_ns != due_ns ||
	    event.fired_ns < due_ns || event.fired_ns > clock_ns(clock))
		return "an event that was read";
	return NULL;
}

TEST_F(timens, context_of_the_machine)
{
	EXPECT_RIGHT_INSIDE(machines_context);
}

/* Two ends of a socket, by which a child's context comes to its parent. */
static int sockets[2];

static const char *hand_out(int fd, uint32_t clock, int64_t ahead_ns)
{
	struct area area;

	(void)fd;
	(void)ahead_ns;
	if (open_here(&area, clock, 2))
		return "open";
	return send_fd(sockets[0], area.fd) ? "send" : NULL;
}

/* The reverse: a child's context, used by the machine. */
TEST_F(timens, context_of_a_child)
{
	const int64_t ahead_ns = variant->ahead_s * (int64_t)NS_PER_S;
	uint64_t due_ns = clock_ns(variant->clock) + HOUR_NS, now, id;
	struct htwheel_event event = { .id = 0 };
	struct area area;
	int fd;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets));
	EXPECT_RIGHT_INSIDE(hand_out);
	fd = receive_fd(sockets[1]);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, map_areas(&area, fd));
	ASSERT_EQ(0, arm_at(fd, due_ns, 1, &id));
	postpone(&area, id, due_ns + ahead_ns + 1);
	EXPECT_EQ(due_ns + 1, dumped_deadline_ns(fd, id));
	postpone(&area, id, due_ns + ahead_ns);
	EXPECT_EQ(due_ns, dumped_deadline_ns(fd, id));
	postpone(&area, id, due_ns + ahead_ns + HOUR_NS);
	EXPECT_EQ(due_ns + HOUR_NS, dumped_deadline_ns(fd, id));
	now = clock_ns(variant->clock);
	ASSERT_EQ(0, arm_at(fd, now, 2, &id));
	ASSERT_EQ(1, take_events(&area, &event, 1));
	EXPECT_EQ(now + ahead_ns, event.deadline_ns);
	EXPECT_LE(event.deadline_ns, event.fired_ns);
	EXPECT_GE(clock_ns(variant->clock) + ahead_ns, event.fired_ns);
	close_areas(&area);
}

/* 0 is no time on any clock, and so is one with the top bit set. */
static const char *no_times(int fd, uint32_t clock, int64_t ahead_ns)
{
	const uint64_t values[] = { 0, 1, 1ULL << 63, UINT64_MAX };
	uint64_t due_ns = clock_ns(clock) + HOUR_NS, id;
	struct area area;
	size_t i;

	(void)fd;
	(void)ahead_ns;
	if (open_here(&area, clock, 0) || arm_at(area.fd, due_ns, 1, &id))
		return "arm";
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		postpone(&area, id, values[i]);
		if (dumped_deadline_ns(area.fd, id) != due_ns)
			return "a value that is none";
	}
	close_areas(&area);
	return NULL;
}

TEST_F(timens, values_that_are_no_times)
{
	EXPECT_RIGHT_INSIDE(no_times);
}

TEST_HARNESS_MAIN
