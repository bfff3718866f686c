// SPDX-License-Identifier: GPL-2.0
/*
 * Periodic timers whose events go into the ring: armed again when they are published, so that there
 * is nothing to miss unless the ring is full or the clock jumps.
 *
 * On a manual clock, with every design.
 */
#include "harness.h"
#include "shared_area.h"

#define TICK_NS		(1ULL << 10)
#define START_NS	(1ULL << 32)
#define MS		NS_PER_MS
#define PERIOD_NS	(10 * MS)

FIXTURE(turns) {
	struct htwheel_design rows[MAX_ROWS];
	int nr;
};

FIXTURE_SETUP(turns)
{
	self->nr = read_designs(self->rows, MAX_ROWS);
	ASSERT_LE(1, self->nr);
}

FIXTURE_TEARDOWN(turns)
{
}

#define FOR_EACH_ROW(row)								\
	for ((row) = self->rows; (row) < self->rows + self->nr; (row)++)

static int open_row(struct area *area, const struct htwheel_design *row, uint32_t entries)
{
	struct htwheel_setup setup = setup_of_row(row);

	setup.clock = HTWHEEL_CLOCK_MANUAL;
	setup.tick_ns = TICK_NS;
	setup.start_ns = START_NS;
	setup.ring_entries = entries;
	return open_areas(area, setup);
}

/* Time that passes as it does on a live clock brings each turn, whatever the policy. */
TEST_F(turns, none_is_missed_while_there_is_room)
{
	const struct htwheel_design *row;
	struct htwheel_event events[16];
	struct htwheel_stats stats;
	struct area area;
	uint16_t policy;
	uint64_t id, due_ns;
	int i;

	FOR_EACH_ROW(row) {
		for (policy = 0; policy <= HTWHEEL_POLICY_DELAY; policy++) {
			ROW_EQ(0, open_row(&area, row, 16));
			due_ns = START_NS + PERIOD_NS;
			ROW_EQ(0, arm_every(area.fd, policy, due_ns, PERIOD_NS, 7, &id));
			ROW_EQ(0, advance_to(area.fd, START_NS + 10 * PERIOD_NS + 5 * MS));
			ROW_EQ(10, take_events(&area, events, 16));
			for (i = 0; i < 10; i++) {
				ROW_EQ(id, events[i].id);
				ROW_EQ(1, events[i].count);
				ROW_EQ(due_ns, events[i].deadline_ns);
				ROW_LE(due_ns, events[i].fired_ns);
				ROW_EQ(HTWHEEL_EVENT_LIVE, events[i].flags);
				due_ns = (policy == HTWHEEL_POLICY_DELAY ? events[i].fired_ns :
					  due_ns) + PERIOD_NS;
			}
			ROW_EQ(due_ns, dumped_deadline_ns(area.fd, id));
			ROW_EQ(0, check_books(area.fd, &stats));
			ROW_EQ(11, stats.armed);
			ROW_EQ(10, stats.fired);
			ROW_EQ(1, stats.pending);
			ROW_EQ(0, stats.missed);
			ROW_EQ(0, query(area.fd, id, NULL));
			ROW_EQ(0, cancel(area.fd, id, NULL));
			close_areas(&area);
		}
	}
}

static const struct {
	uint16_t	policy;
	unsigned int	events;
	uint64_t	count;
	uint64_t	next_ms;
} cases[] = {
	{ HTWHEEL_POLICY_COUNT, 1, 10, 110 },
	{ HTWHEEL_POLICY_SKIP, 1, 1, 110 },
	{ HTWHEEL_POLICY_BURST, 10, 1, 110 },
	{ HTWHEEL_POLICY_DELAY, 1, 1, 115 },
};

/* All that there is, in the order in which the header says to take it. */
static int take_all(struct area *area, struct htwheel_event *events, int max)
{
	int nr = 0, ret;

	while (nr < max && (ret = take_or_read(area, events + nr, max - nr)))
		nr += ret;
	return nr;
}

/*
 * The table of the header, with a clock that jumps over the turns: who publishes is the reader. The
 * later ones of a burst come a tick after each other.
 */
TEST_F(turns, B48_missed_turns)
{
	const struct htwheel_design *row;
	struct htwheel_event events[16];
	struct htwheel_stats stats;
	struct area area;
	unsigned int i, k, places, nr;
	uint64_t id;

	FOR_EACH_ROW(row) {
		for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
			places = i & 1 ? 2 : 16;
			ROW_EQ(0, open_row(&area, row, places));
			ROW_EQ(0, arm_every(area.fd, cases[i / 2].policy, START_NS + PERIOD_NS,
					    PERIOD_NS, 7, &id));
			ROW_EQ(0, advance_with(area.fd, HTWHEEL_ADVANCE_JUMP, START_NS + 105 * MS));
			nr = take_all(&area, events, 16);
			ROW_EQ(1, nr);
			ROW_EQ(0, advance_to(area.fd, START_NS + 106 * MS));
			nr += take_all(&area, events + nr, 16 - nr);
			ROW_EQ(cases[i / 2].events, nr);
			for (k = 0; k < cases[i / 2].events; k++) {
				ROW_EQ(id, events[k].id);
				ROW_EQ(START_NS + (k + 1) * PERIOD_NS, events[k].deadline_ns);
				ROW_EQ(cases[i / 2].count, events[k].count);
				ROW_EQ(HTWHEEL_EVENT_LIVE, events[k].flags);
				ROW_LE(events[k].deadline_ns, events[k].fired_ns);
			}
			ROW_TRUE(!is_readable(area.fd));
			ROW_EQ(0, ring_flags(&area));
			ROW_EQ(START_NS + cases[i / 2].next_ms * MS,
			       dumped_deadline_ns(area.fd, id));
			ROW_EQ(0, check_books(area.fd, &stats));
			ROW_EQ(cases[i / 2].count - 1, stats.missed);
			ROW_EQ(cases[i / 2].events, stats.fired);
			close_areas(&area);
		}
	}
}

/* However far a burst is behind, it does not come more often than ticks end. */
TEST_F(turns, B47_burst_comes_once_a_tick)
{
	const uint64_t periods[] = { 1, 1000, TICK_NS - 1, 2 * TICK_NS };
	const struct htwheel_design *row;
	struct htwheel_event events[1024];
	struct htwheel_advance adv;
	struct area area;
	uint64_t id;
	size_t i;
	int k, nr;

	FOR_EACH_ROW(row) {
		for (i = 0; i < ARRAY_SIZE(periods); i++) {
			ROW_EQ(0, open_row(&area, row, 1024));
			ROW_EQ(0, arm_every(area.fd, HTWHEEL_POLICY_BURST, START_NS + TICK_NS,
					    periods[i], 0, &id));
			ROW_EQ(0, advance_with(area.fd, HTWHEEL_ADVANCE_JUMP,
					       START_NS + 1000 * TICK_NS + 7));
			ROW_EQ(1, ring_unread(&area));
			adv = (struct htwheel_advance){ .to = START_NS + 1100 * TICK_NS };
			ROW_EQ(0, device_advance(area.fd, &adv));
			ROW_GE(101, adv.due);
			nr = take_events(&area, events, 1024);
			ROW_LE(is_exact(row) ? 90 : 40, nr);
			ROW_GE(101, nr);
			for (k = 1; k < nr; k++) {
				ROW_EQ(events[k - 1].deadline_ns + periods[i],
				       events[k].deadline_ns);
				ROW_LE(events[k - 1].fired_ns / TICK_NS + 1,
				       events[k].fired_ns / TICK_NS);
			}
			close_areas(&area);
		}
	}
}

/* A full ring: the event waits outside, and its reader comes at 105 as without a ring. */
TEST_F(turns, B48_turns_missed_outside)
{
	const struct htwheel_design *row;
	struct htwheel_event events[16];
	struct area area;
	unsigned int i, k;
	uint64_t id;

	FOR_EACH_ROW(row) {
		for (i = 0; i < ARRAY_SIZE(cases); i++) {
			ROW_EQ(0, open_row(&area, row, 2));
			ROW_EQ(0, arm_in(area.fd, 0, 1, NULL));
			ROW_EQ(0, arm_in(area.fd, 0, 2, NULL));
			ROW_EQ(0, arm_every(area.fd, cases[i].policy, START_NS + PERIOD_NS,
					    PERIOD_NS, 7, &id));
			ROW_EQ(0, advance_to(area.fd, START_NS + 105 * MS));
			ROW_EQ(HTWHEEL_RING_WAITING, ring_flags(&area));
			ROW_EQ(1, ring_waited(&area));
			/* The ring comes first. */
			ROW_EQ(-EAGAIN, read_events(area.fd, events, 16));
			ROW_EQ(2 + cases[i].events, take_all(&area, events, 16));
			ROW_EQ(2, events[1].user_data);
			for (k = 0; k < cases[i].events; k++) {
				ROW_EQ(START_NS + (k + 1) * PERIOD_NS, events[2 + k].deadline_ns);
				ROW_EQ(cases[i].count, events[2 + k].count);
			}
			ROW_EQ(START_NS + cases[i].next_ms * MS, dumped_deadline_ns(area.fd, id));
			close_areas(&area);
		}
	}
}

/* A burst that begins with its arm, far longer than the ring. */
TEST_F(turns, burst_from_the_past)
{
	const struct htwheel_design *row;
	struct htwheel_event events[128];
	struct htwheel_stats stats;
	struct area area;
	uint64_t id;
	int i;

	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row, 4));
		ROW_EQ(0, arm_every(area.fd, HTWHEEL_POLICY_BURST, START_NS - 99 * MS, MS, 7,
				    &id));
		ROW_TRUE(is_readable(area.fd));
		ROW_EQ(100, take_all(&area, events, 128));
		for (i = 0; i < 100; i++) {
			ROW_EQ(START_NS - 99 * MS + i * MS, events[i].deadline_ns);
			ROW_EQ(START_NS, events[i].fired_ns);
		}
		ROW_EQ(START_NS + MS, dumped_deadline_ns(area.fd, id));
		ROW_EQ(0, check_books(area.fd, &stats));
		ROW_EQ(101, stats.armed);
		ROW_EQ(100, stats.fired);
		close_areas(&area);
	}
}

/*
 * B47, B70: a period of a nanosecond fills the ring and waits then, at no cost. Shorter than a
 * tick, it is counted exactly.
 */
TEST_F(turns, B47_B50_B70_shorter_than_a_tick)
{
	const struct htwheel_design *row;
	struct htwheel_event events[8];
	struct htwheel_advance adv;
	struct area area;
	uint64_t id, total = 0, reached = 0;
	int i, k, nr;

	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row, 4));
		ROW_EQ(0, arm_every(area.fd, HTWHEEL_POLICY_COUNT, START_NS + 1, 1, 0, &id));
		total = 0;
		for (i = 1; i <= 1000; i++) {
			ROW_EQ(0, advance_to(area.fd, START_NS + i * TICK_NS));
			nr = take_all(&area, events, 8);
			for (k = 0; k < nr; k++) {
				ROW_EQ(START_NS + total + 1, events[k].deadline_ns);
				total += events[k].count;
				reached = events[k].fired_ns - START_NS;
			}
			if (nr)
				ROW_EQ(reached, total);
		}
		ROW_LE(900 * TICK_NS, total);
		/* Nobody takes them: the ring fills, and nothing more happens. */
		ROW_EQ(0, advance_to(area.fd, START_NS + 3000 * TICK_NS));
		ROW_EQ(4, ring_unread(&area));
		ROW_EQ(1, ring_waited(&area));
		adv = (struct htwheel_advance){ .to = START_NS + HOUR_NS };
		ROW_EQ(0, device_advance(area.fd, &adv));
		ROW_EQ(0, adv.due);
		close_areas(&area);
	}
}

/* A periodic timer that was published is armed: it can be moved, cancelled and asked for. */
TEST_F(turns, operations_on_what_was_published)
{
	struct htwheel_dump_entry entry;
	struct htwheel_event events[8];
	const struct htwheel_design *row;
	struct area area;
	uint64_t id, left_ns;

	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row, 8));
		ROW_EQ(0, arm_every(area.fd, 0, START_NS + PERIOD_NS, PERIOD_NS, 7, &id));
		ROW_EQ(0, advance_to(area.fd, START_NS + PERIOD_NS + 5 * MS));
		ROW_EQ(1, ring_unread(&area));
		ROW_EQ(0, query(area.fd, id, &left_ns));
		ROW_EQ(5 * MS, left_ns);
		ROW_EQ(0, dump_one(area.fd, id, &entry));
		ROW_EQ(HTWHEEL_STATE_ARMED, entry.state);
		ROW_EQ(START_NS + 2 * PERIOD_NS, entry.deadline_ns);
		ROW_EQ(0, rearm_at(area.fd, id, START_NS + 4 * PERIOD_NS + 1));
		ROW_EQ(0, advance_to(area.fd, START_NS + 6 * PERIOD_NS));
		ROW_EQ(3, take_events(&area, events, 8));
		ROW_EQ(START_NS + 4 * PERIOD_NS + 1, events[1].deadline_ns);
		ROW_EQ(START_NS + 5 * PERIOD_NS + 1, events[2].deadline_ns);
		ROW_EQ(0, cancel(area.fd, id, &left_ns));
		ROW_EQ(1, left_ns);
		ROW_EQ(-ENOENT, query(area.fd, id, NULL));
		ROW_EQ(0, advance_to(area.fd, START_NS + HOUR_NS));
		ROW_EQ(0, ring_unread(&area));
		close_areas(&area);
	}
}

/* KEEP changes nothing for a periodic timer. */
TEST_F(turns, never_idle)
{
	struct htwheel_op op = {
		.flags = HTWHEEL_PERIODIC | HTWHEEL_KEEP, .time_ns = MS, .period_ns = MS,
	};
	struct htwheel_stats stats;
	struct area area;
	uint64_t id;

	for (op.policy = 0; op.policy <= HTWHEEL_POLICY_DELAY; op.policy++) {
		ASSERT_EQ(0, open_row(&area, self->rows, 64));
		ASSERT_EQ(0, arm_like(area.fd, op, &id));
		ASSERT_EQ(0, advance_to(area.fd, START_NS + 20 * MS));
		ASSERT_EQ(0, check_books(area.fd, &stats));
		EXPECT_EQ(0, stats.idle);
		EXPECT_EQ(1, stats.pending);
		EXPECT_EQ(ring_unread(&area), stats.fired);
		close_areas(&area);
	}
}

/* A next deadline behind the end of the clock is never. */
TEST_F(turns, B46_periods_that_end_with_the_clock)
{
	struct area area;
	uint16_t policy;
	uint64_t id;

	for (policy = 0; policy <= HTWHEEL_POLICY_DELAY; policy++) {
		ASSERT_EQ(0, open_row(&area, self->rows, 4));
		ASSERT_EQ(0, arm_every(area.fd, policy, START_NS, HTWHEEL_NEVER_NS, 0, &id));
		EXPECT_EQ(1, ring_unread(&area));
		EXPECT_EQ(HTWHEEL_NEVER_NS, dumped_deadline_ns(area.fd, id));
		ASSERT_EQ(0, advance_to(area.fd, LAST_NS));
		EXPECT_EQ(1, ring_unread(&area));
		close_areas(&area);
	}
}

TEST_HARNESS_MAIN
