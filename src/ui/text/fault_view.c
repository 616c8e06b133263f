/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, JSON and CSV of the rows of fault_accounts.h. */
#include "ui/text/fault_view.h"

#include <stdlib.h>

#include "ui/text/csv_out.h"
#include "ui/text/json_out.h"
#include "ui/text/program_options.h"
#include "ui/text/report_presence.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

static const char *fault_view_brick(const struct run *run, const struct fault_row *row)
{
	return row->brick == RUN_NONE ? NULL : run->bricks[row->brick].name;
}

char *fault_lack(const struct run *run)
{
	const struct fault_account *known = &run->fault_account;
	char reason[128], number[UNITS_BYTES];
	char *text = NULL;

	if (!known->is_known) {
		report_off_cpu_reason(known->error, reason, sizeof(reason));
		return text_format("page faults are not known: %s",
			known->error ? reason : "nobody recorded them");
	}
	if (!known->sees_kernel)
		text_append(&text, "; ",
			"those in system calls are not among them, as "
			"kernel.perf_event_paranoid is above 1");
	if (known->lost)
		text_append(&text, "; ", "%s of the kernel's records are lost, two for a fault",
			units_count(number, known->lost));
	if (known->until_ns != UINT64_MAX && known->until_ns > run->start_ns)
		text_append(&text, "; ", "they are known for the first %s",
			units_time(number, known->until_ns - run->start_ns));
	return text;
}

void fault_text(const struct fault_view *view, FILE *out)
{
	static const struct table_column columns[] = {{"PHASE", TABLE_LEFT, 0},
		{"BRICK", TABLE_LEFT, 0}, {"MINOR", TABLE_RIGHT, 0}, {"MAJOR", TABLE_RIGHT, 0},
		{"TIME", TABLE_RIGHT, 0}, {"IN STEPS' THREADS", TABLE_RIGHT, 1}};
	SCOPED_TO(table_destroy)
	struct table *table = table_create(columns, sizeof(columns) / sizeof(*columns));
	const struct machine_use *process = &view->run->machine;
	struct terminal terminal;
	char number[UNITS_BYTES];

	terminal_init(&terminal, out);
	for (size_t i = 0; i < view->rows->list.count && i < view->shown; i++) {
		const struct fault_row *row = &view->rows->list.items[i];
		const char *brick = fault_view_brick(view->run, row);
		table_row(table, STYLE_PLAIN);
		table_cell(table, fault_place_name(row->place));
		table_cell(table, brick ? brick : "(none)");
		table_cell(table, units_count(number, row->minor));
		table_cell(table, units_count(number, row->major));
		table_cell(table, units_time(number, row->ns));
		table_cell(table, row->driver_ns ? units_time(number, row->driver_ns) : "");
	}
	table_hide_empty(table);
	table_print(table, &terminal);
	if (view->shown < view->rows->list.count)
		fprintf(out, "%zu more with --top %zu.\n", view->rows->list.count - view->shown,
			view->rows->list.count);
	const struct fault_row all = fault_rows_sum(view->rows, FAULT_PLACES);
	char minor[UNITS_BYTES], major[UNITS_BYTES], time[UNITS_BYTES];
	SCOPED char *sum = text_format("All: %s minor and %s major faults; the kernel took %s.",
		units_count(minor, all.minor), units_count(major, all.major),
		units_time(time, all.ns));
	if (process->minor_faults | process->major_faults)
		text_append(&sum, " ",
			"The whole program had %s and %s by the system's count, with those of "
			"processes that recorded nothing.",
			units_count(minor, process->minor_faults),
			units_count(major, process->major_faults));
	SCOPED char *lack = fault_lack(view->run);
	if (lack)
		text_append(&sum, " ", "Of these faults: %s.", lack);
	fputc('\n', out);
	paragraph(&terminal, 0, "", sum);
}

void fault_csv(const struct fault_view *view, FILE *out)
{
	fputs("phase,brick,minor,major,fault_ns,driver_ns\n", out);
	for (size_t i = 0; i < view->rows->list.count; i++) {
		const struct fault_row *row = &view->rows->list.items[i];
		csv_text(out, fault_place_name(row->place));
		csv_text(out, fault_view_brick(view->run, row));
		csv_number(out, row->minor);
		csv_number(out, row->major);
		csv_number(out, row->ns);
		csv_number(out, row->driver_ns);
		csv_end(out);
	}
}

json_t *fault_to_json(const struct fault_view *view)
{
	const struct fault_account *known = &view->run->fault_account;
	const struct machine_use *process = &view->run->machine;
	bool is_counted = process->minor_faults | process->major_faults;
	json_t *root = json_object(), *list = json_array(), *program = json_object();

	for (size_t i = 0; i < view->rows->list.count; i++) {
		const struct fault_row *row = &view->rows->list.items[i];
		json_t *object = json_object();
		json_put(object, "phase", json_text(fault_place_name(row->place)));
		json_put(object, "brick", json_text(fault_view_brick(view->run, row)));
		json_put_numbers(object, row, minor, major);
		json_put(object, "fault_ns", json_number(row->ns));
		json_put_numbers(object, row, driver_ns);
		json_add(list, object);
	}
	json_put(program, "minor", is_counted ? json_number(process->minor_faults) : json_null());
	json_put(program, "major", is_counted ? json_number(process->major_faults) : json_null());
	json_put(root, "schema", json_text("brick/faults/1"));
	json_put(root, "system_calls", json_boolean(known->sees_kernel));
	json_put(root, "lost", json_number(known->lost));
	json_put(root, "until_ns",
		known->until_ns == UINT64_MAX || known->until_ns < view->run->start_ns
			? json_null()
			: json_number(known->until_ns - view->run->start_ns));
	json_put(root, "program", program);
	json_put(root, "rows", list);
	return root;
}
