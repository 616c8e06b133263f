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
#include "trace/run.h"
#include "ui/text/text.h"

struct diff_fact {
	char *key, *value;
};

struct diff_origin {
	char *path, *command; /* command: NULL when it is not known */
	uint64_t start_unix_ns, steps;
	bool is_one_step; /* the file has none: all of it is one */
	ARRAY(struct diff_fact) facts;
};

/* Something that differs between the sides, or within one of them. */
struct diff_difference {
	const char *key; /* of a fact; NULL: the fault is in words */
	char *a, *b;	 /* all values of a side; without a key: the fault, and NULL */
	bool unfair;	 /* times may differ because of it */
};

struct diff_origins {
	struct diff_origin *list; /* A's before B's */
	size_t in_a, in_b;
	ARRAY(struct diff_difference) differences; /* unfair ones first */
};

/* Take the facts of a recording. */
void diff_origin_init(struct diff_origin *origin, const struct run *run);

/* Take the facts of a history's run, which stands for its recording. */
void diff_origin_of_history(struct diff_origin *origin, const struct history_run *run);

/* Find the differences; the origins are taken. */
void diff_origins_init(
	struct diff_origins *origins, struct diff_origin *list, size_t in_a, size_t in_b);
void diff_origins_fini(struct diff_origins *origins);

struct diff_view {
	const struct compare *compare;
	const struct diff_origins *origins;
	enum summary_by by;
	unsigned long top; /* rows to show of each phase */
	bool all;	   /* all rows */
	double floor;	   /* how much identical runs differed here, a ratio; 0: not known */
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

/* Puts the verdict into an answer: verdict, metric, mixed, said. */
void verdict_json(json_t *json, const struct compare *compare);
