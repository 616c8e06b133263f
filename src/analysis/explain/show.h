/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as text and as JSON (schema brick/explain/1), which is at most EXPLAIN_JSON_BYTES. */
#pragma once

#include <stdio.h>
#include "analysis/explain/finding.h"

enum { EXPLAIN_JSON_BYTES = 8192 };

/* top: how many findings; 0: all. */
void explain_text(
	const struct explain_facts *facts, const struct findings *findings, size_t top, FILE *out);
void explain_json(
	const struct explain_facts *facts, const struct findings *findings, size_t top, FILE *out);
