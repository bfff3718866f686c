/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Areas: memory that the module and userspace both see.
 */
#ifndef HTW_AREA_H
#define HTW_AREA_H

#include <linux/types.h>

struct page;
struct vm_area_struct;

/**
 * struct htw_area - pages that are mapped in the kernel, and may be in userspace
 * @memory: where the kernel sees them
 * @pages: they
 * @nr_pages: how many
 */
struct htw_area {
	void			*memory;
	struct page		**pages;
	unsigned long		nr_pages;
};

int htw_area_init(struct htw_area *area, u64 bytes);
void htw_area_destroy(struct htw_area *area);
int htw_area_map(const struct htw_area *area, struct vm_area_struct *vma, bool writable);

#endif /* HTW_AREA_H */
