// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of timers is charged to who arms them, and given back when the context ends.
 *
 * Needs a cgroup v2 with the memory controller.
 */
#include <sys/mount.h>

#include "harness.h"
#include "ledger.h"

#define NR_TIMERS	100000U

/*
 * What the counter may be off by: it is kept in batches, and what is freed may be freed a little
 * later.
 */
#define SLACK		(2ULL << 20)

FIXTURE(memory) {
	char root[64];
	char group[96];
	int fd;
};

static bool write_file(const char *directory, const char *name, const char *text)
{
	char path[192];
	bool ok;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return ok;
}

/* Bytes charged to the group now, 0 if that cannot be read. */
static uint64_t charged(const char *group)
{
	unsigned long long bytes = 0;
	char path[192];
	FILE *file;

	snprintf(path, sizeof(path), "%s/memory.current", group);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%llu", &bytes) != 1)
		bytes = 0;
	fclose(file);
	return bytes;
}

FIXTURE_SETUP(memory)
{
	char pid[16];

	snprintf(self->root, sizeof(self->root), "/tmp/htwheel-cgroup.%d", getpid());
	snprintf(self->group, sizeof(self->group), "%s/htwheel.%d", self->root, getpid());
	if (mkdir(self->root, 0700) || mount("none", self->root, "cgroup2", 0, NULL)) {
		rmdir(self->root);
		SKIP(return, "no cgroup v2");
	}
	write_file(self->root, "cgroup.subtree_control", "+memory");
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (mkdir(self->group, 0700) || !write_file(self->group, "cgroup.procs", pid) ||
	    !charged(self->group)) {
		rmdir(self->group);
		umount(self->root);
		rmdir(self->root);
		SKIP(return, "no memory controller");
	}
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(memory)
{
	char pid[16];

	close(self->fd);
	snprintf(pid, sizeof(pid), "%d", getpid());
	write_file(self->root, "cgroup.procs", pid);
	rmdir(self->group);
	umount(self->root);
	rmdir(self->root);
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
	before = charged(self->group);
	ASSERT_EQ(0, ledger_arm(&ledger, self->fd, 0, NR_TIMERS, HOUR_NS, HOUR_NS));
	during = charged(self->group);
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_LE(before + least, during + SLACK);
	EXPECT_LE(least, stats.pool_bytes);

	close(self->fd);
	self->fd = -1;
	end_ns = now_ns() + patience_ns();
	do {
		sleep_ns(10 * NS_PER_MS);
		after = charged(self->group);
	} while (after > during - least + SLACK && now_ns() < end_ns);
	TH_LOG("%llu KiB before, %llu KiB with %u timers (pool %llu KiB), %llu KiB after",
	       (unsigned long long)before / 1024, (unsigned long long)during / 1024, NR_TIMERS,
	       (unsigned long long)stats.pool_bytes / 1024, (unsigned long long)after / 1024);
	EXPECT_GE(during - least + SLACK, after);
}

TEST_HARNESS_MAIN
