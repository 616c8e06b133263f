/* SPDX-License-Identifier: Apache-2.0 */
/* A report for people, and those of its sentences that other answers have, too. Main thread. */
#pragma once

#include <stdio.h>
#include "ui/text/report.h"

/* The first screen: at most 40 lines unless somebody chose rows. */
void report_text(const struct report *report, FILE *out);

/* All rows, columns and notes. */
void report_whole_text(const struct report *report, FILE *out);

/* All that is known of how far to trust it, and where it comes from. */
void report_whole_trust_text(const struct report *report, FILE *out);

/* Says whether AVG to MAX and rates count time on the CPU or all time; NULL for devices' rows. */
const char *report_basis(const struct report *report);
