/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a database of SQLite, brings it to this version, and queries it. For this room only. */
#pragma once

#include <sqlite3.h>
#include "base/scope.h"
#include "analysis/history/history_engine.h"

static inline void scope_sqlite3_finalize(sqlite3_stmt *const *statement)
{
	sqlite3_finalize(*statement);
}

/* -EBUSY: others write, -EPROTO: a newer version, -EILSEQ: damaged, or no history; -ENOENT. */
int sqlite_db_open(struct history_store *store, sqlite3 **db, const struct history_open *how);

/* Brings the database to a version in one transaction; does nothing if it is there already. */
int sqlite_db_migrate(struct history_store *store, sqlite3 *db, int version);

int sqlite_db_execute(struct history_store *store, sqlite3 *db, const char *sql);

/*
 * Makes a statement and binds its parameters. `types` has a letter for each: s (const char *, NULL
 * is NULL), i (uint64_t or int64_t, cast to sqlite3_int64), d (double).
 */
int sqlite_db_prepare(struct history_store *store, sqlite3 *db, sqlite3_stmt **out, const char *sql,
	const char *types, ...);

/* Run a statement to its end, and finalise it. */
int sqlite_db_finish(struct history_store *store, sqlite3 *db, sqlite3_stmt *statement);

/* 1: there is a row; 0: there are no more; negative: an error. */
int sqlite_db_step(struct history_store *store, sqlite3 *db, sqlite3_stmt *statement);
