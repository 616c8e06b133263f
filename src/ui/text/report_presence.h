/* SPDX-License-Identifier: Apache-2.0 */
/* Says in a report how far the program had the machine to itself. Main thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/accounts/presence.h"
#include "trace/run.h"
#include "ui/text/terminal.h"

/* Why times off the CPU are unknown, for an error in struct off_cpu_account. */
void report_off_cpu_reason(int error, char *text, size_t size);

/*
 * The other process that used most CPU: " (of those that ran to the end, cc1 (12) used
 * most, 25.0%)";
 * "": none is known. Processes that ended before the recording are in the sum alone. The caller
 * frees.
 */
char *report_neighbour_text(const struct run *run, const struct presence *presence);

/*
 * Prints lines behind a label of `label` columns. Leaves out unknown values that nobody asked for.
 */
void report_presence_text(const struct run *run, const struct presence *presence,
	const struct terminal *terminal, size_t label);

/* An object; null for unknown values. */
json_t *report_presence_json(const struct run *run, const struct presence *presence);
