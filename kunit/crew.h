/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A crew: threads of a test, spread over the CPUs and bound to them, that do one piece of work
 * again and again until they are told to stop.
 */
#ifndef HTW_KUNIT_CREW_H
#define HTW_KUNIT_CREW_H

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "random.h"
#include "stage.h"

#define HTW_CREW_MAX		20

struct htw_crew;

/**
 * struct htw_hand - a member of a crew
 * @crew: the crew
 * @nr: number, from 0; it runs on the @nr-th CPU
 * @random: state of its random numbers
 * @rounds: pieces of work done
 * @task: the thread
 */
struct htw_hand {
	struct htw_crew		*crew;
	unsigned int		nr;
	u64			random;
	u64			rounds;
	struct task_struct	*task;
};

/**
 * struct htw_crew - the threads of a test
 * @work: one piece of work; may sleep, but not for long
 * @data: for @work
 * @over: they are to end; read without a lock, and a stale value costs one more piece of work
 * @nr: how many there are
 * @hand: they
 */
struct htw_crew {
	void			(*work)(struct htw_hand *hand);
	void			*data;
	bool			over;
	unsigned int		nr;
	struct htw_hand		hand[HTW_CREW_MAX];
};

static inline int htw_crew_thread(void *data)
{
	struct htw_hand *hand = data;

	while (!READ_ONCE(hand->crew->over)) {
		hand->crew->work(hand);
		hand->rounds++;
		cond_resched();
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* Make a crew; it goes with the test. */
static inline struct htw_crew *htw_crew_new(struct kunit *test, void (*work)(struct htw_hand *hand),
					    void *data)
{
	struct htw_crew *crew = kunit_kzalloc(test, sizeof(*crew), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, crew);
	crew->work = work;
	crew->data = data;
	return crew;
}

/* Add a thread, which does not run yet; false without memory. */
static inline bool htw_crew_hire(struct htw_crew *crew, u64 seed)
{
	struct htw_hand *hand = &crew->hand[crew->nr];
	struct task_struct *task;

	*hand = (struct htw_hand){ .crew = crew, .nr = crew->nr, .random = seed + crew->nr };
	task = kthread_create_on_cpu(htw_crew_thread, hand, htw_nth_cpu(hand->nr), "htw-crew/%u");
	if (IS_ERR(task))
		return false;
	hand->task = task;
	crew->nr++;
	return true;
}

/* End all threads; each finishes the piece of work that it is at. */
static inline void htw_crew_dismiss(struct htw_crew *crew)
{
	/* All at once, so that those who are left do not keep the others from their locks. */
	WRITE_ONCE(crew->over, true);
	while (crew->nr)
		kthread_stop(crew->hand[--crew->nr].task);
}

static inline u64 htw_crew_rounds(const struct htw_crew *crew, unsigned int nr)
{
	u64 rounds = 0;

	while (nr--)
		rounds += crew->hand[nr].rounds;
	return rounds;
}

/* Let @nr threads work for @ms milliseconds. Returns how often they did their piece of work. */
static inline u64 htw_crew_run(struct kunit *test, struct htw_crew *crew, unsigned int nr,
			       unsigned int ms, u64 seed)
{
	unsigned int i;

	while (crew->nr < nr && htw_crew_hire(crew, seed))
		;
	for (i = 0; i < crew->nr; i++)
		wake_up_process(crew->hand[i].task);
	if (crew->nr == nr)
		msleep(ms);
	else
		KUNIT_FAIL(test, "no memory for a thread");
	htw_crew_dismiss(crew);
	return htw_crew_rounds(crew, nr);
}

#endif /* HTW_KUNIT_CREW_H */
