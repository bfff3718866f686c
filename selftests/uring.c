// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring's own read and poll work on the device, and lose nothing.
 *
 * Needs liburing to be built, and a kernel with io_uring.
 */
#include <liburing.h>
#include <sys/uio.h>

#include "harness.h"
#include "common.h"

#define ENTRIES		8
#define EVENT_SIZE	sizeof(struct htwheel_event)

/* A wait that must not end; nothing depends on how long it is. */
#define MOMENT_NS	(20 * NS_PER_MS)

/* Numbers of requests. */
#define READ		1
#define POLL		2
#define OTHER		3

#define READ_MULTISHOT	49

FIXTURE(uring) {
	struct io_uring ring;
	uint64_t queued;
	int fd;
};

FIXTURE_VARIANT(uring) {
	unsigned int setup_flags;
};

FIXTURE_VARIANT_ADD(uring, plain) { .setup_flags = 0, };

/* Completions run in the program's own task, when it asks for them. */
#ifndef IORING_SETUP_SINGLE_ISSUER
#define IORING_SETUP_SINGLE_ISSUER	(1U << 12)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_DEFER_TASKRUN	(1U << 13)
#endif
FIXTURE_VARIANT_ADD(uring, deferred) {
	.setup_flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
};

/* The device blocks; that must not matter. */
FIXTURE_SETUP(uring)
{
	int ret = io_uring_queue_init(ENTRIES, &self->ring, variant->setup_flags);

	if (ret == -ENOSYS || ret == -EPERM || (ret == -EINVAL && variant->setup_flags))
		SKIP(return, "the kernel has no such io_uring for us");
	ASSERT_EQ(0, ret);
	self->queued = queued_timers();
	self->fd = open_device(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(uring)
{
	io_uring_queue_exit(&self->ring);
	close(self->fd);
	EXPECT_TRUE(wait_queued(self->queued));
}

/* Memory that nothing has touched. */
static void *untouched(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static struct io_uring_sqe *prepare_read(FIXTURE_DATA(uring) *self, void *buffer, size_t size)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);

	io_uring_prep_read(sqe, self->fd, buffer, size, -1);
	io_uring_sqe_set_data64(sqe, READ);
	return sqe;
}

static int submit_read(FIXTURE_DATA(uring) *self, void *buffer, size_t size)
{
	prepare_read(self, buffer, size);
	return io_uring_submit(&self->ring) == 1 ? 0 : -EPROTO;
}

/* The next request that is done within this time: its result, or -ETIME; the rest if asked for. */
static int result_of(FIXTURE_DATA(uring) *self, uint64_t timeout_ns, uint64_t *number,
		     uint32_t *flags)
{
	struct __kernel_timespec ts = {
		.tv_sec = timeout_ns / NS_PER_S, .tv_nsec = timeout_ns % NS_PER_S,
	};
	struct io_uring_cqe *cqe;
	int ret = io_uring_wait_cqe_timeout(&self->ring, &cqe, &ts);

	if (ret)
		return ret;
	ret = cqe->res;
	if (number)
		*number = cqe->user_data;
	if (flags)
		*flags = cqe->flags;
	io_uring_cqe_seen(&self->ring, cqe);
	return ret;
}

static int result(FIXTURE_DATA(uring) *self, uint64_t timeout_ns)
{
	return result_of(self, timeout_ns, NULL, NULL);
}

TEST_F(uring, read_waits_for_a_timer)
{
	struct htwheel_event *event = untouched();

	ASSERT_EQ(0, submit_read(self, event, EVENT_SIZE));
	EXPECT_EQ(-ETIME, result(self, MOMENT_NS));
	ASSERT_EQ(0, arm_in(self->fd, 10 * NS_PER_MS, 5, NULL));
	ASSERT_EQ(EVENT_SIZE, result(self, patience_ns()));
	EXPECT_EQ(5, event->user_data);
	EXPECT_LE(event->deadline_ns, event->fired_ns);
}

TEST_F(uring, read_of_waiting_events)
{
	struct htwheel_event *events = untouched();
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, arm_in(self->fd, 0, i, NULL));
	ASSERT_EQ(0, submit_read(self, events, 3 * EVENT_SIZE));
	ASSERT_EQ(3 * EVENT_SIZE, result(self, patience_ns()));
	EXPECT_EQ(3, events[0].user_data + events[1].user_data + events[2].user_data);
	EXPECT_FALSE(is_readable(self->fd));
}

/* Handed to a worker thread at once, which may sleep in the read. */
TEST_F(uring, read_by_a_worker)
{
	struct htwheel_event *event = untouched();

	prepare_read(self, event, EVENT_SIZE)->flags |= IOSQE_ASYNC;
	ASSERT_EQ(1, io_uring_submit(&self->ring));
	EXPECT_EQ(-ETIME, result(self, MOMENT_NS));
	ASSERT_EQ(0, arm_in(self->fd, 10 * NS_PER_MS, 5, NULL));
	ASSERT_EQ(EVENT_SIZE, result(self, patience_ns()));
	EXPECT_EQ(5, event->user_data);
	ASSERT_EQ(0, arm_in(self->fd, 0, 6, NULL));
	prepare_read(self, event, EVENT_SIZE)->flags |= IOSQE_ASYNC;
	ASSERT_EQ(1, io_uring_submit(&self->ring));
	ASSERT_EQ(EVENT_SIZE, result(self, patience_ns()));
	EXPECT_EQ(6, event->user_data);
}

/* Who does not want to wait is told so, whether the file is non-blocking or not. */
TEST_F(uring, read_with_nowait)
{
	const int file_flags[] = { 0, O_NONBLOCK };
	struct htwheel_event *event = untouched();
	int i;

	/* Touched, or the event would have to wait for the page. */
	memset(event, JUNK, EVENT_SIZE);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, fcntl(self->fd, F_SETFL, file_flags[i]));
		prepare_read(self, event, EVENT_SIZE)->rw_flags = RWF_NOWAIT;
		ASSERT_EQ(1, io_uring_submit(&self->ring));
		EXPECT_EQ(-EAGAIN, result(self, patience_ns()));
		ASSERT_EQ(0, arm_in(self->fd, 0, 6, NULL));
		prepare_read(self, event, EVENT_SIZE)->rw_flags = RWF_NOWAIT;
		ASSERT_EQ(1, io_uring_submit(&self->ring));
		EXPECT_EQ(EVENT_SIZE, result(self, patience_ns()));
		EXPECT_EQ(6, event->user_data);
	}
}

/* io_uring waits for a non-blocking file if it can poll it: the caller is not held up by that. */
TEST_F(uring, read_of_a_non_blocking_file)
{
	struct htwheel_event *event = untouched();
	unsigned int flags;
	int ret;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	for (flags = 0; flags <= IOSQE_ASYNC; flags += IOSQE_ASYNC) {
		prepare_read(self, event, EVENT_SIZE)->flags |= flags;
		ASSERT_EQ(1, io_uring_submit(&self->ring));
		ret = result(self, MOMENT_NS);
		ASSERT_TRUE(ret == -ETIME || ret == -EAGAIN);
		ASSERT_EQ(0, arm_in(self->fd, 10 * NS_PER_MS, 6, NULL));
		if (ret == -EAGAIN) {
			ASSERT_TRUE(wait_readable(self->fd));
			prepare_read(self, event, EVENT_SIZE)->flags |= flags;
			ASSERT_EQ(1, io_uring_submit(&self->ring));
		}
		EXPECT_EQ(EVENT_SIZE, result(self, patience_ns()));
		EXPECT_EQ(6, event->user_data);
	}
}

TEST_F(uring, read_into_less_than_an_event_is_EINVAL)
{
	ASSERT_EQ(0, submit_read(self, untouched(), 8));
	EXPECT_EQ(-EINVAL, result(self, patience_ns()));
}

TEST_F(uring, read_to_a_bad_address_loses_nothing)
{
	struct htwheel_event event;

	ASSERT_EQ(0, arm_in(self->fd, 0, 5, NULL));
	ASSERT_EQ(0, submit_read(self, NULL, EVENT_SIZE));
	EXPECT_EQ(-EFAULT, result(self, patience_ns()));
	EXPECT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(5, event.user_data);
}

static int submit_fixed(FIXTURE_DATA(uring) *self, void *buffer, size_t size)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);

	io_uring_prep_read_fixed(sqe, self->fd, buffer, size, -1, 0);
	return io_uring_submit(&self->ring) == 1 ? 0 : -EPROTO;
}

/* A registered buffer is pages to the kernel; the event lies across two of them. */
TEST_F(uring, read_into_a_registered_buffer)
{
	unsigned char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec iov = { map, 8192 };
	struct htwheel_event events[2];
	int i;

	ASSERT_TRUE(map != MAP_FAILED);
	ASSERT_EQ(0, io_uring_register_buffers(&self->ring, &iov, 1));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, arm_in(self->fd, 0, i, NULL));
	ASSERT_EQ(0, submit_fixed(self, map + 4096 - 20, 2 * EVENT_SIZE));
	ASSERT_EQ(2 * EVENT_SIZE, result(self, patience_ns()));
	memcpy(events, map + 4096 - 20, sizeof(events));
	EXPECT_EQ(1, events[0].user_data + events[1].user_data);
	ASSERT_EQ(0, submit_fixed(self, map, EVENT_SIZE));
	EXPECT_EQ(-ETIME, result(self, MOMENT_NS));
	ASSERT_EQ(0, arm_in(self->fd, 10 * NS_PER_MS, 5, NULL));
	ASSERT_EQ(EVENT_SIZE, result(self, patience_ns()));
	memcpy(events, map, EVENT_SIZE);
	EXPECT_EQ(5, events[0].user_data);
	EXPECT_FALSE(is_readable(self->fd));
}

/* One request, an answer for each event; buffers are handed out as they are needed. */
TEST_F(uring, read_multishot)
{
	struct io_uring_probe *probe = io_uring_get_probe_ring(&self->ring);
	bool there = probe && io_uring_opcode_supported(probe, READ_MULTISHOT);
	unsigned char *buffers = untouched();
	struct htwheel_event event;
	struct io_uring_sqe *sqe;
	uint32_t flags, i;
	int ret;

	io_uring_free_probe(probe);
	if (!there)
		SKIP(return, "the kernel has no multishot read");
	sqe = io_uring_get_sqe(&self->ring);
	io_uring_prep_provide_buffers(sqe, buffers, EVENT_SIZE, 16, 0, 0);
	ASSERT_EQ(1, io_uring_submit(&self->ring));
	ASSERT_LE(0, result(self, patience_ns()));
	sqe = io_uring_get_sqe(&self->ring);
	io_uring_prep_rw(READ_MULTISHOT, sqe, self->fd, NULL, 0, -1);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	ASSERT_EQ(1, io_uring_submit(&self->ring));
	EXPECT_EQ(-ETIME, result(self, MOMENT_NS));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, arm_in(self->fd, i % 2 * NS_PER_MS, i, NULL));
		ret = result_of(self, patience_ns(), NULL, &flags);
		ASSERT_EQ(EVENT_SIZE, ret);
		ASSERT_TRUE(flags & IORING_CQE_F_BUFFER);
		ASSERT_TRUE(flags & IORING_CQE_F_MORE);
		memcpy(&event, buffers + (flags >> IORING_CQE_BUFFER_SHIFT) * EVENT_SIZE,
		       EVENT_SIZE);
		EXPECT_EQ(i, event.user_data);
	}
	EXPECT_EQ(-ETIME, result(self, MOMENT_NS));
}

static int submit_poll(FIXTURE_DATA(uring) *self, bool multishot)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);

	if (multishot)
		io_uring_prep_poll_multishot(sqe, self->fd, POLLIN);
	else
		io_uring_prep_poll_add(sqe, self->fd, POLLIN);
	io_uring_sqe_set_data64(sqe, POLL);
	return io_uring_submit(&self->ring) == 1 ? 0 : -EPROTO;
}

TEST_F(uring, poll_waits_for_a_timer)
{
	struct htwheel_event event;

	ASSERT_EQ(0, submit_poll(self, false));
	EXPECT_EQ(-ETIME, result(self, MOMENT_NS));
	ASSERT_EQ(0, arm_in(self->fd, 10 * NS_PER_MS, 5, NULL));
	EXPECT_EQ(POLLIN, result(self, patience_ns()) & POLLIN);
	EXPECT_EQ(1, read_events(self->fd, &event, 1));
	/* What waits already is found at once. */
	ASSERT_EQ(0, arm_in(self->fd, 0, 5, NULL));
	ASSERT_EQ(0, submit_poll(self, false));
	EXPECT_EQ(POLLIN, result(self, patience_ns()) & POLLIN);
}

/* Each time that the file becomes readable, it says so. */
TEST_F(uring, poll_multishot)
{
	struct htwheel_event event;
	uint32_t flags, i;

	ASSERT_EQ(0, submit_poll(self, true));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, arm_in(self->fd, i % 2 * 5 * NS_PER_MS, i, NULL));
		ASSERT_EQ(POLLIN, result_of(self, patience_ns(), NULL, &flags) & POLLIN) {
			TH_LOG("timer %u", i);
		}
		ASSERT_TRUE(flags & IORING_CQE_F_MORE);
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		ASSERT_EQ(i, event.user_data);
		ASSERT_EQ(-ETIME, result(self, NS_PER_MS));
	}
}

/* The next event is for somebody else. */
static const char *gives_its_event_to_others(FIXTURE_DATA(uring) *self)
{
	struct htwheel_event event;

	if (arm_in(self->fd, NS_PER_MS, 5, NULL) || !wait_readable(self->fd))
		return "no event";
	if (read_events(self->fd, &event, 1) != 1 || event.user_data != 5)
		return "the event is gone";
	return result(self, MOMENT_NS) == -ETIME ? NULL : "another result";
}

/* The results of two requests, whichever comes first; -ETIME if they do not come. */
static void two_results(FIXTURE_DATA(uring) *self, int *read_result, int *other_result)
{
	uint64_t number = 0;
	int i, ret;

	*read_result = -ETIME;
	*other_result = -ETIME;
	for (i = 0; i < 2; i++) {
		ret = result_of(self, patience_ns(), &number, NULL);
		if (number == READ)
			*read_result = ret;
		else if (number == OTHER)
			*other_result = ret;
	}
}

TEST_F(uring, cancelled_read_takes_no_event)
{
	int read_result, other_result;
	struct io_uring_sqe *sqe;
	unsigned int flags;
	const char *wrong;

	for (flags = 0; flags <= IOSQE_ASYNC; flags += IOSQE_ASYNC) {
		prepare_read(self, untouched(), EVENT_SIZE)->flags |= flags;
		ASSERT_EQ(1, io_uring_submit(&self->ring));
		EXPECT_EQ(-ETIME, result(self, MOMENT_NS));
		sqe = io_uring_get_sqe(&self->ring);
		io_uring_prep_cancel64(sqe, READ, 0);
		io_uring_sqe_set_data64(sqe, OTHER);
		ASSERT_EQ(1, io_uring_submit(&self->ring));
		two_results(self, &read_result, &other_result);
		EXPECT_TRUE(read_result == -ECANCELED || read_result == -EINTR) {
			TH_LOG("flags %#x: result %d", flags, read_result);
		}
		EXPECT_TRUE(other_result == 0 || other_result == -EALREADY);
		wrong = gives_its_event_to_others(self);
		EXPECT_STREQ("nothing", wrong ? wrong : "nothing");
	}
}

TEST_F(uring, read_with_a_linked_timeout_takes_no_event_later)
{
	struct __kernel_timespec ts = { .tv_nsec = 20 * NS_PER_MS };
	int read_result, other_result;
	struct io_uring_sqe *sqe;
	const char *wrong;

	prepare_read(self, untouched(), EVENT_SIZE)->flags |= IOSQE_IO_LINK;
	sqe = io_uring_get_sqe(&self->ring);
	io_uring_prep_link_timeout(sqe, &ts, 0);
	io_uring_sqe_set_data64(sqe, OTHER);
	ASSERT_EQ(2, io_uring_submit(&self->ring));
	two_results(self, &read_result, &other_result);
	EXPECT_TRUE(read_result == -ECANCELED || read_result == -EINTR) {
		TH_LOG("result %d", read_result);
	}
	EXPECT_TRUE(other_result == -ETIME || other_result == -EALREADY) {
		TH_LOG("result %d", other_result);
	}
	wrong = gives_its_event_to_others(self);
	EXPECT_STREQ("nothing", wrong ? wrong : "nothing");
}

static int set_policy(int fd, uint32_t events, uint32_t usecs)
{
	struct htwheel_setup setup = {
		.size = sizeof(setup), .wake_events = events, .wake_usecs = usecs,
	};

	return device_ioctl(fd, HTWHEEL_IOC_SETUP, &setup);
}

/* What is below the policy does not end the wait; the event that fulfils it brings them all. */
TEST_F(uring, read_goes_by_the_wake_up_policy)
{
	struct htwheel_event *events = untouched();
	unsigned int flags;
	int i;

	ASSERT_EQ(0, set_policy(self->fd, 3, UINT32_MAX));
	for (flags = 0; flags <= IOSQE_ASYNC; flags += IOSQE_ASYNC) {
		prepare_read(self, events, 10 * EVENT_SIZE)->flags |= flags;
		ASSERT_EQ(1, io_uring_submit(&self->ring));
		for (i = 0; i < 2; i++) {
			ASSERT_EQ(0, arm_in(self->fd, i * NS_PER_MS, i, NULL));
			EXPECT_EQ(-ETIME, result(self, MOMENT_NS));
		}
		ASSERT_EQ(0, arm_in(self->fd, NS_PER_MS, i, NULL));
		ASSERT_EQ(3 * EVENT_SIZE, result(self, patience_ns()));
		EXPECT_EQ(3, events[0].user_data + events[1].user_data + events[2].user_data);
	}
}

TEST_F(uring, poll_goes_by_the_wake_up_policy)
{
	struct htwheel_event events[4];
	uint32_t flags;
	int i, round;

	ASSERT_EQ(0, set_policy(self->fd, 3, UINT32_MAX));
	ASSERT_EQ(0, submit_poll(self, true));
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 2; i++) {
			ASSERT_EQ(0, arm_in(self->fd, i * NS_PER_MS, i, NULL));
			EXPECT_EQ(-ETIME, result(self, MOMENT_NS));
		}
		ASSERT_EQ(0, arm_in(self->fd, NS_PER_MS, i, NULL));
		EXPECT_EQ(POLLIN, result_of(self, patience_ns(), NULL, &flags) & POLLIN);
		EXPECT_TRUE(flags & IORING_CQE_F_MORE);
		EXPECT_EQ(3, read_events(self->fd, events, 4));
	}
}

/* An event that waits for long enough ends the wait, too; not before. */
TEST_F(uring, read_goes_by_the_policy_s_time)
{
	struct htwheel_event *event = untouched();

	ASSERT_EQ(0, set_policy(self->fd, 1000, 50000));
	ASSERT_EQ(0, submit_read(self, event, EVENT_SIZE));
	ASSERT_EQ(0, arm_in(self->fd, 0, 5, NULL));
	ASSERT_EQ(EVENT_SIZE, result(self, patience_ns()));
	EXPECT_LE(event->fired_ns + 50 * NS_PER_MS, now_ns());
	EXPECT_EQ(5, event->user_data);
}

/* The ring goes while requests wait, and the timers fire meanwhile. */
TEST_F(uring, ring_closed_with_requests_under_way)
{
	unsigned int round, rounds = scaled(20);

	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, submit_read(self, untouched(), EVENT_SIZE));
		ASSERT_EQ(0, submit_read(self, untouched(), 10 * EVENT_SIZE));
		ASSERT_EQ(0, submit_poll(self, true));
		ASSERT_EQ(0, arm_in(self->fd, round * 20 * NS_PER_US, round, NULL));
		ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, round, NULL));
		io_uring_queue_exit(&self->ring);
		close(self->fd);
		ASSERT_EQ(0, io_uring_queue_init(ENTRIES, &self->ring, variant->setup_flags));
		self->fd = open_device(0);
		ASSERT_LE(0, self->fd);
	}
}

TEST_HARNESS_MAIN
