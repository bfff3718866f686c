/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device as the tool's commands use it. Every failure ends the program with a sentence.
 */
#ifndef HTWHEELCTL_DEVICE_H
#define HTWHEELCTL_DEVICE_H

#include <stdint.h>

#include <linux/htwheel.h>

#define NSEC_PER_SEC	1000000000ULL
#define NSEC_PER_MSEC	1000000ULL

/* Exit codes; htwheelctl --help lists them. */
enum {
	EXIT_BROKEN	= 1,
	EXIT_USAGE	= 2,
	EXIT_DEVICE	= 3,
};

void fail(int code, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

int device_open(void);
void device_info(int fd, struct htwheel_info *info);
void device_stats(int fd, struct htwheel_stats *stats);
void device_setup(int fd, const struct htwheel_setup *choices);
void device_submit(int fd, struct htwheel_op *ops, uint32_t nr);
unsigned int device_read(int fd, struct htwheel_event *events, unsigned int nr);
uint64_t now_ns(void);

#endif /* HTWHEELCTL_DEVICE_H */
