/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through stacks and samples lane by lane, in the order of time, and keeps the samples that
 * are open at a stack's time.
 */
#include "analysis/accounts/stack_bricks.h"

#include <errno.h>
#include <stdlib.h>
#include "analysis/walk/walk.h"
#include "analysis/walk/step_index.h"
#include "base/scope.h"

/* Samples of one lane that are open at a moment, the outermost first. */
struct open_samples {
	const struct run *run;
	const struct step_index *index;
	const struct run_lane *lane;
	uint32_t wait_brick;
	size_t next; /* the first that has not begun */
	size_t open[UINT8_MAX + 1];
	unsigned depth;
};

static uint64_t over_ns(const struct run_sample *s)
{
	return s->end_ns + s->wait_ns;
}

static bool stack_bricks_is_open(const struct open_samples *o, unsigned i, uint64_t ns)
{
	return over_ns(&o->lane->samples[o->open[i]]) > ns;
}

/* Opens the samples that have begun by then, and closes those that have ended. */
static void advance(struct open_samples *o, uint64_t ns)
{
	while (o->next < o->lane->sample_count && o->lane->samples[o->next].begin_ns <= ns) {
		unsigned depth = o->lane->samples[o->next].depth;
		run_lane_passed(o->lane, o->next);
		if (depth > o->depth)
			depth = o->depth;
		o->open[depth] = o->next++;
		o->depth = depth + 1;
	}
	while (o->depth && !stack_bricks_is_open(o, o->depth - 1, ns))
		o->depth--;
}

/*
 * True if a site's waits are left out. In a selection of bricks they are, unless waits were
 * selected.
 */
static bool is_wait_left_out(const struct run_site *site, bool in_brick)
{
	return (site->left_out & RUN_LEFT_OUT_WAITS) ||
	       (in_brick && site->left_out != RUN_LEFT_OUT_TIME);
}

static struct stack_place place_at(const struct open_samples *o, uint64_t ns, bool in_brick)
{
	const struct run *run = o->run;
	struct stack_place place = {RUN_NONE, true};

	for (unsigned i = o->depth; i-- > 0;) {
		const struct run_sample *sample = &o->lane->samples[o->open[i]];
		const struct run_site *site = &run->sites[sample->site];
		uint8_t kind = o->index->kinds[site->brick];
		bool is_wait = sample->end_ns <= ns;
		if (kind == BRICK_KIND_TILE || (is_wait && i + 1 < o->depth))
			continue;
		if (kind != BRICK_KIND_STEP)
			place.is_left_out &= is_wait ? is_wait_left_out(site, in_brick)
						     : (site->left_out & RUN_LEFT_OUT_TIME) != 0;
		if (place.brick == RUN_NONE && (!is_wait || o->wait_brick < run->brick_count))
			place.brick = is_wait ? o->wait_brick : site->brick;
	}
	return place;
}

int stack_places_find(struct stack_place *places, const struct run *run, bool in_brick)
{
	SCOPED_BY(step_index_fini) struct step_index index;
	int rc = step_index_init(&index, run);
	uint32_t wait_brick = walk_wait_brick(run);
	SCOPED struct open_samples *lanes = calloc(run->lane_count + 1, sizeof(*lanes));

	if (rc < 0 || !lanes)
		return -ENOMEM;
	for (size_t i = 0; i < run->lane_count; i++) {
		lanes[i].run = run;
		lanes[i].index = &index;
		lanes[i].wait_brick = wait_brick;
		lanes[i].lane = &run->lanes[i];
	}
	for (size_t i = 0; i < run->stack_count; i++) {
		const struct run_stack *stack = &run->stacks[i];
		places[i] = (struct stack_place){RUN_NONE, true};
		if (stack->lane == RUN_NONE)
			continue;
		advance(&lanes[stack->lane], stack->ns);
		places[i] = place_at(&lanes[stack->lane], stack->ns, in_brick);
	}
	run_release(run);
	return 0;
}
