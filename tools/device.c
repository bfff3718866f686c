// SPDX-License-Identifier: GPL-2.0
/*
 * The device as the tool's commands use it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "device.h"

#define DEVICE	"/dev/htwheel"

/* Print a sentence and end the program. */
void fail(int code, const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	fputs("htwheelctl: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(code);
}

static void fail_errno(const char *what)
{
	fail(EXIT_DEVICE, "%s: %s", what, strerror(errno));
}

int device_open(void)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		fail(EXIT_DEVICE, "there is no " DEVICE "; load the module: modprobe htwheel");
	if (errno == EACCES)
		fail(EXIT_DEVICE, "no permission to open " DEVICE
		     "; run as root, or have a udev rule give your group access");
	fail_errno("open " DEVICE);
	return -1;
}

void device_info(int fd, struct htwheel_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	if (ioctl(fd, HTWHEEL_IOC_INFO, info))
		fail_errno("HTWHEEL_IOC_INFO");
}

void device_stats(int fd, struct htwheel_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->size = sizeof(*stats);
	if (ioctl(fd, HTWHEEL_IOC_STATS, stats))
		fail_errno("HTWHEEL_IOC_STATS");
}

void device_setup(int fd, const struct htwheel_setup *choices)
{
	struct htwheel_setup setup = *choices;

	setup.size = sizeof(setup);

	if (ioctl(fd, HTWHEEL_IOC_SETUP, &setup))
		fail_errno("HTWHEEL_IOC_SETUP");
}

/* Submit all @nr operations; results of single ones are the caller's business. */
void device_submit(int fd, struct htwheel_op *ops, uint32_t nr)
{
	struct htwheel_submit submit = { .size = sizeof(submit), .stride = sizeof(*ops) };
	uint32_t done = 0;

	while (done < nr) {
		submit.ops = (uintptr_t)(ops + done);
		submit.nr = nr - done;
		if (ioctl(fd, HTWHEEL_IOC_SUBMIT, &submit) && errno != EINTR)
			fail_errno("HTWHEEL_IOC_SUBMIT");
		done += submit.done;
	}
}

/* Read up to @nr events that are there now. */
unsigned int device_read(int fd, struct htwheel_event *events, unsigned int nr)
{
	ssize_t bytes = read(fd, events, nr * sizeof(*events));

	if (bytes >= 0)
		return bytes / sizeof(*events);
	if (errno != EAGAIN && errno != EINTR)
		fail_errno("read " DEVICE);
	return 0;
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}
