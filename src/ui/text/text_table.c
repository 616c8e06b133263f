/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lays out and prints tables. A table that there was no memory for is NULL, which all functions
 * take; text_error() says so.
 */
#include "ui/text/text_table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ui/text/text.h"

enum { GAP = 2, MIN_NAME = 8, MIN_REST = 20 };

struct row {
	char **cells; /* NULL: empty */
	size_t used;
	enum terminal_style style;
};

struct table {
	const struct table_column *columns;
	size_t column_count;
	bool *hidden;
	ARRAY(struct row) rows;
};

/* The columns that are really printed. */
struct layout {
	size_t *widths;
	bool *shown;
	bool all; /* there was room for all of it */
};

struct table *table_create(const struct table_column *columns, size_t count)
{
	struct table *table = text_room(1, sizeof(*table));
	if (!table)
		return NULL;
	table->columns = columns;
	table->column_count = count;
	table->hidden = text_room(count, sizeof(*table->hidden));
	if (!table->hidden) {
		free(table);
		return NULL;
	}
	return table;
}

void table_row(struct table *table, enum terminal_style style)
{
	if (!table)
		return;
	char **cells = text_room(table->column_count, sizeof(*cells));
	if (cells && text_fail(array_push(&table->rows, (struct row){cells, .style = style})) < 0)
		free(cells);
}

void table_cell(struct table *table, const char *text)
{
	if (!table || !table->rows.count)
		return;
	struct row *row = &table->rows.items[table->rows.count - 1];
	if (row->used < table->column_count)
		row->cells[row->used++] = text_safe(text);
}

void table_format(struct table *table, const char *format, ...)
{
	SCOPED char *text = NULL;
	va_list arguments;
	va_start(arguments, format);
	if (text_fail(vasprintf(&text, format, arguments) < 0 ? -ENOMEM : 0) < 0)
		text = NULL;
	va_end(arguments);
	table_cell(table, text);
}

void table_time(struct table *table, uint64_t ns)
{
	char text[UNITS_BYTES];
	table_cell(table, units_time(text, ns));
}

void table_estimate(struct table *table, uint64_t ns, bool is_estimated)
{
	char text[UNITS_BYTES];
	table_cell(table, units_estimate(text, ns, is_estimated));
}

void table_count(struct table *table, uint64_t count)
{
	char text[UNITS_BYTES];
	table_cell(table, units_count(text, count));
}

void table_number(struct table *table, double value)
{
	char text[UNITS_BYTES];
	table_cell(table, units_number(text, value));
}

void table_percent(struct table *table, double share)
{
	char text[UNITS_BYTES];
	table_cell(table, units_percent(text, share));
}

static const char *text_table_cell_of(const struct table *table, size_t row, size_t column)
{
	const char *cell = table->rows.items[row].cells[column];
	return cell ? cell : "";
}

void table_hide_empty(struct table *table)
{
	for (size_t i = 0; table && i < table->column_count; i++) {
		bool empty = true;
		for (size_t r = 0; r < table->rows.count && empty; r++) {
			const char *cell = text_table_cell_of(table, r, i);
			empty = !*cell || !strcmp(cell, "-") || !strcmp(cell, "0");
		}
		table->hidden[i] = empty && table->columns[i].rank != 0;
	}
}

static bool repeats(const struct table *table, size_t column, size_t of)
{
	for (size_t r = 0; r < table->rows.count; r++)
		if (strcmp(text_table_cell_of(table, r, column),
			    text_table_cell_of(table, r, of)) != 0)
			return false;
	return table->rows.count > 0;
}

void table_hide_repeated(struct table *table)
{
	for (size_t i = 1; table && i < table->column_count; i++)
		for (size_t of = 1; of < i && table->columns[i].rank; of++)
			table->hidden[i] |= !table->hidden[of] && repeats(table, i, of);
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

	while (i < table->column_count && table->columns[i].align != TABLE_REST)
		i++;
	return i;
}

/* False: there is no table, or no memory. */
static bool text_table_layout_init(struct layout *layout, const struct table *table, size_t width)
{
	*layout = (struct layout){.all = true};
	if (!table)
		return false;
	layout->widths = text_room(table->column_count, sizeof(*layout->widths));
	layout->shown = text_room(table->column_count, sizeof(*layout->shown));
	if (!layout->widths || !layout->shown)
		return false;
	for (size_t i = 0; i < table->column_count; i++) {
		layout->shown[i] = !table->hidden[i];
		layout->widths[i] = text_width(table->columns[i].title);
		for (size_t r = 0; r < table->rows.count; r++) {
			size_t cell = text_width(text_table_cell_of(table, r, i));
			if (cell > layout->widths[i])
				layout->widths[i] = cell;
		}
	}
	size_t name = layout->widths[0];
	/* A name that alone would push out numbers is cut before they are dropped. */
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
	if (layout->widths[0] < name && width > total_width(table, layout)) {
		size_t wide = layout->widths[0] + width - total_width(table, layout);
		layout->widths[0] = wide < name ? wide : name;
	}
	size_t total = total_width(table, layout);
	if (width > total && whole > MIN_REST && layout->widths[rest] < whole) {
		size_t wide = MIN_REST + width - total;
		layout->widths[rest] = wide < whole ? wide : whole;
	}
	if (width && total > width) {
		size_t over = total - width, cut = layout->widths[0];
		layout->widths[0] = cut > over + MIN_NAME ? cut - over : MIN_NAME;
	}
	return true;
}

static void text_table_layout_fini(struct layout *layout)
{
	free(layout->widths);
	free(layout->shown);
}

/* row: SIZE_MAX is that of the titles. */
static void text_table_print_row(
	const struct table *table, const struct layout *layout, FILE *out, size_t row)
{
	size_t blanks = 0; /* owed, and printed only before more text */
	for (size_t i = 0; i < table->column_count; i++) {
		if (!layout->shown[i])
			continue;
		SCOPED char *cell = text_cut(row == SIZE_MAX ? table->columns[i].title
							     : text_table_cell_of(table, row, i),
			layout->widths[i]);
		size_t width = text_width(cell);
		size_t spare = layout->widths[i] > width ? layout->widths[i] - width : 0;
		bool left = table->columns[i].align != TABLE_RIGHT;
		if (cell && *cell) {
			fprintf(out, "%*s%s", (int)(blanks + (left ? 0 : spare)), "", cell);
			blanks = left ? spare : 0;
		} else {
			blanks += spare;
		}
		blanks += GAP;
	}
}

void table_print(const struct table *table, const struct terminal *terminal)
{
	SCOPED_BY(text_table_layout_fini) struct layout layout;
	if (!text_table_layout_init(&layout, table, terminal->width))
		return;
	terminal_begin(terminal, STYLE_STRONG);
	text_table_print_row(table, &layout, terminal->out, SIZE_MAX);
	fprintf(terminal->out, "%s\n", terminal_style_end(terminal, STYLE_STRONG));
	for (size_t r = 0; r < table->rows.count; r++) {
		enum terminal_style style = table->rows.items[r].style;
		terminal_begin(terminal, style);
		text_table_print_row(table, &layout, terminal->out, r);
		fprintf(terminal->out, "%s\n", terminal_style_end(terminal, style));
	}
}

char *table_left_out(const struct table *table, const struct terminal *terminal)
{
	SCOPED_BY(text_table_layout_fini) struct layout layout;
	char *names = NULL;
	if (!text_table_layout_init(&layout, table, terminal->width))
		return NULL;
	for (size_t i = 0; i < table->column_count && !layout.all; i++) {
		if (layout.shown[i] || table->hidden[i])
			continue;
		text_append(&names, ", ", "%s", table->columns[i].title);
	}
	return names;
}

void table_destroy(struct table *table)
{
	if (!table)
		return;
	for (size_t r = 0; r < table->rows.count; r++) {
		for (size_t i = 0; i < table->rows.items[r].used; i++)
			free(table->rows.items[r].cells[i]);
		free(table->rows.items[r].cells);
	}
	array_fini(&table->rows);
	free(table->hidden);
	free(table);
}
