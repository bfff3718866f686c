// SPDX-License-Identifier: GPL-2.0
/*
 * Thirty days in the life of a device, in a minute: for a guest with time travel, whose clock jumps
 * to the next timer when there is nothing to do.
 *
 * There the CPU is never late, so what a guest of the ordinary kind can only print is checked here:
 * each event in its tick, each heartbeat, to the last one, after a month. Needs HTWHEEL_TRAVEL in
 * the environment; a machine with an ordinary clock would be busy for thirty days.
 */
#include "harness.h"
#include "turns.h"

#define DAY_S		86400U
#define DAY_NS		(DAY_S * NS_PER_S)
#define MINUTE_NS	(60 * NS_PER_S)

/* The reader works in no time, but each reading of the clock moves it a little. */
#define READING_NS	(100 * NS_PER_US)

#define NR_BEATS	100U
#define NR_ONCE		1000U
#define NR_IDLE		300U
#define NR_KEPT		50U

/* What an actor does when its event was read. */
enum role {
	/* Is armed again by itself. */
	ROLE_BEAT,
	/* As a beat, and pushes the idle timeouts back. */
	ROLE_TRAFFIC,
	/* Comes once; so do the idle timeouts, when the traffic has ended. */
	ROLE_ONCE,
	ROLE_IDLE,
	/* Is re-armed by name. */
	ROLE_KEPT,
};

/* A timer, and the bounds of its next deadline. They are equal, unless it is a beat with DELAY. */
struct actor {
	uint64_t	id;
	uint64_t	first_ns;
	uint64_t	due_min_ns;
	uint64_t	due_max_ns;
	uint64_t	period_ns;
	uint64_t	slack_ns;
	uint64_t	events;
	uint64_t	turns;
	enum role	role;
	uint16_t	policy;
	/* There is an event to come. */
	bool		live;
};

struct device {
	struct actor	actors[NR_BEATS + 1 + NR_ONCE + NR_IDLE + NR_KEPT];
	uint32_t	nr;
	uint32_t	first_idle;
	uint64_t	tick_ns;
	uint64_t	traffic_ends_ns;
	uint64_t	seed;
	int		fd;

	/* The books, and what was noticed. */
	uint64_t	armed;
	uint64_t	fired;
	uint64_t	replaced;
	uint64_t	missed;
	uint64_t	worst_fired_ns;
	uint64_t	worst_read_ns;
	const char	*wrong;
	uint32_t	wrong_actor;
};

FIXTURE(days) {
	struct device *device;
};

FIXTURE_SETUP(days)
{
	struct htwheel_info info;

	if (!getenv("HTWHEEL_TRAVEL"))
		SKIP(return, "HTWHEEL_TRAVEL is not set: time goes by as usual");
	self->device = calloc(1, sizeof(*self->device));
	ASSERT_TRUE(!!self->device);
	self->device->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->device->fd);
	ASSERT_EQ(0, device_info(self->device->fd, &info));
	self->device->tick_ns = info.tick_ns;
	self->device->seed = 0x9e3779b97f4a7c15ULL ^ number_from_env("HTWHEEL_SEED", 1);
}

FIXTURE_TEARDOWN(days)
{
	close(self->device->fd);
	free(self->device);
}

static void note(struct device *device, const struct actor *actor, const char *wrong)
{
	if (device->wrong)
		return;
	device->wrong = wrong;
	device->wrong_actor = actor - device->actors;
}

/* A new actor, whose timer is armed for an exact time. */
static struct actor *add_actor(struct device *device, enum role role, uint64_t first_ns,
			       struct htwheel_op op)
{
	struct actor *actor = &device->actors[device->nr];

	op.flags |= HTWHEEL_ABSOLUTE;
	op.time_ns = first_ns;
	op.user_data = device->nr++;
	*actor = (struct actor){
		.first_ns = first_ns,
		.due_min_ns = first_ns,
		.due_max_ns = first_ns,
		.period_ns = op.period_ns,
		.slack_ns = op.slack_ns,
		.role = role,
		.policy = op.policy,
		.live = true,
	};
	device->armed++;
	if (arm_like(device->fd, op, &actor->id))
		note(device, actor, "arm failed");
	return actor;
}

/* The traffic of a moment: all idle timeouts begin anew. */
static void push_back(struct device *device, uint64_t now)
{
	struct htwheel_op ops[NR_IDLE];
	struct actor *actor;
	uint32_t i;

	for (i = 0; i < NR_IDLE; i++) {
		actor = &device->actors[device->first_idle + i];
		actor->due_min_ns = now + 15 * MINUTE_NS + i;
		actor->due_max_ns = actor->due_min_ns;
		ops[i] = (struct htwheel_op){
			.opcode = HTWHEEL_OP_REARM,
			.flags = HTWHEEL_ABSOLUTE,
			.id = actor->id,
			.time_ns = actor->due_min_ns,
		};
	}
	if (submit_all(device->fd, ops, NR_IDLE))
		note(device, actor, "the call failed");
	for (i = 0; i < NR_IDLE; i++)
		if (ops[i].result)
			note(device, &device->actors[device->first_idle + i], "pushed too late");
	device->armed += NR_IDLE;
	device->replaced += NR_IDLE;
}

static void rearm_kept(struct device *device, struct actor *actor, uint64_t now)
{
	actor->due_min_ns = now + HOUR_NS + chance_below(&device->seed, 3 * HOUR_NS);
	actor->due_max_ns = actor->due_min_ns;
	if (rearm_at(device->fd, actor->id, actor->due_min_ns))
		note(device, actor, "re-arm from idle");
	device->armed++;
}

static void take_turn(struct device *device, struct actor *actor,
		      const struct htwheel_event *event, uint64_t before_ns, uint64_t after_ns)
{
	device->armed++;
	actor->due_min_ns = event->deadline_ns;
	actor->due_max_ns = event->deadline_ns;
	if (actor->policy == HTWHEEL_POLICY_DELAY) {
		actor->due_min_ns = before_ns;
		actor->due_max_ns = after_ns;
	}
	actor->due_min_ns += event->count * actor->period_ns;
	actor->due_max_ns += event->count * actor->period_ns;
}

/* A reader who is there at once misses no period, so the count is 1 for every policy. */
static void judge(struct device *device, const struct htwheel_event *event, uint64_t before_ns,
		  uint64_t after_ns)
{
	struct actor *actor = &device->actors[event->user_data % device->nr];
	uint64_t late_ns = event->fired_ns - event->deadline_ns;

	if (event->user_data >= device->nr || event->id != actor->id || !actor->live)
		note(device, actor, "an event of nobody");
	if (event->deadline_ns < actor->due_min_ns || event->deadline_ns > actor->due_max_ns)
		note(device, actor, "deadline");
	if (event->fired_ns < event->deadline_ns)
		note(device, actor, "early");
	if (event->count != 1)
		note(device, actor, "count");
	late_ns -= late_ns < actor->slack_ns ? late_ns : actor->slack_ns;
	if (late_ns > device->worst_fired_ns)
		device->worst_fired_ns = late_ns;
	if (after_ns - event->fired_ns > device->worst_read_ns)
		device->worst_read_ns = after_ns - event->fired_ns;
	if (late_ns >= device->tick_ns)
		note(device, actor, "late");
	if (after_ns - event->fired_ns > READING_NS)
		note(device, actor, "read late");

	device->fired++;
	device->missed += event->count - 1;
	actor->events++;
	actor->turns += event->count;
	actor->live = actor->role != ROLE_ONCE && actor->role != ROLE_IDLE;
	if (actor->role == ROLE_KEPT)
		rearm_kept(device, actor, event->deadline_ns);
	else if (actor->live)
		take_turn(device, actor, event, before_ns, after_ns);
	if (actor->role == ROLE_TRAFFIC && event->deadline_ns < device->traffic_ends_ns)
		push_back(device, event->deadline_ns);
}

/* The loop of a program: wait, read, act; up to a moment. */
static void live_until(struct device *device, uint64_t end_ns)
{
	struct htwheel_event events[64];
	uint64_t before_ns, after_ns;
	int i, nr;

	while (!device->wrong && now_ns() < end_ns) {
		if (!poll_for(device->fd, end_ns - now_ns()))
			continue;
		before_ns = now_ns();
		nr = read_events(device->fd, events, ARRAY_SIZE(events));
		after_ns = now_ns();
		if (nr <= 0)
			note(device, device->actors, "readable, and nothing to read");
		for (i = 0; i < nr; i++)
			judge(device, &events[i], before_ns, after_ns);
	}
}

static void add_beats(struct device *device, uint64_t start_ns)
{
	uint64_t period_ns;
	uint32_t i;

	for (i = 0; i < NR_BEATS; i++) {
		/* More of the slow ones: the fast ones make the work. */
		period_ns = 30 * NS_PER_S + (HOUR_NS - 30 * NS_PER_S) * i * (2 * NR_BEATS - i) /
			    (NR_BEATS * NR_BEATS);
		add_actor(device, ROLE_BEAT, start_ns + i * NS_PER_S + i, (struct htwheel_op){
			.flags = HTWHEEL_PERIODIC,
			.policy = i % 4,
			.period_ns = period_ns,
			.slack_ns = i % 5 ? 0 : period_ns / 10,
		});
	}
	add_actor(device, ROLE_TRAFFIC, start_ns + MINUTE_NS, (struct htwheel_op){
		.flags = HTWHEEL_PERIODIC,
		.period_ns = 5 * MINUTE_NS,
	});
}

/* Around each border of a wheel with 64 slots a level, and anywhere between. */
static uint64_t some_delay_ns(struct device *device, uint32_t i)
{
	static const int around[] = { -1, 0, 1 };
	uint64_t delay_ns = device->tick_ns << (i / ARRAY_SIZE(around) % 33);

	if (i < 33 * ARRAY_SIZE(around) && delay_ns < 30 * DAY_NS)
		return delay_ns + around[i % ARRAY_SIZE(around)];
	delay_ns = 30 * DAY_NS >> chance_below(&device->seed, 30);
	return chance_below(&device->seed, delay_ns);
}

static void add_once(struct device *device, uint64_t start_ns)
{
	uint32_t i;

	for (i = 0; i < NR_ONCE; i++)
		add_actor(device, ROLE_ONCE, start_ns + some_delay_ns(device, i),
			  (struct htwheel_op){
				.slack_ns = i % 3 ? 0 : chance_below(&device->seed, 10 * MINUTE_NS),
			  });
}

/* How often a beat must have come by then; DELAY drifts, by as much as its events are late. */
static bool beat_is_complete(const struct device *device, const struct actor *actor,
			     uint64_t end_ns)
{
	uint64_t least = turns_by(actor->first_ns, actor->period_ns, end_ns);
	uint64_t most = turns_by(actor->first_ns, actor->period_ns, now_ns());
	uint64_t longest_ns = actor->period_ns + actor->slack_ns + device->tick_ns + READING_NS;

	if (actor->policy == HTWHEEL_POLICY_DELAY)
		least = turns_by(actor->first_ns, longest_ns, end_ns);
	return actor->turns >= least && actor->turns <= most;
}

TEST_F_TIMEOUT(days, thirty_days, 100 * DAY_S)
{
	struct device *device = self->device;
	uint64_t start_ns = now_ns() + NS_PER_S, end_ns = start_ns + 30 * DAY_NS, cancelled = 0;
	struct htwheel_stats stats;
	struct actor *actor;
	uint32_t i;

	add_beats(device, start_ns);
	add_once(device, start_ns);
	device->traffic_ends_ns = start_ns + 29 * DAY_NS;
	device->first_idle = device->nr;
	for (i = 0; i < NR_IDLE; i++)
		add_actor(device, ROLE_IDLE, start_ns + 15 * MINUTE_NS, (struct htwheel_op){
			.flags = 0,
		});
	for (i = 0; i < NR_KEPT; i++)
		add_actor(device, ROLE_KEPT, start_ns + i * MINUTE_NS, (struct htwheel_op){
			.flags = HTWHEEL_KEEP,
		});
	/* What is due at the very end has another tick. */
	live_until(device, end_ns + device->tick_ns);
	ASSERT_STREQ("nothing", device->wrong ? device->wrong : "nothing") {
		TH_LOG("actor %u: %llu events, due at %llu", device->wrong_actor,
		       (unsigned long long)device->actors[device->wrong_actor].events,
		       (unsigned long long)device->actors[device->wrong_actor].due_min_ns);
	}
	TH_LOG("%llu events, %llu re-arms, fired at most %llu ns late, read after %llu ns",
	       (unsigned long long)device->fired, (unsigned long long)device->replaced,
	       (unsigned long long)device->worst_fired_ns,
	       (unsigned long long)device->worst_read_ns);
	TH_LOG("%llu s on the clock", (unsigned long long)(now_ns() / NS_PER_S));

	ASSERT_EQ(0, device_stats(device->fd, &stats));
	EXPECT_EQ(0, stats.expired);
	for (i = 0; i < device->nr; i++) {
		actor = &device->actors[i];
		/* Nothing is left that should have come. */
		if (actor->live)
			EXPECT_LE(end_ns, actor->due_max_ns + actor->slack_ns + device->tick_ns);
		if (actor->role == ROLE_ONCE || actor->role == ROLE_IDLE)
			EXPECT_EQ(!actor->live, actor->events);
		if (actor->period_ns && actor->policy != HTWHEEL_POLICY_DELAY)
			EXPECT_EQ(actor->first_ns + actor->turns * actor->period_ns,
				  actor->due_min_ns);
		/* What came due within the slack before the end may come after it. */
		if (actor->period_ns && !actor->slack_ns)
			EXPECT_TRUE(beat_is_complete(device, actor, end_ns));
		if (!actor->live)
			continue;
		ASSERT_EQ(0, cancel(device->fd, actor->id, NULL));
		cancelled++;
	}
	ASSERT_EQ(0, device_stats(device->fd, &stats));
	EXPECT_TRUE(books_balance(&stats));
	EXPECT_EQ(device->armed, stats.armed);
	EXPECT_EQ(device->fired, stats.fired);
	EXPECT_EQ(device->replaced, stats.replaced);
	EXPECT_EQ(cancelled, stats.cancelled);
	EXPECT_EQ(device->missed, stats.missed);
	EXPECT_EQ(0, stats.pending);
	EXPECT_EQ(0, stats.idle);
	EXPECT_EQ(0, stats.queued);
}

/* Beyond every level that a month needs: what is left is right at once and after a month. */
TEST_F_TIMEOUT(days, years, 100 * DAY_S)
{
	const uint64_t delays_ns[] = { 365 * DAY_NS, 14610 * DAY_NS, 106751 * DAY_NS };
	uint64_t ids[ARRAY_SIZE(delays_ns)], deadlines_ns[ARRAY_SIZE(delays_ns)];
	uint64_t before_ns, after_ns, left_ns;
	int fd = self->device->fd;
	unsigned int round;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(delays_ns); i++) {
		deadlines_ns[i] = now_ns() + delays_ns[i];
		if (deadlines_ns[i] >= HTWHEEL_NEVER_NS)
			deadlines_ns[i] = HTWHEEL_NEVER_NS - 1;
		ASSERT_EQ(0, arm_at(fd, deadlines_ns[i], i, &ids[i]));
	}
	for (round = 0; round < 2; round++) {
		for (i = 0; i < ARRAY_SIZE(delays_ns); i++) {
			before_ns = now_ns();
			ASSERT_EQ(0, query(fd, ids[i], &left_ns));
			after_ns = now_ns();
			EXPECT_GE(deadlines_ns[i] - before_ns, left_ns);
			EXPECT_LE(deadlines_ns[i] - after_ns, left_ns);
		}
		EXPECT_EQ(0, poll_for(fd, 20 * DAY_NS));
	}
}

TEST_HARNESS_MAIN
