/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what to choose of a recording, and chooses it. Called by all commands that measure one. */
#include "cli/selection_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "brick/error.h"
#include "ui/text/die.h"
#include "ui/text/exit_code.h"
#include "ui/text/suggest.h"

static void die_steps(const struct option_use *use, const char *text)
{
	die_usage(use->command->name,
		"--steps %s: must be slowest, slow, or numbers from 1 as 5, 10-20 or 1,5,10-20",
		text);
}

/* "N" or "N-N"; returns what follows. */
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
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"", 1e9}};
	size_t length = strspn(text, "0123456789.");
	char number[32] = "";
	double value;
	if (length < sizeof(number))
		memcpy(number, text, length);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(text + length, units[i].unit) &&
			!number_double(number, 0, 1e9, &value)) {
			*(uint64_t *)use->to = (uint64_t)(value * units[i].ns + 0.5);
			return;
		}
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
