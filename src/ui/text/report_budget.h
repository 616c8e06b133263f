/* SPDX-License-Identifier: Apache-2.0 */
/* A budget held against a run (src/analysis/accounts/budget.h), for `brick report --budget`. Main
 * thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/accounts/budget.h"

struct report_budget {
	const char *path;
	struct budget *budget;
	struct budget_verdict *verdicts; /* [budget->count] */
	size_t failed;			 /* lines that the run does not keep */
};

/* Reads the file; errors of budget_load(), or -ENOMEM. report_budget_close() is due in either case.
 */
int report_budget_open(struct report_budget *b, const char *path, struct budget_error *error);

/* Fills in the verdicts for a run; may be called again for another run. 0 or -ENOMEM. */
int report_budget_judge(struct report_budget *b, const struct run *run);

void report_budget_text(const struct report_budget *b, FILE *out);

/* {"file", "passed", "failed", "lines": [...]}; a new reference. */
json_t *report_budget_to_json(const struct report_budget *b);

void report_budget_close(struct report_budget *b);
