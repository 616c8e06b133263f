/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both forms become JSON objects, one for each test: lines are parsed, and SQL is run in a database
 * in memory, whose rows then have texts only.
 */
#include "analysis/history/llama_bench.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/number.h"
#include "base/order.h"
#include "analysis/history/history_run.h"
#include "analysis/history/history_workload.h"

enum { FILE_BYTES_MAX = 64 << 20 };

struct reading {
	history_run_fn each;
	void *context;
	long count; /* tests that were handed over */
	char *error;
	size_t error_bytes;
};

static int llama_bench_fail(struct reading *r, int rc, const char *path, const char *why)
{
	snprintf(r->error, r->error_bytes, "%s: %s", path, why);
	return rc;
}

/* An error with the line that `at` has in the file's text. */
static int llama_bench_fail_at(
	struct reading *r, const char *path, const char *text, const char *at, const char *why)
{
	size_t line = 1;

	while (text < at)
		line += *text++ == '\n';
	snprintf(r->error, r->error_bytes, "%s: line %zu: %s", path, line, why);
	return -EINVAL;
}

/* A number of a test, which may be a number or a text; 0: missing or negative. */
static double llama_bench_number_of(const json_t *test, const char *key)
{
	const json_t *value = json_object_get(test, key);
	double number = 0;

	if (json_is_string(value))
		number_double(json_string_value(value), 0, 1e18, &number);
	return json_is_string(value) ? number : fmax(0, json_number_value(value));
}

/* The median of a test's repetitions in ns; the reported mean where the file lacks them. */
static double typical_ns(const json_t *test)
{
	const json_t *samples = json_object_get(test, "samples_ns");
	size_t n = json_array_size(samples);
	double *values = calloc(n + 1, sizeof(*values)), ns = llama_bench_number_of(test, "avg_ns");

	for (size_t i = 0; i < n && values; i++)
		values[i] = json_number_value(json_array_get(samples, i));
	if (n && values) {
		qsort(values, n, sizeof(*values), order_doubles);
		ns = (values[(n - 1) / 2] + values[n / 2]) / 2;
	}
	free(values);
	return ns;
}

/* ns since 1970 of "2024-05-01T12:00:00Z"; 0: no such text. */
static uint64_t llama_bench_start_of(const json_t *test)
{
	struct tm tm = {0};
	const char *end = strptime(json_text_of(test, "test_time"), "%Y-%m-%dT%H:%M:%S", &tm);
	time_t seconds = end ? timegm(&tm) : -1;

	return seconds > 0 ? (uint64_t)seconds * 1000000000u : 0;
}

static int llama_bench_add_facts(struct history_run *run, const json_t *test)
{
	const char *key;
	json_t *value;
	int rc = 0;
	char number[40];

	json_object_foreach((json_t *)test, key, value)
	{
		const char *text = json_string_value(value);
		if (json_is_array(value) || json_is_object(value) || json_is_null(value) || rc < 0)
			continue;
		snprintf(number, sizeof(number), "%.9g", json_number_value(value));
		rc = history_run_fact(run, key,
			text			 ? text
			: json_is_boolean(value) ? json_is_true(value) ? "yes" : "no"
						 : number);
	}
	return rc;
}

static int llama_bench_add_part(struct history_run *run, const json_t *test)
{
	double prompt = llama_bench_number_of(test, "n_prompt"),
	       generated = llama_bench_number_of(test, "n_gen");
	const char *phase = prompt > 0 && generated > 0 ? "mixed"
			    : generated > 0		? "decode"
							: "prefill";
	struct history_part *part = history_run_part(run, phase, "step", "");

	if (!part)
		return -ENOMEM;
	part->count = generated > 0 ? number_of_double(generated) : 1;
	part->tokens = part->typical_tokens = number_of_double(prompt + generated);
	part->total_ns = part->typical_ns = number_of_double(typical_ns(test));
	return 0;
}

static int llama_bench_name_run(struct history_run *run, const json_t *test)
{
	char engine[256], command[512];
	int rc = history_text_set(&run->kind, "imported");

	snprintf(engine, sizeof(engine), "llama.cpp %s (%.0f)", json_text_of(test, "build_commit"),
		llama_bench_number_of(test, "build_number"));
	snprintf(command, sizeof(command), "llama-bench -m %s -p %.0f -n %.0f -t %.0f",
		json_text_of(test, "model_filename"), llama_bench_number_of(test, "n_prompt"),
		llama_bench_number_of(test, "n_gen"), llama_bench_number_of(test, "n_threads"));
	if (rc == 0)
		rc = history_text_set(&run->engine, engine);
	if (rc == 0)
		rc = history_text_set(&run->command, command);
	if (rc == 0)
		rc = history_text_set(&run->cpu, json_text_of(test, "cpu_info"));
	return rc;
}

/* Hands over the run of a test. 1: the object is no test; else 0 or a negative errno. */
static int take_test(struct reading *r, const json_t *test)
{
	struct history_run run;

	if (!(llama_bench_number_of(test, "avg_ns") > 0) ||
		!(llama_bench_number_of(test, "n_prompt") + llama_bench_number_of(test, "n_gen") >
			0))
		return 1;
	if (history_run_init(&run) < 0)
		return -ENOMEM;
	int rc = llama_bench_name_run(&run, test);
	if (rc == 0)
		rc = llama_bench_add_part(&run, test);
	if (rc == 0)
		rc = llama_bench_add_facts(&run, test);
	run.start_ns = llama_bench_start_of(test);
	run.wall_ns = number_of_double(llama_bench_number_of(test, "avg_ns"));
	history_run_identify(&run, number_of_double(typical_ns(test)));
	if (rc == 0)
		rc = history_run_describe(&run);
	if (rc == 0)
		rc = r->each(r->context, &run);
	history_run_fini(&run);
	r->count += rc == 0;
	return rc;
}

/* The two forms. */

static int llama_bench_read_lines(struct reading *r, const char *path, const char *text)
{
	int rc = 0;

	for (const char *at = text; *at && rc == 0; at += strcspn(at, "\n"), at += *at == '\n') {
		size_t n = strcspn(at, "\n");
		json_t *test = json_loadb(at, n, 0, NULL);
		bool is_blank = strspn(at, " \t\r") >= n;
		if (!is_blank)
			rc = json_is_object(test) ? take_test(r, test) : 1;
		json_decref(test);
		if (rc > 0)
			return llama_bench_fail_at(
				r, path, text, at, "no test of llama-bench -o jsonl");
	}
	return rc;
}

/* Other than 0: interrupt. */
static int end_round(void *left)
{
	size_t *rounds = left;

	return !*rounds || !--*rounds;
}

/* Allows only what llama-bench's SQL needs: no files, no other functions. */
static int authorize(void *context, int action, const char *a, const char *b, const char *database,
	const char *trigger)
{
	switch (action) {
	case SQLITE_CREATE_TABLE:
	case SQLITE_INSERT:
	case SQLITE_UPDATE: /* of the list of tables */
	case SQLITE_READ:
	case SQLITE_SELECT:
	case SQLITE_TRANSACTION:
		return SQLITE_OK;
	default:
		return SQLITE_DENY;
	}
}

/*
 * Bounds the memory and the instructions of SQLite's machine by a multiple of what a file of that
 * size needs: INSERT from SELECT doubles a table with each line.
 */
static void limit_sql(sqlite3 *db, size_t text_bytes, size_t *rounds)
{
	enum { PAGE_BYTES = 4096, PAGES_LEAST = 256, ROUND = 1 << 20 };
	size_t pages = text_bytes / PAGE_BYTES;
	char sql[64];

	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, FILE_BYTES_MAX);
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %zu", PAGES_LEAST + 4 * pages);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
	*rounds = 16 + pages;
	sqlite3_progress_handler(db, ROUND, end_round, rounds);
}

static json_t *llama_bench_row_json(sqlite3_stmt *s)
{
	json_t *test = json_object();

	for (int i = 0; i < sqlite3_column_count(s); i++) {
		const char *value = (const char *)sqlite3_column_text(s, i);
		json_object_set_new(
			test, sqlite3_column_name(s, i), json_string(value ? value : ""));
	}
	return test;
}

static int llama_bench_read_rows(struct reading *r, sqlite3 *db, const char *table)
{
	char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
	sqlite3_stmt *s = NULL;
	int rc = sql && sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK ? 0 : 1;

	while (rc == 0 && sqlite3_step(s) == SQLITE_ROW) {
		json_auto_t *test = llama_bench_row_json(s);
		rc = take_test(r, test);
	}
	sqlite3_finalize(s);
	sqlite3_free(sql);
	return rc;
}

/* Runs all statements; returns a code of SQLite. After an error *at is the statement that failed.
 */
static int run_sql(sqlite3 *db, const char **at)
{
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && **at) {
		sqlite3_stmt *s = NULL;
		const char *next = *at;
		rc = sqlite3_prepare_v2(db, *at, -1, &s, &next);
		while (s && sqlite3_step(s) == SQLITE_ROW)
			;
		if (rc == SQLITE_OK)
			rc = sqlite3_finalize(s);
		if (rc == SQLITE_OK)
			*at = next + strspn(next, " \t\r\n");
	}
	return rc;
}

static int read_sql(struct reading *r, const char *path, const char *text)
{
	const char *at = text + strspn(text, " \t\r\n");
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;
	size_t rounds;
	int rc = 1;

	if (sqlite3_open(":memory:", &db) == SQLITE_OK) {
		limit_sql(db, strlen(text), &rounds);
		sqlite3_set_authorizer(db, authorize, NULL);
		if (run_sql(db, &at) != SQLITE_OK)
			rc = llama_bench_fail_at(r, path, text, at, sqlite3_errmsg(db));
		else if (sqlite3_prepare_v2(db, "SELECT name FROM sqlite_master LIMIT 1", -1, &s,
				 NULL) == SQLITE_OK &&
			 sqlite3_step(s) == SQLITE_ROW)
			rc = llama_bench_read_rows(r, db, (const char *)sqlite3_column_text(s, 0));
	}
	if (rc > 0)
		rc = llama_bench_fail(r, -EINVAL, path, "holds no tests of llama-bench");
	sqlite3_finalize(s);
	sqlite3_close(db);
	return rc;
}

long llama_bench_read(
	const char *path, history_run_fn each, void *context, char *error, size_t error_bytes)
{
	struct reading r = {each, context, 0, error, error_bytes};
	char *text;
	size_t bytes;
	int rc = file_read(&text, &bytes, path, FILE_BYTES_MAX - 1);

	if (rc < 0) {
		llama_bench_fail(&r, 0, path, rc == -EFBIG ? "is too large" : strerror(-rc));
		return -EIO;
	}
	rc = text[strspn(text, " \t\r\n")] == '{' ? llama_bench_read_lines(&r, path, text)
						  : read_sql(&r, path, text);
	free(text);
	if (rc == 0 && !r.count)
		rc = llama_bench_fail(&r, -EINVAL, path, "holds no tests of llama-bench");
	return rc < 0 ? rc : r.count;
}
