/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What KUnit suites need to build on 6.12 and on 7.3.
 */
#ifndef HTW_KUNIT_COMPAT_H
#define HTW_KUNIT_COMPAT_H

#include <kunit/test.h>
#include <linux/module.h>
#include <linux/version.h>

/* A namespace is a string since 6.13, a bare word before; nothing in the headers tells but the version. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define HTW_IMPORT_KUNIT_SYMBOLS()	MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING")
#else
#define HTW_IMPORT_KUNIT_SYMBOLS()	MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING)
#endif

/* A generator of parameters is given the test since the kernel that also brought this macro. */
#ifdef KUNIT_CASE_PARAM_WITH_INIT
#define HTW_KUNIT_GENERATOR(name) \
	static const void *name(struct kunit *test, const void *previous, char *description)
#else
#define HTW_KUNIT_GENERATOR(name) \
	static const void *name(const void *previous, char *description)
#endif

#endif /* HTW_KUNIT_COMPAT_H */
