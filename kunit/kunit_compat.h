/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What KUnit suites need to build on 6.12 and on 7.3.
 */
#ifndef HTW_KUNIT_COMPAT_H
#define HTW_KUNIT_COMPAT_H

#include <kunit/test.h>
#include <linux/module.h>

/*
 * MODULE_IMPORT_NS() takes a bare word before 6.13 and a string since; what it makes of it is
 * always this.
 */
#define HTW_IMPORT_KUNIT_SYMBOLS()	MODULE_INFO(import_ns, "EXPORTED_FOR_KUNIT_TESTING")

/* The kernel that brought this macro also gives the running test to generators of parameters. */
#ifdef KUNIT_CASE_PARAM_WITH_INIT
#define HTW_KUNIT_GENERATOR_HAS_TEST
#endif

#endif /* HTW_KUNIT_COMPAT_H */
