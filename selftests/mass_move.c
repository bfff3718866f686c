// SPDX-License-Identifier: GPL-2.0
/*
 * HTWHEEL_MASS_SHIFT and HTWHEEL_MASS_SCALE: where exactly each deadline gets to.
 */
#include "harness.h"
#include "crew.h"
#include "mass.h"

FIXTURE(mass) {
	struct many_timers data;
};

FIXTURE_SETUP(mass)
{
	self->data.fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->data.fd);
	if (!has_mass(self->data.fd))
		SKIP(return, "the module lacks a feature");
}

FIXTURE_TEARDOWN(mass)
{
	close(self->data.fd);
}

TEST_F(mass, shift_moves_each_deadline_exactly)
{
	struct many_timers *mass = &self->data;
	const int64_t shifts[] = { 1, -1, HOUR_NS, -(int64_t)HOUR_NS, YEAR_NS, -HOUR_NS - 12345 };
	uint64_t done;
	uint32_t i;
	size_t s;

	ASSERT_EQ(0, arm_far(mass, 0, 2000));
	ASSERT_EQ(0, arm_like(mass, (struct htwheel_op){ .time_ns = 10 * HOUR_NS }, 2000, 500,
			      NS_PER_S));
	ASSERT_EQ(0, device_stats(mass->fd, &mass->stats));
	ASSERT_EQ(2500, list(mass, mass->before));
	for (s = 0; s < ARRAY_SIZE(shifts); s++) {
		ASSERT_EQ(0, shift(mass->fd, shifts[s], &done));
		EXPECT_EQ(2500, done);
		EXPECT_TRUE(replaced_in_books(mass, 2500));
		ASSERT_EQ(2500, list(mass, mass->after));
		for (i = 0; i < 2500; i++) {
			ASSERT_EQ(mass->before[i].deadline_ns + shifts[s],
				  mass->after[i].deadline_ns) {
				TH_LOG("timer %u", i);
			}
			ASSERT_EQ(mass->ids[i], mass->after[i].id);
			ASSERT_EQ(HTWHEEL_STATE_ARMED, mass->after[i].state);
		}
		memcpy(mass->before, mass->after, sizeof(mass->before));
	}
	EXPECT_FALSE(is_readable(mass->fd));
	EXPECT_EQ(2500, cancel_many(mass->fd, mass->ids, 2500));
}

TEST_F(mass, shift_by_0_moves_nothing)
{
	struct many_timers *mass = &self->data;
	uint64_t done;
	uint32_t i;

	ASSERT_EQ(0, arm_far(mass, 0, 100));
	ASSERT_EQ(0, device_stats(mass->fd, &mass->stats));
	ASSERT_EQ(100, list(mass, mass->before));
	ASSERT_EQ(0, shift(mass->fd, 0, &done));
	EXPECT_TRUE(replaced_in_books(mass, done));
	ASSERT_EQ(100, list(mass, mass->after));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(mass->before[i].deadline_ns, mass->after[i].deadline_ns);
}

/* Those that get before the present fire at once, with the deadline that they have now. */
TEST_F(mass, shift_into_the_past_fires_at_once)
{
	struct many_timers *mass = &self->data;
	const uint64_t due_ns = now_ns() + HOUR_NS;
	struct htwheel_event events[200];
	uint64_t done, before_ns;
	int i;

	ASSERT_EQ(0, arm_like(mass, (struct htwheel_op){
		.flags = HTWHEEL_ABSOLUTE, .time_ns = due_ns,
	}, 0, 100, 1000));
	ASSERT_EQ(0, arm_like(mass, (struct htwheel_op){
		.flags = HTWHEEL_ABSOLUTE, .time_ns = due_ns + 10 * HOUR_NS,
	}, 100, 100, 0));
	ASSERT_EQ(0, device_stats(mass->fd, &mass->stats));
	before_ns = now_ns();
	ASSERT_EQ(0, shift(mass->fd, -(int64_t)(HOUR_NS + NS_PER_MS), &done));
	EXPECT_EQ(200, done);
	EXPECT_TRUE(replaced_in_books(mass, 200));
	EXPECT_EQ(100, mass->stats.expired);
	/* However many steps it took, the file became readable once. */
	EXPECT_EQ(1, mass->stats.alerts);
	ASSERT_EQ(100, read_events(mass->fd, events, 200));
	for (i = 0; i < 100; i++) {
		ASSERT_GT(100, events[i].user_data);
		ASSERT_EQ(due_ns + events[i].user_data * 1000 - HOUR_NS - NS_PER_MS,
			  events[i].deadline_ns);
		ASSERT_LE(before_ns, events[i].fired_ns);
		ASSERT_GE(now_ns(), events[i].fired_ns);
		ASSERT_EQ(1, events[i].count);
	}
	EXPECT_FALSE(is_readable(mass->fd));
	EXPECT_EQ(100, count_stale(mass->fd, mass->ids, 200));
}

struct sleeper {
	int	fd;
	pid_t	tid;
};

static void *read_one(void *arg)
{
	struct sleeper *sleeper = arg;
	struct htwheel_event event;

	__atomic_store_n(&sleeper->tid, gettid(), __ATOMIC_RELEASE);
	return (void *)(uintptr_t)(read_events(sleeper->fd, &event, 1) == 1);
}

/* Who sleeps in read(2) or poll(2) is told, by SHIFT and by SCALE. */
TEST_F(mass, what_gets_before_the_present_wakes_who_waits)
{
	struct many_timers *mass = &self->data;
	struct sleeper sleeper;
	pthread_t reader;
	uint64_t done;
	void *seen;
	int round;

	ASSERT_EQ(0, fcntl(mass->fd, F_SETFL, 0));
	for (round = 0; round < 4; round++) {
		ASSERT_EQ(0, arm_far(mass, 0, 1));
		sleeper = (struct sleeper){ .fd = mass->fd };
		ASSERT_EQ(0, pthread_create(&reader, NULL, read_one, &sleeper));
		ASSERT_TRUE(wait_asleep(&sleeper.tid));
		ASSERT_EQ(0, round % 2 ? shift(mass->fd, -(int64_t)YEAR_NS, &done) :
					 scale(mass->fd, 0, 1, &done));
		EXPECT_EQ(1, done);
		ASSERT_EQ(0, pthread_join(reader, &seen));
		EXPECT_TRUE(!!seen);
	}
}

/* A timer that comes nearer must wake who sleeps for a later one (B20), and is not early. */
TEST_F(mass, B20_shift_to_soon_fires_then)
{
	struct many_timers *mass = &self->data;
	const uint64_t due_ns = now_ns() + HOUR_NS;
	struct htwheel_event events[100];
	uint64_t done, soon_ns;
	int ret, nr = 0, i;

	ASSERT_EQ(0, arm_like(mass, (struct htwheel_op){
		.flags = HTWHEEL_ABSOLUTE, .time_ns = due_ns,
	}, 0, 100, NS_PER_MS));
	soon_ns = now_ns() + 30 * NS_PER_MS;
	ASSERT_EQ(0, shift(mass->fd, soon_ns - due_ns, &done));
	ASSERT_EQ(100, done);
	while (nr < 100) {
		ASSERT_TRUE(wait_readable(mass->fd));
		ret = read_events(mass->fd, events, 100);
		ASSERT_LT(0, ret);
		for (i = 0; i < ret; i++) {
			ASSERT_EQ(soon_ns + events[i].user_data * NS_PER_MS,
				  events[i].deadline_ns);
			ASSERT_LE(events[i].deadline_ns, events[i].fired_ns);
		}
		nr += ret;
	}
}

TEST_F(mass, B51_NEVER_stays)
{
	struct many_timers *mass = &self->data;
	const int64_t shifts[] = { 1, -1, -(int64_t)YEAR_NS, -(int64_t)NEVER, NEVER };
	const uint32_t numerators[] = { 0, 1, UINT32_MAX };
	uint64_t done;
	uint32_t i;
	size_t s;

	ASSERT_EQ(0, arm_like(mass, (struct htwheel_op){ .time_ns = NEVER }, 0, 50, 0));
	ASSERT_EQ(0, arm_like(mass, (struct htwheel_op){
		.flags = HTWHEEL_ABSOLUTE, .time_ns = NEVER,
	}, 50, 50, 0));
	ASSERT_EQ(0, device_stats(mass->fd, &mass->stats));
	for (s = 0; s < ARRAY_SIZE(shifts); s++) {
		ASSERT_EQ(0, shift(mass->fd, shifts[s], &done));
		EXPECT_TRUE(replaced_in_books(mass, 0));
		EXPECT_EQ(0, done);
	}
	for (s = 0; s < ARRAY_SIZE(numerators); s++) {
		ASSERT_EQ(0, scale(mass->fd, numerators[s], 1, &done));
		ASSERT_EQ(0, scale(mass->fd, numerators[s], UINT32_MAX, &done));
		EXPECT_TRUE(replaced_in_books(mass, 0));
		EXPECT_EQ(0, done);
	}
	ASSERT_EQ(100, list(mass, mass->after));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(NEVER, mass->after[i].deadline_ns);
	EXPECT_FALSE(is_readable(mass->fd));
}

/* To the end of the clock, and not around it; and there it stays. */
TEST_F(mass, B51_shift_past_the_end_is_NEVER)
{
	struct many_timers *mass = &self->data;
	uint64_t done;
	uint32_t i;

	ASSERT_EQ(0, arm_far(mass, 0, 100));
	ASSERT_EQ(0, arm_like(mass, (struct htwheel_op){
		.flags = HTWHEEL_ABSOLUTE, .time_ns = NEVER - 100,
	}, 100, 100, 1));
	ASSERT_EQ(0, shift(mass->fd, 50, &done));
	ASSERT_EQ(200, list(mass, mass->after));
	for (i = 100; i < 200; i++)
		ASSERT_EQ(i < 150 ? NEVER - 150 + i : NEVER, mass->after[i].deadline_ns);
	ASSERT_EQ(0, shift(mass->fd, NEVER, &done));
	ASSERT_EQ(0, shift(mass->fd, -(int64_t)NEVER, &done));
	ASSERT_EQ(200, list(mass, mass->after));
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(NEVER, mass->after[i].deadline_ns);
		ASSERT_EQ(HTWHEEL_STATE_ARMED, mass->after[i].state);
	}
	EXPECT_EQ(200, cancel_many(mass->fd, mass->ids, 200));
	ASSERT_TRUE(books_are_right(mass->fd, &mass->stats));
}

TEST_F(mass, shift_by_minus_NEVER_fires_all)
{
	struct many_timers *mass = &self->data;
	struct htwheel_event events[100];
	uint64_t done;
	int i;

	ASSERT_EQ(0, arm_far(mass, 0, 100));
	ASSERT_EQ(0, shift(mass->fd, -(int64_t)NEVER, &done));
	EXPECT_EQ(100, done);
	ASSERT_EQ(100, read_events(mass->fd, events, 100));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, events[i].deadline_ns);
	ASSERT_TRUE(books_are_right(mass->fd, &mass->stats));
	EXPECT_EQ(0, mass->stats.pending);
}

/* Fired and idle ones have no deadline that could move. */
TEST_F(mass, shift_and_scale_leave_alone_what_is_not_armed)
{
	struct many_timers *mass = &self->data;
	struct htwheel_event events[200];
	uint64_t done;
	int i;

	ASSERT_EQ(0, arm_idle(mass, 0, 100));
	ASSERT_EQ(0, arm_fired(mass, 100, 100));
	ASSERT_EQ(0, arm_like(mass, (struct htwheel_op){
		.flags = HTWHEEL_PERIODIC, .period_ns = HOUR_NS,
	}, 200, 100, 0));
	ASSERT_TRUE(wait_readable(mass->fd));
	while (device_stats(mass->fd, &mass->stats) == 0 && mass->stats.expired < 200)
		sleep_ns(NS_PER_MS);
	ASSERT_EQ(300, list(mass, mass->before));
	ASSERT_EQ(0, shift(mass->fd, HOUR_NS, &done));
	EXPECT_EQ(0, done);
	ASSERT_EQ(0, shift(mass->fd, -(int64_t)NEVER, &done));
	EXPECT_EQ(0, done);
	ASSERT_EQ(0, scale(mass->fd, 1000, 1, &done));
	EXPECT_EQ(0, done);
	EXPECT_TRUE(replaced_in_books(mass, 0));
	ASSERT_EQ(300, list(mass, mass->after));
	for (i = 0; i < 300; i++) {
		ASSERT_EQ(i < 100 ? HTWHEEL_STATE_IDLE : HTWHEEL_STATE_FIRED,
			  mass->after[i].state);
		ASSERT_EQ(0, memcmp(&mass->before[i], &mass->after[i], sizeof(mass->after[i])));
	}
	ASSERT_EQ(200, read_events(mass->fd, events, 200));
	EXPECT_EQ(100, count_results(mass->fd, HTWHEEL_OP_REARM, mass->ids, 100, 0));
}

/* The deadline that is right if the clock showed now_ns when the timer was visited. */
static uint64_t scaled_deadline(uint64_t deadline_ns, uint64_t now, uint32_t numerator,
				uint32_t denominator)
{
	__extension__ unsigned __int128 left = deadline_ns - now;

	left = left * numerator / denominator + now;
	return left < NEVER ? left : NEVER;
}

/* The division is exact; only the moment of the visit is not known better than this. */
static bool is_scaled(uint64_t old_ns, uint64_t new_ns, uint64_t from_ns, uint64_t to_ns,
		      uint32_t numerator, uint32_t denominator)
{
	uint64_t a = scaled_deadline(old_ns, from_ns, numerator, denominator);
	uint64_t b = scaled_deadline(old_ns, to_ns, numerator, denominator);

	if (old_ns == NEVER)
		return new_ns == NEVER;
	return new_ns + 1 >= (a < b ? a : b) && new_ns <= (a < b ? b : a) + (b < NEVER);
}

TEST_F(mass, scale_multiplies_the_time_left)
{
	struct many_timers *mass = &self->data;
	const struct { uint32_t numerator, denominator; } cases[] = {
		{ 1, 1 }, { 2, 1 }, { 1, 2 }, { 3, 7 }, { 7, 3 }, { 1000000007, 1000000006 },
		{ UINT32_MAX, UINT32_MAX }, { UINT32_MAX, UINT32_MAX - 1 }, { UINT32_MAX, 3 },
		{ UINT32_MAX, 1 },
	};
	uint64_t done, from_ns, to_ns, ended;
	uint32_t i;
	size_t c;

	ASSERT_EQ(0, arm_far(mass, 0, 1000));
	ASSERT_EQ(0, arm_like(mass, (struct htwheel_op){ .time_ns = 1ULL << 62 }, 1000, 10, 1));
	for (c = 0; c < ARRAY_SIZE(cases); c++) {
		ASSERT_EQ(1010, list(mass, mass->before));
		for (i = 0, ended = 0; i < 1010; i++)
			ended += mass->before[i].deadline_ns == NEVER;
		ASSERT_EQ(0, device_stats(mass->fd, &mass->stats));
		from_ns = now_ns();
		ASSERT_EQ(0, scale(mass->fd, cases[c].numerator, cases[c].denominator, &done));
		to_ns = now_ns();
		EXPECT_GE(1010 - ended, done);
		EXPECT_TRUE(replaced_in_books(mass, done));
		ASSERT_EQ(1010, list(mass, mass->after));
		for (i = 0; i < 1010; i++) {
			ASSERT_TRUE(is_scaled(mass->before[i].deadline_ns,
					      mass->after[i].deadline_ns, from_ns, to_ns,
					      cases[c].numerator, cases[c].denominator)) {
				TH_LOG("times %u / %u: %llu ns became %llu ns",
				       cases[c].numerator, cases[c].denominator,
				       (unsigned long long)mass->before[i].deadline_ns,
				       (unsigned long long)mass->after[i].deadline_ns);
			}
		}
	}
	EXPECT_FALSE(is_readable(mass->fd));
	EXPECT_EQ(1010, cancel_many(mass->fd, mass->ids, 1010));
}

/* Nothing left, or next to nothing: the present is where the deadline gets to, not its start. */
TEST_F(mass, scale_to_nothing_fires_at_once)
{
	struct many_timers *mass = &self->data;
	const struct { uint32_t numerator, denominator; } cases[] = {
		{ 0, 1 }, { 0, UINT32_MAX }, { 1, UINT32_MAX },
	};
	uint64_t done, from_ns, read_ns;
	struct htwheel_event event;
	int i, c;

	for (c = 0; c < 3; c++) {
		ASSERT_EQ(0, arm_like(mass, (struct htwheel_op){ .time_ns = HOUR_NS }, 0, 100, 0));
		from_ns = now_ns();
		ASSERT_EQ(0, scale(mass->fd, cases[c].numerator, cases[c].denominator, &done));
		EXPECT_EQ(100, done);
		for (i = 0; i < 100; i++) {
			ASSERT_EQ(0, next_event(mass->fd, &event));
			read_ns = now_ns();
			ASSERT_LE(from_ns, event.deadline_ns);
			ASSERT_LE(event.deadline_ns, event.fired_ns);
			ASSERT_LE(event.fired_ns, read_ns);
		}
		ASSERT_TRUE(books_are_right(mass->fd, &mass->stats));
		EXPECT_EQ(0, mass->stats.pending);
	}
}

TEST_F(mass, shift_and_scale_by_tag)
{
	struct many_timers *mass = &self->data;
	uint64_t done;
	uint32_t i;

	for (i = 0; i < 300; i++)
		ASSERT_EQ(0, arm_like(mass, (struct htwheel_op){
			.tag = i % 3, .time_ns = 10 * HOUR_NS,
		}, i, 1, 0));
	ASSERT_EQ(300, list(mass, mass->before));
	ASSERT_EQ(0, mass_all(mass->fd, (struct htwheel_mass){
		.opcode = HTWHEEL_MASS_SHIFT, .flags = HTWHEEL_MASS_TAG, .tag = 1, .shift_ns = 77,
	}, &done));
	EXPECT_EQ(100, done);
	ASSERT_EQ(0, mass_all(mass->fd, (struct htwheel_mass){
		.opcode = HTWHEEL_MASS_SCALE, .flags = HTWHEEL_MASS_TAG, .tag = 2,
		.numerator = 3, .denominator = 1,
	}, &done));
	EXPECT_EQ(100, done);
	ASSERT_EQ(300, list(mass, mass->after));
	for (i = 0; i < 300; i++) {
		if (i % 3 < 2) {
			ASSERT_EQ(mass->before[i].deadline_ns + i % 3 * 77,
				  mass->after[i].deadline_ns);
		} else {
			ASSERT_LE(mass->before[i].deadline_ns + 19 * HOUR_NS,
				  mass->after[i].deadline_ns);
		}
	}
}

/* The deadlines that follow are counted from the new one; the period is what it was. */
TEST_F(mass, shift_moves_the_phase_of_a_periodic_timer)
{
	struct many_timers *mass = &self->data;
	const uint64_t due_ns = now_ns() + HOUR_NS, period_ns = 20 * NS_PER_MS + 1;
	struct htwheel_dump_entry entry;
	struct htwheel_event event;
	uint64_t done, moved_ns;
	int round;

	ASSERT_EQ(0, arm_like(mass, (struct htwheel_op){
		.flags = HTWHEEL_ABSOLUTE | HTWHEEL_PERIODIC, .time_ns = due_ns,
		.period_ns = period_ns,
	}, 0, 1, 0));
	moved_ns = now_ns() + 10 * NS_PER_MS;
	ASSERT_EQ(0, shift(mass->fd, moved_ns - due_ns, &done));
	EXPECT_EQ(1, done);
	for (round = 0; round < 5; round++) {
		ASSERT_EQ(0, next_event(mass->fd, &event));
		EXPECT_EQ(0, (event.deadline_ns - moved_ns) % period_ns);
		EXPECT_EQ(HTWHEEL_EVENT_LIVE, event.flags);
		ASSERT_EQ(0, dump_one(mass->fd, mass->ids[0], &entry));
		EXPECT_EQ(period_ns, entry.period_ns);
		EXPECT_EQ(event.deadline_ns + event.count * period_ns, entry.deadline_ns);
	}
	ASSERT_TRUE(books_are_right(mass->fd, &mass->stats));
	ASSERT_EQ(0, cancel_all(mass->fd, &done));
	EXPECT_EQ(1, done);
}

TEST_HARNESS_MAIN
