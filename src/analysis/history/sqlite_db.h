/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a database of SQLite, brings it to this version, and runs statements; for
 * src/analysis/history/ only. Functions return a negative errno after writing the reason into
 * store->error. One thread at a time.
 */
#pragma once

#include <sqlite3.h>
#include "base/scope.h"
#include "analysis/history/history_engine.h"

static inline void scope_sqlite3_finalize(sqlite3_stmt *const *statement)
{
	sqlite3_finalize(*statement);
}

/*
 * The caller closes *db, also after an error. -ENOENT: no file, and how->create is false; -EBUSY:
 * other processes write for too long; -EPROTO: written by a newer Brick; -EILSEQ: damaged, or no
 * history; -EROFS, -ENOSPC, -ENOMEM, -EIO.
 */
int sqlite_db_open(struct history_store *store, sqlite3 **db, const struct history_open *how);

/*
 * Brings the database up to a version in one transaction. A database of this or a newer version
 * stays as it is.
 */
int sqlite_db_migrate(struct history_store *store, sqlite3 *db, int version);

/* Runs statements without parameters; rows are ignored. */
int sqlite_db_execute(struct history_store *store, sqlite3 *db, const char *sql);

/*
 * Makes a statement and binds its parameters, with copies of texts. `types` has a letter for each:
 * s (const char *; NULL binds NULL), i (cast to sqlite3_int64 by the caller), d (double). The
 * caller finalises *out; after an error it is NULL.
 */
int sqlite_db_prepare(struct history_store *store, sqlite3 *db, sqlite3_stmt **out, const char *sql,
	const char *types, ...);

/* Runs a statement that gives no rows, and finalises it, also after an error. */
int sqlite_db_finish(struct history_store *store, sqlite3 *db, sqlite3_stmt *statement);

/* Goes to the next row. 1: there is a row; 0: there are no more; negative: an error. */
int sqlite_db_step(struct history_store *store, sqlite3 *db, sqlite3_stmt *statement);
