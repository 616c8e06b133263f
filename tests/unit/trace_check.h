/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds for every run, whatever file it was loaded from: indices lie in their arrays, samples
 * nest, time runs forward. For tests and the fuzzer. Header only.
 */
#ifndef BRICK_TESTS_TRACE_CHECK_H
#define BRICK_TESTS_TRACE_CHECK_H

#include <stdlib.h>
#include <string.h>
#include "trace/run.h"

/* Each returns a sentence on what does not hold, NULL when all does. */
static inline const char *check_samples(const struct run *run, const struct run_lane *lane)
{
	uint64_t ends[256];
	uint32_t depth = 0;

	for (size_t i = 0; i < lane->sample_count; i++) {
		const struct run_sample *s = &lane->samples[i];
		if (s->site >= run->site_count)
			return "a sample without a site";
		if (s->end_ns < s->begin_ns)
			return "a sample ends before it begins";
		if (i && s->begin_ns < lane->samples[i - 1].begin_ns)
			return "samples are not in order";
		if (s->depth > depth)
			return "a sample has no parent";
		if (s->depth && s->end_ns > ends[s->depth - 1])
			return "a sample ends after its parent";
		if (s->depth < depth && s->begin_ns < ends[s->depth])
			return "a sample begins before the one beside it has ended";
		ends[s->depth] = s->end_ns;
		depth = s->depth + 1u;
		if (s->end_ns > lane->end_ns || s->begin_ns < lane->start_ns)
			return "a sample lies outside of its lane";
		if (s->source > BRICK_SOURCE_CALLBACK)
			return "a sample's source does not exist";
	}
	return NULL;
}

static inline const char *check_names(const struct run *run)
{
	for (size_t i = 0; i < run->category_count; i++)
		if (!run->categories[i].name)
			return "a category without a name";
	for (size_t i = 0; i < run->brick_count; i++)
		if (!run->bricks[i].name || run->bricks[i].category >= run->category_count ||
			run_brick_find(run, run->bricks[i].name) != i)
			return "a brick without a name or category of its own";
	for (size_t i = 0; i < run->site_count; i++)
		if (run->sites[i].brick >= run->brick_count)
			return "a site without a brick";
	for (size_t i = 0; i < run->note_count; i++)
		if (!run->notes[i].key || !run->notes[i].value ||
			run->notes[i].process >= run->process_count)
			return "a note without a process";
	return NULL;
}

static inline const char *check_steps(const struct run *run)
{
	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *s = &run->steps[i];
		if (s->lane >= run->lane_count || s->sample >= run->lanes[s->lane].sample_count)
			return "a step without a sample";
		if (i && s->begin_ns < run->steps[i - 1].begin_ns)
			return "steps are not in order";
	}
	for (size_t i = 0; i < run->point_count; i++)
		if (run->points[i].lane >= run->lane_count ||
			(run->points[i].brick != RUN_NONE &&
				run->points[i].brick >= run->brick_count))
			return "a point without a lane or brick";
	return NULL;
}

static inline const char *check_run(const struct run *run)
{
	const char *wrong = check_names(run);

	for (size_t i = 0; !wrong && i < run->lane_count; i++) {
		if (run->lanes[i].process >= run->process_count)
			return "a lane without a process";
		wrong = check_samples(run, &run->lanes[i]);
	}
	return wrong ? wrong : check_steps(run);
}

#endif
