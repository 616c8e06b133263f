/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer of `brick diff`: where the recordings come from, how the two sides differ besides
 * their times, and its forms. It holds no run, because recordings are read one after the other.
 * Main thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "analysis/compare/compare.h"
#include "analysis/history/history_run.h"
#include "base/array.h"
#include "analysis/compare/compare_operators.h"
#include "trace/run.h"
#include "ui/text/text.h"

struct diff_fact {
	char *key, *value;
};

struct diff_origin {
	char *path;
	char *command;		/* NULL: not known */
	uint64_t start_unix_ns; /* 0: not known */
	uint64_t steps;
	bool is_one_step; /* the file has no steps: all of it counts as one */
	ARRAY(struct diff_fact) facts;
};

/* Something that differs between the sides, or within one of them. */
struct diff_difference {
	const char *key; /* of a fact; NULL: `a` is a sentence, and `b` NULL */
	char *a, *b;	 /* all values of the fact on each side */
	bool unfair;	 /* times may differ because of it */
};

struct diff_origins {
	struct diff_origin *list;		   /* A's before B's */
	size_t in_a, in_b;			   /* recordings of each side */
	ARRAY(struct diff_difference) differences; /* unfair ones first */
};

/* Copies the facts of a recording. */
void diff_origin_init(struct diff_origin *origin, const struct run *run);

/* Copies the facts of a run of the history, which stands for its recording. */
void diff_origin_of_history(struct diff_origin *origin, const struct history_run *run);

/* Takes the list, and finds the differences. */
void diff_origins_init(
	struct diff_origins *origins, struct diff_origin *list, size_t in_a, size_t in_b);
void diff_origins_fini(struct diff_origins *origins);

struct diff_view {
	const struct compare *compare;
	const struct diff_origins *origins;
	enum summary_by by;
	unsigned long top; /* rows to show of each phase */
	bool all;	   /* all rows */
	double floor;	   /* how much identical runs differed, a ratio less 1; 0: not known */
	const struct operator_changes *operators; /* on GPUs; NULL: not compared */
};

void diff_text(const struct diff_view *view, FILE *out);
void diff_json(const struct diff_view *view, FILE *out);

/*
 * Parts of the text: first the verdict with its reason and what is unfair, then the tables.
 * diff_to_json() gives a new reference.
 */
void diff_summary(const struct diff_view *view, FILE *out);
void diff_measures(const struct diff_view *view, FILE *out);
json_t *diff_to_json(const struct diff_view *view);

/* Puts the keys verdict, metric, mixed and said into an answer. */
void verdict_json(json_t *json, const struct compare *compare);
