/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat maps of tiles as a picture: one grid per level and brick, a colour scale from the fastest
 * cell to the slowest under each. Colours are told apart by lightness alone, too, and follow the
 * viewer's light or dark theme. Called by `brick tiles --svg`.
 */
#include <math.h>

#include "ui/text/tiles_view.h"
#include "ui/text/text.h"
#include "base/escape.h"

enum { WIDTH = 760, MARGIN = 40, MAP = 320, GAP = 40, HEAD = 64, STEPS = 16 };

/* Cells are at most this large, so that a grid of few tiles does not look like a flag. */
enum { MAX_CELL = 40, FACTS_HEIGHT = 190 };

static double cell_size(uint32_t bins, int pixels)
{
	return bins * MAX_CELL > (uint32_t)pixels ? (double)pixels / bins : MAX_CELL;
}

static double cell_width(const struct tiles_group *group)
{
	return cell_size(group->bin_columns, MAP);
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

/* From light yellow over orange to dark red, evenly darker. */
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
	double low_ns, high_ns, width = cell_width(group), height = cell_height(group);

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

static double print_group(
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
		y = print_group(view, &view->tiles->groups[i], y, out);
	fputs("</svg>\n", out);
}
