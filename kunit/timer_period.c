// SPDX-License-Identifier: GPL-2.0
/*
 * Periodic timers: missed periods, no drift, and nothing to do for those that nobody reads.
 */
#include "listener.h"
#include "naive.h"
#include "timer_cases.h"

#define POLICIES	(HTWHEEL_POLICY_DELAY + 1)
#define USER_DATA	0x1234567890abcdefULL
#define TAG		0xfedcba98U

/* A periodic timer. */
static u64 make(struct htw_trig *rig, struct htw_timers *timers, enum htwheel_policy policy,
		u64 deadline_ns, u64 period_ns)
{
	struct htw_timer_spec spec = {
		.deadline_ns	= deadline_ns,
		.period_ns	= period_ns,
		.user_data	= USER_DATA,
		.tag		= TAG,
		.policy		= policy,
	};

	return htw_trig_make(rig, timers, &spec);
}

/* One event can be read, and it is this. */
static void expect_event(struct htw_trig *rig, struct htw_timers *timers, u64 id, u64 deadline_ns,
			 u64 count)
{
	struct kunit *test = rig->test;
	struct htwheel_event event = {};

	KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_ASSERT_EQ(test, event.id, id);
	KUNIT_ASSERT_EQ(test, event.deadline_ns, deadline_ns);
	KUNIT_ASSERT_EQ(test, event.count, count);
	KUNIT_ASSERT_EQ(test, event.user_data, USER_DATA);
	KUNIT_ASSERT_EQ(test, event.tag, TAG);
	KUNIT_ASSERT_EQ(test, event.flags, HTWHEEL_EVENT_LIVE);
	KUNIT_ASSERT_GE(test, event.fired_ns, event.deadline_ns);
	KUNIT_ASSERT_LE(test, event.fired_ns, htw_manual.now_ns);
}

/* It waits for this deadline, and has nothing to say. */
static void expect_wait(struct htw_trig *rig, struct htw_timers *timers, u64 id, u64 deadline_ns)
{
	struct kunit *test = rig->test;
	u64 left_ns = HTW_JUNK;

	KUNIT_ASSERT_EQ(test, timers->ready.nr, 0);
	KUNIT_ASSERT_EQ(test, htw_trig_query(timers, id, &left_ns), 0);
	KUNIT_ASSERT_EQ(test, left_ns, deadline_ns - htw_manual.now_ns);
	KUNIT_ASSERT_EQ(test, htw_trig_find(rig, timers, id)->deadline_ns, deadline_ns);
	htw_trig_judge(rig);
}

/**
 * struct stall - what becomes of ten missed periods
 * @policy: by this policy
 * @events: so many events
 * @count: each of which stands for so many
 * @next: the deadline that follows
 */
struct stall {
	enum htwheel_policy	policy;
	u32			events;
	u64			count;
	u64			next;
};

static const struct stall stalls[] = {
	{ HTWHEEL_POLICY_COUNT, 1, 10, 110 },
	{ HTWHEEL_POLICY_SKIP, 1, 1, 110 },
	{ HTWHEEL_POLICY_BURST, 10, 1, 110 },
	{ HTWHEEL_POLICY_DELAY, 1, 1, 115 },
};

/* Period 10, first deadline 10, nobody reads until 105. The pass may have been in time, or not. */
static void play_stall(struct kunit *test, const struct stall *stall, u32 shift, bool punctual)
{
	struct htw_engine_config config = htw_trig_config(test);
	const u64 unit = 1ULL << shift, t0 = HTW_TRIG_START_NS;
	struct htw_timers *timers;
	struct htw_trig *rig;
	u64 id, left_ns;
	u32 i;

	config.tick_shift = shift;
	rig = htw_trig_open(test, &config);
	timers = htw_trig_own(rig, 1);
	id = make(rig, timers, stall->policy, t0 + 10 * unit, 10 * unit);
	if (punctual)
		htw_trig_run(rig, t0 + 10 * unit + unit - 1);
	htw_trig_run(rig, t0 + 105 * unit);
	KUNIT_ASSERT_EQ(test, timers->ready.nr, 1);
	for (i = 0; i < stall->events; i++)
		expect_event(rig, timers, id, t0 + (1 + i) * 10 * unit, stall->count);
	expect_wait(rig, timers, id, t0 + stall->next * unit);
	KUNIT_EXPECT_EQ(test, timers->books.armed, 1 + stall->events);
	KUNIT_EXPECT_EQ(test, timers->books.fired, stall->events);
	KUNIT_EXPECT_EQ(test, timers->books.missed, stall->events * (stall->count - 1));

	/* It goes on, at its time and not before. */
	htw_trig_run(rig, t0 + stall->next * unit - 1);
	expect_wait(rig, timers, id, t0 + stall->next * unit);
	htw_trig_run(rig, t0 + (stall->next + 1) * unit);
	expect_event(rig, timers, id, t0 + stall->next * unit, 1);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), 0);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), -ENOENT);
	KUNIT_EXPECT_EQ(test, timers->pool.live, 0);
	htw_trig_judge(rig);
	htw_trig_close(rig);
}

static void b48_missed_periods(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(stalls); i++) {
		play_stall(test, &stalls[i], 0, false);
		play_stall(test, &stalls[i], 0, true);
		play_stall(test, &stalls[i], HTW_TRIG_SHIFT, false);
		play_stall(test, &stalls[i], HTW_TRIG_SHIFT, true);
	}
}

/* So long ago that whoever counts by ones does not come back. */
static void b44_first_deadline_long_ago(struct kunit *test)
{
	static const u64 ago_ns[] = { NSEC_PER_SEC, 1ULL << 62 };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10);
	u64 first_ns, id, left_ns;
	u32 i, turn;

	htw_manual.now_ns = 1ULL << 62;
	for (i = 0; i < ARRAY_SIZE(ago_ns); i++) {
		first_ns = htw_manual.now_ns - ago_ns[i];
		id = make(rig, timers, HTWHEEL_POLICY_COUNT, first_ns, 1);
		expect_event(rig, timers, id, first_ns, ago_ns[i] + 1);
		expect_wait(rig, timers, id, htw_manual.now_ns + 1);
		KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), 0);

		id = make(rig, timers, HTWHEEL_POLICY_SKIP, first_ns, 1);
		expect_event(rig, timers, id, first_ns, 1);
		expect_wait(rig, timers, id, htw_manual.now_ns + 1);
		KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), 0);

		id = make(rig, timers, HTWHEEL_POLICY_BURST, first_ns, 1);
		for (turn = 0; turn < 100; turn++)
			expect_event(rig, timers, id, first_ns + turn, 1);
		KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), HTWHEEL_RES_FIRED);

		id = make(rig, timers, HTWHEEL_POLICY_DELAY, first_ns, 1);
		expect_event(rig, timers, id, first_ns, 1);
		expect_wait(rig, timers, id, htw_manual.now_ns + 1);
		KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), 0);
	}
	KUNIT_EXPECT_EQ(test, timers->books.missed, ago_ns[0] + ago_ns[1]);
	htw_trig_judge(rig);
}

/* A next turn beyond the end of the clock never comes; and the length of a tick is no limit. */
static void b46_longest_and_shortest_period(struct kunit *test)
{
	static const u64 periods_ns[] = { HTWHEEL_NEVER_NS, HTWHEEL_NEVER_NS - 1,
					  HTWHEEL_NEVER_NS - HTW_TRIG_START_NS };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10);
	u64 id, left_ns;
	u32 i, policy;

	for (i = 0; i < ARRAY_SIZE(periods_ns) * POLICIES; i++) {
		policy = i % POLICIES;
		id = make(rig, timers, policy, htw_manual.now_ns, periods_ns[i / POLICIES]);
		expect_event(rig, timers, id, htw_manual.now_ns, 1);
		expect_wait(rig, timers, id, HTWHEEL_NEVER_NS);
		htw_trig_run(rig, htw_manual.now_ns + NSEC_PER_SEC);
		expect_wait(rig, timers, id, HTWHEEL_NEVER_NS);
		KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), 0);
	}
	for (policy = 0; policy < POLICIES; policy++) {
		id = make(rig, timers, policy, htw_manual.now_ns, 1);
		expect_event(rig, timers, id, htw_manual.now_ns, 1);
		expect_wait(rig, timers, id, htw_manual.now_ns + 1);
		KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id, &left_ns), 0);
	}
	htw_trig_judge(rig);
}

/* The last two periods that the clock has room for are counted, and a third never comes. */
static void b46_last_periods_of_the_clock(struct kunit *test)
{
	struct htw_engine_config config = htw_trig_config(test);
	struct htw_timers *timers;
	struct htw_trig *rig;
	u64 id;

	config.tick_shift = 0;
	rig = htw_trig_open(test, &config);
	timers = htw_trig_own(rig, 1);
	htw_trig_run(rig, HTWHEEL_NEVER_NS - 1000);
	id = make(rig, timers, HTWHEEL_POLICY_COUNT, HTWHEEL_NEVER_NS - 1000, 400);
	expect_event(rig, timers, id, HTWHEEL_NEVER_NS - 1000, 1);
	expect_wait(rig, timers, id, HTWHEEL_NEVER_NS - 600);
	htw_trig_run(rig, HTWHEEL_NEVER_NS - 100);
	expect_event(rig, timers, id, HTWHEEL_NEVER_NS - 600, 2);
	expect_wait(rig, timers, id, HTWHEEL_NEVER_NS);
}

/* Thousands of turns of one timer, read with random delays. */
static void play_turns(struct kunit *test, enum htwheel_policy policy)
{
	const u64 period_ns = 10ULL * NSEC_PER_MSEC + 7, first_ns = HTW_TRIG_START_NS + 5;
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 1);
	u64 random = htw_timer_seed, total = 0, next_ns, passed;
	u64 id = make(rig, timers, policy, first_ns, period_ns);
	struct htwheel_event event;
	u32 i;

	for (i = 0; i < htw_timer_ops; i++) {
		if (!timers->ready.nr) {
			next_ns = htw_trig_find(rig, timers, id)->deadline_ns;
			htw_trig_run(rig, next_ns + htw_random_length(&random, 26));
			/* It may have to wait for the end of the tick. */
			htw_trig_run(rig, htw_manual.now_ns + HTW_TRIG_TICK_NS);
		}
		KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 1);
		total += event.count;
	}
	next_ns = htw_trig_find(rig, timers, id)->deadline_ns;
	passed = div64_u64(next_ns - first_ns, period_ns);
	KUNIT_EXPECT_EQ(test, next_ns, first_ns + passed * period_ns);
	if (policy != HTWHEEL_POLICY_SKIP)
		KUNIT_EXPECT_EQ(test, total, passed);
	KUNIT_EXPECT_EQ(test, timers->books.fired, htw_timer_ops);
	KUNIT_EXPECT_EQ(test, timers->books.missed, total - htw_timer_ops);
	htw_trig_judge(rig);
	htw_trig_close(rig);
}

static void b49_no_drift(struct kunit *test)
{
	play_turns(test, HTWHEEL_POLICY_COUNT);
	play_turns(test, HTWHEEL_POLICY_SKIP);
	play_turns(test, HTWHEEL_POLICY_BURST);
}

/* Tick 16, period 1, a thousand ticks: all are counted, and no event comes twice a tick. */
static void play_short_period(struct kunit *test, enum htwheel_policy policy)
{
	struct htw_engine_config config = htw_trig_config(test);
	struct htw_timers *timers;
	struct htwheel_event event;
	struct htw_trig *rig;
	u64 total = 0;
	u32 tick, nr;

	config.tick_shift = 4;
	rig = htw_trig_open(test, &config);
	timers = htw_trig_own(rig, 1);
	make(rig, timers, policy, HTW_TRIG_START_NS + 1, 1);
	for (tick = 1; tick <= 1000; tick++) {
		htw_trig_run(rig, HTW_TRIG_START_NS + tick * 16);
		for (nr = 0; htw_trig_read(timers, &event, 1); nr++)
			total += event.count;
		KUNIT_ASSERT_EQ(test, nr, policy == HTWHEEL_POLICY_BURST ? 16 : 1);
	}
	if (policy == HTWHEEL_POLICY_COUNT || policy == HTWHEEL_POLICY_BURST)
		KUNIT_EXPECT_EQ(test, total, 16000);
	else
		KUNIT_EXPECT_EQ(test, total, 1000);
	KUNIT_EXPECT_EQ(test, timers->books.missed, total - timers->books.fired);
	htw_trig_judge(rig);
	htw_trig_close(rig);
}

static void b50_period_below_a_tick(struct kunit *test)
{
	u32 policy;

	for (policy = 0; policy < POLICIES; policy++)
		play_short_period(test, policy);
}

/* The hrtimers of all bases are off. */
static void expect_silence(struct htw_trig *rig)
{
	unsigned int cpu;

	KUNIT_ASSERT_EQ(rig->test, htw_trig_queued(rig), 0);
	for_each_possible_cpu(cpu)
		KUNIT_ASSERT_EQ(rig->test, per_cpu_ptr(rig->engine->bases, cpu)->programmed_tick,
				HTW_TICK_NONE);
}

#define UNREAD		1000

/* A thousand of the shortest period, of any policy, that nobody reads are in no queue. */
static void b70_unread_ones_cost_nothing(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, UNREAD);
	struct htw_listener listener;
	struct htwheel_event event;
	struct htw_engine_stats stats;
	u32 i;

	htw_listen(&listener, timers);
	for (i = 0; i < UNREAD; i++)
		make(rig, timers, i % POLICIES, HTW_TRIG_START_NS + 1, 1);
	for (i = 1; i <= 100; i++) {
		htw_trig_run(rig, htw_trig_after(i));
		expect_silence(rig);
	}
	htw_engine_read_stats(rig->engine, &stats);
	KUNIT_EXPECT_EQ(test, stats.counters.work.due, UNREAD);
	KUNIT_EXPECT_LE(test, htw_woken(&listener), DIV_ROUND_UP(UNREAD, HTW_CHUNK_OPS) +
			num_possible_cpus());
	htw_unlisten(&listener, timers);
	htw_trig_judge(rig);
	for (i = 0; i < UNREAD; i++) {
		KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 1);
		KUNIT_ASSERT_EQ(test, event.fired_ns, htw_trig_after(1));
		if (htw_trig_find(rig, timers, event.id)->traits == HTWHEEL_POLICY_COUNT)
			KUNIT_ASSERT_EQ(test, event.count, 100 * HTW_TRIG_TICK_NS);
		else
			KUNIT_ASSERT_EQ(test, event.count, 1);
	}
	htw_trig_judge(rig);
}

/* One that has a hundred periods to make up for does not hide the others' events. */
static void burst_takes_its_turn(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10);
	u64 id[2], plain[3], period_ns = 10 * HTW_TRIG_TICK_NS;
	struct htwheel_event event;
	u32 i;

	id[0] = make(rig, timers, HTWHEEL_POLICY_BURST, htw_trig_after(10), period_ns);
	id[1] = make(rig, timers, HTWHEEL_POLICY_BURST, htw_trig_after(11), period_ns);
	for (i = 0; i < ARRAY_SIZE(plain); i++)
		plain[i] = htw_trig_arm(rig, timers, htw_trig_after(20 + i), i);
	htw_trig_run(rig, htw_trig_after(30));
	htw_manual.now_ns = htw_trig_after(1005);
	expect_event(rig, timers, id[0], htw_trig_after(10), 1);
	expect_event(rig, timers, id[1], htw_trig_after(11), 1);
	for (i = 0; i < ARRAY_SIZE(plain); i++) {
		KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 1);
		KUNIT_ASSERT_EQ(test, event.id, plain[i]);
	}
	/* They take turns, and each is as early in the next as in the first. */
	for (i = 2; i <= 100; i++) {
		expect_event(rig, timers, id[0], htw_trig_after(10 * i), 1);
		expect_event(rig, timers, id[1], htw_trig_after(10 * i + 1), 1);
	}
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 0);
	KUNIT_EXPECT_EQ(test, htw_trig_queued(rig), 2);
	htw_trig_judge(rig);
}

/* Time passes between the event and the next turn: nothing is counted twice, or never. */
static void a_period_ends_during_delivery(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 1);
	struct htw_timer *timer;
	struct htwheel_event event;
	u64 id, now_ns, total = 0;
	u32 i;

	id = make(rig, timers, HTWHEEL_POLICY_COUNT, htw_trig_after(10), 10 * HTW_TRIG_TICK_NS);
	for (i = 1; i <= 100; i++) {
		/* The events are of 19 ticks after the first deadline, 5 periods follow. */
		now_ns = htw_trig_after(60 * i - 31);
		htw_trig_run(rig, now_ns);
		KUNIT_ASSERT_EQ(test, htw_ready_peek(&timers->ready, &timer, 1), 1);
		htw_timer_event(timer, now_ns, &event);
		total += event.count;
		htw_manual.now_ns = htw_trig_after(60 * i + 5);
		htw_timer_deliver(timers, &timer, 1, now_ns);
		htw_timers_flush(timers);
		/* A turn that is due by now waits for a pass: the time is still the events'. */
		KUNIT_ASSERT_EQ(test, timer->deadline_ns, htw_trig_after(60 * i - 30));
		KUNIT_ASSERT_EQ(test, timers->ready.nr, 0);
		KUNIT_ASSERT_EQ(test, timers->books.missed, total - i);
	}
	htw_trig_run(rig, htw_trig_after(60 * 100 + 5));
	KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(test, event.id, id);
	KUNIT_EXPECT_EQ(test, total + event.count, 60 * 100 / 10);
	htw_trig_judge(rig);
}

/* The clock is set back before the event is read: no count is absurd, and no turn is lost. */
static void b65_clock_goes_back(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, POLICIES);
	u64 id[POLICIES], period_ns = 10 * HTW_TRIG_TICK_NS;
	struct htwheel_event event;
	u32 policy;

	for (policy = 0; policy < POLICIES; policy++)
		id[policy] = make(rig, timers, policy, htw_trig_after(10), period_ns);
	htw_trig_run(rig, htw_trig_after(11));
	htw_manual.now_ns = htw_trig_after(9);
	for (policy = 0; policy < POLICIES; policy++) {
		KUNIT_ASSERT_EQ(test, htw_trig_read(timers, &event, 1), 1);
		KUNIT_EXPECT_EQ(test, event.deadline_ns, htw_trig_after(10));
		KUNIT_EXPECT_EQ(test, event.fired_ns, htw_trig_after(11));
		KUNIT_EXPECT_EQ(test, event.count, 1);
	}
	htw_trig_judge(rig);
	for (policy = 0; policy < HTWHEEL_POLICY_DELAY; policy++)
		KUNIT_EXPECT_EQ(test, htw_trig_find(rig, timers, id[policy])->deadline_ns,
				htw_trig_after(20));
	htw_trig_run(rig, htw_trig_after(21));
	KUNIT_EXPECT_EQ(test, timers->ready.nr, POLICIES);
	KUNIT_EXPECT_EQ(test, timers->books.missed, 0);
	htw_trig_judge(rig);
}

const struct htw_case htw_timer_cases_period[] = {
	HTW_CASE_EXACT(b48_missed_periods),
	HTW_CASE(b44_first_deadline_long_ago),
	HTW_CASE(b46_longest_and_shortest_period),
	HTW_CASE(b46_last_periods_of_the_clock),
	HTW_CASE_EXACT(b49_no_drift),
	HTW_CASE_EXACT(b50_period_below_a_tick),
	HTW_CASE_EXACT(b70_unread_ones_cost_nothing),
	HTW_CASE(burst_takes_its_turn),
	HTW_CASE(a_period_ends_during_delivery),
	HTW_CASE_EXACT(b65_clock_goes_back),
	{}
};
