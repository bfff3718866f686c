// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring's poll tells of events in the ring, and its read of those that wait outside.
 *
 * Needs liburing to be built, and a kernel with io_uring.
 */
#include <liburing.h>

#include "harness.h"
#include "crew.h"
#include "shared_area.h"

#define QUEUE		8
#define EVENT_SIZE	sizeof(struct htwheel_event)

/* A wait that must not end; nothing depends on how long it is. */
#define MOMENT_NS	(20 * NS_PER_MS)

FIXTURE(uring) {
	struct io_uring ring;
	struct area area;
};

FIXTURE_VARIANT(uring) {
	uint32_t entries;
};

FIXTURE_VARIANT_ADD(uring, ring_of_2) {
	.entries = 2,
};

FIXTURE_VARIANT_ADD(uring, ring_of_64) {
	.entries = 64,
};

FIXTURE_SETUP(uring)
{
	int ret = io_uring_queue_init(QUEUE, &self->ring, 0);

	if (ret == -ENOSYS || ret == -EPERM)
		SKIP(return, "the kernel has no io_uring for us");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, open_ring(&self->area, variant->entries));
	/* The device blocks; that must not matter. */
	ASSERT_EQ(0, fcntl(self->area.fd, F_SETFL, 0));
}

FIXTURE_TEARDOWN(uring)
{
	io_uring_queue_exit(&self->ring);
	close_areas(&self->area);
}

static int submit_poll(FIXTURE_DATA(uring) *self, bool multishot)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);

	if (multishot)
		io_uring_prep_poll_multishot(sqe, self->area.fd, POLLIN);
	else
		io_uring_prep_poll_add(sqe, self->area.fd, POLLIN);
	return io_uring_submit(&self->ring) == 1 ? 0 : -EPROTO;
}

static int submit_read(FIXTURE_DATA(uring) *self, void *buffer, size_t size)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);

	io_uring_prep_read(sqe, self->area.fd, buffer, size, -1);
	return io_uring_submit(&self->ring) == 1 ? 0 : -EPROTO;
}

/* The next request that is done within this time: its result, or -ETIME; and whether it goes on. */
static int result_of(FIXTURE_DATA(uring) *self, uint64_t timeout_ns, bool *more)
{
	struct __kernel_timespec ts = {
		.tv_sec = timeout_ns / NS_PER_S, .tv_nsec = timeout_ns % NS_PER_S,
	};
	struct io_uring_cqe *cqe;
	int ret = io_uring_wait_cqe_timeout(&self->ring, &cqe, &ts);

	if (ret)
		return ret;
	ret = cqe->res;
	*more = cqe->flags & IORING_CQE_F_MORE;
	io_uring_cqe_seen(&self->ring, cqe);
	return ret;
}

static int result(FIXTURE_DATA(uring) *self, uint64_t timeout_ns)
{
	bool more;

	return result_of(self, timeout_ns, &more);
}

TEST_F(uring, poll_tells_of_the_ring)
{
	struct htwheel_event event;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, submit_poll(self, false));
		EXPECT_EQ(-ETIME, result(self, MOMENT_NS));
		ASSERT_EQ(0, arm_in(self->area.fd, i % 2 * NS_PER_MS, i, NULL));
		EXPECT_EQ(POLLIN, result(self, patience_ns()) & POLLIN);
		ASSERT_EQ(1, take_events(&self->area, &event, 1));
		EXPECT_EQ(i, event.user_data);
		/* What is there already is found at once. */
		ASSERT_EQ(0, arm_in(self->area.fd, 0, i, NULL));
		ASSERT_EQ(0, submit_poll(self, false));
		EXPECT_EQ(POLLIN, result(self, patience_ns()) & POLLIN);
		ASSERT_EQ(1, take_events(&self->area, &event, 1));
	}
}

struct stream {
	int		fd;
	uint64_t	armed;
};

static void arm_one(void *arg)
{
	struct stream *stream = arg;

	if (!arm_in(stream->fd, stream->armed % 3 * NS_PER_US, stream->armed, NULL))
		__atomic_add_fetch(&stream->armed, 1, __ATOMIC_RELEASE);
	if (stream->armed % 64 == 0)
		sleep_ns(NS_PER_MS);
}

/* One request for all: it tells of each time that something comes into an empty ring. */
TEST_F(uring, poll_multishot_misses_nothing)
{
	const uint64_t wanted = scaled(3000);
	struct stream stream = { .fd = self->area.fd };
	struct crew crew = { .nr = 0 };
	struct htwheel_event events[32];
	bool over = false, more;
	uint64_t seen = 0;
	int ret;

	ASSERT_EQ(0, submit_poll(self, true));
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, arm_one, &stream));
	for (;;) {
		do {
			ret = take_or_read(&self->area, events, 32);
			ASSERT_LE(0, ret);
			seen += ret;
			atomic_thread_fence(memory_order_seq_cst);
		} while (ret || ring_unread(&self->area));
		if (seen >= wanted && !over) {
			crew_end(&crew);
			over = true;
		}
		if (over && seen == stream.armed)
			break;
		ret = result_of(self, patience_ns(), &more);
		ASSERT_EQ(POLLIN, ret < 0 ? ret : ret & POLLIN) {
			TH_LOG("%llu events seen of %llu", (unsigned long long)seen,
			       (unsigned long long)stream.armed);
		}
		/* The kernel may end it, and it can be made again. */
		if (!more)
			ASSERT_EQ(0, submit_poll(self, true));
	}
}

/* Read waits for nothing, since there may be nothing that it could return. */
TEST_F(uring, read_is_for_those_outside)
{
	struct htwheel_event event, seen;
	unsigned int i;

	for (i = 0; i < variant->entries; i++)
		ASSERT_EQ(0, arm_in(self->area.fd, 0, i, NULL));
	ASSERT_EQ(0, arm_in(self->area.fd, 0, 1000, NULL));
	for (i = 0; i < variant->entries; i++)
		ASSERT_EQ(1, take_events(&self->area, &seen, 1));
	ASSERT_EQ(0, submit_read(self, &event, EVENT_SIZE));
	EXPECT_EQ(EVENT_SIZE, result(self, patience_ns()));
	EXPECT_EQ(1000, event.user_data);
	EXPECT_EQ(0, ring_flags(&self->area));
}

TEST_HARNESS_MAIN
