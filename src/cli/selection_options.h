/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that choose a part of a recording: the same in all commands that measure one. Main
 * thread.
 */
#pragma once

#include "analysis/accounts/selection.h"
#include "analysis/walk/step_index.h"
#include "cli/options.h"
#include "trace/run.h"

/* Entries of a table of options; `where` is the offset of a struct selection. */
/* clang-format off */
#define SELECTION_PHASE(where) \
	{"phase", "WHAT", "only steps of this phase: prefill, decode, mixed, warm-up or other", \
		option_index, .at = (where) + offsetof(struct selection, phase), \
		.words = words_phases}
#define SELECTION_OPTIONS(where) \
	{"steps", "WHICH", "only these steps, numbered from 1: N, N-N, or some with commas between; " \
		"slowest; or slow, the slowest 5 % of each phase", \
		selection_set_steps, .at = (where), .words = words_steps}, \
	{"layer", "N", "only what ran in this layer; -1 is outside of layers", \
		selection_set_layer, .at = (where) + offsetof(struct selection, layer), \
		.words = words_layers}, \
	{"thread", "WHICH", "only what this thread or queue did: a name, or a number", \
		option_text, .at = (where) + offsetof(struct selection, thread), \
		.words = words_threads}, \
	{"brick", "NAME", "only this brick", \
		option_text, .at = (where) + offsetof(struct selection, brick), \
		.words = words_bricks}, \
	{"since", "TIME", "only steps that began then or later: seconds from the start of the " \
		"recording, or with a unit: 250ms", \
		selection_set_time, .at = (where) + offsetof(struct selection, since_ns)}, \
	{"until", "TIME", "only steps that began before then", \
		selection_set_time, .at = (where) + offsetof(struct selection, until_ns)}
/* clang-format on */

/* Setters, by the type of the member that they store into. */
void selection_set_steps(const struct option_use *use, const char *text); /* struct selection */
void selection_set_layer(const struct option_use *use, const char *text); /* int */
void selection_set_time(const struct option_use *use, const char *text);  /* uint64_t, in ns */

/*
 * Narrow a run to a selection. Ends the program if nothing is left of the run, or without memory.
 */
void selection_narrow(const struct selection *selection, struct run *run);

/*
 * The index of the step that --step means. which: "decode" or "prefill": the step of that phase
 * with the median time; "slowest": the slowest decode step, or prefill step if there is no decode
 * step; or a number (step_number()). Ends the program if there is no such step.
 */
uint32_t selection_step(const struct run *run, const struct step_index *index, const char *command,
	const char *which);
