// SPDX-License-Identifier: GPL-2.0
/*
 * Areas: single pages, so that neither side needs contiguous memory, mapped into the kernel once
 * and into userspace on demand.
 *
 * Who maps an area holds references to its pages and, through the mapping, to the open file; so
 * neither munmap, close nor fork in any order can show a page that has been freed (FAULTS B79).
 */
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "area.h"
#include "compat.h"

/* The user's; one who is at the limit of memory is told so, and not killed for asking. */
#define AREA_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

/**
 * htw_area_init() - make an area
 * @area: zeroed memory
 * @bytes: how long it is at least, not 0; it has whole pages, all zero
 *
 * Context: task; may sleep. Memory is charged to the caller.
 * Return: 0, or -ENOMEM, and then @area is as it was.
 */
int htw_area_init(struct htw_area *area, u64 bytes)
{
	u64 nr = DIV_ROUND_UP_ULL(bytes, PAGE_SIZE);
	struct htw_area new = {};

	if (nr > INT_MAX)
		return -ENOMEM;
	new.pages = kvcalloc(nr, sizeof(*new.pages), AREA_GFP);
	if (!new.pages)
		return -ENOMEM;
	while (new.nr_pages < nr) {
		new.pages[new.nr_pages] = alloc_page(AREA_GFP | __GFP_ZERO);
		if (!new.pages[new.nr_pages])
			goto fail;
		new.nr_pages++;
		/* A million pages take their time. */
		if (fatal_signal_pending(current))
			goto fail;
		cond_resched();
	}
	new.memory = vmap(new.pages, new.nr_pages, VM_MAP, PAGE_KERNEL);
	if (!new.memory)
		goto fail;
	*area = new;
	return 0;
fail:
	htw_area_destroy(&new);
	return -ENOMEM;
}

/**
 * htw_area_destroy() - free an area
 * @area: an area, or zeroed memory. The pages themselves live on while userspace has them mapped
 *
 * Context: task; may sleep.
 */
void htw_area_destroy(struct htw_area *area)
{
	if (area->memory)
		vunmap(area->memory);
	while (area->nr_pages)
		__free_page(area->pages[--area->nr_pages]);
	kvfree(area->pages);
}

/**
 * htw_area_map() - show an area to userspace
 * @area: the area
 * @vma: a new mapping, of the area's beginning, that is not longer than the area
 * @writable: userspace may write to it
 *
 * Context: task, mmap lock held; may sleep.
 * Return: 0, -EINVAL, -EACCES, -ENOMEM.
 */
int htw_area_map(const struct htw_area *area, struct vm_area_struct *vma, bool writable)
{
	unsigned long nr = vma_pages(vma);

	/*
	 * Writes to a private mapping would get nowhere. (VM_SHARED is not set if the file is open
	 * for reading only.)
	 */
	if (!(vma->vm_flags & VM_MAYSHARE) || nr > area->nr_pages)
		return -EINVAL;
	if (!writable && vma->vm_flags & VM_WRITE)
		return -EACCES;
	/* Nor by mprotect(2) later. */
	if (!writable)
		vm_flags_clear(vma, VM_MAYWRITE);
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	return vm_map_pages_zero(vma, area->pages, nr);
}
