/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The systems and tables that the project grew out of.
 */
#ifndef HTWHEELCTL_SEEDS_H
#define HTWHEELCTL_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

int seeds_tables(uint64_t seed, bool json);

#endif /* HTWHEELCTL_SEEDS_H */
