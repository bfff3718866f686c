// SPDX-License-Identifier: GPL-2.0
/*
 * The wake-up policy: readable when enough events wait, or one has waited for long enough, and then
 * until none is left. Poll, epoll and read go by that alike.
 *
 * Most tests give the time an hour, so that the number decides.
 */
#include <sys/epoll.h>

#include "harness.h"
#include "turns.h"

#define HOUR_US		3600000000U
#define NR		4U

FIXTURE(wake) {
	int epoll_fd;
	int edge_fd;
	int fd;
};

static int watch(int epoll_fd, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

FIXTURE_SETUP(wake)
{
	self->fd = open_with_policy(NR, HOUR_US);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(has_features(self->fd, HTWHEEL_FEAT_WAKE));
	self->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	self->edge_fd = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_EQ(0, watch(self->epoll_fd, self->fd, EPOLLIN));
	ASSERT_EQ(0, watch(self->edge_fd, self->fd, EPOLLIN | EPOLLET));
}

FIXTURE_TEARDOWN(wake)
{
	close(self->epoll_fd);
	close(self->edge_fd);
	close(self->fd);
}

static bool has_edge(FIXTURE_DATA(wake) *self)
{
	struct epoll_event event;

	return epoll_wait(self->edge_fd, &event, 1, 0) == 1 && event.events == EPOLLIN;
}

static bool epoll_says_so(FIXTURE_DATA(wake) *self)
{
	struct epoll_event event;

	return epoll_wait(self->epoll_fd, &event, 1, 0) == 1 && event.events == EPOLLIN;
}

/* Nobody says that there is something to read. */
static bool all_deny(FIXTURE_DATA(wake) *self)
{
	struct htwheel_event event;

	return poll_for(self->fd, 0) == 0 && !epoll_says_so(self) && !has_edge(self) &&
	       read_events(self->fd, &event, 1) == -EAGAIN;
}

static bool all_confirm(FIXTURE_DATA(wake) *self)
{
	return is_readable(self->fd) && epoll_says_so(self);
}

static uint64_t alerts(int fd)
{
	struct htwheel_stats stats;

	return device_stats(fd, &stats) ? JUNK64 : stats.alerts;
}

static uint64_t waiting(int fd)
{
	struct htwheel_stats stats;

	return device_stats(fd, &stats) ? JUNK64 : stats.expired;
}

TEST_F(wake, not_before_there_are_enough)
{
	uint64_t ids[NR];
	unsigned int i;

	for (i = 0; i < NR - 1; i++) {
		ASSERT_EQ(0, arm_in(self->fd, 0, i, &ids[i]));
		EXPECT_TRUE(all_deny(self));
		EXPECT_EQ(i + 1, waiting(self->fd));
		/* It has fired all the same. */
		EXPECT_EQ(HTWHEEL_RES_FIRED, query(self->fd, ids[i], NULL));
	}
	EXPECT_EQ(0, alerts(self->fd));
	ASSERT_EQ(0, arm_in(self->fd, 0, i, &ids[i]));
	EXPECT_TRUE(all_confirm(self));
	EXPECT_TRUE(has_edge(self));
	EXPECT_EQ(1, alerts(self->fd));
	EXPECT_EQ(HTWHEEL_RES_FIRED, cancel(self->fd, ids[0], NULL));
}

TEST_F(wake, until_none_is_left)
{
	struct htwheel_event event;
	unsigned int round, i;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < NR; i++) {
			EXPECT_TRUE(all_deny(self));
			ASSERT_EQ(0, arm_in(self->fd, 0, i, NULL));
		}
		EXPECT_TRUE(has_edge(self));
		for (i = 0; i < NR; i++) {
			EXPECT_TRUE(all_confirm(self));
			ASSERT_EQ(1, read_events(self->fd, &event, 1));
			EXPECT_EQ(1, event.count);
		}
		EXPECT_TRUE(all_deny(self));
		EXPECT_EQ(round + 1, alerts(self->fd));
	}
}

/* A large buffer takes all at once, and those that came later. */
TEST_F(wake, one_read_takes_all)
{
	struct htwheel_event events[2 * NR];
	unsigned int i;

	for (i = 0; i < NR + 2; i++)
		ASSERT_EQ(0, arm_in(self->fd, 0, i, NULL));
	EXPECT_EQ(1, alerts(self->fd));
	EXPECT_EQ(NR + 2, read_events(self->fd, events, ARRAY_SIZE(events)));
	EXPECT_TRUE(all_deny(self));
}

/* One event is left of four: still readable; a new one makes it two, and none of them waits. */
TEST_F(wake, later_events_need_no_company_while_it_is_readable)
{
	struct htwheel_event events[NR];
	unsigned int i;

	for (i = 0; i < NR; i++)
		ASSERT_EQ(0, arm_in(self->fd, 0, i, NULL));
	ASSERT_EQ(NR - 1, read_events(self->fd, events, NR - 1));
	ASSERT_EQ(0, arm_in(self->fd, 0, NR, NULL));
	EXPECT_TRUE(all_confirm(self));
	EXPECT_EQ(2, read_events(self->fd, events, NR));
	EXPECT_TRUE(all_deny(self));
	EXPECT_EQ(1, alerts(self->fd));
	ASSERT_EQ(0, arm_in(self->fd, 0, 0, NULL));
	EXPECT_TRUE(all_deny(self));
}

TEST_F(wake, B41_withdrawn_before_there_were_enough)
{
	uint64_t ids[NR + 2];
	unsigned int i;

	for (i = 0; i < NR - 1; i++)
		ASSERT_EQ(0, arm_in(self->fd, 0, i, &ids[i]));
	ASSERT_EQ(HTWHEEL_RES_FIRED, cancel(self->fd, ids[0], NULL));
	ASSERT_EQ(HTWHEEL_RES_FIRED, rearm_in(self->fd, ids[1], HOUR_NS));
	/* One waits; with two more there are three. */
	ASSERT_EQ(0, arm_in(self->fd, 0, i, &ids[i]));
	i++;
	ASSERT_EQ(0, arm_in(self->fd, 0, i, &ids[i]));
	EXPECT_TRUE(all_deny(self));
	EXPECT_EQ(NR - 1, waiting(self->fd));
	EXPECT_EQ(0, alerts(self->fd));
	ASSERT_EQ(0, rearm_in(self->fd, ids[1], 0));
	EXPECT_TRUE(all_confirm(self));
	EXPECT_EQ(1, alerts(self->fd));
}

TEST_F(wake, B41_withdrawn_while_it_is_readable)
{
	uint64_t ids[NR];
	unsigned int i;

	for (i = 0; i < NR; i++)
		ASSERT_EQ(0, arm_in(self->fd, 0, i, &ids[i]));
	for (i = 0; i < NR; i++) {
		EXPECT_TRUE(all_confirm(self));
		ASSERT_EQ(HTWHEEL_RES_FIRED, i & 1 ? cancel(self->fd, ids[i], NULL) :
			  rearm_in(self->fd, ids[i], HOUR_NS));
	}
	has_edge(self);
	EXPECT_TRUE(all_deny(self));
	/* And the number is counted anew. */
	for (i = 0; i < NR - 1; i++)
		ASSERT_EQ(0, arm_in(self->fd, 0, i, NULL));
	EXPECT_TRUE(all_deny(self));
	ASSERT_EQ(0, arm_in(self->fd, 0, i, NULL));
	EXPECT_TRUE(all_confirm(self));
	EXPECT_EQ(2, alerts(self->fd));
}

/* Past deadlines in one call. */
TEST_F(wake, by_a_batch)
{
	struct htwheel_event events[2 * NR];
	struct htwheel_op ops[NR];
	unsigned int i;

	for (i = 0; i < NR; i++)
		ops[i] = (struct htwheel_op){ .opcode = HTWHEEL_OP_ARM, .user_data = i };
	ASSERT_EQ(0, submit_all(self->fd, ops, NR - 1));
	EXPECT_TRUE(all_deny(self));
	ASSERT_EQ(0, submit_all(self->fd, ops, NR));
	EXPECT_TRUE(all_confirm(self));
	EXPECT_EQ(1, alerts(self->fd));
	EXPECT_EQ(2 * NR - 1, read_events(self->fd, events, ARRAY_SIZE(events)));
	ASSERT_EQ(0, submit_all(self->fd, ops, NR));
	EXPECT_TRUE(all_confirm(self));
	EXPECT_EQ(NR, read_events(self->fd, events, ARRAY_SIZE(events)));
	EXPECT_EQ(2, alerts(self->fd));
}

/* By passes, on whatever CPU. */
TEST_F(wake, by_deadlines)
{
	struct htwheel_event events[NR];
	unsigned int i;

	for (i = 0; i < NR - 1; i++) {
		ASSERT_EQ(0, pin_to(i));
		ASSERT_EQ(0, arm_in(self->fd, (1 + i) * NS_PER_MS, i, NULL));
	}
	ASSERT_TRUE(wait_expired(self->fd, NR - 1));
	EXPECT_TRUE(all_deny(self));
	ASSERT_EQ(0, arm_in(self->fd, 5 * NS_PER_MS, i, NULL));
	ASSERT_TRUE(wait_readable(self->fd));
	EXPECT_TRUE(all_confirm(self));
	EXPECT_EQ(NR, read_events(self->fd, events, NR));
}

/* What waits is the timer: a periodic one is one event, however many periods it has missed. */
TEST_F(wake, a_periodic_timer_is_one_event)
{
	struct htwheel_event events[2 * NR];
	unsigned int i;

	ASSERT_EQ(0, arm_every(self->fd, HTWHEEL_POLICY_COUNT, 0, NS_PER_US, 0, NULL));
	for (i = 1; i < NR - 1; i++)
		ASSERT_EQ(0, arm_kept(self->fd, 0, i, NULL));
	EXPECT_TRUE(all_deny(self));
	ASSERT_EQ(0, arm_kept(self->fd, 0, i, NULL));
	EXPECT_TRUE(all_confirm(self));
	EXPECT_LE(NR, read_events(self->fd, events, ARRAY_SIZE(events)));
}

/* The missed periods of a burst are events that are left: its reader gets them all. */
TEST_F(wake, burst_is_read_to_its_end)
{
	const uint64_t period_ns = now_ns() / 16, first_ns = now_ns() - 10 * period_ns;
	unsigned int i, others = 0, turns = 0;
	struct htwheel_event event;

	for (i = 0; i < NR - 1; i++)
		ASSERT_EQ(0, arm_in(self->fd, 0, 0, NULL));
	EXPECT_TRUE(all_deny(self));
	ASSERT_EQ(0, arm_every(self->fd, HTWHEEL_POLICY_BURST, first_ns, period_ns, 1, NULL));
	for (i = 0; i < NR - 1 + 10; i++) {
		ASSERT_TRUE(all_confirm(self));
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		others += !event.user_data;
		turns += event.user_data;
	}
	EXPECT_EQ(NR - 1, others);
	EXPECT_EQ(10, turns);
	EXPECT_EQ(1, alerts(self->fd));
}

struct reader {
	int		fd;
	int		nr;
	uint64_t	done_ns;
	bool		done;
};

static void *read_blocking(void *arg)
{
	struct htwheel_event events[2 * NR];
	struct reader *reader = arg;

	reader->nr = read_events(reader->fd, events, ARRAY_SIZE(events));
	reader->done_ns = now_ns();
	__atomic_store_n(&reader->done, true, __ATOMIC_RELEASE);
	return NULL;
}

TEST_F(wake, a_blocked_reader_waits_for_company)
{
	struct reader reader = { .fd = self->fd };
	uint64_t last_ns = 0;
	pthread_t thread;
	unsigned int i;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_blocking, &reader));
	for (i = 0; i < NR; i++) {
		sleep_ns(10 * NS_PER_MS);
		EXPECT_FALSE(__atomic_load_n(&reader.done, __ATOMIC_ACQUIRE));
		last_ns = now_ns();
		ASSERT_EQ(0, arm_in(self->fd, i & 1 ? NS_PER_MS : 0, i, NULL));
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(NR, reader.nr);
	EXPECT_LE(last_ns, reader.done_ns);
}

/*
 * Anything in any order, with a model that is as simple as the header: enough of them make it
 * readable, none of them ends that.
 */
TEST_F(wake, agrees_with_a_model)
{
	uint64_t ids[8] = { 0 }, seed = 2026, nr_waiting = 0, nr_alerts = 0;
	unsigned int step, steps = scaled(3000), i;
	bool fired[8] = { false }, readable = false;
	struct htwheel_event events[3];
	int nr, j, max;

	for (i = 0; i < ARRAY_SIZE(ids); i++)
		ASSERT_EQ(0, arm_kept(self->fd, HOUR_NS, i, &ids[i]));
	for (step = 0; step < steps; step++) {
		i = chance_below(&seed, ARRAY_SIZE(ids));
		switch (chance_below(&seed, 5)) {
		case 0:
			max = 1 + chance_below(&seed, ARRAY_SIZE(events));
			nr = read_events(self->fd, events, max);
			if (!readable) {
				ASSERT_EQ(-EAGAIN, nr);
				break;
			}
			ASSERT_EQ((int)nr_waiting < max ? (int)nr_waiting : max, nr);
			for (j = 0; j < nr; j++) {
				ASSERT_TRUE(fired[events[j].user_data]);
				fired[events[j].user_data] = false;
			}
			nr_waiting -= nr;
			break;
		case 1:
			ASSERT_EQ(fired[i], rearm_in(self->fd, ids[i], HOUR_NS));
			nr_waiting -= fired[i];
			fired[i] = false;
			break;
		default:
			/* A fired one stays where it is: withdrawing it might end the whole. */
			if (fired[i])
				break;
			ASSERT_EQ(0, rearm_in(self->fd, ids[i], 0));
			nr_waiting++;
			fired[i] = true;
		}
		nr_alerts += !readable && nr_waiting >= NR;
		readable = nr_waiting && (readable || nr_waiting >= NR);
		ASSERT_EQ(readable, is_readable(self->fd));
		ASSERT_EQ(readable, epoll_says_so(self));
		ASSERT_EQ(nr_waiting, waiting(self->fd));
		ASSERT_EQ(nr_alerts, alerts(self->fd));
	}
	TH_LOG("%llu alerts in %u steps", (unsigned long long)nr_alerts, steps);
	EXPECT_LT(10, nr_alerts);
}

TEST_HARNESS_MAIN
