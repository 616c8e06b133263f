/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a run of the present contents of sessions: the newest records, statistics and tables become
 * a recording in memory, which is loaded. One thread.
 */
#pragma once

#include <stddef.h>
#include "brick/abi/session.h"
#include "lib/drain/drain.h"
#include "trace/run.h"

struct snapshot_part {
	struct drain *drain; /* of drain_open_view() */
	enum drain_end end;  /* DRAIN_END_OUTLIVED: the process runs */
	uint64_t end_ticks;  /* now, or when the session ended */
};

/*
 * capacity: the newest records to take of each lane. *whole: set to 1 if no lane has older records.
 * The run is not complete (run.h): samples are of the last moments, but statistics are exact. 0;
 * BRICK_ENOTRECORDED: count is 0; -ENOMEM; or an error of the writer or the reader.
 */
int live_snapshot(struct run **out, const struct snapshot_part *parts, size_t count,
	size_t capacity, int *whole);

/* Write a session's contents as a recording. `output` gets the bytes; its error ends the call. */
typedef int (*live_output_fn)(void *context, const void *data, size_t bytes);
int live_snapshot_write(const struct snapshot_part *part, live_output_fn output, void *context);

/*
 * Subtract `base`, an earlier run of the same sessions, from the exact statistics and histograms.
 * The shortest and longest executions become unknown. Losses stay as they are.
 */
void live_subtract(struct run *run, const struct run *base);

/*
 * Keep the records of a lane from the first that begins at from_ticks or later. Ends of earlier
 * bricks, and the arguments of dropped records, are dropped. In place; returns how many are left.
 */
size_t live_window_trim(struct brick_record *records, size_t count, uint64_t from_ticks);
