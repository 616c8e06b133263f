/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series through their consumer: three samples of one record of the ring (struct brick_samples) are
 * in the recording as if each had a record of its own; what no thread can have written is counted
 * as bad; a session of another version is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "brick/attach.h"
#include "lib/probe/series.h"
#include "tests/unit/drain_fixture.h"

enum { SITES = 100, TICKS = 26000, FAR = 70000, WORKS = 4 };

static uint32_t sites[SITES];
static struct brick__series_timing timings[SITES];
static uint64_t begins[SITES]; /* ticks */
static const struct brick_timing_work works[WORKS] = {
	{1, 0, 4, 40}, {3, 0, 6, 60}, {4, 0, 6, 60}, {99, 0, 8, 80}};

/* Two bricks and as many layers as there are sites. */
static void register_sites(void)
{
	for (uint32_t i = 0; i < SITES; i++) {
		struct brick_site site = {.size = sizeof site,
			.brick = i % 3 ? BRICK_RMS_NORM : BRICK_LM_HEAD,
			.layer = (int32_t)i,
			.bytes = 10,
			.flops = 100,
			.flags = BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS};
		int index = brick_site_register(&site);
		assert_true(index > 0);
		sites[i] = (uint32_t)index;
	}
}

/* Every tenth begins too late for the record of the one before it. */
static uint64_t record_series(uint64_t begin)
{
	struct brick__series *series = brick__series_create(sites, SITES);
	uint64_t at = begin, sum = 0;

	assert_non_null(series);
	for (uint32_t i = 0; i < SITES; i++) {
		at += i % 10 ? 30 + i : FAR;
		begins[i] = at;
		timings[i] = (struct brick__series_timing){0, (uint32_t)at, TICKS + i};
		at += TICKS + i;
		sum += TICKS + i;
	}
	const struct brick__series_run run = {
		0, SITES, begin + FAR, at - TICKS - SITES + 1, timings, works, WORKS};
	assert_int_equal(brick__series_record(series, &run), sum);
	brick__series_free(series);
	return sum;
}

static void assert_sample(const struct run *run, const struct run_sample *s, uint32_t i)
{
	const struct run_site *site = &run->sites[s->site];
	uint64_t ns =
		brick_clock_ns(brick_clock_get(), TICKS + i) - brick_clock_ns(brick_clock_get(), 0);

	uint64_t bytes = 10, flops = 100;

	for (uint32_t k = 0; k < WORKS; k++)
		if (works[k].timing == i) {
			bytes = works[k].bytes;
			flops = works[k].flops;
		}
	assert_int_equal(site->layer, i);
	assert_int_equal(site->bytes, bytes);
	assert_int_equal(site->flops, flops);
	assert_string_equal(run->bricks[site->brick].name, i % 3 ? "RmsNorm" : "LmHead");
	assert_in_range(s->end_ns - s->begin_ns, ns - 2, ns + 2);
	ns = brick_clock_ns(brick_clock_get(), begins[i]);
	assert_in_range(s->begin_ns, ns - 2, ns + 2);
}

static void three_of_a_record_are_as_good_as_three_records(void **state)
{
	struct fixture *f = *state;
	uint32_t found = 0;

	start_session(f, 4096);
	open_drain(f);
	register_sites();
	leaves(BRICK_SAMPLING, 1);
	uint64_t sum = record_series(brick_ticks());
	size_t records = emit_all(f, 7); /* in pieces that do not fit */
	assert_in_range(records, SITES / 3, SITES / 2 + 20);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_int_equal(run->bad_records, 0);
	assert_int_equal(samples_of(run, "RmsNorm") + samples_of(run, "LmHead"), SITES);
	assert_int_equal(counted(run, "RmsNorm"), in_histogram(run, "RmsNorm"));
	assert_int_equal(counted(run, "LmHead"), in_histogram(run, "LmHead"));
	for (size_t i = 0; i < run->lanes[0].sample_count; i++)
		if (run->sites[run->lanes[0].samples[i].site].layer >= 0)
			assert_sample(run, &run->lanes[0].samples[i], found++);
	assert_int_equal(found, SITES);
	const struct run_stat *norm = &run->lanes[0].stats[run_brick_find(run, "RmsNorm")];
	const struct run_stat *head = &run->lanes[0].stats[run_brick_find(run, "LmHead")];
	uint64_t ns = brick_clock_ns(brick_clock_get(), sum) - brick_clock_ns(brick_clock_get(), 0);
	assert_in_range(norm->total_ns + head->total_ns, ns - SITES, ns + SITES);
	assert_int_equal(norm->bytes + head->bytes, (SITES - WORKS) * 10 + 24);
	assert_int_equal(norm->flops + head->flops, (SITES - WORKS) * 100 + 240);
	run_destroy(run);
}

/* Sites that are in no table, no site at all, an end before its begin. */
static void what_nobody_wrote_is_bad(void **state)
{
	struct fixture *f = *state;
	struct brick_record records[3];

	start_session(f, 4096);
	open_drain(f);
	register_sites();
	leaves(BRICK_SAMPLING, 1);
	emit_all(f, AT_ONCE);
	const uint64_t now = brick_ticks();
	const struct brick_samples planted[] = {
		{.begin = now, .ticks = {1, 1}, .site = {60000, 65535, 7}, .last_ticks = 1},
		{.begin = now, .ticks = {1, 1}},
		{.begin = UINT64_MAX - 1, .ticks = {9, 9}, .site = {1, 1, 1}},
	};
	memcpy(records, planted, sizeof records);
	for (int i = 0; i < 3; i++)
		records[i].kind = BRICK_RECORD_SAMPLES;
	assert_int_equal(drain_emit(f->drain, f->writer, 0, records, 3), 0);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_int_equal(samples_of(run, "RmsNorm") + samples_of(run, "LmHead"), 1); /* site 7 */
	assert_in_range(run->bad_records, 4, 6);
	run_destroy(run);
}

static void another_version_is_refused(void **state)
{
	struct fixture *f = *state;
	const char *why = NULL;

	start_session(f, 4096);
	for (uint32_t version = BRICK_SESSION_VERSION - 1; version <= BRICK_SESSION_VERSION + 1;
		version += 2) {
		assert_int_equal(pwrite(f->fd, &version, sizeof version,
					 offsetof(struct brick_session_header, version)),
			sizeof version);
		assert_int_equal(drain_open(&f->drain, f->fd, NULL, &why), BRICK_EVERSION);
		assert_string_equal(why, "it was made by an incompatible libbrick");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(three_of_a_record_are_as_good_as_three_records),
		TEST(what_nobody_wrote_is_bad),
		TEST(another_version_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
