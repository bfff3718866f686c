// SPDX-License-Identifier: GPL-2.0
/*
 * The manual clock: time stands until it is moved, and what fires when, with every design.
 *
 * Nothing here depends on how fast the machine is: all times are those of the clock.
 */
#include "harness.h"
#include "lab.h"

#define TICK_NS		(1ULL << 19)
#define START_NS	(1000 * NS_PER_S + 12345)

FIXTURE(manual) {
	struct htwheel_design rows[MAX_ROWS];
	int nr;
};

FIXTURE_SETUP(manual)
{
	self->nr = read_designs(self->rows, MAX_ROWS);
	ASSERT_LE(1, self->nr);
}

FIXTURE_TEARDOWN(manual)
{
}

#define FOR_EACH_ROW(row)								\
	for ((row) = self->rows; (row) < self->rows + self->nr; (row)++)

TEST_F(manual, setup_with_and_without_the_flag)
{
	const struct htwheel_design *row;
	struct htwheel_setup setup;
	struct htwheel_info info;
	unsigned int flag;
	int fd;

	FOR_EACH_ROW(row) {
		for (flag = 0; flag < 2; flag++) {
			setup = setup_of_row(row);
			setup.flags = flag ? HTWHEEL_SETUP_PRIVATE : 0;
			setup.clock = HTWHEEL_CLOCK_MANUAL;
			setup.tick_ns = 1ULL << (5 + flag);
			setup.start_ns = START_NS;
			fd = open_with(setup);
			ROW_LE(0, fd);
			ROW_EQ(0, device_info(fd, &info));
			ROW_EQ(HTWHEEL_CLOCK_MANUAL, info.clock);
			ROW_EQ(HTWHEEL_SETUP_PRIVATE, info.setup);
			ROW_EQ(START_NS, info.now_ns);
			ROW_EQ(1U << (5 + flag), info.tick_ns);
			ROW_EQ(1, info.cpus);
			ROW_EQ(0, memcmp(info.design, row->name, sizeof(info.design)));
			ROW_TRUE(has_shape_of(&info, row));
			close(fd);
		}
	}
}

TEST_F(manual, time_stands_still)
{
	struct htwheel_stats stats;
	struct htwheel_event event;
	uint64_t id, left_ns;
	int fd = open_manual(START_NS);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, arm_in(fd, 2 * NS_PER_MS, 1, &id));
	sleep_ns(50 * NS_PER_MS);
	EXPECT_EQ(START_NS, clock_of(fd));
	EXPECT_EQ(0, query(fd, id, &left_ns));
	EXPECT_EQ(2 * NS_PER_MS, left_ns);
	EXPECT_EQ(0, poll_for(fd, 20 * NS_PER_MS));
	EXPECT_EQ(-EAGAIN, read_events(fd, &event, 1));
	ASSERT_EQ(0, device_stats(fd, &stats));
	EXPECT_EQ(0, stats.passes);
	EXPECT_EQ(1, stats.queued);
	/* Not even what was due, had the time not stood still, is due now. */
	EXPECT_EQ(0, advance_to(fd, START_NS + 2 * NS_PER_MS - 1));
	EXPECT_FALSE(is_readable(fd));
	EXPECT_EQ(0, query(fd, id, &left_ns));
	EXPECT_EQ(1, left_ns);
	EXPECT_EQ(0, advance_to(fd, START_NS + 4 * NS_PER_MS));
	EXPECT_TRUE(is_readable(fd));
	ASSERT_EQ(1, read_events(fd, &event, 1));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(START_NS + 2 * NS_PER_MS, event.deadline_ns);
	close(fd);
}

/* A past deadline, and one of right now, fire without any ADVANCE. */
TEST_F(manual, B17_past_deadlines_fire_at_once)
{
	const struct htwheel_design *row;
	struct htwheel_event event;
	uint64_t id;
	int fd, i;

	FOR_EACH_ROW(row) {
		const uint64_t deadlines[] = { 0, 1, START_NS - TICK_NS, START_NS - 1, START_NS };

		fd = open_manual_row(row, TICK_NS, START_NS);
		ROW_LE(0, fd);
		for (i = 0; i < 5; i++) {
			ROW_EQ(0, arm_at(fd, deadlines[i], i, &id));
			ROW_EQ(1, read_events(fd, &event, 1));
			ROW_EQ(id, event.id);
			ROW_EQ(deadlines[i], event.deadline_ns);
			ROW_EQ(START_NS, event.fired_ns);
			/* A timer that waits, moved to exactly now. */
			ROW_EQ(0, arm_in(fd, HOUR_NS, i, &id));
			ROW_EQ(0, rearm_at(fd, id, deadlines[i]));
			ROW_EQ(HTWHEEL_RES_FIRED, rearm_at(fd, id, START_NS));
			ROW_EQ(1, read_events(fd, &event, 1));
			ROW_EQ(START_NS, event.fired_ns);
		}
		close(fd);
	}
}

/*
 * One timer from its arm to its event, at a phase of the tick: not before its deadline, not to the
 * ns, and not later than the design may be. Returns what was wrong, or NULL.
 */
static const char *one_timer(int fd, const struct htwheel_design *row, uint64_t tick_ns,
			     uint64_t delay_ns)
{
	const uint64_t now = clock_of(fd), deadline_ns = now + delay_ns;
	const uint64_t last_ns = deadline_ns + most_late_ns(row, tick_ns, delay_ns);
	struct htwheel_event event;
	uint64_t id, left_ns;

	if (arm_in(fd, delay_ns, delay_ns, &id))
		return "arm";
	if (query(fd, id, &left_ns) != (delay_ns ? 0 : HTWHEEL_RES_FIRED) || left_ns != delay_ns)
		return "query";
	if (delay_ns && advance_to(fd, deadline_ns - 1))
		return "advance";
	if (delay_ns && is_readable(fd))
		return "early";
	if (advance_to(fd, last_ns))
		return "advance";
	if (read_events(fd, &event, 1) != 1)
		return "late";
	if (event.id != id || event.user_data != delay_ns || event.deadline_ns != deadline_ns ||
	    event.count != 1)
		return "another event";
	if (event.fired_ns < deadline_ns || event.fired_ns > last_ns)
		return "fired_ns";
	/* It stopped at the very tick. */
	if (is_exact(row) && delay_ns &&
	    event.fired_ns != (deadline_ns + tick_ns - 1) / tick_ns * tick_ns)
		return "not the first moment of a tick";
	return is_readable(fd) ? "a second event" : NULL;
}

#define CHECK_ONE(fd, delay_ns)								\
	do {										\
		const char *_wrong = one_timer(fd, row, TICK_NS, delay_ns);		\
											\
		ASSERT_STREQ("nothing", _wrong ? _wrong : "nothing") {			\
			TH_LOG("design %s, delay %llu at %llu", row_text(row),		\
			       (unsigned long long)(delay_ns),				\
			       (unsigned long long)clock_of(fd));			\
		}									\
	} while (0)

TEST_F(manual, B04_B10_delays_around_the_levels)
{
	const uint64_t ticks[] = {
		1, 2, 62, 63, 64, 65, 255, 256, 257, 503, 504, 505, 511, 512, 513, 4031, 4032, 4033,
		4095, 4096, 4097, 32255, 32256, 32257, 262143, 262144, 262145, 640, 2560,
	};
	const struct htwheel_design *row;
	unsigned int phase;
	size_t i;
	int fd;

	FOR_EACH_ROW(row) {
		fd = open_manual_row(row, TICK_NS, 0);
		ROW_LE(0, fd);
		for (i = 0; i < ARRAY_SIZE(ticks); i++) {
			for (phase = 0; phase < 64; phase++) {
				ROW_EQ(0, advance_to(fd, (clock_of(fd) / (64 * TICK_NS) + 1) * 64 *
						     TICK_NS + phase * TICK_NS));
				CHECK_ONE(fd, ticks[i] * TICK_NS);
			}
		}
		close(fd);
	}
}

/* Phases within a tick, and delays of parts of it. */
TEST_F(manual, B08_B61_phases_of_the_tick)
{
	const uint64_t delays[] = {
		0, 1, 2, TICK_NS / 5, TICK_NS - 1, TICK_NS, TICK_NS + 1, TICK_NS * 6 / 5,
		20 * TICK_NS - 1, 20 * TICK_NS, 20 * TICK_NS + 1, 64 * TICK_NS - 1,
	};
	const uint64_t phases[] = {
		0, 1, TICK_NS * 3 / 10, TICK_NS / 2, TICK_NS * 7 / 10, TICK_NS - 2, TICK_NS - 1,
	};
	const struct htwheel_design *row;
	size_t i, k;
	int fd;

	FOR_EACH_ROW(row) {
		fd = open_manual_row(row, TICK_NS, 0);
		ROW_LE(0, fd);
		for (i = 0; i < ARRAY_SIZE(phases); i++) {
			for (k = 0; k < ARRAY_SIZE(delays); k++) {
				ROW_EQ(0, advance_to(fd, (clock_of(fd) / TICK_NS + 1) * TICK_NS +
						     phases[i]));
				CHECK_ONE(fd, delays[k]);
			}
		}
		/* At phase 0 there is no needless tick. */
		if (is_exact(row)) {
			uint64_t now = (clock_of(fd) / TICK_NS + 1) * TICK_NS;

			ROW_EQ(0, advance_to(fd, now));
			ROW_EQ(0, arm_in(fd, 3 * TICK_NS, 0, NULL));
			ROW_EQ(0, advance_to(fd, now + 3 * TICK_NS));
			ROW_TRUE(is_readable(fd));
		}
		close(fd);
	}
}

/* The clock at multiples of what levels have: the last slot of each counts as well. */
TEST_F(manual, B12_delays_of_whole_turns)
{
	const uint64_t turns[] = { 64, 128, 512, 4096, 32768, 262144 };
	const struct htwheel_design *row;
	size_t i, k;
	int fd;

	FOR_EACH_ROW(row) {
		for (i = 0; i < ARRAY_SIZE(turns); i++) {
			for (k = 0; k < ARRAY_SIZE(turns); k++) {
				fd = open_manual_row(row, TICK_NS, turns[k] * TICK_NS);
				ROW_LE(0, fd);
				CHECK_ONE(fd, turns[i] * TICK_NS);
				close(fd);
			}
		}
	}
}

TEST_F(manual, B02_B75_after_long_idleness)
{
	const uint64_t spans[] = {
		3 * NS_PER_S, 1000000 * TICK_NS, 24 * HOUR_NS, 87600 * HOUR_NS, 1ULL << 62,
	};
	const struct htwheel_design *row;
	struct htwheel_advance adv;
	uint64_t id;
	size_t i;
	int fd;

	FOR_EACH_ROW(row) {
		for (i = 0; i < 2 * ARRAY_SIZE(spans); i++) {
			fd = open_manual_row(row, TICK_NS, START_NS);
			ROW_LE(0, fd);
			adv = (struct htwheel_advance){
				.flags = i & 1 ? HTWHEEL_ADVANCE_JUMP : 0,
				.to = START_NS + spans[i / 2],
			};
			ROW_EQ(0, device_advance(fd, &adv));
			ROW_EQ(0, adv.due);
			ROW_EQ(0, adv.moves);
			ROW_GE(64 * HTWHEEL_MAX_LEVELS, adv.slots);
			ROW_GE(1, adv.passes);
			CHECK_ONE(fd, TICK_NS);
			/* A timer from before, moved. */
			ROW_EQ(0, arm_in(fd, 1ULL << 61, 0, &id));
			ROW_EQ(0, advance_to(fd, clock_of(fd) + NS_PER_S));
			ROW_EQ(0, rearm_in(fd, id, TICK_NS));
			ROW_EQ(0, advance_to(fd, clock_of(fd) + 3 * TICK_NS));
			ROW_EQ(1, drop_events(fd));
			close(fd);
		}
	}
}

TEST_F(manual, B20_B24_moved_while_time_is_short)
{
	const struct htwheel_design *row;
	struct htwheel_event event;
	uint64_t id, initial, target, start;
	int fd;

	FOR_EACH_ROW(row) {
		fd = open_manual_row(row, TICK_NS, 0);
		ROW_LE(0, fd);
		for (initial = 64; initial < 4096; initial = initial * 3 / 2 + 1) {
			for (target = 1; target < 64; target += 6) {
				start = clock_of(fd);
				ROW_EQ(0, arm_in(fd, initial * TICK_NS, 0, &id));
				ROW_EQ(0, advance_ticks(fd, 3));
				ROW_EQ(0, rearm_in(fd, id, target * TICK_NS));
				ROW_EQ(0, advance_ticks(fd, target + (is_exact(row) ? 0 : 9)));
				ROW_EQ(1, read_events(fd, &event, 1));
				ROW_EQ(start + (3 + target) * TICK_NS, event.deadline_ns);
				ROW_LE(event.deadline_ns, event.fired_ns);
				/* The other way: nothing at the old time. */
				ROW_EQ(0, arm_in(fd, target * TICK_NS, 0, &id));
				ROW_EQ(0, rearm_in(fd, id, initial * TICK_NS));
				ROW_EQ(0, advance_ticks(fd, initial - 1));
				ROW_TRUE(!is_readable(fd));
				ROW_EQ(0, advance_ticks(fd, 1 + initial / 4 + 9));
				ROW_EQ(1, drop_events(fd));
			}
		}
		close(fd);
	}
}

TEST_F(manual, B13_chain_of_rearms)
{
	const struct htwheel_design *row;
	struct htwheel_event event;
	unsigned int turn;
	uint64_t id, late;
	int fd;

	FOR_EACH_ROW(row) {
		fd = open_manual_row(row, 1ULL << 27, 0);
		ROW_LE(0, fd);
		late = most_late_ns(row, 1ULL << 27, 10 * NS_PER_S);
		ROW_EQ(0, arm_kept(fd, 10 * NS_PER_S, 0, &id));
		for (turn = 0; turn < 200; turn++) {
			ROW_EQ(0, advance_to(fd, clock_of(fd) + 10 * NS_PER_S + late));
			ROW_EQ(1, read_events(fd, &event, 1));
			ROW_LE(event.deadline_ns, event.fired_ns);
			ROW_GE(event.deadline_ns + late, event.fired_ns);
			ROW_EQ(0, rearm_in(fd, id, 10 * NS_PER_S));
		}
		close(fd);
	}
}

TEST_F(manual, deadlines_of_NEVER_stay)
{
	const struct htwheel_design *row;
	uint64_t id, left_ns;
	int fd;

	FOR_EACH_ROW(row) {
		fd = open_manual_row(row, TICK_NS, 0);
		ROW_LE(0, fd);
		ROW_EQ(0, arm_at(fd, HTWHEEL_NEVER_NS, 0, &id));
		ROW_EQ(0, arm_in(fd, HTWHEEL_NEVER_NS, 0, NULL));
		ROW_EQ(0, advance_to(fd, 1ULL << 62));
		ROW_EQ(0, arm_in(fd, LAST_NS, 0, NULL));
		ROW_EQ(0, advance_to(fd, LAST_NS));
		ROW_TRUE(!is_readable(fd));
		ROW_EQ(0, query(fd, id, &left_ns));
		ROW_EQ(1, left_ns);
		ROW_EQ(0, cancel(fd, id, &left_ns));
		close(fd);
	}
}

TEST_HARNESS_MAIN
