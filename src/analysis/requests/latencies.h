/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of times of requests and steps, by model, for Prometheus and OTLP. Observations stay,
 * so that each count only grows while a recording does. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/requests/requests.h"
#include "analysis/walk/step_index.h"
#include "analysis/steps/step_times.h"
#include "base/scope.h"

enum latency {
	LATENCY_FIRST_TOKEN, /* from a request's first step to its first token */
	LATENCY_TOKEN,	     /* the mean of a request, behind its first token */
	LATENCY_REQUEST,     /* from its first step to its last token */
	LATENCY_QUEUE,	     /* before its first step, if the program says when it came */
	LATENCY_STEP,	     /* with the sampling behind it, by phase */
	LATENCIES,
};

/* The last observation of a bucket. */
struct latency_example {
	uint64_t value_ns, ns; /* the observation, and when it ended; value_ns 0: there was none */
	uint32_t step;	       /* index in the run: that gave the first token, or the last */
	uint32_t request;      /* index; RUN_NONE: it is of a step */
};

struct latency_series {
	const char *model; /* NULL: not known; borrowed of the run */
	int phase;	   /* enum step_phase; -1: it is of requests */
	uint64_t count, sum_ns;
	uint64_t *counts; /* [bound_count + 1]: values up to that bound; behind it, all others */
	struct latency_example *examples; /* likewise */
};

struct latency_family {
	const uint64_t *bounds_ns; /* ascending */
	unsigned bound_count;
	struct latency_series *series;
	size_t count, capacity;
};

struct latencies {
	struct latency_family of[LATENCIES];
	uint64_t *step_bounds;
};

/*
 * requests: NULL: none are known. is_over: the recording grows no more. Else requests that nobody
 * ended, and the last step of each thread, are not counted yet. -ENOMEM.
 */
int latencies_create(struct latencies **out, const struct run *run, const struct requests *requests,
	const struct step_index *index, const struct step_times *times, bool is_over);
void latencies_destroy(struct latencies *latencies);
SCOPE_OF(latencies_destroy, struct latencies)
