/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budgets limit how long a token may take: in all, in a brick or in a category. A budget file is
 * text. Blank lines and lines that begin with '#' are ignored; the first other line is
 * "brick-budget 1", and each further line is a limit:
 *
 *   PHASE WHAT MICROSECONDS
 *
 * PHASE is prefill or decode. WHAT is one of:
 *
 *   NAME, brick:NAME           a brick; with "brick:" if NAME is also one of the words below
 *   @NAME                      a category
 *   total, unattributed        all wall time, and wall time in no brick
 *   p50, p95, p99              the time of single steps
 *   ttft                       the time to the first token, for prefill only
 *
 * The first three limit wall time per token of the phase's steps, on the thread that runs them, so
 * that bricks, waits and unattributed add up to total. A brick or category without time on this
 * thread is held to its time on devices or on other threads, the larger of both.
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
	uint32_t line;	/* from 1; 0: the file as a whole */
	char text[160]; /* without the line's number and the file's name */
};

/*
 * Parses `bytes` bytes of text, which need no final NUL and are not kept. BRICK_EFORMAT: *error has
 * the first faulty line; -ENOMEM. *out is set on success only, for budget_destroy().
 */
int budget_parse(struct budget **out, const char *text, size_t bytes, struct budget_error *error);

/*
 * Reads and parses a file. As budget_parse(), or -errno if the file cannot be read: then *error has
 * line 0 and the reason.
 */
int budget_load(struct budget **out, const char *path, struct budget_error *error);

/* NULL is legal. */
void budget_destroy(struct budget *budget);

/* A run's result for one limit. */
struct budget_verdict {
	double actual_us;   /* compares with limit_us; negative: not recorded, and not passed */
	double utilisation; /* actual_us / limit_us; negative: unknown */
	double score;	    /* 100 within the limit, else 100 x limit / actual; 0: unknown */
	char grade; /* A: utilisation up to 0.9; B: 1; C: 1.1; D: 1.5; F: more, or unknown */
	int passed; /* 1: within the limit; 0: not, or unknown */
	unsigned needs_steps; /* steps without which p95 or p99 is unknown; else 0 */
};

/* summaries: by brick, one of each phase that `line` may have; others may be NULL. */
void budget_judge(struct budget_verdict *verdict, const struct budget_line *line,
	struct summary *const summaries[STEP_PHASES]);
