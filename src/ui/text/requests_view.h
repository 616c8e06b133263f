/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `brick requests`, and its forms. Main thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/accounts/presence.h"
#include "analysis/requests/interference.h"
#include "analysis/requests/requests.h"
#include "analysis/requests/speculation.h"

struct requests_view {
	const struct run *run;
	const struct requests *requests;
	const struct interference *interference;
	const struct speculations *speculations;
	const uint32_t *numbers; /* [step_count]: steps as people see them (step_number_list()) */
	struct presence presence;
	unsigned long slowest; /* requests with the slowest first token to list, and longest gaps */
};

void requests_text(const struct requests_view *view, FILE *out);
void requests_csv(const struct requests_view *view, FILE *out);

/* Schema brick/requests/1; a new reference. */
json_t *requests_to_json(const struct requests_view *view);

/*
 * Names in JSON and CSV: a gap's cause, why tokens were evaluated again, how a request ended. NULL:
 * none.
 */
const char *requests_cause(enum gap_cause cause);
const char *requests_reason(enum request_lost lost);
const char *requests_end(enum request_end end);
