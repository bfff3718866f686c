/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What only userspace can test cheaply: memory that runs out at a chosen call, and what a cancel
 * costs.
 */
#ifndef SELFTEST_QUEUE_MEMORY_H
#define SELFTEST_QUEUE_MEMORY_H

#include "rig.h"

void memory_case(struct htw_test *test);
void cancel_case(struct htw_test *test);

#endif /* SELFTEST_QUEUE_MEMORY_H */
