/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sessions hold at this moment, as a run: their newest records, statistics and tables become
 * a recording in memory, and that is loaded. One thread.
 */
#pragma once

#include <stddef.h>
#include "brick/abi/session.h"
#include "lib/drain/drain.h"
#include "trace/run.h"

struct snapshot_part {
	struct drain *drain; /* a view */
	enum drain_end end;  /* DRAIN_END_OUTLIVED while it lives */
	uint64_t end_ticks;  /* now, or when it ended */
};

/*
 * capacity: records of each lane, the newest. *whole: 1 when these are all that was ever recorded.
 * The run is not complete (run.h), its samples are of the last moments, its statistics exact.
 * -ENOMEM, or an error of the writer or the reader.
 */
int live_snapshot(struct run **out, const struct snapshot_part *parts, size_t count,
	size_t capacity, int *whole);

/* The same as a recording; `output` gets its bytes, and returns 0 or an error that ends it. */
typedef int (*live_output_fn)(void *context, const void *data, size_t bytes);
int live_snapshot_write(const struct snapshot_part *part, live_output_fn output, void *context);

/*
 * A run less an earlier look at the same sessions. Exact statistics and histograms become those
 * since `base`; the shortest and longest executions are not known then. Losses stay as they are.
 */
void live_subtract(struct run *run, const struct run *base);

/*
 * Of the newest records of a ring, keep those that begin at from_ticks or later, without ends of
 * what began before, and without what is said about those. In place; returns how many are left.
 */
size_t live_window_trim(struct brick_record *records, size_t count, uint64_t from_ticks);
