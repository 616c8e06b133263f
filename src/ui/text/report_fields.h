/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a report's rows: their names, meanings and sources. Text, JSON, CSV, --sort,
 * --columns, the table of `brick top`, the page and the manual are all made from report_fields, so
 * a new column is one entry, at its end: its order is that of CSV. Read-only: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "analysis/accounts/summary.h"
#include "ui/text/report.h"

enum report_type {
	REPORT_TEXT,
	REPORT_TIME, /* ns */
	REPORT_COUNT,
	REPORT_LAYER, /* the layer + 1, so that layer -1 is not negative */
	REPORT_BYTES,
	REPORT_RATE,  /* held per ns; JSON and CSV: per second; text: 1e9 per second */
	REPORT_SHARE, /* 0 to 1 */
	REPORT_RATIO,
	REPORT_SIZES, /* three sizes of a grid or a block */
};

/* The struct that `at` is an offset in. */
enum report_base { REPORT_OF_ROW, REPORT_OF_QUEUE, REPORT_OF_KERNEL, REPORT_OF_LANE };

enum report_field_flags {
	REPORT_ON_HOST = 1,	 /* unknown in rows of devices alone, whatever the member holds */
	REPORT_OF_REST = 2,	 /* known also for the rows of report_rests() */
	REPORT_TEXT_ONLY = 4,	 /* not in JSON and CSV, which have its parts */
	REPORT_ZERO_UNKNOWN = 8, /* a member that is 0 is unknown */
	REPORT_OF_DEVICE = 16,	 /* a time of devices, also in a row that threads ran */
};

struct report;

/* A value of any type; text is the caller's to free. */
struct report_value {
	uint64_t number;       /* of the other types; ANALYSIS_UNKNOWN: not known */
	double ratio;	       /* of RATE, SHARE and RATIO; negative: not known */
	char *text;	       /* of TEXT; NULL: not known */
	const uint32_t *sizes; /* of SIZES; NULL: not known */
};

struct report_field {
	const char *key;   /* in JSON and CSV, stable; "launch.p50_ns" is a member of an object */
	const char *title; /* on top of a column */
	const char *means; /* a sentence or two for the manual and the page */
	enum report_type type;
	unsigned rows;	/* mask of 1 << enum summary_by: the rows that have it; 0: all rows */
	unsigned flags; /* enum report_field_flags */
	enum report_base base;
	size_t at, size; /* offset and size of a member of the base; unused with `get` */
	/* gets the value; NULL: the member has it */
	void (*get)(const struct report *, const struct summary_row *, struct report_value *);
	/* gets the text for a row of devices alone; NULL: "-" with REPORT_ON_HOST */
	void (*device)(const struct report *, const struct summary_row *, struct report_value *);
};

extern const struct report_field report_fields[];
extern const size_t report_field_count;

/* Finds a field by its title in any case ("self") or its key ("self_ns"); NULL: there is none. */
const struct report_field *report_field_find(const char *name);

/* Its title as a user writes it, in small letters except for units. The caller frees. */
char *report_field_written(const struct report_field *field);

/* "name, count, self, ..., GFLOP/s": what users may write. The caller frees. */
char *report_field_names(void);

/* Values. */

struct report_value report_value(const struct report_field *field, const struct report *report,
	const struct summary_row *row);

/* The value for people; "-" where not known. Safe to print; the caller frees. */
char *report_value_text(const struct report_field *field, const struct report *report,
	const struct summary_row *row);

/* Columns. */

enum { REPORT_COLUMNS_MAX = 64 };

struct report_columns {
	const struct report_field *fields[REPORT_COLUMNS_MAX];
	unsigned ranks[REPORT_COLUMNS_MAX]; /* 0: always shown; without room the highest goes first
					     */
	size_t count;
};

/* Places of columns. */
enum report_place {
	REPORT_IN_TEXT = 1,
	REPORT_IN_PAGE = 2,
	REPORT_IN_TOP = 4,
	REPORT_IN_CATEGORIES = 8, /* the short table below that of bricks */
	REPORT_IN_SCREEN = 16,	  /* the first screen */
};

/* The columns that one place shows by default for rows of one kind. */
void report_columns_default(
	struct report_columns *columns, enum report_place place, enum summary_by by);

/* All fields of rows of one kind that JSON and CSV have. */
void report_columns_all(struct report_columns *columns, enum summary_by by);

/*
 * Parses "self,total,GB/s"; the row's name comes first without being written. Returns 0, or
 * -EINVAL: *wrong is the part that names no field, and the caller frees it.
 */
int report_columns_parse(struct report_columns *columns, const char *text, char **wrong);

/* Sorts the rows: numbers from the largest, texts from A to Z, unknown values last. */
void report_sort_rows(const struct report *report, const struct report_field *field);
