/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What came of runs: as a table, as JSON, as a picture.
 */
#ifndef HTWHEELCTL_RESULTS_H
#define HTWHEELCTL_RESULTS_H

#include "virtual.h"

void results_table(const struct run *runs, unsigned int nr);
void results_json(const char *load, const struct run *runs, unsigned int nr);
void results_plot(const char *path, const char *load, const struct run *runs, unsigned int nr);
bool results_judge(const struct run *runs, unsigned int nr);

#endif /* HTWHEELCTL_RESULTS_H */
