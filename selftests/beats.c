// SPDX-License-Identifier: GPL-2.0
/*
 * Periodic timers as time goes by: no drift, no turn lost, no load from those that nobody reads.
 */
#include "harness.h"
#include "crew.h"
#include "turns.h"

#define NR_LOAD		500

FIXTURE(beats) {
	struct htwheel_info info;
	int fd;
};

FIXTURE_SETUP(beats)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	ASSERT_TRUE(has_features(self->fd, HTWHEEL_FEAT_PERIODIC | HTWHEEL_FEAT_DUMP));
}

FIXTURE_TEARDOWN(beats)
{
	close(self->fd);
}

/* One periodic timer and what has been heard of it. */
struct beat {
	uint64_t	id;
	uint64_t	first_ns;
	uint64_t	period_ns;
	/* COUNT and BURST: the deadline of the next event. SKIP: the earliest that it may be. */
	uint64_t	next_ns;
	uint64_t	events;
	uint64_t	turns;
	uint16_t	policy;
};

static int start_beat(int fd, struct beat *beat, uint16_t policy, uint64_t first_ns,
		      uint64_t period_ns, uint64_t number)
{
	*beat = (struct beat){
		.first_ns = first_ns,
		.period_ns = period_ns,
		.next_ns = first_ns,
		.policy = policy,
	};
	return arm_every(fd, policy, first_ns, period_ns, number, &beat->id);
}

/* Whether an event, read between two readings of the clock, is what had to come. */
static bool beat_is_right(struct beat *beat, const struct htwheel_event *event, uint64_t before_ns,
			  uint64_t after_ns)
{
	uint64_t passed = turns_by(event->deadline_ns, beat->period_ns, before_ns);
	bool right = event->id == beat->id && event->flags == HTWHEEL_EVENT_LIVE &&
		     event->fired_ns >= event->deadline_ns && event->fired_ns <= after_ns;

	/* Once for each policy: on the grid, and nothing between the last one and this one. */
	right &= !((event->deadline_ns - beat->first_ns) % beat->period_ns);
	if (beat->policy == HTWHEEL_POLICY_SKIP)
		right &= event->deadline_ns >= beat->next_ns && event->count == 1;
	else
		right &= event->deadline_ns == beat->next_ns;
	if (beat->policy == HTWHEEL_POLICY_BURST)
		right &= event->count == 1;
	if (beat->policy == HTWHEEL_POLICY_COUNT)
		right &= event->count >= passed && event->count <=
			 turns_by(event->deadline_ns, beat->period_ns, after_ns);
	beat->next_ns = event->deadline_ns + event->count * beat->period_ns;
	if (beat->policy == HTWHEEL_POLICY_SKIP && passed)
		beat->next_ns = event->deadline_ns + passed * beat->period_ns;
	beat->events++;
	beat->turns += event->count;
	return right;
}

/* Read once: the number of events that are wrong, or a negative errno. */
static int read_beats(int fd, struct beat *beats)
{
	struct htwheel_event events[16];
	uint64_t before_ns = now_ns(), after_ns;
	int i, nr, wrong = 0;

	nr = read_events(fd, events, ARRAY_SIZE(events));
	if (nr == -EAGAIN)
		return 0;
	after_ns = now_ns();
	for (i = 0; i < nr; i++)
		wrong += !beat_is_right(&beats[events[i].user_data], &events[i], before_ns,
					after_ns);
	return nr < 0 ? nr : wrong;
}

/* Somebody else's timers, re-armed without a pause. */
struct load {
	uint64_t	ids[NR_LOAD];
	uint64_t	seed;
	int		fd;
	int		error;
};

static int start_load(struct load *load)
{
	uint64_t i;

	*load = (struct load){ .seed = 4711, .fd = open_device(O_NONBLOCK) };
	load->error = load->fd < 0 ? load->fd : 0;
	for (i = 0; i < NR_LOAD && !load->error; i++)
		load->error = arm_kept(load->fd, NS_PER_MS, i, &load->ids[i]);
	return load->error;
}

static void make_load(void *arg)
{
	struct htwheel_event events[64];
	struct load *load = arg;
	uint64_t i;

	for (i = 0; i < NR_LOAD && !load->error; i++)
		if (rearm_in(load->fd, load->ids[i], chance_below(&load->seed, 20 * NS_PER_MS)) < 0)
			load->error = -EPROTO;
	while (read_events(load->fd, events, ARRAY_SIZE(events)) > 0)
		;
}

static bool all_are_past(const struct beat *beats, size_t nr, uint64_t time_ns)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (beats[i].next_ns <= time_ns)
			return false;
	return true;
}

/*
 * With a reader who is often late, the deadlines are where they were meant to be, and the turns are
 * as many as the time has periods.
 */
TEST_F(beats, B49_no_drift_under_load)
{
	const uint64_t period_ns = 10 * NS_PER_MS, time_ns = scaled(3) * NS_PER_S;
	uint64_t first_ns, end_ns, seed = 99;
	struct crew crew = { .nr = 0 };
	struct beat beats[3];
	struct load load;
	size_t i;

	ASSERT_EQ(0, start_load(&load));
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, make_load, &load));
	first_ns = now_ns() + period_ns;
	end_ns = first_ns + time_ns;
	for (i = 0; i < ARRAY_SIZE(beats); i++)
		ASSERT_EQ(0, start_beat(self->fd, &beats[i], i, first_ns, period_ns, i));
	while (!all_are_past(beats, ARRAY_SIZE(beats), end_ns) || !crew_has_turned(&crew)) {
		ASSERT_TRUE(wait_readable(self->fd));
		if (now_ns() < end_ns && !chance_below(&seed, 10))
			sleep_ns(chance_below(&seed, 50 * NS_PER_MS));
		ASSERT_EQ(0, read_beats(self->fd, beats));
	}
	crew_end(&crew);
	close(load.fd);
	EXPECT_EQ(0, load.error);
	for (i = 0; i < ARRAY_SIZE(beats); i++) {
		TH_LOG("policy %zu: %llu events, %llu turns, %llu rounds of load", i,
		       (unsigned long long)beats[i].events, (unsigned long long)beats[i].turns,
		       (unsigned long long)crew_turns(&crew, 0));
		EXPECT_GE(turns_by(first_ns, period_ns, now_ns()), beats[i].turns);
		if (i != HTWHEEL_POLICY_SKIP)
			EXPECT_EQ(first_ns + beats[i].turns * period_ns, beats[i].next_ns);
		EXPECT_EQ(0, (dumped_deadline_ns(self->fd, beats[i].id) - first_ns) % period_ns);
		EXPECT_LE(beats[i].next_ns, dumped_deadline_ns(self->fd, beats[i].id));
	}
}

/* Shorter than a tick, or the shortest there is: it cannot fire as often, but it counts. */
TEST_F(beats, B50_turns_between_ticks_are_counted)
{
	const uint64_t periods[] = { 1, 7, self->info.tick_ns / 16, self->info.tick_ns - 1 };
	struct beat beats[ARRAY_SIZE(periods)];
	uint64_t first_ns, before_ns, after_ns;
	struct htwheel_event event;
	size_t i;

	first_ns = now_ns();
	for (i = 0; i < ARRAY_SIZE(beats); i++)
		ASSERT_EQ(0, start_beat(self->fd, &beats[i], HTWHEEL_POLICY_COUNT, first_ns,
					periods[i], i));
	while (now_ns() < first_ns + NS_PER_S / 2) {
		poll_for(self->fd, NS_PER_S);
		ASSERT_EQ(0, read_beats(self->fd, beats));
	}
	/* An event of each, read alone, whose moment is known. */
	for (i = 0; i < ARRAY_SIZE(beats); i++) {
		do {
			ASSERT_TRUE(wait_readable(self->fd));
			before_ns = now_ns();
			ASSERT_EQ(1, read_events(self->fd, &event, 1));
			after_ns = now_ns();
			ASSERT_TRUE(beat_is_right(&beats[event.user_data], &event, before_ns,
						  after_ns));
		} while (event.user_data != i);
		EXPECT_LE(turns_by(first_ns, periods[i], before_ns), beats[i].turns);
		EXPECT_GE(turns_by(first_ns, periods[i], after_ns), beats[i].turns);
		TH_LOG("period %llu: %llu events, %llu turns", (unsigned long long)periods[i],
		       (unsigned long long)beats[i].events, (unsigned long long)beats[i].turns);
	}
}

/* More turns in one event than 32 bits can count. */
TEST_F(beats, counts_of_64_bits)
{
	uint64_t id, before_ns, after_ns, missed;
	struct htwheel_event event;
	struct htwheel_stats stats;

	ASSERT_EQ(0, arm_every(self->fd, HTWHEEL_POLICY_COUNT, 0, 1, 0, &id));
	if (now_ns() < 5 * NS_PER_S)
		sleep_ns(5 * NS_PER_S - now_ns());
	before_ns = now_ns();
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	after_ns = now_ns();
	EXPECT_LT(1ULL << 32, event.count);
	EXPECT_LE(before_ns + 1, event.count);
	EXPECT_GE(after_ns + 1, event.count);
	missed = event.count - 1;
	ASSERT_LE(0, cancel(self->fd, id, NULL));
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(missed, stats.missed);
}

/* More is due than fits into any buffer. */
TEST_F(beats, B47_burst_fills_the_buffer_and_no_more)
{
	struct htwheel_event events[1000];
	uint64_t id, first_ns = now_ns() / 2;
	int i;

	ASSERT_EQ(0, arm_every(self->fd, HTWHEEL_POLICY_BURST, first_ns, 1, 0, &id));
	ASSERT_EQ(1000, read_events(self->fd, events, 1000));
	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(first_ns + i, events[i].deadline_ns);
		ASSERT_EQ(1, events[i].count);
		ASSERT_EQ(id, events[i].id);
	}
	EXPECT_TRUE(is_readable(self->fd));
	/* Small buffers, one after the other, go on where the large one ended. */
	for (; i < 1010; i++) {
		ASSERT_EQ(1, read_events(self->fd, events, 1));
		ASSERT_EQ(first_ns + i, events[0].deadline_ns);
	}
	for (; i < 1030; i += 2) {
		ASSERT_EQ(2, read_events(self->fd, events, 2));
		ASSERT_EQ(first_ns + i, events[0].deadline_ns);
		ASSERT_EQ(first_ns + i + 1, events[1].deadline_ns);
	}
	EXPECT_EQ(HTWHEEL_RES_FIRED, cancel(self->fd, id, NULL));
	EXPECT_FALSE(is_readable(self->fd));
}

/* A timer with a thousand missed periods does not hide its neighbour. */
TEST_F(beats, burst_lets_others_through)
{
	struct htwheel_event event;
	unsigned int i, others = 0;
	uint64_t id;

	ASSERT_EQ(0, arm_every(self->fd, HTWHEEL_POLICY_BURST, 0, 1, 1, &id));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, arm_in(self->fd, 0, 2, NULL));
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		others += event.user_data == 2;
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		others += event.user_data == 2;
	}
	EXPECT_EQ(10, others);
}

/*
 * Nobody reads: each fires once and waits, and the engine has nothing to do. At the end the count
 * tells the whole time.
 */
TEST_F(beats, B70_a_thousand_of_the_shortest_that_nobody_reads)
{
	const uint32_t nr = 1000;
	struct beat *beats = calloc(nr, sizeof(*beats));
	struct htwheel_stats then, now;
	uint64_t first_ns, passes;
	uint32_t i;

	ASSERT_TRUE(!!beats);
	ASSERT_EQ(0, device_stats(self->fd, &then));
	if (then.queued)
		SKIP(return, "another program has timers");
	first_ns = now_ns() + 50 * NS_PER_MS;
	for (i = 0; i < nr; i++)
		ASSERT_EQ(0, start_beat(self->fd, &beats[i], HTWHEEL_POLICY_COUNT, first_ns, 1, i));
	ASSERT_TRUE(wait_expired(self->fd, nr));
	/* The pass that fired the last of them may be under way, and another may follow it. */
	visit_cpus();
	sleep_ns(100 * NS_PER_MS);
	visit_cpus();
	ASSERT_EQ(0, device_stats(self->fd, &then));
	sleep_ns(NS_PER_S);
	ASSERT_EQ(0, device_stats(self->fd, &now));
	EXPECT_TRUE(engine_did_nothing(&then, &now));
	EXPECT_EQ(nr, now.expired);
	EXPECT_EQ(0, now.queued);

	for (i = 0; i < 2 * nr / 16; i++)
		ASSERT_EQ(0, read_beats(self->fd, beats));
	ASSERT_EQ(0, device_stats(self->fd, &now));
	passes = now.passes - then.passes;
	TH_LOG("%llu passes while they were read", (unsigned long long)passes);
	for (i = 0; i < nr; i++) {
		ASSERT_LE(1, beats[i].events);
		ASSERT_LE(turns_by(first_ns, 1, first_ns + NS_PER_S), beats[i].turns);
	}
	EXPECT_TRUE(books_balance(&now));
	EXPECT_EQ(now.armed - nr, now.fired);
	free(beats);
}

/*
 * A consumer answers each event with a timer that is due at once, and one with the shortest period
 * adds to it: the slow one comes all the same.
 */
TEST_F(beats, B71_zero_delay_for_each_event)
{
	const uint64_t period_ns = 5 * NS_PER_MS, start_ns = now_ns();
	uint64_t seen[3] = { 0 };
	struct htwheel_event events[8];
	int i, nr;

	ASSERT_EQ(0, arm_in(self->fd, 0, 0, NULL));
	ASSERT_EQ(0, arm_every(self->fd, HTWHEEL_POLICY_BURST, now_ns(), 1, 1, NULL));
	ASSERT_EQ(0, arm_every(self->fd, HTWHEEL_POLICY_COUNT, now_ns() + period_ns, period_ns, 2,
			       NULL));
	while (now_ns() < start_ns + NS_PER_S / 2 || !seen[0] || !seen[1] || !seen[2]) {
		ASSERT_GT(start_ns + patience_ns(), now_ns()) {
			TH_LOG("%llu at once, %llu in a burst, %llu every 5 ms",
			       (unsigned long long)seen[0], (unsigned long long)seen[1],
			       (unsigned long long)seen[2]);
		}
		nr = read_events(self->fd, events, ARRAY_SIZE(events));
		ASSERT_LE(1, nr);
		for (i = 0; i < nr; i++) {
			seen[events[i].user_data]++;
			if (!events[i].user_data)
				ASSERT_EQ(0, arm_in(self->fd, 0, 0, NULL));
		}
	}
	TH_LOG("%llu at once, %llu in a burst, %llu every 5 ms", (unsigned long long)seen[0],
	       (unsigned long long)seen[1], (unsigned long long)seen[2]);
}

TEST_HARNESS_MAIN
