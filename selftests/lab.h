/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private engines and the manual clock: the calls, the table of designs, and what each of them
 * promises.
 *
 * As in common.h, the calls answer with a negative errno, and nothing here makes checks of its own.
 */
#ifndef HTWHEEL_LAB_H
#define HTWHEEL_LAB_H

#include "turns.h"

#define LAST_NS		(HTWHEEL_NEVER_NS - 1)

/* More rows than the table will have. */
#define MAX_ROWS	64

/* One call; the size is filled in, and the outputs with junk. */
static inline int device_advance(int fd, struct htwheel_advance *adv)
{
	adv->size = sizeof(*adv);
	adv->now_ns = JUNK64;
	adv->due = JUNK64;
	adv->moves = JUNK64;
	adv->slots = JUNK64;
	adv->passes = JUNK64;
	adv->largest = JUNK64;
	adv->more = JUNK32;
	return device_ioctl(fd, HTWHEEL_IOC_ADVANCE, adv);
}

static inline int advance_with(int fd, uint32_t flags, uint64_t to)
{
	struct htwheel_advance adv = { .flags = flags, .to = to };

	return device_advance(fd, &adv);
}

static inline int advance_to(int fd, uint64_t to)
{
	return advance_with(fd, 0, to);
}

static inline int advance_ticks(int fd, uint64_t ticks)
{
	return advance_with(fd, HTWHEEL_ADVANCE_TICKS, ticks);
}

/* The present of a context, as INFO has it; all ones if the call fails. */
static inline uint64_t clock_of(int fd)
{
	struct htwheel_info info;

	return device_info(fd, &info) ? UINT64_MAX : info.now_ns;
}

static inline int device_design(int fd, uint32_t index, struct htwheel_design *row)
{
	memset(row, 0, sizeof(*row));
	row->size = sizeof(*row);
	row->index = index;
	return device_ioctl(fd, HTWHEEL_IOC_DESIGN, row);
}

/* The whole table: how many rows, or a negative errno. */
static inline int read_designs(struct htwheel_design *rows, unsigned int max)
{
	int fd = open_device(0), ret = fd < 0 ? fd : 0;
	unsigned int nr = 0;

	while (!ret && nr < max) {
		ret = device_design(fd, nr, &rows[nr]);
		nr += !ret;
	}
	close(fd);
	return ret == -ENOENT ? (int)nr : ret ? ret : -E2BIG;
}

/* For messages; of the last call only. */
static inline const char *row_text(const struct htwheel_design *row)
{
	static char text[16 + 8 * HTWHEEL_MAX_LEVELS];
	uint32_t level;
	int length;

	length = snprintf(text, sizeof(text), "%.16s", row->name);
	for (level = 0; level < row->levels && level < HTWHEEL_MAX_LEVELS; level++)
		length += snprintf(text + length, sizeof(text) - length, "%c%u", level ? ',' : ' ',
				   row->radix[level]);
	return text;
}

/* Checks that say which row of the table they were made with: it is called row. */
#define ROW_EQ(expected, seen)								\
	ASSERT_EQ(expected, seen) { TH_LOG("design %s", row_text(row)); }
#define ROW_NE(expected, seen)								\
	ASSERT_NE(expected, seen) { TH_LOG("design %s", row_text(row)); }
#define ROW_LE(expected, seen)								\
	ASSERT_LE(expected, seen) { TH_LOG("design %s", row_text(row)); }
#define ROW_GE(expected, seen)								\
	ASSERT_GE(expected, seen) { TH_LOG("design %s", row_text(row)); }
#define ROW_TRUE(seen)									\
	ASSERT_TRUE(seen) { TH_LOG("design %s", row_text(row)); }

/*
 * Whether an engine has the shape of a row. A design may take fewer levels than it is given, if its
 * ticks have so few bits that the highest ones would always be empty.
 */
static inline bool has_shape_of(const struct htwheel_info *info, const struct htwheel_design *row)
{
	uint32_t level;

	if (info->levels > row->levels || !info->levels != !row->levels)
		return false;
	for (level = 0; level < info->levels; level++)
		if (info->radix[level] != row->radix[level])
			return false;
	return info->slots == row->windows * row->radix[0];
}

/* What SETUP is to be given for an engine of a row. */
static inline struct htwheel_setup setup_of_row(const struct htwheel_design *row)
{
	struct htwheel_setup setup = { .flags = HTWHEEL_SETUP_PRIVATE, .levels = row->levels };

	memcpy(setup.design, row->name, sizeof(setup.design));
	memcpy(setup.radix, row->radix, sizeof(setup.radix));
	return setup;
}

/* A context with these choices, or a negative errno. */
static inline int open_with(struct htwheel_setup setup)
{
	int fd = open_device(O_NONBLOCK), ret;

	if (fd < 0)
		return fd;
	ret = setup_like(fd, setup);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/* On a manual clock that begins there. */
static inline int open_manual_row(const struct htwheel_design *row, uint64_t tick_ns,
				  uint64_t start_ns)
{
	struct htwheel_setup setup = setup_of_row(row);

	setup.clock = HTWHEEL_CLOCK_MANUAL;
	setup.tick_ns = tick_ns;
	setup.start_ns = start_ns;
	return open_with(setup);
}

/* The design of the shared engines. */
static inline int open_manual(uint64_t start_ns)
{
	return open_with((struct htwheel_setup){
		.clock = HTWHEEL_CLOCK_MANUAL, .start_ns = start_ns,
	});
}

static inline bool is_exact(const struct htwheel_design *row)
{
	return row->properties & HTWHEEL_DESIGN_EXACT;
}

/*
 * How much later than at its deadline a timer may fire that was armed so long before it: less than
 * a tick for rounding up and, without EXACT, a granule of 1 tick below 63 ticks, 8 below 504, 64
 * below 4032, and so on.
 */
static inline uint64_t most_late_ns(const struct htwheel_design *row, uint64_t tick_ns,
				    uint64_t delay_ns)
{
	/* From the beginning of the tick in which it was armed to the first behind the deadline. */
	uint64_t left = delay_ns / tick_ns + 2, granule = 1;

	if (is_exact(row))
		return tick_ns - 1;
	while (granule < 1ULL << 57 && left / granule >= 63)
		granule *= 8;
	if (granule >= HTWHEEL_NEVER_NS / tick_ns)
		return HTWHEEL_NEVER_NS;
	return granule * tick_ns + tick_ns - 1;
}

/* So much later, or the last moment that a clock can have. */
static inline uint64_t after(uint64_t ns, uint64_t delay_ns)
{
	return delay_ns >= LAST_NS - ns ? LAST_NS : ns + delay_ns;
}

/* All events that wait, thrown away: how many. */
static inline int64_t drop_events(int fd)
{
	struct htwheel_event events[64];
	int64_t nr = 0;
	int ret;

	while ((ret = read_events(fd, events, 64)) > 0)
		nr += ret;
	return ret == -EAGAIN ? nr : ret;
}

#endif /* HTWHEEL_LAB_H */
