/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contract of a queue design: an ordered set of timers, keyed by tick.
 *
 * Pure code. A design takes no lock, reads no clock and allocates nothing while it adds, deletes or
 * advances: the caller (a base of the engine) serializes every call on one queue, passes the time
 * in, and reserves room beforehand. So the same files build in the kernel and in userspace, where
 * the sanitizers, fuzzers and model checkers run them. They may include list, bitmap, rbtree,
 * prefetch and allocation headers of <linux/...> and nothing else.
 *
 * Time. A tick is a number from 0 to HTW_TICK_MAX. The queue keeps a clock, which only the
 * advance() call moves, and only forward. When advance(now) comes back saying that nothing more is
 * to do, every node whose tick is at or before now has been handed out, and the clock stands at now
 * or later.
 *
 * Rules for every design (each a test in kunit/ and selftests/queue/):
 *
 * - A node is handed out only when now has reached its tick, and, of an exact design, by the first
 *   finished advance() after that. Of another one, at the latest granule() ticks later.
 * - A node with a tick at or before the clock is legal. It is due at once: next() returns a tick
 *   that is at or before the clock, and the next advance() hands it out.
 * - next() never lies behind the tick at which the earliest node has to be handed out. It may lie
 *   before it (the wheel wants to move timers down, or the earliest timer was deleted). It is
 *   HTW_TICK_NONE exactly if the queue is empty.
 * - advance() does at most budget units of work, a unit being one node handed out or moved, and can
 *   be called again with the same now to go on. A node that is looked at and left where it is
 *   counts as moved. It may use what is left of the budget to move nodes ahead of time. It may then
 *   be called with another now, and nodes may be added and deleted in between. With a budget of 0
 *   it moves the clock as far as that takes no work: the engine does this before it adds to a queue
 *   that has idled, so that the new node is placed by today's clock and not by that of the last
 *   pass.
 * - A node may be postponed where it lies, if the design can: it is given a later tick and counts,
 *   for all other rules, as deleted and added again with that tick. But the place of the node, and
 *   next(), may be as early as before. The pass that comes to the node at its old place moves it.
 * - now is at most HTW_TICK_MAX. One that lies before the clock is harmless: the clock stays, and
 *   no node leaves early. Whether nodes that are overdue leave then, or when now has caught up with
 *   the clock, is the design's.
 */
#ifndef HTW_QUEUE_H
#define HTW_QUEUE_H

#include <linux/list.h>
#include <linux/types.h>

/* "No tick": the next expiry of an empty queue. Later than every tick. */
#define HTW_TICK_NONE	U64_MAX
#define HTW_TICK_MAX	(U64_MAX - 1)

/*
 * Where internal counters start. A test build starts them just below the wrap of 32 bits, so that
 * the suites cross it (FAULTS B40, B59).
 */
#ifndef HTW_COUNTER_START
#define HTW_COUNTER_START	0
#endif

/* The most levels that a design may have. */
#define HTW_MAX_LEVELS	16

/**
 * struct htw_node - a timer as its queue sees it
 * @link: list linkage; free for other use (due list, ready list) while the node is in no queue
 * @index: position in the heap's array
 * @seq: order of arrival, for designs that keep it among equal ticks
 * @tick: the key; set by the caller before add() and, while queued, changed by postpone() only
 */
struct htw_node {
	union {
		struct list_head	link;
		struct {
			u64		index;
			u64		seq;
		};
	};
	u64				tick;
};

/**
 * struct htw_geometry - the shape of a queue of a design that has levels
 * @levels: levels, 0 if the design has none
 * @radix: for each level, the lowest first: so many of its slots make one of the next level (of a
 *	design whose levels overlap: so many slots the level has)
 */
struct htw_geometry {
	u32				levels;
	u32				radix[HTW_MAX_LEVELS];
};

/**
 * struct htw_queue - what all designs have; the design's own struct begins with it
 * @design: the design
 * @clock_tick: the queue's clock; see the top of this file
 * @nr: nodes in the queue
 * @geometry: the shape
 */
struct htw_queue {
	const struct htw_design		*design;
	u64				clock_tick;
	u64				nr;
	struct htw_geometry		geometry;
};

/**
 * struct htw_work - what advance() calls did; they add to it
 * @due: nodes handed out
 * @moves: nodes moved to another slot
 * @slots: slots (or heap tops) looked at
 */
struct htw_work {
	u64				due;
	u64				moves;
	u64				slots;
};

/**
 * struct htw_place - where a node sits, for pictures and checks
 * @level: level of the wheel, or depth in the heap. Of a node that is on its way from one level to
 *	another, the one that it is moved to; of one that was postponed, the one where it belongs
 * @slot: slot of the level, or index in the array
 */
struct htw_place {
	u32				level;
	u64				slot;
};

/**
 * struct htw_queue_config - what create() is to make
 * @tick_bits: bits of the highest tick
 * @clock_tick: where the clock stands
 * @geometry: the shape, one that fits() has allowed; all 0 if the design has no levels
 * @numa: memory node
 */
struct htw_queue_config {
	unsigned int			tick_bits;
	u64				clock_tick;
	struct htw_geometry		geometry;
	int				numa;
};

/* Equal ticks leave the queue in the order in which they entered it. */
#define HTW_DESIGN_FIFO		(1U << 0)
/* next() is the earliest tick itself, after each call. */
#define HTW_DESIGN_PRECISE	(1U << 1)
/* One add() may look at all nodes, or one pass at all nodes for each that is due. */
#define HTW_DESIGN_LINEAR	(1U << 2)

/**
 * struct htw_design - one design
 * @name: as in INFO and in the module parameter; shorter than 16 characters
 * @about: what it is, in a few words; shorter than 64 characters
 * @costs: of add, del, and hand-out, for n nodes; shorter than 32 characters
 * @flags: HTW_DESIGN_...
 * @windows: slots that a level has, divided by its radix; 0 if there are no levels
 * @geometries: shapes that are of interest, the default first, ended by one of no levels; the tests
 *	run with each. NULL if the design has no levels
 * @fits: can a queue have this shape, with ticks of so many bits? Only asked about shapes with 1 to
 *	HTW_MAX_LEVELS levels and radices from 2 to 65536. NULL if the design has no levels
 * @granule: how many ticks after its tick a node may be handed out that is added @left ticks before
 *	it. NULL: none, the design is exact
 * @create: make an empty queue; NULL without memory. May sleep. Memory is charged to the caller
 * @destroy: free the queue, which must be empty. May sleep.
 * @reserve: make room for @nr nodes in all, or give back what is beyond; 0 or -ENOMEM, and then the
 *	room is what it was. NULL if the design needs no room. May sleep; may run while other calls
 *	on the queue do, as long as reserve() calls exclude each other and @nr is never below the
 *	number of nodes that are queued or may be queued meanwhile.
 * @add: put @node in; true if next() is earlier than it was before
 * @del: take @node out
 * @postpone: give @node, which must be queued, the tick @tick, which is not before the one that it
 *	has, and touch nothing but @node. next() stays what it is. NULL: the design cannot, and the
 *	caller uses del() and add()
 * @fetch: begin to fetch what del() of @node will touch besides @node. A hint: @node may be in
 *	the queue or not, and other calls may run. NULL: nothing that is worth it
 * @next: the tick to advance to next, or HTW_TICK_NONE
 * @advance: hand out, at the tail of @due, the nodes that are due at @now, in the order of their
 *	ticks (an exact design); true if work is left that @budget did not allow. @due may be NULL
 *	if @budget is 0.
 * @take: move up to @max nodes, in any order, to the tail of @out and say how many; the clock
 *	stays. For the CPU that goes away.
 * @check: walk the whole structure and prove its invariants; 0, or the number of the line that
 *	found one broken. For tests; takes as long as it takes.
 * @place: where @node, which must be queued, sits. Short: users may ask for each of a million
 */
struct htw_design {
	const char	*name;
	const char	*about;
	const char	*costs;
	unsigned int	flags;
	unsigned int	windows;
	const struct htw_geometry *geometries;
	bool		(*fits)(const struct htw_geometry *geometry, unsigned int tick_bits);
	u64		(*granule)(u64 left);
	struct htw_queue *(*create)(const struct htw_queue_config *config);
	void		(*destroy)(struct htw_queue *queue);
	int		(*reserve)(struct htw_queue *queue, u64 nr);
	bool		(*add)(struct htw_queue *queue, struct htw_node *node);
	void		(*del)(struct htw_queue *queue, struct htw_node *node);
	void		(*postpone)(struct htw_queue *queue, struct htw_node *node, u64 tick);
	void		(*fetch)(const struct htw_node *node);
	u64		(*next)(const struct htw_queue *queue);
	bool		(*advance)(struct htw_queue *queue, u64 now, u64 budget,
				   struct list_head *due, struct htw_work *work);
	u64		(*take)(struct htw_queue *queue, u64 max, struct list_head *out);
	int		(*check)(const struct htw_queue *queue);
	struct htw_place (*place)(const struct htw_queue *queue, const struct htw_node *node);
};

/*
 * All designs, ended by NULL; the first is the default. A new design is its file and a line in
 * designs.h.
 */
extern const struct htw_design *const htw_designs[];

const struct htw_design *htw_design_find(const char *name);
bool htw_design_fits(const struct htw_design *design, const struct htw_geometry *geometry,
		     unsigned int tick_bits);
struct htw_geometry htw_design_default(const struct htw_design *design);
u32 htw_geometry_radix(const struct htw_geometry *geometry);
const struct htw_design *htw_design_row(unsigned int index, struct htw_geometry *geometry);

#endif /* HTW_QUEUE_H */
