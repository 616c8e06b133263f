/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding equal blocks in a row (repetition.h): for each period, the stretches in which every node
 * is like the one a period later; of those that may be layers, the longest, of the shortest period.
 * A stretch may be longer than its blocks, as what surrounds them may begin or end like one: the
 * blocks begin where the fewest results cross from one to the next.
 */
#include "attach/ggml/graphs/repetition.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MAX_NODES = 1 << 13, MIN_BLOCKS = 3 };

struct search {
	const struct repetition_node *nodes;
	uint32_t count, products;
	uint32_t *last_reader; /* of each node's result; 0: nobody reads it */
};

static void find_readers(struct search *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		s->products += s->nodes[i].weight != 0;
		for (int k = 0; k < REPETITION_SOURCES; k++)
			if (s->nodes[i].source[k] >= 0)
				s->last_reader[s->nodes[i].source[k]] = i;
	}
}

/* Results of the nodes from `begin` that nodes from `cut` on read. */
static uint32_t crossing(const struct search *s, uint32_t begin, uint32_t cut)
{
	uint32_t n = 0;

	for (uint32_t i = begin; i < cut; i++)
		n += s->last_reader[i] >= cut;
	return n;
}

/* The blocks of a stretch that is `slack` nodes longer than they are. */
static struct repetition place(
	const struct search *s, uint32_t begin, uint32_t slack, uint32_t period, uint32_t blocks)
{
	uint32_t best = begin, least = UINT32_MAX;

	for (uint32_t at = begin; at <= begin + slack; at++) {
		uint32_t n = crossing(s, at, at + period);
		if (n < least) {
			least = n;
			best = at;
		}
	}
	return (struct repetition){best, period, blocks};
}

/* Does the product at this place of a block have another weight in each? */
static bool has_own_weights(const struct repetition *r, const struct repetition_node *first)
{
	for (uint32_t i = 0; i < r->count; i++)
		for (uint32_t k = i + 1; k < r->count; k++)
			if (first[i * r->period].weight == first[k * r->period].weight)
				return false;
	return true;
}

static bool have_own_weights(const struct search *s, const struct repetition *r)
{
	const struct repetition_node *block = s->nodes + r->begin;
	uint32_t own = 0;

	for (uint32_t i = 0; i < r->period; i++) {
		if (!block[i].weight)
			continue;
		if (!has_own_weights(r, block + i))
			return false;
		own++;
	}
	return 2 * own * r->count >= s->products && own;
}

/* Does a node of this block read something that lies in the one before it? */
static bool continues(const struct search *s, const struct repetition *r, uint32_t block)
{
	uint32_t begin = r->begin + block * r->period;

	for (uint32_t i = begin; i < begin + r->period; i++)
		for (int k = 0; k < REPETITION_SOURCES; k++) {
			uint32_t from = (uint32_t)s->nodes[i].source[k];
			if (from < begin && from >= begin - r->period)
				return true;
		}
	return false;
}

static bool is_chain(const struct search *s, const struct repetition *r)
{
	for (uint32_t block = 1; block < r->count; block++)
		if (!continues(s, r, block))
			return false;
	return true;
}

/* A stretch from `begin` whose nodes are like those a period later, `length` of them. */
static void judge(const struct search *s, uint32_t begin, uint32_t length, uint32_t period,
	struct repetition *best)
{
	uint32_t blocks = length / period + 1;

	if (blocks < MIN_BLOCKS || blocks * period <= best->count * best->period)
		return;
	struct repetition r = place(s, begin, length % period, period, blocks);
	if (have_own_weights(s, &r) && is_chain(s, &r))
		*best = r;
}

static void search_period(const struct search *s, uint32_t period, struct repetition *best)
{
	uint32_t length = 0;

	for (uint32_t i = 0; i + period <= s->count; i++) {
		if (i + period < s->count && s->nodes[i].kind == s->nodes[i + period].kind) {
			length++;
			continue;
		}
		if (length)
			judge(s, i - length, length, period, best);
		length = 0;
	}
}

int repetition_find(const struct repetition_node *nodes, uint32_t count, struct repetition *found)
{
	struct search s = {.nodes = nodes, .count = count};

	*found = (struct repetition){0, 0, 0};
	if (count < MIN_BLOCKS || count > MAX_NODES)
		return 0;
	s.last_reader = calloc(count, sizeof(*s.last_reader));
	if (!s.last_reader)
		return -ENOMEM;
	find_readers(&s);
	for (uint32_t period = 1; s.products >= MIN_BLOCKS && period <= count / MIN_BLOCKS;
		period++)
		search_period(&s, period, found);
	free(s.last_reader);
	return 0;
}
