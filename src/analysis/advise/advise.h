/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicts the times of an engine's settings from recordings of a few of them. Settings are points
 * on axes (threads, ubatch, ...). Around one setting, the base, each axis is measured alone. Any
 * other setting is predicted brick by brick, as if axes acted on a brick's time independently: the
 * time at the base, times the ratio that each axis has for that brick. For a brick that some
 * setting lacks, differences are added instead. Numbers between measured ones are interpolated,
 * along 1/x where all are positive: work that is divided among x, or an effort that comes once in x
 * tokens. Nothing is extrapolated. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "analysis/history/history_run.h"
#include "base/scope.h"

struct advise_axis {
	const char *name;
	size_t count;	       /* of values on the axis */
	const double *numbers; /* [count]; NULL: the values are words */
};

enum advise_phase {
	ADVISE_PREFILL,
	ADVISE_DECODE,
	ADVISE_MIXED,
	ADVISE_PHASES,
	ADVISE_ALL = ADVISE_PHASES, /* no phase, but a goal: all tokens of the base's runs */
	ADVISE_GOALS,
};

/* The time of a token, or with ADVISE_ALL of all tokens; 95 % bounds. NAN: not known. */
struct advise_time {
	double ns, low, high;
};

struct advise_answer {
	size_t runs; /* runs that measured this setting; 0: predicted */
	struct advise_time times[ADVISE_GOALS];
};

struct advise;

/*
 * base: an index into the values of each axis; as `at` below. Axes, their numbers and base are
 * copied; names are borrowed. 0 or -ENOMEM.
 */
int advise_create(
	struct advise **out, const struct advise_axis *axes, size_t axis_count, const size_t *base);
void advise_destroy(struct advise *advise);
SCOPE_OF(advise_destroy, struct advise)

/* Adds a recorded run of the setting `at`; what is needed of it is copied. 0 or -ENOMEM. */
int advise_add(struct advise *advise, const size_t *at, const struct history_run *run);

/* The time that a setting takes: from its own runs, else predicted. 0 or -ENOMEM. */
int advise_ask(const struct advise *advise, const size_t *at, struct advise_answer *out);

/* Tokens of a phase in a run of the base, on average; 0: the base was not run. */
double advise_tokens(const struct advise *advise, enum advise_phase phase);

/*
 * Chooses the values of an axis to measure, so that the others can be predicted: all words; of
 * numbers the least, the greatest, the base's, and one in the middle. is_measured: [axis->count].
 */
void advise_plan(const struct advise_axis *axis, size_t base, bool *is_measured);

/* "prefill", "decode", "mixed", "all". */
const char *advise_goal_name(enum advise_phase goal);
