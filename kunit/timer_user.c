// SPDX-License-Identifier: GPL-2.0
/*
 * The limit of a user: over all that he has opened, to the timer, whatever goes on at once. The
 * suite sets the limit back after each case.
 */
#include "timer_cases.h"

#define FAR_NS		(HTW_TRIG_START_NS + 3600ULL * NSEC_PER_SEC)
#define HANDS		4
#define MANY		4000

/* Others than the one to whom the timers of the rig are charged. */
#define UID_A		KUIDT_INIT(0x7ffffff1)
#define UID_B		KUIDT_INIT(0x7ffffff2)

static struct htw_user *get_user_of(struct kunit *test, kuid_t uid)
{
	struct htw_user *user = htw_user_get(uid);

	KUNIT_ASSERT_NOT_NULL(test, user);
	return user;
}

/* As many as are asked for, or as there are left. */
static void charge_to_the_limit(struct kunit *test)
{
	struct htw_user *user = get_user_of(test, UID_A);

	htw_users_init(10);
	KUNIT_EXPECT_EQ(test, htw_user_max_timers(), 10);
	KUNIT_EXPECT_EQ(test, htw_user_timers(user), 0);
	KUNIT_EXPECT_EQ(test, htw_user_charge(user, 0), 0);
	KUNIT_EXPECT_EQ(test, htw_user_charge(user, 4), 4);
	KUNIT_EXPECT_EQ(test, htw_user_timers(user), 4);
	KUNIT_EXPECT_EQ(test, htw_user_charge(user, 7), 6);
	KUNIT_EXPECT_EQ(test, htw_user_timers(user), 10);
	KUNIT_EXPECT_EQ(test, htw_user_charge(user, 1), 0);
	KUNIT_EXPECT_EQ(test, htw_user_charge(user, U64_MAX), 0);
	htw_user_uncharge(user, 3);
	KUNIT_EXPECT_EQ(test, htw_user_charge(user, 5), 3);

	/* A limit that others have lowered since takes nothing away, and gives nothing. */
	htw_users_init(5);
	KUNIT_EXPECT_EQ(test, htw_user_charge(user, 1), 0);
	htw_user_uncharge(user, 5);
	KUNIT_EXPECT_EQ(test, htw_user_charge(user, 1), 0);
	htw_user_uncharge(user, 1);
	KUNIT_EXPECT_EQ(test, htw_user_charge(user, U64_MAX), 1);
	htw_users_init(0);
	KUNIT_EXPECT_EQ(test, htw_user_charge(user, 1), 0);
	htw_users_init(U64_MAX);
	KUNIT_EXPECT_EQ(test, htw_user_charge(user, 1ULL << 32), 1ULL << 32);
	htw_user_uncharge(user, 5 + (1ULL << 32));
	KUNIT_EXPECT_EQ(test, htw_user_timers(user), 0);
	htw_user_put(user);
}

/* One account for a user, however often he opens the device, and for nobody else. */
static void one_account_each(struct kunit *test)
{
	struct htw_user *a = get_user_of(test, UID_A), *b = get_user_of(test, UID_B);
	struct htw_user *again = get_user_of(test, UID_A);

	htw_users_init(10);
	KUNIT_EXPECT_PTR_EQ(test, a, again);
	KUNIT_EXPECT_PTR_NE(test, a, b);
	KUNIT_EXPECT_EQ(test, htw_user_charge(a, 10), 10);
	KUNIT_EXPECT_EQ(test, htw_user_charge(again, 1), 0);
	KUNIT_EXPECT_EQ(test, htw_user_charge(b, 10), 10);
	htw_user_put(again);
	KUNIT_EXPECT_EQ(test, htw_user_timers(a), 10);
	again = get_user_of(test, UID_A);
	KUNIT_EXPECT_PTR_EQ(test, a, again);
	htw_user_put(a);
	htw_user_uncharge(again, 10);
	htw_user_put(again);
	htw_user_uncharge(b, 10);
	htw_user_put(b);
	/* Who comes back after all has been closed begins with nothing. */
	a = get_user_of(test, UID_A);
	KUNIT_EXPECT_EQ(test, htw_user_timers(a), 0);
	htw_user_put(a);
}

/* Not one more, and the refusal leaves no trace. */
static void expect_full(struct htw_trig *rig, struct htw_timers *timers, u64 used)
{
	const struct htw_books books = timers->books;
	struct kunit *test = rig->test;
	u64 id = HTW_JUNK;

	KUNIT_ASSERT_EQ(test, htw_user_timers(timers->user), used);
	KUNIT_ASSERT_EQ(test, htw_trig_try_arm(timers, FAR_NS, 0, &id), -EDQUOT);
	KUNIT_ASSERT_EQ(test, htw_trig_try_arm(timers, 0, 0, &id), -EDQUOT);
	KUNIT_ASSERT_EQ(test, id, HTW_JUNK);
	KUNIT_ASSERT_EQ(test, memcmp(&books, &timers->books, sizeof(books)), 0);
	KUNIT_ASSERT_EQ(test, htw_user_timers(timers->user), used);
	htw_trig_judge(rig);
}

#define SHARERS		3

static void limit_over_several_owners(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers[SHARERS];
	struct htwheel_event event;
	u64 id[SHARERS], left_ns;
	u32 i;

	htw_users_init(100);
	for (i = 0; i < SHARERS; i++)
		timers[i] = htw_trig_own(rig, 1000);
	for (i = 0; i < 100; i++) {
		KUNIT_ASSERT_EQ(test, htw_user_timers(timers[0]->user), i);
		id[i % SHARERS] = htw_trig_arm(rig, timers[i % SHARERS], FAR_NS, i);
	}
	for (i = 0; i < SHARERS; i++)
		expect_full(rig, timers[i], 100);

	/* What one gives back, another one can have; a cancel that fails gives nothing back. */
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers[0], id[0], &left_ns), 0);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers[0], id[0], &left_ns), -ENOENT);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers[0]->user), 99);
	htw_trig_arm(rig, timers[1], FAR_NS, 0);
	expect_full(rig, timers[2], 100);
	/* A re-arm is for nothing, and one that has fired counts until it is read. */
	KUNIT_EXPECT_EQ(test, htw_trig_rearm(timers[2], id[2], 0), 0);
	expect_full(rig, timers[2], 100);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers[2], &event, 1), 1);
	htw_trig_arm(rig, timers[0], FAR_NS, 0);
	expect_full(rig, timers[1], 100);
	/* All of one owner. */
	left_ns = timers[1]->pool.live;
	htw_trig_disown(rig, timers[1]);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers[0]->user), 100 - left_ns);
	while (left_ns--)
		htw_trig_arm(rig, timers[2], FAR_NS, 0);
	expect_full(rig, timers[0], 100);
}

/* Those that stay are charged as long as they stay. */
static void limit_counts_those_that_stay(struct kunit *test)
{
	struct htw_timer_spec spec = { .keep = true };
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10);
	struct htwheel_event event;
	u64 id[2], left_ns;

	htw_users_init(2);
	id[0] = htw_trig_make(rig, timers, &spec);
	spec.period_ns = HTWHEEL_NEVER_NS;
	id[1] = htw_trig_make(rig, timers, &spec);
	expect_full(rig, timers, 2);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	KUNIT_EXPECT_EQ(test, htw_trig_read(timers, &event, 1), 1);
	expect_full(rig, timers, 2);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id[0], &left_ns), 0);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(timers, id[1], &left_ns), 0);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 0);
	htw_trig_arm(rig, timers, FAR_NS, 0);
	htw_trig_arm(rig, timers, FAR_NS, 0);
	expect_full(rig, timers, 2);
}

#define BATCH		64

/* A batch takes credit for all its arms, as far as there is some, and gives back what is left. */
static void credit_of_a_batch(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 1000), *other = htw_trig_own(rig, 1000);
	struct htw_group group;
	u64 id, left_ns;
	u32 i;

	htw_users_init(40);
	KUNIT_EXPECT_EQ(test, htw_timers_reserve(timers, 1000), 0);
	KUNIT_EXPECT_EQ(test, timers->credit, 40);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 40);
	/* Beyond the limit there is nothing to make room for. */
	KUNIT_EXPECT_EQ(test, timers->pool.nr_chunks, 1);
	/* Meanwhile nobody else gets any. */
	KUNIT_EXPECT_EQ(test, htw_trig_try_arm(other, FAR_NS, 0, &id), -EDQUOT);
	htw_group_begin(&group, rig->engine);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, htw_trig_group_arm(timers, &group, FAR_NS, i, &id), 0);
	KUNIT_EXPECT_EQ(test, htw_timer_cancel(timers, &group, id, &left_ns), 0);
	htw_group_end(&group);
	KUNIT_EXPECT_EQ(test, timers->credit, 31);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 40);
	htw_timers_flush(timers);
	KUNIT_EXPECT_EQ(test, timers->credit, 0);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 9);
	htw_timers_flush(timers);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 9);
	htw_trig_judge(rig);

	/* An owner that ends between reserve and flush leaves nothing behind either. */
	KUNIT_EXPECT_EQ(test, htw_timers_reserve(other, 20), 0);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 29);
	htw_trig_disown(rig, other);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 9);
	/* Without a limit in sight, what an owner may have is the limit of its credit. */
	htw_users_init(U64_MAX);
	timers->max = 12;
	KUNIT_EXPECT_EQ(test, htw_timers_reserve(timers, U64_MAX), 0);
	KUNIT_EXPECT_EQ(test, timers->credit, 3);
	htw_timers_flush(timers);
}

/* In one group, at the limit: a cancel makes room for the arm behind it, and not for one before. */
static void cancel_and_arm_in_one_group(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 1000);
	u64 id[BATCH], left_ns, other;
	struct htw_group group;
	u32 i, round;

	htw_users_init(BATCH);
	for (i = 0; i < BATCH; i++)
		id[i] = htw_trig_arm(rig, timers, FAR_NS, i);
	for (round = 0; round < 10; round++) {
		KUNIT_EXPECT_EQ(test, htw_timers_reserve(timers, BATCH), 0);
		htw_group_begin(&group, rig->engine);
		for (i = round; i < BATCH; i += 3) {
			KUNIT_EXPECT_EQ(test, htw_trig_group_arm(timers, &group, FAR_NS, i, &other),
					-EDQUOT);
			KUNIT_EXPECT_EQ(test, htw_timer_cancel(timers, &group, id[i], &left_ns), 0);
			/* The room is this batch's: nobody else can be quicker. */
			KUNIT_EXPECT_EQ(test, htw_user_charge(timers->user, 1), 0);
			KUNIT_EXPECT_EQ(test, htw_trig_group_arm(timers, &group, FAR_NS, i, &id[i]),
					0);
		}
		htw_group_end(&group);
		htw_timers_flush(timers);
		expect_full(rig, timers, BATCH);
	}
}

/* Credit that comes when it is too late for memory is none; the next call finds both. */
static void room_that_comes_too_late(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 10), *other = htw_trig_own(rig, 10);
	u64 id = HTW_JUNK, late = htw_trig_arm(rig, other, FAR_NS, 0), left_ns;
	struct htw_group group;

	htw_users_init(1);
	KUNIT_EXPECT_EQ(test, htw_timers_reserve(timers, 1), 0);
	KUNIT_EXPECT_EQ(test, timers->pool.nr_chunks, 0);
	KUNIT_EXPECT_EQ(test, htw_trig_cancel(other, late, &left_ns), 0);
	htw_group_begin(&group, rig->engine);
	KUNIT_EXPECT_EQ(test, htw_trig_group_arm(timers, &group, FAR_NS, 0, &id), -EDQUOT);
	htw_group_end(&group);
	htw_timers_flush(timers);
	KUNIT_EXPECT_EQ(test, id, HTW_JUNK);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 0);
	htw_trig_arm(rig, timers, FAR_NS, 0);
	expect_full(rig, other, 1);
}

/* Sweeps give back, too. */
static void sweep_gives_back(struct kunit *test)
{
	struct htwheel_mass mass = {
		.opcode	= HTWHEEL_MASS_CANCEL,
		.flags	= HTWHEEL_MASS_TAG,
		.tag	= 1,
	};
	struct htw_trig *rig = htw_trig_open_default(test);
	struct htw_timers *timers = htw_trig_own(rig, 1000);
	struct htw_timer_spec spec = { .deadline_ns = FAR_NS };
	u32 i;

	htw_users_init(600);
	for (i = 0; i < 600; i++) {
		spec.tag = i % 3;
		htw_trig_make(rig, timers, &spec);
	}
	expect_full(rig, timers, 600);
	KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &mass), 200);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 400);
	mass.flags = 0;
	KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &mass), 400);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 0);
	htw_trig_judge(rig);
}

/**
 * struct office - what the threads charge
 * @user: to whom
 * @limit: how many he may have
 * @fault: where to complain
 * @refused: how often one of them got less than it asked for
 */
struct office {
	struct htw_user		*user;
	u64			limit;
	struct htw_fault	fault;
	atomic_t		refused;
};

static void charge_for_a_moment(struct htw_hand *hand)
{
	struct office *office = hand->crew->data;
	u64 asked = 1 + htw_random_below(&hand->random, 64), got, used;

	got = htw_user_charge(office->user, asked);
	used = htw_user_timers(office->user);
	if (used > office->limit)
		htw_blame(&office->fault, "above the limit", used, office->limit);
	if (got > asked || used < got)
		htw_blame(&office->fault, "charged", got, asked);
	if (got < asked)
		atomic_inc(&office->refused);
	htw_user_uncharge(office->user, got);
}

static void live_threads_at_the_limit(struct kunit *test)
{
	struct office office = { .limit = 100 };
	struct htw_crew *crew = htw_crew_new(test, charge_for_a_moment, &office);

	htw_need_cpus(test, 2);
	office.user = get_user_of(test, UID_A);
	htw_users_init(office.limit);
	htw_crew_run(test, crew, HANDS, htw_timer_ms / 4, htw_timer_seed);
	htw_fault_report(test, &office.fault);
	KUNIT_EXPECT_EQ(test, htw_user_timers(office.user), 0);
	/* All of it can be had again. */
	KUNIT_EXPECT_EQ(test, htw_user_charge(office.user, U64_MAX), office.limit);
	htw_user_uncharge(office.user, office.limit);
	htw_user_put(office.user);
	kunit_info(test, "%d times less than asked for\n", atomic_read(&office.refused));
}

/**
 * struct desk - the owners of the threads
 * @rig: the rig
 * @id: for each thread, the names of its timers
 * @nr: and their number
 */
struct desk {
	struct htw_trig		*rig;
	u64			id[HANDS][MANY];
	u32			nr[HANDS];
};

/* Fill what there is with timers of one's own, then give up some of them. */
static void arm_and_cancel(struct htw_hand *hand)
{
	struct desk *desk = hand->crew->data;
	struct htw_timers *timers = desk->rig->owner[hand->nr];
	u32 *nr = &desk->nr[hand->nr], goal = htw_random_below(&hand->random, MANY);
	u64 used, left_ns;

	while (*nr < goal && !htw_trig_try_arm(timers, FAR_NS, 0, &desk->id[hand->nr][*nr]))
		++*nr;
	used = htw_user_timers(timers->user);
	if (used > MANY)
		htw_blame(&desk->rig->fault, "above the limit", used, MANY);
	while (*nr > goal)
		htw_trig_cancel(timers, desk->id[hand->nr][--*nr], &left_ns);
	htw_expect(&desk->rig->fault, "live timers", timers->pool.live, *nr);
	htw_expect(&desk->rig->fault, "credit", timers->credit, 0);
}

static void live_owners_at_the_limit(struct kunit *test)
{
	struct htw_trig *rig = htw_trig_open_live(test);
	struct desk *desk = kunit_kzalloc(test, sizeof(*desk), GFP_KERNEL);
	struct htw_crew *crew = htw_crew_new(test, arm_and_cancel, desk);
	u64 live = 0;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, desk);
	htw_need_cpus(test, 2);
	htw_users_init(MANY);
	desk->rig = rig;
	for (i = 0; i < HANDS; i++)
		htw_trig_own(rig, MANY);
	htw_crew_run(test, crew, HANDS, htw_timer_ms / 4, htw_timer_seed);
	for (i = 0; i < HANDS; i++)
		live += desk->nr[i];
	KUNIT_EXPECT_EQ(test, htw_user_timers(rig->owner[0]->user), live);
	KUNIT_EXPECT_LE(test, live, MANY);
}

const struct htw_case htw_timer_cases_user[] = {
	HTW_CASE(charge_to_the_limit),
	HTW_CASE(one_account_each),
	HTW_CASE(limit_over_several_owners),
	HTW_CASE(limit_counts_those_that_stay),
	HTW_CASE(credit_of_a_batch),
	HTW_CASE(cancel_and_arm_in_one_group),
	HTW_CASE(room_that_comes_too_late),
	HTW_CASE(sweep_gives_back),
	HTW_CASE(live_threads_at_the_limit),
	HTW_CASE(live_owners_at_the_limit),
	{}
};
