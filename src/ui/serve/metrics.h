/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording as OpenMetrics text, for Prometheus: seconds, counters that only grow while a run is
 * read again, histograms with bounds at powers of two. docs/SERVE.md lists the names; they are
 * stable. Each text is the caller's to free; NULL: not enough memory. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/requests/latencies.h"
#include "ui/page/page.h"
#include "ui/serve/otlp_push.h"
#include "ui/text/otlp.h"

struct metrics_view {
	const struct page *page;
	bool live;	 /* the run goes on: an open sample is no loss */
	bool is_session; /* statistics are of all, but steps of the last moments only */
	const struct latencies *latencies;
	const struct otlp *otlp;
};

/* The numbers of a run, without the text's end. */
char *metrics_of_page(const struct metrics_view *view);

/* The server's numbers about itself. */
struct metrics_server {
	uint64_t reads, failures;
	bool sends_otlp;
	struct otlp_push_counts otlp;
};

/* The whole text: those numbers, and the server's. */
char *metrics_whole(const char *metrics, const struct metrics_server *server, size_t *bytes);
