/* SPDX-License-Identifier: Apache-2.0 */
/* A table, JSON (schema brick/functions/1) and CSV. Numbers of stacks stand beside each share. */
#include "ui/text/functions_view.h"

#include <string.h>

#include "analysis/statistics/unknown.h"
#include "base/path_name.h"
#include "ui/text/csv_out.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

enum { PLACES_SHOWN = 2 };

static const struct table_column functions_view_columns[] = {{"FUNCTION", TABLE_LEFT, 0},
	{"SELF", TABLE_RIGHT, 0}, {"95 %", TABLE_RIGHT, 2}, {"CPU", TABLE_RIGHT, 1},
	{"TOTAL", TABLE_RIGHT, 4}, {"STACKS", TABLE_RIGHT, 5}, {"IN BRICK", TABLE_REST, 3},
	{"FILE", TABLE_LEFT, 6}};

static uint64_t time_ns(const struct functions *f, uint64_t stacks)
{
	return (uint64_t)((double)stacks * f->each_ns + 0.5);
}

static const char *functions_view_brick_of(
	const struct functions *f, const struct function_place *place)
{
	return place->brick == RUN_NONE ? NULL : f->run->bricks[place->brick].name;
}

/* "QkvProjection 84.1%, AttnOut 10.2%"; the caller frees. */
static char *places_text(const struct functions *f, const struct function_row *row)
{
	char *text = NULL;

	for (uint32_t i = 0; f->run->brick_count && i < row->place_count && i < PLACES_SHOWN; i++) {
		const struct function_place *place = &f->places[row->place + i];
		const char *brick = functions_view_brick_of(f, place);
		char share[UNITS_BYTES];
		text_append(&text, ", ", "%s %s", brick ? brick : "none",
			units_percent(share, (double)place->stacks / (double)row->stacks));
	}
	return text;
}

/* Prints the whole that shares refer to. */
static void functions_view_print_head(const struct functions *f, const struct terminal *terminal)
{
	const struct run *run = f->run;
	char stacks[UNITS_BYTES], time[UNITS_BYTES], user[UNITS_BYTES], outside[UNITS_BYTES];

	SCOPED char *text = text_format("%s stack%s at %u Hz: %s of CPU time in user space, of all "
					"threads",
		units_count(stacks, f->stacks), plural_s(f->stacks), run->stack_account.hz,
		units_time(time, time_ns(f, f->stacks)));
	if (!run->selected && f->user_ns)
		text_append(
			&text, "", " (the program used %s there)", units_time(user, f->user_ns));
	if (run->selected)
		text_append(&text, "; ", "only %s", run->selected);
	if (run->brick_count && f->outside)
		text_append(&text, "; ", "%s in no brick",
			units_percent(outside, (double)f->outside / (double)f->stacks));
	paragraph(terminal, 0, "", "%s", text ? text : "");
	fputc('\n', terminal->out);
}

/* Prints the stacks that are not in the table. */
static void functions_view_print_losses(const struct run *run, const struct terminal *terminal)
{
	const struct stack_account *a = &run->stack_account;
	char count[UNITS_BYTES];

	if (a->lost)
		paragraph(terminal, 0, "",
			"%s records of the kernel are lost: shares are of what is left.",
			units_count(count, a->lost));
	if (a->throttled)
		paragraph(terminal, 0, "",
			"The kernel left stacks out %s times, as they cost it too much.",
			units_count(count, a->throttled));
	if (a->nameless)
		paragraph(terminal, 0, "", "%s frames have no name: there were too many addresses.",
			units_count(count, a->nameless));
}

void functions_text(const struct functions_view *view, FILE *out)
{
	const struct functions *f = view->functions;
	struct terminal terminal;
	SCOPED_TO(table_destroy)
	struct table *table = table_create(functions_view_columns,
		sizeof(functions_view_columns) / sizeof(*functions_view_columns));

	terminal_init(&terminal, out);
	functions_view_print_head(f, &terminal);
	for (size_t i = 0; i < view->shown; i++) {
		const struct function_row *row = &f->rows[i];
		const struct run_function *function = &f->run->functions[row->function];
		SCOPED char *name = function_name(function), *places = places_text(f, row);
		char low[UNITS_BYTES], high[UNITS_BYTES];
		table_row(table, STYLE_PLAIN);
		table_cell(table, name);
		table_percent(table, row->share);
		table_format(table, "%s to %s", units_percent(low, row->low),
			units_percent(high, row->high));
		table_time(table, time_ns(f, row->stacks));
		table_percent(table, (double)row->total / (double)f->stacks);
		table_count(table, row->stacks);
		table_cell(table, places);
		table_cell(table, path_name(function->object));
	}
	table_hide_empty(table);
	table_print(table, &terminal);
	if (view->shown < f->count)
		fprintf(out, "\n%zu more function%s.\n", f->count - view->shown,
			plural_s(f->count - view->shown));
	functions_view_print_losses(f->run, &terminal);
}

static json_t *places_json(const struct functions *f, const struct function_row *row)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < row->place_count; i++) {
		const struct function_place *place = &f->places[row->place + i];
		json_t *object = json_object();
		json_put(object, "brick", json_text(functions_view_brick_of(f, place)));
		json_put_numbers(object, place, stacks);
		json_add(list, object);
	}
	return list;
}

static json_t *functions_view_row_json(const struct functions *f, const struct function_row *row)
{
	const struct run_function *function = &f->run->functions[row->function];
	json_t *object = json_object();

	json_put_texts(object, function, name);
	json_put(object, "file", json_text(function->object));
	json_put_numbers(object, row, stacks, total);
	json_put(object, "cpu_ns", json_number(time_ns(f, row->stacks)));
	json_put(object, "total_cpu_ns", json_number(time_ns(f, row->total)));
	json_put_rates(object, row, share);
	json_put(object, "share_low", json_rate(row->low));
	json_put(object, "share_high", json_rate(row->high));
	json_put(object, "total_share", json_rate((double)row->total / (double)f->stacks));
	json_put(object, "bricks", places_json(f, row));
	return object;
}

json_t *functions_to_json(const struct functions_view *view)
{
	const struct functions *f = view->functions;
	const struct stack_account *account = &f->run->stack_account;
	json_t *root = json_object(), *rows = json_array();

	json_put(root, "schema", json_text("brick/functions/1"));
	json_put_texts(root, f->run, path, selected);
	json_put_numbers(root, account, hz);
	json_put_numbers(root, f, stacks, outside);
	json_put_numbers(root, account, taken, unknown, lost, throttled, nameless);
	json_put(root, "cpu_ns", json_number(time_ns(f, f->stacks)));
	json_put(root, "user_cpu_ns", json_number(f->user_ns ? f->user_ns : ANALYSIS_UNKNOWN));
	for (size_t i = 0; i < view->shown; i++)
		json_add(rows, functions_view_row_json(f, &f->rows[i]));
	json_put(root, "functions", rows);
	return root;
}

void functions_csv(const struct functions_view *view, FILE *out)
{
	const struct functions *f = view->functions;

	fputs("function,file,stacks,total,cpu_ns,share,share_low,share_high,total_share,brick,"
	      "brick_stacks",
		out);
	csv_end(out);
	for (size_t i = 0; i < view->shown; i++) {
		const struct function_row *row = &f->rows[i];
		const struct run_function *function = &f->run->functions[row->function];
		const struct function_place *place =
			row->place_count ? &f->places[row->place] : NULL;
		csv_text(out, function->name);
		csv_text(out, function->object);
		csv_number(out, row->stacks);
		csv_number(out, row->total);
		csv_number(out, time_ns(f, row->stacks));
		csv_ratio(out, row->share);
		csv_ratio(out, row->low);
		csv_ratio(out, row->high);
		csv_ratio(out, (double)row->total / (double)f->stacks);
		csv_text(out, place ? functions_view_brick_of(f, place) : NULL);
		csv_number(out, place ? place->stacks : 0);
		csv_end(out);
	}
}

char *functions_missing(const struct run *run)
{
	const struct stack_account *a = &run->stack_account;

	if (a->error)
		return text_format("stacks could not be taken: %s", a->reason);
	if (a->taken)
		return text_copy("no stack was taken of what was asked for");
	if (a->hz)
		return text_copy("no stack was taken: its threads hardly ran in user space");
	return text_copy("has no stacks; 'brick record --sample' takes them");
}
