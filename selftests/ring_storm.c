// SPDX-License-Identifier: GPL-2.0
/*
 * Threads on all CPUs arm, move and cancel the timers of one context, and one takes the events from
 * the ring: each arm ends exactly once, and none fires early.
 */
#include "harness.h"
#include "crew.h"
#include "ring_ledger.h"

#define NR_THREADS	4U
#define NR_TIMERS	800U
#define NR_CHAINS	64U

FIXTURE(storm) {
	struct area area;
};

FIXTURE_VARIANT(storm) {
	uint32_t entries;
	uint32_t flags;
};

/* Almost always full, now and then, never. */
FIXTURE_VARIANT_ADD(storm, ring_of_2) {
	.entries = 2,
};

FIXTURE_VARIANT_ADD(storm, ring_of_64) {
	.entries = 64,
};

FIXTURE_VARIANT_ADD(storm, ring_of_8192) {
	.entries = 8192,
};

FIXTURE_VARIANT_ADD(storm, private_engine) {
	.entries = 64, .flags = HTWHEEL_SETUP_PRIVATE,
};

FIXTURE_SETUP(storm)
{
	ASSERT_EQ(0, open_areas(&self->area, (struct htwheel_setup){
		.flags = variant->flags, .ring_entries = variant->entries,
	}));
}

FIXTURE_TEARDOWN(storm)
{
	close_areas(&self->area);
}

/* Threads that share a context; each has timers of its own, and one thread takes all events. */
struct crowd {
	struct area	*area;
	uint64_t	armed;
	uint64_t	replaced;
	uint64_t	cancelled;
	uint64_t	taken;
	uint64_t	wrong;
	/* Who ended it: an event, or a cancel that was answered by "removed". */
	uint8_t		events[NR_THREADS * NR_TIMERS];
	uint8_t		removed[NR_THREADS * NR_TIMERS];
	/* It never ends before this. */
	uint64_t	due_ns[NR_THREADS * NR_TIMERS];
};

struct member {
	struct crowd	*crowd;
	unsigned int	number;
	uint64_t	seed;
};

static void take_for_all(void *arg)
{
	struct htwheel_event events[32];
	struct crowd *crowd = arg;
	uint64_t wrong = 0, now, due_ns;
	int i, nr;

	nr = take_or_read(crowd->area, events, ARRAY_SIZE(events));
	now = now_ns();
	wrong += nr < 0;
	for (i = 0; i < nr; i++) {
		uint64_t number = events[i].user_data % ARRAY_SIZE(crowd->events);

		due_ns = __atomic_load_n(&crowd->due_ns[number], __ATOMIC_ACQUIRE);
		crowd->events[number]++;
		wrong += events[i].user_data != number || events[i].count != 1;
		wrong += events[i].fired_ns < events[i].deadline_ns || events[i].fired_ns > now ||
			 events[i].deadline_ns < due_ns;
	}
	__atomic_add_fetch(&crowd->taken, nr > 0 ? nr : 0, __ATOMIC_RELAXED);
	__atomic_add_fetch(&crowd->wrong, wrong, __ATOMIC_RELAXED);
	if (!nr)
		poll_for(crowd->area->fd, NS_PER_MS);
}

/* The identity holds at any moment, not only at rest; so does what else STATS says. */
static void watch_books(void *arg)
{
	struct htwheel_stats stats;
	struct crowd *crowd = arg;

	if (check_books(crowd->area->fd, &stats))
		__atomic_add_fetch(&crowd->wrong, 1, __ATOMIC_RELAXED);
}

static void set_due(struct crowd *crowd, uint32_t number, uint64_t due_ns)
{
	__atomic_store_n(&crowd->due_ns[number], due_ns, __ATOMIC_RELEASE);
}

/*
 * Arm a handful, move and cancel some of them while they fire. What a timer is armed for is written
 * down before; moved, it is due at either time, and never before the earlier one.
 */
static void *play(void *arg)
{
	struct member *member = arg;
	struct crowd *crowd = member->crowd;
	const int fd = crowd->area->fd;
	uint64_t armed = 0, replaced = 0, cancelled = 0, wrong = 0, id, due_ns, moved_ns;
	uint32_t i, number;
	int ret;

	pin_to(member->number);
	for (i = 0; i < NR_TIMERS; i++) {
		number = member->number * NR_TIMERS + i;
		due_ns = now_ns() + chance_below(&member->seed, 300 * NS_PER_US);
		set_due(crowd, number, due_ns);
		if (arm_at(fd, due_ns, number, &id)) {
			wrong++;
			break;
		}
		armed++;
		if (chance_below(&member->seed, 2)) {
			moved_ns = now_ns() + chance_below(&member->seed, NS_PER_MS);
			set_due(crowd, number, moved_ns < due_ns ? moved_ns : due_ns);
			ret = rearm_at(fd, id, moved_ns);
			armed += ret >= 0;
			replaced += ret >= 0;
			wrong += ret < 0 && ret != -ENOENT;
		}
		if (chance_below(&member->seed, 2)) {
			ret = cancel(fd, id, NULL);
			cancelled += ret >= 0;
			crowd->removed[number] = ret >= 0;
			wrong += ret < 0 && ret != -ENOENT;
		}
	}
	__atomic_add_fetch(&crowd->armed, armed, __ATOMIC_RELAXED);
	__atomic_add_fetch(&crowd->replaced, replaced, __ATOMIC_RELAXED);
	__atomic_add_fetch(&crowd->cancelled, cancelled, __ATOMIC_RELAXED);
	__atomic_add_fetch(&crowd->wrong, wrong, __ATOMIC_RELAXED);
	return NULL;
}

static bool wait_all_taken(struct crowd *crowd)
{
	uint64_t end_ns = now_ns() + patience_ns();

	while (__atomic_load_n(&crowd->taken, __ATOMIC_RELAXED) !=
	       crowd->armed - crowd->replaced - crowd->cancelled) {
		if (now_ns() > end_ns)
			return false;
		sleep_ns(NS_PER_MS);
	}
	return true;
}

TEST_F(storm, each_arm_ends_once)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	struct member members[NR_THREADS];
	struct crew crew = { .nr = 0 };
	pthread_t threads[NR_THREADS];
	struct htwheel_stats stats;
	uint32_t i;

	ASSERT_TRUE(!!crowd);
	crowd->area = &self->area;
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, take_for_all, crowd));
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, watch_books, crowd));
	crew_wait(&crew);
	for (i = 0; i < NR_THREADS; i++) {
		members[i] = (struct member){ crowd, i, 12345 + i };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, play, &members[i]));
	}
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	EXPECT_TRUE(wait_all_taken(crowd));
	crew_end(&crew);

	EXPECT_EQ(0, crowd->wrong);
	ASSERT_EQ(0, check_books(self->area.fd, &stats));
	EXPECT_EQ(crowd->armed, stats.armed);
	EXPECT_EQ(crowd->replaced, stats.replaced);
	EXPECT_EQ(crowd->cancelled, stats.cancelled);
	EXPECT_EQ(crowd->taken, stats.fired);
	EXPECT_EQ(0, stats.pending);
	EXPECT_EQ(stats.waited, ring_waited(&self->area));
	EXPECT_EQ(0, ring_flags(&self->area));
	TH_LOG("%llu fired, %llu had to wait outside", (unsigned long long)stats.fired,
	       (unsigned long long)stats.waited);
	for (i = 0; i < ARRAY_SIZE(crowd->events); i++) {
		ASSERT_EQ(1, crowd->events[i] + crowd->removed[i]) {
			TH_LOG("timer %u: %u events, removed %u", i, crowd->events[i],
			       crowd->removed[i]);
		}
	}
	free(crowd);
}

/* Each timer's own turns come in their order, from the ring and from outside. */
TEST_F(storm, periodic_timers_keep_their_order)
{
	const uint64_t wanted = scaled(4000);
	uint64_t ids[NR_CHAINS], next_ns[NR_CHAINS], first_ns, seen = 0, counted = 0;
	const uint64_t period_ns = 300 * NS_PER_US;
	struct htwheel_event events[32];
	struct htwheel_stats stats;
	unsigned int i;
	int k, nr;

	first_ns = now_ns();
	for (i = 0; i < NR_CHAINS; i++) {
		pin_to(i);
		next_ns[i] = first_ns + i * NS_PER_US;
		ASSERT_EQ(0, arm_every(self->area.fd, i % 2 ? HTWHEEL_POLICY_COUNT :
				       HTWHEEL_POLICY_BURST, next_ns[i], period_ns, i, &ids[i]));
	}
	while (seen < wanted) {
		ASSERT_TRUE(wait_readable(self->area.fd));
		nr = take_or_read(&self->area, events, 32);
		ASSERT_LE(0, nr);
		for (k = 0; k < nr; k++) {
			i = events[k].user_data;
			ASSERT_GT(NR_CHAINS, i);
			ASSERT_EQ(ids[i], events[k].id);
			ASSERT_EQ(next_ns[i], events[k].deadline_ns) {
				TH_LOG("timer %u, %llu events", i, (unsigned long long)seen);
			}
			ASSERT_LE(events[k].deadline_ns, events[k].fired_ns);
			if (i % 2 == 0)
				ASSERT_EQ(1, events[k].count);
			next_ns[i] += events[k].count * period_ns;
			counted += events[k].count;
		}
		seen += nr;
	}
	for (i = 0; i < NR_CHAINS; i++)
		ASSERT_LE(0, cancel(self->area.fd, ids[i], NULL));
	while ((nr = take_or_read(&self->area, events, 32)) > 0) {
		seen += nr;
		for (k = 0; k < nr; k++)
			counted += events[k].count;
	}
	ASSERT_EQ(0, check_books(self->area.fd, &stats));
	EXPECT_EQ(seen, stats.fired);
	EXPECT_EQ(counted - seen, stats.missed);
	EXPECT_EQ(0, stats.pending);
}

struct stream {
	struct area	*area;
	uint64_t	armed;
};

/* Each field says which event it is. */
static void arm_next(void *arg)
{
	struct stream *stream = arg;
	uint64_t number = stream->armed + 1;
	struct htwheel_op op = {
		.flags = HTWHEEL_ABSOLUTE, .time_ns = number, .user_data = number, .tag = number,
	};

	if (ring_unread(stream->area) == stream->area->ring->entries)
		sched_yield();
	else if (!arm_like(stream->area->fd, op, NULL))
		stream->armed = number;
}

/* The tail moves when the event is there, and its place is used again when the head has moved. */
TEST_F(storm, events_are_whole)
{
	const uint64_t wanted = scaled(2000);
	struct stream stream = { .area = &self->area };
	const struct htwheel_event *event;
	struct crew crew = { .nr = 0 };
	uint64_t number = 0, wrong = 0;
	uint32_t head = self->area.position->head, spins;

	ASSERT_EQ(0, pin_to(0));
	ASSERT_EQ(0, crew_add(&crew, 1, arm_next, &stream));
	while (number < wanted && !wrong) {
		/* Event by event, as soon as one is there; the other CPU may be one's own. */
		for (spins = 0; ring_tail(&self->area) == head; spins++)
			if (spins % 1000 == 999)
				sched_yield();
		event = ring_event(&self->area, head);
		number++;
		wrong += event->deadline_ns != number || event->user_data != number ||
			 event->tag != (uint32_t)number || event->count != 1 || event->flags ||
			 event->fired_ns < number;
		set_head(&self->area, ++head);
	}
	crew_end(&crew);
	EXPECT_EQ(0, wrong) {
		TH_LOG("event %llu", (unsigned long long)number);
	}
	EXPECT_EQ(0, ring_waited(&self->area));
}

/* B77: a ring that nobody empties is nothing to another context on the same CPUs. */
TEST_F(storm, B77_ring_that_is_not_emptied)
{
	struct htwheel_event event = { .id = 0 };
	struct ledger stuck;
	struct area other;
	unsigned int round;
	uint64_t due_ns;

	ASSERT_EQ(0, ledger_init(&stuck, scaled(20000)));
	ASSERT_EQ(0, ledger_arm(&stuck, self->area.fd, 0, stuck.nr, 0, NS_PER_S / 4));
	ASSERT_EQ(0, open_ring(&other, 2));
	for (round = 0; round < 200; round++) {
		pin_to(round);
		due_ns = now_ns() + round % 5 * NS_PER_MS;
		ASSERT_EQ(0, arm_at(other.fd, due_ns, round, NULL));
		ASSERT_EQ(0, wait_event(&other, &event));
		ASSERT_EQ(due_ns, event.deadline_ns);
		ASSERT_LE(due_ns, event.fired_ns);
	}
	/* All of it is there when somebody looks at last. */
	ASSERT_EQ(0, ledger_take_all(&stuck, &self->area, 0));
	EXPECT_LEDGER_RIGHT(&stuck);
	ASSERT_RING_BOOKS_MATCH(&stuck, &self->area);
	ledger_free(&stuck);
	close_areas(&other);
}

TEST_HARNESS_MAIN
