/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table that can be walked through: columns that give way when there is no room, an order that
 * the user chooses, one selected row, a part that is scrolled into view. The rows are made anew for
 * each picture; where the user is stays with the names of rows. One thread.
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
	unsigned rank; /* 0: always shown; others go, highest first, when there is no room */
};

/* keys: what a column sorts by, largest first; of a bar also its share. */
struct grid_row {
	char *cells[GRID_COLUMNS]; /* safe text; NULL: empty */
	double keys[GRID_COLUMNS];
	size_t used;
	enum style style;
	bool fixed;    /* stays at the end, and cannot be selected */
	size_t number; /* the caller's */
};

struct grid {
	struct grid_column columns[GRID_COLUMNS];
	size_t column_count;
	int order; /* the column, largest first, that rows come by; 0: none */
	struct grid_row *rows;
	size_t row_count, row_capacity;
	struct grid_row spare; /* taken, and not shown, where there is no memory for a row */
};

/* Where the user is in a list. All zeros is the beginning of one. */
struct grid_place {
	int selected, scroll;
	char name[128]; /* of the selected row */
	int sort;	/* column, or -1 - column for the smallest first; 0: as the rows came */
};

/* Copies the columns; their titles must outlive the grid. */
void grid_init(struct grid *grid, const struct grid_column *columns, size_t count);
void grid_column_add(struct grid *grid, const char *title, enum grid_kind kind, unsigned rank);
void grid_fini(struct grid *grid);

/* A new row; its cells follow, from the left. */
struct grid_row *grid_add(struct grid *grid);
/* The text is copied, and made safe. */
void grid_cell(struct grid_row *row, const char *text, double key);
/* Sorted by what they show. A bar has no text. */
void grid_time(struct grid_row *row, uint64_t ns);
void grid_percent(struct grid_row *row, double share);
void grid_bar(struct grid_row *row, double share);

/* Put the rows in order, and find the selected one again. */
void grid_arrange(struct grid *grid, struct grid_place *place);

/* How many rows can be selected. */
int grid_selectable(const struct grid *grid);

/* Draw titles and rows into a part of the canvas, scrolled so that the selected one is there. */
void grid_draw(const struct grid *grid, struct grid_place *place, struct canvas *canvas, int y,
	int height);

/* Sort by the next column that has room at that width. */
void grid_sort_next(const struct grid *grid, struct grid_place *place, int width);

/* Keep a place within so many rows, and scroll so that it is among the `height` visible ones. */
void grid_scroll(struct grid_place *place, int rows, int height);
