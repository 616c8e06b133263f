/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the engine of ClickHouse share. */
#pragma once

#include <jansson.h>
#include "analysis/history/http_client.h"
#include "analysis/history/spool.h"
#include "analysis/history/store_state.h"

struct clickhouse {
	char *url; /* "http://host:8123" */
	char *database;
	struct http_client *http; /* NULL: not asked anything yet */
	struct spool spool;
	bool has_spool;
	bool is_eager;	  /* no pause after a failure holds it back */
	long patience_ms; /* 0: the default */
	bool has_tables;  /* they were made, or found, by this process */
};

/* Text of a query that grows; `failed` when there was no memory. */
struct query {
	char *text;
	size_t bytes, capacity;
	bool failed;
};

void query_add(struct query *query, const char *format, ...) BRICK_PRINTF(2, 3);
/* A text in quotes, with what would end them escaped. */
void query_quote(struct query *query, const char *text);
void query_fini(struct query *query);

/*
 * Ask the server; the query is freed. each: takes the rows, as JSON; NULL: none come. -EAGAIN: it
 * was not reached, -EIO: what became of it is not known, -EREMOTEIO: it answered that it will not.
 */
typedef int (*clickhouse_row_fn)(void *context, const json_t *row);
int clickhouse_ask(struct history_store *store, struct query *query, const char *query_id,
	clickhouse_row_fn each, void *context);

/* The month of a run as partitions are named: 202611. */
int clickhouse_month(uint64_t start_ns);

/* Make tables that are missing, bring others up to date. -EPROTO: they are a newer Brick's. */
int clickhouse_make_tables(struct history_store *store);

/*
 * Take parts out of the sums, before they are deleted; or add to the sums what these parts have
 * more than they. which: a condition, of hosts only in the latter; since:
 * only tables of that version and later; months: "202611, 202612".
 */
int clickhouse_sums_subtract(struct history_store *store, const char *which);
int clickhouse_sums_level(
	struct history_store *store, int since, const char *which, const char *months);

/* Send what waits. -EAGAIN: it is kept for later. */
int clickhouse_push(struct history_store *store);

int clickhouse_list(struct history_store *store, const struct history_filter *filter,
	history_run_fn each, void *context);
int clickhouse_points(struct history_store *store, const struct history_filter *filter,
	const struct history_part *part, history_point_fn each, void *context);
int clickhouse_groups(struct history_store *store, const struct history_filter *filter,
	int by_engine, const char *phase, history_group_fn each, void *context);
