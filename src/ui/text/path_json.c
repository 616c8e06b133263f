/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path as JSON, schema brick/path/1: times in ns, rates per second, null where
 * unknown. Called by `brick path --json`.
 */
#include "ui/text/json_out.h"
#include "ui/text/path_view.h"
#include "ui/text/step_number.h"

static json_t *what_if(const struct path_section *section, uint64_t ns)
{
	json_t *object = json_object();

	json_put(object, "time_ns", json_number(ns));
	json_put(object, "tokens_per_s", json_rate(path_tokens_per_s(section, ns)));
	return object;
}

static json_t *row_json(const struct path_section *section, const struct path_row *row)
{
	json_t *object = json_object(), *slack = json_object();
	double length = (double)section->length_ns;

	json_put_texts(object, row, name, category);
	json_put_numbers(object, row, count, own_ns, on_path_count, on_path_ns);
	json_put(
		object, "on_path_share", json_rate(length ? (double)row->on_path_ns / length : -1));
	json_put(slack, "mean_ns", json_number(row->slack_mean_ns));
	json_put(slack, "min_ns", json_number(row->slack_min_ns));
	json_put(slack, "max_ns", json_number(row->slack_max_ns));
	json_put(object, "slack", slack);
	json_put(object, "ten_percent_less", what_if(section, row->less_ns));
	json_put(object, "nothing", what_if(section, row->nothing_ns));
	return object;
}

static json_t *lane_json(const struct run *run, const struct path_lane *lane)
{
	json_t *object = json_object();

	json_put(object, "tid", json_number(run->lanes[lane->lane].tid));
	json_put(object, "name", json_text(run->lanes[lane->lane].name));
	json_put_numbers(object, lane, work_ns, on_path_ns, waited_ns);
	return object;
}

static json_t *counts_json(const struct schedule_counts *counts)
{
	json_t *object = json_object();

	json_put_numbers(object, counts, waits, barriers, unknown_waits, unknown_wait_ns, starts,
		launches, idle, idle_ns, contradictions);
	return object;
}

/* Two lanes may have one tid (containers, queues): a hop says which of "threads" it is on. */
static json_t *place_of(const struct path_section *section, uint32_t lane)
{
	for (size_t i = 0; i < section->lane_count; i++)
		if (section->lanes[i].lane == lane)
			return json_number(i);
	return json_null();
}

static json_t *hop_json(
	const struct path_section *section, const struct run *run, const struct path_hop *hop)
{
	const struct run_lane *lane = &run->lanes[hop->lane];
	const struct run_site *site =
		hop->sample == RUN_NONE ? NULL : &run->sites[lane->samples[hop->sample].site];
	json_t *object = json_object();

	json_put_numbers(object, hop, begin_ns, time_ns);
	json_put(object, "name", json_text(path_owner_name(run, hop->owner)));
	json_put(object, "layer",
		site && site->layer >= 0 ? json_integer(site->layer) : json_null());
	json_put(object, "operation", json_text(site ? site->operation : NULL));
	json_put(object, "label", json_text(site ? site->label : NULL));
	json_put(object, "tid", json_number(lane->tid));
	json_put(object, "thread", place_of(section, hop->lane));
	return object;
}

static json_t *section_json(const struct path_view *view, const struct path_section *section)
{
	json_t *object = json_object(), *bricks = json_array(), *lanes = json_array();

	json_put(object, "phase", json_text(step_phase_name(section->phase)));
	json_put(object, "step",
		section->step == RUN_NONE
			? json_null()
			: json_number(step_number(view->run, view->index, section->step)));
	json_put_numbers(object, section, steps, tokens, measured_ns);
	json_put(object, "path_ns", json_number(section->length_ns));
	json_put(object, "tokens_per_s", json_rate(path_tokens_per_s(section, section->length_ns)));
	json_put(object, "switches", json_number(section->switches));
	for (size_t i = 0; i < section->row_count && (!view->top || i < view->top); i++)
		json_add(bricks, row_json(section, &section->rows[i]));
	json_put(object, "bricks", bricks);
	for (size_t i = 0; i < section->lane_count; i++)
		json_add(lanes, lane_json(view->run, &section->lanes[i]));
	json_put(object, "threads", lanes);
	json_put(object, "known", counts_json(&section->counts));
	if (section->hops) {
		json_t *hops = json_array();
		for (size_t i = 0; i < section->hop_count; i++)
			json_add(hops, hop_json(section, view->run, &section->hops[i]));
		json_put(object, "path", hops);
	}
	return object;
}

json_t *path_to_json(const struct path_view *view)
{
	json_t *root = json_object(), *sections = json_array();

	json_put(root, "schema", json_text("brick/path/1"));
	for (size_t i = 0; i < view->path->section_count; i++)
		json_add(sections, section_json(view, &view->path->sections[i]));
	json_put(root, "off_cpu_known",
		json_boolean(run_off_cpu_is_known(view->run, 0, UINT64_MAX)));
	json_put(root, "sections", sections);
	return root;
}
