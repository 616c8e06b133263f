/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of what is served: a recording, which may still be written; a process's recording; or,
 * if it writes none, its session as it is now. The source also decides when it is read again:
 * seldom enough to leave the program alone, more often while somebody looks. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/run.h"

struct serve_source;

/*
 * A file, or the number of a process. For a process: -ENOENT: there is none; -EACCES: it belongs to
 * another user; BRICK_ENOTRECORDED: *why is what is wrong with its session, NULL if it has none.
 */
int serve_source_open(struct serve_source **out, const char *operand, const char **why);

/* The source's name for people. */
const char *serve_source_name(const struct serve_source *source);

/* True if a session is: there is no recording. */
bool serve_source_is_session(const struct serve_source *source);

struct serve_reading {
	struct run *run; /* the caller's to destroy */
	bool live;	 /* there will be newer ones */
	char why[256];	 /* it could not be read */
};

/*
 * 1: there is something new, *reading holds it. 0: nothing new. Negative: it cannot be read, and
 * will not be tried again before it changes.
 */
int serve_source_read(struct serve_source *source, struct serve_reading *reading);
void serve_source_close(struct serve_source *source);

struct serve_pace {
	uint64_t read_ns;	  /* the end of the last reading */
	uint64_t cost_ns;	  /* CPU time of the last reading */
	uint64_t asked, asked_ns; /* requests until now, and when there was one more */
};

/* True if it is time to read, after so many requests. */
bool serve_pace_is_due(struct serve_pace *pace, uint64_t now_ns, uint64_t asked);

/* Notes a reading that ended now and took so much CPU time. */
void serve_pace_read(struct serve_pace *pace, uint64_t now_ns, uint64_t cost_ns);
