/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds runs of a history by the references that commands take, and makes entries of recordings.
 * References: @last (the newest run, with the others of its batch), @last~2 (two runs before it),
 * @3 (the third newest run), @NAME (all runs with that label, or of that batch), @1a2b (the run
 * whose id begins with 1a2b). Functions end the program with a message on errors, unless they say
 * otherwise. Main thread.
 */
#pragma once

#include <stdbool.h>
#include "analysis/history/history_run.h"
#include "analysis/history/store.h"
#include "base/array.h"
#include "trace/run.h"

struct history_runs {
	ARRAY(struct history_run) list; /* owned */
};

/* where: the value of --db, or NULL. create: make a store that does not exist. */
struct history_store *history_runs_open(const char *where, bool create);
struct history_store *history_runs_open_how(const char *where, const struct history_open *how);

/* A store's callback: moves `run` to the end of a struct history_runs. 0 or -ENOMEM. */
int history_runs_take(void *runs, struct history_run *run);

/* Ends the program with the store's error if rc is negative. */
void history_runs_check(const struct history_store *store, int rc);

/* Add the runs of a reference, whole, oldest first; the program ends if there is none. */
void history_runs_find(struct history_runs *runs, struct history_store *store, const char *name);

/*
 * From index `from` on, keeps only runs with recorded tokens, and plain runs with a wall time.
 * name: for the message that ends the program if no run is left.
 */
void history_runs_keep_measured(struct history_runs *runs, size_t from, const char *name);

/*
 * From index `from` on, keeps only runs with the workload and machine of the newest run; plain
 * runs, which know less of their workload, are compared with the newest plain run. A warning names
 * the runs of `name` that were left out.
 */
void history_runs_keep_alike(struct history_runs *runs, size_t from, const char *name);

void history_runs_fini(struct history_runs *runs);

static inline bool is_history_reference(const char *operand)
{
	return operand[0] == '@' && operand[1];
}

/* The recording of the first run of a reference; the caller frees. */
char *history_runs_recording(const char *name);

/*
 * The newest measured noise floor of a host, as a ratio, and when it was measured; 0: none was. No
 * message, and the program goes on.
 */
double history_runs_floor(const char *where, const char *host, uint64_t *measured_ns);

/*
 * Adds earlier recordings of the run's workload on its machine, newest first, whole; none if there
 * is no history. No message, and the program goes on.
 */
void history_runs_earlier(struct history_runs *runs, const struct history_run *run);

/*
 * Add a run to the history, with a warning if that fails; never ends the program. where: as for
 * history_runs_open(). Returns 0 if the run was added, or if there is no history at all.
 */
int history_runs_keep(const char *where, const struct history_run *run);

/* Make an entry of a recording. path: the file in which it stays; NULL: the file will go. */
void history_entry_init(struct history_run *entry, const struct run *run, const char *path);

/*
 * Make an entry of a window, to which the run was narrowed; without has_steps it has no parts. The
 * caller sets times, batch, and then the id.
 */
void history_entry_window(
	struct history_run *entry, const struct run *run, const char *path, bool has_steps);

/* An empty entry of this machine and moment, for numbers without a recording. */
void history_entry_here(struct history_run *entry, const char *kind, const char *command);

/* history_text_set() with the value made valid UTF-8; without memory it ends the program. */
void history_entry_text(char **text, const char *value);
