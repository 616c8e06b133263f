/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of windows in SQLite are those of the windows that are there: when windows came, came twice,
 * were removed or expired, and in a history of an older Brick. Sums that are damaged are refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "analysis/history/sqlite_db.h"
#include "analysis/history/sqlite_fleet.h"
#include "analysis/history/store.h"

#define HOUR_NS 3600000000000ull

enum { HOSTS = 3, HOURS = 4, WINDOWS = 96, MOST_SUMS = 64 };

static char folder[] = "/tmp/brick-fleet-XXXXXX", path[64];

static int make_folder(void **state)
{
	(void)state;
	strcpy(strrchr(folder, '-') + 1, "XXXXXX");
	snprintf(path, sizeof(path), "%s/history.db", mkdtemp(folder));
	return 0;
}

static int remove_folder(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static struct history_store *open_store(void)
{
	struct history_store *store;

	if (history_store_open(&store, path, &(struct history_open){.create = true}) < 0)
		fail_msg("%s", history_store_error(store));
	return store;
}

/* Windows of two workloads, the second on one host; every hour has 24, of two engines in turn. */
static void make_window(struct history_run *run, unsigned n)
{
	char text[32];

	assert_int_equal(history_run_init(run), 0);
	snprintf(text, sizeof(text), "host%u", n % HOSTS);
	history_text_set(&run->host, text);
	history_text_set(&run->kind, HISTORY_WINDOW);
	history_text_set(&run->engine, n / 30 % 2 ? "new" : "old");
	history_text_set(&run->workload, n % 8 == 5 ? "second" : "first");
	history_text_set(&run->model, n % 8 == 5 ? "small model" : "large model");
	run->rank = n % 2 ? 1 : -1;
	run->start_ns = 500000 * HOUR_NS + n * (HOUR_NS / (WINDOWS / HOURS)) + 1;
	history_run_identify(run, n);
	for (unsigned i = 0; i < 3; i++) {
		static const char *const kinds[] = {"step", "brick", "layer"};
		struct history_part *part = history_run_part(
			run, n % 5 ? "decode" : "prefill", kinds[i], i ? "RmsNorm" : "");
		part->count = 5 + n;
		part->tokens = 7 * n;
		part->total_ns = 1ull << (n % 60);
		part->typical_tokens = n;
		part->typical_ns = 1000 * n + i;
		history_histogram_add(&part->histogram, n % HISTORY_BUCKETS, 1 + n);
		history_histogram_add(&part->histogram, 900, 1);
	}
}

/* The sums of a question, in one text for each. */
struct sums {
	struct {
		char key[96];
		uint64_t runs, count, tokens, total_ns, typical_tokens, typical_ns, first_hour;
		struct history_histogram histogram;
	} all[MOST_SUMS];
	size_t count;
};

static void sums_fini(struct sums *sums)
{
	for (size_t i = 0; i < sums->count; i++)
		history_histogram_fini(&sums->all[i].histogram);
}

static int sums_add(struct sums *sums, const char *group, const struct history_part *p,
	uint64_t runs, uint64_t start_ns, bool has_histogram)
{
	char key[96];
	size_t i = 0;

	snprintf(key, sizeof(key), "%s/%s/%s/%s", group, p->phase, p->kind, p->name);
	while (i < sums->count && strcmp(sums->all[i].key, key) != 0)
		i++;
	assert_true(i < MOST_SUMS);
	if (i == sums->count) {
		strcpy(sums->all[sums->count++].key, key);
		sums->all[i].first_hour = UINT64_MAX;
	}
	sums->all[i].runs += runs;
	sums->all[i].count += p->count;
	sums->all[i].tokens += p->tokens;
	sums->all[i].total_ns += p->total_ns;
	sums->all[i].typical_tokens += p->typical_tokens;
	sums->all[i].typical_ns += p->typical_ns;
	if (start_ns / HOUR_NS < sums->all[i].first_hour)
		sums->all[i].first_hour = start_ns / HOUR_NS;
	return has_histogram ? history_histogram_merge(&sums->all[i].histogram, &p->histogram) : 0;
}

static int take_group(void *context, const struct history_group *g)
{
	struct sums *sums = context;
	size_t before = sums->count;
	int rc = sums_add(sums, g->group, g->part, g->runs, g->first_ns, true);

	assert_int_equal(sums->count, before + 1); /* each once */
	assert_int_equal(g->first_ns % HOUR_NS, 0);
	return rc;
}

struct truth {
	struct sums sums;
	enum history_by by;
};

static int take_window(void *context, struct history_run *run)
{
	struct truth *truth = context;
	char group[64];
	int rc = 0;

	snprintf(group, sizeof(group), run->rank < 0 ? "%s" : "%s rank %d", run->host,
		(int)run->rank);
	for (size_t i = 0; i < run->parts.count && rc == 0; i++) {
		const struct history_part *p = &run->parts.items[i];
		if (strcmp(p->kind, "layer") != 0)
			rc = sums_add(&truth->sums,
				truth->by == HISTORY_BY_RANK	 ? group
				: truth->by == HISTORY_BY_HOST	 ? run->host
				: truth->by == HISTORY_BY_ENGINE ? run->engine
								 : "",
				p, 1, run->start_ns,
				truth->by == HISTORY_BY_NOTHING || !strcmp(p->kind, "step"));
	}
	return rc;
}

/* What the sums say is what all windows of the filter say. */
static void sums_are_true(struct history_store *store, struct history_filter filter)
{
	filter.kind = HISTORY_WINDOW;
	assert_true(sqlite_fleet_answers(&filter));
	for (int by = HISTORY_BY_HOST; by <= HISTORY_BY_NOTHING; by++) {
		struct truth truth = {.by = (enum history_by)by};
		struct sums sums = {.count = 0};
		assert_int_equal(
			history_store_groups(store, &filter, truth.by, NULL, take_group, &sums), 0);
		struct history_filter all = filter;
		all.whole = true;
		assert_int_equal(history_store_list(store, &all, take_window, &truth), 0);
		assert_int_equal(sums.count, truth.sums.count);
		for (size_t i = 0; i < sums.count; i++) {
			size_t k = 0;
			while (k < sums.count &&
				strcmp(sums.all[i].key, truth.sums.all[k].key) != 0)
				k++;
			assert_true(k < sums.count);
			assert_memory_equal(
				&sums.all[i].runs, &truth.sums.all[k].runs, 7 * sizeof(uint64_t));
			char *a = history_histogram_text(&sums.all[i].histogram),
			     *b = history_histogram_text(&truth.sums.all[k].histogram);
			assert_string_equal(a, b);
			free(a);
			free(b);
		}
		sums_fini(&sums);
		sums_fini(&truth.sums);
	}
}

static void all_are_true(struct history_store *store)
{
	sums_are_true(store, (struct history_filter){0});
	sums_are_true(store, (struct history_filter){.workload = "first"});
	sums_are_true(store, (struct history_filter){.model = "small"});
	sums_are_true(store, (struct history_filter){.host = "host1", .engine = "new"});
	sums_are_true(store, (struct history_filter){.since_ns = 500002 * HOUR_NS});
	sums_are_true(store, (struct history_filter){.since_ns = 600000 * HOUR_NS});
}

static void fill(struct history_store *store)
{
	for (unsigned n = 0; n < WINDOWS; n++) {
		struct history_run run;
		make_window(&run, n);
		for (int twice = 0; twice < 2; twice++)
			if (history_store_add(store, &run) < 0)
				fail_msg("%s", history_store_error(store));
		history_run_fini(&run);
	}
}

static int take_workload(void *context, const struct history_workload *w)
{
	char *said = context;

	sprintf(said + strlen(said), "%s %s %d; ", w->workload, w->host, (int)w->runs);
	return 0;
}

static int rows_of(struct history_store *store, const char *table)
{
	SCOPED_TO(sqlite3_finalize) sqlite3_stmt *s = NULL;
	char sql[64];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
	assert_int_equal(sqlite_db_prepare(store, store->state, &s, sql, ""), 0);
	assert_int_equal(sqlite_db_step(store, store->state, s), 1);
	return sqlite3_column_int(s, 0);
}

static void sums_follow_windows(void **state)
{
	struct history_store *store = open_store();
	struct history_run run;
	char said[512] = "";
	uint64_t count;

	(void)state;
	fill(store);
	all_are_true(store);
	assert_int_equal(history_store_workloads(store,
				 &(struct history_filter){.kind = HISTORY_WINDOW, .model = "small"},
				 take_workload, said),
		0);
	assert_string_equal(said, "second host0 4; second host1 4; second host2 4; ");
	make_window(&run, 40);
	assert_int_equal(history_store_remove(store, run.id), 0);
	assert_int_equal(history_store_remove(store, run.id), 0); /* it is not there any more */
	all_are_true(store);
	assert_int_equal(history_store_add(store, &run), 0);
	all_are_true(store);
	assert_int_equal(history_store_expire(store, run.start_ns, &count), 0);
	assert_int_equal(count, 40);
	all_are_true(store);
	assert_int_equal(history_store_expire(store, UINT64_MAX / 4, &count), 0);
	assert_int_equal(count, WINDOWS - 40);
	all_are_true(store);
	assert_int_equal(rows_of(store, "members"), 0);
	history_run_fini(&run);
	history_store_close(store);
}

#define AS_OF_AN_OLDER_BRICK                                              \
	"DROP TABLE fleet; DROP TABLE members; DROP INDEX facts_slowest;" \
	"PRAGMA user_version = 4"

static uint64_t converting_calls, converting_ns;

static void note_converting(const char *where, uint64_t ns)
{
	assert_string_equal(where, path);
	assert_true(ns >= converting_ns);
	converting_ns = ns;
	converting_calls++;
}

/* It says that it converts for as long as it does, and no other opening says so. */
static void an_older_history_gets_sums(void **state)
{
	const struct history_open how = {.create = true, .converting = note_converting};
	struct history_store *store = NULL;

	(void)state;
	assert_int_equal(history_store_open(&store, path, &how), 0);
	fill(store);
	assert_int_equal(sqlite_db_execute(store, store->state, AS_OF_AN_OLDER_BRICK), 0);
	history_store_close(store);
	assert_int_equal(converting_calls, 0);
	store = NULL;
	assert_int_equal(history_store_open(&store, path, &how), 0);
	assert_true(converting_calls > 0);
	all_are_true(store);
	history_store_close(store);
	converting_calls = 0;
	store = NULL;
	assert_int_equal(history_store_open(&store, path, &how), 0);
	assert_int_equal(converting_calls, 0);
	history_store_close(store);
}

/* Sums that have a damaged window are refused, until it is removed; others are answered. */
static void a_damaged_window_damages_its_sums_alone(void **state)
{
	struct history_store *store = open_store();
	const struct history_filter filter = {.kind = HISTORY_WINDOW};
	struct sums sums = {.count = 0};
	struct history_run damaged, run;
	char sql[256];

	(void)state;
	fill(store);
	make_window(&damaged, 7);
	make_window(&run, 19); /* of the same member and hour */
	assert_int_equal(history_store_remove(store, run.id), 0);
	snprintf(sql, sizeof(sql),
		"UPDATE parts SET histogram = '5:' WHERE run ="
		" (SELECT number FROM runs WHERE id = '%s');" AS_OF_AN_OLDER_BRICK,
		damaged.id);
	assert_int_equal(sqlite_db_execute(store, store->state, sql), 0);
	history_store_close(store);
	store = open_store();
	assert_int_equal(history_store_add(store, &run), 0);
	assert_int_equal(
		history_store_groups(store, &filter, HISTORY_BY_HOST, NULL, take_group, &sums),
		-EINVAL);
	assert_non_null(strstr(history_store_error(store), "no history"));
	sums_fini(&sums);
	sums_are_true(store, (struct history_filter){.host = "host0"});
	assert_int_equal(history_store_remove(store, damaged.id), 0);
	all_are_true(store);
	history_run_fini(&damaged);
	history_run_fini(&run);
	history_store_close(store);
}

static int note_id(void *context, struct history_run *run)
{
	strcat(context, run->id);
	return 0;
}

/* Windows with a long step are the same, and in one order, whether they are few or many. */
static void long_steps_are_found(void **state)
{
	struct history_store *store = open_store();
	char few[WINDOWS * HISTORY_ID_BYTES] = "", many[WINDOWS * HISTORY_ID_BYTES] = "";
	const struct history_filter filter = {.kind = HISTORY_WINDOW,
		.workload = "first",
		.slowest_phase = "decode",
		.slowest_ns = 50,
		.since_ns = 500001 * HOUR_NS,
		.limit = 20};

	(void)state;
	fill(store);
	assert_int_equal(sqlite_db_execute(store, store->state,
				 "INSERT INTO facts SELECT number, 'slowest ' ||"
				 " CASE WHEN number % 3 THEN 'decode' ELSE 'prefill' END,"
				 " number || ' ns, step 5' FROM runs"),
		0);
	assert_int_equal(history_store_list(store, &filter, note_id, few), 0);
	assert_int_equal(strlen(few), 20 * (HISTORY_ID_BYTES - 1));
	assert_int_equal(sqlite_db_execute(store, store->state,
				 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
				 " WHERE i < 700) INSERT INTO facts SELECT run, key, value"
				 " FROM facts, n"),
		0);
	assert_int_equal(history_store_list(store, &filter, note_id, many), 0);
	assert_string_equal(few, many);
	history_store_close(store);
}

static void damaged_sums_are_refused(void **state)
{
	/* ends early, twice; a bucket behind the last; one without values; a number without end */
	static const char *const damaged[] = {"05", "00",
		"05010101010101"
		"01"
		"D00701",
		"05010101010101"
		"01"
		"0100",
		"05"
		"FFFFFFFFFFFFFFFFFFFF"
		"01"};
	struct history_store *store = open_store();
	const struct history_filter filter = {.kind = HISTORY_WINDOW};

	(void)state;
	fill(store);
	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++) {
		struct sums sums = {.count = 0};
		char sql[128];
		snprintf(sql, sizeof(sql), "UPDATE fleet SET sums = x'%s'", damaged[i]);
		assert_int_equal(sqlite_db_execute(store, store->state, sql), 0);
		assert_int_equal(history_store_groups(store, &filter, HISTORY_BY_NOTHING, NULL,
					 take_group, &sums),
			-EINVAL);
		assert_non_null(strstr(history_store_error(store), "no history"));
		sums_fini(&sums);
	}
	history_store_close(store);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(sums_follow_windows),
		IN_FOLDER(an_older_history_gets_sums),
		IN_FOLDER(a_damaged_window_damages_its_sums_alone),
		IN_FOLDER(long_steps_are_found),
		IN_FOLDER(damaged_sums_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
