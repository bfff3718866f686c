// SPDX-License-Identifier: GPL-2.0
/*
 * Load from all CPUs: timers that move between them, passes that race arms, consumers that never
 * stop.
 */
#include "harness.h"
#include "ledger.h"

#define NR_THREADS	4
#define NR_TIMERS	5000

FIXTURE(stress) {
	struct htwheel_info info;
	int fd;
};

FIXTURE_SETUP(stress)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
}

FIXTURE_TEARDOWN(stress)
{
	close(self->fd);
}

/* One thread on one CPU, with a context of its own. */
struct worker {
	struct ledger	ledger;
	unsigned int	number;
	unsigned int	rounds;
	uint64_t	tick_ns;
	uint64_t	sum;
	int		fd;
	int		error;
};

static int start_workers(struct worker *workers, pthread_t *threads, void *(*run)(void *),
			 unsigned int rounds, uint64_t tick_ns)
{
	unsigned int i;

	for (i = 0; i < NR_THREADS; i++) {
		memset(&workers[i], 0, sizeof(workers[i]));
		workers[i].number = i;
		workers[i].rounds = rounds;
		workers[i].tick_ns = tick_ns;
		workers[i].fd = open_device(O_NONBLOCK);
		if (workers[i].fd < 0 || ledger_init(&workers[i].ledger, NR_TIMERS) ||
		    pthread_create(&threads[i], NULL, run, &workers[i]))
			return -1;
	}
	return 0;
}

#define FINISH_WORKERS(workers, threads)						\
	do {										\
		int _i;									\
											\
		for (_i = 0; _i < NR_THREADS; _i++) {					\
			pthread_join((threads)[_i], NULL);				\
			EXPECT_EQ(0, (workers)[_i].error) {				\
				TH_LOG("worker %d", _i);				\
			}								\
			EXPECT_LEDGER_RIGHT(&(workers)[_i].ledger);			\
			ASSERT_BOOKS_MATCH(&(workers)[_i].ledger, (workers)[_i].fd);	\
			close((workers)[_i].fd);					\
			ledger_free(&(workers)[_i].ledger);				\
		}									\
	} while (0)

static void *arm_and_drain(void *arg)
{
	struct worker *worker = arg;
	unsigned int round;

	worker->error = pin_to(worker->number);
	for (round = 0; round < worker->rounds && !worker->error; round++) {
		worker->error = ledger_arm(&worker->ledger, worker->fd, 0, worker->ledger.nr, 0,
					   20 * NS_PER_MS);
		if (!worker->error)
			worker->error = ledger_drain(&worker->ledger, worker->fd, 0);
	}
	return NULL;
}

TEST_F(stress, a_context_for_each_thread)
{
	struct worker workers[NR_THREADS];
	pthread_t threads[NR_THREADS];

	ASSERT_EQ(0, start_workers(workers, threads, arm_and_drain, scaled(3), self->info.tick_ns));
	FINISH_WORKERS(workers, threads);
}

/* Move the timers of the last round, from whatever CPU they are on, and read what comes. */
static int move_some(struct worker *worker, unsigned int round)
{
	struct ledger *ledger = &worker->ledger;
	struct htwheel_op ops[64];
	uint64_t before_ns, after_ns;
	uint32_t numbers[64], i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		numbers[i] = (round * 61 + i * 7) % 500;
		ops[i] = (struct htwheel_op){
			.opcode = HTWHEEL_OP_REARM,
			.id = ledger->timers[numbers[i]].id,
			.time_ns = chance_below(&ledger->chance, 3) ? HOUR_NS : worker->tick_ns,
		};
	}
	before_ns = now_ns();
	ret = submit_all(worker->fd, ops, ARRAY_SIZE(ops));
	after_ns = now_ns();
	for (i = 0; i < ARRAY_SIZE(ops) && !ret; i++) {
		if (ops[i].result < 0)
			ret = ops[i].result == -ENOENT ? 0 : ops[i].result;
		else
			ledger_note_rearm(ledger, &ops[i], numbers[i], before_ns, after_ns);
	}
	return ret;
}

/*
 * B23: a pass that chooses its next wake-up, on each CPU, while another CPU brings one of its
 * timers forward to the next tick. If the two miss each other, that timer comes an hour late, or
 * never.
 */
static void *bring_forward(void *arg)
{
	struct worker *worker = arg;
	struct ledger *ledger = &worker->ledger;
	unsigned int round;
	uint32_t i;
	int ret;

	for (round = 0; round < worker->rounds && !worker->error; round++) {
		worker->error = pin_to(worker->number + round);
		for (i = 0; i < 500 && !worker->error; i++)
			if (ledger->timers[i].state != LEDGER_LIVE)
				worker->error = ledger_arm(ledger, worker->fd, i, 1, HOUR_NS, 0);
		if (!worker->error)
			worker->error = move_some(worker, round);
		ret = worker->error ? 0 : ledger_read(ledger, worker->fd);
		worker->error = ret < 0 ? ret : worker->error;
	}
	/* In the end all are brought forward, so all must come. */
	for (i = 0; i < 500 && !worker->error; i++)
		if (ledger->timers[i].state == LEDGER_LIVE)
			worker->error = ledger_rearm(ledger, worker->fd, i, 1, worker->tick_ns, 0);
	if (!worker->error)
		worker->error = ledger_drain(ledger, worker->fd, 0);
	return NULL;
}

TEST_F(stress, B23_brought_forward_while_a_pass_chooses_its_next)
{
	struct worker workers[NR_THREADS];
	pthread_t threads[NR_THREADS];

	ASSERT_EQ(0, start_workers(workers, threads, bring_forward, scaled(40),
				   self->info.tick_ns));
	FINISH_WORKERS(workers, threads);
}

/*
 * One timer of one tick at a time on each CPU: each wake-up is chosen while the other CPU does the
 * same.
 */
static void *ping(void *arg)
{
	struct worker *worker = arg;
	unsigned int round;

	worker->error = pin_to(worker->number);
	for (round = 0; round < worker->rounds && !worker->error; round++) {
		worker->error = ledger_arm(&worker->ledger, worker->fd, round % NR_TIMERS, 1, 1, 0);
		if (!worker->error)
			worker->error = ledger_drain(&worker->ledger, worker->fd, 0);
	}
	return NULL;
}

TEST_F(stress, B23_one_tick_again_and_again)
{
	struct worker workers[NR_THREADS];
	pthread_t threads[NR_THREADS];

	ASSERT_EQ(0, start_workers(workers, threads, ping, scaled(300), self->info.tick_ns));
	FINISH_WORKERS(workers, threads);
}

/*
 * A consumer answers each event with a timer that is due at once. It must not keep the timers of
 * another context, nor its own 5 ms timer, from coming.
 */
TEST_F(stress, B71_zero_delay_for_each_event)
{
	const uint64_t start_ns = now_ns();
	uint64_t zero = 0, slow = 0, other = 0;
	struct htwheel_event events[8];
	int fd = open_device(O_NONBLOCK);
	int i, nr;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, arm_in(self->fd, 0, 0, NULL));
	ASSERT_EQ(0, arm_in(self->fd, 5 * NS_PER_MS, 1, NULL));
	ASSERT_EQ(0, arm_in(fd, 5 * NS_PER_MS, 2, NULL));
	while (now_ns() < start_ns + NS_PER_S / 2 || !zero || !slow || !other) {
		ASSERT_GT(start_ns + patience_ns(), now_ns()) {
			TH_LOG("%llu at once, %llu and %llu after 5 ms", (unsigned long long)zero,
			       (unsigned long long)slow, (unsigned long long)other);
		}
		nr = read_events(self->fd, events, ARRAY_SIZE(events));
		/* The zero one is always there. */
		ASSERT_LE(1, nr);
		for (i = 0; i < nr; i++) {
			ASSERT_LE(events[i].deadline_ns, events[i].fired_ns);
			ASSERT_EQ(0, arm_in(self->fd, events[i].user_data * 5 * NS_PER_MS,
					    events[i].user_data, NULL));
			zero += events[i].user_data == 0;
			slow += events[i].user_data == 1;
		}
		nr = read_events(fd, events, 1);
		if (nr == -EAGAIN)
			continue;
		ASSERT_EQ(1, nr);
		ASSERT_EQ(0, arm_in(fd, 5 * NS_PER_MS, 2, NULL));
		other++;
	}
	TH_LOG("%llu at once, %llu and %llu after 5 ms", (unsigned long long)zero,
	       (unsigned long long)slow, (unsigned long long)other);
	close(fd);
}

/*
 * More in one tick, and on one CPU, than a pass may handle: the rest follows, and nothing is lost.
 */
TEST_F(stress, more_in_one_tick_than_a_pass_handles)
{
	struct htwheel_stats before, after;
	const uint32_t nr = scaled(30000);
	struct ledger ledger;

	ASSERT_EQ(0, ledger_init(&ledger, nr));
	ledger.absolute = true;
	ASSERT_EQ(0, pin_to(0));
	ASSERT_EQ(0, device_stats(self->fd, &before));
	ASSERT_EQ(0, ledger_arm(&ledger, self->fd, 0, nr, now_ns() + NS_PER_S / 2, 0));
	/* Nothing else may arm and so restart the engine by accident; only passes run now. */
	ASSERT_TRUE(wait_readable(self->fd));
	ASSERT_EQ(0, ledger_drain(&ledger, self->fd, 0));
	ASSERT_EQ(0, device_stats(self->fd, &after));
	TH_LOG("%llu passes stopped at their budget",
	       (unsigned long long)(after.budget_stops - before.budget_stops));
	EXPECT_EQ(0, after.backlog_cpus);
	EXPECT_LEDGER_RIGHT(&ledger);
	ASSERT_BOOKS_MATCH(&ledger, self->fd);
	ledger_free(&ledger);
}

/*
 * More was due than a pass handles, and what was left is cancelled: no CPU has a backlog then, and
 * none gets older.
 */
TEST_F(stress, backlog_that_is_cancelled_is_none)
{
	const uint32_t nr = scaled(12000);
	struct htwheel_stats stats;
	struct ledger ledger;
	unsigned int round;
	uint64_t due_ns;

	ASSERT_EQ(0, ledger_init(&ledger, nr));
	ledger.absolute = true;
	ASSERT_EQ(0, pin_to(0));
	for (round = 0; round < 4; round++) {
		due_ns = now_ns() + 100 * NS_PER_MS;
		ASSERT_EQ(0, ledger_arm(&ledger, self->fd, 0, nr, due_ns, 0));
		while (now_ns() < due_ns + round * NS_PER_MS)
			;
		ASSERT_EQ(0, ledger_cancel(&ledger, self->fd, 0, nr));
		sleep_ns(20 * NS_PER_MS);
		ASSERT_EQ(0, device_stats(self->fd, &stats));
		EXPECT_EQ(0, stats.pending);
		EXPECT_EQ(0, stats.backlog_cpus);
		EXPECT_EQ(0, stats.backlog_ns);
	}
	ASSERT_BOOKS_MATCH(&ledger, self->fd);
	ledger_free(&ledger);
}

/*
 * A context that nobody reads, with events by the hundred thousand, is a list that nobody walks:
 * another one, on the same CPUs, has its timers as ever.
 */
TEST_F(stress, B77_context_that_is_not_drained)
{
	const uint32_t nr = scaled(100000);
	struct htwheel_event event;
	struct htwheel_stats stats;
	struct ledger stuck;
	unsigned int round;
	uint64_t deadline_ns;
	int fd;

	if (self->info.max_timers < nr)
		SKIP(return, "the limit is too low");
	fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ledger_init(&stuck, nr));
	ASSERT_EQ(0, ledger_arm(&stuck, self->fd, 0, nr, 0, NS_PER_S / 2));
	do {
		sleep_ns(10 * NS_PER_MS);
		ASSERT_EQ(0, device_stats(self->fd, &stats));
	} while (stats.expired < nr);

	for (round = 0; round < 100; round++) {
		ASSERT_EQ(0, pin_to(round));
		deadline_ns = now_ns() + round % 5 * NS_PER_MS;
		ASSERT_EQ(0, arm_at(fd, deadline_ns, round, NULL));
		ASSERT_EQ(0, next_event(fd, &event));
		EXPECT_EQ(deadline_ns, event.deadline_ns);
		EXPECT_LE(deadline_ns, event.fired_ns);
	}
	/* All of it is there when somebody reads at last. */
	ASSERT_EQ(0, ledger_drain(&stuck, self->fd, 0));
	EXPECT_LEDGER_RIGHT(&stuck);
	ASSERT_BOOKS_MATCH(&stuck, self->fd);
	ledger_free(&stuck);
	close(fd);
}

TEST_HARNESS_MAIN
