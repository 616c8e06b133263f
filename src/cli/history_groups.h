/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts machines, ranks or versions of the engine side by side: the time of a token in each, against
 * the median of all, and the brick that adds most to the difference. Only runs of one workload are
 * compared. Functions end the program with a message on errors. Main thread.
 */
#pragma once

#include <jansson.h>
#include "analysis/history/store.h"
#include "base/array.h"
#include "ui/text/trend.h"

/* The workload of the newest run, and the workloads that are left out. */
struct history_choice {
	struct trend_workload chosen; /* texts NULL: there is no run at all */
	ARRAY(struct trend_workload) left_out;
};

/*
 * Narrows the filter to the workload of the newest run that it selects, and unless any_machine, to
 * the machine of that run.
 */
void history_choose(struct history_choice *choice, struct history_store *store,
	struct history_filter *filter, bool any_machine);
void history_choice_fini(struct history_choice *choice);

/* The time of a token's part in one group. */
struct history_cell {
	size_t group;
	char *name;
	double ns;
};

struct history_group_row {
	char *name;
	uint64_t runs, p99_ns, first_ns;
	double ns;	   /* a token */
	double effect;	   /* against the median of all groups; a ratio less 1 */
	const char *brick; /* the brick that adds most to the effect; NULL: none is slower */
	double points;	   /* its part of the median token */
};

/* All zero is none. */
struct history_groups {
	struct history_choice choice;
	ARRAY(struct history_group_row) list; /* after history_groups_compute() the slowest first */
	ARRAY(struct history_cell) cells;
	struct history_histogram all; /* steps of all groups */
	double median_ns;
};

/* The callback of history_store_groups() for a struct history_groups. */
int history_groups_take(void *groups, const struct history_group *group);
void history_groups_compute(struct history_groups *groups);
/* name: of the list of groups. */
void history_groups_json(const struct history_groups *groups, const char *schema, const char *name);
/* title, runs: of these columns; most: rows, 0: all. */
void history_groups_text(
	const struct history_groups *groups, const char *title, const char *runs, size_t most);
void history_groups_fini(struct history_groups *groups);
