/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out and prints tables. Called by report and doctor. */
#include "view/table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "view/memory.h"
#include "view/text.h"

enum { GAP = 2, MIN_NAME = 8, MIN_REST = 20 };

struct row {
	char **cells;
	enum terminal_style style;
};

struct table {
	const struct table_column *columns;
	size_t column_count;
	bool *hidden;
	struct row *rows;
	size_t row_count, row_capacity;
};

/* What is really printed. */
struct layout {
	size_t *widths;
	bool *shown;
	bool all; /* nothing was left out for want of room */
};

struct table *table_create(const struct table_column *columns, size_t count)
{
	struct table *table = xcalloc(1, sizeof(*table));
	table->columns = columns;
	table->column_count = count;
	table->hidden = xcalloc(count, sizeof(*table->hidden));
	return table;
}

void table_add(struct table *table, const char *const *cells, enum terminal_style style)
{
	table->rows = xgrow(
		table->rows, &table->row_capacity, table->row_count + 1, sizeof(*table->rows));
	struct row *row = &table->rows[table->row_count++];
	row->style = style;
	row->cells = xcalloc(table->column_count, sizeof(*row->cells));
	for (size_t i = 0; i < table->column_count; i++)
		row->cells[i] = xstrdup(cells[i] ? cells[i] : "");
}

void table_hide_empty(struct table *table)
{
	for (size_t i = 0; i < table->column_count; i++) {
		bool empty = true;
		for (size_t r = 0; r < table->row_count && empty; r++) {
			const char *cell = table->rows[r].cells[i];
			empty = !*cell || !strcmp(cell, "-") || !strcmp(cell, "0");
		}
		table->hidden[i] = empty && table->columns[i].rank != 0;
	}
}

static size_t total_width(const struct table *table, const struct layout *layout)
{
	size_t total = 0;
	for (size_t i = 0; i < table->column_count; i++)
		if (layout->shown[i])
			total += layout->widths[i] + GAP;
	return total ? total - GAP : 0;
}

static bool drop_one(const struct table *table, struct layout *layout)
{
	size_t worst = table->column_count;
	for (size_t i = 0; i < table->column_count; i++) {
		if (!layout->shown[i] || !table->columns[i].rank)
			continue;
		if (worst == table->column_count ||
			table->columns[i].rank >= table->columns[worst].rank)
			worst = i;
	}
	if (worst == table->column_count)
		return false;
	layout->shown[worst] = false;
	layout->all = false;
	return true;
}

static size_t column_of_the_rest(const struct table *table)
{
	size_t i = 0;

	while (i < table->column_count && table->columns[i].is_text != TABLE_REST)
		i++;
	return i;
}

static void layout_init(struct layout *layout, const struct table *table, size_t width)
{
	layout->widths = xcalloc(table->column_count, sizeof(*layout->widths));
	layout->shown = xcalloc(table->column_count, sizeof(*layout->shown));
	layout->all = true;
	for (size_t i = 0; i < table->column_count; i++) {
		layout->shown[i] = !table->hidden[i];
		layout->widths[i] = text_width(table->columns[i].title);
		for (size_t r = 0; r < table->row_count; r++) {
			size_t cell = text_width(table->rows[r].cells[i]);
			if (cell > layout->widths[i])
				layout->widths[i] = cell;
		}
	}
	/* A name that alone would push out numbers is cut before they are. */
	if (width && layout->widths[0] > width / 3 && layout->widths[0] > 3 * MIN_NAME &&
		total_width(table, layout) > width) {
		size_t over = total_width(table, layout) - width;
		size_t floor = width / 3 > 3 * MIN_NAME ? width / 3 : 3 * MIN_NAME;
		size_t spare = layout->widths[0] - floor;
		layout->widths[0] -= over < spare ? over : spare;
	}
	size_t rest = column_of_the_rest(table),
	       whole = rest < table->column_count ? layout->widths[rest] : 0;
	if (width && whole > MIN_REST && total_width(table, layout) > width)
		layout->widths[rest] = MIN_REST;
	while (width && total_width(table, layout) > width)
		if (!drop_one(table, layout))
			break;
	size_t total = total_width(table, layout);
	if (width > total && whole > MIN_REST && layout->widths[rest] < whole) {
		size_t wide = MIN_REST + width - total;
		layout->widths[rest] = wide < whole ? wide : whole;
	}
	if (width && total > width) {
		size_t over = total - width, name = layout->widths[0];
		layout->widths[0] = name > over + MIN_NAME ? name - over : MIN_NAME;
	}
}

static void layout_fini(struct layout *layout)
{
	free(layout->widths);
	free(layout->shown);
}

static void print_row(
	const struct table *table, const struct layout *layout, FILE *out, char *const *cells)
{
	size_t blanks = 0; /* owed, and printed only before more text */
	for (size_t i = 0; i < table->column_count; i++) {
		if (!layout->shown[i])
			continue;
		char *cell =
			text_cut(cells ? cells[i] : table->columns[i].title, layout->widths[i]);
		size_t width = text_width(cell);
		size_t spare = layout->widths[i] > width ? layout->widths[i] - width : 0;
		bool left = table->columns[i].is_text;
		if (*cell) {
			fprintf(out, "%*s%s", (int)(blanks + (left ? 0 : spare)), "", cell);
			blanks = left ? spare : 0;
		} else {
			blanks += spare;
		}
		blanks += GAP;
		free(cell);
	}
}

void table_print(const struct table *table, FILE *out, const struct terminal *terminal)
{
	struct layout layout;
	layout_init(&layout, table, terminal->width);
	fputs(terminal_style_begin(terminal, STYLE_STRONG), out);
	print_row(table, &layout, out, NULL);
	fprintf(out, "%s\n", terminal_style_end(terminal, STYLE_STRONG));
	for (size_t r = 0; r < table->row_count; r++) {
		const struct row *row = &table->rows[r];
		fputs(terminal_style_begin(terminal, row->style), out);
		print_row(table, &layout, out, row->cells);
		fprintf(out, "%s\n", terminal_style_end(terminal, row->style));
	}
	layout_fini(&layout);
}

char *table_left_out(const struct table *table, const struct terminal *terminal)
{
	struct layout layout;
	layout_init(&layout, table, terminal->width);
	char *names = NULL;
	for (size_t i = 0; i < table->column_count && !layout.all; i++) {
		if (layout.shown[i] || table->hidden[i])
			continue;
		xappend(&names, ", ", "%s", table->columns[i].title);
	}
	layout_fini(&layout);
	return names;
}

void table_destroy(struct table *table)
{
	if (!table)
		return;
	for (size_t r = 0; r < table->row_count; r++) {
		for (size_t i = 0; i < table->column_count; i++)
			free(table->rows[r].cells[i]);
		free(table->rows[r].cells);
	}
	free(table->rows);
	free(table->hidden);
	free(table);
}
