// SPDX-License-Identifier: GPL-2.0
/*
 * POSIX timers: timer_create(2), and a signal for each expiration, read through a signalfd, many
 * at a time. (The kernel's own calls: the C library would pass through the same ones.)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

/* Signals that the program gets for other reasons. */
#define OTHER_SIGNALS	64

/**
 * struct posix_timers - the timers
 * @signals: the signalfd
 * @ids: for each timer, its name
 * @infos: what is read from the signalfd
 */
struct posix_timers {
	int			signals;
	int			*ids;
	struct signalfd_siginfo	*infos;
};

static const char *open_all(struct set *set)
{
	struct rlimit limit = { 2 * set->nr + OTHER_SIGNALS, 2 * set->nr + OTHER_SIGNALS };
	struct posix_timers *timers = allocate(1, sizeof(*timers));
	struct sigevent event = {
		.sigev_notify	= SIGEV_SIGNAL,
		.sigev_signo	= SIGRTMIN,
	};
	sigset_t signals;
	uint32_t i;

	set->private = timers;
	timers->ids = allocate(set->nr, sizeof(*timers->ids));
	timers->infos = allocate(MAX_COLLECT, sizeof(*timers->infos));
	signal(SIGRTMIN, SIG_DFL);
	if (setrlimit(RLIMIT_SIGPENDING, &limit))
		return "RLIMIT_SIGPENDING";
	sigemptyset(&signals);
	sigaddset(&signals, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	timers->signals = signalfd(-1, &signals, SFD_CLOEXEC);
	for (i = 0; i < set->nr; i++) {
		event.sigev_value.sival_int = i;
		if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timers->ids[i]))
			return strerror(errno);
	}
	set->calls += set->nr;
	return NULL;
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC };
}

static void submit(struct set *set, enum kind kind, const struct item *items, uint32_t nr)
{
	struct posix_timers *timers = set->private;
	struct itimerspec specs[CHUNK];
	uint32_t i, part;
	int ids[CHUNK];
	uint64_t from;
	long err;

	for (; nr; nr -= part, items += part) {
		part = nr < CHUNK ? nr : CHUNK;
		memset(specs, 0, sizeof(specs));
		for (i = 0; i < part; i++) {
			ids[i] = timers->ids[items[i].timer];
			if (kind == KIND_CANCEL)
				continue;
			specs[i].it_value = to_timespec(items[i].deadline_ns);
			specs[i].it_interval = to_timespec(items[i].period_ns);
		}
		err = 0;
		from = ticks();
		for (i = 0; i < part; i++)
			err |= syscall(SYS_timer_settime, ids[i], TIMER_ABSTIME, &specs[i], NULL);
		set->ticks += ticks() - from;
		set->calls += part;
		if (err)
			fail("timer_settime: %s", strerror(errno));
	}
}

static uint32_t collect(struct set *set, uint32_t *numbers)
{
	struct posix_timers *timers = set->private;
	uint64_t from = ticks();
	ssize_t ret, i;

	do {
		ret = read(timers->signals, timers->infos, MAX_COLLECT * sizeof(*timers->infos));
		set->calls++;
	} while (ret < 0 && errno == EINTR);
	set->ticks += ticks() - from;
	if (ret < 0)
		fail("signalfd: %s", strerror(errno));
	ret /= sizeof(*timers->infos);
	for (i = 0; i < ret; i++)
		numbers[i] = timers->infos[i].ssi_int;
	return ret;
}

static void close_all(struct set *set)
{
	struct posix_timers *timers = set->private;
	uint32_t i;

	for (i = 0; i < set->nr; i++)
		syscall(SYS_timer_delete, timers->ids[i]);
	close(timers->signals);
	/* Forget what nobody has read; it would count towards the limit. */
	signal(SIGRTMIN, SIG_IGN);
	free(timers->infos);
	free(timers->ids);
	free(timers);
}

const struct facility facility_posix = {
	.name		= "posix",
	.about		= "timer_settime, and signals through a signalfd",
	.max		= 1000000,
	.own_bytes	= MAX_COLLECT * sizeof(struct signalfd_siginfo),
	.table_bytes	= sizeof(int),
	.open		= open_all,
	.submit		= submit,
	.collect	= collect,
	.close		= close_all,
};
