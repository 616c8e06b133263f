/* SPDX-License-Identifier: Apache-2.0 */
/* The attachers of ggml and of PyTorch call the phases by the same names. */
#include "analysis/steps/training_times.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* Behind the phases: categories of what belongs to none. */
enum { ENGINES = TRAINING_PHASES, NOBODYS };

uint32_t training_brick(const struct run *run, enum training_phase phase)
{
	static const char *const names[TRAINING_PHASES] = {"Forward", "Backward", "OptimizerStep"};

	return run_brick_find(run, names[phase]);
}

/* On a thread: phases, and what lies between or within them. */
enum training_part { CLIPPING = TRAINING_PHASES, RECOMPUTATION, TRAINING_PARTS };

struct phase_times {
	uint64_t ns[TRAINING_PARTS];
};

/*
 * A forward pass that a backward pass repeats is a part of it. An optimizer that asks for passes
 * (step(closure)) has the time without them.
 */
static void training_add_samples(struct phase_times *times, const struct run *run,
	const uint32_t *bricks, const struct run_step *step)
{
	const struct run_lane *lane = &run->lanes[step->lane];
	uint64_t end_ns = 0, optimizer_end_ns = 0;

	for (size_t i = run_sample_from(lane, step->begin_ns);
		i < lane->sample_count && lane->samples[i].begin_ns < step->end_ns; i++) {
		const struct run_sample *sample = &lane->samples[i];
		uint64_t ns = sample->end_ns - sample->begin_ns;
		int k = 0;
		while (k < TRAINING_PARTS && run->sites[sample->site].brick != bricks[k])
			k++;
		if (k == RECOMPUTATION)
			times->ns[k] += ns;
		uint64_t over_ns = k == TRAINING_OPTIMIZER && end_ns < optimizer_end_ns
					   ? optimizer_end_ns
					   : end_ns;
		if (k >= RECOMPUTATION || sample->begin_ns < over_ns)
			continue;
		times->ns[k] += ns;
		if (k == TRAINING_OPTIMIZER) {
			optimizer_end_ns = sample->end_ns;
			continue;
		}
		if (sample->begin_ns < optimizer_end_ns)
			times->ns[TRAINING_OPTIMIZER] -= ns;
		end_ns = sample->end_ns;
	}
}

/* The phase that a command begins or goes on with; TRAINING_PHASES: none. */
static uint8_t phase_begun(
	const struct run *run, const uint32_t *categories, const struct run_sample *sample)
{
	uint32_t category = run->bricks[run->sites[sample->site].brick].category;

	return category == categories[ENGINES] || category == categories[NOBODYS] ? TRAINING_PHASES
	       : category == categories[TRAINING_OPTIMIZER] ? TRAINING_OPTIMIZER
	       : category == categories[TRAINING_BACKWARD]  ? TRAINING_BACKWARD
							    : TRAINING_FORWARD;
}

/* Commands come queue by queue, in the order in which they ran. */
static void find_phases(uint8_t *phases, const struct run *run, const struct step_index *index,
	const uint32_t *categories)
{
	uint32_t step = RUN_NONE, lane = RUN_NONE;
	uint8_t phase = TRAINING_FORWARD;

	for (size_t i = 0; i < run->command_count; i++) {
		const struct run_command *c = &run->commands[i];
		uint32_t of = step_index_of_command(index, run, c);
		if (of != step || c->lane != lane)
			phase = TRAINING_FORWARD;
		step = of;
		lane = c->lane;
		phases[i] = phase_begun(run, categories, &run->lanes[lane].samples[c->sample]);
		if (step == RUN_NONE || phases[i] == TRAINING_PHASES)
			phases[i] = TRAINING_PHASES;
		else
			phases[i] = phase = phases[i] > phase ? phases[i] : phase;
	}
}

int training_phases_of_commands(
	uint8_t **out, const struct run *run, const struct step_index *index)
{
	const uint32_t categories[] = {[TRAINING_BACKWARD] = run_category_find(run, "Backward"),
		[TRAINING_OPTIMIZER] = run_category_find(run, "Optimizer"),
		[ENGINES] = run_category_find(run, "Engine"),
		[NOBODYS] = run_category_find(run, "Device")};

	*out = NULL;
	if (!run->command_count || (categories[TRAINING_BACKWARD] == RUN_NONE &&
					   categories[TRAINING_OPTIMIZER] == RUN_NONE))
		return 0;
	*out = malloc(run->command_count);
	if (!*out)
		return -ENOMEM;
	find_phases(*out, run, index, categories);
	return 0;
}

bool training_is_step(const struct run *run, const struct run_step *step)
{
	const struct run_lane *lane = &run->lanes[step->lane];
	uint32_t backward = training_brick(run, TRAINING_BACKWARD);
	uint32_t optimizer = training_brick(run, TRAINING_OPTIMIZER);

	if (backward == RUN_NONE && optimizer == RUN_NONE)
		return false;
	for (size_t i = step->sample; i < lane->sample_count; i++) {
		uint32_t brick = run->sites[lane->samples[i].site].brick;
		if (lane->samples[i].begin_ns >= step->end_ns)
			return false;
		if (brick == backward || brick == optimizer)
			return true;
		run_lane_passed(lane, i);
	}
	return false;
}

static bool trains(const struct phase_times *times)
{
	return times->ns[TRAINING_BACKWARD] || times->ns[TRAINING_OPTIMIZER];
}

/* Per step. *out is NULL where no device trains. */
static int device_times(
	struct phase_times **out, const struct run *run, const struct step_index *index)
{
	uint8_t *phases;
	int status = training_phases_of_commands(&phases, run, index);

	*out = NULL;
	if (status || !phases)
		return status;
	*out = calloc(run->step_count + 1, sizeof(**out));
	for (size_t i = 0; *out && i < run->command_count; i++) {
		const struct run_command *c = &run->commands[i];
		const struct run_sample *sample = &run->lanes[c->lane].samples[c->sample];
		if (phases[i] != TRAINING_PHASES)
			(*out)[step_index_of_command(index, run, c)].ns[phases[i]] +=
				sample->end_ns - sample->begin_ns;
	}
	free(phases);
	return *out ? 0 : -ENOMEM;
}

static void training_add_step(struct training_times *times, const struct run_step *step,
	const struct phase_times *on_thread, const struct phase_times *on_device)
{
	bool trains_there = trains(on_device);

	if (!trains(on_thread) && !trains_there)
		return;
	times->count++;
	times->tokens += step->tokens;
	times->total_ns += step->end_ns - step->begin_ns;
	for (int k = 0; k < TRAINING_PHASES; k++) {
		times->phase_ns[k] += on_thread->ns[k];
		times->device_ns[k] += trains_there ? on_device->ns[k] : 0;
	}
	times->clipping_ns += on_thread->ns[CLIPPING];
	times->recomputed_ns += on_thread->ns[RECOMPUTATION];
}

int training_times_of_run(
	struct training_times *times, const struct run *run, const struct step_index *index)
{
	static const struct phase_times none;
	struct phase_times *on_device;
	uint32_t bricks[TRAINING_PARTS] = {[CLIPPING] = run_brick_find(run, "ClipGradients"),
		[RECOMPUTATION] = run_brick_find(run, "Recomputation")};

	*times = (struct training_times){0};
	int status = device_times(&on_device, run, index);
	for (int k = 0; k < TRAINING_PHASES; k++)
		bricks[k] = training_brick(run, (enum training_phase)k);
	bool on_threads =
		bricks[TRAINING_BACKWARD] != RUN_NONE || bricks[TRAINING_OPTIMIZER] != RUN_NONE;
	for (size_t i = 0; !status && (on_threads || on_device) && i < run->step_count; i++) {
		struct phase_times on_thread = {{0}};
		if (!index->finished[i])
			continue;
		if (on_threads)
			training_add_samples(&on_thread, run, bricks, &run->steps[i]);
		training_add_step(
			times, &run->steps[i], &on_thread, on_device ? &on_device[i] : &none);
	}
	free(on_device);
	return status;
}
