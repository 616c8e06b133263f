/* SPDX-License-Identifier: Apache-2.0 */
/* What `brick bench` says as JSON, schema brick/bench/1. */
#include <math.h>

#include "ui/text/bench_view.h"
#include "ui/text/json_out.h"

static json_t *side_json(const struct bench_view *v, int side)
{
	if (!v->commands[side])
		return json_null();
	json_t *json = json_object();
	json_put(json, "command", json_text(v->commands[side]));
	json_put(json, "plain", json_number(v->plain[side]));
	json_put(json, "recorded", json_number(v->recorded[side]));
	return json;
}

static json_t *machine_json(const struct bench_machine *m)
{
	json_t *json = json_object();

	json_put(json, "cpus", json_number(m->cpus));
	json_put_rates(json, m, load, frequency_mhz, temperature);
	json_put_signed(json, m, others, steal);
	json_put(json, "swapped_pages", json_integer(m->swapped));
	json_put_numbers(json, m, runs, disturbed);
	return json;
}

static json_t *plain_json(const struct bench_view *v)
{
	const struct compare_row *row = v->plain_row;

	if (!row)
		return json_null();
	json_t *json = json_object();
	json_put(json, "measure", json_text(v->measure));
	json_put(json, "verdict", json_text(compare_verdict_name(row->verdict)));
	json_put(json, "a", json_signed(v->is_rate ? 1 / row->a : row->a));
	json_put(json, "b", json_signed(v->is_rate ? 1 / row->b : row->b));
	json_put_signed(json, row, effect, low, high, p);
	return json;
}

void bench_json(const struct bench_view *v, FILE *out)
{
	json_t *root = json_object();

	json_put(root, "schema", json_text("brick/bench/1"));
	json_put(root, "verdict",
		v->commands[0] && v->commands[1] ? json_text(compare_verdict_name(v->verdict))
						 : json_null());
	json_put(root, "stopped", json_text(v->reason));
	json_put_texts(root, v, fault, batch);
	json_put(root, "a", side_json(v, 0));
	json_put(root, "b", side_json(v, 1));
	json_put(root, "elapsed_s", json_signed(v->elapsed_s));
	json_put(root, "half_width", json_rate(expm1(v->half_width)));
	json_put(root, "forecast_runs",
		v->forecast == UINT64_MAX ? json_null() : json_number(v->forecast));
	json_put(root, "threshold", json_signed(v->threshold));
	json_put(root, "floor", json_signed(v->floor > 0 ? v->floor : NAN));
	json_put(root, "plain_floor", json_signed(v->plain_floor > 0 ? v->plain_floor : NAN));
	json_put(root, "machine", machine_json(&v->machine));
	json_put(root, "plain", plain_json(v));
	json_put(root, "recorded", v->diff ? diff_to_json(v->diff) : json_null());
	json_print(root, out);
}
