/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report for people: heading, steps, rows, categories, notes, and the three lines that no report
 * goes without: coverage, distortion, losses.
 */
#include "ui/text/report_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/unknown.h"
#include "record/inject/attachers.h"
#include "record/inject/inject.h"
#include "ui/text/trust_text.h"
#include "ui/text/provenance.h"
#include "ui/text/report.h"
#include "ui/text/report_fields.h"
#include "ui/text/report_presence.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

enum { LABEL = 13 }; /* columns of a label */

/* Notes that belong into the heading beside those of attachers; the others stand at the end. */
static const struct attacher_note common_notes[] = {
	{"backend", "Backend"},
	{"attach", "Attached by"},
	{"steps", "Steps by"},
	{"layers", "Layers by"},
	{0},
};

static const struct attacher_note *find(const struct attacher_note *notes, const char *key)
{
	for (; notes && notes->key; notes++)
		if (!strcmp(key, notes->key))
			return notes;
	return NULL;
}

/* NULL: it does not belong into the heading. */
static const struct attacher_note *heading(const char *key)
{
	for (const struct attacher *const *a = attachers; *a; a++)
		if (find((*a)->notes, key))
			return find((*a)->notes, key);
	return find(common_notes, key);
}

static void print_heading_notes(const struct report *report, const struct terminal *terminal,
	const struct attacher_note *notes)
{
	for (; notes && notes->key; notes++) {
		SCOPED const char **values =
			notes->label ? provenance_notes(report->run, notes->key) : NULL;
		for (size_t k = 0; values && values[k]; k++)
			paragraph(terminal, LABEL, k ? "" : notes->label, "%s", values[k]);
	}
}

/* Prints what was attached to and how, each with its label. */
static void report_headings(const struct report *report, const struct terminal *terminal)
{
	for (const struct attacher *const *a = attachers; *a; a++)
		print_heading_notes(report, terminal, (*a)->notes);
	print_heading_notes(report, terminal, common_notes);
}

/* True if another process left the same note, or the note says that all is well. */
static bool is_redundant(const struct run *run, size_t note)
{
	const struct run_note *here = &run->notes[note];
	if (!strcmp(here->key, "session.end") && !strcmp(here->value, "closed"))
		return true;
	if (!strcmp(here->key, "rules") && !strcmp(here->value, "default"))
		return true;
	for (size_t i = 0; i < note; i++)
		if (!strcmp(run->notes[i].key, here->key) &&
			!strcmp(run->notes[i].value, here->value))
			return true;
	return false;
}

const char *report_note_title(const char *key)
{
	const struct attacher_note *there = heading(key);

	if (!strncmp(key, "capture.", 8) || !strcmp(key, "helper.cpu")) /* in the distortion */
		return NULL;
	return there ? there->label : key;
}

static void report_notes(const struct report *report, const struct terminal *terminal)
{
	const struct run *run = report->run;
	const char *label = "Notes";
	terminal_begin(terminal, STYLE_DIM);
	for (size_t i = 0; i < run->note_count; i++) {
		if (heading(run->notes[i].key) || is_redundant(run, i) ||
			!report_note_title(run->notes[i].key))
			continue;
		paragraph(terminal, LABEL, label, "%s: %s", run->notes[i].key, run->notes[i].value);
		label = "";
	}
	terminal_end(terminal, STYLE_DIM);
}

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

/* Adds a row for those that --top leaves out. */
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

/* Returns the columns that do not fit, or NULL. The caller frees. */
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
	struct terminal place = *terminal;
	if (report->columns && !terminal->is_terminal)
		place.width = 0; /* they were asked for */
	table_print(table, &place);
	return table_left_out(table, &place);
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
		return "AVG to MAX and rates are wall-clock time: when threads were off their CPUs "
		       "is not known.";
	for (size_t i = 0; i < report->summary->row_count; i++)
		dropped |= summary_row_lacks_samples(&report->summary->rows[i]);
	return dropped ? "AVG to MAX and rates count time on the CPU; for waits, and where samples "
			 "were dropped, AVG to MAX count all time (BASIS)."
		       : "AVG to MAX and rates count time on the CPU, for waits all time.";
}

/* Says what the other numbers of a table mean; the caller frees. */
static char *sums_text(const struct summary *summary)
{
	bool waits = false, counts = false;

	for (size_t i = 0; i < summary->row_count; i++) {
		waits |= summary->rows[i].wait_ns > 0;
		counts |= summary->rows[i].bytes != ANALYSIS_UNKNOWN;
	}
	return text_format("; all other times are sums over threads%s.%s",
		waits ? ", and a brick's TOTAL, WAIT and AVG to MAX include its waits" : "",
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
	const char *phase = step_phase_name(report->summary->only);
	SCOPED char *wall =
		report->run->step_count
			? text_format("SHARE and /TOKEN are wall time of the %s%sstep's thread",
				  phase ? phase : "", phase ? " " : "")
			: text_copy("SHARE is a part of all threads' lifetimes");
	if (is_of_devices(report->summary)) {
		free(wall);
		wall = text_copy(
			"SHARE is a part of the time of all queues' commands; SELF excludes "
			"nested commands");
	}
	terminal_begin(terminal, STYLE_DIM);
	const char *basis = report_basis(report);
	SCOPED char *sums = sums_text(report->summary);
	paragraph(terminal, 0, "", "%s%s%s%s%s%s%s%s", wall, places ? " (waiting included)" : "",
		is_of_devices(report->summary) ? "." : sums, basis ? " " : "", basis ? basis : "",
		left_out ? " Hidden columns (--columns): " : "", left_out ? left_out : "",
		left_out ? "." : "");
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

/* Prints a table for each phase, below a title. */
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

static void report_rows(const struct report *report, const struct terminal *terminal)
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

struct printer {
	const struct report *report;
	const struct terminal *terminal;
	bool is_alone; /* no rows stand above it */
};

static void print_origin(const struct printer *p)
{
	const struct run *run = p->report->run;
	char took[UNITS_BYTES];
	SCOPED char *command = provenance_command(run), *start = provenance_start(run);
	SCOPED char *safe = text_safe(command ? command : "(not known)");
	const char *host = run->host ? run->host : "";
	uint64_t wall_ns = run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0;
	/* A long command line says little in its third line. */
	size_t columns = p->terminal->width ? 2 * (p->terminal->width - LABEL) : 400;
	SCOPED char *cut = text_cut(safe, columns);
	if (start)
		start[10] = ' '; /* for people, without the T */
	SCOPED char *code =
		run->exit_code >= 0 ? text_format(", exit code %d", run->exit_code) : text_copy("");
	say(p, "Command", "%s", cut);
	say(p, "Recorded", "%.19s%s, for %s%s%s%s", start ? start : "at an unknown time",
		start ? " UTC" : "", units_time(took, wall_ns), *host ? ", on " : "", host, code);
}

static void print_selected(const struct printer *p)
{
	const char *selected = p->report->run->selected;
	if (selected && *selected)
		say(p, "Only", "%s", selected);
}

static void print_machine(const struct printer *p)
{
	const struct run *run = p->report->run;
	char residual[UNITS_BYTES];
	SCOPED char *cpu = text_copy(run->cpu ? run->cpu : "unknown CPU");
	if (run->cpus)
		text_append(&cpu, ", ", "%u CPU%s", run->cpus, plural_s(run->cpus));
	if (run_usable_cpus(run) < run->cpus)
		text_append(&cpu, ", ", "%u of them usable", run->usable_cpus);
	say(p, "Machine", "%s; clock %s, right within %s", cpu,
		brick_clock_source_name(run->clock.source),
		units_time(residual, run->clock.residual_ns ? run->clock.residual_ns : 1));
}

static unsigned long long ull(uint64_t value)
{
	return value;
}

/* The rate while steps ran, and over all wall time where there are gaps between them. */
static char *rates_text(const struct step_phase_times *times)
{
	char running[UNITS_BYTES], wall[UNITS_BYTES];
	units_number(running, report_tokens_per_s(times));
	units_number(wall, report_wall_tokens_per_s(times));
	if (report_wall_tokens_per_s(times) < 0 || !strcmp(running, wall))
		return text_format("%s tokens/s", running);
	return text_format("%s tokens/s (%s with gaps)", running, wall);
}

static void print_phase(const struct printer *p, enum step_phase phase)
{
	static const char *const labels[STEP_PHASES] = {"Prefill", "Decode", "Mixed", "Warm-up"};
	const struct step_phase_times *times = &p->report->summary->steps.phases[phase];
	char total[UNITS_BYTES], p50[UNITS_BYTES], p95[UNITS_BYTES];
	char p99[UNITS_BYTES], tokens[UNITS_BYTES], unevaluated[UNITS_BYTES];
	if (!times->count && !times->refused && !times->aborted)
		return;
	SCOPED char *text = phase == STEP_WARM_UP ? text_copy("in no rate") : rates_text(times);
	text_append(&text, ": ", "%s token%s", units_count(tokens, times->tokens),
		plural_s(times->tokens));
	if (phase == STEP_MIXED)
		text_append(&text, " ", "(%llu of prompts, %llu of outputs)",
			ull(times->tokens - times->output_tokens), ull(times->output_tokens));
	if (times->draft_tokens > times->refuted)
		text_append(&text, " ", "(a draft model evaluated %llu more)",
			ull(times->draft_tokens - times->refuted));
	if (times->refuted)
		text_append(&text, " ", "(%llu more were rejected drafts)", ull(times->refuted));
	text_append(&text, " in ", "%llu step%s", ull(times->count), plural_s(times->count));
	if (times->dropped)
		text_append(&text, " ", "(%llu more were dropped)", ull(times->dropped));
	if (times->refused)
		text_append(&text, " ", "and %llu that the engine refused", ull(times->refused));
	if (times->aborted)
		text_append(&text, " ",
			"and %llu that ended halfway, with an unknown number of tokens",
			ull(times->aborted));
	text_append(&text, ", ", "%s", units_time(total, times->total_ns));
	if (times->unevaluated_ns)
		text_append(&text, " ", "(incl. %s for the latter, in no rate)",
			units_time(unevaluated, times->unevaluated_ns));
	if (times->count > 1)
		text_append(&text, "; ", "a step took p50 %s, p95 %s, p99 %s",
			units_time(p50, times->p50_ns), units_time(p95, times->p95_ns),
			units_time(p99, times->p99_ns));
	say(p, labels[phase], "%s", text);
}

/* Speculative decoding. */
static void print_drafts(const struct printer *p)
{
	const struct step_phase_times drafts = report_drafts(p->report);
	char share[UNITS_BYTES], total[UNITS_BYTES];
	char *text;
	if (!drafts.checked)
		return;
	uint64_t held = drafts.checked - drafts.refuted;
	text = text_format("%llu checked, %llu held (%s)", ull(drafts.checked), ull(held),
		units_percent(share, (double)held / (double)drafts.checked));
	if (drafts.draft_steps)
		text_append(&text, "; ", "draft models took %s, in %llu steps",
			units_time(total, drafts.draft_ns), ull(drafts.draft_steps));
	say(p, "Drafts", "%s", text);
	free(text);
}

static void print_steps(const struct printer *p)
{
	const struct summary *summary = p->report->summary;
	char time[UNITS_BYTES];
	if (!p->report->run->step_count) {
		if (summary->row_count)
			say(p, "Steps", "none recorded: shares are parts of threads' lifetimes");
		return;
	}
	print_phase(p, STEP_PREFILL);
	print_phase(p, STEP_DECODE);
	print_phase(p, STEP_MIXED);
	print_drafts(p);
	print_phase(p, STEP_WARM_UP);
	if (summary->steps.ttft_ns != ANALYSIS_UNKNOWN)
		say(p, "First token", "after %s, from the start of the first prefill",
			units_time(time, summary->steps.ttft_ns));
}

/* Waiting counts as covered, but is no work; the caller frees. */
static char *waits_text(const struct summary *summary)
{
	char share[UNITS_BYTES];
	double waits = 0;
	for (size_t i = 0; i < summary->row_count && summary->by == SUMMARY_BY_BRICK; i++)
		waits += summary->rows[i].waits ? summary->rows[i].share : 0;
	return waits > 0 ? text_format(", %s in those of waits", units_percent(share, waits))
			 : text_copy("");
}

static void print_coverage(const struct printer *p)
{
	const struct summary *summary = p->report->summary;
	char share[UNITS_BYTES], wall[UNITS_BYTES], prefill[UNITS_BYTES], decode[UNITS_BYTES];
	if (!summary->wall_ns) {
		say(p, "Coverage", "unknown: %s",
			p->report->run->step_count ? "no step ended" : "nothing was recorded");
		return;
	}
	double phases[] = {summary_phase_coverage(summary, STEP_PREFILL),
		summary_phase_coverage(summary, STEP_DECODE)};
	SCOPED char *apart =
		phases[0] >= 0 && phases[1] >= 0
			? text_format(" (prefill %s, decode %s)", units_percent(prefill, phases[0]),
				  units_percent(decode, phases[1]))
			: text_copy("");
	const char *phase = step_phase_name(summary->only);
	SCOPED char *waits = waits_text(summary);
	say(p, "Coverage", "%s of %s of %s%s%s %s%s%s", units_percent(share, summary->coverage),
		units_time(wall, summary->wall_ns), phase ? phase : "", phase ? " " : "",
		p->report->run->step_count ? "steps" : "threads' time",
		summary->left_out_ns || p->is_alone ? "lies in bricks" : "is accounted for above",
		phase ? "" : apart, waits);
	if (summary->unknown_operations)
		say(p, "Unknown",
			"%llu executions of operations without a rule, under their own names",
			(unsigned long long)summary->unknown_operations);
	if (summary->executions != ANALYSIS_UNKNOWN && summary->executions > summary->samples)
		say(p, "Samples", "%llu of %llu are %s; %s", (unsigned long long)summary->samples,
			(unsigned long long)summary->executions,
			p->is_alone ? "here" : "in the file",
			phase || p->report->is_apart
				? "rows of phases are made of these alone (exact counts and times: "
				  "--phase all)"
				: "counts and times are exact, shares and rows by place are from "
				  "samples");
}

/* "copy from the device 15.8ms": as many as fit on a line; the caller frees. */
static char *causes_text(const struct report *report)
{
	enum { SHOWN = 4 };
	const struct wait_causes *causes = &report->summary->wait_causes;
	char *text = text_copy("");

	for (size_t i = 0; i < causes->count && i < SHOWN; i++) {
		const struct wait_cause *cause = &causes->list[i];
		const struct run_lane *queue =
			cause->lane == RUN_NONE ? NULL : &report->run->lanes[cause->lane];
		const char *name = cause->name ? cause->name : queue ? queue->name : NULL;
		char time[UNITS_BYTES];
		text_append(&text, ",", " for %s%s %s", cause->name || !queue ? "" : "queue ",
			!queue ? "what is not known"
			: name ? name
			       : "queue",
			units_time(time, cause->time_ns));
	}
	return text;
}

/* Prints how much of the devices' work has a name, and what threads waited for. */
static void print_devices(const struct printer *p)
{
	const struct summary *summary = p->report->summary;
	char share[UNITS_BYTES], busy[UNITS_BYTES], waited[UNITS_BYTES], part[UNITS_BYTES];

	if (summary->device_ns)
		say(p, "Devices", "%s of %s of commands is of bricks",
			units_percent(share, summary_device_coverage(summary)),
			units_time(busy, summary->device_ns));
	if (!summary->device_wait_ns || !summary->wait_causes.count || !summary->wall_ns)
		return;
	SCOPED char *causes = causes_text(p->report);
	say(p, "Waited", "%s, %s of the wall time:%s", units_time(waited, summary->device_wait_ns),
		units_percent(part, (double)summary->device_wait_ns / (double)summary->wall_ns),
		causes);
}

/* Counters: means of the steps that have them. */

/* Append "1.98ms task-clock (1.96 CPUs)", "12.3 page-faults", ... */
static void add_counter(char **text, const struct counters *c, enum step_phase phase, uint32_t kind)
{
	const struct counters_sum *sum = &c->phases[phase][kind];
	double mean = counters_mean(c, phase, kind);
	char number[UNITS_BYTES], most[UNITS_BYTES];

	if (kind == BRICK_COUNTER_TASK_CLOCK)
		text_append(text, ", ", "%s task-clock (%.2f CPUs busy)",
			units_time(number, (uint64_t)(mean + 0.5)),
			c->span_ns[phase] ? sum->sum / (double)c->span_ns[phase] : 0);
	else if (mean >= 100000)
		text_append(text, ", ", "%s %s", units_count(number, (uint64_t)(mean + 0.5)),
			counters_kind_name(kind));
	else
		text_append(text, ", ", "%s %s (at most %s)", units_number(number, mean),
			counters_kind_name(kind), units_count(most, (uint64_t)(sum->most + 0.5)));
}

static char *counters_text(const struct counters *c, enum step_phase phase)
{
	char time[UNITS_BYTES], *text = NULL;

	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++)
		if (c->phases[phase][kind].steps)
			add_counter(&text, c, phase, kind);
	if (text && counters_ipc(c, phase) >= 0)
		text_append(&text, ", ", "%.2f instructions per cycle", counters_ipc(c, phase));
	if (text && counters_mean(c, phase, COUNTERS_READING) >= 0)
		text_append(&text, "; ", "reading them took %s a step, outside of its time",
			units_time(
				time, (uint64_t)(counters_mean(c, phase, COUNTERS_READING) + 0.5)));
	return text;
}

/* One line for each brick that was counted. */
static void print_counted_bricks(const struct run *run, const struct terminal *terminal)
{
	const char *title = "Counted";

	for (uint32_t b = 0; b < run->brick_count; b++) {
		struct counters_brick sum = counters_of_brick(run, b);
		char cycles[UNITS_BYTES], instructions[UNITS_BYTES], misses[UNITS_BYTES];
		if (!sum.counted)
			continue;
		SCOPED char *rate = sum.cycles && sum.instructions
					    ? text_format("; %.2f instructions per cycle",
						      (double)sum.instructions / (double)sum.cycles)
					    : text_copy("");
		paragraph(terminal, LABEL, title,
			"%s: %s cycles, %s instructions, %s cache-misses in %llu executions%s",
			run->bricks[b].name, units_count(cycles, sum.cycles),
			units_count(instructions, sum.instructions),
			units_count(misses, sum.cache_misses), (unsigned long long)sum.counted,
			rate);
		title = "";
	}
}

static void print_counters(const struct run *run, const struct terminal *terminal)
{
	static const char *const phases[] = {
		"a prefill step", "a decode step", "a mixed step", "a warm-up step"};
	const char *title = "Counters";
	struct counters counters;

	report_counters(&counters, run);
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		SCOPED char *text = counters_text(&counters, phase);
		if (!text)
			continue;
		paragraph(terminal, LABEL, title, "%s: %s", phases[phase], text);
		title = "";
	}
	print_counted_bricks(run, terminal);
}

static void add_delay(char **text, const char *what, const struct queue_delay *delay)
{
	char p50[UNITS_BYTES], p95[UNITS_BYTES];
	if (delay->p50_ns == ANALYSIS_UNKNOWN)
		return;
	text_append(text, "", "; %s p50 %s", what, units_time(p50, delay->p50_ns));
	if (delay->p95_ns != ANALYSIS_UNKNOWN)
		text_append(text, ", ", "p95 %s", units_time(p95, delay->p95_ns));
}

static void print_queue(const struct printer *p, const struct queue_time *queue)
{
	const struct run_lane *lane = &p->report->run->lanes[queue->lane];
	char busy[UNITS_BYTES], idle[UNITS_BYTES], wall[UNITS_BYTES], commands[UNITS_BYTES];
	const char *name = lane->name && *lane->name ? lane->name : "queue";
	const char *backend = lane->backend ? lane->backend : "";
	SCOPED char *sources = report_sources(p->report, queue->sources), *delays = text_copy("");
	add_delay(&delays, "launch to start", &queue->launch);
	add_delay(&delays, "submission to start", &queue->submit);
	say(p, "Queue", "%s%s%s (%llu): busy %s, idle %s of %s; %s command%s%s; times from %s",
		backend, *backend ? ": " : "", name, (unsigned long long)lane->tid,
		units_time(busy, queue->busy_ns), units_time(idle, queue->idle_ns),
		units_time(wall, queue->wall_ns), units_count(commands, queue->commands),
		plural_s(queue->commands), delays, sources ? sources : "-");
}

static void print_queues(const struct printer *p)
{
	enum { MOST = 8 };
	const struct queue_times *queues = &p->report->summary->queues;
	for (size_t i = 0; i < queues->count && i < MOST; i++)
		if (queues->queues[i].commands)
			print_queue(p, &queues->queues[i]);
	if (queues->count > MOST)
		say(p, "", "%zu more: see --by queue", queues->count - MOST);
}

/* "0.32% (0.24% to 0.39%)"; the caller frees. */
static char *interval(const struct distortion *d)
{
	return text_format(
		"%.2f%% (%.2f%% to %.2f%%)", 100 * d->share, 100 * d->low, 100 * d->high);
}

static void print_distortion(const struct printer *p)
{
	const struct distortion *d = &p->report->distortion, *phases = p->report->phases;
	const struct step_phase_times *steps = p->report->summary->steps.phases;
	bool apart = p->report->summary->only == SUMMARY_ALL_PHASES && steps[STEP_PREFILL].count &&
		     steps[STEP_DECODE].count && phases[STEP_PREFILL].share >= 0 &&
		     phases[STEP_DECODE].share >= 0;
	SCOPED char *method = distortion_text(d);
	if (d->share < 0) {
		say(p, "Distortion", "unknown%s%s", method ? "; " : "", method ? method : "");
		return;
	}
	if (distortion_is_hidden(d)) {
		say(p, "Distortion",
			"not measurable on this busy machine: between %.2f%% and %.2f%%; %s",
			100 * d->low, 100 * d->high, method ? method : "");
		return;
	}
	SCOPED char *all = interval(d), *prefill = interval(&phases[STEP_PREFILL]);
	SCOPED char *decode = interval(&phases[STEP_DECODE]);
	const char *by = d->is_measured ? "Measured:" : "From";
	if (apart)
		say(p, "Distortion", "%s; prefill %s, decode %s. %s %s", all, prefill, decode, by,
			method ? method : "");
	else
		say(p, "Distortion", "%s. %s %s", all, by, method ? method : "");
}

static void print_losses(const struct printer *p)
{
	const struct losses *losses = &p->report->losses;
	SCOPED char *text =
		text_copy(losses->incomplete ? "the recording was never finished" : NULL);
	uint64_t count;
	char what[LOSS_BYTES];
	for (size_t k = 0; losses_describe(losses, k, &count, what); k++)
		text_append(&text, "; ", "%llu %s", (unsigned long long)count, what);
	terminal_begin(p->terminal, text ? STYLE_BAD : STYLE_PLAIN);
	say(p, "Losses", "%s",
		text			       ? text
		: p->report->run->off_cpu.lost ? "no records, but context switches: see Off CPU"
					       : "nothing was lost");
	terminal_end(p->terminal, text ? STYLE_BAD : STYLE_PLAIN);
}

void report_text(const struct report *report, FILE *out)
{
	struct terminal terminal;
	terminal_init(&terminal, out);
	struct printer p = {.report = report, .terminal = &terminal};
	print_origin(&p);
	print_machine(&p);
	print_selected(&p);
	report_headings(report, &terminal);
	fputc('\n', out);
	print_steps(&p);
	if (report->run->step_count || report->summary->row_count)
		fputc('\n', out);
	report_rows(report, &terminal);
	fputc('\n', out);
	print_coverage(&p);
	print_devices(&p);
	print_counters(report->run, &terminal);
	print_queues(&p);
	report_presence_text(report->run, &report->presence, &terminal, LABEL);
	print_distortion(&p);
	print_losses(&p);
	report_notes(report, &terminal);
}

void report_trust_text(const struct report *report, size_t width, FILE *out)
{
	const struct terminal terminal = {.out = out, .width = width};
	const struct printer p = {report, &terminal, .is_alone = true};
	print_coverage(&p);
	print_devices(&p);
	print_distortion(&p);
	print_losses(&p);
	report_headings(report, &terminal);
	report_notes(report, &terminal);
}
