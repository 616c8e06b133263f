/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries for a ClickHouse server, by its HTTP interface; for src/analysis/history/ only. The
 * state of the store is a struct clickhouse. One thread at a time.
 */
#pragma once

#include <jansson.h>
#include "http/http_client.h"
#include "analysis/history/spool.h"
#include "analysis/history/history_engine.h"

struct clickhouse {
	char *url; /* "http://host:8123": the address without database */
	char *database;
	struct http_client *http; /* made by the first query; NULL before */
	struct spool spool;	  /* runs that wait to be sent */
	bool has_spool;		  /* false: the spool could not be opened; no run can be added */
	bool is_eager;		  /* ignore the spool's pause */
	long patience_ms;	  /* for a reply; 0: 60 s */
	bool has_tables;	  /* the server's tables exist, in this program's version */
};

/*
 * Text of a query that grows. All zero is an empty query. After `failed` (no memory) the text is
 * not whole: clickhouse_ask() refuses it with -ENOMEM, so that callers need not check.
 */
struct query {
	char *text;
	size_t bytes, capacity;
	bool failed;
};

/* Appends formatted text. Values that users gave go through query_quote(), or are rows of JSON. */
void query_add(struct query *query, const char *format, ...) BRICK_PRINTF(2, 3);
/* Appends a text in quotes, with quotes and backslashes escaped. */
void query_quote(struct query *query, const char *text);
/* Frees the text; the query is empty again. */
void query_fini(struct query *query);

/* Gets one row, valid during the call. Not 0: ends the reading, and clickhouse_ask() returns it. */
typedef int (*clickhouse_row_fn)(void *context, const json_t *row);

/*
 * Sends a query and frees it, also after an error. query_id: a name, under which the server runs
 * one query at a time; NULL: none. each: for queries with FORMAT JSONEachRow; NULL: rows are
 * ignored.
 *
 * -EAGAIN: the server was not reached; -EIO: the connection broke, and the query may have run;
 * -EREMOTEIO: the server refused it; -EPROTO: a row is no JSON; -ENOTSUP: no libcurl; -ENOMEM; or
 * each()'s result.
 */
int clickhouse_ask(struct history_store *store, struct query *query, const char *query_id,
	clickhouse_row_fn each, void *context);
