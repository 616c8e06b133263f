/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sums of a member's hour are packed into one value, because SQLite takes as long for a row as
 * for all of these numbers. Packed are, for each series in ascending order, varints: how much
 * higher its number is than the one before, FLEET_NUMBERS numbers, the count of its buckets, and
 * for each bucket how much higher its index is, and its count.
 */
#include "analysis/history/sqlite_fleet.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/history/sqlite_db.h"
#include "base/hashmap.h"
#include "base/number.h"
#include "base/order.h"
#include "base/pb_read.h"
#include "base/pb_write.h"

#define HOUR_NS 3600000000000ull

enum fleet_number {
	FLEET_RUNS,
	FLEET_COUNT,
	FLEET_TOKENS,
	FLEET_TOTAL_NS,
	FLEET_TYPICAL_TOKENS,
	FLEET_TYPICAL_NS,
	FLEET_NUMBERS
};

struct fleet_sum {
	uint64_t series, first_hour;
	uint64_t numbers[FLEET_NUMBERS];
	struct history_histogram histogram;
};

struct fleet_sums {
	ARRAY(struct fleet_sum) list; /* by series */
};

static void fleet_sums_fini(struct fleet_sums *sums)
{
	for (size_t i = 0; i < sums->list.count; i++)
		history_histogram_fini(&sums->list.items[i].histogram);
	array_fini(&sums->list);
}

/* The sum of a series, empty if it is new. NULL: no memory. */
static struct fleet_sum *fleet_sums_find(struct fleet_sums *sums, uint64_t series, uint64_t hour)
{
	size_t at = BISECT(i, 0, sums->list.count, sums->list.items[i].series < series);

	if (at < sums->list.count && sums->list.items[at].series == series) {
		sums->list.items[at].first_hour = number_min(sums->list.items[at].first_hour, hour);
		return &sums->list.items[at];
	}
	if (array_reserve(&sums->list, 1))
		return NULL;
	memmove(sums->list.items + at + 1, sums->list.items + at,
		(sums->list.count++ - at) * sizeof(*sums->list.items));
	sums->list.items[at] = (struct fleet_sum){.series = series, .first_hour = hour};
	return &sums->list.items[at];
}

/* Packed sums, which are not trusted. */
struct fleet_packed {
	const uint8_t *at, *end;
};

static bool fleet_take(struct fleet_packed *p, uint64_t *value)
{
	p->at = pb_read_varint(p->at, p->end, value);
	return p->at != NULL;
}

/* Adds `buckets` buckets to a histogram; NULL: passes them over. -EINVAL: they are none. */
static int fleet_take_buckets(
	struct fleet_packed *p, struct history_histogram *histogram, uint64_t buckets)
{
	uint64_t index = 0, higher, count;
	size_t at = 0;

	for (; buckets; buckets--) {
		if (!fleet_take(p, &higher) || !fleet_take(p, &count) || !count ||
			higher >= HISTORY_BUCKETS || (index += higher) >= HISTORY_BUCKETS)
			return -EINVAL;
		if (!histogram)
			continue;
		while (at < histogram->buckets.count && histogram->buckets.items[at].index < index)
			at++;
		if (at < histogram->buckets.count && histogram->buckets.items[at].index == index)
			histogram->buckets.items[at].count += count;
		else if (history_histogram_add(histogram, (uint32_t)index, count))
			return -ENOMEM;
	}
	return 0;
}

/* Which series a question is about. */
struct fleet_series {
	char *phase, *kind, *name; /* NULL: it is not about this one */
	bool has_histogram;
};

struct fleet_wanted {
	ARRAY(struct fleet_series) list; /* by number */
};

/* Adds packed sums; wanted: NULL: of all series, with histograms. -EINVAL: they are none. */
static int fleet_sums_add(struct fleet_sums *sums, const void *packed, size_t bytes, uint64_t hour,
	const struct fleet_wanted *wanted)
{
	struct fleet_packed p = {packed, (const uint8_t *)packed + bytes};
	uint64_t series = 0, higher, numbers[FLEET_NUMBERS], buckets;

	while (p.at < p.end) {
		if (!fleet_take(&p, &higher))
			return -EINVAL;
		series += higher;
		for (int i = 0; i < FLEET_NUMBERS; i++)
			if (!fleet_take(&p, &numbers[i]))
				return -EINVAL;
		if (!fleet_take(&p, &buckets))
			return -EINVAL;
		const struct fleet_series *want =
			wanted && series < wanted->list.count ? &wanted->list.items[series] : NULL;
		struct fleet_sum *sum = NULL;
		if (!wanted || (want && want->phase)) {
			sum = fleet_sums_find(sums, series, hour);
			if (!sum)
				return -ENOMEM;
			for (int i = 0; i < FLEET_NUMBERS; i++)
				sum->numbers[i] += numbers[i];
		}
		bool has_histogram = sum && (!want || want->has_histogram);
		int rc = fleet_take_buckets(&p, has_histogram ? &sum->histogram : NULL, buckets);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static bool fleet_put(struct pb_buffer *b, uint64_t value)
{
	enum { LONGEST = 10 };

	if (!pb_reserve(b, LONGEST))
		return false;
	b->size += pb_put_varint(b->data + b->size, value);
	return true;
}

/* ---- functions of SQL ---- */

/* Hands sums over as a function's result, and frees them. */
static void fleet_result(sqlite3_context *context, struct fleet_sums *sums, int rc)
{
	struct pb_buffer b = {0};
	uint64_t series = 0;

	for (size_t i = 0; i < sums->list.count && rc == 0; i++) {
		const struct fleet_sum *sum = &sums->list.items[i];
		uint32_t index = 0;
		fleet_put(&b, sum->series - series);
		series = sum->series;
		for (int k = 0; k < FLEET_NUMBERS; k++)
			fleet_put(&b, sum->numbers[k]);
		fleet_put(&b, sum->histogram.buckets.count);
		for (size_t k = 0; k < sum->histogram.buckets.count; k++) {
			const struct history_bucket *bucket = &sum->histogram.buckets.items[k];
			fleet_put(&b, bucket->index - index);
			fleet_put(&b, bucket->count);
			index = bucket->index;
		}
	}
	if (rc == -ENOMEM || b.failed)
		sqlite3_result_error_nomem(context);
	else if (rc < 0)
		sqlite3_result_error(context, "sums of windows are damaged", -1);
	else
		sqlite3_result_blob64(
			context, b.size ? (void *)b.data : "", b.size, SQLITE_TRANSIENT);
	pb_buffer_fini(&b);
	fleet_sums_fini(sums);
}

/* brick_sums(series, count, tokens, total_ns, typical_tokens, typical_ns, histogram) */
static void fleet_step(sqlite3_context *context, int arguments, sqlite3_value **values)
{
	struct fleet_sums *sums = sqlite3_aggregate_context(context, sizeof(*sums));
	sqlite3_int64 series = sqlite3_value_int64(values[0]);
	struct fleet_sum *sum =
		sums && series >= 0 ? fleet_sums_find(sums, (uint64_t)series, 0) : NULL;
	const char *histogram = (const char *)sqlite3_value_text(values[arguments - 1]);

	if (!sum) {
		sqlite3_result_error_nomem(context);
		return;
	}
	sum->numbers[FLEET_RUNS]++;
	for (int i = FLEET_COUNT; i < FLEET_NUMBERS; i++)
		sum->numbers[i] += (uint64_t)sqlite3_value_int64(values[i]);
	if (history_histogram_parse(&sum->histogram, histogram ? histogram : ""))
		sqlite3_result_error(context, "a histogram is damaged", -1);
}

static void fleet_final(sqlite3_context *context)
{
	struct fleet_sums none = {0}, *sums = sqlite3_aggregate_context(context, 0);

	fleet_result(context, sums ? sums : &none, 0);
}

static void fleet_plus(sqlite3_context *context, int arguments, sqlite3_value **values)
{
	struct fleet_sums sums = {0};
	int rc = 0;

	for (int i = 0; i < arguments && rc == 0; i++) {
		const void *packed = sqlite3_value_blob(values[i]);
		rc = fleet_sums_add(&sums, packed, (size_t)sqlite3_value_bytes(values[i]), 0, NULL);
	}
	fleet_result(context, &sums, rc);
}

void sqlite_fleet_functions(sqlite3 *db)
{
	int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;

	sqlite3_create_function(
		db, "brick_sums", 1 + FLEET_NUMBERS, flags, NULL, NULL, fleet_step, fleet_final);
	sqlite3_create_function(db, "brick_sums_plus", 2, flags, NULL, fleet_plus, NULL, NULL);
}

/* ---- windows come and go ---- */

/* A statement with up to two numbers, and no rows. */
static int fleet_do(struct history_store *store, const char *sql, const char *types,
	sqlite3_int64 first, sqlite3_int64 second)
{
	sqlite3_stmt *s;
	int rc = sqlite_db_prepare(store, store->state, &s, sql, types, first, second);

	return rc < 0 ? rc : sqlite_db_finish(store, store->state, s);
}

int sqlite_fleet_add(struct history_store *store, sqlite3_int64 run_number)
{
	int rc = fleet_do(store, SQLITE_FLEET_ADD_MEMBERS("r.number = ?1"), "i", run_number, 0);

	return rc < 0 ? rc
		      : fleet_do(store, SQLITE_FLEET_ADD_SUMS("r.number = ?1"), "i", run_number, 0);
}

int sqlite_fleet_remove(struct history_store *store, const char *id)
{
	SCOPED_TO(sqlite3_finalize) sqlite3_stmt *s = NULL;
	sqlite3_stmt *removal;
	sqlite3 *db = store->state;
	int is_window = sqlite_db_prepare(store, db, &s,
		"SELECT start_ns / " SQLITE_FLEET_HOUR_NS ", m.number FROM runs JOIN members m"
		" USING (" SQLITE_FLEET_MEMBER ") WHERE id = ? AND kind = '" HISTORY_WINDOW "'",
		"s", id);

	is_window = is_window < 0 ? is_window : sqlite_db_step(store, db, s);
	int rc = is_window < 0 ? is_window
			       : sqlite_db_prepare(store, db, &removal,
					 "DELETE FROM runs WHERE id = ?", "s", id);
	rc = rc < 0 ? rc : sqlite_db_finish(store, db, removal);
	if (rc < 0 || !is_window)
		return rc;
	sqlite3_int64 hour = sqlite3_column_int64(s, 0), member = sqlite3_column_int64(s, 1);
	rc = fleet_do(store, "DELETE FROM fleet WHERE hour = ? AND member = ?", "ii", hour, member);
	return rc < 0 ? rc
		      : fleet_do(store,
				SQLITE_FLEET_ADD_SUMS(
					"start_ns >= ?1 * " SQLITE_FLEET_HOUR_NS
					" AND start_ns < (?1 + 1) * " SQLITE_FLEET_HOUR_NS
					" AND m.number = ?2"),
				"ii", hour, member);
}

int sqlite_fleet_expire(struct history_store *store, uint64_t before_ns, uint64_t *count)
{
	sqlite3_int64 before = (sqlite3_int64)before_ns;
	int rc = fleet_do(store, "DELETE FROM fleet WHERE hour <= ?1 / " SQLITE_FLEET_HOUR_NS, "i",
		before, 0);

	if (rc == 0)
		rc = fleet_do(store,
			SQLITE_FLEET_ADD_SUMS(
				"start_ns >= ?1 AND start_ns < (?1 / " SQLITE_FLEET_HOUR_NS
				" + 1) * " SQLITE_FLEET_HOUR_NS),
			"i", before, 0);
	if (rc == 0)
		rc = fleet_do(store,
			"DELETE FROM members WHERE number NOT IN (SELECT member FROM fleet)", "", 0,
			0);
	if (rc == 0)
		rc = fleet_do(store, "DELETE FROM runs WHERE start_ns < ?", "i", before, 0);
	*count = rc < 0 ? 0 : (uint64_t)sqlite3_changes(store->state);
	return rc;
}

/* ---- questions ---- */

bool sqlite_fleet_answers(const struct history_filter *f)
{
	return f->kind && !strcmp(f->kind, HISTORY_WINDOW) && !f->id && !f->label && !f->batch &&
	       !f->command && !f->slowest_phase && !f->skip && !f->limit &&
	       f->since_ns % HOUR_NS == 0;
}

/* Members that match a filter; queries number their own parameters from ?6. */
#define OF_MEMBERS                                                                \
	" (?1 IS NULL OR host = ?1) AND (?2 IS NULL OR engine = ?2)"              \
	" AND (?3 IS NULL OR workload = ?3) AND (?4 IS NULL OR instr(model, ?4))" \
	" AND (?5 IS NULL OR cpu = ?5)"

static int fleet_prepare(struct history_store *store, sqlite3_stmt **s, const char *sql,
	const struct history_filter *f, sqlite3_int64 sixth)
{
	return sqlite_db_prepare(store, store->state, s, sql, "sssssi", f->host, f->engine,
		f->workload, f->model, f->cpu, sixth);
}

static const char *fleet_text(sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text ? text : "";
}

int sqlite_fleet_workloads(struct history_store *store, const struct history_filter *filter,
	history_workload_fn each, void *context)
{
	SCOPED_TO(sqlite3_finalize) sqlite3_stmt *s = NULL;
	int rc = fleet_prepare(store, &s,
		"SELECT workload, host, cpu, sum(runs), max(newest_ns) AS newest FROM fleet"
		" JOIN members ON number = member WHERE hour >= ?6 AND" OF_MEMBERS
		" GROUP BY workload, host, cpu ORDER BY newest DESC, workload, host, cpu",
		filter, (sqlite3_int64)(filter->since_ns / HOUR_NS));

	while (rc >= 0 && (rc = sqlite_db_step(store, store->state, s)) > 0) {
		const struct history_workload workload = {fleet_text(s, 0), fleet_text(s, 1),
			fleet_text(s, 2), (uint64_t)sqlite3_column_int64(s, 3)};
		rc = each(context, &workload);
	}
	return rc;
}

struct fleet_group {
	char *name;
	struct fleet_sums sums;
};

struct fleet_answer {
	ARRAY(struct fleet_group) groups; /* by name */
	struct fleet_wanted wanted;
	struct hashmap group_of; /* member -> index of groups */
};

static void fleet_answer_fini(struct fleet_answer *a)
{
	for (size_t i = 0; i < a->groups.count; i++) {
		free(a->groups.items[i].name);
		fleet_sums_fini(&a->groups.items[i].sums);
	}
	for (size_t i = 0; i < a->wanted.list.count; i++) {
		free(a->wanted.list.items[i].phase);
		free(a->wanted.list.items[i].kind);
		free(a->wanted.list.items[i].name);
	}
	array_fini(&a->groups);
	array_fini(&a->wanted.list);
	hashmap_fini(&a->group_of);
}

static const char *const fleet_members_by[] = {
	[HISTORY_BY_HOST] =
		"SELECT number, host AS who FROM members WHERE" OF_MEMBERS " ORDER BY who",
	[HISTORY_BY_ENGINE] =
		"SELECT number, engine AS who FROM members WHERE" OF_MEMBERS " ORDER BY who",
	[HISTORY_BY_RANK] = "SELECT number, host || CASE WHEN rank < 0 THEN '' ELSE ' rank ' ||"
			    " rank END AS who FROM members WHERE" OF_MEMBERS " ORDER BY who",
	[HISTORY_BY_NOTHING] = "SELECT number, '' AS who FROM members WHERE" OF_MEMBERS,
};

static int fleet_find_groups(struct history_store *store, struct fleet_answer *a,
	const struct history_filter *filter, enum history_by by)
{
	SCOPED_TO(sqlite3_finalize) sqlite3_stmt *s = NULL;
	int rc = sqlite_db_prepare(store, store->state, &s, fleet_members_by[by], "sssss",
		filter->host, filter->engine, filter->workload, filter->model, filter->cpu);

	while (rc >= 0 && (rc = sqlite_db_step(store, store->state, s)) > 0) {
		const char *who = fleet_text(s, 1);
		size_t count = a->groups.count;
		if (!count || strcmp(a->groups.items[count - 1].name, who)) {
			struct fleet_group group = {.name = strdup(who)};
			if (!group.name || array_push(&a->groups, group))
				return free(group.name), -ENOMEM;
		}
		if (hashmap_set(&a->group_of, (uint64_t)sqlite3_column_int64(s, 0),
			    a->groups.count - 1))
			return -ENOMEM;
	}
	return rc;
}

static int fleet_find_series(
	struct history_store *store, struct fleet_answer *a, enum history_by by, const char *phase)
{
	SCOPED_TO(sqlite3_finalize) sqlite3_stmt *s = NULL;
	int rc = sqlite_db_prepare(store, store->state, &s,
		"SELECT number, phase, kind, name FROM series WHERE kind IN ('step', 'brick',"
		" 'request') AND (?1 IS NULL OR phase = ?1) AND number BETWEEN 0 AND 16777215"
		" ORDER BY number",
		"s", phase);

	while (rc >= 0 && (rc = sqlite_db_step(store, store->state, s)) > 0) {
		uint64_t number = (uint64_t)sqlite3_column_int64(s, 0);
		const struct fleet_series none = {0};
		while (a->wanted.list.count <= number)
			if (array_push(&a->wanted.list, none))
				return -ENOMEM;
		struct fleet_series *series = &a->wanted.list.items[number];
		*series = (struct fleet_series){strdup(fleet_text(s, 1)), strdup(fleet_text(s, 2)),
			strdup(fleet_text(s, 3)), false};
		if (!series->phase || !series->kind || !series->name)
			return -ENOMEM;
		series->has_histogram = by == HISTORY_BY_NOTHING || !strcmp(series->kind, "step");
	}
	return rc;
}

static int fleet_add_up(
	struct history_store *store, struct fleet_answer *a, const struct history_filter *filter)
{
	SCOPED_TO(sqlite3_finalize) sqlite3_stmt *s = NULL;
	int rc = sqlite_db_prepare(store, store->state, &s,
		"SELECT hour, member, sums FROM fleet WHERE hour >= ?", "i",
		(sqlite3_int64)(filter->since_ns / HOUR_NS));

	while (rc >= 0 && (rc = sqlite_db_step(store, store->state, s)) > 0) {
		uint64_t group = hashmap_get(&a->group_of, (uint64_t)sqlite3_column_int64(s, 1));
		if (group == HASHMAP_NONE)
			continue;
		const void *packed = sqlite3_column_blob(s, 2);
		rc = fleet_sums_add(&a->groups.items[group].sums, packed,
			(size_t)sqlite3_column_bytes(s, 2), (uint64_t)sqlite3_column_int64(s, 0),
			&a->wanted);
	}
	return rc == -EINVAL
		       ? history_fail(store, rc, "%s: what it holds is no history", store->where)
		       : rc;
}

static int fleet_hand_over(const struct fleet_answer *a, const struct fleet_group *group,
	history_group_fn each, void *context)
{
	int rc = 0;

	for (size_t i = 0; i < group->sums.list.count && rc == 0; i++) {
		const struct fleet_sum *sum = &group->sums.list.items[i];
		const struct fleet_series *series = &a->wanted.list.items[sum->series];
		struct history_part part = {series->phase, series->kind, series->name,
			sum->numbers[FLEET_COUNT], sum->numbers[FLEET_TOKENS],
			sum->numbers[FLEET_TOTAL_NS], sum->numbers[FLEET_TYPICAL_TOKENS],
			sum->numbers[FLEET_TYPICAL_NS], 1, sum->histogram};
		const struct history_group one = {
			group->name, &part, sum->numbers[FLEET_RUNS], sum->first_hour * HOUR_NS};
		rc = each(context, &one);
	}
	return rc;
}

int sqlite_fleet_groups(struct history_store *store, const struct history_filter *filter,
	enum history_by by, const char *phase, history_group_fn each, void *context)
{
	SCOPED_BY(fleet_answer_fini) struct fleet_answer a = {0};
	int rc = fleet_find_series(store, &a, by, phase);

	if (rc == 0)
		rc = fleet_find_groups(store, &a, filter, by);
	if (rc == 0)
		rc = fleet_add_up(store, &a, filter);
	for (size_t i = 0; i < a.groups.count && rc == 0; i++)
		rc = fleet_hand_over(&a, &a.groups.items[i], each, context);
	return rc;
}
