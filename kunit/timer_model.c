// SPDX-License-Identifier: GPL-2.0
/*
 * Random operations against a naive model: a flat array of what every timer should be, and books
 * that are kept beside it. Both have to agree after each operation.
 */
#include <linux/slab.h>

#include "timer_cases.h"

#define SLOTS		400
#define LIMIT		300
#define STALE		64

enum model_state { MODEL_FREE, MODEL_QUEUED, MODEL_EXPIRED };

/**
 * struct model_timer - what the model knows of a timer
 * @state: where it is
 * @id: its name
 * @deadline_ns: its deadline
 */
struct model_timer {
	enum model_state	state;
	u64			id;
	u64			deadline_ns;
};

/**
 * struct model - the model and the real thing
 * @rig: the real thing
 * @timers: its timers; user_data is the place in @slot
 * @slot: the model's
 * @nr: how many of the model's are in each state
 * @books: the model's
 * @late: the model's
 * @stale: names that are no more
 * @nr_stale: how many there have been
 * @random: state of the random numbers
 */
struct model {
	struct htw_trig		*rig;
	struct htw_timers	*timers;
	struct model_timer	slot[SLOTS];
	u32			nr[MODEL_EXPIRED + 1];
	struct htw_books	books;
	u64			late[HTWHEEL_LATE_BINS];
	u64			stale[STALE];
	u64			nr_stale;
	u64			random;
};

static void model_move(struct model *model, struct model_timer *slot, enum model_state state)
{
	model->nr[slot->state]--;
	slot->state = state;
	model->nr[state]++;
}

static void model_forget(struct model *model, struct model_timer *slot)
{
	model->stale[model->nr_stale++ % STALE] = slot->id;
	model_move(model, slot, MODEL_FREE);
}

static u64 random_deadline_ns(struct model *model)
{
	switch (htw_random_below(&model->random, 16)) {
	case 0:
		return htw_random_length(&model->random, 62) % (htw_manual.now_ns + 1);
	case 1:
		return htw_manual.now_ns;
	case 2:
		return KTIME_MAX;
	case 3:
		return htw_manual.now_ns + htw_random_length(&model->random, 50);
	default:
		return htw_manual.now_ns + htw_random_length(&model->random, 33);
	}
}

/* The timer has been armed with a deadline. */
static void model_armed(struct model *model, struct model_timer *slot, u64 deadline_ns)
{
	slot->deadline_ns = deadline_ns;
	model->books.armed++;
	model_move(model, slot, deadline_ns > htw_manual.now_ns ? MODEL_QUEUED : MODEL_EXPIRED);
}

static void do_arm(struct model *model, struct model_timer *slot)
{
	const bool full = model->nr[MODEL_QUEUED] + model->nr[MODEL_EXPIRED] == LIMIT;
	struct kunit *test = model->rig->test;
	u64 deadline_ns = random_deadline_ns(model);
	int ret;

	slot->id = 0;
	ret = htw_trig_try_arm(model->timers, deadline_ns, slot - model->slot, &slot->id);
	KUNIT_ASSERT_EQ(test, ret, full ? -ENOSPC : 0);
	KUNIT_ASSERT_EQ(test, slot->id != 0, !full);
	if (!full)
		model_armed(model, slot, deadline_ns);
}

static int answer(const struct model_timer *slot)
{
	return slot->state == MODEL_EXPIRED ? HTWHEEL_RES_FIRED : 0;
}

static u64 left(const struct model_timer *slot)
{
	if (slot->state == MODEL_EXPIRED || slot->deadline_ns <= htw_manual.now_ns)
		return 0;
	return slot->deadline_ns - htw_manual.now_ns;
}

static void do_cancel(struct model *model, struct model_timer *slot)
{
	struct kunit *test = model->rig->test;
	u64 left_ns = HTW_JUNK;

	KUNIT_ASSERT_EQ(test, htw_trig_cancel(model->timers, slot->id, &left_ns), answer(slot));
	KUNIT_ASSERT_EQ(test, left_ns, left(slot));
	model->books.cancelled++;
	model_forget(model, slot);
}

static void do_rearm(struct model *model, struct model_timer *slot)
{
	u64 deadline_ns = random_deadline_ns(model);

	KUNIT_ASSERT_EQ(model->rig->test, htw_trig_rearm(model->timers, slot->id, deadline_ns),
			answer(slot));
	model->books.replaced++;
	model_armed(model, slot, deadline_ns);
}

static void do_query(struct model *model, struct model_timer *slot)
{
	struct kunit *test = model->rig->test;
	u64 left_ns = HTW_JUNK;

	KUNIT_ASSERT_EQ(test, htw_trig_query(model->timers, slot->id, &left_ns), answer(slot));
	KUNIT_ASSERT_EQ(test, left_ns, left(slot));
}

static void do_stale(struct model *model)
{
	u64 id = model->stale[htw_random_below(&model->random, STALE)];
	struct kunit *test = model->rig->test;
	u64 left_ns;

	KUNIT_ASSERT_EQ(test, htw_trig_query(model->timers, id, &left_ns), -ENOENT);
	KUNIT_ASSERT_EQ(test, htw_trig_cancel(model->timers, id, &left_ns), -ENOENT);
	KUNIT_ASSERT_EQ(test, htw_trig_rearm(model->timers, id, htw_manual.now_ns), -ENOENT);
}

/* Time goes by: who is due expires. All designs are exact. */
static void do_time(struct model *model)
{
	struct model_timer *slot;
	u64 now_tick;

	htw_trig_run(model->rig, htw_manual.now_ns + htw_random_length(&model->random, 33));
	now_tick = htw_tick_down(htw_manual.now_ns, HTW_TRIG_SHIFT);
	for (slot = model->slot; slot < model->slot + SLOTS; slot++) {
		if (slot->state == MODEL_QUEUED &&
		    htw_tick_up(slot->deadline_ns, HTW_TRIG_SHIFT) <= now_tick)
			model_move(model, slot, MODEL_EXPIRED);
	}
}

/* An event is read. */
static void model_read(struct model *model, const struct htwheel_event *event)
{
	struct model_timer *slot = &model->slot[event->user_data];
	struct kunit *test = model->rig->test;
	u64 late_ns = event->fired_ns - event->deadline_ns;

	KUNIT_ASSERT_LT(test, event->user_data, SLOTS);
	KUNIT_ASSERT_EQ(test, slot->state, MODEL_EXPIRED);
	KUNIT_ASSERT_EQ(test, event->id, slot->id);
	KUNIT_ASSERT_EQ(test, event->deadline_ns, slot->deadline_ns);
	KUNIT_ASSERT_GE(test, event->fired_ns, event->deadline_ns);
	KUNIT_ASSERT_LE(test, event->fired_ns, htw_manual.now_ns);
	model->late[late_ns < 1024 ? 0 : min(ilog2(late_ns) - 9, HTWHEEL_LATE_BINS - 1)]++;
	model->books.fired++;
	model_forget(model, slot);
}

static void do_read(struct model *model)
{
	struct htwheel_event events[16];
	u64 last_ns = 0;
	u32 i, nr, max = 1 + htw_random_below(&model->random, ARRAY_SIZE(events));

	nr = htw_trig_read(model->timers, events, max);
	KUNIT_ASSERT_EQ(model->rig->test, nr, min(max, model->nr[MODEL_EXPIRED]));
	for (i = 0; i < nr; i++) {
		KUNIT_ASSERT_GE(model->rig->test, events[i].fired_ns, last_ns);
		last_ns = events[i].fired_ns;
		model_read(model, &events[i]);
	}
}

static void do_something(struct model *model)
{
	struct model_timer *slot = &model->slot[htw_random_below(&model->random, SLOTS)];
	u32 choice = htw_random_below(&model->random, 32);

	if (choice == 0)
		do_time(model);
	else if (choice == 1)
		do_read(model);
	else if (choice == 2)
		do_stale(model);
	else if (slot->state == MODEL_FREE)
		do_arm(model, slot);
	else if (choice < 10)
		do_cancel(model, slot);
	else if (choice < 16)
		do_query(model, slot);
	else
		do_rearm(model, slot);
}

static void compare(struct model *model)
{
	struct htw_timers *timers = model->timers;
	struct kunit *test = model->rig->test;

	KUNIT_ASSERT_EQ(test, memcmp(&timers->books, &model->books, sizeof(model->books)), 0);
	KUNIT_ASSERT_EQ(test, timers->ready.nr, model->nr[MODEL_EXPIRED]);
	KUNIT_ASSERT_EQ(test, timers->pool.live,
			model->nr[MODEL_QUEUED] + model->nr[MODEL_EXPIRED]);
	KUNIT_ASSERT_TRUE(test, htw_trig_balanced(timers));
}

static void run_model(struct kunit *test, u64 budget_timers)
{
	struct htw_engine_config config = htw_trig_config(test);
	struct model *model = kunit_kzalloc(test, sizeof(*model), GFP_KERNEL);
	u32 step;

	KUNIT_ASSERT_NOT_NULL(test, model);
	config.budget_timers = budget_timers;
	model->rig = htw_trig_open(test, &config);
	model->timers = htw_trig_own(model->rig, LIMIT);
	model->nr[MODEL_FREE] = SLOTS;
	model->random = htw_timer_seed;
	for (step = 0; step < htw_timer_ops; step++) {
		model->rig->step = step;
		if (step % 512 == 0)
			htw_pin(test, htw_random_below(&model->random, num_online_cpus()));
		do_something(model);
		compare(model);
		if (step % 64 == 0)
			htw_trig_judge(model->rig);
	}
	KUNIT_EXPECT_EQ(test, memcmp(model->late, model->timers->late, sizeof(model->late)), 0);
	KUNIT_EXPECT_GT(test, model->books.fired, 0);
	kunit_info(test, "%llu arms, %llu events\n", model->books.armed, model->books.fired);
}

static void random_operations(struct kunit *test)
{
	run_model(test, U64_MAX);
}

static void random_operations_in_small_passes(struct kunit *test)
{
	run_model(test, 3);
}

const struct htw_case htw_timer_cases_model[] = {
	HTW_CASE(random_operations),
	HTW_CASE(random_operations_in_small_passes),
	{}
};
