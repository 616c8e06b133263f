/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: what others draw of a recording: owners of lanes, queues of one name, steps'
 * counters, waits that began before what they waited for. It is read back as it was recorded; what
 * the packets look like is looked at by integration/trace_structure.
 */
#include "tests/unit/trace_scene.h"
#include "trace/exports.h"

enum { QUEUES = 2, DIGESTS = 600 };

static struct brick_record counter(uint64_t ns, uint16_t brick, double value)
{
	struct brick_record r = fake_at(BRICK_RECORD_COUNTER, ns, brick, 0);

	memcpy(&r.elements, &value, sizeof value);
	return r;
}

static uint16_t add_counter(struct scene *s, const char *name)
{
	struct brick_session_brick *brick = &s->fake.bricks[s->fake.tables.brick_count];

	snprintf(brick->name, sizeof brick->name, "%s", name);
	brick->category = FAKE_CUSTOM_CATEGORY;
	return (uint16_t)s->fake.tables.brick_count++;
}

/* Two queues, both named "default". */
static void add_queues(struct scene *s)
{
	static struct brick_lane queue;

	queue = s->fake.lane;
	queue.kind = BRICK_LANE_QUEUE;
	strcpy(queue.name, "default");
	strcpy(queue.backend, "null");
	for (uint64_t i = 0; i < QUEUES; i++) {
		queue.tid = i + 1;
		assert_int_equal(sink_lane(s->writer, 0, &queue), 1 + (int)i);
	}
}

static void write_steps(struct scene *s, const uint16_t counters[4])
{
	uint32_t site = fake_site(&s->fake, BRICK_RMS_NORM, 3, 64, "RMS_NORM", "norm-3"),
		 other = fake_site(&s->fake, BRICK_RMS_NORM, 4, 64, "NORM", "norm-4");
	uint16_t cycles = counters[0], clock = counters[1], mine = counters[2],
		 tokens = counters[3];
	const struct brick_record records[] = {
		fake_at(BRICK_RECORD_THREAD, 1, 0, 4242),
		fake_at(BRICK_RECORD_OPEN, 10, BRICK_DECODE, 1),
		fake_sited(&s->fake, 20, 30, site, 0, 0),
		fake_sited(&s->fake, 60, 30, other, 5, 0),
		fake_sited(&s->fake, 100, 30, site, 0, 2),
		counter(150, mine, 3),
		counter(155, tokens, 7),
		fake_at(BRICK_RECORD_CLOSE, 200, BRICK_DECODE, 1),
		counter(203, cycles, 1000),
		counter(204, clock, 180),
		fake_at(BRICK_RECORD_OPEN, 300, BRICK_DECODE, 1),
		fake_at(BRICK_RECORD_CLOSE, 400, BRICK_DECODE, 1),
		counter(403, cycles, 500),
		fake_at(BRICK_RECORD_OPEN, 500, BRICK_RMS_NORM, 0),
		fake_sample(510, 10, BRICK_INPUT_COPY, -1),
		fake_at(BRICK_RECORD_CLOSE, 540, BRICK_RMS_NORM, 0),
		{.kind = BRICK_RECORD_FLOW, .elements = 1},
		fake_sample(545, 100, BRICK_SYNCHRONIZE, -1),
		{.kind = BRICK_RECORD_AFTER, .elements = 1},
		fake_at(BRICK_RECORD_THREAD, 700, 0, 4300),
		fake_sample(710, 10, BRICK_RMS_NORM, 1),
		fake_at(BRICK_RECORD_THREAD, 800, 0, 4301),
		fake_sample(810, 10, BRICK_RMS_NORM, 2),
	};
	write_records(s, records, COUNT(records));
}

/* As late as the kernel tells of it. */
static void write_off_cpu(struct scene *s)
{
	const struct sink_off_cpu off[] = {
		{fake_ns(110), fake_ns(120), 4242, 0},
		{fake_ns(712), fake_ns(715), 4300, 1},
		{fake_ns(812), fake_ns(814), 4301, 0},
		{fake_ns(816), fake_ns(818), 4301, 1},
	};

	assert_int_equal(sink_off_cpu(s->writer, 0, off, COUNT(off)), 0);
}

static void write_queues(struct scene *s)
{
	uint32_t kernel = fake_kernel(&s->fake, "norm", BRICK_KERNEL_COMPUTE);
	const struct brick_record first[] = {
		fake_sample(550, 60, BRICK_RMS_NORM, 0),
		{.kind = BRICK_RECORD_LAUNCH,
			.begin = fake_ticks(500),
			.ticks = 80,
			.wait = 1,
			.brick = (uint16_t)kernel,
			.elements = 1},
	};
	const struct brick_record second[] = {
		fake_sample(620, 60, BRICK_RMS_NORM, 0),
		{.kind = BRICK_RECORD_LAUNCH, .brick = (uint16_t)kernel, .elements = 2},
		{.kind = BRICK_RECORD_AFTER, .elements = 1},
	};

	write_lane(s, 1, first, COUNT(first));
	write_lane(s, 2, second, COUNT(second));
}

static void write_digests(struct scene *s)
{
	struct brick_session_digest digest = {.brick = BRICK_RMS_NORM, .layer = 3, .step = 1};

	digest.digest.dtype = 1;
	digest.digest.ne[0] = digest.digest.ne[1] = digest.digest.ne[2] = digest.digest.ne[3] = 1;
	for (int i = 0; i < DIGESTS; i++)
		assert_int_equal(sink_digest(s->writer, 0, &digest), 0);
}

static void check_points(const struct scene *s)
{
	static const struct {
		uint64_t ns;
		uint32_t kind;
		double value;
	} wanted[] = {
		{150, RUN_POINT_COUNTER, 3},
		{155, RUN_POINT_COUNTER, 7},
		{203, RUN_POINT_COUNTER, 1000},
		{204, RUN_POINT_COUNTER, 180},
		{403, RUN_POINT_COUNTER, 500},
		{700, RUN_POINT_THREAD, 4300},
		{800, RUN_POINT_THREAD, 4301},
	};

	assert_int_equal(s->run->point_count, COUNT(wanted));
	for (size_t i = 0; i < COUNT(wanted); i++) {
		assert_int_equal(s->run->points[i].ns, fake_ns(wanted[i].ns));
		assert_int_equal(s->run->points[i].kind, wanted[i].kind);
		assert_true(s->run->points[i].value == wanted[i].value);
	}
}

/* Both ends of every arrow, and when it all was. */
static void check_chrome(const struct run *run)
{
	static const char *const wanted[] = {
		"\"start_unix_ns\":\"1700000000000000000\"",
		"\"ph\":\"s\",\"name\":\"launch\",\"cat\":\"brick\",\"id\":1,\"ts\":0.500,",
		"\"name\":\"after\",\"cat\":\"brick\",\"id\":3,\"ts\":0.550,",
		"\"name\":\"after\",\"cat\":\"brick\",\"id\":3,\"ts\":0.620,",
		"\"name\":\"Waited\",\"cat\":\"brick\",\"ts\":0.645,\"pid\":4242,\"tid\":4242},\n"
		"{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"wait\",\"cat\":\"brick\",\"id\":4,\"ts\":0."
		"645,",
	};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(trace_chrome_write(run, out), 0);
	fclose(out);
	for (size_t i = 0; i < COUNT(wanted); i++)
		assert_non_null(strstr(text, wanted[i]));
	free(text);
}

static void test_structure(void **state)
{
	(void)state;
	struct scene s;
	open_scene(&s, 0);
	const uint16_t counters[] = {add_counter(&s, "cycles"), add_counter(&s, "task-clock"),
		add_counter(&s, "my count"), add_counter(&s, "PromptTokensRepeated")};

	add_queues(&s);
	write_steps(&s, counters);
	write_queues(&s);
	write_off_cpu(&s);
	s.fake.lane.tid = 4301;
	strcpy(s.fake.lane.name, "worker");
	assert_int_equal(sink_lane_stats(s.writer, 0, &s.fake.lane), 0);
	write_digests(&s);
	read_back(&s);
	check_points(&s);
	assert_int_equal(s.run->command_count, 2);
	assert_int_equal(s.run->commands[0].launch_lane, 0);
	assert_int_equal(s.run->commands[0].launch_sample, 5);
	assert_int_equal(s.run->wait_count, 1);
	assert_int_equal(s.run->lanes[0].off_cpu_count, 4);
	check_sample(&s, 1, "RmsNorm", 20, 50, 1);
	assert_string_equal(site_of(&s, 1)->operation, "RMS_NORM");
	assert_string_equal(site_of(&s, 2)->label, "norm-4");
	assert_int_equal(site_of(&s, 2)->layer, 4);
	check_chrome(s.run);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_structure)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
