// SPDX-License-Identifier: GPL-2.0
/*
 * Random operations against a naive model: a flat array of what every timer should be, and books
 * that are kept beside it. Both have to agree after each operation.
 */
#include <linux/slab.h>

#include "naive.h"
#include "timer_cases.h"

#define SLOTS		400
#define LIMIT		300
#define STALE		64

#define TAGS		4

enum model_state { MODEL_FREE, MODEL_QUEUED, MODEL_EXPIRED, MODEL_IDLE, MODEL_STATES };

/**
 * struct model_timer - what the model knows of a timer
 * @state: where it is
 * @id: its name
 * @spec: how it was armed; its deadline is the present one
 * @tick: where in the queue it belongs
 * @fired_ns: when it fired
 */
struct model_timer {
	enum model_state	state;
	u64			id;
	struct htw_timer_spec	spec;
	u64			tick;
	u64			fired_ns;
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
	u32			nr[MODEL_STATES];
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

static void model_fire(struct model *model, struct model_timer *slot)
{
	slot->fired_ns = htw_manual.now_ns;
	model_move(model, slot, MODEL_EXPIRED);
}

static void model_forget(struct model *model, struct model_timer *slot)
{
	model->stale[model->nr_stale++ % STALE] = slot->id;
	model_move(model, slot, MODEL_FREE);
}

static bool model_pending(const struct model_timer *slot)
{
	return slot->state == MODEL_QUEUED || slot->state == MODEL_EXPIRED;
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

/* Any kind of timer, but most are plain. */
static struct htw_timer_spec random_spec(struct model *model, u64 user_data)
{
	struct htw_timer_spec spec = {
		.deadline_ns	= random_deadline_ns(model),
		.user_data	= user_data,
		.tag		= htw_random_below(&model->random, TAGS),
	};

	if (htw_random_below(&model->random, 4) == 0) {
		spec.period_ns = max(htw_random_length(&model->random, 34), 1ULL);
		spec.policy = htw_random_below(&model->random, HTWHEEL_POLICY_DELAY + 1);
	}
	if (htw_random_below(&model->random, 4) == 0)
		spec.slack_ns = htw_random_length(&model->random, 30);
	spec.keep = htw_random_below(&model->random, 4) == 0;
	return spec;
}

/* The timer has been armed with a deadline. */
static void model_armed(struct model *model, struct model_timer *slot, u64 deadline_ns)
{
	slot->spec.deadline_ns = deadline_ns;
	slot->tick = htw_naive_slack(htw_tick_up(deadline_ns, HTW_TRIG_SHIFT) ?: 1,
				     slot->spec.slack_ns >> HTW_TRIG_SHIFT);
	model->books.armed++;
	if (deadline_ns > htw_manual.now_ns)
		model_move(model, slot, MODEL_QUEUED);
	else
		model_fire(model, slot);
}

static void do_arm(struct model *model, struct model_timer *slot)
{
	const bool full = SLOTS - model->nr[MODEL_FREE] == LIMIT;
	struct kunit *test = model->rig->test;
	int ret;

	slot->id = 0;
	slot->spec = random_spec(model, slot - model->slot);
	ret = htw_trig_arm_spec(model->timers, &slot->spec, &slot->id);
	KUNIT_ASSERT_EQ(test, ret, full ? -ENOSPC : 0);
	KUNIT_ASSERT_EQ(test, slot->id != 0, !full);
	if (!full)
		model_armed(model, slot, slot->spec.deadline_ns);
}

static int answer(const struct model_timer *slot)
{
	return slot->state == MODEL_EXPIRED ? HTWHEEL_RES_FIRED : 0;
}

static u64 left(const struct model_timer *slot)
{
	if (slot->state != MODEL_QUEUED || slot->spec.deadline_ns <= htw_manual.now_ns)
		return 0;
	return slot->spec.deadline_ns - htw_manual.now_ns;
}

static void model_cancelled(struct model *model, struct model_timer *slot)
{
	model->books.cancelled += model_pending(slot);
	model_forget(model, slot);
}

static void do_cancel(struct model *model, struct model_timer *slot)
{
	struct kunit *test = model->rig->test;
	u64 left_ns = HTW_JUNK;

	KUNIT_ASSERT_EQ(test, htw_trig_cancel(model->timers, slot->id, &left_ns), answer(slot));
	KUNIT_ASSERT_EQ(test, left_ns, left(slot));
	model_cancelled(model, slot);
}

static void do_rearm(struct model *model, struct model_timer *slot)
{
	u64 deadline_ns = random_deadline_ns(model);

	KUNIT_ASSERT_EQ(model->rig->test, htw_trig_rearm(model->timers, slot->id, deadline_ns),
			answer(slot));
	model->books.replaced += model_pending(slot);
	model_armed(model, slot, deadline_ns);
}

static void do_query(struct model *model, struct model_timer *slot)
{
	const bool idle = slot->state == MODEL_IDLE;
	struct kunit *test = model->rig->test;
	u64 left_ns = HTW_JUNK;

	KUNIT_ASSERT_EQ(test, htw_trig_query(model->timers, slot->id, &left_ns),
			idle ? -ENOENT : answer(slot));
	KUNIT_ASSERT_EQ(test, left_ns, idle ? HTW_JUNK : left(slot));
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
		if (slot->state == MODEL_QUEUED && slot->tick <= now_tick)
			model_fire(model, slot);
	}
}

/* What becomes of a timer whose event has been read. */
static void model_next(struct model *model, struct model_timer *slot, u64 count)
{
	const struct htw_timer_spec *spec = &slot->spec;
	struct htw_turn turn = { .count = 1 };

	if (spec->period_ns)
		turn = htw_period_turn(spec->policy, spec->deadline_ns, spec->period_ns,
				       htw_manual.now_ns);
	KUNIT_ASSERT_EQ(model->rig->test, count, turn.count);
	model->books.missed += count - 1;
	if (spec->period_ns)
		model_armed(model, slot, turn.next_ns);
	else if (spec->keep)
		model_move(model, slot, MODEL_IDLE);
	else
		model_forget(model, slot);
}

/* An event is read. */
static void model_read(struct model *model, const struct htwheel_event *event)
{
	struct model_timer *slot = &model->slot[event->user_data];
	struct kunit *test = model->rig->test;
	u64 late_ns = event->fired_ns - event->deadline_ns;
	bool stays;

	KUNIT_ASSERT_LT(test, event->user_data, SLOTS);
	stays = slot->spec.period_ns || slot->spec.keep;
	KUNIT_ASSERT_EQ(test, slot->state, MODEL_EXPIRED);
	KUNIT_ASSERT_EQ(test, event->id, slot->id);
	KUNIT_ASSERT_EQ(test, event->deadline_ns, slot->spec.deadline_ns);
	KUNIT_ASSERT_EQ(test, event->fired_ns, slot->fired_ns);
	KUNIT_ASSERT_GE(test, event->fired_ns, event->deadline_ns);
	KUNIT_ASSERT_EQ(test, event->tag, slot->spec.tag);
	KUNIT_ASSERT_EQ(test, event->flags, stays ? HTWHEEL_EVENT_LIVE : 0);
	model->late[late_ns < 1024 ? 0 : min(ilog2(late_ns) - 9, HTWHEEL_LATE_BINS - 1)]++;
	model->books.fired++;
	model_next(model, slot, event->count);
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

/* Where a sweep moves an armed timer. */
static u64 moved_ns(const struct htwheel_mass *mass, const struct model_timer *slot)
{
	u64 ns = slot->spec.deadline_ns;

	if (mass->opcode == HTWHEEL_MASS_SCALE) {
		/* Overdue: it fires, as what it was. */
		if (!left(slot))
			return ns;
		ns = div_u64(left(slot) * mass->numerator, mass->denominator);
		return min(htw_manual.now_ns + ns, HTWHEEL_NEVER_NS);
	}
	if (mass->shift_ns < 0)
		return ns - min(ns, (u64)-mass->shift_ns);
	return min(ns + mass->shift_ns, HTWHEEL_NEVER_NS);
}

/* Returns whether a sweep concerns the timer. */
static bool model_swept(struct model *model, struct model_timer *slot,
			const struct htwheel_mass *mass)
{
	if (slot->state == MODEL_FREE)
		return false;
	if (mass->flags & HTWHEEL_MASS_TAG && mass->tag != slot->spec.tag)
		return false;
	if (mass->opcode == HTWHEEL_MASS_CANCEL) {
		model_cancelled(model, slot);
		return true;
	}
	if (slot->state != MODEL_QUEUED || slot->spec.deadline_ns == HTWHEEL_NEVER_NS)
		return false;
	model->books.replaced++;
	model_armed(model, slot, moved_ns(mass, slot));
	return true;
}

static void do_mass(struct model *model)
{
	struct htwheel_mass mass = {
		.flags	= HTWHEEL_MASS_TAG,
		.opcode	= HTWHEEL_MASS_CANCEL + htw_random_below(&model->random, 3),
		.tag	= htw_random_below(&model->random, TAGS + 1),
	};
	struct model_timer *slot;
	u64 done, expected = 0;

	if (mass.opcode == HTWHEEL_MASS_SHIFT) {
		mass.shift_ns = htw_random_length(&model->random, 33);
		if (htw_random_below(&model->random, 2))
			mass.shift_ns = -mass.shift_ns;
	}
	if (mass.opcode == HTWHEEL_MASS_SCALE) {
		/* They come closer on average, so that no product needs more than 64 bits. */
		mass.numerator = htw_random_below(&model->random, 6);
		mass.denominator = 1 + htw_random_below(&model->random, 8);
	}
	if (htw_random_below(&model->random, 8) == 0) {
		mass.flags = 0;
		mass.tag = 0;
	}
	done = htw_trig_mass(model->timers, &mass);
	for (slot = model->slot; slot < model->slot + SLOTS; slot++)
		expected += model_swept(model, slot, &mass);
	KUNIT_ASSERT_EQ(model->rig->test, done, expected);
}

static const u16 dump_states[MODEL_STATES] = {
	[MODEL_QUEUED]	= HTWHEEL_STATE_ARMED,
	[MODEL_EXPIRED]	= HTWHEEL_STATE_FIRED,
	[MODEL_IDLE]	= HTWHEEL_STATE_IDLE,
};

static void model_listed(struct model *model, const struct htwheel_dump_entry *entry)
{
	const struct model_timer *slot = &model->slot[entry->user_data % SLOTS];
	const struct htw_timer_spec *spec = &slot->spec;
	struct kunit *test = model->rig->test;

	KUNIT_ASSERT_EQ(test, entry->id, slot->id);
	KUNIT_ASSERT_EQ(test, entry->user_data, spec->user_data);
	KUNIT_ASSERT_EQ(test, entry->state, dump_states[slot->state]);
	KUNIT_ASSERT_EQ(test, entry->deadline_ns, spec->deadline_ns);
	KUNIT_ASSERT_EQ(test, entry->left_ns, left(slot));
	KUNIT_ASSERT_EQ(test, entry->period_ns, spec->period_ns);
	KUNIT_ASSERT_EQ(test, entry->slack_ns, round_down(spec->slack_ns, HTW_TRIG_TICK_NS));
	KUNIT_ASSERT_EQ(test, entry->tag, spec->tag);
	KUNIT_ASSERT_EQ(test, entry->policy, spec->policy);
	KUNIT_ASSERT_EQ(test, entry->flags, (spec->period_ns ? HTWHEEL_PERIODIC : 0) |
			(spec->keep ? HTWHEEL_KEEP : 0));
}

static void do_dump(struct model *model)
{
	struct htwheel_dump_entry entry[8];
	u32 i, nr, listed = 0;
	u64 cursor = 0;

	do {
		nr = htw_sweep_dump(model->timers, &cursor, entry, ARRAY_SIZE(entry));
		for (i = 0; i < nr; i++)
			model_listed(model, &entry[i]);
		listed += nr;
	} while (cursor);
	KUNIT_ASSERT_EQ(model->rig->test, listed, SLOTS - model->nr[MODEL_FREE]);
}

static void do_to_all(struct model *model)
{
	switch (htw_random_below(&model->random, 8)) {
	case 0:
		do_dump(model);
		break;
	case 1:
		htw_trig_trim(model->timers);
		break;
	default:
		do_mass(model);
	}
}

static void do_to_one(struct model *model, struct model_timer *slot, u32 choice)
{
	if (slot->state == MODEL_FREE)
		do_arm(model, slot);
	else if (choice < 10)
		do_cancel(model, slot);
	else if (choice < 16)
		do_query(model, slot);
	else
		do_rearm(model, slot);
}

static void do_something(struct model *model)
{
	struct model_timer *slot = &model->slot[htw_random_below(&model->random, SLOTS)];
	u32 choice = htw_random_below(&model->random, 32);

	if (htw_random_below(&model->random, 256) == 0)
		do_to_all(model);
	else if (choice == 0)
		do_time(model);
	else if (choice == 1)
		do_read(model);
	else if (choice == 2)
		do_stale(model);
	else
		do_to_one(model, slot, choice);
}

static void compare(struct model *model)
{
	struct htw_timers *timers = model->timers;
	struct kunit *test = model->rig->test;

	KUNIT_ASSERT_EQ(test, memcmp(&timers->books, &model->books, sizeof(model->books)), 0);
	KUNIT_ASSERT_EQ(test, timers->ready.nr, model->nr[MODEL_EXPIRED]);
	KUNIT_ASSERT_EQ(test, timers->idle, model->nr[MODEL_IDLE]);
	KUNIT_ASSERT_EQ(test, timers->pool.live, SLOTS - model->nr[MODEL_FREE]);
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
	kunit_info(test, "%llu arms, %llu events, %llu missed\n", model->books.armed,
		   model->books.fired, model->books.missed);
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
	HTW_CASE_EXACT(random_operations),
	HTW_CASE_EXACT(random_operations_in_small_passes),
	{}
};
