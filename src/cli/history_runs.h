/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of a history, as commands name them: @last (the newest, with the others of its batch),
 * @last~2 (the one two before), @3 (the third newest), @NAME (all runs with that label, or of that
 * batch), @1a2b (the run whose id begins with it); and recordings as entries of a history. Ends the
 * program with a message when it cannot. Main thread.
 */
#pragma once

#include <stdbool.h>
#include "analysis/history/history_run.h"
#include "analysis/history/store.h"
#include "base/array.h"
#include "trace/run.h"

struct history_runs {
	ARRAY(struct history_run) list;
};

/* where: the value of --db, or NULL. create: else it must be there. */
struct history_store *history_runs_open(const char *where, bool create);

/* For a store's lists: moves a run to the end of a struct history_runs. */
int history_runs_take(void *runs, struct history_run *run);

/* Ends the program with the store's error if rc is negative. */
void history_runs_check(const struct history_store *store, int rc);

/* Add the runs of a reference, whole, oldest first; the program ends if there is none. */
void history_runs_find(struct history_runs *runs, struct history_store *store, const char *name);

/*
 * Keeps only runs, from `from` on, whose tokens were recorded, or whose wall time is known as they
 * ran plainly; name: for the message if there are none.
 */
void history_runs_keep_measured(struct history_runs *runs, size_t from, const char *name);

/*
 * Keeps only runs, from `from` on, of the newest one's workload and machine; of plain runs, which
 * know less of their workload, those of the newest plain one's. A warning names the runs of `name`
 * that were left out.
 */
void history_runs_keep_alike(struct history_runs *runs, size_t from, const char *name);

void history_runs_fini(struct history_runs *runs);

static inline bool is_history_reference(const char *operand)
{
	return operand[0] == '@' && operand[1];
}

/* The recording of the first run of a reference; the caller frees. */
char *history_runs_recording(const char *name);

/* The newest floor of a host, as a ratio; 0: none was measured. Quiet. */
double history_runs_floor(const char *where, const char *host, uint64_t *measured_ns);

/*
 * Keep a run, and say so with a warning if that cannot be; never ends the program. where: as above.
 * Returns 0 if it is kept, or there is no history at all.
 */
int history_runs_keep(const char *where, const struct history_run *run);

/* path: where the recording is, whatever it was loaded by; NULL: it will not be kept. */
void history_entry_init(struct history_run *entry, const struct run *run, const char *path);

/* An empty entry of this machine and moment, for numbers without a recording. */
void history_entry_here(struct history_run *entry, const char *kind, const char *command);

/* history_text_set() that ends the program; makes valid UTF-8 of it. */
void history_entry_text(char **text, const char *value);
