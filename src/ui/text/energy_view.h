/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of a run, in a report's head and JSON. Main thread. */
#pragma once

#include <jansson.h>
#include "analysis/accounts/energy_accounts.h"

/* "rapl package-0 61.2J: prefill 4.1J, 32.2mJ a token; decode ...". NULL: not known. The caller
 * frees. */
char *energy_text(
	const struct run *run, const struct step_times *times, const struct energy_row *row);

/* Why energy is not known, or not all. The caller frees. NULL: it is, or nobody tried. */
char *energy_absent_text(const struct run *run);

/* A new reference: an array of counters; null where no energy is known. */
json_t *energy_json(const struct run *run, const struct step_times *times);
