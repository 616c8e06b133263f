/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table that the user walks through. Columns give way when there is no room. The user chooses the
 * order of rows, selects a row, and scrolls. The caller makes the rows anew for each picture, so
 * grid_arrange() finds the selected row again by its name, the text of its first cell. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "ui/top/canvas.h"

enum { GRID_COLUMNS = 20 };

enum grid_kind { GRID_NUMBER, GRID_TEXT, GRID_BAR };

struct grid_column {
	const char *title;
	enum grid_kind kind;
	unsigned rank; /* 0: always shown; without room the highest rank goes first */
};

struct grid_row {
	char *cells[GRID_COLUMNS]; /* safe text; NULL: empty */
	double keys[GRID_COLUMNS]; /* sort GRID_NUMBER and GRID_BAR; the share of a bar, 0 to 1 */
	size_t used;		   /* cells so far */
	enum style style;
	bool fixed;    /* stays at the end, and cannot be selected */
	size_t number; /* place as added, which decides among equal keys; the caller may change it
			*/
};

struct grid {
	struct grid_column columns[GRID_COLUMNS];
	size_t column_count;
	int order; /* the caller adds rows sorted by this column, largest first; 0: by none */
	struct grid_row *rows;
	size_t row_count, row_capacity;
	struct grid_row spare; /* stands in for a row without memory; never shown */
};

/* The user's place in a list. All zeros is the beginning of a list. */
struct grid_place {
	int selected;	/* row */
	int scroll;	/* the first row that is shown */
	char name[128]; /* of the selected row */
	int sort;	/* column; -1 - column: smallest first; 0: as the caller added the rows */
};

/* Copies the columns; their titles must outlive the grid. */
void grid_init(struct grid *grid, const struct grid_column *columns, size_t count);
void grid_column_add(struct grid *grid, const char *title, enum grid_kind kind, unsigned rank);
void grid_fini(struct grid *grid);

/* A new row; its cells follow, from the left. Never NULL. Valid until the next grid_add(). */
struct grid_row *grid_add(struct grid *grid);
/* The text is copied, and made safe. A cell beyond GRID_COLUMNS is dropped. */
void grid_cell(struct grid_row *row, const char *text, double key);
/* These cells sort by the value that they show. A bar has no text. */
void grid_time(struct grid_row *row, uint64_t ns);
void grid_percent(struct grid_row *row, double share);
void grid_bar(struct grid_row *row, double share);

/* Put the rows in order, and find the selected row again. */
void grid_arrange(struct grid *grid, struct grid_place *place);

/* The number of rows that can be selected. */
int grid_selectable(const struct grid *grid);

/* Draw titles and rows into `height` lines of the canvas; scrolls to the selected row. */
void grid_draw(const struct grid *grid, struct grid_place *place, struct canvas *canvas, int y,
	int height);

/* Sort by the next column that is shown at that width. */
void grid_sort_next(const struct grid *grid, struct grid_place *place, int width);

/* Keep the selected row within `rows`, and scroll until it is one of the `height` visible ones. */
void grid_scroll(struct grid_place *place, int rows, int height);
