/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: a red-black tree, for measuring. What the tests have in its place is shorter, but some 40 %
 * deeper, and a rival that is measured has to be a good one. So this one does what the kernel's
 * does: three words a node, the colour in the parent's low bit, the first node cached.
 *
 * The rules: the root is black; a red node has black children; all ways from the root down meet the
 * same number of black nodes. A tree of n nodes is then at most 2 log2(n + 1) deep. Both repairs
 * are the textbook's, for both sides at once: @side is the one where the fault is.
 */
#ifndef BENCH_LINUX_RBTREE_H
#define BENCH_LINUX_RBTREE_H

#include <linux/container_of.h>
#include <linux/types.h>

#define RB_BLACK	1UL

struct rb_node {
	unsigned long	parent_colour;
	struct rb_node	*child[2];
};

struct rb_root {
	struct rb_node	*rb_node;
};

struct rb_root_cached {
	struct rb_root	rb_root;
	struct rb_node	*rb_leftmost;
};

#define RB_ROOT_CACHED		(struct rb_root_cached){ { NULL }, NULL }
#define rb_entry(rb, type, member)	container_of(rb, type, member)
#define rb_parent(rb)		((struct rb_node *)((rb)->parent_colour & ~RB_BLACK))
#define rb_first_cached(root)	((root)->rb_leftmost)

static inline bool rb_is_red(const struct rb_node *rb)
{
	return rb && !(rb->parent_colour & RB_BLACK);
}

static inline void rb_paint(struct rb_node *rb, unsigned long colour)
{
	rb->parent_colour = (rb->parent_colour & ~RB_BLACK) | colour;
}

static inline void rb_set_parent(struct rb_node *rb, struct rb_node *parent)
{
	rb->parent_colour = (unsigned long)parent | (rb->parent_colour & RB_BLACK);
}

/* Let what points to @old, a child of @parent or the root, point to @new. */
static inline void rb_change_child(struct rb_root *root, struct rb_node *parent,
				   const struct rb_node *old, struct rb_node *new)
{
	if (!parent)
		root->rb_node = new;
	else
		parent->child[parent->child[1] == old] = new;
}

/* Turn @rb down to @side; its child of the other side takes its place. */
static inline void rb_rotate(struct rb_root *root, struct rb_node *rb, int side)
{
	struct rb_node *up = rb->child[!side], *parent = rb_parent(rb);

	rb->child[!side] = up->child[side];
	if (rb->child[!side])
		rb_set_parent(rb->child[!side], rb);
	up->child[side] = rb;
	rb_set_parent(up, parent);
	rb_change_child(root, parent, rb, up);
	rb_set_parent(rb, up);
}

/* @rb is new, and red; so may be its parent. */
static inline void rb_repair_added(struct rb_root *root, struct rb_node *rb)
{
	struct rb_node *parent, *above, *other;
	int side;

	while (parent = rb_parent(rb), rb_is_red(parent)) {
		above = rb_parent(parent);
		side = parent == above->child[1];
		other = above->child[!side];
		if (!rb_is_red(other)) {
			if (rb == parent->child[!side]) {
				rb_rotate(root, parent, side);
				parent = rb;
			}
			rb_paint(parent, RB_BLACK);
			rb_paint(above, 0);
			rb_rotate(root, above, !side);
			break;
		}
		rb_paint(parent, RB_BLACK);
		rb_paint(other, RB_BLACK);
		rb_paint(above, 0);
		rb = above;
	}
	rb_paint(root->rb_node, RB_BLACK);
}

/* The ways through @rb, which is below @parent and may be none, lack a black node. */
static inline void rb_repair_erased(struct rb_root *root, struct rb_node *rb,
				    struct rb_node *parent)
{
	struct rb_node *other;
	int side;

	for (; parent && !rb_is_red(rb); rb = parent, parent = rb_parent(rb)) {
		side = rb == parent->child[1];
		other = parent->child[!side];
		if (rb_is_red(other)) {
			rb_paint(other, RB_BLACK);
			rb_paint(parent, 0);
			rb_rotate(root, parent, side);
			other = parent->child[!side];
		}
		if (!rb_is_red(other->child[0]) && !rb_is_red(other->child[1])) {
			rb_paint(other, 0);
			continue;
		}
		if (!rb_is_red(other->child[!side])) {
			rb_paint(other->child[side], RB_BLACK);
			rb_paint(other, 0);
			rb_rotate(root, other, !side);
			other = parent->child[!side];
		}
		rb_paint(other, parent->parent_colour & RB_BLACK);
		rb_paint(parent, RB_BLACK);
		rb_paint(other->child[!side], RB_BLACK);
		rb_rotate(root, parent, side);
		return;
	}
	if (rb)
		rb_paint(rb, RB_BLACK);
}

static inline struct rb_node *rb_first(const struct rb_root *root)
{
	struct rb_node *rb = root->rb_node;

	while (rb && rb->child[0])
		rb = rb->child[0];
	return rb;
}

static inline struct rb_node *rb_next(const struct rb_node *rb)
{
	struct rb_node *parent;

	if (rb->child[1]) {
		for (parent = rb->child[1]; parent->child[0];)
			parent = parent->child[0];
		return parent;
	}
	for (parent = rb_parent(rb); parent && rb == parent->child[1]; parent = rb_parent(rb))
		rb = parent;
	return parent;
}

static inline void rb_add_cached(struct rb_node *rb, struct rb_root_cached *tree,
				 bool (*less)(struct rb_node *, const struct rb_node *))
{
	struct rb_node **link = &tree->rb_root.rb_node, *parent = NULL;
	bool first = true;

	while (*link) {
		parent = *link;
		if (less(rb, parent)) {
			link = &parent->child[0];
		} else {
			link = &parent->child[1];
			first = false;
		}
	}
	if (first)
		tree->rb_leftmost = rb;
	*rb = (struct rb_node){ .parent_colour = (unsigned long)parent };
	*link = rb;
	rb_repair_added(&tree->rb_root, rb);
}

/* Put @by in the place of @rb: what is below it, what is above it, its colour. */
static inline void rb_substitute(struct rb_root *root, struct rb_node *rb, struct rb_node *by)
{
	*by = *rb;
	if (by->child[0])
		rb_set_parent(by->child[0], by);
	if (by->child[1])
		rb_set_parent(by->child[1], by);
	rb_change_child(root, rb_parent(rb), rb, by);
}

static inline void rb_erase_cached(struct rb_node *rb, struct rb_root_cached *tree)
{
	struct rb_node *out = rb, *child, *parent;
	bool was_red;

	if (tree->rb_leftmost == rb)
		tree->rb_leftmost = rb_next(rb);
	/* One with two children changes places with the next, which has one at most. */
	if (rb->child[0] && rb->child[1])
		for (out = rb->child[1]; out->child[0];)
			out = out->child[0];
	child = out->child[out->child[0] ? 0 : 1];
	parent = rb_parent(out);
	was_red = rb_is_red(out);
	if (child)
		rb_set_parent(child, parent);
	rb_change_child(&tree->rb_root, parent, out, child);
	if (out != rb) {
		rb_substitute(&tree->rb_root, rb, out);
		if (parent == rb)
			parent = out;
	}
	if (!was_red)
		rb_repair_erased(&tree->rb_root, child, parent);
}

static inline void rb_replace_node_cached(struct rb_node *victim, struct rb_node *by,
					  struct rb_root_cached *tree)
{
	rb_substitute(&tree->rb_root, victim, by);
	if (tree->rb_leftmost == victim)
		tree->rb_leftmost = by;
}

#endif /* BENCH_LINUX_RBTREE_H */
