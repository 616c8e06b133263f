/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings as sentences: text for people, and JSON (schema brick/explain/2) of at most
 * EXPLAIN_JSON_BYTES. Any thread.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/explain/finding.h"

enum { EXPLAIN_JSON_BYTES = 8192 };

struct finding_words; /* words.h */

/* A token's time in a phase if `threads` threads ran it and never waited; 0: not known. */
uint64_t finding_with_threads_ns(
	const struct explain_phase *phase, uint64_t tokens, uint32_t threads);

void finding_words(struct finding_words *words, const struct explain_facts *facts,
	const struct finding *finding);

/* top: the number of findings to print; 0: all. */
void explain_text(
	const struct explain_facts *facts, const struct findings *findings, size_t top, FILE *out);

/* The answer with the first `shown` findings, of any length: a new reference. */
json_t *explain_to_json(
	const struct explain_facts *facts, const struct findings *findings, size_t shown);

/* Prints the answer; leaves out the cheapest findings while it is too long. */
void explain_json(
	const struct explain_facts *facts, const struct findings *findings, size_t top, FILE *out);
