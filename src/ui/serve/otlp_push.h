/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends requests that have ended as spans, and their histograms as metrics, to an OTLP collector.
 * What it does not take is tried again some times, and then dropped and counted; what waits is
 * bounded. A request is sent once, however often the recording is read. Main thread.
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
 * url: of the collector, as http://localhost:4318; /v1/traces and /v1/metrics are appended.
 * -EINVAL: it is none; -ENOTSUP: there is no libcurl; -ENOMEM.
 */
int otlp_push_create(struct otlp_push **out, const char *url);

/*
 * What a run holds now. is_over: it grows no more, so all requests have ended. -ENOMEM: some of it
 * is lost.
 */
int otlp_push_take(struct otlp_push *push, const struct otlp *otlp,
	const struct latencies *latencies, const struct step_times *times, bool is_over);

/*
 * Post what is due, one request at a time and for about a second, in which the caller waits; a
 * collector that does not answer is waited for some seconds more. is_last: nothing is tried again,
 * and what is left is dropped.
 */
void otlp_push_turn(struct otlp_push *push, bool is_last);

struct otlp_push_counts otlp_push_counts(const struct otlp_push *push);

/* Why the last request failed that failed; NULL: none has. */
const char *otlp_push_error(const struct otlp_push *push);

/* NULL is legal. */
void otlp_push_destroy(struct otlp_push *push);
