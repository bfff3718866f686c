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
 *   does not know are set to zero.
 * - Unknown flags, unknown opcodes and reserved fields that are not zero are refused (EINVAL).
 * - A field or a flag of a feature that this header names and this module lacks is refused with
 *   EOPNOTSUPP. HTWHEEL_IOC_INFO lists the features.
 * - Times are nanoseconds in a __u64 with the top bit clear (EINVAL otherwise). A time of
 *   HTWHEEL_NEVER_NS, relative or absolute, never comes.
 * - The clock is that of the initial time namespace, for absolute deadlines as well as in events.
 * - Pointers are __u64; 32-bit and 64-bit callers share one layout.
 *
 * Errors: ENOTTY unknown command; EINVAL bad value or unknown bit; E2BIG unknown trailing data;
 * EOPNOTSUPP known but absent; ENOENT no such timer; ENOSPC the context's limit; EBUSY set up twice
 * or after the first arm; EFAULT bad address; EAGAIN nothing to read now; EINTR interrupted;
 * ENOMEM.
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

/* A deadline, or a delay, that never comes: 292 years. */
#define HTWHEEL_NEVER_NS	0x7fffffffffffffffULL

/**
 * enum htwheel_clock - the clock that a context's times are measured on
 * @HTWHEEL_CLOCK_MONOTONIC: CLOCK_MONOTONIC; stands still in suspend
 * @HTWHEEL_CLOCK_BOOTTIME: CLOCK_BOOTTIME; needs HTWHEEL_FEAT_BOOTTIME
 * @HTWHEEL_CLOCK_MANUAL: moved by the program alone; needs HTWHEEL_FEAT_MANUAL
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
 * @HTWHEEL_FEAT_MANUAL: HTWHEEL_CLOCK_MANUAL
 */
enum htwheel_feature {
	HTWHEEL_FEAT_PERIODIC	= 1 << 0,
	HTWHEEL_FEAT_KEEP	= 1 << 1,
	HTWHEEL_FEAT_SLACK	= 1 << 2,
	HTWHEEL_FEAT_TAG	= 1 << 3,
	HTWHEEL_FEAT_BOOTTIME	= 1 << 4,
	HTWHEEL_FEAT_MANUAL	= 1 << 5,
};

/**
 * struct htwheel_info - argument of HTWHEEL_IOC_INFO: what this module is and can do
 * @size: in: sizeof(struct htwheel_info)
 * @flags: in: 0
 * @abi: out: HTWHEEL_ABI of the module
 * @clock: out: this context's clock, enum htwheel_clock
 * @features: out: the features that the module has, enum htwheel_feature
 * @tick_ns: out: length of a tick, a power of two; an event comes at most one tick, and the time
 *	that the CPU was late itself, after its deadline
 * @max_timers: out: timers that this context may hold at once (its limit)
 * @max_timers_ceiling: out: the largest limit that HTWHEEL_IOC_SETUP grants
 * @max_batch: out: largest htwheel_submit.nr
 * @max_stride: out: largest htwheel_submit.stride
 * @cpus: out: CPUs that carry a share of the engine (a base) at this moment
 * @levels: out: levels of the wheel, 0 if the design has none
 * @slots: out: slots of each level, 0 if the design has none
 * @reserved: in and out: 0
 * @design: out: name of the queue design, NUL-terminated
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
};

/**
 * struct htwheel_setup - argument of HTWHEEL_IOC_SETUP: choices for this context
 * @size: in: sizeof(struct htwheel_setup)
 * @flags: in: 0
 * @clock: in: enum htwheel_clock
 * @reserved: in: 0
 * @max_timers: in: timers that the context may hold at once, 1 to htwheel_info.max_timers_ceiling;
 *	0 leaves the default
 *
 * At most once, and before the first arm (EBUSY). A program that is content with the defaults need
 * not call it. A call that fails changes nothing and may be repeated.
 */
struct htwheel_setup {
	__u32	size;
	__u32	flags;
	__u32	clock;
	__u32	reserved;
	__u64	max_timers;
};

/**
 * enum htwheel_opcode - what an operation does
 * @HTWHEEL_OP_ARM: make a timer; id receives its name
 * @HTWHEEL_OP_REARM: give the timer named by id a new deadline; if its event was still unread, it
 *	is withdrawn, and the result is HTWHEEL_RES_FIRED
 * @HTWHEEL_OP_CANCEL: remove the timer named by id; afterwards no event of it can be read. If its
 *	event was still unread, it is withdrawn, and the result is HTWHEEL_RES_FIRED. time_ns
 *	receives the time that was left
 * @HTWHEEL_OP_QUERY: time_ns receives the time left; 0, with the result HTWHEEL_RES_FIRED, if the
 *	event waits to be read
 *
 * 0 is no opcode, so that a forgotten one is refused.
 *
 * REARM, CANCEL and QUERY of a timer whose event has been read, of a cancelled timer, or of a name
 * that was never given answer -ENOENT and touch nothing: a name is never used twice in one context.
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
/* ARM: fire every period_ns; needs HTWHEEL_FEAT_PERIODIC. */
#define HTWHEEL_PERIODIC	(1U << 1)
/* ARM: the id stays valid after the event was read; needs HTWHEEL_FEAT_KEEP. */
#define HTWHEEL_KEEP		(1U << 2)

/* htwheel_op.result: done, and the timer had fired, its event unread. */
#define HTWHEEL_RES_FIRED	1

/**
 * struct htwheel_op - one operation, 64 bytes
 * @opcode: in: enum htwheel_opcode
 * @policy: in: what to do about missed periods; 0 without HTWHEEL_FEAT_PERIODIC
 * @flags: in: HTWHEEL_ABSOLUTE and so on, for ARM and REARM; 0 for CANCEL and QUERY
 * @result: out: 0, HTWHEEL_RES_FIRED, or a negative errno
 * @tag: in: ARM: group of the timer; 0 without HTWHEEL_FEAT_TAG
 * @id: ARM: out: name of the timer, never 0 (0 if the arm failed). The others: in: the timer. A
 *	name is generation << 32 | index and means nothing in another context
 * @time_ns: ARM, REARM: in: delay from now or, with HTWHEEL_ABSOLUTE, deadline, 0 to
 *	HTWHEEL_NEVER_NS; a delay that passes the end of the clock is HTWHEEL_NEVER_NS. CANCEL,
 *	QUERY: out: time left, 0 if the deadline has passed
 * @period_ns: in: 0 without HTWHEEL_FEAT_PERIODIC
 * @slack_ns: in: 0 without HTWHEEL_FEAT_SLACK
 * @user_data: ARM: in: comes back in the event. The others do not look at it; REARM keeps the
 *	timer's
 * @reserved: in: 0
 *
 * Result errors: EINVAL unknown opcode or flag, reserved field not zero, time with the top bit set;
 * E2BIG bytes behind the known part not zero; EOPNOTSUPP feature absent; ENOENT no such timer;
 * ENOSPC limit reached; ENOMEM (ARM only, and only while the context's pool grows).
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
 * Even then @done is right (0 if the call was refused): the first @done operations have taken
 * effect, the others have not and may be submitted again. (A call that a signal interrupts before
 * it has done anything is restarted if the handler was installed with SA_RESTART.) Each operation
 * is read once.
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
 * struct htwheel_event - one expiration, 48 bytes; read(2) returns whole ones, as many as fit
 * @id: name of the timer; no longer valid
 * @user_data: as given with ARM
 * @deadline_ns: when the timer was due, on the context's clock
 * @fired_ns: when it fired, on the same clock; never before @deadline_ns
 * @count: number of expirations that this event stands for, 1
 * @tag: as given with ARM
 * @flags: 0
 *
 * read(2) fails with EINVAL if the buffer is shorter than one event, EAGAIN if there is none and
 * the file is non-blocking, EFAULT if the buffer cannot be written; no event is lost then.
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

/* Bins of the lateness histogram. */
#define HTWHEEL_LATE_BINS	32

/**
 * struct htwheel_stats - argument of HTWHEEL_IOC_STATS
 * @size: in: sizeof(struct htwheel_stats)
 * @flags: in: 0
 * @armed: out: arms so far, re-arms included
 * @fired: out: events read
 * @cancelled: out: timers cancelled
 * @replaced: out: arms that a re-arm replaced
 * @pending: out: live timers, those with an unread event included.
 *	armed = fired + cancelled + replaced + pending, at any moment
 * @expired: out: those of @pending whose event waits to be read
 * @peak: out: largest @pending so far
 * @pool_bytes: out: memory of the context's timers; grows with @peak, released on close
 * @passes: out: passes of the engine, all CPUs together, since the module was loaded
 * @wakeups: out: passes that were begun by the hrtimer, without those that finish a backlog
 * @reprogrammed: out: times that an hrtimer was started or stopped
 * @moves: out: timers moved to another slot by a pass
 * @slots_visited: out: slots (or heap tops) looked at by passes
 * @budget_stops: out: passes that stopped at their budget with work left
 * @backlog_cpus: out: CPUs with such work left at this moment
 * @backlog_ns: out: for how long the longest of them has had it
 * @queued: out: timers in the queues of this engine, of all contexts
 * @late: out: of the events read: @late[0] counts those that fired less than 1024 ns after their
 *	deadline, @late[i] those that fired from 2^(9+i) to less than 2^(10+i) ns after it, and the
 *	last one all above. The sum is @fired
 *
 * The first eight fields and @late are the context's own and belong to one moment. The others are
 * the engine's, which contexts share; each CPU's are read at a moment of its own.
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
};

#endif /* _UAPI_LINUX_HTWHEEL_H */
