/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests as spans of OpenTelemetry, in OTLP's JSON encoding. A request is a trace: its own span,
 * one for the time that it queued, one for each step that it took part in. Each step has the self
 * time of its bricks as attributes. Executions of bricks are spans below it where they explain
 * something, in steps that evaluate the request's prompt and in those that it waited long for: at
 * most OTLP_BRICKS for a request. Identifiers stay the same when the recording is read again. One
 * thread at a time.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include "analysis/requests/requests.h"
#include "analysis/walk/step_index.h"

enum { OTLP_BRICKS = 1000, OTLP_TRACE_TEXT = 33, OTLP_SPAN_TEXT = 17 };

struct otlp {
	const struct run *run;
	const struct requests *requests;
	uint32_t *numbers;  /* of steps, for people */
	uint32_t *ordinals; /* of requests among those of their sequence */
	char *provider;	    /* NULL: not known */
};

/* -ENOMEM. Borrows both; requests: NULL: there are none. otlp_fini() is due also after an error. */
int otlp_init(struct otlp *otlp, const struct run *run, const struct requests *requests,
	const struct step_index *index);
void otlp_fini(struct otlp *otlp);

/* The trace of a request, as hexadecimal digits, and the first half of it as a number. */
uint64_t otlp_trace(const struct otlp *otlp, uint32_t request, char text[OTLP_TRACE_TEXT]);

/*
 * Takes an ExportTraceServiceRequest with so many spans, which is borrowed. A negative code ends
 * otlp_spans(), which returns it.
 */
typedef int (*otlp_take_fn)(void *context, const json_t *request, uint32_t spans);

/*
 * Spans of those requests of which `is_wanted` (NULL: of all) is true, a few hundred at a time.
 * -ENOMEM. The run must know when it began (run->start_unix_ns).
 */
int otlp_spans(const struct otlp *otlp, const uint8_t *is_wanted, otlp_take_fn take, void *context);

/* For other parts of OTLP: new references. */
json_t *otlp_u64(uint64_t value); /* as the JSON encoding has 64 bits */
json_t *otlp_request_span(const struct otlp *otlp, uint32_t request);	    /* its identifier */
void otlp_put_text(json_t *attributes, const char *key, const char *value); /* NULL: not put */
void otlp_put_number(json_t *attributes, const char *key, uint64_t value);

/* A request to a collector of a process's "spans" or "metrics"; takes the list. */
json_t *otlp_wrap(const struct otlp *otlp, uint32_t process, const char *what, json_t *list);
