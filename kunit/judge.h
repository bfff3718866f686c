/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the rig asks the judge. Expectations for everybody are in rig.h.
 */
#ifndef HTW_KUNIT_JUDGE_H
#define HTW_KUNIT_JUDGE_H

#include "rig.h"

void htw_judge_state(struct htw_rig *rig, u64 now_tick, bool complete);
void htw_judge_order(struct htw_rig *rig, const struct htw_oracle_entry *entry, bool same_call);
void htw_judge_advance(struct htw_rig *rig, u64 now_tick, u64 budget, bool more,
		       const struct htw_work *work, u64 clock_tick);

#endif /* HTW_KUNIT_JUDGE_H */
