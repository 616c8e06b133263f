/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends an engine's ended requests as spans, and their histograms as metrics, to an OTLP collector.
 * A post that the collector does not take is tried again a few times, then dropped and counted.
 * Each request is sent once, however often the recording is read. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/requests/latencies.h"
#include "ui/text/otlp.h"

struct otlp_push;

struct otlp_push_counts {
	uint64_t sent_spans;
	uint64_t dropped_spans; /* refused, or given up */
	uint64_t failures;	/* posts that the collector did not take */
};

/*
 * collector: as in otlp_target.h. -EINVAL: *why tells the fault in it or in the environment, and
 * the caller frees it; -ENOTSUP: there is no libcurl; -ENOMEM.
 */
int otlp_push_create(struct otlp_push **out, const char *collector, char **why);

/*
 * Queues some requests that ended and were never queued. Queues none while spans wait, so the queue
 * stays short. is_over: the run grows no more, so open requests count as ended. 1: call again for
 * more; -ENOMEM: some are lost.
 */
int otlp_push_requests(struct otlp_push *push, const struct otlp *otlp, bool is_over);

/* Queues the metrics of a run, and drops older ones that wait: values are cumulative. -ENOMEM. */
int otlp_push_metrics(struct otlp_push *push, const struct otlp *otlp,
	const struct latencies *latencies, const struct step_times *times);

/*
 * Posts queued texts that are due, one after the other, for about a second. Blocks, and some
 * seconds longer if the collector does not answer. is_last: ignores pauses, tries nothing again,
 * and drops the rest.
 */
void otlp_push_turn(struct otlp_push *push, bool is_last);

struct otlp_push_counts otlp_push_counts(const struct otlp_push *push);

/* The reason of the newest failure; NULL: there was none. Valid until the next turn. */
const char *otlp_push_error(const struct otlp_push *push);

/* NULL is legal. */
void otlp_push_destroy(struct otlp_push *push);
