/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roofline as JSON, schema brick/roofline/1: times in ns, rates per second, null where unknown.
 * Called by `brick roofline --json`.
 */
#include <math.h>
#include <stdlib.h>

#include "ui/text/json_out.h"
#include "ui/text/roofline_view.h"

static json_t *rate(double per_ns)
{
	return json_rate(per_ns < 0 ? -1 : per_ns * 1e9);
}

static json_t *bandwidths(const struct roofline_row *row)
{
	const struct ceilings *c = row->can;
	json_t *array = json_array();

	for (size_t i = 0; c && i < c->level_count && row->roof_threads; i++) {
		const struct ceilings_bandwidth *level =
			ceilings_fastest(c, c->levels[i].name, row->roof_threads);
		json_t *object = json_object();
		json_put(object, "level", json_text(c->levels[i].name));
		json_put(object, "bytes_per_s", rate(level ? level->rate.best : -1));
		json_put(object, "share",
			json_rate(level && row->bytes_per_ns >= 0
					  ? row->bytes_per_ns / level->rate.best
					  : -1));
		json_add(array, object);
	}
	return array;
}

static json_t *roof(const struct roofline_row *row)
{
	json_t *object = json_object();
	SCOPED char *by = roofline_roof_text(row);

	json_put(object, "threads",
		row->roof_threads ? json_integer(row->roof_threads) : json_null());
	json_put(object, "by", json_text(by));
	json_put(object, "flops_per_s", rate(row->flops ? row->roof_flops_per_ns : -1));
	json_put(object, "bytes_per_s", rate(row->roof_bytes_per_ns));
	json_put(object, "peak_flops_per_s", rate(row->peak ? row->peak->rate.best : -1));
	json_put(object, "peak_isa", json_text(row->peak ? row->peak->isa : NULL));
	json_put(object, "peak_type", json_text(row->peak ? row->peak->type : NULL));
	json_put(object, "bandwidth_level",
		json_text(row->bandwidth ? row->bandwidth->level : NULL));
	json_put(object, "bandwidth_bytes_per_s",
		rate(row->bandwidth ? row->bandwidth->rate.best : -1));
	json_put(object, "latency_ns", json_rate(row->floor_ns));
	json_put(object, "levels", bandwidths(row));
	return object;
}

static json_t *flags(const struct roofline_row *row)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {
		{ROOFLINE_ABOVE_COMPUTE, "above-compute"},
		{ROOFLINE_ABOVE_BANDWIDTH, "above-bandwidth"},
		{ROOFLINE_OTHER_THREADS, "other-threads"},
		{ROOFLINE_NOT_ALL, "not-all"},
		{ROOFLINE_AT_MOST, "at-most"},
	};
	json_t *array = json_array();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (row->flags & names[i].flag)
			json_add(array, json_text(names[i].name));
	return array;
}

static json_t *row_json(const struct roofline_row *row)
{
	json_t *object = json_object();
	int placed = row->roof_flops_per_ns >= 0 || row->roof_bytes_per_ns >= 0;

	json_put_texts(object, row, name, category);
	json_put(object, "phase", json_text(roofline_phase_name(row->phase)));
	json_put(object, "device", json_boolean(row->on_device));
	json_put_numbers(object, row, count, silent, wall_ns, busy_ns);
	json_put_rates(object, row, mean_ns, share, at_once);
	json_put_numbers(object, row, threads, flops, bytes);
	json_put(object, "work_source", json_text("computed from shapes"));
	json_put(object, "flops_per_s", rate(row->flops_per_ns));
	json_put(object, "bytes_per_s", rate(row->bytes_per_ns));
	json_put(object, "intensity", json_rate(row->intensity));
	json_put(object, "bound", json_text(roofline_bound_name(row->bound)));
	json_put(object, "distance", json_signed(placed ? row->distance : NAN));
	json_put(object, "roof", roof(row));
	json_put(object, "flags", flags(row));
	return object;
}

json_t *roofline_to_json(const struct roofline_view *view)
{
	const struct roofline *r = view->roofline;
	const struct ceilings *c = r->ceilings;
	json_t *root = json_object(), *rows = json_array(), *from = NULL;

	json_put(root, "schema", json_text("brick/roofline/1"));
	if (c) {
		from = json_object();
		json_put(from, "file", json_text(view->where));
		json_put_texts(from, c, host, cpu);
		json_put(from, "measured_unix_ns", json_number(c->unix_ns));
		json_put(from, "quick", json_boolean(c->quick));
		json_put(from, "doubt", json_text(view->doubt));
		json_put(from, "device", json_text(r->device ? r->device->name : NULL));
	}
	json_put(root, "ceilings", from ? from : json_null());
	for (size_t i = 0; i < r->row_count; i++)
		if (roofline_shows(view, &r->rows[i]))
			json_add(rows, row_json(&r->rows[i]));
	json_put(root, "bricks", rows);
	return root;
}
