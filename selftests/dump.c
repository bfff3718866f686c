// SPDX-License-Identifier: GPL-2.0
/*
 * HTWHEEL_IOC_DUMP: every timer once, and what is said of it in each state of its life.
 */
#include "harness.h"
#include "crew.h"
#include "many.h"

#define NEVER	HTWHEEL_NEVER_NS

FIXTURE(dump) {
	struct htwheel_info info;
	int fd;
};

FIXTURE_SETUP(dump)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	if (~self->info.features & (HTWHEEL_FEAT_DUMP | HTWHEEL_FEAT_TAG | HTWHEEL_FEAT_KEEP |
				    HTWHEEL_FEAT_PERIODIC | HTWHEEL_FEAT_SLACK))
		SKIP(return, "the module lacks a feature");
}

FIXTURE_TEARDOWN(dump)
{
	close(self->fd);
}

static int arm_op(int fd, struct htwheel_op op, uint64_t *id)
{
	int ret;

	op.opcode = HTWHEEL_OP_ARM;
	ret = submit_one(fd, &op);
	*id = op.id;
	return ret;
}

/* The whole context, in pieces of sizes that do not fit to anything in the pool. */
TEST_F(dump, B83_each_timer_once_after_growth)
{
	static const uint32_t pieces[] = { 7, 61, 333, 4095 };
	const uint32_t nr = scaled(100000);
	struct htwheel_dump_entry *entries = calloc(nr, sizeof(*entries));
	uint64_t *ids = calloc(nr, sizeof(*ids));
	struct htwheel_stats stats;
	uint32_t i, batch;
	size_t p;

	ASSERT_TRUE(entries && ids);
	for (i = 0; i < nr; i += batch) {
		batch = 1 + i / 3 < nr - i ? 1 + i / 3 : nr - i;
		ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){ .time_ns = HOUR_NS }, i,
				      batch, NS_PER_MS, ids));
	}
	for (p = 0; p < ARRAY_SIZE(pieces); p++) {
		ASSERT_EQ(nr, dump_by_number(self->fd, entries, nr, pieces[p])) {
			TH_LOG("pieces of %u", pieces[p]);
		}
		for (i = 0; i < nr; i++)
			ASSERT_EQ(ids[i], entries[i].id);
	}
	/* The names that were listed, not those that were given. */
	for (i = 0; i < nr; i++)
		ids[i] = entries[i].id;
	EXPECT_EQ(nr, cancel_many(self->fd, ids, nr));
	EXPECT_EQ(nr, count_results(self->fd, HTWHEEL_OP_CANCEL, ids, nr, -ENOENT));
	EXPECT_EQ(0, dump_by_number(self->fd, entries, nr, 512));
	ASSERT_TRUE(books_are_right(self->fd, &stats));
	EXPECT_EQ(0, stats.pending);
	free(entries);
	free(ids);
}

TEST_F(dump, one_at_a_time)
{
	struct htwheel_dump_entry entries[500];
	uint64_t ids[500];
	uint32_t i;

	ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){ .time_ns = HOUR_NS }, 0, 500, 0,
			      ids));
	/* Gaps of all kinds. */
	for (i = 0; i < 500; i++)
		if (i % 7 == 3 || (i > 100 && i < 300))
			ASSERT_EQ(0, cancel(self->fd, ids[i], NULL));
	ASSERT_LT(0, dump_by_number(self->fd, entries, 500, 1));
	for (i = 0; i < 500; i++)
		EXPECT_EQ(i % 7 == 3 || (i > 100 && i < 300) ? 0 : ids[i], entries[i].id);
}

/* What must be so of a timer that is not armed. */
static bool is_nowhere(const struct htwheel_dump_entry *entry)
{
	return !entry->left_ns && !entry->cpu && !entry->level && !entry->slot;
}

TEST_F(dump, armed_timer)
{
	struct htwheel_dump_entry entry;
	uint64_t id, from_ns, to_ns, most_ns, least_ns;

	from_ns = now_ns();
	ASSERT_EQ(0, arm_op(self->fd, (struct htwheel_op){
		.time_ns = HOUR_NS, .user_data = UINT64_MAX, .tag = UINT32_MAX,
	}, &id));
	to_ns = now_ns();
	ASSERT_EQ(0, query(self->fd, id, &most_ns));
	ASSERT_EQ(0, dump_one(self->fd, id, &entry));
	ASSERT_EQ(0, query(self->fd, id, &least_ns));
	EXPECT_EQ(UINT64_MAX, entry.user_data);
	EXPECT_LE(from_ns + HOUR_NS, entry.deadline_ns);
	EXPECT_GE(to_ns + HOUR_NS, entry.deadline_ns);
	EXPECT_GE(most_ns, entry.left_ns);
	EXPECT_LE(least_ns, entry.left_ns);
	EXPECT_EQ(0, entry.period_ns);
	EXPECT_EQ(0, entry.slack_ns);
	EXPECT_EQ(UINT32_MAX, entry.tag);
	EXPECT_EQ(0, entry.flags);
	EXPECT_EQ(HTWHEEL_STATE_ARMED, entry.state);
	EXPECT_EQ(0, entry.policy);
}

/* A new deadline; all else is as it was armed. */
TEST_F(dump, rearmed_timer)
{
	struct htwheel_dump_entry before, after;
	const uint64_t due_ns = now_ns() + 5 * HOUR_NS;
	uint64_t id;

	ASSERT_EQ(0, arm_op(self->fd, (struct htwheel_op){
		.flags = HTWHEEL_PERIODIC | HTWHEEL_KEEP, .time_ns = HOUR_NS, .user_data = 5,
		.tag = 6, .period_ns = 7, .slack_ns = NS_PER_S, .policy = HTWHEEL_POLICY_SKIP,
	}, &id));
	ASSERT_EQ(0, dump_one(self->fd, id, &before));
	ASSERT_EQ(0, rearm_at(self->fd, id, due_ns));
	ASSERT_EQ(0, dump_one(self->fd, id, &after));
	EXPECT_EQ(due_ns, after.deadline_ns);
	before.deadline_ns = after.deadline_ns;
	before.left_ns = after.left_ns;
	before.cpu = after.cpu;
	before.level = after.level;
	before.slot = after.slot;
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(after)));
}

TEST_F(dump, fired_timer)
{
	struct htwheel_dump_entry entry;
	uint64_t id;

	ASSERT_EQ(0, arm_op(self->fd, (struct htwheel_op){
		.flags = HTWHEEL_ABSOLUTE, .time_ns = 77, .user_data = 5, .tag = 6,
	}, &id));
	ASSERT_TRUE(is_readable(self->fd));
	ASSERT_EQ(0, dump_one(self->fd, id, &entry));
	EXPECT_EQ(5, entry.user_data);
	EXPECT_EQ(77, entry.deadline_ns);
	EXPECT_EQ(6, entry.tag);
	EXPECT_EQ(0, entry.flags);
	EXPECT_EQ(HTWHEEL_STATE_FIRED, entry.state);
	EXPECT_TRUE(is_nowhere(&entry));
}

/* It was in a queue, and fired there. */
TEST_F(dump, timer_that_fired_in_its_time)
{
	const uint64_t due_ns = now_ns() + 5 * NS_PER_MS;
	struct htwheel_dump_entry entry;
	uint64_t id;

	ASSERT_EQ(0, arm_at(self->fd, due_ns, 5, &id));
	ASSERT_TRUE(wait_readable(self->fd));
	ASSERT_EQ(0, dump_one(self->fd, id, &entry));
	EXPECT_EQ(due_ns, entry.deadline_ns);
	EXPECT_EQ(HTWHEEL_STATE_FIRED, entry.state);
	EXPECT_TRUE(is_nowhere(&entry));
}

TEST_F(dump, idle_timer)
{
	struct htwheel_dump_entry entry;
	struct htwheel_event event;
	uint64_t id;

	ASSERT_EQ(0, arm_op(self->fd, (struct htwheel_op){
		.flags = HTWHEEL_ABSOLUTE | HTWHEEL_KEEP, .time_ns = 77, .user_data = 5, .tag = 6,
	}, &id));
	ASSERT_EQ(0, next_event(self->fd, &event));
	ASSERT_EQ(HTWHEEL_EVENT_LIVE, event.flags);
	ASSERT_EQ(0, dump_one(self->fd, id, &entry));
	EXPECT_EQ(5, entry.user_data);
	EXPECT_EQ(77, entry.deadline_ns);
	EXPECT_EQ(6, entry.tag);
	EXPECT_EQ(HTWHEEL_KEEP, entry.flags);
	EXPECT_EQ(HTWHEEL_STATE_IDLE, entry.state);
	EXPECT_TRUE(is_nowhere(&entry));
	/* Armed again, it is somewhere again. */
	ASSERT_EQ(0, rearm_in(self->fd, id, HOUR_NS));
	ASSERT_EQ(0, dump_one(self->fd, id, &entry));
	EXPECT_EQ(HTWHEEL_STATE_ARMED, entry.state);
	EXPECT_LT(HOUR_NS / 2, entry.left_ns);
}

TEST_F(dump, ended_timers_are_not_listed)
{
	struct htwheel_dump_entry entry;
	struct htwheel_event event;
	uint64_t id;

	ASSERT_EQ(0, arm_at(self->fd, 1, 0, &id));
	ASSERT_EQ(0, next_event(self->fd, &event));
	EXPECT_EQ(-ENOENT, dump_one(self->fd, id, &entry));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 0, &id));
	ASSERT_EQ(0, cancel(self->fd, id, NULL));
	EXPECT_EQ(-ENOENT, dump_one(self->fd, id, &entry));
}

/* Through armed, fired and armed again, with each policy and with KEEP, which changes nothing. */
TEST_F(dump, periodic_timers)
{
	const uint64_t period_ns = 40 * NS_PER_S;
	struct htwheel_dump_entry entry;
	struct htwheel_event event;
	uint64_t id, due_ns;
	uint16_t policy;
	uint32_t keep;

	for (policy = 0; policy <= HTWHEEL_POLICY_DELAY; policy++) {
		for (keep = 0; keep <= HTWHEEL_KEEP; keep += HTWHEEL_KEEP) {
			due_ns = now_ns() + 5 * NS_PER_MS;
			ASSERT_EQ(0, arm_op(self->fd, (struct htwheel_op){
				.flags = HTWHEEL_ABSOLUTE | HTWHEEL_PERIODIC | keep,
				.policy = policy, .time_ns = due_ns, .period_ns = period_ns,
			}, &id));
			ASSERT_EQ(0, dump_one(self->fd, id, &entry));
			EXPECT_EQ(due_ns, entry.deadline_ns);
			EXPECT_EQ(HTWHEEL_PERIODIC | keep, entry.flags);
			EXPECT_EQ(policy, entry.policy);
			EXPECT_EQ(period_ns, entry.period_ns);
			ASSERT_TRUE(wait_readable(self->fd));
			ASSERT_EQ(0, dump_one(self->fd, id, &entry));
			EXPECT_EQ(HTWHEEL_STATE_FIRED, entry.state);
			EXPECT_EQ(due_ns, entry.deadline_ns);
			EXPECT_TRUE(is_nowhere(&entry));
			ASSERT_EQ(0, next_event(self->fd, &event));
			ASSERT_EQ(0, dump_one(self->fd, id, &entry));
			EXPECT_EQ(HTWHEEL_STATE_ARMED, entry.state);
			EXPECT_LT(now_ns(), entry.deadline_ns);
			if (policy != HTWHEEL_POLICY_DELAY)
				EXPECT_EQ(0, (entry.deadline_ns - due_ns) % period_ns);
			ASSERT_EQ(0, cancel(self->fd, id, NULL));
		}
	}
}

TEST_F(dump, B51_timer_that_never_comes)
{
	struct htwheel_dump_entry entry;
	uint64_t id, most_ns, least_ns;

	ASSERT_EQ(0, arm_in(self->fd, NEVER, 0, &id));
	ASSERT_EQ(0, query(self->fd, id, &most_ns));
	ASSERT_EQ(0, dump_one(self->fd, id, &entry));
	ASSERT_EQ(0, query(self->fd, id, &least_ns));
	EXPECT_EQ(NEVER, entry.deadline_ns);
	EXPECT_EQ(HTWHEEL_STATE_ARMED, entry.state);
	EXPECT_GE(most_ns, entry.left_ns);
	EXPECT_LE(least_ns, entry.left_ns);
}

/* Whole ticks, and no more of them than 32 bits hold. */
TEST_F(dump, slack_as_it_is_used)
{
	const uint64_t tick_ns = self->info.tick_ns, most_ns = UINT32_MAX * tick_ns;
	const uint64_t slacks[] = {
		0, 1, tick_ns - 1, tick_ns, tick_ns + 1, 1000 * tick_ns + 7, most_ns - 1, most_ns,
		most_ns + tick_ns, NEVER,
	};
	struct htwheel_dump_entry entry;
	uint64_t id, used_ns;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(slacks); i++) {
		ASSERT_EQ(0, arm_op(self->fd, (struct htwheel_op){
			.time_ns = HOUR_NS, .slack_ns = slacks[i],
		}, &id));
		ASSERT_EQ(0, dump_one(self->fd, id, &entry));
		used_ns = slacks[i] / tick_ns * tick_ns;
		EXPECT_EQ(used_ns < most_ns ? used_ns : most_ns, entry.slack_ns) {
			TH_LOG("slack %llu", (unsigned long long)slacks[i]);
		}
	}
}

/* Where a timer is, for delays of all sizes and from all CPUs. */
TEST_F(dump, places_are_plausible)
{
	const bool wheel = self->info.levels;
	struct htwheel_dump_entry entries[256];
	unsigned int i, cpu;
	int nr;

	for (i = 0; i < 252; i++) {
		cpu = i % nr_cpus();
		ASSERT_EQ(0, pin_to(cpu));
		ASSERT_EQ(0, arm_in(self->fd, (NS_PER_S << i / 4 % 33) + HOUR_NS, i, NULL));
	}
	nr = dump_all(self->fd, entries, 256);
	ASSERT_EQ(252, nr);
	for (i = 0; i < 252; i++) {
		EXPECT_GT(sysconf(_SC_NPROCESSORS_CONF), entries[i].cpu);
		EXPECT_GT(wheel ? self->info.levels : 64, entries[i].level);
		EXPECT_GT(wheel ? self->info.slots : 252, entries[i].slot);
	}
}

struct churner {
	int		fd;
	uint64_t	wrong;
};

static void churn(void *arg)
{
	struct htwheel_op like = { .time_ns = HOUR_NS };
	struct churner *churner = arg;
	uint64_t ids[1300];

	churner->wrong += arm_many(churner->fd, &like, 1000, 300, 0, ids) != 0;
	churner->wrong += cancel_many(churner->fd, ids + 1000, 300) != 300;
}

/* A walk of a context that changes: those that live throughout are there, and no name twice. */
static const char *check_walk(int fd, const uint64_t *live, uint32_t nr, uint32_t piece)
{
	static struct htwheel_dump_entry entries[4096];
	static uint64_t names[100000];
	struct htwheel_dump dump = { .cursor = 0 };
	uint32_t i, listed = 0, seen = 0;

	do {
		if (device_dump(fd, &dump, entries, piece) || dump.done > piece)
			return "the call";
		for (i = 0; i < dump.done; i++) {
			if (listed == ARRAY_SIZE(names))
				return "no end";
			names[listed++] = entries[i].id;
			if (entries[i].user_data < nr)
				seen += live[entries[i].user_data] == entries[i].id;
			if (entries[i].state != HTWHEEL_STATE_ARMED || entries[i].flags)
				return "state or flags";
		}
	} while (dump.cursor);
	if (seen != nr)
		return "one that lives throughout is missing, or there twice";
	return ids_are_unique(names, listed) ? NULL : "a name is there twice";
}

TEST_F(dump, while_timers_come_and_go)
{
	const uint32_t nr = 1000, rounds = scaled(60);
	struct churner churners[3];
	struct crew crew = { .nr = 0 };
	uint64_t live[1000];
	const char *wrong;
	uint32_t i;

	ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){ .time_ns = HOUR_NS }, 0, nr, 0,
			      live));
	for (i = 0; i < 3; i++) {
		churners[i] = (struct churner){ .fd = self->fd };
		ASSERT_EQ(0, crew_add(&crew, i, churn, &churners[i]));
	}
	for (i = 0; i < rounds || !crew_has_turned(&crew); i++) {
		/* A deadline that moves does not move the timer in the list. */
		ASSERT_EQ(0, rearm_in(self->fd, live[i % nr], 2 * HOUR_NS));
		wrong = check_walk(self->fd, live, nr, 1 + i * 37 % 1000);
		ASSERT_STREQ("nothing", wrong ? wrong : "nothing");
	}
	crew_end(&crew);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, churners[i].wrong);
}

/* A turn is an event or more; the test ends when its timers fire no more. */
static void read_some(void *arg)
{
	struct churner *reader = arg;
	struct htwheel_event events[64];
	int ret;

	do {
		ret = read_events(reader->fd, events, 64);
	} while (ret == -EAGAIN);
	reader->wrong += ret < 0;
}

/* All of it belongs to one moment: where a timer is, and what it waits for. */
static bool is_consistent(const struct htwheel_dump_entry *entry, uint64_t period_ns)
{
	if (entry->flags != HTWHEEL_PERIODIC || entry->period_ns != period_ns)
		return false;
	if (entry->state == HTWHEEL_STATE_FIRED)
		return is_nowhere(entry);
	return entry->state == HTWHEEL_STATE_ARMED && entry->left_ns <= period_ns;
}

TEST_F(dump, while_timers_fire_and_are_read)
{
	const uint32_t nr = 300, rounds = scaled(200);
	const uint64_t period_ns = 2 * NS_PER_MS;
	struct churner reader = { .fd = self->fd };
	struct htwheel_dump_entry entries[300];
	struct crew crew = { .nr = 0 };
	uint32_t i, round, fired = 0;

	ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){
		.flags = HTWHEEL_PERIODIC, .period_ns = period_ns, .time_ns = 0,
	}, 0, nr, 6 * NS_PER_US, NULL));
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, read_some, &reader));
	for (round = 0; round < rounds || !crew_has_turned(&crew); round++) {
		ASSERT_EQ(nr, dump_by_number(self->fd, entries, nr, 1 + round * 37 % nr));
		for (i = 0; i < nr; i++) {
			ASSERT_TRUE(is_consistent(&entries[i], period_ns)) {
				TH_LOG("state %u, left %llu ns", entries[i].state,
				       (unsigned long long)entries[i].left_ns);
			}
			fired += entries[i].state == HTWHEEL_STATE_FIRED;
		}
	}
	crew_end(&crew);
	EXPECT_EQ(0, reader.wrong);
	TH_LOG("%u of %u found fired", fired, round * nr);
}

/* Some are re-armed, and others take the places of those before them, in the midst of a walk. */
TEST_F(dump, timers_rearmed_between_two_calls_are_listed_once)
{
	struct htwheel_dump dump = { .cursor = 0 };
	struct htwheel_dump_entry entries[37];
	uint32_t i, seen[300] = { 0 };
	uint64_t ids[300], other;

	ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){ .time_ns = HOUR_NS }, 0, 300, 0,
			      ids));
	do {
		ASSERT_EQ(0, device_dump(self->fd, &dump, entries, 37));
		for (i = 0; i < dump.done; i++)
			if (entries[i].user_data < 300)
				seen[entries[i].user_data]++;
		for (i = 0; i < 300; i += 7)
			ASSERT_EQ(0, rearm_in(self->fd, ids[i], (1 + i) * HOUR_NS));
		ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 1000, &other));
	} while (dump.cursor);
	for (i = 0; i < 300; i++)
		EXPECT_EQ(1, seen[i]);
}

TEST_HARNESS_MAIN
