// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/htwheel: SUBMIT in batches, and read(2).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/htwheel.h>

#include "device.h"
#include "measure.h"

const char *device_open(struct set *set)
{
	struct device *device = allocate(1, sizeof(*device));

	set->private = device;
	device->ids = allocate(set->nr, sizeof(*device->ids));
	device->ops = aligned_alloc(64, MAX_BATCH * sizeof(*device->ops));
	device->events = allocate(MAX_COLLECT, sizeof(*device->events));
	if (!device->ops)
		fail("no memory for the operations");
	memset(device->ops, 0, MAX_BATCH * sizeof(*device->ops));
	if (set->share) {
		device->fd = ((struct device *)set->share->private)->fd;
		return NULL;
	}
	device->fd = open("/dev/htwheel", O_RDWR | O_CLOEXEC);
	return device->fd < 0 ? "no /dev/htwheel" : NULL;
}

static void fill(struct device *device, enum kind kind, const struct item *item,
		 struct htwheel_op *op)
{
	static const uint16_t opcodes[KINDS] = {
		[KIND_ARM]	= HTWHEEL_OP_ARM,
		[KIND_REARM]	= HTWHEEL_OP_REARM,
		[KIND_CANCEL]	= HTWHEEL_OP_CANCEL,
	};

	*op = (struct htwheel_op){
		.opcode		= opcodes[kind],
		.flags		= kind == KIND_CANCEL ? 0 : HTWHEEL_ABSOLUTE,
		.time_ns	= kind == KIND_CANCEL ? 0 : item->deadline_ns,
		.id		= device->ids[item->timer],
		.user_data	= item->timer,
	};
	if (kind == KIND_ARM && item->period_ns) {
		op->flags |= HTWHEEL_PERIODIC;
		op->period_ns = item->period_ns;
		op->policy = HTWHEEL_POLICY_SKIP;
	}
}

static void submit_call(struct set *set, const struct item *items, uint32_t nr)
{
	struct device *device = set->private;
	struct htwheel_submit submit = {
		.size	= sizeof(submit),
		.ops	= (uintptr_t)device->ops,
		.nr	= nr,
		.stride	= sizeof(*device->ops),
	};
	uint64_t from = ticks();
	int ret = ioctl(device->fd, HTWHEEL_IOC_SUBMIT, &submit);
	uint32_t i;

	set->ticks += ticks() - from;
	set->calls++;
	if (ret || submit.failed)
		fail("SUBMIT: %s, %u of %u failed", strerror(errno), submit.failed, nr);
	for (i = 0; i < nr; i++)
		device->ids[items[i].timer] = device->ops[i].id;
}

void device_submit(struct set *set, enum kind kind, const struct item *items, uint32_t nr)
{
	struct device *device = set->private;
	uint32_t i, part;

	for (; nr; nr -= part, items += part) {
		part = nr < set->batch ? nr : set->batch;
		for (i = 0; i < part; i++)
			fill(device, kind, &items[i], &device->ops[i]);
		submit_call(set, items, part);
	}
}

static uint32_t collect(struct set *set, uint32_t *timers)
{
	struct device *device = set->private;
	uint64_t from = ticks();
	ssize_t ret, i;

	do {
		ret = read(device->fd, device->events, MAX_COLLECT * sizeof(*device->events));
		set->calls++;
	} while (ret < 0 && errno == EINTR);
	set->ticks += ticks() - from;
	if (ret < 0)
		fail("read: %s", strerror(errno));
	ret /= sizeof(*device->events);
	for (i = 0; i < ret; i++)
		timers[i] = device->events[i].user_data;
	return ret;
}

void device_close(struct set *set)
{
	struct device *device = set->private;

	if (!set->share)
		close(device->fd);
	free(device->events);
	free(device->ops);
	free(device->ids);
	free(device);
}

const struct facility facility_htwheel = {
	.name		= "htwheel",
	.about		= "/dev/htwheel, SUBMIT and read",
	.has_batches	= true,
	.can_share	= true,
	.max		= 1000000,
	.own_bytes	= DEVICE_OWN_BYTES,
	.table_bytes	= sizeof(uint64_t),
	.open		= device_open,
	.submit		= device_submit,
	.collect	= collect,
	.close		= device_close,
};
