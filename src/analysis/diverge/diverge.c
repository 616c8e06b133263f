/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divergence of two aligned runs (diverge.h). One pass over A's digests in the order in which they
 * were made: what a digest carries (its error, what formats explain of it) is known before any
 * result that was computed from it is looked at. A result that only A has carries what its inputs
 * do, so that a brick that B lacks does not cut the way of an error through the model.
 */
#include "analysis/diverge/diverge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/diverge/diverge_align.h"
#include "analysis/accounts/statistics.h"
#include "base/hashmap.h"
#include "base/scope.h"
#include "brick/error.h"

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

/* The share of a squared error that rounding puts into one direction at most; more only where the
 * result itself has so many times that share in one place. */
#define DIRECTED 0.25
#define DIRECTED_AS_RESULT 3

static double unit_of(uint32_t dtype)
{
	return dtype == BRICK_DTYPE_F16	   ? DIVERGE_UNIT_F16
	       : dtype == BRICK_DTYPE_BF16 ? DIVERGE_UNIT_BF16
					   : 0;
}

/*
 * The NMSE that 16-bit values bring. Attention sums over all positions of a text, and some engines
 * keep the sums in 16 bits, too: rounding grows with the number of positions.
 */
static double half(const char *brick)
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
	double unit = fmax(unit_of(x->dtype), unit_of(y->dtype));

	if (flags & BRICK_TENSOR_QUANTIZED)
		return DIVERGE_LIMIT_QUANTIZED;
	return fmax(flags & BRICK_TENSOR_HALF ? half(brick) : DIVERGE_LIMIT_F32, 4 * square(unit));
}

/* True if one run or both had quantised weights for it. */
static bool is_quantised(const struct brick_digest *x, const struct brick_digest *y)
{
	return ((x->flags | y->flags) & BRICK_TENSOR_QUANTIZED) != 0;
}

/*
 * NMSE that comes in here because the two runs hold their numbers in different formats. `coarse` is
 * what quantised weights bring in, in these runs; `any` says that both runs' may be quantised, and
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
		return 4 * square(fmax(unit_of(x->dtype), unit_of(y->dtype)));
	return differ & BRICK_TENSOR_HALF ? half(brick) : 0;
}

/*
 * |y|^2 = |x|^2 + 2 <x, y - x> + |y - x|^2. What of a (finite) error lies along x, up or down: by
 * so much y is longer or shorter. */
static double along_of(const struct brick_digest *x, const struct brick_digest *y, double error)
{
	return x->square_sum > 0 ? fabs(y->square_sum / x->square_sum - 1 - square(error)) / 2 : 0;
}

/*
 * The shape of an error; `along` is what of it inputs brought along already. Like rounding if the
 * result has few elements, or lies in a few of them, as scores of attention do.
 */
static enum diverge_shape shape_of(const char *brick, const struct brick_digest *x,
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

/* What a digest of A hands on to the digests that were computed from it. */
struct carried {
	double error;
	double explained; /* error^2 that formats explain, of what was seen */
	double along;	  /* what of the error lies along the result */
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
 * The band of one result: what its inputs' differences, as they are seen, may become in it, and
 * what comes in with its own formats. Not what formats might have brought in on the way here, which
 * grows with depth until any mistake is within it. A score is a sum that may cancel to about 0,
 * where any relative error is in order: it is judged by what the softmax behind it makes of it.
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

/* The worst that an input carries, with all that formats explain; *known: an input has a digest. */
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

static int same_shape(const struct brick_digest *x, const struct brick_digest *y)
{
	return !memcmp(x->ne, y->ne, sizeof(x->ne));
}

static struct diverge_place compare(
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
	place.flags = (known ? DIVERGE_INPUTS : 0) | (same_shape(x, y) ? 0 : DIVERGE_SHAPES);
	bool is_over = square(place.error) > place.limit;
	bool is_explained = is_over && square(place.error) <= place.explained;
	if (is_explained)
		place.shape = shape_of(brick, x, y, place.error, in->along);
	is_explained &= place.shape == DIVERGE_LIKE_ROUNDING;
	if (is_over && !(is_explained && p->options->allow_formats))
		place.flags |= DIVERGE_OVER;
	if (is_explained)
		place.flags |= DIVERGE_EXPLAINED;
	return place;
}

static void enter(struct diverge *d, const struct diverge_place *place)
{
	uint32_t index = (uint32_t)d->place_count;

	d->places[d->place_count++] = *place;
	if (place->flags & DIVERGE_OVER) {
		d->over++;
		d->diverges = 1;
		if (d->first == RUN_NONE)
			d->first = index;
	}
	d->explained += (place->flags & DIVERGE_EXPLAINED) != 0;
	if (d->worst == RUN_NONE || place->error > d->places[d->worst].error)
		d->worst = index;
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
 * formats may hand on nothing: what formats explain is counted separately.
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

static int visit(struct pass *p, uint32_t item)
{
	uint32_t a = p->align.a.items[item], b = p->align.a.partner[item];
	const struct run_digest *digest = &p->align.a.run->digests[a];
	int known;

	if (digest->layer > p->highest_layer)
		p->highest_layer = digest->layer;
	struct carried carried = inherit(p, digest, &known);
	if (b != RUN_NONE) {
		struct diverge_place place = compare(p, a, b, &carried, known);
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
		enter(p->result, &place);
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
			error = visit(p, a->steps[s].first + i);
	}
	return error;
}

/* What formats come to. */

/*
 * How coarse quantised weights are is not recorded, but read off the runs: what the middle one of
 * their results adds to its inputs' error. So a mistake in fewer than half of them stands out.
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

/* The error that a mistake could make unseen, if it is spread like rounding. */
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

/* Errors do not depend on what formats explain, which is known once all have been seen. */
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

static void copy_counts(struct diverge *d, const struct align *g)
{
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
	copy_counts(d, &p->align);
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
	align_fini(&p.align);
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
