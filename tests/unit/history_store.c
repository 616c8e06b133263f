/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histories in SQLite: what is put in comes out; nothing twice; a history of an older Brick is
 * brought up to date, one of a newer one, a damaged, a foreign and a locked one are refused and
 * left alone; ten writers at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "analysis/history/history_workload.h"
#include "analysis/history/sqlite_db.h"
#include "analysis/history/store.h"

static char folder[] = "/tmp/brick-history-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	(void)state;
	if (!folder[strlen(folder) - 1] || !strstr(folder, "XXXXXX") || mkdtemp(folder))
		snprintf(path, sizeof(path), "%s/deep/er/history.db", folder);
	return 0;
}

static int remove_folder(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s/deep", folder);
	return system(command);
}

static struct history_store *open_store(int create)
{
	const struct history_open how = {.create = create};
	struct history_store *store;

	if (history_store_open(&store, path, &how) < 0)
		fail_msg("%s", history_store_error(store));
	return store;
}

/* It is refused, for a reason in which that word stands. */
static void refused(int rc, const char *word)
{
	const struct history_open how = {.create = 1, .patience_ms = 50};
	struct history_store *store;

	assert_int_equal(history_store_open(&store, path, &how), rc);
	if (!strstr(history_store_error(store), word))
		fail_msg("%s", history_store_error(store));
	history_store_close(store);
}

static void make_run(struct history_run *run, unsigned n)
{
	char text[32];

	assert_int_equal(history_run_init(run), 0);
	snprintf(text, sizeof(text), "host%u", n % 3);
	history_text_set(&run->host, text);
	history_text_set(&run->kind, "recorded");
	history_text_set(&run->engine, n % 2 ? "one" : "two");
	history_text_set(&run->command, "it's a \"command\"\n");
	run->start_ns = 1000 + n;
	run->ttft_ns = 77;
	run->exit_code = 0;
	history_run_identify(run, n);
	history_run_fact(run, "key", "value\xc3\xa9");
	history_run_fact(run, "llama.model",
		n % 4 ? "layers 7, bytes 24, type llama 22M Q8_0, name demo"
		      : "layers 7, bytes 46, type llama 22M F16, name demo");
	history_run_fact(run, "llama.context", "tokens 512, batch threads 4, batch 64, threads 2");
	history_run_fact(run, "prompt tokens", "64");
	assert_int_equal(history_run_describe(run), 0);
	history_run_label(run, n % 2 ? "odd" : "even");
	struct history_part *step = history_run_part(run, "decode", "step", "");
	*step = (struct history_part){step->phase, step->kind, step->name, 5, 5, 5000 + n, 2,
		2000 + 2 * n, 0.5, step->histogram};
	for (unsigned i = 0; i < 5; i++)
		history_histogram_add(&step->histogram, history_bucket_of(1000 + 100 * i), 40);
	struct history_part *brick = history_run_part(run, "decode", "brick", "RmsNorm");
	brick->typical_tokens = 2;
	brick->typical_ns = 10 * n;
}

static void fill(unsigned from, unsigned end)
{
	struct history_store *store = open_store(1);

	for (unsigned n = from; n < end; n++) {
		struct history_run run;
		make_run(&run, n);
		if (history_store_add(store, &run) < 0)
			fail_msg("%s", history_store_error(store));
		history_run_fini(&run);
	}
	history_store_close(store);
}

struct seen {
	unsigned count;
	uint64_t last;
	struct history_run *first; /* NULL: not wanted */
};

static int note(void *context, struct history_run *run)
{
	struct seen *seen = context;

	if (seen->count)
		assert_true(run->start_ns <= seen->last);
	seen->last = run->start_ns;
	seen->count++;
	return 0;
}

static unsigned count(const struct history_filter *filter)
{
	struct history_store *store = open_store(0);
	struct seen seen = {0};

	assert_int_equal(history_store_list(store, filter, note, &seen), 0);
	history_store_close(store);
	return seen.count;
}

static int take(void *context, struct history_run *run)
{
	*(struct history_run *)context = *run;
	*run = (struct history_run){0};
	return -1; /* no more */
}

static int load(struct history_store *store, const char *id, struct history_run *out)
{
	return history_store_list(store, &(struct history_filter){.id = id, .whole = 1}, take, out);
}

static void comes_out_as_it_went_in(void **state)
{
	struct history_store *store = open_store(1);
	struct history_run in, out;

	(void)state;
	make_run(&in, 3);
	assert_int_equal(history_store_add(store, &in), 0);
	assert_int_equal(history_store_add(store, &in), 0); /* not twice */
	assert_int_equal(load(store, in.id, &out), -1);
	history_run_order(&in);
	char *a = history_run_line(&in), *b = history_run_line(&out);
	assert_string_equal(a, b);
	struct history_run parsed;
	assert_int_equal(history_run_parse(&parsed, a, strlen(a)), 0);
	char *c = history_run_line(&parsed);
	assert_string_equal(a, c);
	free(a);
	free(b);
	free(c);
	history_run_fini(&in);
	history_run_fini(&out);
	history_run_fini(&parsed);
	assert_int_equal(load(store, "0123456789abcdef", &out), 0);
	history_store_close(store);
	assert_int_equal(count(&(struct history_filter){0}), 1);
}

/* A comparison adds parts up, and sums of doubles know their order. */
static void parts_come_in_one_order(void **state)
{
	static const char *const names[] = {"layer 10", "outside of layers", "layer 2"},
				 *const wanted[] = {"layer 2", "layer 10", "outside of layers"};
	struct history_store *store = open_store(1);

	(void)state;
	for (unsigned first = 0; first < 3; first++) {
		struct history_run in, out;
		make_run(&in, first);
		for (unsigned i = 0; i < 3; i++)
			history_run_part(&in, "prefill", "layer", names[(first + i) % 3]);
		history_run_part(&in, "decode", "brick", "Activation");
		assert_int_equal(history_store_add(store, &in), 0);
		assert_int_equal(load(store, in.id, &out), -1);
		assert_int_equal(out.parts.count, 6);
		assert_string_equal(out.parts.items[0].name, "Activation");
		assert_string_equal(out.parts.items[1].name, "RmsNorm");
		assert_string_equal(out.parts.items[2].kind, "step");
		for (unsigned i = 0; i < 3; i++)
			assert_string_equal(out.parts.items[3 + i].name, wanted[i]);
		history_run_fini(&in);
		history_run_fini(&out);
	}
	history_store_close(store);
}

static void filters_choose(void **state)
{
	struct history_store *store;
	struct history_run run;

	(void)state;
	fill(0, 12);
	assert_int_equal(count(&(struct history_filter){0}), 12);
	assert_int_equal(count(&(struct history_filter){.label = "odd"}), 6);
	assert_int_equal(count(&(struct history_filter){.host = "host1"}), 4);
	assert_int_equal(count(&(struct history_filter){.kind = "plain"}), 0);
	assert_int_equal(count(&(struct history_filter){.limit = 5, .skip = 10}), 2);
	make_run(&run, 4);
	assert_int_equal(count(&(struct history_filter){.id = run.id}), 1);
	store = open_store(0);
	assert_int_equal(history_store_label(store, run.id, "new", 0), 0);
	assert_int_equal(history_store_label(store, run.id, "new", 0), 0);
	assert_int_equal(count(&(struct history_filter){.label = "new"}), 1);
	assert_int_equal(history_store_label(store, run.id, "new", 1), 0);
	assert_int_equal(count(&(struct history_filter){.label = "new"}), 0);
	assert_int_equal(history_store_remove(store, run.id), 0);
	assert_int_equal(count(&(struct history_filter){0}), 11);
	history_store_close(store);
	history_run_fini(&run);
}

static int note_workload(void *context, const struct history_workload *w)
{
	struct seen *seen = context;

	static const char *const wanted[] = {"one, demo, llama 22M Q8_0", /* 9 and 3 */
		"two, demo, llama 22M Q8_0", "two, demo, llama 22M F16"};

	assert_int_equal(w->runs, seen->count == 0 ? 2 : 1);
	assert_int_equal(strncmp(w->workload, wanted[seen->count], strlen(wanted[seen->count])), 0);
	seen->count++;
	return 0;
}

/* Runs of one workload, on one machine. */
static void workloads_are_apart(void **state)
{
	struct history_run run;
	struct seen seen = {0};

	(void)state;
	make_run(&run, 1);
	assert_string_equal(run.model, "demo, llama 22M Q8_0");
	assert_string_equal(run.workload,
		"one, demo, llama 22M Q8_0, bytes 24, threads 2, batch threads 4, context 512, "
		"batch 64, prompt 64");
	/* bytes that are no UTF-8 become a character that JSON holds, in all texts */
	history_text_set(&run.command, "run \xff\xc3");
	history_run_fact(&run, "latin\xe9", "1");
	char *line = history_run_line(&run);
	assert_non_null(line);
	assert_non_null(strstr(line, "run \\uFFFD\\uFFFD"));
	free(line);
	/* of an older Brick, or a program that says nothing */
	history_text_set(&run.command, "/x/y/engine -m /z/m.gguf  --out=/x/o /");
	history_text_set(&run.facts.items[1].key, "other");
	assert_int_equal(history_run_describe(&run), 0);
	assert_string_equal(run.workload, "engine -m m.gguf  o ");
	assert_string_equal(run.model, "");
	history_run_fini(&run);
	fill(0, 12);
	assert_int_equal(count(&(struct history_filter){.model = "F16"}), 3);
	assert_int_equal(count(&(struct history_filter){.command = "a \"comm"}), 12);
	assert_int_equal(count(&(struct history_filter){.command = "COMM"}), 0);
	struct history_store *store = open_store(0);
	assert_int_equal(history_store_workloads(store, &(struct history_filter){.host = "host0"},
				 note_workload, &seen),
		0);
	history_store_close(store);
	assert_int_equal(seen.count, 3);
}

static int note_point(void *context, const struct history_point *point)
{
	struct seen *seen = context;

	assert_true(point->start_ns > seen->last);
	assert_true(point->ns == 5.0 * (double)(point->start_ns - 1000));
	seen->last = point->start_ns;
	seen->count++;
	return 0;
}

static int note_group(void *context, const struct history_group *group)
{
	struct seen *seen = context;

	if (!strcmp(group->part->kind, "step")) {
		assert_int_equal(group->runs, 4);
		assert_int_equal(history_histogram_count(&group->part->histogram), 4 * 200);
		assert_int_equal(group->part->typical_tokens, 8);
		seen->count++;
	}
	return 0;
}

static void questions_are_answered(void **state)
{
	char phase[] = "decode", kind[] = "brick", name[] = "RmsNorm";
	const struct history_part part = {.phase = phase, .kind = kind, .name = name};
	struct seen seen = {0};

	(void)state;
	fill(0, 12);
	struct history_store *store = open_store(0);
	assert_int_equal(
		history_store_points(store, &(struct history_filter){0}, &part, note_point, &seen),
		0);
	assert_int_equal(seen.count, 12);
	seen = (struct seen){0};
	assert_int_equal(history_store_groups(store, &(struct history_filter){0}, 0, "decode",
				 note_group, &seen),
		0);
	assert_int_equal(seen.count, 3);
	history_store_close(store);
}

static void an_old_one_is_brought_up_to_date(void **state)
{
	struct history_store store = {.where = path};
	sqlite3 *db;

	(void)state;
	fill(0, 1); /* makes the directory */
	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite_db_migrate(&store, db, 1), 0);
	assert_int_equal(sqlite_db_execute(&store, db,
				 "INSERT INTO runs VALUES(1, '00000000000000aa', 'recorded', 'h', "
				 "'c', 'e', 'v', '/x/y -m /z/m', 'p', 5, 6, 7, 0, 0)"),
		0);
	sqlite3_close(db);
	assert_int_equal(count(&(struct history_filter){0}), 1);
	fill(0, 3);
	assert_int_equal(count(&(struct history_filter){0}), 4);
	assert_int_equal(count(&(struct history_filter){.batch = ""}), 4);
	assert_int_equal(count(&(struct history_filter){.workload = "y -m m"}), 1);
}

static void put(const char *text, size_t at)
{
	FILE *file = fopen(path, "r+");

	assert_non_null(file);
	fseek(file, (long)at, SEEK_SET);
	fputs(text, file);
	fclose(file);
}

static void what_is_none_is_left_alone(void **state)
{
	struct history_store store = {.where = path};
	sqlite3 *db;

	(void)state;
	fill(0, 2);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite_db_execute(&store, db, "PRAGMA user_version = 99"), 0);
	refused(-EPROTO, "newer Brick");
	assert_int_equal(sqlite_db_execute(&store, db, "PRAGMA application_id = 7"), 0);
	refused(-EILSEQ, "another program");
	assert_int_equal(sqlite_db_execute(&store, db,
				 "PRAGMA journal_mode = DELETE; PRAGMA application_id = 1114794347;"
				 "PRAGMA user_version = 5"),
		0);
	sqlite3_close(db);
	assert_int_equal(count(&(struct history_filter){0}), 2);
	put("this is not a database at all", 0);
	refused(-EILSEQ, "damaged");
}

static void a_locked_one_is_said(void **state)
{
	const struct history_open how = {.create = 1, .patience_ms = 50};
	struct history_store store = {.where = path}, *other;
	struct history_run run;
	sqlite3 *db;

	(void)state;
	fill(0, 1);
	make_run(&run, 5);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite_db_execute(&store, db, "BEGIN IMMEDIATE"), 0);
	assert_int_equal(history_store_open(&other, path, &how), 0);
	assert_int_equal(history_store_add(other, &run), -EBUSY);
	assert_non_null(strstr(history_store_error(other), "locked"));
	assert_int_equal(count(&(struct history_filter){0}), 1); /* reading goes on */
	assert_int_equal(sqlite_db_execute(&store, db, "COMMIT"), 0);
	assert_int_equal(history_store_add(other, &run), 0);
	history_store_close(other);
	sqlite3_close(db);
	history_run_fini(&run);
}

static void ten_write_at_once(void **state)
{
	enum { WRITERS = 10, RUNS = 8 };

	(void)state;
	for (int i = 0; i < WRITERS; i++)
		if (fork() == 0) {
			fill((unsigned)i * RUNS, (unsigned)(i + 1) * RUNS);
			_exit(0);
		}
	for (int i = 0, status; i < WRITERS; i++) {
		wait(&status);
		assert_int_equal(status, 0);
	}
	assert_int_equal(count(&(struct history_filter){0}), WRITERS * RUNS);
}

static void lines_that_are_none(void **state)
{
	static const char *const lines[] = {"", "{", "[]", "{\"id\": 1}", "{\"id\": \"12\"}",
		"{\"id\": \"0123456789abcdef\", \"parts\": [{\"histogram\": \"x\"}]}",
		"{\"id\": \"0123456789abcdef\", \"parts\": [{\"histogram\": \"99999:1\"}]}"};
	struct history_run run;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_int_equal(history_run_parse(&run, lines[i], strlen(lines[i])), -EINVAL);
	assert_int_equal(history_run_parse(&run, "{\"id\": \"0123456789abcdef\"}", 26), 0);
	history_run_fini(&run);
}

static void histograms(void **state)
{
	struct history_histogram h = {0}, other = {0};

	(void)state;
	for (uint64_t ns = 1; ns < 1ull << 40; ns = ns * 5 / 4 + 1) {
		double middle = (double)history_bucket_ns(history_bucket_of(ns));
		assert_true(middle / (double)ns > 0.967 && middle / (double)ns < 1.033);
	}
	assert_int_equal(history_bucket_of(UINT64_MAX), HISTORY_BUCKETS - 1);
	for (unsigned i = 1; i <= 100; i++)
		history_histogram_add(&h, history_bucket_of(i), 1);
	assert_int_equal(history_histogram_percentile(&h, 10), 10);
	assert_true(history_histogram_percentile(&h, 99) >= 96);
	char *text = history_histogram_text(&h);
	assert_int_equal(history_histogram_parse(&other, "17:0"), -EINVAL); /* an empty bucket */
	assert_int_equal(history_histogram_count(&other), 0);
	assert_int_equal(history_histogram_parse(&other, text), 0);
	assert_int_equal(history_histogram_merge(&other, &h), 0);
	assert_int_equal(history_histogram_count(&other), 200);
	assert_int_equal(history_histogram_percentile(&other, 10), 10);
	free(text);
	history_histogram_fini(&h);
	history_histogram_fini(&other);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(comes_out_as_it_went_in),
		IN_FOLDER(parts_come_in_one_order),
		IN_FOLDER(filters_choose),
		IN_FOLDER(workloads_are_apart),
		IN_FOLDER(questions_are_answered),
		IN_FOLDER(an_old_one_is_brought_up_to_date),
		IN_FOLDER(what_is_none_is_left_alone),
		IN_FOLDER(a_locked_one_is_said),
		IN_FOLDER(ten_write_at_once),
		cmocka_unit_test(lines_that_are_none),
		cmocka_unit_test(histograms),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	rmdir(folder);
	return failed;
}
