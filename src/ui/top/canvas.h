/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A screen in memory: cells with one character and one style each. Views draw on it and know no
 * terminal; then screen.h shows it, or canvas_write() prints it. Text must be safe
 * (src/ui/text/text.h). Text beyond the edges is cut off. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "brick/export.h"

/* A new style gets its look in screen_curses.c, too. */
enum style {
	STYLE_NORMAL,
	STYLE_HEADING,
	STYLE_FAINT,
	STYLE_FINE,
	STYLE_NOTICE,
	STYLE_ALARM,
	STYLE_SELECTED,
	STYLE_BAR, /* reverse: the foot's keys and titles of columns */
	STYLE_SHARE,
	STYLE_WAITS,
	STYLE_HEAT, /* the first of HEAT_LEVELS */
};

enum { HEAT_LEVELS = 5, STYLES = STYLE_HEAT + HEAT_LEVELS };

struct canvas_cell {
	char text[12]; /* a character with its combining ones; "": the right half of a wide one */
	uint8_t style; /* enum style */
};

struct canvas {
	int width, height; /* in cells */
	bool utf8;
	struct canvas_cell *cells; /* [height][width] */
};

/* Makes blank cells. Without memory the canvas has none, and text_error() tells. */
void canvas_init(struct canvas *canvas, int width, int height, bool utf8);
void canvas_fini(struct canvas *canvas);

/* Draw text from (x, y) on within `width` columns; returns the columns that it took. */
int canvas_text(struct canvas *canvas, int x, int y, int width, enum style style, const char *text);

/* The same with a format, cut with an ellipsis where it does not fit. */
int canvas_print(struct canvas *canvas, int x, int y, int width, enum style style,
	const char *format, ...) BRICK_PRINTF(6, 7);

/* Text that ends at column x + width. */
void canvas_right(
	struct canvas *canvas, int x, int y, int width, enum style style, const char *text);

/* Give the cells of a line, from x on, a style. */
void canvas_paint(struct canvas *canvas, int x, int y, int width, enum style style);

/* A bar of share x width columns, in eighths where there is UTF-8. */
void canvas_share(struct canvas *canvas, int x, int y, int width, enum style style, double share);

/* A heat from 0 to 1 as `width` cells: shades, or letters of more and more ink. */
void canvas_heat(struct canvas *canvas, int x, int y, int width, double heat);

/* The whole as lines without trailing blanks. */
void canvas_write(const struct canvas *canvas, FILE *out);
