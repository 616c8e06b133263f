/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of a recording, and when it was on, as text and JSON. Main thread. */
#pragma once

#include <jansson.h>
#include "trace/run.h"

/* NULL: recording was never switched, or the recording has no marks; the caller frees. */
char *marks_switched_text(const struct run *run);
char *marks_text(const struct run *run);

/* [ { "ns" (since the begin of the run), "kind": "mark", "on" or "off", "text" } ] */
json_t *marks_json(const struct run *run);
