/* SPDX-License-Identifier: Apache-2.0 */
/* `brick history import`: what other programs measured. */
#include "cli/cmd_history.h"

#include <stdio.h>

#include "analysis/history/llama_bench.h"
#include "cli/die.h"
#include "cli/progress.h"

struct import {
	struct history_store *store;
	const char *label;
	int rc;
};

static int take(void *context, struct history_run *run)
{
	struct import *import = context;

	import->rc = history_store_add(import->store, run);
	if (import->rc == 0 && import->label)
		import->rc = history_store_label(import->store, run->id, import->label, 0);
	return import->rc;
}

int history_import(const struct history_arguments *a)
{
	struct import import = {history_runs_open(a->db, true), a->label, 0};

	for (size_t i = 0; i < a->operand_count; i++) {
		char error[512] = "";
		long count = llama_bench_read(a->operands[i], take, &import, error, sizeof(error));
		history_runs_check(import.store, import.rc);
		if (count < 0)
			die(CLI_INPUT, "%s", error);
		printf("%s: %ld test%s\n", a->operands[i], count, count == 1 ? "" : "s");
	}
	struct progress *progress = progress_start("history", NULL, 0);
	int rc = history_store_flush(import.store);
	progress_end(progress);
	history_runs_check(import.store, rc);
	history_store_close(import.store);
	return CLI_DONE;
}
