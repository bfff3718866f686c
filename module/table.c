// SPDX-License-Identifier: GPL-2.0
/*
 * The deadline table: what userspace says of its timers' deadlines, in memory that it can write at
 * any moment.
 *
 * Nobody is told when a word changes. It is looked at when the timer comes up, and when somebody
 * asks for the timer's deadline; each time it is read once, and what was read is judged and used,
 * so that it may change as it likes. It can make a timer later, and nothing else.
 */
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/slab.h>

#include <linux/htwheel.h>

#include <kunit/visibility.h>

#include "clock.h"
#include "table.h"

/**
 * htw_table_create() - make a table whose words are 0
 * @entries: words, at least 1
 * @offset_ns: what the caller's time namespace adds to the clock
 *
 * Context: task; may sleep. Memory is charged to the caller.
 * Return: the table, or NULL without memory.
 */
struct htw_table *htw_table_create(u32 entries, s64 offset_ns)
{
	struct htw_table *table = kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);

	if (!table)
		return NULL;
	if (htw_area_init(&table->area, (u64)entries * sizeof(u64))) {
		kfree(table);
		return NULL;
	}
	table->entries = entries;
	table->offset_ns = offset_ns;
	return table;
}
EXPORT_SYMBOL_IF_KUNIT(htw_table_create);

/**
 * htw_table_destroy() - free a table
 * @table: the table, or NULL
 *
 * Context: task; may sleep.
 */
void htw_table_destroy(struct htw_table *table)
{
	if (!table)
		return;
	htw_area_destroy(&table->area);
	kfree(table);
}
EXPORT_SYMBOL_IF_KUNIT(htw_table_destroy);

static u64 *table_word(const struct htw_table *table, u32 index)
{
	u64 *words = table->area.memory;

	/* Places whose names are used up make room for further ones, for which there is no word. */
	if (index >= table->entries)
		return NULL;
	return &words[array_index_nospec(index, table->entries)];
}

/**
 * htw_table_reset() - forget what the table says of a timer
 * @table: the table
 * @index: the timer's index
 *
 * Context: any.
 */
void htw_table_reset(struct htw_table *table, u32 index)
{
	u64 *word = table_word(table, index);

	if (word)
		WRITE_ONCE(*word, 0);
}

/**
 * htw_table_deadline_ns() - the deadline of a timer, postponed by what the table says
 * @table: the table
 * @index: the timer's index
 * @deadline_ns: its deadline, at most HTWHEEL_NEVER_NS
 *
 * Context: any.
 * Return: the later one of @deadline_ns and the word, if that is a time.
 */
u64 htw_table_deadline_ns(const struct htw_table *table, u32 index, u64 deadline_ns)
{
	const u64 *word = table_word(table, index);
	u64 value;

	if (!word)
		return deadline_ns;
	value = READ_ONCE(*word);
	/* 0 is no time, but a hole in the table, even where the namespace's clock began before. */
	if (!value || value > HTWHEEL_NEVER_NS)
		return deadline_ns;
	return max(deadline_ns, htw_clock_from_user(value, table->offset_ns));
}
EXPORT_SYMBOL_IF_KUNIT(htw_table_deadline_ns);
