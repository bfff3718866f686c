// SPDX-License-Identifier: GPL-2.0
/*
 * Who waits for a context on a manual clock is woken by who moves it; several may move it at once,
 * and signals come in between.
 */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/time.h>

#include "harness.h"
#include "crew.h"
#include "lab.h"

#define TICK_NS		(1ULL << 19)
#define MANY		1000000U

FIXTURE(wait) {
	struct htwheel_info info;
	int fd;
};

FIXTURE_SETUP(wait)
{
	self->fd = open_manual(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
}

FIXTURE_TEARDOWN(wait)
{
	close(self->fd);
}

struct waiter {
	int			fd;
	int			epoll_fd;
	pid_t			tid;
	int			ret;
	struct htwheel_event	event;
};

static void *wait_in_read(void *arg)
{
	struct waiter *waiter = arg;

	__atomic_store_n(&waiter->tid, gettid(), __ATOMIC_RELEASE);
	waiter->ret = read_events(waiter->fd, &waiter->event, 1);
	return NULL;
}

static void *wait_in_poll(void *arg)
{
	struct waiter *waiter = arg;

	__atomic_store_n(&waiter->tid, gettid(), __ATOMIC_RELEASE);
	waiter->ret = poll_for(waiter->fd, patience_ns());
	return NULL;
}

static void *wait_in_epoll(void *arg)
{
	struct waiter *waiter = arg;
	struct epoll_event out;

	__atomic_store_n(&waiter->tid, gettid(), __ATOMIC_RELEASE);
	waiter->ret = epoll_wait(waiter->epoll_fd, &out, 1, patience_ns() / NS_PER_MS);
	return NULL;
}

TEST_F(wait, blocked_read_is_woken)
{
	struct waiter waiter = { .fd = self->fd };
	pthread_t thread;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, 0));
	ASSERT_EQ(0, arm_in(self->fd, NS_PER_S, 7, NULL));
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_in_read, &waiter));
	ASSERT_TRUE(wait_asleep(&waiter.tid));
	ASSERT_EQ(0, advance_to(self->fd, NS_PER_S - 1));
	sleep_ns(5 * NS_PER_MS);
	ASSERT_TRUE(wait_asleep(&waiter.tid));
	ASSERT_EQ(0, advance_to(self->fd, 3 * NS_PER_S));
	pthread_join(thread, NULL);
	EXPECT_EQ(1, waiter.ret);
	EXPECT_EQ(7, waiter.event.user_data);
	EXPECT_EQ(NS_PER_S, waiter.event.deadline_ns);
	EXPECT_LE(NS_PER_S, waiter.event.fired_ns);
}

TEST_F(wait, poll_is_woken)
{
	struct waiter waiter = { .fd = self->fd };
	uint64_t begin_ns = now_ns();
	pthread_t thread;

	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 7, NULL));
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_in_poll, &waiter));
	ASSERT_TRUE(wait_asleep(&waiter.tid));
	ASSERT_EQ(0, advance_to(self->fd, 2 * HOUR_NS));
	pthread_join(thread, NULL);
	EXPECT_EQ(POLLIN | POLLRDNORM, waiter.ret);
	EXPECT_GT(begin_ns + patience_ns(), now_ns());
}

TEST_F(wait, epoll_is_woken)
{
	struct epoll_event in = { .events = EPOLLIN | EPOLLET };
	struct waiter waiter = { .fd = self->fd, .epoll_fd = epoll_create1(EPOLL_CLOEXEC) };
	uint64_t begin_ns = now_ns();
	pthread_t thread;

	ASSERT_LE(0, waiter.epoll_fd);
	ASSERT_EQ(0, epoll_ctl(waiter.epoll_fd, EPOLL_CTL_ADD, self->fd, &in));
	ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, 7, NULL));
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_in_epoll, &waiter));
	ASSERT_TRUE(wait_asleep(&waiter.tid));
	ASSERT_EQ(0, advance_with(self->fd, HTWHEEL_ADVANCE_JUMP, 2 * HOUR_NS));
	pthread_join(thread, NULL);
	EXPECT_EQ(1, waiter.ret);
	EXPECT_GT(begin_ns + patience_ns(), now_ns());
	close(waiter.epoll_fd);
}

/* Threads that move one clock by ticks, each as often: the sum arrives, and nothing is lost. */
struct mover {
	int		fd;
	uint64_t	due;
	uint64_t	wrong;
	uint64_t	last_ns;
	unsigned int	rounds;
	unsigned int	cpu;
};

static void *move_clock(void *arg)
{
	struct mover *mover = arg;
	unsigned int round;

	pin_to(mover->cpu);
	for (round = 0; round < mover->rounds; round++) {
		struct htwheel_advance adv = { .flags = HTWHEEL_ADVANCE_TICKS, .to = 1 };

		mover->wrong += device_advance(mover->fd, &adv) != 0;
		mover->wrong += adv.now_ns < mover->last_ns;
		mover->last_ns = adv.now_ns;
		mover->due += adv.due;
	}
	return NULL;
}

TEST_F(wait, two_threads_advance)
{
	const unsigned int rounds = scaled(2000);
	struct mover movers[2];
	struct htwheel_stats stats;
	struct htwheel_event event;
	pthread_t threads[2];
	uint64_t i, now;

	for (i = 1; i <= rounds; i++)
		ASSERT_EQ(0, arm_at(self->fd, i * self->info.tick_ns / 2, i, NULL));
	for (i = 0; i < 2; i++) {
		movers[i] = (struct mover){ .fd = self->fd, .rounds = rounds, .cpu = i };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, move_clock, &movers[i]));
	}
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(0, movers[0].wrong + movers[1].wrong);
	now = clock_of(self->fd);
	/* Two that begin at the same moment go to the same one. */
	EXPECT_LE(rounds * self->info.tick_ns, now);
	EXPECT_GE(2 * rounds * self->info.tick_ns, now);
	EXPECT_EQ(rounds, movers[0].due + movers[1].due);
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(rounds, stats.expired);
	while (read_events(self->fd, &event, 1) == 1) {
		EXPECT_LE(event.deadline_ns, event.fired_ns);
		EXPECT_GE(now, event.fired_ns);
	}
}

/* One arms, re-arms and cancels while the other moves: never early, and the books balance. */
static void arm_some(void *arg)
{
	static uint64_t seed = 5;
	int fd = *(int *)arg;
	uint64_t id = 0;

	arm_in(fd, chance_below(&seed, 100 * TICK_NS), 0, &id);
	if (chance_below(&seed, 2))
		rearm_in(fd, id, chance_below(&seed, 10 * TICK_NS));
	if (!chance_below(&seed, 4))
		cancel(fd, id, NULL);
}

TEST_F(wait, B61_operations_beside_an_advance)
{
	const unsigned int rounds = scaled(500);
	struct crew crew = { .nr = 0 };
	struct htwheel_event events[64];
	struct htwheel_stats stats;
	unsigned int i;
	int nr;

	ASSERT_EQ(0, crew_add(&crew, 1, arm_some, &self->fd));
	for (i = 0; i < rounds || !crew_has_turned(&crew); i++) {
		ASSERT_EQ(0, advance_to(self->fd, clock_of(self->fd) + i % 7 * TICK_NS / 3));
		/* Not until none is left, for the other may be faster than this. */
		nr = read_events(self->fd, events, ARRAY_SIZE(events));
		while (nr-- > 0)
			ASSERT_LE(events[nr].deadline_ns, events[nr].fired_ns);
	}
	crew_end(&crew);
	ASSERT_EQ(0, advance_to(self->fd, clock_of(self->fd) + NS_PER_S));
	drop_events(self->fd);
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_TRUE(books_balance(&stats));
	EXPECT_EQ(0, stats.pending);
	EXPECT_EQ(0, stats.queued);
}

static volatile sig_atomic_t nr_signals;

static void count_signal(int signal)
{
	(void)signal;
	nr_signals++;
}

/* As many timers as a list can take, or a million. */
static int arm_crowd(int fd, uint32_t nr)
{
	static struct htwheel_op ops[BATCH];
	uint32_t done, i;
	int ret = 0;

	for (done = 0; done < nr && !ret; done += BATCH) {
		for (i = 0; i < BATCH; i++)
			ops[i] = (struct htwheel_op){
				.opcode = HTWHEEL_OP_ARM, .time_ns = (done + i) * 1000ULL,
			};
		ret = submit_all(fd, ops, BATCH < nr - done ? BATCH : nr - done);
		if (!ret)
			ret = ops[0].result;
	}
	return ret;
}

/* A signal ends a call early; what it did is told, and the next one goes on. */
TEST_F(wait, signals_interrupt)
{
	const struct itimerval often = { { 0, 2000 }, { 0, 2000 } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	const struct sigaction action = { .sa_handler = count_signal };
	struct htwheel_advance adv = { .to = NS_PER_S };
	const uint32_t nr = 60000;
	uint64_t due = 0, last_ns = 0;
	unsigned int calls = 0;
	int ret;

	/* With a tick for each timer, it is a long way. */
	close(self->fd);
	self->fd = open_with((struct htwheel_setup){
		.clock = HTWHEEL_CLOCK_MANUAL, .tick_ns = 1 << 10,
	});
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, arm_crowd(self->fd, nr));
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &often, NULL));
	do {
		ret = device_advance(self->fd, &adv);
		ASSERT_TRUE(!ret || ret == -EINTR);
		due += adv.due;
		calls++;
		/* Refused before it has begun, it says nothing of the clock. */
		if (!adv.passes)
			continue;
		ASSERT_LE(last_ns, adv.now_ns);
		last_ns = adv.now_ns;
	} while (ret);
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &never, NULL));
	TH_LOG("%u calls, %d signals", calls, (int)nr_signals);
	/* What is armed for right now fires without any ADVANCE. */
	EXPECT_EQ(nr - 1, due);
	EXPECT_EQ(NS_PER_S, clock_of(self->fd));
	EXPECT_EQ(nr, drop_events(self->fd));
}

TEST_F(wait, B76_a_million_timers)
{
	struct htwheel_advance adv = { .to = 2 * NS_PER_S };
	uint32_t nr = self->info.max_timers < MANY ? self->info.max_timers : MANY;
	struct htwheel_stats stats;

	if (self->info.max_timers < 60000)
		SKIP(return, "the limit is too low");
	ASSERT_EQ(0, arm_crowd(self->fd, nr));
	ASSERT_EQ(0, device_advance(self->fd, &adv));
	EXPECT_EQ(nr - 1, adv.due);
	TH_LOG("%u timers: %llu moves, %llu slots, %llu passes, at most %llu at a moment", nr,
	       (unsigned long long)adv.moves, (unsigned long long)adv.slots,
	       (unsigned long long)adv.passes, (unsigned long long)adv.largest);
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(nr, stats.expired);
	EXPECT_EQ(nr, drop_events(self->fd));
}

TEST_HARNESS_MAIN
