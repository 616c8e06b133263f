/* SPDX-License-Identifier: Apache-2.0 */
/* What was counted per step, in a report. Main thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "ui/text/terminal.h"
#include "trace/run.h"

/* Lines behind a label of `label` columns; nothing when nothing was counted. */
void report_counters_text(const struct run *run, const struct terminal *terminal, size_t label);

/* An object by phase; null when nothing was counted. */
json_t *report_counters_json(const struct run *run);
