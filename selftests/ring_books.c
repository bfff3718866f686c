// SPDX-License-Identifier: GPL-2.0
/*
 * The books with a ring: what was published has fired, at any moment. Random operations, limits,
 * lists, and operations on all timers at once.
 *
 * The seed is printed; the variable HTWHEEL_SEED sets another.
 */
#include "harness.h"
#include "many.h"
#include "ring_ledger.h"

#define NR_TIMERS	400
#define NR_THREADS	4
#define START_NS	(1ULL << 32)

FIXTURE(books) {
	struct htwheel_info info;
};

FIXTURE_SETUP(books)
{
	int fd = open_device(O_NONBLOCK);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, device_info(fd, &self->info));
	close(fd);
	TH_LOG("HTWHEEL_SEED=%lu", number_from_env("HTWHEEL_SEED", 1));
}

FIXTURE_TEARDOWN(books)
{
}

/* A random walk over the operations of one context. */
struct walk {
	struct ledger	ledger;
	struct area	area;
	/* Names that were answered by ENOENT, though their event has not been taken yet. */
	bool		stale[NR_TIMERS];
	uint64_t	tick_ns;
	uint64_t	seed;
	unsigned int	steps;
	const char	*wrong;
	/* Where it went wrong, for the message. */
	unsigned int	step;
};

static void make_random_op(struct walk *walk, struct htwheel_op *op, uint32_t *number)
{
	const struct ledger_timer *timer;

	*number = chance_below(&walk->seed, walk->ledger.nr);
	timer = &walk->ledger.timers[*number];
	*op = (struct htwheel_op){ .user_data = *number, .result = -JUNK };
	/* An arm needs a number without a live timer. */
	op->opcode = 1 + chance_below(&walk->seed, 4);
	if (op->opcode == HTWHEEL_OP_ARM && timer->state == LEDGER_LIVE)
		op->opcode = HTWHEEL_OP_REARM;
	op->id = op->opcode == HTWHEEL_OP_ARM ? JUNK64 : timer->id;
	if (op->opcode == HTWHEEL_OP_CANCEL || op->opcode == HTWHEEL_OP_QUERY)
		return;
	op->time_ns = chance_below(&walk->seed, 4) ? chance_below(&walk->seed, 20 * walk->tick_ns) :
		      chance(&walk->seed) >> (1 + chance_below(&walk->seed, 40));
	if (chance_below(&walk->seed, 8) == 0)
		op->time_ns = 0;
}

/* Whether an answer fits to what is known; the books are brought up to date. */
static const char *judge(struct walk *walk, const struct htwheel_op *op, uint32_t number,
			 uint64_t before_ns, uint64_t after_ns)
{
	struct ledger *ledger = &walk->ledger;
	const struct ledger_timer *timer = &ledger->timers[number];
	bool live = timer->state == LEDGER_LIVE && !walk->stale[number];

	if (op->opcode == HTWHEEL_OP_ARM) {
		if (op->result || !op->id)
			return "arm failed";
		walk->stale[number] = false;
		ledger_note_arm(ledger, op, number, before_ns, after_ns);
		return NULL;
	}
	if (!live)
		return op->result == -ENOENT ? NULL : "answer for a dead timer";
	/* Published: its event is in the ring, or was taken. */
	if (op->result == -ENOENT) {
		walk->stale[number] = true;
		return timer->due_min_ns > after_ns ? "published early" : NULL;
	}
	if (op->result != 0 && op->result != HTWHEEL_RES_FIRED)
		return "answer for a live timer";
	if (op->result == HTWHEEL_RES_FIRED && timer->due_min_ns > after_ns)
		return "fired early";
	if (op->opcode == HTWHEEL_OP_REARM)
		ledger_note_rearm(ledger, op, number, before_ns, after_ns);
	else if (op->opcode == HTWHEEL_OP_CANCEL)
		ledger_note_cancel(ledger, number);
	return NULL;
}

static const char *submit_random(struct walk *walk)
{
	uint64_t before_ns = now_ns(), after_ns;
	struct htwheel_op op;
	uint32_t number;

	make_random_op(walk, &op, &number);
	if (submit_all(walk->area.fd, &op, 1))
		return "the call failed";
	after_ns = now_ns();
	return judge(walk, &op, number, before_ns, after_ns);
}

static const char *step(struct walk *walk)
{
	const char *wrong = NULL;

	switch (chance_below(&walk->seed, 8)) {
	case 0:
		if (ledger_take(&walk->ledger, &walk->area) < 0)
			wrong = "read failed";
		break;
	case 1:
		if (!chance_below(&walk->seed, 16))
			sleep_ns(chance_below(&walk->seed, 4 * walk->tick_ns));
		break;
	default:
		wrong = submit_random(walk);
	}
	if (!wrong && ledger_wrong(&walk->ledger))
		wrong = "an event is early, repeated, unknown or damaged";
	return wrong ? wrong : ledger_ring_mismatch(&walk->ledger, &walk->area);
}

static void *run_walk(void *arg)
{
	struct walk *walk = arg;

	for (walk->step = 0; walk->step < walk->steps && !walk->wrong; walk->step++)
		walk->wrong = step(walk);
	return NULL;
}

static int start_walk(struct walk *walk, uint64_t tick_ns, unsigned int number, unsigned int steps)
{
	int ret;

	memset(walk, 0, sizeof(*walk));
	walk->tick_ns = tick_ns;
	walk->steps = steps;
	walk->seed = (number_from_env("HTWHEEL_SEED", 1) << 8 | number) * 0x9e3779b97f4a7c15ULL | 1;
	/* From a ring that is always full to one that never is. */
	ret = open_ring(&walk->area, 2 << 2 * number);
	return ret ? ret : ledger_init(&walk->ledger, NR_TIMERS);
}

#define EXPECT_WALK_RIGHT(walk)								\
	EXPECT_STREQ("nothing", (walk)->wrong ? (walk)->wrong : "nothing") {		\
		TH_LOG("step %u: early %llu, repeated %llu, unknown %llu, damaged %llu",	\
		       (walk)->step, (unsigned long long)(walk)->ledger.early,		\
		       (unsigned long long)(walk)->ledger.repeated,			\
		       (unsigned long long)(walk)->ledger.unknown,			\
		       (unsigned long long)(walk)->ledger.damaged);			\
	}

TEST_F(books, random_operations_on_several_contexts_at_once)
{
	struct walk *walks = calloc(NR_THREADS, sizeof(*walks));
	pthread_t threads[NR_THREADS];
	int i;

	ASSERT_TRUE(!!walks);
	for (i = 0; i < NR_THREADS; i++) {
		ASSERT_EQ(0, start_walk(&walks[i], self->info.tick_ns, i, scaled(6000)));
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, run_walk, &walks[i]));
	}
	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_WALK_RIGHT(&walks[i]);
		TH_LOG("armed %llu, fired %llu, waited %llu",
		       (unsigned long long)walks[i].ledger.armed,
		       (unsigned long long)walks[i].ledger.fired,
		       (unsigned long long)ring_waited(&walks[i].area));
		close_areas(&walks[i].area);
	}
	free(walks);
}

/* The histogram has those that were published, each in its bin. */
TEST_F(books, lateness)
{
	struct htwheel_event events[64];
	struct htwheel_stats stats;
	uint64_t late[HTWHEEL_LATE_BINS] = { 0 };
	struct area area;
	int i, nr;

	ASSERT_EQ(0, open_manual_ring(&area, 64, START_NS));
	for (i = 0; i < 50; i++) {
		ASSERT_EQ(0, arm_at(area.fd, START_NS - (1ULL << i % 32), i, NULL));
		ASSERT_EQ(0, arm_in(area.fd, 1 + i * 12345, i, NULL));
	}
	ASSERT_EQ(0, advance_to(area.fd, START_NS + NS_PER_S));
	while ((nr = take_or_read(&area, events, 64)) > 0)
		for (i = 0; i < nr; i++)
			late[late_bin(events[i].fired_ns - events[i].deadline_ns)]++;
	ASSERT_EQ(0, nr);
	ASSERT_EQ(0, check_books(area.fd, &stats));
	EXPECT_EQ(100, stats.fired);
	for (i = 0; i < HTWHEEL_LATE_BINS; i++)
		EXPECT_EQ(late[i], stats.late[i]);
	close_areas(&area);
}

/* What was published is no timer of the context any more, though its event is in the ring. */
TEST_F(books, lists_and_limits)
{
	const uint32_t max = 10, entries = 32;
	struct htwheel_dump_entry all[16];
	struct htwheel_stats stats;
	struct area area;
	uint64_t ids[16], id;
	unsigned int round;

	ASSERT_EQ(0, open_areas(&area, (struct htwheel_setup){
		.clock = HTWHEEL_CLOCK_MANUAL, .start_ns = START_NS, .max_timers = max,
		.ring_entries = entries,
	}));
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, arm_many(area.fd, &(struct htwheel_op){ .time_ns = NS_PER_MS }, 0, max,
				      NS_PER_MS, ids));
		EXPECT_EQ(-ENOSPC, arm_in(area.fd, 0, 0, &id));
		EXPECT_EQ(max, dump_all(area.fd, all, 16));
		ASSERT_EQ(0, advance_to(area.fd, clock_of(area.fd) + NS_PER_S));
		EXPECT_EQ(0, dump_all(area.fd, all, 16));
		ASSERT_EQ(0, check_books(area.fd, &stats));
		EXPECT_EQ(0, stats.pending);
		EXPECT_EQ(max, stats.peak);
	}
	EXPECT_EQ(3 * max, ring_unread(&area));
	/* Two go into the ring; the others wait outside and are timers still. */
	ASSERT_EQ(0, arm_many(area.fd, &(struct htwheel_op){ .time_ns = NS_PER_MS }, 0, max,
			      NS_PER_MS, ids));
	ASSERT_EQ(0, advance_to(area.fd, clock_of(area.fd) + NS_PER_S));
	EXPECT_EQ(max - 2, dump_all(area.fd, all, 16));
	EXPECT_EQ(HTWHEEL_STATE_FIRED, all[0].state);
	ASSERT_EQ(0, arm_in(area.fd, HOUR_NS, 0, NULL));
	ASSERT_EQ(0, arm_in(area.fd, HOUR_NS, 0, NULL));
	EXPECT_EQ(-ENOSPC, arm_in(area.fd, 0, 0, &id));
	EXPECT_EQ(4 * max, drop_all(&area));
	ASSERT_EQ(0, arm_many(area.fd, &(struct htwheel_op){ .time_ns = 0 }, 0, max - 2, 0, ids));
	EXPECT_EQ(max - 2, ring_unread(&area));
	EXPECT_EQ(2, dump_all(area.fd, all, 16));
	close_areas(&area);
}

/* Operations on all timers leave alone what was published. */
TEST_F(books, mass_operations)
{
	struct htwheel_stats stats;
	uint64_t ids[40], done;
	struct area area;

	ASSERT_EQ(0, open_manual_ring(&area, 16, START_NS));
	/* Ten in the ring; ten armed. */
	ASSERT_EQ(0, arm_many(area.fd, &(struct htwheel_op){ .time_ns = 0 }, 0, 10, 0, ids));
	ASSERT_EQ(0, arm_many(area.fd, &(struct htwheel_op){ .time_ns = HOUR_NS }, 10, 10, 0, ids));
	ASSERT_EQ(0, mass_all(area.fd, (struct htwheel_mass){
		.opcode = HTWHEEL_MASS_SHIFT, .shift_ns = 1000,
	}, &done));
	EXPECT_EQ(10, done);
	EXPECT_EQ(START_NS + HOUR_NS + 1000, dumped_deadline_ns(area.fd, ids[10]));
	/* Shifted to the past, they fire: six in the ring, four outside. */
	ASSERT_EQ(0, mass_all(area.fd, (struct htwheel_mass){
		.opcode = HTWHEEL_MASS_SHIFT, .shift_ns = -(int64_t)HTWHEEL_NEVER_NS,
	}, &done));
	EXPECT_EQ(10, done);
	EXPECT_EQ(16, ring_unread(&area));
	EXPECT_EQ(4, ring_waited(&area));
	ASSERT_EQ(0, mass_all(area.fd, (struct htwheel_mass){
		.opcode = HTWHEEL_MASS_SCALE, .numerator = 1, .denominator = 2,
	}, &done));
	EXPECT_EQ(0, done);
	ASSERT_EQ(0, mass_all(area.fd, (struct htwheel_mass){ .opcode = HTWHEEL_MASS_CANCEL },
			      &done));
	EXPECT_EQ(4, done);
	EXPECT_EQ(0, ring_flags(&area));
	ASSERT_EQ(0, check_books(area.fd, &stats));
	EXPECT_EQ(40, stats.armed);
	EXPECT_EQ(16, stats.fired);
	EXPECT_EQ(20, stats.replaced);
	EXPECT_EQ(4, stats.cancelled);
	EXPECT_EQ(20, count_stale(area.fd, ids, 20));
	ASSERT_EQ(0, mass_all(area.fd, (struct htwheel_mass){ .opcode = HTWHEEL_MASS_TRIM },
			      &done));
	EXPECT_EQ(20, count_stale(area.fd, ids, 20));
	EXPECT_EQ(16, drop_all(&area));
	close_areas(&area);
}

/* A pass publishes what an operation on the same name then does not find, or the reverse. */
TEST_F(books, cancel_tells_the_truth)
{
	const unsigned int rounds = scaled(1500);
	unsigned int round, removed = 0, late = 0;
	struct htwheel_event event;
	uint64_t due_ns;
	struct htwheel_stats stats;
	struct area area;
	uint64_t id;
	int ret;

	ASSERT_EQ(0, open_ring(&area, 64));
	for (round = 0; round < rounds; round++) {
		due_ns = now_ns() + round % 8 * 100 * NS_PER_US;
		ASSERT_EQ(0, arm_at(area.fd, due_ns, round, &id));
		/* About when its tick ends. */
		while (now_ns() < due_ns + round % 7 * self->info.tick_ns / 6)
			;
		ret = cancel(area.fd, id, NULL);
		if (!ret) {
			removed++;
			EXPECT_EQ(0, take_events(&area, &event, 1));
			continue;
		}
		ASSERT_EQ(-ENOENT, ret);
		late++;
		ASSERT_EQ(1, take_events(&area, &event, 1));
		ASSERT_EQ(round, event.user_data);
	}
	TH_LOG("%u removed, %u too late", removed, late);
	ASSERT_EQ(0, check_books(area.fd, &stats));
	EXPECT_EQ(removed, stats.cancelled);
	EXPECT_EQ(late, stats.fired);
	EXPECT_EQ(0, stats.pending);
	close_areas(&area);
}

TEST_HARNESS_MAIN
