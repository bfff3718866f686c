/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Children that have clocks of their own, ahead of the machine's or behind them.
 *
 * To be included behind the harness, with whose checks a child's test ends.
 */
#ifndef HTWHEEL_TIMENS_TEST_H
#define HTWHEEL_TIMENS_TEST_H

#include "common.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x00000080
#endif

/* What a child says that its test was: everything was right, or it could not be. */
#define CHILD_RIGHT	0
#define CHILD_WRONG	1
#define CHILD_CANNOT	2

/* The clock as this process sees it. */
static inline uint64_t clock_ns(uint32_t clock)
{
	struct timespec ts;

	clock_gettime(clock == HTWHEEL_CLOCK_BOOTTIME ? CLOCK_BOOTTIME : CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static inline bool set_offsets(int64_t ahead_s)
{
	char text[128];
	int length, fd;
	bool ok;

	length = snprintf(text, sizeof(text), "monotonic %lld 0\nboottime %lld 0\n",
			  (long long)ahead_s, (long long)ahead_s);
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, text, length) == length;
	close(fd);
	return ok;
}

/* What a child does; says what was wrong, or NULL. */
typedef const char *(*child_test)(int fd, uint32_t clock, int64_t ahead_ns);

static inline int run_inside(child_test test, int fd, uint32_t clock, int64_t ahead_s)
{
	uint64_t here_ns = clock_ns(clock);
	const char *wrong;
	pid_t pid;

	/* The children of this one are in the new namespace, it is not. */
	if (unshare(CLONE_NEWTIME) || !set_offsets(ahead_s))
		return CHILD_CANNOT;
	pid = fork();
	if (pid < 0)
		return CHILD_CANNOT;
	if (pid)
		return reap(pid);
	if ((int64_t)(clock_ns(clock) - here_ns) < ahead_s * (int64_t)NS_PER_S)
		return CHILD_CANNOT;
	wrong = test(fd, clock, ahead_s * (int64_t)NS_PER_S);
	if (wrong)
		printf("# inside: %s\n", wrong);
	fflush(stdout);
	return wrong ? CHILD_WRONG : CHILD_RIGHT;
}

/* A child with clocks of its own; without rights to make one, there is nothing to test. */
#define EXPECT_RIGHT_INSIDE(test)							\
	do {										\
		pid_t _pid = fork();							\
		int _ret;								\
											\
		ASSERT_LE(0, _pid);							\
		if (!_pid)								\
			_exit(run_inside(test, self->fd, variant->clock, variant->ahead_s));	\
		_ret = reap(_pid);							\
		if (_ret == CHILD_CANNOT)						\
			SKIP(return, "no rights to make a time namespace");		\
		EXPECT_EQ(CHILD_RIGHT, _ret);						\
	} while (0)

#endif /* HTWHEEL_TIMENS_TEST_H */
