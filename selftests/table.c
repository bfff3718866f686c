// SPDX-License-Identifier: GPL-2.0
/*
 * The deadline table: a later value postpones, everything else changes nothing.
 *
 * On a manual clock, with every design.
 */
#include <sys/epoll.h>

#include "harness.h"
#include "many.h"
#include "shared_area.h"

#define TICK_NS		(1ULL << 10)
#define START_NS	(1ULL << 32)
#define MS		NS_PER_MS

FIXTURE(table) {
	struct htwheel_design rows[MAX_ROWS];
	int nr;
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

static int open_row(struct area *area, const struct htwheel_design *row)
{
	struct htwheel_setup setup = setup_of_row(row);

	setup.clock = HTWHEEL_CLOCK_MANUAL;
	setup.flags |= HTWHEEL_SETUP_TABLE;
	setup.max_timers = 1000;
	setup.tick_ns = TICK_NS;
	setup.start_ns = START_NS;
	return open_areas(area, setup);
}

static uint64_t times_postponed(int fd)
{
	struct htwheel_stats stats;

	return device_stats(fd, &stats) ? JUNK64 : stats.postponed;
}

/* The only event there is: 0, or what is wrong with it. */
static int only_event(struct area *area, const struct htwheel_design *row, uint64_t id,
		      uint64_t deadline_ns, uint64_t delay_ns)
{
	struct htwheel_event events[2];
	int nr = read_events(area->fd, events, 2);

	if (nr != 1)
		return nr < 0 ? nr : -E2BIG;
	if (events[0].id != id || events[0].count != 1)
		return -EBADMSG;
	if (events[0].deadline_ns != deadline_ns)
		return -ERANGE;
	if (events[0].fired_ns < deadline_ns)
		return -ETIME;
	return events[0].fired_ns <= after(deadline_ns, most_late_ns(row, TICK_NS, delay_ns)) ? 0 :
	       -ETIMEDOUT;
}

TEST_F(table, later_value_postpones)
{
	const uint64_t delays[] = { 1, 1000, 1024, 5 * MS, NS_PER_S, HOUR_NS, 10000 * HOUR_NS };
	const struct htwheel_design *row;
	struct htwheel_stats stats;
	uint64_t id, due_ns;
	struct area area;
	size_t i;

	FOR_EACH_ROW(row) {
		for (i = 0; i < ARRAY_SIZE(delays); i++) {
			ROW_EQ(0, open_row(&area, row));
			ROW_EQ(0, arm_in(area.fd, MS, 0, &id));
			ROW_EQ(0, postponed_to(&area, id));
			due_ns = START_NS + MS + delays[i];
			postpone(&area, id, due_ns);
			ROW_EQ(0, advance_to(area.fd, due_ns - 1));
			ROW_TRUE(!is_readable(area.fd));
			/* Its deadline has come, if that was before. */
			if (is_exact(row) && delays[i] > 2 * TICK_NS)
				ROW_EQ(1, times_postponed(area.fd));
			ROW_EQ(0, advance_to(area.fd, after(due_ns, due_ns / 4)));
			ROW_EQ(0, only_event(&area, row, id, due_ns, MS + delays[i]));
			ROW_EQ(0, check_books(area.fd, &stats));
			ROW_EQ(1, stats.armed);
			ROW_EQ(0, stats.replaced);
			ROW_EQ(1, stats.fired);
			close_areas(&area);
		}
	}
}

/* Nothing that lies at or before the deadline, and nothing that is no time, makes a difference. */
TEST_F(table, other_values_change_nothing)
{
	const uint64_t due_ns = START_NS + 10 * MS;
	const uint64_t values[] = {
		0, 1, START_NS - 1, START_NS, START_NS + MS, due_ns - 1, due_ns,
		1ULL << 63, (1ULL << 63) + 1, (1ULL << 63) | (due_ns + MS), UINT64_MAX - 1,
		UINT64_MAX, JUNK64, (uint64_t)-(int64_t)due_ns,
	};
	const struct htwheel_design *row;
	struct htwheel_dump_entry entry;
	uint64_t id, left_ns;
	struct area area;
	size_t i;

	FOR_EACH_ROW(row) {
		for (i = 0; i < ARRAY_SIZE(values); i++) {
			ROW_EQ(0, open_row(&area, row));
			ROW_EQ(0, arm_at(area.fd, due_ns, 0, &id));
			postpone(&area, id, values[i]);
			ROW_EQ(0, query(area.fd, id, &left_ns));
			ROW_EQ(10 * MS, left_ns);
			ROW_EQ(0, dump_one(area.fd, id, &entry));
			ROW_EQ(due_ns, entry.deadline_ns);
			ROW_EQ(10 * MS, entry.left_ns);
			ROW_EQ(0, advance_to(area.fd, due_ns - 1));
			ROW_TRUE(!is_readable(area.fd));
			ROW_EQ(0, advance_to(area.fd, START_NS + NS_PER_S));
			ROW_EQ(0, only_event(&area, row, id, due_ns, 10 * MS));
			ROW_EQ(0, times_postponed(area.fd));
			/* The module writes nothing there but zeros. */
			ROW_EQ(values[i], postponed_to(&area, id));
			close_areas(&area);
		}
	}
}

/* Not all time that there is, since some designs pay for each turn of their clock. */
#define NEVER_ENOUGH	(1000 * HOUR_NS)

/* Postponed to never, it never comes, until it is armed anew. */
TEST_F(table, never)
{
	const struct htwheel_design *row;
	uint64_t id, left_ns;
	struct area area;

	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row));
		ROW_EQ(0, arm_in(area.fd, MS, 0, &id));
		postpone(&area, id, HTWHEEL_NEVER_NS);
		ROW_EQ(0, query(area.fd, id, &left_ns));
		ROW_EQ(HTWHEEL_NEVER_NS - START_NS, left_ns);
		ROW_EQ(HTWHEEL_NEVER_NS, dumped_deadline_ns(area.fd, id));
		ROW_EQ(0, advance_to(area.fd, START_NS + NEVER_ENOUGH));
		ROW_TRUE(!is_readable(area.fd));
		ROW_EQ(0, rearm_in(area.fd, id, MS));
		ROW_EQ(0, postponed_to(&area, id));
		ROW_EQ(0, advance_to(area.fd, START_NS + 2 * NEVER_ENOUGH));
		ROW_EQ(0, only_event(&area, row, id, START_NS + NEVER_ENOUGH + MS, MS));
		close_areas(&area);
	}
}

/* The last value that is there when the deadline comes; those before it are not seen. */
TEST_F(table, last_value_counts)
{
	const struct htwheel_design *row;
	uint64_t id, due_ns = START_NS + 20 * MS;
	struct area area;
	unsigned int i;

	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row));
		ROW_EQ(0, arm_in(area.fd, 10 * MS, 0, &id));
		for (i = 0; i < 100; i++) {
			postpone(&area, id, START_NS + HOUR_NS + i);
			ROW_EQ(0, advance_to(area.fd, START_NS + i * MS / 20));
		}
		postpone(&area, id, due_ns);
		ROW_EQ(due_ns, dumped_deadline_ns(area.fd, id));
		ROW_EQ(0, advance_to(area.fd, due_ns - 1));
		ROW_TRUE(!is_readable(area.fd));
		ROW_EQ(0, advance_to(area.fd, START_NS + NS_PER_S));
		ROW_EQ(0, only_event(&area, row, id, due_ns, 20 * MS));
		close_areas(&area);
	}
}

/* Once accepted, a deadline is made earlier by REARM and nothing else. */
TEST_F(table, accepted_value_stays)
{
	const struct htwheel_design *row;
	uint64_t id, due_ns;
	struct area area;

	FOR_EACH_ROW(row) {
		/* A granule of a design that has them is shorter than this. */
		due_ns = START_NS + NS_PER_S;
		ROW_EQ(0, open_row(&area, row));
		ROW_EQ(0, arm_in(area.fd, MS, 0, &id));
		postpone(&area, id, due_ns);
		ROW_EQ(0, advance_to(area.fd, START_NS + 100 * MS));
		ROW_EQ(1, times_postponed(area.fd));
		postpone(&area, id, START_NS + 200 * MS);
		ROW_EQ(due_ns, dumped_deadline_ns(area.fd, id));
		ROW_EQ(0, advance_to(area.fd, due_ns - 1));
		ROW_TRUE(!is_readable(area.fd));
		ROW_EQ(0, rearm_at(area.fd, id, due_ns + MS));
		ROW_EQ(0, postponed_to(&area, id));
		ROW_EQ(0, rearm_at(area.fd, id, due_ns + MS / 2));
		ROW_EQ(0, advance_to(area.fd, due_ns + NS_PER_S));
		ROW_EQ(0, only_event(&area, row, id, due_ns + MS / 2, MS));
		close_areas(&area);
	}
}

/* A heartbeat in time, a thousand times; then none. */
TEST_F(table, postponed_again_and_again)
{
	const unsigned int nr = 50, beats = 1000;
	const struct htwheel_design *row;
	struct htwheel_event events[50];
	struct htwheel_stats stats;
	uint64_t ids[50], due_ns;
	unsigned int i, beat;
	struct area area;
	uint64_t seen;

	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row));
		ROW_EQ(0, arm_many(area.fd, &(struct htwheel_op){ .time_ns = 10 * MS }, 0, nr, 0,
				   ids));
		for (beat = 1; beat <= beats; beat++) {
			ROW_EQ(0, advance_to(area.fd, START_NS + beat * 3 * MS));
			due_ns = START_NS + beat * 3 * MS + 10 * MS;
			for (i = 0; i < nr; i++)
				postpone(&area, ids[i], due_ns + i * MS / 10);
		}
		ROW_TRUE(!is_readable(area.fd));
		ROW_EQ(0, check_books(area.fd, &stats));
		ROW_EQ(nr, stats.armed);
		/* A timer comes up once in a heartbeat's length, not with each store. */
		ROW_GE(beats * nr, stats.postponed);
		ROW_LE(beats * nr / 8, stats.postponed);
		ROW_EQ(0, advance_to(area.fd, START_NS + beats * 3 * MS + NS_PER_S));
		ROW_EQ(nr, read_events(area.fd, events, nr));
		for (i = 0, seen = 0; i < nr; i++) {
			ROW_EQ(due_ns + events[i].user_data * MS / 10, events[i].deadline_ns);
			ROW_LE(events[i].deadline_ns, events[i].fired_ns);
			seen |= 1ULL << events[i].user_data;
		}
		ROW_EQ((1ULL << nr) - 1, seen);
		close_areas(&area);
	}
}

/* A timer that has fired cannot be postponed any more, and its event is what it is. */
TEST_F(table, after_it_has_fired)
{
	const struct htwheel_design *row;
	struct htwheel_event event;
	uint64_t id, left_ns;
	struct area area;

	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row));
		ROW_EQ(0, arm_in(area.fd, MS, 0, &id));
		ROW_EQ(0, advance_to(area.fd, START_NS + NS_PER_S));
		postpone(&area, id, START_NS + HOUR_NS);
		ROW_EQ(HTWHEEL_RES_FIRED, query(area.fd, id, &left_ns));
		ROW_EQ(0, left_ns);
		ROW_EQ(START_NS + MS, dumped_deadline_ns(area.fd, id));
		ROW_EQ(1, read_events(area.fd, &event, 1));
		ROW_EQ(START_NS + MS, event.deadline_ns);
		/* The next one that has its place has a word of its own. */
		ROW_EQ(0, arm_in(area.fd, 0, 0, &id));
		ROW_EQ(0, postponed_to(&area, id));
		close_areas(&area);
	}
}

/* Places are used again; what the word of the one before said is forgotten. */
TEST_F(table, index_that_is_used_again)
{
	const struct htwheel_design *row;
	uint64_t ids[20], again[20];
	struct htwheel_event event;
	struct area area;
	unsigned int i, reused = 0;

	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row));
		ROW_EQ(0, arm_many(area.fd, &(struct htwheel_op){ .time_ns = HOUR_NS }, 0, 20, 0,
				   ids));
		for (i = 0; i < 20; i++)
			postpone(&area, ids[i], HTWHEEL_NEVER_NS);
		ROW_EQ(20, cancel_many(area.fd, ids, 20));
		ROW_EQ(0, arm_many(area.fd, &(struct htwheel_op){ .time_ns = MS }, 0, 20, MS,
				   again));
		for (i = 0, reused = 0; i < 20; i++) {
			ROW_EQ(0, postponed_to(&area, again[i]));
			reused += (uint32_t)again[i] == (uint32_t)ids[19 - i] ||
				  (uint32_t)again[i] == (uint32_t)ids[i];
		}
		ROW_EQ(0, advance_to(area.fd, START_NS + NS_PER_S));
		for (i = 0; i < 20; i++)
			ROW_EQ(1, read_events(area.fd, &event, 1));
		close_areas(&area);
	}
	TH_LOG("%u of 20 indices were used again", reused);
}

/* Time left at the end, by the word; and none of what is not a timer's is looked at. */
TEST_F(table, operations_go_by_the_later_one)
{
	const struct htwheel_design *row;
	struct htwheel_dump_entry entry;
	uint64_t id, left_ns;
	struct area area;

	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row));
		memset(area.table, 0x11, area.table_bytes);
		ROW_EQ(0, arm_in(area.fd, MS, 0, &id));
		ROW_EQ(0, postponed_to(&area, id));
		postpone(&area, id, START_NS + HOUR_NS);
		ROW_EQ(0, query(area.fd, id, &left_ns));
		ROW_EQ(HOUR_NS, left_ns);
		ROW_EQ(0, dump_one(area.fd, id, &entry));
		ROW_EQ(START_NS + HOUR_NS, entry.deadline_ns);
		ROW_EQ(HOUR_NS, entry.left_ns);
		ROW_EQ(HTWHEEL_STATE_ARMED, entry.state);
		ROW_EQ(0, advance_to(area.fd, START_NS + MS / 2));
		ROW_EQ(0, cancel(area.fd, id, &left_ns));
		ROW_EQ(HOUR_NS - MS / 2, left_ns);
		close_areas(&area);
	}
}

/* Who has been told of what there is, is not told again because a timer was postponed. */
TEST_F(table, no_edge_for_a_postponed_timer)
{
	struct epoll_event in = { .events = EPOLLIN | EPOLLET };
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	const struct htwheel_design *row;
	struct htwheel_event event;
	struct area area;
	uint64_t id;

	ASSERT_LE(0, epoll_fd);
	FOR_EACH_ROW(row) {
		ROW_EQ(0, open_row(&area, row));
		ROW_EQ(0, epoll_ctl(epoll_fd, EPOLL_CTL_ADD, area.fd, &in));
		ROW_EQ(0, arm_in(area.fd, MS, 0, NULL));
		ROW_EQ(0, arm_in(area.fd, 10 * MS, 1, &id));
		postpone(&area, id, START_NS + 100 * MS);
		ROW_EQ(0, advance_to(area.fd, START_NS + 5 * MS));
		ROW_EQ(1, epoll_wait(epoll_fd, &in, 1, 0));
		ROW_EQ(0, advance_to(area.fd, START_NS + 50 * MS));
		ROW_EQ(1, times_postponed(area.fd));
		ROW_EQ(0, epoll_wait(epoll_fd, &in, 1, 0));
		ROW_EQ(0, advance_to(area.fd, START_NS + 200 * MS));
		ROW_EQ(1, epoll_wait(epoll_fd, &in, 1, 0));
		ROW_EQ(1, read_events(area.fd, &event, 1));
		ROW_EQ(1, read_events(area.fd, &event, 1));
		close_areas(&area);
		in = (struct epoll_event){ .events = EPOLLIN | EPOLLET };
	}
	close(epoll_fd);
}

TEST_HARNESS_MAIN
