/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A listener: somebody who waits for the events of an owner, and counts how often it is woken.
 */
#ifndef HTW_KUNIT_LISTENER_H
#define HTW_KUNIT_LISTENER_H

#include <linux/poll.h>
#include <linux/wait.h>

#include "timer_rig.h"

/**
 * struct htw_listener - somebody who waits for events
 * @entry: in the wait queue
 * @woken: how often it was woken
 * @events: for what
 */
struct htw_listener {
	wait_queue_entry_t	entry;
	u32			woken;
	__poll_t		events;
};

static inline int htw_listener_wake(wait_queue_entry_t *entry, unsigned int mode, int sync,
				    void *key)
{
	struct htw_listener *listener = container_of(entry, struct htw_listener, entry);

	listener->woken++;
	listener->events |= key_to_poll(key);
	return 1;
}

static inline void htw_listen(struct htw_listener *listener, struct htw_timers *timers)
{
	*listener = (struct htw_listener){};
	init_waitqueue_func_entry(&listener->entry, htw_listener_wake);
	add_wait_queue(&timers->ready.wait, &listener->entry);
}

static inline void htw_unlisten(struct htw_listener *listener, struct htw_timers *timers)
{
	remove_wait_queue(&timers->ready.wait, &listener->entry);
}

/* How often it was woken since the last time. */
static inline u32 htw_woken(struct htw_listener *listener)
{
	u32 times = listener->woken;

	listener->woken = 0;
	return times;
}

#endif /* HTW_KUNIT_LISTENER_H */
