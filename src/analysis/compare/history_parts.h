/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the parts that a history keeps from a recording, and a series to compare from these parts.
 * A run of the history compares as its recording does, if all runs have the same number of decode
 * steps. One thread at a time.
 */
#pragma once

#include "analysis/compare/compare_series.h"
#include "analysis/history/history_run.h"

/*
 * Adds the parts of a recording, by brick and by layer, and its time to the first token. A run of
 * kind HISTORY_WINDOW has no layers, but a fact about the longest step of each phase, with its
 * number in the whole recording (HISTORY_SLOWEST). -ENOMEM.
 */
int history_parts_of_run(struct history_run *history, const struct run *run);

/*
 * Makes a series with one cell per phase from the parts of a run, and adds its names to `names`.
 * -ENOMEM; *series is then empty.
 */
int history_parts_series(struct compare_series *series, struct compare_names *names,
	const struct history_run *history, enum summary_by by);
