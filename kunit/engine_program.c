// SPDX-License-Identifier: GPL-2.0
/*
 * What the hrtimer is set to. After every operation the rig looks itself whether it is early
 * enough, and off if and only if the queue is empty (htw_erig_judge()).
 */
#include "engine_cases.h"

/* A rig whose operations all go to one base, and that base. */
static struct htw_erig *open_on_one_cpu(struct kunit *test, u32 nr, struct htw_base **base)
{
	struct htw_erig *rig = htw_erig_open_default(test, nr);

	*base = htw_erig_base(rig, htw_pin(test, 0));
	return rig;
}

static u64 after(u64 ticks)
{
	return htw_manual.now_ns + ticks * HTW_ERIG_TICK_NS;
}

static void earlier_arm_reprograms(struct kunit *test)
{
	static const u64 ticks[] = { 100000, 4097, 4096, 65, 64, 63, 2, 1 };
	struct htw_base *base;
	struct htw_erig *rig = open_on_one_cpu(test, 2 * ARRAY_SIZE(ticks), &base);
	u64 reprogrammed, programmed;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ticks); i++) {
		programmed = base->programmed_tick;
		reprogrammed = base->counters.reprogrammed;
		htw_erig_arm(rig, i, after(ticks[i]));
		KUNIT_EXPECT_EQ(test, base->programmed_tick, htw_erig_next(base));
		/*
		 * Once if it has become earlier, else not; a wheel may have had to be early before.
		 */
		KUNIT_EXPECT_EQ(test, base->counters.reprogrammed - reprogrammed,
				base->programmed_tick < programmed);
	}
	KUNIT_EXPECT_EQ(test, base->programmed_tick, htw_tick_up(after(1), HTW_ERIG_SHIFT));

	/* A later one, and one at the same tick, leave it alone. */
	reprogrammed = base->counters.reprogrammed;
	for (i = 0; i < ARRAY_SIZE(ticks); i++)
		htw_erig_arm(rig, ARRAY_SIZE(ticks) + i, after(ticks[i]));
	KUNIT_EXPECT_EQ(test, base->counters.reprogrammed, reprogrammed);
	htw_erig_follow(rig, U64_MAX);
	htw_erig_audit(rig);
}

/* The last cancel switches it off, counted once; so do other ways in which the queue empties. */
static void b18_off_when_empty(struct kunit *test)
{
	static const u64 ticks[] = { 1, 63, 64, 5000, 1ULL << 20, 1ULL << 31, 1ULL << 40 };
	struct htw_base *base;
	struct htw_erig *rig = open_on_one_cpu(test, 2, &base);
	u64 reprogrammed;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ticks); i++) {
		htw_erig_arm(rig, 0, after(ticks[i]));
		htw_erig_arm(rig, 1, after(ticks[i] + 1));
		htw_erig_disarm(rig, 0);
		KUNIT_EXPECT_NE(test, base->programmed_tick, HTW_TICK_NONE);
		reprogrammed = base->counters.reprogrammed;
		htw_erig_disarm(rig, 1);
		KUNIT_EXPECT_EQ(test, base->programmed_tick, HTW_TICK_NONE);
		KUNIT_EXPECT_EQ(test, base->counters.reprogrammed, reprogrammed + 1);
		/* Nothing to stop any more. */
		htw_erig_disarm(rig, 1);
		KUNIT_EXPECT_EQ(test, base->counters.reprogrammed, reprogrammed + 1);

		/* A re-arm to now empties it too. */
		htw_erig_arm(rig, 0, after(ticks[i]));
		htw_erig_rearm(rig, 0, htw_manual.now_ns);
		KUNIT_EXPECT_EQ(test, base->programmed_tick, HTW_TICK_NONE);
		/* And a pass that takes the last one. */
		htw_erig_arm(rig, 0, after(1));
		htw_erig_run(rig, after(3));
		KUNIT_EXPECT_EQ(test, base->programmed_tick, HTW_TICK_NONE);
		htw_manual.now_ns += 1ULL << 50;
	}
	htw_erig_audit(rig);
}

/*
 * It had been set to the start of a far slot, or to a far timer; the nearer one must not wait for
 * that.
 */
static void b20_modify_to_earlier(struct kunit *test)
{
	struct htw_base *base;
	struct htw_erig *rig = open_on_one_cpu(test, 1, &base);
	u64 far, near, due_ns;

	for (far = 64; far < 4096; far += 61) {
		near = 1 + far % 63;
		htw_erig_arm(rig, 0, after(far));
		htw_erig_run(rig, after(3));
		due_ns = htw_tick_start(htw_tick_up(after(near), HTW_ERIG_SHIFT), HTW_ERIG_SHIFT);
		htw_erig_rearm(rig, 0, after(near));
		htw_erig_follow(rig, due_ns);
		KUNIT_ASSERT_EQ_MSG(test, rig->timer[0].timer.state, HTW_EXPIRED, "%llu to %llu",
				    far, near);
		KUNIT_ASSERT_EQ(test, rig->timer[0].timer.fired_ns, due_ns);
	}
	htw_erig_audit(rig);
}

static void b21_later_insert_hides_nothing(struct kunit *test)
{
	struct htw_base *base;
	struct htw_erig *rig = open_on_one_cpu(test, 6, &base);
	u64 start_ns = htw_manual.now_ns;
	u32 i;

	/* Earlier ones while it sleeps for a later one. */
	htw_erig_arm(rig, 0, after(10000));
	htw_erig_follow(rig, after(5));
	htw_erig_arm(rig, 1, after(600));
	htw_erig_follow(rig, after(601));
	KUNIT_EXPECT_EQ(test, rig->timer[1].fired, 1);
	KUNIT_EXPECT_EQ(test, rig->timer[0].fired, 0);

	/* A later one while there are earlier ones, of which the first has fired. */
	for (i = 1; i < 6; i++)
		htw_erig_rearm(rig, i, start_ns + i * NSEC_PER_SEC);
	htw_erig_follow(rig, start_ns + NSEC_PER_SEC + HTW_ERIG_TICK_NS);
	htw_erig_rearm(rig, 0, htw_manual.now_ns + 10ULL * NSEC_PER_SEC);
	for (i = 2; i < 6; i++) {
		htw_erig_follow(rig, start_ns + i * NSEC_PER_SEC + HTW_ERIG_TICK_NS);
		KUNIT_EXPECT_EQ_MSG(test, rig->timer[i].fired, 1, "timer %u", i);
	}
	KUNIT_EXPECT_EQ(test, rig->timer[0].fired, 0);
	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, rig->timer[0].fired, 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->max_late_ns), 0);
	htw_erig_audit(rig);
}

/* The hrtimer is let be, and the wake-up that comes too early does no harm. */
static void b24_first_moved_later(struct kunit *test)
{
	struct htw_base *base;
	struct htw_erig *rig = open_on_one_cpu(test, 1, &base);
	u64 reprogrammed, programmed;

	htw_erig_arm(rig, 0, after(10));
	reprogrammed = base->counters.reprogrammed;
	programmed = base->programmed_tick;
	htw_erig_rearm(rig, 0, after(1000));
	KUNIT_EXPECT_EQ(test, base->counters.reprogrammed, reprogrammed);
	KUNIT_EXPECT_EQ(test, base->programmed_tick, programmed);

	htw_manual.now_ns = htw_tick_start(programmed, HTW_ERIG_SHIFT);
	KUNIT_EXPECT_FALSE(test, htw_erig_pass(rig, base->cpu));
	KUNIT_EXPECT_EQ(test, rig->timer[0].fired, 0);
	KUNIT_EXPECT_GT(test, base->programmed_tick, programmed);
	KUNIT_EXPECT_EQ(test, base->programmed_tick, htw_erig_next(base));
	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, rig->timer[0].fired, 1);
	KUNIT_EXPECT_EQ(test, rig->timer[0].timer.fired_ns,
			htw_tick_start(htw_tick_up(rig->timer[0].timer.deadline_ns, HTW_ERIG_SHIFT),
				       HTW_ERIG_SHIFT));
	htw_erig_audit(rig);
}

/*
 * The same for many pairs of times, and from another CPU: which would otherwise have to be
 * interrupted, though what it waits for is early enough.
 */
/*
 * A timer that was far when it was armed, and is given a later deadline when it is near: a design
 * that is not exact then has it out of the queue earlier, and the hrtimer has to know.
 */
static void later_rearm_with_a_smaller_granule(struct kunit *test)
{
	struct htw_base *base;
	struct htw_erig *rig = open_on_one_cpu(test, 1, &base);
	u64 deadline_ns = after(40000), last_tick;

	htw_erig_arm(rig, 0, deadline_ns);
	htw_erig_run(rig, after(39900));
	htw_erig_rearm(rig, 0, deadline_ns + 10 * HTW_ERIG_TICK_NS);
	last_tick = rig->timer[0].timer.node.tick + rig->timer[0].granule;
	KUNIT_EXPECT_LE(test, base->programmed_tick, last_tick);
	htw_erig_follow(rig, htw_tick_start(last_tick, HTW_ERIG_SHIFT));
	KUNIT_EXPECT_EQ(test, rig->timer[0].fired, 1);
}

static void later_rearm_starts_nothing(struct kunit *test)
{
	static const u64 later[] = { 1, 2, 5, 10, 30, 63, 64, 65, 100, 128, 200, 1000, 4096 };
	struct htw_base *base;
	struct htw_erig *rig = open_on_one_cpu(test, 200, &base);
	u64 reprogrammed, ticks, starts = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(later); i++) {
		for (ticks = 1; ticks < 200; ticks++) {
			htw_erig_arm(rig, 0, after(ticks));
			reprogrammed = base->counters.reprogrammed;
			htw_erig_rearm(rig, 0, after(ticks + later[i]));
			starts += base->counters.reprogrammed - reprogrammed;
			htw_erig_disarm(rig, 0);
		}
	}
	KUNIT_EXPECT_EQ(test, starts, 0);
}

/* Each arm is earlier than the one before, but only the end of the group counts. */
static void a_group_programs_once(struct kunit *test)
{
	struct htw_base *base;
	struct htw_erig *rig = open_on_one_cpu(test, HTW_CHUNK_OPS, &base);
	struct htw_group group;
	u32 i;

	htw_group_begin(&group, rig->engine);
	for (i = 0; i < HTW_CHUNK_OPS; i++)
		htw_erig_group_arm(rig, &group, i, after(10 * (HTW_CHUNK_OPS - i)));
	htw_group_end(&group);
	KUNIT_EXPECT_EQ(test, base->counters.reprogrammed, 1);
	KUNIT_EXPECT_EQ(test, base->programmed_tick, htw_erig_next(base));
	htw_erig_judge(rig);

	/* Off and on again within a group is no change. */
	htw_group_begin(&group, rig->engine);
	for (i = 0; i < HTW_CHUNK_OPS; i++)
		htw_erig_group_disarm(rig, &group, i);
	htw_erig_group_arm(rig, &group, 0, after(640));
	htw_group_end(&group);
	KUNIT_EXPECT_EQ(test, base->counters.reprogrammed, 1);
	htw_erig_judge(rig);

	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, rig->timer[0].fired, 1);
	htw_erig_audit(rig);
}

/*
 * While a pass runs nobody sets the hrtimer, and its end knows of everything that was armed
 * meanwhile.
 */
static void arm_a_near_one(struct htw_erig *rig)
{
	struct htw_base *base = htw_erig_base(rig, htw_nth_cpu(0));
	u64 reprogrammed = base->counters.reprogrammed;
	bool running = base->running;
	struct htw_group group;

	if (rig->timer[0].arms)
		return;
	htw_group_begin(&group, rig->engine);
	htw_erig_group_arm(rig, &group, 0, group.now_ns + HTW_ERIG_TICK_NS);
	htw_group_end(&group);
	htw_expect(&rig->fault, "the pass is under way", running, true);
	htw_expect(&rig->fault, "hrtimer started during a pass", base->counters.reprogrammed,
		   reprogrammed);
}

static void pass_programs_the_next(struct kunit *test)
{
	struct htw_base *base;
	struct htw_erig *rig = open_on_one_cpu(test, 200, &base);
	u64 reprogrammed;
	u32 i;

	/* More than a chunk, so that settle() runs in the middle of the pass; and one for later. */
	for (i = 1; i < 199; i++)
		htw_erig_arm(rig, i, after(1));
	htw_erig_arm(rig, 199, after(50000));
	rig->settle = arm_a_near_one;
	reprogrammed = base->counters.reprogrammed;
	htw_manual.now_ns = htw_tick_start(base->programmed_tick, HTW_ERIG_SHIFT);
	KUNIT_EXPECT_FALSE(test, htw_erig_pass(rig, base->cpu));
	rig->settle = NULL;
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->handed), 198);
	KUNIT_EXPECT_EQ(test, base->counters.reprogrammed, reprogrammed + 1);
	KUNIT_EXPECT_EQ(test, base->programmed_tick, htw_tick_up(after(1), HTW_ERIG_SHIFT));
	htw_erig_follow(rig, U64_MAX);
	KUNIT_EXPECT_EQ(test, rig->timer[0].fired, 1);
	KUNIT_EXPECT_EQ(test, rig->timer[199].fired, 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->max_late_ns), 0);
	htw_erig_audit(rig);
}

#define RANDOM_TIMERS	200

/* After every pass: nobody who was due is still queued, and nobody is gone who was not. */
static void expect_none_due(struct htw_erig *rig)
{
	u64 now_tick = htw_tick_down(htw_manual.now_ns, HTW_ERIG_SHIFT);
	u32 i;

	for (i = 0; i < RANDOM_TIMERS; i++) {
		if (rig->timer[i].timer.state == HTW_QUEUED)
			KUNIT_ASSERT_GT(rig->test, rig->timer[i].timer.node.tick +
					rig->timer[i].granule, now_tick);
	}
}

static void random_time(struct htw_erig *rig, u64 *random)
{
	u64 step_ns = htw_random_length(random, 36);

	if (htw_random_below(random, 2))
		htw_erig_follow(rig, htw_manual.now_ns + step_ns);
	else
		htw_erig_run(rig, htw_manual.now_ns + step_ns);
	expect_none_due(rig);
}

static void random_operation(struct htw_erig *rig, u64 *random)
{
	u32 index = htw_random_below(random, RANDOM_TIMERS);
	u64 deadline_ns = htw_manual.now_ns + htw_random_length(random, 42);

	switch (htw_random_below(random, 8)) {
	case 0:
		random_time(rig, random);
		break;
	case 1:
	case 2:
		htw_erig_disarm(rig, index);
		break;
	case 3:
		/* At or before now. */
		htw_erig_rearm(rig, index, htw_manual.now_ns - htw_random_below(random, 2));
		break;
	default:
		htw_erig_rearm(rig, index, deadline_ns);
	}
}

/* Operations from several CPUs on all timers, in any order; the rig and the books judge. */
static void random_operations(struct kunit *test)
{
	struct htw_engine_config config = htw_erig_config(test);
	struct htw_erig *rig;
	u64 random = htw_engine_seed;
	u32 i;

	config.budget_timers = 5;
	rig = htw_erig_open(test, &config, HTW_ERIG_START_NS, RANDOM_TIMERS);
	for (i = 0; i < htw_engine_ops; i++) {
		if (i % 256 == 0)
			htw_pin(test, htw_random_below(&random, num_online_cpus()));
		random_operation(rig, &random);
	}
	htw_erig_audit(rig);
	htw_erig_follow(rig, U64_MAX);
	expect_none_due(rig);
	KUNIT_EXPECT_EQ(test, htw_erig_queued(rig), 0);
	htw_erig_audit(rig);
}

const struct htw_case htw_engine_cases_program[] = {
	HTW_CASE_EXACT(earlier_arm_reprograms),
	HTW_CASE(b18_off_when_empty),
	HTW_CASE_EXACT(b20_modify_to_earlier),
	HTW_CASE_EXACT(b21_later_insert_hides_nothing),
	HTW_CASE_EXACT(b24_first_moved_later),
	HTW_CASE(later_rearm_starts_nothing),
	HTW_CASE(later_rearm_with_a_smaller_granule),
	HTW_CASE(a_group_programs_once),
	HTW_CASE_EXACT(pass_programs_the_next),
	HTW_CASE(random_operations),
	{}
};
