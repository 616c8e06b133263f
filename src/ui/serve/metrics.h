/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording as OpenMetrics text, for Prometheus: times in seconds, counters that only grow from
 * one reading of a run to the next, histograms with bounds at powers of two. Names are stable, and
 * docs/SERVE.md lists them. The caller frees each text; NULL: not enough memory. Main thread.
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
	bool is_session; /* statistics are of the whole run, steps of its last moments only */
	const struct latencies *latencies; /* of the requests */
	const struct otlp *otlp;	   /* gives exemplars their trace ids */
};

/* The numbers of a run, without "# EOF". */
char *metrics_of_page(const struct metrics_view *view);

/* The server's numbers about itself. */
struct metrics_server {
	uint64_t reads;	   /* of the run */
	uint64_t failures; /* readings that failed */
	bool sends_otlp;   /* `otlp` is to be shown */
	struct otlp_push_counts otlp;
	bool pushes;			/* the next two are to be shown */
	uint64_t pushed, push_failures; /* files with windows */
};

/* The whole document: the text of metrics_of_page(), the server's numbers, "# EOF". */
char *metrics_whole(const char *metrics, const struct metrics_server *server, size_t *bytes);
