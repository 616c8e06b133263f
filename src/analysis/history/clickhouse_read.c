/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of ClickHouse: what asks. */
#include "analysis/history/clickhouse_state.h"

#include <stdlib.h>
#include <string.h>
#include "analysis/history/json_fields.h"

/* Newest of a trend, where nobody says how many: more is for sums by hour. */
enum { POINTS_MAX = 20000 };

static void add_equal(struct query *q, const char *column, const char *value)
{
	if (!value)
		return;
	query_add(q, " AND %s = ", column);
	query_quote(q, value);
}

static void add_label(struct query *q, const char *label)
{
	if (!label)
		return;
	query_add(q, " AND id IN (SELECT id FROM labels FINAL WHERE present = 1 AND label = ");
	query_quote(q, label);
	query_add(q, ")");
}

static void add_kind(struct query *q, const char *column, const char *kind)
{
	if (kind)
		add_equal(q, column, kind);
	else
		query_add(q, " AND %s != 'floor'", column);
}

/* Of the table runs. */
static void add_filter(struct query *q, const struct history_filter *f)
{
	query_add(q, " WHERE 1");
	if (f->id) {
		query_add(q, " AND substring(id, 1, %zu) = ", strlen(f->id));
		query_quote(q, f->id);
	}
	add_label(q, f->label);
	add_equal(q, "batch", f->batch);
	add_equal(q, "host", f->host);
	add_equal(q, "engine", f->engine);
	add_kind(q, "kind", f->kind);
	query_add(q, " ORDER BY start_ns DESC, id DESC");
	if (f->limit || f->skip)
		query_add(q, " LIMIT %llu, %llu", (unsigned long long)f->skip,
			(unsigned long long)(f->limit ? f->limit : INT32_MAX));
}

/* ---- runs ---- */

struct reading {
	ARRAY(struct history_run) runs;
	size_t from, to; /* whose lists are read */
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

static int take_run(void *context, const json_t *row)
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

static struct history_run *find_run(struct reading *r, const json_t *row)
{
	const char *id = json_text_of(row, "id");

	for (size_t i = 0; i < r->runs.count; i++)
		if (!strcmp(r->runs.items[i].id, id))
			return &r->runs.items[i];
	return NULL;
}

static int take_label(void *context, const json_t *row)
{
	struct history_run *run = find_run(context, row);

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

static int take_part(void *context, const json_t *row)
{
	struct history_run *run = find_run(context, row);
	struct history_part *part =
		run ? history_run_part(run, json_text_of(row, "phase"), json_text_of(row, "kind"),
			      json_text_of(row, "name"))
		    : NULL;

	return part ? fill_part(part, row) : run ? -ENOMEM : 0;
}

/* Runs [from, to) of the reading, which are in the order of their start. */
static void add_runs(struct query *q, const struct reading *r)
{
	query_add(q, " WHERE id IN (");
	for (size_t i = r->from; i < r->to; i++)
		query_add(q, "%s'%s'", i > r->from ? ", " : "", r->runs.items[i].id);
	query_add(q, ")");
}

/* Days choose the pieces of a table that are looked into, times the places in them. */
static void add_times(struct query *q, uint64_t first_ns, uint64_t last_ns)
{
	query_add(q, " AND start_ns >= %llu AND start_ns <= %llu", (unsigned long long)first_ns,
		(unsigned long long)last_ns);
	query_add(q,
		" AND day >= toDate(toDateTime(%llu)) - 1 AND day <= toDate(toDateTime(%llu)) + 1",
		(unsigned long long)(first_ns / 1000000000u),
		(unsigned long long)(last_ns / 1000000000u));
}

/* Labels and parts of some of the runs that were read. */
static int read_some_lists(struct history_store *store, struct reading *r, bool whole)
{
	struct query q = {0};

	query_add(&q, "SELECT id, label FROM labels FINAL");
	add_runs(&q, r);
	query_add(&q, " AND present = 1 ORDER BY label FORMAT JSONEachRow");
	int rc = clickhouse_ask(store, &q, NULL, take_label, r);
	if (rc < 0)
		return rc;
	query_add(&q, "SELECT * FROM parts_by_run");
	add_runs(&q, r);
	query_add(&q, " AND start_ns IN (");
	for (size_t i = r->from; i < r->to; i++)
		query_add(&q, "%s%llu", i > r->from ? ", " : "",
			(unsigned long long)r->runs.items[i].start_ns);
	query_add(&q, ")");
	add_times(&q, r->runs.items[r->to - 1].start_ns, r->runs.items[r->from].start_ns);
	query_add(&q, "%s FORMAT JSONEachRow", whole ? "" : " AND kind = 'step'");
	return clickhouse_ask(store, &q, NULL, take_part, r);
}

static int read_runs(
	struct history_store *store, const struct history_filter *filter, struct reading *r)
{
	enum { TOGETHER = 1000 }; /* a query is bounded */
	struct query q = {0};
	int rc = clickhouse_make_tables(store);

	if (rc < 0)
		return rc;
	/* Only of these few are the other columns read. */
	query_add(&q, "SELECT * FROM runs WHERE (start_ns, id) IN (SELECT start_ns, id FROM runs");
	add_filter(&q, filter);
	query_add(&q, ") ORDER BY start_ns DESC, id DESC FORMAT JSONEachRow");
	rc = clickhouse_ask(store, &q, NULL, take_run, r);
	for (; rc == 0 && r->to < r->runs.count; r->from = r->to) {
		r->to = r->runs.count - r->from < TOGETHER ? r->runs.count : r->from + TOGETHER;
		rc = read_some_lists(store, r, filter->whole);
	}
	return rc;
}

int clickhouse_list(struct history_store *store, const struct history_filter *filter,
	history_run_fn each, void *context)
{
	SCOPED_BY(reading_fini) struct reading r = {0};
	int rc = read_runs(store, filter, &r);

	for (size_t i = 0; i < r.runs.count && rc == 0; i++)
		rc = each(context, &r.runs.items[i]);
	return rc;
}

/* ---- many runs ---- */

struct points {
	ARRAY(json_t *) rows; /* newest first */
};

static int take_point(void *context, const json_t *row)
{
	struct points *p = context;

	return array_push(&p->rows, json_incref((json_t *)row));
}

/* Of the table parts; `limit` is of runs. */
static void add_parts_filter(struct query *q, const struct history_filter *f)
{
	if (f->limit || f->skip || f->label || f->id || f->batch) {
		query_add(q, " AND (start_ns, id) IN (SELECT start_ns, id FROM runs");
		add_filter(q, f);
		query_add(q, ")");
		return;
	}
	add_equal(q, "host", f->host);
	add_equal(q, "engine", f->engine);
	add_kind(q, "run_kind", f->kind);
}

int clickhouse_points(struct history_store *store, const struct history_filter *filter,
	const struct history_part *part, history_point_fn each, void *context)
{
	struct points p = {0};
	struct query q = {0};
	int rc = clickhouse_make_tables(store);

	if (rc < 0)
		return rc;
	query_add(&q, "SELECT id, host, engine, start_ns, typical_ns / typical_tokens AS ns FROM "
		      "parts WHERE typical_tokens > 0");
	add_equal(&q, "phase", part->phase);
	add_equal(&q, "kind", part->kind);
	add_equal(&q, "name", part->name);
	add_parts_filter(&q, filter);
	query_add(&q, " ORDER BY start_ns DESC, id DESC LIMIT %d FORMAT JSONEachRow",
		filter->limit ? INT32_MAX : POINTS_MAX);
	rc = clickhouse_ask(store, &q, NULL, take_point, &p);
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

struct groups {
	const char *phase;
	history_group_fn each;
	void *context;
};

static int take_group(void *context, const json_t *row)
{
	const struct groups *g = context;
	SCOPED_BY(history_run_fini) struct history_run one = {0};
	struct history_part *part = history_run_part(
		&one, g->phase, json_text_of(row, "kind"), json_text_of(row, "name"));
	const struct history_group group = {
		json_text_of(row, "who"), part, json_number_of(row, "runs")};
	int rc = part ? fill_part(part, row) : -ENOMEM;

	if (rc == 0)
		rc = g->each(g->context, &group);
	return rc;
}

/* Sums by month know hosts, engines and kinds of runs, and no runs. */
static bool is_for_months(const struct history_filter *f)
{
	return !f->label && !f->limit && !f->skip && !f->id && !f->batch;
}

/* Sums of steps, with their histogram, or of bricks, without: reading it is what takes long. */
static void add_sums(struct query *q, const struct history_filter *f, int by_engine,
	const char *phase, bool steps)
{
	bool months = is_for_months(f);

	query_add(q,
		"SELECT %s AS who, kind, name, sum(%s) AS runs, sum(count) AS count, sum(tokens) "
		"AS tokens, sum(total_ns) AS total_ns, sum(typical_tokens) AS typical_tokens, "
		"sum(typical_ns) AS typical_ns, %s FROM %s WHERE kind = '%s'",
		by_engine ? "engine" : "host", months ? "runs" : "1",
		!steps	 ? "(emptyArrayUInt16(), emptyArrayUInt64()) AS map"
		: months ? "sumMap(histogramMap.bucket, histogramMap.count) AS map"
			 : "sumMap(buckets, bucket_counts) AS map",
		months ? "months" : "parts_by_run", steps ? "step" : "brick");
	add_equal(q, "phase", phase);
	add_parts_filter(q, f);
	query_add(q, " GROUP BY who, kind, name HAVING runs > 0");
}

int clickhouse_groups(struct history_store *store, const struct history_filter *filter,
	int by_engine, const char *phase, history_group_fn each, void *context)
{
	struct groups g = {phase, each, context};
	struct query q = {0};
	int rc = clickhouse_make_tables(store);

	if (rc < 0)
		return rc;
	query_add(&q, "SELECT who, kind, name, runs, count, tokens, total_ns, typical_tokens, "
		      "typical_ns, map.1 AS buckets, map.2 AS bucket_counts FROM (");
	add_sums(&q, filter, by_engine, phase, true);
	query_add(&q, " UNION ALL ");
	add_sums(&q, filter, by_engine, phase, false);
	query_add(&q, ") ORDER BY who, kind, name FORMAT JSONEachRow");
	return clickhouse_ask(store, &q, NULL, take_group, &g);
}
