/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seconds around a step or a request that took too long, or around lost records, in a file of
 * their own beside a recording: PATH with ".slow" before its ending. It is
 * a whole recording, made again out of what recent.h keeps, and has a mark (MARK_EXEMPLAR) at the
 * step. At most so many are written in an hour, and all together have a bounded size (file_ring.h).
 * A failure to write costs that file only. All functions are the emitting thread's.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "format/format.h"
#include "lib/drain/drain.h"
#include "lib/writer/writer.h"

#define SLOW_BYTES 200000000ull /* of all files together, where nobody says how many */
#define SLOW_BYTES_LEAST 16000000ull

enum {
	SLOW_PHASES = 5,       /* by enum brick_phase */
	SLOW_PER_HOUR = 6,     /* files, where nobody says how many */
	SLOW_TAIL_STEPS = 100, /* before so many steps nothing is slower than their p99 */
};

/* A step is slow if it takes longer; ns 0 and no tail: none is. */
struct slow_limit {
	uint64_t ns;
	/* than the 99th percentile of the phase's steps so far, and twice their median */
	bool is_tail;
};

struct slow_limits {
	struct slow_limit phase[SLOW_PHASES];
	uint64_t request_ns; /* a request is slow if it takes longer; 0: none is */
};

/*
 * Sets the limits that a text names, with commas between them: "p99" or "50ms" (of all phases but
 * the warm-up), "decode=50ms", "request=2s". 0 or -EINVAL.
 */
int slow_limits_parse(struct slow_limits *limits, const char *text);

struct file_ring;

struct exemplars_options {
	const char *path; /* of the recording */
	uint64_t bytes;	  /* of all files together */
	unsigned per_hour;
	struct slow_limits slow;
	/* Makes a ring's next file, which begins at start_ns, CLOCK_MONOTONIC. */
	int (*open)(void *context, const struct file_ring *ring, uint64_t start_ns,
		struct trace_writer **out);
	void *context;
};

struct exemplars_count {
	uint64_t kept;	 /* files that were written */
	uint64_t left;	 /* steps and losses without a file, as the hour had its files */
	uint64_t failed; /* files that could not be written */
	int error;	 /* of the first of them */
	char ring[FORMAT_RING_DIGITS + 1]; /* of which they all are (file_ring_read()) */
};

struct exemplars;

/* 0; -ENOMEM, -ENAMETOOLONG, or an error of file_ring_start(), `wrong` as there. */
int exemplars_create(struct exemplars **out, const struct exemplars_options *options,
	uint64_t now_ns, char *wrong, size_t wrong_bytes);
/* NULL is legal. */
void exemplars_destroy(struct exemplars *x);

struct exemplars_count exemplars_count(const struct exemplars *x);

/* The newest file of a recording, 0, or one before. False: the name is too long. */
bool exemplars_name(const char *recording, unsigned number, char name[PATH_MAX]);

/* What is emitted, just before it is. clock: the recording's. 0 or -ENOMEM. */
int exemplars_records(struct exemplars *x, const struct brick_clock *clock, struct drain *drain,
	uint32_t lane, const struct brick_record *records, size_t count);
void exemplars_off_cpu(struct exemplars *x, struct drain *drain,
	const struct sink_off_cpu *intervals, size_t count);
void exemplars_mark(struct exemplars *x, const struct sink_mark *mark);

/* All until account->end_ns has been emitted. */
void exemplars_round(struct exemplars *x, const struct sink_account *account);

/* A session has ended. exemplars_step() with `at_once` was called until it was false. */
void exemplars_forget(struct exemplars *x, const struct drain *drain);

/* True if a file is to be made, once rounds have what comes after its step. */
bool exemplars_wait(const struct exemplars *x);

/*
 * Does a piece of work on a file that is due; at_once: on one that waits for what comes after the
 * step, too. False: there was nothing to do. Nothing is emitted between two pieces.
 */
bool exemplars_step(struct exemplars *x, bool at_once);
