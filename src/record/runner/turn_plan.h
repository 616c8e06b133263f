/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which order runs are made: blocks in which each kind of run stands once, in random order, each
 * followed by its mirror image (A B, B A), so that a machine that becomes slower does so for all
 * alike. The same seed gives the same order. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PLAN_KINDS_MAX = 8 };

struct plan {
	size_t kinds, at; /* place in the block */
	uint64_t blocks;  /* that are done */
	uint64_t state;
	uint8_t order[PLAN_KINDS_MAX];
};

void plan_init(struct plan *plan, size_t kinds, uint64_t seed);

/* The kind of the next run. */
size_t plan_next(struct plan *plan);

/* Whether a block and its mirror image are complete: only then are all kinds treated alike. */
static inline int plan_is_even(const struct plan *plan)
{
	return plan->at == 0 && plan->blocks % 2 == 0;
}
