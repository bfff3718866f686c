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
/* When a periodic timer is due next. */
extern const struct htw_case htw_timer_cases_turn[];
/* Periodic timers. */
extern const struct htw_case htw_timer_cases_period[];
/* Timers that outlive their events. */
extern const struct htw_case htw_timer_cases_keep[];
/* From expiry to delivery. */
extern const struct htw_case htw_timer_cases_event[];
/* Slack. */
extern const struct htw_case htw_timer_cases_slack[];
/* The wake-up policy. */
extern const struct htw_case htw_timer_cases_wake[];
/* The limit of a user. */
extern const struct htw_case htw_timer_cases_user[];
/* Time namespaces and suspend. */
extern const struct htw_case htw_timer_cases_clock[];
/* The event ring. */
extern const struct htw_case htw_timer_cases_ring[];
/* The deadline table. */
extern const struct htw_case htw_timer_cases_words[];
/* What is done to all timers. */
extern const struct htw_case htw_timer_cases_sweep[];
/* The walk over all timers, and their list. */
extern const struct htw_case htw_timer_cases_walk[];
/* Memory goes back. */
extern const struct htw_case htw_timer_cases_trim[];
/* Random operations against a naive model. */
extern const struct htw_case htw_timer_cases_model[];
/* The live clock, threads on several CPUs. */
extern const struct htw_case htw_timer_cases_live[];
/* All features at once, on the live clock. */
extern const struct htw_case htw_timer_cases_mix[];

/* Parameters of the module. */
extern unsigned long long htw_timer_seed;
extern unsigned int htw_timer_ms;
extern unsigned int htw_timer_ops;

#endif /* HTW_KUNIT_TIMER_CASES_H */
