/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sessions hold at this moment, as a run: their newest records, statistics and tables are
 * emitted into a run builder, the sink that makes of them what a recording would load as. One
 * thread.
 */
#pragma once

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
 * -ENOMEM, or an error of the builder.
 */
int live_snapshot(struct run **out, const struct snapshot_part *parts, size_t count,
	size_t capacity, int *whole);
