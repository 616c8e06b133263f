/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers by bricks, and how long single executions of a brick took, for the page. Cells and buckets
 * that hold nothing are left out. Called by page.c.
 */
#include <stdlib.h>

#include "ui/text/json_out.h"
#include "ui/text/memory.h"
#include "ui/page/page.h"

const char *const page_phase_keys[BREAKDOWN_PHASES] = {[STEP_PREFILL] = "prefill",
	[STEP_DECODE] = "decode",
	[STEP_MIXED] = "mixed",
	[STEP_WARM_UP] = "warm_up",
	[STEP_PHASES] = "outside"};

/* [layer, number of the brick in the report, ns of wall time, executions] */
static json_t *cell_json(uint32_t row, size_t column, uint64_t ns, uint64_t count)
{
	json_t *cell = json_array();
	json_add(cell, json_integer((json_int_t)row - 1));
	json_add(cell, json_number(column));
	json_add(cell, json_number(ns));
	json_add(cell, json_number(count));
	return cell;
}

static json_t *phase_cells(const struct page *page, unsigned phase)
{
	const struct breakdown *b = page->breakdown;
	json_t *cells = json_array();
	for (size_t i = 0; i < page_bricks(page); i++)
		for (uint32_t row = 0; row < b->layer_count; row++) {
			uint32_t brick = page->report.summary->rows[i].id;
			size_t at = breakdown_cell(b, phase, row, brick);
			if (b->layers[at] || b->counts[at])
				json_add(cells, cell_json(row, i, b->layers[at], b->counts[at]));
		}
	return cells;
}

json_t *page_layers(const struct page *page)
{
	json_t *object = json_object();
	json_put(object, "bricks", json_number(page_bricks(page)));
	json_put(object, "bricks_left_out",
		json_number(page->report.summary->row_count - page_bricks(page)));
	json_put(object, "last_is_rest",
		json_boolean(page->breakdown->layer_count > BREAKDOWN_LAYERS));
	for (unsigned phase = 0; phase < BREAKDOWN_PHASES; phase++)
		json_put(object, page_phase_keys[phase], phase_cells(page, phase));
	return object;
}

/* [lower edge in ns, upper edge, executions], again and again, in one flat array */
static json_t *buckets_json(const uint64_t *buckets)
{
	json_t *array = json_array();
	for (uint32_t i = 0; buckets && i < BREAKDOWN_BUCKETS; i++) {
		if (!buckets[i])
			continue;
		json_add(array, json_number(breakdown_edge_ns(i)));
		json_add(array, json_number(breakdown_edge_ns(i + 1)));
		json_add(array, json_number(buckets[i]));
	}
	return array;
}

json_t *page_durations(const struct page *page)
{
	const struct breakdown *b = page->breakdown;
	SCOPED uint64_t *all = xcalloc(BREAKDOWN_BUCKETS, sizeof(*all));
	json_t *array = json_array();
	for (size_t i = 0; i < page_bricks(page); i++) {
		uint32_t brick = page->report.summary->rows[i].id;
		json_t *object = json_object();
		breakdown_all_durations(b, brick, all);
		json_put(object, "name", json_text(page->report.summary->rows[i].name));
		json_put(object, "all", buckets_json(all));
		for (unsigned phase = 0; phase < STEP_PHASES; phase++)
			json_put(object, page_phase_keys[phase],
				buckets_json(
					b->histograms[(size_t)phase * b->brick_count + brick]));
		json_add(array, object);
	}
	return array;
}
