// SPDX-License-Identifier: GPL-2.0
/*
 * The red-black tree, its first node at hand: what hrtimers are kept in.
 *
 * A search tree by tick that rebalances itself with a few rotations, so that no path is more than
 * twice as long as another. Add and delete cost log2(n) steps, each a cache line of its own; that
 * is where an array heap wins. The first node is remembered, so the next expiry is a look at it,
 * and exact. Walking in order, which no timer queue needs, would be free.
 *
 * A timer has one cache line, and its node has no room for a tree node (three words and the tick).
 * So the tree's entries lie in a growing array, and node->index tells which. The entries in use are
 * kept together at its beginning: when one becomes free, the last one moves there, which costs one
 * replacement in the tree and lets reserve() give back memory without touching the tree.
 *
 * Example. Ticks 3, 5, 9 are the tree 5(3, 9), entries 0 to 2. Deleting 3, entry 0, leaves 5(-, 9);
 * 9 moves from entry 2 to entry 0, and the tree points there.
 *
 * Of equal ticks the new one goes to the right, so they leave in the order of arrival.
 *
 * Sources: "A dichromatic framework for balanced trees", FOCS 1978; linux: lib/rbtree.c, used as it
 * is, and kernel/time/hrtimer.c for the idea.
 */
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/rbtree.h>
#include <linux/slab.h>

#include "array.h"
#include "designs.h"

/**
 * struct tree_entry - a place in the tree
 * @rb: the tree's
 * @node: whose place; its index is this entry's
 */
struct tree_entry {
	struct rb_node		rb;
	struct htw_node		*node;
};

/**
 * struct htw_tree - a red-black tree
 * @queue: the common part; its nr is the number of entries in use
 * @root: the tree
 * @array: of struct tree_entry
 */
struct htw_tree {
	struct htw_queue	queue;
	struct rb_root_cached	root;
	struct htw_array	array;
};

static struct htw_tree *to_tree(struct htw_queue *queue)
{
	return container_of(queue, struct htw_tree, queue);
}

static struct tree_entry *tree_at(const struct htw_tree *tree, u64 index)
{
	return htw_array_at(&tree->array, index, sizeof(struct tree_entry));
}

static u64 tree_tick(const struct rb_node *rb)
{
	return rb_entry(rb, const struct tree_entry, rb)->node->tick;
}

static bool tree_less(struct rb_node *a, const struct rb_node *b)
{
	return tree_tick(a) < tree_tick(b);
}

static u64 tree_next(const struct htw_queue *queue)
{
	const struct htw_tree *tree = container_of(queue, const struct htw_tree, queue);

	return queue->nr ? tree_tick(rb_first_cached(&tree->root)) : HTW_TICK_NONE;
}

static bool tree_add(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_tree *tree = to_tree(queue);
	struct tree_entry *entry = tree_at(tree, queue->nr);
	u64 before = tree_next(queue);

	node->index = queue->nr++;
	entry->node = node;
	rb_add_cached(&entry->rb, &tree->root, tree_less);
	return node->tick < before;
}

static void tree_del(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_tree *tree = to_tree(queue);
	struct tree_entry *entry = tree_at(tree, node->index);
	struct tree_entry *last = tree_at(tree, --queue->nr);

	rb_erase_cached(&entry->rb, &tree->root);
	if (entry == last)
		return;
	rb_replace_node_cached(&last->rb, &entry->rb, &tree->root);
	entry->node = last->node;
	entry->node->index = node->index;
}

static bool tree_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			 struct htw_work *work)
{
	struct htw_tree *tree = to_tree(queue);
	struct htw_node *node;

	for (; tree_next(queue) <= now; budget--) {
		if (!budget)
			return true;
		node = rb_entry(rb_first_cached(&tree->root), struct tree_entry, rb)->node;
		tree_del(queue, node);
		list_add_tail(&node->link, due);
		work->slots++;
		work->due++;
	}
	queue->clock_tick = max(queue->clock_tick, now);
	return false;
}

/* From the end of the array, where nothing has to take a place. */
static u64 tree_take(struct htw_queue *queue, u64 max, struct list_head *out)
{
	struct htw_tree *tree = to_tree(queue);
	struct htw_node *node;
	u64 taken;

	for (taken = 0; taken < max && queue->nr; taken++) {
		node = tree_at(tree, queue->nr - 1)->node;
		tree_del(queue, node);
		list_add_tail(&node->link, out);
	}
	return taken;
}

static struct htw_place tree_place(const struct htw_queue *queue, const struct htw_node *node)
{
	const struct htw_tree *tree = container_of(queue, const struct htw_tree, queue);
	const struct rb_node *rb = &tree_at(tree, node->index)->rb;
	struct htw_place place = { .slot = node->index };

	while ((rb = rb_parent(rb)))
		place.level++;
	return place;
}

/*
 * That the tree is balanced is the kernel's business; that it is in order, and complete, is ours.
 */
static int tree_check(const struct htw_queue *queue)
{
	const struct htw_tree *tree = container_of(queue, const struct htw_tree, queue);
	const struct tree_entry *entry;
	const struct rb_node *rb;
	u64 nr = 0, last = 0;

	for (rb = rb_first(&tree->root.rb_root); rb; rb = rb_next(rb)) {
		entry = rb_entry(rb, const struct tree_entry, rb);
		if (!nr && rb != rb_first_cached(&tree->root))
			return __LINE__;
		if (entry->node->index >= queue->nr || tree_at(tree, entry->node->index) != entry)
			return __LINE__;
		if (entry->node->tick < last)
			return __LINE__;
		last = entry->node->tick;
		nr++;
	}
	return nr == queue->nr ? 0 : __LINE__;
}

static int tree_reserve(struct htw_queue *queue, u64 nr)
{
	return htw_array_reserve(&to_tree(queue)->array, nr, sizeof(struct tree_entry));
}

static struct htw_queue *tree_create(const struct htw_queue_config *config)
{
	struct htw_tree *tree;

	tree = kzalloc_node(sizeof(*tree), GFP_KERNEL_ACCOUNT, config->numa);
	if (!tree)
		return NULL;
	tree->queue.design = &htw_rbtree_design;
	tree->queue.clock_tick = config->clock_tick;
	tree->root = RB_ROOT_CACHED;
	return &tree->queue;
}

static void tree_destroy(struct htw_queue *queue)
{
	tree_reserve(queue, 0);
	kfree(to_tree(queue));
}

const struct htw_design htw_rbtree_design = {
	.name		= "rbtree",
	.about		= "red-black tree, first node cached",
	.costs		= "log n / log n / log n",
	.flags		= HTW_DESIGN_FIFO | HTW_DESIGN_PRECISE,
	.create		= tree_create,
	.destroy	= tree_destroy,
	.reserve	= tree_reserve,
	.add		= tree_add,
	.del		= tree_del,
	.next		= tree_next,
	.advance	= tree_advance,
	.take		= tree_take,
	.check		= tree_check,
	.place		= tree_place,
};
