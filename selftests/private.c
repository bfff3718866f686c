// SPDX-License-Identifier: GPL-2.0
/*
 * Private engines on live clocks: every row of the table of designs, ticks of any length, and what
 * SETUP refuses.
 */
#include "harness.h"
#include "lab.h"

#define MIN_TICK_SHIFT	10
#define MAX_TICK_SHIFT	30
/* Timers that a design with HTWHEEL_DESIGN_LINEAR may have. */
#define MAX_LINEAR	65536U

FIXTURE(private) {
	struct htwheel_design rows[MAX_ROWS];
	struct htwheel_info shared;
	int nr;
};

FIXTURE_SETUP(private)
{
	int fd = open_device(O_NONBLOCK);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, device_info(fd, &self->shared));
	close(fd);
	ASSERT_TRUE(self->shared.features & HTWHEEL_FEAT_PRIVATE);
	self->nr = read_designs(self->rows, MAX_ROWS);
	ASSERT_LE(1, self->nr);
}

FIXTURE_TEARDOWN(private)
{
}

static uint64_t present_ns(uint32_t clock)
{
	return clock == HTWHEEL_CLOCK_BOOTTIME ? boot_ns() : now_ns();
}

TEST_F(private, every_row_is_told_back)
{
	const struct htwheel_design *row;
	struct htwheel_setup setup;
	struct htwheel_info info;
	struct htwheel_stats stats;
	uint32_t clock;
	int i, fd;

	for (i = 0; i < 2 * self->nr; i++) {
		row = &self->rows[i / 2];
		clock = i & 1 ? HTWHEEL_CLOCK_BOOTTIME : HTWHEEL_CLOCK_MONOTONIC;
		setup = setup_of_row(row);
		setup.clock = clock;
		fd = open_with(setup);
		ROW_LE(0, fd);
		ROW_EQ(0, device_info(fd, &info));
		ROW_EQ(clock, info.clock);
		ROW_EQ(HTWHEEL_SETUP_PRIVATE, info.setup);
		ROW_EQ(0, memcmp(info.design, row->name, sizeof(info.design)));
		ROW_TRUE(has_shape_of(&info, row));
		ROW_EQ(self->shared.tick_ns, info.tick_ns);
		ROW_EQ(self->shared.cpus, info.cpus);
		ROW_EQ(self->shared.features, info.features);
		ROW_EQ(self->shared.max_timers_ceiling, info.max_timers_ceiling);
		if (!(row->properties & HTWHEEL_DESIGN_LINEAR))
			ROW_EQ(self->shared.max_timers, info.max_timers);
		/* What the engine has done so far. */
		ROW_EQ(0, device_stats(fd, &stats));
		ROW_EQ(0, stats.passes);
		ROW_EQ(0, stats.queued);
		ROW_EQ(0, stats.reprogrammed);
		close(fd);
	}
}

/* Without more, the engine is another one like the shared ones. */
TEST_F(private, defaults_are_those_of_the_shared_engines)
{
	struct htwheel_setup setup = { .flags = HTWHEEL_SETUP_PRIVATE };
	struct htwheel_info info;
	int fd = open_with(setup);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, device_info(fd, &info));
	EXPECT_EQ(HTWHEEL_SETUP_PRIVATE, info.setup);
	EXPECT_EQ(0, memcmp(info.design, self->shared.design, sizeof(info.design)));
	EXPECT_EQ(self->shared.levels, info.levels);
	EXPECT_EQ(self->shared.slots, info.slots);
	EXPECT_EQ(0, memcmp(info.radix, self->shared.radix, sizeof(info.radix)));
	EXPECT_EQ(self->shared.tick_ns, info.tick_ns);
	close(fd);
}

/* A name alone takes the first of the design's rows. */
TEST_F(private, name_alone_has_the_first_shape)
{
	const struct htwheel_design *row;
	struct htwheel_setup setup;
	struct htwheel_info info;
	int i, fd;

	for (i = 0; i < self->nr; i++) {
		row = &self->rows[i];
		if (i && !strcmp(row->name, self->rows[i - 1].name))
			continue;
		setup = (struct htwheel_setup){ .flags = HTWHEEL_SETUP_PRIVATE };
		memcpy(setup.design, row->name, sizeof(setup.design));
		fd = open_with(setup);
		ROW_LE(0, fd);
		ROW_EQ(0, device_info(fd, &info));
		ROW_TRUE(has_shape_of(&info, row));
		close(fd);
	}
}

#define NR_TIMERS	64

/* A life of each kind. Returns what was wrong, or NULL. */
static const char *live_with(int fd, uint32_t clock)
{
	uint64_t ids[NR_TIMERS], deadlines[NR_TIMERS], left_ns, seen = 0;
	struct htwheel_event event;
	struct htwheel_stats stats;
	unsigned int i, fired;

	for (i = 0; i < NR_TIMERS; i++) {
		deadlines[i] = present_ns(clock) + (i % 4 == 3 ? HOUR_NS : i * NS_PER_MS / 4);
		if (arm_at(fd, deadlines[i], i, &ids[i]))
			return "arm";
	}
	for (i = 0; i < NR_TIMERS; i++) {
		if (i % 4 == 3 && (query(fd, ids[i], &left_ns) || left_ns > HOUR_NS))
			return "query";
		/* From an hour to a moment, and away. */
		if (i % 8 == 3) {
			deadlines[i] = present_ns(clock) + 5 * NS_PER_MS;
			if (rearm_at(fd, ids[i], deadlines[i]))
				return "re-arm";
		} else if (i % 8 == 7 && cancel(fd, ids[i], &left_ns)) {
			return "cancel";
		}
	}
	for (fired = 0; fired < NR_TIMERS / 8 * 7; fired++) {
		if (next_event(fd, &event))
			return "an event is missing";
		i = event.user_data;
		if (i >= NR_TIMERS || seen & 1ULL << i || event.id != ids[i] || i % 8 == 7)
			return "an event is wrong";
		seen |= 1ULL << i;
		if (event.deadline_ns != deadlines[i])
			return "the deadline is wrong";
		if (event.fired_ns < deadlines[i] || event.fired_ns > present_ns(clock))
			return "early, or in the future";
	}
	if (device_stats(fd, &stats) || !books_balance(&stats) || stats.pending || stats.queued ||
	    stats.cancelled != NR_TIMERS / 8 || stats.replaced != NR_TIMERS / 8)
		return "the books";
	return NULL;
}

TEST_F(private, B88_every_row_on_live_clocks)
{
	const struct htwheel_design *row;
	struct htwheel_setup setup;
	const char *wrong;
	uint32_t clock;
	int i, fd;

	for (i = 0; i < 2 * self->nr; i++) {
		row = &self->rows[i / 2];
		clock = i & 1 ? HTWHEEL_CLOCK_BOOTTIME : HTWHEEL_CLOCK_MONOTONIC;
		setup = setup_of_row(row);
		setup.clock = clock;
		fd = open_with(setup);
		ROW_LE(0, fd);
		wrong = live_with(fd, clock);
		ASSERT_STREQ("nothing", wrong ? wrong : "nothing") {
			TH_LOG("design %s", row_text(row));
		}
		close(fd);
	}
}

/* All at once for each length, so that the longest ticks are waited for once. */
TEST_F(private, every_tick_from_2_10_to_2_30)
{
	const struct htwheel_design *row;
	struct htwheel_event event;
	struct htwheel_setup setup;
	struct htwheel_info info;
	unsigned int shift;
	int fds[MAX_ROWS], i;

	for (shift = MIN_TICK_SHIFT; shift <= MAX_TICK_SHIFT; shift++) {
		for (i = 0; i < self->nr; i++) {
			row = &self->rows[i];
			setup = setup_of_row(row);
			setup.tick_ns = 1ULL << shift;
			fds[i] = open_with(setup);
			ROW_LE(0, fds[i]);
			ROW_EQ(0, device_info(fds[i], &info));
			ROW_EQ(1ULL << shift, info.tick_ns);
			ROW_TRUE(has_shape_of(&info, row));
			ROW_EQ(0, arm_in(fds[i], NS_PER_MS, shift, NULL));
		}
		for (i = 0; i < self->nr; i++) {
			row = &self->rows[i];
			ROW_EQ(0, next_event(fds[i], &event));
			ROW_EQ(shift, event.user_data);
			ROW_LE(event.deadline_ns, event.fired_ns);
			close(fds[i]);
		}
	}
}

/* Some of the levels that a shape needs, and one more. */
TEST_F(private, shapes_beyond_the_table)
{
	const struct {
		const char	*design;
		uint32_t	levels;
		uint32_t	radix[HTWHEEL_MAX_LEVELS];
	} shapes[] = {
		{ "wheel", 16, { 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16 } },
		{ "wheel", 11, { 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32 } },
		{ "hier", 1, { 2 } },
		{ "hier", 3, { 7, 11, 13 } },
		{ "hier", 16, { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3 } },
		{ "hashed", 1, { 2 } },
		{ "hashed", 1, { 1000 } },
		{ "hashed", 1, { 65536 } },
	};
	struct htwheel_setup setup;
	struct htwheel_info info;
	const char *wrong;
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		setup = (struct htwheel_setup){
			.flags = HTWHEEL_SETUP_PRIVATE, .levels = shapes[i].levels,
		};
		memcpy(setup.design, shapes[i].design, strlen(shapes[i].design));
		memcpy(setup.radix, shapes[i].radix, sizeof(setup.radix));
		fd = open_with(setup);
		ASSERT_LE(0, fd) {
			TH_LOG("shape %zu", i);
		}
		ASSERT_EQ(0, device_info(fd, &info));
		EXPECT_EQ(shapes[i].radix[0], info.radix[0]);
		wrong = live_with(fd, HTWHEEL_CLOCK_MONOTONIC);
		ASSERT_STREQ("nothing", wrong ? wrong : "nothing") {
			TH_LOG("shape %zu", i);
		}
		close(fd);
	}
}

/* Filled to its limit in the order that every design takes well. */
TEST_F(private, LINEAR_has_few_timers)
{
	const struct htwheel_design *row;
	struct htwheel_setup setup;
	struct htwheel_info info;
	struct htwheel_op ops[BATCH];
	uint32_t armed, k;
	uint64_t id;
	int i, fd;

	for (i = 0; i < self->nr; i++) {
		row = &self->rows[i];
		if (!(row->properties & HTWHEEL_DESIGN_LINEAR) ||
		    self->shared.max_timers_ceiling < MAX_LINEAR)
			continue;
		setup = setup_of_row(row);
		setup.max_timers = MAX_LINEAR + 1;
		ROW_EQ(-EINVAL, open_with(setup));
		setup.max_timers = self->shared.max_timers_ceiling;
		ROW_EQ(setup.max_timers > MAX_LINEAR, open_with(setup) == -EINVAL);
		setup.max_timers = MAX_LINEAR;
		fd = open_with(setup);
		ROW_LE(0, fd);
		close(fd);
		setup.max_timers = 0;
		fd = open_with(setup);
		ROW_LE(0, fd);
		ROW_EQ(0, device_info(fd, &info));
		ROW_EQ(MAX_LINEAR, info.max_timers);
		for (armed = 0; armed < MAX_LINEAR; armed += BATCH) {
			for (k = 0; k < BATCH; k++)
				ops[k] = (struct htwheel_op){
					.opcode = HTWHEEL_OP_ARM,
					.time_ns = HOUR_NS + (armed + k) * NS_PER_S,
				};
			ROW_EQ(0, submit_all(fd, ops, BATCH));
			ROW_EQ(0, ops[BATCH - 1].result);
		}
		ROW_EQ(-ENOSPC, arm_in(fd, HOUR_NS, 0, &id));
		ROW_EQ(0, cancel(fd, ops[0].id, NULL));
		ROW_EQ(0, arm_in(fd, 1000 * HOUR_NS, 0, &id));
		ROW_EQ(-ENOSPC, arm_in(fd, HOUR_NS, 0, &id));
		close(fd);
	}
}

/* Each has its own queues: a storm in one is nothing to the others. */
TEST_F(private, shared_engines_are_not_touched)
{
	const struct htwheel_design *row;
	struct htwheel_stats then, now;
	const char *wrong;
	int shared_fd = open_device(O_NONBLOCK), other_fd, fd, i;
	uint64_t id;

	ASSERT_LE(0, shared_fd);
	ASSERT_EQ(0, arm_in(shared_fd, HOUR_NS, 0, &id));
	for (i = 0; i < self->nr; i++) {
		row = &self->rows[i];
		other_fd = open_with(setup_of_row(row));
		ROW_LE(0, other_fd);
		fd = open_with(setup_of_row(row));
		ROW_LE(0, fd);
		ROW_EQ(0, device_stats(shared_fd, &then));
		wrong = live_with(fd, HTWHEEL_CLOCK_MONOTONIC);
		ASSERT_STREQ("nothing", wrong ? wrong : "nothing");
		ROW_EQ(0, device_stats(shared_fd, &now));
		ROW_EQ(then.passes, now.passes);
		ROW_EQ(then.queued, now.queued);
		ROW_EQ(then.reprogrammed, now.reprogrammed);
		ROW_EQ(0, device_stats(other_fd, &now));
		ROW_EQ(0, now.passes);
		ROW_EQ(0, now.queued);
		close(fd);
		close(other_fd);
	}
	EXPECT_EQ(0, cancel(shared_fd, id, NULL));
	close(shared_fd);
}

/* Names are the context's, whatever its engine. */
TEST_F(private, names_mean_nothing_to_others)
{
	int fd = open_with(setup_of_row(&self->rows[0]));
	int other_fd = open_with(setup_of_row(&self->rows[self->nr - 1]));
	uint64_t id;

	ASSERT_LE(0, fd);
	ASSERT_LE(0, other_fd);
	ASSERT_EQ(0, arm_in(fd, HOUR_NS, 0, &id));
	EXPECT_EQ(-ENOENT, cancel(other_fd, id, NULL));
	EXPECT_EQ(-ENOENT, rearm_in(other_fd, id, 0));
	EXPECT_EQ(0, cancel(fd, id, NULL));
	close(fd);
	close(other_fd);
}

TEST_HARNESS_MAIN
