// SPDX-License-Identifier: GPL-2.0
/*
 * Heartbeats: thousands of timers that are kept from firing by plain stores, on live clocks, with
 * every design; and stores that race the expiration.
 *
 * On a busy machine a heartbeat may come too late, and then its timer is right to fire. So the
 * tests write down when each store was done: one that was done before the deadline must be seen.
 */
#include "harness.h"
#include "crew.h"
#include "many.h"
#include "shared_area.h"

#define NR_TIMERS	10000U
#define LOT		64

struct beat {
	uint64_t	id;
	/* What was stored last, and a moment at which it had been. */
	uint64_t	due_ns;
	uint64_t	stored_ns;
};

FIXTURE(beats) {
	struct htwheel_design rows[MAX_ROWS];
	struct beat *beats;
	int nr;
};

FIXTURE_SETUP(beats)
{
	self->nr = read_designs(self->rows, MAX_ROWS);
	ASSERT_LE(1, self->nr);
	self->beats = calloc(NR_TIMERS, sizeof(*self->beats));
	ASSERT_TRUE(!!self->beats);
}

FIXTURE_TEARDOWN(beats)
{
	free(self->beats);
}

static uint64_t present_ns(uint32_t clock)
{
	return clock == HTWHEEL_CLOCK_BOOTTIME ? boot_ns() : now_ns();
}

/* What a run needs to know. */
struct run {
	struct area	area;
	struct beat	*beats;
	uint32_t	clock;
	uint32_t	nr;
	uint64_t	timeout_ns;
	/* Events that came because a heartbeat was late. */
	uint64_t	late;
};

/* From all CPUs, so that they are in the queues of all. */
static int arm_beats(struct run *run)
{
	uint64_t *ids = calloc(run->nr, sizeof(*ids));
	struct htwheel_op like = { .flags = HTWHEEL_ABSOLUTE | HTWHEEL_KEEP };
	uint32_t i, nr;
	int ret = ids ? 0 : -ENOMEM;

	for (i = 0; i < run->nr && !ret; i += nr) {
		nr = run->nr - i < 1000 ? run->nr - i : 1000;
		pin_to(i / 1000);
		like.time_ns = present_ns(run->clock) + run->timeout_ns;
		ret = arm_many(run->area.fd, &like, i, nr, 0, ids);
	}
	for (i = 0; i < run->nr && !ret; i++)
		run->beats[i] = (struct beat){ .id = ids[i] };
	free(ids);
	return ret;
}

static void store_beats(struct run *run)
{
	uint64_t now = 0;
	uint32_t i, k;

	for (i = 0; i < run->nr; i++) {
		if (i % 64 == 0)
			now = present_ns(run->clock);
		run->beats[i].due_ns = now + run->timeout_ns;
		postpone(&run->area, run->beats[i].id, run->beats[i].due_ns);
		if (i % 64 != 63 && i + 1 != run->nr)
			continue;
		/* All stores of this lot are done. */
		atomic_thread_fence(memory_order_seq_cst);
		now = present_ns(run->clock);
		for (k = i - i % 64; k <= i; k++)
			run->beats[k].stored_ns = now;
	}
}

/* An event while hearts beat: only if the store came too late for the deadline that it names. */
static const char *judge_beat(struct run *run, const struct htwheel_event *event)
{
	struct beat *beat = &run->beats[event->user_data];

	if (event->user_data >= run->nr || event->id != beat->id || event->count != 1)
		return "an event is wrong";
	if (event->fired_ns < event->deadline_ns)
		return "early";
	if (beat->due_ns > event->deadline_ns && beat->stored_ns < event->deadline_ns)
		return "a store was not seen";
	run->late++;
	return NULL;
}

/* Judge them, and arm their timers again. */
static const char *judge_lot(struct run *run, const struct htwheel_event *events, int nr)
{
	struct htwheel_op ops[LOT] = {};
	const char *wrong = NULL;
	int i;

	for (i = 0; i < nr && !wrong; i++) {
		wrong = judge_beat(run, &events[i]);
		ops[i] = (struct htwheel_op){
			.opcode = HTWHEEL_OP_REARM, .flags = HTWHEEL_ABSOLUTE, .id = events[i].id,
			.time_ns = present_ns(run->clock) + run->timeout_ns,
		};
	}
	if (!wrong && submit_all(run->area.fd, ops, nr))
		wrong = "submit";
	for (i = 0; i < nr && !wrong; i++)
		wrong = ops[i].result ? "re-arm" : NULL;
	return wrong;
}

/* Those that have come. On a slow machine more come meanwhile, so not all that ever will. */
static const char *judge_beats(struct run *run)
{
	struct htwheel_event events[LOT];
	const char *wrong = NULL;
	uint32_t judged;
	int nr;

	for (judged = 0; judged < run->nr && !wrong; judged += nr) {
		nr = read_events(run->area.fd, events, LOT);
		if (nr <= 0)
			return nr == -EAGAIN ? NULL : "read";
		wrong = judge_lot(run, events, nr);
	}
	return wrong;
}

/* The last words hold: each fires once, for the deadline that was stored. */
static const char *let_them_die(struct run *run)
{
	struct htwheel_event events[64];
	struct htwheel_stats stats;
	uint32_t left = run->nr;
	struct beat *beat;
	int i, nr;

	/* Those that fired meanwhile are armed anew, so all have a word. */
	store_beats(run);
	while (left) {
		if (!wait_readable(run->area.fd))
			return "an event is missing";
		nr = read_events(run->area.fd, events, 64);
		if (nr <= 0)
			return "read";
		for (i = 0; i < nr; i++) {
			beat = &run->beats[events[i].user_data];
			if (events[i].user_data >= run->nr || events[i].id != beat->id)
				return "a last event is wrong";
			if (events[i].fired_ns < events[i].deadline_ns)
				return "the last one is early";
			if (events[i].deadline_ns == beat->due_ns) {
				left--;
				/* There is no second one. */
				beat->id = 0;
			} else if (beat->stored_ns < events[i].deadline_ns) {
				return "the last store was not seen";
			} else if (rearm_at(run->area.fd, beat->id, beat->due_ns)) {
				return "re-arm";
			}
		}
	}
	if (read_events(run->area.fd, events, 1) != -EAGAIN)
		return "more than one event";
	return check_books(run->area.fd, &stats) || stats.pending ? "the books" : NULL;
}

static const char *live_by_heartbeats(struct run *run, uint64_t length_ns)
{
	const uint64_t begin_ns = now_ns();
	struct htwheel_stats stats;
	const char *wrong = NULL;

	if (arm_beats(run))
		return "arm";
	while (!wrong && now_ns() < begin_ns + length_ns) {
		store_beats(run);
		wrong = judge_beats(run);
		if (!wrong && check_books(run->area.fd, &stats))
			wrong = "the books";
		sleep_ns(run->timeout_ns / 8);
	}
	return wrong ? wrong : let_them_die(run);
}

#define EXPECT_ALIVE(run, length_ns)							\
	do {										\
		const char *_wrong = live_by_heartbeats(run, length_ns);		\
											\
		ASSERT_STREQ("nothing", _wrong ? _wrong : "nothing");			\
	} while (0)

TEST_F(beats, ten_thousand_timers)
{
	struct run run = {
		.beats = self->beats, .nr = NR_TIMERS, .timeout_ns = 400 * NS_PER_MS,
	};
	struct htwheel_stats stats;

	ASSERT_EQ(0, open_areas(&run.area, (struct htwheel_setup){
		.flags = HTWHEEL_SETUP_TABLE, .max_timers = NR_TIMERS,
	}));
	EXPECT_ALIVE(&run, scaled(4) * NS_PER_S);
	ASSERT_EQ(0, device_stats(run.area.fd, &stats));
	TH_LOG("postponed %llu times, %llu events for late heartbeats",
	       (unsigned long long)stats.postponed, (unsigned long long)run.late);
	EXPECT_LE(NR_TIMERS, stats.postponed);
	close_areas(&run.area);
}

TEST_F(beats, B88_every_design_on_live_clocks)
{
	const struct htwheel_design *row;
	struct htwheel_setup setup;
	int i;

	for (i = 0; i < 2 * self->nr; i++) {
		struct run run = {
			.beats = self->beats, .nr = 300, .timeout_ns = 30 * NS_PER_MS,
			.clock = i & 1 ? HTWHEEL_CLOCK_BOOTTIME : HTWHEEL_CLOCK_MONOTONIC,
		};

		row = &self->rows[i / 2];
		setup = setup_of_row(row);
		setup.flags |= HTWHEEL_SETUP_TABLE;
		setup.clock = run.clock;
		setup.max_timers = run.nr;
		ROW_EQ(0, open_areas(&run.area, setup));
		EXPECT_ALIVE(&run, 200 * NS_PER_MS);
		close_areas(&run.area);
	}
}

static void disturb(void *arg)
{
	uint64_t id;
	int fd = *(int *)arg, i;

	for (i = 0; i < 50; i++) {
		if (!arm_in(fd, 20 * NS_PER_US, UINT32_MAX, &id))
			cancel(fd, id, NULL);
	}
}

/* Others arm and cancel beside them, on all CPUs. */
TEST_F(beats, under_load)
{
	struct run run = {
		.beats = self->beats, .nr = 2000, .timeout_ns = 200 * NS_PER_MS,
	};
	int other = open_device(O_NONBLOCK);
	struct crew crew = { .nr = 0 };
	unsigned int i;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, open_areas(&run.area, (struct htwheel_setup){
		.flags = HTWHEEL_SETUP_TABLE, .max_timers = 4000,
	}));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, crew_add(&crew, i, disturb, &other));
	crew_wait(&crew);
	EXPECT_ALIVE(&run, scaled(2) * NS_PER_S);
	crew_end(&crew);
	close(other);
	close_areas(&run.area);
}

/*
 * One store, about when the timer comes up. Done before the deadline, it is seen; if not, the event
 * names the old deadline, and REARM makes good for it.
 */
TEST_F(beats, store_that_races_the_expiration)
{
	const unsigned int rounds = scaled(1000);
	unsigned int round, seen = 0, late = 0;
	uint64_t id, due_ns, later_ns, stored_ns;
	struct htwheel_event event;
	struct htwheel_info info;
	struct area area;

	ASSERT_EQ(0, open_areas(&area, (struct htwheel_setup){
		.flags = HTWHEEL_SETUP_TABLE, .max_timers = 16,
	}));
	ASSERT_EQ(0, device_info(area.fd, &info));
	for (round = 0; round < rounds; round++) {
		pin_to(round);
		due_ns = now_ns() + 200 * NS_PER_US;
		later_ns = due_ns + NS_PER_MS + round;
		ASSERT_EQ(0, arm_at(area.fd, due_ns, round, &id));
		/* From a while before the deadline to some ticks behind it. */
		while (now_ns() + 100 * NS_PER_US < due_ns + round % 20 * info.tick_ns / 10)
			;
		postpone(&area, id, later_ns);
		atomic_thread_fence(memory_order_seq_cst);
		stored_ns = now_ns();
		ASSERT_EQ(0, next_event(area.fd, &event));
		ASSERT_EQ(id, event.id);
		ASSERT_LE(event.deadline_ns, event.fired_ns);
		ASSERT_TRUE(event.deadline_ns == due_ns || event.deadline_ns == later_ns);
		if (stored_ns < due_ns)
			ASSERT_EQ(later_ns, event.deadline_ns);
		seen += event.deadline_ns == later_ns;
		late += event.deadline_ns == due_ns;
	}
	TH_LOG("%u stores were seen, %u came too late", seen, late);
	close_areas(&area);
}

TEST_HARNESS_MAIN
