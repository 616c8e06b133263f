/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: records of every kind come back from the reader as they went into the writer.
 */
#include "tests/unit/trace_records.h"

static void sites_and_waits(void **state)
{
	struct scene s;
	(void)state;

	for (int compress = 0; compress < 2; compress++) {
		open_scene(&s, compress);
		uint32_t norm = fake_site(&s.fake, BRICK_RMS_NORM, 3, 512, "RMS_NORM", "a\"\\\n");
		uint32_t gate = fake_site(&s.fake, BRICK_GATE_PROJECTION, 3, 1408, "MUL_MAT", "");
		s.fake.sites[gate].flags = BRICK_SITE_UNKNOWN_OPERATION;
		const struct brick_record records[] = {
			fake_sited(&s.fake, 100, 50, norm, 0, 0),
			fake_sited(&s.fake, 160, 40, gate, 25, 13),
			fake_sited(&s.fake, 225, 0, norm, 5, 0),
		};
		write_records(&s, records, COUNT(records));
		read_back(&s);

		assert_int_equal(s.run->lanes[0].sample_count, 3);
		check_sample(&s, 0, "RmsNorm", 100, 150, 0);
		check_sample(&s, 1, "GateProjection", 160, 200, 0);
		check_sample(&s, 2, "RmsNorm", 225, 225, 0);
		assert_int_equal(sample_of(&s, 0)->wait_ns, 0);
		assert_int_equal(sample_of(&s, 1)->wait_ns, 25);
		assert_int_equal(sample_of(&s, 1)->inner_ns, 13);
		assert_int_equal(sample_of(&s, 2)->wait_ns, 5);
		assert_int_equal(sample_of(&s, 0)->site, sample_of(&s, 2)->site);
		assert_int_equal(sample_of(&s, 0)->source, BRICK_SOURCE_TSC);
		const struct run_site *site = site_of(&s, 0);
		assert_int_equal(site->layer, 3);
		assert_int_equal(site->elements, 512);
		assert_int_equal(site->bytes, 2048);
		assert_int_equal(site->flops, 1536);
		assert_string_equal(site->operation, "RMS_NORM");
		assert_string_equal(site->label, "a\"\\\n");
		assert_int_equal(site->flags,
			BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS);
		site = site_of(&s, 1);
		assert_int_equal(site->flags, BRICK_SITE_UNKNOWN_OPERATION);
		assert_null(site->label);
		assert_int_equal(s.run->bricks[site->brick].well_known, BRICK_GATE_PROJECTION);
		assert_string_equal(
			s.run->categories[s.run->bricks[site->brick].category].name, "FFN");
		close_scene(&s);
	}
}

static void samples_without_site(void **state)
{
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	struct brick_record counted = fake_sample(20, 5, BRICK_EMBEDDING, 7);
	counted.flags = BRICK_FLAG_ELEMENTS;
	counted.elements = 99;
	const struct brick_record first[] = {
		fake_sample(10, 5, FAKE_CUSTOM_BRICK, -1),
		counted,
		work(1000, 0),
		fake_sample(30, 5, BRICK_EMBEDDING, 0),
	};
	/* the work of a sample that was handed in by an earlier call */
	const struct brick_record second[] = {work(5, 6), fake_sample(40, 1, BRICK_EMBEDDING, 0)};
	write_records(&s, first, COUNT(first));
	write_records(&s, second, COUNT(second));
	read_back(&s);

	check_sample(&s, 0, "My \"brick\"\n\xc3\xa4", 10, 15, 0);
	assert_int_equal(site_of(&s, 0)->layer, -1);
	assert_int_equal(site_of(&s, 0)->flags, 0);
	assert_int_equal(s.run->bricks[site_of(&s, 0)->brick].well_known, -1);
	assert_int_equal(site_of(&s, 1)->layer, 7);
	assert_int_equal(site_of(&s, 1)->elements, 99);
	assert_int_equal(site_of(&s, 1)->bytes, 1000);
	assert_int_equal(site_of(&s, 1)->flags, BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_BYTES);
	assert_int_equal(site_of(&s, 2)->bytes, 5);
	assert_int_equal(site_of(&s, 2)->flops, 6);
	assert_int_equal(site_of(&s, 3)->layer, 0);
	assert_int_equal(site_of(&s, 3)->flags, 0);
	assert_int_equal(s.run->lanes[0].sample_count, 4);
	assert_int_equal(s.run->bad_records, 0);
	close_scene(&s);
}

static void nesting_and_recursion(void **state)
{
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	uint32_t site = fake_site(&s.fake, BRICK_EMBEDDING, -1, 5, "GET_ROWS", "embd");
	struct brick_record sited = fake_at(BRICK_RECORD_CLOSE, 90, BRICK_EMBEDDING, 0);
	sited.flags = BRICK_FLAG_SITE;
	sited.site = site;
	sited.inner = 4 * FAKE_TICKS;
	struct brick_record unwound = fake_at(BRICK_RECORD_CLOSE, 85, BRICK_SAMPLING, 0);
	unwound.flags = BRICK_FLAG_UNWOUND;
	struct brick_record clamped = fake_sample(70, 0, BRICK_SAMPLING, -1);
	clamped.flags = BRICK_FLAG_CLAMPED;
	const struct brick_record records[] = {
		fake_at(BRICK_RECORD_OPEN, 10, BRICK_DECODE, 3),
		fake_at(BRICK_RECORD_OPEN, 20, BRICK_EMBEDDING, 0),
		fake_at(BRICK_RECORD_OPEN, 20, BRICK_EMBEDDING, 0),
		fake_sample(20, 10, BRICK_EMBEDDING, 2),
		fake_at(BRICK_RECORD_CLOSE, 60, BRICK_EMBEDDING, 0),
		clamped,
		fake_at(BRICK_RECORD_OPEN, 80, BRICK_SAMPLING, 0),
		unwound,
		sited,
		fake_at(BRICK_RECORD_CLOSE, 100, BRICK_DECODE, 0),
		work(77, 88),
	};
	write_records(&s, records, COUNT(records));
	read_back(&s);

	check_sample(&s, 0, "Decode", 10, 100, 0);
	check_sample(&s, 1, "Embedding", 20, 90, 1);
	check_sample(&s, 2, "Embedding", 20, 60, 2);
	check_sample(&s, 3, "Embedding", 20, 30, 3);
	check_sample(&s, 4, "Sampling", 70, 70, 2);
	check_sample(&s, 5, "Sampling", 80, 85, 2);
	assert_int_equal(sample_of(&s, 4)->flags, RUN_SAMPLE_CLAMPED);
	assert_int_equal(sample_of(&s, 5)->flags, RUN_SAMPLE_UNWOUND);
	assert_string_equal(site_of(&s, 1)->label, "embd");
	assert_int_equal(sample_of(&s, 1)->inner_ns, 4);
	assert_int_equal(s.run->step_count, 1);
	assert_int_equal(s.run->steps[0].tokens, 3);
	assert_int_equal(s.run->steps[0].phase, BRICK_PHASE_DECODE);
	assert_int_equal(s.run->steps[0].end_ns, fake_ns(100));
	assert_int_equal(site_of(&s, 0)->flops, 88);
	assert_int_equal(s.run->open_samples, 0);
	assert_int_equal(s.run->bad_records, 0);
	close_scene(&s);
}

static void steps_of_both_kinds(void **state)
{
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	const struct brick_record records[] = {
		fake_at(BRICK_RECORD_OPEN, 10, BRICK_WARM_UP, 2),
		fake_at(BRICK_RECORD_CLOSE, 20, BRICK_WARM_UP, 0),
		fake_at(BRICK_RECORD_OPEN, 30, BRICK_MIXED, brick_mixed_tokens(20, 3)),
		fake_at(BRICK_RECORD_CLOSE, 50, BRICK_MIXED, 0),
		fake_at(BRICK_RECORD_OPEN, 60, BRICK_MIXED, brick_mixed_tokens(19, 4)),
		fake_at(BRICK_RECORD_CLOSE, 70, BRICK_MIXED, 0),
	};
	write_records(&s, records, COUNT(records));
	read_back(&s);

	const struct run_step *steps = s.run->steps;
	assert_int_equal(s.run->step_count, 3);
	assert_int_equal(steps[0].phase, BRICK_PHASE_WARM_UP);
	assert_int_equal(steps[0].tokens, 2);
	assert_int_equal(steps[1].phase, BRICK_PHASE_MIXED);
	assert_int_equal(steps[1].tokens, 23);
	assert_int_equal(steps[1].output_tokens, 3);
	assert_int_equal(steps[2].tokens, 23);
	assert_int_equal(steps[2].output_tokens, 4);
	close_scene(&s);
}

static void long_samples_and_waits_alone(void **state)
{
	struct scene s;
	uint64_t ns = 6000000000;
	(void)state;

	open_scene(&s, 1);
	const struct brick_record records[] = {
		fake_at(BRICK_RECORD_OPEN, 10, BRICK_LM_HEAD, 0),
		fake_at(BRICK_RECORD_CLOSE, 10 + ns, BRICK_LM_HEAD, 0),
		fake_at(BRICK_RECORD_WAIT, 10 + ns, BRICK_BARRIER_WAIT, ns * FAKE_TICKS),
		/* a wait that somebody timed as a brick, right behind another sample */
		fake_sample(10 + 2 * ns, 5, BRICK_LM_HEAD, -1),
		fake_sample(15 + 2 * ns, 5, BRICK_BARRIER_WAIT, -1),
	};
	write_records(&s, records, COUNT(records));
	read_back(&s);

	check_sample(&s, 0, "LmHead", 10, 10 + ns, 0);
	assert_int_equal(sample_of(&s, 0)->wait_ns, 0);
	check_sample(&s, 1, "BarrierWait", 10 + ns, 10 + 2 * ns, 0);
	check_sample(&s, 2, "LmHead", 10 + 2 * ns, 15 + 2 * ns, 0);
	check_sample(&s, 3, "BarrierWait", 15 + 2 * ns, 20 + 2 * ns, 0);
	assert_int_equal(sample_of(&s, 2)->wait_ns, 0);
	close_scene(&s);
}

static void points(void **state)
{
	struct scene s;
	double value = -2.5;
	uint64_t bits;
	(void)state;

	memcpy(&bits, &value, sizeof bits);
	open_scene(&s, 1);
	struct brick_record records[] = {
		fake_at(BRICK_RECORD_THREAD, 1, 0, 4242),
		fake_at(BRICK_RECORD_INSTANT, 10, BRICK_SAMPLING, 0),
		fake_at(BRICK_RECORD_COUNTER, 20, FAKE_CUSTOM_BRICK, bits),
		fake_at(BRICK_RECORD_OPEN, 22, BRICK_DECODE, 1),
		fake_at(BRICK_RECORD_DROP, 30, 0, 17),
		fake_at(BRICK_RECORD_REPORTED, 35, BRICK_SAMPLING, 1ull << 41),
		fake_at(BRICK_RECORD_COUNTER, 40, FAKE_CUSTOM_BRICK, 0),
		fake_at(BRICK_RECORD_THREAD, 50, 0, 4243),
		fake_sample(60, 1, BRICK_SAMPLING, -1),
	};
	records[5].wait = 1u << 8; /* the same length in ns; there are two ticks to one */
	write_records(&s, records, COUNT(records));
	read_back(&s);

	const struct {
		uint64_t ns;
		uint32_t kind;
		const char *brick;
		double value;
	} expected[] = {
		{10, RUN_POINT_INSTANT, "Sampling", 0},
		{20, RUN_POINT_COUNTER, "My \"brick\"\n\xc3\xa4", -2.5},
		{30, RUN_POINT_DROPPED, NULL, 17},
		{35, RUN_POINT_REPORTED, "Sampling", 1ull << 40},
		{40, RUN_POINT_COUNTER, "My \"brick\"\n\xc3\xa4", 0},
		{50, RUN_POINT_THREAD, NULL, 4243},
	};
	assert_int_equal(s.run->point_count, COUNT(expected));
	for (size_t i = 0; i < COUNT(expected); i++) {
		const struct run_point *point = &s.run->points[i];
		assert_int_equal(point->ns, fake_ns(expected[i].ns));
		assert_int_equal(point->kind, expected[i].kind);
		assert_true(point->value == expected[i].value);
		if (expected[i].brick)
			assert_string_equal(s.run->bricks[point->brick].name, expected[i].brick);
		else
			assert_int_equal(point->brick, RUN_NONE);
	}
	/* what the first thread had open ends where it was heard of last, and says so */
	check_sample(&s, 0, "Decode", 22, 40, 0);
	assert_int_equal(sample_of(&s, 0)->flags, RUN_SAMPLE_OPEN);
	check_sample(&s, 1, "Sampling", 60, 61, 0);
	assert_int_equal(s.run->open_samples, 1);
	close_scene(&s);
}

/* What a thread has open goes on to where it leaves, however much later the next one comes. */
static void a_thread_leaves(void **state)
{
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	struct brick_record records[] = {
		fake_at(BRICK_RECORD_THREAD, 1, 0, 4242),
		fake_at(BRICK_RECORD_OPEN, 70, BRICK_LM_HEAD, 0),
		fake_at(BRICK_RECORD_THREAD, 90, 0, 0),
		fake_at(BRICK_RECORD_THREAD, 95, 0, 4244),
		fake_sample(96, 1, BRICK_SAMPLING, -1),
	};
	write_records(&s, records, COUNT(records));
	read_back(&s);
	check_sample(&s, 0, "LmHead", 70, 90, 0);
	assert_int_equal(sample_of(&s, 0)->flags, RUN_SAMPLE_OPEN);
	check_sample(&s, 1, "Sampling", 96, 97, 0);
	assert_int_equal(s.run->open_samples, 1);
	assert_int_equal(s.run->point_count, 1);
	close_scene(&s);
}

static void sources(void **state)
{
	struct scene s;
	struct brick_record records[8];
	(void)state;

	open_scene(&s, 1);
	uint32_t site = fake_site(&s.fake, BRICK_LM_HEAD, -1, 5, "MUL_MAT", "out");
	for (uint8_t i = 0; i < COUNT(records); i++) {
		records[i] = i % 2 ? fake_sited(&s.fake, 10u * i, 5, site, 2, 0)
				   : fake_sample(10u * i, 5, BRICK_LM_HEAD, i);
		records[i].source = i;
	}
	write_records(&s, records, COUNT(records));
	read_back(&s);
	for (uint8_t i = 0; i < COUNT(records); i++) {
		check_sample(&s, i, "LmHead", 10u * i, 10u * i + 5, 0);
		assert_int_equal(sample_of(&s, i)->source, i);
		assert_int_equal(sample_of(&s, i)->wait_ns, i % 2 ? 2 : 0);
		assert_int_equal(site_of(&s, i)->layer, i % 2 ? -1 : i);
	}
	close_scene(&s);
}

static void open_at_the_end(void **state)
{
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	const struct brick_record records[] = {
		fake_at(BRICK_RECORD_OPEN, 10, BRICK_PREFILL, 256),
		fake_at(BRICK_RECORD_OPEN, 20, BRICK_GRAPH_COMPUTE, 0),
		fake_sample(30, 10, BRICK_LM_HEAD, -1),
	};
	write_records(&s, records, COUNT(records));
	assert_int_equal(sink_process_end(s.writer, 0, fake_ticks(500), 0), 0);
	read_back(&s);
	check_sample(&s, 0, "Prefill", 10, 500, 0);
	check_sample(&s, 1, "GraphCompute", 20, 500, 1);
	check_sample(&s, 2, "LmHead", 30, 40, 2);
	assert_int_equal(sample_of(&s, 0)->flags, RUN_SAMPLE_OPEN);
	assert_int_equal(sample_of(&s, 1)->flags, RUN_SAMPLE_OPEN);
	assert_int_equal(sample_of(&s, 2)->flags, 0);
	assert_true(s.run->steps[0].open);
	assert_int_equal(s.run->open_samples, 2);
	assert_false(s.run->processes[0].closed);
	assert_int_equal(s.run->processes[0].end_ns, fake_ns(500));
	assert_int_equal(s.run->steps[0].tokens, 256);
	assert_int_equal(s.run->steps[0].phase, BRICK_PHASE_PREFILL);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_and_waits),
		cmocka_unit_test(samples_without_site),
		cmocka_unit_test(nesting_and_recursion),
		cmocka_unit_test(steps_of_both_kinds),
		cmocka_unit_test(long_samples_and_waits_alone),
		cmocka_unit_test(points),
		cmocka_unit_test(a_thread_leaves),
		cmocka_unit_test(sources),
		cmocka_unit_test(open_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
