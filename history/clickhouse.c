/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of ClickHouse: its place, its secrets, labels. Runs go through a spool
 * (clickhouse_push.c), so that who adds one waits for no server.
 */
#include "history/clickhouse_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock_ns.h"

#define PREFIX "clickhouse+"

/* clickhouse+http://host:8123/database */
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
	if (memchr(host, '@', (size_t)(slash - host)))
		return history_fail(store, -EINVAL,
			"a password in an address is seen by everybody: use BRICK_DB_USER and "
			"BRICK_DB_PASSWORD_FILE");
	c->url = strndup(url, (size_t)(slash - url));
	c->database = strdup(database);
	return c->url && c->database ? 0 : history_fail(store, -ENOMEM, "not enough memory");
}

static int open_store(struct history_store *store, const struct history_open *how)
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
	/* Who only asks needs none. */
	if (rc < 0 && how->create)
		return history_fail(store, rc, "%s: %s",
			c->spool.directory ? c->spool.directory : "no data directory for a spool",
			strerror(-rc));
	return 0;
}

static void close_store(struct history_store *store)
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

static int add(struct history_store *store, const struct history_run *run)
{
	struct clickhouse *c = store->state;
	int rc = c->has_spool ? spool_add(&c->spool, run) : -ENOENT;

	return rc < 0 ? history_fail(store, rc, "%s: %s",
				c->spool.directory ? c->spool.directory : "spool",
				rc == -ENOSPC ? "is full: what was recorded is not kept"
					      : strerror(-rc))
		      : 0;
}

/* The newest row of a label decides. */
static int label(struct history_store *store, const char *id, const char *text, int remove)
{
	struct query q = {0};

	query_add(&q, "INSERT INTO labels VALUES (");
	query_quote(&q, id);
	query_add(&q, ", ");
	query_quote(&q, text);
	query_add(&q, ", %d, %llu)", !remove, (unsigned long long)real_ns());
	int rc = clickhouse_make_tables(store);
	if (rc < 0)
		query_fini(&q);
	return rc < 0 ? rc : clickhouse_ask(store, &q, NULL, NULL, NULL);
}

/* Sums by hour and by day keep it. */
static int remove_run(struct history_store *store, const char *id)
{
	static const char *const tables[] = {"parts", "runs"};
	int rc = 0;

	for (size_t i = 0; i < 2 && rc == 0; i++) {
		struct query q = {0};
		query_add(&q, "ALTER TABLE %s DELETE WHERE id = ", tables[i]);
		query_quote(&q, id);
		rc = clickhouse_ask(store, &q, NULL, NULL, NULL);
	}
	return rc;
}

const struct history_engine history_clickhouse = {
	.prefix = PREFIX,
	.open = open_store,
	.close = close_store,
	.add = add,
	.flush = clickhouse_push,
	.list = clickhouse_list,
	.load = clickhouse_load,
	.points = clickhouse_points,
	.groups = clickhouse_groups,
	.label = label,
	.remove = remove_run,
};
