/* SPDX-License-Identifier: Apache-2.0 */
/* The part of `brick requests` about speculative decoding, as text and as JSON. Main thread. */
#pragma once

#include <jansson.h>
#include "analysis/requests/speculation.h"
#include "ui/text/terminal.h"

/* Prints nothing if no drafts were checked. */
void speculation_text(
	const struct run *run, const struct speculations *all, const struct terminal *terminal);

/* An array; a new reference. */
json_t *speculation_to_json(const struct run *run, const struct speculations *all);
