/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The layout of the interface, pinned: a field that moves breaks programs, and 32-bit callers.
 *
 * The selftests hold the same list, and are built for 64 and 32 bits.
 */
#ifndef HTW_ABI_H
#define HTW_ABI_H

#include <linux/build_bug.h>
#include <linux/stddef.h>

#include <linux/htwheel.h>

#define ABI_FIELD(type, field, offset)	\
	static_assert(offsetof(struct htwheel_##type, field) == (offset))
#define ABI_SIZE(type, size)		\
	static_assert(sizeof(struct htwheel_##type) == (size))

ABI_FIELD(info, size, 0);
ABI_FIELD(info, flags, 4);
ABI_FIELD(info, abi, 8);
ABI_FIELD(info, clock, 12);
ABI_FIELD(info, features, 16);
ABI_FIELD(info, tick_ns, 24);
ABI_FIELD(info, max_timers, 32);
ABI_FIELD(info, max_timers_ceiling, 40);
ABI_FIELD(info, max_batch, 48);
ABI_FIELD(info, max_stride, 52);
ABI_FIELD(info, cpus, 56);
ABI_FIELD(info, levels, 60);
ABI_FIELD(info, slots, 64);
ABI_FIELD(info, reserved, 68);
ABI_FIELD(info, design, 72);
ABI_FIELD(info, max_user_timers, 88);
ABI_FIELD(info, wake_events, 96);
ABI_FIELD(info, wake_usecs, 100);
ABI_FIELD(info, now_ns, 104);
ABI_FIELD(info, setup, 112);
ABI_FIELD(info, reserved2, 116);
ABI_FIELD(info, radix, 120);
ABI_FIELD(info, ring_entries, 184);
ABI_FIELD(info, table_entries, 188);
ABI_SIZE(info, 192);

ABI_FIELD(setup, size, 0);
ABI_FIELD(setup, flags, 4);
ABI_FIELD(setup, clock, 8);
ABI_FIELD(setup, reserved, 12);
ABI_FIELD(setup, max_timers, 16);
ABI_FIELD(setup, wake_events, 24);
ABI_FIELD(setup, wake_usecs, 28);
ABI_FIELD(setup, tick_ns, 32);
ABI_FIELD(setup, start_ns, 40);
ABI_FIELD(setup, design, 48);
ABI_FIELD(setup, levels, 64);
ABI_FIELD(setup, reserved2, 68);
ABI_FIELD(setup, radix, 72);
ABI_FIELD(setup, ring_entries, 136);
ABI_FIELD(setup, reserved3, 140);
ABI_SIZE(setup, 144);

ABI_FIELD(op, opcode, 0);
ABI_FIELD(op, policy, 2);
ABI_FIELD(op, flags, 4);
ABI_FIELD(op, result, 8);
ABI_FIELD(op, tag, 12);
ABI_FIELD(op, id, 16);
ABI_FIELD(op, time_ns, 24);
ABI_FIELD(op, period_ns, 32);
ABI_FIELD(op, slack_ns, 40);
ABI_FIELD(op, user_data, 48);
ABI_FIELD(op, reserved, 56);
ABI_SIZE(op, 64);

ABI_FIELD(submit, size, 0);
ABI_FIELD(submit, flags, 4);
ABI_FIELD(submit, ops, 8);
ABI_FIELD(submit, nr, 16);
ABI_FIELD(submit, stride, 20);
ABI_FIELD(submit, done, 24);
ABI_FIELD(submit, failed, 28);
ABI_SIZE(submit, 32);

ABI_FIELD(event, id, 0);
ABI_FIELD(event, user_data, 8);
ABI_FIELD(event, deadline_ns, 16);
ABI_FIELD(event, fired_ns, 24);
ABI_FIELD(event, count, 32);
ABI_FIELD(event, tag, 40);
ABI_FIELD(event, flags, 44);
ABI_SIZE(event, 48);

ABI_FIELD(stats, size, 0);
ABI_FIELD(stats, flags, 4);
ABI_FIELD(stats, armed, 8);
ABI_FIELD(stats, fired, 16);
ABI_FIELD(stats, cancelled, 24);
ABI_FIELD(stats, replaced, 32);
ABI_FIELD(stats, pending, 40);
ABI_FIELD(stats, expired, 48);
ABI_FIELD(stats, peak, 56);
ABI_FIELD(stats, pool_bytes, 64);
ABI_FIELD(stats, passes, 72);
ABI_FIELD(stats, wakeups, 80);
ABI_FIELD(stats, reprogrammed, 88);
ABI_FIELD(stats, moves, 96);
ABI_FIELD(stats, slots_visited, 104);
ABI_FIELD(stats, budget_stops, 112);
ABI_FIELD(stats, backlog_cpus, 120);
ABI_FIELD(stats, backlog_ns, 128);
ABI_FIELD(stats, queued, 136);
ABI_FIELD(stats, late, 144);
ABI_FIELD(stats, idle, 400);
ABI_FIELD(stats, missed, 408);
ABI_FIELD(stats, alerts, 416);
ABI_FIELD(stats, user_timers, 424);
ABI_FIELD(stats, waited, 432);
ABI_FIELD(stats, postponed, 440);
ABI_SIZE(stats, 448);

ABI_FIELD(ring, tail, 0);
ABI_FIELD(ring, flags, 4);
ABI_FIELD(ring, entries, 8);
ABI_FIELD(ring, stride, 12);
ABI_FIELD(ring, events_offset, 16);
ABI_FIELD(ring, reserved, 20);
ABI_FIELD(ring, waited, 24);
ABI_FIELD(ring, reserved2, 32);
ABI_SIZE(ring, 64);

ABI_FIELD(ring_head, head, 0);
ABI_FIELD(ring_head, reserved, 4);
ABI_SIZE(ring_head, 64);

ABI_FIELD(mass, size, 0);
ABI_FIELD(mass, flags, 4);
ABI_FIELD(mass, opcode, 8);
ABI_FIELD(mass, tag, 12);
ABI_FIELD(mass, shift_ns, 16);
ABI_FIELD(mass, numerator, 24);
ABI_FIELD(mass, denominator, 28);
ABI_FIELD(mass, cursor, 32);
ABI_FIELD(mass, done, 40);
ABI_SIZE(mass, 48);

ABI_FIELD(dump, size, 0);
ABI_FIELD(dump, flags, 4);
ABI_FIELD(dump, entries, 8);
ABI_FIELD(dump, nr, 16);
ABI_FIELD(dump, stride, 20);
ABI_FIELD(dump, cursor, 24);
ABI_FIELD(dump, done, 32);
ABI_FIELD(dump, reserved, 36);
ABI_SIZE(dump, 40);

ABI_FIELD(dump_entry, id, 0);
ABI_FIELD(dump_entry, user_data, 8);
ABI_FIELD(dump_entry, deadline_ns, 16);
ABI_FIELD(dump_entry, left_ns, 24);
ABI_FIELD(dump_entry, period_ns, 32);
ABI_FIELD(dump_entry, slack_ns, 40);
ABI_FIELD(dump_entry, tag, 48);
ABI_FIELD(dump_entry, flags, 52);
ABI_FIELD(dump_entry, state, 56);
ABI_FIELD(dump_entry, policy, 58);
ABI_FIELD(dump_entry, cpu, 60);
ABI_FIELD(dump_entry, level, 64);
ABI_FIELD(dump_entry, slot, 68);
ABI_SIZE(dump_entry, 72);

ABI_FIELD(advance, size, 0);
ABI_FIELD(advance, flags, 4);
ABI_FIELD(advance, to, 8);
ABI_FIELD(advance, budget, 16);
ABI_FIELD(advance, now_ns, 24);
ABI_FIELD(advance, due, 32);
ABI_FIELD(advance, moves, 40);
ABI_FIELD(advance, slots, 48);
ABI_FIELD(advance, passes, 56);
ABI_FIELD(advance, largest, 64);
ABI_FIELD(advance, more, 72);
ABI_FIELD(advance, reserved, 76);
ABI_SIZE(advance, 80);

ABI_FIELD(design, size, 0);
ABI_FIELD(design, flags, 4);
ABI_FIELD(design, index, 8);
ABI_FIELD(design, properties, 12);
ABI_FIELD(design, levels, 16);
ABI_FIELD(design, windows, 20);
ABI_FIELD(design, radix, 24);
ABI_FIELD(design, name, 88);
ABI_FIELD(design, costs, 104);
ABI_FIELD(design, about, 136);
ABI_SIZE(design, 200);

#undef ABI_FIELD
#undef ABI_SIZE

#endif /* HTW_ABI_H */
