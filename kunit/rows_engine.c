// SPDX-License-Identifier: GPL-2.0
/* The rows, for a module of their own. */
#include "rows.c"
