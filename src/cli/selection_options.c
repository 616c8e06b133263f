/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the options that choose a part of a recording, and narrows the run to that part. */
#include "cli/selection_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "analysis/steps/step_times.h"
#include "brick/error.h"
#include "cli/die.h"
#include "cli/suggest.h"
#include "analysis/walk/step_index.h"

#define TIME_NS_MOST 1000000000000000000ull

static void die_steps(const struct option_use *use, const char *text)
{
	die_usage(use->command->name,
		"--steps %s: must be slowest, slow, or numbers from 1 as 5, 10-20 or 1,5,10-20",
		text);
}

/* Reads "N" or "N-N"; returns the rest of the text. */
static const char *read_range(
	const struct option_use *use, const char *text, const char *at, struct selection *s)
{
	struct selection_range range;
	if (number_leading_u64(at, &range.first, &at) < 0)
		die_steps(use, text);
	range.last = range.first;
	if (*at == '-' && number_leading_u64(at + 1, &range.last, &at) < 0)
		die_steps(use, text);
	if (!range.first || range.last < range.first)
		die_steps(use, text);
	if (s->step_ranges == SELECTION_RANGES_MAX)
		die_usage(use->command->name, "--steps %s: at most %d numbers and ranges", text,
			SELECTION_RANGES_MAX);
	s->steps[s->step_ranges++] = range;
	return at;
}

void selection_set_steps(const struct option_use *use, const char *text)
{
	struct selection *s = use->to;
	const char *at = text;
	s->speed = !strcmp(text, "slowest") ? SELECT_SLOWEST
		   : !strcmp(text, "slow")  ? SELECT_SLOW
					    : SELECT_ANY_SPEED;
	s->step_ranges = 0;
	if (s->speed != SELECT_ANY_SPEED)
		return;
	for (at = read_range(use, text, at, s); *at == ',';)
		at = read_range(use, text, at + 1, s);
	if (*at)
		die_steps(use, text);
}

void selection_set_layer(const struct option_use *use, const char *text)
{
	int64_t layer;
	if (number_i64(text, -1, INT16_MAX, &layer) < 0)
		die_usage(use->command->name,
			"--layer %s: must be a number from -1 (of no layer) to %d", text,
			INT16_MAX);
	*(int *)use->to = (int)layer;
}

void selection_set_time(const struct option_use *use, const char *text)
{
	if (number_time_ns(text, "s", 0, TIME_NS_MOST, use->to))
		die_usage(use->command->name,
			"--%s %s: must be a number of seconds, or one with a unit, such as 250ms",
			use->option->name, text);
}

static const char *similar_brick(const struct run *run, const char *name)
{
	SCOPED const char **names = calloc(run->brick_count + 1, sizeof(*names));
	for (size_t i = 0; names && i < run->brick_count; i++)
		names[i] = run->bricks[i].name;
	return names ? suggest(name, names, run->brick_count) : NULL;
}

static uint32_t selection_options_numbered(const struct run *run, const struct step_index *index,
	const char *command, const char *text)
{
	uint64_t wanted;

	if (number_u64(text, 1, UINT32_MAX, &wanted) < 0)
		die_usage(command,
			"--step %s: must be a phase (decode, prefill, mixed, warm-up, other), "
			"slowest or a number from 1",
			text);
	if (wanted > step_numbers(run, index))
		die(CLI_INPUT, "%s: has no step %s that ended; there are %u", run->path, text,
			step_numbers(run, index));
	SCOPED uint32_t *numbers = step_number_list(run, index);
	if (!numbers)
		die(CLI_SYSTEM, "%s: not enough memory", run->path);
	for (uint32_t i = 0; i < run->step_count; i++)
		if (index->finished[i] && numbers[i] == wanted)
			return i;
	die(CLI_INPUT, "%s: step %s was left out", run->path, text);
}

/* The slowest step; of decode, if there is any. */
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

uint32_t selection_step(const struct run *run, const struct step_index *index, const char *command,
	const char *which)
{
	int phase = step_phase_by_name(which);

	if (!index->count)
		die(CLI_INPUT, "%s: has no steps that ended", run->path);
	if (!strcmp(which, "slowest"))
		return slowest(run, index);
	if (phase < 0)
		return selection_options_numbered(run, index, command, which);
	SCOPED_BY(step_times_fini) struct step_times times;
	if (step_times_measure(&times, run, index) < 0)
		die(CLI_SYSTEM, "%s: not enough memory", run->path);
	uint32_t step = step_times_median(&times, run, index, (enum step_phase)phase);
	if (step == RUN_NONE)
		die(CLI_INPUT, "%s: has no %s step that ended", run->path, which);
	return step;
}

void selection_narrow(const struct selection *selection, struct run *run)
{
	char *missing;
	int rc = selection_apply(selection, run, &missing);
	if (rc == BRICK_ENOTRECORDED) {
		const char *brick = selection->brick;
		const char *near = brick && run_brick_find(run, brick) == RUN_NONE
					   ? similar_brick(run, brick)
					   : NULL;
		if (near)
			die(CLI_INPUT, "%s: has %s; did you mean '%s'?", run->path, missing, near);
		die(CLI_INPUT, "%s: has %s", run->path, missing);
	}
	if (rc < 0)
		die(CLI_SYSTEM, "%s: not enough memory to choose a part of it", run->path);
}
