/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that work beside the test's own, turn after turn, until the test has seen enough.
 *
 * On a busy machine one thread may be done before another one has run at all. So a test that needs
 * the others goes on until each of them has had a turn, beyond the rounds or the time that it had
 * in mind; the harness ends it if that never comes to be.
 */
#ifndef HTWHEEL_CREW_H
#define HTWHEEL_CREW_H

#include "common.h"

#define CREW_MAX	24

struct crew_member {
	struct crew	*crew;
	void		(*turn)(void *arg);
	void		*arg;
	unsigned int	cpu;
	uint64_t	turns;
	/* Turns that it had when the test began to look. */
	uint64_t	seen;
	pthread_t	thread;
};

/* All zero, it is a crew of nobody. */
struct crew {
	struct crew_member	members[CREW_MAX];
	unsigned int		nr;
	bool			end;
};

/* For threads that run wherever they like. */
#define CREW_ANY_CPU	UINT32_MAX

static void *crew_work(void *arg)
{
	struct crew_member *member = arg;

	if (member->cpu != CREW_ANY_CPU)
		pin_to(member->cpu);
	while (!__atomic_load_n(&member->crew->end, __ATOMIC_ACQUIRE)) {
		member->turn(member->arg);
		__atomic_add_fetch(&member->turns, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static inline uint64_t crew_turns(const struct crew *crew, unsigned int number)
{
	return __atomic_load_n(&crew->members[number].turns, __ATOMIC_ACQUIRE);
}

/* What the crew did so far does not count for crew_has_turned(). */
static inline void crew_from_now(struct crew *crew)
{
	unsigned int i;

	for (i = 0; i < crew->nr; i++)
		crew->members[i].seen = crew_turns(crew, i);
}

/* Start a thread that takes turns, and begin to look. Returns 0 or an errno. */
static inline int crew_add(struct crew *crew, unsigned int cpu, void (*turn)(void *arg), void *arg)
{
	struct crew_member *member = &crew->members[crew->nr];
	int ret;

	if (crew->nr == CREW_MAX)
		return E2BIG;
	*member = (struct crew_member){ .crew = crew, .turn = turn, .arg = arg, .cpu = cpu };
	ret = pthread_create(&member->thread, NULL, crew_work, member);
	crew->nr += !ret;
	crew_from_now(crew);
	return ret;
}

/*
 * Whether each of them has had a whole turn since the test began to look. A turn that was under way
 * by then may have been all but over.
 */
static inline bool crew_has_turned(const struct crew *crew)
{
	unsigned int i;

	for (i = 0; i < crew->nr; i++)
		if (crew_turns(crew, i) < crew->members[i].seen + 2)
			return false;
	return true;
}

/* For a test that has nothing to do meanwhile. */
static inline void crew_wait(const struct crew *crew)
{
	while (!crew_has_turned(crew))
		sleep_ns(100 * NS_PER_US);
}

static inline void crew_end(struct crew *crew)
{
	unsigned int i;

	__atomic_store_n(&crew->end, true, __ATOMIC_RELEASE);
	for (i = 0; i < crew->nr; i++)
		pthread_join(crew->members[i].thread, NULL);
}

/*
 * Wait until a thread of this process is blocked: the call that it is about to make has begun,
 * then. It says who it is by @tid, 0 before. False if it does not come to that.
 */
static inline bool wait_asleep(const pid_t *tid)
{
	uint64_t end_ns = now_ns() + patience_ns();
	char path[64], state = 0;
	FILE *file;

	while (state != 'S' && now_ns() < end_ns) {
		sleep_ns(NS_PER_MS);
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
			 __atomic_load_n(tid, __ATOMIC_ACQUIRE));
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		fclose(file);
	}
	return state == 'S';
}

/* Run on each CPU for a moment: no interrupt that had begun before is under way there any more. */
static inline void visit_cpus(void)
{
	unsigned int cpu;
	cpu_set_t cpus;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (cpu = 0; cpu < nr_cpus(); cpu++)
		pin_to(cpu);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

#endif /* HTWHEEL_CREW_H */
