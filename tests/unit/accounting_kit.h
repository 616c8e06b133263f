/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the accounting rule: random trees of bricks, steps and waits, and pictures of them.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/path/path.h"
#include "analysis/accounts/summary.h"
#include "tests/unit/run_builder.h"

enum { LENGTH = 6000, NODES = 512, BRICKS = 8, ROUNDS = 400 };
enum { PREFILL, DECODE, WAIT, SAMPLING, WORK_A, WORK_B, WORK_C, OWN_WAIT };
enum { NOBODY = -1, NO_STEP = -1 };

static uint32_t seed;

static inline int pick(int n)
{
	seed = seed * 1664525u + 1013904223u;
	return n > 0 ? (int)((seed >> 8) % (uint32_t)n) : 0;
}

static inline void add_bricks(struct run *run)
{
	uint32_t bricks[BRICKS] = {
		builder_known(run, BRICK_PREFILL),
		builder_known(run, BRICK_DECODE),
		builder_known(run, BRICK_BARRIER_WAIT),
		builder_known(run, BRICK_SAMPLING),
		builder_brick(run, "WorkA", "Other"),
		builder_brick(run, "WorkB", "FFN"),
		builder_known(run, BRICK_GRAPH_COMPUTE),
		builder_known(run, BRICK_SYNCHRONIZE),
	};
	for (uint32_t i = 0; i < BRICKS; i++)
		assert_int_equal(builder_site(run, bricks[i], (int32_t)i % 3 - 1, NULL, NULL), i);
}

static inline const struct summary_row *row_of(const struct summary *s, uint32_t brick)
{
	for (size_t i = 0; i < s->row_count; i++)
		if (s->rows[i].id == brick)
			return &s->rows[i];
	return NULL;
}

static inline bool is_step(int brick)
{
	return brick == PREFILL || brick == DECODE;
}
