/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `brick scaling`, and its forms. Main thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/accounts/presence.h"
#include "analysis/scaling/scaling.h"

struct scaling_view {
	const struct run *run;
	const struct scaling *scaling;
	struct presence presence;
};

void scaling_text(const struct scaling_view *view, FILE *out);

/* Schema brick/scaling/2; a new reference. */
json_t *scaling_to_json(const struct scaling_view *view);

/* The series with the most steps alone, for the page; a new reference. */
json_t *scaling_main_to_json(const struct scaling_view *view);
