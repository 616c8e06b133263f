/* SPDX-License-Identifier: Apache-2.0 */
/* Where memory and threads were (src/analysis/accounts/placed.h), as words and JSON. Main thread.
 */
#pragma once

#include <jansson.h>
#include "trace/run.h"

/*
 * "memory 12.0GB on node 0, threads 100% on node 1; cores of 2 kinds: 75.0% of the time on the 8
 * fastest"; the caller frees. NULL: all CPUs are alike, or no memory.
 */
char *placed_text(const struct run *run);

/* A new reference; null where all CPUs are alike. */
json_t *placed_json(const struct run *run);
