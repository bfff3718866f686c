/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's table of queue designs, and how people write its rows: hier:60/60/24, wheel:64x11,
 * heap.
 */
#ifndef HTWHEELCTL_ROWS_H
#define HTWHEELCTL_ROWS_H

#include <stdbool.h>

#include <linux/htwheel.h>

#define ROWS_MAX	64
#define ROW_SHAPE	96
#define ROW_TEXT	(ROW_SHAPE + 32)

unsigned int rows_read(int fd, struct htwheel_design *rows);
void rows_text(const struct htwheel_design *row, char *text);
void rows_shape(const struct htwheel_design *row, char *text);
struct htwheel_design rows_parse(const char *text);

#endif /* HTWHEELCTL_ROWS_H */
