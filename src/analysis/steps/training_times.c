/* SPDX-License-Identifier: Apache-2.0 */
/* The attachers of ggml and of PyTorch call the phases by the same names. */
#include "analysis/steps/training_times.h"

enum { FORWARD, BACKWARD, OPTIMIZER, PHASES };

struct phases {
	uint32_t brick[PHASES];
};

static int phase_of(
	const struct run *run, const struct phases *phases, const struct run_sample *sample)
{
	int k = 0;

	while (k < PHASES && run->sites[sample->site].brick != phases->brick[k])
		k++;
	return k;
}

/* A forward pass that a backward pass repeats is a part of it. */
static void add_samples(uint64_t ns[PHASES], const struct run *run, const struct phases *phases,
	const struct run_step *step)
{
	const struct run_lane *lane = &run->lanes[step->lane];
	uint64_t end_ns = 0;

	for (size_t i = run_sample_from(lane, step->begin_ns);
		i < lane->sample_count && lane->samples[i].begin_ns < step->end_ns; i++) {
		const struct run_sample *sample = &lane->samples[i];
		int k = sample->begin_ns < end_ns ? PHASES : phase_of(run, phases, sample);
		if (k == PHASES)
			continue;
		ns[k] += sample->end_ns - sample->begin_ns;
		end_ns = sample->end_ns;
	}
}

static void add_step(struct training_times *times, const struct run *run,
	const struct phases *phases, const struct run_step *step)
{
	uint64_t ns[PHASES] = {0};

	add_samples(ns, run, phases, step);
	if (!ns[BACKWARD] && !ns[OPTIMIZER])
		return;
	times->count++;
	times->tokens += step->tokens;
	times->total_ns += step->end_ns - step->begin_ns;
	times->forward_ns += ns[FORWARD];
	times->backward_ns += ns[BACKWARD];
	times->optimizer_ns += ns[OPTIMIZER];
}

void training_times_of_run(
	struct training_times *times, const struct run *run, const struct step_index *index)
{
	const struct phases phases = {{run_brick_find(run, "Forward"),
		run_brick_find(run, "Backward"), run_brick_find(run, "OptimizerStep")}};

	*times = (struct training_times){0};
	if (phases.brick[BACKWARD] == RUN_NONE && phases.brick[OPTIMIZER] == RUN_NONE)
		return;
	for (size_t i = 0; i < run->step_count; i++)
		if (index->finished[i])
			add_step(times, run, &phases, &run->steps[i]);
}
