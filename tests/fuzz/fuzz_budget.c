/* SPDX-License-Identifier: Apache-2.0 */
/* Budget files from outside: read whole or refused with a line, and judged against an empty run. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/accounts/budget.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct budget *budget = NULL;
	struct budget_error error;
	struct summary empty = {0};
	struct summary *const summaries[STEP_PHASES] = {&empty, &empty};
	struct budget_verdict verdict;

	if (budget_parse(&budget, (const char *)data, size, &error)) {
		if (!memchr(error.text, '\0', sizeof error.text) || budget)
			abort();
		return 0;
	}
	for (size_t i = 0; i < budget->count; i++) {
		budget_judge(&verdict, &budget->lines[i], summaries);
		if (verdict.passed || !(budget->lines[i].limit_us > 0))
			abort();
	}
	budget_destroy(budget);
	return 0;
}
