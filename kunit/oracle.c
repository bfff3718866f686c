// SPDX-License-Identifier: GPL-2.0
/*
 * The oracle: a flat array.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "queue/queue.h"

#include "oracle.h"

/**
 * htw_oracle_init() - make an oracle without live entries
 * @oracle: the oracle
 * @size: entries
 *
 * Context: task, may sleep.
 * Return: 0 or -ENOMEM.
 */
int htw_oracle_init(struct htw_oracle *oracle, u32 size)
{
	*oracle = (struct htw_oracle){ .size = size };
	oracle->entry = kvcalloc(size, sizeof(*oracle->entry), GFP_KERNEL);
	return oracle->entry ? 0 : -ENOMEM;
}

/**
 * htw_oracle_exit() - free an oracle's array
 * @oracle: the oracle
 *
 * Context: task, may sleep.
 */
void htw_oracle_exit(struct htw_oracle *oracle)
{
	kvfree(oracle->entry);
}

/**
 * htw_oracle_add() - note that a timer enters the queue
 * @oracle: the oracle
 * @index: the timer
 * @tick: its tick
 * @granule: how much later it may be handed out
 * @clock_tick: the queue's clock
 *
 * Context: any.
 */
void htw_oracle_add(struct htw_oracle *oracle, u32 index, u64 tick, u64 granule, u64 clock_tick)
{
	oracle->entry[index] = (struct htw_oracle_entry){
		.tick		= tick,
		.last_tick	= granule < HTW_TICK_MAX - tick ? tick + granule : HTW_TICK_MAX,
		.key		= max(tick, clock_tick),
		.order		= oracle->arrivals++,
		.live		= true,
	};
	oracle->nr++;
}

/**
 * htw_oracle_del() - note that a timer leaves the queue
 * @oracle: the oracle
 * @index: the timer; the rest of its entry stays readable
 *
 * Context: any.
 */
void htw_oracle_del(struct htw_oracle *oracle, u32 index)
{
	oracle->entry[index].live = false;
	oracle->nr--;
}

/**
 * htw_oracle_look() - look at every entry
 * @oracle: the oracle
 * @now_tick: the time
 *
 * Context: any.
 * Return: how many are due, and the earliest tick.
 */
struct htw_oracle_view htw_oracle_look(const struct htw_oracle *oracle, u64 now_tick)
{
	struct htw_oracle_view view = { .earliest_tick = HTW_TICK_NONE };
	const struct htw_oracle_entry *entry;

	for (entry = oracle->entry; entry < oracle->entry + oracle->size; entry++) {
		if (!entry->live)
			continue;
		view.due += entry->last_tick <= now_tick;
		view.earliest_tick = min(view.earliest_tick, entry->last_tick);
	}
	return view;
}

/**
 * htw_oracle_find_live() - the next live entry, going round the array
 * @oracle: the oracle, which has a live entry
 * @from: index to start from
 *
 * Context: any.
 * Return: its index.
 */
u32 htw_oracle_find_live(const struct htw_oracle *oracle, u32 from)
{
	while (!oracle->entry[from].live)
		from = from + 1 < oracle->size ? from + 1 : 0;
	return from;
}
