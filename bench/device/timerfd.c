// SPDX-License-Identifier: GPL-2.0
/*
 * timerfd: a file for each timer, all in one epoll.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "measure.h"

/* Files that the program has open for other reasons; two sets at once have room. */
#define OTHER_FILES	64

/**
 * struct timerfds - the files
 * @epoll: where expirations are waited for
 * @fds: for each timer, its file
 * @events: what epoll_wait(2) fills
 */
struct timerfds {
	int			epoll;
	int			*fds;
	struct epoll_event	*events;
};

static const char *raise_limit(uint32_t nr)
{
	struct rlimit limit = { 2 * nr + OTHER_FILES, 2 * nr + OTHER_FILES };
	FILE *file = fopen("/proc/sys/fs/nr_open", "w");

	if (file) {
		fprintf(file, "%u\n", 2 * (nr + OTHER_FILES));
		fclose(file);
	}
	return setrlimit(RLIMIT_NOFILE, &limit) ? "RLIMIT_NOFILE" : NULL;
}

static const char *open_timer(struct timerfds *timerfds, uint32_t timer)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = timer };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

	timerfds->fds[timer] = fd;
	if (fd < 0)
		return strerror(errno);
	return epoll_ctl(timerfds->epoll, EPOLL_CTL_ADD, fd, &event) ? strerror(errno) : NULL;
}

static const char *open_all(struct set *set)
{
	struct timerfds *timerfds = allocate(1, sizeof(*timerfds));
	const char *why = raise_limit(set->nr);
	uint32_t i;

	set->private = timerfds;
	timerfds->fds = allocate(set->nr, sizeof(*timerfds->fds));
	timerfds->events = allocate(MAX_COLLECT, sizeof(*timerfds->events));
	timerfds->epoll = epoll_create1(EPOLL_CLOEXEC);
	for (i = 0; i < set->nr && !why; i++)
		why = open_timer(timerfds, i);
	set->calls += 2 * set->nr;
	return why;
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC };
}

static void submit(struct set *set, enum kind kind, const struct item *items, uint32_t nr)
{
	struct timerfds *timerfds = set->private;
	struct itimerspec specs[CHUNK];
	uint32_t i, part;
	int fds[CHUNK], err;
	uint64_t from;

	for (; nr; nr -= part, items += part) {
		part = nr < CHUNK ? nr : CHUNK;
		memset(specs, 0, sizeof(specs));
		for (i = 0; i < part; i++) {
			fds[i] = timerfds->fds[items[i].timer];
			if (kind == KIND_CANCEL)
				continue;
			specs[i].it_value = to_timespec(items[i].deadline_ns);
			specs[i].it_interval = to_timespec(items[i].period_ns);
		}
		err = 0;
		from = ticks();
		for (i = 0; i < part; i++)
			err |= timerfd_settime(fds[i], TFD_TIMER_ABSTIME, &specs[i], NULL);
		set->ticks += ticks() - from;
		set->calls += part;
		if (err)
			fail("timerfd_settime: %s", strerror(errno));
	}
}

static uint32_t collect(struct set *set, uint32_t *timers)
{
	struct timerfds *timerfds = set->private;
	uint64_t from = ticks(), count;
	uint32_t nr_timers = 0;
	int nr, i;

	do {
		nr = epoll_wait(timerfds->epoll, timerfds->events, MAX_COLLECT, -1);
		set->calls++;
	} while (nr < 0 && errno == EINTR);
	for (i = 0; i < nr; i++) {
		timers[nr_timers] = timerfds->events[i].data.u32;
		if (read(timerfds->fds[timers[nr_timers]], &count, sizeof(count)) > 0)
			nr_timers++;
	}
	set->ticks += ticks() - from;
	set->calls += nr;
	return nr_timers;
}

static void close_all(struct set *set)
{
	struct timerfds *timerfds = set->private;
	uint32_t i;

	close(timerfds->epoll);
	for (i = 0; i < set->nr; i++)
		close(timerfds->fds[i]);
	free(timerfds->events);
	free(timerfds->fds);
	free(timerfds);
}

const struct facility facility_timerfd = {
	.name		= "timerfd",
	.about		= "timerfd_settime, epoll_wait and read",
	.max		= 1000000,
	.own_bytes	= MAX_COLLECT * sizeof(struct epoll_event),
	.table_bytes	= sizeof(int),
	.open		= open_all,
	.submit		= submit,
	.collect	= collect,
	.close		= close_all,
};
