// SPDX-License-Identifier: GPL-2.0
/*
 * Random writes to every word that userspace may write, while timers of all kinds are armed, moved,
 * listed, read and cancelled: the books balance, nothing fires before the deadline that it was
 * armed for, and all comes to an end.
 */
#include "harness.h"
#include "crew.h"
#include "many.h"
#include "shared_area.h"

#define NR_TIMERS	256U

FIXTURE(fuzz) {
	struct area area;
};

FIXTURE_VARIANT(fuzz) {
	const char *design;
	uint32_t flags;
	uint32_t entries;
};

FIXTURE_VARIANT_ADD(fuzz, shared) {
	.design = "", .entries = 64,
};

FIXTURE_VARIANT_ADD(fuzz, ring_of_2) {
	.design = "", .entries = 2,
};

FIXTURE_VARIANT_ADD(fuzz, no_ring) {
	.design = "", .entries = 0,
};

FIXTURE_VARIANT_ADD(fuzz, wheel) {
	.design = "wheel", .flags = HTWHEEL_SETUP_PRIVATE, .entries = 64,
};

FIXTURE_VARIANT_ADD(fuzz, linux) {
	.design = "linux", .flags = HTWHEEL_SETUP_PRIVATE, .entries = 64,
};

FIXTURE_VARIANT_ADD(fuzz, hier) {
	.design = "hier", .flags = HTWHEEL_SETUP_PRIVATE, .entries = 64,
};

FIXTURE_VARIANT_ADD(fuzz, hashed) {
	.design = "hashed", .flags = HTWHEEL_SETUP_PRIVATE, .entries = 64,
};

FIXTURE_VARIANT_ADD(fuzz, heap) {
	.design = "heap", .flags = HTWHEEL_SETUP_PRIVATE, .entries = 64,
};

FIXTURE_VARIANT_ADD(fuzz, lazyheap) {
	.design = "lazyheap", .flags = HTWHEEL_SETUP_PRIVATE, .entries = 64,
};

FIXTURE_VARIANT_ADD(fuzz, rbtree) {
	.design = "rbtree", .flags = HTWHEEL_SETUP_PRIVATE, .entries = 64,
};

FIXTURE_VARIANT_ADD(fuzz, list) {
	.design = "list", .flags = HTWHEEL_SETUP_PRIVATE, .entries = 64,
};

FIXTURE_SETUP(fuzz)
{
	struct htwheel_setup setup = {
		.flags = variant->flags | HTWHEEL_SETUP_TABLE, .max_timers = NR_TIMERS,
		.ring_entries = variant->entries,
	};

	memcpy(setup.design, variant->design, strlen(variant->design));
	ASSERT_EQ(0, open_areas(&self->area, setup));
}

FIXTURE_TEARDOWN(fuzz)
{
	close_areas(&self->area);
}

/* Two threads write, one storms. */
struct storm {
	struct area	*area;
	uint64_t	seeds[2];
	/* What each timer was armed for, and its name; 0 for none. */
	uint64_t	due_ns[NR_TIMERS];
	uint64_t	ids[NR_TIMERS];
	uint64_t	seed;
	uint64_t	events;
};

static uint64_t random_time(uint64_t *seed)
{
	uint64_t random = chance(seed);

	switch (random % 8) {
	case 0:
		return 0;
	case 1:
		return chance(seed);
	case 2:
		return HTWHEEL_NEVER_NS - random / 8 % 2;
	case 3:
		return random | 1ULL << 63;
	case 4:
		return chance(seed) >> random / 8 % 64;
	default:
		return now_ns() - NS_PER_MS + chance_below(seed, 4 * NS_PER_MS);
	}
}

static void scribble(struct storm *storm, uint64_t *seed)
{
	struct area *area = storm->area;
	unsigned int i;

	for (i = 0; i < 300; i++) {
		postpone(area, chance_below(seed, area->table_bytes / sizeof(uint64_t)),
			 random_time(seed));
		if (area->ring && i % 4 == 0)
			set_head(area, chance_below(seed, 2) ? ring_tail(area) -
				 chance_below(seed, 4) : chance(seed) >> chance_below(seed, 64));
		if (area->ring && i % 16 == 0)
			area->position->reserved[chance_below(seed, 15)] = chance(seed);
	}
}

static void scribble_one(void *arg)
{
	struct storm *storm = arg;

	scribble(storm, &storm->seeds[0]);
}

static void scribble_two(void *arg)
{
	struct storm *storm = arg;

	scribble(storm, &storm->seeds[1]);
}

static void make_op(struct storm *storm, struct htwheel_op *op, uint32_t number)
{
	uint64_t *seed = &storm->seed;

	*op = (struct htwheel_op){
		.opcode = 1 + chance_below(seed, 4), .user_data = number, .result = -JUNK,
	};
	if (!storm->ids[number])
		op->opcode = HTWHEEL_OP_ARM;
	else if (op->opcode == HTWHEEL_OP_ARM)
		op->opcode = HTWHEEL_OP_REARM;
	op->id = op->opcode == HTWHEEL_OP_ARM ? JUNK64 : storm->ids[number];
	if (op->opcode > HTWHEEL_OP_REARM)
		return;
	op->flags = HTWHEEL_ABSOLUTE;
	op->time_ns = now_ns() - NS_PER_MS + chance_below(seed, 4 * NS_PER_MS);
	if (op->opcode == HTWHEEL_OP_REARM)
		return;
	if (chance_below(seed, 4) == 0)
		op->flags |= HTWHEEL_KEEP;
	if (chance_below(seed, 4) == 0) {
		op->flags |= HTWHEEL_PERIODIC;
		op->policy = chance_below(seed, 4);
		op->period_ns = 1 + chance_below(seed, NS_PER_MS);
	}
	if (chance_below(seed, 4) == 0)
		op->slack_ns = chance_below(seed, 3 * NS_PER_MS);
}

/*
 * A number is given back when its name is stale. What a re-arm moved may still fire for the time
 * before, so a timer's deadlines count from the earliest.
 */
static const char *do_some(struct storm *storm, unsigned int nr)
{
	struct htwheel_op op;
	uint32_t number;

	while (nr--) {
		number = chance_below(&storm->seed, NR_TIMERS);
		make_op(storm, &op, number);
		if (op.opcode == HTWHEEL_OP_ARM || (op.opcode == HTWHEEL_OP_REARM &&
						    op.time_ns < storm->due_ns[number]))
			storm->due_ns[number] = op.time_ns;
		if (submit_all(storm->area->fd, &op, 1))
			return "the call failed";
		if (op.opcode == HTWHEEL_OP_ARM && op.result && op.result != -ENOSPC)
			return "arm";
		if (op.opcode == HTWHEEL_OP_ARM && !op.result)
			storm->ids[number] = op.id;
		else if (op.result == -ENOENT && op.opcode != HTWHEEL_OP_QUERY)
			storm->ids[number] = 0;
		else if (op.result >= 0 && op.opcode == HTWHEEL_OP_CANCEL)
			storm->ids[number] = 0;
		else if (op.result < 0 && op.result != -ENOENT && op.result != -ENOSPC)
			return "an operation failed";
	}
	return NULL;
}

/* An event of a name that is in use; what the ring holds under a wrong head may be anything old. */
static const char *read_some(struct storm *storm)
{
	struct htwheel_event events[32];
	int i, nr = read_events(storm->area->fd, events, 32);
	uint64_t now = now_ns();

	if (nr < 0)
		return nr == -EAGAIN ? NULL : "read";
	storm->events += nr;
	for (i = 0; i < nr; i++) {
		if (events[i].user_data >= NR_TIMERS || !events[i].count)
			return "an event is damaged";
		if (events[i].fired_ns < events[i].deadline_ns || events[i].fired_ns > now)
			return "an event is early";
		if (events[i].id == storm->ids[events[i].user_data] &&
		    events[i].deadline_ns < storm->due_ns[events[i].user_data])
			return "an event for an earlier deadline than any that was asked for";
	}
	return NULL;
}

static const char *all_at_once(struct storm *storm)
{
	struct htwheel_mass mass = {
		.opcode = 1 + chance_below(&storm->seed, 4),
	};
	struct htwheel_dump_entry *entries;
	uint64_t done;
	int ret;

	mass.shift_ns = mass.opcode == HTWHEEL_MASS_SHIFT ?
			(int64_t)chance_below(&storm->seed, NS_PER_MS) : 0;
	mass.numerator = mass.opcode == HTWHEEL_MASS_SCALE;
	mass.denominator = mass.numerator;
	/* All names are stale then. */
	if (mass.opcode == HTWHEEL_MASS_CANCEL && chance_below(&storm->seed, 8))
		return NULL;
	if (mass_all(storm->area->fd, mass, &done))
		return "an operation on all";
	entries = calloc(NR_TIMERS + 1, sizeof(*entries));
	ret = entries ? dump_all(storm->area->fd, entries, NR_TIMERS + 1) : -ENOMEM;
	free(entries);
	return ret < 0 ? "list" : NULL;
}

TEST_F(fuzz, B78_every_word_in_a_storm)
{
	struct storm *storm = calloc(1, sizeof(*storm));
	const unsigned int rounds = scaled(150);
	struct crew crew = { .nr = 0 };
	struct htwheel_stats stats;
	const char *wrong = NULL;
	unsigned int round;
	uint64_t done;

	ASSERT_TRUE(!!storm);
	storm->area = &self->area;
	storm->seed = 0x9e3779b97f4a7c15ULL ^ number_from_env("HTWHEEL_SEED", 1);
	storm->seeds[0] = storm->seed + 1;
	storm->seeds[1] = storm->seed + 2;
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, scribble_one, storm));
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, scribble_two, storm));
	for (round = 0; !wrong && (round < rounds || !crew_has_turned(&crew)); round++) {
		pin_to(round / 16);
		wrong = do_some(storm, 32);
		if (!wrong)
			wrong = read_some(storm);
		if (!wrong && round % 8 == 0)
			wrong = all_at_once(storm);
		if (!wrong && check_books(self->area.fd, &stats))
			wrong = "the books";
		poll_for(self->area.fd, 0);
	}
	crew_end(&crew);
	ASSERT_STREQ("nothing", wrong ? wrong : "nothing") {
		TH_LOG("round %u, HTWHEEL_SEED=%lu", round, number_from_env("HTWHEEL_SEED", 1));
	}
	ASSERT_EQ(0, device_stats(self->area.fd, &stats));
	TH_LOG("armed %llu, fired %llu (%llu read), postponed %llu, waited %llu",
	       (unsigned long long)stats.armed, (unsigned long long)stats.fired,
	       (unsigned long long)storm->events, (unsigned long long)stats.postponed,
	       (unsigned long long)stats.waited);
	EXPECT_LT(0, stats.postponed);

	/* An end of it: all words right, all timers gone. */
	memset(self->area.table, 0, self->area.table_bytes);
	if (self->area.ring)
		set_head(&self->area, ring_tail(&self->area));
	ASSERT_EQ(0, mass_all(self->area.fd, (struct htwheel_mass){
		.opcode = HTWHEEL_MASS_CANCEL,
	}, &done));
	if (self->area.ring)
		set_head(&self->area, ring_tail(&self->area));
	ASSERT_EQ(0, check_books(self->area.fd, &stats));
	EXPECT_EQ(0, stats.pending);
	EXPECT_EQ(0, stats.idle);
	EXPECT_FALSE(is_readable(self->area.fd));
	/* And a beginning. */
	ASSERT_EQ(0, arm_in(self->area.fd, 0, 5, NULL));
	EXPECT_TRUE(is_readable(self->area.fd));
	free(storm);
}

TEST_HARNESS_MAIN
