// SPDX-License-Identifier: GPL-2.0
/*
 * The radix wheel: exact, covers every 64-bit tick, clamps nothing, and moves timers down ahead of
 * time.
 *
 * Cut time into slots of 64^n ticks, for each level n from 0. Call the number of the slot in which
 * a tick lies on a level its number there: tick >> 6n. Sixty-four slots of a level make one slot of
 * the next. Each level keeps two such windows of 64 slots: the one that the clock is in, and the
 * one that follows. A timer goes to *the lowest level of which one of the two windows holds its
 * tick*:
 *
 *	level	slot covers	level reaches	at a tick of 2^19 ns: slot	reach, at least
 *	0	1 tick		64..127 ticks	0.52 ms				33.6 ms
 *	1	64		64 times as far	33.6 ms				2.15 s
 *	2	4096				2.15 s				137 s
 *	3	2^18				137 s				2.44 h
 *	4	2^24				2.44 h				6.5 days
 *	5	2^30				6.5 days			417 days
 *	6	2^36				417 days			73 years
 *	7	2^42				73 years			all of 64 bits of ns
 *
 * Example. The clock is at 1000; on level 1 that is number 15 (960 to 1023), so level 0 holds the
 * ticks of the numbers 15 and 16: up to 1087. Tick 1030 goes to level 0 at once. Tick 1200 has
 * number 18 on level 1 and goes there. When the clock enters number 17, at 1088, number 18 comes
 * into reach of level 0: from now on the pass may move 1200 down, and it must have done so when the
 * clock enters 18, at 1152. At 1200 the timer is handed out.
 *
 * Why two windows. With one, as in the wheels that this one descends from, all timers of a slot
 * become movable at the moment when the first of them may be due. A million timers over 10 s put
 * some 200,000 into one slot of level 2; whoever is due while those are moved waits for 20 ms and
 * more. With two, the moves have the whole length of a slot (2.15 s on level 2) before anybody
 * waits for them: each pass does a few when it has handed out what is due. Only if they are not
 * done in time does the pass have to finish them first.
 *
 * What follows from the placing:
 *
 * - The timers in the slots of a level are all earlier than those of the next level, and within a
 *   level the slots come in the order of time, the clock's window first. So the first slot of a
 *   level is a find-first-set or two, and the next expiry is the earliest of the levels' next
 *   events.
 * - A timer moves at most once for each level, and leaves level 0 at its very tick.
 * - The top level holds every tick, so nothing has to be clamped or re-queued at a horizon.
 * - Between two events the clock may be set freely without touching a timer. That makes a long idle
 *   free.
 *
 * An event of a level is the moment when its first slot comes into reach of the level below (for
 * level 0: when it is due). So a timer alone on a high level wakes the CPU once for each level that
 * it passes. Slots in reach are emptied into the level's moving list; its last moment, the start of
 * that slot, is an event as well.
 *
 * An overdue timer (tick at or before the clock) goes to the level 0 slot of the clock itself,
 * which is due at once. Timers of one tick are handed out in no particular order.
 *
 * Sources: "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme 7; levels by the radix of the
 * remaining digits: "Faster Algorithms for the Shortest Path Problem" (radix heap), JACM 1990. The
 * second window is ours.
 */
#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "designs.h"

#define WHEEL_BITS		6
#define WHEEL_WINDOW		(1U << WHEEL_BITS)
#define WHEEL_WINDOWS		2
#define WHEEL_SLOTS		(WHEEL_WINDOW * WHEEL_WINDOWS)

/* A 64-bit tick has 11 digits of 6 bits. */
#define WHEEL_MAX_LEVELS	((64 + WHEEL_BITS - 1) / WHEEL_BITS)

/**
 * struct htw_wheel - a radix wheel
 * @queue: the common part
 * @next_tick: the next event, or earlier (deleting a timer leaves it); HTW_TICK_NONE if the queue
 *	is empty
 * @levels: levels in use
 * @level_map: bit n is set if a slot of level n is occupied
 * @moving_map: bit n is set if the moving list of level n is not empty
 * @occupied: for each level and window, bit n is set if slot n of the window is not empty. A window
 *	lies at its number modulo 2
 * @moving: for each level, the timers of the slot behind the clock's, on their way to the level
 *	below
 * @slot: the slots, level by level; a slot lies at its number modulo WHEEL_SLOTS
 */
struct htw_wheel {
	struct htw_queue	queue;
	u64			next_tick;
	unsigned int		levels;
	unsigned long		level_map;
	unsigned long		moving_map;
	u64			occupied[WHEEL_MAX_LEVELS][WHEEL_WINDOWS];
	struct list_head	moving[WHEEL_MAX_LEVELS];
	struct list_head	slot[];
};

static struct htw_wheel *to_wheel(struct htw_queue *queue)
{
	return container_of(queue, struct htw_wheel, queue);
}

static const struct htw_wheel *to_const_wheel(const struct htw_queue *queue)
{
	return container_of(queue, const struct htw_wheel, queue);
}

/* The number of the slot of @level in which @tick lies. Above the top there is one slot, 0. */
static u64 wheel_number(u64 tick, unsigned int level)
{
	unsigned int shift = level * WHEEL_BITS;

	return shift < 64 ? tick >> shift : 0;
}

/* The first tick of slot @number of @level. */
static u64 wheel_start(u64 number, unsigned int level)
{
	return number << (level * WHEEL_BITS);
}

/*
 * The lowest level of which one of the two windows holds @tick, which is not before @clock. For a
 * distance from 64^n to less than 64^(n+1), this is level n - 1 if the distance is short enough,
 * and otherwise n.
 */
static unsigned int wheel_level(u64 tick, u64 clock)
{
	unsigned int n = tick == clock ? 0 : (fls64(tick - clock) - 1) / WHEEL_BITS;

	if (n && wheel_number(tick, n) - wheel_number(clock, n) < WHEEL_WINDOWS)
		n--;
	return n;
}

/* When a slot wants attention: on level 0 at its tick, else when the level below can reach it. */
static u64 wheel_event(u64 number, unsigned int level)
{
	return level ? wheel_start(number - 1, level) : number;
}

static struct list_head *wheel_slot(struct htw_wheel *wheel, unsigned int level, u64 number)
{
	return &wheel->slot[level * WHEEL_SLOTS + number % WHEEL_SLOTS];
}

static u64 *wheel_occupied(struct htw_wheel *wheel, unsigned int level, u64 number)
{
	return &wheel->occupied[level][number / WHEEL_WINDOW % WHEEL_WINDOWS];
}

static void wheel_mark(struct htw_wheel *wheel, unsigned int level, u64 number)
{
	*wheel_occupied(wheel, level, number) |= BIT_ULL(number % WHEEL_WINDOW);
	wheel->level_map |= BIT(level);
}

static void wheel_unmark(struct htw_wheel *wheel, unsigned int level, u64 number)
{
	*wheel_occupied(wheel, level, number) &= ~BIT_ULL(number % WHEEL_WINDOW);
	if (!wheel->occupied[level][0] && !wheel->occupied[level][1])
		wheel->level_map &= ~BIT(level);
}

/* The number of the first occupied slot of @level, which has one. */
static u64 wheel_first(const struct htw_wheel *wheel, unsigned int level)
{
	u64 window = wheel_number(wheel->queue.clock_tick, level + 1);
	u64 map = wheel->occupied[level][window % WHEEL_WINDOWS];

	if (!map)
		map = wheel->occupied[level][++window % WHEEL_WINDOWS];
	return window * WHEEL_WINDOW + __ffs64(map);
}

/* The start of the slot behind the clock's on @level: by then its moving list has to be empty. */
static u64 wheel_last_moment(const struct htw_wheel *wheel, unsigned int level)
{
	return wheel_start(wheel_number(wheel->queue.clock_tick, level) + 1, level);
}

/**
 * struct wheel_agenda - the next event of each kind, HTW_TICK_NONE if there is none
 * @settle_tick: last moment of a moving list
 * @settle_level: its level
 * @reach_tick: a slot comes into reach of the level below
 * @reach_level: its level
 * @drain_tick: a slot of level 0 is due
 *
 * Events of one moment have to be worked off in this order: a list has to be empty before the next
 * slot comes into it, and both leave no timer behind that is due.
 */
struct wheel_agenda {
	u64			settle_tick;
	unsigned int		settle_level;
	u64			reach_tick;
	unsigned int		reach_level;
	u64			drain_tick;
};

static struct wheel_agenda wheel_agenda(const struct htw_wheel *wheel)
{
	struct wheel_agenda agenda = { HTW_TICK_NONE, 0, HTW_TICK_NONE, 0, HTW_TICK_NONE };
	unsigned int level;
	u64 tick;

	if (test_bit(0, &wheel->level_map))
		agenda.drain_tick = wheel_first(wheel, 0);
	for (level = 1; level < wheel->levels; level++) {
		tick = test_bit(level, &wheel->moving_map) ? wheel_last_moment(wheel, level) :
							     HTW_TICK_NONE;
		if (tick < agenda.settle_tick) {
			agenda.settle_tick = tick;
			agenda.settle_level = level;
		}
		tick = test_bit(level, &wheel->level_map) ?
		       wheel_event(wheel_first(wheel, level), level) : HTW_TICK_NONE;
		if (tick < agenda.reach_tick) {
			agenda.reach_tick = tick;
			agenda.reach_level = level;
		}
	}
	return agenda;
}

static u64 agenda_next(const struct wheel_agenda *agenda)
{
	return min3(agenda->settle_tick, agenda->reach_tick, agenda->drain_tick);
}

static u64 wheel_next_event(const struct htw_wheel *wheel)
{
	struct wheel_agenda agenda = wheel_agenda(wheel);

	return agenda_next(&agenda);
}

/*
 * Put a node where the clock says it belongs; an overdue one belongs where the clock itself does.
 * Returns when its slot wants attention.
 */
static u64 wheel_put(struct htw_wheel *wheel, struct htw_node *node)
{
	u64 clock = wheel->queue.clock_tick;
	u64 tick = max(node->tick, clock);
	unsigned int level = wheel_level(tick, clock);
	u64 number = wheel_number(tick, level);

	list_add_tail(&node->link, wheel_slot(wheel, level, number));
	wheel_mark(wheel, level, number);
	return wheel_event(number, level);
}

static u64 wheel_next(const struct htw_queue *queue)
{
	return to_const_wheel(queue)->next_tick;
}

static bool wheel_add(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_wheel *wheel = to_wheel(queue);
	u64 event = wheel_put(wheel, node);

	queue->nr++;
	if (event >= wheel->next_tick)
		return false;
	wheel->next_tick = event;
	return true;
}

/* The list with this head has become empty. */
static void wheel_unmark_head(struct htw_wheel *wheel, const struct list_head *head)
{
	size_t at;

	if (head >= wheel->moving && head < wheel->moving + WHEEL_MAX_LEVELS) {
		wheel->moving_map &= ~BIT(head - wheel->moving);
		return;
	}
	at = head - wheel->slot;
	wheel_unmark(wheel, at / WHEEL_SLOTS, at % WHEEL_SLOTS);
}

/*
 * A node does not know its list. It need not: only if it is the last one does a bit have to go, and
 * then both its neighbours are the head, whose address tells.
 */
static void wheel_del(struct htw_queue *queue, struct htw_node *node)
{
	struct htw_wheel *wheel = to_wheel(queue);
	struct list_head *head = node->link.next;
	bool last = head == node->link.prev;

	list_del(&node->link);
	if (last)
		wheel_unmark_head(wheel, head);
	if (!--queue->nr)
		wheel->next_tick = HTW_TICK_NONE;
}

/* Move nodes of the moving list of @level to the level below, as far as the budget goes. */
static u64 wheel_settle(struct htw_wheel *wheel, unsigned int level, u64 budget,
			struct htw_work *work)
{
	struct htw_node *node, *tmp;

	list_for_each_entry_safe(node, tmp, &wheel->moving[level], link) {
		if (!budget)
			return 0;
		budget--;
		list_del(&node->link);
		wheel_put(wheel, node);
		work->moves++;
	}
	wheel->moving_map &= ~BIT(level);
	return budget;
}

/* Hand out the level 0 slot of @tick, as far as the budget goes. */
static u64 wheel_drain(struct htw_wheel *wheel, u64 tick, u64 budget, struct list_head *due,
		       struct htw_work *work)
{
	struct htw_node *node, *tmp;

	list_for_each_entry_safe(node, tmp, wheel_slot(wheel, 0, tick), link) {
		if (!budget)
			return 0;
		budget--;
		list_move_tail(&node->link, due);
		wheel->queue.nr--;
		work->due++;
	}
	wheel_unmark(wheel, 0, tick);
	return budget;
}

/* A slot has come into reach of the level below. */
static void wheel_start_moving(struct htw_wheel *wheel, unsigned int level)
{
	u64 number = wheel_first(wheel, level);

	list_splice_tail_init(wheel_slot(wheel, level, number), &wheel->moving[level]);
	wheel->moving_map |= BIT(level);
	wheel_unmark(wheel, level, number);
}

/* Work off one event, whose time has come. */
static u64 wheel_work(struct htw_wheel *wheel, const struct wheel_agenda *agenda, u64 budget,
		      struct list_head *due, struct htw_work *work)
{
	struct htw_queue *queue = &wheel->queue;
	u64 next = agenda_next(agenda);

	work->slots++;
	if (agenda->settle_tick == next) {
		/* The clock must not enter the slot before its timers are below. */
		queue->clock_tick = max(queue->clock_tick, next - 1);
		return wheel_settle(wheel, agenda->settle_level, budget, work);
	}
	queue->clock_tick = max(queue->clock_tick, next);
	if (agenda->reach_tick != next)
		return wheel_drain(wheel, next, budget, due, work);
	wheel_start_moving(wheel, agenda->reach_level);
	return budget;
}

static bool wheel_advance(struct htw_queue *queue, u64 now, u64 budget, struct list_head *due,
			  struct htw_work *work)
{
	struct htw_wheel *wheel = to_wheel(queue);
	struct wheel_agenda agenda;

	for (;;) {
		agenda = wheel_agenda(wheel);
		wheel->next_tick = agenda_next(&agenda);
		if (wheel->next_tick > now)
			break;
		if (!budget)
			return true;
		budget = wheel_work(wheel, &agenda, budget, due, work);
	}
	queue->clock_tick = max(queue->clock_tick, now);

	/* Nobody waits for us: move timers ahead of time, what is needed soonest first. */
	while (budget && wheel->moving_map)
		budget = wheel_settle(wheel, __ffs(wheel->moving_map), budget, work);
	wheel->next_tick = wheel_next_event(wheel);
	/* If that was not all, go on at the next tick rather than at the last moment. */
	if (wheel->moving_map)
		wheel->next_tick = min(wheel->next_tick, queue->clock_tick + 1);
	return false;
}

static u64 wheel_take(struct htw_queue *queue, u64 max, struct list_head *out)
{
	struct htw_wheel *wheel = to_wheel(queue);
	struct list_head *list;
	struct htw_node *node;
	unsigned int level;
	u64 taken;

	for (taken = 0; taken < max && queue->nr; taken++) {
		if (wheel->moving_map) {
			list = &wheel->moving[__ffs(wheel->moving_map)];
		} else {
			level = __ffs(wheel->level_map);
			list = wheel_slot(wheel, level, wheel_first(wheel, level));
		}
		node = list_first_entry(list, struct htw_node, link);
		wheel_del(queue, node);
		list_add_tail(&node->link, out);
	}
	return taken;
}

/* Of a node in a moving list: where it is moved to. */
static struct htw_place wheel_place(const struct htw_queue *queue, const struct htw_node *node)
{
	u64 tick = max(node->tick, queue->clock_tick);
	unsigned int level = wheel_level(tick, queue->clock_tick);

	return (struct htw_place){
		.level	= level,
		.slot	= wheel_number(tick, level) % WHEEL_SLOTS,
	};
}

static struct htw_geometry wheel_geometry(const struct htw_queue *queue)
{
	return (struct htw_geometry){
		.levels	= to_const_wheel(queue)->levels,
		.slots	= WHEEL_SLOTS,
	};
}

/* Check slot @at of @level; adds its nodes to @nr. */
static int wheel_check_slot(const struct htw_wheel *wheel, unsigned int level, unsigned int at,
			    u64 *nr)
{
	const struct list_head *slot = &wheel->slot[level * WHEEL_SLOTS + at];
	bool occupied = wheel->occupied[level][at / WHEEL_WINDOW] & BIT_ULL(at % WHEEL_WINDOW);
	u64 clock = wheel->queue.clock_tick;
	const struct htw_node *node;
	u64 tick;

	if (occupied == list_empty(slot))
		return __LINE__;
	list_for_each_entry(node, slot, link) {
		if (node->link.next->prev != &node->link)
			return __LINE__;
		tick = max(node->tick, clock);
		if (wheel_level(tick, clock) != level ||
		    wheel_number(tick, level) % WHEEL_SLOTS != at)
			return __LINE__;
		if (wheel_event(wheel_number(tick, level), level) < wheel->next_tick)
			return __LINE__;
		(*nr)++;
	}
	return 0;
}

static int wheel_check_moving(const struct htw_wheel *wheel, unsigned int level, u64 *nr)
{
	u64 next = wheel_number(wheel->queue.clock_tick, level) + 1;
	const struct htw_node *node;

	if (test_bit(level, &wheel->moving_map) == list_empty(&wheel->moving[level]))
		return __LINE__;
	list_for_each_entry(node, &wheel->moving[level], link) {
		if (node->link.next->prev != &node->link)
			return __LINE__;
		if (wheel_number(node->tick, level) != next)
			return __LINE__;
		(*nr)++;
	}
	return 0;
}

static int wheel_check(const struct htw_queue *queue)
{
	const struct htw_wheel *wheel = to_const_wheel(queue);
	unsigned int level, at;
	int line = 0;
	u64 nr = 0;

	for (level = 0; level < wheel->levels && !line; level++) {
		if (test_bit(level, &wheel->level_map) !=
		    (wheel->occupied[level][0] || wheel->occupied[level][1]))
			return __LINE__;
		line = wheel_check_moving(wheel, level, &nr);
		for (at = 0; at < WHEEL_SLOTS && !line; at++)
			line = wheel_check_slot(wheel, level, at, &nr);
	}
	if (line)
		return line;
	if ((wheel->level_map | wheel->moving_map) >> wheel->levels || wheel->moving_map & BIT(0))
		return __LINE__;
	if (!queue->nr && wheel->next_tick != HTW_TICK_NONE)
		return __LINE__;
	if (queue->nr && wheel->next_tick == HTW_TICK_NONE)
		return __LINE__;
	return nr == queue->nr ? 0 : __LINE__;
}

static struct htw_queue *wheel_create(unsigned int tick_bits, u64 clock_tick, int numa)
{
	unsigned int levels = (tick_bits + WHEEL_BITS - 1) / WHEEL_BITS;
	struct htw_wheel *wheel;
	unsigned int i;

	wheel = kvzalloc_node(struct_size(wheel, slot, levels * WHEEL_SLOTS), GFP_KERNEL, numa);
	if (!wheel)
		return NULL;
	wheel->queue.design = &htw_wheel_design;
	wheel->queue.clock_tick = clock_tick;
	wheel->next_tick = HTW_TICK_NONE;
	wheel->levels = levels;
	for (i = 0; i < WHEEL_MAX_LEVELS; i++)
		INIT_LIST_HEAD(&wheel->moving[i]);
	for (i = 0; i < levels * WHEEL_SLOTS; i++)
		INIT_LIST_HEAD(&wheel->slot[i]);
	return &wheel->queue;
}

static void wheel_destroy(struct htw_queue *queue)
{
	kvfree(to_wheel(queue));
}

const struct htw_design htw_wheel_design = {
	.name		= "wheel",
	.create		= wheel_create,
	.destroy	= wheel_destroy,
	.add		= wheel_add,
	.del		= wheel_del,
	.next		= wheel_next,
	.advance	= wheel_advance,
	.take		= wheel_take,
	.check		= wheel_check,
	.place		= wheel_place,
	.geometry	= wheel_geometry,
};
