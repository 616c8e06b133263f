/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `brick experts`, and its forms. Main thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/experts/experts.h"

void experts_text(const struct run *run, const struct experts *experts, FILE *out);
void experts_csv(const struct run *run, const struct experts *experts, FILE *out);

/* Schema brick/experts/1; a new reference. */
json_t *experts_to_json(const struct run *run, const struct experts *experts);
