/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The user interface of /dev/htwheel: one file descriptor, a million timeouts.
 *
 * Rules that hold for every command:
 *
 * - The command numbers carry no size. Each argument struct begins with its own size, so that it
 *   can grow: a shorter struct than the first version's is refused (EINVAL), a longer one than the
 *   module knows is accepted as long as the bytes that the module does not know are zero (E2BIG
 *   otherwise, and always beyond a page). Of a struct that the module fills in, the bytes that it
 *   does not know are set to zero. So it is with the elements of arrays, whose size is the stride;
 *   their first versions have 64 bytes (an operation) and 72 (an entry of a dump).
 * - Unknown flags, unknown opcodes and reserved fields that are not zero are refused (EINVAL).
 * - A field or a flag of a feature that this header names and this module lacks is refused with
 *   EOPNOTSUPP. HTWHEEL_IOC_INFO lists the features.
 * - Times are nanoseconds in a __u64 with the top bit clear (EINVAL otherwise). A time of
 *   HTWHEEL_NEVER_NS, relative or absolute, never comes.
 * - Points in time are on the context's clock as the caller's time namespace shows it, at each
 *   call: absolute deadlines that go in, deadlines and moments that come out. A point before the
 *   clock began counts as its beginning. (Without HTWHEEL_FEAT_TIMENS: as the initial time
 *   namespace shows it.)
 * - Pointers are __u64; 32-bit and 64-bit callers share one layout.
 * - A command that works in steps (SUBMIT, MASS, DUMP, ADVANCE) says how far it came, also when it
 *   fails: a signal or a bad address ends it between two steps, and nothing is done twice or half.
 *
 * Errors: ENOTTY unknown command; EINVAL bad value or unknown bit; E2BIG unknown trailing data;
 * EOPNOTSUPP known but absent; ENOENT no such timer; ENOSPC the context's limit; EDQUOT the user's
 * limit; EBUSY set up twice or after the first arm; EFAULT bad address; EAGAIN nothing to read now;
 * EINTR interrupted; ENOMEM no memory, or none left to the memory cgroup.
 *
 * The life of a timer. ARM makes it. It is *armed* until its deadline, then *fired*: its event
 * waits to be read. Reading the event ends the timer and its name, unless it is periodic (then it
 * is armed again, for its next deadline) or was armed with HTWHEEL_KEEP (then it is *idle*: it has
 * no deadline, and REARM gives it one). CANCEL ends it at any time.
 *
 * What an operation answers, by the state that it finds (FIRED is HTWHEEL_RES_FIRED):
 *
 *	        | armed           | fired, unread              | idle     | id is stale
 *	CANCEL  | 0, removed      | FIRED, event withdrawn,    | 0,       | ENOENT
 *	        |                 | removed                    | removed  |
 *	REARM   | 0, replaced     | FIRED, event withdrawn,    | 0, armed | ENOENT
 *	        |                 | armed again                |          |
 *	QUERY   | 0, time left    | FIRED, 0                   | ENOENT   | ENOENT
 *
 * There is no moment between these: after "removed" no event of the timer can be read, and an event
 * that was read cannot be cancelled any more. (It may still lie in another thread's array: memory
 * that user_data points to is free for other use only when no thread holds events that it has read
 * and not yet looked at.) Exactly one of several threads that cancel one timer is told that it has.
 * A name is never used twice in one context, and a stale one touches nothing. Each operation is
 * atomic; a batch of them is not.
 *
 * When a file is readable. poll(2), epoll, io_uring and a blocking read(2) all go by one rule: the
 * file is readable if, and only if, read(2) would return an event. Without a wake-up policy (struct
 * htwheel_setup) that is as soon as an event waits. With one, the file becomes readable when the
 * number of waiting events reaches wake_events, or when one has waited for wake_usecs; it then
 * stays so until no event is left. Until it becomes readable, read(2) returns nothing (EAGAIN, or
 * it blocks), though CANCEL and REARM already say that such a timer has fired.
 *
 * Memory that the module shares. SETUP makes two areas on demand, mmap(2) (MAP_SHARED, from the
 * area's offset, its whole length or the beginning of it) shows them:
 *
 *	HTWHEEL_MMAP_RING	read only	the event ring: struct htwheel_ring and its events
 *	HTWHEEL_MMAP_HEAD	read, write	struct htwheel_ring_head: how far the reader is
 *	HTWHEEL_MMAP_TABLE	read, write	the deadline table: a __u64 for each timer
 *
 * The module believes nothing that it reads there: any value at any moment harms nobody but the
 * timers of this context. A mapping is good until it is unmapped, also after close(2); like a
 * descriptor, it keeps the context and its timers alive.
 *
 * The event ring. A timer that expires while there is room in the ring, and no other event waits
 * outside, has its event written there, and that is its delivery: it counts as read, a name that
 * ends with the event is stale from then on (CANCEL: ENOENT, too late), a periodic timer is armed
 * again, and fires once a tick at most, also in a burst. When there is no room, events wait in
 * their timers, can be withdrawn, and are read by read(2); HTWHEEL_RING_WAITING says so. No event
 * enters the ring while others wait outside, and read(2) fails with EAGAIN while the ring is not
 * empty (a head that is nonsense does not count): so who empties the ring, calls read(2) if others
 * wait, and so on, has all of them in their order. (Of a burst that begins with the ARM or REARM
 * itself, all but the first wait outside.) With a ring read(2) never blocks. The file is readable
 * if the ring is not empty or an event waits outside, held back by the wake-up policy (whose
 * wake_events counts both); the policy holds back nothing else, neither in the ring nor outside.
 *
 * One thread at a time takes events from the ring:
 *
 *	uint32_t head = position->head;			// nobody else writes it
 *	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
 *
 *	for (; head != tail; head++)
 *		handle(event_of(ring, head & (ring->entries - 1)));
 *	atomic_store_explicit(&position->head, head, memory_order_release);
 *
 * The acquire makes the events visible that the kernel wrote before it moved the tail; the release
 * keeps the kernel from writing to them before they have been handled. There is no need for more
 * before poll(2): it looks at the ring itself. An event that user_data leads from to other memory
 * needs nothing else either.
 *
 * The deadline table. The word of a timer is the one at the index that is the lower half of its
 * name. ARM and REARM set it to 0. A program that stores a point in time there (on the context's
 * clock, as the time namespace of who called SETUP shows it) postpones the timer: when its deadline
 * comes, the module reads the word once, and if it says later, that is the deadline from now on, as
 * if by a REARM that the books do not count. A value at or before the deadline, 0, or one with the
 * top bit set changes nothing, nor does one that comes when the timer has fired; so a deadline can
 * be postponed by a store, and by nothing but REARM made earlier. The last value that was there
 * when the deadline came counts; those before it are never seen. QUERY, CANCEL, DUMP and MASS go by
 * the later one of deadline and word, the event names the deadline that was accepted last, and a
 * periodic timer counts its periods from there. A word is one atomic store; of several threads that
 * store, the last one wins, even with an earlier time:
 *
 *	atomic_store_explicit(&table[(uint32_t)id], deadline, memory_order_relaxed);
 *
 * Nothing is ordered by that store but itself. A store that is visible before the deadline has
 * passed is seen. One that races with the expiration may come too late: then the event says so with
 * its deadline_ns, and REARM makes good for it. A program must not store for a name that has ended,
 * as the next timer may have the same word.
 *
 * Ioctl type 0xD7 is not registered in the kernel's list of ioctl numbers.
 */
#ifndef _UAPI_LINUX_HTWHEEL_H
#define _UAPI_LINUX_HTWHEEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* The number of this interface; it changes only if a program could break. */
#define HTWHEEL_ABI		1

#define HTWHEEL_IOC_TYPE	0xD7
#define HTWHEEL_IOC_INFO	_IO(HTWHEEL_IOC_TYPE, 0x00)
#define HTWHEEL_IOC_SETUP	_IO(HTWHEEL_IOC_TYPE, 0x01)
#define HTWHEEL_IOC_SUBMIT	_IO(HTWHEEL_IOC_TYPE, 0x02)
#define HTWHEEL_IOC_STATS	_IO(HTWHEEL_IOC_TYPE, 0x03)
#define HTWHEEL_IOC_MASS	_IO(HTWHEEL_IOC_TYPE, 0x04)
#define HTWHEEL_IOC_DUMP	_IO(HTWHEEL_IOC_TYPE, 0x05)
#define HTWHEEL_IOC_ADVANCE	_IO(HTWHEEL_IOC_TYPE, 0x06)
#define HTWHEEL_IOC_DESIGN	_IO(HTWHEEL_IOC_TYPE, 0x07)

/* A deadline, or a delay, that never comes: 292 years. */
#define HTWHEEL_NEVER_NS	0x7fffffffffffffffULL

/* The most levels that a queue design may have. */
#define HTWHEEL_MAX_LEVELS	16

/**
 * enum htwheel_clock - the clock that a context's times are measured on
 * @HTWHEEL_CLOCK_MONOTONIC: CLOCK_MONOTONIC; stands still in suspend
 * @HTWHEEL_CLOCK_BOOTTIME: CLOCK_BOOTTIME; goes on in suspend, and what fell due meanwhile fires
 *	at resume; needs HTWHEEL_FEAT_BOOTTIME
 * @HTWHEEL_CLOCK_MANUAL: moved by HTWHEEL_IOC_ADVANCE alone; needs HTWHEEL_FEAT_MANUAL
 */
enum htwheel_clock {
	HTWHEEL_CLOCK_MONOTONIC	= 0,
	HTWHEEL_CLOCK_BOOTTIME	= 1,
	HTWHEEL_CLOCK_MANUAL	= 2,
};

/**
 * enum htwheel_feature - bits of htwheel_info.features
 * @HTWHEEL_FEAT_PERIODIC: periodic timers and their missed-tick policies
 * @HTWHEEL_FEAT_KEEP: the KEEP flag
 * @HTWHEEL_FEAT_SLACK: htwheel_op.slack_ns
 * @HTWHEEL_FEAT_TAG: htwheel_op.tag
 * @HTWHEEL_FEAT_BOOTTIME: HTWHEEL_CLOCK_BOOTTIME
 * @HTWHEEL_FEAT_MANUAL: HTWHEEL_CLOCK_MANUAL and HTWHEEL_IOC_ADVANCE
 * @HTWHEEL_FEAT_MASS: HTWHEEL_IOC_MASS
 * @HTWHEEL_FEAT_DUMP: HTWHEEL_IOC_DUMP
 * @HTWHEEL_FEAT_WAKE: the wake-up policy of HTWHEEL_IOC_SETUP
 * @HTWHEEL_FEAT_TIMENS: times are those of the caller's time namespace
 * @HTWHEEL_FEAT_PRIVATE: HTWHEEL_SETUP_PRIVATE and HTWHEEL_IOC_DESIGN
 * @HTWHEEL_FEAT_RING: the event ring
 * @HTWHEEL_FEAT_TABLE: the deadline table
 *
 * A program that needs a feature asks for its bit, not for a version. Bits that it does not know
 * are no concern of its: a feature changes nothing for who does not use it.
 */
enum htwheel_feature {
	HTWHEEL_FEAT_PERIODIC	= 1 << 0,
	HTWHEEL_FEAT_KEEP	= 1 << 1,
	HTWHEEL_FEAT_SLACK	= 1 << 2,
	HTWHEEL_FEAT_TAG	= 1 << 3,
	HTWHEEL_FEAT_BOOTTIME	= 1 << 4,
	HTWHEEL_FEAT_MANUAL	= 1 << 5,
	HTWHEEL_FEAT_MASS	= 1 << 6,
	HTWHEEL_FEAT_DUMP	= 1 << 7,
	HTWHEEL_FEAT_WAKE	= 1 << 8,
	HTWHEEL_FEAT_TIMENS	= 1 << 9,
	HTWHEEL_FEAT_PRIVATE	= 1 << 10,
	HTWHEEL_FEAT_RING	= 1 << 11,
	HTWHEEL_FEAT_TABLE	= 1 << 12,
};

/**
 * struct htwheel_info - argument of HTWHEEL_IOC_INFO: what this module is and can do
 * @size: in: sizeof(struct htwheel_info)
 * @flags: in: 0
 * @abi: out: HTWHEEL_ABI of the module
 * @clock: out: this context's clock, enum htwheel_clock
 * @features: out: the features that the module has, enum htwheel_feature
 * @tick_ns: out: length of a tick, a power of two; an event comes at most one tick, its slack, and
 *	the time that the CPU was late itself, after its deadline (and is readable then, unless a
 *	wake-up policy holds it back)
 * @max_timers: out: timers that this context may hold at once (its limit)
 * @max_timers_ceiling: out: the largest limit that HTWHEEL_IOC_SETUP grants
 * @max_batch: out: largest htwheel_submit.nr and htwheel_dump.nr
 * @max_stride: out: largest htwheel_submit.stride and htwheel_dump.stride
 * @cpus: out: CPUs that carry a share of the engine (a base) at this moment
 * @levels: out: levels of the wheel, 0 if the design has none
 * @slots: out: slots of each level (of the lowest, if they differ), 0 if the design has none
 * @reserved: in and out: 0
 * @design: out: name of the queue design, NUL-terminated
 * @max_user_timers: out: timers that the user who opened this file (the real user id) may hold at
 *	once, in all the files that the user opened; timers are counted, not the memory that files
 *	keep for them
 * @wake_events: out: the wake-up policy, as given to HTWHEEL_IOC_SETUP
 * @wake_usecs: out: the same
 * @now_ns: out: the present on the context's clock
 * @setup: out: HTWHEEL_SETUP_PRIVATE if the engine is this context's own, HTWHEEL_SETUP_TABLE if it
 *	has a deadline table
 * @reserved2: out: 0
 * @radix: out: for each level, the lowest first: so many of its slots make one of the next level
 * @ring_entries: out: events that the event ring holds, 0 if there is none
 * @table_entries: out: words of the deadline table, 0 if there is none
 *
 * May be called at any time, by anyone who could open the device.
 */
struct htwheel_info {
	__u32	size;
	__u32	flags;
	__u32	abi;
	__u32	clock;
	__u64	features;
	__u64	tick_ns;
	__u64	max_timers;
	__u64	max_timers_ceiling;
	__u32	max_batch;
	__u32	max_stride;
	__u32	cpus;
	__u32	levels;
	__u32	slots;
	__u32	reserved;
	char	design[16];
	__u64	max_user_timers;
	__u32	wake_events;
	__u32	wake_usecs;
	__u64	now_ns;
	__u32	setup;
	__u32	reserved2;
	__u32	radix[HTWHEEL_MAX_LEVELS];
	__u32	ring_entries;
	__u32	table_entries;
};

/*
 * htwheel_setup.flags: an engine of this context's own, and not the one that it shares with others;
 * needs HTWHEEL_FEAT_PRIVATE. A manual clock is always of such an engine, flag or not.
 */
#define HTWHEEL_SETUP_PRIVATE	(1U << 0)
/*
 * htwheel_setup.flags: a deadline table, with a word for each timer that max_timers allows; needs
 * HTWHEEL_FEAT_TABLE.
 */
#define HTWHEEL_SETUP_TABLE	(1U << 1)

/* The largest event ring. */
#define HTWHEEL_MAX_RING	(1U << 20)

/* Offsets for mmap(2). */
#define HTWHEEL_MMAP_RING	0x00000000
#define HTWHEEL_MMAP_HEAD	0x10000000
#define HTWHEEL_MMAP_TABLE	0x20000000

/**
 * struct htwheel_setup - argument of HTWHEEL_IOC_SETUP: choices for this context
 * @size: in: sizeof(struct htwheel_setup)
 * @flags: in: HTWHEEL_SETUP_PRIVATE, HTWHEEL_SETUP_TABLE
 * @clock: in: enum htwheel_clock
 * @reserved: in: 0
 * @max_timers: in: timers that the context may hold at once, 1 to htwheel_info.max_timers_ceiling;
 *	0 leaves the default
 * @wake_events: in: the file becomes readable when so many events wait; 0: their number does not
 *	matter
 * @wake_usecs: in: the file becomes readable when an event has waited for so many microseconds
 *	of the context's clock
 * @tick_ns: in: private: length of a tick, a power of two, 2^10 to 2^30, on a manual clock 1 to
 *	2^30; 0: as the shared engines have it. Otherwise 0
 * @start_ns: in: manual clock: where it begins, 0 to HTWHEEL_NEVER_NS - 1; otherwise 0
 * @design: in: private: name of the queue design, filled up with zeros; empty: as the shared
 *	engines have it. Otherwise empty
 * @levels: in: private: levels of the queue; 0: the design's own shape. Otherwise 0
 * @reserved2: in: 0
 * @radix: in: for each of @levels, the lowest first, how many of its slots make one of the next
 *	level; the others 0
 * @ring_entries: in: events that the event ring is to hold, a power of two, 2 to HTWHEEL_MAX_RING;
 *	0: no ring
 * @reserved3: in: 0
 *
 * At most once, and before the first arm (EBUSY); ENOMEM is possible. A program that is content
 * with the defaults need not call it. A call that fails changes nothing and may be repeated.
 *
 * @wake_events and @wake_usecs are the wake-up policy: whichever comes first. Both 0, or
 * @wake_events 1, is the default: readable at once. @wake_events above 1 with @wake_usecs 0 is
 * refused (EINVAL), because the last events could then wait for ever.
 *
 * A private engine is for trying designs, for ticks of another length, and for tests; the shared
 * ones are not touched by it. Anybody may have one; it costs memory for each CPU (which is charged
 * to the caller's memory cgroup; with a manual clock, once). HTWHEEL_IOC_DESIGN lists the designs.
 * A name that is none, and a shape that the design cannot have with such ticks, are refused
 * (EINVAL). With a design that has HTWHEEL_DESIGN_LINEAR, @max_timers is at most 65536, which is
 * then also what 0 means.
 */
struct htwheel_setup {
	__u32	size;
	__u32	flags;
	__u32	clock;
	__u32	reserved;
	__u64	max_timers;
	__u32	wake_events;
	__u32	wake_usecs;
	__u64	tick_ns;
	__u64	start_ns;
	char	design[16];
	__u32	levels;
	__u32	reserved2;
	__u32	radix[HTWHEEL_MAX_LEVELS];
	__u32	ring_entries;
	__u32	reserved3;
};

/**
 * enum htwheel_opcode - what an operation does
 * @HTWHEEL_OP_ARM: make a timer; id receives its name
 * @HTWHEEL_OP_REARM: give the timer named by id a new deadline; all else stays as it was armed. Of
 *	a periodic timer, the deadlines that follow are counted from the new one
 * @HTWHEEL_OP_CANCEL: remove the timer named by id; time_ns receives the time that was left
 * @HTWHEEL_OP_QUERY: time_ns receives the time left
 *
 * 0 is no opcode, so that a forgotten one is refused. What they answer is in the table above.
 */
enum htwheel_opcode {
	HTWHEEL_OP_ARM		= 1,
	HTWHEEL_OP_REARM	= 2,
	HTWHEEL_OP_CANCEL	= 3,
	HTWHEEL_OP_QUERY	= 4,
};

/* htwheel_op.flags */
/* ARM, REARM: time_ns is a point on the context's clock; one in the past fires at once. */
#define HTWHEEL_ABSOLUTE	(1U << 0)
/* ARM: fire every period_ns, for the first time at time_ns; needs HTWHEEL_FEAT_PERIODIC. */
#define HTWHEEL_PERIODIC	(1U << 1)
/*
 * ARM: the name stays valid after the event was read, and REARM arms the timer again; needs
 * HTWHEEL_FEAT_KEEP. A periodic timer's name stays valid in any case.
 */
#define HTWHEEL_KEEP		(1U << 2)

/* htwheel_op.result: done, and the timer had fired, its event unread. */
#define HTWHEEL_RES_FIRED	1

/**
 * enum htwheel_policy - what becomes of the periods that ended before a periodic timer's event was
 * read
 * @HTWHEEL_POLICY_COUNT: one event, whose count says how many periods it stands for
 * @HTWHEEL_POLICY_SKIP: one event with a count of 1; the others are left out
 * @HTWHEEL_POLICY_BURST: an event for each, one after the other
 * @HTWHEEL_POLICY_DELAY: one event with a count of 1; the next deadline is a period after the event
 *	was read
 *
 * A periodic timer is armed again when its event is read, so one that nobody reads costs nothing,
 * however short its period. Its next deadline is its last one plus a whole number of periods, by
 * division: it does not drift (but for DELAY, whose purpose that is). With a period of 10, a first
 * deadline of 10 and a reader who comes at 105:
 *
 *	COUNT	1 event, deadline 10, count 10			next deadline 110
 *	SKIP	1 event, deadline 10, count 1			next deadline 110
 *	BURST	10 events, deadlines 10, 20, ... 100, count 1	next deadline 110
 *	DELAY	1 event, deadline 10, count 1			next deadline 115
 *
 * Periods are nanoseconds throughout. One shorter than a tick is counted exactly, though it cannot
 * fire more often than once a tick.
 */
enum htwheel_policy {
	HTWHEEL_POLICY_COUNT	= 0,
	HTWHEEL_POLICY_SKIP	= 1,
	HTWHEEL_POLICY_BURST	= 2,
	HTWHEEL_POLICY_DELAY	= 3,
};

/**
 * struct htwheel_op - one operation, 64 bytes
 * @opcode: in: enum htwheel_opcode
 * @policy: in: ARM with HTWHEEL_PERIODIC: enum htwheel_policy; otherwise 0
 * @flags: in: ARM: HTWHEEL_ABSOLUTE, HTWHEEL_PERIODIC, HTWHEEL_KEEP; REARM: HTWHEEL_ABSOLUTE;
 *	otherwise 0
 * @result: out: 0, HTWHEEL_RES_FIRED, or a negative errno
 * @tag: in: ARM: group of the timer, for HTWHEEL_IOC_MASS; comes back in the event. Otherwise 0
 * @id: ARM: out: name of the timer, never 0 (0 if the arm failed). The others: in: the timer. A
 *	name is generation << 32 | index and means nothing in another context
 * @time_ns: ARM, REARM: in: delay from now or, with HTWHEEL_ABSOLUTE, deadline, 0 to
 *	HTWHEEL_NEVER_NS; a delay that passes the end of the clock is HTWHEEL_NEVER_NS. CANCEL,
 *	QUERY: out: time left, 0 if the deadline has passed; of a deadline of HTWHEEL_NEVER_NS, the
 *	time until that point
 * @period_ns: in: ARM with HTWHEEL_PERIODIC: 1 to HTWHEEL_NEVER_NS; otherwise 0. A next deadline
 *	that passes the end of the clock is HTWHEEL_NEVER_NS
 * @slack_ns: in: ARM: the timer may fire as much later than at its deadline, 0 to HTWHEEL_NEVER_NS,
 *	so that neighbours share a wake-up; otherwise 0. The module uses whole ticks of it, and at
 *	most 2^32 - 1 of them. It stays with the timer through REARM and through all periods. A
 *	deadline that has passed when it is armed fires at once all the same
 * @user_data: ARM: in: comes back in the event. The others do not look at it; REARM keeps the
 *	timer's
 * @reserved: in: 0
 *
 * If @result is negative, nothing was done, and of the other outputs only @id of ARM has a meaning.
 *
 * Result errors: EINVAL unknown opcode or flag, reserved field not zero, a field or flag that is
 * not for this opcode, time with the top bit set, period of 0, unknown policy; E2BIG bytes behind
 * the known part not zero; EOPNOTSUPP feature absent; ENOENT no such timer; ENOSPC the context's
 * limit reached; EDQUOT the user's limit reached; ENOMEM (ARM only, and only while the context's
 * pool grows).
 */
struct htwheel_op {
	__u16	opcode;
	__u16	policy;
	__u32	flags;
	__s32	result;
	__u32	tag;
	__u64	id;
	__u64	time_ns;
	__u64	period_ns;
	__u64	slack_ns;
	__u64	user_data;
	__u64	reserved;
};

/**
 * struct htwheel_submit - argument of HTWHEEL_IOC_SUBMIT: carry out an array of operations, in
 * order
 * @size: in: sizeof(struct htwheel_submit)
 * @flags: in: 0
 * @ops: in: address of the first operation
 * @nr: in: number of operations, 0 to htwheel_info.max_batch
 * @stride: in: bytes from one operation to the next, a multiple of 8, sizeof(struct htwheel_op) to
 *	htwheel_info.max_stride; bytes behind the known part must be zero
 * @done: out: operations that were processed, each with its own result
 * @failed: out: how many of those have a negative result
 *
 * An operation that fails does not stop the rest. The call itself fails with EFAULT if the array
 * cannot be read or written at some place, and with EINTR if a signal came before all was done.
 * Even then @done is right (0 if the call was refused for another reason than its @size): the first
 * @done operations have taken effect, the others have not and may be submitted again. (A call that
 * a signal interrupts before it has done anything is restarted if the handler was installed with
 * SA_RESTART.) Each operation is read once.
 */
struct htwheel_submit {
	__u32	size;
	__u32	flags;
	__u64	ops;
	__u32	nr;
	__u32	stride;
	__u32	done;
	__u32	failed;
};

/**
 * enum htwheel_mass_opcode - what to do with many timers at once
 * @HTWHEEL_MASS_CANCEL: cancel them, as HTWHEEL_OP_CANCEL does
 * @HTWHEEL_MASS_SHIFT: move the deadlines of those that are armed by shift_ns; one that gets before
 *	the present fires at once. A deadline of HTWHEEL_NEVER_NS stays
 * @HTWHEEL_MASS_SCALE: multiply the time left to those that are armed by numerator / denominator,
 *	rounded down to a nanosecond. A deadline of HTWHEEL_NEVER_NS stays
 * @HTWHEEL_MASS_TRIM: give back memory that timers have left. Names stay good, or stale, as they
 *	were
 *
 * SHIFT and SCALE leave alone what has fired or is idle. A deadline that passes the end of the
 * clock becomes HTWHEEL_NEVER_NS. Each deadline that they change is, in the books, a new arm that
 * replaced one.
 */
enum htwheel_mass_opcode {
	HTWHEEL_MASS_CANCEL	= 1,
	HTWHEEL_MASS_SHIFT	= 2,
	HTWHEEL_MASS_SCALE	= 3,
	HTWHEEL_MASS_TRIM	= 4,
};

/* htwheel_mass.flags: only timers whose tag is htwheel_mass.tag. Not for TRIM. */
#define HTWHEEL_MASS_TAG	(1U << 0)

/**
 * struct htwheel_mass - argument of HTWHEEL_IOC_MASS: one operation on all timers of the context
 * @size: in: sizeof(struct htwheel_mass)
 * @flags: in: 0 or HTWHEEL_MASS_TAG
 * @opcode: in: enum htwheel_mass_opcode
 * @tag: in: with HTWHEEL_MASS_TAG: the tag; otherwise 0
 * @shift_ns: in: SHIFT: -HTWHEEL_NEVER_NS to HTWHEEL_NEVER_NS, later if positive; otherwise 0
 * @numerator: in: SCALE: any; otherwise 0
 * @denominator: in: SCALE: at least 1; otherwise 0
 * @cursor: in: 0 to begin, or what an interrupted call left here (any other value does no harm).
 *	out: 0 when all timers have been visited, otherwise where to go on
 * @done: out: timers that this call cancelled, shifted or scaled; TRIM: bytes given back
 *
 * Works in short steps, so other threads can use the context meanwhile. A timer that is live from
 * the first call to the last is visited exactly once; one that is armed meanwhile may be visited or
 * not. The time is proportional to the largest number of timers that the context has had.
 *
 * EINTR if a signal came before all was done: @cursor and @done are right, and the same struct can
 * be submitted again to go on. (A call that is interrupted before it has done anything is restarted
 * if the handler was installed with SA_RESTART.)
 */
struct htwheel_mass {
	__u32	size;
	__u32	flags;
	__u32	opcode;
	__u32	tag;
	__s64	shift_ns;
	__u32	numerator;
	__u32	denominator;
	__u64	cursor;
	__u64	done;
};

/**
 * enum htwheel_state - where a timer is in its life
 * @HTWHEEL_STATE_ARMED: waits for its deadline
 * @HTWHEEL_STATE_FIRED: its event waits to be read
 * @HTWHEEL_STATE_IDLE: kept, its event was read
 */
enum htwheel_state {
	HTWHEEL_STATE_ARMED	= 1,
	HTWHEEL_STATE_FIRED	= 2,
	HTWHEEL_STATE_IDLE	= 3,
};

/**
 * struct htwheel_dump_entry - one live timer
 * @id: its name
 * @user_data: as given with ARM
 * @deadline_ns: its deadline; of an idle timer, the last it had
 * @left_ns: time left, 0 if it is not armed or the deadline has passed
 * @period_ns: its period, 0 if it is not periodic
 * @slack_ns: its slack, as far as the module uses it
 * @tag: as given with ARM
 * @flags: HTWHEEL_PERIODIC, HTWHEEL_KEEP
 * @state: enum htwheel_state
 * @policy: enum htwheel_policy
 * @cpu: armed: the CPU whose queue it is in; otherwise 0
 * @level: armed: the level of the wheel where it belongs now, or the depth in a heap; otherwise 0
 * @slot: armed: the slot of that level, or the index in the heap; otherwise 0
 */
struct htwheel_dump_entry {
	__u64	id;
	__u64	user_data;
	__u64	deadline_ns;
	__u64	left_ns;
	__u64	period_ns;
	__u64	slack_ns;
	__u32	tag;
	__u32	flags;
	__u16	state;
	__u16	policy;
	__u32	cpu;
	__u32	level;
	__u32	slot;
};

/**
 * struct htwheel_dump - argument of HTWHEEL_IOC_DUMP: list the timers of the context
 * @size: in: sizeof(struct htwheel_dump)
 * @flags: in: 0
 * @entries: in: address of an array to be filled in
 * @nr: in: entries in the array, 1 to htwheel_info.max_batch
 * @stride: in: bytes from one entry to the next, a multiple of 8, sizeof(struct
 *	htwheel_dump_entry) to htwheel_info.max_stride; bytes that the module does not know are set
 *	to zero
 * @cursor: in: 0 to begin, or what the call before left here (any other value does no harm). out: 0
 *	when all timers have been listed, otherwise where to go on
 * @done: out: entries that were filled in
 * @reserved: in: 0
 *
 * Any number of timers can be listed with an array of any size: repeat the call, cursor and all,
 * until @cursor is 0; the last one may list nothing. A timer that is live from the first call to
 * the last is listed exactly once; one that comes or goes meanwhile may be listed or not. So the
 * calls come to an end, however fast others arm. What is said of a timer belongs to one moment;
 * different timers have different moments.
 *
 * A signal ends the call early: with what has been listed so far, and success; with EINTR, or a
 * restart, if that is nothing. EFAULT if an entry cannot be written; @cursor and @done are right,
 * and the call can be repeated for the rest.
 */
struct htwheel_dump {
	__u32	size;
	__u32	flags;
	__u64	entries;
	__u32	nr;
	__u32	stride;
	__u64	cursor;
	__u32	done;
	__u32	reserved;
};

/* htwheel_event.flags: the name stays valid: the timer is periodic, or was armed with KEEP. */
#define HTWHEEL_EVENT_LIVE	(1U << 0)

/**
 * struct htwheel_event - one expiration, 48 bytes; read(2) returns whole ones, as many as fit
 * @id: name of the timer; no longer valid, unless HTWHEEL_EVENT_LIVE is set
 * @user_data: as given with ARM
 * @deadline_ns: when the timer was due, on the context's clock; with a count above 1, when it was
 *	due for the first time
 * @fired_ns: when it fired, on the same clock; never before @deadline_ns
 * @count: number of expirations that this event stands for: 1, or, for a periodic timer with
 *	HTWHEEL_POLICY_COUNT, the deadlines that have passed by the time of the read
 * @tag: as given with ARM
 * @flags: 0 or HTWHEEL_EVENT_LIVE
 *
 * read(2) fails with EINVAL if the buffer is shorter than one event, EAGAIN if the file is not
 * readable (see the top) and non-blocking, EFAULT if the buffer cannot be written, EINTR if a
 * signal came before there was an event; no event is lost then.
 */
struct htwheel_event {
	__u64	id;
	__u64	user_data;
	__u64	deadline_ns;
	__u64	fired_ns;
	__u64	count;
	__u32	tag;
	__u32	flags;
};

/* htwheel_ring.flags: events wait outside the ring; read(2) returns them. */
#define HTWHEEL_RING_WAITING	(1U << 0)

/**
 * struct htwheel_ring - the beginning of the event ring; the kernel writes it
 * @tail: events that the kernel has written so far, modulo 2^32; the next one goes to the place
 *	@tail modulo @entries
 * @flags: HTWHEEL_RING_WAITING
 * @entries: places; a power of two, never changes
 * @stride: bytes from one place to the next, at least sizeof(struct htwheel_event); never changes
 * @events_offset: of the first place, in bytes from the beginning of the ring; never changes
 * @reserved: 0
 * @waited: events so far that had to wait outside
 * @reserved2: 0
 *
 * The length of the mapping is @events_offset + @entries * @stride, rounded up to pages; of the
 * first version, sizeof(struct htwheel_ring) + @entries * sizeof(struct htwheel_event).
 */
struct htwheel_ring {
	__u32	tail;
	__u32	flags;
	__u32	entries;
	__u32	stride;
	__u32	events_offset;
	__u32	reserved;
	__u64	waited;
	__u64	reserved2[4];
};

/**
 * struct htwheel_ring_head - how far the reader of the event ring is; the user writes it
 * @head: events that were taken so far, modulo 2^32; those from here to htwheel_ring.tail are in
 *	the ring. A value that is further behind the tail than the ring is long, or before it,
 *	counts as "no room": events wait outside until it is right again
 * @reserved: not looked at
 */
struct htwheel_ring_head {
	__u32	head;
	__u32	reserved[15];
};

/* Bins of the lateness histogram. */
#define HTWHEEL_LATE_BINS	32

/**
 * struct htwheel_stats - argument of HTWHEEL_IOC_STATS
 * @size: in: sizeof(struct htwheel_stats)
 * @flags: in: 0
 * @armed: out: arms so far, re-arms and the further turns of periodic timers included
 * @fired: out: events read
 * @cancelled: out: arms that a cancel ended; an idle timer has none
 * @replaced: out: arms that a re-arm replaced
 * @pending: out: timers that are armed or have an unread event.
 *	armed = fired + cancelled + replaced + pending, at any moment
 * @expired: out: those of @pending whose event waits to be read
 * @peak: out: most timers at once so far, idle ones included
 * @pool_bytes: out: memory of the context's timers; grows with @peak, released on close and by
 *	HTWHEEL_MASS_TRIM
 * @passes: out: passes of the engine, all CPUs together, since the module was loaded
 * @wakeups: out: passes that were begun by the hrtimer, without those that finish a backlog
 * @reprogrammed: out: times that the hrtimer of a CPU's queue was started or stopped
 * @moves: out: timers moved to another slot by a pass
 * @slots_visited: out: slots (or heap tops) looked at by passes
 * @budget_stops: out: passes that stopped at their budget with work left
 * @backlog_cpus: out: CPUs with such work left at this moment
 * @backlog_ns: out: for how long the longest of them has had it
 * @queued: out: timers in the queues of this engine, of all contexts
 * @late: out: of the events read: @late[0] counts those that fired less than 1024 ns after their
 *	deadline, @late[i] those that fired from 2^(9+i) to less than 2^(10+i) ns after it, and the
 *	last one all above. The sum is @fired. Slack that was used counts as lateness; so does, of
 *	the later events of a burst, the time until the reader came
 * @idle: out: timers that are kept without a deadline. They count towards the limits, and are no
 *	part of @pending
 * @missed: out: expirations beyond the first that the events read stood for, that is, the sum of
 *	their counts less @fired
 * @alerts: out: times that the file became readable
 * @user_timers: out: timers that the user who opened this file holds, in all the files that the
 *	user opened; those that running calls are about to make included. One whose event is in the
 *	ring counts until the next call on the context
 * @waited: events so far that had to wait outside the ring
 * @postponed: times that a timer's deadline came and the deadline table said later
 *
 * The fields up to @pool_bytes, @late, @idle, @missed and @alerts are the context's own and belong
 * to one moment. @user_timers has a moment of its own. The others are the engine's, which contexts
 * with the same clock share; each CPU's are read at a moment of its own.
 */
struct htwheel_stats {
	__u32	size;
	__u32	flags;
	__u64	armed;
	__u64	fired;
	__u64	cancelled;
	__u64	replaced;
	__u64	pending;
	__u64	expired;
	__u64	peak;
	__u64	pool_bytes;
	__u64	passes;
	__u64	wakeups;
	__u64	reprogrammed;
	__u64	moves;
	__u64	slots_visited;
	__u64	budget_stops;
	__u64	backlog_cpus;
	__u64	backlog_ns;
	__u64	queued;
	__u64	late[HTWHEEL_LATE_BINS];
	__u64	idle;
	__u64	missed;
	__u64	alerts;
	__u64	user_timers;
	__u64	waited;
	__u64	postponed;
};

/* htwheel_advance.flags: htwheel_advance.to is a number of ticks to move by, not a time. */
#define HTWHEEL_ADVANCE_TICKS	(1U << 0)
/* htwheel_advance.flags: the clock jumps to the time, as if the CPU had slept over it. */
#define HTWHEEL_ADVANCE_JUMP	(1U << 1)

/**
 * struct htwheel_advance - argument of HTWHEEL_IOC_ADVANCE: move a manual clock
 * @size: in: sizeof(struct htwheel_advance)
 * @flags: in: 0, HTWHEEL_ADVANCE_TICKS, HTWHEEL_ADVANCE_JUMP
 * @to: in: the time to move to, from the present to HTWHEEL_NEVER_NS - 1; with
 *	HTWHEEL_ADVANCE_TICKS, by how many ticks, which must not lead beyond that
 * @budget: in: end the call when so many timers have been handed out or moved; 0: no limit
 * @now_ns: out: the clock
 * @due: out: timers whose deadline came: those that fired, and those that the deadline table
 *	postponed then
 * @moves: out: timers that were moved to another slot, or looked at and left
 * @slots: out: slots that were looked at (or tops of a heap, nodes of a tree, heads of a list)
 * @passes: out: times that the queue was run, each at one moment of the clock
 * @largest: out: most timers that were handed out and moved at one moment
 * @more: out: 1 if the budget ended the call before all was done, otherwise 0
 * @reserved: in and out: 0
 *
 * The time passes as it does on a live clock: it stops at each moment for which the queue would set
 * the hardware, the queue is run, what is due fires, with that moment in htwheel_event.fired_ns.
 * With HTWHEEL_ADVANCE_JUMP it goes to its end at once, and the queue is run there.
 *
 * A call that the budget ends leaves the clock at the moment that it was working on; a call with
 * the same time goes on. So does one after a signal (EINTR; a call that a signal interrupts before
 * it has done anything is restarted if the handler was installed with SA_RESTART). The outputs are
 * right also then.
 *
 * EOPNOTSUPP if the context's clock is not a manual one; EINVAL if the time lies before the present
 * or beyond the end, or a flag is unknown.
 */
struct htwheel_advance {
	__u32	size;
	__u32	flags;
	__u64	to;
	__u64	budget;
	__u64	now_ns;
	__u64	due;
	__u64	moves;
	__u64	slots;
	__u64	passes;
	__u64	largest;
	__u32	more;
	__u32	reserved;
};

/**
 * enum htwheel_design_property - bits of htwheel_design.properties
 * @HTWHEEL_DESIGN_EXACT: timers fire at their tick; without it, later by up to a granule that grows
 *	with the delay
 * @HTWHEEL_DESIGN_FIFO: timers of one tick fire in the order in which they were armed
 * @HTWHEEL_DESIGN_LINEAR: one operation may look at all timers
 * @HTWHEEL_DESIGN_SHARED: the shared engines have this design and this shape
 */
enum htwheel_design_property {
	HTWHEEL_DESIGN_EXACT	= 1 << 0,
	HTWHEEL_DESIGN_FIFO	= 1 << 1,
	HTWHEEL_DESIGN_LINEAR	= 1 << 2,
	HTWHEEL_DESIGN_SHARED	= 1 << 3,
};

/**
 * struct htwheel_design - argument of HTWHEEL_IOC_DESIGN: one row of the table of queue designs
 * @size: in: sizeof(struct htwheel_design)
 * @flags: in: 0
 * @index: in: which row, from 0
 * @properties: out: enum htwheel_design_property
 * @levels: out: levels, 0 if the design has none
 * @windows: out: slots that a level has, divided by its radix
 * @radix: out: for each level, the lowest first: so many of its slots make one of the next level
 *	(of
 *	a design whose levels overlap, as linux does: so many slots the level has)
 * @name: out: name of the design, NUL-terminated
 * @costs: out: of arming, cancelling and firing a timer among n, separated by slashes
 * @about: out: what the design is
 *
 * A design has a row for each of its shapes that are of interest, its default first; it may allow
 * others. A queue has no more levels than its ticks need, so INFO may show fewer than the row.
 * ENOENT behind the last row. @name, @levels and @radix may be copied to struct htwheel_setup.
 */
struct htwheel_design {
	__u32	size;
	__u32	flags;
	__u32	index;
	__u32	properties;
	__u32	levels;
	__u32	windows;
	__u32	radix[HTWHEEL_MAX_LEVELS];
	char	name[16];
	char	costs[32];
	char	about[64];
};

#endif /* _UAPI_LINUX_HTWHEEL_H */
