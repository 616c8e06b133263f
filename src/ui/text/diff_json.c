/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A comparison as JSON, schema brick/diff/1. Times in ns a token; effects, bounds and points are
 * ratios less 1, null where they are not known. Called by `brick diff`.
 */
#include <math.h>

#include "analysis/accounts/summary.h"
#include "ui/text/diff.h"
#include "ui/text/json_out.h"

static json_t *row_json(const struct compare_row *row)
{
	json_t *object = json_object();

	if (row->name)
		json_put(object, "name", json_text(row->name));
	json_put(object, "verdict", json_text(compare_verdict_name(row->verdict)));
	json_put(object, "a_ns", json_signed(row->a));
	json_put(object, "b_ns", json_signed(row->b));
	json_put_signed(object, row, effect, low, high, p, detectable);
	if (row->name && row->kind != COMPARE_KERNEL)
		json_put(object, "points", json_signed(row->points));
	return object;
}

static json_t *rate_json(const struct compare_row *row)
{
	json_t *object = row_json(row);

	json_put(object, "a_tokens_per_s", json_rate(1e9 / row->a));
	json_put(object, "b_tokens_per_s", json_rate(1e9 / row->b));
	return object;
}

static json_t *rows_json(const struct compare *c, int phase, bool kernels)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->row_count; i++) {
		const struct compare_row *row = &c->rows[i];
		if (row->name && row->phase == phase && (row->kind == COMPARE_KERNEL) == kernels)
			json_add(array, row_json(row));
	}
	return array;
}

static json_t *phase_json(const struct diff_view *view, int phase)
{
	const struct compare *c = view->compare;
	const struct compare_phase *p = &c->phases[phase];
	json_t *object = json_object();

	json_put(object, "blocks_a", json_number(p->in_a));
	json_put(object, "blocks_b", json_number(p->in_b));
	json_put(object, "steps", p->steps ? json_number(p->steps) : json_null());
	json_put(object, "rate", rate_json(compare_find(c, phase, COMPARE_RATE)));
	json_put(object, "time", row_json(compare_find(c, phase, COMPARE_TIME)));
	json_put(object, summary_by_plural(view->by), rows_json(c, phase, false));
	json_put(object, "residual", json_signed(p->residual));
	json_put(object, "kernels", rows_json(c, phase, true));
	return object;
}

static json_t *side_json(const struct diff_origin *list, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();
		json_put(object, "path", json_text(list[i].path));
		json_put(object, "command", json_text(list[i].command));
		json_put(object, "start_unix_ns", json_number(list[i].start_unix_ns));
		json_put(object, "steps", json_number(list[i].steps));
		json_add(array, object);
	}
	return array;
}

static json_t *differences_json(const struct diff_origins *o)
{
	json_t *array = json_array();

	for (size_t i = 0; i < o->differences.count; i++) {
		const struct diff_difference *d = &o->differences.items[i];
		json_t *object = json_object();
		json_put(object, "unfair", json_boolean(d->unfair));
		json_put(object, "key", json_text(d->key));
		json_put(object, d->key ? "a" : "text", json_text(d->a));
		if (d->key)
			json_put(object, "b", json_text(d->b));
		json_add(array, object);
	}
	return array;
}

json_t *diff_to_json(const struct diff_view *view)
{
	const struct compare *c = view->compare;
	const struct compare_row *ttft = compare_find(c, -1, COMPARE_TTFT);
	json_t *root = json_object(), *phases = json_object();

	json_put(root, "schema", json_text("brick/diff/1"));
	json_put(root, "basis", json_text(summary_basis_name(view->compare->basis)));
	json_put(root, "verdict", json_text(compare_verdict_name(c->verdict)));
	json_put(root, "threshold", json_signed(c->threshold));
	json_put(root, "floor", json_signed(view->floor > 0 ? view->floor : NAN));
	json_put(root, "unit",
		json_text(c->unit == COMPARE_RECORDINGS ? "recordings" : "stretches"));
	json_put(root, "a", side_json(view->origins->list, view->origins->in_a));
	json_put(root, "b",
		side_json(view->origins->list + view->origins->in_a, view->origins->in_b));
	json_put(root, "differences", differences_json(view->origins));
	json_put(root, "ttft", ttft ? row_json(ttft) : json_null());
	for (int phase = 0; phase < STEP_PHASES; phase++)
		if (c->phases[phase].in_a)
			json_put(phases, step_phase_name(phase), phase_json(view, phase));
	json_put(root, "phases", phases);
	return root;
}

void diff_json(const struct diff_view *view, FILE *out)
{
	json_print(diff_to_json(view), out);
}
