// SPDX-License-Identifier: GPL-2.0
/*
 * The rules that hold for any timer, with ring and table: neither early nor later than a design
 * promises, passes that end, an engine that rests, contexts that end while events are published,
 * CPUs that go.
 */
#include "harness.h"
#include "crew.h"
#include "many.h"
#include "ring_ledger.h"

#define TICK_NS		(1ULL << 12)
#define START_NS	(1ULL << 40)
#define ONLINE		"/sys/devices/system/cpu/cpu1/online"

FIXTURE(rules) {
	struct htwheel_design rows[MAX_ROWS];
	uint64_t queued;
	int nr;
};

FIXTURE_SETUP(rules)
{
	self->queued = queued_timers();
	self->nr = read_designs(self->rows, MAX_ROWS);
	ASSERT_LE(1, self->nr);
}

FIXTURE_TEARDOWN(rules)
{
	EXPECT_TRUE(wait_queued(self->queued));
}

#define FOR_EACH_ROW(row)								\
	for ((row) = self->rows; (row) < self->rows + self->nr; (row)++)

#define NR_RANDOM	500U

/* What each timer is due for in the end, and how long before that it was armed. */
struct promise {
	uint64_t	id;
	uint64_t	due_ns;
	uint64_t	delay_ns;
	bool		seen;
};

static int make_promises(struct area *area, struct promise *promises, uint64_t *seed)
{
	struct promise *promise;
	uint32_t i;
	int ret;

	for (i = 0; i < NR_RANDOM; i++) {
		promise = &promises[i];
		promise->delay_ns = chance_below(seed, 1ULL << (8 + i % 24));
		promise->due_ns = START_NS + promise->delay_ns;
		promise->seen = false;
		ret = arm_at(area->fd, promise->due_ns, i, &promise->id);
		if (ret)
			return ret;
		/* Postponed, not at all, or to before. */
		if (promise->due_ns == START_NS || i % 3 == 0)
			continue;
		promise->due_ns += i % 3 == 1 ? chance_below(seed, 1ULL << (8 + i % 25)) : 0;
		promise->delay_ns = promise->due_ns - START_NS;
		postpone(area, promise->id, promise->due_ns - (i % 3 == 2));
	}
	return 0;
}

/* I1, I2: by random steps, with a ring that is now empty and now full. */
TEST_F(rules, neither_early_nor_late)
{
	uint64_t seed = 0x9e3779b97f4a7c15ULL ^ number_from_env("HTWHEEL_SEED", 1);
	const struct htwheel_design *row;
	struct promise promises[NR_RANDOM], *promise;
	struct htwheel_event events[64];
	uint64_t now, left, late_ns;
	struct area area;
	int i, nr;

	FOR_EACH_ROW(row) {
		struct htwheel_setup setup = setup_of_row(row);

		setup.clock = HTWHEEL_CLOCK_MANUAL;
		setup.flags |= HTWHEEL_SETUP_TABLE;
		setup.max_timers = NR_RANDOM;
		setup.tick_ns = TICK_NS;
		setup.start_ns = START_NS;
		setup.ring_entries = 32;
		ROW_EQ(0, open_areas(&area, setup));
		ROW_EQ(0, make_promises(&area, promises, &seed));
		for (now = START_NS, left = NR_RANDOM; left; ) {
			while ((nr = take_or_read(&area, events, 64)) > 0) {
				for (i = 0; i < nr; i++, left--) {
					promise = &promises[events[i].user_data];
					ROW_EQ(promise->id, events[i].id);
					ROW_TRUE(!promise->seen);
					promise->seen = true;
					ROW_EQ(promise->due_ns, events[i].deadline_ns);
					ROW_LE(promise->due_ns, events[i].fired_ns);
					late_ns = most_late_ns(row, TICK_NS, promise->delay_ns);
					ROW_GE(promise->due_ns + late_ns, events[i].fired_ns);
				}
			}
			ROW_EQ(0, nr);
			now += 1 + chance_below(&seed, 1ULL << (10 + chance_below(&seed, 24)));
			ROW_EQ(0, advance_to(area.fd, now));
		}
		close_areas(&area);
	}
}

/* I5: what lies in a ring, or is idle, makes no work. */
TEST_F(rules, engine_rests)
{
	struct htwheel_setup setup = {
		.flags = HTWHEEL_SETUP_PRIVATE | HTWHEEL_SETUP_TABLE, .max_timers = 1000,
		.ring_entries = 64,
	};
	struct htwheel_stats then, now;
	uint64_t id, ids[60];
	struct area area;
	unsigned int i;

	ASSERT_EQ(0, open_areas(&area, setup));
	ASSERT_EQ(0, arm_many(area.fd, &(struct htwheel_op){ .time_ns = NS_PER_MS }, 0, 60,
			      NS_PER_US, ids));
	ASSERT_EQ(0, arm_kept(area.fd, NS_PER_MS, 60, &id));
	while (ring_unread(&area) < 61)
		sleep_ns(NS_PER_MS);
	/* Words of nobody, and of an idle one. */
	for (i = 0; i < 1000; i++)
		postpone(&area, i, now_ns() + i * NS_PER_US);
	visit_cpus();
	sleep_ns(100 * NS_PER_MS);
	visit_cpus();
	ASSERT_EQ(0, device_stats(area.fd, &then));
	EXPECT_EQ(0, then.queued);
	sleep_ns(300 * NS_PER_MS);
	ASSERT_EQ(0, device_stats(area.fd, &now));
	EXPECT_TRUE(engine_did_nothing(&then, &now));
	/* A timer that was postponed wakes nobody either, but when it comes up. */
	ASSERT_EQ(0, arm_in(area.fd, HOUR_NS, 0, &id));
	for (i = 0; i < 1000; i++)
		postpone(&area, id, now_ns() + 2 * HOUR_NS + i);
	ASSERT_EQ(0, device_stats(area.fd, &then));
	sleep_ns(100 * NS_PER_MS);
	ASSERT_EQ(0, device_stats(area.fd, &now));
	EXPECT_EQ(then.passes, now.passes);
	close_areas(&area);
}

/* I7: more in one tick than a pass may handle, published or postponed: the rest follows. */
TEST_F(rules, more_in_one_tick_than_a_pass_handles)
{
	const uint32_t nr = scaled(20000);
	struct htwheel_stats before, after;
	uint64_t *ids = calloc(nr, sizeof(*ids)), due_ns;
	struct htwheel_event events[128];
	uint32_t i, seen = 0;
	struct area area;
	int k, got;

	ASSERT_TRUE(!!ids);
	ASSERT_EQ(0, open_areas(&area, (struct htwheel_setup){
		.flags = HTWHEEL_SETUP_TABLE, .max_timers = nr, .ring_entries = 1 << 16,
	}));
	ASSERT_EQ(0, pin_to(0));
	ASSERT_EQ(0, device_stats(area.fd, &before));
	due_ns = now_ns() + NS_PER_S / 2;
	ASSERT_EQ(0, arm_many(area.fd, &(struct htwheel_op){
		.flags = HTWHEEL_ABSOLUTE, .time_ns = due_ns,
	}, 0, nr, 0, ids));
	for (i = 0; i < nr; i++)
		postpone(&area, ids[i], due_ns + NS_PER_S / 4);
	while (seen < nr) {
		ASSERT_TRUE(wait_readable(area.fd));
		got = take_or_read(&area, events, 128);
		ASSERT_LE(0, got);
		for (k = 0; k < got; k++) {
			ASSERT_EQ(ids[events[k].user_data], events[k].id);
			ids[events[k].user_data] = 0;
			/* Either, if the machine stood still where the words were written. */
			ASSERT_LE(due_ns, events[k].deadline_ns);
			ASSERT_LE(events[k].deadline_ns, events[k].fired_ns);
		}
		seen += got;
	}
	ASSERT_EQ(0, device_stats(area.fd, &after));
	EXPECT_EQ(0, after.pending);
	EXPECT_EQ(0, after.waited);
	TH_LOG("%llu passes stopped at their budget, %llu times postponed",
	       (unsigned long long)(after.budget_stops - before.budget_stops),
	       (unsigned long long)after.postponed);
	close_areas(&area);
	free(ids);
}

/* B32: the last of file and mappings goes while passes publish. */
TEST_F(rules, B32_end_while_events_are_published)
{
	const unsigned int rounds = scaled(60);
	uint64_t ids[2000], due_ns;
	struct area area;
	unsigned int round;

	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, open_areas(&area, (struct htwheel_setup){
			.flags = HTWHEEL_SETUP_TABLE | (round & 1 ? HTWHEEL_SETUP_PRIVATE : 0),
			.max_timers = 2000, .ring_entries = round & 2 ? 4096 : 16,
		}));
		pin_to(round);
		due_ns = now_ns() + 3 * NS_PER_MS;
		ASSERT_EQ(0, arm_many(area.fd, &(struct htwheel_op){
			.flags = HTWHEEL_ABSOLUTE | (round & 4 ? HTWHEEL_PERIODIC : 0),
			.period_ns = round & 4 ? NS_PER_US : 0, .time_ns = due_ns,
		}, 0, 2000, 0, ids));
		pin_to(round + 1);
		while (now_ns() < due_ns + round % 10 * 100 * NS_PER_US)
			;
		if (round & 8) {
			close(area.fd);
			area.fd = -1;
		}
		close_areas(&area);
	}
}

static bool set_online(bool online)
{
	int fd = open(ONLINE, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, online ? "1" : "0", 1) == 1;

	close(fd);
	return ok;
}

/* The CPU goes, with timers that are due soon, postponed, periodic; and comes back. */
TEST_F(rules, B68_timers_survive_their_cpu)
{
	const unsigned int rounds = scaled(10), nr = 1000;
	uint64_t ids[1000], next_ns[4], turns[4], due_ns;
	struct htwheel_event event;
	struct htwheel_stats stats;
	unsigned int round, i, seen;
	struct area area;
	cpu_set_t cpus;

	if (access(ONLINE, W_OK))
		SKIP(return, "CPU 1 cannot be taken offline");
	sched_getaffinity(0, sizeof(cpus), &cpus);
	ASSERT_EQ(0, open_areas(&area, (struct htwheel_setup){
		.flags = HTWHEEL_SETUP_TABLE, .max_timers = 2 * nr, .ring_entries = 256,
	}));
	pin_to(1);
	for (i = 0; i < 4; i++) {
		next_ns[i] = now_ns();
		ASSERT_EQ(0, arm_every(area.fd, HTWHEEL_POLICY_COUNT, next_ns[i], NS_PER_MS, nr + i,
				       &turns[i]));
	}
	for (round = 0; round < rounds; round++) {
		pin_to(1);
		due_ns = now_ns() + 20 * NS_PER_MS;
		ASSERT_EQ(0, arm_many(area.fd, &(struct htwheel_op){
			.flags = HTWHEEL_ABSOLUTE, .time_ns = due_ns,
		}, 0, nr, NS_PER_US * 20, ids));
		for (i = 0; i < nr; i += 2)
			postpone(&area, ids[i], due_ns + 40 * NS_PER_MS);
		sched_setaffinity(0, sizeof(cpus), &cpus);
		ASSERT_TRUE(set_online(round & 1));
		for (seen = 0; seen < nr; ) {
			ASSERT_EQ(0, wait_event(&area, &event));
			ASSERT_LE(event.deadline_ns, event.fired_ns);
			if (event.user_data < nr) {
				ASSERT_EQ(ids[event.user_data], event.id);
				ids[event.user_data] = 0;
				seen++;
				continue;
			}
			i = event.user_data - nr;
			ASSERT_GT(4, i);
			ASSERT_EQ(next_ns[i], event.deadline_ns);
			next_ns[i] += event.count * NS_PER_MS;
		}
		ASSERT_TRUE(set_online(true));
	}
	ASSERT_EQ(0, check_books(area.fd, &stats));
	EXPECT_EQ(4, stats.pending);
	close_areas(&area);
}

TEST_HARNESS_MAIN
