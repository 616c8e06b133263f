/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the recordings of a comparison come from, and in what the two sides differ besides their
 * times. Holds no run: recordings are read one after the other. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "base/array.h"
#include "analysis/history/history_run.h"
#include "trace/run.h"

struct diff_fact {
	char *key, *value;
};

struct diff_origin {
	char *path, *command; /* command: NULL when it is not known */
	uint64_t start_unix_ns, steps;
	ARRAY(struct diff_fact) facts;
};

/* Something that is not the same on both sides, or within one of them. */
struct diff_difference {
	const char *key; /* of a fact, or NULL: then what is wrong is in words */
	char *a, *b;	 /* all values of a side; without a key: what is wrong, and NULL */
	bool unfair;	 /* it may be what the times differ by */
};

struct diff_origins {
	struct diff_origin *list; /* A's before B's */
	size_t in_a, in_b;
	ARRAY(struct diff_difference) differences; /* unfair ones first */
};

/* Take what is known of a recording. */
void diff_origin_init(struct diff_origin *origin, const struct run *run);

/* The same of a run of a history, which stands for its recording. */
void diff_origin_of_history(struct diff_origin *origin, const struct history_run *run);

/* Find the differences; the origins are taken. */
void diff_origins_init(
	struct diff_origins *origins, struct diff_origin *list, size_t in_a, size_t in_b);
void diff_origins_fini(struct diff_origins *origins);
