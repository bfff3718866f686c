// SPDX-License-Identifier: GPL-2.0
/*
 * The memory that a context shares with userspace.
 */
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>

#include "shared.h"

/**
 * htw_shared_check() - is what SETUP says of shared memory valid?
 * @setup: the choices
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int htw_shared_check(const struct htwheel_setup *setup)
{
	u32 entries = setup->ring_entries;

	if (setup->reserved3)
		return -EINVAL;
	if (entries && (entries < 2 || entries > HTWHEEL_MAX_RING || !is_power_of_2(entries)))
		return -EINVAL;
	return 0;
}

/* Words for all indices that so many timers can have: each chunk has one place that is none. */
static u64 shared_table_entries(u64 max_timers)
{
	return div_u64(max_timers + HTW_CHUNK_PLACES - 2, HTW_CHUNK_PLACES - 1) * HTW_CHUNK_PLACES;
}

/**
 * htw_shared_create() - make the areas that SETUP asks for
 * @config: receives them
 * @setup: the choices; valid
 * @clock: the clock of the times in them
 * @max_timers: how many timers there may be
 *
 * Context: task; may sleep. Memory is charged to the caller.
 * Return: 0, or -ENOMEM and there are none.
 */
int htw_shared_create(struct htw_timers_config *config, const struct htwheel_setup *setup,
		      const struct htw_clock *clock, u64 max_timers)
{
	s64 offset_ns = htw_clock_user_offset_ns(clock);

	if (setup->ring_entries) {
		config->ring = htw_ring_create(setup->ring_entries, offset_ns);
		if (!config->ring)
			return -ENOMEM;
	}
	if (setup->flags & HTWHEEL_SETUP_TABLE) {
		config->table = htw_table_create(shared_table_entries(max_timers), offset_ns);
		if (!config->table) {
			htw_shared_destroy(config);
			return -ENOMEM;
		}
	}
	return 0;
}

/**
 * htw_shared_destroy() - free areas that nobody got
 * @config: where they are
 *
 * Context: task; may sleep.
 */
void htw_shared_destroy(struct htw_timers_config *config)
{
	htw_ring_destroy(config->ring);
	htw_table_destroy(config->table);
	config->ring = NULL;
	config->table = NULL;
}

/**
 * htw_shared_map() - mmap(2)
 * @timers: whose areas
 * @vma: the new mapping
 *
 * The owner's lock must not be taken inside the mmap lock: who makes an engine has it, and waits
 * for CPU hotplug, which waits for others. An area never changes once it is there, and the file
 * that is being mapped keeps it.
 *
 * Context: task, the mmap lock held; may sleep.
 * Return: 0; -EINVAL if there is no such area, or it is shorter, or the mapping is private; -EACCES
 * if it may not be written to; -ENOMEM.
 */
int htw_shared_map(const struct htw_timers *timers, struct vm_area_struct *vma)
{
	/* Both pair with htw_timers_setup(). */
	const struct htw_ring *ring = smp_load_acquire(&timers->ready.ring);
	/* As above. */
	const struct htw_table *table = smp_load_acquire(&timers->table);

	switch ((u64)vma->vm_pgoff << PAGE_SHIFT) {
	case HTWHEEL_MMAP_RING:
		return ring ? htw_area_map(&ring->area, vma, false) : -EINVAL;
	case HTWHEEL_MMAP_HEAD:
		return ring ? htw_area_map(&ring->head_area, vma, true) : -EINVAL;
	case HTWHEEL_MMAP_TABLE:
		return table ? htw_area_map(&table->area, vma, true) : -EINVAL;
	}
	return -EINVAL;
}
