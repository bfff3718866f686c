/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shim: strings.
 */
#include <string.h>
