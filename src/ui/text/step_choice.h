/* SPDX-License-Identifier: Apache-2.0 */
/* The step that a command was asked for, as `--step` names it. Main thread. */
#pragma once

#include "analysis/steps/step_index.h"
#include "trace/run.h"

/*
 * which: "decode" or "prefill", the one of that phase that took the median time; "slowest",
 * of the decode steps, or of the prefill steps where there is no other; or a number, counted from 1
 * in the order in which they began. Ends the program if there is no such step.
 */
uint32_t step_choose(const struct run *run, const struct step_index *index, const char *command,
	const char *which);

/* Number of a step for people, counted the same way. */
uint32_t step_choice_number(const struct run *run, const struct step_index *index, uint32_t step);
/* How many such numbers there are. */
uint32_t step_choice_count(const struct run *run, const struct step_index *index);
