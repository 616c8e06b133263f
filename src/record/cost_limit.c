/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block's first step with bricks looks up its graph again. It is no part of the medians, and is
 * compared with the rest of its block: its excess counts once a block.
 */
#include "record/cost_limit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/order.h"

enum {
	WITH = 16,	 /* steps with bricks in a block, at least */
	WITH_MOST = 240, /* ... where all could have them: the rest keeps watch on the cost */
	WITHOUT = 16,	 /* steps without, at least */
	WITHOUT_MOST = 4080,
};

void cost_limit_init(struct cost_limit *limit, double most)
{
	*limit = (struct cost_limit){.most = most, .low = NAN, .high = NAN};
}

static uint64_t median_of(const uint64_t *lengths, uint64_t count)
{
	uint64_t sorted[COST_BLOCK];

	count = count < COST_BLOCK ? count : COST_BLOCK;
	memcpy(sorted, lengths, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), order_u64);
	return sorted[(count - 1) / 2];
}

/* The median of the remembered ones, and half of its 95 % interval, by their median distance. */
static double cost_median(const double *values, uint64_t count, double *half)
{
	double sorted[COST_COMPARISONS];
	size_t n = count < COST_COMPARISONS ? (size_t)count : COST_COMPARISONS;

	if (!n)
		return *half = 0;
	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), order_doubles);
	double median = n & 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
	for (size_t i = 0; i < n; i++)
		sorted[i] = fabs(sorted[i] - median);
	qsort(sorted, n, sizeof(*sorted), order_doubles);
	/* of a normal distribution: sigma is 1.483 of these, and the median's error 1.253 sigma */
	*half = 1.96 * 1.253 * 1.483 * sorted[n / 2] / sqrt((double)n);
	return median;
}

/* Blocks whose steps with bricks cost so much, each block's first step more. */
static void choose_blocks(struct cost_limit *c)
{
	double half, start_half, with = WITH, without = WITHOUT;
	double shift = cost_median(c->steps, c->step_count, &half);
	double start = cost_median(c->starts, c->start_count, &start_half);

	start = fmax(start, 0) / WITH;
	c->cost = fmax(1 - exp(-(shift + start)), 0);
	c->low = fmax(1 - exp(-(shift + start - half)), 0); /* recording helps nobody */
	c->high = fmax(1 - exp(-(shift + start + half)), 0);
	double share = c->high > c->most ? c->most / c->high : 1; /* of the time */
	share = share * (1 - c->high) / (1 - share * c->high);	  /* of the steps */
	if (c->high > 0 && share < (double)WITH / (WITH + WITHOUT))
		without = fmin(with / fmax(share, 1e-6) - with, WITHOUT_MOST);
	else
		with = fmin(without / fmax(1 - share, 1e-6) - without, WITH_MOST);
	c->blocks = (uint32_t)(with + 0.5) << 16 | (uint32_t)(without + 0.5);
}

/* A block has ended: compares its begin with the end of the one before. */
static void cost_compare(struct cost_limit *c, struct cost_session *s)
{
	const struct cost_block *b = &s->block;

	if (b->count < COST_BLOCK_LEAST) {
		s->before = 0;
		return;
	}
	uint64_t begin = median_of(b->first, b->count - 1);
	if (!s->is_plain && begin && b->start)
		c->starts[c->start_count++ % COST_COMPARISONS] =
			log((double)b->start / (double)begin);
	if (s->before && begin) {
		double shift = log((double)s->before / (double)begin);
		c->steps[c->step_count++ % COST_COMPARISONS] = s->is_plain ? shift : -shift;
	}
	s->before = median_of(b->last, b->count);
}

static struct cost_session *find(struct cost_limit *c, const struct drain *drain)
{
	for (unsigned i = 0; i < c->session_count; i++)
		if (c->sessions[i].drain == drain)
			return &c->sessions[i];
	if (c->session_count == COST_SESSIONS)
		return NULL;
	struct cost_session *s = &c->sessions[c->session_count++];
	*s = (struct cost_session){.drain = drain};
	return s;
}

bool cost_limit_step(struct cost_limit *c, const struct drain *drain, const struct drain_step *step)
{
	struct cost_session *s = find(c, drain);
	uint32_t blocks = c->blocks;
	uint64_t length = step->end > step->begin ? step->end - step->begin : 0;

	c->with_bricks += !step->is_plain;
	c->without += step->is_plain;
	if (!s)
		return false;
	if (s->brick != step->brick) {
		s->before = 0;
		s->block.count = 0;
	} else if (s->is_plain != step->is_plain) {
		uint64_t before = c->step_count;
		cost_compare(c, s);
		s->block.count = 0;
		if (c->step_count != before && c->step_count >= COST_COMPARISONS_MIN)
			choose_blocks(c);
	}
	s->brick = step->brick;
	s->is_plain = step->is_plain;
	struct cost_block *b = &s->block;
	if (!b->count)
		b->start = length;
	else if (b->count <= COST_BLOCK)
		b->first[b->count - 1] = length;
	b->last[b->count++ % COST_BLOCK] = length;
	return c->blocks != blocks;
}

void cost_limit_forget(struct cost_limit *c, const struct drain *drain)
{
	for (unsigned i = 0; i < c->session_count; i++)
		if (c->sessions[i].drain == drain) {
			c->sessions[i] = c->sessions[--c->session_count];
			return;
		}
}
