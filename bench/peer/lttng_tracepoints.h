/* SPDX-License-Identifier: Apache-2.0 */
/* Two tracepoints, begin and end, as a user of LTTng-UST would put around a scope. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER brick_peer

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/peer/lttng_tracepoints.h"

#if !defined(BENCH_PEER_LTTNG_TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_PEER_LTTNG_TRACEPOINTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(brick_peer, begin, LTTNG_UST_TP_ARGS(int, id),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, id, id)))
LTTNG_UST_TRACEPOINT_EVENT(brick_peer, end, LTTNG_UST_TP_ARGS(int, id),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, id, id)))

#endif

#include <lttng/tracepoint-event.h>
