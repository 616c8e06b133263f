/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that allocators gave, by kind, operator and module (`brick report --by memory`). Main
 * thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/accounts/memory_accounts.h"

struct memory_view {
	const struct memory_rows *rows;
	const struct run *run;
	size_t shown; /* rows of operators, in the text */
};

void memory_text(const struct memory_view *view, FILE *out);
void memory_csv(const struct memory_view *view, FILE *out);

/* A new reference: schema brick/memory/1. */
json_t *memory_to_json(const struct memory_view *view);

/* "53.6MB at most: weights 13.1MB, optimizer 26.2MB ...": of the process with the largest peak. The
 * caller frees. NULL: no memory was recorded. */
char *memory_summary(const struct run *run);
