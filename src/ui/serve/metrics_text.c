/* SPDX-License-Identifier: Apache-2.0 */
/* What all metrics are written with. */
#include "ui/serve/metrics_text.h"

#include <math.h>
#include <stdlib.h>

#include "base/scope.h"
#include "ui/text/text_out.h"

/* Executions: powers of two from 2^10 ns (1 us) to 2^36 ns (69 s), as there are many bricks. */
void metrics_bounds_coarse(struct metrics_bounds *bounds)
{
	for (bounds->count = 0; bounds->count <= 26; bounds->count++)
		bounds->ns[bounds->count] = 1ull << (10 + bounds->count);
}

/* Steps: each 4.7 % above the last, 15 for a power of two, from 2^13 ns (8 us) to 2^40 ns (18
 * minutes).
 */
void metrics_bounds_fine(struct metrics_bounds *bounds)
{
	for (bounds->count = 0; bounds->count <= 15 * 27; bounds->count++)
		bounds->ns[bounds->count] = (uint64_t)exp2(13 + bounds->count / 15.0);
}

/* A label's value, with what has a meaning in it escaped. */
void metrics_label(FILE *out, const char *name, const char *value)
{
	SCOPED char *valid = text_valid(value ? value : "");
	fprintf(out, "%s=\"", name);
	for (const char *s = valid; *s; s++) {
		if (*s == '\n')
			fputs("\\n", out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else
			fputc(*s, out);
	}
	fputc('"', out);
}

void metrics_family(
	FILE *out, const char *name, const char *type, const char *unit, const char *help)
{
	fprintf(out, "# TYPE %s %s\n", name, type);
	if (unit)
		fprintf(out, "# UNIT %s %s\n", name, unit);
	fprintf(out, "# HELP %s %s\n", name, help);
}

void metrics_histogram(FILE *out, const char *name, const char *labels,
	const struct metrics_bounds *bounds, const uint64_t *below, uint64_t count, uint64_t sum_ns)
{
	for (unsigned i = 0; i < bounds->count; i++)
		fprintf(out, "%s_bucket{%s,le=\"%.12g\"} %llu\n", name, labels,
			metrics_seconds(bounds->ns[i]), (unsigned long long)below[i]);
	fprintf(out, "%s_bucket{%s,le=\"+Inf\"} %llu\n", name, labels, (unsigned long long)count);
	fprintf(out, "%s_count{%s} %llu\n", name, labels, (unsigned long long)count);
	fprintf(out, "%s_sum{%s} %.9f\n", name, labels, metrics_seconds(sum_ns));
}
