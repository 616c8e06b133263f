/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `brick history` share. Main thread. */
#pragma once

#include "cli/history_runs.h"

struct history_arguments {
	const char *db, *label, *host, *kind, *svg, *html;
	const char *brick, *layer, *kernel; /* of plot */
	unsigned long limit, older_than;    /* in days */
	int phase;			    /* enum step_phase */
	bool all, json, remove, by_engine;
	char **operands; /* behind the name of the question */
	size_t operand_count;
};

int history_list(const struct history_arguments *arguments);
int history_show(const struct history_arguments *arguments);
int history_plot(const struct history_arguments *arguments);
int history_hosts(const struct history_arguments *arguments);
int history_import(const struct history_arguments *arguments);

/* What --label, --host, --limit and --all take. */
struct history_filter history_filter_of(const struct history_arguments *arguments);
