/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: what is done to timers. Off, each costs a jump that is patched out. htwheelctl
 * record makes traces of them that can be replayed.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM htwheel

#if !defined(HTW_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define HTW_TRACE_H

#include <linux/tracepoint.h>

/*
 * @ctx: number of the context, from 1 in the order of opening
 * @id: name of the timer
 * @now_ns: the moment, on the context's clock, like all times here
 */
TRACE_EVENT(htwheel_arm,
	TP_PROTO(u32 ctx, const struct htw_timer *timer, u64 now_ns, u64 slack_ns),
	TP_ARGS(ctx, timer, now_ns, slack_ns),
	TP_STRUCT__entry(
		__field(u32, ctx)
		__field(u64, id)
		__field(u64, now_ns)
		__field(u64, deadline_ns)
		__field(u64, period_ns)
		__field(u64, slack_ns)
		__field(u32, traits)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->id = htw_pool_id(timer);
		__entry->now_ns = now_ns;
		__entry->deadline_ns = timer->deadline_ns;
		__entry->period_ns = timer->period_ns;
		__entry->slack_ns = slack_ns;
		__entry->traits = timer->traits;
	),
	TP_printk("ctx=%u id=%llu now=%llu deadline=%llu period=%llu slack=%llu traits=%u",
		  __entry->ctx, __entry->id, __entry->now_ns, __entry->deadline_ns,
		  __entry->period_ns, __entry->slack_ns, __entry->traits)
);

DECLARE_EVENT_CLASS(htwheel_timer,
	TP_PROTO(u32 ctx, const struct htw_timer *timer, u64 now_ns, u64 deadline_ns),
	TP_ARGS(ctx, timer, now_ns, deadline_ns),
	TP_STRUCT__entry(
		__field(u32, ctx)
		__field(u64, id)
		__field(u64, now_ns)
		__field(u64, deadline_ns)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->id = htw_pool_id(timer);
		__entry->now_ns = now_ns;
		__entry->deadline_ns = deadline_ns;
	),
	TP_printk("ctx=%u id=%llu now=%llu deadline=%llu", __entry->ctx, __entry->id,
		  __entry->now_ns, __entry->deadline_ns)
);

/* A new deadline, of an operation or a sweep. */
DEFINE_EVENT(htwheel_timer, htwheel_rearm,
	TP_PROTO(u32 ctx, const struct htw_timer *timer, u64 now_ns, u64 deadline_ns),
	TP_ARGS(ctx, timer, now_ns, deadline_ns)
);

/* A cancel, of an operation or a sweep. */
DEFINE_EVENT(htwheel_timer, htwheel_cancel,
	TP_PROTO(u32 ctx, const struct htw_timer *timer, u64 now_ns, u64 deadline_ns),
	TP_ARGS(ctx, timer, now_ns, deadline_ns)
);

/* A pass found it due. */
DEFINE_EVENT(htwheel_timer, htwheel_expire,
	TP_PROTO(u32 ctx, const struct htw_timer *timer, u64 now_ns, u64 deadline_ns),
	TP_ARGS(ctx, timer, now_ns, deadline_ns)
);

#endif /* HTW_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
