// SPDX-License-Identifier: GPL-2.0
/*
 * What else there is works on a manual clock as on a live one: periods, KEEP, slack, the wake-up
 * policy, MASS, DUMP, the books; and anybody may have one.
 */
#include "harness.h"
#include "lab.h"

#define TICK_NS		(1ULL << 19)
#define START_NS	(1ULL << 32)
#define MS		NS_PER_MS

FIXTURE(use) {
	struct htwheel_design rows[MAX_ROWS];
	int nr;
};

FIXTURE_SETUP(use)
{
	self->nr = read_designs(self->rows, MAX_ROWS);
	ASSERT_LE(1, self->nr);
}

FIXTURE_TEARDOWN(use)
{
}

#define FOR_EACH_ROW(row)								\
	for ((row) = self->rows; (row) < self->rows + self->nr; (row)++)

/* The table of the header: a period of 10, a reader who comes at 105. */
TEST_F(use, B48_missed_turns)
{
	const struct {
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
	const struct htwheel_design *row;
	struct htwheel_event events[16];
	unsigned int i, jump, k;
	uint64_t id;
	int fd;

	FOR_EACH_ROW(row) {
		for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
			jump = i & 1;
			fd = open_manual_row(row, 1ULL << 10, START_NS);
			ROW_LE(0, fd);
			ROW_EQ(0, arm_every(fd, cases[i / 2].policy, START_NS + 10 * MS, 10 * MS,
					    7, &id));
			ROW_EQ(0, advance_with(fd, jump ? HTWHEEL_ADVANCE_JUMP : 0,
					       START_NS + 105 * MS));
			for (k = 0; k < cases[i / 2].events; k++) {
				ROW_EQ(1, read_events(fd, &events[k], 1));
				ROW_EQ(id, events[k].id);
				ROW_EQ(START_NS + (k + 1) * 10 * MS, events[k].deadline_ns);
				ROW_EQ(cases[i / 2].count, events[k].count);
				ROW_EQ(HTWHEEL_EVENT_LIVE, events[k].flags);
				ROW_LE(events[k].deadline_ns, events[k].fired_ns);
			}
			ROW_TRUE(!is_readable(fd));
			ROW_EQ(START_NS + cases[i / 2].next_ms * MS, dumped_deadline_ns(fd, id));
			close(fd);
		}
	}
}

/* Shorter than a tick, and counted exactly all the same. */
TEST_F(use, B50_period_shorter_than_the_tick)
{
	const struct htwheel_design *row;
	struct htwheel_event event;
	uint64_t id, total = 0;
	unsigned int i;
	int fd;

	FOR_EACH_ROW(row) {
		fd = open_manual_row(row, 16, 0);
		ROW_LE(0, fd);
		ROW_EQ(0, arm_every(fd, HTWHEEL_POLICY_COUNT, 1, 1, 0, &id));
		for (i = 1, total = 0; i <= 1000; i++) {
			ROW_EQ(0, advance_to(fd, i * 16));
			if (read_events(fd, &event, 1) != 1)
				continue;
			total += event.count;
			ROW_EQ(i * 16, total);
		}
		ROW_LE(15 * 1000, total);
		close(fd);
	}
}

TEST_F(use, B49_periods_do_not_drift)
{
	const uint64_t period_ns = 10 * MS + 1;
	const struct htwheel_design *row;
	struct htwheel_event event;
	unsigned int turn;
	uint64_t id;
	int fd;

	FOR_EACH_ROW(row) {
		fd = open_manual_row(row, TICK_NS, START_NS);
		ROW_LE(0, fd);
		ROW_EQ(0, arm_every(fd, HTWHEEL_POLICY_COUNT, START_NS + period_ns, period_ns, 0,
				    &id));
		for (turn = 1; turn <= 500; turn++) {
			ROW_EQ(0, advance_to(fd, START_NS + turn * period_ns + period_ns / 2));
			ROW_EQ(1, read_events(fd, &event, 1));
			ROW_EQ(1, event.count);
			ROW_EQ(START_NS + turn * period_ns, event.deadline_ns);
		}
		close(fd);
	}
}

TEST_F(use, kept_timers)
{
	const struct htwheel_design *row;
	struct htwheel_event event;
	struct htwheel_stats stats;
	uint64_t id;
	unsigned int i;
	int fd;

	FOR_EACH_ROW(row) {
		fd = open_manual_row(row, TICK_NS, START_NS);
		ROW_LE(0, fd);
		ROW_EQ(0, arm_kept(fd, 3 * MS, 5, &id));
		for (i = 0; i < 20; i++) {
			ROW_EQ(0, advance_to(fd, clock_of(fd) + 10 * MS));
			ROW_EQ(1, read_events(fd, &event, 1));
			ROW_EQ(id, event.id);
			ROW_EQ(HTWHEEL_EVENT_LIVE, event.flags);
			ROW_EQ(-ENOENT, query(fd, id, NULL));
			ROW_EQ(0, advance_to(fd, clock_of(fd) + HOUR_NS));
			ROW_TRUE(!is_readable(fd));
			ROW_EQ(0, rearm_in(fd, id, i * MS / 4));
		}
		ROW_EQ(0, device_stats(fd, &stats));
		ROW_EQ(21, stats.armed);
		ROW_EQ(20, stats.fired);
		ROW_EQ(1, stats.pending);
		close(fd);
	}
}

/* A hundred neighbours with slack share passes, and none is later than it may be. */
TEST_F(use, slack_makes_neighbours_share_a_pass)
{
	const uint64_t slack_ns = 100 * MS;
	const struct htwheel_design *row;
	struct htwheel_advance adv[2];
	struct htwheel_event event;
	unsigned int with, i;
	int fd;

	FOR_EACH_ROW(row) {
		for (with = 0; with < 2; with++) {
			fd = open_manual_row(row, TICK_NS, START_NS);
			ROW_LE(0, fd);
			for (i = 0; i < 100; i++) {
				struct htwheel_op op = {
					.time_ns = 50 * MS + i * MS, .slack_ns = with * slack_ns,
				};

				ROW_EQ(0, arm_like(fd, op, NULL));
			}
			adv[with] = (struct htwheel_advance){ .to = START_NS + NS_PER_S };
			ROW_EQ(0, device_advance(fd, &adv[with]));
			ROW_EQ(100, adv[with].due);
			while (read_events(fd, &event, 1) == 1) {
				ROW_LE(event.deadline_ns, event.fired_ns);
				ROW_GE(event.deadline_ns + with * slack_ns +
				       most_late_ns(row, TICK_NS, 300 * MS), event.fired_ns);
			}
			close(fd);
		}
		ROW_LE(adv[1].passes * (is_exact(row) ? 5 : 1), adv[0].passes);
	}
}

/* wake_usecs is time of this clock: no real time makes the file readable. */
TEST_F(use, wake_up_policy)
{
	struct htwheel_setup setup = setup_of_row(&self->rows[0]);
	struct htwheel_event events[8];
	struct htwheel_stats stats;
	int fd;

	/* An exact one: it is known when it has waited for so long. */
	ASSERT_TRUE(is_exact(&self->rows[0]));
	setup.clock = HTWHEEL_CLOCK_MANUAL;
	setup.tick_ns = 1 << 10;
	setup.start_ns = START_NS;
	setup.wake_events = 3;
	setup.wake_usecs = 10000;
	fd = open_with(setup);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, arm_in(fd, MS, 0, NULL));
	ASSERT_EQ(0, advance_to(fd, START_NS + 2 * MS));
	sleep_ns(30 * MS);
	EXPECT_FALSE(is_readable(fd));
	EXPECT_EQ(-EAGAIN, read_events(fd, events, 8));
	/* It has waited for so long, to the ns, since it fired. */
	ASSERT_EQ(0, device_stats(fd, &stats));
	EXPECT_EQ(1, stats.expired);
	ASSERT_EQ(0, advance_to(fd, START_NS + 11 * MS - 1));
	EXPECT_FALSE(is_readable(fd));
	ASSERT_EQ(0, advance_to(fd, START_NS + 11 * MS + 2048));
	EXPECT_TRUE(is_readable(fd));
	ASSERT_EQ(1, read_events(fd, events, 8));
	EXPECT_GE(START_NS + MS + 2048, events[0].fired_ns);
	/* By number, at once. */
	ASSERT_EQ(0, arm_in(fd, 1, 1, NULL));
	ASSERT_EQ(0, arm_in(fd, 2, 2, NULL));
	ASSERT_EQ(0, advance_ticks(fd, 5));
	EXPECT_FALSE(is_readable(fd));
	ASSERT_EQ(0, arm_at(fd, 0, 3, NULL));
	EXPECT_TRUE(is_readable(fd));
	EXPECT_EQ(3, read_events(fd, events, 8));
	ASSERT_EQ(0, device_stats(fd, &stats));
	EXPECT_EQ(2, stats.alerts);
	/* A past one has fired now, and waits from now on. */
	ASSERT_EQ(0, arm_at(fd, 0, 4, NULL));
	EXPECT_FALSE(is_readable(fd));
	ASSERT_EQ(0, advance_to(fd, clock_of(fd) + 10 * MS));
	EXPECT_TRUE(is_readable(fd));
	EXPECT_EQ(1, read_events(fd, events, 8));
	/* A jump is time, too. */
	ASSERT_EQ(0, arm_at(fd, 0, 5, NULL));
	ASSERT_EQ(0, advance_with(fd, HTWHEEL_ADVANCE_JUMP, clock_of(fd) + NS_PER_S));
	EXPECT_TRUE(is_readable(fd));
	close(fd);
}

static int shift_all(int fd, int64_t shift_ns, uint64_t *done)
{
	return mass_all(fd, (struct htwheel_mass){
		.opcode = HTWHEEL_MASS_SHIFT, .shift_ns = shift_ns,
	}, done);
}

TEST_F(use, MASS_shifts_and_scales)
{
	const struct htwheel_design *row;
	struct htwheel_mass scale = {
		.opcode = HTWHEEL_MASS_SCALE, .numerator = 1, .denominator = 4,
	};
	struct htwheel_event event;
	uint64_t done, left_ns, ids[8];
	unsigned int i;
	int fd;

	FOR_EACH_ROW(row) {
		fd = open_manual_row(row, TICK_NS, START_NS);
		ROW_LE(0, fd);
		for (i = 0; i < 8; i++)
			ROW_EQ(0, arm_in(fd, (i + 1) * NS_PER_S, i, &ids[i]));
		/* Half a second passes, then all come an hour later, to the ns. */
		ROW_EQ(0, advance_to(fd, START_NS + NS_PER_S / 2));
		ROW_EQ(0, shift_all(fd, HOUR_NS, &done));
		ROW_EQ(8, done);
		ROW_EQ(0, query(fd, ids[0], &left_ns));
		ROW_EQ(HOUR_NS + NS_PER_S / 2, left_ns);
		ROW_EQ(0, mass_all(fd, scale, &done));
		ROW_EQ(8, done);
		for (i = 0; i < 8; i++) {
			ROW_EQ(0, query(fd, ids[i], &left_ns));
			ROW_EQ((HOUR_NS + NS_PER_S / 2 + i * NS_PER_S) / 4, left_ns);
		}
		/* And back, before the present: all at once, without any ADVANCE. */
		ROW_EQ(0, shift_all(fd, -(int64_t)HOUR_NS, &done));
		ROW_EQ(8, done);
		for (i = 0; i < 8; i++) {
			ROW_EQ(1, read_events(fd, &event, 1));
			ROW_EQ(START_NS + NS_PER_S / 2, event.fired_ns);
		}
		ROW_EQ(0, mass_all(fd, (struct htwheel_mass){ .opcode = HTWHEEL_MASS_TRIM },
				   &done));
		close(fd);
	}
}

/* Every timer is listed, in its state, with the time that is left by this clock. */
TEST_F(use, DUMP_and_the_books)
{
	const struct htwheel_design *row;
	struct htwheel_dump_entry entry;
	struct htwheel_stats stats;
	struct htwheel_info info;
	uint64_t armed, fired, idle;
	int fd;

	FOR_EACH_ROW(row) {
		fd = open_manual_row(row, TICK_NS, START_NS);
		ROW_LE(0, fd);
		ROW_EQ(0, device_info(fd, &info));
		ROW_EQ(0, arm_kept(fd, 0, 3, &idle));
		ROW_EQ(1, drop_events(fd));
		ROW_EQ(0, arm_in(fd, NS_PER_S, 1, &armed));
		ROW_EQ(0, arm_in(fd, MS, 2, &fired));
		ROW_EQ(0, advance_to(fd, START_NS + NS_PER_S / 4));
		ROW_EQ(0, dump_one(fd, armed, &entry));
		ROW_EQ(HTWHEEL_STATE_ARMED, entry.state);
		ROW_EQ(START_NS + NS_PER_S, entry.deadline_ns);
		ROW_EQ(NS_PER_S * 3 / 4, entry.left_ns);
		ROW_EQ(0, entry.cpu);
		if (info.levels)
			ROW_GE(info.levels - 1, entry.level);
		ROW_EQ(0, dump_one(fd, fired, &entry));
		ROW_EQ(HTWHEEL_STATE_FIRED, entry.state);
		ROW_EQ(0, entry.left_ns);
		ROW_EQ(0, dump_one(fd, idle, &entry));
		ROW_EQ(HTWHEEL_STATE_IDLE, entry.state);
		ROW_EQ(0, device_stats(fd, &stats));
		ROW_TRUE(books_balance(&stats));
		ROW_EQ(3, stats.armed);
		ROW_EQ(1, stats.fired);
		ROW_EQ(2, stats.pending);
		ROW_EQ(1, stats.expired);
		ROW_EQ(1, stats.idle);
		ROW_EQ(1, stats.queued);
		/* By this clock, it was less than 2 ticks and a granule late. */
		ROW_EQ(1, drop_events(fd));
		ROW_EQ(0, device_stats(fd, &stats));
		ROW_EQ(2, stats.fired);
		close(fd);
	}
}

/* What nobody may do to a live clock, anybody may do to one of his own. */
TEST_F(use, unprivileged)
{
	const struct htwheel_design *row;
	struct htwheel_event event;
	int fds[MAX_ROWS], fd, i;
	pid_t pid;

	for (i = 0; i < self->nr; i++) {
		fds[i] = open_device(O_NONBLOCK);
		ASSERT_LE(0, fds[i]);
	}
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(10);
		for (i = 0; i < self->nr; i++) {
			struct htwheel_setup setup = setup_of_row(&self->rows[i]);

			setup.clock = HTWHEEL_CLOCK_MANUAL;
			setup.start_ns = 1ULL << 48;
			if (setup_like(fds[i], setup))
				_exit(11);
			if (arm_in(fds[i], MS, 0, NULL) || advance_ticks(fds[i], 100))
				_exit(12);
			if (read_events(fds[i], &event, 1) != 1)
				_exit(13);
		}
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	/* It is the file's clock: whoever shares the file sees it. */
	for (i = 0; i < self->nr; i++) {
		row = &self->rows[i];
		ROW_EQ((1ULL << 48) + 100 * TICK_NS, clock_of(fds[i]));
		close(fds[i]);
	}
	fd = open_device(O_NONBLOCK);
	EXPECT_GT(HTWHEEL_NEVER_NS / 2, clock_of(fd));
	close(fd);
}

TEST_HARNESS_MAIN
