/* SPDX-License-Identifier: Apache-2.0 */
/* Description: Chrome trace events and CSV say what the run says, whatever its names are. */
#include <errno.h>
#include <jansson.h>
#include "tests/unit/trace_scene.h"
#include "trace/exports.h"

/* A recording with two processes of the same pid, a queue, and names that need quoting. */
static void make(struct scene *s)
{
	static struct fake other;
	double infinite = 1.0 / 0.0;
	uint64_t bits;

	memcpy(&bits, &infinite, sizeof bits);
	open_scene(s, 1);
	uint32_t site = fake_site(&s->fake, FAKE_CUSTOM_BRICK, 3, 512, "a,\"b\"", "x\ny\xff");
	s->fake.sites[site].flags &= ~(uint32_t)BRICK_SITE_HAS_FLOPS;
	struct brick_record reported = fake_sample(100, 7, BRICK_SAMPLING, -1);
	reported.source = BRICK_SOURCE_REPORTED;
	reported.flags = BRICK_FLAG_CLAMPED;
	const struct brick_record records[] = {
		fake_at(BRICK_RECORD_OPEN, 10, BRICK_DECODE, 4),
		fake_sited(&s->fake, 20, 1234567, site, 1500, 60),
		fake_at(BRICK_RECORD_INSTANT, 2000000, BRICK_SAMPLING, 0),
		fake_at(BRICK_RECORD_COUNTER, 2000000, BRICK_LM_HEAD, bits),
		fake_at(BRICK_RECORD_DROP, 2000001, 0, 17),
	};
	write_records(s, records, COUNT(records));

	fake_init(&other, 4242);
	assert_int_equal(sink_process(s->writer, &other.header), 1);
	assert_int_equal(sink_tables(s->writer, 1, &other.tables), 0);
	assert_int_equal(sink_lane(s->writer, 1, &other.lane), 1);
	other.lane.kind = BRICK_LANE_QUEUE;
	strcpy(other.lane.name, "queue");
	assert_int_equal(sink_lane(s->writer, 1, &other.lane), 2);
	assert_int_equal(sink_records(s->writer, 1, &reported, 1), 0);
	assert_int_equal(sink_records(s->writer, 2, &reported, 1), 0);
	read_back(s);
}

static json_t *export_chrome(const struct run *run)
{
	char *text;
	size_t size;
	json_error_t error;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(trace_chrome_write(run, out), 0);
	fclose(out);
	json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		print_error("line %d: %s\n%s\n", error.line, error.text, text);
	assert_non_null(root);
	free(text);
	return root;
}

/* The n-th event of that kind and name. */
static json_t *event(json_t *root, const char *kind, const char *name, int n)
{
	json_t *list = json_object_get(root, "traceEvents"), *item;
	size_t i;

	json_array_foreach(list, i,
		item) if (!strcmp(json_string_value(json_object_get(item, "ph")), kind) &&
			  !strcmp(json_string_value(json_object_get(item, "name")), name) &&
			  !n--) return item;
	fail_msg("no event %s %s", kind, name);
	return NULL;
}

static double number(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	assert_true(json_is_number(value));
	return json_number_value(value);
}

static const char *string(json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	assert_non_null(value);
	return value;
}

static void check_csv_owners(const struct run *run)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(trace_csv_write(run, out), 0);
	fclose(out);
	assert_non_null(strstr(text, "\n4242,4242,first of all,"));
	assert_non_null(strstr(text, "\n4242,777,,"));
	assert_non_null(strstr(text, "\n4242,778,main,"));
	free(text);
}

static void check_chrome_name(json_t *root, int i, double tid, const char *name)
{
	json_t *e = event(root, "M", "thread_name", i);

	assert_true(number(e, "tid") == tid);
	assert_string_equal(string(json_object_get(e, "args"), "name"), name);
}

/*
 * A lane that another thread goes on with is that one's track from then on. Of the second one
 * nobody knows what it was called.
 */
static void owners(void **state)
{
	struct scene s;

	open_scene(&s, 0);
	const struct brick_record records[] = {
		fake_sample(100, 50, BRICK_SAMPLING, -1),
		fake_name(190, "first of all"),
		fake_at(BRICK_RECORD_THREAD, 200, 0, 777),
		fake_sample(300, 50, BRICK_SAMPLING, -1),
		fake_at(BRICK_RECORD_THREAD, 400, 0, 778),
		fake_sample(500, 50, BRICK_SAMPLING, -1),
	};
	write_records(&s, records, COUNT(records));
	static struct brick_lane last = {.tid = 778, .owners = 3, .name = "main"};
	assert_int_equal(sink_lane_stats(s.writer, 0, &last), 0);
	read_back(&s);
	check_csv_owners(s.run);
	json_t *root = export_chrome(s.run);
	static const double tids[] = {4242, 777, 778};
	for (int i = 0; i < 3; i++)
		assert_true(number(event(root, "X", "Sampling", i), "tid") == tids[i]);
	check_chrome_name(root, 0, 4242, "first of all");
	check_chrome_name(root, 1, 778, "main");
	json_decref(root);
	close_scene(&s);
}

/* The recorder was killed: nothing tells of the last one but that it came. */
static void owners_without_statistics(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, 0);
	const struct brick_record records[] = {
		fake_sample(100, 50, BRICK_SAMPLING, -1),
		fake_name(190, "first of all"),
		fake_at(BRICK_RECORD_THREAD, 200, 0, 777),
		fake_sample(300, 50, BRICK_SAMPLING, -1),
		fake_name(390, "second"),
		fake_at(BRICK_RECORD_THREAD, 400, 0, 778),
		fake_sample(500, 50, BRICK_SAMPLING, -1),
	};
	write_records(&s, records, COUNT(records));
	read_back(&s);
	assert_int_equal(s.run->lanes[0].tid, 778);
	assert_null(s.run->lanes[0].name);
	json_t *root = export_chrome(s.run);
	check_chrome_name(root, 0, 4242, "first of all");
	check_chrome_name(root, 1, 777, "second");
	json_decref(root);
	close_scene(&s);
}

static void chrome(void **state)
{
	struct scene s;
	(void)state;

	make(&s);
	json_t *root = export_chrome(s.run);
	json_t *e = event(root, "X", "My \"brick\"\n\xc3\xa4", 0),
	       *args = json_object_get(e, "args");
	assert_string_equal(string(e, "cat"), "Mine");
	assert_true(number(e, "ts") == 0.020);
	assert_true(number(e, "dur") == 1234.567);
	assert_true(number(e, "pid") == 4242);
	assert_true(number(e, "tid") == 4242);
	assert_string_equal(string(args, "op"), "a,\"b\"");
	assert_string_equal(string(args, "tensor"), "x\ny?");
	assert_true(number(args, "layer") == 3);
	assert_true(number(args, "elements") == 512);
	assert_null(json_object_get(args, "flops"));
	assert_true(number(args, "inner_ns") == 60);
	e = event(root, "X", "BarrierWait", 0);
	assert_true(number(e, "dur") == 1.5);
	e = event(root, "X", "Decode", 0);
	assert_true(json_is_true(json_object_get(json_object_get(e, "args"), "open")));
	e = event(root, "X", "Sampling", 0);
	assert_string_equal(string(json_object_get(e, "args"), "source"), "reported");
	assert_true(json_is_true(json_object_get(json_object_get(e, "args"), "clamped")));
	e = event(root, "C", "LmHead", 0);
	assert_true(json_is_null(json_object_get(json_object_get(e, "args"), "value")));
	e = event(root, "i", "Dropped", 0);
	assert_true(number(json_object_get(e, "args"), "value") == 17);
	event(root, "i", "Sampling", 0);
	e = event(root, "M", "process_name", 0);
	assert_string_equal(string(json_object_get(e, "args"), "name"), "engine");
	/* the same pid and tid twice, and a queue: three tracks all the same */
	double tids[3];
	for (int i = 0; i < 3; i++)
		tids[i] = number(event(root, "M", "thread_name", i), "tid");
	assert_true(
		tids[0] == 4242 && tids[1] != tids[0] && tids[2] != tids[1] && tids[2] != tids[0]);
	json_decref(root);
	close_scene(&s);
}

static void csv(void **state)
{
	struct scene s;
	char *text;
	size_t size;
	(void)state;

	make(&s);
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(trace_csv_write(s.run, out), 0);
	fclose(out);
	const char expected[] =
		"pid,tid,thread,depth,brick,category,layer,operation,label,begin_ns,duration_ns,"
		"wait_ns,inner_ns,elements,bytes,flops,source,flags,kernel,launch_ns,queued_ns,"
		"submitted_ns\n"
		"4242,4242,main,0,Decode,Step,-1,,,10,1999991,0,0,4,,,tsc,open,,,,\n"
		"4242,4242,main,1,\"My "
		"\"\"brick\"\"\\x0a\xc3\xa4\",Mine,3,\"a,\"\"b\"\"\",x\\x0ay?,20,"
		"1234567,1500,60,512,2048,,tsc,,,,,\n"
		"4242,4242,main,0,Sampling,Other,-1,,,100,7,0,0,,,,reported,clamped,,,,\n"
		"4242,4242,queue,0,Sampling,Other,-1,,,100,7,0,0,,,,reported,clamped,,,,\n";
	assert_string_equal(text, expected);
	free(text);
	close_scene(&s);
}

static void nothing_recorded(void **state)
{
	struct run run = {0};
	char *text;
	size_t size;
	(void)state;

	json_t *root = export_chrome(&run);
	assert_int_equal(json_array_size(json_object_get(root, "traceEvents")), 0);
	json_decref(root);
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(trace_csv_write(&run, out), 0);
	fclose(out);
	assert_int_equal(text[size - 1], '\n');
	free(text);
}

static void nowhere_to_write(void **state)
{
	struct run run = {0};
	(void)state;

	FILE *full = fopen("/dev/full", "w");
	if (!full)
		skip();
	assert_int_equal(trace_chrome_write(&run, full), -ENOSPC);
	assert_int_equal(trace_csv_write(&run, full), -ENOSPC);
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners),
		cmocka_unit_test(owners_without_statistics),
		cmocka_unit_test(chrome),
		cmocka_unit_test(csv),
		cmocka_unit_test(nothing_recorded),
		cmocka_unit_test(nowhere_to_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
