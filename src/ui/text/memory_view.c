/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, JSON and CSV of the rows of memory_accounts.h. */
#include "ui/text/memory_view.h"

#include <stdlib.h>

#include "analysis/statistics/unknown.h"
#include "ui/text/csv_out.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

static const struct run_site *memory_view_site(const struct run *run, const struct memory_row *row)
{
	return row->site == RUN_NONE ? NULL : &run->sites[row->site];
}

/* "4711, GPU 0"; empty for the only process's host memory. The caller frees. */
static char *memory_view_place(const struct memory_view *view, const struct memory_row *row)
{
	char *text = NULL;

	if (view->run->process_count > 1)
		text_append(&text, "", "%u", view->run->processes[row->process].pid);
	if (row->gpu)
		text_append(&text, ", ", "GPU %u", row->gpu - 1);
	return text;
}

static void memory_view_totals(const struct memory_view *view, const struct terminal *terminal)
{
	static const struct table_column columns[] = {{"KIND", TABLE_LEFT, 0},
		{"LIVE", TABLE_RIGHT, 0}, {"PEAK", TABLE_RIGHT, 0}, {"PROCESS", TABLE_LEFT, 1}};
	SCOPED_TO(table_destroy)
	struct table *table = table_create(columns, sizeof(columns) / sizeof(*columns));

	for (size_t i = 0; i < view->rows->list.count; i++) {
		const struct memory_row *row = &view->rows->list.items[i];
		char live[UNITS_BYTES], peak[UNITS_BYTES];
		if (row->site != RUN_NONE)
			continue;
		SCOPED char *place = memory_view_place(view, row);
		table_row(table, STYLE_PLAIN);
		table_cell(table, memory_kind_name(row->kind));
		table_cell(table, row->kind == BRICK_MEMORY_SYSTEM
					  ? "-"
					  : units_bytes(live, row->live_bytes));
		table_cell(table, units_bytes(peak, row->peak_bytes));
		table_cell(table, place);
	}
	table_hide_empty(table);
	table_print(table, terminal);
}

static void memory_view_sites(const struct memory_view *view, const struct terminal *terminal)
{
	static const struct table_column columns[] = {{"BRICK", TABLE_LEFT, 0},
		{"LAYER", TABLE_RIGHT, 4}, {"KIND", TABLE_LEFT, 0}, {"LIVE", TABLE_RIGHT, 0},
		{"PEAK", TABLE_RIGHT, 0}, {"OPERATOR", TABLE_LEFT, 2}, {"MODULE", TABLE_REST, 1},
		{"PROCESS", TABLE_LEFT, 3}};
	SCOPED_TO(table_destroy)
	struct table *table = table_create(columns, sizeof(columns) / sizeof(*columns));
	size_t sites = 0;

	for (size_t i = 0; i < view->rows->list.count; i++) {
		const struct memory_row *row = &view->rows->list.items[i];
		const struct run_site *site = memory_view_site(view->run, row);
		char live[UNITS_BYTES], peak[UNITS_BYTES];
		if (!site || sites++ >= view->shown)
			continue;
		SCOPED char *place = memory_view_place(view, row);
		table_row(table, STYLE_PLAIN);
		table_cell(table, view->run->bricks[site->brick].name);
		table_format(table, site->layer < 0 ? "" : "%d", (int)site->layer);
		table_cell(table, memory_kind_name(row->kind));
		table_cell(table, units_bytes(live, row->live_bytes));
		table_cell(table, units_bytes(peak, row->peak_bytes));
		table_cell(table, site->operation);
		table_cell(table, site->label);
		table_cell(table, place);
	}
	table_hide_empty(table);
	if (sites)
		fputc('\n', terminal->out);
	table_print(table, terminal);
	if (view->shown < sites)
		fprintf(terminal->out, "%zu more with --top %zu.\n", sites - view->shown, sites);
}

void memory_text(const struct memory_view *view, FILE *out)
{
	struct terminal terminal;

	terminal_init(&terminal, out);
	memory_view_totals(view, &terminal);
	memory_view_sites(view, &terminal);
	fputc('\n', out);
	paragraph(&terminal, 0, "",
		"LIVE is after the last step, PEAK the most at any time. brick-report(1) says what "
		"the kinds are. System is all memory of the process, as the system counts it, with "
		"pages of mapped files; anonymous is without them.");
}

void memory_csv(const struct memory_view *view, FILE *out)
{
	fputs("pid,gpu,kind,brick,layer,operation,module,live_bytes,peak_bytes\n", out);
	for (size_t i = 0; i < view->rows->list.count; i++) {
		const struct memory_row *row = &view->rows->list.items[i];
		const struct run_site *site = memory_view_site(view->run, row);
		csv_number(out, view->run->processes[row->process].pid);
		csv_number(out, row->gpu ? row->gpu - 1 : ANALYSIS_UNKNOWN);
		csv_text(out, memory_kind_name(row->kind));
		csv_text(out, site ? view->run->bricks[site->brick].name : NULL);
		if (site)
			csv_integer(out, site->layer);
		else
			csv_text(out, NULL);
		csv_text(out, site ? site->operation : NULL);
		csv_text(out, site ? site->label : NULL);
		csv_number(out, row->live_bytes);
		csv_number(out, row->peak_bytes);
		csv_end(out);
	}
}

json_t *memory_to_json(const struct memory_view *view)
{
	json_t *root = json_object(), *list = json_array(), *steps = json_array();

	for (size_t i = 0; i < view->rows->list.count; i++) {
		const struct memory_row *row = &view->rows->list.items[i];
		const struct run_site *site = memory_view_site(view->run, row);
		json_t *object = json_object();
		json_put(object, "pid", json_number(view->run->processes[row->process].pid));
		json_put(object, "gpu", row->gpu ? json_number(row->gpu - 1) : json_null());
		json_put(object, "kind", json_text(memory_kind_name(row->kind)));
		json_put(object, "brick",
			json_text(site ? view->run->bricks[site->brick].name : NULL));
		json_put(object, "layer", site ? json_signed(site->layer) : json_null());
		json_put(object, "operation", json_text(site ? site->operation : NULL));
		json_put(object, "module", json_text(site ? site->label : NULL));
		json_put_numbers(object, row, live_bytes, peak_bytes);
		json_add(list, object);
	}
	for (size_t i = 0; i < view->run->memory_count; i++) {
		const struct run_memory *m = &view->run->memories[i];
		if (m->is_of_site || m->step == RUN_NONE)
			continue;
		json_t *object = json_object();
		json_put(object, "step", json_number(m->step + 1));
		json_put(object, "pid",
			json_number(view->run->processes[view->run->lanes[m->lane].process].pid));
		json_put(object, "gpu", m->gpu ? json_number(m->gpu - 1) : json_null());
		json_put(object, "kind", json_text(memory_kind_name(m->kind)));
		json_put_numbers(object, m, live_bytes, peak_bytes);
		json_add(steps, object);
	}
	json_put(root, "schema", json_text("brick/memory/1"));
	json_put(root, "rows", list);
	json_put(root, "steps", steps);
	return root;
}

char *memory_summary(const struct run *run)
{
	SCOPED_BY(memory_rows_fini) struct memory_rows rows = {0};
	const struct memory_row *most = NULL;
	char bytes[UNITS_BYTES];
	char *text = NULL, *kinds = NULL;

	if (text_fail(memory_rows_measure(&rows, run)))
		return NULL;
	for (size_t i = 0; i < rows.list.count; i++) {
		const struct memory_row *row = &rows.list.items[i];
		if (row->site == RUN_NONE && row->kind == BRICK_MEMORY_ALL &&
			(!most || row->peak_bytes > most->peak_bytes))
			most = row;
	}
	if (!most)
		return NULL;
	for (uint32_t kind = BRICK_MEMORY_WEIGHTS; kind <= BRICK_MEMORY_OUTPUTS; kind++) {
		const struct memory_row *row =
			memory_rows_of(&rows, most->process, most->gpu, kind);
		bool is_part = kind != BRICK_MEMORY_OTHER && kind != BRICK_MEMORY_SYSTEM;
		if (is_part && row && row->peak_bytes >= most->peak_bytes / 20)
			text_append(&kinds, ", ", "%s %s", memory_kind_name(kind),
				units_bytes(bytes, row->peak_bytes));
	}
	text_append(&text, "", "%s%s at most%s%s", most->gpu ? "on a GPU " : "",
		units_bytes(bytes, most->peak_bytes), kinds ? ": " : "", kinds ? kinds : "");
	free(kinds);
	const struct memory_row *system =
		memory_rows_of(&rows, most->process, 0, BRICK_MEMORY_SYSTEM);
	uint64_t peak = system && !most->gpu ? system->peak_bytes : 0;
	if (!most->gpu && run->process_count == 1 && run->machine.peak_bytes > peak)
		peak = run->machine.peak_bytes;
	if (peak)
		text_append(&text, "; ", "the process had %s", units_bytes(bytes, peak));
	return text;
}
