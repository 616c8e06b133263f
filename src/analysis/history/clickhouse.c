/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of ClickHouse: its place, its secrets, labels. Runs go through a spool
 * (clickhouse_push.c), so that who adds one waits for no server.
 */
#include "analysis/history/clickhouse_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock_ns.h"
#include "analysis/history/json_fields.h"

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

static int note_count(void *context, const json_t *row)
{
	*(uint64_t *)context = (uint64_t)json_integer_value(json_object_get(row, "number"));
	return 0;
}

/* The server deletes rows some time after it was told so. */
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

/* Runs, their parts, and what the sums have of them. hosts, months: where they may be. If it ends
 * in between, the runs are still listed, and the next try levels what this one took out of the
 * sums. */
static int remove_rows(
	struct history_store *store, const char *which, const char *hosts, const char *months)
{
	int rc = clickhouse_make_tables(store);

	if (rc == 0)
		rc = clickhouse_sums_subtract(store, which);
	if (rc == 0)
		rc = delete_rows(store, "parts", which);
	if (rc == 0)
		rc = delete_rows(store, "parts_by_run", which);
	if (rc == 0)
		rc = clickhouse_sums_level(store, 1, hosts, months);
	return rc < 0 ? rc : delete_rows(store, "runs", which);
}

static int remove_run(struct history_store *store, const char *id)
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

/* Months go as a whole, and at once. */
static int drop_months(struct history_store *store, int before)
{
	struct query q = {0};

	query_add(&q,
		"SELECT DISTINCT table, toUInt32(partition) AS number FROM system.parts WHERE "
		"database = '%s' AND table IN ('hours', 'days', 'months', 'parts', 'parts_by_run', "
		"'runs') AND active AND toUInt32(partition) < %d ORDER BY table FORMAT JSONEachRow",
		((const struct clickhouse *)store->state)->database, before);
	return clickhouse_ask(store, &q, NULL, drop_piece, store);
}

static int expire(struct history_store *store, uint64_t before_ns, uint64_t *count)
{
	struct query q = {0};
	int before = clickhouse_month(before_ns), rc = clickhouse_make_tables(store);

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
	.open = open_store,
	.close = close_store,
	.add = add,
	.flush = clickhouse_push,
	.list = clickhouse_list,
	.points = clickhouse_points,
	.groups = clickhouse_groups,
	.label = label,
	.remove = remove_run,
	.expire = expire,
};
