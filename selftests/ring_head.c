// SPDX-License-Identifier: GPL-2.0
/*
 * B78: the one word of the ring that userspace writes. Whatever it says, at whatever moment,
 * nothing hangs and nothing is lost; events wait outside as long as it says nonsense.
 */
#include <signal.h>

#include "harness.h"
#include "crew.h"
#include "many.h"
#include "shared_area.h"

#define ENTRIES		8U
#define NR_TIMERS	40U

FIXTURE(head) {
	struct area area;
	uint64_t ids[NR_TIMERS];
	uint32_t seen[NR_TIMERS];
	int fd;
};

FIXTURE_SETUP(head)
{
	ASSERT_EQ(0, open_manual_ring(&self->area, ENTRIES, NS_PER_S));
	self->fd = self->area.fd;
}

FIXTURE_TEARDOWN(head)
{
	close_areas(&self->area);
}

static int arm_some(FIXTURE_DATA(head) *self, uint32_t first, uint32_t nr)
{
	const struct htwheel_op like = { .time_ns = NS_PER_MS };

	return arm_many(self->fd, &like, first, nr, NS_PER_MS, self->ids);
}

static int let_fire(FIXTURE_DATA(head) *self)
{
	return advance_to(self->fd, clock_of(self->fd) + NS_PER_S);
}

/* Count each of these; false if one is not what was armed. */
static bool note(FIXTURE_DATA(head) *self, const struct htwheel_event *events, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (events[i].user_data >= NR_TIMERS ||
		    events[i].id != self->ids[events[i].user_data] ||
		    events[i].fired_ns < events[i].deadline_ns)
			return false;
		self->seen[events[i].user_data]++;
	}
	return nr >= 0;
}

static bool note_ring(FIXTURE_DATA(head) *self)
{
	struct htwheel_event events[ENTRIES];

	return note(self, events, take_events(&self->area, events, ENTRIES));
}

static bool note_reads(FIXTURE_DATA(head) *self)
{
	struct htwheel_event events[16];
	int nr;

	while ((nr = read_events(self->fd, events, 16)) > 0)
		if (!note(self, events, nr))
			return false;
	return nr == -EAGAIN;
}

static uint32_t not_seen_once(FIXTURE_DATA(head) *self, uint32_t nr)
{
	uint32_t i, wrong = 0;

	for (i = 0; i < nr; i++)
		wrong += self->seen[i] != 1;
	return wrong;
}

/*
 * The ring holds a few events; then the word says something wrong, and more timers fire. They wait
 * outside, and can be read, cancelled and moved there. When the word is right again, so is all.
 */
static const char *use_with(FIXTURE_DATA(head) *self, uint32_t wrong)
{
	const uint32_t head = self->area.position->head, inside = 3;
	struct htwheel_stats before, stats;
	uint32_t tail;

	memset(self->seen, 0, sizeof(self->seen));
	if (check_books(self->fd, &before))
		return "the books before";
	if (arm_some(self, 0, inside) || let_fire(self))
		return "arm";
	tail = ring_tail(&self->area);
	if (tail - head != inside || ring_flags(&self->area))
		return "the ring before";
	set_head(&self->area, head + wrong);
	if (arm_some(self, inside, 20 - inside) || let_fire(self))
		return "arm with a wrong head";
	if (ring_tail(&self->area) != tail)
		return "published beside the reader";
	if (ring_flags(&self->area) != HTWHEEL_RING_WAITING)
		return "nothing says that events wait";
	if (!is_readable(self->fd))
		return "not readable";
	if (cancel(self->fd, self->ids[inside], NULL) != HTWHEEL_RES_FIRED)
		return "cancel";
	self->seen[inside]++;
	if (rearm_in(self->fd, self->ids[inside + 1], NS_PER_MS) != HTWHEEL_RES_FIRED)
		return "re-arm";
	if (check_books(self->fd, &stats) || stats.waited != before.waited + 20 - inside ||
	    stats.expired != 18 - inside)
		return "the books with a wrong head";
	if (wrong % 2 && !note_reads(self))
		return "reads";
	set_head(&self->area, head);
	if (!note_ring(self) || !note_reads(self))
		return "the events after that";
	if (let_fire(self) || !note_ring(self) || !note_reads(self))
		return "the last event";
	if (not_seen_once(self, 20))
		return "not each exactly once";
	if (ring_flags(&self->area) || is_readable(self->fd))
		return "not at rest";
	return check_books(self->fd, &stats) || stats.pending ? "the books" : NULL;
}

TEST_F(head, B78_wrong_values)
{
	/* Behind by more than there are places, or before the tail. */
	const uint32_t values[] = {
		4, 5, 6, 7, 8, 100, 1U << 16, INT32_MAX, 1U << 31, (1U << 31) + 1, (1U << 31) + 3,
		-ENTRIES + 2, -ENTRIES + 1, -ENTRIES, -ENTRIES - 1, -2 * ENTRIES, -1000, -1U << 16,
	};
	const char *wrong;
	unsigned int round;
	size_t i;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < ARRAY_SIZE(values); i++) {
			wrong = use_with(self, values[i]);
			ASSERT_STREQ("nothing", wrong ? wrong : "nothing") {
				TH_LOG("head %+d, round %u", (int)values[i], round);
			}
		}
	}
}

TEST_F(head, B78_random_values)
{
	uint64_t seed = 0x9e3779b97f4a7c15ULL ^ number_from_env("HTWHEEL_SEED", 1);
	unsigned int round, rounds = scaled(300);
	const char *wrong;
	uint32_t value;

	for (round = 0; round < rounds; round++) {
		/* All that does not leave the reader between 8 places behind and the tail. */
		do {
			value = chance(&seed) >> chance_below(&seed, 32);
			value = chance(&seed) & 1 ? -value : value;
		} while (value + ENTRIES - 3 < ENTRIES + 1);
		wrong = use_with(self, value);
		ASSERT_STREQ("nothing", wrong ? wrong : "nothing") {
			TH_LOG("head %+d, round %u", (int)value, round);
		}
	}
}

/* Equal to the tail, it says that all was taken: what was there is written over, no more. */
TEST_F(head, B78_equal_to_the_tail)
{
	struct htwheel_event events[ENTRIES];
	unsigned int i;

	ASSERT_EQ(0, arm_some(self, 0, ENTRIES));
	ASSERT_EQ(0, let_fire(self));
	set_head(&self->area, ring_tail(&self->area));
	EXPECT_FALSE(is_readable(self->fd));
	ASSERT_EQ(0, arm_some(self, ENTRIES, ENTRIES));
	ASSERT_EQ(0, let_fire(self));
	EXPECT_EQ(0, ring_flags(&self->area));
	ASSERT_EQ(ENTRIES, take_events(&self->area, events, ENTRIES));
	for (i = 0; i < ENTRIES; i++)
		EXPECT_EQ(self->ids[ENTRIES + i], events[i].id);
}

/* Put back, it says that there is less room; the events there can be taken again. */
TEST_F(head, B78_put_back)
{
	struct htwheel_event events[ENTRIES];
	uint32_t head;

	ASSERT_EQ(0, arm_some(self, 0, 4));
	ASSERT_EQ(0, let_fire(self));
	head = self->area.position->head;
	ASSERT_EQ(4, take_events(&self->area, events, ENTRIES));
	set_head(&self->area, head);
	EXPECT_TRUE(is_readable(self->fd));
	ASSERT_EQ(0, arm_some(self, 4, ENTRIES));
	ASSERT_EQ(0, let_fire(self));
	EXPECT_EQ(4, ring_waited(&self->area));
	EXPECT_TRUE(note_ring(self) && note_reads(self));
	EXPECT_EQ(0, not_seen_once(self, 4 + ENTRIES));
}

static void scribble_on_head(void *arg)
{
	static const int steps[] = { 0, 1, -1, 2, -8, -9, INT32_MAX, INT32_MIN };
	static uint64_t seed = 12345;
	struct area *area = arg;
	unsigned int i;

	for (i = 0; i < 100; i++)
		set_head(area, chance_below(&seed, 4) ?
			 ring_tail(area) + steps[chance_below(&seed, ARRAY_SIZE(steps))] :
			 (uint32_t)chance(&seed));
}

/*
 * Another thread writes into it all the time, while timers are armed, fire, are read, cancelled and
 * moved. What is in the ring then may be lost to the reader, by its own fault; the books balance,
 * and what read(2) returns is right.
 */
static const char *storm_under_scribbles(struct area *area, unsigned int rounds, struct crew *crew)
{
	struct htwheel_event events[16];
	struct htwheel_stats stats;
	unsigned int i, k;
	uint64_t ids[16];
	int nr;

	for (i = 0; i < rounds || !crew_has_turned(crew); i++) {
		for (k = 0; k < 16; k++)
			if (arm_in(area->fd, k % 4 * 100 * NS_PER_US, k, &ids[k]))
				return "arm";
		rearm_in(area->fd, ids[2], NS_PER_MS);
		cancel(area->fd, ids[3], NULL);
		query(area->fd, ids[4], NULL);
		poll_for(area->fd, 0);
		nr = read_events(area->fd, events, 16);
		if (nr < 0 && nr != -EAGAIN)
			return "read";
		for (; nr > 0; nr--)
			if (events[nr - 1].fired_ns < events[nr - 1].deadline_ns ||
			    events[nr - 1].user_data >= 16 || events[nr - 1].count != 1)
				return "an event that was read";
		if (check_books(area->fd, &stats))
			return "the books";
	}
	return NULL;
}

TEST_F(head, B78_changing_in_a_storm)
{
	uint64_t end_ns;
	struct crew crew = { .nr = 0 };
	struct htwheel_event events[16];
	struct htwheel_stats stats;
	struct area area;
	const char *wrong;
	int nr;

	ASSERT_EQ(0, open_ring(&area, ENTRIES));
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, scribble_on_head, &area));
	wrong = storm_under_scribbles(&area, scaled(400), &crew);
	crew_end(&crew);
	ASSERT_STREQ("nothing", wrong ? wrong : "nothing");

	/* The word is right again: all comes to an end. */
	set_head(&area, ring_tail(&area));
	end_ns = now_ns() + patience_ns();
	do {
		/* In this order: what is not pending by now can be taken. */
		ASSERT_EQ(0, check_books(area.fd, &stats));
		nr = take_or_read(&area, events, 16);
		ASSERT_LE(0, nr);
		ASSERT_GT(end_ns, now_ns());
	} while (stats.pending || nr);
	EXPECT_EQ(0, ring_flags(&area));
	EXPECT_FALSE(is_readable(area.fd));
	/* The ring is as good as new. */
	ASSERT_EQ(0, arm_in(area.fd, 0, 5, NULL));
	ASSERT_EQ(1, take_events(&area, events, 16));
	EXPECT_EQ(5, events[0].user_data);
	close_areas(&area);
}

/* The process that does it can be killed at any moment, and leaves nothing. */
TEST_F(head, B78_killable)
{
	const uint64_t queued = queued_timers();
	unsigned int round;
	pid_t pid;

	for (round = 0; round < 5; round++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			struct crew crew = { .nr = 0 };
			struct area area;

			if (open_ring(&area, ENTRIES) ||
			    crew_add(&crew, CREW_ANY_CPU, scribble_on_head, &area))
				_exit(1);
			for (;;)
				storm_under_scribbles(&area, 1, &crew);
		}
		sleep_ns((20 + round * 7) * NS_PER_MS);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		EXPECT_EQ(-SIGKILL, reap(pid));
	}
	EXPECT_TRUE(wait_queued(queued));
}

TEST_HARNESS_MAIN
