/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that were found in stacks, for `report --by function`. Main thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/accounts/function_accounts.h"

struct functions_view {
	const struct functions *functions;
	size_t shown; /* rows to print */
};

void functions_text(const struct functions_view *view, FILE *out);
void functions_csv(const struct functions_view *view, FILE *out);

/* Schema brick/functions/1; a new reference. */
json_t *functions_to_json(const struct functions_view *view);

/* Why a run has no stacks, as the end of a sentence; call it only then. The caller frees. */
char *functions_missing(const struct run *run);
