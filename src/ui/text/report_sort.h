/* SPDX-License-Identifier: Apache-2.0 */
/* Order of a report's rows by a field that the user names. Main thread. */
#pragma once

#include "ui/text/report_view.h"
#include "ui/text/report_fields.h"

/* Largest first, texts from A to Z, what is unknown last. */
void report_sort_rows(const struct report *report, const struct report_field *field);
