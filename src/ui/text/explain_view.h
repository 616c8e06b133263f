/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings as sentences: as text for people, and as JSON (schema brick/explain/2), which is at most
 * EXPLAIN_JSON_BYTES. Any thread.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/explain/finding.h"

enum { EXPLAIN_JSON_BYTES = 8192 };

/* The sentences of a finding, cut to their buffers. */
struct finding_words {
	char what[128], evidence[384], advice[192];
	char show[48];	      /* the command that shows it, without the recording */
	uint64_t expected_ns; /* a token's time when one follows the advice; 0: not known */
	char other[128];      /* another way, with an expectation of its own; "": there is none */
	uint32_t
		other_threads; /* that it runs with, in all phases; 0: what it gives is not known */
};

/* A token's time in a phase with so many threads that never wait; 0: not known. */
uint64_t finding_with_threads_ns(
	const struct explain_phase *phase, uint64_t tokens, uint32_t threads);

void finding_words(struct finding_words *words, const struct explain_facts *facts,
	const struct finding *finding);

/* top: how many findings; 0: all. */
void explain_text(
	const struct explain_facts *facts, const struct findings *findings, size_t top, FILE *out);
/* The whole answer, with the first findings only: a new reference. */
json_t *explain_to_json(
	const struct explain_facts *facts, const struct findings *findings, size_t shown);
void explain_json(
	const struct explain_facts *facts, const struct findings *findings, size_t top, FILE *out);
