/* SPDX-License-Identifier: Apache-2.0 */
/* What users see of several requests at once, for the report, `requests` and `explain`. Any thread.
 */
#pragma once

#include <jansson.h>
#include "trace/run.h"

/* A sentence, which the caller frees. NULL: no two requests were decoded at once, or no memory. */
char *users_text(const struct run *run);

/* { "requests", "at_once", "tokens", "token_ns" }, or null: a new reference. */
json_t *users_json(const struct run *run);
