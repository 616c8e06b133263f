/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes a run's workload as one text. Runs compare only with runs of the same workload, and
 * stores keep the text, so its form stays. It has the engine without version, the model with type
 * and size, threads, context, batch, prompt and backends, as far as facts of the run tell them.
 * Where they tell no model, it is the command without folders. It does not have the machine. One
 * thread at a time for each run.
 */
#pragma once

#include "analysis/history/history_run.h"

/* Sets the run's model and workload from its kind, engine, command and facts. -ENOMEM. */
int history_run_describe(struct history_run *run);

/*
 * Removes folders from words, in place: "x/engine -m /y/m.gguf" becomes "engine -m m.gguf". SQL of
 * clickhouse_add_columns() does the same.
 */
void history_command_strip(char *command);
