/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a history, and the answers to them. Data only. Filters borrow their texts; answers
 * are valid until the callback returns.
 */
#pragma once

#include <stdbool.h>
#include "analysis/history/history_run.h"

/* A value of filter.kind: all runs but "plain", "floor" and windows. No run has this kind. */
#define HISTORY_TIMED "timed"

/*
 * Selects runs that match all members; NULL matches every run. An all-zero filter selects all runs
 * but "floor" and windows. A new member goes into RUNS_OF_FILTER (sqlite.c), and into add_filter(),
 * is_for_months() and is_for_fleet() (clickhouse.c).
 */
struct history_filter {
	const char *id;							   /* the first digits */
	const char *label, *batch, *host, *kind, *engine, *workload, *cpu; /* the whole text */
	const char *model, *command; /* a text anywhere in the run's */
	uint64_t since_ns;	     /* began then or later; sums of windows: in that hour */
	const char *slowest_phase;   /* windows whose longest step is of this phase, and takes */
	uint64_t slowest_ns;	     /* ... at least so long */
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

/* The runs whose parts are summed together. */
enum history_by { HISTORY_BY_HOST, HISTORY_BY_ENGINE, HISTORY_BY_RANK, HISTORY_BY_NOTHING };

/* One part, summed over all runs of a group. */
struct history_group {
	const char *group; /* the host, the engine, "HOST rank N" (or the host), or "" */
	struct history_part
		*part; /* united is no sum; only steps, or with BY_NOTHING all, have histograms */
	uint64_t runs; /* that have the part */
	uint64_t first_ns; /* when the first of them began; of windows: to the hour */
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
	/*
	 * SQLite: called again and again while the file of an older Brick is converted, with the
	 * time that this has taken. NULL: nobody wants to know.
	 */
	void (*converting)(const char *where, uint64_t ns);
};
