/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions of the database: migrations[n] makes version n + 1 of version n. A new file begins at
 * version 0, so it takes the same way as an old file. Tables and `user_version` change in one
 * transaction. Entries of migrations never change, as files were made by them: append a new one.
 */
#include "analysis/history/sqlite_db.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/history/fleet_sums.h"
#include "analysis/history/history_workload.h"
#include "base/clock_ns.h"
#include "base/user_path.h"

enum {
	APPLICATION = 0x4272696b, /* "Brik": PRAGMA application_id of our files */
	PATIENCE_MS = 10000,	  /* for other writers, where history_open.patience_ms is 0 */
	OPERATIONS_BETWEEN = 100, /* calls of history_open.converting: some windows' sums */
};

static const char *const migrations[] = {
	"CREATE TABLE runs(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
	" kind TEXT NOT NULL, host TEXT NOT NULL, cpu TEXT NOT NULL, engine TEXT NOT NULL,"
	" version TEXT NOT NULL, command TEXT NOT NULL, path TEXT NOT NULL,"
	" start_ns INTEGER NOT NULL, wall_ns INTEGER NOT NULL, ttft_ns INTEGER NOT NULL,"
	" exit_code INTEGER NOT NULL, value REAL NOT NULL);"
	"CREATE INDEX runs_by_time ON runs(start_ns);"
	"CREATE TABLE facts(run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
	" key TEXT NOT NULL, value TEXT NOT NULL);"
	"CREATE INDEX facts_of_run ON facts(run);"
	"CREATE TABLE labels(run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
	" label TEXT NOT NULL, PRIMARY KEY(run, label)) WITHOUT ROWID;"
	"CREATE INDEX runs_of_label ON labels(label, run);"
	"CREATE TABLE series(number INTEGER PRIMARY KEY, phase TEXT NOT NULL, kind TEXT NOT NULL,"
	" name TEXT NOT NULL, UNIQUE(phase, kind, name));"
	/* the key begins with series, so that the rows of a trend lie side by side */
	"CREATE TABLE parts(series INTEGER NOT NULL REFERENCES series,"
	" run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, count INTEGER NOT NULL,"
	" tokens INTEGER NOT NULL, total_ns INTEGER NOT NULL, typical_tokens INTEGER NOT NULL,"
	" typical_ns INTEGER NOT NULL, united REAL NOT NULL, histogram TEXT NOT NULL,"
	" PRIMARY KEY(series, run)) WITHOUT ROWID;"
	"CREATE INDEX parts_of_run ON parts(run);",
	"ALTER TABLE runs ADD COLUMN batch TEXT NOT NULL DEFAULT '';"
	"CREATE INDEX runs_by_batch ON runs(batch) WHERE batch != '';",
	/* of older runs only the command is known: history_run_describe() does the same then */
	"ALTER TABLE runs ADD COLUMN model TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE runs ADD COLUMN workload TEXT NOT NULL DEFAULT '';"
	"UPDATE runs SET workload = brick_strip(command);",
	"ALTER TABLE runs ADD COLUMN rank INTEGER NOT NULL DEFAULT -1;",
	"CREATE TABLE members(number INTEGER PRIMARY KEY, workload TEXT NOT NULL,"
	" host TEXT NOT NULL, rank INTEGER NOT NULL, engine TEXT NOT NULL, cpu TEXT NOT NULL,"
	" model TEXT NOT NULL, UNIQUE(workload, host, rank, engine, cpu, model));"
	"CREATE TABLE fleet(hour INTEGER NOT NULL, member INTEGER NOT NULL REFERENCES members,"
	" runs INTEGER NOT NULL, newest_ns INTEGER NOT NULL, sums BLOB NOT NULL,"
	" PRIMARY KEY(hour, member)) WITHOUT ROWID;" FLEET_ADD_MEMBERS("1") ";" FLEET_ADD_SUMS(
		"1") ";"
		     "CREATE INDEX facts_slowest ON facts(key, "
		     "CAST(value AS INTEGER))"
		     " WHERE key >= 'slowest ' AND key < 'slowest!'",
};

/* The newest version that this Brick knows. */
static int sqlite_db_version(void)
{
	return sizeof(migrations) / sizeof(*migrations);
}

/* SQLite's error as one of ours, with the attempt that failed. */
static int sqlite_db_fail(struct history_store *store, sqlite3 *db, const char *tried)
{
	int code = sqlite3_errcode(db) & 0xff;

	switch (code) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return history_fail(store, -EBUSY,
			"%s: is locked by another process, which did not let go of it in time",
			store->where);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return history_fail(store, -EILSEQ,
			"%s: is no history, or is damaged (%s); it was left as it is. sqlite3 FILE "
			".recover may save what is in it; --db names another",
			store->where, sqlite3_errmsg(db));
	case SQLITE_FULL:
		return history_fail(store, -ENOSPC, "%s: the disk is full", store->where);
	case SQLITE_NOMEM:
		return history_fail(store, -ENOMEM, "not enough memory");
	case SQLITE_READONLY:
		return history_fail(store, -EROFS, "%s: cannot be written to", store->where);
	default:
		return history_fail(
			store, -EIO, "%s: %s: %s", store->where, sqlite3_errmsg(db), tried);
	}
}

int sqlite_db_execute(struct history_store *store, sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : sqlite_db_fail(store, db, sql);
}

int sqlite_db_prepare(struct history_store *store, sqlite3 *db, sqlite3_stmt **out, const char *sql,
	const char *types, ...)
{
	va_list args;
	int rc = sqlite3_prepare_v2(db, sql, -1, out, NULL);

	va_start(args, types);
	for (int i = 1; rc == SQLITE_OK && types[i - 1]; i++) {
		if (types[i - 1] == 's')
			rc = sqlite3_bind_text(
				*out, i, va_arg(args, const char *), -1, SQLITE_TRANSIENT);
		else if (types[i - 1] == 'i')
			rc = sqlite3_bind_int64(*out, i, va_arg(args, sqlite3_int64));
		else
			rc = sqlite3_bind_double(*out, i, va_arg(args, double));
	}
	va_end(args);
	if (rc == SQLITE_OK)
		return 0;
	rc = sqlite_db_fail(store, db, sql);
	sqlite3_finalize(*out);
	*out = NULL;
	return rc;
}

int sqlite_db_step(struct history_store *store, sqlite3 *db, sqlite3_stmt *statement)
{
	int rc = sqlite3_step(statement);

	return rc == SQLITE_ROW	   ? 1
	       : rc == SQLITE_DONE ? 0
				   : sqlite_db_fail(store, db, sqlite3_sql(statement));
}

int sqlite_db_finish(struct history_store *store, sqlite3 *db, sqlite3_stmt *statement)
{
	int rc = sqlite_db_step(store, db, statement);

	sqlite3_finalize(statement);
	return rc < 0 ? rc : 0;
}

/* The number that a PRAGMA or SELECT gives; negative: an error. */
static sqlite3_int64 pragma(struct history_store *store, sqlite3 *db, const char *sql)
{
	SCOPED_TO(sqlite3_finalize) sqlite3_stmt *statement = NULL;
	int rc = sqlite_db_prepare(store, db, &statement, sql, "");

	if (rc == 0)
		rc = sqlite_db_step(store, db, statement);
	return rc > 0 ? sqlite3_column_int64(statement, 0) : rc;
}

/* Refuses files of other programs and of newer versions. An empty file is a new history. */
static int check_origin(struct history_store *store, sqlite3 *db, sqlite3_int64 version)
{
	sqlite3_int64 application = pragma(store, db, "PRAGMA application_id");
	sqlite3_int64 tables = pragma(store, db, "SELECT count(*) FROM sqlite_master");

	if (application < 0 || tables < 0)
		return application < 0 ? (int)application : (int)tables;
	if (tables && application != APPLICATION)
		return history_fail(store, -EILSEQ,
			"%s: is a database of another program; it was left as it is", store->where);
	if (version > sqlite_db_version())
		return history_fail(store, -EPROTO,
			"%s: was written by a newer Brick (version %lld of histories, this one "
			"knows %d); it was left as it is",
			store->where, (long long)version, sqlite_db_version());
	return 0;
}

/* history_command_strip() for SQL. */
static void strip(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *command = (const char *)sqlite3_value_text(values[0]);
	char *copy = strdup(command ? command : "");

	if (!copy) {
		sqlite3_result_error_nomem(context);
		return;
	}
	history_command_strip(copy);
	sqlite3_result_text(context, copy, -1, free);
}

int sqlite_db_migrate(struct history_store *store, sqlite3 *db, int version)
{
	int rc = sqlite_db_execute(store, db, "BEGIN IMMEDIATE");
	sqlite3_int64 now = rc < 0 ? rc : pragma(store, db, "PRAGMA user_version");
	char sql[96];

	if (now < 0)
		return (int)now;
	sqlite3_create_function(db, "brick_strip", 1, SQLITE_UTF8, NULL, strip, NULL, NULL);
	for (int i = (int)now; i < version && rc == 0; i++)
		rc = sqlite_db_execute(store, db, migrations[i]);
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %d; PRAGMA application_id = %d; COMMIT",
		(int)now > version ? (int)now : version, APPLICATION);
	if (rc == 0)
		rc = sqlite_db_execute(store, db, sql);
	if (rc < 0)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/*
 * Lets writers go on while others read. SQLite refuses some of several processes that ask for it at
 * the same time, so each tries again.
 */
static int write_ahead(struct history_store *store, sqlite3 *db)
{
	enum { TRIES = 100, PAUSE_MS = 20 };
	int rc = SQLITE_BUSY;

	for (int i = 0; i < TRIES && rc == SQLITE_BUSY; i++) {
		if (i)
			sqlite3_sleep(PAUSE_MS);
		rc = sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
	}
	return rc == SQLITE_OK ? 0 : sqlite_db_fail(store, db, "PRAGMA journal_mode");
}

/*
 * The database's version, or a negative errno. One transaction reads it and the origin, as another
 * process may be making the tables.
 */
static sqlite3_int64 version_of(struct history_store *store, sqlite3 *db)
{
	int rc = sqlite_db_execute(store, db, "BEGIN");
	sqlite3_int64 version = rc < 0 ? rc : pragma(store, db, "PRAGMA user_version");

	rc = version < 0 ? (int)version : check_origin(store, db, version);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL); /* nothing was written */
	return rc < 0 ? rc : version;
}

struct conversion {
	const struct history_open *how;
	const char *where;
	uint64_t begin_ns;
};

/* SQLite calls it now and then (sqlite3_progress_handler()). Returns 0: SQLite goes on. */
static int conversion_goes_on(void *context)
{
	const struct conversion *c = context;

	c->how->converting(c->where, monotonic_ns() - c->begin_ns);
	return 0;
}

static int sqlite_db_convert(
	struct history_store *store, sqlite3 *db, const struct history_open *how)
{
	struct conversion c = {how, store->where, monotonic_ns()};

	if (how->converting)
		sqlite3_progress_handler(db, OPERATIONS_BETWEEN, conversion_goes_on, &c);
	int rc = sqlite_db_migrate(store, db, sqlite_db_version());
	sqlite3_progress_handler(db, 0, NULL, NULL);
	return rc;
}

/* Checks a file, converts it if it is older, and sets the connection's options. */
static int prepare_file(struct history_store *store, sqlite3 *db, const struct history_open *how)
{
	sqlite3_int64 version = version_of(store, db);
	int rc = version < 0 ? (int)version : 0;

	fleet_sums_functions(db);
	if (rc == 0 && version < sqlite_db_version()) {
		rc = write_ahead(store, db);
		if (rc == 0)
			rc = version ? sqlite_db_convert(store, db, how)
				     : sqlite_db_migrate(store, db, sqlite_db_version());
	}
	if (rc == 0)
		rc = sqlite_db_execute(
			store, db, "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL");
	return rc;
}

int sqlite_db_open(struct history_store *store, sqlite3 **db, const struct history_open *how)
{
	int flags = SQLITE_OPEN_READWRITE | (how->create ? SQLITE_OPEN_CREATE : 0);

	if (how->create)
		user_path_make(store->where);
	else if (access(store->where, F_OK))
		return history_fail(store, -ENOENT, "%s: there is no history yet", store->where);
	if (sqlite3_open_v2(store->where, db, flags, NULL) != SQLITE_OK)
		return history_fail(store, -EIO, "%s: %s", store->where,
			*db ? strerror(sqlite3_system_errno(*db)) : "not enough memory");
	sqlite3_busy_timeout(*db, how->patience_ms ? (int)how->patience_ms : PATIENCE_MS);
	return prepare_file(store, *db, how);
}
