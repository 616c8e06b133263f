/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of the numbers that are served: a recording, which may still be written; the recording
 * of a process; or, if a process writes none, its session as it is now. The pace says when to read
 * it again: seldom enough to leave the program alone, more often while somebody looks. Main
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/run.h"

struct serve_source;

/*
 * operand: a file, or the number of a process. A file is not looked at yet. For a process: -ENOENT:
 * there is none; -EACCES: it belongs to another user; BRICK_ENOTRECORDED: *why, a constant, tells
 * the fault of its session, or is NULL if it has no session. -ENOMEM.
 */
int serve_source_open(struct serve_source **out, const char *operand, const char **why);

/* The source's name for people. */
const char *serve_source_name(const struct serve_source *source);

/* True if the source is a session, because the process writes no recording. */
bool serve_source_is_session(const struct serve_source *source);

struct serve_reading {
	struct run *run; /* the caller destroys it; NULL unless the result is 1 */
	bool live;	 /* newer readings will follow */
	char why[256];	 /* why it could not be read; "" without an error */
};

/*
 * 1: *reading has a newer run. 0: nothing is new. Negative: it cannot be read; a file is not tried
 * again before it changes.
 */
int serve_source_read(struct serve_source *source, struct serve_reading *reading);
void serve_source_close(struct serve_source *source);

struct serve_pace {
	uint64_t read_ns;  /* the end of the last reading */
	uint64_t cost_ns;  /* CPU time of the last reading */
	uint64_t asked;	   /* requests at the last look */
	uint64_t asked_ns; /* when their number last changed; 0: never */
};

/* True if it is time to read. asked: http_asked(). */
bool serve_pace_is_due(struct serve_pace *pace, uint64_t now_ns, uint64_t asked);

/* Notes a reading that ended now and took cost_ns of CPU time. */
void serve_pace_read(struct serve_pace *pace, uint64_t now_ns, uint64_t cost_ns);
