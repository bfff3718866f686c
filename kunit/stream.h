/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random streams of operations. A seed gives the same stream in the kernel and in userspace.
 */
#ifndef HTW_KUNIT_STREAM_H
#define HTW_KUNIT_STREAM_H

#include "rig.h"

/**
 * struct htw_stream_profile - a kind of stream
 * @name: its name
 * @timers: how many timers there are
 * @check_every: after how many operations the design's own check runs
 * @ops_shift: how many times the operations asked for are halved, for streams whose operations cost
 *	more
 */
struct htw_stream_profile {
	const char	*name;
	u32		timers;
	u32		check_every;
	unsigned int	ops_shift;
};

/* Ended by one without a name. */
extern const struct htw_stream_profile htw_stream_profiles[];

void htw_stream_run(struct htw_test *test, const struct htw_stream_profile *profile);
void htw_stream_run_pair(struct htw_test *test, const struct htw_design *other,
			 const struct htw_stream_profile *profile);

#endif /* HTW_KUNIT_STREAM_H */
