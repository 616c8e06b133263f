/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which columns a report has, which of them go first when the terminal is narrow, and the notes
 * below the table. Called by report_text().
 */
#include "view/report_rows.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "view/memory.h"
#include "view/table.h"
#include "view/text.h"
#include "view/units.h"
#include "trace/text.h"

enum column {
	COLUMN_NAME,
	COLUMN_CATEGORY,
	COLUMN_SHARE,
	COLUMN_SHAPE,
	COLUMN_SELF,
	COLUMN_DEVICE,
	COLUMN_TOTAL,
	COLUMN_WAIT,
	COLUMN_COUNT,
	COLUMN_AVG,
	COLUMN_MIN,
	COLUMN_P50,
	COLUMN_P95,
	COLUMN_P99,
	COLUMN_MAX,
	COLUMN_ELEMENTS,
	COLUMN_BYTES,
	COLUMN_FLOPS,
	COLUMN_GB_S,
	COLUMN_GFLOP_S,
	COLUMN_BUSY,
	COLUMN_IDLE,
	COLUMN_LAUNCH_P50,
	COLUMN_LAUNCH_P95,
	COLUMN_SOURCE,
	COLUMNS,
};

static const struct table_column columns_of_rows[COLUMNS] = {
	[COLUMN_NAME] = {"", 1, 0},
	[COLUMN_CATEGORY] = {"CATEGORY", 1, 12},
	[COLUMN_SHARE] = {"SHARE", 0, 0},
	[COLUMN_SHAPE] = {"GRID BLOCK", 1, 6},
	[COLUMN_SELF] = {"SELF", 0, 1},
	[COLUMN_DEVICE] = {"DEVICE", 0, 2},
	[COLUMN_TOTAL] = {"TOTAL", 0, 5},
	[COLUMN_WAIT] = {"WAIT", 0, 6},
	[COLUMN_COUNT] = {"COUNT", 0, 2},
	[COLUMN_AVG] = {"AVG", 0, 3},
	[COLUMN_MIN] = {"MIN", 0, 11},
	[COLUMN_P50] = {"P50", 0, 4},
	[COLUMN_P95] = {"P95", 0, 9},
	[COLUMN_P99] = {"P99", 0, 7},
	[COLUMN_MAX] = {"MAX", 0, 10},
	[COLUMN_ELEMENTS] = {"ELEMENTS", 0, 14},
	[COLUMN_BYTES] = {"BYTES", 0, 15},
	[COLUMN_FLOPS] = {"FLOPS", 0, 16},
	[COLUMN_GB_S] = {"GB/s", 0, 8},
	[COLUMN_GFLOP_S] = {"GFLOP/s", 0, 8},
	[COLUMN_BUSY] = {"BUSY", 0, 4},
	[COLUMN_IDLE] = {"IDLE", 0, 5},
	[COLUMN_LAUNCH_P50] = {"LAUNCH P50", 0, 6},
	[COLUMN_LAUNCH_P95] = {"LAUNCH P95", 0, 8},
	[COLUMN_SOURCE] = {"SOURCE", 1, 17},
};

typedef char cells[COLUMNS][UNITS_BYTES];

/* "(16,1,1) (256,1,1)" of the shape that ran most often, "h2d" of a transfer. The caller frees. */
static char *shape_of(const struct report *report, const struct summary_row *row)
{
	if (row->kernel == RUN_NONE)
		return xstrdup("-");
	const struct run_kernel *k = &report->run->kernels[row->kernel];
	if (!k->grid[0])
		return xstrdup(k->kind == BRICK_KERNEL_COMPUTE ? "-" : text_kernel_kind(k->kind));
	if (!k->block[0])
		return xasprintf("(%u,%u,%u) -", k->grid[0], k->grid[1], k->grid[2]);
	return xasprintf("(%u,%u,%u) (%u,%u,%u)", k->grid[0], k->grid[1], k->grid[2], k->block[0],
		k->block[1], k->block[2]);
}

static bool is_of_devices(const struct summary *summary)
{
	return summary->by == SUMMARY_BY_KERNEL || summary->by == SUMMARY_BY_QUEUE;
}

static void fill_queue(cells text, const struct report *report, const struct summary_row *row)
{
	const struct queue_time *queue = &report->summary->queues.queues[row->id];
	units_time(text[COLUMN_BUSY], queue->busy_ns);
	units_time(text[COLUMN_IDLE], queue->idle_ns);
	units_time(text[COLUMN_LAUNCH_P50], queue->launch.p50_ns);
	units_time(text[COLUMN_LAUNCH_P95], queue->launch.p95_ns);
}

static void add_row(struct table *table, const struct report *report, const struct summary_row *row)
{
	cells text;
	const char *shown[COLUMNS];
	for (int i = 0; i < COLUMNS; i++)
		shown[i] = strcpy(text[i], "-");
	char *shape = shape_of(report, row);
	shown[COLUMN_SHAPE] = shape;
	if (report->summary->by == SUMMARY_BY_QUEUE)
		fill_queue(text, report, row);
	/* a row of a device has no other time than its own */
	if (!is_of_devices(report->summary))
		units_time(text[COLUMN_DEVICE], row->device_ns);
	char *name = text_safe(row->name), *category = text_safe(row->category);
	char *sources = report_sources(report, row->sources);
	shown[COLUMN_NAME] = name;
	shown[COLUMN_CATEGORY] = category;
	shown[COLUMN_SOURCE] = sources ? sources : "-";
	if (row->count || !row->on_device) {
		units_percent(text[COLUMN_SHARE], row->share);
		units_time(text[COLUMN_SELF], row->self_ns);
		units_time(text[COLUMN_TOTAL], row->total_ns);
		units_time(text[COLUMN_WAIT], row->wait_ns);
		units_count(text[COLUMN_COUNT], row->count);
	}
	units_time(text[COLUMN_AVG], row->avg_ns);
	units_time(text[COLUMN_MIN], row->min_ns);
	units_time(text[COLUMN_P50], row->p50_ns);
	units_time(text[COLUMN_P95], row->p95_ns);
	units_time(text[COLUMN_P99], row->p99_ns);
	units_time(text[COLUMN_MAX], row->max_ns);
	units_count(text[COLUMN_ELEMENTS], row->elements);
	units_bytes(text[COLUMN_BYTES], row->bytes);
	units_count(text[COLUMN_FLOPS], row->flops);
	units_number(text[COLUMN_GB_S], row->bytes_per_ns);
	units_number(text[COLUMN_GFLOP_S], row->flops_per_ns);
	table_add(table, shown, STYLE_PLAIN);
	free(shape);
	free(sources);
	free(category);
	free(name);
}

/* A row with a name, a share and a time only. */
static void add_short(struct table *table, const char *name, double share, uint64_t ns)
{
	char percent[UNITS_BYTES], time[UNITS_BYTES];
	const char *shown[COLUMNS] = {NULL};
	shown[COLUMN_NAME] = name;
	shown[COLUMN_SHARE] = units_percent(percent, share);
	shown[COLUMN_SELF] = units_time(time, ns);
	table_add(table, shown, STYLE_DIM);
}

/* What --top leaves away. */
static void add_others(struct table *table, const struct report *report)
{
	const struct summary *summary = report->summary;
	uint64_t self_ns = 0;
	double share = 0;
	size_t left = summary->row_count - report->shown;
	if (!left)
		return;
	for (size_t i = report->shown; i < summary->row_count; i++) {
		self_ns += summary->rows[i].self_ns;
		share += summary->rows[i].share > 0 ? summary->rows[i].share : 0;
	}
	char *name = xasprintf("%zu more row%s", left, left == 1 ? "" : "s");
	add_short(table, name, summary->wall_ns || is_of_devices(summary) ? share : -1, self_ns);
	free(name);
}

/* What there was no room for, or NULL. The caller frees. */
static char *print_main(const struct report *report, FILE *out, const struct terminal *terminal)
{
	const struct summary *summary = report->summary;
	struct table_column columns[COLUMNS];
	char title[16];
	memcpy(columns, columns_of_rows, sizeof(columns));
	snprintf(title, sizeof(title), "%s", summary_by_name(summary->by));
	for (char *c = title; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	columns[COLUMN_NAME].title = title;

	struct table *table = table_create(columns, COLUMNS);
	for (size_t i = 0; i < report->shown; i++)
		add_row(table, report, &summary->rows[i]);
	add_others(table, report);
	if (summary->wall_ns && !is_of_devices(summary))
		add_short(table, "unattributed", 1 - summary->coverage, summary->unattributed_ns);
	table_hide_empty(table);
	table_print(table, out, terminal);
	char *left_out = table_left_out(table, terminal);
	table_destroy(table);
	return left_out;
}

static char *bar(double share, size_t width, bool utf8)
{
	/* Eighths of a block: full, and from one to seven eighths. */
	static const char *const parts[] = {"", "\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d",
		"\xe2\x96\x8c", "\xe2\x96\x8b", "\xe2\x96\x8a", "\xe2\x96\x89"};
	double cells = share > 0 ? (share < 1 ? share : 1) * (double)width : 0;
	size_t eighths = (size_t)(cells * 8 + 0.5);
	char *text = xcalloc(3 * width + 4, 1);
	for (size_t i = 0; i < (utf8 ? eighths / 8 : (size_t)(cells + 0.5)); i++)
		strcat(text, utf8 ? "\xe2\x96\x88" : "#");
	if (utf8)
		strcat(text, parts[eighths % 8]);
	return text;
}

static void print_categories(
	const struct report *report, FILE *out, const struct terminal *terminal)
{
	static const struct table_column columns[] = {{"CATEGORY", 1, 0}, {"SHARE", 0, 0},
		{"SELF", 0, 1}, {"DEVICE", 0, 2}, {"COUNT", 0, 4}, {"", 1, 3}};
	const struct summary *summary = report->summary;
	struct table *table = table_create(columns, 6);
	for (size_t i = 0; i < summary->category_count; i++) {
		const struct summary_row *row = &summary->categories[i];
		char share[UNITS_BYTES], self[UNITS_BYTES], count[UNITS_BYTES];
		char device[UNITS_BYTES];
		char *name = text_safe(row->name), *blocks = bar(row->share, 30, terminal->utf8);
		const char *cells[] = {name, units_percent(share, row->share),
			units_time(self, row->self_ns), units_time(device, row->device_ns),
			units_count(count, row->count), blocks};
		table_add(table, cells, STYLE_PLAIN);
		free(blocks);
		free(name);
	}
	if (summary->wall_ns) {
		char share[UNITS_BYTES], time[UNITS_BYTES];
		char *blocks = bar(1 - summary->coverage, 30, terminal->utf8);
		const char *cells[] = {"unattributed", units_percent(share, 1 - summary->coverage),
			units_time(time, summary->unattributed_ns), "", "", blocks};
		table_add(table, cells, STYLE_DIM);
		free(blocks);
	}
	table_hide_empty(table);
	table_print(table, out, terminal);
	table_destroy(table);
}

static void print_footnote(const struct report *report, const char *left_out, FILE *out,
	const struct terminal *terminal)
{
	bool places = report->summary->by == SUMMARY_BY_LAYER ||
		      report->summary->by == SUMMARY_BY_PHASE ||
		      report->summary->by == SUMMARY_BY_THREAD;
	const char *phase = report_phase_name(report->summary->only);
	char *wall =
		report->run->step_count
			? xasprintf("SHARE is of the wall time of the %s%ssteps, on the thread "
				    "that runs them",
				  phase ? phase : "", phase ? " " : "")
			: xstrdup("SHARE is of the lifetimes of all threads");
	if (is_of_devices(report->summary)) {
		free(wall);
		wall = xstrdup(
			"SHARE is of the time of all commands of all queues, SELF is without "
			"what was nested");
	}
	char *text = xasprintf("%s%s%s%s%s%s", wall, places ? " (waiting included)" : "",
		is_of_devices(report->summary) ? "." : "; all other times add up all threads.",
		left_out ? " No room for " : "", left_out ? left_out : "", left_out ? "." : "");
	free(wall);
	fputs(terminal_style_begin(terminal, STYLE_DIM), out);
	text_wrap(out, terminal->width ? terminal->width : 100, 0, "", text);
	fputs(terminal_style_end(terminal, STYLE_DIM), out);
	free(text);
}

void report_rows(const struct report *report, FILE *out, const struct terminal *terminal)
{
	if (!report->summary->row_count) {
		text_wrap(out, terminal->width ? terminal->width : 100, 0, "",
			is_of_devices(report->summary)
				? "No queue of a device was recorded. Those of OpenCL, Vulkan and "
				  "CUDA programs are, and what an engine hands to brick/device.h; "
				  "'brick doctor' says which work on this machine."
				: "No bricks were recorded. What can be seen into are programs "
				  "that use ggml through shared libraries, use OpenCL, Vulkan or "
				  "CUDA, or have libbrick inside; 'brick doctor' looks at an "
				  "engine's libraries. With --mode none nothing is recorded.");
		return;
	}
	char *left_out = print_main(report, out, terminal);
	print_footnote(report, left_out, out, terminal);
	free(left_out);
	if (report->summary->by != SUMMARY_BY_BRICK)
		return;
	fputc('\n', out);
	print_categories(report, out, terminal);
}
