// SPDX-License-Identifier: GPL-2.0
/*
 * The deadline table with all else that a timer can have: periods, KEEP, slack, operations on all
 * timers, a ring.
 *
 * On a manual clock, with every design.
 */
#include "harness.h"
#include "many.h"
#include "shared_area.h"

#define TICK_NS		(1ULL << 10)
#define START_NS	(1ULL << 32)
#define MS		NS_PER_MS
#define PERIOD_NS	(10 * MS)

FIXTURE(table) {
	struct htwheel_design rows[MAX_ROWS];
	int nr;
};

FIXTURE_VARIANT(table) {
	/* How the events come. */
	uint32_t entries;
};

FIXTURE_VARIANT_ADD(table, by_read) {
	.entries = 0,
};

FIXTURE_VARIANT_ADD(table, by_ring) {
	.entries = 64,
};

FIXTURE_SETUP(table)
{
	self->nr = read_designs(self->rows, MAX_ROWS);
	ASSERT_LE(1, self->nr);
}

FIXTURE_TEARDOWN(table)
{
}

#define FOR_EACH_ROW(row)								\
	for ((row) = self->rows; (row) < self->rows + self->nr; (row)++)

static int open_row(struct area *area, const struct htwheel_design *row, uint32_t entries)
{
	struct htwheel_setup setup = setup_of_row(row);

	setup.clock = HTWHEEL_CLOCK_MANUAL;
	setup.flags |= HTWHEEL_SETUP_TABLE;
	setup.max_timers = 1000;
	setup.tick_ns = TICK_NS;
	setup.start_ns = START_NS;
	setup.ring_entries = entries;
	return open_areas(area, setup);
}

/* The next event, if there is one. */
static int next(struct area *area, struct htwheel_event *event)
{
	if (area->ring)
		return take_or_read(area, event, 1);
	return read_events(area->fd, event, 1);
}

static bool is_empty(struct area *area)
{
	struct htwheel_event event;

	return !is_readable(area->fd) && next(area, &event) <= 0;
}

/* A periodic timer counts its periods from the deadline that was accepted. */
TEST_F(table, periods_go_on_from_there)
{
	const uint64_t moved_ns = START_NS + 37 * MS;
	const struct htwheel_design *row;
	struct htwheel_event event;
	uint64_t id, due_ns;
	struct area area;
	uint16_t policy;
	unsigned int i;

	FOR_EACH_ROW(row) {
		for (policy = 0; policy <= HTWHEEL_POLICY_DELAY; policy++) {
			ROW_EQ(0, open_row(&area, row, variant->entries));
			ROW_EQ(0, arm_every(area.fd, policy, START_NS + PERIOD_NS, PERIOD_NS, 0,
					    &id));
			ROW_EQ(0, advance_to(area.fd, START_NS + 15 * MS));
			ROW_EQ(1, next(&area, &event));
			ROW_EQ(START_NS + PERIOD_NS, event.deadline_ns);
			/* The second turn; of DELAY, it was not before. */
			postpone(&area, id, moved_ns);
			ROW_EQ(moved_ns, dumped_deadline_ns(area.fd, id));
			ROW_EQ(0, advance_to(area.fd, moved_ns - 1));
			ROW_TRUE(is_empty(&area));
			due_ns = moved_ns;
			for (i = 0; i < 5; i++) {
				ROW_EQ(0, advance_to(area.fd, due_ns + MS));
				ROW_EQ(1, next(&area, &event));
				ROW_EQ(due_ns, event.deadline_ns);
				ROW_EQ(1, event.count);
				due_ns = dumped_deadline_ns(area.fd, id);
				ROW_LE(event.deadline_ns + PERIOD_NS, due_ns);
				if (policy != HTWHEEL_POLICY_DELAY)
					ROW_EQ(event.deadline_ns + PERIOD_NS, due_ns);
			}
			close_areas(&area);
		}
	}
}

/* The clock jumps over both: what has been missed is counted from the word. */
TEST_F(table, missed_turns_are_counted_from_there)
{
	const struct htwheel_design *row;
	struct htwheel_event event;
	struct area area;
	uint64_t id;

	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row, variant->entries));
		ROW_EQ(0, arm_every(area.fd, 0, START_NS + PERIOD_NS, PERIOD_NS, 0, &id));
		postpone(&area, id, START_NS + 55 * MS);
		ROW_EQ(0, advance_with(area.fd, HTWHEEL_ADVANCE_JUMP, START_NS + 100 * MS));
		ROW_EQ(1, next(&area, &event));
		ROW_EQ(START_NS + 55 * MS, event.deadline_ns);
		ROW_EQ(5, event.count);
		ROW_EQ(START_NS + 105 * MS, dumped_deadline_ns(area.fd, id));
		close_areas(&area);
	}
}

TEST_F(table, kept_timers)
{
	const struct htwheel_design *row;
	struct htwheel_event event;
	struct area area;
	uint64_t id, due_ns;
	unsigned int i;

	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row, variant->entries));
		ROW_EQ(0, arm_kept(area.fd, MS, 0, &id));
		for (i = 0; i < 10; i++) {
			due_ns = clock_of(area.fd) + 20 * MS;
			postpone(&area, id, due_ns);
			ROW_EQ(0, advance_to(area.fd, due_ns - 1));
			ROW_TRUE(is_empty(&area));
			ROW_EQ(0, advance_to(area.fd, due_ns + 10 * MS));
			ROW_EQ(1, next(&area, &event));
			ROW_EQ(due_ns, event.deadline_ns);
			/* Idle, it has no deadline; a word gives it none. */
			postpone(&area, id, due_ns + 50 * MS);
			ROW_EQ(-ENOENT, query(area.fd, id, NULL));
			ROW_EQ(0, advance_to(area.fd, due_ns + 100 * MS));
			ROW_TRUE(is_empty(&area));
			postpone(&area, id, HTWHEEL_NEVER_NS);
			ROW_EQ(0, rearm_in(area.fd, id, MS));
			ROW_EQ(0, postponed_to(&area, id));
		}
		close_areas(&area);
	}
}

/* Slack is counted from the deadline that holds. */
TEST_F(table, slack)
{
	const struct htwheel_op op = { .time_ns = MS, .slack_ns = 50 * MS };
	const uint64_t due_ns = START_NS + 300 * MS;
	const struct htwheel_design *row;
	struct htwheel_event event;
	struct area area;
	uint64_t id;

	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row, variant->entries));
		ROW_EQ(0, arm_like(area.fd, op, &id));
		postpone(&area, id, due_ns);
		ROW_EQ(0, advance_to(area.fd, due_ns - 1));
		ROW_TRUE(is_empty(&area));
		ROW_EQ(0, advance_to(area.fd, due_ns + NS_PER_S));
		ROW_EQ(1, next(&area, &event));
		ROW_EQ(due_ns, event.deadline_ns);
		ROW_LE(due_ns, event.fired_ns);
		ROW_GE(due_ns + 50 * MS + most_late_ns(row, TICK_NS, 350 * MS), event.fired_ns);
		close_areas(&area);
	}
}

static int mass(int fd, struct htwheel_mass mass, uint64_t *done)
{
	return mass_all(fd, mass, done);
}

/* SHIFT and SCALE begin with the later one, and what they make of it is the deadline. */
TEST_F(table, shift_and_scale)
{
	const struct htwheel_design *row;
	struct htwheel_event event;
	struct area area;
	uint64_t id, never, done;

	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row, variant->entries));
		ROW_EQ(0, arm_in(area.fd, 10 * MS, 1, &id));
		ROW_EQ(0, arm_in(area.fd, 10 * MS, 2, &never));
		postpone(&area, id, START_NS + 100 * MS);
		postpone(&area, never, HTWHEEL_NEVER_NS);
		ROW_EQ(0, mass(area.fd, (struct htwheel_mass){
			.opcode = HTWHEEL_MASS_SHIFT, .shift_ns = 50 * MS,
		}, &done));
		ROW_EQ(1, done);
		ROW_EQ(START_NS + 150 * MS, dumped_deadline_ns(area.fd, id));
		ROW_EQ(HTWHEEL_NEVER_NS, dumped_deadline_ns(area.fd, never));
		/* Earlier than the word was. */
		ROW_EQ(0, mass(area.fd, (struct htwheel_mass){
			.opcode = HTWHEEL_MASS_SHIFT, .shift_ns = -90 * (int64_t)MS,
		}, &done));
		ROW_EQ(START_NS + 60 * MS, dumped_deadline_ns(area.fd, id));
		postpone(&area, id, START_NS + 80 * MS);
		ROW_EQ(0, mass(area.fd, (struct htwheel_mass){
			.opcode = HTWHEEL_MASS_SCALE, .numerator = 1, .denominator = 4,
		}, &done));
		ROW_EQ(1, done);
		ROW_EQ(START_NS + 20 * MS, dumped_deadline_ns(area.fd, id));
		ROW_EQ(0, advance_to(area.fd, START_NS + 20 * MS - 1));
		ROW_TRUE(is_empty(&area));
		ROW_EQ(0, advance_to(area.fd, START_NS + HOUR_NS));
		ROW_EQ(1, next(&area, &event));
		ROW_EQ(START_NS + 20 * MS, event.deadline_ns);
		ROW_TRUE(is_empty(&area));
		ROW_EQ(0, mass(area.fd, (struct htwheel_mass){ .opcode = HTWHEEL_MASS_CANCEL },
			       &done));
		ROW_EQ(1, done);
		close_areas(&area);
	}
}

/* Postponed among others that are not, one more tick than they have, or some more. */
TEST_F(table, among_neighbours)
{
	const struct htwheel_design *row;
	struct htwheel_event event;
	uint64_t ids[60], seen;
	struct area area;
	unsigned int i;

	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row, variant->entries));
		ROW_EQ(0, arm_many(area.fd, &(struct htwheel_op){ .time_ns = 10 * MS }, 0, 60, 0,
				   ids));
		for (i = 0; i < 60; i += 3)
			postpone(&area, ids[i], START_NS + 10 * MS + i * TICK_NS / 2 + 1);
		ROW_EQ(0, advance_to(area.fd, START_NS + NS_PER_S));
		for (i = 0, seen = 0; i < 60; i++) {
			ROW_EQ(1, next(&area, &event));
			ROW_EQ(ids[event.user_data], event.id);
			ROW_EQ(START_NS + 10 * MS + (event.user_data % 3 ? 0 :
			       event.user_data * TICK_NS / 2 + 1), event.deadline_ns);
			ROW_LE(event.deadline_ns, event.fired_ns);
			seen |= 1ULL << event.user_data;
		}
		ROW_EQ((1ULL << 60) - 1, seen);
		ROW_TRUE(is_empty(&area));
		close_areas(&area);
	}
}

/* A budget ends a call in the middle of those that come up; each of them is looked at once. */
TEST_F(table, advance_with_a_budget)
{
	const struct htwheel_design *row;
	struct htwheel_advance adv;
	struct htwheel_event event;
	struct htwheel_stats stats;
	uint64_t ids[50];
	struct area area;
	unsigned int i, calls;

	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row, variant->entries));
		ROW_EQ(0, arm_many(area.fd, &(struct htwheel_op){ .time_ns = 10 * MS }, 0, 50, 0,
				   ids));
		for (i = 0; i < 50; i++)
			postpone(&area, ids[i], START_NS + 500 * MS);
		calls = 0;
		do {
			adv = (struct htwheel_advance){ .to = START_NS + 400 * MS, .budget = 7 };
			ROW_EQ(0, device_advance(area.fd, &adv));
			ROW_GE(1000, ++calls);
		} while (adv.more);
		ROW_TRUE(is_empty(&area));
		ROW_EQ(0, device_stats(area.fd, &stats));
		ROW_EQ(50, stats.postponed);
		ROW_EQ(0, advance_to(area.fd, START_NS + HOUR_NS));
		for (i = 0; i < 50; i++)
			ROW_EQ(1, next(&area, &event));
		ROW_TRUE(is_empty(&area));
		close_areas(&area);
	}
}

TEST_HARNESS_MAIN
