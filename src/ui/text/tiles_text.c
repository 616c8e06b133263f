/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles for people: a table, and the grids as characters, darker where a tile took longer. Called
 * by `brick tiles`.
 */
#include <stdlib.h>

#include "ui/text/text_table.h"
#include "ui/text/text.h"
#include "ui/text/tiles_view.h"

static const struct table_column columns[] = {{"LEVEL", 1, 0}, {"IN BRICK", 1, 0}, {"TILES", 0, 0},
	{"TOTAL", 0, 1}, {"AVG", 0, 0}, {"MIN", 0, 5}, {"P50", 0, 6}, {"P99", 0, 4}, {"MAX", 0, 3},
	{"GFLOP/s", 0, 1}, {"OF PEAK", 0, 2}, {"FLOP/B", 0, 3}, {"GRID", 0, 2}};

static void add_row(
	struct table *table, const struct tiles_view *view, const struct tiles_group *group)
{
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

static void print_map(const struct tiles_view *view, const struct tiles_group *group,
	const struct terminal *terminal)
{
	double low_ns, high_ns;
	char low[UNITS_BYTES], high[UNITS_BYTES];
	SCOPED char *brick = text_safe(tiles_brick_name(view, group));

	bool is_cut = tiles_bin_range(group, &low_ns, &high_ns);
	units_time(low, (uint64_t)low_ns);
	units_time(high, (uint64_t)high_ns);
	fprintf(terminal->out, "\n%s%s tiles in %s%s: %ux%u; %s %s a tile to %s %s%s\n",
		terminal_style_begin(terminal, STYLE_STRONG), tiles_level_name(group->level), brick,
		terminal_style_end(terminal, STYLE_STRONG), group->rows, group->columns,
		shade(low_ns, low_ns, high_ns, terminal->utf8), low,
		shade(high_ns, low_ns, high_ns, terminal->utf8), high, is_cut ? " and more" : "");
	for (uint32_t row = 0; row < group->bin_rows; row++) {
		fputs("  ", terminal->out);
		for (uint32_t column = 0; column < group->bin_columns; column++)
			fputs(shade(tiles_bin_mean_ns(
					    &group->bins[row * group->bin_columns + column]),
				      low_ns, high_ns, terminal->utf8),
				terminal->out);
		fputc('\n', terminal->out);
	}
}

void tiles_text(const struct tiles_view *view, FILE *out)
{
	struct terminal terminal;
	struct table *table = table_create(columns, sizeof(columns) / sizeof(*columns));

	terminal_init(&terminal, out);
	for (size_t i = 0; i < view->tiles->group_count; i++)
		add_row(table, view, &view->tiles->groups[i]);
	table_hide_empty(table);
	table_print(table, &terminal);
	table_destroy(table);
	if (view->tiles->without_place)
		fprintf(out, "%llu more tiles have no place: their records were dropped.\n",
			(unsigned long long)view->tiles->without_place);
	for (size_t i = 0; view->map && i < view->tiles->group_count; i++)
		print_map(view, &view->tiles->groups[i], &terminal);
}
