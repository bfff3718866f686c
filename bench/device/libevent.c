// SPDX-License-Identifier: GPL-2.0
/*
 * libevent: a heap in the program, and the time-out of epoll_wait(2).
 *
 * Arms and cancels run inside a callback of the loop, where a program makes them: there libevent
 * knows the time already and asks no kernel. They cost no system call then; those of the loop are
 * counted as three, epoll_wait and two looks at the clock. A timer that repeats is added anew by
 * its callback, for its next deadline.
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
 * @repeats: for each timer, its deadline and period
 * @now_ns: the present, if somebody has looked since the loop was entered, or 0
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
	struct item		*repeats;
	uint64_t		now_ns;
	struct set		*set;
	uint32_t		*timers;
	uint32_t		nr_timers;
	enum kind		kind;
	const struct item	*items;
	uint32_t		nr_items;
};

static struct heap *the_heap;

static struct timeval to_timeval(uint64_t ns)
{
	return (struct timeval){
		.tv_sec = ns / NSEC_PER_SEC,
		.tv_usec = ns % NSEC_PER_SEC / NSEC_PER_USEC,
	};
}

/* Time-outs are relative here, from the loop's present. */
static void add(struct heap *heap, const struct item *item)
{
	uint64_t now = heap->now_ns, deadline_ns = item->deadline_ns;
	struct timeval timeout = to_timeval(deadline_ns > now ? deadline_ns - now : 0);

	event_add(&heap->events[item->timer], &timeout);
}

static void expired(evutil_socket_t fd, short what, void *argument)
{
	struct heap *heap = the_heap;
	uint32_t timer = (struct event *)argument - heap->events;
	struct item *repeat = &heap->repeats[timer];

	(void)fd;
	(void)what;
	heap->timers[heap->nr_timers++] = timer;
	if (repeat->period_ns) {
		if (!heap->now_ns) {
			heap->now_ns = now_ns();
			heap->set->calls++;
		}
		repeat->deadline_ns += repeat->period_ns;
		add(heap, repeat);
	}
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
	heap->repeats = allocate(set->nr, sizeof(*heap->repeats));
	heap->base = event_base_new_with_config(config);
	event_config_free(config);
	return heap->base ? NULL : "no loop";
}

static void in_loop(evutil_socket_t fd, short what, void *argument)
{
	struct heap *heap = argument;
	const struct item *item;
	struct event *event;
	uint64_t from;

	(void)fd;
	(void)what;
	heap->now_ns = now_ns();
	from = ticks();
	for (item = heap->items; item < heap->items + heap->nr_items; item++) {
		event = &heap->events[item->timer];
		if (heap->kind == KIND_ARM)
			event_assign(event, heap->base, -1, 0, expired, event);
		if (heap->kind == KIND_CANCEL)
			event_del(event);
		else
			add(heap, item);
	}
	heap->set->ticks += ticks() - from;
	event_base_loopbreak(heap->base);
}

static void submit(struct set *set, enum kind kind, const struct item *items, uint32_t nr)
{
	struct heap *heap = set->private;

	uint32_t i;

	heap->kind = kind;
	heap->items = items;
	heap->nr_items = nr;
	for (i = 0; i < nr; i++)
		heap->repeats[items[i].timer] = items[i];
	event_base_once(heap->base, -1, EV_TIMEOUT, in_loop, heap, NULL);
	event_base_loop(heap->base, EVLOOP_ONCE);
}

static uint32_t collect(struct set *set, uint32_t *timers)
{
	struct heap *heap = set->private;
	uint64_t from = ticks();

	heap->timers = timers;
	heap->now_ns = 0;
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
	free(heap->repeats);
	free(heap->events);
	free(heap);
}

const struct facility facility_libevent = {
	.name		= "libevent",
	.about		= "a heap in the program, and epoll_wait's time-out",
	.max		= 1000000,
	.table_bytes	= sizeof(struct item),
	.open		= open_all,
	.submit		= submit,
	.collect	= collect,
	.close		= close_all,
};
