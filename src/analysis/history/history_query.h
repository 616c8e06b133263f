/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a history, and the answers to them. Data only. Filters borrow their texts; answers
 * are valid until the callback returns.
 */
#pragma once

#include <stdbool.h>
#include "analysis/history/history_run.h"

/* A value of filter.kind: all runs but "plain" and "floor". No run has this kind. */
#define HISTORY_TIMED "timed"

/*
 * Selects runs that match all members; NULL matches every run. An all-zero filter selects all runs
 * but those of kind "floor". A new member goes into RUNS_OF_FILTER (sqlite.c), and into
 * add_filter() and is_for_months() (clickhouse.c).
 */
struct history_filter {
	const char *id;							   /* the first digits */
	const char *label, *batch, *host, *kind, *engine, *workload, *cpu; /* the whole text */
	const char *model, *command; /* a text anywhere in the run's */
	uint64_t skip;		     /* leave out so many of the newest runs */
	uint64_t limit;		     /* then take so many; 0: all */
	bool whole; /* history_store_list(): also read facts, and parts that are no steps */
};

/* One part of one run: a value of a trend. */
struct history_point {
	const char *id, *host, *engine;
	const char *labels; /* with commas between; always "" from a ClickHouse server */
	uint64_t start_ns;  /* since 1970 */
	double ns;	    /* per token, of typical steps */
};

/* Runs that compute the same on one machine. */
struct history_workload {
	const char *workload, *host, *cpu;
	uint64_t runs;
};

/* One part, summed over all runs of a host or an engine. */
struct history_group {
	const char *group;	   /* the host or the engine */
	struct history_part *part; /* united is no sum; only a step has a histogram */
	uint64_t runs;		   /* that have the part */
};

/*
 * Callbacks return 0 to go on; a negative errno ends the question, which returns it. A callback may
 * keep a run: it copies the struct and sets *run to zero. Otherwise the store frees the run.
 */
typedef int (*history_run_fn)(void *context, struct history_run *run);
typedef int (*history_point_fn)(void *context, const struct history_point *point);
typedef int (*history_workload_fn)(void *context, const struct history_workload *workload);
typedef int (*history_group_fn)(void *context, const struct history_group *group);

struct history_open {
	/* make a missing file; a server: need a spool for added runs. false: -ENOENT for no file */
	bool create;
	unsigned patience_ms; /* SQLite: for other writers, 0: 10 s; a server's reply, 0: 60 s */
	bool is_eager;	      /* try a server also during the pause after a failure (spool.h) */
};
