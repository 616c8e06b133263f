/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a report and its categories as tables, and the notes below. Called by report_text().
 */
#include "ui/text/report_rows.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/report_apart.h"
#include "ui/text/report_fields.h"
#include "ui/text/text_table.h"
#include "record/inject/inject.h"

static bool is_of_devices(const struct summary *summary)
{
	return summary->by == SUMMARY_BY_KERNEL || summary->by == SUMMARY_BY_QUEUE;
}

/* flags: only fields with these are known; cells of the others are blank. extra: a last cell. */
static void add_row(struct table *table, const struct report *report,
	const struct report_columns *columns, const struct summary_row *row, unsigned flags,
	char *extra)
{
	table_row(table, flags ? STYLE_DIM : STYLE_PLAIN);
	for (size_t i = 0; i < columns->count; i++) {
		bool is_known = (columns->fields[i]->flags & flags) == flags;
		SCOPED char *cell =
			is_known ? report_value_text(columns->fields[i], report, row) : NULL;
		table_cell(table, cell);
	}
	table_cell(table, extra);
	free(extra);
}

/* What --top leaves out. */
static void add_others(
	struct table *table, const struct report *report, const struct report_columns *columns)
{
	const struct summary *summary = report->summary;
	size_t left = summary->row_count - report->shown;
	struct summary_row others = {.id = RUN_NONE};
	if (!left)
		return;
	for (size_t i = report->shown; i < summary->row_count; i++) {
		const struct summary_row *row = &summary->rows[i];
		others.self_ns += row->self_ns;
		others.wall_ns += row->wall_ns;
		others.unevaluated_ns += row->unevaluated_ns;
		others.share += row->share > 0 ? row->share : 0;
	}
	if (!summary->wall_ns && !is_of_devices(summary))
		others.share = -1;
	others.name = text_format("%zu more row%s", left, left == 1 ? "" : "s");
	add_row(table, report, columns, &others, REPORT_OF_REST, NULL);
	free(others.name);
}

static void set_titles(
	struct table_column *to, const struct report_columns *columns, const char *first)
{
	for (size_t i = 0; i < columns->count; i++) {
		const struct report_field *field = columns->fields[i];
		to[i] = (struct table_column){i ? field->title : first,
			field->type == REPORT_TEXT || field->type == REPORT_SIZES,
			columns->ranks[i]};
	}
}

/* What there was no room for, or NULL. The caller frees. */
static char *print_main(const struct report *report, const struct terminal *terminal)
{
	const struct summary *summary = report->summary;
	struct table_column titles[REPORT_COLUMNS_MAX];
	struct report_columns columns;
	struct summary_row rests[REPORT_RESTS];
	char first[16];
	snprintf(first, sizeof(first), "%s", summary_by_name(summary->by));
	for (char *c = first; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	if (report->columns)
		columns = *report->columns;
	else
		report_columns_default(&columns, REPORT_IN_TEXT, summary->by);
	set_titles(titles, &columns, first);

	SCOPED_TO(table_destroy) struct table *table = table_create(titles, columns.count);
	for (size_t i = 0; i < report->shown; i++)
		add_row(table, report, &columns, &summary->rows[i], 0, NULL);
	add_others(table, report, &columns);
	size_t rest_count = report_rests(report, rests);
	for (size_t i = 0; i < rest_count; i++)
		add_row(table, report, &columns, &rests[i], REPORT_OF_REST, NULL);
	if (!report->columns)
		table_hide_empty(table);
	table_print(table, terminal);
	return table_left_out(table, terminal);
}

static char *bar(double share, size_t width, bool utf8)
{
	/* Eighths of a block: full, and from one to seven eighths. */
	static const char *const parts[] = {"", "\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d",
		"\xe2\x96\x8c", "\xe2\x96\x8b", "\xe2\x96\x8a", "\xe2\x96\x89"};
	double cells = share > 0 ? (share < 1 ? share : 1) * (double)width : 0;
	size_t eighths = (size_t)(cells * 8 + 0.5);
	char *text = text_room(3 * width + 4, 1);
	for (size_t i = 0; text && i < (utf8 ? eighths / 8 : (size_t)(cells + 0.5)); i++)
		strcat(text, utf8 ? "\xe2\x96\x88" : "#");
	if (text && utf8)
		strcat(text, parts[eighths % 8]);
	return text;
}

static void print_categories(const struct report *report, const struct terminal *terminal)
{
	const struct summary *summary = report->summary;
	struct table_column titles[REPORT_COLUMNS_MAX];
	struct report_columns columns;
	struct summary_row rests[REPORT_RESTS];
	report_columns_default(&columns, REPORT_IN_CATEGORIES, SUMMARY_BY_CATEGORY);
	set_titles(titles, &columns, "CATEGORY");
	titles[columns.count] = (struct table_column){"", 1, 3};
	SCOPED_TO(table_destroy) struct table *table = table_create(titles, columns.count + 1);
	for (size_t i = 0; i < summary->category_count; i++) {
		const struct summary_row *row = &summary->categories[i];
		add_row(table, report, &columns, row, 0, bar(row->share, 30, terminal->utf8));
	}
	size_t rest_count = report_rests(report, rests);
	for (size_t i = 0; i < rest_count; i++)
		add_row(table, report, &columns, &rests[i], REPORT_OF_REST,
			bar(rests[i].share, 30, terminal->utf8));
	table_hide_empty(table);
	table_print(table, terminal);
}

const char *report_basis(const struct report *report)
{
	bool known = report->summary->knows_off, dropped = false;

	if (is_of_devices(report->summary))
		return NULL;
	if (!known)
		return "AVG to MAX and rates are by the clock on the wall: when threads were off "
		       "their CPUs is not known.";
	for (size_t i = 0; i < report->summary->row_count; i++)
		dropped |= summary_row_lacks_samples(&report->summary->rows[i]);
	return dropped ? "AVG to MAX and rates are of the time on the CPU; of waits, and where "
			 "samples were dropped, AVG to MAX are of all time (BASIS)."
		       : "AVG to MAX and rates are of the time on the CPU; of waits, of all time.";
}

/* What other numbers of a table are; the caller frees. */
static char *sums_text(const struct summary *summary)
{
	bool waits = false, counts = false;

	for (size_t i = 0; i < summary->row_count; i++) {
		waits |= summary->rows[i].wait_ns > 0;
		counts |= summary->rows[i].bytes != ANALYSIS_UNKNOWN;
	}
	return text_format("; other sums of time add up all threads%s.%s",
		waits ? ", and what is waited in a brick is in its TOTAL, WAIT and AVG to MAX" : "",
		counts ? " Elements, bytes and FLOPs are counted by shapes, or by the program, and "
			 "not measured."
		       : "");
}

static void print_footnote(
	const struct report *report, const char *left_out, const struct terminal *terminal)
{
	bool places = report->summary->by == SUMMARY_BY_LAYER ||
		      report->summary->by == SUMMARY_BY_PHASE ||
		      report->summary->by == SUMMARY_BY_STEP ||
		      report->summary->by == SUMMARY_BY_THREAD;
	const char *phase = report_phase_name(report->summary->only);
	SCOPED char *wall =
		report->run->step_count
			? text_format("SHARE, as /TOKEN, is of the wall time of the %s%ssteps, on "
				      "the thread that runs them",
				  phase ? phase : "", phase ? " " : "")
			: text_copy("SHARE is of the lifetimes of all threads");
	if (is_of_devices(report->summary)) {
		free(wall);
		wall = text_copy(
			"SHARE is of the time of all commands of all queues, SELF is without "
			"what was nested");
	}
	terminal_begin(terminal, STYLE_DIM);
	const char *basis = report_basis(report);
	SCOPED char *sums = sums_text(report->summary);
	paragraph(terminal, 0, "", "%s%s%s%s%s%s%s%s", wall, places ? " (waiting included)" : "",
		is_of_devices(report->summary) ? "." : sums, basis ? " " : "", basis ? basis : "",
		left_out ? " No room for " : "", left_out ? left_out : "", left_out ? "." : "");
	terminal_end(terminal, STYLE_DIM);
}

static void print_tables(const struct report *report, const struct terminal *terminal)
{
	SCOPED char *left_out = print_main(report, terminal);
	print_footnote(report, left_out, terminal);
	if (report->summary->by != SUMMARY_BY_BRICK)
		return;
	fputc('\n', terminal->out);
	print_categories(report, terminal);
}

/* Those of each phase below a title of its own. */
static void print_apart(const struct report *report, const struct terminal *terminal)
{
	static const char *const titles[STEP_PHASES] = {"Prefill", "Decode", "Mixed", "Warm-up"};
	bool first = true;
	for (int i = 0; i < STEP_PHASES; i++) {
		const struct report *phase = report->apart[report_phase_order[i]];
		if (!phase)
			continue;
		if (!first)
			fputc('\n', terminal->out);
		first = false;
		fprintf(terminal->out, "%s%s steps%s\n",
			terminal_style_begin(terminal, STYLE_STRONG), titles[report_phase_order[i]],
			terminal_style_end(terminal, STYLE_STRONG));
		print_tables(phase, terminal);
	}
}

static void print_nothing(const struct report *report, const struct terminal *terminal)
{
	char kinds[INJECT_KINDS_BYTES];

	if (is_of_devices(report->summary))
		paragraph(terminal, 0, "",
			"No queue of a device was recorded. Those of OpenCL, Vulkan and CUDA "
			"programs are, and what an engine hands to brick/device.h; 'brick doctor' "
			"says which work on this machine.");
	else
		paragraph(terminal, 0, "",
			"No bricks were recorded. Brick can look into programs that use %s through "
			"shared libraries, and into those that contain libbrick; 'brick doctor' "
			"checks an engine's libraries. With --mode none nothing is recorded.",
			inject_kinds(kinds));
}

void report_rows(const struct report *report, const struct terminal *terminal)
{
	if (!report->summary->row_count) {
		print_nothing(report, terminal);
		return;
	}
	if (report->is_apart)
		print_apart(report, terminal);
	else
		print_tables(report, terminal);
}
