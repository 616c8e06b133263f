/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of windows by hour in SQLite, so that a question about a fleet reads no single windows; for
 * src/analysis/history/ only. A member is a rank of a host with an engine and a workload; a row of
 * `fleet` has all sums of one member and hour. Functions return a negative errno after writing the
 * reason into store->error. One thread at a time.
 */
#pragma once

#include <sqlite3.h>
#include "analysis/history/history_engine.h"

#define SQLITE_FLEET_HOUR_NS "3600000000000"
#define SQLITE_FLEET_MEMBER "workload, host, rank, engine, cpu, model"

/*
 * Adds the windows that a condition, about `runs r`, selects. Migrations use these texts, so they
 * stay as they are; the two are one step.
 */
#define SQLITE_FLEET_ADD_MEMBERS(condition)                                                  \
	"INSERT OR IGNORE INTO members(" SQLITE_FLEET_MEMBER ") SELECT " SQLITE_FLEET_MEMBER \
	" FROM runs r WHERE kind = '" HISTORY_WINDOW "' AND " condition
#define SQLITE_FLEET_ADD_SUMS(condition)                                                       \
	"INSERT INTO fleet SELECT start_ns / " SQLITE_FLEET_HOUR_NS ", m.number, 1, start_ns," \
	" (SELECT brick_sums(series, count, tokens, total_ns, typical_tokens, typical_ns,"     \
	" histogram) FROM parts JOIN series s ON s.number = series WHERE run = r.number"       \
	" AND s.kind IN ('step', 'brick', 'request'))"                                         \
	" FROM runs r JOIN members m USING (" SQLITE_FLEET_MEMBER                              \
	") WHERE kind = '" HISTORY_WINDOW "' AND " condition                                   \
	" ON CONFLICT(hour, member) DO UPDATE SET runs = runs + 1,"                            \
	" newest_ns = max(newest_ns, excluded.newest_ns),"                                     \
	" sums = brick_sums_plus(sums, excluded.sums)"

/* Gives a connection the functions brick_sums() and brick_sums_plus() of SQL. */
void sqlite_fleet_functions(sqlite3 *db);

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
