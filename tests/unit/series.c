/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A series that is recorded again and again (src/lib/probe/series.h): what it remembers of its last
 * run, the shortest and longest so far and the sites of works, does not come into the statistics of
 * the next one. That a single run leaves what samples one by one leave is shown by attach.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "brick/attach.h"
#include "lib/probe/series.h"
#include "tests/unit/peek.h"

enum { SITES = 40, WORKS = 4, SITE_BYTES = 1000, SITE_FLOPS = 70, RING = 4096 };

static struct brick__series_timing timings[SITES];
static struct brick_timing_work works[WORKS];

/* What is expected of each of the two bricks. */
static struct expected {
	uint32_t brick;
	uint64_t count, total, min, max, bytes, flops;
} expected[2];
static uint64_t work_records;

static struct brick__series *make_series(void)
{
	uint32_t sites[SITES];

	expected[0] = (struct expected){.brick = BRICK_FLASH_ATTENTION, .min = UINT64_MAX};
	expected[1] = (struct expected){.brick = BRICK_RMS_NORM, .min = UINT64_MAX};
	work_records = 0;
	for (uint32_t i = 0; i < SITES; i++) {
		struct brick_site site = {.size = sizeof site,
			.brick = (uint16_t)expected[i % 2].brick,
			.layer = (int16_t)i,
			.bytes = SITE_BYTES + i,
			.flops = SITE_FLOPS + i};
		sites[i] = (uint32_t)brick_site_register(&site);
	}
	return brick__series_create(sites, SITES);
}

static void expect(uint32_t i, uint32_t ticks, const struct brick_timing_work *work)
{
	struct expected *e = &expected[i % 2];
	int has_work = work && (work->bytes | work->flops);

	e->count++;
	e->total += ticks;
	e->min = ticks < e->min ? ticks : e->min;
	e->max = ticks > e->max ? ticks : e->max;
	e->bytes += has_work ? work->bytes : SITE_BYTES + i;
	e->flops += has_work ? work->flops : SITE_FLOPS + i;
	work_records += (uint64_t)has_work;
}

/* Each of them takes `ticks`, and one of each brick another time; the works are of `places`. */
static void record(struct brick__series *series, uint32_t ticks, uint32_t other,
	const uint32_t *places, uint32_t work_count)
{
	static uint64_t at = 1000000;
	struct brick__series_run run = {0, SITES, at, 0, timings, works, work_count};

	for (uint32_t i = 0, work = 0; i < SITES; i++) {
		uint32_t length = i == 10 || i == 11 ? other : ticks;
		const struct brick_timing_work *of = NULL;
		timings[i] = (struct brick__series_timing){0, (uint32_t)at, length};
		run.last = at;
		at += length + 30;
		if (work < work_count && places[work] == i) {
			works[work].timing = i;
			of = &works[work++];
		}
		expect(i, length, of);
	}
	brick__series_record(series, &run);
}

static uint64_t works_in(const struct brick_record *r)
{
	if (r->kind == BRICK_RECORD_WORK_AHEAD)
		return (uint64_t)__builtin_popcount(r->ticks) +
		       (uint64_t)__builtin_popcount(r->wait);
	return r->kind == BRICK_RECORD_WORK;
}

static void assert_as_expected(struct peek *p)
{
	peek_map(p);
	struct brick_lane *lane = peek_lane(p, 0);
	uint64_t records = 0;

	for (int i = 0; i < 2; i++) {
		const struct expected *e = &expected[i];
		const struct brick_stat *stat = &lane->stats[e->brick];
		assert_int_equal(stat->count, e->count);
		assert_int_equal(stat->total, e->total);
		assert_int_equal(stat->self, e->total);
		assert_int_equal(stat->min, e->min);
		assert_int_equal(stat->max, e->max);
		assert_int_equal(stat->bytes, e->bytes);
		assert_int_equal(stat->flops, e->flops);
	}
	for (uint64_t i = 0; i < lane->head; i++)
		records += works_in(peek_record(lane, i));
	assert_int_equal(records, work_records);
}

static void fill_works(uint64_t bytes, uint64_t flops)
{
	for (uint32_t i = 0; i < WORKS; i++)
		works[i] = (struct brick_timing_work){0, 0, bytes + i * bytes, flops + i * flops};
}

static void shorter_and_longer_than_before(void **state)
{
	static const uint32_t lengths[][2] = {{500, 500}, {500, 700}, {490, 490}, {500, 20},
		{10, 9}, {700, 800}, {400, UINT32_MAX / 4}, {300, 5}, {0, 1}};
	struct peek p = {0};
	(void)state;

	for (size_t n = 1; n <= sizeof lengths / sizeof *lengths; n++) {
		peek_start(&p, RING);
		brick_thread_ready(); /* without a lane none is recorded in one piece */
		struct brick__series *series = make_series();
		for (size_t i = 0; i < n; i++)
			record(series, lengths[i][0], lengths[i][1], NULL, 0);
		assert_as_expected(&p);
		peek_stop(&p);
		brick__series_free(series);
	}
}

static void works_at_the_same_places_and_others(void **state)
{
	static const uint32_t same[] = {0, 8, 10, 38}, elsewhere[] = {2, 8, 10, 38},
			      of_both[] = {1, 2, 20, 39};
	struct peek p = {0};
	(void)state;

	peek_start(&p, RING);
	brick_thread_ready(); /* without a lane none is recorded in one piece */
	struct brick__series *series = make_series();
	fill_works(3, 5);
	record(series, 100, 100, same, WORKS);
	record(series, 100, 100, same, WORKS);
	fill_works(90000, 7);
	record(series, 100, 100, same, WORKS); /* more than the sites say, and fewer flops */
	record(series, 100, 100, elsewhere, WORKS);
	record(series, 100, 100, elsewhere, WORKS);
	record(series, 100, 100, elsewhere, WORKS - 1);
	record(series, 100, 100, of_both, WORKS);
	record(series, 100, 100, of_both, WORKS);
	record(series, 100, 100, NULL, 0);
	record(series, 100, 100, same, WORKS);
	works[1].bytes = works[1].flops = 0; /* not known: as the site says */
	record(series, 100, 100, same, WORKS);
	record(series, 100, 100, same, WORKS);
	assert_as_expected(&p);
	peek_stop(&p);
	brick__series_free(series);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shorter_and_longer_than_before),
		cmocka_unit_test(works_at_the_same_places_and_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
