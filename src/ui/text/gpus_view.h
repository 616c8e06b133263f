/* SPDX-License-Identifier: Apache-2.0 */
/* What each GPU did, and why it was idle (`brick report --by device`). Main thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/devices/gpu_times.h"

void gpus_text(const struct gpu_times *times, const struct run *run, FILE *out);
/* A row for each state of each GPU: busy ones, and causes of idle time by gpu_idle_name(). */
void gpus_csv(const struct gpu_times *times, const struct run *run, FILE *out);

/* A new reference: an array of objects, as in brick/report/2 (man brick-report, "gpus"). */
json_t *gpus_to_json(const struct gpu_times *times, const struct run *run);
