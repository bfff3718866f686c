// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring's own read and poll work on the device, and lose nothing.
 */
#include <linux/io_uring.h>
#include <sys/syscall.h>

#include "harness.h"
#include "common.h"

#define ENTRIES		8

/* A ring with the few things that a test needs: one request at a time goes in, answers come out. */
struct ring {
	int			fd;
	struct io_uring_params	params;
	unsigned char		*rings;
	size_t			rings_size;
	struct io_uring_sqe	*sqes;
};

FIXTURE(uring) {
	struct ring ring;
	uint64_t queued;
	int fd;
};

static int ring_open(struct ring *ring)
{
	size_t cq_size;

	memset(ring, 0, sizeof(*ring));
	ring->fd = syscall(SYS_io_uring_setup, ENTRIES, &ring->params);
	if (ring->fd < 0)
		return -errno;
	if (!(ring->params.features & IORING_FEAT_SINGLE_MMAP))
		return -EOPNOTSUPP;
	ring->rings_size = ring->params.sq_off.array + ring->params.sq_entries * sizeof(uint32_t);
	cq_size = ring->params.cq_off.cqes +
		  ring->params.cq_entries * sizeof(struct io_uring_cqe);
	if (ring->rings_size < cq_size)
		ring->rings_size = cq_size;
	ring->rings = mmap(NULL, ring->rings_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			   IORING_OFF_SQ_RING);
	ring->sqes = mmap(NULL, ring->params.sq_entries * sizeof(struct io_uring_sqe),
			  PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQES);
	return ring->rings == MAP_FAILED || (void *)ring->sqes == MAP_FAILED ? -errno : 0;
}

static void ring_close(struct ring *ring)
{
	munmap(ring->sqes, ring->params.sq_entries * sizeof(struct io_uring_sqe));
	munmap(ring->rings, ring->rings_size);
	close(ring->fd);
}

static uint32_t *ring_word(struct ring *ring, uint32_t offset)
{
	return (uint32_t *)(ring->rings + offset);
}

static int ring_submit(struct ring *ring, const struct io_uring_sqe *sqe)
{
	uint32_t *tail = ring_word(ring, ring->params.sq_off.tail);
	uint32_t *array = ring_word(ring, ring->params.sq_off.array);
	uint32_t index = *tail & (ring->params.sq_entries - 1);

	ring->sqes[index] = *sqe;
	array[index] = index;
	/* Pairs with the kernel's acquire of the tail. */
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	return syscall(SYS_io_uring_enter, ring->fd, 1, 0, 0, NULL, 0) == 1 ? 0 : -errno;
}

/*
 * The result of the next request that is done, and which one it was; -ETIME if none is in this
 * time.
 */
static int ring_result_of(struct ring *ring, uint64_t timeout_ns, uint64_t *user_data)
{
	struct io_uring_cqe *cqes = (void *)(ring->rings + ring->params.cq_off.cqes);
	uint32_t *head = ring_word(ring, ring->params.cq_off.head);
	uint32_t *tail = ring_word(ring, ring->params.cq_off.tail);
	struct io_uring_cqe *cqe;
	int result;

	/* Pairs with the kernel's release of the tail. */
	if (*head == __atomic_load_n(tail, __ATOMIC_ACQUIRE))
		poll_for(ring->fd, timeout_ns);
	if (*head == __atomic_load_n(tail, __ATOMIC_ACQUIRE))
		return -ETIME;
	cqe = &cqes[*head & (ring->params.cq_entries - 1)];
	*user_data = cqe->user_data;
	result = cqe->res;
	/* The kernel may use the place again. */
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

static int ring_result(struct ring *ring, uint64_t timeout_ns)
{
	uint64_t user_data;

	return ring_result_of(ring, timeout_ns, &user_data);
}

static int ring_read(struct ring *ring, int fd, void *buffer, size_t size)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_READ,
		.fd = fd,
		.addr = (uintptr_t)buffer,
		.len = size,
		.off = -1,
		.user_data = 1,
	};

	return ring_submit(ring, &sqe);
}

/* The device blocks; that must not matter. */
FIXTURE_SETUP(uring)
{
	int ret = ring_open(&self->ring);

	if (ret == -ENOSYS || ret == -EPERM || ret == -EOPNOTSUPP)
		SKIP(return, "the kernel has no io_uring for us");
	ASSERT_EQ(0, ret);
	self->queued = queued_timers();
	self->fd = open_device(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(uring)
{
	ring_close(&self->ring);
	close(self->fd);
	EXPECT_TRUE(wait_queued(self->queued));
}

/* Memory that nothing has touched. */
static void *untouched(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

TEST_F(uring, read_waits_for_a_timer)
{
	struct htwheel_event *event = untouched();

	ASSERT_EQ(0, ring_read(&self->ring, self->fd, event, sizeof(*event)));
	EXPECT_EQ(-ETIME, ring_result(&self->ring, 20 * NS_PER_MS));
	ASSERT_EQ(0, arm_in(self->fd, 10 * NS_PER_MS, 5, NULL));
	ASSERT_EQ(sizeof(*event), ring_result(&self->ring, patience_ns()));
	EXPECT_EQ(5, event->user_data);
	EXPECT_LE(event->deadline_ns, event->fired_ns);
}

TEST_F(uring, read_of_waiting_events)
{
	struct htwheel_event *events = untouched();
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, arm_in(self->fd, 0, i, NULL));
	ASSERT_EQ(0, ring_read(&self->ring, self->fd, events, 3 * sizeof(*events)));
	ASSERT_EQ(3 * sizeof(*events), ring_result(&self->ring, patience_ns()));
	EXPECT_EQ(3, events[0].user_data + events[1].user_data + events[2].user_data);
	EXPECT_FALSE(is_readable(self->fd));
}

TEST_F(uring, read_into_less_than_an_event_is_EINVAL)
{
	ASSERT_EQ(0, ring_read(&self->ring, self->fd, untouched(), 8));
	EXPECT_EQ(-EINVAL, ring_result(&self->ring, patience_ns()));
}

TEST_F(uring, read_to_a_bad_address_loses_nothing)
{
	struct htwheel_event event;

	ASSERT_EQ(0, arm_in(self->fd, 0, 5, NULL));
	ASSERT_EQ(0, ring_read(&self->ring, self->fd, NULL, sizeof(event)));
	EXPECT_EQ(-EFAULT, ring_result(&self->ring, patience_ns()));
	EXPECT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(5, event.user_data);
}

TEST_F(uring, poll_waits_for_a_timer)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_POLL_ADD,
		.fd = self->fd,
		.poll32_events = POLLIN,
		.user_data = 2,
	};
	struct htwheel_event event;

	ASSERT_EQ(0, ring_submit(&self->ring, &sqe));
	EXPECT_EQ(-ETIME, ring_result(&self->ring, 20 * NS_PER_MS));
	ASSERT_EQ(0, arm_in(self->fd, 10 * NS_PER_MS, 5, NULL));
	EXPECT_EQ(POLLIN, ring_result(&self->ring, patience_ns()) & POLLIN);
	EXPECT_EQ(1, read_events(self->fd, &event, 1));
}

/* The wait is given up; the event that comes later is for somebody else. */
TEST_F(uring, cancelled_read_takes_no_event)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_ASYNC_CANCEL, .addr = 1, .user_data = 3 };
	struct htwheel_event *event = untouched();
	int i, result, read_result = 0;
	uint64_t user_data;

	ASSERT_EQ(0, ring_read(&self->ring, self->fd, event, sizeof(*event)));
	ASSERT_EQ(0, ring_submit(&self->ring, &sqe));
	for (i = 0; i < 2; i++) {
		result = ring_result_of(&self->ring, patience_ns(), &user_data);
		ASSERT_NE(-ETIME, result);
		if (user_data == 1)
			read_result = result;
	}
	EXPECT_TRUE(read_result == -ECANCELED || read_result == -EINTR) {
		TH_LOG("result %d", read_result);
	}
	ASSERT_EQ(0, arm_in(self->fd, NS_PER_MS, 5, NULL));
	ASSERT_TRUE(wait_readable(self->fd));
	EXPECT_EQ(1, read_events(self->fd, event, 1));
	EXPECT_EQ(5, event->user_data);
}

/* The ring goes while requests wait, and the timers fire meanwhile. */
TEST_F(uring, ring_closed_with_requests_under_way)
{
	unsigned int round, rounds = scaled(20);

	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, ring_read(&self->ring, self->fd, untouched(), 48));
		ASSERT_EQ(0, ring_read(&self->ring, self->fd, untouched(), 480));
		ASSERT_EQ(0, arm_in(self->fd, round * 20 * NS_PER_US, round, NULL));
		ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, round, NULL));
		ring_close(&self->ring);
		close(self->fd);
		ASSERT_EQ(0, ring_open(&self->ring));
		self->fd = open_device(0);
		ASSERT_LE(0, self->fd);
	}
}

TEST_HARNESS_MAIN
