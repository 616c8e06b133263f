/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds each frame's own time to its step, its layer and its brick, by the rules of
 * thread_accounts.c: tests compare the sums with a summary's.
 */
#include "analysis/accounts/breakdown.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/durations.h"
#include "base/members.h"

uint32_t breakdown_bucket(uint64_t ns)
{
	return brick_histogram_index(ns) / BREAKDOWN_FINE;
}

uint64_t breakdown_edge_ns(uint32_t bucket)
{
	uint32_t index = bucket * BREAKDOWN_FINE;
	if (index < 2u << BRICK_HISTOGRAM_SUB_BITS)
		return index;
	uint32_t shift = (index >> BRICK_HISTOGRAM_SUB_BITS) - 1;
	uint64_t low = index & ((1u << BRICK_HISTOGRAM_SUB_BITS) - 1);
	return (low + (1u << BRICK_HISTOGRAM_SUB_BITS)) << shift;
}

const char *breakdown_category_name(const struct breakdown *b, uint32_t category)
{
	return category < b->run->category_count   ? b->run->categories[category].name
	       : category + 2 == b->category_count ? "preempted"
	       : category + 1 == b->category_count ? "blocked"
						   : brick_category_name(BRICK_CATEGORY_WAIT);
}

static void count_duration(struct breakdown *b, uint32_t phase, uint32_t brick, uint64_t ns)
{
	uint64_t **histogram = &b->histograms[(size_t)phase * b->brick_count + brick];
	if (!*histogram)
		*histogram = calloc(BREAKDOWN_BUCKETS, sizeof(uint64_t));
	if (*histogram)
		(*histogram)[breakdown_bucket(ns)]++;
	else
		b->failed = true;
}

static uint32_t breakdown_row_of(const struct breakdown *b, const struct walk_frame *frame)
{
	int32_t layer = b->run->sites[frame->sample->site].layer;
	if (layer < 0)
		return 0;
	return (uint32_t)layer + 1 < b->layer_count ? (uint32_t)layer + 1 : b->layer_count - 1;
}

/* Counts time in a step's parts. brick: a brick, or brick_count + an enum breakdown_rest. */
static void breakdown_add_part(struct breakdown *b, uint32_t step, uint32_t brick, uint64_t ns)
{
	if (b->part_of && b->part_of[step])
		breakdown_part(b, step)[brick] += ns;
}

/* Adds time of a brick, or of waiting, that is part of the wall time. */
static void breakdown_add_wall(struct breakdown *b, const struct walk_frame *frame, uint32_t phase,
	uint32_t brick, uint32_t category, uint64_t ns)
{
	bool shown = !b->run->sites[frame->sample->site].left_out || brick == b->wait_brick;
	if (shown)
		b->layers[breakdown_cell(b, phase, breakdown_row_of(b, frame), brick)] += ns;
	if (frame->step == RUN_NONE)
		return;
	b->steps[(size_t)frame->step * b->category_count + category] += ns;
	breakdown_add_part(b, frame->step, shown ? brick : b->brick_count + BREAKDOWN_LEFT_OUT, ns);
}

/* Adds a step's time off the CPU that is in no brick's wall time. */
static void breakdown_add_off(
	struct breakdown *b, const struct walk_frame *frame, struct run_off_times off)
{
	if (frame->step == RUN_NONE)
		return;
	uint64_t *parts = &b->steps[(size_t)frame->step * b->category_count];
	parts[b->category_count - 2] += off.preempted_ns;
	parts[b->category_count - 1] += off.blocked_ns;
	breakdown_add_part(b, frame->step, b->brick_count + BREAKDOWN_PREEMPTED, off.preempted_ns);
	breakdown_add_part(b, frame->step, b->brick_count + BREAKDOWN_BLOCKED, off.blocked_ns);
}

static void breakdown_count_wait(
	struct breakdown *b, const struct walk_frame *frame, uint32_t phase, uint64_t ns)
{
	if (!ns)
		return;
	b->counts[breakdown_cell(b, phase, breakdown_row_of(b, frame), b->wait_brick)]++;
	count_duration(b, phase, b->wait_brick, ns);
}

/* Left-out time is still a part of its step. */
static void breakdown_add_left_out(
	struct breakdown *b, const struct walk_frame *frame, uint64_t own_ns, uint64_t wait_ns)
{
	if (frame->step == RUN_NONE)
		return;
	uint64_t *parts = &b->steps[(size_t)frame->step * b->category_count];
	parts[b->run->bricks[frame->brick].category] += own_ns;
	parts[b->wait_category] += wait_ns;
	breakdown_add_part(b, frame->step, b->brick_count + BREAKDOWN_LEFT_OUT, own_ns + wait_ns);
}

static void breakdown_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct breakdown *b = context;
	const struct walk_times *counted = &frame->counted;
	bool in_wall = walk_in_wall(b->run, frame);
	bool is_step = b->index->kinds[frame->brick] == BRICK_KIND_STEP;
	uint32_t phase = frame->step == RUN_NONE ? STEP_PHASES : b->run->steps[frame->step].phase;
	uint32_t left_out = b->run->sites[frame->sample->site].left_out;
	struct walk_shares shares = walk_shares(b->index, frame);
	bool has_waits = !(left_out & RUN_LEFT_OUT_WAITS), has_own = is_step || !left_out;

	if (in_wall && has_own)
		breakdown_add_off(b, frame, shares.own_off);
	if (in_wall && has_waits)
		breakdown_add_off(b, frame, shares.wait_off);
	if (in_wall)
		breakdown_add_left_out(b, frame, has_own ? 0 : counted->self_ns,
			has_waits ? 0 : counted->inner_ns + counted->wait_ns);
	if (has_waits) {
		breakdown_count_wait(b, frame, phase, frame->inner_ns);
		breakdown_count_wait(b, frame, phase, frame->wait_ns);
	}
	if (has_waits && in_wall)
		breakdown_add_wall(
			b, frame, phase, b->wait_brick, b->wait_category, shares.wait_ns);
	if (is_step || left_out)
		return;
	if (in_wall)
		breakdown_add_wall(b, frame, phase, frame->brick,
			b->run->bricks[frame->brick].category, shares.own_ns);
	if (frame->sample->flags & RUN_SAMPLE_OPEN)
		return;
	b->counts[breakdown_cell(b, phase, breakdown_row_of(b, frame), frame->brick)]++;
	count_duration(b, phase, frame->brick, walk_basis_ns(b->index, frame));
}

static bool breakdown_allocate(struct breakdown *b)
{
	size_t cells = (size_t)BREAKDOWN_PHASES * b->layer_count * b->brick_count;
	b->steps = calloc(b->run->step_count * b->category_count + 1, sizeof(*b->steps));
	b->layers = calloc(cells, sizeof(*b->layers));
	b->counts = calloc(cells, sizeof(*b->counts));
	b->histograms = calloc((size_t)BREAKDOWN_PHASES * b->brick_count, sizeof(*b->histograms));
	return b->steps && b->layers && b->counts && b->histograms;
}

static int breakdown_on_lane_end(void *context, uint32_t lane)
{
	const struct breakdown *b = context;
	return b->failed ? -ENOMEM : 0;
}

/* No begin_lane: threads only, as devices' time is no wall time. */
static const struct walk_ops breakdown_ops = {
	.end = breakdown_on_end, .end_lane = breakdown_on_lane_end};

int breakdown_create_in(struct breakdown **out, struct walk *walk)
{
	struct breakdown *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->run = walk->run;
	b->index = walk->index;
	b->category_count = (uint32_t)b->run->category_count + 3;
	b->brick_count = (uint32_t)b->run->brick_count + 1;
	const struct run *run = b->run;
	int32_t last = -1;
	for (size_t i = 0; i < run->site_count; i++)
		if (run->sites[i].layer > last)
			last = run->sites[i].layer;
	b->last_is_rest = last >= BREAKDOWN_LAYERS;
	b->layer_count = (b->last_is_rest ? BREAKDOWN_LAYERS : (uint32_t)last + 1) + 1;
	b->wait_brick = (uint32_t)run->brick_count;
	b->wait_category = run_category_find(run, brick_category_name(BRICK_CATEGORY_WAIT));
	if (b->wait_category == RUN_NONE)
		b->wait_category = (uint32_t)run->category_count;
	for (uint32_t i = 0; i < run->brick_count; i++) {
		if (run->bricks[i].well_known != BRICK_BARRIER_WAIT)
			continue;
		b->wait_brick = i;
		b->wait_category = run->bricks[i].category;
	}
	if (!breakdown_allocate(b)) {
		breakdown_destroy(b);
		return -ENOMEM;
	}
	walk_join(walk, &breakdown_ops, b);
	*out = b;
	return 0;
}

int breakdown_parts(struct breakdown *b, const uint32_t *steps, size_t count)
{
	b->parts = calloc(count * (b->brick_count + BREAKDOWN_RESTS) + 1, sizeof(*b->parts));
	b->part_of = calloc(b->run->step_count + 1, sizeof(*b->part_of));
	if (!b->parts || !b->part_of)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		b->part_of[steps[i]] = (uint32_t)i + 1;
	return 0;
}

void breakdown_all_durations(const struct breakdown *b, uint32_t brick, uint64_t *out)
{
	const struct run *run = b->run;
	uint64_t samples = 0;

	memset(out, 0, BREAKDOWN_BUCKETS * sizeof(*out));
	for (unsigned phase = 0; phase < BREAKDOWN_PHASES; phase++) {
		const uint64_t *part = b->histograms[(size_t)phase * b->brick_count + brick];
		for (uint32_t i = 0; part && i < BREAKDOWN_BUCKETS; i++) {
			out[i] += part[i];
			samples += part[i];
		}
	}
	const struct ticks_lengths *kept = durations_of_run(run, brick, samples);
	if (!kept)
		return;
	memset(out, 0, BREAKDOWN_BUCKETS * sizeof(*out));
	LENGTHS_EACH (i, &kept->of_ticks)
		if (ticks_lengths_at(kept, i))
			out[breakdown_bucket(brick_clock_duration_ns(&run->clock,
				brick_histogram_value(i)))] += ticks_lengths_at(kept, i);
}

void breakdown_destroy(struct breakdown *b)
{
	if (!b)
		return;
	for (size_t i = 0; b->histograms && i < (size_t)BREAKDOWN_PHASES * b->brick_count; i++)
		free(b->histograms[i]);
	members_free(b, histograms, steps, layers, counts, parts, part_of);
	free(b);
}
