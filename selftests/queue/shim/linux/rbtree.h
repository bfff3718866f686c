/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: the part of the kernel's tree that the designs use, as a treap: a search tree that is a
 * heap by random numbers, which keeps it about as deep as a balanced one.
 */
#ifndef SHIM_LINUX_RBTREE_H
#define SHIM_LINUX_RBTREE_H

#include <stdint.h>

#include <linux/container_of.h>
#include <linux/types.h>

struct rb_node {
	struct rb_node	*parent;
	struct rb_node	*left;
	struct rb_node	*right;
	uint32_t	weight;
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
#define rb_parent(rb)		((rb)->parent)
#define rb_first_cached(root)	((root)->rb_leftmost)

static inline uint32_t shim_rb_random(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 16;
}

/* Where the tree points to @rb. */
static inline struct rb_node **shim_rb_link(struct rb_root *root, struct rb_node *rb)
{
	if (!rb->parent)
		return &root->rb_node;
	return rb->parent->left == rb ? &rb->parent->left : &rb->parent->right;
}

/* Turn @rb up, in the place of its parent. */
static inline void shim_rb_rotate(struct rb_root *root, struct rb_node *rb)
{
	struct rb_node *parent = rb->parent, *inner;

	*shim_rb_link(root, parent) = rb;
	rb->parent = parent->parent;
	if (parent->left == rb) {
		inner = rb->right;
		rb->right = parent;
		parent->left = inner;
	} else {
		inner = rb->left;
		rb->left = parent;
		parent->right = inner;
	}
	parent->parent = rb;
	if (inner)
		inner->parent = parent;
}

static inline struct rb_node *rb_first(const struct rb_root *root)
{
	struct rb_node *rb = root->rb_node;

	while (rb && rb->left)
		rb = rb->left;
	return rb;
}

static inline struct rb_node *rb_next(const struct rb_node *rb)
{
	struct rb_node *parent;

	if (rb->right) {
		for (parent = rb->right; parent->left;)
			parent = parent->left;
		return parent;
	}
	for (parent = rb->parent; parent && rb == parent->right; parent = rb->parent)
		rb = parent;
	return parent;
}

static inline void rb_add_cached(struct rb_node *rb, struct rb_root_cached *tree,
				 bool (*less)(struct rb_node *, const struct rb_node *))
{
	struct rb_node **link = &tree->rb_root.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = less(rb, parent) ? &parent->left : &parent->right;
	}
	*rb = (struct rb_node){ .parent = parent, .weight = shim_rb_random() };
	*link = rb;
	while (rb->parent && rb->weight < rb->parent->weight)
		shim_rb_rotate(&tree->rb_root, rb);
	tree->rb_leftmost = rb_first(&tree->rb_root);
}

static inline void rb_erase_cached(struct rb_node *rb, struct rb_root_cached *tree)
{
	struct rb_node *child;

	while (rb->left && rb->right)
		shim_rb_rotate(&tree->rb_root, rb->left->weight < rb->right->weight ? rb->left :
										      rb->right);
	child = rb->left ? rb->left : rb->right;
	*shim_rb_link(&tree->rb_root, rb) = child;
	if (child)
		child->parent = rb->parent;
	tree->rb_leftmost = rb_first(&tree->rb_root);
}

static inline void rb_replace_node_cached(struct rb_node *victim, struct rb_node *by,
					  struct rb_root_cached *tree)
{
	*shim_rb_link(&tree->rb_root, victim) = by;
	*by = *victim;
	if (by->left)
		by->left->parent = by;
	if (by->right)
		by->right->parent = by;
	if (tree->rb_leftmost == victim)
		tree->rb_leftmost = by;
}

#endif /* SHIM_LINUX_RBTREE_H */
