/* SPDX-License-Identifier: Apache-2.0 */
/* Reads fields of rows, and writes them for people. Called by all forms of a report. */
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/unknown.h"
#include "base/order.h"
#include "ui/text/text.h"
#include "ui/text/report_view.h"
#include "ui/text/report_fields.h"

const struct run_lane *report_lane(const struct report *report, const struct summary_row *row)
{
	const struct summary *summary = report->summary;
	if (summary->by == SUMMARY_BY_THREAD)
		return &report->run->lanes[row->id];
	if (summary->by == SUMMARY_BY_QUEUE)
		return &report->run->lanes[summary->queues.queues[row->id].lane];
	return NULL;
}

/* NULL: this row has no such thing. */
static const void *base_of(
	enum report_base base, const struct report *report, const struct summary_row *row)
{
	switch (base) {
	case REPORT_OF_QUEUE:
		return report->summary->by == SUMMARY_BY_QUEUE
			       ? &report->summary->queues.queues[row->id]
			       : NULL;
	case REPORT_OF_KERNEL:
		return row->kernel < report->run->kernel_count ? &report->run->kernels[row->kernel]
							       : NULL;
	case REPORT_OF_LANE:
		return report_lane(report, row);
	default:
		return row;
	}
}

static bool is_ratio(enum report_type type)
{
	return type == REPORT_RATE || type == REPORT_SHARE || type == REPORT_RATIO;
}

static void read_member(
	const struct report_field *field, const void *base, struct report_value *value)
{
	const char *from = (const char *)base + field->at;
	uint32_t narrow;
	if (field->type == REPORT_SIZES) {
		const uint32_t *sizes = (const void *)from;
		value->sizes = sizes[0] ? sizes : NULL;
	} else if (is_ratio(field->type)) {
		memcpy(&value->ratio, from, sizeof(value->ratio));
	} else if (field->size == sizeof(narrow)) {
		memcpy(&narrow, from, sizeof(narrow));
		value->number = narrow;
	} else {
		memcpy(&value->number, from, sizeof(value->number));
	}
	if (field->flags & REPORT_ZERO_UNKNOWN && !value->number)
		value->number = ANALYSIS_UNKNOWN;
}

struct report_value report_value(const struct report_field *field, const struct report *report,
	const struct summary_row *row)
{
	struct report_value value = {.number = ANALYSIS_UNKNOWN, .ratio = -1};
	const void *base = base_of(field->base, report, row);
	if (!report_field_has(field, report->summary->by))
		return value;
	if (field->get)
		field->get(report, row, &value);
	else if (base)
		read_member(field, base, &value);
	return value;
}

static char *sizes_text(const uint32_t *sizes)
{
	return sizes ? text_format("(%u,%u,%u)", sizes[0], sizes[1], sizes[2]) : text_copy("-");
}

char *report_value_text(const struct report_field *field, const struct report *report,
	const struct summary_row *row)
{
	char text[UNITS_BYTES];
	/* of a brick that ran on devices only, the host's numbers are not 0: there are none */
	if (field->flags & REPORT_ON_HOST && row->on_device && !row->count)
		return text_copy("-");
	struct report_value value = report_value(field, report, row);
	switch (field->type) {
	case REPORT_TEXT: {
		char *safe = text_safe(value.text ? value.text : "-");
		free(value.text);
		return safe;
	}
	case REPORT_TIME:
		return text_copy(units_time(text, value.number));
	case REPORT_LAYER:
		return text_format("%lld", (long long)value.number - 1);
	case REPORT_BYTES:
		return text_copy(units_bytes(text, value.number));
	case REPORT_SHARE:
		return text_copy(units_percent(text, value.ratio));
	case REPORT_RATE:
	case REPORT_RATIO:
		return text_copy(units_number(text, value.ratio));
	case REPORT_SIZES:
		return sizes_text(value.sizes);
	default:
		return text_copy(units_count(text, value.number));
	}
}

int report_value_compare(const struct report_field *field, const struct report_value *a,
	const struct report_value *b)
{
	if (field->type == REPORT_TEXT)
		return !a->text || !b->text ? !!a->text - !!b->text : strcmp(b->text, a->text);
	if (field->type == REPORT_SIZES)
		return !a->sizes || !b->sizes ? !!a->sizes - !!b->sizes
					      : memcmp(a->sizes, b->sizes, 3 * sizeof(uint32_t));
	if (is_ratio(field->type))
		return ORDER(a->ratio, b->ratio);
	/* what is unknown is the largest number: one more makes it the smallest */
	return ORDER(a->number + 1, b->number + 1);
}
