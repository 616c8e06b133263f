/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on GPUs that differ between two recordings, as a table and as JSON. Main thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/compare/compare_operators.h"

/* top: the number of rows; 0: all. Prints nothing if nothing differs. */
void operators_text(const struct operator_changes *changes, unsigned long top, FILE *out);

/* A new reference: an array, the largest difference first; times in ns, all numbers of a step. */
json_t *operators_to_json(const struct operator_changes *changes);
