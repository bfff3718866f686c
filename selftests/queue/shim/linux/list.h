/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: circular lists with a head, as the kernel's, with the checks that the kernel has
 * under CONFIG_DEBUG_LIST: a node that is put in or taken out where the links do not fit is an
 * abort.
 */
#ifndef SHIM_LINUX_LIST_H
#define SHIM_LINUX_LIST_H

#include <linux/container_of.h>
#include <linux/types.h>
#include <must.h>

/* What a deleted node points to. */
#define SHIM_LIST_POISON	((struct list_head *)0x5a5a0000)

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void shim_list_link(struct list_head *before, struct list_head *after)
{
	before->next = after;
	after->prev = before;
}

static inline void shim_list_insert(struct list_head *node, struct list_head *before,
				    struct list_head *after)
{
	shim_must(before->next == after && after->prev == before);
	shim_must(node != before && node != after);
	shim_list_link(before, node);
	shim_list_link(node, after);
}

static inline void list_add(struct list_head *node, struct list_head *head)
{
	shim_list_insert(node, head, head->next);
}

static inline void list_add_tail(struct list_head *node, struct list_head *head)
{
	shim_list_insert(node, head->prev, head);
}

static inline void shim_list_remove(struct list_head *node)
{
	shim_must(node->next != SHIM_LIST_POISON);
	shim_must(node->next->prev == node && node->prev->next == node);
	shim_list_link(node->prev, node->next);
}

static inline void list_del(struct list_head *node)
{
	shim_list_remove(node);
	node->next = SHIM_LIST_POISON;
	node->prev = SHIM_LIST_POISON;
}

static inline void list_del_init(struct list_head *node)
{
	shim_list_remove(node);
	INIT_LIST_HEAD(node);
}

static inline void list_move_tail(struct list_head *node, struct list_head *head)
{
	shim_list_remove(node);
	list_add_tail(node, head);
}

/* Remove what lies between the two. */
static inline void __list_del(struct list_head *prev, struct list_head *next)
{
	shim_list_link(prev, next);
}

/* Move all of @list, which is empty then, to the tail of @head. */
static inline void list_splice_tail_init(struct list_head *list, struct list_head *head)
{
	if (list_empty(list))
		return;
	shim_list_link(head->prev, list->next);
	shim_list_link(list->prev, head);
	INIT_LIST_HEAD(list);
}

#define list_entry(node, type, member)		container_of(node, type, member)
#define list_first_entry(head, type, member)	list_entry((head)->next, type, member)
#define list_next_entry(pos, member) \
	list_entry((pos)->member.next, __typeof__(*(pos)), member)
#define list_entry_is_head(pos, head, member)	(&(pos)->member == (head))

#define list_for_each_entry(pos, head, member)					\
	for (pos = list_first_entry(head, __typeof__(*pos), member);		\
	     !list_entry_is_head(pos, head, member);				\
	     pos = list_next_entry(pos, member))

#define list_for_each_entry_reverse(pos, head, member)				\
	for (pos = list_entry((head)->prev, __typeof__(*pos), member);		\
	     !list_entry_is_head(pos, head, member);				\
	     pos = list_entry((pos)->member.prev, __typeof__(*(pos)), member))

#define list_for_each_entry_safe(pos, tmp, head, member)			\
	for (pos = list_first_entry(head, __typeof__(*pos), member),		\
	     tmp = list_next_entry(pos, member);				\
	     !list_entry_is_head(pos, head, member);				\
	     pos = tmp, tmp = list_next_entry(tmp, member))

#endif /* SHIM_LINUX_LIST_H */
