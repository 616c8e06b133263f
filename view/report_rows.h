/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a report: its rows, and its categories beside them. */
#pragma once

#include "view/report.h"
#include "view/terminal.h"

void report_rows(const struct report *report, FILE *out, const struct terminal *terminal);
