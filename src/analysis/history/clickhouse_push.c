/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends what waits in the spool, so that a run is there once, whoever dies in between: the parts of
 * a run go before its row in `runs`, which says that it is whole. What may have been sent already
 * is looked for first: of a run whose row is there nothing is sent again, of another only the rows
 * that are missing, which are the last ones, as they go in order. A query of a former try that
 * still runs is waited for.
 */
#include "base/date.h"
#include "analysis/history/clickhouse_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/history/json_fields.h"

struct push {
	struct history_store *store;
	struct spool_batch batch;
	bool *is_there; /* [runs]: whole */
	size_t *rows;	/* [runs]: of `parts` that are there */
	uint64_t running;
};

static void put(json_t *row, const char *key, uint64_t value)
{
	json_object_set_new(row, key, json_integer((json_int_t)value));
}

static void put_text(json_t *row, const char *key, const char *value)
{
	json_object_set_new(row, key, json_string(value));
}

static void put_day(json_t *row, uint64_t start_ns)
{
	char day[DATE_BYTES];

	put_text(row, "day", date_text(day, start_ns, "%Y-%m-%d") ? day : "1970-01-01");
	put(row, "start_ns", start_ns);
}

static void add_row(struct query *q, json_t *row)
{
	SCOPED char *line = json_dumps(row, JSON_COMPACT);

	q->failed |= !line;
	if (line)
		query_add(q, "%s\n", line);
	json_decref(row);
}

static void add_part(struct query *q, const struct history_run *run, const struct history_part *p)
{
	json_t *row = history_part_json(p), *buckets = json_array(), *counts = json_array();

	put_text(row, "id", run->id);
	put_day(row, run->start_ns);
	put_text(row, "run_kind", run->kind);
	put_text(row, "host", run->host);
	put_text(row, "engine", run->engine);
	for (size_t i = 0; i < p->histogram.buckets.count; i++) {
		json_array_append_new(buckets, json_integer(p->histogram.buckets.items[i].index));
		json_array_append_new(
			counts, json_integer((json_int_t)p->histogram.buckets.items[i].count));
	}
	json_object_set_new(row, "buckets", buckets);
	json_object_set_new(row, "bucket_counts", counts);
	add_row(q, row);
}

static void add_head(struct query *q, const struct history_run *run)
{
	json_t *row = history_run_json(run), *keys = json_array(), *values = json_array();

	put_day(row, run->start_ns);
	for (size_t i = 0; i < run->facts.count; i++) {
		json_array_append_new(keys, json_string(run->facts.items[i].key));
		json_array_append_new(values, json_string(run->facts.items[i].value));
	}
	json_object_set_new(row, "fact_keys", keys);
	json_object_set_new(row, "fact_values", values);
	add_row(q, row);
}

static void add_label(struct query *q, const struct history_run *run, const char *label)
{
	json_t *row = json_object();

	put_text(row, "id", run->id);
	put_text(row, "label", label);
	put(row, "present", 1);
	put(row, "at", run->start_ns);
	add_row(q, row);
}

/* ---- what is there ---- */

static long find_run(const struct push *p, const json_t *row)
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
	long i = find_run(p, row);

	if (i >= 0)
		p->is_there[i] = true;
	return 0;
}

static int note_rows(void *context, const json_t *row)
{
	struct push *p = context;
	long i = find_run(p, row);

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

/* " WHERE id IN (...) AND start_ns IN (...)" of all runs, or of those that may have been sent. */
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

static int look(struct push *p)
{
	struct query q = {0};

	query_add(&q, "SELECT id FROM runs");
	add_ids(&q, p, false);
	query_add(&q, " FORMAT JSONEachRow");
	return clickhouse_ask(p->store, &q, NULL, note_run, p);
}

/* Of what a former try may have sent. */
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

/* ---- sending ---- */

/* An INSERT to which rows are added; nothing is sent where there are none. */
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
			add_part(&q, run, &run->parts.items[k]);
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
		for (size_t k = 0; k < run->labels.count && !p->is_there[i]; k++, rows++)
			add_label(&q, run, run->labels.items[k]);
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
			add_head(&q, &p->batch.runs.items[i]);
			rows++;
		}
	return send_rows(p, &q, "runs", rows);
}

/* Sums of hosts of which a former try may have sent something: the server died, perhaps. */
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
		query_add(&months, "%s%d", before, clickhouse_month(run->start_ns));
		before = ", ";
	}
	query_add(&which, ")");
	int rc = which.failed || months.failed ? -ENOMEM
		 : months.text ? clickhouse_sums_level(p->store, 1, which.text, months.text)
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
	int rc = look(p);
	if (rc == 0 && p->batch.sent.count)
		rc = look_closely(p);
	if (rc == 0)
		rc = spool_sending(spool, &p->batch);
	if (rc == 0)
		rc = send_parts(p);
	if (rc == 0 && p->batch.sent.count)
		rc = level_sums(p);
	if (rc == 0)
		rc = send_labels(p);
	if (rc == 0)
		rc = send_heads(p);
	return rc < 0 ? rc : spool_done(spool, &p->batch);
}

/* One batch; *more: others wait. */
static int push_some(struct history_store *store, struct spool *spool, bool *more)
{
	struct push p = {.store = store};
	int rc = spool_take(spool, &p.batch);

	*more = false;
	if (rc < 0)
		return history_fail(store, rc, "%s: %s", spool->directory, strerror(-rc));
	if (p.batch.runs.count) {
		rc = clickhouse_make_tables(store);
		if (rc == 0)
			rc = send_batch(&p, spool);
		*more = p.batch.more;
	}
	free(p.is_there);
	free(p.rows);
	spool_batch_fini(&p.batch);
	return rc;
}

int clickhouse_push(struct history_store *store)
{
	struct clickhouse *c = store->state;
	bool more = true;
	int rc;

	if (!c->has_spool)
		return 0;
	if (!c->is_eager && spool_pause(&c->spool))
		return history_fail(store, -EAGAIN,
			"%s: could not be reached; the next try is in %llu s", store->where,
			(unsigned long long)spool_pause(&c->spool));
	rc = spool_lock(&c->spool);
	if (rc < 0)
		return history_fail(store, rc, "%s: another process is sending", store->where);
	while (more && rc == 0)
		rc = push_some(store, &c->spool, &more);
	spool_tried(&c->spool, rc == 0);
	close(c->spool.lock);
	c->spool.lock = -1;
	return rc;
}
