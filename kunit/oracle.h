/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The oracle: what a queue must do, told by a flat array and a loop over all of it. It has no
 * structure that could be wrong in the way in which a queue's can.
 */
#ifndef HTW_KUNIT_ORACLE_H
#define HTW_KUNIT_ORACLE_H

#include <linux/types.h>

/**
 * struct htw_oracle_entry - one timer
 * @tick: its tick
 * @last_tick: the tick at which it must have been handed out; of an exact design, its tick
 * @key: what orders hand-outs: the tick, or the clock at the time of the add, if that was later
 * @order: number of arrival
 * @live: it is in the queue
 */
struct htw_oracle_entry {
	u64			tick;
	u64			last_tick;
	u64			key;
	u64			order;
	bool			live;
};

/**
 * struct htw_oracle - all timers of a test
 * @entry: the array
 * @size: its length
 * @nr: live entries
 * @arrivals: adds so far
 */
struct htw_oracle {
	struct htw_oracle_entry	*entry;
	u32			size;
	u32			nr;
	u64			arrivals;
};

/**
 * struct htw_oracle_view - what one look at the array finds
 * @due: live entries that must have been handed out
 * @earliest_tick: the earliest last_tick of a live entry, HTW_TICK_NONE without one
 */
struct htw_oracle_view {
	u32			due;
	u64			earliest_tick;
};

int htw_oracle_init(struct htw_oracle *oracle, u32 size);
void htw_oracle_exit(struct htw_oracle *oracle);
void htw_oracle_add(struct htw_oracle *oracle, u32 index, u64 tick, u64 granule, u64 clock_tick);
void htw_oracle_del(struct htw_oracle *oracle, u32 index);
struct htw_oracle_view htw_oracle_look(const struct htw_oracle *oracle, u64 now_tick);
u32 htw_oracle_find_live(const struct htw_oracle *oracle, u32 from);

#endif /* HTW_KUNIT_ORACLE_H */
