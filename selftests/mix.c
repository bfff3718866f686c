// SPDX-License-Identifier: GPL-2.0
/*
 * All kinds of timers at random, beside a model that knows what may become of each, and the books
 * after every step.
 *
 * The seed is printed; the variable HTWHEEL_SEED sets another.
 */
#include "harness.h"
#include "turns.h"

#define NR_TIMERS	120

enum model_state {
	MODEL_STALE,
	/* Armed or fired; which of them, time decides. */
	MODEL_PENDING,
	MODEL_IDLE,
};

/*
 * A deadline lies between two bounds, which are equal unless it was a delay, or is measured from a
 * read.
 */
struct model_timer {
	uint64_t		id;
	uint64_t		due_min_ns;
	uint64_t		due_max_ns;
	uint64_t		period_ns;
	uint32_t		flags;
	uint16_t		policy;
	enum model_state	state;
};

struct model {
	struct model_timer	timers[NR_TIMERS];
	uint64_t		seed;
	uint64_t		tick_ns;
	unsigned int		steps;
	unsigned int		step;
	int			fd;
	const char		*wrong;

	/* The books. */
	uint64_t		armed;
	uint64_t		fired;
	uint64_t		cancelled;
	uint64_t		replaced;
	uint64_t		missed;
	uint64_t		pending;
	uint64_t		idle;
};

static uint64_t capped(uint64_t time_ns)
{
	return time_ns > HTWHEEL_NEVER_NS ? HTWHEEL_NEVER_NS : time_ns;
}

static uint64_t random_time_ns(struct model *model)
{
	switch (chance_below(&model->seed, 8)) {
	case 0:
		return 0;
	case 1:
		return HTWHEEL_NEVER_NS - chance_below(&model->seed, 2);
	case 2:
		return chance(&model->seed) >> (1 + chance_below(&model->seed, 40));
	default:
		return chance_below(&model->seed, 20 * model->tick_ns);
	}
}

static uint64_t random_period_ns(struct model *model)
{
	switch (chance_below(&model->seed, 6)) {
	case 0:
		return 1 + chance_below(&model->seed, 3);
	case 1:
		return HTWHEEL_NEVER_NS - chance_below(&model->seed, 2);
	case 2:
		return 1 + chance_below(&model->seed, model->tick_ns);
	default:
		return 1 + chance_below(&model->seed, 30 * model->tick_ns);
	}
}

static void make_arm(struct model *model, struct htwheel_op *op)
{
	op->opcode = HTWHEEL_OP_ARM;
	op->id = JUNK64;
	if (chance_below(&model->seed, 2))
		op->flags |= HTWHEEL_KEEP;
	if (!chance_below(&model->seed, 3))
		op->slack_ns = chance_below(&model->seed, 10 * model->tick_ns);
	if (chance_below(&model->seed, 2))
		return;
	op->flags |= HTWHEEL_PERIODIC;
	op->policy = chance_below(&model->seed, 4);
	op->period_ns = random_period_ns(model);
}

static void make_op(struct model *model, struct htwheel_op *op, uint32_t number)
{
	static const uint16_t opcodes[] = {
		HTWHEEL_OP_REARM, HTWHEEL_OP_REARM, HTWHEEL_OP_CANCEL, HTWHEEL_OP_QUERY,
	};
	const struct model_timer *timer = &model->timers[number];
	uint64_t now = now_ns();

	*op = (struct htwheel_op){ .user_data = number, .result = -JUNK, .id = timer->id };
	op->opcode = opcodes[chance_below(&model->seed, ARRAY_SIZE(opcodes))];
	if (timer->state == MODEL_STALE && chance_below(&model->seed, 4))
		make_arm(model, op);
	if (op->opcode == HTWHEEL_OP_CANCEL || op->opcode == HTWHEEL_OP_QUERY)
		return;
	op->time_ns = random_time_ns(model);
	if (op->time_ns < HTWHEEL_NEVER_NS - now && chance_below(&model->seed, 2)) {
		op->flags |= HTWHEEL_ABSOLUTE;
		op->time_ns += now - (op->time_ns ? 0 : chance_below(&model->seed, now));
	}
}

static void note_deadline(struct model_timer *timer, const struct htwheel_op *op,
			  uint64_t before_ns, uint64_t after_ns)
{
	bool absolute = op->flags & HTWHEEL_ABSOLUTE;

	timer->due_min_ns = capped(op->time_ns + (absolute ? 0 : before_ns));
	timer->due_max_ns = capped(op->time_ns + (absolute ? 0 : after_ns));
	timer->state = MODEL_PENDING;
}

static const char *judge_arm(struct model *model, const struct htwheel_op *op,
			     struct model_timer *timer, uint64_t before_ns, uint64_t after_ns)
{
	if (op->result || !op->id)
		return "arm failed";
	timer->id = op->id;
	timer->flags = op->flags & (HTWHEEL_PERIODIC | HTWHEEL_KEEP);
	timer->policy = op->policy;
	timer->period_ns = op->period_ns;
	note_deadline(timer, op, before_ns, after_ns);
	model->armed++;
	model->pending++;
	return NULL;
}

/* The table of the header, with the column that the model knows. */
static const char *judge_op(struct model *model, const struct htwheel_op *op,
			    struct model_timer *timer, uint64_t before_ns, uint64_t after_ns)
{
	enum model_state state = timer->state;
	uint64_t least_ns = 0, most_ns = 0;

	if (op->opcode == HTWHEEL_OP_ARM)
		return judge_arm(model, op, timer, before_ns, after_ns);
	if (state == MODEL_STALE || (state == MODEL_IDLE && op->opcode == HTWHEEL_OP_QUERY))
		return op->result == -ENOENT ? NULL : "answer for a name that is stale, or idle";
	if (op->result && (state == MODEL_IDLE || op->result != HTWHEEL_RES_FIRED))
		return "answer for a timer that lives";
	if (op->result == HTWHEEL_RES_FIRED && timer->due_min_ns > after_ns)
		return "fired early";
	if (op->opcode == HTWHEEL_OP_REARM) {
		model->armed++;
		model->replaced += state == MODEL_PENDING;
		model->pending += state == MODEL_IDLE;
		model->idle -= state == MODEL_IDLE;
		note_deadline(timer, op, before_ns, after_ns);
		return NULL;
	}
	if (op->opcode == HTWHEEL_OP_CANCEL) {
		model->cancelled += state == MODEL_PENDING;
		model->pending -= state == MODEL_PENDING;
		model->idle -= state == MODEL_IDLE;
		timer->state = MODEL_STALE;
	}
	if (state == MODEL_PENDING && !op->result && timer->due_max_ns > before_ns)
		most_ns = timer->due_max_ns - before_ns;
	if (state == MODEL_PENDING && timer->due_min_ns > after_ns)
		least_ns = timer->due_min_ns - after_ns;
	return op->time_ns < least_ns || op->time_ns > most_ns ? "time left" : NULL;
}

/* Each operation of a batch has a timer of its own, so what is known of it still holds. */
static const char *submit_random(struct model *model)
{
	uint32_t numbers[16], i, j, nr = 1 + chance_below(&model->seed, ARRAY_SIZE(numbers));
	struct htwheel_op ops[ARRAY_SIZE(numbers)];
	uint64_t before_ns, after_ns;
	const char *wrong = NULL;

	for (i = 0; i < nr; i++) {
		numbers[i] = chance_below(&model->seed, NR_TIMERS);
		for (j = 0; j < i && numbers[j] != numbers[i]; j++)
			;
		if (j < i) {
			i--;
			continue;
		}
		make_op(model, &ops[i], numbers[i]);
	}
	before_ns = now_ns();
	if (submit_all(model->fd, ops, nr))
		return "the call failed";
	after_ns = now_ns();
	for (i = 0; i < nr && !wrong; i++)
		wrong = judge_op(model, &ops[i], &model->timers[numbers[i]], before_ns, after_ns);
	return wrong;
}

/* The next deadline, by the policy, when the event was read between two readings of the clock. */
static void note_turn(struct model_timer *timer, const struct htwheel_event *event,
		      uint64_t before_ns, uint64_t after_ns)
{
	uint64_t min = turns_by(event->deadline_ns, timer->period_ns, before_ns);
	uint64_t max = turns_by(event->deadline_ns, timer->period_ns, after_ns);

	/* It has passed, whatever the reading before the call says. */
	min = min ? min : 1;
	timer->due_min_ns = event->deadline_ns;
	timer->due_max_ns = event->deadline_ns;
	switch (timer->policy) {
	case HTWHEEL_POLICY_COUNT:
		min = event->count;
		max = event->count;
		break;
	case HTWHEEL_POLICY_BURST:
		min = 1;
		max = 1;
		break;
	case HTWHEEL_POLICY_DELAY:
		timer->due_min_ns = before_ns;
		timer->due_max_ns = after_ns;
		min = 1;
		max = 1;
		break;
	}
	timer->due_min_ns = capped(timer->due_min_ns + min * timer->period_ns);
	timer->due_max_ns = capped(timer->due_max_ns + max * timer->period_ns);
}

static const char *judge_event(struct model *model, const struct htwheel_event *event,
			       uint64_t before_ns, uint64_t after_ns)
{
	struct model_timer *timer = &model->timers[event->user_data % NR_TIMERS];
	uint64_t min = 1, max = 1;

	if (event->user_data >= NR_TIMERS || event->id != timer->id ||
	    timer->state != MODEL_PENDING)
		return "an event of nobody";
	if (event->deadline_ns < timer->due_min_ns || event->deadline_ns > timer->due_max_ns)
		return "deadline";
	if (event->fired_ns < event->deadline_ns || event->fired_ns > after_ns)
		return "time of firing";
	if (event->flags != (timer->flags ? HTWHEEL_EVENT_LIVE : 0) || event->tag)
		return "flags or tag";
	if (timer->flags & HTWHEEL_PERIODIC && timer->policy == HTWHEEL_POLICY_COUNT) {
		min = turns_by(event->deadline_ns, timer->period_ns, before_ns);
		max = turns_by(event->deadline_ns, timer->period_ns, after_ns);
	}
	if (!event->count || event->count < min || event->count > max)
		return "count";
	model->fired++;
	model->missed += event->count - 1;
	if (timer->flags & HTWHEEL_PERIODIC) {
		model->armed++;
		note_turn(timer, event, before_ns, after_ns);
		return NULL;
	}
	timer->state = timer->flags & HTWHEEL_KEEP ? MODEL_IDLE : MODEL_STALE;
	model->pending--;
	model->idle += timer->state == MODEL_IDLE;
	return NULL;
}

static const char *read_random(struct model *model)
{
	struct htwheel_event events[24];
	const char *wrong = NULL;
	uint64_t before_ns, after_ns;
	int i, nr;

	before_ns = now_ns();
	nr = read_events(model->fd, events,
			 1 + chance_below(&model->seed, ARRAY_SIZE(events)));
	after_ns = now_ns();
	if (nr < 0)
		return nr == -EAGAIN ? NULL : "read failed";
	for (i = 0; i < nr && !wrong; i++)
		wrong = judge_event(model, &events[i], before_ns, after_ns);
	return wrong;
}

static const char *judge_books(struct model *model)
{
	struct htwheel_stats stats;
	uint64_t late = 0;
	size_t i;

	if (device_stats(model->fd, &stats))
		return "STATS failed";
	for (i = 0; i < ARRAY_SIZE(stats.late); i++)
		late += stats.late[i];
	if (!books_balance(&stats) || stats.expired > stats.pending || late != stats.fired)
		return "the module's books do not balance";
	if (stats.armed != model->armed || stats.fired != model->fired)
		return "armed or fired";
	if (stats.cancelled != model->cancelled || stats.replaced != model->replaced)
		return "cancelled or replaced";
	if (stats.pending != model->pending || stats.idle != model->idle)
		return "pending or idle";
	return stats.missed == model->missed ? NULL : "missed";
}

static const char *step(struct model *model)
{
	const char *wrong = NULL;

	switch (chance_below(&model->seed, 4)) {
	case 0:
	case 1:
		wrong = read_random(model);
		break;
	case 2:
		if (!chance_below(&model->seed, 16))
			sleep_ns(chance_below(&model->seed, 4 * model->tick_ns));
		break;
	default:
		wrong = submit_random(model);
	}
	return wrong ? wrong : judge_books(model);
}

static void *run_model(void *arg)
{
	struct model *model = arg;

	for (model->step = 0; model->step < model->steps && !model->wrong; model->step++)
		model->wrong = step(model);
	return NULL;
}

static struct model *make_model(unsigned int number, unsigned int steps)
{
	struct model *model = calloc(1, sizeof(*model));
	struct htwheel_info info;

	if (!model)
		return NULL;
	model->seed = number_from_env("HTWHEEL_SEED", 1) << 8 | number;
	model->seed = model->seed * 0x9e3779b97f4a7c15ULL | 1;
	model->steps = steps;
	model->fd = open_device(O_NONBLOCK);
	if (model->fd < 0 || device_info(model->fd, &info))
		return NULL;
	model->tick_ns = info.tick_ns;
	return model;
}

#define EXPECT_MODEL_RIGHT(model)							\
	EXPECT_STREQ("nothing", (model)->wrong ? (model)->wrong : "nothing") {		\
		TH_LOG("HTWHEEL_SEED=%lu, step %u", number_from_env("HTWHEEL_SEED", 1),	\
		       (model)->step);							\
	}

TEST(B37_all_kinds_at_random)
{
	struct model *model = make_model(0, scaled(8000));

	ASSERT_TRUE(!!model);
	run_model(model);
	EXPECT_MODEL_RIGHT(model);
	TH_LOG("armed %llu, fired %llu, cancelled %llu, replaced %llu, missed %llu",
	       (unsigned long long)model->armed, (unsigned long long)model->fired,
	       (unsigned long long)model->cancelled, (unsigned long long)model->replaced,
	       (unsigned long long)model->missed);
	close(model->fd);
}

TEST(B37_all_kinds_on_several_contexts_at_once)
{
	struct model *models[4];
	pthread_t threads[ARRAY_SIZE(models)];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(models); i++) {
		models[i] = make_model(1 + i, scaled(2000));
		ASSERT_TRUE(!!models[i]);
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, run_model, models[i]));
	}
	for (i = 0; i < ARRAY_SIZE(models); i++) {
		pthread_join(threads[i], NULL);
		EXPECT_MODEL_RIGHT(models[i]);
		close(models[i]->fd);
	}
}

TEST_HARNESS_MAIN
