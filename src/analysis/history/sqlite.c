/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of SQLite; store->state is the sqlite3. Tables are those of the migrations in
 * sqlite_db.c. A run is added or removed in one transaction. Writing comes first, then queries.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/history/sqlite_db.h"
#include "analysis/history/sqlite_fleet.h"
#include "base/number.h"

#define INTEGER(value) ((sqlite3_int64)(value))

static int sqlite_open_store(struct history_store *store, const struct history_open *how)
{
	sqlite3 *db = NULL;
	int rc = sqlite_db_open(store, &db, how);

	store->state = db;
	return rc;
}

static void sqlite_close_store(struct history_store *store)
{
	sqlite3_close(store->state);
}

static int execute(struct history_store *store, const char *sql)
{
	return sqlite_db_execute(store, store->state, sql);
}

/* The number of the new row; 0: the run is there already; negative: an errno. */
static sqlite3_int64 add_head(struct history_store *store, const struct history_run *run)
{
	sqlite3_stmt *s;
	sqlite3 *db = store->state;
	int rc = sqlite_db_prepare(store, db, &s,
		"INSERT OR IGNORE INTO runs(id, kind, host, cpu, engine, version, command, path,"
		" batch, model, workload, start_ns, wall_ns, ttft_ns, exit_code, rank, value)"
		" VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		"sssssssssssiiiiid", run->id, run->kind, run->host, run->cpu, run->engine,
		run->version, run->command, run->path, run->batch, run->model, run->workload,
		INTEGER(run->start_ns), INTEGER(run->wall_ns), INTEGER(run->ttft_ns),
		INTEGER(run->exit_code), INTEGER(run->rank), run->value);

	if (rc == 0)
		rc = sqlite_db_finish(store, db, s);
	return rc < 0 ? rc : sqlite3_changes(db) ? sqlite3_last_insert_rowid(db) : 0;
}

static int sqlite_add_facts(
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

static int sqlite_add_part(
	struct history_store *store, sqlite3_int64 number, const struct history_part *p)
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

static int sqlite_add_all(struct history_store *store, const struct history_run *run)
{
	sqlite3_int64 number = add_head(store, run);
	int rc = number < 0 ? (int)number : 0;

	if (number > 0)
		rc = sqlite_add_facts(store, number, run);
	for (size_t i = 0; i < run->parts.count && number > 0 && rc == 0; i++)
		rc = sqlite_add_part(store, number, &run->parts.items[i]);
	if (number > 0 && rc == 0 && !strcmp(run->kind, HISTORY_WINDOW))
		rc = sqlite_fleet_add(store, number);
	return rc;
}

/* Ends a transaction as it went until now. */
static int sqlite_end(struct history_store *store, int rc)
{
	if (rc == 0)
		rc = execute(store, "COMMIT");
	if (rc < 0)
		sqlite3_exec(store->state, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

static int sqlite_add(struct history_store *store, const struct history_run *run)
{
	int rc = execute(store, "BEGIN IMMEDIATE");

	return rc < 0 ? rc : sqlite_end(store, sqlite_add_all(store, run));
}

static int sqlite_label(struct history_store *store, const char *id, const char *text, bool remove)
{
	sqlite3_stmt *s;
	int rc = sqlite_db_prepare(store, store->state, &s,
		remove ? "DELETE FROM labels WHERE run = (SELECT number FROM runs WHERE id = ?)"
			 " AND label = ?"
		       : "INSERT OR IGNORE INTO labels SELECT number, ?2 FROM runs WHERE id = ?1",
		"ss", id, text);

	return rc < 0 ? rc : sqlite_db_finish(store, store->state, s);
}

static int sqlite_remove_run(struct history_store *store, const char *id)
{
	int rc = execute(store, "BEGIN IMMEDIATE");

	return rc < 0 ? rc : sqlite_end(store, sqlite_fleet_remove(store, id));
}

static int sqlite_expire(struct history_store *store, uint64_t before_ns, uint64_t *count)
{
	int rc = execute(store, "BEGIN IMMEDIATE");

	rc = rc < 0 ? rc : sqlite_end(store, sqlite_fleet_expire(store, before_ns, count));
	*count = rc < 0 ? 0 : *count;
	return rc;
}

/* Questions. */

/*
 * Selects the runs that match a filter. Parameters ?1 to ?15 are bound by prepare_filtered(), so
 * the order is the same there; NULL matches all. Queries number their own parameters from ?16.
 */
#define RUNS_THAT(condition, order)                                                             \
	"(SELECT * FROM runs r WHERE (?1 IS NULL OR substr(id, 1, length(?1)) = ?1)"            \
	" AND (?2 IS NULL OR number IN (SELECT run FROM labels WHERE label = ?2))"              \
	" AND (?3 IS NULL OR batch = ?3) AND (?4 IS NULL OR host = ?4)"                         \
	" AND CASE WHEN ?5 IS NULL THEN kind NOT IN ('floor', '" HISTORY_WINDOW                 \
	"') WHEN ?5 = '" HISTORY_TIMED "' THEN kind NOT IN ('floor', 'plain', '" HISTORY_WINDOW \
	"') ELSE kind = ?5 END"                                                                 \
	" AND (?6 IS NULL OR engine = ?6)"                                                      \
	" AND (?7 IS NULL OR instr(model, ?7)) AND (?8 IS NULL OR instr(command, ?8))"          \
	" AND (?9 IS NULL OR workload = ?9) AND (?10 IS NULL OR cpu = ?10)"                     \
	" AND start_ns >= ?13 AND " condition " ORDER BY " order                                \
	" DESC, id DESC LIMIT ?11 OFFSET ?12)"
#define RUNS_OF_FILTER                                                                   \
	RUNS_THAT("(?14 IS NULL OR EXISTS (SELECT * FROM facts f WHERE f.run = r.number" \
		  " AND key = '" HISTORY_SLOWEST "' || ?14"                              \
		  " AND CAST(f.value AS INTEGER) >= ?15))",                              \
		"start_ns")

/*
 * The same runs of a filter with a longest step, by way of the index of such facts, which the two
 * bounds of the key name: SQLite would go through runs by time, of which few may match.
 */
#define SLOWEST_FACTS(phase, ns)                                                                 \
	"FROM facts WHERE key = '" HISTORY_SLOWEST "' || " phase " AND key >= '" HISTORY_SLOWEST \
	"' AND key < 'slowest!' AND CAST(value AS INTEGER) >= " ns
#define RUNS_OF_SLOWEST \
	RUNS_THAT("number IN (SELECT run " SLOWEST_FACTS("?14", "?15") ")", "+start_ns")

#define LABELS_OF_RUN "(SELECT coalesce(group_concat(label), '') FROM labels WHERE run = r.number)"

static int prepare_filtered(struct history_store *store, sqlite3_stmt **s, const char *sql,
	const struct history_filter *f)
{
	uint64_t limit = f->limit ? f->limit : INT64_MAX;

	return sqlite_db_prepare(store, store->state, s, sql, "ssssssssssiiisi", f->id, f->label,
		f->batch, f->host, f->kind, f->engine, f->model, f->command, f->workload, f->cpu,
		(sqlite3_int64)limit, (sqlite3_int64)f->skip, (sqlite3_int64)f->since_ns,
		f->slowest_phase, (sqlite3_int64)f->slowest_ns);
}

static const char *text_at(sqlite3_stmt *s, int column)
{
	const char *value = (const char *)sqlite3_column_text(s, column);

	return value ? value : "";
}

static uint64_t sqlite_number_at(sqlite3_stmt *s, int column)
{
	sqlite3_int64 value = sqlite3_column_int64(s, column);

	return value > 0 ? (uint64_t)value : 0;
}

static int read_head(sqlite3_stmt *s, struct history_run *run)
{
	char **const texts[] = {&run->kind, &run->host, &run->cpu, &run->engine, &run->version,
		&run->command, &run->path, &run->batch, &run->model, &run->workload};
	int rc = 0;

	strncpy(run->id, text_at(s, 1), HISTORY_ID_BYTES - 1);
	for (int i = 0; i < 10 && rc == 0; i++)
		rc = history_text_set(texts[i], text_at(s, 2 + i));
	run->start_ns = sqlite_number_at(s, 12);
	run->wall_ns = sqlite_number_at(s, 13);
	run->ttft_ns = sqlite_number_at(s, 14);
	run->exit_code = sqlite3_column_int64(s, 15);
	run->rank = sqlite3_column_int64(s, 16);
	run->value = sqlite3_column_double(s, 17);
	return rc;
}

/* Columns that read_head() reads, in its order. */
#define HEAD                                                                                \
	"SELECT number, id, kind, host, cpu, engine, version, command, path, batch, model," \
	" workload, start_ns, wall_ns, ttft_ns, exit_code, rank, value FROM "

/* Columns that read_part() reads from `at` on, in its order. */
#define PART                                                                               \
	"phase, kind, name, count, tokens, total_ns, typical_tokens, typical_ns, united, " \
	"histogram"

static int read_part(sqlite3_stmt *s, int at, struct history_run *run)
{
	struct history_part *p =
		history_run_part(run, text_at(s, at), text_at(s, at + 1), text_at(s, at + 2));

	if (!p)
		return -ENOMEM;
	p->count = sqlite_number_at(s, at + 3);
	p->tokens = sqlite_number_at(s, at + 4);
	p->total_ns = sqlite_number_at(s, at + 5);
	p->typical_tokens = sqlite_number_at(s, at + 6);
	p->typical_ns = sqlite_number_at(s, at + 7);
	p->united = sqlite3_column_double(s, at + 8);
	return history_histogram_parse(&p->histogram, text_at(s, at + 9));
}

static int read_label(sqlite3_stmt *s, int at, struct history_run *run)
{
	return history_run_label(run, text_at(s, at));
}

static int read_fact(sqlite3_stmt *s, int at, struct history_run *run)
{
	return history_run_fact(run, text_at(s, at), text_at(s, at + 1));
}

/* Hands each row of a query about one run to `read`; the run's number is the only parameter. */
static int sqlite_read_rows(struct history_store *store, const char *sql, sqlite3_int64 run_number,
	int (*read)(sqlite3_stmt *s, int at, struct history_run *run), struct history_run *run)
{
	SCOPED_TO(sqlite3_finalize) sqlite3_stmt *s = NULL;
	int rc = sqlite_db_prepare(store, store->state, &s, sql, "i", run_number);

	if (rc < 0)
		return rc;
	while ((rc = sqlite_db_step(store, store->state, s)) > 0) {
		rc = read(s, 0, run);
		if (rc < 0)
			return history_fail(
				store, rc, "%s: what it holds is no history", store->where);
	}
	return rc;
}

static int read_lists(
	struct history_store *store, sqlite3_int64 run_number, struct history_run *run, bool whole)
{
	int rc = sqlite_read_rows(store, "SELECT label FROM labels WHERE run = ? ORDER BY label",
		run_number, read_label, run);

	if (rc == 0)
		rc = sqlite_read_rows(store,
			whole ? "SELECT " PART " FROM parts JOIN series ON series = number"
				" WHERE run = ?"
			      : "SELECT " PART " FROM series JOIN parts ON series = number"
				" WHERE kind = 'step' AND run = ?",
			run_number, read_part, run);
	if (rc == 0 && whole)
		rc = sqlite_read_rows(store,
			"SELECT key, value FROM facts WHERE run = ? ORDER BY rowid", run_number,
			read_fact, run);
	return rc;
}

static int sqlite_read_run(
	struct history_store *store, sqlite3_stmt *s, struct history_run *run, bool whole)
{
	int rc = history_run_init(run);

	if (rc < 0)
		return history_fail(store, rc, "not enough memory");
	rc = read_head(s, run);
	if (rc == 0)
		rc = read_lists(store, sqlite3_column_int64(s, 0), run, whole);
	if (rc < 0)
		history_run_fini(run);
	return rc;
}

/* 1: no more than some thousand windows have such a long step; 0: more, so the newest do. */
static int sqlite_slowest_are_few(struct history_store *store, const struct history_filter *f)
{
	enum { FEW = 20000 };
	SCOPED_TO(sqlite3_finalize) sqlite3_stmt *s = NULL;
	int rc = !f->slowest_phase ? 0
				   : sqlite_db_prepare(store, store->state, &s,
					     "SELECT count(*) FROM (SELECT 1 " SLOWEST_FACTS(
						     "?1", "?2") " LIMIT ?3)",
					     "sii", f->slowest_phase, INTEGER(f->slowest_ns),
					     INTEGER(FEW + 1));

	if (rc == 0 && s)
		rc = sqlite_db_step(store, store->state, s);
	return rc > 0 ? sqlite3_column_int64(s, 0) <= FEW : rc;
}

static int sqlite_list(struct history_store *store, const struct history_filter *filter,
	history_run_fn each, void *context)
{
	struct history_run run;
	SCOPED_TO(sqlite3_finalize) sqlite3_stmt *s = NULL;
	int rc = sqlite_slowest_are_few(store, filter);

	rc = rc < 0 ? rc
		    : prepare_filtered(
			      store, &s, rc ? HEAD RUNS_OF_SLOWEST : HEAD RUNS_OF_FILTER, filter);
	if (rc < 0)
		return rc;
	while ((rc = sqlite_db_step(store, store->state, s)) > 0) {
		rc = sqlite_read_run(store, s, &run, filter->whole);
		if (rc < 0)
			break;
		rc = each(context, &run);
		history_run_fini(&run);
		if (rc < 0)
			break;
	}
	return rc;
}

static int sqlite_points(struct history_store *store, const struct history_filter *filter,
	const struct history_part *part, history_point_fn each, void *context)
{
	SCOPED_TO(sqlite3_finalize) sqlite3_stmt *s = NULL;
	int rc = prepare_filtered(store, &s,
		"SELECT r.id, r.host, r.engine, " LABELS_OF_RUN ", r.start_ns,"
		" typical_ns * 1.0 / typical_tokens FROM " RUNS_OF_FILTER
		" r CROSS JOIN parts ON run = r.number AND series ="
		" (SELECT number FROM series WHERE phase = ?16 AND kind = ?17 AND name = ?18)"
		" WHERE typical_tokens > 0 ORDER BY r.start_ns, r.id",
		filter);

	if (rc < 0)
		return rc;
	sqlite3_bind_text(s, 16, part->phase, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 17, part->kind, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 18, part->name, -1, SQLITE_STATIC);
	while ((rc = sqlite_db_step(store, store->state, s)) > 0) {
		const struct history_point point = {text_at(s, 0), text_at(s, 1), text_at(s, 2),
			text_at(s, 3), sqlite_number_at(s, 4), sqlite3_column_double(s, 5)};
		rc = each(context, &point);
		if (rc < 0)
			break;
	}
	return rc;
}

static int sqlite_workloads(struct history_store *store, const struct history_filter *filter,
	history_workload_fn each, void *context)
{
	SCOPED_TO(sqlite3_finalize) sqlite3_stmt *s = NULL;

	if (sqlite_fleet_answers(filter))
		return sqlite_fleet_workloads(store, filter, each, context);
	int rc = prepare_filtered(store, &s,
		"SELECT workload, host, cpu, count(*), max(start_ns) AS newest, max(id) AS one"
		" FROM " RUNS_OF_FILTER " GROUP BY workload, host, cpu"
		" ORDER BY newest DESC, one DESC",
		filter);

	if (rc < 0)
		return rc;
	while ((rc = sqlite_db_step(store, store->state, s)) > 0) {
		const struct history_workload workload = {
			text_at(s, 0), text_at(s, 1), text_at(s, 2), sqlite_number_at(s, 3)};
		rc = each(context, &workload);
		if (rc < 0)
			break;
	}
	return rc;
}

/*
 * Sums of one group and part while its rows come. Rows of the same group and part must follow each
 * other.
 */
struct gathering {
	struct history_run run; /* has the part alone; no part: no group yet */
	char *group;
	uint64_t runs; /* that were added up */
	uint64_t first_ns;
	history_group_fn each;
	void *context;
};

/* Hands over the group so far, and empties it. */
static int sqlite_hand_over(struct gathering *g)
{
	const struct history_group group = {
		g->group, g->run.parts.count ? &g->run.parts.items[0] : NULL, g->runs, g->first_ns};
	int rc = group.part ? g->each(g->context, &group) : 0;

	history_run_fini(&g->run);
	return rc;
}

static bool sqlite_is_same(const struct gathering *g, sqlite3_stmt *s)
{
	const struct history_part *p = g->run.parts.items;

	return g->run.parts.count && !strcmp(g->group, text_at(s, 0)) &&
	       !strcmp(p->phase, text_at(s, 1)) && !strcmp(p->kind, text_at(s, 2)) &&
	       !strcmp(p->name, text_at(s, 3));
}

static int sqlite_gather(struct gathering *g, sqlite3_stmt *s)
{
	int rc = 0;

	if (!sqlite_is_same(g, s)) {
		rc = sqlite_hand_over(g);
		if (rc == 0)
			rc = history_text_set(&g->group, text_at(s, 0));
		g->runs = sqlite_number_at(s, 11);
		g->first_ns = sqlite_number_at(s, 12);
		return rc < 0 ? rc : read_part(s, 1, &g->run);
	}
	struct history_part *p = g->run.parts.items;
	p->count += sqlite_number_at(s, 4);
	p->tokens += sqlite_number_at(s, 5);
	p->total_ns += sqlite_number_at(s, 6);
	p->typical_tokens += sqlite_number_at(s, 7);
	p->typical_ns += sqlite_number_at(s, 8);
	g->runs += sqlite_number_at(s, 11);
	g->first_ns = number_min(g->first_ns, sqlite_number_at(s, 12));
	return history_histogram_parse(&p->histogram, text_at(s, 10));
}

/*
 * CROSS JOIN makes SQLite read series by series, as rows of a series lie side by side. SQLite
 * cannot add histograms, so parts with these come one by one, and it sums the others.
 */
#define OF_SERIES(kinds)                                                                      \
	" FROM series t CROSS JOIN parts p ON p.series = t.number CROSS JOIN " RUNS_OF_FILTER \
	" r ON r.number = p.run WHERE (?16 IS NULL OR t.phase = ?16) AND t.kind IN (" kinds ")"
#define EACH_PART(who, kinds)                                                                  \
	"SELECT " who " AS who, phase, t.kind, name, count, tokens, total_ns, typical_tokens," \
	" typical_ns, united, histogram, 1, start_ns, t.number AS n" OF_SERIES(kinds)
#define GROUPS(who)                                                                             \
	EACH_PART(who, "'step'")                                                                \
	" UNION ALL SELECT " who " AS who, phase, t.kind, name, sum(count), sum(tokens),"       \
	" sum(total_ns), sum(typical_tokens), sum(typical_ns), 1, '', count(*), min(start_ns)," \
	" t.number AS n" OF_SERIES("'brick', 'request'") " GROUP BY who, n ORDER BY who, n"

static const char *const groups_by[] = {
	[HISTORY_BY_HOST] = GROUPS("r.host"),
	[HISTORY_BY_ENGINE] = GROUPS("r.engine"),
	[HISTORY_BY_RANK] =
		GROUPS("r.host || CASE WHEN rank < 0 THEN '' ELSE ' rank ' || rank END"),
	[HISTORY_BY_NOTHING] = EACH_PART("''", "'step', 'brick', 'request'") " ORDER BY n",
};

static int sqlite_groups(struct history_store *store, const struct history_filter *filter,
	enum history_by by, const char *phase, history_group_fn each, void *context)
{
	struct gathering g = {.each = each, .context = context};
	SCOPED_TO(sqlite3_finalize) sqlite3_stmt *s = NULL;

	if (sqlite_fleet_answers(filter))
		return sqlite_fleet_groups(store, filter, by, phase, each, context);
	int rc = prepare_filtered(store, &s, groups_by[by], filter);

	if (rc < 0)
		return rc;
	sqlite3_bind_text(s, 16, phase, -1, SQLITE_STATIC);
	while ((rc = sqlite_db_step(store, store->state, s)) > 0) {
		rc = sqlite_gather(&g, s);
		if (rc < 0)
			break;
	}
	if (rc == 0)
		rc = sqlite_hand_over(&g);
	history_run_fini(&g.run);
	free(g.group);
	return rc;
}

const struct history_engine history_sqlite = {
	.open = sqlite_open_store,
	.close = sqlite_close_store,
	.add = sqlite_add,
	.list = sqlite_list,
	.points = sqlite_points,
	.workloads = sqlite_workloads,
	.groups = sqlite_groups,
	.label = sqlite_label,
	.remove = sqlite_remove_run,
	.expire = sqlite_expire,
};
