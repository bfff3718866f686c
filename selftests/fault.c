// SPDX-License-Identifier: GPL-2.0
/*
 * Batches that end early or change under way: bad memory, signals, threads that write into them.
 *
 * Whatever happens: the first "done" operations have taken effect, the others have not.
 */
#include <signal.h>
#include <sys/time.h>

#include "harness.h"
#include "abi.h"
#include "crew.h"

#define NR_OPS		130
#define PAGES		3
#define OP_SIZE		sizeof(struct htwheel_op)

FIXTURE(fault) {
	unsigned char *map;
	unsigned char *edge;
	size_t page;
	int fd;
};

/* Twice as many pages as an array needs; what lies behind the edge can be taken away. */
FIXTURE_SETUP(fault)
{
	self->page = sysconf(_SC_PAGESIZE);
	self->map = map_before_edge(2 * PAGES);
	ASSERT_TRUE(!!self->map);
	self->edge = self->map + PAGES * self->page;
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(fault)
{
	close(self->fd);
}

static void make_arm(struct htwheel_op *op, uint64_t user_data)
{
	*op = (struct htwheel_op){
		.opcode = HTWHEEL_OP_ARM,
		.result = -JUNK,
		.id = JUNK64,
		.time_ns = HOUR_NS,
		.user_data = user_data,
	};
}

static int protect(FIXTURE_DATA(fault) *self, int how)
{
	return mprotect(self->edge, PAGES * self->page, how);
}

static uint64_t pending(int fd)
{
	struct htwheel_stats stats;

	return device_stats(fd, &stats) ? UINT64_MAX : stats.pending;
}

/* One operation on each of these timers; true if each is answered by 0. */
static bool do_all(int fd, uint16_t opcode, const struct htwheel_op *ops, uint32_t nr)
{
	struct htwheel_op *copies = calloc(nr ? nr : 1, OP_SIZE);
	bool ok = copies;
	uint32_t i;

	for (i = 0; i < nr && ok; i++) {
		copies[i].opcode = opcode;
		copies[i].id = ops[i].id;
		copies[i].result = -JUNK;
	}
	ok = ok && !submit_all(fd, copies, nr);
	for (i = 0; i < nr && ok; i++)
		ok = !copies[i].result;
	free(copies);
	return ok;
}

/* These arms have an answer, and their timers live. */
static bool all_live(int fd, const struct htwheel_op *ops, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (ops[i].result)
			return false;
	return do_all(fd, HTWHEEL_OP_QUERY, ops, nr);
}

/*
 * Submit arms of which so many whole ones, and some bytes of the next, lie before the edge; then
 * give the memory back and submit the rest. Returns what was wrong, or NULL.
 */
static const char *submit_across_edge(FIXTURE_DATA(fault) *self, int how, uint32_t whole,
				      uint32_t bytes)
{
	struct htwheel_op *ops = (void *)(self->edge - whole * OP_SIZE - bytes);
	uint64_t base = pending(self->fd);
	struct htwheel_submit sub;
	uint32_t i, done;

	for (i = 0; i < NR_OPS; i++)
		make_arm(&ops[i], i);
	if (protect(self, how) || device_submit(self->fd, &sub, ops, NR_OPS) != -EFAULT)
		return "no EFAULT";
	done = sub.done;
	if (done > whole)
		return "more done than could be answered";
	if (sub.failed)
		return "failed is not 0";
	if (pending(self->fd) != base + done)
		return "effect and done differ";
	if (!all_live(self->fd, ops, done))
		return "a timer of the first ones does not live";

	if (protect(self, PROT_READ | PROT_WRITE))
		return "mprotect";
	for (i = done; i < NR_OPS; i++)
		make_arm(&ops[i], i);
	if (device_submit(self->fd, &sub, ops + done, NR_OPS - done) || sub.failed)
		return "the rest was refused";
	if (pending(self->fd) != base + NR_OPS || !all_live(self->fd, ops, NR_OPS))
		return "not all live in the end";
	return do_all(self->fd, HTWHEEL_OP_CANCEL, ops, NR_OPS) ? NULL : "cancel";
}

/* The first operation, the second, ones in the middle and at the borders of pages, the last. */
static const uint32_t places[] = { 0, 1, 2, 7, 8, 9, 31, 63, 64, 65, 100, 127, 128, NR_OPS - 1 };

#define EXPECT_RIGHT_ACROSS_EDGE(how)							\
	do {										\
		const char *wrong;							\
		uint32_t bytes;								\
		size_t i;								\
											\
		for (i = 0; i < ARRAY_SIZE(places); i++) {				\
			for (bytes = 0; bytes < OP_SIZE; bytes += 8) {			\
				wrong = submit_across_edge(self, how, places[i], bytes);	\
				ASSERT_STREQ("nothing", wrong ? wrong : "nothing") {	\
					TH_LOG("%u operations and %u bytes", places[i], bytes);	\
				}							\
			}								\
		}									\
	} while (0)

TEST_F(fault, array_runs_into_unmapped_memory)
{
	EXPECT_RIGHT_ACROSS_EDGE(PROT_NONE);
}

TEST_F(fault, array_runs_into_read_only_memory)
{
	EXPECT_RIGHT_ACROSS_EDGE(PROT_READ);
}

TEST_F(fault, array_in_read_only_memory_does_nothing)
{
	struct htwheel_op *ops = (void *)self->edge;
	struct htwheel_submit sub;
	uint32_t i;

	for (i = 0; i < NR_OPS; i++)
		make_arm(&ops[i], i);
	ASSERT_EQ(0, protect(self, PROT_READ));
	EXPECT_EQ(-EFAULT, device_submit(self->fd, &sub, ops, NR_OPS));
	EXPECT_EQ(0, sub.done);
	EXPECT_EQ(0, sub.failed);
	EXPECT_EQ(0, pending(self->fd));
}

TEST_F(fault, failed_counts_those_that_were_done)
{
	struct htwheel_op *ops = (void *)(self->edge - 100 * OP_SIZE);
	struct htwheel_submit sub;
	uint32_t i, failed = 0;

	for (i = 0; i < NR_OPS; i++) {
		make_arm(&ops[i], i);
		if (i % 3 == 0)
			ops[i].opcode = 0;
	}
	ASSERT_EQ(0, protect(self, PROT_NONE));
	ASSERT_EQ(-EFAULT, device_submit(self->fd, &sub, ops, NR_OPS));
	ASSERT_GE(100, sub.done);
	for (i = 0; i < sub.done; i++) {
		EXPECT_EQ(i % 3 ? 0 : -EINVAL, ops[i].result);
		failed += ops[i].result < 0;
	}
	EXPECT_EQ(failed, sub.failed);
	EXPECT_EQ(sub.done - failed, pending(self->fd));
}

/* The other operations, too: what was not done is still armed. */
TEST_F(fault, cancels_run_into_unmapped_memory)
{
	struct htwheel_op *ops = (void *)(self->edge - 70 * OP_SIZE - 24);
	struct htwheel_submit sub;
	uint64_t ids[NR_OPS];
	uint32_t i;

	for (i = 0; i < NR_OPS; i++) {
		ASSERT_EQ(0, arm_in(self->fd, HOUR_NS, i, &ids[i]));
		ops[i] = (struct htwheel_op){ .opcode = HTWHEEL_OP_CANCEL, .id = ids[i] };
	}
	ASSERT_EQ(0, protect(self, PROT_NONE));
	ASSERT_EQ(-EFAULT, device_submit(self->fd, &sub, ops, NR_OPS));
	ASSERT_GE(70, sub.done);
	EXPECT_EQ(0, sub.failed);
	EXPECT_EQ(NR_OPS - sub.done, pending(self->fd));
	for (i = 0; i < NR_OPS; i++)
		EXPECT_EQ(i < sub.done ? -ENOENT : 0, query(self->fd, ids[i], NULL));
}

static void on_signal(int signal)
{
	(void)signal;
}

/* Restarted by the kernel or not, no operation may be carried out twice. */
static const char *submit_under_signals(int fd, int flags, uint32_t nr, uint32_t *interrupted)
{
	struct itimerval every = { .it_interval.tv_usec = 300, .it_value.tv_usec = 300 };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
	struct htwheel_op *ops = calloc(nr, OP_SIZE);
	const char *wrong = NULL;
	struct htwheel_submit sub;
	uint32_t i, done = 0;
	int ret = 0;

	if (!ops || sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &every, NULL))
		return "set-up";
	for (i = 0; i < nr; i++)
		make_arm(&ops[i], i);
	while (done < nr && !wrong) {
		ret = device_submit(fd, &sub, ops + done, nr - done);
		if (ret && ret != -EINTR)
			wrong = "neither 0 nor EINTR";
		else if (sub.done > nr - done || sub.failed || (!ret && sub.done != nr - done))
			wrong = "done or failed";
		else if (ret && pending(fd) != done + sub.done)
			wrong = "effect and done differ";
		done += sub.done;
		*interrupted += ret == -EINTR;
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ .it_value.tv_sec = 0 }, NULL);
	if (!wrong && pending(fd) != nr)
		wrong = "not each operation was done once";
	if (!wrong && !all_live(fd, ops, nr))
		wrong = "a timer does not live";
	free(ops);
	return wrong;
}

TEST_F(fault, signals_during_a_long_batch)
{
	uint32_t interrupted = 0;
	const char *wrong;

	wrong = submit_under_signals(self->fd, 0, scaled(20000), &interrupted);
	EXPECT_STREQ("nothing", wrong ? wrong : "nothing");
	TH_LOG("interrupted %u times", interrupted);
}

TEST_F(fault, signals_with_restart_during_a_long_batch)
{
	uint32_t interrupted = 0;
	const char *wrong;

	wrong = submit_under_signals(self->fd, SA_RESTART, scaled(20000), &interrupted);
	EXPECT_STREQ("nothing", wrong ? wrong : "nothing");
	TH_LOG("interrupted %u times", interrupted);
}

struct meddler {
	struct htwheel_op	*ops;
	unsigned char		*edge;
	size_t			size;
	uint64_t		seed;
	uint64_t		accepted;
	uint64_t		wrong;
	int			fd;
};

/*
 * Values that are valid and others that are not, in every field that the module looks at. A copy
 * may take some bytes of a word before it changes and some after; so they differ in one byte.
 */
static void rewrite(void *arg)
{
	struct meddler *meddler = arg;
	volatile struct htwheel_op *op = &meddler->ops[chance_below(&meddler->seed, NR_OPS)];

	switch (chance_below(&meddler->seed, 5)) {
	case 0:
		op->opcode = HTWHEEL_OP_ARM;
		break;
	case 1:
		op->opcode = 0;
		break;
	case 2:
		op->time_ns = HOUR_NS | 1ULL << 63;
		break;
	case 3:
		op->time_ns = HOUR_NS;
		break;
	default:
		op->reserved ^= chance_below(&meddler->seed, 2);
	}
}

/*
 * What was checked is what is done: every arm that counts as done armed one timer, of one hour at
 * most. Goes on until there were calls in which some arms were refused, and some were not.
 */
TEST_F(fault, B58_array_rewritten_during_the_call)
{
	struct meddler meddler = { .ops = (void *)self->map, .seed = 42 };
	uint64_t end_ns, armed = 0, refused = 0, left_ns;
	struct crew crew = { .nr = 0 };
	struct htwheel_submit sub;
	uint32_t i, failed;

	for (i = 0; i < NR_OPS; i++)
		make_arm(&meddler.ops[i], i);
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, rewrite, &meddler));
	end_ns = now_ns() + NS_PER_S / 2;
	while (now_ns() < end_ns || !crew_has_turned(&crew) || !armed || !refused) {
		ASSERT_EQ(0, device_submit(self->fd, &sub, meddler.ops, NR_OPS));
		ASSERT_EQ(NR_OPS, sub.done);
		for (i = 0, failed = 0; i < NR_OPS; i++) {
			failed += meddler.ops[i].result < 0;
			if (meddler.ops[i].result < 0)
				continue;
			ASSERT_EQ(0, cancel(self->fd, meddler.ops[i].id, &left_ns));
			ASSERT_GE(HOUR_NS, left_ns);
			armed++;
		}
		ASSERT_EQ(failed, sub.failed);
		refused += failed;
	}
	crew_end(&crew);
	EXPECT_EQ(0, pending(self->fd));
}

/* Half of an option is an error; so no timer may have half of one. */
static void rewrite_options(void *arg)
{
	struct meddler *meddler = arg;
	volatile struct htwheel_op *op = &meddler->ops[chance_below(&meddler->seed, NR_OPS)];

	switch (chance_below(&meddler->seed, 3)) {
	case 0:
		op->flags = chance_below(&meddler->seed, 2) ? HTWHEEL_PERIODIC : 0;
		break;
	case 1:
		op->period_ns = chance_below(&meddler->seed, 2) ? 200 : 0;
		break;
	default:
		op->policy = chance_below(&meddler->seed, 2) ? HTWHEEL_POLICY_SKIP : 0;
	}
}

TEST_F(fault, B58_options_rewritten_during_the_call)
{
	struct meddler meddler = { .ops = (void *)self->map, .seed = 42 };
	uint64_t end_ns, done, accepted = 0, refused = 0;
	struct htwheel_dump_entry entries[NR_OPS + 1];
	struct crew crew = { .nr = 0 };
	struct htwheel_submit sub;
	int i, nr;

	for (i = 0; i < NR_OPS; i++)
		make_arm(&meddler.ops[i], i);
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, rewrite_options, &meddler));
	end_ns = now_ns() + NS_PER_S / 2;
	while (now_ns() < end_ns || !crew_has_turned(&crew) || !accepted || !refused) {
		ASSERT_EQ(0, device_submit(self->fd, &sub, meddler.ops, NR_OPS));
		nr = dump_all(self->fd, entries, NR_OPS + 1);
		ASSERT_EQ(sub.done - sub.failed, nr);
		for (i = 0; i < nr; i++) {
			ASSERT_EQ(entries[i].flags ? 200 : 0, entries[i].period_ns);
			ASSERT_TRUE(entries[i].flags || !entries[i].policy);
		}
		ASSERT_EQ(0, mass_all(self->fd,
				      (struct htwheel_mass){ .opcode = HTWHEEL_MASS_CANCEL },
				      &done));
		ASSERT_EQ(nr, done);
		accepted += nr;
		refused += sub.failed;
	}
	crew_end(&crew);
}

/* Memory that comes and goes: results may get lost then, but done still says what was done. */
static void take_away(void *arg)
{
	struct meddler *meddler = arg;
	static const int hows[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE };

	mprotect(meddler->edge, meddler->size, hows[chance_below(&meddler->seed, 3)]);
}

TEST_F(fault, memory_taken_away_during_the_call)
{
	struct meddler meddler = {
		.edge = self->edge, .size = PAGES * self->page, .seed = 42,
	};
	struct htwheel_op *ops = (void *)(self->edge - 60 * OP_SIZE - 8);
	struct crew crew = { .nr = 0 };
	struct htwheel_submit sub;
	uint64_t end_ns, done = 0;
	uint32_t i;
	int ret;

	for (i = 0; i < NR_OPS; i++)
		make_arm(&ops[i], i);
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, take_away, &meddler));
	end_ns = now_ns() + NS_PER_S / 2;
	while (now_ns() < end_ns || !crew_has_turned(&crew)) {
		ret = device_submit(self->fd, &sub, ops, NR_OPS);
		ASSERT_TRUE(ret == 0 || ret == -EFAULT);
		ASSERT_GE(NR_OPS, sub.done);
		ASSERT_EQ(0, sub.failed);
		done += sub.done;
		ASSERT_EQ(done, pending(self->fd));
	}
	crew_end(&crew);
}

static void *submit_same(void *arg)
{
	struct meddler *meddler = arg;
	struct htwheel_submit sub;
	int i;

	for (i = 0; i < 50; i++) {
		meddler->wrong += device_submit(meddler->fd, &sub, meddler->ops, NR_OPS) != 0;
		meddler->accepted += sub.done - sub.failed;
	}
	return NULL;
}

/*
 * One array, two threads that submit it: each call arms each timer, and answers get mixed up, no
 * more.
 */
TEST_F(fault, array_submitted_by_two_threads)
{
	struct meddler meddlers[2];
	pthread_t threads[2];
	uint32_t i;

	for (i = 0; i < NR_OPS; i++)
		make_arm((struct htwheel_op *)self->map + i, i);
	for (i = 0; i < 2; i++) {
		meddlers[i] = (struct meddler){ .ops = (void *)self->map, .fd = self->fd };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, submit_same, &meddlers[i]));
	}
	for (i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, meddlers[i].wrong);
		EXPECT_EQ(50 * NR_OPS, meddlers[i].accepted);
	}
	EXPECT_EQ(2 * 50 * NR_OPS, pending(self->fd));
}

TEST_HARNESS_MAIN
