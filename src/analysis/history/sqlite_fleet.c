/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that come and go, and questions about their sums (fleet_sums.h), which are added up here.
 */
#include "analysis/history/sqlite_fleet.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/history/fleet_sums.h"
#include "analysis/history/sqlite_db.h"
#include "base/hashmap.h"
#include "base/number.h"

#define HOUR_NS 3600000000000ull

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
	int rc = fleet_do(store, FLEET_ADD_MEMBERS("r.number = ?1"), "i", run_number, 0);

	return rc < 0 ? rc : fleet_do(store, FLEET_ADD_SUMS("r.number = ?1"), "i", run_number, 0);
}

int sqlite_fleet_remove(struct history_store *store, const char *id)
{
	SCOPED_TO(sqlite3_finalize) sqlite3_stmt *s = NULL;
	sqlite3_stmt *removal;
	sqlite3 *db = store->state;
	int is_window = sqlite_db_prepare(store, db, &s,
		"SELECT start_ns / " FLEET_HOUR_NS ", m.number FROM runs JOIN members m"
		" USING (" FLEET_MEMBER ") WHERE id = ? AND kind = '" HISTORY_WINDOW "'",
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
				FLEET_ADD_SUMS("start_ns >= ?1 * " FLEET_HOUR_NS
					       " AND start_ns < (?1 + 1) * " FLEET_HOUR_NS
					       " AND m.number = ?2"),
				"ii", hour, member);
}

int sqlite_fleet_expire(struct history_store *store, uint64_t before_ns, uint64_t *count)
{
	sqlite3_int64 before = (sqlite3_int64)before_ns;
	int rc = fleet_do(
		store, "DELETE FROM fleet WHERE hour <= ?1 / " FLEET_HOUR_NS, "i", before, 0);

	if (rc == 0)
		rc = fleet_do(store,
			FLEET_ADD_SUMS("start_ns >= ?1 AND start_ns < (?1 / " FLEET_HOUR_NS
				       " + 1) * " FLEET_HOUR_NS),
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
