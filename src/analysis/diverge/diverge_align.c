/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alignment (diverge_align.h). Steps are paired in order, after leaving out as few at the begin of
 * either run (warm-up) as makes the most of them alike. In a pair of steps, digests of one layer
 * and brick are a group; in a group, equal labels belong together, k-th to k-th; what is left is
 * paired in order if both have the same number left. Only results of as many elements are ever
 * paired.
 */
#include "analysis/diverge/diverge_align.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/order.h"
#include "base/scope.h"

enum { MAX_SKIPPED = 4 };

static uint32_t busiest_process(const struct run *run)
{
	uint32_t best = 0;
	size_t most = 0;
	SCOPED uint32_t *counts = calloc(run->process_count + 1, sizeof(*counts));

	for (size_t i = 0; counts && i < run->digest_count; i++)
		if (++counts[run->digests[i].process] > most) {
			most = counts[run->digests[i].process];
			best = run->digests[i].process;
		}
	return best;
}

static int take_run(struct align_run *r, const struct run *run)
{
	uint32_t process = busiest_process(run);

	r->run = run;
	r->items = calloc(run->digest_count + 1, sizeof(*r->items));
	r->steps = calloc(run->digest_count + 1, sizeof(*r->steps));
	r->partner = calloc(run->digest_count + 1, sizeof(*r->partner));
	if (!r->items || !r->steps || !r->partner)
		return -ENOMEM;
	for (size_t i = 0; i < run->digest_count; i++) {
		const struct run_digest *d = &run->digests[i];
		if (d->process != process) {
			r->others++;
			continue;
		}
		struct align_step *last = r->step_count ? &r->steps[r->step_count - 1] : NULL;
		if (!last || last->number != d->step) {
			last = &r->steps[r->step_count++];
			*last = (struct align_step){
				d->step, d->tokens, d->decode, (uint32_t)r->item_count, 0};
		}
		last->count++;
		r->partner[r->item_count] = RUN_NONE;
		r->items[r->item_count++] = (uint32_t)i;
	}
	return 0;
}

static int map_bricks(struct align *g)
{
	const struct run *b = g->b.run;

	g->brick_of_b = calloc(b->brick_count + 1, sizeof(*g->brick_of_b));
	if (!g->brick_of_b)
		return -ENOMEM;
	for (size_t i = 0; i < b->brick_count; i++)
		g->brick_of_b[i] = run_brick_find(g->a.run, b->bricks[i].name);
	return 0;
}

static int steps_alike(const struct align_step *x, const struct align_step *y)
{
	return x->decode == y->decode && x->tokens == y->tokens;
}

static uint32_t count_alike(const struct align *g, size_t skip_a, size_t skip_b)
{
	uint32_t alike = 0;

	for (size_t i = 0; i + skip_a < g->a.step_count && i + skip_b < g->b.step_count; i++)
		alike += steps_alike(&g->a.steps[i + skip_a], &g->b.steps[i + skip_b]) != 0;
	return alike;
}

static void choose_skips(struct align *g)
{
	uint32_t most = count_alike(g, 0, 0);

	for (uint32_t skip = 1; skip <= MAX_SKIPPED; skip++) {
		uint32_t a = skip < g->a.step_count ? count_alike(g, skip, 0) : 0;
		uint32_t b = skip < g->b.step_count ? count_alike(g, 0, skip) : 0;
		if (a > most || b > most) {
			g->skipped_a = a >= b ? skip : 0;
			g->skipped_b = a >= b ? 0 : skip;
			most = a > b ? a : b;
		}
	}
}

/* One side of a step: its items sorted into groups. */
struct member {
	uint32_t item, brick; /* A's id */
	int32_t layer;
	const struct run_digest *digest;
};

COMPARATOR(by_group, struct member,
	ORDER(x->layer, y->layer) ?: ORDER(x->brick, y->brick) ?: ORDER(x->item, y->item))

static size_t list_members(const struct align *g, const struct align_run *r,
	const struct align_step *step, struct member *out)
{
	size_t n = 0;

	for (uint32_t i = step->first; i < step->first + step->count; i++) {
		const struct run_digest *d = &r->run->digests[r->items[i]];
		uint32_t brick = r == &g->a ? d->brick : g->brick_of_b[d->brick];
		if (brick != RUN_NONE)
			out[n++] = (struct member){i, brick, d->layer, d};
	}
	qsort(out, n, sizeof(*out), by_group);
	return n;
}

static void pair(struct align *g, const struct member *a, const struct member *b)
{
	if (brick_digest_elements(&a->digest->digest) !=
		brick_digest_elements(&b->digest->digest)) {
		g->other_shapes++;
		return;
	}
	g->a.partner[a->item] = g->b.items[b->item];
	g->b.partner[b->item] = g->a.items[a->item];
}

static bool is_free(const struct align_run *r, const struct member *m)
{
	return r->partner[m->item] == RUN_NONE;
}

/*
 * The first free one of that label. The k-th of a label looks at no more than k, so that a file in
 * which all labels are the same takes no longer than others: `from` is where the search begins.
 */
static size_t find_label(const struct align *g, const struct member *a, const struct member *b,
	size_t count, size_t from)
{
	const char *label = a->digest->label;
	uint64_t elements = brick_digest_elements(&a->digest->digest);

	for (size_t k = 0; label && k < count; k++) {
		size_t i = from + k < count ? from + k : from + k - count;
		if (is_free(&g->b, &b[i]) && b[i].digest->label &&
			!strcmp(b[i].digest->label, label) &&
			brick_digest_elements(&b[i].digest->digest) == elements)
			return i;
	}
	return count;
}

enum { MAX_COMPARED_LABELS = 4096 }; /* beyond that, only order counts */

static void match_labels(
	struct align *g, const struct member *a, size_t na, const struct member *b, size_t nb)
{
	size_t from = 0;

	for (size_t i = 0; i < na && na < MAX_COMPARED_LABELS && nb < MAX_COMPARED_LABELS; i++) {
		size_t k = find_label(g, &a[i], b, nb, from);
		if (k == nb)
			continue;
		pair(g, &a[i], &b[k]);
		from = k + 1 < nb ? k + 1 : 0;
	}
}

static size_t count_free(const struct align_run *r, const struct member *m, size_t n)
{
	size_t free_ones = 0;

	for (size_t i = 0; i < n; i++)
		free_ones += is_free(r, &m[i]) != 0;
	return free_ones;
}

static void match_group(
	struct align *g, const struct member *a, size_t na, const struct member *b, size_t nb)
{
	match_labels(g, a, na, b, nb);
	if (count_free(&g->a, a, na) != count_free(&g->b, b, nb))
		return;
	for (size_t i = 0, k = 0; i < na; i++) {
		if (!is_free(&g->a, &a[i]))
			continue;
		while (k < nb && !is_free(&g->b, &b[k]))
			k++;
		if (k == nb)
			return;
		pair(g, &a[i], &b[k++]);
	}
}

static size_t group_end(const struct member *m, size_t at, size_t n)
{
	size_t end = at + 1;

	while (end < n && m[end].layer == m[at].layer && m[end].brick == m[at].brick)
		end++;
	return end;
}

static int match_steps(struct align *g, const struct align_step *x, const struct align_step *y)
{
	SCOPED struct member *a = calloc((size_t)x->count + y->count + 1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	struct member *b = a + x->count;
	size_t na = list_members(g, &g->a, x, a), nb = list_members(g, &g->b, y, b);
	for (size_t i = 0, k = 0; i < na && k < nb;) {
		size_t end_a = group_end(a, i, na), end_b = group_end(b, k, nb);
		int order = ORDER(a[i].layer, b[k].layer) ?: ORDER(a[i].brick, b[k].brick);
		if (!order)
			match_group(g, a + i, end_a - i, b + k, end_b - k);
		i = order <= 0 ? end_a : i;
		k = order >= 0 ? end_b : k;
	}
	return 0;
}

int align_init(struct align *g, const struct run *a, const struct run *b)
{
	*g = (struct align){.skipped_a = 0};
	int error = take_run(&g->a, a);
	if (!error)
		error = take_run(&g->b, b);
	if (!error)
		error = map_bricks(g);
	if (error)
		return error;
	choose_skips(g);
	size_t x = g->skipped_a, y = g->skipped_b;
	for (; x < g->a.step_count && y < g->b.step_count && !error; x++, y++) {
		if (!steps_alike(&g->a.steps[x], &g->b.steps[y])) {
			g->unlike++;
			continue;
		}
		g->compared++;
		error = match_steps(g, &g->a.steps[x], &g->b.steps[y]);
	}
	return error;
}

static void drop_run(struct align_run *r)
{
	free(r->items);
	free(r->steps);
	free(r->partner);
}

void align_fini(struct align *g)
{
	drop_run(&g->a);
	drop_run(&g->b);
	free(g->brick_of_b);
}
