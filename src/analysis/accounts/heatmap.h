/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers x bricks: how much of the wall time of a run each brick took in each layer. The cells of a
 * brick add up to its row's wall_ns in a summary by brick, and the cells of a layer to its row's
 * wall_ns in a summary by layer. Borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "analysis/walk/step_index.h"
#include "trace/run.h"

struct heatmap {
	const struct run *run;
	/* columns, most time first: bricks; run->brick_count: waits, if no brick stands for them */
	uint32_t *bricks;
	uint32_t *layers;		 /* rows, ascending: layer + 1, 0: outside of layers */
	size_t brick_count, layer_count; /* of columns and rows; all have some time */
	uint64_t *ns;			 /* [layer_count][brick_count] of wall time */
	uint64_t most_ns;		 /* the largest cell */
};

/* only: an enum step_phase, or SUMMARY_ALL_PHASES (src/analysis/accounts/row_groups.h). -ENOMEM. */
int heatmap_create(
	struct heatmap **out, const struct run *run, const struct step_index *index, int only);
/* NULL is legal. */
void heatmap_destroy(struct heatmap *heatmap);
