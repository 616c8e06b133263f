/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a report, as text and on the page: the program, its speed, and its start. Main
 * thread.
 */
#pragma once

#include <stddef.h>
#include "ui/text/report.h"

enum { REPORT_HEAD_LINES = 11 + 16 + 6 + 8 };

struct report_head {
	struct report_head_line {
		const char *label; /* "Decode"; "" of the first */
		char *text;
	} lines[REPORT_HEAD_LINES];
	size_t count;
};

/* whole: with parts that few readers want, too. report_head_fini() frees the texts. */
void report_head_init(struct report_head *head, const struct report *report, bool whole);
void report_head_fini(struct report_head *head);
