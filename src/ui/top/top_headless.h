/* SPDX-License-Identifier: Apache-2.0 */
/* `brick top` without a terminal: a screen, or a line of JSON, per picture. Main thread. */
#pragma once

#include "ui/text/report_budget.h"
#include "ui/top/top_source.h"

/*
 * Prints until the source ends, the time given is over, or a signal comes. budget NULL: none.
 * Returns the result of top_source_look(), or -ENOMEM; the caller closes the source.
 */
int top_headless(struct top_source *source, struct top *top, struct report_budget *budget);
