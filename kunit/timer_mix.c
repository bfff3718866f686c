// SPDX-License-Identifier: GPL-2.0
/*
 * The live clock, and all features at once: threads that arm, move, keep, list, sweep, trim and
 * read the timers of one owner, periodic ones among them, while passes on all CPUs let them expire.
 * As in timer_live.c, nothing here fails because a machine is slow.
 */
#include <linux/mutex.h>
#include <linux/slab.h>

#include "period.h"
#include "timer_cases.h"

#define HANDS		4
#define SLOTS		400
#define ROUND_OPS	16
#define READ_EVENTS	16
#define TAGS		3
#define LOST_NS		(10ULL * NSEC_PER_SEC)

/**
 * struct mix_timer - what is known of a timer
 * @live: its name is good
 * @idle: its event has been read, and it was kept
 * @id: its name
 * @spec: how it was armed; its deadline is the present one
 */
struct mix_timer {
	bool			live;
	bool			idle;
	u64			id;
	struct htw_timer_spec	spec;
};

/**
 * struct mix - an owner of timers, and what it has to be like
 * @lock: serializes all use of it, as a context's does
 * @rig: the rig
 * @timers: the owner
 * @slot: its timers; user_data is the place in this array
 * @nr: how many are live
 * @nr_idle: how many of those are idle
 * @books: what has become of all
 * @shifted: how many were moved by a sweep
 * @listed: how many were listed
 * @entry: what was listed last
 */
struct mix {
	struct mutex		lock;
	struct htw_trig		*rig;
	struct htw_timers	*timers;
	struct mix_timer	slot[SLOTS];
	u32			nr;
	u32			nr_idle;
	struct htw_books	books;
	u64			shifted;
	u64			listed;
	struct htwheel_dump_entry entry[HTW_DUMP_STEP];
};

static void expect(struct mix *mix, const char *what, u64 got, u64 expected)
{
	htw_expect(&mix->rig->fault, what, got, expected);
}

static u64 live_ns(void)
{
	return htw_clock_now_ns(&htw_clock_monotonic);
}

static u64 random_deadline_ns(u64 *random, u64 now_ns)
{
	u64 delay_ns = htw_random_length(random, 21);

	return htw_random_below(random, 16) ? now_ns + delay_ns : now_ns - delay_ns;
}

static void mix_arm(struct mix *mix, u64 *random, struct htw_group *group, struct mix_timer *slot)
{
	struct htw_timer_spec *spec = &slot->spec;
	int ret;

	*spec = (struct htw_timer_spec){
		.deadline_ns	= random_deadline_ns(random, group->now_ns),
		.user_data	= slot - mix->slot,
		.tag		= htw_random_below(random, TAGS),
		.keep		= htw_random_below(random, 3) == 0,
	};
	if (htw_random_below(random, 2))
		spec->slack_ns = htw_random_length(random, 21);
	if (htw_random_below(random, 3) == 0) {
		spec->period_ns = htw_random_length(random, 22) + 1;
		spec->policy = htw_random_below(random, HTWHEEL_POLICY_DELAY + 1);
	}
	ret = htw_timer_arm(mix->timers, group, spec, &slot->id);
	expect(mix, "an arm succeeds", ret, 0);
	slot->live = !ret;
	mix->nr += slot->live;
	mix->books.armed += slot->live;
}

/* Of one that is idle the answer is known; of another one it may depend on the passes. */
static void check_answer(struct mix *mix, const struct mix_timer *slot, int ret)
{
	if (ret == HTWHEEL_RES_FIRED && live_ns() < slot->spec.deadline_ns)
		htw_blame(&mix->rig->fault, "fired, but too early", live_ns(),
			  slot->spec.deadline_ns);
	else if (slot->idle || ret != HTWHEEL_RES_FIRED)
		expect(mix, "answer about a live timer", ret, 0);
}

static void leave_idle(struct mix *mix, struct mix_timer *slot)
{
	mix->nr_idle -= slot->idle;
	slot->idle = false;
}

static void mix_cancel(struct mix *mix, struct htw_group *group, struct mix_timer *slot)
{
	u64 left_ns;

	check_answer(mix, slot, htw_timer_cancel(mix->timers, group, slot->id, &left_ns));
	mix->books.cancelled += !slot->idle;
	leave_idle(mix, slot);
	slot->live = false;
	mix->nr--;
}

static void mix_rearm(struct mix *mix, u64 *random, struct htw_group *group, struct mix_timer *slot)
{
	u64 deadline_ns = random_deadline_ns(random, group->now_ns);

	check_answer(mix, slot, htw_timer_rearm(mix->timers, group, slot->id, deadline_ns));
	slot->spec.deadline_ns = deadline_ns;
	mix->books.armed++;
	mix->books.replaced += !slot->idle;
	leave_idle(mix, slot);
}

static void mix_operate(struct mix *mix, u64 *random, struct htw_group *group)
{
	struct mix_timer *slot = &mix->slot[htw_random_below(random, SLOTS)];

	if (!slot->live)
		mix_arm(mix, random, group, slot);
	else if (htw_random_below(random, 3) == 0)
		mix_cancel(mix, group, slot);
	else
		mix_rearm(mix, random, group, slot);
}

static void mix_batch(struct mix *mix, u64 *random)
{
	struct htw_group group;
	u32 i;

	expect(mix, "there is memory", htw_timers_reserve(mix->timers, ROUND_OPS), 0);
	htw_group_begin(&group, mix->rig->engine);
	for (i = 0; i < ROUND_OPS; i++)
		mix_operate(mix, random, &group);
	htw_group_end(&group);
	htw_timers_flush(mix->timers);
}

/* What follows an event that was read at this moment. */
static void mix_next(struct mix *mix, struct mix_timer *slot, u64 count, u64 now_ns)
{
	struct htw_timer_spec *spec = &slot->spec;
	struct htw_turn turn = { .count = 1 };

	if (spec->period_ns)
		turn = htw_period_turn(spec->policy, spec->deadline_ns, spec->period_ns, now_ns);
	expect(mix, "count of an event", count, turn.count);
	mix->books.fired++;
	mix->books.missed += turn.count - 1;
	if (spec->period_ns) {
		spec->deadline_ns = turn.next_ns;
		mix->books.armed++;
	} else if (spec->keep) {
		slot->idle = true;
		mix->nr_idle++;
	} else {
		slot->live = false;
		mix->nr--;
	}
}

static void mix_receive(struct mix *mix, const struct htwheel_event *event, u64 now_ns)
{
	struct mix_timer *slot = &mix->slot[event->user_data % SLOTS];
	bool stays = slot->spec.period_ns || slot->spec.keep;

	expect(mix, "an event is of a live timer", slot->live && !slot->idle, true);
	expect(mix, "name in an event", event->id, slot->id);
	expect(mix, "tag in an event", event->tag, slot->spec.tag);
	expect(mix, "flags in an event", event->flags, stays ? HTWHEEL_EVENT_LIVE : 0);
	expect(mix, "deadline in an event", event->deadline_ns, slot->spec.deadline_ns);
	if (event->fired_ns < event->deadline_ns)
		htw_blame(&mix->rig->fault, "never early", event->fired_ns, event->deadline_ns);
	if (event->fired_ns > now_ns)
		htw_blame(&mix->rig->fault, "fired in the future", event->fired_ns, now_ns);
	if (slot->live && !slot->idle)
		mix_next(mix, slot, event->count, now_ns);
}

static u32 mix_read(struct mix *mix)
{
	struct htwheel_event events[READ_EVENTS];
	struct htw_timer *ready[READ_EVENTS];
	u64 now_ns;
	u32 i, nr;

	nr = htw_ready_peek(&mix->timers->ready, ready, READ_EVENTS);
	now_ns = live_ns();
	for (i = 0; i < nr; i++)
		htw_timer_event(ready[i], now_ns, &events[i]);
	htw_timer_deliver(mix->timers, ready, nr, now_ns);
	htw_timers_flush(mix->timers);
	for (i = 0; i < nr; i++)
		mix_receive(mix, &events[i], now_ns);
	return nr;
}

/*
 * The list is right. A timer may have been shifted just now, or may have escaped that by firing
 * before; returns how many have. Whatever it says, it is the truth from now on.
 */
static u64 mix_list(struct mix *mix, const struct htwheel_mass *shift)
{
	struct htwheel_dump_entry *entry = mix->entry;
	struct mix_timer *slot;
	u64 cursor = 0, moved = 0, listed = 0;
	bool meant;
	u32 i, nr;

	do {
		nr = htw_sweep_dump(mix->timers, &cursor, entry, HTW_DUMP_STEP);
		for (i = 0; i < nr; i++) {
			slot = &mix->slot[entry[i].user_data % SLOTS];
			expect(mix, "a listed timer is live", slot->live, true);
			expect(mix, "name in a list", entry[i].id, slot->id);
			expect(mix, "idle in a list", entry[i].state == HTWHEEL_STATE_IDLE,
			       slot->idle);
			expect(mix, "period in a list", entry[i].period_ns, slot->spec.period_ns);
			if (entry[i].deadline_ns == slot->spec.deadline_ns)
				continue;
			meant = shift && shift->tag == slot->spec.tag && !slot->idle;
			expect(mix, "deadline in a list", entry[i].deadline_ns,
			       slot->spec.deadline_ns + (meant ? shift->shift_ns : 0));
			slot->spec.deadline_ns = entry[i].deadline_ns;
			moved++;
		}
		listed += nr;
	} while (cursor);
	expect(mix, "listed timers", listed, mix->nr);
	mix->listed += listed;
	return moved;
}

static void mix_shift(struct mix *mix, u64 *random)
{
	struct htwheel_mass mass = {
		.flags		= HTWHEEL_MASS_TAG,
		.opcode		= HTWHEEL_MASS_SHIFT,
		.tag		= htw_random_below(random, TAGS),
		.shift_ns	= htw_random_length(random, 20) + 1,
	};
	u64 done;

	if (htw_random_below(random, 2))
		mass.shift_ns = -mass.shift_ns;
	done = htw_trig_mass(mix->timers, &mass);
	expect(mix, "shifted timers", mix_list(mix, &mass), done);
	mix->books.armed += done;
	mix->books.replaced += done;
	mix->shifted += done;
}

static void mix_check(struct mix *mix)
{
	struct htw_timers *timers = mix->timers;

	expect(mix, "books balance", htw_trig_balanced(timers), true);
	expect(mix, "live timers", timers->pool.live, mix->nr);
	expect(mix, "idle timers", timers->idle, mix->nr_idle);
	expect(mix, "timers of the user", htw_user_timers(timers->user), mix->nr);
	expect(mix, "books are right",
	       memcmp(&timers->books, &mix->books, sizeof(mix->books)), 0);
}

static void mix_round(struct htw_hand *hand)
{
	struct mix *mix = hand->crew->data;

	mutex_lock(&mix->lock);
	switch (htw_random_below(&hand->random, 32)) {
	case 0:
		mix_shift(mix, &hand->random);
		break;
	case 1:
		expect(mix, "nothing has moved", mix_list(mix, NULL), 0);
		break;
	case 2:
		htw_trig_trim(mix->timers);
		break;
	case 3 ... 12:
		mix_read(mix);
		break;
	default:
		mix_batch(mix, &hand->random);
	}
	mix_check(mix);
	mutex_unlock(&mix->lock);
}

/* What is periodic would never end. */
static void end_periodic_ones(struct mix *mix)
{
	struct mix_timer *slot;
	struct htw_group group;

	for (slot = mix->slot; slot < mix->slot + SLOTS; slot++) {
		if (!slot->live || !slot->spec.period_ns)
			continue;
		htw_group_begin(&group, mix->rig->engine);
		mix_cancel(mix, &group, slot);
		htw_group_end(&group);
	}
	htw_timers_flush(mix->timers);
}

/* Nobody works any more: all that is armed fires, once, and what is left is idle. */
static void mix_close(struct mix *mix)
{
	struct htwheel_mass mass = { .opcode = HTWHEEL_MASS_CANCEL };
	struct htw_timers *timers = mix->timers;
	struct kunit *test = mix->rig->test;
	u64 since_ns = live_ns();

	end_periodic_ones(mix);
	while (mix->nr > mix->nr_idle && live_ns() - since_ns < LOST_NS) {
		wait_event_interruptible_timeout(timers->ready.wait,
						 READ_ONCE(timers->ready.readable),
						 nsecs_to_jiffies(LOST_NS));
		mix_read(mix);
	}
	mix_check(mix);
	htw_fault_report(test, &mix->rig->fault);
	KUNIT_EXPECT_EQ_MSG(test, mix->nr, mix->nr_idle, "lost timers");
	KUNIT_EXPECT_EQ(test, htw_trig_queued(mix->rig), 0);
	KUNIT_EXPECT_EQ(test, timers->ready.nr, 0);
	KUNIT_EXPECT_FALSE(test, timers->ready.readable);
	KUNIT_EXPECT_EQ(test, htw_trig_mass(timers, &mass), mix->nr);
	KUNIT_EXPECT_EQ(test, htw_user_timers(timers->user), 0);
	/* Timers that are retired may hold some memory, and with it the room in the queues. */
	htw_trig_trim(timers);
	KUNIT_EXPECT_EQ(test, mix->rig->engine->reserved,
			mix->rig->design->reserve ?
			timers->pool.nr_chunks * (HTW_CHUNK_PLACES - 1) : 0);
}

static void run_mix(struct kunit *test, const struct htw_engine_config *config,
		    struct htw_wake_policy policy)
{
	struct htw_timers_config choices = { .policy = policy };
	struct mix *mix = kunit_kzalloc(test, sizeof(*mix), GFP_KERNEL);
	struct htw_crew *crew = htw_crew_new(test, mix_round, mix);
	u64 rounds;

	KUNIT_ASSERT_NOT_NULL(test, mix);
	htw_need_cpus(test, 2);
	mutex_init(&mix->lock);
	mix->rig = config ? htw_trig_open(test, config) : htw_trig_open_live(test);
	mix->timers = htw_trig_own(mix->rig, SLOTS);
	KUNIT_ASSERT_EQ(test, htw_timers_setup(mix->timers, mix->rig->engine, &choices), 0);
	rounds = htw_crew_run(test, crew, HANDS, htw_timer_ms / 2, htw_timer_seed);
	mix_close(mix);
	KUNIT_EXPECT_GT(test, mix->books.fired, 0);
	kunit_info(test, "%llu rounds, %llu events, %llu missed, %llu shifted, %llu listed\n",
		   rounds, mix->books.fired, mix->books.missed, mix->shifted, mix->listed);
}

static void live_all_features(struct kunit *test)
{
	run_mix(test, NULL, (struct htw_wake_policy){});
}

/* With a wake-up policy, ticks of a microsecond, and passes that stop all the time. */
static void live_all_features_in_small_passes(struct kunit *test)
{
	struct htw_wake_policy policy = { .events = 12, .delay_ns = 200 * NSEC_PER_USEC };
	struct htw_engine_config config = htw_trig_config(test);

	config.clock = &htw_clock_monotonic;
	config.tick_shift = 10;
	config.budget_timers = 5;
	run_mix(test, &config, policy);
}

const struct htw_case htw_timer_cases_mix[] = {
	HTW_CASE(live_all_features),
	HTW_CASE(live_all_features_in_small_passes),
	{}
};
