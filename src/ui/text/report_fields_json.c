/* SPDX-License-Identifier: Apache-2.0 */
/* The table of fields as JSON, from which the page makes its tables. Called by the page. */
#include "ui/text/json_out.h"
#include "ui/text/report_view.h"
#include "ui/text/report_fields.h"

static const char *type_name(enum report_type type)
{
	static const char *const names[] = {
		[REPORT_TEXT] = "text",
		[REPORT_TIME] = "time",
		[REPORT_COUNT] = "count",
		[REPORT_LAYER] = "layer",
		[REPORT_BYTES] = "bytes",
		[REPORT_RATE] = "rate",
		[REPORT_SHARE] = "share",
		[REPORT_RATIO] = "ratio",
		[REPORT_SIZES] = "sizes",
	};
	return names[type];
}

static json_t *field_json(const struct report_field *field)
{
	json_t *object = json_object();
	json_put_texts(object, field, key, title);
	json_put(object, "type", json_text(type_name(field->type)));
	json_put(object, "means", json_text(field->means));
	return object;
}

static json_t *columns_json(enum summary_by by)
{
	struct report_columns columns;
	json_t *keys = json_array();
	report_columns_default(&columns, REPORT_IN_PAGE, by);
	for (size_t i = 0; i < columns.count; i++)
		if (!(columns.fields[i]->flags & REPORT_TEXT_ONLY))
			json_add(keys, json_text(columns.fields[i]->key));
	return keys;
}

json_t *report_fields_to_json(void)
{
	json_t *object = json_object(), *fields = json_array(), *columns = json_object();
	for (size_t i = 0; i < report_field_count; i++)
		json_add(fields, field_json(&report_fields[i]));
	for (int by = 0; by < SUMMARY_BY_COUNT; by++)
		json_put(columns, summary_by_plural(by), columns_json(by));
	json_put(object, "fields", fields);
	json_put(object, "columns", columns);
	return object;
}
