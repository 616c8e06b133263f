/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the summary of a recording in the history, when the program has ended and its exit code is
 * known. What cannot be kept is a warning.
 */
#include "cli/cmd_record.h"

#include <sys/stat.h>

#include "cli/history_runs.h"
#include "trace/load.h"
#include "cli/die.h"
#include "cli/history_entry.h"

/* Some three million samples: nobody waits longer, or gives more memory, for what was not asked
 * for. */
enum { BYTES_MAX = 8 << 20 };

static int is_worth_it(const struct record_arguments *a, const struct recorder_result *r)
{
	struct stat info;

	if (a->no_history || !r->recorded || !r->steps || stat(a->options.output, &info) ||
		!S_ISREG(info.st_mode))
		return 0;
	if (info.st_size <= BYTES_MAX)
		return 1;
	if (!a->quiet)
		warn("%s: is large; 'brick history add %s' keeps its summary in the history",
			a->options.output, a->options.output);
	return 0;
}

void record_history(const struct record_arguments *a, const struct recorder_result *r)
{
	struct load_error error = {0};
	struct history_run entry;
	struct run *run = NULL;
	SCOPED char *where = a->db ? NULL : history_default();

	if ((a->db || where) && is_worth_it(a, r) &&
		run_load(&run, a->options.output, &error) == 0) {
		history_entry_init(&entry, run, a->options.output);
		if (!a->label || history_run_label(&entry, a->label) == 0)
			history_runs_keep(a->db, &entry);
		history_run_fini(&entry);
		run_destroy(run);
	}
}
