// SPDX-License-Identifier: GPL-2.0
/*
 * Every allocation and every copy of every call fails once, one at a time.
 *
 * Each scenario is run with n = 1, 2, ... until n is more than it has.
 */
#include "harness.h"
#include "inject.h"
#include "ledger.h"

/* Enough arms to make a pool grow more than once. */
#define NR_OPS		300

FIXTURE(inject) {
	struct htwheel_op ops[NR_OPS];
	uint64_t queued;
	int nth_fd;
	int fd;
};

FIXTURE_SETUP(inject)
{
	self->nth_fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	if (self->nth_fd < 0 || !configure_faults())
		SKIP(return, "the kernel injects no faults");
	self->queued = queued_timers();
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(inject)
{
	close(self->fd);
	close(self->nth_fd);
	EXPECT_TRUE(wait_queued(self->queued));
}

TEST_F(inject, open)
{
	unsigned int nth;
	bool struck = true;
	int fd;

	for (nth = 1; struck && nth < MAX_NTH; nth++) {
		fail_nth(self->nth_fd, nth);
		fd = open_device(O_NONBLOCK);
		struck = was_injected(self->nth_fd);
		if (fd < 0) {
			ASSERT_EQ(-ENOMEM, fd);
			ASSERT_TRUE(struck);
			continue;
		}
		ASSERT_EQ(0, arm_in(fd, HOUR_NS, 0, NULL));
		close(fd);
	}
	TH_LOG("%u chances to fail", nth - 2);
	EXPECT_LT(2, nth);
}

TEST_F(inject, info_and_stats)
{
	struct htwheel_info info;
	struct htwheel_stats stats;

	EXPECT_SURVIVES(device_info(self->fd, &info));
	EXPECT_EQ(HTWHEEL_ABI, info.abi);
	EXPECT_SURVIVES(device_stats(self->fd, &stats));
}

/* It has no output: if it fails, nothing was set up. */
TEST_F(inject, set_up)
{
	struct htwheel_info info;
	bool struck = true;
	unsigned int nth;
	int ret;

	for (nth = 1; struck && nth < MAX_NTH; nth++) {
		fail_nth(self->nth_fd, nth);
		ret = device_setup(self->fd, 5);
		struck = was_injected(self->nth_fd);
		ASSERT_EQ(0, device_info(self->fd, &info));
		ASSERT_EQ(!ret, info.max_timers == 5);
		if (!ret)
			break;
		ASSERT_TRUE(struck && (ret == -EFAULT || ret == -ENOMEM));
	}
	EXPECT_EQ(5, info.max_timers);
}

static void make_arms(struct htwheel_op *ops, uint64_t time_ns)
{
	uint32_t i;

	for (i = 0; i < NR_OPS; i++)
		ops[i] = (struct htwheel_op){
			.opcode = HTWHEEL_OP_ARM,
			.flags = HTWHEEL_ABSOLUTE,
			.time_ns = time_ns,
			.user_data = i,
		};
}

/*
 * Arms in a new context, whose pool has to grow. Some may say ENOMEM, or the call ends early; the
 * timers that there are then are those that were done and did not fail.
 */
TEST_F(inject, arm)
{
	struct htwheel_submit sub;
	struct htwheel_stats stats;
	bool struck = true, known;
	unsigned int nth;
	uint32_t i;
	int ret, fd;

	for (nth = 1; struck && nth < MAX_NTH; nth++) {
		fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, fd);
		make_arms(self->ops, now_ns() + HOUR_NS);
		fail_nth(self->nth_fd, nth);
		ret = device_submit(fd, &sub, self->ops, NR_OPS);
		struck = was_injected(self->nth_fd);
		ASSERT_TRUE(is_explained(ret, struck)) {
			TH_LOG("chance %u: %d", nth, ret);
		}
		/* What could not be copied out is not known. */
		known = sub.done != JUNK32;
		if (!ret)
			ASSERT_EQ(NR_OPS, sub.done);
		ASSERT_EQ(0, device_stats(fd, &stats));
		ASSERT_EQ(stats.armed, stats.pending);
		if (known)
			ASSERT_EQ(sub.done - sub.failed, stats.pending);
		for (i = 0; i < NR_OPS && !ret; i++)
			ASSERT_TRUE(self->ops[i].result == 0 || self->ops[i].result == -ENOMEM);
		/* The context is none the worse for it. */
		make_arms(self->ops, now_ns() + HOUR_NS);
		ASSERT_EQ(0, submit_all(fd, self->ops, NR_OPS));
		for (i = 0; i < NR_OPS; i++)
			ASSERT_EQ(0, self->ops[i].result);
		close(fd);
	}
	TH_LOG("%u chances to fail", nth - 2);
	EXPECT_LT(2, nth);
}

/*
 * I10: once the pool is grown, no arm fails for memory; only copies and the buffer of a batch do.
 */
TEST_F(inject, arm_in_a_grown_pool)
{
	struct htwheel_submit sub;
	bool struck = true;
	unsigned int nth;
	uint32_t i;
	int ret;

	for (nth = 1; struck && nth < MAX_NTH; nth++) {
		make_arms(self->ops, now_ns() + HOUR_NS);
		ASSERT_EQ(0, submit_all(self->fd, self->ops, NR_OPS));
		for (i = 0; i < NR_OPS; i++) {
			self->ops[i].opcode = HTWHEEL_OP_CANCEL;
			self->ops[i].flags = 0;
		}
		ASSERT_EQ(0, submit_all(self->fd, self->ops, NR_OPS));

		make_arms(self->ops, now_ns() + HOUR_NS);
		fail_nth(self->nth_fd, nth);
		ret = device_submit(self->fd, &sub, self->ops, NR_OPS);
		struck = was_injected(self->nth_fd);
		if (sub.done != JUNK32)
			ASSERT_EQ(0, sub.failed);
		ASSERT_TRUE(ret == 0 || struck);
		close(self->fd);
		self->fd = open_device(O_NONBLOCK);
		ASSERT_LE(0, self->fd);
	}
}

/* Numbers 0 to NR_OPS - 1 of a walk that goes on where each call left it. */
static bool walk_finds_all(int fd, uint32_t nth, int nth_fd, bool *struck)
{
	static struct htwheel_dump_entry entries[64];
	struct htwheel_dump dump = { .cursor = 0 };
	uint32_t i, seen[NR_OPS] = { 0 };
	bool known, first = true;
	int ret;

	do {
		if (first)
			fail_nth(nth_fd, nth);
		ret = device_dump(fd, &dump, entries, 64);
		if (first)
			*struck = was_injected(nth_fd);
		known = dump.done != JUNK32;
		/* Its answer could not be copied out: from the beginning. */
		if (ret && !known) {
			memset(seen, 0, sizeof(seen));
			dump.cursor = 0;
		}
		if (ret && !(first && *struck && (ret == -EFAULT || ret == -ENOMEM)))
			return false;
		for (i = 0; i < dump.done && known; i++)
			if (entries[i].user_data >= NR_OPS || seen[entries[i].user_data]++)
				return false;
		first = false;
	} while (dump.cursor || ret);
	for (i = 0; i < NR_OPS; i++)
		if (!seen[i])
			return false;
	return true;
}

TEST_F(inject, dump)
{
	bool struck = true;
	unsigned int nth;

	make_arms(self->ops, now_ns() + HOUR_NS);
	ASSERT_EQ(0, submit_all(self->fd, self->ops, NR_OPS));
	for (nth = 1; struck && nth < MAX_NTH; nth++)
		ASSERT_TRUE(walk_finds_all(self->fd, nth, self->nth_fd, &struck)) {
			TH_LOG("chance %u", nth);
		}
	TH_LOG("%u chances to fail", nth - 2);
	EXPECT_LT(2, nth);
}

/* SHIFT by an hour and back: it needs no memory, and says what it did if it can say anything. */
TEST_F(inject, mass)
{
	struct htwheel_mass mass;
	bool struck = true;
	unsigned int nth;
	uint64_t left_ns;
	int ret, i;

	make_arms(self->ops, now_ns() + 100 * HOUR_NS);
	ASSERT_EQ(0, submit_all(self->fd, self->ops, NR_OPS));
	for (nth = 1; struck && nth < MAX_NTH; nth++) {
		mass = (struct htwheel_mass){
			.opcode = HTWHEEL_MASS_SHIFT, .done = JUNK64,
			.shift_ns = nth % 2 ? (int64_t)HOUR_NS : -(int64_t)HOUR_NS,
		};
		fail_nth(self->nth_fd, nth);
		ret = device_mass(self->fd, &mass);
		struck = was_injected(self->nth_fd);
		ASSERT_TRUE(is_explained(ret, struck)) {
			TH_LOG("chance %u: %d", nth, ret);
		}
		for (i = 0; i < NR_OPS; i++)
			ASSERT_EQ(0, query(self->fd, self->ops[i].id, &left_ns));
		if (!ret) {
			EXPECT_EQ(NR_OPS, mass.done);
			EXPECT_EQ(0, mass.cursor);
		}
	}
	TH_LOG("%u chances to fail", nth - 2);
	EXPECT_LT(2, nth);
}

/* Memory goes and comes back; what lives stays, and what is stale stays stale. */
TEST_F(inject, trim)
{
	struct htwheel_mass mass;
	bool struck = true;
	unsigned int nth;
	uint64_t live;
	int ret, i;

	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &live));
	for (nth = 1; struck && nth < MAX_NTH; nth++) {
		make_arms(self->ops, now_ns() + HOUR_NS);
		ASSERT_EQ(0, submit_all(self->fd, self->ops, NR_OPS));
		for (i = 0; i < NR_OPS; i++) {
			ASSERT_EQ(0, self->ops[i].result);
			ASSERT_EQ(0, cancel(self->fd, self->ops[i].id, NULL));
		}
		mass = (struct htwheel_mass){ .opcode = HTWHEEL_MASS_TRIM, .done = JUNK64 };
		fail_nth(self->nth_fd, nth);
		ret = device_mass(self->fd, &mass);
		struck = was_injected(self->nth_fd);
		ASSERT_TRUE(is_explained(ret, struck)) {
			TH_LOG("chance %u: %d", nth, ret);
		}
		ASSERT_EQ(0, query(self->fd, live, NULL));
		for (i = 0; i < NR_OPS; i++)
			ASSERT_EQ(-ENOENT, query(self->fd, self->ops[i].id, NULL));
	}
	TH_LOG("%u chances to fail", nth - 2);
	EXPECT_LT(2, nth);
}

/* A read that fails loses nothing; one that succeeds in part returns whole events. */
TEST_F(inject, read)
{
	struct htwheel_event events[NR_OPS];
	uint32_t i, seen[NR_OPS];
	bool struck = true;
	unsigned int nth;
	int ret, nr;

	for (nth = 1; struck && nth < MAX_NTH; nth++) {
		memset(seen, 0, sizeof(seen));
		make_arms(self->ops, 0);
		ASSERT_EQ(0, submit_all(self->fd, self->ops, NR_OPS));
		fail_nth(self->nth_fd, nth);
		ret = read_events(self->fd, events, NR_OPS);
		struck = was_injected(self->nth_fd);
		ASSERT_TRUE(ret > 0 || (struck && (ret == -EFAULT || ret == -ENOMEM)));
		for (nr = 0; nr < ret; nr++)
			seen[events[nr].user_data % NR_OPS]++;
		while (is_readable(self->fd)) {
			ret = read_events(self->fd, events, NR_OPS);
			ASSERT_LT(0, ret);
			for (nr = 0; nr < ret; nr++)
				seen[events[nr].user_data % NR_OPS]++;
		}
		for (i = 0; i < NR_OPS; i++)
			ASSERT_EQ(1, seen[i]);
	}
	TH_LOG("%u chances to fail", nth - 2);
	EXPECT_LT(2, nth);
}

TEST_HARNESS_MAIN
