/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of steps, exact order statistics over them, and the time to the first token. Fed by a walk
 * (analysis/walk.h), so that what it counts is what the report's rows count. Called by the summary
 * and by the tree of a step.
 */
#include "analysis/step_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/percentile.h"
#include "analysis/unknown.h"
#include "brick/registry.h"

void step_times_fini(struct step_times *times)
{
	free(times->steps);
	times->steps = NULL;
}

static void on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct step_times *times = context;
	const struct walk_times *counted = &frame->counted;
	(void)depth;
	if (frame->step == RUN_NONE)
		return;
	struct step_time *step = &times->steps[frame->step];
	if (frame->scope == WALK_AFTER || frame->scope == WALK_ALONGSIDE)
		if (times->run->bricks[frame->brick].well_known == BRICK_SAMPLING &&
			frame->end_ns > step->sampled_end_ns)
			step->sampled_end_ns = frame->end_ns;
	if (frame->scope == WALK_AFTER) {
		uint64_t ns = counted->self_ns + counted->inner_ns + counted->wait_ns;
		step->after_ns += ns;
		times->wall_ns += ns;
	}
	if (frame->scope != WALK_IN_STEP)
		return;
	if (times->index->kinds[frame->brick] == BRICK_KIND_STEP)
		step->unattributed_ns += frame->self_ns;
	if (frame->is_step) {
		step->span_ns = frame->length_ns;
		step->after_ns += frame->wait_ns;
		times->wall_ns += frame->length_ns + frame->wait_ns;
	}
}

static uint64_t percentile_or_unknown(const uint64_t *sorted, size_t n, unsigned percent)
{
	return n ? percentile_sorted(sorted, n, percent) : ANALYSIS_UNKNOWN;
}

static uint64_t executions(const struct run_lane *lane, const struct run *run, uint32_t decode)
{
	int32_t wanted = decode ? BRICK_DECODE : BRICK_PREFILL;
	uint64_t count = 0;

	for (uint32_t b = 0; lane->stats && b < run->brick_count; b++)
		if (run->bricks[b].well_known == wanted)
			count += lane->stats[b].count;
	return count;
}

/* Steps of a process (RUN_NONE: of all) that its threads counted, where records were dropped. */
static uint64_t steps_counted(const struct run *run, uint32_t process, uint32_t decode)
{
	uint64_t count = 0, dropped = 0;

	for (uint32_t l = 0; l < run->lane_count; l++) {
		const struct run_lane *lane = &run->lanes[l];
		if (process != RUN_NONE && lane->process != process)
			continue;
		count += executions(lane, run, decode);
		dropped += lane->ledger.dropped + run->processes[lane->process].ledger.dropped;
	}
	return dropped ? count : 0;
}

static void finish_phase(struct step_times *times, const struct run *run,
	const struct step_index *index, uint32_t decode, uint64_t *values)
{
	struct step_phase_times *phase = &times->phases[decode];
	size_t n = 0;
	for (size_t i = 0; i < run->step_count; i++) {
		if (!index->finished[i] || !!run->steps[i].decode != decode)
			continue;
		const struct step_time *step = &times->steps[i];
		values[n++] = step_time_total_ns(step);
		phase->tokens += run->steps[i].tokens;
		phase->total_ns += step_time_total_ns(step);
		phase->after_ns += step->after_ns;
		phase->unattributed_ns += step->unattributed_ns;
	}
	percentile_sort(values, n);
	uint64_t counted = steps_counted(run, RUN_NONE, decode);
	phase->count = n;
	phase->dropped = counted > n ? counted - n : 0;
	phase->min_ns = n ? values[0] : ANALYSIS_UNKNOWN;
	phase->max_ns = n ? values[n - 1] : ANALYSIS_UNKNOWN;
	phase->p50_ns = percentile_or_unknown(values, n, 50);
	phase->p95_ns = percentile_or_unknown(values, n, 95);
	phase->p99_ns = percentile_or_unknown(values, n, 99);
}

/* Are steps of the process missing, or may the sampling behind one be? */
static int may_lack_token(
	const struct run *run, const struct step_index *index, uint32_t process, int after_decode)
{
	uint64_t prefills = 0, counted = steps_counted(run, process, 0);

	for (uint32_t k = index->process_first[process]; k < index->process_first[process + 1]; k++)
		prefills += !run->steps[index->by_process[k]].decode;
	return counted && (after_decode || counted > prefills);
}

/* Of one process. Steps are looked at in the order of their begins. */
static uint64_t first_token_ns(const struct step_times *times, const struct run *run,
	const struct step_index *index, uint32_t process)
{
	uint64_t begin_ns = ANALYSIS_UNKNOWN, prefill_end_ns = 0, decode_seen = 0;
	for (uint32_t k = index->process_first[process]; k < index->process_first[process + 1];
		k++) {
		uint32_t i = index->by_process[k];
		const struct run_step *step = &run->steps[i];
		if (begin_ns == ANALYSIS_UNKNOWN && step->decode)
			continue;
		if (begin_ns == ANALYSIS_UNKNOWN)
			begin_ns = step->begin_ns;
		if (times->steps[i].sampled_end_ns > begin_ns)
			return may_lack_token(run, index, process, step->decode || decode_seen)
				       ? ANALYSIS_UNKNOWN
				       : times->steps[i].sampled_end_ns - begin_ns;
		if (step->decode)
			decode_seen = 1;
		else if (!decode_seen)
			prefill_end_ns = step->end_ns;
	}
	return decode_seen && !may_lack_token(run, index, process, 1) ? prefill_end_ns - begin_ns
								      : ANALYSIS_UNKNOWN;
}

static int finish(void *context)
{
	struct step_times *times = context;
	const struct run *run = times->run;
	uint64_t *values = calloc(run->step_count + 1, sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (uint32_t phase = 0; phase < STEP_PHASES; phase++)
		finish_phase(times, run, times->index, phase, values);
	for (uint32_t p = 0; p < run->process_count && times->ttft_ns == ANALYSIS_UNKNOWN; p++)
		times->ttft_ns = first_token_ns(times, run, times->index, p);
	free(values);
	return 0;
}

static const struct walk_ops ops = {.end = on_end, .finish = finish};

int step_times_init(struct step_times *times, struct walk *walk)
{
	memset(times, 0, sizeof(*times));
	times->run = walk->run;
	times->index = walk->index;
	times->ttft_ns = ANALYSIS_UNKNOWN;
	times->steps = calloc(walk->run->step_count + 1, sizeof(*times->steps));
	if (!times->steps)
		return -ENOMEM;
	walk_join(walk, &ops, times);
	return 0;
}

int step_times_measure(
	struct step_times *times, const struct run *run, const struct step_index *index)
{
	struct walk walk;
	walk_init(&walk, run, index);
	int rc = step_times_init(times, &walk);
	if (rc == 0)
		rc = walk_run(&walk);
	if (rc < 0)
		step_times_fini(times);
	return rc;
}

struct ranked_step {
	uint64_t ns;
	uint32_t step;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked_step *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

uint32_t step_times_median(const struct step_times *times, const struct run *run,
	const struct step_index *index, enum step_phase phase)
{
	struct ranked_step *ranked = calloc(run->step_count + 1, sizeof(*ranked));
	if (!ranked)
		return RUN_NONE;
	size_t n = 0;
	for (uint32_t i = 0; i < run->step_count; i++)
		if (index->finished[i] && !!run->steps[i].decode == (phase == STEP_DECODE))
			ranked[n++] = (struct ranked_step){step_time_total_ns(&times->steps[i]), i};
	qsort(ranked, n, sizeof(*ranked), compare_ranked);
	uint32_t median = n ? ranked[(n - 1) / 2].step : RUN_NONE;
	free(ranked);
	return median;
}

int step_times_first_token(const struct run *run, uint64_t *ttft_ns)
{
	struct step_index index;
	struct step_times times;
	int known = 0;

	if (step_index_init(&index, run) < 0)
		return 0;
	if (index.count > 1 && step_times_measure(&times, run, &index) == 0) {
		known = times.ttft_ns != ANALYSIS_UNKNOWN;
		if (known)
			*ttft_ns = times.ttft_ns;
		step_times_fini(&times);
	}
	step_index_fini(&index);
	return known;
}
