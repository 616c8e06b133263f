/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the step that a user means. Called by commands that look at one step. */
#include "ui/text/step_choice.h"

#include <stdbool.h>
#include <string.h>

#include "analysis/steps/step_times.h"
#include "base/number.h"
#include "ui/text/exit_code.h"
#include "ui/text/die.h"

static uint32_t numbered(const struct run *run, const struct step_index *index, const char *command,
	const char *text)
{
	uint64_t wanted;

	if (number_u64(text, 1, UINT32_MAX, &wanted) < 0)
		die_usage(command, "--step %s: must be decode, prefill, slowest or a number from 1",
			text);
	if (wanted > step_choice_count(run, index))
		die(CLI_INPUT, "%s: has no step %s that ended; there are %u", run->path, text,
			step_choice_count(run, index));
	for (uint32_t i = 0; i < run->step_count; i++)
		if (index->finished[i] && step_choice_number(run, index, i) == wanted)
			return i;
	die(CLI_INPUT, "%s: step %s was left out", run->path, text);
}

static uint32_t median(const struct run *run, const struct step_index *index, enum step_phase phase)
{
	SCOPED_BY(step_times_fini) struct step_times times;

	if (step_times_measure(&times, run, index) < 0)
		die(CLI_SYSTEM, "%s: not enough memory", run->path);
	return step_times_median(&times, run, index, phase);
}

/* The one that took longest: of decode, where there is any. */
static uint32_t slowest(const struct run *run, const struct step_index *index)
{
	SCOPED_BY(step_times_fini) struct step_times times;
	uint32_t best = RUN_NONE;

	if (step_times_measure(&times, run, index) < 0)
		die(CLI_SYSTEM, "%s: not enough memory", run->path);
	bool decode = times.phases[STEP_DECODE].count > 0;
	for (uint32_t i = 0; i < run->step_count; i++)
		if (step_index_is_evaluated(index, run, i) &&
			(run->steps[i].phase == BRICK_PHASE_DECODE) == decode &&
			(best == RUN_NONE || step_time_total_ns(&times.steps[i]) >
						     step_time_total_ns(&times.steps[best])))
			best = i;
	return best;
}

uint32_t step_choose(const struct run *run, const struct step_index *index, const char *command,
	const char *which)
{
	bool prefill = !strcmp(which, "prefill"), decode = !strcmp(which, "decode");

	if (!index->count)
		die(CLI_INPUT, "%s: has no steps that ended", run->path);
	if (!strcmp(which, "slowest"))
		return slowest(run, index);
	if (!prefill && !decode)
		return numbered(run, index, command, which);
	uint32_t step = median(run, index, prefill ? STEP_PREFILL : STEP_DECODE);
	if (step == RUN_NONE)
		die(CLI_INPUT, "%s: has no %s step that ended", run->path, which);
	return step;
}

uint32_t step_choice_number(const struct run *run, const struct step_index *index, uint32_t step)
{
	uint32_t number = 0;

	if (run->steps[step].number)
		return run->steps[step].number;
	for (uint32_t i = 0; i <= step; i++)
		number += index->finished[i];
	return number;
}

uint32_t step_choice_count(const struct run *run, const struct step_index *index)
{
	return run->all_steps ? run->all_steps : index->count;
}
