/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through a file of trace events one event at a time, so that a file of gigabytes needs no
 * tree of all that it says. Times are kept as they are written, because microseconds since 1970
 * have more digits than a double. Input is never trusted. One thread at a time.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include "import/import.h"

struct json_event {
	json_t *members;
	const char *ts, *dur; /* of its times, as they are written; NULL: there is none */
	const struct json_scan *scan;
	size_t offset; /* in the part of the file that the scan holds */
};

/* Return 0 or a negative code, which ends the reading. members are the caller's of the callback. */
struct json_events_target {
	int (*event)(void *context, const struct json_event *event);
	/* a value beside the events, in the file's object; 1: it holds events itself */
	int (*member)(void *context, const char *key, const json_t *value);
};

/*
 * The array of events, or the object that has one as "traceEvents". BRICK_EFORMAT and *error, or
 * what the target returned. An array may lack its end, as programs that are killed leave it.
 */
int json_events_read(const struct import_source *source, const struct json_events_target *target,
	void *context, struct import_error *error);

/* Microseconds as written, as ns. false: it is no number, or none that fits. */
bool json_events_ns(const char *us, int64_t *ns);

/* Say where the event is, and why it is refused, and return BRICK_EFORMAT. */
int json_event_fail(const struct json_event *event, const char *why);

/* What rocprofv3 writes as "rocprofiler-sdk-tool". 1, or -ENOMEM. */
int import_rocprof_json(struct imported *imported, const json_t *tools);
