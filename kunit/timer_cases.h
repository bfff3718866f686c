/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cases of the suite htwheel_timer, each run for every design (suite.h). Those that answer a
 * fault of others bear its number in FAULTS.md.
 */
#ifndef HTW_KUNIT_TIMER_CASES_H
#define HTW_KUNIT_TIMER_CASES_H

#include "timer_rig.h"

/* Each operation on a timer in each state. */
extern const struct htw_case htw_timer_cases_table[];
/* Names, limits, the pool. */
extern const struct htw_case htw_timer_cases_name[];
/* From expiry to delivery. */
extern const struct htw_case htw_timer_cases_event[];
/* Random operations against a naive model. */
extern const struct htw_case htw_timer_cases_model[];
/* The live clock, threads on several CPUs. */
extern const struct htw_case htw_timer_cases_live[];

/* Parameters of the module. */
extern unsigned long long htw_timer_seed;
extern unsigned int htw_timer_ms;
extern unsigned int htw_timer_ops;

#endif /* HTW_KUNIT_TIMER_CASES_H */
