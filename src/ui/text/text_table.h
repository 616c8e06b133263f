/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of text on a terminal. Columns are aligned by the width of characters, numbers to the
 * right. If the table is wider than the terminal, the columns with the highest rank are left out,
 * and at last the first column is cut. Cells are made safe (text.h). A table may be NULL: there was
 * no memory for it. Main thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/scope.h"
#include "brick/export.h"
#include "ui/text/terminal.h"

/* The side of its column at which a text stands. */
enum table_align {
	TABLE_RIGHT, /* numbers */
	TABLE_LEFT,
	TABLE_REST, /* left, and in the room that the other columns leave */
};

struct table_column {
	const char *title;
	enum table_align align;
	unsigned rank; /* 0: always shown; without room the highest rank goes first */
};

struct table;

/* columns must outlive the table. */
struct table *table_create(const struct table_column *columns, size_t count);

/* Begin a row; its cells follow, from the left. Missing cells are empty. */
void table_row(struct table *table, enum terminal_style style);

/* A cell: a copy of a text, NULL is an empty one; or a number as text.h writes it. */
void table_cell(struct table *table, const char *text);
void table_format(struct table *table, const char *format, ...) BRICK_PRINTF(2, 3);
void table_time(struct table *table, uint64_t ns);
void table_estimate(struct table *table, uint64_t ns, bool is_estimated);
void table_count(struct table *table, uint64_t count);
void table_number(struct table *table, double value);
void table_percent(struct table *table, double share);

/* A column that is "-", "0" or empty in all rows is not shown. */
void table_hide_empty(struct table *table);

/* A column that repeats another one to its left in all rows is not shown. */
void table_hide_repeated(struct table *table);

/* Print it; lines have no trailing blanks. */
void table_print(const struct table *table, const struct terminal *terminal);

/* The columns that did not fit, as "A, B and C"; NULL if all are shown. The caller frees. */
char *table_left_out(const struct table *table, const struct terminal *terminal);

void table_destroy(struct table *table);
SCOPE_OF(table_destroy, struct table)
