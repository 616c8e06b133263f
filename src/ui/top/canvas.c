/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cells of a screen. A character that is two columns wide owns the cell to its right, which is
 * empty then; nothing is ever drawn across the edge of a canvas.
 */
#include "ui/top/canvas.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "ui/text/text.h"
#include "base/utf8.h"

void canvas_init(struct canvas *canvas, int width, int height, bool utf8)
{
	canvas->width = width < 1 ? 1 : width;
	canvas->height = height < 1 ? 1 : height;
	canvas->utf8 = utf8;
	canvas->cells =
		text_room((size_t)canvas->width * (size_t)canvas->height, sizeof(*canvas->cells));
	if (!canvas->cells)
		canvas->width = canvas->height = 0;
	for (int i = 0; i < canvas->width * canvas->height; i++)
		canvas->cells[i].text[0] = ' ';
}

void canvas_fini(struct canvas *canvas)
{
	free(canvas->cells);
	canvas->cells = NULL;
}

static struct canvas_cell *cell_at(struct canvas *canvas, int x, int y)
{
	if (x < 0 || y < 0 || x >= canvas->width || y >= canvas->height)
		return NULL;
	return &canvas->cells[y * canvas->width + x];
}

static int canvas_columns_of(uint32_t code)
{
	int width = wcwidth((wchar_t)code);
	return width < 0 ? 1 : width;
}

static void canvas_set(struct canvas_cell *cell, const char *bytes, size_t n, enum style style)
{
	memcpy(cell->text, bytes, n);
	cell->text[n] = '\0';
	cell->style = (uint8_t)style;
}

/* Add a combining character to the one before it; too many are left out. */
static void combine(struct canvas_cell *cell, const char *bytes, size_t n)
{
	size_t used = cell ? strlen(cell->text) : 0;
	if (used && used + n < sizeof(cell->text)) {
		memcpy(cell->text + used, bytes, n);
		cell->text[used + n] = '\0';
	}
}

int canvas_text(struct canvas *canvas, int x, int y, int width, enum style style, const char *text)
{
	int used = 0;
	if (x + width > canvas->width)
		width = canvas->width - x;
	for (size_t left = strlen(text); left;) {
		uint32_t code = '?';
		size_t n = utf8_decode(text, left, &code);
		const char *bytes = n ? text : "?";
		int columns = canvas_columns_of(code);
		if (used + columns > width)
			break;
		if (!columns)
			combine(cell_at(canvas, x + used - 1, y), bytes, n);
		for (int i = 0; i < columns; i++) {
			struct canvas_cell *cell = cell_at(canvas, x + used + i, y);
			if (cell)
				canvas_set(cell, bytes, i ? 0 : n ? n : 1, style);
		}
		used += columns;
		text += n ? n : 1;
		left -= n ? n : 1;
	}
	return used;
}

int canvas_print(
	struct canvas *canvas, int x, int y, int width, enum style style, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	if (x + width > canvas->width)
		width = canvas->width - x;
	if (width <= 0)
		return 0;
	va_start(arguments, format);
	int n = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (n < 0)
		return 0;
	SCOPED char *cut = text_cut(text, (size_t)width);
	int used = canvas_text(canvas, x, y, width, style, cut);
	free(text);
	return used;
}

void canvas_right(
	struct canvas *canvas, int x, int y, int width, enum style style, const char *text)
{
	int used = (int)text_width(text);
	if (used > width)
		canvas_print(canvas, x, y, width, style, "%s", text);
	else
		canvas_text(canvas, x + width - used, y, used, style, text);
}

void canvas_paint(struct canvas *canvas, int x, int y, int width, enum style style)
{
	for (int i = 0; i < width; i++) {
		struct canvas_cell *cell = cell_at(canvas, x + i, y);
		if (cell)
			cell->style = (uint8_t)style;
	}
}

void canvas_share(struct canvas *canvas, int x, int y, int width, enum style style, double share)
{
	/* From one to seven eighths of a block. */
	static const char *const parts[] = {"\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d",
		"\xe2\x96\x8c", "\xe2\x96\x8b", "\xe2\x96\x8a", "\xe2\x96\x89"};
	double cells = share > 0 ? (share < 1 ? share : 1) * width : 0;
	int eighths = (int)(cells * 8 + 0.5),
	    whole = canvas->utf8 ? eighths / 8 : (int)(cells + 0.5);
	for (int i = 0; i < whole; i++)
		canvas_text(canvas, x + i, y, 1, style, canvas->utf8 ? "\xe2\x96\x88" : "#");
	if (canvas->utf8 && eighths % 8)
		canvas_text(canvas, x + whole, y, 1, style, parts[eighths % 8 - 1]);
}

void canvas_heat(struct canvas *canvas, int x, int y, int width, double heat)
{
	static const char *const shades[] = {
		"\xc2\xb7", "\xe2\x96\x91", "\xe2\x96\x92", "\xe2\x96\x93", "\xe2\x96\x88"};
	static const char *const letters[] = {".", ":", "+", "*", "#"};
	int level = heat >= 1 ? HEAT_LEVELS - 1 : heat > 0 ? (int)(heat * HEAT_LEVELS) : 0;
	for (int i = 0; i < width; i++)
		canvas_text(canvas, x + i, y, 1, (enum style)(STYLE_HEAT + level),
			canvas->utf8 ? shades[level] : letters[level]);
}

void canvas_write(const struct canvas *canvas, FILE *out)
{
	for (int y = 0; y < canvas->height; y++) {
		const struct canvas_cell *line = &canvas->cells[y * canvas->width];
		int end = canvas->width;
		while (end && (!strcmp(line[end - 1].text, " ") || !line[end - 1].text[0]))
			end--;
		/* an empty cell at the end belongs to the wide character before it */
		for (int x = 0; x < end; x++)
			fputs(line[x].text, out);
		fputc('\n', out);
	}
}
