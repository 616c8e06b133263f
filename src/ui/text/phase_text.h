/* SPDX-License-Identifier: Apache-2.0 */
/* Phases of steps in sentences. Steps of no known phase are just steps. Any thread. */
#pragma once

#include "analysis/steps/step_times.h"

/* "Prefill", "Decode", "Mixed", "Warm-up", "Steps"; "Run" for STEP_PHASES. */
const char *phase_title(int phase);
/* The label of a line or row: "prefill", ..., "steps"; "" beyond. */
const char *phase_label(int phase);
/* Behind "of" and "in": "prefill", ..., "the steps". */
const char *phase_whole(int phase);
/* Before "step": "prefill ", ...; "" for a step of no known phase. */
const char *phase_adjective(int phase);
/* That which a cost or a comparison is "a" part of: "token"; "step" where no token is known. */
const char *phase_unit(int phase);
