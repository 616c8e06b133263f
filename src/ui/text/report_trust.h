/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says how far to trust a report, in one line or in all detail. Other answers share its sentences.
 * Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include "ui/text/report.h"
#include "ui/text/terminal.h"

/*
 * "good: 99.9% covered, 0.5% distortion (0.2 to 1.0), no records lost, 0.1% preempted".
 * *is_limited: a fact limits trust, and stands in front. The caller frees.
 */
char *report_trust_line(const struct report *report, bool *is_limited);

/* Command, times, machine, and the attached libraries. */
void report_origin_text(const struct report *report, const struct terminal *terminal);

/* Coverage, devices, counters, CPUs, distortion, losses and notes. is_alone: no rows stand above.
 */
void report_trust_lines(
	const struct report *report, const struct terminal *terminal, bool is_alone);

/* The most important lines of both functions above, plain, within `width` columns. */
void report_trust_text(const struct report *report, size_t width, FILE *out);

/*
 * The name that people see for notes with this key; NULL: the notes are not for them (how an engine
 * lays its memory out).
 */
const char *report_note_title(const char *key);
