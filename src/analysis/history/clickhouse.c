/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of ClickHouse. Runs go through a spool, so that no command waits for a server. Each
 * run is stored once, whichever process or server dies in between. The server makes sums by hour,
 * day and month; this file mends them.
 *
 * clickhouse/tables.sql has the tables. A new column also needs clickhouse_add_columns() and a
 * higher VERSION; a new table also ALL_TABLES and the list in make_tables().
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "analysis/history/clickhouse_ask.h"
#include "analysis/history/history_run.h"
#include "base/clock_ns.h"
#include "base/date.h"

/* clickhouse/tables.sql, as the build puts it into the program. */
extern const char clickhouse_tables[];

/*
 * ---- sums ----
 *
 * From each row that comes into `parts`, the server makes rows of the sums and of parts_by_run. If
 * it died meanwhile, those tables lack rows; and rows that are deleted from `parts` stay in the
 * sums. Both are mended by adding differences, which may be negative: numbers wrap. level() only
 * makes sums larger, because a server that deletes old rows by itself (ttl.sql) deletes those of
 * `parts` first.
 */

#define NUMBERS "count, tokens, total_ns, typical_tokens, typical_ns"

#define OF_RUNS "run_kind != '" HISTORY_WINDOW "'"

static const struct sums {
	const char *table;
	const char *keys; /* columns */
	const char *make; /* the same columns as expressions over `parts` */
	const char *day;  /* the column that partitions the table by months */
	int since;	  /* VERSION that brought the table */
	const char *of;	  /* the condition of its parts */
} sums_tables[] = {
	{"hours", "day, hour, host, engine, phase, kind, name",
		"day, toStartOfHour(toDateTime(intDiv(start_ns, 1000000000))) AS hour, host, "
		"engine, phase, kind, name",
		"day", 1, OF_RUNS},
	{"days", "day, host, engine, phase, kind, name", "day, host, engine, phase, kind, name",
		"day", 1, OF_RUNS},
	{"months", "month, run_kind, host, engine, phase, kind, name",
		"toStartOfMonth(day) AS month, run_kind, host, engine, phase, kind, name", "month",
		2, OF_RUNS},
	{"fleet", "day, hour, workload, host, rank, engine, phase, kind, name",
		"day, toStartOfHour(toDateTime(intDiv(start_ns, 1000000000))) AS hour, workload, "
		"host, rank, engine, phase, kind, name",
		"day", 4, "run_kind = '" HISTORY_WINDOW "'"},
};

enum { SUMS = sizeof(sums_tables) / sizeof(*sums_tables) };

/* The month of a run as partitions are named: 202611. */
static int month_of(uint64_t start_ns)
{
	time_t seconds = (time_t)(start_ns / 1000000000u);
	struct tm tm;

	return gmtime_r(&seconds, &tm) ? (tm.tm_year + 1900) * 100 + tm.tm_mon + 1 : 197001;
}

static void add_insert(struct query *q, const struct sums *t)
{
	query_add(q,
		"INSERT INTO %s (%s, runs, " NUMBERS ", histogramMap.bucket, histogramMap.count) "
		"SELECT %s, ",
		t->table, t->keys, t->keys);
}

/* Negated numbers of rows. runs, buckets, counts: expressions for these columns. */
static void add_negative(struct query *q, const char *runs, const char *buckets, const char *counts)
{
	query_add(q,
		"toUInt64(-%s) AS r, toUInt64(-count) AS c, toUInt64(-tokens) AS t, "
		"toUInt64(-total_ns) AS n, toUInt64(-typical_tokens) AS y, "
		"toUInt64(-typical_ns) AS z, %s AS b, arrayMap(x -> toUInt64(-x), %s) AS k FROM ",
		runs, buckets, counts);
}

/* Takes parts out of the sums, before they are deleted. which: a condition of `parts`. */
static int subtract_sums(struct history_store *store, const char *which)
{
	int rc = 0;

	for (size_t i = 0; i < SUMS && rc == 0; i++) {
		struct query q = {0};
		add_insert(&q, &sums_tables[i]);
		query_add(&q, "r, c, t, n, y, z, b, k FROM (SELECT %s, ", sums_tables[i].make);
		add_negative(&q, "toInt64(1)", "buckets", "bucket_counts");
		query_add(&q, "parts WHERE %s AND %s)", which, sums_tables[i].of);
		rc = clickhouse_ask(store, &q, NULL, NULL, NULL);
	}
	return rc;
}

/* Adds to one table of sums what its parts have more than it. which, months: as level_all(). */
static int level(
	struct history_store *store, const struct sums *t, const char *which, const char *months)
{
	struct query q = {0};
	char query_id[64];

	add_insert(&q, t);
	query_add(&q,
		"r, c, t, n, y, z, map.1, map.2 FROM (SELECT %s, sum(r) AS r, sum(c) AS c, "
		"sum(t) AS t, sum(n) AS n, sum(y) AS y, sum(z) AS z, sumMap(b, k) AS map FROM "
		"(SELECT %s, toUInt64(1) AS r, count AS c, tokens AS t, total_ns AS n, "
		"typical_tokens AS y, typical_ns AS z, buckets AS b, bucket_counts AS k FROM parts "
		"WHERE %s AND %s AND toYYYYMM(day) IN (%s) UNION ALL SELECT %s, ",
		t->keys, t->make, which, t->of, months, t->keys);
	add_negative(&q, "runs", "histogramMap.bucket", "histogramMap.count");
	query_add(&q, "%s WHERE %s AND toYYYYMM(%s) IN (%s)) GROUP BY %s) WHERE toInt64(r) > 0",
		t->table, which, t->day, months, t->keys);
	/* the server refuses a query while another one of this id runs, so no two level at once */
	snprintf(query_id, sizeof(query_id), "brick-level-%s", t->table);
	return clickhouse_ask(store, &q, query_id, NULL, NULL);
}

#define COLUMNS                                                                               \
	"id, day, start_ns, run_kind, host, engine, phase, kind, name, " NUMBERS ", united, " \
	"buckets, bucket_counts"

static int copy_missing(struct history_store *store, const char *which, const char *months)
{
	struct query q = {0};

	query_add(&q,
		"INSERT INTO parts_by_run (" COLUMNS ") SELECT " COLUMNS " FROM parts WHERE %s "
		"AND toYYYYMM(day) IN (%s) AND (id, phase, kind, name) NOT IN (SELECT id, phase, "
		"kind, name FROM parts_by_run WHERE %s AND toYYYYMM(day) IN (%s))",
		which, months, which, months);
	return clickhouse_ask(store, &q, "brick-level-parts", NULL, NULL);
}

/*
 * Adds rows of `parts` that parts_by_run and the sums lack. since: only sums of that VERSION and
 * later; which: a condition of hosts only, as sums know no runs; months: "202611, 202612" or a
 * query.
 */
static int level_all(struct history_store *store, int since, const char *which, const char *months)
{
	int rc = copy_missing(store, which, months);

	for (size_t i = 0; i < SUMS && rc == 0; i++)
		if (sums_tables[i].since >= since)
			rc = level(store, &sums_tables[i], which, months);
	return rc;
}

/*
 * ---- versions of the tables ----
 *
 * A server has no transactions. So missing tables are made, and the version is written when all are
 * there. If a process dies in between, the next process does the same again.
 */

enum {
	/* 1: without months and parts_by_run; 2: without models and workloads; 3: without fleet */
	VERSION = 4,
	ALL_TABLES = 14, /* names in make_tables(): nine tables and five views */
};

static int note_number(void *context, const json_t *row)
{
	*(json_int_t *)context = json_integer_value(json_object_get(row, "number"));
	return 0;
}

/* Runs tables.sql statement by statement, as the interface takes one at a time. */
static int create_tables(struct history_store *store)
{
	int rc = 0;

	for (const char *at = clickhouse_tables; rc == 0 && strchr(at, ';');
		at += strcspn(at, ";") + 1) {
		struct query q = {0};
		query_add(&q, "%.*s", (int)strcspn(at, ";"), at);
		rc = clickhouse_ask(store, &q, NULL, NULL, NULL);
	}
	return rc;
}

struct months {
	ARRAY(json_int_t) list;
};

static int note_month(void *context, const json_t *row)
{
	struct months *months = context;

	return array_push(&months->list, json_integer_value(json_object_get(row, "number")));
}

/* Makes sums of older runs, month by month, so that the server needs little memory. */
static int fill_sums(struct history_store *store)
{
	struct months months = {0};
	struct query q = {0};
	char month[24];

	query_add(&q,
		"SELECT DISTINCT toUInt32(partition) AS number FROM system.parts WHERE database = "
		"'%s' AND table = 'parts' AND active ORDER BY number FORMAT JSONEachRow",
		((struct clickhouse *)store->state)->database);
	int rc = clickhouse_ask(store, &q, NULL, note_month, &months);
	for (size_t i = 0; i < months.list.count && rc == 0; i++) {
		snprintf(month, sizeof(month), "%lld", (long long)months.list.items[i]);
		rc = level_all(store, 2, "1", month);
	}
	array_fini(&months.list);
	return rc;
}

/*
 * Adds newer columns to tables that are there. For runs that an older Brick sent only the command
 * is known: history_command_strip().
 */
static int clickhouse_add_columns(struct history_store *store)
{
	static const struct {
		const char *table, *name, *is;
	} columns[] = {{"runs", "model", "String AFTER batch"},
		{"runs", "workload",
			"String DEFAULT replaceRegexpAll(command, '[^ ]*/', '') AFTER model"},
		{"runs", "rank", "Int32 DEFAULT -1 AFTER workload"},
		{"parts", "workload", "String AFTER engine"},
		{"parts", "rank", "Int32 DEFAULT -1 AFTER workload"}};
	struct query q = {0};
	int rc = 0;

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns) && rc == 0; i++) {
		json_int_t found = 0; /* 1: the table, without the column */
		query_add(&q,
			"SELECT toInt32(count()) AS number FROM system.columns WHERE database = "
			"'%s' AND table = '%s' AND name IN ('id', '%s') FORMAT JSONEachRow",
			((struct clickhouse *)store->state)->database, columns[i].table,
			columns[i].name);
		rc = clickhouse_ask(store, &q, NULL, note_number, &found);
		if (rc < 0 || found != 1)
			continue;
		query_add(&q, "ALTER TABLE %s ADD COLUMN %s %s", columns[i].table, columns[i].name,
			columns[i].is);
		rc = clickhouse_ask(store, &q, NULL, NULL, NULL);
	}
	return rc;
}

/* Makes the views that made sums of all kinds of runs anew: windows have a table of their own. */
static int renew_views(struct history_store *store)
{
	int rc = 0;

	for (size_t i = 0; i < SUMS && rc == 0; i++) {
		struct query q = {0};
		query_add(&q, "DROP TABLE IF EXISTS parts_to_%s", sums_tables[i].table);
		rc = clickhouse_ask(store, &q, NULL, NULL, NULL);
	}
	return rc < 0 ? rc : create_tables(store);
}

static int bring_up(struct history_store *store, json_int_t version)
{
	struct query q = {0};
	int rc = clickhouse_add_columns(store);

	if (rc == 0 && version < 4)
		rc = renew_views(store);
	if (rc == 0 && version < 2)
		rc = fill_sums(store);
	if (rc < 0)
		return rc;
	query_add(&q, "INSERT INTO brick_schema VALUES (%d)", VERSION);
	return clickhouse_ask(store, &q, NULL, NULL, NULL);
}

static int check_version(struct history_store *store)
{
	struct query q = {0};
	json_int_t version = 0;

	query_add(
		&q, "SELECT toInt32(max(version)) AS number FROM brick_schema FORMAT JSONEachRow");
	int rc = clickhouse_ask(store, &q, NULL, note_number, &version);
	if (rc < 0 || version == VERSION)
		return rc;
	if (version > VERSION)
		return history_fail(store, -EPROTO,
			"%s: was written by a newer Brick (version %lld of histories, this one "
			"knows %d); it was left as it is",
			store->where, (long long)version, VERSION);
	return bring_up(store, version);
}

/* Makes missing tables and brings others up to date, once. -EPROTO: a newer Brick made them. */
static int make_tables(struct history_store *store)
{
	struct clickhouse *c = store->state;
	struct query q = {0};
	json_int_t tables = 0;

	if (c->has_tables)
		return 0;
	query_add(&q,
		"SELECT toInt32(count()) AS number FROM system.tables WHERE database = '%s' AND "
		"name IN ('runs', 'parts', 'labels', 'hours', 'days', 'months', 'fleet', "
		"'parts_by_run', 'parts_to_runs', 'parts_to_hours', 'parts_to_days', "
		"'parts_to_months', 'parts_to_fleet', 'brick_schema') FORMAT JSONEachRow",
		c->database);
	int rc = clickhouse_ask(store, &q, NULL, note_number, &tables);
	if (rc == 0 && tables && tables < ALL_TABLES)
		rc = clickhouse_add_columns(store); /* views need them */
	if (rc == 0 && tables < ALL_TABLES)
		rc = create_tables(store);
	if (rc == 0)
		rc = check_version(store);
	c->has_tables = rc == 0;
	return rc;
}

/*
 * ---- sending what waits ----
 *
 * A run's rows in `parts` and `labels` are sent before its row in `runs`, so that a run with this
 * row is whole and is not sent again. A former try may have sent some rows of other runs, so the
 * server is asked first, and only missing rows of `parts` are sent: these are the last ones, as
 * rows go in order. While a query of a former try still runs, nothing is sent.
 */

struct push {
	struct history_store *store;
	struct spool_batch batch;
	bool *is_there;	  /* [batch.runs]: the server has all of the run */
	size_t *rows;	  /* [batch.runs]: rows of `parts` that the server has */
	uint64_t running; /* queries of former tries that still run */
};

static void put_number(json_t *row, const char *key, uint64_t value)
{
	json_object_set_new(row, key, json_integer((json_int_t)value));
}

static void clickhouse_put_text(json_t *row, const char *key, const char *value)
{
	json_object_set_new(row, key, json_string(value));
}

static void put_day(json_t *row, uint64_t start_ns)
{
	char day[DATE_BYTES];

	clickhouse_put_text(row, "day", date_text(day, start_ns, "%Y-%m-%d") ? day : "1970-01-01");
	put_number(row, "start_ns", start_ns);
}

static void clickhouse_add_row(struct query *q, json_t *row)
{
	SCOPED char *line = json_dumps(row, JSON_COMPACT);

	q->failed |= !line;
	if (line)
		query_add(q, "%s\n", line);
	json_decref(row);
}

static void add_part_row(
	struct query *q, const struct history_run *run, const struct history_part *p)
{
	json_t *row = history_part_json(p), *buckets = json_array(), *counts = json_array();

	clickhouse_put_text(row, "id", run->id);
	put_day(row, run->start_ns);
	clickhouse_put_text(row, "run_kind", run->kind);
	clickhouse_put_text(row, "host", run->host);
	clickhouse_put_text(row, "engine", run->engine);
	clickhouse_put_text(row, "workload", run->workload);
	json_object_set_new(row, "rank", json_integer(run->rank));
	for (size_t i = 0; i < p->histogram.buckets.count; i++) {
		json_array_append_new(buckets, json_integer(p->histogram.buckets.items[i].index));
		json_array_append_new(
			counts, json_integer((json_int_t)p->histogram.buckets.items[i].count));
	}
	json_object_set_new(row, "buckets", buckets);
	json_object_set_new(row, "bucket_counts", counts);
	clickhouse_add_row(q, row);
}

/* Rows that are there already. */

static long find_in_batch(const struct push *p, const json_t *row)
{
	const char *id = json_string_value(json_object_get(row, "id"));

	for (size_t i = 0; id && i < p->batch.runs.count; i++)
		if (!strcmp(p->batch.runs.items[i].id, id))
			return (long)i;
	return -1;
}

static int note_run(void *context, const json_t *row)
{
	struct push *p = context;
	long i = find_in_batch(p, row);

	if (i >= 0)
		p->is_there[i] = true;
	return 0;
}

static int note_rows(void *context, const json_t *row)
{
	struct push *p = context;
	long i = find_in_batch(p, row);

	if (i >= 0)
		p->rows[i] = (size_t)json_integer_value(json_object_get(row, "rows"));
	return 0;
}

static int note_running(void *context, const json_t *row)
{
	struct push *p = context;

	p->running = (uint64_t)json_integer_value(json_object_get(row, "running"));
	return 0;
}

/*
 * Adds " WHERE id IN (...) AND start_ns IN (...)" of the batch's runs; sent_only: only of runs that
 * a former try may have sent. Returns 0 if there are none: the query is no SQL then.
 */
static size_t add_ids(struct query *q, const struct push *p, bool sent_only)
{
	size_t count = 0;

	for (int column = 0; column < 2; column++) {
		const char *before = column ? ") AND start_ns IN (" : " WHERE id IN (";
		for (size_t i = 0; i < p->batch.runs.count; i++) {
			const struct history_run *run = &p->batch.runs.items[i];
			if (sent_only && !spool_was_sent(&p->batch, run->id))
				continue;
			if (column)
				query_add(q, "%s%" PRIu64, before, run->start_ns);
			else
				query_add(q, "%s'%s'", before, run->id);
			before = ", ";
			count++;
		}
	}
	query_add(q, ")");
	return count;
}

/* Finds the rows that a former try has sent. -EAGAIN: one of its queries still runs. */
static int look_closely(struct push *p)
{
	struct query q = {0};

	query_add(&q, "SELECT count() AS running FROM system.processes WHERE query_id LIKE "
		      "'brick-push-%%' FORMAT JSONEachRow");
	int rc = clickhouse_ask(p->store, &q, NULL, note_running, p);
	if (rc == 0 && p->running)
		rc = history_fail(p->store, -EAGAIN, "the server still works on a former push");
	if (rc < 0)
		return rc;
	query_add(&q, "SELECT id, count() AS rows FROM parts");
	if (!add_ids(&q, p, true)) {
		query_fini(&q);
		return 0;
	}
	query_add(&q, " GROUP BY id FORMAT JSONEachRow");
	return clickhouse_ask(p->store, &q, NULL, note_rows, p);
}

/* Sending. */

/* Sends an INSERT with its rows; without rows it only frees the query. */
static int send_rows(struct push *p, struct query *q, const char *table, size_t rows)
{
	char query_id[64];

	if (!rows) {
		query_fini(q);
		return 0;
	}
	snprintf(query_id, sizeof(query_id), "brick-push-%s-%s", table, p->batch.runs.items[0].id);
	return clickhouse_ask(p->store, q, query_id, NULL, NULL);
}

static int send_parts(struct push *p)
{
	struct query q = {0};
	size_t rows = 0;

	query_add(&q, "INSERT INTO parts FORMAT JSONEachRow\n");
	for (size_t i = 0; i < p->batch.runs.count; i++) {
		const struct history_run *run = &p->batch.runs.items[i];
		for (size_t k = p->rows[i]; k < run->parts.count && !p->is_there[i]; k++, rows++)
			add_part_row(&q, run, &run->parts.items[k]);
	}
	return send_rows(p, &q, "parts", rows);
}

static int send_labels(struct push *p)
{
	struct query q = {0};
	size_t rows = 0;

	query_add(&q, "INSERT INTO labels FORMAT JSONEachRow\n");
	for (size_t i = 0; i < p->batch.runs.count; i++) {
		const struct history_run *run = &p->batch.runs.items[i];
		for (size_t k = 0; k < run->labels.count && !p->is_there[i]; k++, rows++) {
			const char *label = run->labels.items[k];
			json_t *row = json_object();
			clickhouse_put_text(row, "id", run->id);
			clickhouse_put_text(row, "label", label);
			put_number(row, "present", 1);
			put_number(row, "at", run->start_ns);
			clickhouse_add_row(&q, row);
		}
	}
	return send_rows(p, &q, "labels", rows);
}

static int send_heads(struct push *p)
{
	struct query q = {0};
	size_t rows = 0;

	query_add(&q, "INSERT INTO runs FORMAT JSONEachRow\n");
	for (size_t i = 0; i < p->batch.runs.count; i++)
		if (!p->is_there[i]) {
			const struct history_run *run = &p->batch.runs.items[i];
			json_t *row = history_run_json(run), *keys = json_array(),
			       *values = json_array();
			put_day(row, run->start_ns);
			for (size_t k = 0; k < run->facts.count; k++) {
				json_array_append_new(keys, json_string(run->facts.items[k].key));
				json_array_append_new(
					values, json_string(run->facts.items[k].value));
			}
			json_object_set_new(row, "fact_keys", keys);
			json_object_set_new(row, "fact_values", values);
			clickhouse_add_row(&q, row);
			rows++;
		}
	return send_rows(p, &q, "runs", rows);
}

/* Levels sums of hosts whose runs a former try may have sent, as the server may have died then. */
static int level_sums(struct push *p)
{
	struct query which = {0}, months = {0};
	const char *before = "";

	query_add(&which, "host IN (");
	for (size_t i = 0; i < p->batch.runs.count; i++) {
		const struct history_run *run = &p->batch.runs.items[i];
		if (!spool_was_sent(&p->batch, run->id))
			continue;
		query_add(&which, "%s", before);
		query_quote(&which, run->host);
		query_add(&months, "%s%d", before, month_of(run->start_ns));
		before = ", ";
	}
	query_add(&which, ")");
	int rc = which.failed || months.failed ? -ENOMEM
		 : months.text		       ? level_all(p->store, 1, which.text, months.text)
					       : 0;
	query_fini(&which);
	query_fini(&months);
	return rc;
}

static int send_batch(struct push *p, struct spool *spool)
{
	p->is_there = calloc(p->batch.runs.count + 1, sizeof(*p->is_there));
	p->rows = calloc(p->batch.runs.count + 1, sizeof(*p->rows));
	if (!p->is_there || !p->rows)
		return -ENOMEM;
	struct query q = {0};
	query_add(&q, "SELECT id FROM runs");
	add_ids(&q, p, false);
	query_add(&q, " FORMAT JSONEachRow");
	int rc = clickhouse_ask(p->store, &q, NULL, note_run, p);
	if (rc == 0 && p->batch.sent.count)
		rc = look_closely(p);
	if (rc == 0)
		rc = spool_note_sending(spool, &p->batch);
	if (rc == 0)
		rc = send_parts(p);
	if (rc == 0 && p->batch.sent.count)
		rc = level_sums(p);
	if (rc == 0)
		rc = send_labels(p);
	if (rc == 0)
		rc = send_heads(p);
	return rc < 0 ? rc : spool_forget(spool, &p->batch);
}

/* Sends one batch; *more: other runs wait. */
static int push_some(struct history_store *store, struct spool *spool, bool *more)
{
	struct push p = {.store = store};
	int rc = spool_take(spool, &p.batch);

	*more = false;
	if (rc < 0)
		return history_fail(store, rc, "%s: %s", spool->directory, strerror(-rc));
	if (p.batch.runs.count) {
		rc = make_tables(store);
		if (rc == 0)
			rc = send_batch(&p, spool);
		*more = p.batch.more;
	}
	free(p.is_there);
	free(p.rows);
	spool_batch_fini(&p.batch);
	return rc;
}

/* Sends all runs that wait. -EAGAIN: they stay in the spool. */
static int clickhouse_push(struct history_store *store)
{
	struct clickhouse *c = store->state;
	bool more = true;
	int rc;

	if (!c->has_spool)
		return 0;
	if (!c->is_eager && spool_pause(&c->spool))
		return history_fail(store, -EAGAIN,
			"%s: the last try failed; the next one is in %llu s", store->where,
			(unsigned long long)spool_pause(&c->spool));
	rc = spool_lock(&c->spool);
	if (rc < 0)
		return history_fail(store, rc, "%s: %s", store->where,
			rc == -EAGAIN ? "another process is sending" : strerror(-rc));
	*store->error = '\0';
	while (more && rc == 0)
		rc = push_some(store, &c->spool, &more);
	if (rc < 0 && !*store->error) /* the disk's, or memory's */
		history_fail(store, rc, "%s: %s", c->spool.directory, strerror(-rc));
	spool_note_try(&c->spool, rc == 0);
	spool_unlock(&c->spool);
	return rc;
}

/* Questions. */

/* Newest points of a trend without a limit: the table hours is for longer trends. */
enum { POINTS_MAX = 20000 };

static void add_equal(struct query *q, const char *column, const char *value)
{
	if (!value)
		return;
	query_add(q, " AND %s = ", column);
	query_quote(q, value);
}

static void add_part_of(struct query *q, const char *column, const char *text)
{
	if (!text)
		return;
	query_add(q, " AND position(%s, ", column);
	query_quote(q, text);
	query_add(q, ") > 0");
}

static void add_kind(struct query *q, const char *column, const char *kind)
{
	if (kind && !strcmp(kind, HISTORY_TIMED))
		query_add(q, " AND %s NOT IN ('floor', 'plain', '" HISTORY_WINDOW "')", column);
	else if (kind)
		add_equal(q, column, kind);
	else
		query_add(q, " AND %s NOT IN ('floor', '" HISTORY_WINDOW "')", column);
}

/* Adds conditions, order and limit for the table runs. */
static void add_filter(struct query *q, const struct history_filter *f)
{
	query_add(q, " WHERE 1");
	if (f->id) {
		query_add(q, " AND substring(id, 1, %zu) = ", strlen(f->id));
		query_quote(q, f->id);
	}
	if (f->label) {
		query_add(q,
			" AND id IN (SELECT id FROM labels FINAL WHERE present = 1 AND label = ");
		query_quote(q, f->label);
		query_add(q, ")");
	}
	add_equal(q, "batch", f->batch);
	add_equal(q, "host", f->host);
	add_equal(q, "engine", f->engine);
	add_equal(q, "workload", f->workload);
	add_equal(q, "cpu", f->cpu);
	add_part_of(q, "model", f->model);
	add_part_of(q, "command", f->command);
	add_kind(q, "kind", f->kind);
	if (f->since_ns)
		query_add(q,
			" AND start_ns >= %" PRIu64 " AND day >= toDate(toDateTime(%" PRIu64
			")) - 1",
			f->since_ns, f->since_ns / 1000000000);
	if (f->slowest_phase) {
		SCOPED char *key = NULL;
		if (asprintf(&key, HISTORY_SLOWEST "%s", f->slowest_phase) < 0) {
			key = NULL;
			q->failed = true;
		}
		query_add(q, " AND has(fact_keys, ");
		query_quote(q, key ? key : "");
		query_add(q, ") AND toUInt64OrZero(splitByChar(' ', fact_values[indexOf("
			     "fact_keys, ");
		query_quote(q, key ? key : "");
		query_add(q, ")])[1]) >= %" PRIu64, f->slowest_ns);
	}
	if (f->limit || f->skip)
		query_add(q, " ORDER BY start_ns DESC, id DESC LIMIT %" PRIu64 ", %" PRIu64,
			f->skip, f->limit ? f->limit : (uint64_t)INT32_MAX);
}

/* Runs. */

struct reading {
	ARRAY(struct history_run) runs;
	size_t from, to; /* runs [from, to): their labels and parts are being read */
};

static void reading_fini(struct reading *r)
{
	for (size_t i = 0; i < r->runs.count; i++)
		history_run_fini(&r->runs.items[i]);
	array_fini(&r->runs);
}

static int take_facts(struct history_run *run, const json_t *row)
{
	const json_t *keys = json_object_get(row, "fact_keys");
	const json_t *values = json_object_get(row, "fact_values");
	int rc = 0;

	for (size_t i = 0; i < json_array_size(keys) && rc == 0; i++) {
		const char *key = json_string_value(json_array_get(keys, i));
		const char *value = json_string_value(json_array_get(values, i));
		if (key && value)
			rc = history_run_fact(run, key, value);
	}
	return rc;
}

static int clickhouse_take_run(void *context, const json_t *row)
{
	struct reading *r = context;
	struct history_run run;
	int rc = history_run_init(&run);

	if (rc < 0)
		return rc;
	rc = history_run_take(&run, row);
	if (rc == 0)
		rc = take_facts(&run, row);
	if (rc == 0 && array_push(&r->runs, run))
		rc = -ENOMEM;
	if (rc < 0)
		history_run_fini(&run);
	return rc;
}

static struct history_run *clickhouse_find_read(struct reading *r, const json_t *row)
{
	const char *id = json_text_of(row, "id");

	for (size_t i = 0; i < r->runs.count; i++)
		if (!strcmp(r->runs.items[i].id, id))
			return &r->runs.items[i];
	return NULL;
}

static int take_label(void *context, const json_t *row)
{
	struct history_run *run = clickhouse_find_read(context, row);

	return run ? history_run_label(run, json_text_of(row, "label")) : 0;
}

static int fill_part(struct history_part *part, const json_t *row)
{
	const json_t *buckets = json_object_get(row, "buckets");
	const json_t *counts = json_object_get(row, "bucket_counts");
	int rc = 0;

	history_part_take(part, row);
	for (size_t i = 0; i < json_array_size(buckets) && rc == 0; i++) {
		json_int_t index = json_integer_value(json_array_get(buckets, i));
		json_int_t count = json_integer_value(json_array_get(counts, i));
		if (index >= 0 && index < HISTORY_BUCKETS && count > 0)
			rc = history_histogram_add(
				&part->histogram, (uint32_t)index, (uint64_t)count);
	}
	return rc;
}

static int clickhouse_take_part(void *context, const json_t *row)
{
	struct history_run *run = clickhouse_find_read(context, row);
	struct history_part *part =
		run ? history_run_part(run, json_text_of(row, "phase"), json_text_of(row, "kind"),
			      json_text_of(row, "name"))
		    : NULL;

	return part ? fill_part(part, row) : run ? -ENOMEM : 0;
}

/* Adds the condition for runs [from, to), which are the newest first. */
static void clickhouse_add_runs(struct query *q, const struct reading *r)
{
	query_add(q, " WHERE id IN (");
	for (size_t i = r->from; i < r->to; i++)
		query_add(q, "%s'%s'", i > r->from ? ", " : "", r->runs.items[i].id);
	query_add(q, ")");
}

/* Reads labels and parts of runs [from, to). */
static int read_some_lists(struct history_store *store, struct reading *r, bool whole)
{
	struct query q = {0};

	query_add(&q, "SELECT id, label FROM labels FINAL");
	clickhouse_add_runs(&q, r);
	query_add(&q, " AND present = 1 ORDER BY label FORMAT JSONEachRow");
	int rc = clickhouse_ask(store, &q, NULL, take_label, r);
	if (rc < 0)
		return rc;
	query_add(&q, "SELECT * FROM parts_by_run");
	clickhouse_add_runs(&q, r);
	query_add(&q, " AND start_ns IN (");
	for (size_t i = r->from; i < r->to; i++)
		query_add(&q, "%s%llu", i > r->from ? ", " : "",
			(unsigned long long)r->runs.items[i].start_ns);
	query_add(&q, ")");
	/* for speed: days choose partitions, times places in them */
	uint64_t first_ns = r->runs.items[r->to - 1].start_ns;
	uint64_t last_ns = r->runs.items[r->from].start_ns;
	query_add(&q, " AND start_ns >= %llu AND start_ns <= %llu", (unsigned long long)first_ns,
		(unsigned long long)last_ns);
	query_add(&q,
		" AND day >= toDate(toDateTime(%llu)) - 1 AND day <= toDate(toDateTime(%llu)) + 1",
		(unsigned long long)(first_ns / 1000000000u),
		(unsigned long long)(last_ns / 1000000000u));
	query_add(&q, "%s FORMAT JSONEachRow", whole ? "" : " AND kind = 'step'");
	return clickhouse_ask(store, &q, NULL, clickhouse_take_part, r);
}

static int read_runs(
	struct history_store *store, const struct history_filter *filter, struct reading *r)
{
	enum { TOGETHER = 1000 }; /* runs in one query, as its text is bounded */
	struct query q = {0};
	int rc = make_tables(store);

	if (rc < 0)
		return rc;
	/* The inner query reads two columns of many runs; all columns are read of few runs. */
	query_add(&q, "SELECT * FROM runs WHERE (start_ns, id) IN (SELECT start_ns, id FROM runs");
	add_filter(&q, filter);
	query_add(&q, ") ORDER BY start_ns DESC, id DESC FORMAT JSONEachRow");
	rc = clickhouse_ask(store, &q, NULL, clickhouse_take_run, r);
	for (; rc == 0 && r->to < r->runs.count; r->from = r->to) {
		r->to = r->runs.count - r->from < TOGETHER ? r->runs.count : r->from + TOGETHER;
		rc = read_some_lists(store, r, filter->whole);
	}
	return rc;
}

static int clickhouse_list(struct history_store *store, const struct history_filter *filter,
	history_run_fn each, void *context)
{
	SCOPED_BY(reading_fini) struct reading r = {0};
	int rc = read_runs(store, filter, &r);

	for (size_t i = 0; i < r.runs.count && rc == 0; i++)
		rc = each(context, &r.runs.items[i]);
	return rc;
}

/* Many runs. */

struct points {
	ARRAY(json_t *) rows; /* newest first */
};

static int clickhouse_take_point(void *context, const json_t *row)
{
	struct points *p = context;

	return array_push(&p->rows, json_incref((json_t *)row));
}

/* True if a filter asks for no more than hosts, engines, kinds, workloads and times of runs. */
static bool knows_no_runs(const struct history_filter *f)
{
	return !f->label && !f->limit && !f->skip && !f->id && !f->batch && !f->model &&
	       !f->command && !f->cpu && !f->slowest_phase;
}

/* True if the table fleet can answer: it has windows, by hours. */
static bool is_for_fleet(const struct history_filter *f)
{
	return knows_no_runs(f) && f->kind && !strcmp(f->kind, HISTORY_WINDOW);
}

/* True if the table months can answer: it has no windows, workloads and hours. */
static bool is_for_months(const struct history_filter *f)
{
	return knows_no_runs(f) && !is_for_fleet(f) && !f->workload && !f->since_ns;
}

/* Adds the conditions for a table of parts; `limit` counts runs. has_sums: it is months or fleet.
 */
static void add_parts_filter(struct query *q, const struct history_filter *f, bool has_sums)
{
	if (!has_sums) {
		query_add(q, " AND (start_ns, id) IN (SELECT start_ns, id FROM runs");
		add_filter(q, f);
		query_add(q, ")");
		return;
	}
	add_equal(q, "host", f->host);
	add_equal(q, "engine", f->engine);
	add_equal(q, "workload", f->workload);
	if (!is_for_fleet(f))
		add_kind(q, "run_kind", f->kind);
	else if (f->since_ns)
		query_add(q,
			" AND hour >= toStartOfHour(toDateTime(%" PRIu64 ")) AND day >= "
			"toDate(toDateTime(%" PRIu64 ")) - 1",
			f->since_ns / 1000000000, f->since_ns / 1000000000);
}

static int clickhouse_points(struct history_store *store, const struct history_filter *filter,
	const struct history_part *part, history_point_fn each, void *context)
{
	struct points p = {0};
	struct query q = {0};
	int rc = make_tables(store);

	if (rc < 0)
		return rc;
	query_add(&q, "SELECT id, host, engine, start_ns, typical_ns / typical_tokens AS ns FROM "
		      "parts WHERE typical_tokens > 0");
	add_equal(&q, "phase", part->phase);
	add_equal(&q, "kind", part->kind);
	add_equal(&q, "name", part->name);
	add_parts_filter(&q, filter, false);
	query_add(&q, " ORDER BY start_ns DESC, id DESC LIMIT %d FORMAT JSONEachRow",
		filter->limit ? INT32_MAX : POINTS_MAX);
	rc = clickhouse_ask(store, &q, NULL, clickhouse_take_point, &p);
	for (size_t i = p.rows.count; i-- > 0 && rc == 0;) {
		const json_t *row = p.rows.items[i];
		const struct history_point point = {json_text_of(row, "id"),
			json_text_of(row, "host"), json_text_of(row, "engine"), "",
			json_number_of(row, "start_ns"),
			json_number_value(json_object_get(row, "ns"))};
		rc = each(context, &point);
	}
	for (size_t i = 0; i < p.rows.count; i++)
		json_decref(p.rows.items[i]);
	array_fini(&p.rows);
	return rc;
}

struct workloads {
	history_workload_fn each;
	void *context;
};

static int clickhouse_take_workload(void *context, const json_t *row)
{
	const struct workloads *w = context;
	const struct history_workload workload = {json_text_of(row, "workload"),
		json_text_of(row, "host"), json_text_of(row, "cpu"), json_number_of(row, "runs")};

	return w->each(w->context, &workload);
}

static int clickhouse_workloads(struct history_store *store, const struct history_filter *filter,
	history_workload_fn each, void *context)
{
	struct workloads w = {each, context};
	struct query q = {0};
	int rc = make_tables(store);

	if (rc < 0)
		return rc;
	query_add(&q, "SELECT workload, host, cpu, count() AS runs, max(start_ns) AS newest, "
		      "max(id) AS one FROM (SELECT workload, host, cpu, start_ns, id FROM runs");
	add_filter(&q, filter);
	query_add(&q, ") GROUP BY workload, host, cpu ORDER BY newest DESC, one DESC FORMAT "
		      "JSONEachRow");
	return clickhouse_ask(store, &q, NULL, clickhouse_take_workload, &w);
}

struct groups {
	history_group_fn each;
	void *context;
};

static int clickhouse_take_group(void *context, const json_t *row)
{
	const struct groups *g = context;
	SCOPED_BY(history_run_fini) struct history_run one = {0};
	struct history_part *part = history_run_part(&one, json_text_of(row, "phase"),
		json_text_of(row, "kind"), json_text_of(row, "name"));
	const struct history_group group = {json_text_of(row, "who"), part,
		json_number_of(row, "runs"), json_number_of(row, "first_ns")};
	int rc = part ? fill_part(part, row) : -ENOMEM;

	if (rc == 0)
		rc = g->each(g->context, &group);
	return rc;
}

/* Adds a query for sums of parts of these kinds; without histograms, as they are slow to read. */
static void add_sums(struct query *q, const struct history_filter *f, enum history_by by,
	const char *phase, const char *kinds, bool with_histograms)
{
	static const char *const who[] = {
		[HISTORY_BY_HOST] = "host",
		[HISTORY_BY_ENGINE] = "engine",
		[HISTORY_BY_RANK] = "concat(host, if(rank < 0, '', concat(' rank ', "
				    "toString(rank))))",
		[HISTORY_BY_NOTHING] = "''",
	};
	bool months = is_for_months(f), fleet = is_for_fleet(f), has_sums = months || fleet;

	query_add(q,
		"SELECT %s AS who, phase, kind, name, sum(%s) AS runs, %s AS first_ns, sum(count) "
		"AS count, sum(tokens) AS tokens, sum(total_ns) AS total_ns, sum(typical_tokens) "
		"AS typical_tokens, sum(typical_ns) AS typical_ns, %s FROM %s WHERE kind IN (%s)",
		who[by], has_sums ? "runs" : "1",
		months	? "toUInt64(0)"
		: fleet ? "toUInt64(toUnixTimestamp(min(hour))) * 1000000000"
			: "min(start_ns)",
		!with_histograms ? "(emptyArrayUInt16(), emptyArrayUInt64()) AS map"
		: has_sums	 ? "sumMap(histogramMap.bucket, histogramMap.count) AS map"
				 : "sumMap(buckets, bucket_counts) AS map",
		months	? "months"
		: fleet ? "fleet"
			: "parts_by_run",
		kinds);
	add_equal(q, "phase", phase);
	add_parts_filter(q, f, has_sums);
	query_add(q, " GROUP BY who, phase, kind, name HAVING runs > 0");
}

static int clickhouse_groups(struct history_store *store, const struct history_filter *filter,
	enum history_by by, const char *phase, history_group_fn each, void *context)
{
	struct groups g = {each, context};
	struct query q = {0};
	int rc = make_tables(store);

	if (rc < 0)
		return rc;
	query_add(&q,
		"SELECT who, phase, kind, name, runs, first_ns, count, tokens, total_ns, "
		"typical_tokens, typical_ns, map.1 AS buckets, map.2 AS bucket_counts FROM (");
	if (by == HISTORY_BY_NOTHING) {
		add_sums(&q, filter, by, phase, "'step', 'brick', 'request'", true);
	} else {
		add_sums(&q, filter, by, phase, "'step'", true);
		query_add(&q, " UNION ALL ");
		add_sums(&q, filter, by, phase, "'brick', 'request'", false);
	}
	query_add(&q, ") ORDER BY who, phase, kind, name FORMAT JSONEachRow");
	return clickhouse_ask(store, &q, NULL, clickhouse_take_group, &g);
}

/* The engine. */

#define PREFIX "clickhouse+"

/* Reads "clickhouse+http://host:8123/database" into url and database. */
static int read_place(struct history_store *store, struct clickhouse *c)
{
	const char *url = store->where + strlen(PREFIX);
	const char *host = strstr(url, "://"), *slash = host ? strchr(host + 3, '/') : NULL;
	const char *database = slash ? slash + 1 : "";

	if (!host || (strncmp(url, "http://", 7) && strncmp(url, "https://", 8)) || !*database ||
		database[strspn(database, "abcdefghijklmnopqrstuvwxyz_0123456789")])
		return history_fail(store, -EINVAL,
			"%s: must be clickhouse+http://HOST:8123/DATABASE, a database's name of "
			"small letters, digits and _",
			store->where);
	c->url = strndup(url, (size_t)(slash - url));
	c->database = strdup(database);
	return c->url && c->database ? 0 : history_fail(store, -ENOMEM, "not enough memory");
}

static int clickhouse_open_store(struct history_store *store, const struct history_open *how)
{
	struct clickhouse *c = calloc(1, sizeof(*c));

	store->state = c;
	if (!c)
		return history_fail(store, -ENOMEM, "not enough memory");
	int rc = read_place(store, c);
	if (rc < 0)
		return rc;
	c->is_eager = how->is_eager;
	c->patience_ms = (long)how->patience_ms;
	rc = spool_open(&c->spool, store->where);
	c->has_spool = rc == 0;
	/* Only a writer needs a spool. */
	if (rc < 0 && how->create)
		return history_fail(store, rc, "%s: %s",
			c->spool.directory ? c->spool.directory : "no data directory for a spool",
			strerror(-rc));
	return 0;
}

static void clickhouse_close_store(struct history_store *store)
{
	struct clickhouse *c = store->state;

	if (!c)
		return;
	http_client_destroy(c->http);
	spool_close(&c->spool);
	free(c->url);
	free(c->database);
	free(c);
}

static int clickhouse_add(struct history_store *store, const struct history_run *run)
{
	struct clickhouse *c = store->state;
	int rc = c->has_spool ? spool_add(&c->spool, run) : -ENOENT;

	if (rc != -ENOBUFS)
		return rc < 0 ? history_fail(store, rc, "%s: %s: what was recorded is not kept",
					c->spool.directory ? c->spool.directory : "spool",
					strerror(-rc))
			      : 0;
	/* sending makes room, and nobody else may come to send */
	if (clickhouse_push(store) == 0)
		rc = spool_add(&c->spool, run);
	SCOPED char *why = rc < 0 ? strdup(store->error) : NULL;
	return rc < 0 ? history_fail(store, rc,
				"%s: is full (BRICK_SPOOL_RUNS, BRICK_SPOOL_BYTES): what was "
				"recorded is not kept; %s",
				c->spool.directory, why ? why : "")
		      : 0;
}

/* Adds a row; of a run's rows with the same label the newest one decides. */
static int clickhouse_label(
	struct history_store *store, const char *id, const char *text, bool remove)
{
	struct query q = {0};

	query_add(&q, "INSERT INTO labels VALUES (");
	query_quote(&q, id);
	query_add(&q, ", ");
	query_quote(&q, text);
	query_add(&q, ", %d, %llu)", !remove, (unsigned long long)real_ns());
	int rc = make_tables(store);
	if (rc < 0)
		query_fini(&q);
	return rc < 0 ? rc : clickhouse_ask(store, &q, NULL, NULL, NULL);
}

static int note_count(void *context, const json_t *row)
{
	*(uint64_t *)context = (uint64_t)json_integer_value(json_object_get(row, "number"));
	return 0;
}

/* Deletes rows, and waits for up to a minute, as the server does it some time later. */
static int delete_rows(struct history_store *store, const char *table, const char *which)
{
	enum { PAUSE_NS = 20000000, TRIES = 3000 };
	const struct clickhouse *c = store->state;
	const struct timespec pause = {0, PAUSE_NS};
	struct query q = {0};
	uint64_t left = 1;

	query_add(&q, "ALTER TABLE %s DELETE WHERE %s", table, which);
	int rc = clickhouse_ask(store, &q, NULL, NULL, NULL);
	for (int i = 0; i < TRIES && left && rc == 0; i++) {
		if (i)
			nanosleep(&pause, NULL);
		query_add(&q,
			"SELECT toInt32(count()) AS number FROM system.mutations WHERE database = "
			"'%s' AND table = '%s' AND is_done = 0 FORMAT JSONEachRow",
			c->database, table);
		rc = clickhouse_ask(store, &q, NULL, note_count, &left);
	}
	return rc == 0 && left ? history_fail(store, -EAGAIN, "%s: is still deleting from %s",
					 store->where, table)
			       : rc;
}

/*
 * Removes runs, their parts, and their share in the sums. which: a condition that selects them;
 * hosts, months: for level_all(). If it fails in between, the runs are still listed, and the next
 * try levels the sums.
 */
static int remove_rows(
	struct history_store *store, const char *which, const char *hosts, const char *months)
{
	int rc = make_tables(store);

	if (rc == 0)
		rc = subtract_sums(store, which);
	if (rc == 0)
		rc = delete_rows(store, "parts", which);
	if (rc == 0)
		rc = delete_rows(store, "parts_by_run", which);
	if (rc == 0)
		rc = level_all(store, 1, hosts, months);
	return rc < 0 ? rc : delete_rows(store, "runs", which);
}

static int clickhouse_remove_run(struct history_store *store, const char *id)
{
	struct query which = {0}, hosts = {0}, months = {0};

	query_add(&which, "id = ");
	query_quote(&which, id);
	query_add(&hosts, "host IN (SELECT host FROM runs WHERE %s)", which.text);
	query_add(&months, "SELECT toYYYYMM(day) FROM runs WHERE %s", which.text);
	int rc = which.failed || hosts.failed || months.failed
			 ? history_fail(store, -ENOMEM, "not enough memory")
			 : remove_rows(store, which.text, hosts.text, months.text);
	query_fini(&which);
	query_fini(&hosts);
	query_fini(&months);
	return rc;
}

static int drop_piece(void *context, const json_t *row)
{
	struct query q = {0};

	query_add(&q, "ALTER TABLE %s DROP PARTITION %lld", json_text_of(row, "table"),
		(long long)json_integer_value(json_object_get(row, "number")));
	return clickhouse_ask(context, &q, NULL, NULL, NULL);
}

/* Drops all partitions of months below `before`, a month as month_of() has it. */
static int drop_months(struct history_store *store, int before)
{
	struct query q = {0};

	query_add(&q,
		"SELECT DISTINCT table, toUInt32(partition) AS number FROM system.parts WHERE "
		"database = '%s' AND table IN ('hours', 'days', 'months', 'fleet', 'parts', "
		"'parts_by_run', "
		"'runs') AND active AND toUInt32(partition) < %d ORDER BY table FORMAT JSONEachRow",
		((const struct clickhouse *)store->state)->database, before);
	return clickhouse_ask(store, &q, NULL, drop_piece, store);
}

static int clickhouse_expire(struct history_store *store, uint64_t before_ns, uint64_t *count)
{
	struct query q = {0};
	int before = month_of(before_ns), rc = make_tables(store);

	query_add(&q,
		"SELECT toInt64(count()) AS number FROM runs WHERE toYYYYMM(day) < %d FORMAT "
		"JSONEachRow",
		before);
	if (rc < 0)
		query_fini(&q);
	else
		rc = clickhouse_ask(store, &q, NULL, note_count, count);
	return rc < 0 ? rc : drop_months(store, before);
}

const struct history_engine history_clickhouse = {
	.prefix = PREFIX,
	.open = clickhouse_open_store,
	.close = clickhouse_close_store,
	.add = clickhouse_add,
	.flush = clickhouse_push,
	.list = clickhouse_list,
	.points = clickhouse_points,
	.workloads = clickhouse_workloads,
	.groups = clickhouse_groups,
	.label = clickhouse_label,
	.remove = clickhouse_remove_run,
	.expire = clickhouse_expire,
};
