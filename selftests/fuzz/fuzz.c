// SPDX-License-Identifier: GPL-2.0
/*
 * A target for libFuzzer: the bytes of an input are a queue and a list of operations on it, which
 * the rig of kunit/ makes and judges. What breaks the contract of queue.h ends the process.
 *
 * The first bytes say which row of the table of designs is tested, with which shape, ticks, clock
 * and timers, and whether another exact design has to do the same and hand out the same timers. A
 * new design is a new row. Every input is one: what is missing at its end is 0, and what would
 * break a rule that binds the caller is bent to one that does not.
 *
 * HTWHEEL_FUZZ=all runs each input on all rows, whatever it says: so the kept inputs, found with
 * one design, are tests for the others. HTWHEEL_FUZZ=show prints the operations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "rig.h"
#include "rows.h"

/* Some operations go over all timers. */
#define FUZZ_MAX_OPS		4096

/* Passes of one operation that goes from one event to the next. */
#define FUZZ_MAX_PASSES		32

/* More timers than that are looked at less often. */
#define FUZZ_FEW_TIMERS		64

/**
 * struct fuzz - a run of one input
 * @at: the bytes that have not been used
 * @end: their end
 * @test: the test of the rig
 * @rig: the queues; ticks and times are read by the state of the first
 * @nr_rigs: how many
 * @room: what has been reserved
 * @tick: the tick that was read last
 */
struct fuzz {
	const u8		*at;
	const u8		*end;
	struct htw_test		test;
	struct htw_rig		*rig[2];
	unsigned int		nr_rigs;
	u64			room;
	u64			tick;
};

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

unsigned long shim_failing_call;

static struct htw_row rows[HTW_ROWS_MAX];
static unsigned int nr_rows;
static bool all_rows, show;

static u8 fuzz_byte(struct fuzz *fuzz)
{
	return fuzz->at < fuzz->end ? *fuzz->at++ : 0;
}

static u64 fuzz_number(struct fuzz *fuzz, unsigned int bytes)
{
	u64 number = 0;

	while (bytes--)
		number = number << 8 | fuzz_byte(fuzz);
	return number;
}

/* One from the table. */
#define fuzz_choose(_fuzz, _table)	((_table)[fuzz_byte(_fuzz) % ARRAY_SIZE(_table)])

static u64 fuzz_ahead(u64 tick, u64 distance, u64 last)
{
	return tick + min(distance, last - min(tick, last));
}

static u64 fuzz_behind(u64 tick, u64 distance)
{
	return tick - min(tick, distance);
}

/* How many ticks a slot of one of the levels lasts; of a design without levels, a power of 64. */
static u64 fuzz_unit(struct fuzz *fuzz)
{
	const struct htw_geometry *geometry = &fuzz->rig[0]->geometry;
	u32 level, up = fuzz_byte(fuzz) % (HTW_MAX_LEVELS + 1);
	u64 unit = 1, more;

	for (level = 0; level < up; level++) {
		/* Of linux the levels are 8 apart. */
		more = geometry->levels ? geometry->radix[level % geometry->levels] : 64;
		if (fuzz->test.design->granule)
			more = 8;
		if (unit > U64_MAX / more)
			break;
		unit *= more;
	}
	return unit;
}

static u32 fuzz_live_index(struct fuzz *fuzz)
{
	u32 index = fuzz_byte(fuzz) % fuzz->rig[0]->nr_timers;

	if (!fuzz->rig[0]->oracle.nr)
		return index;
	return htw_oracle_find_live(&fuzz->rig[0]->oracle, index);
}

static u64 fuzz_known_tick(struct fuzz *fuzz)
{
	return fuzz->rig[0]->oracle.entry[fuzz_live_index(fuzz)].tick;
}

/* A distance where a level ends, and around it. */
static u64 fuzz_edge(struct fuzz *fuzz, u64 base)
{
	u64 unit = fuzz_unit(fuzz), times = fuzz_byte(fuzz);
	u64 distance = times > U64_MAX / unit ? U64_MAX : unit * times;

	return fuzz_ahead(base, distance, U64_MAX);
}

/* The begin of a slot ahead. */
static u64 fuzz_begin(struct fuzz *fuzz, u64 base)
{
	u64 unit = fuzz_unit(fuzz);

	return fuzz_ahead(base - base % unit, unit, U64_MAX);
}

/* A tick, or a time, up to the last one that the queue takes. */
static u64 fuzz_read_tick(struct fuzz *fuzz)
{
	struct htw_rig *rig = fuzz->rig[0];
	u64 now = rig->now_tick, last = rig->tick_max, tick;
	u8 kind = fuzz_byte(fuzz);

	switch (kind % 16) {
	case 0:
		tick = fuzz_ahead(now, fuzz_byte(fuzz), last);
		break;
	case 1:
	case 2:
		tick = fuzz_edge(fuzz, now);
		break;
	case 3:
	case 4:
		tick = fuzz_begin(fuzz, now);
		break;
	case 5:
		tick = fuzz_ahead(now, fuzz_number(fuzz, 2), last);
		break;
	case 6:
		tick = fuzz_ahead(now, fuzz_number(fuzz, 4), last);
		break;
	case 7:
		tick = fuzz_ahead(now, fuzz_number(fuzz, 8), last);
		break;
	case 8:
		tick = fuzz_number(fuzz, 8);
		break;
	case 9:
		tick = fuzz_behind(now, fuzz_byte(fuzz));
		break;
	case 10:
		tick = fuzz_behind(now, fuzz_unit(fuzz));
		break;
	case 11:
		tick = last - min((u64)fuzz_byte(fuzz), last);
		break;
	case 12:
		tick = fuzz_known_tick(fuzz);
		break;
	case 13:
		tick = htw_rig_next(rig);
		break;
	case 14:
		tick = fuzz_ahead(now, 1ULL << fuzz_byte(fuzz) % 64, last);
		break;
	default:
		tick = fuzz->tick;
	}
	/* And beside it. */
	if (kind & 0x40)
		tick = kind & 0x80 ? fuzz_ahead(tick, 1, U64_MAX) : fuzz_behind(tick, 1);
	return min(tick, last);
}

static u64 fuzz_read_budget(struct fuzz *fuzz)
{
	u8 budget = fuzz_byte(fuzz);

	return budget < 0x80 ? budget % 32 : HTW_BUDGET_NONE;
}

static void fuzz_show(struct fuzz *fuzz, unsigned int which, const char *result, u64 value)
{
	struct htw_rig *rig = fuzz->rig[which];

	if (show && htw_rig_ok(rig))
		printf("%u: %s(%llu, %llu)%s%llu, clock %llu, next %llu, %u queued\n", which,
		       rig->operation, rig->argument[0], rig->argument[1], result, value,
		       rig->queue->clock_tick, rig->design->next(rig->queue), rig->oracle.nr);
}

/* Both have finished at the same time: what one has handed out, the other has too. */
static void fuzz_compare(struct fuzz *fuzz)
{
	struct htw_rig *rig = fuzz->rig[0], *other = fuzz->rig[1];
	u32 i;

	for (i = 0; i < rig->nr_timers && htw_rig_ok(rig); i++) {
		rig->argument[0] = i;
		htw_rig_expect(rig, "queued in one design as in the other",
			       htw_rig_is_live(rig, i), htw_rig_is_live(other, i));
	}
	htw_rig_expect(rig, "the clock of one design is that of the other", rig->clock_tick,
		       other->clock_tick);
}

/*
 * One queue may be left in the middle of a pass. Two are only comparable when both have finished,
 * at the same time, for the clock of either may be ahead of the time.
 */
static void fuzz_advance_to(struct fuzz *fuzz, u64 now, u64 budget)
{
	unsigned int i;
	bool more;

	for (i = 0; i < fuzz->nr_rigs; i++) {
		more = htw_rig_advance(fuzz->rig[i], now, budget);
		fuzz_show(fuzz, i, more ? ": more; due in all " : ": done; due in all ",
			  fuzz->rig[i]->work.due);
	}
	if (fuzz->nr_rigs < 2)
		return;
	now = max3(now, fuzz->rig[0]->clock_tick, fuzz->rig[1]->clock_tick);
	for (i = 0; i < fuzz->nr_rigs; i++) {
		while (htw_rig_advance(fuzz->rig[i], now, budget ?: 1))
			;
		fuzz_show(fuzz, i, ": done; due in all ", fuzz->rig[i]->work.due);
	}
	fuzz_compare(fuzz);
}

static void fuzz_advance(struct fuzz *fuzz)
{
	u64 now = fuzz_read_tick(fuzz);

	fuzz_advance_to(fuzz, now, fuzz_read_budget(fuzz));
}

/* From event to event, as the engine's timer would. */
static void fuzz_follow(struct fuzz *fuzz)
{
	u8 passes = fuzz_byte(fuzz) % FUZZ_MAX_PASSES;
	u64 budget = fuzz_read_budget(fuzz);
	struct htw_rig *rig = fuzz->rig[0];
	u64 next;

	do {
		next = htw_rig_next(rig);
		if (next > rig->tick_max)
			break;
		fuzz_advance_to(fuzz, max(next, rig->now_tick), budget);
	} while (passes--);
}

static void fuzz_add(struct fuzz *fuzz, u32 index, u64 tick)
{
	unsigned int i;

	fuzz->tick = tick;
	for (i = 0; i < fuzz->nr_rigs; i++) {
		/* One that is queued is moved. */
		if (!htw_rig_is_live(fuzz->rig[i], index) &&
		    fuzz->rig[i]->oracle.nr >= fuzz->room)
			return;
		htw_rig_add(fuzz->rig[i], index, tick);
		fuzz_show(fuzz, i, ": ", 0);
	}
}

/* Many, evenly. */
static void fuzz_crowd(struct fuzz *fuzz)
{
	u64 tick = fuzz_read_tick(fuzz), step = fuzz_byte(fuzz) % 8;
	u32 i, nr = fuzz->rig[0]->nr_timers;

	if (fuzz_byte(fuzz) % 2)
		step *= fuzz_unit(fuzz);
	for (i = 0; i < nr; i++) {
		fuzz_add(fuzz, i, tick);
		tick = fuzz_ahead(tick, step, fuzz->rig[0]->tick_max);
	}
}

static void fuzz_del(struct fuzz *fuzz)
{
	u32 index = fuzz_live_index(fuzz);
	unsigned int i;

	if (!fuzz->rig[0]->oracle.nr)
		return;
	for (i = 0; i < fuzz->nr_rigs; i++) {
		htw_rig_del(fuzz->rig[i], index);
		fuzz_show(fuzz, i, ": ", 0);
	}
}

/* To a later tick, or to the same. */
static void fuzz_postpone(struct fuzz *fuzz)
{
	u32 index = fuzz_live_index(fuzz);
	u64 tick = max(fuzz_read_tick(fuzz), fuzz->rig[0]->oracle.entry[index].tick);
	unsigned int i;

	if (!fuzz->rig[0]->oracle.nr)
		return;
	fuzz->tick = tick;
	for (i = 0; i < fuzz->nr_rigs; i++) {
		htw_rig_postpone(fuzz->rig[i], index, tick);
		fuzz_show(fuzz, i, ": ", 0);
	}
}

/* Some of them, each, as a crowd that is cancelled. */
static void fuzz_del_many(struct fuzz *fuzz)
{
	u32 step = 1 + fuzz_byte(fuzz) % 8, index;
	unsigned int i;

	for (index = 0; index < fuzz->rig[0]->nr_timers; index += step) {
		for (i = 0; i < fuzz->nr_rigs; i++) {
			if (htw_rig_is_live(fuzz->rig[i], index))
				htw_rig_del(fuzz->rig[i], index);
		}
	}
}

/* Which ones are taken is up to the design; of two all are, so that it does not matter. */
static void fuzz_take(struct fuzz *fuzz)
{
	u8 byte = fuzz_byte(fuzz);
	u64 most = byte < 0x80 && fuzz->nr_rigs == 1 ? byte % 16 : U64_MAX;
	unsigned int i;

	for (i = 0; i < fuzz->nr_rigs; i++) {
		htw_rig_take(fuzz->rig[i], most);
		fuzz_show(fuzz, i, ": ", 0);
	}
}

/* As the engine does: never less than what is queued. Memory may run out at any call. */
static void fuzz_reserve(struct fuzz *fuzz)
{
	u8 byte = fuzz_byte(fuzz);
	u64 room = fuzz->rig[0]->oracle.nr + (byte & 0x40 ? fuzz_number(fuzz, 2) : byte % 16);
	struct htw_rig *rig;
	unsigned int i;
	int ret;

	for (i = 0; i < fuzz->nr_rigs; i++) {
		rig = fuzz->rig[i];
		if (!htw_rig_ok(rig) || !rig->design->reserve)
			continue;
		rig->operation = "reserve";
		rig->argument[0] = room;
		rig->argument[1] = byte >> 7;
		shim_failing_call = byte >> 7;
		ret = rig->design->reserve(rig->queue, room);
		/* Still set, it has not failed. */
		if (byte >> 7 && !shim_failing_call) {
			htw_rig_expect(rig, "reserve() without memory", ret, -ENOMEM);
			room = fuzz->room;
		} else {
			htw_rig_expect(rig, "reserve()", ret, 0);
		}
		shim_failing_call = 0;
		htw_rig_expect(rig, "fault that check() found", rig->design->check(rig->queue), 0);
		fuzz_show(fuzz, i, ": ", ret);
	}
	/* After a failure in one of two, all that is sure is what was before and what is wanted. */
	fuzz->room = fuzz->nr_rigs > 1 ? min(room, fuzz->room) : room;
}

static void fuzz_place(struct fuzz *fuzz)
{
	u32 index = fuzz_live_index(fuzz);
	struct htw_place place;
	unsigned int i;

	if (!fuzz->rig[0]->oracle.nr)
		return;
	for (i = 0; i < fuzz->nr_rigs; i++) {
		place = htw_rig_place(fuzz->rig[i], index);
		fuzz_show(fuzz, i, ": slot ", place.slot);
	}
}

static void fuzz_check(struct fuzz *fuzz)
{
	unsigned int i;

	for (i = 0; i < fuzz->nr_rigs; i++) {
		if (htw_rig_ok(fuzz->rig[i]))
			htw_rig_expect(fuzz->rig[i], "fault that check() found",
				       fuzz->rig[i]->design->check(fuzz->rig[i]->queue), 0);
	}
}

static void fuzz_step(struct fuzz *fuzz)
{
	u8 byte = fuzz_byte(fuzz);
	u32 index;

	/* Taken from the advances, so that inputs of before mean what they did, but for a few. */
	if (byte >= 0xc0 && byte % 16 > 13) {
		fuzz_postpone(fuzz);
		return;
	}
	switch (byte % 16) {
	case 0 ... 4:
		index = fuzz_byte(fuzz) % fuzz->rig[0]->nr_timers;
		fuzz_add(fuzz, index, fuzz_read_tick(fuzz));
		break;
	case 5:
		fuzz_crowd(fuzz);
		break;
	case 6:
	case 7:
		fuzz_del(fuzz);
		break;
	case 8:
		fuzz_del_many(fuzz);
		break;
	case 9:
		fuzz_follow(fuzz);
		break;
	case 10:
		fuzz_take(fuzz);
		break;
	case 11:
		fuzz_reserve(fuzz);
		break;
	case 12:
		fuzz_place(fuzz);
		fuzz_check(fuzz);
		break;
	default:
		fuzz_advance(fuzz);
	}
}

/* In the end nothing that has a tick is left behind: a last pass at the last tick takes all. */
static void fuzz_drain(struct fuzz *fuzz)
{
	unsigned int i;

	for (i = 0; i < fuzz->nr_rigs; i++) {
		while (htw_rig_advance(fuzz->rig[i], fuzz->rig[i]->tick_max, 1000))
			;
		htw_rig_expect(fuzz->rig[i], "timers left after the last tick",
			       fuzz->rig[i]->oracle.nr, 0);
		fuzz_show(fuzz, i, ": due in all ", fuzz->rig[i]->work.due);
	}
}

static void fuzz_operate(struct fuzz *fuzz)
{
	bool few = fuzz->rig[0]->nr_timers <= FUZZ_FEW_TIMERS;
	u32 every = few ? 1 + fuzz_byte(fuzz) % 8 : 256;
	unsigned int i, nr = 0;

	fuzz->room = fuzz->rig[0]->nr_timers;
	for (i = 0; i < fuzz->nr_rigs; i++) {
		fuzz->rig[i]->look_every = few ? 1 : 64;
		fuzz->rig[i]->check_every = every;
	}
	while (fuzz->at < fuzz->end && nr++ < FUZZ_MAX_OPS && htw_rig_ok(fuzz->rig[0]))
		fuzz_step(fuzz);
	fuzz_drain(fuzz);
}

static u32 fuzz_radix(struct fuzz *fuzz)
{
	static const u32 radices[] = {
		2, 3, 4, 5, 7, 8, 10, 12, 16, 24, 32, 60, 64, 100, 365, 512
	};

	return fuzz_choose(fuzz, radices);
}

/* A shape of its own, if the design takes it; or else the row's. */
static void fuzz_shape(struct fuzz *fuzz, const struct htw_row *row)
{
	struct htw_geometry shape = {};
	u8 kind = fuzz_byte(fuzz);
	u32 level, radix;

	fuzz->test.geometry = row->geometry;
	if (kind < 0x80)
		return;
	shape.levels = 1 + kind % HTW_MAX_LEVELS;
	radix = fuzz_radix(fuzz);
	for (level = 0; level < shape.levels; level++)
		shape.radix[level] = kind & 0x40 ? fuzz_radix(fuzz) : radix;
	if (htw_design_fits(row->design, &shape, fuzz->test.tick_bits))
		fuzz->test.geometry = shape;
}

/* The start of the clock: 0, or a little before what may wrap or end. */
static u64 fuzz_start(struct fuzz *fuzz)
{
	static const unsigned int bits[] = { 0, 0, 6, 12, 24, 31, 32, 36, 42, 48, 62, 63, 64 };
	u64 last = min(U64_MAX >> (64 - fuzz->test.tick_bits), HTW_TICK_MAX);
	unsigned int bit = fuzz_choose(fuzz, bits);
	u64 tick = bit ? U64_MAX >> (64 - bit) : 0;

	return min(fuzz_behind(tick, fuzz_byte(fuzz)), last);
}

/* The next exact design after so many others; NULL for none. */
static const struct htw_design *fuzz_partner(const struct htw_row *row, u8 which)
{
	unsigned int i;

	if (which < 0xa0 || row->design->granule)
		return NULL;
	for (i = 0; i < nr_rows; i++) {
		which = (which + 1) % nr_rows;
		if (!rows[which].design->granule && rows[which].design != row->design)
			return rows[which].design;
	}
	return NULL;
}

static void fuzz_close(struct fuzz *fuzz)
{
	while (fuzz->nr_rigs)
		htw_rig_close(fuzz->rig[--fuzz->nr_rigs]);
}

static bool fuzz_open(struct fuzz *fuzz, const struct htw_row *row)
{
	static const unsigned int bits[] = { 64, 64, 64, 45, 63, 48, 40, 33, 32, 31, 24, 12, 6, 1 };
	static const u32 timers[] = { 24, 3, 8, 1, 40, 64, 24, 24, 8, 64, 2, 16, 24, 24, 64, 1100 };
	const struct htw_design *partner;
	u32 nr;

	fuzz->test.tick_bits = fuzz_choose(fuzz, bits);
	fuzz->test.design = row->design;
	fuzz_shape(fuzz, row);
	fuzz->test.start_tick = fuzz_start(fuzz);
	nr = fuzz_choose(fuzz, timers);
	partner = fuzz_partner(row, fuzz_byte(fuzz));
	fuzz->rig[0] = htw_rig_open(&fuzz->test, row->design, nr);
	if (!fuzz->rig[0])
		return false;
	fuzz->nr_rigs = 1;
	if (!partner)
		return true;
	fuzz->rig[1] = htw_rig_open(&fuzz->test, partner, nr);
	if (fuzz->rig[1])
		fuzz->nr_rigs = 2;
	return fuzz->rig[1];
}

static void fuzz_run(const u8 *data, size_t size, unsigned int number)
{
	struct fuzz fuzz = { .at = data, .end = data + size };
	char name[HTW_ROW_NAME];
	struct htw_row row;
	u32 level;

	/* The row's number is there for it in any case. */
	row = rows[(all_rows ? number + (0 & fuzz_byte(&fuzz)) : fuzz_byte(&fuzz)) % nr_rows];
	if (fuzz_open(&fuzz, &row)) {
		row.geometry = fuzz.rig[0]->geometry;
		htw_row_name(&row, name);
		if (show)
			printf("%s, %u bits, %u timers, clock %llu%s%s\n", name,
			       fuzz.test.tick_bits, fuzz.rig[0]->nr_timers, fuzz.test.start_tick,
			       fuzz.nr_rigs > 1 ? ", and " : "",
			       fuzz.nr_rigs > 1 ? fuzz.rig[1]->design->name : "");
		fuzz_operate(&fuzz);
	}
	fuzz_close(&fuzz);
	if (!fuzz.test.failed)
		return;
	fflush(stdout);
	fprintf(stderr, "FAULT: %s\n", fuzz.test.text);
	fprintf(stderr, "shape:");
	for (level = 0; level < fuzz.test.geometry.levels; level++)
		fprintf(stderr, " %u", fuzz.test.geometry.radix[level]);
	fprintf(stderr, "\n");
	abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *mode = getenv("HTWHEEL_FUZZ");

	nr_rows = htw_rows_fill(rows);
	all_rows = mode && !strcmp(mode, "all");
	show = mode && !strcmp(mode, "show");
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	unsigned int number;

	for (number = 0; number < (all_rows ? nr_rows : 1); number++)
		fuzz_run(data, size, number);
	return 0;
}
