/* SPDX-License-Identifier: Apache-2.0 */
/* The reason of a change is said in one place, for both forms. */
#include "ui/text/operators_view.h"

#include <string.h>

#include "base/number.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

/* "[512,4096] bf16 instead of ..."; the caller frees. */
static char *operators_view_why(const struct operator_change *c)
{
	const struct operator_row *a = c->a, *b = c->b;

	switch (c->kind) {
	case OPERATOR_ADDED:
		return text_format("only in B: %s",
			b->kernels.count ? b->kernels.items[0].name : "kernels without a name");
	case OPERATOR_REMOVED:
		return text_format("only in A: %s",
			a->kernels.count ? a->kernels.items[0].name : "kernels without a name");
	case OPERATOR_SHAPES:
	case OPERATOR_KERNELS:
		return text_format("%s instead of %s", c->of_b, c->of_a);
	case OPERATOR_CALLS:
		return text_format(
			"%.4g launches a step instead of %.4g, for %.4g commands instead "
			"of %.4g",
			b->calls, a->calls, b->count, a->count);
	case OPERATOR_COUNT:
		return text_format("%.4g commands a step instead of %.4g", b->count, a->count);
	case OPERATOR_LENGTH:
		break;
	}
	return text_format("the same commands take %.3g times as long", b->ns / a->ns);
}

void operators_text(const struct operator_changes *changes, unsigned long top, FILE *out)
{
	static const struct table_column columns[] = {{"", TABLE_LEFT, 0}, {"A", TABLE_RIGHT, 0},
		{"B", TABLE_RIGHT, 0}, {"WHY", TABLE_REST, 0}};
	struct table_column named[sizeof(columns) / sizeof(*columns)];
	struct terminal terminal;
	size_t count = changes->list.count, shown = top && top < count ? top : count;

	if (!count)
		return;
	memcpy(named, columns, sizeof(columns));
	named[0].title = changes->by_brick ? "BRICK" : "OPERATOR";
	SCOPED_TO(table_destroy)
	struct table *table = table_create(named, sizeof(named) / sizeof(*named));
	for (size_t i = 0; i < shown; i++) {
		const struct operator_change *c = &changes->list.items[i];
		SCOPED char *why = operators_view_why(c);
		SCOPED char *name = text_cut(c->a ? c->a->name : c->b->name, 40);
		SCOPED char *cut = text_cut(why, 110);
		table_row(table, STYLE_PLAIN);
		table_cell(table, name);
		table_time(table, c->a ? number_of_double(c->a->ns) : 0);
		table_time(table, c->b ? number_of_double(c->b->ns) : 0);
		table_cell(table, cut);
	}
	terminal_init(&terminal, out);
	fprintf(out, "\ntime on GPUs, a step\n");
	table_print(table, &terminal);
	if (shown < count)
		fprintf(out, "%zu more with --all\n", count - shown);
}

static json_t *operators_view_side(const struct operator_row *row)
{
	json_t *object = json_object(), *kernels = json_array(), *shapes = json_array();

	json_put(object, "count", json_signed(row->count));
	json_put(object, "launches", json_signed(row->calls));
	json_put(object, "device_ns", json_signed(row->ns));
	for (size_t i = 0; i < row->kernels.count; i++)
		json_array_append_new(kernels, json_text(row->kernels.items[i].name));
	for (size_t i = 0; i < row->shapes.count; i++)
		json_array_append_new(shapes, json_text(row->shapes.items[i].name));
	json_put(object, "kernels", kernels);
	json_put(object, "shapes", shapes);
	return object;
}

json_t *operators_to_json(const struct operator_changes *changes)
{
	json_t *list = json_array();

	for (size_t i = 0; i < changes->list.count; i++) {
		const struct operator_change *c = &changes->list.items[i];
		json_t *object = json_object();
		SCOPED char *why = operators_view_why(c);
		json_put(object, "name", json_text(c->a ? c->a->name : c->b->name));
		json_put(object, "change", json_text(operator_change_name(c->kind)));
		json_put(object, "why", json_text(why));
		json_put(object, "a", c->a ? operators_view_side(c->a) : json_null());
		json_put(object, "b", c->b ? operators_view_side(c->b) : json_null());
		json_array_append_new(list, object);
	}
	return list;
}
