/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends requests that have ended as spans, and their histograms as metrics, to an OTLP collector.
 * Requests that it refuses are tried again some times, then dropped and counted. A request is sent
 * once, however often the recording is read. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/requests/latencies.h"
#include "ui/text/otlp.h"

struct otlp_push;

struct otlp_push_counts {
	uint64_t sent_spans, dropped_spans;
	uint64_t failures; /* requests to the collector that it did not take */
};

/*
 * collector: as in otlp_target.h. -EINVAL: *why says what is wrong with it or with the environment,
 * to be freed; -ENOTSUP: there is no libcurl; -ENOMEM.
 */
int otlp_push_create(struct otlp_push **out, const char *collector, char **why);

/*
 * Takes requests of a run that it has not taken before: some at a time, and only when the former
 * are gone, so that few wait. is_over: the run grows no more, so all have ended. 1: there are more;
 * -ENOMEM: some are lost.
 */
int otlp_push_requests(struct otlp_push *push, const struct otlp *otlp, bool is_over);

/* Take the metrics of a run, in place of older ones that wait. -ENOMEM. */
int otlp_push_metrics(struct otlp_push *push, const struct otlp *otlp,
	const struct latencies *latencies, const struct step_times *times);

/*
 * Posts texts that are due, one at a time and for about a second, in which the caller waits; it
 * waits some seconds more for a collector that does not answer. is_last: nothing is tried again,
 * and the rest is dropped.
 */
void otlp_push_turn(struct otlp_push *push, bool is_last);

struct otlp_push_counts otlp_push_counts(const struct otlp_push *push);

/* Why the last request failed that failed; NULL: none has. */
const char *otlp_push_error(const struct otlp_push *push);

/* NULL is legal. */
void otlp_push_destroy(struct otlp_push *push);
