/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A set of timers of /dev/htwheel.
 */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include <linux/htwheel.h>

#include "facility.h"

/* The buffers of a context. */
#define DEVICE_OWN_BYTES	(MAX_BATCH * sizeof(struct htwheel_op) + \
				 MAX_COLLECT * sizeof(struct htwheel_event))

/**
 * struct device - a context
 * @fd: the file
 * @ids: for each timer, its name
 * @ops: the batch
 * @events: what read(2) fills
 */
struct device {
	int			fd;
	uint64_t		*ids;
	struct htwheel_op	*ops;
	struct htwheel_event	*events;
};

const char *device_open(struct set *set);
void device_submit(struct set *set, enum kind kind, const struct item *items, uint32_t nr);
void device_close(struct set *set);

#endif /* BENCH_DEVICE_H */
