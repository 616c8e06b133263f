/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a file of trace events one event at a time, so that a file of gigabytes needs no tree of
 * all its values in memory. Times stay as they are written, because microseconds since 1970 have
 * more digits than a double. Input is never trusted. One thread at a time.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include "import/import.h"

/* One event, valid during the callback. */
struct json_event {
	json_t *members; /* an object; its numbers are doubles */
	/* where these values begin in the text, a text with its quotes; NULL: there is none */
	const char *ts, *dur, *category;
	const struct json_scan *scan;
	size_t offset; /* of the event in the text that the scan holds; for json_event_fail() */
};

/*
 * Callbacks. A negative code ends the reading. They borrow the JSON values: to keep one, take a
 * reference.
 */
struct json_events_target {
	/* True: an event of this category (a text in quotes) is not wanted, nor parsed. NULL: all
	 * are. */
	bool (*skips)(void *context, const char *category);
	/* Returns 0 or a negative code. */
	int (*event)(void *context, const struct json_event *event);
	/*
	 * A member of the file's object that is not "traceEvents"; names of 64 bytes and more are
	 * left out. Returns 0; 1: the value held events, so that "traceEvents" may be missing; or a
	 * negative code.
	 */
	int (*member)(void *context, const char *key, const json_t *value);
};

/*
 * Reads an array of events, or an object that has one as "traceEvents". An array at the top may
 * lack its end, as programs that are killed leave it. 0; BRICK_EFORMAT and *error; -ENOMEM; or what
 * the target returned.
 */
int json_events_read(const struct import_source *source, const struct json_events_target *target,
	void *context, struct import_error *error);

/* Converts the text of a number, which may stand in quotes, from us to ns. False: no number, or too
 * large. */
bool json_events_ns(const char *us, int64_t *ns);

/* Writes the event's place and the reason into the error of json_events_read(); returns
 * BRICK_EFORMAT. */
int json_event_fail(const struct json_event *event, const char *why);

/* Adds what rocprofv3 writes as the member "rocprofiler-sdk-tool". 1, or -ENOMEM. */
int import_rocprof_json(struct imported *imported, const json_t *tools);
