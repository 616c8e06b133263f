/* SPDX-License-Identifier: Apache-2.0 */
/* Page faults by phase and brick (`brick report --by faults`). Main thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/accounts/fault_accounts.h"

struct fault_view {
	const struct fault_rows *rows;
	const struct run *run;
	size_t shown; /* rows of bricks, in the text */
};

void fault_text(const struct fault_view *view, FILE *out);
void fault_csv(const struct fault_view *view, FILE *out);

/* A new reference: schema brick/faults/1. */
json_t *fault_to_json(const struct fault_view *view);

/* Why there are no faults, or that some are missing; the caller frees. NULL: all are there. */
char *fault_lack(const struct run *run);
