/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A memory cgroup that holds nobody but the test.
 *
 * Needs a cgroup v2 with the memory controller.
 */
#ifndef HTWHEEL_MEMORY_GROUP_H
#define HTWHEEL_MEMORY_GROUP_H

#include <sys/mount.h>

#include "common.h"

/*
 * What the counter may be off by: it is kept in batches, and what is freed may be freed a little
 * later.
 */
#define SLACK		(2ULL << 20)

struct memory_group {
	char	root[64];
	char	path[96];
};

static inline bool write_file(const char *directory, const char *name, const char *text)
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
static inline uint64_t charged(const char *group)
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

/* NULL, or why there is none. */
static inline const char *enter_group(struct memory_group *group)
{
	char pid[16];

	snprintf(group->root, sizeof(group->root), "/tmp/htwheel-cgroup.%d", getpid());
	snprintf(group->path, sizeof(group->path), "%s/htwheel.%d", group->root, getpid());
	if (mkdir(group->root, 0700) || mount("none", group->root, "cgroup2", 0, NULL)) {
		rmdir(group->root);
		return "no cgroup v2";
	}
	write_file(group->root, "cgroup.subtree_control", "+memory");
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (mkdir(group->path, 0700) || !write_file(group->path, "cgroup.procs", pid) ||
	    !charged(group->path)) {
		rmdir(group->path);
		umount(group->root);
		rmdir(group->root);
		return "no memory controller";
	}
	return NULL;
}

static inline void leave_group(struct memory_group *group)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	write_file(group->root, "cgroup.procs", pid);
	rmdir(group->path);
	umount(group->root);
	rmdir(group->root);
}

/* A counter of the group's events, UINT64_MAX if there is none. */
static inline uint64_t event_of(const char *group, const char *name)
{
	unsigned long long number;
	uint64_t found = UINT64_MAX;
	char path[192], word[32];
	FILE *file;

	snprintf(path, sizeof(path), "%s/memory.events", group);
	file = fopen(path, "r");
	while (file && fscanf(file, "%31s %llu", word, &number) == 2)
		if (!strcmp(word, name))
			found = number;
	if (file)
		fclose(file);
	return found;
}

#endif /* HTWHEEL_MEMORY_GROUP_H */
