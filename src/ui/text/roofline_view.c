/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roofline for people: the ceilings and their origin, a table for each phase, and notes on odd
 * or missing values. And as JSON, schema brick/roofline/2.
 */
#include "ui/text/roofline_view.h"

#include <stdbool.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/date.h"
#include "ui/text/json_out.h"
#include "ui/text/phase_text.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

static bool roofline_shows(const struct roofline_view *view, const struct roofline_row *row)
{
	return view->phase == ROOFLINE_ALL_PHASES || (int)row->phase == view->phase;
}

/*
 * The roof of a row, "L3" or "AVX2 f32"; the caller frees. NULL: it has none. Decides as
 * roofline.c did, because the row's bound may be "latency", which tells neither.
 */
static char *roof_text(const struct roofline_row *row)
{
	if (row->distance < 0)
		return NULL;
	double of_peak = row->flops_per_ns / row->peak_per_ns;
	if (row->level && row->bytes_per_ns * row->level_share / row->bandwidth_per_ns >= of_peak)
		return text_copy(row->level);
	return text_format("%s %s", row->peak->isa, row->peak->type);
}

static const char *roofline_doubt(enum ceilings_doubt doubt)
{
	static const char *const why[] = {NULL,
		"the ceilings are of another CPU than the recording",
		"the ceilings were measured on another host than the recording",
		"the ceilings were measured with another number of CPUs",
		"the machine was busy when the ceilings were measured"};

	return why[doubt];
}

/* All reasons, in the order in which they are told. */
static const struct {
	enum roofline_flags flag;
	const char *why;
} no_roof[] = {
	{ROOFLINE_OFF_CPU,
		"threads were preempted, or slept as for pages, a tenth of the time or more"},
	{ROOFLINE_CROWDED,
		"other programs, or the host of this machine, took a tenth of all threads' time"},
	{ROOFLINE_NO_LEVEL,
		"nobody knows from which cache the data come (too few uses, or at a cache's edge)"},
	{ROOFLINE_DOUBTED, "the ceilings are in doubt ('brick ceilings --force' measures again)"},
	{ROOFLINE_ABOVE_COMPUTE, "more was computed than was ever measured"},
	{ROOFLINE_ABOVE_BANDWIDTH, "more was moved than was ever measured"},
	{ROOFLINE_NO_WORK, "FLOPs, bytes or time are not known"},
	{ROOFLINE_NO_CEILINGS, "no ceiling was measured ('brick ceilings')"},
	{ROOFLINE_AT_MOST, "FLOPs and bytes are only upper bounds (masks not read, experts that "
			   "tokens share)"},
};

enum { REASONS = sizeof(no_roof) / sizeof(*no_roof), LABEL = 10 };

const char *roofline_why_text(enum roofline_flags why)
{
	for (size_t i = 0; i < REASONS; i++)
		if (no_roof[i].flag == why)
			return no_roof[i].why;
	return NULL;
}

struct printer {
	const struct roofline_view *view;
	const struct terminal *terminal;
};

static void roofline_view_print_origin(const struct printer *p)
{
	const struct ceilings *c = p->view->roofline->ceilings;
	char text[DATE_BYTES];
	const char *date = date_text(text, c->unix_ns, "%Y-%m-%d %H:%M UTC");

	say(p, "Ceilings", "of %s, measured %s%s, from %s", c->cpu[0] ? c->cpu : "an unknown CPU",
		date ? date : "at an unknown time", c->quick ? " in a hurry (--quick)" : "",
		p->view->where);
	if (p->view->roofline->doubt)
		say_in(p, STYLE_WARN, "Doubt", "%s: no brick has a roof",
			roofline_doubt(p->view->roofline->doubt));
}

/* True if a row has its roof from the ceilings of `threads` threads. */
static bool roofline_view_is_used(const struct printer *p, uint32_t threads)
{
	const struct roofline *r = p->view->roofline;

	for (size_t i = 0; i < r->row_count; i++)
		if (!r->rows[i].on_device && r->rows[i].roof_threads == threads &&
			roofline_shows(p->view, &r->rows[i]))
			return true;
	return false;
}

static void print_ceilings_of(
	const struct printer *p, const struct ceilings *c, uint32_t threads, const char *label)
{
	const struct ceilings_compute *f32 = ceilings_peak(c, "f32", threads);
	char number[UNITS_BYTES];
	SCOPED char *text = f32 ? text_format("%s GFLOP/s in f32 (%s)",
					  units_number(number, f32->rate.best), f32->isa)
				: text_copy("arithmetic not measured");

	for (size_t i = c->level_count; i-- > 0;) {
		const struct ceilings_bandwidth *row =
			ceilings_fastest(c, c->levels[i].name, threads);
		if (row)
			text_append(&text, "; ", "%s %s GB/s", c->levels[i].name,
				units_number(number, row->rate.best));
	}
	say(p, label, "%s", text);
}

/* True if the rate is above the measured ceiling, which may be newer than the rate. */
static bool is_above(const struct ceilings *c, const struct ceilings_reached *row)
{
	const struct ceilings_compute *peak = ceilings_peak(c, row->level, row->threads);
	const struct ceilings_figure *measured = peak ? &peak->rate : NULL;

	if (row->bytes)
		ceilings_bandwidth_at(c, row->threads, row->bytes, &measured);
	return !measured || row->rate.best > measured->best;
}

/* Prints the best rates above the measured ceilings that recordings reached, this one included. */
static void print_reached(const struct printer *p)
{
	const struct ceilings *c = &p->view->roofline->raised;
	char number[UNITS_BYTES];

	for (size_t i = 0; i < c->reached_count; i++) {
		const struct ceilings_reached *row = &c->reached[i];
		if (roofline_view_is_used(p, row->threads) && is_above(c, row))
			say(p, "Raised", "%s of %u thread%s to %s %s: %s reached it in %s",
				row->level, row->threads, row->threads == 1 ? "" : "s",
				units_number(number, row->rate.best),
				row->bytes ? "GB/s" : "GFLOP/s", row->brick, row->recording);
	}
}

static void print_ceilings(const struct printer *p)
{
	const struct ceilings *c = p->view->roofline->ceilings;
	uint32_t last = 0;
	char label[32];

	/* Ascending, each once. */
	for (;;) {
		uint32_t next = 0;
		for (size_t i = 0; i < c->compute_count; i++) {
			uint32_t n = c->compute[i].threads;
			if (n > last && (!next || n < next))
				next = n;
		}
		if (!next)
			return;
		snprintf(label, sizeof(label), "%u thread%s", next, next == 1 ? "" : "s");
		if (roofline_view_is_used(p, next))
			print_ceilings_of(p, c, next, label);
		last = next;
	}
}

static void print_device(const struct printer *p)
{
	const struct ceilings_device *device = p->view->roofline->device;

	if (!device)
		return;
	say(p, "Device",
		"%s, by %s; its ceilings are those of kernels in f32, without its units for "
		"matrices",
		device->name, device->backend);
	print_ceilings_of(p, &device->can, 1, "");
}

static const struct table_column roofline_view_columns[] = {{"BRICK", 1, 0}, {"TIME", 0, 5},
	{"SHARE", 0, 3}, {"THREADS", 0, 4}, {"FLOP/B", 0, 0}, {"GFLOP/s", 0, 0}, {"GB/s", 0, 0},
	{"DATA IN", 1, 0}, {"REUSE", 0, 6}, {"BOUND", 1, 0}, {"ROOF BY", 1, 2}, {"ROOF", 0, 1},
	{"OF ROOF", 0, 0}};

/* "<=" where less may have been done than shapes say. */
static void add_rate(struct table *table, const struct roofline_row *row, double rate)
{
	char number[UNITS_BYTES];

	table_format(table, "%s%.16s", row->flags & ROOFLINE_AT_MOST && rate >= 0 ? "<= " : "",
		units_number(number, rate));
}

static void roofline_view_add_row(struct table *table, const struct roofline_row *row)
{
	const char *bound = roofline_bound_name(row->bound);
	bool above = (row->flags & (ROOFLINE_ABOVE_COMPUTE | ROOFLINE_ABOVE_BANDWIDTH)) != 0;
	SCOPED char *roof = roof_text(row);

	table_row(table, above ? STYLE_BAD : STYLE_PLAIN);
	table_cell(table, row->name);
	table_time(table, row->team_ns);
	table_percent(table, row->share);
	table_number(table, row->at_once);
	table_number(table, row->intensity);
	add_rate(table, row, row->flops_per_ns);
	add_rate(table, row, row->bytes_per_ns);
	table_cell(table, row->level ? row->level : "-");
	if (row->level) {
		double bytes = (double)row->reuse_bytes;
		char number[UNITS_BYTES];
		if (bytes >= 1 << 20)
			table_format(table, "%s MiB", units_number(number, bytes / (1 << 20)));
		else
			table_format(table, "%s KiB", units_number(number, bytes / (1 << 10)));
	} else
		table_cell(table, "-");
	table_cell(table, bound ? bound : row->on_device ? "(device)" : "-");
	table_cell(table, roof ? roof : "-");
	/* in GFLOP/s, or GB/s for a brick without arithmetic */
	table_number(table, row->flops ? row->roof_flops_per_ns : row->roof_bytes_per_ns);
	if (row->distance < 0)
		table_cell(table, above ? "- !" : "-");
	else
		table_percent(table, 1 - row->distance);
}

static void roofline_view_print_phase(const struct printer *p, enum roofline_phase phase)
{
	const struct roofline *r = p->view->roofline;
	SCOPED_TO(table_destroy)
	struct table *table = table_create(roofline_view_columns,
		sizeof(roofline_view_columns) / sizeof(*roofline_view_columns));
	size_t rows = 0;

	for (size_t i = 0; i < r->row_count; i++)
		if (r->rows[i].phase == phase && roofline_shows(p->view, &r->rows[i])) {
			roofline_view_add_row(table, &r->rows[i]);
			rows++;
		}
	if (rows) {
		fputc('\n', p->terminal->out);
		terminal_print(p->terminal, STYLE_STRONG,
			phase == ROOFLINE_OUTSIDE ? "Outside of steps" : phase_title((int)phase));
		fputc('\n', p->terminal->out);
		table_hide_empty(table);
		table_print(table, p->terminal);
	}
}

static const char *phase_text(const struct roofline_row *row)
{
	const char *name = roofline_phase_name(row->phase);

	return name ? name : "no step";
}

static void print_above(const struct printer *p, const struct roofline_row *row)
{
	char achieved[UNITS_BYTES], most[UNITS_BYTES];

	if (row->flags & ROOFLINE_ABOVE_COMPUTE)
		say(p, "Above",
			"%s in %s: %s GFLOP/s, where no more than %s were measured. Its FLOPs or "
			"its time cannot be right, or its executions are too few to raise a "
			"ceiling.",
			row->name, phase_text(row), units_number(achieved, row->flops_per_ns),
			units_number(most, row->peak_per_ns));
	if (row->flags & ROOFLINE_ABOVE_BANDWIDTH)
		say(p, "Above",
			"%s in %s: %s GB/s from %s, where no more than %s were measured. Its "
			"bytes, its time or where its data lie cannot be right, or its executions "
			"are too "
			"few to raise a ceiling.",
			row->name, phase_text(row),
			units_number(achieved, row->bytes_per_ns * row->level_share), row->level,
			units_number(most, row->bandwidth_per_ns));
}

/* A line for all bricks that have no roof for one reason: "A, B in decode; C in prefill: ...". */
static void print_no_roof(const struct printer *p, enum roofline_flags why)
{
	const struct roofline *r = p->view->roofline;
	const char *last = NULL;
	SCOPED char *names = NULL;

	for (size_t i = 0; i < r->row_count; i++) {
		const struct roofline_row *row = &r->rows[i];
		const char *phase = phase_text(row);
		if (!roofline_shows(p->view, row) || roofline_why_none(row) != why ||
			(why == ROOFLINE_NO_CEILINGS && row->on_device))
			continue;
		if (last && strcmp(last, phase))
			text_append(&names, " in ", "%s", last);
		text_append(&names, last && strcmp(last, phase) ? "; " : ", ", "%s", row->name);
		last = phase;
	}
	if (names)
		say(p, "No roof", "%s in %s: %s", names, last, roofline_why_text(why));
}

static void print_oddities(const struct printer *p)
{
	const struct roofline *r = p->view->roofline;

	for (size_t i = 0; i < r->row_count; i++) {
		const struct roofline_row *row = &r->rows[i];
		if (!roofline_shows(p->view, row))
			continue;
		print_above(p, row);
		if (row->flags & ROOFLINE_OTHER_THREADS)
			say(p, "Threads", "%s in %s ran on %u threads: ceilings of %u are shown",
				row->name, phase_text(row), row->threads, row->roof_threads);
		if (row->flags & ROOFLINE_NOT_ALL)
			say(p, "Missing",
				"%llu executions of %s in %s do not say what they did, and are "
				"left out with their time",
				(unsigned long long)row->silent, row->name, phase_text(row));
	}
	/* lines above have told rows above their ceiling, and doubt in all ceilings */
	for (size_t i = 0; i < REASONS; i++)
		if (!(no_roof[i].flag & (ROOFLINE_ABOVE_COMPUTE | ROOFLINE_ABOVE_BANDWIDTH)) &&
			!(r->doubt && no_roof[i].flag == ROOFLINE_DOUBTED))
			print_no_roof(p, no_roof[i].flag);
}

static bool has_device_rows(const struct printer *p)
{
	const struct roofline *r = p->view->roofline;

	for (size_t i = 0; i < r->row_count; i++)
		if (r->rows[i].on_device && roofline_shows(p->view, &r->rows[i]))
			return true;
	return false;
}

void roofline_text(const struct roofline_view *view, FILE *out)
{
	struct terminal terminal;
	struct printer p = {view, &terminal};
	size_t rows = 0;

	terminal_init(&terminal, out);
	roofline_view_print_origin(&p);
	print_ceilings(&p);
	print_reached(&p);
	print_device(&p);
	for (int i = 0; i < STEP_PHASES; i++)
		roofline_view_print_phase(&p, (enum roofline_phase)step_phase_order[i]);
	roofline_view_print_phase(&p, ROOFLINE_OUTSIDE);
	for (size_t i = 0; i < view->roofline->row_count; i++)
		rows += (size_t)roofline_shows(view, &view->roofline->rows[i]);
	fputc('\n', out);
	print_oddities(&p);
	if (has_device_rows(&p) && !view->roofline->device)
		say(&p, "Devices",
			"have no ceilings here: what they achieved is shown as it is ('brick "
			"ceilings' measures those that OpenCL and Vulkan find)");
	terminal_begin(&terminal, STYLE_DIM);
	if (rows)
		say(&p, "Note",
			"FLOPs and bytes are computed from shapes and types, times are measured. "
			"SHARE: as in brick report. TIME: with at least one thread in the brick. "
			"DATA IN: the smallest cache that still holds the data when they are "
			"used again, or memory. ROOF BY: the ceiling that limits the brick; ROOF "
			"in GFLOP/s (GB/s where nothing is computed). A bandwidth's roof is that "
			"for as many bytes as lie between two uses of the data, so it can differ "
			"from the figure above. OF ROOF: how much of the roof was reached.");
	else
		say(&p, "Note", "no brick says what it computed or moved");
	terminal_end(&terminal, STYLE_DIM);
}

static json_t *roofline_view_rate(double per_ns)
{
	return json_rate(per_ns < 0 ? -1 : per_ns * 1e9);
}

static json_t *bandwidths(const struct roofline_row *row)
{
	const struct ceilings *c = row->can;
	json_t *array = json_array();

	for (size_t i = 0; c && i < c->level_count && row->roof_threads; i++) {
		const struct ceilings_bandwidth *level =
			ceilings_fastest(c, c->levels[i].name, row->roof_threads);
		json_t *object = json_object();
		json_put(object, "level", json_text(c->levels[i].name));
		json_put(object, "bytes_per_s", roofline_view_rate(level ? level->rate.best : -1));
		json_put(object, "share",
			json_rate(level && row->bytes_per_ns >= 0
					  ? row->bytes_per_ns / level->rate.best
					  : -1));
		json_add(array, object);
	}
	return array;
}

static json_t *roof(const struct roofline_row *row)
{
	json_t *object = json_object();
	SCOPED char *by = roof_text(row);

	json_put(object, "threads",
		row->roof_threads ? json_integer(row->roof_threads) : json_null());
	json_put(object, "by", json_text(by));
	json_put(object, "flops_per_s",
		roofline_view_rate(row->flops ? row->roof_flops_per_ns : -1));
	json_put(object, "bytes_per_s", roofline_view_rate(row->roof_bytes_per_ns));
	json_put(object, "peak_flops_per_s", roofline_view_rate(row->peak ? row->peak_per_ns : -1));
	json_put(object, "peak_isa", json_text(row->peak ? row->peak->isa : NULL));
	json_put(object, "peak_type", json_text(row->peak ? row->peak->type : NULL));
	json_put(object, "bandwidth_level", json_text(row->level));
	json_put(object, "bandwidth_bytes_per_s",
		roofline_view_rate(row->level ? row->bandwidth_per_ns : -1));
	json_put(object, "reuse_bytes", row->level ? json_number(row->reuse_bytes) : json_null());
	json_put(object, "level_share", json_rate(row->level ? row->level_share : -1));
	json_put(object, "latency_ns", json_rate(row->floor_ns));
	json_put(object, "levels", bandwidths(row));
	return object;
}

static json_t *flags(const struct roofline_row *row)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {
		{ROOFLINE_ABOVE_COMPUTE, "above-compute"},
		{ROOFLINE_ABOVE_BANDWIDTH, "above-bandwidth"},
		{ROOFLINE_OTHER_THREADS, "other-threads"},
		{ROOFLINE_NOT_ALL, "not-all"},
		{ROOFLINE_AT_MOST, "at-most"},
		{ROOFLINE_RAISED, "raised"},
		{ROOFLINE_OFF_CPU, "off-cpu"},
		{ROOFLINE_DOUBTED, "doubted"},
		{ROOFLINE_NO_LEVEL, "no-level"},
		{ROOFLINE_CROWDED, "crowded"},
		{ROOFLINE_NO_WORK, "no-work"},
		{ROOFLINE_NO_CEILINGS, "no-ceilings"},
	};
	json_t *array = json_array();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (row->flags & names[i].flag)
			json_add(array, json_text(names[i].name));
	return array;
}

static json_t *roofline_view_row_json(const struct roofline_row *row)
{
	json_t *object = json_object();

	json_put_texts(object, row, name, category);
	json_put(object, "phase", json_text(roofline_phase_name(row->phase)));
	json_put(object, "device", json_boolean(row->on_device));
	json_put_numbers(object, row, count, silent, wall_ns, team_ns, busy_ns);
	json_put_rates(object, row, mean_ns, share, at_once);
	json_put_numbers(object, row, threads, flops, bytes);
	json_put(object, "work_source", json_text("computed from shapes"));
	json_put(object, "flops_per_s", roofline_view_rate(row->flops_per_ns));
	json_put(object, "bytes_per_s", roofline_view_rate(row->bytes_per_ns));
	json_put(object, "intensity", json_rate(row->intensity));
	json_put(object, "bound", json_text(roofline_bound_name(row->bound)));
	json_put(object, "distance", json_signed(row->distance < 0 ? NAN : row->distance));
	json_put(object, "roof", roof(row));
	json_put(object, "flags", flags(row));
	return object;
}

json_t *roofline_to_json(const struct roofline_view *view)
{
	const struct roofline *r = view->roofline;
	const struct ceilings *c = r->ceilings;
	json_t *root = json_object(), *rows = json_array(), *from = NULL;

	json_put(root, "schema", json_text("brick/roofline/2"));
	if (c) {
		from = json_object();
		json_put(from, "file", json_text(view->where));
		json_put_texts(from, c, host, cpu);
		json_put(from, "measured_unix_ns", json_number(c->unix_ns));
		json_put(from, "quick", json_boolean(c->quick));
		json_put(from, "doubt", json_text(roofline_doubt(r->doubt)));
		json_put(from, "device", json_text(r->device ? r->device->name : NULL));
	}
	json_put(root, "ceilings", from ? from : json_null());
	for (size_t i = 0; i < r->row_count; i++)
		if (roofline_shows(view, &r->rows[i]))
			json_add(rows, roofline_view_row_json(&r->rows[i]));
	json_put(root, "bricks", rows);
	return root;
}
