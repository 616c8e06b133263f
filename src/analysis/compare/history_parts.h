/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a recording to the parts that a history keeps, and from these to a series for a comparison. A
 * run of the history compares as its recording does, where all have the same number of decode
 * steps. One thread at a time.
 */
#pragma once

#include "analysis/compare/compare_series.h"
#include "analysis/history/history_run.h"

/* Add the parts of a recording, and its time to the first token. -ENOMEM. */
int history_parts_of_run(struct history_run *history, const struct run *run);

/* The same as a series of one cell a phase. -ENOMEM; *series is then empty. */
int history_parts_series(struct compare_series *series, struct compare_names *names,
	const struct history_run *history, enum summary_by by);
