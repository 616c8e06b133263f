/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report for people. The first screen has at most 40 lines: a head, the rows that matter of each
 * phase, one line of trust, and the next command to try. The whole report has all rows and columns,
 * and all facts about how far to trust them.
 *
 * The rows of each table, with the rows of report_rests(), add up to the wall time: new rows must
 * not break that.
 */
#include "ui/text/report_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "analysis/accounts/workload.h"
#include "base/order.h"
#include "record/inject/inject.h"
#include "trace/owners.h"
#include "ui/text/phase_text.h"
#include "ui/text/report.h"
#include "ui/text/report_fields.h"
#include "ui/text/report_head.h"
#include "ui/text/report_trust.h"
#include "ui/text/roofline_view.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

enum { LABEL = 13 }; /* the width of a label, in columns */

/* flags: only fields with these are known; cells of the others are blank. extra: a last cell. */
static void report_text_add_row(struct table *table, const struct report *report,
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

/* Rows as they are shown: the summary's. */
struct rows {
	const struct summary_row *list;
	size_t count, shown; /* the others are one row */
};

static struct rows report_text_rows_of(const struct report *report)
{
	return (struct rows){report->summary->rows, report->summary->row_count, report->shown};
}

/* Where no step has ended there are no shares: rows are held against each other. */
static bool report_text_has_shares(const struct summary *summary)
{
	return summary->wall_ns || summary_by_devices(summary->by);
}

/* The share of a row of the threads' time, or of the devices'. */
static double report_text_share_of(const struct summary *summary, const struct summary_row *row)
{
	if (!report_text_has_shares(summary)) {
		uint64_t all_ns = 0;
		for (size_t i = 0; i < summary->row_count; i++)
			all_ns += summary->rows[i].self_ns;
		return all_ns ? (double)row->self_ns / (double)all_ns : 0;
	}
	uint64_t whole_ns = summary->device_ns;
	double on_device = row->device_step_ns == ANALYSIS_UNKNOWN || !whole_ns
				   ? 0
				   : (double)row->device_step_ns / (double)whole_ns;

	double told = row->sources == 1u << BRICK_SOURCE_REPORTED
			      ? known_ratio(row->self_ns, summary->wall_ns)
			      : 0; /* in no wall time */
	double share = row->share > on_device ? row->share : on_device;

	return told > share ? told : share;
}

static void add_others(struct table *table, const struct report *report,
	const struct report_columns *columns, const struct rows *rows)
{
	const struct summary *summary = report->summary;
	size_t left = rows->count - rows->shown;
	struct summary_row others = {.id = RUN_NONE};
	char most[UNITS_BYTES];
	double largest = 0;
	if (!left)
		return;
	for (size_t i = rows->shown; i < rows->count; i++) {
		const struct summary_row *row = &rows->list[i];
		others.self_ns += row->self_ns;
		others.wall_ns += row->wall_ns;
		others.unevaluated_ns += row->unevaluated_ns;
		others.share += row->share > 0 ? row->share : 0;
		others.device_ns += row->device_ns == ANALYSIS_UNKNOWN ? 0 : row->device_ns;
		others.device_step_ns +=
			row->device_step_ns == ANALYSIS_UNKNOWN ? 0 : row->device_step_ns;
		double share = report_text_share_of(summary, row);
		largest = share > largest ? share : largest;
	}
	if (!report_text_has_shares(summary))
		others.share = -1;
	if (!others.device_ns)
		others.device_ns = others.device_step_ns = ANALYSIS_UNKNOWN;
	units_percent(most, largest);
	others.name = report_text_has_shares(summary) ? text_format("%zu others (each %s%s)", left,
								*most == '<' ? "" : "<=", most)
						      : text_format("%zu others", left);
	report_text_add_row(table, report, columns, &others, REPORT_OF_REST, NULL);
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

static bool knows_tokens(const struct report *report)
{
	for (size_t i = 0; i < report->summary->row_count; i++)
		if (report_row_tokens(report, &report->summary->rows[i]))
			return true;
	return false;
}

/* Returns the columns that do not fit, or NULL. The caller frees. */
static char *print_main(const struct report *report, const struct rows *rows, const char *title,
	enum report_place place, const struct terminal *terminal)
{
	struct table_column titles[REPORT_COLUMNS_MAX];
	struct report_columns columns;
	struct summary_row rests[REPORT_RESTS];
	if (report->columns)
		columns = *report->columns;
	else
		report_columns_default(&columns, place, report->summary->by);
	/* without tokens a device's time is shown as it is */
	for (size_t i = 0; i < columns.count && place == REPORT_IN_SCREEN; i++)
		if (!strcmp(columns.fields[i]->key, "device_token_ns") && !knows_tokens(report))
			columns.fields[i] = report_field_find("device_ns");
	set_titles(titles, &columns, title);

	SCOPED_TO(table_destroy) struct table *table = table_create(titles, columns.count);
	for (size_t i = 0; i < rows->shown; i++)
		report_text_add_row(table, report, &columns, &rows->list[i], 0, NULL);
	add_others(table, report, &columns, rows);
	size_t rest_count = report_rests(report, rests);
	for (size_t i = 0; i < rest_count; i++)
		report_text_add_row(table, report, &columns, &rests[i], REPORT_OF_REST, NULL);
	if (!report->columns) {
		table_hide_empty(table);
		table_hide_repeated(table);
	}
	struct terminal at = *terminal;
	if (report->columns && !terminal->is_terminal)
		at.width = 0; /* they were asked for */
	table_print(table, &at);
	return table_left_out(table, &at);
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
		report_text_add_row(
			table, report, &columns, row, 0, bar(row->share, 30, terminal->utf8));
	}
	size_t rest_count = report_rests(report, rests);
	for (size_t i = 0; i < rest_count; i++)
		report_text_add_row(table, report, &columns, &rests[i], REPORT_OF_REST,
			bar(rests[i].share, 30, terminal->utf8));
	table_hide_empty(table);
	table_print(table, terminal);
}

const char *report_basis(const struct report *report)
{
	bool known = report->summary->knows_off, dropped = false;

	if (summary_by_devices(report->summary->by))
		return NULL;
	if (!known)
		return "AVG to MAX and rates are wall-clock time: when threads were off their CPUs "
		       "is not known.";
	for (size_t i = 0; i < report->summary->row_count; i++)
		dropped |= summary_row_lacks_samples(&report->summary->rows[i]);
	return dropped ? "AVG to MAX and rates count time on the CPU; for waits, and where samples "
			 "were dropped, AVG to MAX count all time (BASIS)."
		       : "AVG to MAX and rates count time on the CPU, for waits all time.";
}

/* Explains the other numbers of a table; the caller frees. */
static char *sums_text(const struct summary *summary)
{
	bool waits = false, counts = false;

	for (size_t i = 0; i < summary->row_count; i++) {
		waits |= summary->rows[i].wait_ns > 0;
		counts |= summary->rows[i].bytes != ANALYSIS_UNKNOWN;
	}
	return text_format("; all other times are sums over threads. SELF is TOTAL without nested "
			   "bricks%s; AVG x COUNT is TOTAL without time off the CPU%s.%s",
		waits ? " and waits inside" : "",
		waits ? "; WAIT is that inside and right after" : "",
		counts ? " Elements, bytes and FLOPs come from shapes or from the program; they "
			 "are "
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
	SCOPED char *wall =
		report_has_steps(report)
			? text_format("SHARE and /TOKEN are wall time of the %sstep's thread%s",
				  phase_adjective(report->summary->only),
				  report->summary->knows_off && !places
					  ? ", of a brick only while that ran on a CPU"
					  : "")
			: text_copy("SHARE is a part of all threads' lifetimes");
	if (summary_by_devices(report->summary->by)) {
		free(wall);
		wall = text_copy(
			"SHARE is a part of the time of all queues' commands; SELF excludes "
			"nested commands");
	}
	terminal_begin(terminal, STYLE_DIM);
	const char *basis = report_basis(report);
	SCOPED char *sums = sums_text(report->summary);
	paragraph(terminal, 0, "", "%s%s%s%s%s%s%s%s", wall, places ? " (waiting included)" : "",
		summary_by_devices(report->summary->by) ? "." : sums, basis ? " " : "",
		basis ? basis : "", left_out ? " Hidden columns (--columns): " : "",
		left_out ? left_out : "", left_out ? "." : "");
	terminal_end(terminal, STYLE_DIM);
}

/* "BRICK", "LAYER", ...: the title of the rows. */
static void title_of(const struct summary *summary, char title[16])
{
	snprintf(title, 16, "%s", summary_by_name(summary->by));
	for (char *c = title; *c; c++)
		*c = (char)toupper((unsigned char)*c);
}

static void print_tables(const struct report *report, const struct terminal *terminal)
{
	const struct rows rows = report_text_rows_of(report);
	char title[16];
	title_of(report->summary, title);
	SCOPED char *left_out = print_main(report, &rows, title, REPORT_IN_TEXT, terminal);
	print_footnote(report, left_out, terminal);
	if (report->summary->by != SUMMARY_BY_BRICK)
		return;
	fputc('\n', terminal->out);
	print_categories(report, terminal);
}

/* Prints a table for each phase, below a title. */
static void print_apart(const struct report *report, const struct terminal *terminal)
{
	bool first = true;
	for (int i = 0; i < STEP_PHASES; i++) {
		const struct report *phase = report->apart[step_phase_order[i]];
		if (!phase)
			continue;
		if (!first)
			fputc('\n', terminal->out);
		first = false;
		fprintf(terminal->out, "%s%s steps%s\n",
			terminal_style_begin(terminal, STYLE_STRONG),
			step_phase_order[i] == STEP_OTHER ? "Other"
							  : phase_title(step_phase_order[i]),
			terminal_style_end(terminal, STYLE_STRONG));
		print_tables(phase, terminal);
	}
}

static void report_text_print_nothing(const struct report *report, const struct terminal *terminal)
{
	char kinds[INJECT_KINDS_BYTES];

	if (report->run->truncated_bytes)
		paragraph(terminal, 0, "",
			"The recording was cut off: there are no bricks in what can be read of "
			"it.");
	else if (summary_by_devices(report->summary->by))
		paragraph(terminal, 0, "",
			"No queue of a device was recorded. Those of OpenCL, Vulkan and CUDA "
			"programs are, and what an engine hands to brick/device.h; 'brick doctor' "
			"says which work on this machine.");
	else if (report->run->is_live && !report->run->lane_count)
		paragraph(terminal, 0, "", "Nothing was recorded so far.");
	else if (report->run->has_statistics_only)
		paragraph(terminal, 0, "",
			"The session keeps statistics only, which tell no layers and no single "
			"steps. "
			"With ring_records, an output or brick_session_graph_set() it keeps "
			"executions, too.");
	else
		paragraph(terminal, 0, "",
			"No bricks were recorded. Brick can look into programs that use %s through "
			"shared libraries, and into those that contain libbrick; 'brick doctor' "
			"checks an engine's libraries. With --mode none nothing is recorded.",
			inject_kinds(kinds));
}

static void report_rows(const struct report *report, const struct terminal *terminal)
{
	if (!report->summary->row_count) {
		report_text_print_nothing(report, terminal);
		return;
	}
	if (report->is_apart)
		print_apart(report, terminal);
	else
		print_tables(report, terminal);
}

static void print_head_lines(
	const struct report_head *head, size_t first, size_t end, const struct terminal *terminal)
{
	for (size_t i = first; i < end && i < head->count; i++) {
		terminal_begin(terminal, i ? STYLE_PLAIN : STYLE_STRONG);
		paragraph(terminal, i ? LABEL : 0, head->lines[i].label, "%s", head->lines[i].text);
		terminal_end(terminal, i ? STYLE_PLAIN : STYLE_STRONG);
	}
}

/* The first screen. */

enum {
	SCREEN_MOST = 40,
	SCREEN_LINES = SCREEN_MOST - 1, /* the legend may take one more */
	TABLES_MAX = STEP_PHASES
};
static const double LEAST_SHARE = 0.005;
static const double IDLES = 0.5; /* the rows' part below which it is held against that part */

struct screen {
	const struct report *report;
	const struct terminal *terminal;
	struct screen_table {
		const struct report *report;
		const char *title;
		struct rows rows;
		struct summary_row *ordered; /* owned; NULL: the rows are the summary's */
	} tables[TABLES_MAX];
	size_t count;
};

static void add_table(struct screen *screen, const struct report *report, const char *title)
{
	screen->tables[screen->count++] =
		(struct screen_table){report, title, report_text_rows_of(report), NULL};
}

static bool report_text_is_chosen(const struct report *report)
{
	return report->is_sorted || report->columns || report->shown < report->summary->row_count ||
	       (report->summary->by != SUMMARY_BY_BRICK &&
		       report->summary->by != SUMMARY_BY_KERNEL);
}

/* The number of lines that a paragraph with a label of that width takes. */
static size_t lines_of(const struct screen *screen, const char *text, size_t indent)
{
	char *drawn = NULL;
	size_t bytes, lines = 0;
	struct terminal to = *screen->terminal;

	to.out = open_memstream(&drawn, &bytes);
	if (!to.out || !text) {
		text_fail(to.out ? 0 : -ENOMEM);
	} else {
		paragraph(&to, indent, "", "%s", text);
		fflush(to.out);
		for (const char *c = drawn; c && (c = strchr(c, '\n')); c++)
			lines++;
	}
	if (to.out)
		fclose(to.out);
	free(drawn);
	return lines;
}

static int compare_shares(const void *a, const void *b)
{
	return ORDER(*(const double *)b, *(const double *)a);
}

/* The table's part of the time of all tables, by which its rows are weighed against others'. */
static double report_text_weight_of(const struct screen *screen, size_t table)
{
	double all_ns = 0;

	for (size_t t = 0; t < screen->count; t++)
		all_ns += (double)screen->tables[t].report->summary->wall_ns;
	return all_ns > 0 ? (double)screen->tables[table].report->summary->wall_ns / all_ns : 1;
}

/* The least share in the time of all tables with which all rows fit; each table has one at least.
 */
static double least_share(const struct screen *screen, size_t room)
{
	size_t rows = 0, count = 0;

	if (room <= screen->count)
		return 1; /* which no row but the first of each table passes */
	room -= screen->count - 1;
	for (size_t t = 0; t < screen->count; t++)
		rows += screen->tables[t].rows.count;
	SCOPED double *shares = text_room(rows + 1, sizeof(*shares));
	for (size_t t = 0; t < screen->count && shares; t++)
		for (size_t i = 0; i < screen->tables[t].rows.count; i++)
			shares[count++] = report_text_weight_of(screen, t) *
					  report_text_share_of(screen->tables[t].report->summary,
						  &screen->tables[t].rows.list[i]);
	if (count)
		qsort(shares, count, sizeof(*shares), compare_shares);
	return count > room ? shares[room] : 0;
}

/* Rows of a program that idles are held against their own time, not against the whole. */
static double least_of_table(const struct screen_table *table)
{
	double sum = 0;

	for (size_t i = 0; i < table->rows.count; i++)
		sum += report_text_share_of(table->report->summary, &table->rows.list[i]);
	return sum < IDLES ? LEAST_SHARE * sum : LEAST_SHARE;
}

/*
 * least: of the time of all tables. Rows that are shown come first, and keep their order: rows of
 * GPUs are ordered by the device's time, behind which a row of much time of the host may stand.
 */
static void leave_out_small(struct screen_table *table, double weight, double least)
{
	struct rows *rows = &table->rows;
	size_t small = 0;

	if (report_text_is_chosen(table->report))
		return;
	SCOPED struct summary_row *last = text_room(rows->count + 1, sizeof(*last));
	struct summary_row *ordered = text_room(rows->count + 1, sizeof(*ordered));
	if (!last || !ordered) {
		free(ordered);
		return;
	}
	rows->shown = 0;
	for (size_t i = 0; i < rows->count; i++)
		if (!i || weight * report_text_share_of(table->report->summary, &rows->list[i]) >
				  least)
			ordered[rows->shown++] = rows->list[i];
		else
			last[small++] = rows->list[i];
	memcpy(ordered + rows->shown, last, small * sizeof(*last));
	rows->list = table->ordered = ordered;
	if (small == 1) /* it takes a line in any case */
		rows->shown++;
}

/* The lines beside the rows: titles, rests, an empty line, the row of left-out time. */
static size_t lines_around(const struct screen *screen)
{
	size_t lines = 0;

	for (size_t t = 0; t < screen->count; t++) {
		struct summary_row rests[REPORT_RESTS];
		lines += 3 + report_rests(screen->tables[t].report, rests);
	}
	return lines;
}

/* The number of threads that may work at the same time: one, or several. */
static size_t threads_of(const struct run *run)
{
	struct workload workload;

	workload_of_run(&workload, run);
	if (workload.threads == 1 && workload.batch_threads == 1)
		return 1; /* though a program may evaluate each step on another one */
	return run_thread_count(run);
}

/* Explains the columns whose titles do not; the caller frees. */
static char *meanings(const struct report *report)
{
	size_t threads = threads_of(report->run);
	char *text;

	if (report->columns || summary_by_devices(report->summary->by))
		return NULL;
	text = text_copy(!report_has_steps(report) ? "SHARE is a part of all threads' lifetimes"
			 : knows_tokens(report)
				 ? "SHARE and /TOKEN are time of the thread that runs the steps"
				 : "SHARE is time of the thread that runs the steps");
	if (report->summary->by != SUMMARY_BY_BRICK)
		text_append(&text, "", ", waiting included.");
	else
		text_append(&text, "",
			"%s; EACH is the mean time of one execution, without nested bricks%s.",
			threads > 1 ? ", COUNT and EACH of all threads" : "",
			threads > 1 ? " and waits" : "");
	return text;
}

static bool has_device_time(const struct summary *summary)
{
	for (size_t i = 0; i < summary->row_count; i++)
		if (summary->rows[i].device_step_ns != ANALYSIS_UNKNOWN &&
			summary->rows[i].device_step_ns)
			return true;
	return false;
}

static bool has_exposed_time(const struct summary *summary)
{
	for (size_t i = 0; i < summary->row_count; i++)
		if (summary->rows[i].exposed_ns != ANALYSIS_UNKNOWN)
			return true;
	return false;
}

/* Rows of devices add nothing to the threads' time; the caller frees. */
static char *meanings_of_all(const struct report *report)
{
	char *text = meanings(report);

	if (text && report->summary->by == SUMMARY_BY_BRICK && has_device_time(report->summary))
		text_append(&text, " ", "%s",
			knows_tokens(report)
				? "A row with the same /TOKEN and DEVICE/TOKEN ran on a device "
				  "only, while the thread did something else."
				: "DEVICE is time in which commands ran that the row launched; it "
				  "is SHARE's where the thread spent no time in the row.");
	if (text && has_exposed_time(report->summary))
		text_append(&text, " ", "%s",
			"EXPOSED is the part of it in which no other row computed on the GPU.");
	return text;
}

/*
 * Says why OF ROOF has no number in some rows that are shown. Rows without work counts and devices
 * without ceilings do not count. A reason that is not the only reason is left to `brick roofline`.
 * The caller frees; NULL: nothing is missing.
 */
static char *roofs_missing(const struct screen *screen)
{
	unsigned why = 0;
	bool any = false;

	for (size_t t = 0; t < screen->count; t++) {
		const struct screen_table *table = &screen->tables[t];
		for (size_t i = 0; i < table->rows.shown; i++) {
			const struct roofline_row *at =
				report_roof(table->report, &table->rows.list[i]);
			any |= at && at->distance >= 0;
			if (at && !(at->on_device && !at->can))
				why |= roofline_why_none(at);
		}
	}
	const char *only = roofline_why_text((enum roofline_flags)why);
	if (!why)
		return NULL;
	if (only)
		return text_format(
			" OF ROOF is %s: %s.", any ? "- where a brick has none" : "left out", only);
	return text_format(" %s.", any ? "Where OF ROOF is -, brick roofline says why"
				       : "OF ROOF is left out: brick roofline says why");
}

static void print_trust(const struct screen *screen, const char *trust, bool is_limited)
{
	say_in(screen, is_limited ? STYLE_WARN : STYLE_PLAIN, "Trust", "%s", trust);
}

static void print_foot(const struct screen *screen, const char *means)
{
	const struct terminal *terminal = screen->terminal;
	SCOPED char *missing = roofs_missing(screen);

	if (means && screen->count) {
		terminal_begin(terminal, STYLE_DIM);
		paragraph(terminal, 0, "", "%s%s", means, missing ? missing : "");
		terminal_end(terminal, STYLE_DIM);
	}
	fputc('\n', terminal->out);
}

static void list_tables(struct screen *screen)
{
	const struct report *report = screen->report;
	int phase = report_only_phase(report);
	static char by[16];

	title_of(report->summary, by);
	if (!report->summary->row_count)
		return;
	if (!report->is_apart) {
		add_table(screen, report, phase >= 0 ? phase_title(phase) : by);
		return;
	}
	for (int i = 0; i < STEP_PHASES; i++) {
		enum step_phase each = step_phase_order[i];
		if (report->apart[each] && each != STEP_WARM_UP)
			add_table(screen, report->apart[each], phase_title(each));
	}
}

static void print_screen_tables(struct screen *screen, size_t room)
{
	double least = least_share(screen, room);

	for (size_t t = 0; t < screen->count; t++) {
		struct screen_table *table = &screen->tables[t];
		double weight = report_text_weight_of(screen, t);
		double small = least_of_table(table);
		leave_out_small(table, weight, weight * small > least ? weight * small : least);
		if (t)
			fputc('\n', screen->terminal->out);
		free(print_main(table->report, &table->rows, table->title, REPORT_IN_SCREEN,
			screen->terminal));
	}
}

static size_t lines_of_head(const struct screen *screen, const struct report_head *head)
{
	size_t lines = 0;

	for (size_t i = 0; i < head->count; i++)
		lines += lines_of(screen, head->lines[i].text, i ? LABEL : 0);
	return lines;
}

void report_text_for(const struct report *report, FILE *out, FILE *shown_on)
{
	struct terminal terminal;
	bool is_limited;
	terminal_init(&terminal, shown_on);
	terminal.out = out;
	struct screen screen = {.report = report, .terminal = &terminal};
	SCOPED_BY(report_head_fini) struct report_head head;
	SCOPED char *trust = report_trust_line(report, &is_limited),
		    *means = meanings_of_all(report);

	text_append(&trust, "", "; more: brick report --trust");
	report_head_init(&head, report, false);
	list_tables(&screen);
	size_t legend = lines_of(&screen, means, 0) + (report->roofline ? 2 : 0);
	size_t used = lines_of_head(&screen, &head) + lines_of(&screen, trust, LABEL) + legend +
		      lines_around(&screen) + 4;
	if (used + screen.count > SCREEN_MOST) { /* a row of each table comes first */
		used -= legend;
		free(means);
		means = NULL;
	}
	print_head_lines(&head, 0, 1, &terminal);
	bool has_trust = screen.count || losses_any(&report->losses);
	if (has_trust && is_limited)
		print_trust(&screen, trust, true);
	print_head_lines(&head, 1, SIZE_MAX, &terminal);
	fputc('\n', out);
	if (screen.count)
		print_screen_tables(&screen, used < SCREEN_LINES ? SCREEN_LINES - used : 1);
	else
		report_text_print_nothing(report, &terminal);
	print_foot(&screen, means);
	for (size_t t = 0; t < screen.count; t++)
		free(screen.tables[t].ordered);
	if (has_trust && !is_limited)
		print_trust(&screen, trust, false);
	if (report->run->step_count &&
		!(report->run->is_live && !strcmp(report->run->path, RUN_LIVE)))
		say(&screen, "Next", "brick explain %s", report->run->path);
}

void report_text(const struct report *report, FILE *out)
{
	report_text_for(report, out, out);
}

void report_whole_text(const struct report *report, FILE *out)
{
	struct terminal terminal;
	SCOPED_BY(report_head_fini) struct report_head head;
	terminal_init(&terminal, out);
	report_origin_text(report, &terminal);
	fputc('\n', out);
	report_head_init(&head, report, true);
	print_head_lines(&head, 0, SIZE_MAX, &terminal);
	fputc('\n', out);
	report_rows(report, &terminal);
	fputc('\n', out);
	report_trust_lines(report, &terminal, false);
}

void report_whole_trust_text(const struct report *report, FILE *out)
{
	struct terminal terminal;
	terminal_init(&terminal, out);
	report_origin_text(report, &terminal);
	fputc('\n', out);
	report_trust_lines(report, &terminal, true);
}
