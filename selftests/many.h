/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Many timers at once: arm them like one pattern, cancel them, list them by their number.
 *
 * A timer's number is its user_data.
 */
#ifndef HTWHEEL_MANY_H
#define HTWHEEL_MANY_H

#include "common.h"

/*
 * Arm the timers [first, first + nr), each like the pattern and step_ns later than the one before.
 * Returns 0, or the errno of the call or of the first operation that failed.
 */
static inline int arm_many(int fd, const struct htwheel_op *like, uint32_t first, uint32_t nr,
			   uint64_t step_ns, uint64_t *ids)
{
	struct htwheel_op ops[BATCH];
	uint32_t i, done, batch;
	int ret;

	for (done = 0; done < nr; done += batch) {
		batch = nr - done < BATCH ? nr - done : BATCH;
		for (i = 0; i < batch; i++) {
			ops[i] = *like;
			ops[i].opcode = HTWHEEL_OP_ARM;
			ops[i].user_data = first + done + i;
			ops[i].time_ns = like->time_ns + (done + i) * step_ns;
			ops[i].result = -JUNK;
		}
		ret = submit_all(fd, ops, batch);
		for (i = 0; i < batch && !ret; i++) {
			ret = ops[i].result;
			if (ids)
				ids[first + done + i] = ops[i].id;
		}
		if (ret)
			return ret;
	}
	return 0;
}

/* One operation on each of these timers; how many were answered with this. */
static inline uint32_t count_results(int fd, uint16_t opcode, const uint64_t *ids, uint32_t nr,
				     int32_t wanted)
{
	struct htwheel_op ops[BATCH];
	uint32_t i, done, batch, count = 0;

	for (done = 0; done < nr; done += batch) {
		batch = nr - done < BATCH ? nr - done : BATCH;
		for (i = 0; i < batch; i++)
			ops[i] = (struct htwheel_op){
				.opcode = opcode, .id = ids[done + i], .result = -JUNK,
			};
		if (submit_all(fd, ops, batch))
			return 0;
		for (i = 0; i < batch; i++)
			count += ops[i].result == wanted;
	}
	return count;
}

/* Timers that this removed. */
static inline uint32_t cancel_many(int fd, const uint64_t *ids, uint32_t nr)
{
	return count_results(fd, HTWHEEL_OP_CANCEL, ids, nr, 0);
}

/* Names that nothing lives under. */
static inline uint32_t count_stale(int fd, const uint64_t *ids, uint32_t nr)
{
	return count_results(fd, HTWHEEL_OP_QUERY, ids, nr, -ENOENT);
}

static inline int compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts them. */
static inline bool ids_are_unique(uint64_t *ids, size_t nr)
{
	size_t i;

	qsort(ids, nr, sizeof(*ids), compare_ids);
	for (i = 1; i < nr; i++)
		if (ids[i] == ids[i - 1])
			return false;
	return nr && ids[0];
}

/*
 * The context's timers, each at its number in an array of nr, read with an array of so many
 * entries at a time. The others stay zero. Returns how many were listed, or a negative errno:
 * EEXIST if one was listed twice, ERANGE if a number is too large.
 */
static inline int dump_by_number(int fd, struct htwheel_dump_entry *all, uint32_t nr,
				 uint32_t at_a_time)
{
	struct htwheel_dump_entry *some = calloc(at_a_time, sizeof(*some));
	struct htwheel_dump dump = { .cursor = 0 };
	int ret = some ? 0 : -ENOMEM, listed = 0;
	uint32_t i;

	memset(all, 0, nr * sizeof(*all));
	do {
		if (!ret || ret == -EINTR)
			ret = device_dump(fd, &dump, some, at_a_time);
		if (ret && ret != -EINTR)
			break;
		for (i = 0; i < dump.done; i++) {
			if (some[i].user_data >= nr)
				ret = -ERANGE;
			else if (all[some[i].user_data].id)
				ret = -EEXIST;
			else
				all[some[i].user_data] = some[i];
		}
		listed += dump.done;
	} while (dump.cursor || ret == -EINTR);
	free(some);
	return ret ? ret : listed;
}

/* The books balance, or the call failed. */
static inline bool books_are_right(int fd, struct htwheel_stats *stats)
{
	return !device_stats(fd, stats) &&
	       stats->armed == stats->fired + stats->cancelled + stats->replaced + stats->pending &&
	       stats->expired <= stats->pending && stats->pending + stats->idle <= stats->peak;
}

#endif /* HTWHEEL_MANY_H */
