/* SPDX-License-Identifier: Apache-2.0 */
/* Writes fields and ends rows. */
#include "ui/text/csv_out.h"

#include <stdbool.h>

#include "analysis/statistics/unknown.h"
#include "base/escape.h"

static bool inside_row;

static void begin_field(FILE *out)
{
	if (inside_row)
		fputc(',', out);
	inside_row = true;
}

void csv_text(FILE *out, const char *s)
{
	begin_field(out);
	escape_csv(out, s);
}

void csv_number(FILE *out, uint64_t value)
{
	begin_field(out);
	if (value != ANALYSIS_UNKNOWN)
		fprintf(out, "%llu", (unsigned long long)value);
}

void csv_integer(FILE *out, int64_t value)
{
	begin_field(out);
	fprintf(out, "%lld", (long long)value);
}

void csv_ratio(FILE *out, double value)
{
	begin_field(out);
	if (value >= 0)
		fprintf(out, "%.9g", value);
}

void csv_end(FILE *out)
{
	fputc('\n', out);
	inside_row = false;
}
