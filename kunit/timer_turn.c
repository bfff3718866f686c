// SPDX-License-Identifier: GPL-2.0
/*
 * The arithmetic of periodic timers, alone: htw_period_turn() against a loop, and where no loop
 * ends.
 */
#include <linux/overflow.h>

#include "naive.h"
#include "timer_cases.h"

#define POLICIES	(HTWHEEL_POLICY_DELAY + 1)

static void expect_turn(struct kunit *test, enum htwheel_policy policy, u64 deadline_ns,
			u64 period_ns, u64 now_ns, struct htw_turn expected)
{
	struct htw_turn turn = htw_period_turn(policy, deadline_ns, period_ns, now_ns);

	KUNIT_ASSERT_EQ_MSG(test, turn.count, expected.count, "policy %u, %llu + n * %llu at %llu",
			    policy, deadline_ns, period_ns, now_ns);
	KUNIT_ASSERT_EQ_MSG(test, turn.next_ns, expected.next_ns,
			    "policy %u, %llu + n * %llu at %llu", policy, deadline_ns, period_ns,
			    now_ns);
}

/* The figures of the UAPI header, and those around them. */
static void b48_turns_by_the_contract(struct kunit *test)
{
	static const struct {
		enum htwheel_policy	policy;
		u64			now_ns;
		struct htw_turn		turn;
	} turns[] = {
		{ HTWHEEL_POLICY_COUNT, 105, { 10, 110 } },
		{ HTWHEEL_POLICY_SKIP, 105, { 1, 110 } },
		{ HTWHEEL_POLICY_BURST, 105, { 1, 20 } },
		{ HTWHEEL_POLICY_DELAY, 105, { 1, 115 } },
		/* A deadline that is now has passed. */
		{ HTWHEEL_POLICY_COUNT, 109, { 10, 110 } },
		{ HTWHEEL_POLICY_COUNT, 110, { 11, 120 } },
		{ HTWHEEL_POLICY_SKIP, 109, { 1, 110 } },
		{ HTWHEEL_POLICY_SKIP, 110, { 1, 120 } },
		/* Without any delay all are the same. */
		/* Nor does a clock that was set back before it (FAULTS B65) make a difference. */
		{ HTWHEEL_POLICY_COUNT, 9, { 1, 20 } },
		{ HTWHEEL_POLICY_SKIP, 0, { 1, 20 } },
		{ HTWHEEL_POLICY_BURST, 0, { 1, 20 } },
		{ HTWHEEL_POLICY_COUNT, 10, { 1, 20 } },
		{ HTWHEEL_POLICY_SKIP, 10, { 1, 20 } },
		{ HTWHEEL_POLICY_BURST, 10, { 1, 20 } },
		{ HTWHEEL_POLICY_DELAY, 10, { 1, 20 } },
		{ HTWHEEL_POLICY_COUNT, 19, { 1, 20 } },
		{ HTWHEEL_POLICY_DELAY, 19, { 1, 29 } },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(turns); i++)
		expect_turn(test, turns[i].policy, 10, 10, turns[i].now_ns, turns[i].turn);
}

static void turns_against_a_loop(struct kunit *test)
{
	u64 random = htw_timer_seed, deadline_ns, period_ns, now_ns;
	u32 i, policy;

	for (i = 0; i < 100000; i++) {
		policy = i % POLICIES;
		deadline_ns = htw_random_below(&random, 1000);
		period_ns = 1 + htw_random_length(&random, 8);
		now_ns = deadline_ns + htw_random_below(&random, 2000);
		expect_turn(test, policy, deadline_ns, period_ns, now_ns,
			    htw_naive_turn(policy, deadline_ns, period_ns, now_ns));
	}
}

/* Where the clock and the periods end. A loop would not. */
static void b44_turns_at_the_ends(struct kunit *test)
{
	static const struct {
		enum htwheel_policy	policy;
		u64			deadline_ns;
		u64			period_ns;
		u64			now_ns;
		struct htw_turn		turn;
	} turns[] = {
		{ HTWHEEL_POLICY_COUNT, 0, 1, 999999999, { 1000000000, 1000000000 } },
		{ HTWHEEL_POLICY_COUNT, 5, 1, (1ULL << 62) + 5,
		  { (1ULL << 62) + 1, (1ULL << 62) + 6 } },
		{ HTWHEEL_POLICY_SKIP, 5, 1, (1ULL << 62) + 5, { 1, (1ULL << 62) + 6 } },
		{ HTWHEEL_POLICY_BURST, 5, 1, (1ULL << 62) + 5, { 1, 6 } },
		{ HTWHEEL_POLICY_DELAY, 5, 1, (1ULL << 62) + 5, { 1, (1ULL << 62) + 6 } },
		/* 2^63 periods of which the last ends just beyond the clock. */
		{ HTWHEEL_POLICY_COUNT, 0, 1, HTWHEEL_NEVER_NS, { 1ULL << 63, HTWHEEL_NEVER_NS } },
		{ HTWHEEL_POLICY_COUNT, 0, 1, HTWHEEL_NEVER_NS - 1,
		  { HTWHEEL_NEVER_NS, HTWHEEL_NEVER_NS } },
		{ HTWHEEL_POLICY_COUNT, 0, 1, HTWHEEL_NEVER_NS - 2,
		  { HTWHEEL_NEVER_NS - 1, HTWHEEL_NEVER_NS - 1 } },
		{ HTWHEEL_POLICY_DELAY, 0, 1, HTWHEEL_NEVER_NS, { 1, HTWHEEL_NEVER_NS } },
		{ HTWHEEL_POLICY_BURST, HTWHEEL_NEVER_NS, 1, HTWHEEL_NEVER_NS,
		  { 1, HTWHEEL_NEVER_NS } },
		/* The longest period, of which two may have ended. */
		{ HTWHEEL_POLICY_COUNT, 0, HTWHEEL_NEVER_NS, HTWHEEL_NEVER_NS - 1,
		  { 1, HTWHEEL_NEVER_NS } },
		{ HTWHEEL_POLICY_COUNT, 0, HTWHEEL_NEVER_NS, HTWHEEL_NEVER_NS,
		  { 2, HTWHEEL_NEVER_NS } },
		{ HTWHEEL_POLICY_SKIP, HTWHEEL_NEVER_NS, HTWHEEL_NEVER_NS, HTWHEEL_NEVER_NS,
		  { 1, HTWHEEL_NEVER_NS } },
		{ HTWHEEL_POLICY_BURST, HTWHEEL_NEVER_NS, HTWHEEL_NEVER_NS, HTWHEEL_NEVER_NS,
		  { 1, HTWHEEL_NEVER_NS } },
		{ HTWHEEL_POLICY_DELAY, 1, HTWHEEL_NEVER_NS, HTWHEEL_NEVER_NS,
		  { 1, HTWHEEL_NEVER_NS } },
		{ HTWHEEL_POLICY_DELAY, 0, HTWHEEL_NEVER_NS, 0, { 1, HTWHEEL_NEVER_NS } },
		{ HTWHEEL_POLICY_COUNT, 7, HTWHEEL_NEVER_NS - 7, 7, { 1, HTWHEEL_NEVER_NS } },
		{ HTWHEEL_POLICY_COUNT, 7, HTWHEEL_NEVER_NS - 8, 7, { 1, HTWHEEL_NEVER_NS - 1 } },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(turns); i++)
		expect_turn(test, turns[i].policy, turns[i].deadline_ns, turns[i].period_ns,
			    turns[i].now_ns, turns[i].turn);
}

/* deadline_ns + nr * period_ns, which has to fit into 64 bits; saturating as deadlines do. */
static u64 nth_deadline(struct kunit *test, u64 deadline_ns, u64 period_ns, u64 nr)
{
	u64 product = 0, sum = 0;

	KUNIT_ASSERT_FALSE(test, check_mul_overflow(nr, period_ns, &product));
	KUNIT_ASSERT_FALSE(test, check_add_overflow(deadline_ns, product, &sum));
	return sum;
}

/* Numbers of all lengths: the count is right if its deadlines have passed, and no further one. */
static void b46_turns_of_any_length(struct kunit *test)
{
	u64 random = htw_timer_seed, deadline_ns, period_ns, now_ns, next_ns;
	struct htw_turn turn;
	u32 i;

	for (i = 0; i < 100000; i++) {
		now_ns = htw_random_length(&random, 63);
		deadline_ns = now_ns - min(now_ns, htw_random_length(&random, 63));
		period_ns = max(htw_random_length(&random, 63), 1ULL);
		turn = htw_period_turn(HTWHEEL_POLICY_COUNT, deadline_ns, period_ns, now_ns);
		KUNIT_ASSERT_GE(test, turn.count, 1);
		KUNIT_ASSERT_LE(test, nth_deadline(test, deadline_ns, period_ns, turn.count - 1),
				now_ns);
		next_ns = nth_deadline(test, deadline_ns, period_ns, turn.count);
		KUNIT_ASSERT_GT(test, next_ns, now_ns);
		next_ns = min(next_ns, HTWHEEL_NEVER_NS);
		KUNIT_ASSERT_EQ(test, turn.next_ns, next_ns);
		expect_turn(test, HTWHEEL_POLICY_SKIP, deadline_ns, period_ns, now_ns,
			    (struct htw_turn){ 1, next_ns });
		expect_turn(test, HTWHEEL_POLICY_BURST, deadline_ns, period_ns, now_ns,
			    (struct htw_turn){ 1, min(deadline_ns + period_ns, HTWHEEL_NEVER_NS) });
		expect_turn(test, HTWHEEL_POLICY_DELAY, deadline_ns, period_ns, now_ns,
			    (struct htw_turn){ 1, min(now_ns + period_ns, HTWHEEL_NEVER_NS) });
	}
}

#define TURNS		1000000
#define PERIOD_NS	(10ULL * NSEC_PER_MSEC + 7)

/*
 * A million turns, each read somewhat late, and now and then much too late. What a turn was late
 * by is not in the next one's deadline.
 */
static void play_drift(struct kunit *test, enum htwheel_policy policy)
{
	u64 random = htw_timer_seed, total = 0, now_ns = 0, passed;
	const u64 first_ns = htw_random_length(&random, 40);
	struct htw_turn turn = { .next_ns = first_ns };
	u32 i;

	for (i = 0; i < TURNS; i++) {
		if (now_ns < turn.next_ns)
			now_ns = turn.next_ns + htw_random_length(&random, 26);
		turn = htw_period_turn(policy, turn.next_ns, PERIOD_NS, now_ns);
		total += turn.count;
	}
	passed = div64_u64(turn.next_ns - first_ns, PERIOD_NS);
	KUNIT_EXPECT_EQ(test, turn.next_ns, first_ns + passed * PERIOD_NS);
	if (policy == HTWHEEL_POLICY_SKIP)
		KUNIT_EXPECT_EQ(test, total, TURNS);
	else
		KUNIT_EXPECT_EQ(test, total, passed);
	/* And it keeps up with the time. */
	KUNIT_EXPECT_LE(test, turn.next_ns - PERIOD_NS, now_ns);
}

static void b49_a_million_turns_without_drift(struct kunit *test)
{
	play_drift(test, HTWHEEL_POLICY_COUNT);
	play_drift(test, HTWHEEL_POLICY_SKIP);
	play_drift(test, HTWHEEL_POLICY_BURST);
}

const struct htw_case htw_timer_cases_turn[] = {
	HTW_CASE(b48_turns_by_the_contract),
	HTW_CASE(turns_against_a_loop),
	HTW_CASE(b44_turns_at_the_ends),
	HTW_CASE(b46_turns_of_any_length),
	HTW_CASE(b49_a_million_turns_without_drift),
	{}
};
