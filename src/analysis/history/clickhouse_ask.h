/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a ClickHouse server, by its HTTP interface; for this room only. store->state is the
 * struct clickhouse.
 */
#pragma once

#include <jansson.h>
#include "http/http_client.h"
#include "analysis/history/spool.h"
#include "analysis/history/history_engine.h"

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
/* A text in quotes, with characters that would end them escaped. */
void query_quote(struct query *query, const char *text);
void query_fini(struct query *query);

/*
 * Ask the server; the query is freed. each: takes the rows, as JSON; NULL: none come. -EAGAIN: it
 * was not reached, -EIO: nobody knows if it did it, -EREMOTEIO: it answered that it will not.
 */
typedef int (*clickhouse_row_fn)(void *context, const json_t *row);
int clickhouse_ask(struct history_store *store, struct query *query, const char *query_id,
	clickhouse_row_fn each, void *context);
