/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers x bricks: how much of the wall time of a run each brick took in each layer. The cells of
 * a brick add up to the wall_ns of its row in a summary by brick, those of a layer to that of its
 * row in a summary by layer. Owned by the heatmap, which borrows the run. Read-only once made.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "analysis/walk/step_index.h"
#include "trace/run.h"

struct heatmap {
	const struct run *run;
	uint32_t
		*bricks; /* columns: bricks of the run, most time first; brick_count: BarrierWait */
	uint32_t *layers; /* rows: layer + 1, ascending */
	size_t brick_count, layer_count;
	uint64_t *ns; /* [layer_count][brick_count] */
	uint64_t most_ns;
};

/* only: enum step_phase, or SUMMARY_ALL_PHASES (src/analysis/accounts/summary.h). -ENOMEM. */
int heatmap_create(
	struct heatmap **out, const struct run *run, const struct step_index *index, int only);
void heatmap_destroy(struct heatmap *heatmap);
