/* SPDX-License-Identifier: Apache-2.0 */
/* Steps as people count them: those that ended, from 1, in the order in which they began. Any
 * thread. */
#pragma once

#include "analysis/steps/step_index.h"
#include "trace/run.h"

uint32_t step_number(const struct run *run, const struct step_index *index, uint32_t step);

/* Of each step; the caller frees. [step_count] NULL: no memory. */
uint32_t *step_number_list(const struct run *run, const struct step_index *index);

/* How many such numbers there are. */
uint32_t step_numbers(const struct run *run, const struct step_index *index);
