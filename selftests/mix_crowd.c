// SPDX-License-Identifier: GPL-2.0
/*
 * All kinds of timers in one context that several threads share: what each operation finds is
 * chance, but the sums are not.
 */
#include "harness.h"
#include "crew.h"
#include "turns.h"

#define NR_THREADS	3
#define NR_OWN		8

/* One context for all: each player has timers of its own, and one thread reads for them. */
struct crowd {
	int		fd;
	/* Who reads, and who watches. */
	struct crew	crew;
	uint64_t	armed;
	uint64_t	cancelled;
	uint64_t	fired;
	uint64_t	turns;
	uint64_t	missed;
	uint64_t	wrong;
};

struct player {
	struct crowd	*crowd;
	uint64_t	seed;
	unsigned int	rounds;
};

/* The events of periodic timers carry a 1. */
static void read_for_all(void *arg)
{
	struct htwheel_event events[8];
	struct crowd *crowd = arg;
	uint64_t wrong = 0;
	int i, nr;

	nr = read_events(crowd->fd, events, ARRAY_SIZE(events));
	for (i = 0; i < nr; i++) {
		crowd->fired++;
		crowd->turns += events[i].user_data;
		crowd->missed += events[i].count - 1;
		wrong += events[i].fired_ns < events[i].deadline_ns || !events[i].count ||
			 (events[i].user_data && !events[i].flags);
	}
	wrong += nr < 0 && nr != -EAGAIN;
	__atomic_add_fetch(&crowd->wrong, wrong, __ATOMIC_RELAXED);
}

static void watch_books(void *arg)
{
	struct htwheel_stats stats;
	struct crowd *crowd = arg;

	if (device_stats(crowd->fd, &stats) || !books_balance(&stats) ||
	    stats.expired > stats.pending || stats.peak < stats.pending + stats.idle)
		__atomic_add_fetch(&crowd->wrong, 1, __ATOMIC_RELAXED);
}

/* Give one name another life, or end it and begin a new one, while the reader is at it. */
static void play_once(struct player *player, uint64_t *id)
{
	struct htwheel_op op = { .flags = 0 };
	struct crowd *crowd = player->crowd;
	uint64_t time_ns = chance_below(&player->seed, 500 * NS_PER_US);
	int ret = rearm_in(crowd->fd, *id, time_ns);

	if (!ret || ret == HTWHEEL_RES_FIRED) {
		__atomic_add_fetch(&crowd->armed, 1, __ATOMIC_RELAXED);
		if (chance_below(&player->seed, 4))
			return;
		ret = cancel(crowd->fd, *id, NULL);
		__atomic_add_fetch(&crowd->cancelled, ret >= 0, __ATOMIC_RELAXED);
	}
	/* Only a timer that ends with its event may be gone. */
	if (ret < 0 && ret != -ENOENT)
		__atomic_add_fetch(&crowd->wrong, 1, __ATOMIC_RELAXED);
	op.time_ns = time_ns;
	op.slack_ns = chance_below(&player->seed, 2) * NS_PER_MS;
	if (chance_below(&player->seed, 2)) {
		op.flags = HTWHEEL_PERIODIC;
		op.policy = chance_below(&player->seed, 4);
		op.period_ns = 1 + chance_below(&player->seed, NS_PER_MS);
		op.user_data = 1;
	} else if (chance_below(&player->seed, 2)) {
		op.flags = HTWHEEL_KEEP;
	}
	if (arm_like(crowd->fd, op, id))
		__atomic_add_fetch(&crowd->wrong, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&crowd->armed, 1, __ATOMIC_RELAXED);
}

static void *play(void *arg)
{
	struct player *player = arg;
	uint64_t ids[NR_OWN] = { 0 };
	unsigned int i;

	for (i = 0; i < player->rounds || !crew_has_turned(&player->crowd->crew); i++)
		play_once(player, &ids[chance_below(&player->seed, NR_OWN)]);
	for (i = 0; i < NR_OWN; i++)
		if (cancel(player->crowd->fd, ids[i], NULL) >= 0)
			__atomic_add_fetch(&player->crowd->cancelled, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* An arm for each call that made one and for each event of a periodic timer; an end for each. */
TEST(B37_all_kinds_by_several_threads)
{
	struct player players[NR_THREADS];
	pthread_t threads[NR_THREADS];
	struct crowd crowd = { .fd = open_device(O_NONBLOCK) };
	struct htwheel_stats stats;
	unsigned int i;

	ASSERT_LE(0, crowd.fd);
	ASSERT_EQ(0, crew_add(&crowd.crew, CREW_ANY_CPU, read_for_all, &crowd));
	ASSERT_EQ(0, crew_add(&crowd.crew, CREW_ANY_CPU, watch_books, &crowd));
	for (i = 0; i < NR_THREADS; i++) {
		players[i] = (struct player){ &crowd, 4711 + i, scaled(5000) };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, play, &players[i]));
	}
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	crew_end(&crowd.crew);
	ASSERT_EQ(0, device_stats(crowd.fd, &stats));
	TH_LOG("%llu events, %llu turns, %llu missed", (unsigned long long)crowd.fired,
	       (unsigned long long)crowd.turns, (unsigned long long)crowd.missed);
	EXPECT_EQ(0, crowd.wrong);
	EXPECT_TRUE(books_balance(&stats));
	EXPECT_EQ(0, stats.pending);
	EXPECT_EQ(0, stats.idle);
	EXPECT_EQ(crowd.armed + crowd.turns, stats.armed);
	EXPECT_EQ(crowd.fired, stats.fired);
	EXPECT_EQ(crowd.missed, stats.missed);
	/* Some of them were idle, which had no arm to cancel. */
	EXPECT_GE(crowd.cancelled, stats.cancelled);
	close(crowd.fd);
}

TEST_HARNESS_MAIN
