/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which fields are shown where, in which order, and which give way first when there is no room. A
 * field that is in no list here is still in JSON and CSV, and for --columns and --sort.
 */
#include "ui/text/report_fields.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ui/text/text.h"

enum {
	TEXT = REPORT_IN_TEXT | REPORT_IN_PAGE,
	/* rows of kernels and queues have no other time than their own */
	ON_DEVICES = 1u << SUMMARY_BY_KERNEL | 1u << SUMMARY_BY_QUEUE,
	NOT_ON_DEVICES = ~ON_DEVICES,
	CATEGORIES = 1u << SUMMARY_BY_CATEGORY,
};

struct place {
	unsigned places; /* enum report_place */
	const char *key;
	unsigned rank;
	int not_of; /* kinds of rows without it: 1 << enum summary_by */
};

/* clang-format off */
static const struct place places[] = {
	{TEXT, "name", 0, 0},
	{TEXT, "category", 12, 0},
	{TEXT, "step_begin_ns", 3, 0},
	{TEXT, "step_tokens", 1, 0},
	{TEXT, "outcome", 1, 0},
	{TEXT, "step_ns", 0, 0},
	{TEXT, "share", 0, 0},
	{TEXT, "token_ns", 1, 0},
	{REPORT_IN_TEXT, "shape", 6, 0},
	{REPORT_IN_PAGE, "grid", 6, 0},
	{REPORT_IN_PAGE, "block", 6, 0},
	{TEXT, "self_ns", 1, 0},
	{TEXT, "cpu_ns", 13, ON_DEVICES},
	{TEXT, "off_ns", 2, ON_DEVICES},
	{TEXT, "device_ns", 2, ON_DEVICES},
	{TEXT, "total_ns", 5, 0},
	{TEXT, "wait_ns", 6, 0},
	{TEXT, "count", 2, 0},
	{TEXT, "avg_ns", 3, 0},
	{TEXT, "min_ns", 11, 0},
	{TEXT, "p50_ns", 4, 0},
	{TEXT, "p95_ns", 9, 0},
	{TEXT, "p99_ns", 7, 0},
	{TEXT, "max_ns", 10, 0},
	{TEXT, "elements", 14, 0},
	{TEXT, "bytes", 15, 0},
	{TEXT, "flops", 16, 0},
	{TEXT, "roof", 3, 0},
	{TEXT, "bytes_per_s", 8, 0},
	{TEXT, "flops_per_s", 8, 0},
	{TEXT, "busy_ns", 4, 0},
	{TEXT, "idle_ns", 5, 0},
	{TEXT, "launch.p50_ns", 6, 0},
	{TEXT, "launch.p95_ns", 8, 0},
	{REPORT_IN_PAGE, "backend", 17, 0},
	{TEXT, "source", 17, 0},

	{REPORT_IN_CATEGORIES, "name", 0, 0},
	{REPORT_IN_CATEGORIES, "share", 0, 0},
	{REPORT_IN_CATEGORIES, "self_ns", 1, 0},
	{REPORT_IN_CATEGORIES, "device_ns", 2, 0},
	{REPORT_IN_CATEGORIES, "count", 4, 0},

	{REPORT_IN_TOP, "name", 0, 0},
	{REPORT_IN_TOP, "category", 8, 0},
	{REPORT_IN_TOP, "shape", 7, 0},
	{REPORT_IN_TOP, "token_ns", 0, ON_DEVICES},
	{REPORT_IN_TOP, "total_ns", 5, NOT_ON_DEVICES},
	{REPORT_IN_TOP, "share", 0, 0},
	{REPORT_IN_TOP, "self_ns", 3, ~CATEGORIES},
	{REPORT_IN_TOP, "total_ns", 5, ~CATEGORIES},
	{REPORT_IN_TOP, "device_ns", 3, ON_DEVICES},
	{REPORT_IN_TOP, "avg_ns", 2, NOT_ON_DEVICES},
	{REPORT_IN_TOP, "p50_ns", 2, 0},
	{REPORT_IN_TOP, "p99_ns", 3, 0},
	{REPORT_IN_TOP, "count", 7, 0},
	{REPORT_IN_TOP, "elements_per_s", 9, ON_DEVICES},
	{REPORT_IN_TOP, "roof", 3, 0},
	{REPORT_IN_TOP, "bytes_per_s", 4, 0},
	{REPORT_IN_TOP, "flops_per_s", 4, 0},
};
/* clang-format on */

static void add(struct report_columns *columns, const struct report_field *field, unsigned rank)
{
	if (columns->count == REPORT_COLUMNS_MAX)
		return;
	columns->fields[columns->count] = field;
	columns->ranks[columns->count++] = rank;
}

void report_columns_default(
	struct report_columns *columns, enum report_place place, enum summary_by by)
{
	memset(columns, 0, sizeof(*columns));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct report_field *field = report_field_find(places[i].key);
		if (places[i].places & place && !(places[i].not_of >> by & 1) &&
			report_field_has(field, by))
			add(columns, field, places[i].rank);
	}
}

void report_columns_all(struct report_columns *columns, enum summary_by by)
{
	memset(columns, 0, sizeof(*columns));
	for (size_t i = 0; i < report_field_count; i++)
		if (report_field_has(&report_fields[i], by) &&
			!(report_fields[i].flags & REPORT_TEXT_ONLY))
			add(columns, &report_fields[i], 0);
}

int report_columns_parse(struct report_columns *columns, const char *text, char **wrong)
{
	const struct report_field *name = report_field_find("name");
	SCOPED char *copy = text_copy(text);
	char *rest = copy, *part;
	memset(columns, 0, sizeof(*columns));
	add(columns, name, 0);
	while ((part = strsep(&rest, ","))) {
		const struct report_field *field = report_field_find(part);
		if (!field) {
			*wrong = text_copy(part);
			return -EINVAL;
		}
		if (field != name)
			add(columns, field, (unsigned)columns->count);
	}
	return 0;
}

char *report_field_written(const struct report_field *field)
{
	char *text = text_copy(field->title);
	for (char *c = text; *c && !strstr(field->title, "/s"); c++)
		*c = (char)tolower((unsigned char)*c);
	return text;
}

char *report_field_names(void)
{
	char *names = text_copy("");
	for (size_t i = 0; i < report_field_count; i++) {
		SCOPED char *name = report_field_written(&report_fields[i]);
		text_append(&names, ", ", "%s", name);
	}
	return names;
}
