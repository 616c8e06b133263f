/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over all threads and fills a table of all layers and bricks, then leaves out rows and
 * columns without any time. It counts as thread_accounts.c does, which must change with it.
 */
#include "analysis/accounts/heatmap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/accounts/row_groups.h"
#include "analysis/walk/walk.h"
#include "base/order.h"
#include "base/scope.h"

struct counting {
	const struct run *run;
	const struct step_index *index;
	int only;
	uint32_t wait_brick;
	size_t bricks, layers;
	uint64_t *ns; /* [layers][bricks] */
};

static uint32_t heatmap_layer_of(const struct counting *c, const struct walk_frame *frame)
{
	int32_t layer = c->run->sites[frame->sample->site].layer;
	return layer >= 0 && layer <= SUMMARY_LAST_LAYER ? (uint32_t)layer + 1 : 0;
}

static bool heatmap_counts(const struct counting *c, const struct walk_frame *frame)
{
	if (!c->run->step_count)
		return c->only == SUMMARY_ALL_PHASES;
	if (frame->scope != WALK_IN_STEP && frame->scope != WALK_AFTER)
		return false;
	if (c->only == SUMMARY_ALL_PHASES)
		return true;
	return frame->step != RUN_NONE && (int)c->run->steps[frame->step].phase == c->only;
}

static void heatmap_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct counting *c = context;
	if (!heatmap_counts(c, frame))
		return;
	uint64_t *row = c->ns + heatmap_layer_of(c, frame) * c->bricks;
	uint32_t left_out = c->run->sites[frame->sample->site].left_out;
	struct walk_shares shares = walk_shares(c->index, frame);
	if (!left_out && c->index->kinds[frame->brick] != BRICK_KIND_STEP)
		row[frame->brick] += shares.own_ns;
	if (!(left_out & RUN_LEFT_OUT_WAITS))
		row[c->wait_brick] += shares.wait_ns;
}

static size_t count_layers(const struct run *run)
{
	int32_t last = -1;
	for (size_t i = 0; i < run->site_count; i++)
		if (run->sites[i].layer > last && run->sites[i].layer <= SUMMARY_LAST_LAYER)
			last = run->sites[i].layer;
	return (size_t)(last + 2);
}

struct column {
	uint64_t ns;
	uint32_t brick;
};

COMPARATOR(compare_columns, struct column, ORDER(y->ns, x->ns) ?: ORDER(x->brick, y->brick))

/* Chooses the columns: bricks with any time, most first. */
static int choose_bricks(struct heatmap *heatmap, const struct counting *c)
{
	SCOPED struct column *columns = calloc(c->bricks, sizeof(*columns));
	heatmap->bricks = calloc(c->bricks, sizeof(*heatmap->bricks));
	if (!columns || !heatmap->bricks)
		return -ENOMEM;
	for (uint32_t b = 0; b < c->bricks; b++) {
		columns[b].brick = b;
		for (size_t l = 0; l < c->layers; l++)
			columns[b].ns += c->ns[l * c->bricks + b];
	}
	qsort(columns, c->bricks, sizeof(*columns), compare_columns);
	while (heatmap->brick_count < c->bricks && columns[heatmap->brick_count].ns) {
		heatmap->bricks[heatmap->brick_count] = columns[heatmap->brick_count].brick;
		heatmap->brick_count++;
	}
	return 0;
}

static int choose_layers(struct heatmap *heatmap, const struct counting *c)
{
	heatmap->layers = calloc(c->layers, sizeof(*heatmap->layers));
	if (!heatmap->layers)
		return -ENOMEM;
	for (uint32_t l = 0; l < c->layers; l++) {
		uint64_t ns = 0;
		for (size_t b = 0; b < c->bricks; b++)
			ns += c->ns[l * c->bricks + b];
		if (ns)
			heatmap->layers[heatmap->layer_count++] = l;
	}
	return 0;
}

static int heatmap_fill(struct heatmap *heatmap, const struct counting *c)
{
	if (choose_bricks(heatmap, c) < 0 || choose_layers(heatmap, c) < 0)
		return -ENOMEM;
	heatmap->ns = calloc(heatmap->layer_count * heatmap->brick_count + 1, sizeof(*heatmap->ns));
	if (!heatmap->ns)
		return -ENOMEM;
	for (size_t l = 0; l < heatmap->layer_count; l++)
		for (size_t b = 0; b < heatmap->brick_count; b++) {
			uint64_t ns = c->ns[heatmap->layers[l] * c->bricks + heatmap->bricks[b]];
			heatmap->ns[l * heatmap->brick_count + b] = ns;
			if (ns > heatmap->most_ns)
				heatmap->most_ns = ns;
		}
	return 0;
}

int heatmap_create(
	struct heatmap **out, const struct run *run, const struct step_index *index, int only)
{
	struct counting c = {.run = run,
		.index = index,
		.only = only,
		.wait_brick = (uint32_t)run->brick_count,
		.bricks = run->brick_count + 1,
		.layers = count_layers(run)};
	struct heatmap *heatmap = calloc(1, sizeof(*heatmap));
	int rc = -ENOMEM;

	for (uint32_t b = 0; b < run->brick_count; b++)
		if (run->bricks[b].well_known == BRICK_BARRIER_WAIT)
			c.wait_brick = b;
	c.ns = calloc(c.layers * c.bricks, sizeof(*c.ns));
	if (heatmap && c.ns) {
		heatmap->run = run;
		static const struct walk_ops ops = {.end = heatmap_on_end};
		struct walk walk;
		walk_init(&walk, c.run, c.index);
		walk_join(&walk, &ops, &c);
		rc = walk_run(&walk);
		if (rc == 0)
			rc = heatmap_fill(heatmap, &c);
	}
	free(c.ns);
	if (rc < 0)
		heatmap_destroy(heatmap);
	else
		*out = heatmap;
	return rc;
}

void heatmap_destroy(struct heatmap *heatmap)
{
	if (!heatmap)
		return;
	free(heatmap->bricks);
	free(heatmap->layers);
	free(heatmap->ns);
	free(heatmap);
}
