/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Delivery: how the event of an expired timer reaches its reader, and what becomes of the timer
 * then.
 */
#ifndef HTW_DELIVERY_H
#define HTW_DELIVERY_H

#include "timer.h"

/* By read. */
void htw_timer_event(const struct htw_timer *timer, u64 now_ns, struct htwheel_event *event);
void htw_timer_deliver(struct htw_timers *timers, struct htw_timer **done, unsigned int nr,
		       u64 now_ns);

/* Through the ring. */
bool htw_delivery_publish(struct htw_timers *timers, struct htw_timer *timer, u64 now_ns,
			  u64 *next_ns);
bool htw_delivery_notice(struct htw_timers *timers, struct htw_timer *timer);
void htw_delivery_catch_up(struct htw_timers *timers);

#endif /* HTW_DELIVERY_H */
