/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles for people: a table, and the grids as characters, darker where a tile took longer. Called
 * by `brick tiles`.
 */
#include <stdlib.h>

#include "view/table.h"
#include "view/text.h"
#include "view/tiles.h"
#include "view/units.h"

enum column {
	COLUMN_LEVEL,
	COLUMN_BRICK,
	COLUMN_COUNT,
	COLUMN_TOTAL,
	COLUMN_AVG,
	COLUMN_MIN,
	COLUMN_P50,
	COLUMN_P99,
	COLUMN_MAX,
	COLUMN_RATE,
	COLUMN_PEAK,
	COLUMN_INTENSITY,
	COLUMN_GRID,
	COLUMNS,
};

static const struct table_column columns[COLUMNS] = {
	[COLUMN_LEVEL] = {"LEVEL", 1, 0},
	[COLUMN_BRICK] = {"IN BRICK", 1, 0},
	[COLUMN_COUNT] = {"TILES", 0, 0},
	[COLUMN_TOTAL] = {"TOTAL", 0, 1},
	[COLUMN_AVG] = {"AVG", 0, 0},
	[COLUMN_MIN] = {"MIN", 0, 5},
	[COLUMN_P50] = {"P50", 0, 6},
	[COLUMN_P99] = {"P99", 0, 4},
	[COLUMN_MAX] = {"MAX", 0, 3},
	[COLUMN_RATE] = {"GFLOP/s", 0, 1},
	[COLUMN_PEAK] = {"OF PEAK", 0, 2},
	[COLUMN_INTENSITY] = {"FLOP/B", 0, 3},
	[COLUMN_GRID] = {"GRID", 0, 2},
};

static void add_row(
	struct table *table, const struct tiles_view *view, const struct tiles_group *group)
{
	char cells[COLUMNS][2 * UNITS_BYTES];
	const char *shown[COLUMNS];

	for (int i = 0; i < COLUMNS; i++)
		shown[i] = cells[i];
	char *brick = text_safe(tiles_brick_name(view, group));
	shown[COLUMN_LEVEL] = tiles_level_name(group->level);
	shown[COLUMN_BRICK] = brick;
	units_count(cells[COLUMN_COUNT], group->count);
	units_time(cells[COLUMN_TOTAL], group->total_ns);
	units_time(cells[COLUMN_AVG], group->count ? group->total_ns / group->count : UINT64_MAX);
	units_time(cells[COLUMN_MIN], group->min_ns);
	units_time(cells[COLUMN_P50], group->p50_ns);
	units_time(cells[COLUMN_P99], group->p99_ns);
	units_time(cells[COLUMN_MAX], group->max_ns);
	units_number(cells[COLUMN_RATE], group->gflops);
	units_percent(cells[COLUMN_PEAK], view->peak_gflops > 0 && group->gflops >= 0
						  ? group->gflops / view->peak_gflops
						  : -1);
	units_number(cells[COLUMN_INTENSITY], group->intensity);
	snprintf(cells[COLUMN_GRID], sizeof cells[0], "%ux%u", group->rows, group->columns);
	table_add(table, shown, STYLE_PLAIN);
	free(brick);
}

/* Five steps from the fastest cell to the slowest; a blank where no tile is. */
static const char *shade(double mean_ns, double low_ns, double high_ns, bool utf8)
{
	static const char *const fine[] = {"░", "▒", "▓", "█"};
	static const char *const plain[] = {".", "+", "x", "#"};

	if (mean_ns < 0)
		return " ";
	double place = high_ns > low_ns ? (mean_ns - low_ns) / (high_ns - low_ns) : 0;
	int step = place >= 1 ? 3 : (int)(4 * place);
	return utf8 ? fine[step] : plain[step];
}

static void print_map(const struct tiles_view *view, const struct tiles_group *group, FILE *out,
	const struct terminal *terminal)
{
	double low_ns, high_ns;
	char low[UNITS_BYTES], high[UNITS_BYTES];
	char *brick = text_safe(tiles_brick_name(view, group));

	bool is_cut = tiles_bin_range(group, &low_ns, &high_ns);
	units_time(low, (uint64_t)low_ns);
	units_time(high, (uint64_t)high_ns);
	fprintf(out, "\n%s%s tiles in %s%s: %u rows, %u columns; %s %s a tile to %s %s%s\n",
		terminal_style_begin(terminal, STYLE_STRONG), tiles_level_name(group->level), brick,
		terminal_style_end(terminal, STYLE_STRONG), group->rows, group->columns,
		shade(low_ns, low_ns, high_ns, terminal->utf8), low,
		shade(high_ns, low_ns, high_ns, terminal->utf8), high, is_cut ? " and more" : "");
	for (uint32_t row = 0; row < group->bin_rows; row++) {
		fputs("  ", out);
		for (uint32_t column = 0; column < group->bin_columns; column++)
			fputs(shade(tiles_bin_mean_ns(
					    &group->bins[row * group->bin_columns + column]),
				      low_ns, high_ns, terminal->utf8),
				out);
		fputc('\n', out);
	}
	free(brick);
}

void tiles_text(const struct tiles_view *view, FILE *out)
{
	struct terminal terminal;
	struct table *table = table_create(columns, COLUMNS);

	terminal_init(&terminal, out);
	for (size_t i = 0; i < view->tiles->group_count; i++)
		add_row(table, view, &view->tiles->groups[i]);
	table_hide_empty(table);
	table_print(table, out, &terminal);
	table_destroy(table);
	if (view->tiles->without_place)
		fprintf(out, "%llu more tiles have no place: their records were dropped.\n",
			(unsigned long long)view->tiles->without_place);
	for (size_t i = 0; view->map && i < view->tiles->group_count; i++)
		print_map(view, &view->tiles->groups[i], out, &terminal);
}
