/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cases of the suite htwheel_engine, each run for every design (suite.h). Those that answer a
 * fault of others bear its number in FAULTS.md.
 */
#ifndef HTW_KUNIT_ENGINE_CASES_H
#define HTW_KUNIT_ENGINE_CASES_H

#include "engine_rig.h"

/* When a timer is handed over. */
extern const struct htw_case htw_engine_cases_time[];
/* Passes and their limits. */
extern const struct htw_case htw_engine_cases_budget[];
/* The hrtimer. */
extern const struct htw_case htw_engine_cases_program[];
/* Bases and CPUs. */
extern const struct htw_case htw_engine_cases_cpu[];
/* The live clock; and threads on several CPUs. */
extern const struct htw_case htw_engine_cases_live[];
extern const struct htw_case htw_engine_cases_storm[];

/* Parameters of the module. */
extern unsigned long long htw_engine_seed;
extern unsigned int htw_engine_ms;
extern unsigned int htw_engine_ops;

#endif /* HTW_KUNIT_ENGINE_CASES_H */
