/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divergence for people: the compared runs, the verdict, the first place that diverges with its
 * inherited and added error, then a table of the places behind it. And as JSON, schema
 * brick/diverge/1: errors are relative, limits are of their squares; an infinite error (NaN or
 * infinite values differ) is null with "nonfinite" true.
 */
#include "ui/text/diverge_view.h"

#include <math.h>
#include <stdlib.h>

#include "ui/text/json_out.h"
#include "ui/text/provenance.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

enum { LABEL = 13, WORD = 160 };

struct printer {
	const struct diverge_view *view;
	const struct terminal *terminal;
};

/* Relative errors: three digits; "different NaN or Inf" where there is no number. */
static const char *error_text(char out[UNITS_BYTES], double error)
{
	if (isinf(error))
		return "not finite";
	if (error == 0)
		return "0";
	snprintf(out, UNITS_BYTES, "%.2e", error);
	return out;
}

static const struct run_digest *of_a(const struct printer *p, uint32_t place)
{
	return &p->view->a->digests[p->view->diverge->places[place].a];
}

/* "RopeEmbedding "Qcur-3"", safe. */
static void name_result(const struct printer *p, char out[WORD], const struct run_digest *d)
{
	char brick[WORD / 2], label[WORD / 2];

	text_escape(brick, sizeof(brick), p->view->a->bricks[d->brick].name);
	text_escape(label, sizeof(label), d->label ? d->label : "");
	snprintf(out, WORD, "%.75s%s%.75s%s", brick, label[0] ? " \"" : "", label,
		label[0] ? "\"" : "");
}

static void print_missing(const struct printer *p, bool is_b)
{
	const struct diverge *d = p->view->diverge;
	SCOPED char *list = NULL;
	uint32_t total = 0;

	for (size_t i = 0; i < d->brick_count; i++) {
		uint32_t n = is_b ? d->bricks[i].only_b : d->bricks[i].only_a;
		char name[WORD];
		if (!n)
			continue;
		total += n;
		text_escape(name, sizeof(name), d->bricks[i].name);
		text_append(&list, ", ", "%s (%u)", name, n);
	}
	if (list)
		say(p, is_b ? "Only in B" : "Only in A", "%u result%s: %s", total, plural_s(total),
			list);
}

static void diverge_view_print_coverage(const struct printer *p)
{
	const struct diverge *d = p->view->diverge;
	char a[UNITS_BYTES], b[UNITS_BYTES];

	units_percent(a, (double)d->place_count / d->digests_a);
	units_percent(b, (double)d->place_count / d->digests_b);
	say(p, "Compared", "%zu result%s in %u step%s: %s of A's, %s of B's", d->place_count,
		plural_s(d->place_count), d->steps_compared, plural_s(d->steps_compared), a, b);
	print_missing(p, false);
	print_missing(p, true);
	if (d->steps_compared + d->skipped_a < d->steps_a ||
		d->steps_compared + d->skipped_b < d->steps_b || d->skipped_a || d->skipped_b)
		say(p, "Steps",
			"A has %u and B %u with digests; left out at the start: %u of A, %u of B; "
			"%u stand%s at the same place and differ in kind or tokens",
			d->steps_a, d->steps_b, d->skipped_a, d->skipped_b, d->unlike,
			d->unlike == 1 ? "s" : "");
	if (d->apart_step)
		say(p, "Tokens",
			"from step %llu on the runs compute other tokens: their inputs differ from "
			"there, and what follows is not compared",
			(unsigned long long)d->apart_step);
	if (d->other_shapes)
		say(p, "Sizes", "%u result%s at the same place with another number of elements",
			d->other_shapes, plural_s(d->other_shapes));
	if (d->others_a || d->others_b)
		say(p, "Processes", "digests of other processes were left out: %u in A, %u in B",
			d->others_a, d->others_b);
}

static void print_place(const struct printer *p, uint32_t index)
{
	const struct diverge_place *place = &p->view->diverge->places[index];
	const struct run_digest *d = of_a(p, index);
	char name[WORD], layer[32] = "", error[UNITS_BYTES];

	name_result(p, name, d);
	if (d->layer >= 0)
		snprintf(layer, sizeof(layer), ", layer %d", d->layer);
	say(p, "  Where", "step %llu (%s, %llu token%s)%s, %s", (unsigned long long)d->step,
		d->decode ? "decode" : "prefill", (unsigned long long)d->tokens,
		plural_s(d->tokens), layer, name);
	if (isinf(place->error)) {
		say(p, "  Error",
			"NaN or infinite values are not at the same places, or A's result is 0");
		return;
	}
	say(p, "  Error", "%s of A's result, +-%.1f %% (NMSE %.2e; limit %.2e)",
		error_text(error, place->error), BRICK_DIGEST_DEVIATION * 100,
		place->error * place->error, place->limit);
}

static void diverge_view_print_origin(const struct printer *p, uint32_t index)
{
	const struct diverge_place *place = &p->view->diverge->places[index];
	char inherited[UNITS_BYTES], added[UNITS_BYTES], name[WORD] = "";

	if (place->from != RUN_NONE)
		name_result(p, name, of_a(p, place->from));
	say(p, "  Inherited", "%s%s%s%s", error_text(inherited, place->inherited),
		name[0] ? " from " : "", name,
		place->flags & DIVERGE_INPUTS ? ""
		: place->from == RUN_NONE     ? " (inputs are not known)"
					      : " (inputs are not known: the result before it)");
	say(p, "  Added", "%s", error_text(added, place->added));
	if (place->explained > 0)
		say(p, "  Formats",
			"the runs hold their numbers in different formats, which may come to "
			"%.2e: %s",
			sqrt(place->explained),
			place->shape == DIVERGE_SCALED
				? "but not to an error that makes a result longer or shorter"
			: place->shape == DIVERGE_FEW ? "but not to an error in a few elements"
			: place->error * place->error <= place->explained
				? "all of it, if it is no mistake of that size"
				: "this is more than that");
}

static void print_values(const struct printer *p, const char *label, const struct run_digest *d)
{
	static const char *const types[] = {"?", "F32", "F16", "BF16"};
	const struct brick_digest *x = &d->digest;
	uint64_t infinite = x->plus_infinite_count + x->minus_infinite_count;
	double n = (double)brick_digest_elements(x);

	say(p, label,
		"%s %llu x %llu x %llu x %llu: from %.4g to %.4g, mean %.4g, root mean square "
		"%.4g; %llu NaN, %llu infinite",
		types[x->dtype & 3], (unsigned long long)x->ne[0], (unsigned long long)x->ne[1],
		(unsigned long long)x->ne[2], (unsigned long long)x->ne[3], x->min, x->max,
		n > 0 ? x->sum / n : 0, n > 0 ? sqrt(x->square_sum / n) : 0,
		(unsigned long long)x->nan_count, (unsigned long long)infinite);
}

/* Says how large a mistake the formats could hide. */
static void print_formats(const struct printer *p)
{
	const struct diverge *d = p->view->diverge;
	char name[WORD];

	if (!d->explained)
		return;
	name_result(p, name, of_a(p, d->loosest));
	say(p, "Formats",
		"%u place%s beyond the limits %s within what formats explain: errors of up to %.2e "
		"at the middle one, of %.2e at most (%s). A mistake that is smaller than that, and "
		"spread over a result like rounding, would not show",
		d->explained, plural_s(d->explained), d->explained == 1 ? "is" : "are", d->hidden,
		sqrt(d->places[d->loosest].explained), name);
}

static void diverge_view_print_verdict(const struct printer *p)
{
	const struct diverge *d = p->view->diverge;
	bool diverges = d->first != RUN_NONE;
	uint32_t index = diverges ? d->first : d->worst;

	fputc('\n', p->terminal->out);
	terminal_print(p->terminal, d->diverges ? STYLE_BAD : STYLE_GOOD,
		diverges       ? "They diverge. The first place is"
		: d->diverges  ? "They go on with other tokens, and no result before that is "
				 "beyond its limit. The largest difference is"
		: d->explained ? "No divergence beyond what formats explain. The largest "
				 "difference is"
		: d->places[index].error > 0 ? "No divergence. The largest difference is"
					     : "No divergence: all that was compared is equal.");
	fputc('\n', p->terminal->out);
	if (!diverges && !(d->places[index].error > 0))
		return;
	print_place(p, index);
	diverge_view_print_origin(p, index);
	print_values(p, "  A", &p->view->a->digests[d->places[index].a]);
	print_values(p, "  B", &p->view->b->digests[d->places[index].b]);
	print_formats(p);
}

static void diverge_view_add_row(
	const struct printer *p, struct table *table, const struct diverge_place *place)
{
	const struct run_digest *d = &p->view->a->digests[place->a];
	char error[UNITS_BYTES], word[WORD];

	table_row(table, place->flags & DIVERGE_OVER ? STYLE_PLAIN : STYLE_DIM);
	table_format(table, "%llu", (unsigned long long)d->step);
	table_format(table, d->layer >= 0 ? "%d" : "-", d->layer);
	text_escape(word, sizeof(word), p->view->a->bricks[d->brick].name);
	table_cell(table, word);
	text_escape(word, sizeof(word), d->label ? d->label : "-");
	table_cell(table, word);
	table_cell(table, error_text(error, place->error));
	table_cell(table, error_text(error, place->inherited));
	table_cell(table, error_text(error, place->added));
	table_cell(table, error_text(error, sqrt(place->limit)));
	table_cell(table, place->flags & DIVERGE_EXPLAINED ? "formats"
			  : place->flags & DIVERGE_OVER	   ? "diverges"
							   : "-");
}

static void diverge_view_print_table(const struct printer *p)
{
	static const struct table_column columns[] = {
		{"STEP", 0, 0},
		{"LAYER", 0, 0},
		{"BRICK", 1, 0},
		{"TENSOR", 1, 2},
		{"ERROR", 0, 0},
		{"INHERITED", 0, 1},
		{"ADDED", 0, 0},
		{"LIMIT", 0, 3},
		{"", 1, 4},
	};
	const struct diverge *d = p->view->diverge;
	SCOPED_TO(table_destroy)
	struct table *table = table_create(columns, sizeof(columns) / sizeof(*columns));
	size_t shown = 0;

	for (size_t i = 0; i < d->place_count && (p->view->all || shown < p->view->top); i++)
		if (p->view->all || d->places[i].flags & DIVERGE_OVER) {
			diverge_view_add_row(p, table, &d->places[i]);
			shown++;
		}
	if (shown) {
		fputc('\n', p->terminal->out);
		table_print(table, p->terminal);
	}
	if (!p->view->all && d->over > shown)
		fprintf(p->terminal->out, "... and %zu more places (--top N, --all)\n",
			(size_t)d->over - shown);
}

void diverge_text(const struct diverge_view *view, FILE *out)
{
	struct terminal terminal;
	const struct printer p = {view, &terminal};

	terminal_init(&terminal, out);
	const struct run *const runs[] = {p.view->a, p.view->b};
	for (int i = 0; i < 2; i++) {
		SCOPED char *command = provenance_command(runs[i]);
		SCOPED char *path = text_safe(runs[i]->path), *safe = text_safe(command);
		say(&p, i ? "B" : "A", "%s%s%s", path, safe[0] ? ": " : "", safe);
	}
	diverge_view_print_coverage(&p);
	diverge_view_print_verdict(&p);
	if (view->diverge->first != RUN_NONE || view->all)
		diverge_view_print_table(&p);
}

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

static json_t *diverge_view_side_json(const char *path, uint32_t digests, uint32_t others,
	uint32_t steps, uint32_t skipped, uint32_t compared)
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

static json_t *diverge_view_coverage_json(const struct diverge_view *v)
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
		diverge_view_side_json(
			v->a->path, d->digests_a, d->others_a, d->steps_a, d->skipped_a, compared));
	json_put(object, "b",
		diverge_view_side_json(
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
	json_put(root, "coverage", diverge_view_coverage_json(v));
	for (uint32_t i = 0; i < d->place_count && (v->all || shown < v->top); i++)
		if (v->all || d->places[i].flags & DIVERGE_OVER) {
			json_add(places, place_json(v, i));
			shown++;
		}
	json_put(root, "places", places);
	json_print(root, out);
}
