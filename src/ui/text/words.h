/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentences of findings, and what the functions that make them share: words_*.c has a function
 * for each rule of rules_*.c. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "analysis/explain/finding.h"

/* The sentences of a finding, cut to their buffers. */
struct finding_words {
	char what[128], evidence[448], advice[256];
	char show[48];		 /* the command that shows the evidence, without the recording */
	uint64_t expected_ns;	 /* a token's time if the advice is followed; 0: not known */
	char expected_note[128]; /* what holds beside expected_ns, or its condition; "": nothing */
	bool is_unknown;	 /* whether it costs anything is not known */
	bool is_once;		 /* the cost came once: it is none of each token */
	char other[256];	 /* another advice; "": there is none */
	/* threads that `other` runs with, in all phases; 0: its gain is not known */
	uint32_t other_threads;
};

/* Fill in a text of the words. */
#define fill(member, ...) snprintf((w)->member, sizeof((w)->member), __VA_ARGS__)

/* Appends to a text of the words. */
#define add(member, ...)                                                                       \
	snprintf((w)->member + strlen((w)->member), sizeof((w)->member) - strlen((w)->member), \
		__VA_ARGS__)

/* Makes the sentences of a rule's finding. */
#define WORDS(rule)                                                               \
	void words_##rule(struct finding_words *w, const struct explain_facts *f, \
		const struct explain_phase *phase, const struct finding *finding)

#define WORDS_DECLARE(name, ...) WORDS(name);
EXPLAIN_RULES(WORDS_DECLARE)
#undef WORDS_DECLARE

/* The most bytes of a brick's name that are shown. */
#define NAME "%.47s"

/* Advice where another tool's file does not tell what the host does. */
#define WORDS_PROFILE_MORE                                                             \
	"let the profiler record more of the host: Python's frames (torch.profiler's " \
	"with_stack=True), or ranges around the code (record_function, NVTX, TraceAnnotation)"

/* How the recorded program's user sets something: a text that lives as long as the block. */
#define OPTION(setting, number) \
	program_option((char[PROGRAM_OPTION_BYTES]){0}, f->run, PROGRAM_##setting, number)

/* The module and the operator with the most time of some executions; "" where there is none. */
const char *words_longest(
	char out[128], const struct explain_facts *f, const struct explain_executions *e);

/* What a site's label says; "" where it says nothing. */
const char *words_label(const struct explain_facts *f, const struct explain_executions *e);

/* The number in one of some steps, rounded; the number itself where there is no step. */
unsigned long long words_a_step(uint64_t steps, uint64_t count);

/* Adds the function in which the stacks of a brick were, if stacks were taken. */
void words_function(
	struct finding_words *w, const struct explain_facts *f, uint32_t brick, bool is_foreign);

/* The time for each token of all threads that take turns, from a token's time of one of them. */
uint64_t words_turns_ns(const struct explain_phase *phase, uint64_t token_ns);

/* Names the command that shows the step. */
void words_show_step(struct finding_words *w, const struct explain_facts *f, uint32_t step);

/* "f32", "bf16"; of 16 bits the workload's type may say which it is. */
const char *words_weights(char out[32], const struct explain_facts *f, double bits);
