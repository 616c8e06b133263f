/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many begin/end pairs and hooked samples the program made in the wall time of each phase, also
 * of those that are not in the file: what recording cost is estimated from these. Called by
 * summary_accumulator.c.
 */
#include <stdlib.h>
#include "analysis/accounts/summary_accumulator.h"
#include "base/scope.h"
#include "brick/registry.h"

static uint64_t steps_made(const struct run *run, uint32_t lane)
{
	uint64_t count = 0;
	for (size_t b = 0; run->lanes[lane].stats && b < run->brick_count; b++)
		if (brick_is_step((uint32_t)run->bricks[b].well_known))
			count += run->lanes[lane].stats[b].count;
	return count;
}

/* Which part of the steps that a process made is in the file: the wall time is of those. */
bool summary_pairs_init(struct summary_accumulator *t)
{
	const struct run *run = t->run;
	SCOPED uint64_t *made = calloc(run->process_count + 1, sizeof(*made));
	t->steps_there = calloc(run->process_count + 1, sizeof(*t->steps_there));
	if (!made || !t->steps_there)
		return false;
	for (uint32_t lane = 0; lane < run->lane_count; lane++)
		made[run->lanes[lane].process] += steps_made(run, lane);
	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		if (step->lane >= run->lane_count ||
			step->sample >= run->lanes[step->lane].sample_count)
			continue;
		t->steps_there[run->lanes[step->lane].process] += !step->open;
	}
	for (size_t p = 0; p < run->process_count; p++)
		t->steps_there[p] = t->steps_there[p] > 0 && t->steps_there[p] < (double)made[p]
					    ? t->steps_there[p] / (double)made[p]
					    : 1;
	return true;
}

/* How many executions a sample of the lane stands for, within the steps that are in the file. */
static double executions_per_sample(
	const struct summary_accumulator *t, const struct run_lane *lane)
{
	uint64_t executions = 0, samples = 0;
	for (uint32_t b = 0; lane->stats && b < t->run->brick_count; b++) {
		if (b == t->wait_brick)
			continue;
		executions += lane->stats[b].count;
		samples += t->lane_counts_all[b];
	}
	if (!samples || executions <= samples)
		return 1;
	double ratio = (double)executions / (double)samples * t->steps_there[lane->process];
	return ratio > 1 ? ratio : 1;
}

/* Counts of a broken session may be of any size. */
static uint64_t scaled(uint64_t count, double ratio)
{
	double product = (double)count * ratio + 0.5;
	return product < (double)UINT64_MAX ? (uint64_t)product : UINT64_MAX;
}

static void add_pairs(struct summary_pairs *to, const struct summary_pairs *from, double ratio)
{
	for (unsigned phase = 0; phase <= STEP_PHASES; phase++) {
		to->count[phase] += scaled(from->count[phase], ratio);
		to->own_count[phase] += scaled(from->own_count[phase], ratio);
		to->own_ns[phase] += scaled(from->own_ns[phase], ratio);
		to->inflated[phase] += scaled(from->inflated[phase], ratio);
		to->inflated_ns[phase] += from->inflated_ns[phase];
		to->beside[phase] += scaled(from->beside[phase], ratio);
		to->own_beside_ns[phase] += from->own_beside_ns[phase];
	}
	to->split_count += from->split_count;
	to->split_ns += from->split_ns;
	summary_keep_least(&to->split_min_ns, from->split_min_ns);
	summary_keep_least(&to->own_min_ns, from->own_min_ns);
}

/* Being preempted meanwhile is no cost of it. */
static void add_own(struct summary_pairs *hooked, const struct walk_frame *frame, uint64_t ns,
	uint32_t phase, uint32_t beside)
{
	if (frame->sample->source == BRICK_SOURCE_CALLBACK) {
		hooked->split_count++;
		hooked->split_ns += ns;
		summary_keep_least(&hooked->split_min_ns, ns);
	}
	hooked->own_count[phase]++;
	hooked->own_ns[phase] += ns;
	summary_keep_least(&hooked->own_min_ns, ns);
	if (beside < STEP_PHASES)
		hooked->own_beside_ns[beside] += ns;
}

void summary_pairs_hooked(struct summary_accumulator *t, const struct walk_frame *frame,
	uint32_t phase, uint32_t beside)
{
	struct summary_pairs *hooked = &t->lane_hooked;
	hooked->count[phase]++;
	if (beside < STEP_PHASES)
		hooked->beside[beside]++;
	if (t->index->kinds[frame->brick] == BRICK_KIND_OVERHEAD)
		add_own(hooked, frame, walk_basis_ns(t->index, frame), phase, beside);
	else if (frame->sample->source == BRICK_SOURCE_CALLBACK)
		hooked->inflated[phase]++;
	if (t->run->bricks[frame->brick].well_known == BRICK_GRAPH_COMPUTE)
		hooked->inflated_ns[phase] += frame->length_ns;
}

void summary_pairs_merge(struct summary_accumulator *t, const struct run_lane *lane)
{
	double ratio = executions_per_sample(t, lane);
	add_pairs(&t->pairs[lane->process], &t->lane_pairs, ratio);
	add_pairs(&t->hooked[t->lane], &t->lane_hooked, ratio);
}
