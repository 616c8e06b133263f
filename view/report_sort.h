/* SPDX-License-Identifier: Apache-2.0 */
/* Order of a report's rows by a column that the user names. Pure. */
#ifndef BRICK_VIEW_REPORT_SORT_H
#define BRICK_VIEW_REPORT_SORT_H

#include "analysis/summary.h"

struct report_sort;

/* A column by its name in text ("total") or JSON ("total_ns"); NULL if there is none. */
const struct report_sort *report_sort_find(const char *name);

/* Names of all columns, separated by ", ". Static storage. */
const char *report_sort_names(void);

/* Largest first, names from A to Z, what is unknown last. */
void report_sort_rows(const struct report_sort *sort, struct summary_row *rows, size_t count);

#endif
