/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a recording (libbrick-report): its bricks, sites, lanes and steps, as arrays that are
 * valid until the recording is closed. Times are ns on the recorded machine's clock. Any thread may
 * read an open recording; close it when no thread reads it any more.
 *
 *	struct brick_recording *recording;
 *	char why[256];
 *	if (brick_recording_open(&recording, "run.pftrace", why, sizeof(why)))
 *		return fprintf(stderr, "%s\n", why), 1;
 */
#ifndef BRICK_RECORDING_H
#define BRICK_RECORDING_H

#include <stddef.h>
#include <stdint.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

struct brick_recording;

/*
 * Reads a file; the caller closes *out. On an error `why`, unless it is NULL, gets a sentence with
 * the offset where the file is wrong. -errno: the file cannot be read. BRICK_EFORMAT: it is no
 * recording. BRICK_EVERSION: an incompatible version wrote it. -ENOMEM.
 */
BRICK_API int brick_recording_open(
	struct brick_recording **out, const char *path, char *why, size_t why_bytes);

/* NULL is legal. */
BRICK_API void brick_recording_close(struct brick_recording *recording);

/* Parts of a recording. */
enum brick_recording_part {
	BRICK_RECORDING_BRICKS = 0,
	BRICK_RECORDING_SITES = 1,
	BRICK_RECORDING_LANES = 2,
	BRICK_RECORDING_STEPS = 3,
	BRICK_RECORDING_PARTS,
};

/* Returns the number of elements of a part; 0 for an unknown part. */
BRICK_API size_t brick_recording_count(
	const struct brick_recording *recording, enum brick_recording_part part);

/* A brick's name, and its category's. */
struct brick_recorded_brick {
	size_t size; /* sizeof(struct brick_recorded_brick) */
	const char *name, *category;
};

#define BRICK_RECORDED_BRICK_INIT BRICK_SIZED(struct brick_recorded_brick)

/* The place of a brick, and the work of each execution there. */
struct brick_recorded_site {
	size_t size;	/* sizeof(struct brick_recorded_site) */
	uint32_t brick; /* index of its brick */
	int32_t layer;	/* -1: outside of blocks */
	uint32_t flags; /* enum brick_site_flags: which of the counts are known */
	uint32_t reserved;
	uint64_t elements, bytes, flops; /* of one execution; 0 with the flag clear: not known */
	const char *operation, *label;	 /* the engine's names; NULL: not known */
};

#define BRICK_RECORDED_SITE_INIT BRICK_SIZED(struct brick_recorded_site)

/* One execution. 32 bytes; frozen. */
struct brick_recorded_sample {
	uint64_t begin_ns, end_ns;
	uint32_t site;	   /* index of its site */
	uint32_t wait_ns;  /* waiting right after the end; at most UINT32_MAX */
	uint32_t inner_ns; /* waiting between begin and end; at most UINT32_MAX */
	uint8_t depth;	   /* 0: outermost on its lane */
	uint8_t source;	   /* enum brick_source: how its times were obtained */
	uint8_t flags; /* bits. 1: it never ended; 2: an outer end ended it; 4: a time was moved */
	uint8_t reserved;
};

/* A thread's or a device queue's lane. */
struct brick_recorded_lane {
	size_t size; /* sizeof(struct brick_recorded_lane) */
	uint32_t pid;
	uint32_t kind;				     /* enum brick_lane_kind */
	uint64_t tid;				     /* of the thread, or the queue's number */
	const char *name;			     /* NULL: it has none */
	const struct brick_recorded_sample *samples; /* by begin, a parent before what it holds */
	size_t sample_count;
};

#define BRICK_RECORDED_LANE_INIT BRICK_SIZED(struct brick_recorded_lane)

/* One evaluation by the engine. */
struct brick_recorded_step {
	size_t size;	/* sizeof(struct brick_recorded_step) */
	uint32_t lane;	/* index of the lane that ran it */
	uint32_t phase; /* enum brick_phase */
	uint64_t begin_ns, end_ns;
	uint64_t tokens; /* evaluated; 0 where the batch was refused or aborted */
};

#define BRICK_RECORDED_STEP_INIT BRICK_SIZED(struct brick_recorded_step)

/*
 * Store element i, from 0 on, of each part in *out, whose `size` the caller has set. 0. -EINVAL:
 * size. BRICK_ERANGE: the part has no such element.
 */
BRICK_API int brick_recording_brick(
	const struct brick_recording *recording, size_t i, struct brick_recorded_brick *out);
BRICK_API int brick_recording_site(
	const struct brick_recording *recording, size_t i, struct brick_recorded_site *out);
BRICK_API int brick_recording_lane(
	const struct brick_recording *recording, size_t i, struct brick_recorded_lane *out);
BRICK_API int brick_recording_step(
	const struct brick_recording *recording, size_t i, struct brick_recorded_step *out);

BRICK_END_DECLS

#endif
