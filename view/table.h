/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of text on a terminal: columns aligned by what characters are wide, numbers to the
 * right. When it is wider than the terminal, the columns with the highest rank are left out, and
 * at last the first column is cut. Cells must be safe (text.h). Main thread.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include "view/terminal.h"

enum { TABLE_REST = 2 };

struct table_column {
	const char *title;
	int is_text;   /* aligned to the left; TABLE_REST: of what room the others leave, too */
	unsigned rank; /* 0: always shown; others go, highest first, when there is no room */
};

struct table;

/* columns must outlive the table. */
struct table *table_create(const struct table_column *columns, size_t count);

/* Add a row of `count` cells; copies them. */
void table_add(struct table *table, const char *const *cells, enum terminal_style style);

/* A column that is "-", "0" or empty in all rows is not shown. */
void table_hide_empty(struct table *table);

/* Print it; lines have no trailing blanks. */
void table_print(const struct table *table, FILE *out, const struct terminal *terminal);

/* Columns that there was no room for, as "A, B and C"; NULL if all are shown. The caller frees. */
char *table_left_out(const struct table *table, const struct terminal *terminal);

void table_destroy(struct table *table);
