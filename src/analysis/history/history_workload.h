/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's workload as one text: runs compare only with runs of the same workload. It says the
 * engine without its version, the model with its type and size, threads, context, batch, prompt and
 * backend, as far as facts of the run know them; else its command, without folders. The machine is
 * not in it. Pure; any thread.
 */
#pragma once

#include "analysis/history/history_run.h"

/* Set the run's model and workload from its engine, command and facts. -ENOMEM. */
int history_run_describe(struct history_run *run);

/* "x/engine -m /y/m.gguf" becomes "engine -m m.gguf", in place. */
void history_command_strip(char *command);
