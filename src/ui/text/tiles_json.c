/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles as JSON, schema brick/tiles/1: times in ns, rates per second, null where unknown. A map has
 * a row of cells per bin of rows; a cell is [tiles, total_ns]. Called by `brick tiles --json`.
 */
#include "ui/text/json_out.h"
#include "ui/text/tiles_view.h"

static json_t *map_json(const struct tiles_group *group)
{
	json_t *map = json_object(), *cells = json_array();

	for (uint32_t row = 0; row < group->bin_rows; row++) {
		json_t *line = json_array();
		for (uint32_t column = 0; column < group->bin_columns; column++) {
			const struct tiles_bin *bin =
				&group->bins[row * group->bin_columns + column];
			json_t *cell = json_array();
			json_add(cell, json_number(bin->count));
			json_add(cell, json_number(bin->total_ns));
			json_add(line, cell);
		}
		json_add(cells, line);
	}
	json_put(map, "rows", json_number(group->bin_rows));
	json_put(map, "columns", json_number(group->bin_columns));
	json_put(map, "cells", cells);
	return map;
}

static json_t *group_json(const struct tiles_view *view, const struct tiles_group *group)
{
	json_t *object = json_object();
	double peak = view->peak_gflops;

	json_put(object, "level", json_text(tiles_level_name(group->level)));
	json_put(object, "brick",
		json_text(group->brick == RUN_NONE ? NULL : tiles_brick_name(view, group)));
	json_put_numbers(object, group, count, total_ns);
	json_put(object, "avg_ns",
		json_rate(group->count ? (double)group->total_ns / (double)group->count : -1));
	json_put_numbers(
		object, group, min_ns, p50_ns, p95_ns, p99_ns, max_ns, elements, bytes, flops);
	json_put(object, "gflops_per_s", json_rate(group->gflops));
	json_put(object, "intensity", json_rate(group->intensity));
	json_put(object, "peak_share", json_rate(peak > 0 ? group->gflops / peak : -1));
	json_put_numbers(object, group, rows, columns);
	json_put(object, "map", map_json(group));
	return object;
}

json_t *tiles_to_json(const struct tiles_view *view)
{
	json_t *root = json_object(), *groups = json_array();

	json_put(root, "schema", json_text("brick/tiles/1"));
	for (size_t i = 0; i < view->tiles->group_count; i++)
		json_add(groups, group_json(view, &view->tiles->groups[i]));
	json_put(root, "tiles", groups);
	json_put(root, "without_place", json_number(view->tiles->without_place));
	return root;
}
