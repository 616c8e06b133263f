/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores of histories of runs: one interface, whose engines are entries of a table. SQLite (a file)
 * and ClickHouse (a server). Functions return 0 or a negative errno, with the reason as a sentence
 * in history_store_error(). One thread at a time; any number of processes.
 */
#pragma once

#include "analysis/history/history_query.h"
#include "base/scope.h"

struct history_store;

/* "clickhouse+http://...", or a path. *out is there, to say why, unless the answer is -ENOMEM. */
int history_store_open(
	struct history_store **out, const char *where, const struct history_open *how);
void history_store_close(struct history_store *store);
SCOPE_OF(history_store_close, struct history_store)

const char *history_store_error(const struct history_store *store);

/*
 * A run that is there already is not added again. Does not wait for a server: see
 * history_store_flush().
 */
int history_store_add(struct history_store *store, const struct history_run *run);

/*
 * Wait until all added runs are stored; -EAGAIN: they are kept, and will be sent some other time.
 */
int history_store_flush(struct history_store *store);

/* Newest first. */
int history_store_list(struct history_store *store, const struct history_filter *filter,
	history_run_fn each, void *context);

/* A part over runs, oldest first. */
int history_store_points(struct history_store *store, const struct history_filter *filter,
	const struct history_part *part, history_point_fn each, void *context);

/* Workloads on machines, the one of the newest run first. */
int history_store_workloads(struct history_store *store, const struct history_filter *filter,
	history_workload_fn each, void *context);

/* Steps and bricks of a phase by host, or by engine; with histograms of steps only. */
int history_store_groups(struct history_store *store, const struct history_filter *filter,
	bool by_engine, const char *phase, history_group_fn each, void *context);

int history_store_label(
	struct history_store *store, const char *id, const char *label, bool remove);
int history_store_remove(struct history_store *store, const char *id);

/* Remove runs that began before that, from a server whole months only; *count: their number. */
int history_store_expire(struct history_store *store, uint64_t before_ns, uint64_t *count);

/*
 * The history's place, if nobody says otherwise: BRICK_DB, else a file in the user's data
 * directory. The caller frees. NULL: there is none, or BRICK_DB says "none".
 */
char *history_default(void);
