/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of times of requests and steps, by model, for Prometheus and OTLP. Only observations
 * that can no longer change are counted, so that made anew for a growing recording, no count ever
 * falls. Read-only once made: any thread.
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
	LATENCY_TOKEN,	     /* a request's mean time for a token after its first one */
	LATENCY_REQUEST,     /* from a request's first step to its last token */
	LATENCY_QUEUE, /* from a request's arrival, if the program tells it, to its first step */
	LATENCY_STEP,  /* a step with the sampling after it; by phase */
	LATENCIES,
};

/* The last observation of a bucket. */
struct latency_example {
	uint64_t value_ns; /* the observation; 0: there was none */
	uint64_t ns;	   /* when it ended */
	uint32_t step;	   /* index in the run: the step that gave the first token, or the last */
	uint32_t request;  /* index in requests->list; RUN_NONE: it is of a step */
};

struct latency_series {
	const char *model;	/* borrowed from the run; NULL: not known */
	int phase;		/* enum step_phase; -1: it is of requests */
	uint64_t count, sum_ns; /* of all observations */
	uint64_t *counts;	/* [bound_count + 1] of each bucket; the last one has no bound */
	struct latency_example *examples; /* [bound_count + 1] */
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
 * requests: NULL: none are known. is_over: the recording does not grow any more; if it does,
 * requests that have not ended and the last step of each thread are not counted yet. 0 or -ENOMEM.
 */
int latencies_create(struct latencies **out, const struct run *run, const struct requests *requests,
	const struct step_index *index, const struct step_times *times, bool is_over);
void latencies_destroy(struct latencies *latencies);
SCOPE_OF(latencies_destroy, struct latencies)
