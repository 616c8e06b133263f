/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over all lanes into a table of all layers and bricks, from which rows and columns
 * without any time are left out. Counts as analysis/tally_count.c does. Called by `brick top`.
 */
#include "analysis/heat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/summary.h"
#include "analysis/tally.h"
#include "analysis/walk.h"

struct counting {
	const struct run *run;
	const struct step_index *index;
	int only;
	int lane_counts;
	uint32_t wait_brick;
	size_t bricks, layers;
	uint64_t *ns; /* [layers][bricks] */
};

static uint32_t layer_of(const struct counting *c, const struct walk_frame *frame)
{
	int32_t layer = c->run->sites[frame->sample->site].layer;
	return layer >= 0 && layer <= TALLY_LAST_LAYER ? (uint32_t)layer + 1 : 0;
}

static int counts(const struct counting *c, const struct walk_frame *frame)
{
	if (!c->run->step_count)
		return c->lane_counts && c->only == SUMMARY_ALL_PHASES;
	if (frame->scope != WALK_IN_STEP && frame->scope != WALK_AFTER)
		return 0;
	if (c->only == SUMMARY_ALL_PHASES)
		return 1;
	return frame->step != RUN_NONE &&
	       c->run->steps[frame->step].decode == (c->only == STEP_DECODE);
}

static void on_begin(void *context, const struct walk_frame *frame, unsigned depth)
{
	(void)context;
	(void)frame;
	(void)depth;
}

static void on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct counting *c = context;
	(void)depth;
	if (!counts(c, frame))
		return;
	uint64_t *row = c->ns + layer_of(c, frame) * c->bricks;
	if (c->index->kinds[frame->brick] != BRICK_KIND_STEP)
		row[frame->brick] += frame->counted.self_ns;
	row[c->wait_brick] += frame->counted.inner_ns + frame->counted.wait_ns;
}

static size_t count_layers(const struct run *run)
{
	int32_t last = -1;
	for (size_t i = 0; i < run->site_count; i++)
		if (run->sites[i].layer > last && run->sites[i].layer <= TALLY_LAST_LAYER)
			last = run->sites[i].layer;
	return (size_t)(last + 2);
}

static void count_lanes(struct counting *c)
{
	const struct walk_visitor visitor = {.begin = on_begin, .end = on_end, .context = c};
	for (uint32_t lane = 0; lane < c->run->lane_count; lane++) {
		c->lane_counts = c->run->lanes[lane].kind == BRICK_LANE_THREAD;
		walk_lane(c->run, c->index, lane, &visitor);
	}
}

struct column {
	uint64_t ns;
	uint32_t brick;
};

static int compare_columns(const void *a, const void *b)
{
	const struct column *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->brick < y->brick ? -1 : 1;
}

/* Bricks with any time, most first. */
static int choose_bricks(struct heat *heat, const struct counting *c)
{
	struct column *columns = calloc(c->bricks, sizeof(*columns));
	heat->bricks = calloc(c->bricks, sizeof(*heat->bricks));
	if (!columns || !heat->bricks) {
		free(columns);
		return -ENOMEM;
	}
	for (uint32_t b = 0; b < c->bricks; b++) {
		columns[b].brick = b;
		for (size_t l = 0; l < c->layers; l++)
			columns[b].ns += c->ns[l * c->bricks + b];
	}
	qsort(columns, c->bricks, sizeof(*columns), compare_columns);
	while (heat->brick_count < c->bricks && columns[heat->brick_count].ns) {
		heat->bricks[heat->brick_count] = columns[heat->brick_count].brick;
		heat->brick_count++;
	}
	free(columns);
	return 0;
}

static int choose_layers(struct heat *heat, const struct counting *c)
{
	heat->layers = calloc(c->layers, sizeof(*heat->layers));
	if (!heat->layers)
		return -ENOMEM;
	for (uint32_t l = 0; l < c->layers; l++) {
		uint64_t ns = 0;
		for (size_t b = 0; b < c->bricks; b++)
			ns += c->ns[l * c->bricks + b];
		if (ns)
			heat->layers[heat->layer_count++] = l;
	}
	return 0;
}

static int fill(struct heat *heat, const struct counting *c)
{
	if (choose_bricks(heat, c) < 0 || choose_layers(heat, c) < 0)
		return -ENOMEM;
	heat->ns = calloc(heat->layer_count * heat->brick_count + 1, sizeof(*heat->ns));
	if (!heat->ns)
		return -ENOMEM;
	for (size_t l = 0; l < heat->layer_count; l++)
		for (size_t b = 0; b < heat->brick_count; b++) {
			uint64_t ns = c->ns[heat->layers[l] * c->bricks + heat->bricks[b]];
			heat->ns[l * heat->brick_count + b] = ns;
			if (ns > heat->most_ns)
				heat->most_ns = ns;
		}
	return 0;
}

int heat_create(struct heat **out, const struct run *run, const struct step_index *index, int only)
{
	struct counting c = {.run = run,
		.index = index,
		.only = only,
		.wait_brick = (uint32_t)run->brick_count,
		.bricks = run->brick_count + 1,
		.layers = count_layers(run)};
	struct heat *heat = calloc(1, sizeof(*heat));
	int rc = -ENOMEM;

	for (uint32_t b = 0; b < run->brick_count; b++)
		if (run->bricks[b].well_known == BRICK_BARRIER_WAIT)
			c.wait_brick = b;
	c.ns = calloc(c.layers * c.bricks, sizeof(*c.ns));
	if (heat && c.ns) {
		heat->run = run;
		count_lanes(&c);
		rc = fill(heat, &c);
	}
	free(c.ns);
	if (rc < 0)
		heat_destroy(heat);
	else
		*out = heat;
	return rc;
}

void heat_destroy(struct heat *heat)
{
	if (!heat)
		return;
	free(heat->bricks);
	free(heat->layers);
	free(heat->ns);
	free(heat);
}
