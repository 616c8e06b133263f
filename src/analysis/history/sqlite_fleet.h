/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of windows by hour in SQLite (fleet_sums.h), so that a question about a fleet reads no
 * single windows; for src/analysis/history/ only. Functions return a negative errno after writing
 * the reason into store->error. One thread at a time.
 */
#pragma once

#include <sqlite3.h>
#include "analysis/history/history_engine.h"

/* The new run of this number goes into the sums, if it is a window. In a transaction. */
int sqlite_fleet_add(struct history_store *store, sqlite3_int64 run_number);

/* Remove the run of an id, and all runs that began before a time, also from the sums. In a
 * transaction. */
int sqlite_fleet_remove(struct history_store *store, const char *id);
int sqlite_fleet_expire(struct history_store *store, uint64_t before_ns, uint64_t *count);

/* True if sums can answer: the filter asks for windows, by hours, and for no single ones. */
bool sqlite_fleet_answers(const struct history_filter *filter);

/* As history_store_workloads() and history_store_groups(). */
int sqlite_fleet_workloads(struct history_store *store, const struct history_filter *filter,
	history_workload_fn each, void *context);
int sqlite_fleet_groups(struct history_store *store, const struct history_filter *filter,
	enum history_by by, const char *phase, history_group_fn each, void *context);
