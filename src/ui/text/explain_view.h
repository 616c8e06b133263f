/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings as sentences: text for people, and JSON (schema brick/explain/2) of at most
 * EXPLAIN_JSON_BYTES. A new rule gets its sentences in explain_view.c. Any thread.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/explain/finding.h"

enum { EXPLAIN_JSON_BYTES = 8192 };

/* The sentences of a finding, cut to their buffers. */
struct finding_words {
	char what[128], evidence[384], advice[192];
	char show[48];	      /* the command that shows the evidence, without the recording */
	uint64_t expected_ns; /* a token's time if the advice is followed; 0: not known */
	char other[128];      /* another advice; "": there is none */
	/* threads that `other` runs with, in all phases; 0: its gain is not known */
	uint32_t other_threads;
};

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
