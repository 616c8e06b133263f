/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles for people, as JSON (schema brick/tiles/1), and as a picture. */
#include "ui/text/tiles_view.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/statistics/unknown.h"
#include "base/escape.h"
#include "base/order.h"
#include "trace/run.h"
#include "ui/text/json_out.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

/* Name of the brick that a group's tiles lie in; never NULL. */
static const char *tiles_brick_name(const struct tiles_view *view, const struct tiles_group *group)
{
	return group->brick == RUN_NONE ? "(no brick)" : view->run->bricks[group->brick].name;
}

/* Mean time of a cell's tiles; negative: there are none. */
static double tiles_bin_mean_ns(const struct tiles_bin *bin)
{
	return known_ratio(bin->total_ns, bin->count);
}

/* The range of the colours: up to the 95th percentile, as one interrupted tile must not stretch it.
 */
static bool tiles_bin_range(const struct tiles_group *group, double *low_ns, double *high_ns)
{
	double means[TILES_BINS * TILES_BINS];
	size_t n = 0;

	for (size_t i = 0; i < (size_t)group->bin_rows * group->bin_columns; i++)
		if (group->bins[i].count)
			means[n++] = tiles_bin_mean_ns(&group->bins[i]);
	*low_ns = *high_ns = -1;
	if (!n)
		return false;
	qsort(means, n, sizeof(*means), order_doubles);
	*low_ns = means[0];
	*high_ns = means[(n - 1) * 95 / 100];
	return means[n - 1] > *high_ns;
}

static const struct table_column tiles_view_columns[] = {{"LEVEL", 1, 0}, {"IN BRICK", 1, 0},
	{"TILES", 0, 0}, {"TOTAL", 0, 1}, {"AVG", 0, 0}, {"MIN", 0, 5}, {"P50", 0, 6},
	{"P99", 0, 4}, {"MAX", 0, 3}, {"GFLOP/s", 0, 1}, {"OF PEAK", 0, 2}, {"FLOP/B", 0, 3},
	{"GRID", 0, 2}};

/* Five steps from the fastest cell to the slowest; a blank where no tile is. */
static const char *tiles_view_shade(double mean_ns, double low_ns, double high_ns, bool utf8)
{
	static const char *const fine[] = {"░", "▒", "▓", "█"};
	static const char *const plain[] = {".", "+", "x", "#"};

	if (mean_ns < 0)
		return " ";
	double place = high_ns > low_ns ? (mean_ns - low_ns) / (high_ns - low_ns) : 0;
	int step = place >= 1 ? 3 : (int)(4 * place);
	return utf8 ? fine[step] : plain[step];
}

static void tiles_view_print_map(const struct tiles_view *view, const struct tiles_group *group,
	const struct terminal *terminal)
{
	double low_ns, high_ns;
	char low[UNITS_BYTES], high[UNITS_BYTES];
	bool is_cut = tiles_bin_range(group, &low_ns, &high_ns);
	units_time(low, (uint64_t)low_ns);
	units_time(high, (uint64_t)high_ns);
	fputc('\n', terminal->out);
	paragraph(terminal, 0, "", "%s tiles in %s: %ux%u; %s %s a tile to %s %s%s",
		tiles_level_name(group->level), tiles_brick_name(view, group), group->rows,
		group->columns, tiles_view_shade(low_ns, low_ns, high_ns, terminal->utf8), low,
		tiles_view_shade(high_ns, low_ns, high_ns, terminal->utf8), high,
		is_cut ? " and more" : "");
	for (uint32_t row = 0; row < group->bin_rows; row++) {
		fputs("  ", terminal->out);
		for (uint32_t column = 0; column < group->bin_columns; column++)
			fputs(tiles_view_shade(
				      tiles_bin_mean_ns(
					      &group->bins[row * group->bin_columns + column]),
				      low_ns, high_ns, terminal->utf8),
				terminal->out);
		fputc('\n', terminal->out);
	}
}

void tiles_text(const struct tiles_view *view, FILE *out)
{
	struct terminal terminal;
	struct table *table = table_create(
		tiles_view_columns, sizeof(tiles_view_columns) / sizeof(*tiles_view_columns));

	terminal_init(&terminal, out);
	for (size_t i = 0; i < view->tiles->group_count; i++) {
		const struct tiles_group *group = &view->tiles->groups[i];
		bool has_peak = view->peak_gflops > 0 && group->gflops >= 0;
		table_row(table, STYLE_PLAIN);
		table_cell(table, tiles_level_name(group->level));
		table_cell(table, tiles_brick_name(view, group));
		table_count(table, group->count);
		table_time(table, group->total_ns);
		table_time(table, group->count ? group->total_ns / group->count : UINT64_MAX);
		table_time(table, group->min_ns);
		table_time(table, group->p50_ns);
		table_time(table, group->p99_ns);
		table_time(table, group->max_ns);
		table_number(table, group->gflops);
		table_percent(table, has_peak ? group->gflops / view->peak_gflops : -1);
		table_number(table, group->intensity);
		table_format(table, "%ux%u", group->rows, group->columns);
	}
	table_hide_empty(table);
	table_print(table, &terminal);
	table_destroy(table);
	if (view->tiles->without_place)
		paragraph(&terminal, 0, "",
			"%llu more tiles have no place: their records were dropped.",
			(unsigned long long)view->tiles->without_place);
	for (size_t i = 0; view->map && i < view->tiles->group_count; i++)
		tiles_view_print_map(view, &view->tiles->groups[i], &terminal);
}

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
	json_put(object, "avg_ns", json_rate(known_ratio(group->total_ns, group->count)));
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

enum { WIDTH = 760, MARGIN = 40, MAP = 320, GAP = 40, HEAD = 64, STEPS = 16 };

/* MAX_CELL in pixels: with larger cells a grid of few tiles looks like a flag. */
enum { MAX_CELL = 40, FACTS_HEIGHT = 190 };

static double cell_size(uint32_t bins, int pixels)
{
	return bins * MAX_CELL > (uint32_t)pixels ? (double)pixels / bins : MAX_CELL;
}

static double cell_height(const struct tiles_group *group)
{
	return cell_size(group->bin_rows, MAP);
}

static double group_height(const struct tiles_group *group)
{
	double map = cell_height(group) * group->bin_rows;

	return 40 + (map > FACTS_HEIGHT ? map : FACTS_HEIGHT) + GAP;
}

/* A colour from light yellow over orange to dark red, evenly darker. */
static void colour(char out[8], double place)
{
	static const double stops[][3] = {
		{255, 247, 188}, {254, 196, 79}, {236, 112, 20}, {153, 52, 4}, {77, 16, 2}};
	double at = (place < 0 ? 0 : place > 1 ? 1 : place) * 4;
	int i = at >= 4 ? 3 : (int)at;
	int rgb[3];

	for (int c = 0; c < 3; c++)
		rgb[c] = (int)lrint(stops[i][c] + (stops[i + 1][c] - stops[i][c]) * (at - i));
	snprintf(out, 8, "#%02x%02x%02x", rgb[0] & 0xff, rgb[1] & 0xff, rgb[2] & 0xff);
}

static void print_cells(const struct tiles_group *group, double x, double y, FILE *out)
{
	double low_ns, high_ns, width = cell_size(group->bin_columns, MAP),
				height = cell_height(group);

	tiles_bin_range(group, &low_ns, &high_ns);
	for (uint32_t row = 0; row < group->bin_rows; row++)
		for (uint32_t column = 0; column < group->bin_columns; column++) {
			const struct tiles_bin *bin =
				&group->bins[row * group->bin_columns + column];
			double mean = tiles_bin_mean_ns(bin);
			char fill[8], time[UNITS_BYTES];
			if (mean < 0)
				continue;
			colour(fill, high_ns > low_ns ? (mean - low_ns) / (high_ns - low_ns) : 0);
			fprintf(out,
				"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
				"fill=\"%s\"><title>row %u, column %u: %llu tiles, %s each"
				"</title></rect>\n",
				x + column * width, y + row * height, width, height, fill,
				(uint32_t)((uint64_t)row * group->rows / group->bin_rows),
				(uint32_t)((uint64_t)column * group->columns / group->bin_columns),
				(unsigned long long)bin->count, units_time(time, (uint64_t)mean));
		}
	fprintf(out,
		"<rect class=\"frame\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n", x,
		y, width * group->bin_columns, height * group->bin_rows);
}

static void print_scale(const struct tiles_group *group, double x, double y, FILE *out)
{
	double low_ns, high_ns;
	char fill[8], low[UNITS_BYTES], high[UNITS_BYTES];

	bool is_cut = tiles_bin_range(group, &low_ns, &high_ns);
	fprintf(out, "<text x=\"%.2f\" y=\"%.2f\">mean time of a tile</text>\n", x, y - 8);
	for (int i = 0; i < STEPS; i++) {
		colour(fill, (double)i / (STEPS - 1));
		fprintf(out,
			"<rect x=\"%.2f\" y=\"%.2f\" width=\"16.2\" height=\"12\" fill=\"%s\"/>\n",
			x + 16 * i, y, fill);
	}
	fprintf(out,
		"<text x=\"%.2f\" y=\"%.2f\">%s</text><text x=\"%.2f\" y=\"%.2f\" "
		"text-anchor=\"end\">%s%s</text>\n",
		x, y + 28, units_time(low, (uint64_t)low_ns), x + 16 * STEPS, y + 28,
		units_time(high, (uint64_t)high_ns), is_cut ? " and more" : "");
}

static void print_facts(const struct tiles_view *view, const struct tiles_group *group, double x,
	double y, FILE *out)
{
	char count[UNITS_BYTES], total[UNITS_BYTES], p50[UNITS_BYTES], p99[UNITS_BYTES],
		rate[UNITS_BYTES], intensity[UNITS_BYTES];
	const char *format = "<text x=\"%.2f\" y=\"%.2f\">%s</text>\n";
	char line[160];

	snprintf(line, sizeof(line), "%s tiles, %s", units_count(count, group->count),
		units_time(total, group->total_ns));
	fprintf(out, format, x, y, line);
	snprintf(line, sizeof(line), "%u rows × %u columns", group->rows, group->columns);
	fprintf(out, format, x, y + 20, line);
	snprintf(line, sizeof(line), "half within %s, 99 %% within %s",
		units_time(p50, group->p50_ns), units_time(p99, group->p99_ns));
	fprintf(out, format, x, y + 40, line);
	if (group->gflops >= 0) {
		snprintf(line, sizeof(line), "%s GFLOP/s at %s FLOP a byte",
			units_number(rate, group->gflops),
			units_number(intensity, group->intensity));
		fprintf(out, format, x, y + 60, line);
	}
	if (group->gflops >= 0 && view->peak_gflops > 0) {
		snprintf(line, sizeof(line), "%s of the peak",
			units_percent(rate, group->gflops / view->peak_gflops));
		fprintf(out, format, x, y + 80, line);
	}
}

static double tiles_view_print_group(
	const struct tiles_view *view, const struct tiles_group *group, double y, FILE *out)
{
	fprintf(out, "<text class=\"title\" x=\"%d\" y=\"%.2f\">%s tiles in ", MARGIN, y + 24,
		tiles_level_name(group->level));
	escape_xml(out, tiles_brick_name(view, group));
	fputs("</text>\n", out);
	print_cells(group, MARGIN, y + 40, out);
	print_facts(view, group, MARGIN + MAP + GAP, y + 54, out);
	print_scale(group, MARGIN + MAP + GAP, y + 178, out);
	return y + group_height(group);
}

void tiles_svg(const struct tiles_view *view, FILE *out)
{
	double height = HEAD;

	for (size_t i = 0; i < view->tiles->group_count; i++)
		height += group_height(&view->tiles->groups[i]);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
		"height=\"%.0f\" role=\"img\">\n<title>Tiles of ",
		WIDTH, height, WIDTH, height);
	escape_xml(out, view->run->path);
	fputs("</title>\n<desc>One heat map per level and brick: the darker a cell, the longer its "
	      "tiles took.</desc>\n<style>"
	      "svg{background:#fff}text{font:13px system-ui,sans-serif;fill:#222}"
	      ".title{font-size:16px;font-weight:600}.head{font-size:20px;font-weight:600}"
	      ".frame{fill:none;stroke:#999}"
	      "@media(prefers-color-scheme:dark){svg{background:#161616}text{fill:#e8e8e8}"
	      ".frame{stroke:#777}}</style>\n",
		out);
	fprintf(out, "<text class=\"head\" x=\"%d\" y=\"36\">Where the tiles' time went</text>\n",
		MARGIN);
	double y = HEAD;
	for (size_t i = 0; i < view->tiles->group_count; i++)
		y = tiles_view_print_group(view, &view->tiles->groups[i], y, out);
	fputs("</svg>\n", out);
}
