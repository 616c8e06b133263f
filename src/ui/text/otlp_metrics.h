/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of requests and steps, and counted tokens, as OTLP's metrics. One thread at a time. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include "analysis/requests/latencies.h"
#include "ui/text/otlp.h"

/*
 * An ExportMetricsServiceRequest: a new reference; NULL: not enough memory. Values are cumulative
 * since the recording's begin, as of now_unix_ns.
 */
json_t *otlp_metrics(const struct otlp *otlp, const struct latencies *latencies,
	const struct step_times *times, uint64_t now_unix_ns);
