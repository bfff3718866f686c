// SPDX-License-Identifier: GPL-2.0
/*
 * Where a manual clock begins makes no difference: the borders of 31, 32, 36, 48 and 63 bits, in
 * nanoseconds and in ticks.
 */
#include "harness.h"
#include "lab.h"

#define NR_TIMERS	200U
/* Delays are below this, so that they end before the clock does. */
#define SPAN_NS		(1ULL << 38)

FIXTURE(start) {
	struct htwheel_design rows[MAX_ROWS];
	/* When each timer fired, from the start on: with the first start, and with another. */
	uint64_t first[NR_TIMERS];
	uint64_t fired[NR_TIMERS];
	int nr;
};

FIXTURE_VARIANT(start) {
	unsigned int tick_shift;
};

FIXTURE_VARIANT_ADD(start, tick_1_ns) {
	.tick_shift = 0,
};

FIXTURE_VARIANT_ADD(start, tick_1_us) {
	.tick_shift = 10,
};

FIXTURE_VARIANT_ADD(start, tick_half_a_ms) {
	.tick_shift = 19,
};

FIXTURE_VARIANT_ADD(start, tick_1_s) {
	.tick_shift = 30,
};

FIXTURE_SETUP(start)
{
	self->nr = read_designs(self->rows, MAX_ROWS);
	ASSERT_LE(1, self->nr);
}

FIXTURE_TEARDOWN(start)
{
}

/* The n-th border, less than a few ticks away from it; 0 behind the last. All are whole ticks. */
static uint64_t nth_start(unsigned int n, unsigned int tick_shift)
{
	const unsigned int bits[] = { 31, 32, 36, 48, 62 };
	const uint64_t end = (1ULL << 63) - (1ULL << 40);
	const uint64_t back = 5ULL << tick_shift;
	uint64_t ns;

	if (n == 2 * ARRAY_SIZE(bits))
		return (end >> tick_shift << tick_shift) - back;
	if (n > 2 * ARRAY_SIZE(bits))
		return 0;
	ns = 1ULL << bits[n / 2];
	/* In ticks, if the clock goes so far. */
	if (n & 1)
		ns = bits[n / 2] + tick_shift < 63 ? ns << tick_shift : end;
	return ns >> tick_shift <= 5 ? 1ULL << tick_shift :
				       (ns >> tick_shift << tick_shift) - back;
}

/* Timers with random delays; when they fired, relative to the start. */
static const char *run_from(int fd, const struct htwheel_design *row, unsigned int tick_shift,
			    uint64_t start_ns, uint64_t fired[NR_TIMERS])
{
	uint64_t seed = 4711 + tick_shift, delays[NR_TIMERS], tick_ns = 1ULL << tick_shift;
	struct htwheel_event events[32];
	unsigned int i, nr = 0;
	int ret, k;

	memset(fired, 0, NR_TIMERS * sizeof(*fired));
	for (i = 0; i < NR_TIMERS; i++) {
		delays[i] = 1 + chance(&seed) % (1ULL << (1 + chance_below(&seed, 37)));
		if (arm_in(fd, delays[i], i, NULL))
			return "arm";
	}
	if (advance_to(fd, start_ns + SPAN_NS + most_late_ns(row, tick_ns, SPAN_NS)))
		return "advance";
	while ((ret = read_events(fd, events, 32)) > 0) {
		for (k = 0; k < ret; k++) {
			i = events[k].user_data;
			if (i >= NR_TIMERS || fired[i])
				return "an event is wrong";
			if (events[k].deadline_ns != start_ns + delays[i])
				return "deadline";
			if (events[k].fired_ns < events[k].deadline_ns)
				return "early";
			if (events[k].fired_ns - events[k].deadline_ns >
			    most_late_ns(row, tick_ns, delays[i]))
				return "late";
			fired[i] = events[k].fired_ns - start_ns;
		}
		nr += ret;
	}
	return nr == NR_TIMERS ? NULL : "events are missing";
}

TEST_F(start, B53_every_border)
{
	const struct htwheel_design *row;
	uint64_t start_ns = 0;
	const char *wrong;
	unsigned int n;
	int fd;

	for (row = self->rows; row < self->rows + self->nr; row++) {
		start_ns = 0;
		for (n = 0; !n || start_ns; n++) {
			fd = open_manual_row(row, 1ULL << variant->tick_shift, start_ns);
			ROW_LE(0, fd);
			wrong = run_from(fd, row, variant->tick_shift, start_ns,
					 n ? self->fired : self->first);
			ASSERT_STREQ("nothing", wrong ? wrong : "nothing") {
				TH_LOG("design %s, start %#llx", row_text(row),
				       (unsigned long long)start_ns);
			}
			/* A granule has phases, a tick has none that would differ here. */
			ASSERT_TRUE(!n || !is_exact(row) ||
				    !memcmp(self->first, self->fired, sizeof(self->first))) {
				TH_LOG("design %s, start %#llx", row_text(row),
				       (unsigned long long)start_ns);
			}
			close(fd);
			start_ns = nth_start(n, variant->tick_shift);
		}
	}
}

/* At the very end there is one moment left, and no other. */
TEST_F(start, at_the_end_of_the_clock)
{
	const struct htwheel_design *row;
	struct htwheel_event event;
	uint64_t id, left_ns;
	unsigned int back;
	int fd;

	for (row = self->rows; row < self->rows + self->nr; row++) {
		for (back = 0; back < 3; back++) {
			fd = open_manual_row(row, 1ULL << variant->tick_shift, LAST_NS - back);
			ROW_LE(0, fd);
			ROW_EQ(LAST_NS - back, clock_of(fd));
			ROW_EQ(0, arm_at(fd, LAST_NS - back, 1, NULL));
			ROW_EQ(1, read_events(fd, &event, 1));
			ROW_EQ(LAST_NS - back, event.fired_ns);
			/* What passes the end is never. */
			ROW_EQ(0, arm_in(fd, back + 1, 2, &id));
			ROW_EQ(0, query(fd, id, &left_ns));
			ROW_EQ(back + 1, left_ns);
			ROW_EQ(0, arm_in(fd, HOUR_NS, 2, NULL));
			ROW_EQ(0, arm_in(fd, LAST_NS, 2, NULL));
			ROW_EQ(0, advance_to(fd, LAST_NS));
			ROW_EQ(-EINVAL, advance_to(fd, HTWHEEL_NEVER_NS));
			ROW_TRUE(!is_readable(fd));
			close(fd);
		}
	}
}

/* A timer at the last moment fires there if the moment begins a tick, and never comes otherwise. */
TEST_F(start, last_moment_of_the_clock)
{
	const uint64_t tick_ns = 1ULL << variant->tick_shift;
	const uint64_t last_tick_ns = LAST_NS / tick_ns * tick_ns;
	const struct htwheel_design *row;
	int fd;

	for (row = self->rows; row < self->rows + self->nr; row++) {
		if (!is_exact(row))
			continue;
		fd = open_manual_row(row, tick_ns, last_tick_ns - 5 * tick_ns);
		ROW_LE(0, fd);
		ROW_EQ(0, arm_at(fd, last_tick_ns, 1, NULL));
		ROW_EQ(0, advance_to(fd, last_tick_ns - 1));
		ROW_TRUE(!is_readable(fd));
		ROW_EQ(0, advance_to(fd, LAST_NS));
		ROW_TRUE(is_readable(fd));
		close(fd);
	}
}

TEST_HARNESS_MAIN
