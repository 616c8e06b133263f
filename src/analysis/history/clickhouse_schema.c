/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions of the tables. Statements of a server are no transactions: what is missing is made, and
 * only when all of it is there the version says so, so that who dies in between is followed by
 * another who does the same again.
 */
#include "analysis/history/clickhouse_state.h"

#include <stdio.h>
#include <string.h>

#include "analysis/history/clickhouse_tables.h"

enum { VERSION = 2 /* 1: without months and parts_by_run */, TABLES = 12 /* four of them views */ };

static int note_number(void *context, const json_t *row)
{
	*(json_int_t *)context = json_integer_value(json_object_get(row, "number"));
	return 0;
}

/* tables.sql, one statement after the other: the interface takes one at a time. */
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

/* Sums of what was there before they were; of one month at a time, so that it needs little memory.
 */
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
		rc = clickhouse_sums_level(store, VERSION, "1", month);
	}
	array_fini(&months.list);
	return rc;
}

static int bring_up(struct history_store *store)
{
	struct query q = {0};
	int rc = fill_sums(store);

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
	return bring_up(store);
}

int clickhouse_make_tables(struct history_store *store)
{
	struct clickhouse *c = store->state;
	struct query q = {0};
	json_int_t tables = 0;

	if (c->has_tables)
		return 0;
	query_add(&q,
		"SELECT toInt32(count()) AS number FROM system.tables WHERE database = '%s' AND "
		"name IN ('runs', 'parts', 'labels', 'hours', 'days', 'months', 'parts_by_run', "
		"'parts_to_runs', 'parts_to_hours', "
		"'parts_to_days', 'parts_to_months', 'brick_schema') FORMAT JSONEachRow",
		c->database);
	int rc = clickhouse_ask(store, &q, NULL, note_number, &tables);
	if (rc == 0 && tables < TABLES)
		rc = create_tables(store);
	if (rc == 0)
		rc = check_version(store);
	c->has_tables = rc == 0;
	return rc;
}
