/* SPDX-License-Identifier: Apache-2.0 */
/* A report for programs: JSON and CSV. Main thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "ui/text/report.h"

/* Schema brick/report/2; a new reference. */
json_t *report_to_json(const struct report *report);

/* The rows alone, an array; a new reference. */
json_t *report_rows_to_json(const struct report *report);

/*
 * Describes the fields, and lists the columns of a page's tables: { "fields": [ { "key", "title",
 * "type", "means", "of_device" } ], "columns": { "bricks": [ keys ], ... } }. A new reference.
 */
json_t *report_fields_to_json(void);

void report_csv(const struct report *report, FILE *out);
