/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The numbers and the layout of the interface, for 64-bit and 32-bit callers alike. None of this
 * ever changes; structs grow behind what is here.
 *
 * HTWHEEL_*_V1 are the sizes that the structs had in the first version: shorter is refused.
 */
#ifndef HTWHEEL_ABI_LAYOUT_H
#define HTWHEEL_ABI_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include <linux/htwheel.h>

#define HTWHEEL_INFO_V1		88
#define HTWHEEL_SETUP_V1	24
#define HTWHEEL_SUBMIT_V1	32
#define HTWHEEL_STATS_V1	400
#define HTWHEEL_MASS_V1		48
#define HTWHEEL_DUMP_V1		40
#define HTWHEEL_ADVANCE_V1	80
#define HTWHEEL_DESIGN_V1	200

#define ASSERT_FIELD(type, field, offset, bytes)					\
	_Static_assert(offsetof(struct type, field) == (offset) &&			\
		       sizeof(((struct type *)0)->field) == (bytes), #type "." #field)

/* A command's number never changes, whatever its argument grows to. */
_Static_assert(HTWHEEL_IOC_INFO == 0xd700 && HTWHEEL_IOC_SETUP == 0xd701 &&
	       HTWHEEL_IOC_SUBMIT == 0xd702 && HTWHEEL_IOC_STATS == 0xd703 &&
	       HTWHEEL_IOC_MASS == 0xd704 && HTWHEEL_IOC_DUMP == 0xd705 &&
	       HTWHEEL_IOC_ADVANCE == 0xd706 && HTWHEEL_IOC_DESIGN == 0xd707, "command numbers");
_Static_assert(HTWHEEL_ABI == 1 && HTWHEEL_NEVER_NS == INT64_MAX && HTWHEEL_MAX_LEVELS == 16 &&
	       HTWHEEL_MAX_RING == 1 << 20, "constants");
_Static_assert(HTWHEEL_CLOCK_MONOTONIC == 0 && HTWHEEL_CLOCK_BOOTTIME == 1 &&
	       HTWHEEL_CLOCK_MANUAL == 2, "clocks");
_Static_assert(HTWHEEL_FEAT_PERIODIC == 1 && HTWHEEL_FEAT_KEEP == 2 && HTWHEEL_FEAT_SLACK == 4 &&
	       HTWHEEL_FEAT_TAG == 8 && HTWHEEL_FEAT_BOOTTIME == 16 && HTWHEEL_FEAT_MANUAL == 32 &&
	       HTWHEEL_FEAT_MASS == 64 && HTWHEEL_FEAT_DUMP == 128 && HTWHEEL_FEAT_WAKE == 256 &&
	       HTWHEEL_FEAT_TIMENS == 512 && HTWHEEL_FEAT_PRIVATE == 1024 &&
	       HTWHEEL_FEAT_RING == 2048 && HTWHEEL_FEAT_TABLE == 4096, "features");
_Static_assert(HTWHEEL_OP_ARM == 1 && HTWHEEL_OP_REARM == 2 && HTWHEEL_OP_CANCEL == 3 &&
	       HTWHEEL_OP_QUERY == 4, "opcodes");
_Static_assert(HTWHEEL_ABSOLUTE == 1 && HTWHEEL_PERIODIC == 2 && HTWHEEL_KEEP == 4 &&
	       HTWHEEL_RES_FIRED == 1 && HTWHEEL_EVENT_LIVE == 1, "flags and results");
_Static_assert(HTWHEEL_POLICY_COUNT == 0 && HTWHEEL_POLICY_SKIP == 1 &&
	       HTWHEEL_POLICY_BURST == 2 && HTWHEEL_POLICY_DELAY == 3, "policies");
_Static_assert(HTWHEEL_MASS_CANCEL == 1 && HTWHEEL_MASS_SHIFT == 2 && HTWHEEL_MASS_SCALE == 3 &&
	       HTWHEEL_MASS_TRIM == 4 && HTWHEEL_MASS_TAG == 1, "mass operations");
_Static_assert(HTWHEEL_SETUP_PRIVATE == 1 && HTWHEEL_SETUP_TABLE == 2 &&
	       HTWHEEL_ADVANCE_TICKS == 1 && HTWHEEL_ADVANCE_JUMP == 2,
	       "flags of SETUP and ADVANCE");
_Static_assert(HTWHEEL_MMAP_RING == 0 && HTWHEEL_MMAP_HEAD == 0x10000000 &&
	       HTWHEEL_MMAP_TABLE == 0x20000000 && HTWHEEL_RING_WAITING == 1, "shared memory");
_Static_assert(HTWHEEL_DESIGN_EXACT == 1 && HTWHEEL_DESIGN_FIFO == 2 &&
	       HTWHEEL_DESIGN_LINEAR == 4 && HTWHEEL_DESIGN_SHARED == 8, "properties of designs");
_Static_assert(HTWHEEL_STATE_ARMED == 1 && HTWHEEL_STATE_FIRED == 2 && HTWHEEL_STATE_IDLE == 3,
	       "states");

ASSERT_FIELD(htwheel_info, size, 0, 4);
ASSERT_FIELD(htwheel_info, flags, 4, 4);
ASSERT_FIELD(htwheel_info, abi, 8, 4);
ASSERT_FIELD(htwheel_info, clock, 12, 4);
ASSERT_FIELD(htwheel_info, features, 16, 8);
ASSERT_FIELD(htwheel_info, tick_ns, 24, 8);
ASSERT_FIELD(htwheel_info, max_timers, 32, 8);
ASSERT_FIELD(htwheel_info, max_timers_ceiling, 40, 8);
ASSERT_FIELD(htwheel_info, max_batch, 48, 4);
ASSERT_FIELD(htwheel_info, max_stride, 52, 4);
ASSERT_FIELD(htwheel_info, cpus, 56, 4);
ASSERT_FIELD(htwheel_info, levels, 60, 4);
ASSERT_FIELD(htwheel_info, slots, 64, 4);
ASSERT_FIELD(htwheel_info, reserved, 68, 4);
ASSERT_FIELD(htwheel_info, design, 72, 16);
ASSERT_FIELD(htwheel_info, max_user_timers, HTWHEEL_INFO_V1, 8);
ASSERT_FIELD(htwheel_info, wake_events, 96, 4);
ASSERT_FIELD(htwheel_info, wake_usecs, 100, 4);
ASSERT_FIELD(htwheel_info, now_ns, 104, 8);
ASSERT_FIELD(htwheel_info, setup, 112, 4);
ASSERT_FIELD(htwheel_info, reserved2, 116, 4);
ASSERT_FIELD(htwheel_info, radix, 120, 4 * HTWHEEL_MAX_LEVELS);
ASSERT_FIELD(htwheel_info, ring_entries, 184, 4);
ASSERT_FIELD(htwheel_info, table_entries, 188, 4);
_Static_assert(sizeof(struct htwheel_info) == 192, "htwheel_info");

ASSERT_FIELD(htwheel_setup, size, 0, 4);
ASSERT_FIELD(htwheel_setup, flags, 4, 4);
ASSERT_FIELD(htwheel_setup, clock, 8, 4);
ASSERT_FIELD(htwheel_setup, reserved, 12, 4);
ASSERT_FIELD(htwheel_setup, max_timers, 16, 8);
ASSERT_FIELD(htwheel_setup, wake_events, HTWHEEL_SETUP_V1, 4);
ASSERT_FIELD(htwheel_setup, wake_usecs, 28, 4);
ASSERT_FIELD(htwheel_setup, tick_ns, 32, 8);
ASSERT_FIELD(htwheel_setup, start_ns, 40, 8);
ASSERT_FIELD(htwheel_setup, design, 48, 16);
ASSERT_FIELD(htwheel_setup, levels, 64, 4);
ASSERT_FIELD(htwheel_setup, reserved2, 68, 4);
ASSERT_FIELD(htwheel_setup, radix, 72, 4 * HTWHEEL_MAX_LEVELS);
ASSERT_FIELD(htwheel_setup, ring_entries, 136, 4);
ASSERT_FIELD(htwheel_setup, reserved3, 140, 4);
_Static_assert(sizeof(struct htwheel_setup) == 144, "htwheel_setup");

ASSERT_FIELD(htwheel_op, opcode, 0, 2);
ASSERT_FIELD(htwheel_op, policy, 2, 2);
ASSERT_FIELD(htwheel_op, flags, 4, 4);
ASSERT_FIELD(htwheel_op, result, 8, 4);
ASSERT_FIELD(htwheel_op, tag, 12, 4);
ASSERT_FIELD(htwheel_op, id, 16, 8);
ASSERT_FIELD(htwheel_op, time_ns, 24, 8);
ASSERT_FIELD(htwheel_op, period_ns, 32, 8);
ASSERT_FIELD(htwheel_op, slack_ns, 40, 8);
ASSERT_FIELD(htwheel_op, user_data, 48, 8);
ASSERT_FIELD(htwheel_op, reserved, 56, 8);
_Static_assert(sizeof(struct htwheel_op) == 64, "htwheel_op");

ASSERT_FIELD(htwheel_submit, size, 0, 4);
ASSERT_FIELD(htwheel_submit, flags, 4, 4);
ASSERT_FIELD(htwheel_submit, ops, 8, 8);
ASSERT_FIELD(htwheel_submit, nr, 16, 4);
ASSERT_FIELD(htwheel_submit, stride, 20, 4);
ASSERT_FIELD(htwheel_submit, done, 24, 4);
ASSERT_FIELD(htwheel_submit, failed, 28, 4);
_Static_assert(sizeof(struct htwheel_submit) == HTWHEEL_SUBMIT_V1, "htwheel_submit");

ASSERT_FIELD(htwheel_mass, size, 0, 4);
ASSERT_FIELD(htwheel_mass, flags, 4, 4);
ASSERT_FIELD(htwheel_mass, opcode, 8, 4);
ASSERT_FIELD(htwheel_mass, tag, 12, 4);
ASSERT_FIELD(htwheel_mass, shift_ns, 16, 8);
ASSERT_FIELD(htwheel_mass, numerator, 24, 4);
ASSERT_FIELD(htwheel_mass, denominator, 28, 4);
ASSERT_FIELD(htwheel_mass, cursor, 32, 8);
ASSERT_FIELD(htwheel_mass, done, 40, 8);
_Static_assert(sizeof(struct htwheel_mass) == HTWHEEL_MASS_V1, "htwheel_mass");

ASSERT_FIELD(htwheel_dump_entry, id, 0, 8);
ASSERT_FIELD(htwheel_dump_entry, user_data, 8, 8);
ASSERT_FIELD(htwheel_dump_entry, deadline_ns, 16, 8);
ASSERT_FIELD(htwheel_dump_entry, left_ns, 24, 8);
ASSERT_FIELD(htwheel_dump_entry, period_ns, 32, 8);
ASSERT_FIELD(htwheel_dump_entry, slack_ns, 40, 8);
ASSERT_FIELD(htwheel_dump_entry, tag, 48, 4);
ASSERT_FIELD(htwheel_dump_entry, flags, 52, 4);
ASSERT_FIELD(htwheel_dump_entry, state, 56, 2);
ASSERT_FIELD(htwheel_dump_entry, policy, 58, 2);
ASSERT_FIELD(htwheel_dump_entry, cpu, 60, 4);
ASSERT_FIELD(htwheel_dump_entry, level, 64, 4);
ASSERT_FIELD(htwheel_dump_entry, slot, 68, 4);
_Static_assert(sizeof(struct htwheel_dump_entry) == 72, "htwheel_dump_entry");

ASSERT_FIELD(htwheel_dump, size, 0, 4);
ASSERT_FIELD(htwheel_dump, flags, 4, 4);
ASSERT_FIELD(htwheel_dump, entries, 8, 8);
ASSERT_FIELD(htwheel_dump, nr, 16, 4);
ASSERT_FIELD(htwheel_dump, stride, 20, 4);
ASSERT_FIELD(htwheel_dump, cursor, 24, 8);
ASSERT_FIELD(htwheel_dump, done, 32, 4);
ASSERT_FIELD(htwheel_dump, reserved, 36, 4);
_Static_assert(sizeof(struct htwheel_dump) == HTWHEEL_DUMP_V1, "htwheel_dump");

ASSERT_FIELD(htwheel_event, id, 0, 8);
ASSERT_FIELD(htwheel_event, user_data, 8, 8);
ASSERT_FIELD(htwheel_event, deadline_ns, 16, 8);
ASSERT_FIELD(htwheel_event, fired_ns, 24, 8);
ASSERT_FIELD(htwheel_event, count, 32, 8);
ASSERT_FIELD(htwheel_event, tag, 40, 4);
ASSERT_FIELD(htwheel_event, flags, 44, 4);
_Static_assert(sizeof(struct htwheel_event) == 48, "htwheel_event");

/* What is shared has no size in front: the ring tells its stride, and where its events begin. */
ASSERT_FIELD(htwheel_ring, tail, 0, 4);
ASSERT_FIELD(htwheel_ring, flags, 4, 4);
ASSERT_FIELD(htwheel_ring, entries, 8, 4);
ASSERT_FIELD(htwheel_ring, stride, 12, 4);
ASSERT_FIELD(htwheel_ring, events_offset, 16, 4);
ASSERT_FIELD(htwheel_ring, reserved, 20, 4);
ASSERT_FIELD(htwheel_ring, waited, 24, 8);
ASSERT_FIELD(htwheel_ring, reserved2, 32, 32);
_Static_assert(sizeof(struct htwheel_ring) == 64, "htwheel_ring");

ASSERT_FIELD(htwheel_ring_head, head, 0, 4);
ASSERT_FIELD(htwheel_ring_head, reserved, 4, 60);
_Static_assert(sizeof(struct htwheel_ring_head) == 64, "htwheel_ring_head");

ASSERT_FIELD(htwheel_stats, size, 0, 4);
ASSERT_FIELD(htwheel_stats, flags, 4, 4);
ASSERT_FIELD(htwheel_stats, armed, 8, 8);
ASSERT_FIELD(htwheel_stats, fired, 16, 8);
ASSERT_FIELD(htwheel_stats, cancelled, 24, 8);
ASSERT_FIELD(htwheel_stats, replaced, 32, 8);
ASSERT_FIELD(htwheel_stats, pending, 40, 8);
ASSERT_FIELD(htwheel_stats, expired, 48, 8);
ASSERT_FIELD(htwheel_stats, peak, 56, 8);
ASSERT_FIELD(htwheel_stats, pool_bytes, 64, 8);
ASSERT_FIELD(htwheel_stats, passes, 72, 8);
ASSERT_FIELD(htwheel_stats, wakeups, 80, 8);
ASSERT_FIELD(htwheel_stats, reprogrammed, 88, 8);
ASSERT_FIELD(htwheel_stats, moves, 96, 8);
ASSERT_FIELD(htwheel_stats, slots_visited, 104, 8);
ASSERT_FIELD(htwheel_stats, budget_stops, 112, 8);
ASSERT_FIELD(htwheel_stats, backlog_cpus, 120, 8);
ASSERT_FIELD(htwheel_stats, backlog_ns, 128, 8);
ASSERT_FIELD(htwheel_stats, queued, 136, 8);
ASSERT_FIELD(htwheel_stats, late, 144, 8 * HTWHEEL_LATE_BINS);
ASSERT_FIELD(htwheel_stats, idle, HTWHEEL_STATS_V1, 8);
ASSERT_FIELD(htwheel_stats, missed, 408, 8);
ASSERT_FIELD(htwheel_stats, alerts, 416, 8);
ASSERT_FIELD(htwheel_stats, user_timers, 424, 8);
ASSERT_FIELD(htwheel_stats, waited, 432, 8);
ASSERT_FIELD(htwheel_stats, postponed, 440, 8);
_Static_assert(sizeof(struct htwheel_stats) == 448 && HTWHEEL_LATE_BINS == 32, "htwheel_stats");

ASSERT_FIELD(htwheel_advance, size, 0, 4);
ASSERT_FIELD(htwheel_advance, flags, 4, 4);
ASSERT_FIELD(htwheel_advance, to, 8, 8);
ASSERT_FIELD(htwheel_advance, budget, 16, 8);
ASSERT_FIELD(htwheel_advance, now_ns, 24, 8);
ASSERT_FIELD(htwheel_advance, due, 32, 8);
ASSERT_FIELD(htwheel_advance, moves, 40, 8);
ASSERT_FIELD(htwheel_advance, slots, 48, 8);
ASSERT_FIELD(htwheel_advance, passes, 56, 8);
ASSERT_FIELD(htwheel_advance, largest, 64, 8);
ASSERT_FIELD(htwheel_advance, more, 72, 4);
ASSERT_FIELD(htwheel_advance, reserved, 76, 4);
_Static_assert(sizeof(struct htwheel_advance) == HTWHEEL_ADVANCE_V1, "htwheel_advance");

ASSERT_FIELD(htwheel_design, size, 0, 4);
ASSERT_FIELD(htwheel_design, flags, 4, 4);
ASSERT_FIELD(htwheel_design, index, 8, 4);
ASSERT_FIELD(htwheel_design, properties, 12, 4);
ASSERT_FIELD(htwheel_design, levels, 16, 4);
ASSERT_FIELD(htwheel_design, windows, 20, 4);
ASSERT_FIELD(htwheel_design, radix, 24, 4 * HTWHEEL_MAX_LEVELS);
ASSERT_FIELD(htwheel_design, name, 88, 16);
ASSERT_FIELD(htwheel_design, costs, 104, 32);
ASSERT_FIELD(htwheel_design, about, 136, 64);
_Static_assert(sizeof(struct htwheel_design) == HTWHEEL_DESIGN_V1, "htwheel_design");

#endif /* HTWHEEL_ABI_LAYOUT_H */
