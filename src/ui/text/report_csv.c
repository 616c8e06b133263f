/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report's rows as CSV (RFC 4180): titles are the keys of JSON, times in ns, nothing where
 * unknown, and a last row with what is in none of the others. Called by `brick report --csv`.
 */
#include <stdlib.h>

#include "ui/text/csv_out.h"
#include "ui/text/report_view.h"
#include "ui/text/report_fields.h"

static void print_value(const struct report_field *field, const struct report *report,
	const struct summary_row *row, FILE *out)
{
	struct report_value value = report_value(field, report, row);
	switch (field->type) {
	case REPORT_TEXT:
		csv_text(out, value.text);
		free(value.text);
		break;
	case REPORT_SIZES: {
		SCOPED char *text = report_value_text(field, report, row);
		csv_text(out, value.sizes ? text : NULL);
		break;
	}
	case REPORT_RATE:
		csv_ratio(out, value.ratio * 1e9);
		break;
	case REPORT_SHARE:
	case REPORT_RATIO:
		csv_ratio(out, value.ratio);
		break;
	case REPORT_LAYER:
		csv_integer(out, (int64_t)value.number - 1);
		break;
	default:
		csv_number(out, value.number);
		break;
	}
}

/* flags: only fields with these have a value. */
static void print_row(const struct report *report, const struct report_columns *columns,
	const struct summary_row *row, unsigned flags, FILE *out)
{
	for (size_t i = 0; i < columns->count; i++)
		if ((columns->fields[i]->flags & flags) == flags)
			print_value(columns->fields[i], report, row, out);
		else
			csv_text(out, NULL);
	csv_end(out);
}

void report_csv(const struct report *report, FILE *out)
{
	struct report_columns columns;
	struct summary_row rests[REPORT_RESTS];
	if (report->columns)
		columns = *report->columns;
	else
		report_columns_all(&columns, report->summary->by);
	for (size_t i = 0; i < columns.count; i++)
		csv_text(out, columns.fields[i]->key);
	csv_end(out);
	for (size_t i = 0; i < report->shown; i++)
		print_row(report, &columns, &report->summary->rows[i], 0, out);
	size_t rest_count =
		report->shown == report->summary->row_count ? report_rests(report, rests) : 0;
	for (size_t i = 0; i < rest_count; i++)
		print_row(report, &columns, &rests[i], REPORT_OF_REST, out);
}
