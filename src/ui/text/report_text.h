/* SPDX-License-Identifier: Apache-2.0 */
/* A report for people, and those of its sentences that other answers have, too. Main thread. */
#pragma once

#include <stdio.h>
#include "ui/text/report.h"

void report_text(const struct report *report, FILE *out);

/* Only coverage, devices, distortion, losses and notes, as plain lines of so many columns, where
 * no rows stand above them. */
void report_trust_text(const struct report *report, size_t width, FILE *out);

/* Says whether AVG to MAX and rates count time on the CPU or all time; NULL for devices' rows. */
const char *report_basis(const struct report *report);

/* What notes of this key are called before people; NULL: they are not for them (how an engine lays
 * its memory out). */
const char *report_note_title(const char *key);
