/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The deadline table of one owner.
 */
#ifndef HTW_TABLE_H
#define HTW_TABLE_H

#include <linux/types.h>

#include "area.h"

/**
 * struct htw_table - a deadline table; constant after creation, but for the words
 * @area: a word for each timer, which userspace writes
 * @entries: words
 * @offset_ns: what the time namespace of its maker adds to the clock
 */
struct htw_table {
	struct htw_area		area;
	u32			entries;
	s64			offset_ns;
};

struct htw_table *htw_table_create(u32 entries, s64 offset_ns);
void htw_table_destroy(struct htw_table *table);
void htw_table_reset(struct htw_table *table, u32 index);
u64 htw_table_deadline_ns(const struct htw_table *table, u32 index, u64 deadline_ns);

#endif /* HTW_TABLE_H */
