/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lanes did over a range of time, in columns of equal length: for each lane and column the
 * brick that took most of it, and how much of it was in any brick. Fed by a walk. One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "analysis/steps/step_index.h"
#include "analysis/accounts/walk.h"

struct lane_bin {
	uint32_t brick;	 /* + 1; 0: none. brick_count + 1: waiting, in runs without such a brick */
	uint8_t percent; /* of its length in bricks and waits */
};

struct lane_bins {
	const struct run *run;
	const struct step_index *index;
	uint64_t begin_ns, bin_ns;
	size_t count;	  /* of columns */
	uint32_t *row_of; /* [lane_count]: of a lane, RUN_NONE: it has none */
	uint32_t *lanes;  /* [lane_total] */
	size_t lane_total;
	struct lane_bin *bins; /* [lane_total][count] */
	/* of the lane that is fed */
	uint64_t *ns; /* [brick_count + 1], in the column */
	uint32_t *touched, touched_count, wait_brick;
	uint64_t cursor_ns, next_ns; /* next_ns: where the column ends */
	size_t column;
	struct lane_bin *row;
};

/* Of these lanes, which it copies; `count` columns over [begin_ns, end_ns). -ENOMEM. */
int lane_bins_init(struct lane_bins *bins, const struct run *run, const struct step_index *index,
	const uint32_t *lanes, size_t lane_total, uint64_t begin_ns, uint64_t end_ns, size_t count);
void lane_bins_fini(struct lane_bins *bins);

/* What a walk over the whole run calls. */
extern const struct walk_ops lane_bins_ops;

/* The same for samples of that range only, as far as the samples around them can be found. */
void lane_bins_fill(struct lane_bins *bins);
