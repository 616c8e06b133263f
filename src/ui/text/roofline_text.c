/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roofline for people: where the ceilings come from and what they are, a table for each phase,
 * and what is odd or missing. Called by `brick roofline`.
 */
#include <stdlib.h>

#include "base/date.h"
#include "ui/text/text.h"
#include "ui/text/terminal.h"
#include "ui/text/roofline_view.h"
#include "ui/text/text_table.h"

enum { LABEL = 10 };

struct printer {
	const struct roofline_view *view;
	const struct terminal *terminal;
};

static void print_origin(const struct printer *p)
{
	const struct ceilings *c = p->view->roofline->ceilings;
	char text[DATE_BYTES];
	const char *date = date_text(text, c->unix_ns, "%Y-%m-%d %H:%M UTC");

	say(p, "Ceilings", "of %s, measured %s%s, from %s", c->cpu[0] ? c->cpu : "an unknown CPU",
		date ? date : "at an unknown time", c->quick ? " in a hurry (--quick)" : "",
		p->view->where);
	if (!p->view->doubt)
		return;
	say_in(p, STYLE_WARN, "Doubt", "%s: OF ROOF may mean little", p->view->doubt);
}

/* Whether any row is placed under the ceilings of so many threads. */
static int is_used(const struct printer *p, uint32_t threads)
{
	const struct roofline *r = p->view->roofline;

	for (size_t i = 0; i < r->row_count; i++)
		if (!r->rows[i].on_device && r->rows[i].roof_threads == threads &&
			roofline_shows(p->view, &r->rows[i]))
			return 1;
	return 0;
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
		if (is_used(p, next))
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

static const struct table_column columns[] = {{"BRICK", 1, 0}, {"TIME", 0, 5}, {"SHARE", 0, 3},
	{"THREADS", 0, 4}, {"FLOP/B", 0, 0}, {"GFLOP/s", 0, 0}, {"GB/s", 0, 0}, {"BOUND", 1, 0},
	{"ROOF BY", 1, 2}, {"ROOF", 0, 1}, {"OF ROOF", 0, 0}};

/* Where not all that the shapes say was done: "<=". */
static void add_rate(struct table *table, const struct roofline_row *row, double rate)
{
	char number[UNITS_BYTES];

	table_format(table, "%s%.16s", row->flags & ROOFLINE_AT_MOST && rate >= 0 ? "<= " : "",
		units_number(number, rate));
}

static void add_row(struct table *table, const struct roofline_row *row)
{
	const char *bound = roofline_bound_name(row->bound);
	bool above = (row->flags & (ROOFLINE_ABOVE_COMPUTE | ROOFLINE_ABOVE_BANDWIDTH)) != 0;
	SCOPED char *roof = roofline_roof_text(row);

	table_row(table, above ? STYLE_BAD : STYLE_PLAIN);
	table_cell(table, row->name);
	table_time(table, row->wall_ns);
	table_percent(table, row->share);
	table_number(table, row->at_once);
	table_number(table, row->intensity);
	add_rate(table, row, row->flops_per_ns);
	add_rate(table, row, row->bytes_per_ns);
	table_cell(table, bound ? bound : row->on_device ? "(device)" : "-");
	table_cell(table, roof ? roof : "-");
	/* in GFLOP/s, or GB/s for what computes nothing */
	table_number(table, row->flops ? row->roof_flops_per_ns : row->roof_bytes_per_ns);
	if (row->roof_flops_per_ns < 0 && row->roof_bytes_per_ns < 0)
		table_cell(table, above ? "- !" : "-");
	else
		table_percent(table, 1 - row->distance);
}

static void print_phase(const struct printer *p, enum roofline_phase phase)
{
	static const char *const titles[ROOFLINE_PHASES] = {
		"Prefill", "Decode", "Mixed", "Warm-up", "Outside of steps"};
	const struct roofline *r = p->view->roofline;
	SCOPED_TO(table_destroy)
	struct table *table = table_create(columns, sizeof(columns) / sizeof(*columns));
	size_t rows = 0;

	for (size_t i = 0; i < r->row_count; i++)
		if (r->rows[i].phase == phase && roofline_shows(p->view, &r->rows[i])) {
			add_row(table, &r->rows[i]);
			rows++;
		}
	if (rows) {
		fputc('\n', p->terminal->out);
		terminal_print(p->terminal, STYLE_STRONG, titles[phase]);
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
			"%s in %s: %s GFLOP/s, where no more than %s were measured "
			"(+%.1f%%). Its FLOPs or its time cannot be right, or the ceilings "
			"are too low: measure them again on an idle machine.",
			row->name, phase_text(row), units_number(achieved, row->flops_per_ns),
			units_number(most, row->peak->rate.best),
			100 * ceilings_spread(&row->peak->rate));
	if (row->flags & ROOFLINE_ABOVE_BANDWIDTH)
		say(p, "Above",
			"%s in %s: %s GB/s, where no more than %s were measured (+%.1f%%). "
			"Its bytes or its time cannot be right, or its data stay in "
			"registers, or the ceilings are too low.",
			row->name, phase_text(row), units_number(achieved, row->bytes_per_ns),
			units_number(most, row->bandwidth->rate.best),
			100 * ceilings_spread(&row->bandwidth->rate));
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
		if (row->flags & ROOFLINE_AT_MOST)
			say(p, "At most",
				"%s in %s skips what its mask hides, where the mask could not be "
				"read, or reads experts that several tokens may share: its FLOPs "
				"and bytes are the most that it can be, and it has no roof here",
				row->name, phase_text(row));
		if (row->flags & ROOFLINE_NOT_ALL)
			say(p, "Missing",
				"%llu executions of %s in %s do not say what they did, and are "
				"left out with their time",
				(unsigned long long)row->silent, row->name, phase_text(row));
	}
}

static int has_device_rows(const struct printer *p)
{
	const struct roofline *r = p->view->roofline;

	for (size_t i = 0; i < r->row_count; i++)
		if (r->rows[i].on_device && roofline_shows(p->view, &r->rows[i]))
			return 1;
	return 0;
}

void roofline_text(const struct roofline_view *view, FILE *out)
{
	struct terminal terminal;
	struct printer p = {view, &terminal};
	size_t rows = 0;

	terminal_init(&terminal, out);
	print_origin(&p);
	print_ceilings(&p);
	print_device(&p);
	print_phase(&p, ROOFLINE_DECODE);
	print_phase(&p, ROOFLINE_PREFILL);
	print_phase(&p, ROOFLINE_MIXED);
	print_phase(&p, ROOFLINE_WARM_UP);
	print_phase(&p, ROOFLINE_OUTSIDE);
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
			"ROOF BY: the lowest measured ceiling that allows what was achieved; ROOF "
			"in GFLOP/s (GB/s where nothing is computed). OF ROOF: how much of it was "
			"reached.");
	else
		say(&p, "Note", "no brick says what it computed or moved");
	terminal_end(&terminal, STYLE_DIM);
}
