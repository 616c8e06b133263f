/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of SQLite: what writes. What asks is in sqlite_read.c. */
#include "analysis/history/sqlite_state.h"

#include <stdlib.h>

#define INTEGER(value) ((sqlite3_int64)(value))

static int open_store(struct history_store *store, const struct history_open *how)
{
	sqlite3 *db = NULL;
	int rc = sqlite_db_open(store, &db, how);

	store->state = db;
	return rc;
}

static void close_store(struct history_store *store)
{
	sqlite3_close(store->state);
}

static int execute(struct history_store *store, const char *sql)
{
	return sqlite_db_execute(store, store->state, sql);
}

/* Its number; 0: it is there already. */
static sqlite3_int64 add_head(struct history_store *store, const struct history_run *run)
{
	sqlite3_stmt *s;
	sqlite3 *db = store->state;
	int rc = sqlite_db_prepare(store, db, &s,
		"INSERT OR IGNORE INTO runs(id, kind, host, cpu, engine, version, command, path,"
		" batch, start_ns, wall_ns, ttft_ns, exit_code, value)"
		" VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		"sssssssssiiiid", run->id, run->kind, run->host, run->cpu, run->engine,
		run->version, run->command, run->path, run->batch, INTEGER(run->start_ns),
		INTEGER(run->wall_ns), INTEGER(run->ttft_ns), INTEGER(run->exit_code), run->value);

	if (rc == 0)
		rc = sqlite_db_finish(store, db, s);
	return rc < 0 ? rc : sqlite3_changes(db) ? sqlite3_last_insert_rowid(db) : 0;
}

static int add_facts(
	struct history_store *store, sqlite3_int64 number, const struct history_run *run)
{
	sqlite3 *db = store->state;
	sqlite3_stmt *s;
	int rc = 0;

	for (size_t i = 0; i < run->facts.count && rc == 0; i++) {
		rc = sqlite_db_prepare(store, db, &s, "INSERT INTO facts VALUES(?, ?, ?)", "iss",
			number, run->facts.items[i].key, run->facts.items[i].value);
		if (rc == 0)
			rc = sqlite_db_finish(store, db, s);
	}
	for (size_t i = 0; i < run->labels.count && rc == 0; i++) {
		rc = sqlite_db_prepare(store, db, &s, "INSERT OR IGNORE INTO labels VALUES(?, ?)",
			"is", number, run->labels.items[i]);
		if (rc == 0)
			rc = sqlite_db_finish(store, db, s);
	}
	return rc;
}

static int add_part(struct history_store *store, sqlite3_int64 number, const struct history_part *p)
{
	sqlite3 *db = store->state;
	SCOPED char *histogram = history_histogram_text(&p->histogram);
	sqlite3_stmt *s;
	int rc = histogram ? 0 : history_fail(store, -ENOMEM, "not enough memory");

	if (rc == 0)
		rc = sqlite_db_prepare(store, db, &s,
			"INSERT OR IGNORE INTO series(phase, kind, name) VALUES(?, ?, ?)", "sss",
			p->phase, p->kind, p->name);
	if (rc == 0)
		rc = sqlite_db_finish(store, db, s);
	if (rc == 0)
		rc = sqlite_db_prepare(store, db, &s,
			"INSERT OR REPLACE INTO parts SELECT number, ?, ?, ?, ?, ?, ?, ?, ?"
			" FROM series WHERE phase = ? AND kind = ? AND name = ?",
			"iiiiiidssss", number, INTEGER(p->count), INTEGER(p->tokens),
			INTEGER(p->total_ns), INTEGER(p->typical_tokens), INTEGER(p->typical_ns),
			p->united, histogram, p->phase, p->kind, p->name);
	if (rc == 0)
		rc = sqlite_db_finish(store, db, s);
	return rc;
}

static int add_all(struct history_store *store, const struct history_run *run)
{
	sqlite3_int64 number = add_head(store, run);
	int rc = number < 0 ? (int)number : 0;

	if (number > 0)
		rc = add_facts(store, number, run);
	for (size_t i = 0; i < run->parts.count && number > 0 && rc == 0; i++)
		rc = add_part(store, number, &run->parts.items[i]);
	return rc;
}

static int add(struct history_store *store, const struct history_run *run)
{
	int rc = execute(store, "BEGIN IMMEDIATE");

	if (rc < 0)
		return rc;
	rc = add_all(store, run);
	if (rc == 0)
		rc = execute(store, "COMMIT");
	if (rc < 0)
		sqlite3_exec(store->state, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

static int change(struct history_store *store, const char *sql, const char *id, const char *label)
{
	sqlite3_stmt *s;
	int rc = sqlite_db_prepare(store, store->state, &s, sql, label ? "ss" : "s", id, label);

	return rc < 0 ? rc : sqlite_db_finish(store, store->state, s);
}

static int label(struct history_store *store, const char *id, const char *text, int remove)
{
	return change(store,
		remove ? "DELETE FROM labels WHERE run = (SELECT number FROM runs WHERE id = ?)"
			 " AND label = ?"
		       : "INSERT OR IGNORE INTO labels SELECT number, ?2 FROM runs WHERE id = ?1",
		id, text);
}

static int remove_run(struct history_store *store, const char *id)
{
	return change(store, "DELETE FROM runs WHERE id = ?", id, NULL);
}

static int expire(struct history_store *store, uint64_t before_ns, uint64_t *count)
{
	sqlite3 *db = store->state;
	sqlite3_stmt *s;
	int rc = sqlite_db_prepare(
		store, db, &s, "DELETE FROM runs WHERE start_ns < ?", "i", INTEGER(before_ns));

	rc = rc < 0 ? rc : sqlite_db_finish(store, db, s);
	*count = rc < 0 ? 0 : (uint64_t)sqlite3_changes(db);
	return rc;
}

const struct history_engine history_sqlite = {
	.open = open_store,
	.close = close_store,
	.add = add,
	.list = sqlite_list,
	.points = sqlite_points,
	.groups = sqlite_groups,
	.label = label,
	.remove = remove_run,
	.expire = expire,
};
