/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divergence as JSON, schema brick/diverge/1. Errors are relative, limits are of their squares; an
 * infinite error (NaN or infinite values differ) is null with "nonfinite" true.
 */
#include <math.h>
#include "ui/text/diverge_view.h"
#include "ui/text/json_out.h"

static const char *dtype_name(uint32_t dtype)
{
	return dtype == BRICK_DTYPE_F32	   ? "f32"
	       : dtype == BRICK_DTYPE_F16  ? "f16"
	       : dtype == BRICK_DTYPE_BF16 ? "bf16"
					   : NULL;
}

static json_t *digest_json(const struct run_digest *d)
{
	json_t *object = json_object(), *shape = json_array();
	const struct brick_digest *x = &d->digest;

	json_put_texts(object, d, operation, label);
	json_put(object, "dtype", json_text(dtype_name(x->dtype)));
	for (int i = 0; i < 4; i++)
		json_add(shape, json_number(x->ne[i]));
	json_put(object, "shape", shape);
	json_put(object, "nan", json_number(x->nan_count));
	json_put(object, "infinite", json_number(x->plus_infinite_count + x->minus_infinite_count));
	json_put_signed(object, x, min, max, sum, square_sum);
	char fnv64[20];
	snprintf(fnv64, sizeof(fnv64), "%016llx", (unsigned long long)x->fnv64);
	json_put(object, "fnv64", json_text(fnv64));
	return object;
}

static json_t *where_json(const struct diverge_view *v, const struct diverge_place *place)
{
	const struct run_digest *a = &v->a->digests[place->a];
	json_t *object = json_object();

	json_put(object, "step", json_number(a->step));
	json_put(object, "phase", json_text(a->decode ? "decode" : "prefill"));
	json_put(object, "tokens", json_number(a->tokens));
	json_put(object, "layer", json_integer(a->layer));
	json_put(object, "brick", json_text(v->a->bricks[a->brick].name));
	json_put(object, "label", json_text(a->label));
	return object;
}

static json_t *place_json(const struct diverge_view *v, uint32_t index)
{
	const struct diverge_place *p = &v->diverge->places[index];
	json_t *object = where_json(v, p);
	uint32_t flags = p->flags;

	json_put(object, "error", json_signed(p->error));
	json_put(object, "deviation", json_signed(BRICK_DIGEST_DEVIATION));
	json_put(object, "nmse", json_signed(p->error * p->error));
	json_put_signed(object, p, limit, inherited, added);
	json_put(object, "inputs_known", json_boolean(flags & DIVERGE_INPUTS));
	json_put(object, "inherited_from",
		p->from == RUN_NONE ? json_null() : where_json(v, &v->diverge->places[p->from]));
	json_put(object, "explained_by_formats", json_signed(p->explained));
	json_put(object, "explained", json_boolean(flags & DIVERGE_EXPLAINED));
	json_put(object, "unlike_formats",
		json_text(p->shape == DIVERGE_SCALED ? "scaled"
			  : p->shape == DIVERGE_FEW  ? "few elements"
						     : NULL));
	json_put(object, "diverges", json_boolean(flags & DIVERGE_OVER));
	json_put(object, "nonfinite", json_boolean(isinf(p->error)));
	json_put(object, "shapes_differ", json_boolean(flags & DIVERGE_SHAPES));
	json_put(object, "a", digest_json(&v->a->digests[p->a]));
	json_put(object, "b", digest_json(&v->b->digests[p->b]));
	return object;
}

static json_t *side_json(const char *path, uint32_t digests, uint32_t others, uint32_t steps,
	uint32_t skipped, uint32_t compared)
{
	json_t *object = json_object();

	json_put(object, "path", json_text(path));
	json_put(object, "digests", json_number(digests));
	json_put(object, "compared_share", json_rate(digests ? (double)compared / digests : -1));
	json_put(object, "of_other_processes", json_number(others));
	json_put(object, "steps", json_number(steps));
	json_put(object, "steps_left_out", json_number(skipped));
	return object;
}

static json_t *coverage_json(const struct diverge_view *v)
{
	const struct diverge *d = v->diverge;
	json_t *object = json_object(), *bricks = json_array();
	uint32_t compared = (uint32_t)d->place_count;

	json_put(object, "compared", json_number(compared));
	json_put(object, "steps_compared", json_number(d->steps_compared));
	json_put(object, "other_tokens_from_step",
		d->apart_step ? json_number(d->apart_step) : json_null());
	json_put(object, "steps_unlike", json_number(d->unlike));
	json_put(object, "of_other_size", json_number(d->other_shapes));
	json_put(object, "a",
		side_json(
			v->a->path, d->digests_a, d->others_a, d->steps_a, d->skipped_a, compared));
	json_put(object, "b",
		side_json(
			v->b->path, d->digests_b, d->others_b, d->steps_b, d->skipped_b, compared));
	for (size_t i = 0; i < d->brick_count; i++) {
		json_t *row = json_object();
		json_put(row, "brick", json_text(d->bricks[i].name));
		json_put(row, "compared", json_number(d->bricks[i].compared));
		json_put(row, "only_a", json_number(d->bricks[i].only_a));
		json_put(row, "only_b", json_number(d->bricks[i].only_b));
		json_add(bricks, row);
	}
	json_put(object, "bricks", bricks);
	return object;
}

void diverge_json(const struct diverge_view *v, FILE *out)
{
	const struct diverge *d = v->diverge;
	json_t *root = json_object(), *places = json_array();
	size_t shown = 0;

	json_put(root, "schema", json_text("brick/diverge/1"));
	json_put(root, "diverges", json_boolean(d->diverges));
	json_put(root, "threshold",
		v->options->threshold >= 0 ? json_signed(v->options->threshold) : json_null());
	json_put(root, "first", d->first == RUN_NONE ? json_null() : place_json(v, d->first));
	json_put(root, "worst", d->worst == RUN_NONE ? json_null() : place_json(v, d->worst));
	json_put_numbers(root, d, over, explained);
	json_put(root, "formats_middle", d->explained ? json_signed(d->hidden) : json_null());
	json_put(root, "formats_most",
		d->explained ? json_signed(sqrt(d->places[d->loosest].explained)) : json_null());
	json_put(root, "coverage", coverage_json(v));
	for (uint32_t i = 0; i < d->place_count && (v->all || shown < v->top); i++)
		if (v->all || d->places[i].flags & DIVERGE_OVER) {
			json_add(places, place_json(v, i));
			shown++;
		}
	json_put(root, "places", places);
	json_print(root, out);
}
