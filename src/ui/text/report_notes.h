/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of a recording in a report for people. */
#pragma once

#include <stdio.h>

#include "ui/text/report_view.h"
#include "ui/text/terminal.h"

enum { REPORT_LABEL = 13 }; /* columns of a label */

/* What was attached to and how, each with its label. */
void report_headings(const struct report *report, const struct terminal *terminal);

/* What notes of this key are called before people; NULL: they are not for them (how an engine lays
 * its memory out). */
const char *report_note_title(const char *key);

/* All other notes, each once. */
void report_notes(const struct report *report, const struct terminal *terminal);
