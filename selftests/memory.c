// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of timers is charged to who arms them, and given back when the context ends.
 *
 * Needs a cgroup v2 with the memory controller.
 */
#include "harness.h"
#include "ledger.h"
#include "many.h"
#include "memory_group.h"
#include "shared_design.h"

#define NR_TIMERS	100000U

FIXTURE(memory) {
	struct memory_group group;
	int fd;
};

FIXTURE_SETUP(memory)
{
	const char *why = enter_group(&self->group);

	if (why)
		SKIP(return, "%s", why);
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(memory)
{
	close(self->fd);
	leave_group(&self->group);
}

/* The program's own memory is touched first, so that what comes after it is the kernel's. */
TEST_F(memory, is_charged_to_the_caller_and_given_back)
{
	const uint64_t least = NR_TIMERS * 64ULL;
	uint64_t before, during, after, end_ns;
	struct htwheel_stats stats;
	struct ledger ledger;

	ASSERT_EQ(0, ledger_init(&ledger, NR_TIMERS));
	memset(ledger.timers, 0, NR_TIMERS * sizeof(*ledger.timers));
	before = charged(self->group.path);
	ASSERT_EQ(0, ledger_arm(&ledger, self->fd, 0, NR_TIMERS, HOUR_NS,
				spread_for_design(self->fd, HOUR_NS)));
	during = charged(self->group.path);
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_LE(before + least, during + SLACK);
	EXPECT_LE(least, stats.pool_bytes);

	close(self->fd);
	self->fd = -1;
	end_ns = now_ns() + patience_ns();
	do {
		sleep_ns(10 * NS_PER_MS);
		after = charged(self->group.path);
	} while (after > during - least + SLACK && now_ns() < end_ns);
	TH_LOG("%llu KiB before, %llu KiB with %u timers (pool %llu KiB), %llu KiB after",
	       (unsigned long long)before / 1024, (unsigned long long)during / 1024, NR_TIMERS,
	       (unsigned long long)stats.pool_bytes / 1024, (unsigned long long)after / 1024);
	EXPECT_GE(during - least + SLACK, after);
}

/* What the group may use above what it uses when its time comes. */
#define ROOM		(4ULL << 20)

/* One call that arms so many; how many went in, or an errno other than ENOMEM. */
static int arm_some(int fd, struct htwheel_op *ops, uint32_t nr)
{
	struct htwheel_submit sub;
	uint32_t i, armed = 0;
	int ret;

	for (i = 0; i < nr; i++)
		ops[i] = (struct htwheel_op){ .opcode = HTWHEEL_OP_ARM, .time_ns = HOUR_NS };
	ret = device_submit(fd, &sub, ops, nr);
	if (ret)
		return ret;
	for (i = 0; i < nr; i++) {
		if (ops[i].result && ops[i].result != -ENOMEM)
			return ops[i].result;
		armed += !ops[i].result;
	}
	return sub.done == nr && sub.failed == nr - armed ? (int)armed : -EPROTO;
}

/* Arm until nothing goes in any more, three times in a row: how many did, or an errno. */
static int arm_until_ENOMEM(int fd, struct htwheel_op *ops, uint64_t *id)
{
	int ret, refusals = 0, armed = 0;

	while (refusals < 3) {
		ret = arm_some(fd, ops, refusals ? 1 : BATCH);
		if (ret < 0)
			return ret;
		armed += ret;
		refusals = ret ? 0 : refusals + 1;
		if (ret)
			*id = ops[0].id;
	}
	return armed;
}

/*
 * What needs no timer's memory works in a full group, too, above all what makes room. A list may be
 * refused.
 */
static const char *use_when_full(int fd, struct htwheel_op *ops)
{
	static struct htwheel_dump_entry entries[BATCH];
	struct htwheel_submit sub;
	struct htwheel_stats stats;
	uint64_t done;
	int i, round, ret;

	for (round = 0; round < 100; round++) {
		struct htwheel_dump dump = { .cursor = 0 };

		for (i = 0; i < BATCH; i++)
			ops[i] = (struct htwheel_op){
				.opcode = round % 2 ? HTWHEEL_OP_CANCEL : HTWHEEL_OP_QUERY,
			};
		ret = device_submit(fd, &sub, ops, 1 + round * 37 % BATCH);
		if (ret || sub.done != sub.failed)
			return "queries and cancels";
		ret = device_dump(fd, &dump, entries, BATCH);
		if (ret && ret != -ENOMEM)
			return "list";
		if (device_stats(fd, &stats))
			return "stats";
	}
	return mass_all(fd, (struct htwheel_mass){
		.opcode = HTWHEEL_MASS_SHIFT, .shift_ns = 1,
	}, &done) ? "shift" : NULL;
}

/*
 * In a process that could be killed for it. All that it needs is there before the limit falls, and
 * it opens, prints and touches nothing new until the limit is gone.
 */
static const char *exhaust(int limit_fd, uint64_t limit)
{
	static struct htwheel_op ops[BATCH];
	const char *wrong = NULL;
	struct htwheel_stats stats;
	uint64_t id = 0;
	char text[32];
	int armed = 0, length, round, fd = open_device(O_NONBLOCK);

	if (fd < 0 || mlockall(MCL_CURRENT) || arm_some(fd, ops, BATCH) != BATCH ||
	    cancel(fd, ops[0].id, NULL) || device_stats(fd, &stats))
		return "set-up";
	length = snprintf(text, sizeof(text), "%llu", (unsigned long long)limit);
	if (write(limit_fd, text, length) != length)
		return "limit";
	armed = arm_until_ENOMEM(fd, ops, &id);
	wrong = armed <= 0 ? "arms" : use_when_full(fd, ops);
	/* One that goes makes room for one. */
	for (round = 0; round < 3 && !wrong; round++) {
		if (cancel(fd, id, NULL))
			wrong = "cancel";
		else if (arm_in(fd, HOUR_NS, 0, &id))
			wrong = "no room for one";
		else if (arm_in(fd, HOUR_NS, 0, NULL) != -ENOMEM)
			wrong = "room for two";
	}
	if (!wrong && (device_stats(fd, &stats) || stats.pending != BATCH - 1U + armed))
		wrong = "books";
	if (write(limit_fd, "max", 3) != 3)
		wrong = "no more limit";
	if (!wrong && arm_some(fd, ops, BATCH) != BATCH)
		wrong = "arms without a limit";
	printf("# %d timers until ENOMEM\n", armed);
	return wrong;
}

TEST_F(memory, none_left_to_the_group_is_ENOMEM_and_kills_nobody)
{
	uint64_t before, after, end_ns;
	char path[192];
	const char *wrong;
	int limit_fd;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/memory.max", self->group.path);
	limit_fd = open(path, O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, limit_fd);
	before = charged(self->group.path);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		wrong = exhaust(limit_fd, before + ROOM);
		printf("# in the group: %s\n", wrong ? wrong : "all right");
		fflush(stdout);
		_exit(!!wrong);
	}
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(3, write(limit_fd, "max", 3));
	close(limit_fd);
	EXPECT_EQ(0, event_of(self->group.path, "oom_kill"));
	EXPECT_LT(0, event_of(self->group.path, "max"));
	end_ns = now_ns() + patience_ns();
	do {
		sleep_ns(10 * NS_PER_MS);
		after = charged(self->group.path);
	} while (after > before + SLACK && now_ns() < end_ns);
	EXPECT_GE(before + SLACK, after);
}

/* What a trim gives back is the group's again, while the file is open. */
TEST_F(memory, trimmed_memory_is_given_back)
{
	uint64_t during, after, done, end_ns;

	ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){ .time_ns = HOUR_NS }, 0, NR_TIMERS, 0,
			      NULL));
	during = charged(self->group.path);
	ASSERT_EQ(0, mass_all(self->fd, (struct htwheel_mass){ .opcode = HTWHEEL_MASS_CANCEL },
			      &done));
	ASSERT_EQ(0, mass_all(self->fd, (struct htwheel_mass){ .opcode = HTWHEEL_MASS_TRIM },
			      &done));
	EXPECT_LE(NR_TIMERS * 60ULL, done);
	end_ns = now_ns() + patience_ns();
	do {
		sleep_ns(10 * NS_PER_MS);
		after = charged(self->group.path);
	} while (after > during - done + SLACK && now_ns() < end_ns);
	EXPECT_GE(during - done + SLACK, after);
}

TEST_HARNESS_MAIN
