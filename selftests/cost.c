// SPDX-License-Identifier: GPL-2.0
/*
 * What an operation costs must not grow with the number of timers.
 *
 * Times are compared only with times of the same run, and by a bound that a linear search misses by
 * far; the figures are printed, they are no benchmark.
 */
#include "harness.h"
#include "ledger.h"
#include "shared_design.h"

#define FEW		2000U
#define MANY		100000U

/*
 * With 50 times as many timers, a linear search costs 50 times as much; cache misses some 4 times.
 */
#define BOUND		16

/* Operations that are measured. */
#define NR_OPS		2000U

/*
 * Measurements of which the best counts, and how many are made at most while that seems too long: a
 * busy machine disturbs many of them, but not all, and a linear search is long each time.
 */
#define NR_TRIES	5
#define MAX_TRIES	50

FIXTURE(cost) {
	struct ledger ledger;
	int fd;
};

FIXTURE_SETUP(cost)
{
	struct htwheel_info info;

	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &info));
	/* That is what the flag says. */
	if (shared_design(self->fd) & HTWHEEL_DESIGN_LINEAR)
		SKIP(return, "with the design %s it may", info.design);
	if (info.max_timers < MANY)
		SKIP(return, "the limit is too low");
	ASSERT_EQ(0, ledger_init(&self->ledger, MANY));
}

FIXTURE_TEARDOWN(cost)
{
	ledger_free(&self->ledger);
	close(self->fd);
}

/*
 * Time for an operation on each of some timers, far from each other, in ns; 0 if one was refused.
 */
static uint64_t measure(FIXTURE_DATA(cost) *self, uint16_t opcode, uint32_t nr)
{
	struct htwheel_op *ops = calloc(NR_OPS, sizeof(*ops));
	uint64_t begin_ns, end_ns;
	uint32_t i;
	int wrong;

	if (!ops)
		return 0;
	for (i = 0; i < NR_OPS; i++) {
		ops[i].opcode = opcode;
		ops[i].id = self->ledger.timers[(i * 7919ULL) % nr].id;
		if (opcode == HTWHEEL_OP_REARM)
			ops[i].time_ns = HOUR_NS + chance_below(&self->ledger.chance, HOUR_NS);
		if (opcode == HTWHEEL_OP_ARM)
			ops[i].time_ns = HOUR_NS + chance_below(&self->ledger.chance, HOUR_NS);
	}
	begin_ns = now_ns();
	wrong = submit_all(self->fd, ops, NR_OPS);
	end_ns = now_ns();
	for (i = 0; i < NR_OPS; i++) {
		wrong |= ops[i].result;
		/*
		 * Timers that were added for the measurement go again, and those that went come
		 * back.
		 */
		if (opcode == HTWHEEL_OP_ARM)
			wrong |= cancel(self->fd, ops[i].id, NULL);
		if (opcode == HTWHEEL_OP_CANCEL)
			wrong |= ledger_arm(&self->ledger, self->fd, (i * 7919ULL) % nr, 1, HOUR_NS,
					    HOUR_NS);
	}
	free(ops);
	return wrong ? 0 : (end_ns - begin_ns) / NR_OPS + 1;
}

/* The best of some measurements, of more if none is below the bound. */
static uint64_t best(FIXTURE_DATA(cost) *self, uint16_t opcode, uint32_t nr, uint64_t bound_ns)
{
	uint64_t ns, best_ns = UINT64_MAX;
	int i;

	for (i = 0; i < NR_TRIES || (best_ns >= bound_ns && i < MAX_TRIES); i++) {
		ns = measure(self, opcode, nr);
		if (!ns)
			return 0;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	return best_ns;
}

TEST_F(cost, B89_does_not_grow_with_the_number_of_timers)
{
	static const char *const names[] = { "", "arm", "re-arm", "cancel", "query" };
	uint64_t few_ns[ARRAY_SIZE(names)], many_ns;
	uint16_t opcode;

	ASSERT_EQ(0, ledger_arm(&self->ledger, self->fd, 0, FEW, HOUR_NS, HOUR_NS));
	for (opcode = HTWHEEL_OP_ARM; opcode <= HTWHEEL_OP_QUERY; opcode++) {
		few_ns[opcode] = best(self, opcode, FEW, UINT64_MAX);
		ASSERT_LT(0, few_ns[opcode]);
	}
	ASSERT_EQ(0, ledger_arm(&self->ledger, self->fd, FEW, MANY - FEW, HOUR_NS, HOUR_NS));
	for (opcode = HTWHEEL_OP_ARM; opcode <= HTWHEEL_OP_QUERY; opcode++) {
		many_ns = best(self, opcode, MANY, BOUND * few_ns[opcode]);
		ASSERT_LT(0, many_ns);
		TH_LOG("%s: %llu ns with %u timers, %llu ns with %u", names[opcode],
		       (unsigned long long)few_ns[opcode], FEW, (unsigned long long)many_ns, MANY);
		EXPECT_GT(BOUND * few_ns[opcode], many_ns);
	}
}

TEST_HARNESS_MAIN
