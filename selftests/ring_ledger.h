/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A ledger whose events come through a ring, and by read(2) when that is full.
 */
#ifndef HTWHEEL_RING_LEDGER_H
#define HTWHEEL_RING_LEDGER_H

#include "ledger.h"
#include "shared_area.h"

/* What there is now, from the ring and then from outside: number of events, or a negative errno. */
static inline int ledger_take(struct ledger *ledger, struct area *area)
{
	struct htwheel_event events[128];
	uint64_t read_ns;
	int i, nr;

	nr = take_or_read(area, events, ARRAY_SIZE(events));
	read_ns = now_ns();
	for (i = 0; i < nr; i++)
		ledger_note_event(ledger, &events[i], read_ns);
	return nr;
}

/* Take until nothing but so many timers is left; -ETIME if the others never come. */
static inline int ledger_take_all(struct ledger *ledger, struct area *area, uint64_t left)
{
	int ret;

	while (ledger_pending(ledger) > left) {
		if (!wait_readable(area->fd))
			return -ETIME;
		ret = ledger_take(ledger, area);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/*
 * The first difference between the ledger and the module's books, NULL if there is none. What is in
 * the ring has fired, and the ledger does not know of it; more may come there meanwhile.
 */
static inline const char *ledger_ring_mismatch(const struct ledger *ledger, const struct area *area)
{
	uint32_t before = ring_unread(area), after;
	struct htwheel_stats stats;

	if (check_books(area->fd, &stats))
		return "the module's books do not balance";
	after = ring_unread(area);
	if (stats.armed != ledger->armed)
		return "armed";
	if (stats.cancelled != ledger->cancelled)
		return "cancelled";
	if (stats.replaced != ledger->replaced)
		return "replaced";
	if (stats.fired < ledger->fired + before || stats.fired > ledger->fired + after)
		return "fired";
	if (stats.idle || stats.missed)
		return "idle or missed";
	return stats.waited > ring_waited(area) ? "waited" : NULL;
}

#define ASSERT_RING_BOOKS_MATCH(ledger, area)						\
	do {										\
		const char *_mismatch = ledger_ring_mismatch(ledger, area);		\
											\
		ASSERT_STREQ("nothing", _mismatch ? _mismatch : "nothing");		\
	} while (0)

#endif /* HTWHEEL_RING_LEDGER_H */
