/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the rows of a report in the order of a field. Called by `brick report --sort`. */
#include "ui/text/report_sort.h"

#include <stdlib.h>
#include <string.h>

#include "ui/text/text.h"

struct keyed {
	struct summary_row row;
	struct report_value value;
};

static int compare(const void *a, const void *b, void *context)
{
	const struct keyed *x = a, *y = b;
	return report_value_compare(context, &y->value, &x->value)
		       ?: strcmp(x->row.name, y->row.name);
}

void report_sort_rows(const struct report *report, const struct report_field *field)
{
	struct summary_row *rows = report->summary->rows;
	size_t count = report->summary->row_count;
	SCOPED struct keyed *keyed = text_room(count + 1, sizeof(*keyed));
	if (!keyed)
		return;
	for (size_t i = 0; i < count; i++) {
		keyed[i].row = rows[i];
		keyed[i].value = report_value(field, report, &rows[i]);
	}
	if (count > 1)
		qsort_r(keyed, count, sizeof(*keyed), compare, (void *)field);
	for (size_t i = 0; i < count; i++) {
		rows[i] = keyed[i].row;
		free(keyed[i].value.text);
	}
}
