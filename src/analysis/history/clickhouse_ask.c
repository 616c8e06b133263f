/* SPDX-License-Identifier: Apache-2.0 */
/* A query is the body of a POST; rows come as lines of JSON. */
#include "analysis/history/clickhouse_ask.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CONNECT_MS = 2000,
	TOTAL_MS = 60000,  /* of a whole request, where clickhouse.patience_ms is 0 */
	ERROR_BYTES = 300, /* most of the server's message in ours */
};

void query_add(struct query *q, const char *format, ...)
{
	va_list args, again;

	va_start(args, format);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	char *text = q->failed || n < 0
			     ? NULL
			     : array_grow(q->text, &q->capacity, q->bytes + (size_t)n + 1, 1);
	if (text) {
		q->text = text;
		vsnprintf(q->text + q->bytes, (size_t)n + 1, format, args);
		q->bytes += (size_t)n;
	}
	q->failed |= !text;
	va_end(args);
}

void query_quote(struct query *q, const char *text)
{
	query_add(q, "'");
	for (; *text; text++)
		query_add(q, *text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
	query_add(q, "'");
}

void query_fini(struct query *q)
{
	free(q->text);
	*q = (struct query){0};
}

/*
 * The password: the first line of the file that BRICK_DB_PASSWORD_FILE names, else
 * BRICK_DB_PASSWORD. The caller frees *out; NULL: there is none.
 */
static int read_password(struct history_store *store, char **out)
{
	const char *path = getenv("BRICK_DB_PASSWORD_FILE"), *said = getenv("BRICK_DB_PASSWORD");
	size_t capacity = 0;

	*out = NULL;
	if (!path || !*path) {
		*out = said ? strdup(said) : NULL;
		return said && !*out ? history_fail(store, -ENOMEM, "not enough memory") : 0;
	}
	SCOPED_TO(fclose) FILE *in = fopen(path, "re");
	errno = in ? 0 : errno;
	if (!in || getline(out, &capacity, in) < 0) {
		int error = errno ? errno : ENODATA;
		free(*out);
		*out = NULL;
		return history_fail(store, -EACCES, "%s (BRICK_DB_PASSWORD_FILE): %s", path,
			error == ENODATA ? "no password is in it" : strerror(error));
	}
	(*out)[strcspn(*out, "\r\n")] = '\0';
	return 0;
}

static int connect_client(struct history_store *store, struct clickhouse *c)
{
	if (c->http)
		return 0;
	SCOPED char *password = NULL;
	int rc = read_password(store, &password);
	if (rc < 0)
		return rc;
	const char *said = getenv("BRICK_DB_USER"), *user = said || !password ? said : "default";
	rc = http_client_create(&c->http, user, password);
	if (rc < 0)
		return history_fail(store, rc,
			rc == -ENOTSUP ? "libcurl is missing (libcurl4): no server can be asked"
				       : "not enough memory");
	http_client_patience(c->http, CONNECT_MS, c->patience_ms ? c->patience_ms : TOTAL_MS);
	return 0;
}

static int clickhouse_ask_read_rows(struct history_store *store, const struct http_reply *reply,
	clickhouse_row_fn each, void *context)
{
	int rc = 0;

	for (const char *at = reply->body; each && *at && rc == 0;) {
		size_t n = strcspn(at, "\n");
		json_t *row = n ? json_loadb(at, n, JSON_ALLOW_NUL, NULL) : NULL;
		if (n && !row)
			rc = history_fail(store, -EPROTO, "%s: a row that is no JSON: %.60s",
				store->where, at);
		if (row)
			rc = each(context, row);
		json_decref(row);
		at += n + (at[n] == '\n');
	}
	return rc;
}

/* Makes an error of a request that failed, or that the server refused. rc: of http_post(). */
static int clickhouse_ask_judge(struct history_store *store, const struct http_reply *reply, int rc)
{
	if (rc < 0)
		return history_fail(store, rc == -ECONNREFUSED ? -EAGAIN : rc, "%s: %s",
			store->where, reply->error);
	if (reply->status == 200)
		return 0;
	size_t line = strcspn(reply->body, "\n");
	return history_fail(store, -EREMOTEIO, "%s: HTTP %ld: %.*s", store->where, reply->status,
		line < ERROR_BYTES ? (int)line : ERROR_BYTES, reply->body);
}

int clickhouse_ask(struct history_store *store, struct query *q, const char *query_id,
	clickhouse_row_fn each, void *context)
{
	struct clickhouse *c = store->state;
	SCOPED_BY(http_reply_fini) struct http_reply reply = {0};
	SCOPED char *url = NULL;
	int rc = connect_client(store, c);

	if (rc == 0 && (q->failed || asprintf(&url,
					     "%s/?database=%s&output_format_json_quote_64bit_"
					     "integers=0%s%s",
					     c->url, c->database, query_id ? "&query_id=" : "",
					     query_id ? query_id : "") < 0))
		rc = history_fail(store, -ENOMEM, "not enough memory");
	if (rc == 0)
		rc = clickhouse_ask_judge(
			store, &reply, http_post(c->http, url, NULL, q->text, q->bytes, &reply));
	if (rc == 0)
		rc = clickhouse_ask_read_rows(store, &reply, each, context);
	query_fini(q);
	return rc;
}
