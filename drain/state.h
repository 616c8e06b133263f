/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the drain share: one session's mappings, and private copies of everything that
 * decisions are made on. Fields belong to the taking or the telling side as marked (drain.h).
 */
#ifndef BRICK_DRAIN_STATE_H
#define BRICK_DRAIN_STATE_H

#include "drain/drain.h"

/* An open brick, as far as the histograms need it. */
struct drain_frame {
	uint64_t begin;
	uint16_t brick;
};

struct drain_lane {
	/* set once by the taking side, when the lane joins */
	struct brick_lane *shared; /* NULL: unusable */
	uint64_t offset, bytes;	   /* in the file */
	uint64_t capacity, ring_offset, histogram_offset;
	/* taking */
	uint64_t tail;
	uint64_t seen; /* of a view: records up to here were taken */
	/* telling */
	int number; /* with the writer; -1: not told yet */
	uint32_t depth;
	struct drain_frame frames[BRICK_MAX_DEPTH];
};

struct drain {
	int fd;
	int view; /* only looked at: mapped read-only, nothing of it is consumed */
	const struct drain_guard *guard;
	uint32_t spoiled;    /* by the guard: a page was gone and has been replaced */
	const char *trouble; /* set once, by either side */

	struct brick_session_header *shared;
	uint64_t shared_bytes;
	struct brick_session_header header; /* private and clean */

	/* taking */
	uint32_t lane_count;
	struct drain_lane *lanes[BRICK_MAX_LANES]; /* entries are complete before lane_count */

	/* telling */
	int process; /* with the writer; -1: not told yet */
	struct drain_counts counts;
	uint64_t digest_tail;
	struct sink_tables tables; /* point to the following, which are private and clean */
	struct brick_session_brick bricks[BRICK_MAX_BRICKS];
	struct brick_session_category categories[BRICK_MAX_CATEGORIES];
	struct brick_session_site *sites;
	uint32_t site_room;
	struct brick_session_kernel *kernels;
	uint32_t kernel_room;
	uint32_t told_code;   /* bytes of the session's code that the writer has */
	uint64_t bad_entries; /* table entries that had to be put right */
	char notes[BRICK_NOTES_BYTES + 256];
	size_t notes_bytes;
	uint32_t told_notes; /* bytes of the session's notes that the writer has */
	uint32_t *histograms[BRICK_MAX_BRICKS]; /* of the session, or private; NULL: none yet */
	uint8_t histogram_private[BRICK_MAX_BRICKS];
	struct brick_lane scratch; /* a lane as the writer gets it */
};

/* Copy an entry of a table's text field: ended, and without bytes that are no printable UTF-8. */
void drain_clean_text(char *text, size_t bytes);

/* Bring the private tables up to date and tell the writer what is new. */
int drain_tell_tables(struct drain *d, struct trace_writer *w);

/* drain_code.c: tell programs that are new. 0, or the writer's error. */
int drain_tell_code(struct drain *d, struct trace_writer *w);

/* Enter a length, or all that records say, into the drained histograms. */
void drain_histogram_records(
	struct drain *d, struct drain_lane *lane, const struct brick_record *records, size_t count);

/* Tell the histograms of the whole process: drained ones and those that the lanes kept. */
int drain_histogram_tell(struct drain *d, struct trace_writer *w);
void drain_histogram_fini(struct drain *d);

/* Make the lane, and before it its process, known to the writer. */
int drain_join_process(struct drain *d, struct trace_writer *w);
int drain_join_lane(struct drain *d, struct trace_writer *w, struct drain_lane *lane);

#endif
