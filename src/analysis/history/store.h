/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores of runs: one interface, and an engine for each kind of place, SQLite (a file) and
 * ClickHouse (a server). Functions return 0 or a negative errno; history_store_error() then has the
 * reason as a sentence. A callback's errno is returned without a sentence. One thread at a time;
 * any number of processes.
 */
#pragma once

#include "analysis/history/history_query.h"
#include "base/scope.h"

struct history_store;

/*
 * where: "clickhouse+http://HOST:PORT/DATABASE" or a path. *out is set also after an error, to read
 * the reason and to be closed; it stays as it was if there was no memory for it. -EINVAL: a place
 * that is no address, or that has a password in it.
 */
int history_store_open(
	struct history_store **out, const char *where, const struct history_open *how);
void history_store_close(struct history_store *store);
SCOPE_OF(history_store_close, struct history_store)

/* The last failure's reason, valid until the next call; "": none. */
const char *history_store_error(const struct history_store *store);

/*
 * Adds a run, unless the store has its id already. A run for a server goes to the disk only, until
 * history_store_flush().
 */
int history_store_add(struct history_store *store, const struct history_run *run);

/* Waits until all added runs are stored. -EAGAIN: they stay on the disk for a later flush. */
int history_store_flush(struct history_store *store);

/* Runs, newest first. Their parts are in the order of history_run_order(). */
int history_store_list(struct history_store *store, const struct history_filter *filter,
	history_run_fn each, void *context);

/*
 * A part over runs, oldest first. part: its phase, kind and name only. Runs without typical steps
 * are left out; a server without filter->limit gives the newest 20000 points.
 */
int history_store_points(struct history_store *store, const struct history_filter *filter,
	const struct history_part *part, history_point_fn each, void *context);

/* Workloads on machines, by their newest run: the newest first. */
int history_store_workloads(struct history_store *store, const struct history_filter *filter,
	history_workload_fn each, void *context);

/* Parts of kinds "step", "brick" and "request", summed by groups, group by group. phase: NULL: all.
 */
int history_store_groups(struct history_store *store, const struct history_filter *filter,
	enum history_by by, const char *phase, history_group_fn each, void *context);

/* Adds a label to the run of this id, or removes it. An unknown id is no error. */
int history_store_label(
	struct history_store *store, const char *id, const char *label, bool remove);
/* Removes the run of this id with all that belongs to it. An unknown id is no error. */
int history_store_remove(struct history_store *store, const char *id);

/*
 * Removes runs that began before a time, in ns since 1970; a server removes whole months only.
 * *count: removed runs.
 */
int history_store_expire(struct history_store *store, uint64_t before_ns, uint64_t *count);

/*
 * The default place: the environment's BRICK_DB, else a file in the user's data directory. The
 * caller frees. NULL: BRICK_DB is "none", there is no such directory, or no memory.
 */
char *history_default(void);
