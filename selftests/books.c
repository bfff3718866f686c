// SPDX-License-Identifier: GPL-2.0
/*
 * The books balance: random operations, with the program's own books beside the module's.
 *
 * The seed is printed; the variable HTWHEEL_SEED sets another.
 */
#include "harness.h"
#include "crew.h"
#include "ledger.h"

#define NR_TIMERS	400
#define NR_THREADS	4

FIXTURE(books) {
	struct htwheel_info info;
	int fd;
};

FIXTURE_SETUP(books)
{
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &self->info));
	TH_LOG("HTWHEEL_SEED=%lu", number_from_env("HTWHEEL_SEED", 1));
}

FIXTURE_TEARDOWN(books)
{
	close(self->fd);
}

/* A random walk over the operations of one context. */
struct walk {
	struct ledger	ledger;
	uint64_t	tick_ns;
	uint64_t	seed;
	unsigned int	steps;
	int		fd;
	const char	*wrong;
	/* Where it went wrong, for the message. */
	unsigned int	step;
};

/* Past, now, the next ticks, each level of a wheel, never. */
static uint64_t random_delay_ns(struct walk *walk)
{
	switch (chance_below(&walk->seed, 8)) {
	case 0:
		return 0;
	case 1:
		return chance_below(&walk->seed, 1000);
	case 2:
		return HTWHEEL_NEVER_NS - chance_below(&walk->seed, 2);
	case 3:
		return chance(&walk->seed) >> (1 + chance_below(&walk->seed, 40));
	default:
		return chance_below(&walk->seed, 20 * walk->tick_ns);
	}
}

static void make_random_op(struct walk *walk, struct htwheel_op *op, uint32_t *number)
{
	const struct ledger_timer *timer;
	uint64_t now = now_ns();

	*number = chance_below(&walk->seed, walk->ledger.nr);
	timer = &walk->ledger.timers[*number];
	*op = (struct htwheel_op){ .user_data = *number, .result = -JUNK };
	/* An arm needs a number without a live timer. */
	op->opcode = 1 + chance_below(&walk->seed, 4);
	if (op->opcode == HTWHEEL_OP_ARM && timer->state == LEDGER_LIVE)
		op->opcode = HTWHEEL_OP_REARM;
	op->id = op->opcode == HTWHEEL_OP_ARM ? JUNK64 : timer->id;
	if (op->opcode == HTWHEEL_OP_CANCEL || op->opcode == HTWHEEL_OP_QUERY)
		return;
	op->time_ns = random_delay_ns(walk);
	if (op->time_ns < HTWHEEL_NEVER_NS - now && chance_below(&walk->seed, 2)) {
		op->flags = HTWHEEL_ABSOLUTE;
		op->time_ns += now - (op->time_ns ? 0 : chance_below(&walk->seed, now));
	}
}

/* Whether an answer fits to what is known; the books are brought up to date. */
static const char *judge(struct walk *walk, const struct htwheel_op *op, uint32_t number,
			 uint64_t before_ns, uint64_t after_ns)
{
	struct ledger *ledger = &walk->ledger;
	const struct ledger_timer *timer = &ledger->timers[number];
	bool live = timer->state == LEDGER_LIVE;
	uint64_t due_min_ns = timer->due_min_ns, due_max_ns = timer->due_max_ns;

	if (op->opcode == HTWHEEL_OP_ARM) {
		if (op->result || !op->id)
			return "arm failed";
		ledger_note_arm(ledger, op, number, before_ns, after_ns);
		return NULL;
	}
	if (!live)
		return op->result == -ENOENT ? NULL : "answer for a dead timer";
	if (op->result != 0 && op->result != HTWHEEL_RES_FIRED)
		return "answer for a live timer";
	if (op->result == HTWHEEL_RES_FIRED && due_min_ns > after_ns)
		return "fired early";
	if (op->opcode == HTWHEEL_OP_REARM) {
		ledger_note_rearm(ledger, op, number, before_ns, after_ns);
		return NULL;
	}
	if (op->opcode == HTWHEEL_OP_CANCEL)
		ledger_note_cancel(ledger, number);
	if (due_max_ns > HTWHEEL_NEVER_NS)
		due_max_ns = HTWHEEL_NEVER_NS;
	if (op->result == HTWHEEL_RES_FIRED && op->time_ns)
		return "fired, and time left";
	if (op->time_ns > (due_max_ns > before_ns ? due_max_ns - before_ns : 0))
		return "too much time left";
	if (due_max_ns < HTWHEEL_NEVER_NS &&
	    op->time_ns < (due_min_ns > after_ns ? due_min_ns - after_ns : 0))
		return "too little time left";
	return NULL;
}

/*
 * One call with a few operations, each on a timer of its own; so what is known of a timer when its
 * operation is made still holds when it is carried out.
 */
static const char *submit_random(struct walk *walk)
{
	uint32_t numbers[16], i, j, nr = 1 + chance_below(&walk->seed, ARRAY_SIZE(numbers));
	struct htwheel_op ops[ARRAY_SIZE(numbers)];
	uint64_t before_ns, after_ns;
	const char *wrong = NULL;

	for (i = 0; i < nr; i++) {
		make_random_op(walk, &ops[i], &numbers[i]);
		for (j = 0; j < i && numbers[j] != numbers[i]; j++)
			;
		i -= j < i;
	}
	before_ns = now_ns();
	if (submit_all(walk->fd, ops, nr))
		return "the call failed";
	after_ns = now_ns();
	for (i = 0; i < nr && !wrong; i++)
		wrong = judge(walk, &ops[i], numbers[i], before_ns, after_ns);
	return wrong;
}

static const char *step(struct walk *walk)
{
	const char *wrong = NULL;

	switch (chance_below(&walk->seed, 4)) {
	case 0:
		if (ledger_read(&walk->ledger, walk->fd) < 0)
			wrong = "read failed";
		break;
	case 1:
		if (!chance_below(&walk->seed, 16))
			sleep_ns(chance_below(&walk->seed, 4 * walk->tick_ns));
		break;
	default:
		wrong = submit_random(walk);
	}
	if (!wrong && ledger_wrong(&walk->ledger))
		wrong = "an event is early, repeated, unknown or damaged";
	return wrong ? wrong : ledger_mismatch(&walk->ledger, walk->fd);
}

static void *run_walk(void *arg)
{
	struct walk *walk = arg;

	for (walk->step = 0; walk->step < walk->steps && !walk->wrong; walk->step++)
		walk->wrong = step(walk);
	return NULL;
}

static int start_walk(struct walk *walk, uint64_t tick_ns, unsigned int number, unsigned int steps)
{
	memset(walk, 0, sizeof(*walk));
	walk->tick_ns = tick_ns;
	walk->steps = steps;
	walk->seed = (number_from_env("HTWHEEL_SEED", 1) << 8 | number) * 0x9e3779b97f4a7c15ULL | 1;
	walk->fd = open_device(O_NONBLOCK);
	return walk->fd < 0 ? walk->fd : ledger_init(&walk->ledger, NR_TIMERS);
}

#define EXPECT_WALK_RIGHT(walk)								\
	EXPECT_STREQ("nothing", (walk)->wrong ? (walk)->wrong : "nothing") {		\
		TH_LOG("step %u: early %llu, repeated %llu, unknown %llu, damaged %llu",	\
		       (walk)->step, (unsigned long long)(walk)->ledger.early,		\
		       (unsigned long long)(walk)->ledger.repeated,			\
		       (unsigned long long)(walk)->ledger.unknown,			\
		       (unsigned long long)(walk)->ledger.damaged);			\
	}

TEST_F(books, B37_random_operations)
{
	struct walk walk;

	ASSERT_EQ(0, start_walk(&walk, self->info.tick_ns, 0, scaled(4000)));
	run_walk(&walk);
	EXPECT_WALK_RIGHT(&walk);
	TH_LOG("armed %llu, fired %llu, cancelled %llu, replaced %llu",
	       (unsigned long long)walk.ledger.armed, (unsigned long long)walk.ledger.fired,
	       (unsigned long long)walk.ledger.cancelled, (unsigned long long)walk.ledger.replaced);
	close(walk.fd);
}

TEST_F(books, B37_random_operations_on_several_contexts_at_once)
{
	struct walk walks[NR_THREADS];
	pthread_t threads[NR_THREADS];
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		ASSERT_EQ(0, start_walk(&walks[i], self->info.tick_ns, 1 + i, scaled(1000)));
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, run_walk, &walks[i]));
	}
	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_WALK_RIGHT(&walks[i]);
		close(walks[i].fd);
	}
}

#define CROWD_TIMERS	800

/* Threads that share a context; each has timers of its own, and one thread reads for all. */
struct crowd {
	int		fd;
	uint64_t	armed;
	uint64_t	replaced;
	uint64_t	cancelled;
	uint64_t	fired;
	uint64_t	wrong;
	/* Who ended it: an event, or a cancel that was answered by "removed". */
	uint8_t		events[NR_THREADS * CROWD_TIMERS];
	uint8_t		removed[NR_THREADS * CROWD_TIMERS];
};

struct member {
	struct crowd	*crowd;
	unsigned int	number;
	uint64_t	seed;
};

static void read_for_all(void *arg)
{
	struct htwheel_event events[32];
	struct crowd *crowd = arg;
	uint64_t wrong = 0;
	int i, nr;

	nr = read_events(crowd->fd, events, ARRAY_SIZE(events));
	wrong += nr < 0 && nr != -EAGAIN;
	for (i = 0; i < nr; i++) {
		crowd->events[events[i].user_data % ARRAY_SIZE(crowd->events)]++;
		wrong += events[i].fired_ns < events[i].deadline_ns;
	}
	crowd->fired += nr > 0 ? nr : 0;
	__atomic_add_fetch(&crowd->wrong, wrong, __ATOMIC_RELAXED);
}

/* The identity holds at any moment, not only at rest. */
static void watch_books(void *arg)
{
	struct htwheel_stats stats;
	struct crowd *crowd = arg;

	if (device_stats(crowd->fd, &stats) ||
	    stats.armed != stats.fired + stats.cancelled + stats.replaced + stats.pending ||
	    stats.expired > stats.pending || stats.peak < stats.pending)
		__atomic_add_fetch(&crowd->wrong, 1, __ATOMIC_RELAXED);
}

/* Arm a handful, re-arm and cancel some of them while they fire. */
static void *play(void *arg)
{
	struct member *member = arg;
	struct crowd *crowd = member->crowd;
	uint64_t armed = 0, replaced = 0, cancelled = 0, wrong = 0, id;
	uint32_t i, number;
	int ret;

	pin_to(member->number);
	for (i = 0; i < CROWD_TIMERS; i++) {
		number = member->number * CROWD_TIMERS + i;
		if (arm_in(crowd->fd, chance_below(&member->seed, 300 * NS_PER_US), number, &id)) {
			wrong++;
			break;
		}
		armed++;
		if (chance_below(&member->seed, 2)) {
			ret = rearm_in(crowd->fd, id, chance_below(&member->seed, NS_PER_MS));
			armed += ret >= 0;
			replaced += ret >= 0;
			wrong += ret < 0 && ret != -ENOENT;
		}
		if (chance_below(&member->seed, 2)) {
			ret = cancel(crowd->fd, id, NULL);
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

static bool wait_all_read(int fd)
{
	uint64_t end_ns = now_ns() + patience_ns();
	struct htwheel_stats stats;

	do {
		sleep_ns(NS_PER_MS);
		if (device_stats(fd, &stats) || now_ns() > end_ns)
			return false;
	} while (stats.pending);
	return true;
}

TEST_F(books, B37_several_threads_on_one_context)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	struct member members[NR_THREADS];
	struct crew crew = { .nr = 0 };
	pthread_t threads[NR_THREADS];
	struct htwheel_stats stats;
	uint32_t i;

	ASSERT_TRUE(!!crowd);
	crowd->fd = self->fd;
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, read_for_all, crowd));
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, watch_books, crowd));
	crew_wait(&crew);
	for (i = 0; i < NR_THREADS; i++) {
		members[i] = (struct member){ crowd, i, 12345 + i };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, play, &members[i]));
	}
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	EXPECT_TRUE(wait_all_read(self->fd));
	crew_end(&crew);

	EXPECT_EQ(0, crowd->wrong);
	ASSERT_EQ(0, device_stats(self->fd, &stats));
	EXPECT_EQ(crowd->armed, stats.armed);
	EXPECT_EQ(crowd->replaced, stats.replaced);
	EXPECT_EQ(crowd->cancelled, stats.cancelled);
	EXPECT_EQ(crowd->fired, stats.fired);
	EXPECT_EQ(0, stats.pending);
	for (i = 0; i < ARRAY_SIZE(crowd->events); i++) {
		ASSERT_EQ(1, crowd->events[i] + crowd->removed[i]) {
			TH_LOG("timer %u: %u events, removed %u", i, crowd->events[i],
			       crowd->removed[i]);
		}
	}
	free(crowd);
}

TEST_HARNESS_MAIN
