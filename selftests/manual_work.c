// SPDX-License-Identifier: GPL-2.0
/*
 * What ADVANCE says of its work: budgets that end a call and calls that go on, jumps, moments.
 */
#include "harness.h"
#include "lab.h"

#define TICK_NS		(1ULL << 19)
#define NR_TIMERS	1000U

FIXTURE(work) {
	struct htwheel_design rows[MAX_ROWS];
	/* When each timer fired. */
	uint64_t whole[NR_TIMERS];
	uint64_t parts[NR_TIMERS];
	int nr;
};

FIXTURE_SETUP(work)
{
	self->nr = read_designs(self->rows, MAX_ROWS);
	ASSERT_LE(1, self->nr);
}

FIXTURE_TEARDOWN(work)
{
}

#define FOR_EACH_ROW(row)								\
	for ((row) = self->rows; (row) < self->rows + self->nr; (row)++)

/* Deadlines of all sizes, clusters at one tick among them. */
static int arm_mixed(int fd, uint64_t seed)
{
	struct htwheel_op ops[NR_TIMERS];
	uint32_t i;
	int ret;

	for (i = 0; i < NR_TIMERS; i++) {
		uint64_t ticks = i % 4 ? 1 + chance_below(&seed, 1ULL << (1 + i % 16)) : 1000;

		ops[i] = (struct htwheel_op){
			.opcode = HTWHEEL_OP_ARM, .time_ns = ticks * TICK_NS, .user_data = i,
		};
	}
	ret = submit_all(fd, ops, NR_TIMERS);
	for (i = 0; i < NR_TIMERS && !ret; i++)
		ret = ops[i].result;
	return ret;
}

/* Note when each fired; how many did, or a negative errno. */
static int note_events(int fd, uint64_t fired[NR_TIMERS])
{
	struct htwheel_event events[64];
	int i, ret, nr = 0;

	while ((ret = read_events(fd, events, 64)) > 0) {
		for (i = 0; i < ret; i++) {
			if (events[i].user_data >= NR_TIMERS || fired[events[i].user_data])
				return -EUCLEAN;
			if (events[i].fired_ns < events[i].deadline_ns)
				return -ETIME;
			fired[events[i].user_data] = events[i].fired_ns;
		}
		nr += ret;
	}
	return ret == -EAGAIN ? nr : ret;
}

/* As many calls as the budget makes of one. Returns what was wrong, or NULL. */
static const char *advance_in_parts(int fd, uint64_t to, uint64_t budget,
				    struct htwheel_advance *sum)
{
	struct htwheel_advance adv = { .to = to, .budget = budget };
	unsigned int call;
	uint64_t last_ns = clock_of(fd);

	memset(sum, 0, sizeof(*sum));
	for (call = 0; call < 1000000; call++) {
		if (device_advance(fd, &adv))
			return "advance";
		if (adv.now_ns < last_ns || adv.now_ns > to)
			return "the clock";
		last_ns = adv.now_ns;
		if (adv.now_ns != clock_of(fd))
			return "now_ns is not what INFO says";
		if (adv.due + adv.moves > budget || adv.largest > adv.due + adv.moves)
			return "more than the budget allows";
		sum->due += adv.due;
		sum->moves += adv.moves;
		sum->slots += adv.slots;
		sum->passes += adv.passes;
		if (adv.more > 1)
			return "more is neither 0 nor 1";
		if (!adv.more)
			return adv.now_ns == to ? NULL : "the clock has not arrived";
		if (adv.due + adv.moves != budget)
			return "it ended though the budget was not used up";
	}
	return "it does not come to an end";
}

TEST_F(work, B09_I7_budgets_of_1_2_3)
{
	const uint64_t budgets[] = { 1, 2, 3, 64, UINT64_MAX }, to = 1ULL << 40;
	struct htwheel_advance whole, sum;
	const struct htwheel_design *row;
	const char *wrong;
	size_t i;
	int fd;

	FOR_EACH_ROW(row) {
		memset(self->whole, 0, sizeof(self->whole));
		fd = open_manual_row(row, TICK_NS, 0);
		ROW_LE(0, fd);
		ROW_EQ(0, arm_mixed(fd, 1));
		whole = (struct htwheel_advance){ .to = to };
		ROW_EQ(0, device_advance(fd, &whole));
		ROW_EQ(NR_TIMERS, whole.due);
		ROW_EQ(0, whole.more);
		ROW_EQ(to, whole.now_ns);
		/* A quarter of them is due at one moment. */
		ROW_LE(NR_TIMERS / 4, whole.largest);
		ROW_GE(whole.due + whole.moves, whole.largest);
		ROW_LE(whole.due, whole.passes * whole.largest);
		ROW_EQ(NR_TIMERS, note_events(fd, self->whole));
		close(fd);

		for (i = 0; i < ARRAY_SIZE(budgets); i++) {
			memset(self->parts, 0, sizeof(self->parts));
			fd = open_manual_row(row, TICK_NS, 0);
			ROW_LE(0, fd);
			ROW_EQ(0, arm_mixed(fd, 1));
			wrong = advance_in_parts(fd, to, budgets[i], &sum);
			ASSERT_STREQ("nothing", wrong ? wrong : "nothing") {
				TH_LOG("design %s, budget %llu", row_text(row),
				       (unsigned long long)budgets[i]);
			}
			ROW_EQ(whole.due, sum.due);
			/* What ends a call early has to begin again. */
			ROW_LE(whole.passes, sum.passes);
			ROW_EQ(NR_TIMERS, note_events(fd, self->parts));
			ROW_TRUE(!is_exact(row) ||
				 !memcmp(self->whole, self->parts, sizeof(self->whole)));
			close(fd);
		}
	}
}

/* Between two parts the context is used as ever. */
TEST_F(work, operations_between_two_calls_of_a_budget)
{
	const struct htwheel_design *row;
	struct htwheel_advance adv;
	struct htwheel_stats stats;
	uint64_t id, near_id;
	unsigned int calls;
	int fd;

	FOR_EACH_ROW(row) {
		fd = open_manual_row(row, TICK_NS, 0);
		ROW_LE(0, fd);
		ROW_EQ(0, arm_mixed(fd, 2));
		adv = (struct htwheel_advance){ .to = 1ULL << 40, .budget = 50 };
		calls = 0;
		do {
			ROW_EQ(0, device_advance(fd, &adv));
			/* One that fires at once, one that goes, one that goes back and forth. */
			ROW_EQ(0, arm_at(fd, adv.now_ns, 5000, &id));
			ROW_EQ(HTWHEEL_RES_FIRED, cancel(fd, id, NULL));
			ROW_EQ(0, arm_in(fd, TICK_NS, 5000, &near_id));
			ROW_EQ(0, rearm_in(fd, near_id, 1ULL << 41));
			ROW_EQ(0, rearm_in(fd, near_id, 1));
			ROW_EQ(0, cancel(fd, near_id, NULL));
			calls++;
		} while (adv.more);
		ROW_LE(NR_TIMERS / 50, calls);
		ROW_EQ(0, device_stats(fd, &stats));
		ROW_TRUE(books_balance(&stats));
		ROW_EQ(NR_TIMERS, stats.expired);
		ROW_EQ(NR_TIMERS, drop_events(fd));
		close(fd);
	}
}

/* STATS of the engine counts the same things. */
TEST_F(work, STATS_counts_what_ADVANCE_says)
{
	const struct htwheel_design *row;
	struct htwheel_advance sum;
	struct htwheel_stats stats;
	int fd;

	FOR_EACH_ROW(row) {
		fd = open_manual_row(row, TICK_NS, 0);
		ROW_LE(0, fd);
		ROW_EQ(0, arm_mixed(fd, 3));
		ROW_TRUE(!advance_in_parts(fd, 1ULL << 40, 100, &sum));
		ROW_EQ(0, device_stats(fd, &stats));
		ROW_EQ(sum.passes, stats.passes);
		ROW_EQ(sum.moves, stats.moves);
		ROW_EQ(0, stats.backlog_cpus);
		ROW_EQ(0, stats.queued);
		ROW_EQ(NR_TIMERS, stats.expired);
		ROW_EQ(NR_TIMERS, stats.pending);
		close(fd);
	}
}

/* Each of a thousand ticks has its own pass, unless the time jumps over all of them. */
TEST_F(work, B09_every_tick_and_none)
{
	const struct htwheel_design *row;
	struct htwheel_event event;
	struct htwheel_advance adv;
	unsigned int i, jump;
	int fd;

	FOR_EACH_ROW(row) {
		for (jump = 0; jump < 2; jump++) {
			fd = open_manual_row(row, TICK_NS, 0);
			ROW_LE(0, fd);
			for (i = 1; i <= NR_TIMERS; i++)
				ROW_EQ(0, arm_at(fd, i * TICK_NS, i, NULL));
			adv = (struct htwheel_advance){
				.flags = jump ? HTWHEEL_ADVANCE_JUMP : 0,
				.to = (NR_TIMERS + NR_TIMERS / 4) * TICK_NS,
			};
			ROW_EQ(0, device_advance(fd, &adv));
			ROW_EQ(NR_TIMERS, adv.due);
			if (jump)
				ROW_LE(NR_TIMERS, adv.largest);
			if (!jump && is_exact(row))
				ROW_LE(NR_TIMERS, adv.passes);
			for (i = 1; i <= NR_TIMERS; i++) {
				ROW_EQ(1, read_events(fd, &event, 1));
				ROW_LE(event.deadline_ns, event.fired_ns);
				if (is_exact(row))
					ROW_EQ(i, event.user_data);
				if (jump)
					ROW_EQ(adv.to, event.fired_ns);
				if (!jump && is_exact(row))
					ROW_EQ(i * TICK_NS, event.fired_ns);
			}
			close(fd);
		}
	}
}

/* A jump with a budget: the clock is at its end at once, the work comes in parts. */
TEST_F(work, jump_with_a_budget)
{
	const struct htwheel_design *row;
	struct htwheel_advance adv;
	unsigned int calls;
	uint64_t due;
	int fd;

	FOR_EACH_ROW(row) {
		fd = open_manual_row(row, TICK_NS, 0);
		ROW_LE(0, fd);
		ROW_EQ(0, arm_mixed(fd, 4));
		adv = (struct htwheel_advance){
			.flags = HTWHEEL_ADVANCE_JUMP, .to = 1ULL << 40, .budget = 10,
		};
		for (calls = due = 0; calls < 10000; calls++) {
			ROW_EQ(0, device_advance(fd, &adv));
			ROW_EQ(1ULL << 40, adv.now_ns);
			due += adv.due;
			if (!adv.more)
				break;
		}
		ROW_EQ(NR_TIMERS, due);
		ROW_EQ(0, adv.more);
		ROW_EQ(NR_TIMERS, drop_events(fd));
		close(fd);
	}
}

/* Steps of other lengths than the levels have: in the end all have come, in time. */
TEST_F(work, B11_B15_steps_longer_than_a_turn)
{
	const uint64_t steps[] = {
		63, 64, 65, 127, 128, 4095, 4096, 4097, 1 << 24, (1 << 24) + 1,
	};
	const struct htwheel_design *row;
	uint64_t now, due;
	size_t i;
	unsigned int jump;
	int fd, ret;

	FOR_EACH_ROW(row) {
		for (i = 0; i < ARRAY_SIZE(steps); i++) {
			for (jump = 0; jump < 2; jump++) {
				const uint32_t flags = HTWHEEL_ADVANCE_TICKS |
						       (jump ? HTWHEEL_ADVANCE_JUMP : 0);

				/* The short ones take long, and jump over nothing. */
				if (jump && steps[i] < 127)
					continue;
				fd = open_manual_row(row, TICK_NS, 200 * TICK_NS);
				ROW_LE(0, fd);
				ROW_EQ(0, arm_mixed(fd, 5));
				memset(self->parts, 0, sizeof(self->parts));
				due = 0;
				now = 0;
				while (due < NR_TIMERS && now < 1 << 18) {
					ROW_EQ(0, advance_with(fd, flags, steps[i]));
					ret = note_events(fd, self->parts);
					ROW_LE(0, ret);
					due += ret;
					now += steps[i];
				}
				ROW_EQ(NR_TIMERS, due);
				close(fd);
			}
		}
	}
}

/* B14: where nothing is, nothing is to be done. */
TEST_F(work, B14_cancelled_everywhere)
{
	const struct htwheel_design *row;
	struct htwheel_advance adv;
	struct htwheel_stats stats;
	unsigned int bit, i;
	uint64_t id;
	int fd;

	FOR_EACH_ROW(row) {
		fd = open_manual_row(row, 1, 12345);
		ROW_LE(0, fd);
		for (bit = 0; bit < 62; bit++) {
			for (i = 1; i < 64; i += 5) {
				if (i > (LAST_NS - 12346) >> bit)
					continue;
				ROW_EQ(0, arm_in(fd, (uint64_t)i << bit, 0, &id));
				ROW_EQ(0, cancel(fd, id, NULL));
			}
		}
		ROW_EQ(0, device_stats(fd, &stats));
		ROW_EQ(0, stats.queued);
		adv = (struct htwheel_advance){ .to = LAST_NS };
		ROW_EQ(0, device_advance(fd, &adv));
		ROW_EQ(0, adv.due + adv.moves);
		/* At most one that finds nothing. */
		ROW_GE(1, adv.passes);
		close(fd);
	}
}

TEST_HARNESS_MAIN
