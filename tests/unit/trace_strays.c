/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that do not fit: bad ones, sites of other bricks, a lane that begins in the middle, a
 * lost CLOSE; and stacks as deep as they get.
 */
#include "tests/unit/trace_records.h"

static struct brick_record with_kind(struct brick_record r, uint8_t kind)
{
	r.kind = kind;
	return r;
}

/* Whatever is wrong with a record: it is counted, and the others come through. */
static void bad_records(void **state)
{
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	fake_site(&s.fake, 60000, -1, 5, "X", "a brick that is not there");
	struct brick_record no_site = fake_sample(20, 1, BRICK_LM_HEAD, -1);
	no_site.flags = BRICK_FLAG_SITE;
	no_site.site = 2;
	struct brick_record bad_site = no_site, wraps = fake_sample(20, 1, BRICK_LM_HEAD, -1);
	bad_site.site = 1;
	wraps.begin = UINT64_MAX - 1;
	struct brick_record endless =
		fake_at(BRICK_RECORD_WAIT, 20, BRICK_BARRIER_WAIT, UINT64_MAX);
	struct brick_record source = fake_sample(20, 1, BRICK_LM_HEAD, -1);
	source.source = 200;
	const struct brick_record records[] = {
		fake_sample(10, 5, BRICK_LM_HEAD, -1),
		fake_sample(12, 5, BRICK_LM_HEAD, -1),			     /* overlaps */
		fake_sample(20, 1, (uint16_t)s.fake.tables.brick_count, -1), /* no such brick */
		with_kind(fake_sample(20, 1, BRICK_LM_HEAD, -1), 0),
		with_kind(fake_sample(20, 1, BRICK_LM_HEAD, -1), 99),
		fake_at(BRICK_RECORD_CLOSE, 20, BRICK_LM_HEAD, 0), /* nothing is open */
		no_site,
		bad_site,
		wraps,
		endless,
		source,
		fake_at(BRICK_RECORD_INSTANT, 1, BRICK_LM_HEAD, 0), /* back in time */
		work(1, 1),					    /* of a bad one */
		fake_expert(20, 8, 3),				    /* of 8, from 0 on */
		fake_expert(20, -2, 3),
		fake_expert(20, 5, 0),
		fake_message(20, BRICK_MESSAGE_EVENTS, 1, 1),
		fake_message(20, BRICK_MESSAGE_SENT, -2, 1),
		fake_sample(20, 5, BRICK_LM_HEAD, -1),
	};
	write_records(&s, records, COUNT(records));
	read_back(&s);
	assert_int_equal(s.run->lanes[0].sample_count, 2);
	check_sample(&s, 0, "LmHead", 10, 15, 0);
	check_sample(&s, 1, "LmHead", 20, 25, 0);
	assert_int_equal(s.run->bad_records, COUNT(records) - 2);
	assert_int_equal(s.run->point_count, 0);
	close_scene(&s);
}

/* A brick may be executed at another one's site: it keeps its own name. */
static void site_of_another_brick(void **state)
{
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	uint32_t site = fake_site(&s.fake, BRICK_LM_HEAD, 4, 5, "MUL_MAT", "out");
	struct brick_record other = fake_sited(&s.fake, 20, 5, site, 0, 0);
	other.brick = BRICK_SAMPLING;
	const struct brick_record records[] = {
		fake_sited(&s.fake, 10, 5, site, 0, 0),
		other,
		fake_sited(&s.fake, 30, 5, site, 0, 0),
	};
	write_records(&s, records, COUNT(records));
	read_back(&s);
	check_sample(&s, 0, "LmHead", 10, 15, 0);
	check_sample(&s, 1, "Sampling", 20, 25, 0);
	check_sample(&s, 2, "LmHead", 30, 35, 0);
	assert_int_equal(site_of(&s, 1)->layer, 4);
	assert_int_equal(sample_of(&s, 0)->site, sample_of(&s, 2)->site);
	close_scene(&s);
}

/* A first record with a wild time does not take the lane's clock with it. */
static void wild_first_record(void **state)
{
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	const struct brick_record records[] = {
		with_kind(fake_sample(1ull << 50, 5, BRICK_LM_HEAD, -1), 99),
		fake_sample(10, 5, BRICK_LM_HEAD, -1),
	};
	write_records(&s, records, COUNT(records));
	read_back(&s);
	check_sample(&s, 0, "LmHead", 10, 15, 0);
	close_scene(&s);
}

/* A close that was lost does not leave its brick open for good. */
static void lost_close(void **state)
{
	struct scene s;
	(void)state;

	open_scene(&s, 1);
	const struct brick_record records[] = {
		fake_at(BRICK_RECORD_OPEN, 10, BRICK_DECODE, 1),
		fake_at(BRICK_RECORD_OPEN, 20, BRICK_GRAPH_COMPUTE, 0),
		fake_sample(30, 10, BRICK_LM_HEAD, -1),
		fake_at(BRICK_RECORD_CLOSE, 50, BRICK_DECODE, 0),
		fake_sample(60, 10, BRICK_LM_HEAD, -1),
	};
	write_records(&s, records, COUNT(records));
	read_back(&s);
	check_sample(&s, 0, "Decode", 10, 50, 0);
	check_sample(&s, 1, "GraphCompute", 20, 40, 1);
	assert_int_equal(sample_of(&s, 1)->flags, RUN_SAMPLE_UNWOUND);
	check_sample(&s, 3, "LmHead", 60, 70, 0);
	assert_int_equal(s.run->bad_records, 1);
	close_scene(&s);
}

static void as_deep_as_it_gets(void **state)
{
	struct scene s;
	struct brick_record records[2 * (BRICK_MAX_DEPTH + 1)];
	const size_t most = BRICK_MAX_DEPTH + 1;
	(void)state;

	open_scene(&s, 1);
	for (size_t i = 0; i < most; i++) {
		records[i] = fake_at(BRICK_RECORD_OPEN, i, BRICK_SAMPLING, 0);
		records[2 * most - 1 - i] =
			fake_at(BRICK_RECORD_CLOSE, 1000 - i, BRICK_SAMPLING, 0);
	}
	write_records(&s, records, COUNT(records));
	read_back(&s);
	assert_int_equal(s.run->lanes[0].sample_count, BRICK_MAX_DEPTH);
	/* the one begin too many, and the close that then finds nothing */
	assert_int_equal(s.run->bad_records, 2);
	assert_int_equal(s.run->open_samples, 0);
	check_sample(&s, BRICK_MAX_DEPTH - 1, "Sampling", BRICK_MAX_DEPTH - 1,
		1000 - BRICK_MAX_DEPTH, BRICK_MAX_DEPTH - 1);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_records),
		cmocka_unit_test(site_of_another_brick),
		cmocka_unit_test(wild_first_record),
		cmocka_unit_test(lost_close),
		cmocka_unit_test(as_deep_as_it_gets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
