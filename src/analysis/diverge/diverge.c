/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divergence of two aligned runs (diverge.h). One pass over A's digests in the order in which they
 * were made: the state that a digest carries (its error, and the part that formats explain) is
 * known before any result that was computed from it. A result that only A has carries its inputs'
 * state, so that a brick that B lacks does not cut the way of an error through the model.
 */
#include "analysis/diverge/diverge.h"
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/statistics/statistics.h"
#include "base/hashmap.h"
#include "base/order.h"
#include "base/scope.h"
#include "brick/error.h"
#include "trace/run.h"

/*
 * Pairs the digests of two runs by step, layer, brick and, where both runs name their tensors,
 * label; else by order. Steps are paired in order, after leaving out as few at the begin of either
 * run (warm-up) as makes the most of them alike. In a pair of steps, digests of one layer and brick
 * are a group; in a group, equal labels belong together, k-th to k-th; the rest is paired in order
 * if both have the same number left. Only results with equally many elements are ever paired.
 */

/* Digests of one step of one process: [first, first + count) of align_run.items. */
struct align_step {
	uint64_t number, tokens;
	uint32_t decode, first, count;
};

struct align_run {
	const struct run *run;
	uint32_t *items; /* of the process with the most digests, in order */
	size_t item_count;
	uint32_t others; /* number of digests of other processes */
	struct align_step *steps;
	size_t step_count;
	uint32_t *partner; /* [item_count]: digest of the other run; RUN_NONE: none */
};

struct align {
	struct align_run a, b;
	uint32_t *brick_of_b; /* by B's brick: the brick of A with its name; RUN_NONE: there is none
			       */
	uint32_t skipped_a, skipped_b, compared, unlike, other_shapes;
};

enum { MAX_SKIPPED = 4 }; /* steps at the begin of a run that are tried as warm-up */

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

static int diverge_take_run(struct align_run *r, const struct run *run)
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
	uint32_t item;	/* index in align_run.items */
	uint32_t brick; /* id in run A, also of members of B */
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
 * Finds the next free member of b, from `from` on and around, with the label and number of elements
 * of *a; count: there is none. `from` is behind the last match, so that equal labels are found at
 * once.
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

/* 0 or -ENOMEM; align_fini() in either case. */
static int align_init(struct align *g, const struct run *a, const struct run *b)
{
	*g = (struct align){.skipped_a = 0};
	int error = diverge_take_run(&g->a, a);
	if (!error)
		error = diverge_take_run(&g->b, b);
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

/*
 * ---- what one result may differ by ----
 *
 * Rounding is told from mistakes by its size and by its having no direction: of the error of a
 * result that is rounded in hundreds of places, little lies along the result itself, and little in
 * one of the sketch's sums. docs/DIVERGENCE.md says where the numbers come from.
 */

static double square(double x)
{
	return x * x;
}

/*
 * The most of a squared error, as a share, that rounding puts into one direction; unless the result
 * itself has DIRECTED_AS_RESULT times as much there.
 */
#define DIRECTED 0.25
#define DIRECTED_AS_RESULT 3

static double diverge_unit_of(uint32_t dtype)
{
	return dtype == BRICK_DTYPE_F16	   ? DIVERGE_UNIT_F16
	       : dtype == BRICK_DTYPE_BF16 ? DIVERGE_UNIT_BF16
					   : 0;
}

/*
 * The NMSE that 16-bit values bring. Attention sums over all positions of a text, and some engines
 * keep the sums in 16 bits, too: rounding grows with the number of positions.
 */
static double diverge_half(const char *brick)
{
	int attention = !strcmp(brick, "FlashAttention") || !strcmp(brick, "AttentionOutput") ||
			!strcmp(brick, "AttentionScore") || !strcmp(brick, "AttentionSoftmax");

	return (attention ? DIVERGE_ATTENTION : 4) * square(DIVERGE_UNIT_F16);
}

/* NMSE that a result may have when both runs have the same formats, before depth. */
static double limit_of_formats(
	const char *brick, const struct brick_digest *x, const struct brick_digest *y)
{
	uint32_t flags = x->flags & y->flags;
	double unit = fmax(diverge_unit_of(x->dtype), diverge_unit_of(y->dtype));

	if (flags & BRICK_TENSOR_QUANTIZED)
		return DIVERGE_LIMIT_QUANTIZED;
	return fmax(flags & BRICK_TENSOR_HALF ? diverge_half(brick) : DIVERGE_LIMIT_F32,
		4 * square(unit));
}

/* True if one run or both had quantised weights for it. */
static bool is_quantised(const struct brick_digest *x, const struct brick_digest *y)
{
	return ((x->flags | y->flags) & BRICK_TENSOR_QUANTIZED) != 0;
}

/*
 * NMSE that comes in here because the two runs hold their numbers in different formats. `coarse` is
 * the part of quantised weights in these runs; `any` says that both runs' may be quantised, and
 * differently. Values that differ already are rounded apart once more where both runs round.
 */
static double by_formats(const char *brick, const struct brick_digest *x,
	const struct brick_digest *y, double inherited, double coarse, bool any)
{
	uint32_t differ = x->flags ^ y->flags;

	if (differ & BRICK_TENSOR_QUANTIZED || (any && is_quantised(x, y)))
		return DIVERGE_GROWTH * coarse;
	if (!differ && inherited > 0)
		differ = x->flags;
	if (x->dtype != y->dtype)
		return 4 * square(fmax(diverge_unit_of(x->dtype), diverge_unit_of(y->dtype)));
	return differ & BRICK_TENSOR_HALF ? diverge_half(brick) : 0;
}

/*
 * The part of a (finite) error that lies along x, up or down, and makes y longer or shorter: |y|^2
 * = |x|^2 + 2 <x, y - x> + |y - x|^2.
 */
static double along_of(const struct brick_digest *x, const struct brick_digest *y, double error)
{
	return x->square_sum > 0 ? fabs(y->square_sum / x->square_sum - 1 - square(error)) / 2 : 0;
}

/*
 * The shape of an error; `along` is the part that its inputs had already. Like rounding if the
 * result has few elements, or lies in a few of them, as scores of attention do.
 */
static enum diverge_shape diverge_shape_of(const char *brick, const struct brick_digest *x,
	const struct brick_digest *y, double error, double along)
{
	double most = 0, most_x = 0, sum = 0, sum_x = 0;

	if (brick_digest_elements(x) < BRICK_DIGEST_BUCKETS || !strcmp(brick, "AttentionScore") ||
		!strcmp(brick, "AttentionSoftmax"))
		return DIVERGE_LIKE_ROUNDING;
	for (int i = 0; i < BRICK_DIGEST_BUCKETS; i++) {
		double d = square(y->sketch[i] - x->sketch[i]), own = square(x->sketch[i]);
		most = fmax(most, d);
		most_x = fmax(most_x, own);
		sum += d;
		sum_x += own;
	}
	double share = DIRECTED + DIRECTED_AS_RESULT * most_x / sum_x;
	along = fmax(0, along_of(x, y, error) - along);
	return square(along) > share * square(error) ? DIVERGE_SCALED
	       : most > share * sum		     ? DIVERGE_FEW
						     : DIVERGE_LIKE_ROUNDING;
}

/* The pass over A's digests. */

/* The state that a digest of A hands on to the digests that were computed from it. */
struct carried {
	double error;
	double explained; /* error^2 that formats explain, as far as it was seen */
	double along;	  /* the part of the error that lies along the result */
	double pending;	  /* the loosest limit of results on the way here that B has not */
	double allowed; /* error^2 that coarse formats of both runs were allowed on the way here */
	uint32_t place; /* where the error was seen; RUN_NONE: nowhere */
};

struct pass {
	struct diverge *result;
	const struct diverge_options *options;
	struct align align;
	struct hashmap latest;	 /* the last digest of each result's number */
	struct carried *carried; /* by A's digest */
	uint32_t before;	 /* A's digest before this one in its step; RUN_NONE */
	int32_t highest_layer;	 /* in this step, so far */
	double most_explained;	 /* of all results so far */
	double coarse; /* error^2 that a product with quantised weights adds to its inputs' */
};

/* Embeddings that are further apart than this are those of other tokens. */
#define OTHER_TOKENS 0.3

/* Its own limit, the limits of results before it that B lacks, and room for inherited errors. */
static double limit_of(const struct pass *p, const struct run_digest *a,
	const struct brick_digest *y, const struct carried *in)
{
	const char *brick = p->align.a.run->bricks[a->brick].name;

	if (p->options->threshold >= 0)
		return p->options->threshold;
	return fmax(limit_of_formats(brick, &a->digest, y) * (2 + p->highest_layer), in->pending) +
	       DIVERGE_GROWTH * in->allowed;
}

/*
 * The band of one result: the most that its inputs' differences, as they are seen, may become in
 * it, and the error of its own formats. It leaves out errors that formats may have added on the way
 * here, as these grow with depth until any mistake is within them. A score is a sum that may cancel
 * to about 0, where any relative error is in order: the softmax behind it judges it.
 */
static double band_of(const struct pass *p, const struct run_digest *a,
	const struct brick_digest *y, const struct carried *in, double error)
{
	const char *brick = p->align.a.run->bricks[a->brick].name;
	double band =
		DIVERGE_GROWTH * in->explained + by_formats(brick, &a->digest, y, in->explained,
							 p->coarse, p->options->allow_formats);

	if (band > 0 && isfinite(error) && !strcmp(brick, "AttentionScore"))
		return fmax(band, square(error));
	return band;
}

/*
 * Takes the worst error of an input, with the sum of the parts that formats explain; *known: an
 * input has a digest.
 */
static struct carried inherit(const struct pass *p, const struct run_digest *d, int *known)
{
	struct carried worst = {.place = RUN_NONE};

	*known = 0;
	for (size_t i = 0; i < BRICK_DIGEST_INPUTS; i++) {
		uint64_t digest = hashmap_get(&p->latest, d->inputs[i]);
		if (digest == HASHMAP_NONE)
			continue;
		const struct carried *c = &p->carried[digest];
		*known = 1;
		worst.explained += c->explained;
		worst.along += c->along;
		worst.pending = fmax(worst.pending, c->pending);
		worst.allowed = fmax(worst.allowed, c->allowed);
		if (c->error > worst.error) {
			worst.error = c->error;
			worst.place = c->place;
		}
	}
	if (!*known && p->before != RUN_NONE)
		worst = p->carried[p->before];
	return worst;
}

static struct diverge_place diverge_compare(
	const struct pass *p, uint32_t a, uint32_t b, const struct carried *in, int known)
{
	const struct brick_digest *x = &p->align.a.run->digests[a].digest;
	const struct brick_digest *y = &p->align.b.run->digests[b].digest;
	const char *brick = p->align.a.run->bricks[p->align.a.run->digests[a].brick].name;
	struct diverge_place place = {.a = a, .b = b, .from = RUN_NONE};

	place.error = brick_digest_error(x, y);
	place.limit = limit_of(p, &p->align.a.run->digests[a], y, in);
	place.explained = band_of(p, &p->align.a.run->digests[a], y, in, place.error);
	place.inherited = fmin(in->error, place.error);
	if (place.inherited > 0)
		place.from = in->place;
	place.added = isinf(place.error)
			      ? (isinf(place.inherited) ? 0 : INFINITY)
			      : sqrt(fmax(0, square(place.error) - square(place.inherited)));
	place.flags = (known ? DIVERGE_INPUTS : 0) |
		      (memcmp(x->ne, y->ne, sizeof(x->ne)) ? DIVERGE_SHAPES : 0);
	bool is_over = square(place.error) > place.limit;
	bool is_explained = is_over && square(place.error) <= place.explained;
	if (is_explained)
		place.shape = diverge_shape_of(brick, x, y, place.error, in->along);
	is_explained &= place.shape == DIVERGE_LIKE_ROUNDING;
	if (is_over && !(is_explained && p->options->allow_formats))
		place.flags |= DIVERGE_OVER;
	if (is_explained)
		place.flags |= DIVERGE_EXPLAINED;
	return place;
}

/*
 * Generated texts part where an engine chose another token. From there on different texts would be
 * compared, which says nothing about the engines: inputs differ, and no result is the cause.
 * Formats explain it if they explained anything.
 */
static int tokens_part(struct pass *p, const struct diverge_place *place)
{
	const struct run_digest *d = &p->align.a.run->digests[place->a];

	if (strcmp(p->align.a.run->bricks[d->brick].name, "Embedding") ||
		place->error < OTHER_TOKENS || !p->result->place_count)
		return 0;
	p->result->apart_step = d->step;
	p->result->diverges |= !(p->options->allow_formats && p->most_explained > 0);
	return 1;
}

/*
 * The error that a place may hand on. Where a limit is coarse that is its whole error; elsewhere it
 * may only shrink, so that small errors cannot add up to a large one unseen. Runs of different
 * formats may hand on nothing: the part that formats explain is counted separately.
 */
static double allowed_of(
	const struct pass *p, const struct diverge_place *place, const struct carried *in)
{
	const struct run_digest *a = &p->align.a.run->digests[place->a];
	const struct run_digest *b = &p->align.b.run->digests[place->b];
	const char *brick = p->align.a.run->bricks[a->brick].name;
	double mine = square(place->error), given = square(in->error);

	if (place->explained > 0)
		return 0;
	if (place->flags & DIVERGE_OVER)
		return place->limit;
	if (in->pending > 0 || limit_of_formats(brick, &a->digest, &b->digest) > DIVERGE_LIMIT_F32)
		return mine;
	return mine < given ? in->allowed * mine / given : in->allowed;
}

static int diverge_visit(struct pass *p, uint32_t item)
{
	uint32_t a = p->align.a.items[item], b = p->align.a.partner[item];
	const struct run_digest *digest = &p->align.a.run->digests[a];
	int known;

	if (digest->layer > p->highest_layer)
		p->highest_layer = digest->layer;
	struct carried carried = inherit(p, digest, &known);
	if (b != RUN_NONE) {
		struct diverge_place place = diverge_compare(p, a, b, &carried, known);
		if (tokens_part(p, &place))
			return 0;
		p->most_explained = fmax(p->most_explained, place.explained);
		carried = (struct carried){.error = place.error,
			.explained = fmin(place.explained, square(place.error)),
			.along = isfinite(place.error)
					 ? along_of(&digest->digest,
						   &p->align.b.run->digests[b].digest, place.error)
					 : 0,
			.allowed = allowed_of(p, &place, &carried),
			.place = (uint32_t)p->result->place_count};
		struct diverge *d = p->result;
		uint32_t index = (uint32_t)d->place_count;
		d->places[d->place_count++] = place;
		if (place.flags & DIVERGE_OVER) {
			d->over++;
			d->diverges = 1;
			if (d->first == RUN_NONE)
				d->first = index;
		}
		d->explained += (place.flags & DIVERGE_EXPLAINED) != 0;
		if (d->worst == RUN_NONE || place.error > d->places[d->worst].error)
			d->worst = index;
	} else {
		carried.pending = limit_of(p, digest, &digest->digest, &carried);
		carried.explained *= DIVERGE_GROWTH;
	}
	p->carried[a] = carried;
	p->before = a;
	return digest->output ? hashmap_set(&p->latest, digest->output, a) : 0;
}

static int visit_all(struct pass *p)
{
	const struct align_run *a = &p->align.a;
	int error = 0;

	for (size_t s = 0; s < a->step_count && !error; s++) {
		p->before = RUN_NONE;
		p->highest_layer = -1;
		for (uint32_t i = 0; i < a->steps[s].count && !error && !p->result->apart_step; i++)
			error = diverge_visit(p, a->steps[s].first + i);
	}
	return error;
}

/* Limits by format. */

/*
 * The error that quantised weights add is not recorded, but read off the runs: it is the median
 * that results with such weights add to their inputs' error. So a mistake in fewer than half of
 * them stands out.
 */
static double quantised_add(const struct pass *p, double *values)
{
	const struct diverge *d = p->result;
	size_t n = 0;

	for (size_t i = 0; i < d->place_count; i++) {
		const struct diverge_place *place = &d->places[i];
		if (isfinite(place->added) &&
			is_quantised(&p->align.a.run->digests[place->a].digest,
				&p->align.b.run->digests[place->b].digest))
			values[n++] = square(place->added);
	}
	return n ? statistics_median(values, n) : 0;
}

/* Fills in `hidden` and `loosest`: the error of a mistake that would pass for rounding. */
static void state_hidden(struct diverge *d, double *values)
{
	size_t n = 0;

	for (uint32_t i = 0; i < d->place_count; i++)
		if (d->places[i].flags & DIVERGE_EXPLAINED) {
			values[n++] = sqrt(d->places[i].explained);
			if (d->loosest == RUN_NONE ||
				d->places[i].explained > d->places[d->loosest].explained)
				d->loosest = i;
		}
	d->hidden = n ? statistics_median(values, n) : 0;
}

/*
 * Visits all twice: errors do not depend on formats, and the part that formats explain is known
 * after the first pass.
 */
static int visit_twice(struct pass *p)
{
	struct diverge *d = p->result, blank = *d;
	SCOPED double *values = calloc(p->align.a.item_count + 1, sizeof(*values));
	int error = values ? visit_all(p) : -ENOMEM;

	if (error)
		return error;
	p->coarse = quantised_add(p, values);
	p->most_explained = 0;
	hashmap_fini(&p->latest);
	p->latest = (struct hashmap){0};
	*d = blank;
	error = visit_all(p);
	state_hidden(d, values);
	return error;
}

/* Coverage. */

static struct diverge_brick *brick_row(struct diverge *d, const char *name)
{
	for (size_t i = 0; i < d->brick_count; i++)
		if (!strcmp(d->bricks[i].name, name))
			return &d->bricks[i];
	d->bricks[d->brick_count] = (struct diverge_brick){.name = name};
	return &d->bricks[d->brick_count++];
}

static void count_run(struct diverge *d, const struct align_run *r, bool is_b)
{
	struct diverge_brick *row = NULL;
	uint32_t last = RUN_NONE;

	for (size_t i = 0; i < r->item_count; i++) {
		uint32_t brick = r->run->digests[r->items[i]].brick;
		if (brick != last)
			row = brick_row(d, r->run->bricks[brick].name);
		last = brick;
		if (r->partner[i] == RUN_NONE)
			*(is_b ? &row->only_b : &row->only_a) += 1;
		else if (!is_b)
			row->compared++;
	}
}

static int run_pass(struct pass *p, const struct run *a, const struct run *b)
{
	struct diverge *d = p->result;
	int error = align_init(&p->align, a, b);

	if (error)
		return error;
	d->places = calloc(p->align.a.item_count + 1, sizeof(*d->places));
	d->bricks = calloc(a->brick_count + b->brick_count + 1, sizeof(*d->bricks));
	p->carried = calloc(a->digest_count + 1, sizeof(*p->carried));
	if (!d->places || !d->bricks || !p->carried)
		return -ENOMEM;
	error = visit_twice(p);
	const struct align *g = &p->align;
	d->digests_a = (uint32_t)g->a.item_count;
	d->digests_b = (uint32_t)g->b.item_count;
	d->others_a = g->a.others;
	d->others_b = g->b.others;
	d->steps_a = (uint32_t)g->a.step_count;
	d->steps_b = (uint32_t)g->b.step_count;
	d->steps_compared = g->compared;
	d->skipped_a = g->skipped_a;
	d->skipped_b = g->skipped_b;
	d->unlike = g->unlike;
	d->other_shapes = g->other_shapes;
	count_run(d, &g->a, 0);
	count_run(d, &g->b, 1);
	return error;
}

int diverge_create(struct diverge **out, const struct run *a, const struct run *b,
	const struct diverge_options *options, int *which)
{
	struct pass p = {.options = options};

	*which = a->digest_count ? 1 : 0;
	if (!a->digest_count || !b->digest_count)
		return BRICK_ENOTRECORDED;
	p.result = calloc(1, sizeof(*p.result));
	if (!p.result)
		return -ENOMEM;
	p.result->first = p.result->worst = p.result->loosest = RUN_NONE;
	int error = run_pass(&p, a, b);
	drop_run(&p.align.a);
	drop_run(&p.align.b);
	free(p.align.brick_of_b);
	hashmap_fini(&p.latest);
	free(p.carried);
	if (error)
		diverge_destroy(p.result);
	else
		*out = p.result;
	return error;
}

void diverge_destroy(struct diverge *d)
{
	if (!d)
		return;
	free(d->places);
	free(d->bricks);
	free(d);
}
