/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of steps that were interrupted, and of what others take. Main thread. */
#pragma once

#include "ui/text/report_view.h"
#include "ui/text/terminal.h"

/* A line for each phase of which 1 % of the steps were interrupted, or more. */
void report_undisturbed_text(
	const struct report *report, const struct terminal *terminal, size_t label);

/* Puts "interrupted", "behind", "cpu" and "undisturbed" into what a report says of the phase. */
void report_undisturbed_json(json_t *to, const struct report *report, enum step_phase phase);
