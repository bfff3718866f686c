// SPDX-License-Identifier: GPL-2.0
/*
 * libevent: a heap in the program, and the time-out of epoll_wait(2).
 *
 * Arms and cancels run inside a callback of the loop, where a program makes them: there libevent
 * knows the time already and asks no kernel. They cost no system call then; those of the loop are
 * counted as three, epoll_wait and two looks at the clock.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "measure.h"

#define LOOP_CALLS	3

/**
 * struct heap - the timers
 * @base: the loop
 * @events: for each timer, the library's struct
 * @set: the set
 * @timers: where collect() puts what has expired
 * @nr_timers: how many that are
 * @kind: what submit() wants to be done
 * @items: on these
 * @nr_items: how many
 */
struct heap {
	struct event_base	*base;
	struct event		*events;
	struct set		*set;
	uint32_t		*timers;
	uint32_t		nr_timers;
	enum kind		kind;
	const struct item	*items;
	uint32_t		nr_items;
};

static struct heap *the_heap;

static void expired(evutil_socket_t fd, short what, void *argument)
{
	struct heap *heap = the_heap;

	(void)fd;
	(void)what;
	heap->timers[heap->nr_timers++] = (struct event *)argument - heap->events;
	if (heap->nr_timers == MAX_COLLECT)
		event_base_loopbreak(heap->base);
}

static const char *open_all(struct set *set)
{
	struct event_config *config = event_config_new();
	struct heap *heap = allocate(1, sizeof(*heap));

	set->private = heap;
	the_heap = heap;
	heap->set = set;
	heap->events = allocate(set->nr, sizeof(*heap->events));
	heap->base = event_base_new_with_config(config);
	event_config_free(config);
	return heap->base ? NULL : "no loop";
}

static struct timeval to_timeval(uint64_t ns)
{
	return (struct timeval){
		.tv_sec = ns / NSEC_PER_SEC,
		.tv_usec = ns % NSEC_PER_SEC / NSEC_PER_USEC,
	};
}

/* Time-outs are relative here, from the loop's present. */
static void add(struct heap *heap, const struct item *item, uint64_t now)
{
	uint64_t delay_ns = item->deadline_ns > now ? item->deadline_ns - now : 0;
	struct timeval timeout = to_timeval(item->period_ns ? item->period_ns : delay_ns);
	struct event *event = &heap->events[item->timer];

	if (heap->kind == KIND_ARM)
		event_assign(event, heap->base, -1, item->period_ns ? EV_PERSIST : 0, expired,
			     event);
	event_add(event, &timeout);
}

static void in_loop(evutil_socket_t fd, short what, void *argument)
{
	struct heap *heap = argument;
	uint64_t now = now_ns(), from = ticks();
	uint32_t i;

	(void)fd;
	(void)what;
	for (i = 0; i < heap->nr_items; i++) {
		if (heap->kind == KIND_CANCEL)
			event_del(&heap->events[heap->items[i].timer]);
		else
			add(heap, &heap->items[i], now);
	}
	heap->set->ticks += ticks() - from;
	event_base_loopbreak(heap->base);
}

static void submit(struct set *set, enum kind kind, const struct item *items, uint32_t nr)
{
	struct heap *heap = set->private;

	heap->kind = kind;
	heap->items = items;
	heap->nr_items = nr;
	event_base_once(heap->base, -1, EV_TIMEOUT, in_loop, heap, NULL);
	event_base_loop(heap->base, EVLOOP_ONCE);
}

static uint32_t collect(struct set *set, uint32_t *timers)
{
	struct heap *heap = set->private;
	uint64_t from = ticks();

	heap->timers = timers;
	heap->nr_timers = 0;
	event_base_loop(heap->base, EVLOOP_ONCE);
	set->ticks += ticks() - from;
	set->calls += LOOP_CALLS;
	return heap->nr_timers;
}

static void close_all(struct set *set)
{
	struct heap *heap = set->private;
	uint32_t i;

	for (i = 0; i < set->nr; i++) {
		if (event_initialized(&heap->events[i]))
			event_del(&heap->events[i]);
	}
	event_base_free(heap->base);
	free(heap->events);
	free(heap);
}

const struct facility facility_libevent = {
	.name		= "libevent",
	.about		= "a heap in the program, and epoll_wait's time-out",
	.max		= 1000000,
	.open		= open_all,
	.submit		= submit,
	.collect	= collect,
	.close		= close_all,
};
