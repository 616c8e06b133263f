/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server makes of the rows that come into `parts`: the same by run, and sums by hour, day
 * and month. Where it died between the two these lack them, and what is deleted from
 * `parts` stays in the sums. These are mended by
 * adding differences, which may be negative: numbers wrap. A sum is never made smaller than its
 * parts, as parts are forgotten first where a server forgets by itself (ttl.sql).
 */
#include "analysis/history/clickhouse_state.h"

#include <stdio.h>
#include <time.h>

#define NUMBERS "count, tokens, total_ns, typical_tokens, typical_ns"

static const struct sums {
	const char *table, *keys, *make; /* make: the keys, of parts */
	const char *day;		 /* by which it is partitioned */
	int since;			 /* version of the tables */
} tables[] = {
	{"hours", "day, hour, host, engine, phase, kind, name",
		"day, toStartOfHour(toDateTime(intDiv(start_ns, 1000000000))) AS hour, host, "
		"engine, phase, kind, name",
		"day", 1},
	{"days", "day, host, engine, phase, kind, name", "day, host, engine, phase, kind, name",
		"day", 1},
	{"months", "month, run_kind, host, engine, phase, kind, name",
		"toStartOfMonth(day) AS month, run_kind, host, engine, phase, kind, name", "month",
		2},
};

enum { TABLES = sizeof(tables) / sizeof(*tables) };

int clickhouse_month(uint64_t start_ns)
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

/* Numbers of rows that are taken away; `runs`, `buckets` and `counts` say where the rest is. */
static void add_negative(struct query *q, const char *runs, const char *buckets, const char *counts)
{
	query_add(q,
		"toUInt64(-%s) AS r, toUInt64(-count) AS c, toUInt64(-tokens) AS t, "
		"toUInt64(-total_ns) AS n, toUInt64(-typical_tokens) AS y, "
		"toUInt64(-typical_ns) AS z, %s AS b, arrayMap(x -> toUInt64(-x), %s) AS k FROM ",
		runs, buckets, counts);
}

int clickhouse_sums_subtract(struct history_store *store, const char *which)
{
	int rc = 0;

	for (size_t i = 0; i < TABLES && rc == 0; i++) {
		struct query q = {0};
		add_insert(&q, &tables[i]);
		query_add(&q, "r, c, t, n, y, z, b, k FROM (SELECT %s, ", tables[i].make);
		add_negative(&q, "toInt64(1)", "buckets", "bucket_counts");
		query_add(&q, "parts WHERE %s)", which);
		rc = clickhouse_ask(store, &q, NULL, NULL, NULL);
	}
	return rc;
}

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
		"WHERE %s AND toYYYYMM(day) IN (%s) UNION ALL SELECT %s, ",
		t->keys, t->make, which, months, t->keys);
	add_negative(&q, "runs", "histogramMap.bucket", "histogramMap.count");
	query_add(&q, "%s WHERE %s AND toYYYYMM(%s) IN (%s)) GROUP BY %s) WHERE toInt64(r) > 0",
		t->table, which, t->day, months, t->keys);
	/* the server refuses one whose id is that of one that runs */
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

int clickhouse_sums_level(
	struct history_store *store, int since, const char *which, const char *months)
{
	int rc = copy_missing(store, which, months);

	for (size_t i = 0; i < TABLES && rc == 0; i++)
		if (tables[i].since >= since)
			rc = level(store, &tables[i], which, months);
	return rc;
}
