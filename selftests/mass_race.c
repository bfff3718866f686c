// SPDX-License-Identifier: GPL-2.0
/*
 * HTWHEEL_IOC_MASS while signals come and other threads use the context.
 *
 * Whatever happens: a timer that lives throughout is visited once, and the books balance.
 */
#include <signal.h>
#include <sys/time.h>

#include "harness.h"
#include "crew.h"
#include "many.h"

#define NR_THREADS	3

FIXTURE(race) {
	uint64_t *ids;
	struct htwheel_dump_entry *entries;
	struct htwheel_stats stats;
	uint64_t due_ns;
	uint32_t nr;
	int fd;
};

FIXTURE_SETUP(race)
{
	struct htwheel_info info;

	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &info));
	if (~info.features & (HTWHEEL_FEAT_MASS | HTWHEEL_FEAT_DUMP | HTWHEEL_FEAT_TAG))
		SKIP(return, "the module lacks a feature");
	self->nr = scaled(100000);
	self->ids = calloc(self->nr, sizeof(*self->ids));
	self->entries = calloc(self->nr, sizeof(*self->entries));
	ASSERT_TRUE(self->ids && self->entries);
}

FIXTURE_TEARDOWN(race)
{
	free(self->ids);
	free(self->entries);
	close(self->fd);
}

/* Timers [0, nr), due at due_ns and every microsecond after it. */
static int arm_base(FIXTURE_DATA(race) *self, uint32_t nr)
{
	self->due_ns = now_ns() + 10 * HOUR_NS;
	self->nr = nr;
	return arm_many(self->fd, &(struct htwheel_op){
		.flags = HTWHEEL_ABSOLUTE, .time_ns = self->due_ns, .tag = 1,
	}, 0, nr, NS_PER_US, self->ids);
}

/* The first timer that was not moved by exactly this, or nr. */
static uint32_t first_astray(FIXTURE_DATA(race) *self, uint64_t moved_ns)
{
	uint32_t i;

	for (i = 0; i < self->nr; i++)
		if (self->entries[i].id != self->ids[i] ||
		    self->entries[i].deadline_ns != self->due_ns + i * NS_PER_US + moved_ns)
			break;
	return i;
}

static void on_signal(int signal)
{
	(void)signal;
}

static int start_storm(int flags)
{
	struct itimerval every = { .it_interval.tv_usec = 300, .it_value.tv_usec = 300 };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	return sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &every, NULL);
}

static void end_storm(void)
{
	setitimer(ITIMER_REAL, &(struct itimerval){ .it_value.tv_sec = 0 }, NULL);
}

/*
 * Go on at the cursor until all is done. Returns what was wrong, or NULL; counts what was done, and
 * the calls that a signal ended.
 */
static const char *go_on_until_done(int fd, struct htwheel_mass mass, uint64_t *done,
				    uint32_t *interrupted)
{
	int ret;

	*done = 0;
	do {
		struct htwheel_mass before = mass;

		mass.done = JUNK64;
		ret = device_mass(fd, &mass);
		if (ret && ret != -EINTR)
			return "neither 0 nor EINTR";
		if (!ret && mass.cursor)
			return "0, and a cursor";
		if (ret && mass.done && !mass.cursor)
			return "EINTR, and no cursor";
		*done += mass.done;
		*interrupted += ret == -EINTR;
		before.cursor = mass.cursor;
		before.done = mass.done;
		before.size = mass.size;
		if (memcmp(&before, &mass, sizeof(mass)))
			return "another field was written";
	} while (ret);
	return NULL;
}

/* Each deadline moves once, however often the call is interrupted. */
static const char *shift_under_signals(FIXTURE_DATA(race) *self, int flags, uint64_t *moved_ns,
				       uint32_t *interrupted)
{
	const struct htwheel_mass mass = {
		.opcode = HTWHEEL_MASS_SHIFT, .shift_ns = HOUR_NS,
	};
	const char *wrong = NULL;
	unsigned int round;
	uint64_t done;

	if (start_storm(flags))
		return "set-up";
	for (round = 0; round < 5 && !wrong; round++) {
		wrong = go_on_until_done(self->fd, mass, &done, interrupted);
		*moved_ns += HOUR_NS;
		if (!wrong && done != self->nr)
			wrong = "done";
	}
	end_storm();
	return wrong;
}

#define EXPECT_MOVES_ONCE(flags)							\
	do {										\
		uint32_t interrupted = 0;						\
		uint64_t moved_ns = 0;							\
		const char *wrong;							\
											\
		ASSERT_EQ(0, arm_base(self, self->nr));					\
		wrong = shift_under_signals(self, flags, &moved_ns, &interrupted);	\
		EXPECT_STREQ("nothing", wrong ? wrong : "nothing");			\
		TH_LOG("interrupted %u times", interrupted);				\
		ASSERT_EQ(self->nr, dump_by_number(self->fd, self->entries, self->nr, 1000)); \
		EXPECT_EQ(self->nr, first_astray(self, moved_ns));			\
		ASSERT_TRUE(books_are_right(self->fd, &self->stats));			\
		EXPECT_EQ(self->stats.armed, self->stats.replaced + self->nr);		\
		EXPECT_EQ(5 * self->nr, self->stats.replaced);				\
	} while (0)

TEST_F(race, shift_under_signals)
{
	EXPECT_MOVES_ONCE(0);
}

TEST_F(race, shift_under_signals_with_restart)
{
	EXPECT_MOVES_ONCE(SA_RESTART);
}

TEST_F(race, cancel_under_signals)
{
	const char *wrong = NULL;
	uint32_t interrupted = 0;
	uint64_t done;

	ASSERT_EQ(0, arm_base(self, self->nr));
	ASSERT_EQ(0, start_storm(0));
	wrong = go_on_until_done(self->fd, (struct htwheel_mass){ .opcode = HTWHEEL_MASS_CANCEL },
				 &done, &interrupted);
	end_storm();
	EXPECT_STREQ("nothing", wrong ? wrong : "nothing");
	TH_LOG("interrupted %u times", interrupted);
	EXPECT_EQ(self->nr, done);
	EXPECT_EQ(self->nr, count_stale(self->fd, self->ids, self->nr));
	ASSERT_TRUE(books_are_right(self->fd, &self->stats));
	EXPECT_EQ(self->nr, self->stats.cancelled);
}

TEST_F(race, dump_under_signals)
{
	int ret;

	ASSERT_EQ(0, arm_base(self, self->nr));
	ASSERT_EQ(0, start_storm(0));
	ret = dump_by_number(self->fd, self->entries, self->nr, 4000);
	end_storm();
	ASSERT_EQ(self->nr, ret);
	EXPECT_EQ(self->nr, first_astray(self, 0));
}

struct worker {
	int		fd;
	unsigned int	number;
	unsigned int	rounds;
	int64_t		shift_ns;
	uint64_t	done;
	uint64_t	wrong;
	bool		ended;
};

/* Arm, move and cancel timers of one's own; each is there until its end. */
static void churn(void *arg)
{
	struct htwheel_op like = { .time_ns = 5 * HOUR_NS, .tag = 2 };
	struct worker *worker = arg;
	uint64_t ids[100];

	worker->wrong += arm_many(worker->fd, &like, 0, 100, 0, ids) != 0;
	worker->wrong += rearm_in(worker->fd, ids[17], HOUR_NS) != 0;
	worker->wrong += cancel_many(worker->fd, ids, 100) != 100;
}

static void *shift_by(void *arg)
{
	struct worker *worker = arg;
	unsigned int round;
	uint64_t done;

	pin_to(worker->number);
	for (round = 0; round < worker->rounds; round++) {
		worker->wrong += mass_all(worker->fd, (struct htwheel_mass){
			.opcode = HTWHEEL_MASS_SHIFT, .shift_ns = worker->shift_ns,
		}, &done) != 0;
		worker->done += done;
	}
	return NULL;
}

static void *cancel_them(void *arg)
{
	struct worker *worker = arg;

	pin_to(worker->number);
	worker->wrong += mass_all(worker->fd,
				  (struct htwheel_mass){ .opcode = HTWHEEL_MASS_CANCEL },
				  &worker->done) != 0;
	return NULL;
}

/* Others come and go, in slots of the pool that lie between: those that stay move once a call. */
TEST_F(race, shift_among_others_that_come_and_go)
{
	const unsigned int rounds = scaled(20);
	struct worker workers[NR_THREADS];
	struct crew crew = { .nr = 0 };
	unsigned int i, round;
	uint64_t done;

	ASSERT_EQ(0, arm_base(self, scaled(20000)));
	for (i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){ .fd = self->fd };
		ASSERT_EQ(0, crew_add(&crew, i, churn, &workers[i]));
	}
	for (round = 0; round < rounds || !crew_has_turned(&crew); round++) {
		ASSERT_EQ(0, mass_all(self->fd, (struct htwheel_mass){
			.opcode = HTWHEEL_MASS_SHIFT, .shift_ns = NS_PER_S,
		}, &done));
		ASSERT_LE(self->nr, done);
	}
	crew_end(&crew);
	for (i = 0; i < NR_THREADS; i++)
		EXPECT_EQ(0, workers[i].wrong);
	ASSERT_EQ(self->nr, dump_by_number(self->fd, self->entries, self->nr, 777));
	EXPECT_EQ(self->nr, first_astray(self, round * NS_PER_S));
	ASSERT_TRUE(books_are_right(self->fd, &self->stats));
	EXPECT_EQ(self->nr, self->stats.pending);
}

/* Calls at once, there and back: each moves each timer once. */
TEST_F(race, shifts_by_several_threads)
{
	const int64_t shifts[NR_THREADS] = { HOUR_NS, -(int64_t)HOUR_NS, 12345 };
	const unsigned int rounds = scaled(10);
	struct worker workers[NR_THREADS];
	pthread_t threads[NR_THREADS];
	int64_t moved_ns = 0;
	unsigned int i;

	/* Far enough that no order of the calls makes one fire. */
	ASSERT_EQ(0, arm_base(self, scaled(10000)));
	for (i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){
			.fd = self->fd, .number = i, .rounds = rounds,
			.shift_ns = shifts[i] / (int64_t)(2 * rounds),
		};
		moved_ns += workers[i].shift_ns * rounds;
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, shift_by, &workers[i]));
	}
	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, workers[i].wrong);
		EXPECT_EQ(rounds * self->nr, workers[i].done);
	}
	ASSERT_EQ(self->nr, dump_by_number(self->fd, self->entries, self->nr, 1000));
	EXPECT_EQ(self->nr, first_astray(self, moved_ns));
	ASSERT_TRUE(books_are_right(self->fd, &self->stats));
	EXPECT_EQ(NR_THREADS * rounds * self->nr, self->stats.replaced);
}

/* Exactly one of them is told of each timer. */
TEST_F(race, cancels_by_several_threads)
{
	struct worker workers[NR_THREADS];
	pthread_t threads[NR_THREADS];
	uint64_t done = 0;
	unsigned int i;

	ASSERT_EQ(0, arm_base(self, scaled(50000)));
	for (i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){ .fd = self->fd, .number = i };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, cancel_them, &workers[i]));
	}
	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, workers[i].wrong);
		done += workers[i].done;
	}
	EXPECT_EQ(self->nr, done);
	EXPECT_EQ(self->nr, count_stale(self->fd, self->ids, self->nr));
	ASSERT_TRUE(books_are_right(self->fd, &self->stats));
	EXPECT_EQ(self->nr, self->stats.cancelled);
}

static void *arm_and_leave(void *arg)
{
	struct worker *worker = arg;
	unsigned int round;

	pin_to(worker->number);
	for (round = 0; round < worker->rounds; round++) {
		worker->wrong += arm_many(worker->fd, &(struct htwheel_op){ .time_ns = 0 }, 0, 50,
					  100 * NS_PER_US, NULL) != 0;
		worker->done += 50;
	}
	__atomic_store_n(&worker->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool all_have_ended(const struct worker *workers)
{
	unsigned int i;

	for (i = 0; i < NR_THREADS; i++)
		if (!__atomic_load_n(&workers[i].ended, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

static uint64_t read_all(int fd)
{
	struct htwheel_event events[128];
	uint64_t seen = 0;
	int ret;

	while ((ret = read_events(fd, events, 128)) > 0)
		seen += ret;
	return seen;
}

/* Armed, read, and cancelled at the very moment when they fire: each ends in one way. */
TEST_F(race, B28_cancel_among_timers_that_fire)
{
	struct worker workers[NR_THREADS];
	pthread_t threads[NR_THREADS];
	uint64_t done, armed = 0, cancelled = 0, seen = 0;
	unsigned int i, round;

	for (i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){ .fd = self->fd, .number = i, .rounds = scaled(200) };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, arm_and_leave, &workers[i]));
	}
	for (round = 0; round < scaled(300) || !all_have_ended(workers); round++) {
		seen += read_all(self->fd);
		ASSERT_EQ(0, mass_all(self->fd,
				      (struct htwheel_mass){ .opcode = HTWHEEL_MASS_CANCEL },
				      &done));
		cancelled += done;
	}
	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, workers[i].wrong);
		armed += workers[i].done;
	}
	ASSERT_EQ(0, mass_all(self->fd, (struct htwheel_mass){ .opcode = HTWHEEL_MASS_CANCEL },
			      &done));
	cancelled += done;
	EXPECT_EQ(armed, seen + cancelled);
	EXPECT_FALSE(is_readable(self->fd));
	ASSERT_TRUE(books_are_right(self->fd, &self->stats));
	EXPECT_EQ(armed, self->stats.armed);
	EXPECT_EQ(seen, self->stats.fired);
	EXPECT_EQ(cancelled, self->stats.cancelled);
	EXPECT_EQ(0, self->stats.pending);
}

TEST_HARNESS_MAIN
