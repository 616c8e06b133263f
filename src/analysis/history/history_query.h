/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a history, and the answers to them. Data only. */
#pragma once

#include <stdbool.h>
#include "analysis/history/history_run.h"

/* As the kind of a filter: all runs whose tokens were timed, neither plain ones nor floors. */
#define HISTORY_TIMED "timed"

/* Selects runs; all zero: all but floors, which are no runs. */
struct history_filter {
	const char *id;					  /* the digits that it begins with */
	const char *label, *batch, *host, *kind, *engine; /* NULL: any */
	const char *model, *command;			  /* texts in them; NULL: any */
	const char *workload, *cpu;			  /* NULL: any */
	uint64_t skip, limit;				  /* of the newest; limit 0: no limit */
	bool whole; /* list: with facts and all parts; else with steps only */
};

/* One part of one run, as trends are made of. */
struct history_point {
	const char *id, *host, *engine, *labels; /* labels: with commas between */
	uint64_t start_ns;
	double ns; /* a token */
};

/* Runs that compute the same on one machine. */
struct history_workload {
	const char *workload, *host, *cpu;
	uint64_t runs;
};

/* Sums over all runs of a group. */
struct history_group {
	const char *group;	   /* host, or engine */
	struct history_part *part; /* sums; of a step the histogram, too */
	uint64_t runs;
};

/*
 * A negative number ends the question, which then returns it. A run may be taken: the rest of it is
 * freed.
 */
typedef int (*history_run_fn)(void *context, struct history_run *run);
typedef int (*history_point_fn)(void *context, const struct history_point *point);
typedef int (*history_workload_fn)(void *context, const struct history_workload *workload);
typedef int (*history_group_fn)(void *context, const struct history_group *group);

struct history_open {
	bool create;	      /* make it if it is not there; else -ENOENT */
	unsigned patience_ms; /* to wait for others that write, or for a server; 0: 10 s, 60 s */
	bool is_eager;	      /* flush also when it failed a moment ago */
};
