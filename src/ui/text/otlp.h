/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests as spans of OpenTelemetry, in OTLP's JSON encoding. A request is a trace: a span of its
 * own, a span of its time in the queue, and a span of each step that it took part in. A step's span
 * has the self time of its bricks as attributes. Executions of bricks are spans below a step that
 * evaluates the request's prompt, or for which the request waited long: at most OTLP_BRICKS of them
 * for a request. Identifiers stay the same when the recording is read again. One thread at a time.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include "analysis/requests/requests.h"
#include "analysis/walk/step_index.h"

/* Texts are the hexadecimal digits of 16 and 8 bytes, and a NUL. */
enum { OTLP_BRICKS = 1000, OTLP_TRACE_TEXT = 33, OTLP_SPAN_TEXT = 17 };

struct otlp {
	const struct run *run;
	const struct requests *requests;
	uint32_t *numbers;  /* [step_count]: of steps, as people see them */
	uint32_t *ordinals; /* [requests->count]: of a request in its sequence */
	char *provider;	    /* the engine's name; NULL: not known */
};

/*
 * Borrows the run and the requests; requests NULL: there are none. -ENOMEM; otlp_fini() is due also
 * then.
 */
int otlp_init(struct otlp *otlp, const struct run *run, const struct requests *requests,
	const struct step_index *index);
void otlp_fini(struct otlp *otlp);

/* Writes a request's trace id as hexadecimal digits; returns its first half as a number. */
uint64_t otlp_trace(const struct otlp *otlp, uint32_t request, char text[OTLP_TRACE_TEXT]);

/*
 * Takes an ExportTraceServiceRequest with so many spans, which is borrowed. A negative code ends
 * otlp_spans(), which returns it.
 */
typedef int (*otlp_take_fn)(void *context, const json_t *request, uint32_t spans);

/*
 * Hands the spans of wanted requests to `take`, a few hundred at a time. is_wanted:
 * [requests->count]; NULL: all. The run must know when it began (run->start_unix_ns). -ENOMEM.
 */
int otlp_spans(const struct otlp *otlp, const uint8_t *is_wanted, otlp_take_fn take, void *context);

/* For other parts of OTLP: new references. */
json_t *otlp_u64(uint64_t value); /* a string, as OTLP's JSON has 64 bits */
json_t *otlp_request_span(const struct otlp *otlp, uint32_t request); /* the span's id */

/* Append an attribute; of a value NULL none. */
void otlp_put_text(json_t *attributes, const char *key, const char *value);
void otlp_put_number(json_t *attributes, const char *key, uint64_t value);

/* A request to a collector: a process's resource and its list of `what`, "spans" or "metrics",
 * which is taken. */
json_t *otlp_wrap(const struct otlp *otlp, uint32_t process, const char *what, json_t *list);
