/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A screen in memory: cells with one character and one style each. Widgets draw on it and know
 * nothing of terminals; it is then shown by screen.h or written as plain text. Text must be safe
 * (src/ui/text/text.h). Drawing outside of it is cut off. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "brick/export.h"

enum style {
	STYLE_NORMAL,
	STYLE_HEADING,
	STYLE_FAINT,
	STYLE_FINE,
	STYLE_NOTICE,
	STYLE_ALARM,
	STYLE_SELECTED,
	STYLE_BAR, /* of functions and columns: reverse */
	STYLE_SHARE,
	STYLE_WAITS,
	STYLE_HEAT, /* the first of HEAT_LEVELS */
};

enum { HEAT_LEVELS = 5, STYLES = STYLE_HEAT + HEAT_LEVELS };

struct canvas_cell {
	char text[12]; /* one character with its combining ones; "" right of a wide one */
	uint8_t style; /* enum style */
};

struct canvas {
	int width, height;
	bool utf8;
	struct canvas_cell *cells;
};

/* The cells are blank. Without memory there are none, which text_error() tells. */
void canvas_init(struct canvas *canvas, int width, int height, bool utf8);
void canvas_fini(struct canvas *canvas);

/* Draw text from (x, y) on within `width` columns; returns how many it took. */
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
