// SPDX-License-Identifier: GPL-2.0
/*
 * The loads. Each is the same for the same seed, on every machine.
 */
#include <stddef.h>
#include <string.h>

#include "device.h"
#include "load.h"

/* A generator of 64 bits (xorshift64*), for loads and not for secrets. */
uint64_t load_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ULL;
}

/* From @from_ns to @to_ns, either included. */
static uint64_t between_ns(uint64_t *state, uint64_t from_ns, uint64_t to_ns)
{
	return from_ns + load_random(state) % (to_ns - from_ns + 1);
}

static void arm(struct trace *trace, uint64_t time_ns, uint64_t key, uint64_t delay_ns)
{
	struct trace_op op = { .time_ns = time_ns, .key = key, .kind = TRACE_ARM };

	op.deadline_ns = time_ns + delay_ns;
	trace_add(trace, op);
}

/* Each connection has two timeouts and a heartbeat. */
static void make_seeds(struct trace *trace, uint32_t timers, uint32_t seconds, uint64_t seed)
{
	uint64_t period_ns;
	uint32_t i;

	for (i = 0; i < timers; i++) {
		arm(trace, 0, 3ULL * i, between_ns(&seed, NSEC_PER_SEC, 120 * NSEC_PER_SEC));
		arm(trace, 0, 3ULL * i + 1, between_ns(&seed, NSEC_PER_SEC, 120 * NSEC_PER_SEC));
		period_ns = between_ns(&seed, NSEC_PER_SEC / 2, 5 * NSEC_PER_SEC);
		trace_add(trace, (struct trace_op){
			.key = 3ULL * i + 2, .deadline_ns = period_ns, .period_ns = period_ns,
			.policy = HTWHEEL_POLICY_SKIP, .kind = TRACE_ARM });
	}
	trace->end_ns = seconds * NSEC_PER_SEC;
}

static void make_uniform(struct trace *trace, uint32_t timers, uint32_t seconds, uint64_t seed)
{
	uint32_t i;

	for (i = 0; i < timers; i++)
		arm(trace, 0, i, between_ns(&seed, 1, seconds * NSEC_PER_SEC));
}

static void make_same(struct trace *trace, uint32_t timers, uint32_t seconds, uint64_t seed)
{
	uint32_t i;

	for (i = 0; i < timers; i++)
		arm(trace, 0, i, seconds * NSEC_PER_SEC / 2 + seed % 2);
}

/* Idle timeouts of 30 s: every connection shows life now and then, and that pushes its own back. */
static void make_later(struct trace *trace, uint32_t timers, uint32_t seconds, uint64_t seed)
{
	const uint64_t idle_ns = 30 * NSEC_PER_SEC;
	uint64_t i, time_ns;

	for (i = 0; i < timers; i++)
		arm(trace, 0, i, idle_ns);
	for (i = 0; i < 4ULL * timers; i++) {
		time_ns = 4ULL * timers > 1 ? i * seconds * NSEC_PER_SEC / (4ULL * timers) : 0;
		trace_add(trace, (struct trace_op){
			.time_ns = time_ns / NSEC_PER_MSEC * NSEC_PER_MSEC,
			.key = load_random(&seed) % timers,
			.deadline_ns = time_ns + idle_ns, .kind = TRACE_REARM });
	}
}

/* Requests with a timeout of 3 to 30 s that are answered within two seconds, all but one in 20. */
static void make_cancel(struct trace *trace, uint32_t timers, uint32_t seconds, uint64_t seed)
{
	struct trace_op cancel = { .kind = TRACE_CANCEL };
	uint64_t i, time_ns, answer_ns;

	for (i = 0; i < timers; i++) {
		time_ns = i * seconds * NSEC_PER_SEC / timers / NSEC_PER_MSEC * NSEC_PER_MSEC;
		arm(trace, time_ns, i, between_ns(&seed, 3 * NSEC_PER_SEC, 30 * NSEC_PER_SEC));
		answer_ns = between_ns(&seed, 1, 2000) * NSEC_PER_MSEC;
		cancel.time_ns = time_ns + answer_ns;
		cancel.key = i;
		if (load_random(&seed) % 20)
			trace_add(trace, cancel);
	}
}

const struct load loads[] = {
	{ "seeds", "connections with two timeouts of 1 to 120 s and a heartbeat of 0.5 to 5 s",
	  10000, 60, make_seeds },
	{ "uniform", "deadlines spread evenly", 50000, 60, make_uniform },
	{ "same", "one deadline for all", 50000, 60, make_same },
	{ "later", "idle timeouts of 30 s that are pushed back again and again", 20000, 60,
	  make_later },
	{ "cancel", "timeouts of 3 to 30 s, of which one in 20 fires", 50000, 60, make_cancel },
	{ }
};

const struct load *load_find(const char *name)
{
	const struct load *load;

	for (load = loads; load->name; load++) {
		if (!strcmp(load->name, name))
			return load;
	}
	return NULL;
}
