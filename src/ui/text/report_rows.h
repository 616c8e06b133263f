/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a report: its rows, and its categories beside them. */
#pragma once

#include "ui/text/report_view.h"
#include "ui/text/terminal.h"

/* What AVG to MAX and rates of its rows are of, as a sentence; NULL: of devices, of rows' own. */
const char *report_basis(const struct report *report);

void report_rows(const struct report *report, const struct terminal *terminal);
