/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budgets limit how long a token may take, in all, in a brick or in a category. A budget file is
 * text; its first line that is no comment is "brick-budget 1", then, one per line, '#' as the first
 * character starting a comment:
 *
 *   PHASE WHAT MICROSECONDS
 *
 * PHASE is prefill or decode. WHAT is the name of a brick ("brick:NAME" where it could be taken for
 * one of the words that follow), "@" and the name of a category, "total", or "unattributed": then
 * the limit is of wall time per token of the steps of that phase, on the thread that runs them, so
 * that bricks, waits and unattributed add up to total. A brick without time on that thread is held
 * to its time on devices or, if that is more, on other threads. WHAT may also be p50, p95 or p99,
 * of the time of single steps, or, for prefill, ttft, the time to the first token.
 *
 * Parsed budgets never change: any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "analysis/accounts/summary.h"

enum budget_what {
	BUDGET_BRICK,
	BUDGET_CATEGORY,
	BUDGET_TOTAL,
	BUDGET_UNATTRIBUTED,
	BUDGET_P50,
	BUDGET_P95,
	BUDGET_P99,
	BUDGET_TTFT,
};

struct budget_line {
	uint32_t line; /* in the file, from 1 */
	enum step_phase phase;
	enum budget_what what;
	char name[64]; /* of a brick or category, or the word */
	double limit_us;
};

struct budget {
	struct budget_line *lines;
	size_t count;
};

struct budget_error {
	uint32_t line; /* from 1; 0: of the file as a whole */
	char text[160];
};

/*
 * Parse `bytes` bytes of text (they need not end in NUL, and are not kept). 0 and *out, or
 * BRICK_EFORMAT with the first faulty line in *error, or -ENOMEM.
 */
int budget_parse(struct budget **out, const char *text, size_t bytes, struct budget_error *error);

/* Read and parse a file: the same, or -errno when it cannot be read (line 0 then). */
int budget_load(struct budget **out, const char *path, struct budget_error *error);

/* NULL is legal. */
void budget_destroy(struct budget *budget);

/* A run's result for a line of its budget. */
struct budget_verdict {
	double actual_us;   /* negative: not in the recording, which is a failure */
	double utilisation; /* actual / limit; negative: unknown */
	double score;	    /* 100 within the limit, else 100 x limit / actual */
	char grade;	    /* A: at most 90 % of the limit; B: within; C: 10 % over; D: 50 %; F */
	int passed;
	unsigned needs_steps; /* of a percentile that is not known for want of so many; else 0 */
};

/* summaries: of the phases prefill and decode, by brick. */
void budget_judge(struct budget_verdict *verdict, const struct budget_line *line,
	struct summary *const summaries[STEP_PHASES]);
