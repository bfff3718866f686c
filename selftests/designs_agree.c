// SPDX-License-Identifier: GPL-2.0
/*
 * One random stream of operations through the device with every design: the exact ones fire the
 * same timers at the same moments, the others the same timers within their granule.
 *
 * HTWHEEL_SEED is the seed.
 */
#include "harness.h"
#include "lab.h"

#define NR_STEPS	2000U
#define MAX_EVENTS	NR_STEPS

/* What a run leaves behind. */
struct outcome {
	uint64_t	user_data;
	uint64_t	deadline_ns;
	uint64_t	fired_ns;
};

FIXTURE(agree) {
	struct htwheel_design rows[MAX_ROWS];
	struct outcome first[MAX_EVENTS];
	struct outcome other[MAX_EVENTS];
	/* By user_data: the deadline, and the moment when it was set. */
	uint64_t deadline_ns[MAX_EVENTS];
	uint64_t set_ns[MAX_EVENTS];
	uint64_t ids[MAX_EVENTS];
	int nr;
};

FIXTURE_VARIANT(agree) {
	uint64_t tick_ns;
	uint64_t start_ns;
	/* Delays have up to so many bits. */
	unsigned int bits;
	bool jump;
};

FIXTURE_VARIANT_ADD(agree, ticks_of_1_ns) {
	.tick_ns = 1, .start_ns = 0, .bits = 20,
};

FIXTURE_VARIANT_ADD(agree, of_half_a_ms) {
	.tick_ns = 1 << 19, .start_ns = NS_PER_S, .bits = 38,
};

FIXTURE_VARIANT_ADD(agree, across_2_48) {
	.tick_ns = 1 << 10, .start_ns = (1ULL << 48) - 100000, .bits = 34,
};

FIXTURE_VARIANT_ADD(agree, in_jumps) {
	.tick_ns = 1 << 12, .start_ns = (1ULL << 62) - 5, .bits = 30, .jump = true,
};

FIXTURE_VARIANT_ADD(agree, far_ahead) {
	.tick_ns = 1 << 4, .start_ns = (1ULL << 32) - 5, .bits = 42,
};

FIXTURE_SETUP(agree)
{
	self->nr = read_designs(self->rows, MAX_ROWS);
	ASSERT_LE(2, self->nr);
}

FIXTURE_TEARDOWN(agree)
{
}

static int by_user_data(const void *a, const void *b)
{
	const struct outcome *x = a, *y = b;

	return x->user_data < y->user_data ? -1 : x->user_data > y->user_data;
}

/* Events, read as they come; how many there are in all by now, or a negative errno. */
static int collect(int fd, struct outcome *outcomes, int nr)
{
	struct htwheel_event events[64];
	int i, ret;

	while ((ret = read_events(fd, events, 64)) > 0) {
		for (i = 0; i < ret; i++) {
			if (nr == MAX_EVENTS)
				return -E2BIG;
			outcomes[nr++] = (struct outcome){
				events[i].user_data, events[i].deadline_ns, events[i].fired_ns,
			};
		}
	}
	return ret == -EAGAIN ? nr : ret;
}

static uint64_t random_delay(uint64_t *seed, unsigned int bits)
{
	return chance(seed) & ((1ULL << (1 + chance_below(seed, bits))) - 1);
}

/*
 * The stream. What it does depends on the seed alone, not on what the device answers, so that it is
 * the same for a design that fires later. Only timers that are far from firing with any design are
 * re-armed and cancelled. Returns the number of events, or a negative errno.
 */
static int run_stream(FIXTURE_DATA(agree) *self, const FIXTURE_VARIANT(agree) *variant,
		      const struct htwheel_design *row, uint64_t seed, struct outcome *outcomes)
{
	uint64_t now = variant->start_ns, delay, target;
	uint32_t step, k, armed = 0;
	int fd = open_manual_row(row, variant->tick_ns, now), nr = 0, ret = 0;

	if (fd < 0)
		return fd;
	for (step = 0; step < NR_STEPS && ret >= 0 && nr >= 0; step++) {
		delay = random_delay(&seed, variant->bits);
		k = armed ? chance_below(&seed, armed) : 0;
		switch (chance_below(&seed, 8)) {
		case 0: case 1: case 2: case 3:
			self->deadline_ns[armed] = now + delay;
			self->set_ns[armed] = now;
			ret = arm_at(fd, now + delay, armed, &self->ids[armed]);
			armed++;
			break;
		case 4:
			if (!armed || self->deadline_ns[k] <= now)
				break;
			ret = rearm_at(fd, self->ids[k], now + delay);
			self->deadline_ns[k] = now + delay;
			self->set_ns[k] = now;
			break;
		case 5:
			if (!armed || self->deadline_ns[k] <= now)
				break;
			ret = cancel(fd, self->ids[k], NULL);
			self->deadline_ns[k] = 0;
			break;
		default:
			target = now + random_delay(&seed, variant->bits - 4);
			ret = advance_with(fd, variant->jump ? HTWHEEL_ADVANCE_JUMP : 0, target);
			now = target;
			nr = collect(fd, outcomes, nr);
		}
	}
	/* To the end of all that can still come, granule included. */
	if (ret >= 0)
		ret = advance_to(fd, after(now, 4ULL << variant->bits));
	if (ret >= 0 && nr >= 0)
		nr = collect(fd, outcomes, nr);
	close(fd);
	if (ret < 0 || nr < 0)
		return ret < 0 ? ret : nr;
	qsort(outcomes, nr, sizeof(*outcomes), by_user_data);
	return nr;
}

/* Each timer that was not cancelled, once, for its last deadline, not early; how late it may be. */
static const char *check_outcome(FIXTURE_DATA(agree) *self, const FIXTURE_VARIANT(agree) *variant,
				 const struct htwheel_design *row, const struct outcome *outcome)
{
	uint64_t deadline_ns = self->deadline_ns[outcome->user_data];

	if (outcome->deadline_ns != deadline_ns)
		return "deadline";
	if (outcome->fired_ns < deadline_ns)
		return "early";
	/* In jumps, the time itself was late. */
	if (!variant->jump && outcome->fired_ns - deadline_ns >
	    most_late_ns(row, variant->tick_ns,
			 deadline_ns - self->set_ns[outcome->user_data]))
		return "late";
	return NULL;
}

/* What is wrong with a run of one row, beside that of the first, if anything is. */
static const char *compare(FIXTURE_DATA(agree) *self, const FIXTURE_VARIANT(agree) *variant,
			   const struct htwheel_design *row, int nr, int *i)
{
	const char *wrong = NULL;

	for (*i = 0; *i < nr; ++*i) {
		const struct outcome *first = &self->first[*i], *other = &self->other[*i];

		wrong = check_outcome(self, variant, row, other);
		if (!wrong && first->user_data != other->user_data)
			wrong = "another timer";
		if (!wrong && is_exact(row) && first->fired_ns != other->fired_ns)
			wrong = "another moment";
		if (wrong)
			break;
	}
	return wrong;
}

TEST_F(agree, B04_B65_B88_fire_sets)
{
	const uint64_t seed = number_from_env("HTWHEEL_SEED", 20260731);
	const unsigned int rounds = scaled(2);
	const struct htwheel_design *row;
	int nr, first_nr = 0, i, k;
	unsigned int round;
	const char *wrong;

	TH_LOG("seed %llu", (unsigned long long)seed);
	/* The first row is that which the others are compared with. */
	ASSERT_TRUE(is_exact(&self->rows[0]));
	for (round = 0; round < rounds; round++) {
		for (k = 0; k < self->nr; k++) {
			row = &self->rows[k];
			nr = run_stream(self, variant, row, seed + round, self->other);
			if (!k) {
				memcpy(self->first, self->other, sizeof(self->first));
				first_nr = nr;
			}
			ROW_LE(1, nr);
			ROW_EQ(first_nr, nr);
			wrong = compare(self, variant, row, nr, &i);
			ASSERT_STREQ("nothing", wrong ? wrong : "nothing") {
				TH_LOG("design %s, seed %llu, timer %llu: due %llu, fired %llu",
				       row_text(row), (unsigned long long)(seed + round),
				       (unsigned long long)self->other[i].user_data,
				       (unsigned long long)self->other[i].deadline_ns,
				       (unsigned long long)self->other[i].fired_ns);
			}
		}
		TH_LOG("%d events", first_nr);
	}
}

TEST_HARNESS_MAIN
