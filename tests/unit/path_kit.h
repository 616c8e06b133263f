/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the critical path: the path of a step, and engines to take it of.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include "analysis/path/path.h"
#include "analysis/statistics/unknown.h"
#include "brick/error.h"
#include "tests/unit/path_engine.h"
#include "tests/unit/path_nonsense.h"

static inline struct path *path_of(const struct run *run, uint32_t step)
{
	struct step_index index;
	struct path *path;

	assert_int_equal(step_index_init(&index, run), 0);
	assert_int_equal(path_create(&path, run, &index, step), 0);
	step_index_fini(&index);
	return path;
}

static inline const struct path_row *row_of(const struct path_section *section, uint32_t owner)
{
	for (size_t i = 0; i < section->row_count; i++)
		if (section->rows[i].owner == owner)
			return &section->rows[i];
	return NULL;
}

static inline void check_sums(const struct path_section *section)
{
	uint64_t rows = 0, lanes = 0, hops = 0;

	assert_int_equal(section->length_ns, section->measured_ns);
	for (size_t i = 0; i < section->row_count; i++) {
		const struct path_row *row = &section->rows[i];
		rows += row->on_path_ns;
		assert_true(row->nothing_ns <= row->less_ns);
		assert_true(row->less_ns <= section->length_ns);
		assert_true(row->on_path_ns <= row->own_ns);
		assert_true(section->length_ns - row->nothing_ns <= row->on_path_ns);
		if (i)
			assert_true(row[-1].rank < row->rank ||
				    (row[-1].rank == row->rank && row[-1].less_ns <= row->less_ns));
	}
	for (size_t i = 0; i < section->lane_count; i++)
		lanes += section->lanes[i].on_path_ns;
	for (size_t i = 0; i < section->hop_count; i++)
		hops += section->hops[i].time_ns;
	assert_int_equal(rows, section->length_ns);
	assert_int_equal(lanes, section->length_ns);
	if (section->hops)
		assert_int_equal(hops, section->length_ns);
}

struct hand {
	struct run run;
	uint32_t a, b, wait, sync;
};

static inline void hand_init(struct hand *h, unsigned lanes)
{
	memset(h, 0, sizeof(*h));
	builder_process(&h->run, 1);
	for (unsigned i = 0; i < lanes; i++)
		builder_lane(&h->run, 0, i);
	h->a = builder_site(&h->run, builder_brick(&h->run, "a", "Other"), -1, NULL, NULL);
	h->b = builder_site(&h->run, builder_brick(&h->run, "b", "Other"), -1, NULL, NULL);
	h->wait = builder_site(&h->run, builder_known(&h->run, BRICK_BARRIER_WAIT), -1, NULL, NULL);
	h->sync = builder_site(&h->run, builder_known(&h->run, BRICK_SYNCHRONIZE), -1, NULL, NULL);
}
