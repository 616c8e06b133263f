/* SPDX-License-Identifier: Apache-2.0 */
/* The columns by which rows can be ordered. Called by `brick report --sort`. */
#include "view/report_sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/unknown.h"

struct report_sort {
	const char *name, *json_name;
	size_t offset; /* in struct summary_row */
	enum { NUMBER, RATIO, NAME } type;
};

#define FIELD(member) offsetof(struct summary_row, member)

static const struct report_sort sorts[] = {
	{"share", "wall_ns", FIELD(wall_ns), NUMBER},
	{"name", "name", FIELD(name), NAME},
	{"count", "count", FIELD(count), NUMBER},
	{"self", "self_ns", FIELD(self_ns), NUMBER},
	{"total", "total_ns", FIELD(total_ns), NUMBER},
	{"wait", "wait_ns", FIELD(wait_ns), NUMBER},
	{"avg", "avg_ns", FIELD(avg_ns), NUMBER},
	{"min", "min_ns", FIELD(min_ns), NUMBER},
	{"p50", "p50_ns", FIELD(p50_ns), NUMBER},
	{"p95", "p95_ns", FIELD(p95_ns), NUMBER},
	{"p99", "p99_ns", FIELD(p99_ns), NUMBER},
	{"max", "max_ns", FIELD(max_ns), NUMBER},
	{"device", "device_ns", FIELD(device_ns), NUMBER},
	{"elements", "elements", FIELD(elements), NUMBER},
	{"bytes", "bytes", FIELD(bytes), NUMBER},
	{"flops", "flops", FIELD(flops), NUMBER},
	{"GB/s", "bytes_per_s", FIELD(bytes_per_ns), RATIO},
	{"GFLOP/s", "flops_per_s", FIELD(flops_per_ns), RATIO},
};

enum { SORTS = sizeof(sorts) / sizeof(sorts[0]) };

const struct report_sort *report_sort_find(const char *name)
{
	for (size_t i = 0; i < SORTS; i++)
		if (!strcasecmp(name, sorts[i].name) || !strcmp(name, sorts[i].json_name))
			return &sorts[i];
	return NULL;
}

const char *report_sort_names(void)
{
	static char names[256];
	if (!names[0])
		for (size_t i = 0; i < SORTS; i++) {
			size_t used = strlen(names);
			snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
				sorts[i].name);
		}
	return names;
}

static int compare(const void *a, const void *b, void *context)
{
	const struct report_sort *sort = context;
	const char *x = (const char *)a + sort->offset, *y = (const char *)b + sort->offset;
	int order = 0;
	if (sort->type == RATIO) {
		double p = *(const double *)x, q = *(const double *)y;
		order = (p < q) - (p > q);
	} else if (sort->type == NUMBER) {
		uint64_t p = *(const uint64_t *)x, q = *(const uint64_t *)y;
		p = p == ANALYSIS_UNKNOWN ? 0 : p + 1; /* what is unknown comes last */
		q = q == ANALYSIS_UNKNOWN ? 0 : q + 1;
		order = (p < q) - (p > q);
	}
	const struct summary_row *r = a, *s = b;
	return order ? order : strcmp(r->name, s->name);
}

void report_sort_rows(const struct report_sort *sort, struct summary_row *rows, size_t count)
{
	if (count > 1)
		qsort_r(rows, count, sizeof(*rows), compare, (void *)sort);
}
