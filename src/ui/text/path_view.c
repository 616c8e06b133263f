/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path for people: the gain of faster bricks, threads, the longest parts, and unknown
 * waits. And as JSON, schema brick/path/1: times in ns, rates per second, null where
 * unknown.
 */
#include "ui/text/path_view.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/statistics/unknown.h"
#include "base/order.h"
#include "ui/text/json_out.h"
#include "analysis/walk/step_index.h"
#include "ui/text/phase_text.h"
#include "ui/text/provenance.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

enum { LABEL = 13, HOPS = 12 };

struct printer {
	const struct path_view *view;
	const struct path_section *section;
	const struct terminal *terminal;
};

static void path_view_print_heading(const struct printer *p)
{
	const struct path_section *s = p->section;
	char took[UNITS_BYTES], count[UNITS_BYTES], rate[UNITS_BYTES];
	const char *label = phase_title(s->phase);

	units_time(took, s->measured_ns);
	units_number(rate, path_tokens_per_s(s, s->measured_ns));
	SCOPED char *in =
		s->tokens ? text_format(": %s token%s in %s, %s tokens/s",
				    units_count(count, s->tokens), plural_s(s->tokens), took, rate)
			  : text_format(" in %s", took);
	if (s->phase == STEP_PHASES)
		say(p, label,
			"no steps were recorded: the path of %s, from its first brick to its last",
			took);
	else if (s->step != RUN_NONE)
		say(p, label, "step %u of %u%s", step_number(p->view->run, p->view->index, s->step),
			step_numbers(p->view->run, p->view->index), in);
	else
		say(p, label, "%llu step%s%s", (unsigned long long)s->steps, plural_s(s->steps),
			in);
	if (provenance_steps(p->view->run))
		say(p, "Steps", "%s", provenance_steps(p->view->run));
}

static const struct table_column path_view_columns[] = {{"BRICK", 1, 0}, {"CATEGORY", 1, 6},
	{"ON PATH", 0, 1}, {"OF PATH", 0, 0}, {"ALL THREADS", 0, 4}, {"COUNT", 0, 5},
	{"SLACK", 0, 3}, {"10% LESS", 0, 2}, {"10% GAIN", 0, 0}, {"NO TIME", 0, 2},
	{"MOST GAIN", 0, 0}};

/*
 * Two cells: the section's tokens per second with the change, or its time if it has no tokens; and
 * the gain.
 */
static void path_view_add_outcome(
	struct table *table, const struct path_section *s, const struct path_row *row, uint64_t ns)
{
	double rate = path_tokens_per_s(s, ns);

	/* a part without a known cause cannot be made shorter */
	if (row->rank == PATH_WAIT && !s->counts.barriers) {
		table_cell(table, "-");
		table_cell(table, "-");
		return;
	}
	char text[UNITS_BYTES];
	if (rate >= 0)
		table_format(table, "%s tok/s", units_number(text, rate));
	else
		table_time(table, ns);
	table_format(table, ns ? "+%.1f%%" : "-", 100 * ((double)s->length_ns / (double)ns - 1));
}

static double path_view_share_of(const struct path_section *s, uint64_t ns)
{
	return known_ratio(ns, s->length_ns);
}

/* On a single thread the path holds everything, and nothing has slack. */
static bool is_one_lane(const struct path_section *s)
{
	return s->lane_count < 2;
}

static bool has_slack(const struct path_section *s)
{
	for (size_t i = 0; i < s->row_count && !is_one_lane(s); i++)
		if (s->rows[i].slack_max_ns && s->rows[i].slack_max_ns != ANALYSIS_UNKNOWN)
			return true;
	return false;
}

/* True if the row is large enough to be shown. */
static bool path_view_matters(const struct path_section *s, const struct path_row *row)
{
	return 200 * (double)row->on_path_ns >= (double)s->length_ns;
}

/* Add the rows to be shown; returns how many. */
static size_t path_view_add_rows(const struct printer *p, struct table *table)
{
	const struct path_section *s = p->section;
	size_t shown = 0;

	for (size_t i = 0; i < s->row_count; i++) {
		if (p->view->top ? shown == p->view->top
				 : !p->view->all && !path_view_matters(s, &s->rows[i]))
			continue;
		const struct path_row *row = &s->rows[i];
		table_row(table, row->on_path_ns ? STYLE_PLAIN : STYLE_DIM);
		table_cell(table, row->name);
		table_cell(table, row->category);
		table_estimate(table, row->on_path_ns, row->estimated);
		table_percent(table, path_view_share_of(s, row->on_path_ns));
		/* on a single lane the same as on the path */
		table_estimate(
			table, is_one_lane(s) ? ANALYSIS_UNKNOWN : row->own_ns, row->estimated);
		table_count(table, row->count ? row->count : ANALYSIS_UNKNOWN);
		table_time(table, has_slack(s) ? row->slack_mean_ns : ANALYSIS_UNKNOWN);
		path_view_add_outcome(table, s, row, row->less_ns);
		path_view_add_outcome(table, s, row, row->nothing_ns);
		shown++;
	}
	return shown;
}

static void path_view_print_rows(const struct printer *p)
{
	const struct path_section *s = p->section;
	struct table *table = table_create(
		path_view_columns, sizeof(path_view_columns) / sizeof(*path_view_columns));
	size_t hidden = s->row_count - path_view_add_rows(p, table);

	table_hide_empty(table);
	table_print(table, p->terminal);
	SCOPED char *columns_left = table_left_out(table, p->terminal);
	table_destroy(table);
	SCOPED char *left = NULL;
	if (hidden)
		text_append(&left, "", "%zu more row%s%s. ", hidden, plural_s(hidden),
			p->view->top  ? ""
			: hidden == 1 ? ", below 0.5% of the path (--all)"
				      : ", each below 0.5% of the path (--all)");
	terminal_begin(p->terminal, STYLE_DIM);
	paragraph(p->terminal, 0, "",
		"%s10%% LESS, NO TIME: %s if the brick took 10%% less time, or none; GAIN: how "
		"much faster that is.%s%s%s%s",
		left ? left : "", s->tokens ? "tokens/s" : "how long all would take",
		has_slack(s) ? " SLACK: what an execution could have taken longer without delaying "
			       "the end, on average."
			     : "",
		columns_left ? " Hidden columns: " : "", columns_left ? columns_left : "",
		columns_left ? "." : "");
	terminal_end(p->terminal, STYLE_DIM);
}

static void path_view_add_lane(struct table *table, const struct run_lane *lane)
{
	const char *what = lane->kind == BRICK_LANE_QUEUE ? "queue" : "thread";

	table_format(table, "%s (%llu)", lane->name && *lane->name ? lane->name : what,
		(unsigned long long)lane->tid);
}

static void print_lanes(const struct printer *p)
{
	static const struct table_column lane_columns[] = {{"THREAD", 1, 0}, {"WORK", 0, 0},
		{"ON PATH", 0, 0}, {"OF PATH", 0, 0}, {"WAITED", 0, 1}};
	const struct path_section *s = p->section;
	SCOPED_TO(table_destroy) struct table *table = table_create(lane_columns, 5);

	if (s->lane_count < 2)
		return;
	fputc('\n', p->terminal->out);
	for (size_t i = 0; i < s->lane_count; i++) {
		const struct path_lane *lane = &s->lanes[i];
		table_row(table, STYLE_PLAIN);
		path_view_add_lane(table, &p->view->run->lanes[lane->lane]);
		table_time(table, lane->work_ns);
		table_time(table, lane->on_path_ns);
		table_percent(table, path_view_share_of(s, lane->on_path_ns));
		table_time(table, lane->waited_ns);
	}
	table_print(table, p->terminal);
}

/* The longest first; of equals the earlier. */
COMPARATOR(compare_hops, struct path_hop *const,
	ORDER((*y)->time_ns, (*x)->time_ns) ?: ORDER((*x)->begin_ns, (*y)->begin_ns))

COMPARATOR(compare_begins, struct path_hop *const, ORDER((*x)->begin_ns, (*y)->begin_ns))

static void print_hops(const struct printer *p)
{
	static const struct table_column hop_columns[] = {{"LONGEST PARTS", 1, 0}, {"AT", 0, 0},
		{"TIME", 0, 0}, {"SHARE", 0, 0}, {"LAYER", 0, 1}, {"THREAD", 1, 2}, {"NODE", 1, 3}};
	const struct path_section *s = p->section;
	SCOPED const struct path_hop **order = text_room(s->hop_count + 1, sizeof(*order));
	size_t shown = s->hop_count < HOPS ? s->hop_count : HOPS;

	if (!order)
		return;
	for (size_t i = 0; i < s->hop_count; i++)
		order[i] = &s->hops[i];
	qsort(order, s->hop_count, sizeof(*order), compare_hops);
	qsort(order, shown, sizeof(*order), compare_begins);
	SCOPED_TO(table_destroy) struct table *table = table_create(hop_columns, 7);
	for (size_t i = 0; i < shown; i++) {
		const struct path_hop *hop = order[i];
		const struct run *run = p->view->run;
		const struct run_lane *lane = &run->lanes[hop->lane];
		const struct run_site *site =
			hop->sample == RUN_NONE ? NULL
						: &run->sites[lane->samples[hop->sample].site];
		table_row(table, STYLE_PLAIN);
		table_cell(table, path_owner_name(run, hop->owner));
		table_time(table, hop->begin_ns);
		table_estimate(table, hop->time_ns, path_is_estimated(run, hop->lane, hop->sample));
		table_percent(table, path_view_share_of(p->section, hop->time_ns));
		if (site && site->layer >= 0)
			table_format(table, "%d", site->layer);
		else
			table_cell(table, NULL);
		path_view_add_lane(table, lane);
		table_cell(table, site ? site->label : NULL);
	}
	if (shown) {
		fputc('\n', p->terminal->out);
		table_hide_empty(table);
		table_print(table, p->terminal);
	}
}

/* Prints the facts of the recording that made the path, and the facts that it lacks. */
static void print_known(const struct printer *p)
{
	const struct path_section *s = p->section;
	const struct schedule_counts *c = &s->counts;
	char beneath[UNITS_BYTES], length[UNITS_BYTES], waited[UNITS_BYTES], idle[UNITS_BYTES],
		measured[UNITS_BYTES];

	fputc('\n', p->terminal->out);
	if (s->length_ns != s->measured_ns)
		say(p, "Path", "%s, but %s were measured: the recording contradicts itself",
			units_time(length, s->length_ns), units_time(measured, s->measured_ns));
	else if (s->lane_count < 2)
		say(p, "Path", "%s, as measured, on one thread", units_time(length, s->length_ns));
	else
		say(p, "Path", "%s, as measured; it changes between threads %llu time%s",
			units_time(length, s->length_ns), (unsigned long long)s->switches,
			plural_s(s->switches));
	if (c->barriers)
		say(p, "Waits", "%llu, of these %llu at %llu barrier%s, found by their times",
			(unsigned long long)c->waits,
			(unsigned long long)(c->waits - c->unknown_waits),
			(unsigned long long)c->barriers, plural_s(c->barriers));
	if (c->queue_blocks)
		say(p, "Blocked",
			"%llu time%s until a queue had nothing left to do: its work is on the path",
			(unsigned long long)c->queue_blocks, plural_s(c->queue_blocks));
	if (c->beneath_ns)
		say(p, c->queue_blocks ? "" : "Blocked",
			"beneath %sof it queues worked for %s: perhaps the thread waited for them",
			c->queue_blocks ? "the rest " : "all ", units_time(beneath, c->beneath_ns));
	if (c->unknown_waits)
		say(p, "Not known",
			"what %llu wait%s waited for (%s in all): as long as measured, whatever "
			"else changes",
			(unsigned long long)c->unknown_waits, plural_s(c->unknown_waits),
			units_time(waited, c->unknown_wait_ns));
	if (c->idle)
		say(p, c->unknown_waits ? "" : "Not known",
			"why other threads did nothing %llu time%s between bricks (%s in all)%s",
			(unsigned long long)c->idle, plural_s(c->idle),
			units_time(idle, c->idle_ns),
			c->unknown_waits ? ": the same"
					 : ": as long as measured, whatever else changes");
	if (c->contradictions)
		say(p, "Broken",
			"in %llu step%s times contradict each other: threads were taken one by one",
			(unsigned long long)c->contradictions, plural_s(c->contradictions));
}

void path_text(const struct path_view *view, FILE *out)
{
	struct terminal terminal;
	terminal_init(&terminal, out);

	for (size_t i = 0; i < view->path->section_count; i++) {
		const struct printer p = {view, &view->path->sections[i], &terminal};
		if (i)
			fputc('\n', out);
		path_view_print_heading(&p);
		fputc('\n', out);
		path_view_print_rows(&p);
		print_lanes(&p);
		if (p.section->hops)
			print_hops(&p);
		print_known(&p);
	}
	const struct printer p = {view, NULL, &terminal};
	if (view->run->off_cpu.gap_count)
		say(&p, "Off CPU",
			"not recorded all the time ('brick report' says when): where it was not, "
			"times off the CPU are in those of the bricks");
	if (view->path->other_processes)
		say(&p, "Processes",
			"%zu more recorded something; this is the one that recorded most",
			view->path->other_processes);
}

static json_t *what_if(const struct path_section *section, uint64_t ns)
{
	json_t *object = json_object();

	json_put(object, "time_ns", json_number(ns));
	json_put(object, "tokens_per_s", json_rate(path_tokens_per_s(section, ns)));
	return object;
}

static json_t *path_view_row_json(const struct path_section *section, const struct path_row *row)
{
	json_t *object = json_object(), *slack = json_object();
	double length = (double)section->length_ns;

	json_put_texts(object, row, name, category);
	json_put_numbers(object, row, count, own_ns, on_path_count, on_path_ns, estimated);
	json_put(
		object, "on_path_share", json_rate(length ? (double)row->on_path_ns / length : -1));
	json_put(slack, "mean_ns", json_number(row->slack_mean_ns));
	json_put(slack, "min_ns", json_number(row->slack_min_ns));
	json_put(slack, "max_ns", json_number(row->slack_max_ns));
	json_put(object, "slack", slack);
	json_put(object, "ten_percent_less", what_if(section, row->less_ns));
	json_put(object, "nothing", what_if(section, row->nothing_ns));
	return object;
}

static json_t *lane_json(const struct run *run, const struct path_lane *lane)
{
	json_t *object = json_object();

	json_put(object, "tid", json_number(run->lanes[lane->lane].tid));
	json_put(object, "name", json_text(run->lanes[lane->lane].name));
	json_put_numbers(object, lane, work_ns, on_path_ns, waited_ns);
	return object;
}

static json_t *counts_json(const struct schedule_counts *counts)
{
	json_t *object = json_object();

	json_put_numbers(object, counts, waits, barriers, unknown_waits, unknown_wait_ns, starts,
		launches, queue_blocks, beneath_ns, idle, idle_ns, contradictions);
	return object;
}

/* Two lanes may have one tid (containers, queues): a hop says which of "threads" it is on. */
static json_t *path_view_place_of(const struct path_section *section, uint32_t lane)
{
	for (size_t i = 0; i < section->lane_count; i++)
		if (section->lanes[i].lane == lane)
			return json_number(i);
	return json_null();
}

static json_t *hop_json(
	const struct path_section *section, const struct run *run, const struct path_hop *hop)
{
	const struct run_lane *lane = &run->lanes[hop->lane];
	const struct run_site *site =
		hop->sample == RUN_NONE ? NULL : &run->sites[lane->samples[hop->sample].site];
	json_t *object = json_object();

	json_put_numbers(object, hop, begin_ns, time_ns);
	json_put(object, "is_estimated",
		json_boolean(path_is_estimated(run, hop->lane, hop->sample)));
	json_put(object, "name", json_text(path_owner_name(run, hop->owner)));
	json_put(object, "layer",
		site && site->layer >= 0 ? json_integer(site->layer) : json_null());
	json_put(object, "operation", json_text(site ? site->operation : NULL));
	json_put(object, "label", json_text(site ? site->label : NULL));
	json_put(object, "tid", json_number(lane->tid));
	json_put(object, "thread", path_view_place_of(section, hop->lane));
	return object;
}

static json_t *section_json(const struct path_view *view, const struct path_section *section)
{
	json_t *object = json_object(), *bricks = json_array(), *lanes = json_array();

	json_put(object, "phase", json_text(step_phase_name(section->phase)));
	json_put(object, "step",
		section->step == RUN_NONE
			? json_null()
			: json_number(step_number(view->run, view->index, section->step)));
	json_put_numbers(object, section, steps, tokens, measured_ns);
	json_put(object, "path_ns", json_number(section->length_ns));
	json_put(object, "tokens_per_s", json_rate(path_tokens_per_s(section, section->length_ns)));
	json_put(object, "switches", json_number(section->switches));
	for (size_t i = 0; i < section->row_count && (!view->top || i < view->top); i++)
		json_add(bricks, path_view_row_json(section, &section->rows[i]));
	json_put(object, "bricks", bricks);
	for (size_t i = 0; i < section->lane_count; i++)
		json_add(lanes, lane_json(view->run, &section->lanes[i]));
	json_put(object, "threads", lanes);
	json_put(object, "known", counts_json(&section->counts));
	if (section->hops) {
		json_t *hops = json_array();
		for (size_t i = 0; i < section->hop_count; i++)
			json_add(hops, hop_json(section, view->run, &section->hops[i]));
		json_put(object, "path", hops);
	}
	return object;
}

json_t *path_to_json(const struct path_view *view)
{
	json_t *root = json_object(), *sections = json_array();

	json_put(root, "schema", json_text("brick/path/1"));
	for (size_t i = 0; i < view->path->section_count; i++)
		json_add(sections, section_json(view, &view->path->sections[i]));
	json_put(root, "off_cpu_known",
		json_boolean(run_off_cpu_is_known(view->run, 0, UINT64_MAX)));
	json_put(root, "sections", sections);
	return root;
}
