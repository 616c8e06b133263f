/* SPDX-License-Identifier: Apache-2.0 */
/* A report for people, with sentences that other answers share. Main thread. */
#pragma once

#include <stdio.h>
#include "ui/text/report.h"

/* The first screen: at most 40 lines unless somebody chose rows. */
void report_text(const struct report *report, FILE *out);

/* The same with the width and colours of another stream. */
void report_text_for(const struct report *report, FILE *out, FILE *shown_on);

/* All rows, columns and notes. */
void report_whole_text(const struct report *report, FILE *out);

/* Prints all facts about how far to trust the report, and where it comes from. */
void report_whole_trust_text(const struct report *report, FILE *out);

/* Says whether AVG to MAX and rates count time on the CPU or all time; NULL for devices' rows. */
const char *report_basis(const struct report *report);
