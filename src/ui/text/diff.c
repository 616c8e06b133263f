/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A comparison for people: the sides and why comparing them is unfair, then each phase as a
 * sentence whose parts add up, the verdict, and tables of parts and kernels. And as JSON, schema
 * brick/diff/2: times in ns a token; effects, bounds and points are ratios less 1, null where they
 * are not known. Unfair differences are found in the recordings' facts, keys and values, as sets:
 * the values in all recordings of A against the values in all recordings of B.
 */
#include "ui/text/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/summary.h"
#include "analysis/cost/losses.h"
#include "analysis/history/history_run.h"
#include "base/array.h"
#include "base/number.h"
#include "brick/session.h"
#include "ui/text/difference_text.h"
#include "ui/text/json_out.h"
#include "ui/text/operators_view.h"
#include "ui/text/phase_text.h"
#include "ui/text/provenance.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"
#include "ui/text/verdict_text.h"

/*
 * Facts that a fair comparison has in common; a name that ends in a point stands for all below it.
 */
static const char *const must_agree[] = {"host", "CPU", "CPUs", "clock", "mode", "prompt tokens",
	"records lost", "attach", "steps", "backend", "capture.", NULL};

/* Notes of measurements, which differ from run to run. */
static const char *const measured[] = {
	"session.end", "cuda.clock", "cuda.correlation", "vulkan.clock", "opencl.clock", NULL};

static bool is_listed(const char *const *list, const char *key)
{
	for (; *list; list++) {
		size_t length = strlen(*list);
		if (!strcmp(*list, key) ||
			((*list)[length - 1] == '.' && !strncmp(*list, key, length)))
			return true;
	}
	return false;
}

/* Takes ownership of `value`. */
static void diff_add_fact(struct diff_origin *origin, const char *key, char *value)
{
	struct diff_fact fact = {text_copy(key), value};

	if (fact.key && value && !text_fail(array_push(&origin->facts, fact)))
		return;
	free(fact.key);
	free(value);
}

static void diff_add_text(struct diff_origin *origin, const char *key, const char *value)
{
	diff_add_fact(origin, key, text_copy(value ? value : "not known"));
}

static void add_machine(struct diff_origin *origin, const struct run *run)
{
	static const char *const modes[] = {
		[BRICK_MODE_IMMEDIATE] = "immediate",
		[BRICK_MODE_PER_LAYER] = "per-layer",
		[BRICK_MODE_DEFERRED] = "deferred",
		[BRICK_MODE_NONE] = "none",
	};
	uint32_t mode = run->process_count ? run->processes[0].mode : BRICK_MODE_DEFERRED;

	diff_add_text(origin, "host", run->host);
	diff_add_text(origin, "CPU", run->cpu);
	diff_add_fact(origin, "CPUs", text_format("%u", run->cpus));
	diff_add_text(origin, "clock", brick_clock_source_name(run->clock.source));
	diff_add_text(origin, "mode",
		mode < sizeof(modes) / sizeof(*modes) && modes[mode] ? modes[mode] : "not known");
	diff_add_text(origin, "Brick", run->version);
}

/*
 * Adds the GPUs that the run used by name and memory. Their numbers are no fact that matters.
 * False: no note names them.
 */
static bool diff_add_gpus(struct diff_origin *origin, const struct run *run)
{
	bool any = false;

	for (size_t i = 0; i < run->note_count; i++) {
		const char *key = run->notes[i].key, *end = strrchr(key, '.');
		if (strncmp(key, "gpu.", 4) || strcmp(end, ".name"))
			continue;
		SCOPED char *other = text_format("%.*s.memory", (int)(end - key), key);
		const char *memory = run_note_find(run, other);
		char size[UNITS_BYTES] = "";
		uint64_t bytes;
		if (memory && !number_leading_u64(memory, &bytes, &memory))
			units_bytes(size, bytes);
		diff_add_fact(origin, "GPU",
			text_format("%s%s%s", run->notes[i].value, *size ? ", " : "", size));
		any = true;
	}
	return any;
}

/* Notes that diff_add_gpus() says, and the peak of memory, which was measured. */
static bool diff_is_of_gpus(const char *key)
{
	const char *end = strrchr(key, '.');

	return !strcmp(key, "cuda.device") ||
	       (!strncmp(key, "gpu.", 4) && (!strcmp(end, ".name") || !strcmp(end, ".memory") ||
						    !strcmp(end, ".memory_peak")));
}

static void diff_add_notes(struct diff_origin *origin, const struct run *run)
{
	bool has_gpus = diff_add_gpus(origin, run);

	for (size_t i = 0; i < run->note_count; i++) {
		const char *key = run->notes[i].key;
		bool seen = is_listed(measured, key) || (has_gpus && diff_is_of_gpus(key));
		for (size_t k = 0; k < i && !seen; k++)
			seen = !strcmp(run->notes[k].key, key);
		if (seen)
			continue;
		SCOPED const char **values = provenance_notes(run, key);
		for (size_t k = 0; values && values[k]; k++)
			diff_add_text(origin, key, values[k]);
	}
}

static void diff_add_work(struct diff_origin *origin, const struct run *run)
{
	struct losses losses;
	uint64_t prompt = 0, output = 0, threads = 0;

	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		if (step->phase == BRICK_PHASE_PREFILL)
			prompt += step->tokens;
		if (step->phase == BRICK_PHASE_DECODE)
			output += step->tokens;
	}
	for (size_t i = 0; i < run->lane_count; i++)
		threads += run->lanes[i].kind == BRICK_LANE_THREAD && run->lanes[i].sample_count;
	losses_of_run(&losses, run, 0);
	diff_add_fact(origin, "prompt tokens", text_format("%llu", (unsigned long long)prompt));
	diff_add_fact(origin, "output tokens", text_format("%llu", (unsigned long long)output));
	diff_add_fact(origin, "threads", text_format("%llu", (unsigned long long)threads));
	diff_add_text(origin, "records lost", losses_any(&losses) ? "yes" : "no");
}

void diff_origin_init(struct diff_origin *origin, const struct run *run)
{
	*origin = (struct diff_origin){.path = text_copy(run->path),
		.command = provenance_command(run),
		.start_unix_ns = run->start_unix_ns,
		.steps = run->step_count};
	origin->is_one_step = run_note_find(run, "steps.none");
	diff_add_text(origin, "command", origin->command);
	add_machine(origin, run);
	diff_add_notes(origin, run);
	diff_add_work(origin, run);
}

void diff_origin_of_history(struct diff_origin *origin, const struct history_run *run)
{
	*origin = (struct diff_origin){.path = text_format("@%.8s", run->id),
		.command = text_copy(run->command),
		.start_unix_ns = run->start_ns};
	for (size_t i = 0; i < run->parts.count; i++)
		if (!strcmp(run->parts.items[i].kind, "step"))
			origin->steps += run->parts.items[i].count;
	for (size_t i = 0; i < run->facts.count; i++)
		diff_add_text(origin, run->facts.items[i].key, run->facts.items[i].value);
}

/* All values of a key on one side, in the order of the recordings; the caller frees. */
static char *diff_values_of(
	const struct diff_origin *list, size_t count, const char *key, size_t *n)
{
	ARRAY(const char *) seen = {0};
	char *text = NULL;

	for (size_t i = 0; i < count; i++)
		for (size_t f = 0; f < list[i].facts.count; f++) {
			const struct diff_fact *fact = &list[i].facts.items[f];
			bool is_new = !strcmp(fact->key, key);
			for (size_t k = 0; k < seen.count && is_new; k++)
				is_new = strcmp(seen.items[k], fact->value) != 0;
			if (!is_new || text_fail(array_push(&seen, fact->value)))
				continue;
			text_append(&text, "; ", "%s", fact->value);
		}
	*n = seen.count;
	array_fini(&seen);
	return text ? text : text_copy("none");
}

static void add_difference(struct diff_origins *o, const struct diff_difference *difference)
{
	size_t at = o->differences.count;

	if (text_fail(array_push(&o->differences, *difference)) < 0) {
		free(difference->a);
		free(difference->b);
		return;
	}
	struct diff_difference *list = o->differences.items;
	for (; difference->unfair && at > 0 && !list[at - 1].unfair; at--)
		list[at] = list[at - 1];
	list[at] = *difference;
}

static void diff_compare_key(struct diff_origins *o, const char *key)
{
	size_t in_a, in_b;
	struct diff_difference d = {key, diff_values_of(o->list, o->in_a, key, &in_a),
		diff_values_of(o->list + o->in_a, o->in_b, key, &in_b), false};

	for (size_t i = 0; i < o->differences.count; i++)
		if (o->differences.items[i].key && !strcmp(o->differences.items[i].key, key))
			in_a = in_b = SIZE_MAX; /* it is there already */
	if (in_a != SIZE_MAX && d.a && d.b && strcmp(d.a, d.b)) {
		d.unfair = is_listed(must_agree, key);
		add_difference(o, &d);
		return;
	}
	free(d.a);
	free(d.b);
}

/* True if one side was recorded completely before the other. */
static bool one_after_the_other(const struct diff_origins *o)
{
	uint64_t first[2] = {UINT64_MAX, UINT64_MAX}, last[2] = {0, 0};

	for (size_t i = 0; i < o->in_a + o->in_b; i++) {
		uint64_t ns = o->list[i].start_unix_ns;
		int side = i >= o->in_a;
		if (!ns)
			return false;
		first[side] = ns < first[side] ? ns : first[side];
		last[side] = ns > last[side] ? ns : last[side];
	}
	return o->in_a > 1 && o->in_b > 1 && (last[0] < first[1] || last[1] < first[0]);
}

void diff_origins_init(struct diff_origins *o, struct diff_origin *list, size_t in_a, size_t in_b)
{
	*o = (struct diff_origins){.list = list, .in_a = in_a, .in_b = in_b};
	for (size_t i = 0; i < in_a + in_b; i++)
		for (size_t f = 0; f < list[i].facts.count; f++)
			diff_compare_key(o, list[i].facts.items[f].key);
	if (one_after_the_other(o))
		add_difference(o,
			&(struct diff_difference){NULL,
				text_copy("one side was recorded as a whole before the other, so "
					  "that "
					  "a machine that became slower or faster meanwhile looks "
					  "like a difference; take turns"),
				NULL, true});
}

void diff_origins_fini(struct diff_origins *o)
{
	for (size_t i = 0; i < o->differences.count; i++) {
		free(o->differences.items[i].a);
		free(o->differences.items[i].b);
	}
	for (size_t i = 0; i < o->in_a + o->in_b; i++) {
		for (size_t f = 0; f < o->list[i].facts.count; f++) {
			free(o->list[i].facts.items[f].key);
			free(o->list[i].facts.items[f].value);
		}
		array_fini(&o->list[i].facts);
		free(o->list[i].path);
		free(o->list[i].command);
	}
	free(o->list);
	array_fini(&o->differences);
}

/* The tables: a row, a line. */

enum { COLUMNS = 7 };

static void diff_add_value(struct table *table, const struct compare_row *row, double value)
{
	/* A brick may take less than a ns of a token. */
	if (row->measure == COMPARE_RATE || row->measure == COMPARE_PRINTED)
		table_number(table, value);
	else if (value > 0 && value < 9.95)
		table_format(table, "%.1fns", value);
	else
		table_time(table, number_of_double(value + 0.5));
}

static bool says_what_it_sees(const struct difference *d)
{
	const double of_use = 1; /* a larger one is seen without it */

	return d->verdict == COMPARE_UNSURE && d->detectable < of_use;
}

static void diff_add(struct table *table, const char *name, const struct compare_row *row)
{
	const struct difference *d = &row->difference;
	char text[DIFFERENCE_BYTES];

	table_row(table, difference_style(d->verdict));
	table_cell(table, name);
	diff_add_value(table, row, d->a);
	diff_add_value(table, row, d->b);
	table_cell(table, difference_short(text, d));
	difference_interval(text, d);
	table_cell(table, *text ? text : "-");
	table_format(table, isfinite(row->points) ? "%+.1f" : "-", 100 * row->points);
	char sees[DIFFERENCE_BYTES];
	if (d->verdict == COMPARE_SAME)
		table_format(table, "same within %.3g %%", 100 * d->threshold);
	else if (d->verdict == COMPARE_BEYOND)
		table_format(table, "beyond zero, perhaps below %.3g %%", 100 * d->threshold);
	else if (says_what_it_sees(d))
		table_format(table, "not enough data (finds %s)", difference_sees(sees, d));
	else
		table_cell(table, compare_verdict_name(d->verdict));
}

static bool has_verdict(const struct compare_row *row)
{
	return row->difference.verdict > COMPARE_SAME;
}

static bool diff_belongs(const struct compare_row *row, int phase, bool kernels)
{
	return row->name && row->phase == phase && (row->kind == COMPARE_KERNEL) == kernels;
}

static struct table *make_table(struct table_column columns[COLUMNS], const char *first)
{
	const struct table_column all[COLUMNS] = {{first, 1, 0}, {"A", 0, 0}, {"B", 0, 0},
		{"EFFECT", 0, 0}, {"INTERVAL", 0, 1}, {"POINTS", 0, 2}, {"VERDICT", 1, 0}};

	memcpy(columns, all, sizeof(all));
	return table_create(columns, COLUMNS);
}

/* Facts about the columns of all tables, for the legend. */
struct columns_told {
	bool has_points; /* a table shows them */
	bool hides_interval, hides_points;
};

static void print_columns(struct table *table, const struct terminal *terminal, bool has_points,
	struct columns_told *told)
{
	table_hide_empty(table);
	table_print(table, terminal);
	SCOPED char *left = table_left_out(table, terminal);
	bool hides_points = left && strstr(left, "POINTS");
	told->has_points |= has_points && !hides_points;
	told->hides_points |= hides_points;
	told->hides_interval |= left && strstr(left, "INTERVAL");
}

/* Rows with a verdict come before rows that are merely large. */
static void diff_print_table(const struct diff_view *view, const struct terminal *terminal,
	int phase, bool kernels, struct columns_told *told)
{
	const struct compare *c = view->compare;
	struct table_column columns[COLUMNS];
	SCOPED_TO(table_destroy)
	struct table *table = make_table(columns, kernels			    ? "KERNEL"
						  : view->by == SUMMARY_BY_LAYER    ? "LAYER"
						  : view->by == SUMMARY_BY_CATEGORY ? "CATEGORY"
										    : "BRICK");
	size_t shown = 0, left = 0;
	bool has_points = false;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < c->row_count; i++) {
			const struct compare_row *row = &c->rows[i];
			if (!diff_belongs(row, phase, kernels) || has_verdict(row) != !pass)
				continue;
			if (view->all || shown < view->top) {
				diff_add(table, row->name, row);
				has_points |= isfinite(row->points);
				shown++;
			} else {
				left++;
			}
		}
	if (shown) {
		fprintf(terminal->out, "\n%s%sa %s\n",
			phase == STEP_OTHER ? "" : phase_label(phase),
			phase == STEP_OTHER ? "" : ", ", phase_unit(phase));
		print_columns(table, terminal, has_points, told);
	}
	if (left)
		fprintf(terminal->out, "%zu more with --all\n", left);
}

static void print_legend(const struct diff_view *view, const struct terminal *terminal,
	const struct columns_told *told)
{
	bool sees = false;
	const char *hidden = told->hides_interval && told->hides_points ? "INTERVAL, POINTS"
			     : told->hides_interval			? "INTERVAL"
			     : told->hides_points			? "POINTS"
									: NULL;

	for (size_t i = 0; i < view->compare->row_count; i++)
		sees |= says_what_it_sees(&view->compare->rows[i].difference);
	paragraph(terminal, 0, "",
		"EFFECT is of B against A. At most 3 of 100 comparisons of identical runs call any "
		"row slower or faster.%s%s%s%s%s",
		told->has_points ? " POINTS add up to the effect on the phase." : "",
		sees ? " A row with \"finds 20 %\" shows effects of that size in four of five such "
		       "comparisons."
		     : "",
		hidden ? " Hidden columns of some tables: " : "", hidden ? hidden : "",
		hidden ? "." : "");
}

/* The measures of whole phases. */
static void print_whole(
	const struct diff_view *view, const struct terminal *terminal, struct columns_told *told)
{
	struct table_column columns[COLUMNS];
	SCOPED_TO(table_destroy) struct table *table = make_table(columns, "");
	bool has_points = false;

	for (size_t place = 0; place < COMPARE_PLACES; place++) {
		const struct compare_row *row = verdict_row(view->compare, place);
		SCOPED char *name = row ? verdict_row_name(row) : NULL;
		if (!name)
			continue;
		diff_add(table, name, row);
		has_points |= isfinite(row->points);
	}
	print_columns(table, terminal, has_points, told);
}

void diff_measures(const struct diff_view *view, FILE *out)
{
	struct columns_told told = {0};
	struct terminal terminal;

	terminal_init(&terminal, out);
	print_whole(view, &terminal, &told);
	for (int phase = STEP_PHASES - 1; phase >= 0; phase--) {
		diff_print_table(view, &terminal, phase, false, &told);
		diff_print_table(view, &terminal, phase, true, &told);
	}
	print_legend(view, &terminal, &told);
}

/* The first value of a fact; NULL: there is none. The origin owns it. */
static const char *diff_fact_of(const struct diff_origin *origin, const char *key)
{
	for (size_t i = 0; i < origin->facts.count; i++)
		if (!strcmp(origin->facts.items[i].key, key))
			return origin->facts.items[i].value;
	return NULL;
}

enum { LABEL = 13, PARTS = 3, NAME = 160 };

struct printer {
	const struct diff_view *view;
	const struct terminal *terminal;
};

/* The sides that are compared. */

static void print_side(const struct printer *p, bool is_b)
{
	const struct diff_origins *o = p->view->origins;
	const struct diff_origin *first = o->list + (is_b ? o->in_a : 0);
	size_t count = is_b ? o->in_b : o->in_a;
	SCOPED char *command =
		text_safe(first->command
				  ?: diff_fact_of(first, "engine") ?: "command not known");
	SCOPED char *cut = text_cut(command, 300);

	if (count == 1)
		say(p, is_b ? "B" : "A", "%s: %s%s", first->path, cut,
			first->is_one_step ? "; it has no steps: all of it is one" : "");
	else
		say(p, is_b ? "B" : "A", "%zu recordings, %s to %s: %s", count, first->path,
			first[count - 1].path, cut);
}

/*
 * The part of `text` that `other` lacks, without the words that both begin and end with. The caller
 * frees.
 */
static char *own_words(const char *text, const char *other)
{
	size_t length = strlen(text), with = strlen(other), begin = 0, same = 0, end = 0;

	while (same < length && same < with && text[same] == other[same])
		if (text[same++] == ' ')
			begin = same;
	while (end < length - begin && end < with - begin &&
		text[length - 1 - end] == other[with - 1 - end])
		end++;
	while (end && text[length - end] != ' ')
		end--;
	return text_format("%s%.*s%s", begin ? "... " : "", (int)(length - begin - end),
		text + begin, end ? " ..." : "");
}

/* The items of "tokens 256, batch 64, threads 4" that `other` has otherwise; the caller frees. */
static char *own_items(const char *text, const char *other)
{
	char *items = NULL;

	for (const char *at = text; *at;) {
		size_t length = strcspn(at, ",");
		SCOPED char *item = text_format("%.*s", (int)length, at);
		const char *same = strstr(other, item);
		if (!same || (same[length] && same[length] != ','))
			text_append(&items, ", ", "%s", item);
		at += length;
		at += strspn(at, ", ");
	}
	return items ? items : text_copy(text);
}

/* The part of A's text that B's has not; the caller frees. */
static char *diff_own_part(const char *text, const char *other)
{
	bool are_lists = strstr(text, ", ") && strstr(other, ", ");

	return are_lists ? own_items(text, other) : own_words(text, other);
}

/* "model" of the note "llama.model". */
static const char *key_name(const char *key)
{
	static const char engine[] = "llama.";

	return strncmp(key, engine, strlen(engine)) ? key : key + strlen(engine);
}

static void print_differences(const struct printer *p, bool unfair)
{
	const struct diff_origins *o = p->view->origins;
	const char *label = unfair ? "UNFAIR" : "Differs";

	terminal_begin(p->terminal, unfair ? STYLE_WARN : STYLE_PLAIN);
	for (size_t i = 0; i < o->differences.count; i++) {
		const struct diff_difference *d = &o->differences.items[i];
		if (d->unfair != unfair)
			continue;
		SCOPED char *of_a = d->key ? diff_own_part(d->a, d->b) : text_copy(d->a);
		SCOPED char *of_b = d->key ? diff_own_part(d->b, d->a) : text_copy("");
		SCOPED char *a = text_cut(of_a, 200), *b = text_cut(of_b, 200);
		if (d->key)
			say(p, label, "%s: A has %s, B has %s", key_name(d->key), a, b);
		else
			say(p, label, "%s", a);
		label = "";
	}
	terminal_end(p->terminal, unfair ? STYLE_WARN : STYLE_PLAIN);
}

static void print_unit(const struct printer *p)
{
	const struct compare *c = p->view->compare;
	const struct compare_phase *decode = &c->phases[STEP_DECODE];

	SCOPED char *recorded = text_format(
		"recordings: %zu of A, %zu of B", c->runs[0].recorded, c->runs[1].recorded);
	SCOPED char *plain =
		text_format("; plain runs: %zu of A, %zu of B", c->runs[0].plain, c->runs[1].plain);
	say(p, "Compared by", "%s%s%s", recorded, c->runs[0].plain ? plain : "",
		c->assumes ? ", too few to see by how much runs vary: much is assumed, so only "
			     "large differences show"
			   : "");
	if (c->basis == BASIS_CPU)
		say(p, "Off CPU",
			"rows of bricks and layers are time on the CPU (of waits, all time); time "
			"off the CPU has rows of its own");
	else if (c->basis == BASIS_MIXED)
		say(p, "Off CPU",
			"not known for all recordings: their bricks' times hold it, and none is "
			"called slower or faster");
	if (p->view->floor > 0)
		say(p, "Floor",
			"identical runs on this machine differed by %.1f %% (brick bench --floor)",
			100 * p->view->floor);
	if (decode->steps)
		say(p, "Decode steps", "the first %llu of each recording: all have as many",
			(unsigned long long)decode->steps);
}

/* The reason: the part behind it, and the differences in that part. */

/* "moves 14 kB each time instead of 7"; "": both numbers are equal, or one is not known. */
static void add_other(char **text, double a, double b, const char *format)
{
	char of_a[UNITS_BYTES], of_b[UNITS_BYTES];

	if (a > 0 && b > 0 && fabs(log(b / a)) > 0.02)
		text_append(text, " and ", format, units_number(of_b, b), units_number(of_a, a));
}

/* The differences in a part's work; "" if there are none. The caller frees. */
static char *other_work(const struct compare_row *row)
{
	const struct compare_work *a = &row->a, *b = &row->b;
	char *text = NULL;

	add_other(&text, a->count, b->count,
		row->phase == STEP_OTHER ? "runs %s times a step instead of %s"
					 : "runs %s times a token instead of %s");
	if (a->count > 0 && b->count > 0) {
		add_other(&text, a->bytes / a->count / 1e3, b->bytes / b->count / 1e3,
			"moves %s kB each time instead of %s");
		add_other(&text, a->flops / a->count / 1e3, b->flops / b->count / 1e3,
			"computes %s kFLOP each time instead of %s");
	}
	return text ? text : text_copy("");
}

/* The settings that differ: "threads, backend"; the caller frees. */
static char *other_settings(const struct diff_origins *o)
{
	static const char *const no_settings[] = {
		"output tokens", "prompt tokens", "records lost", HISTORY_DISTURBED, NULL};
	char *text = NULL;

	for (size_t i = 0; i < o->differences.count; i++) {
		const char *key = o->differences.items[i].key;
		if (key && !is_listed(no_settings, key))
			text_append(&text, ", ", "%s", key_name(key));
	}
	return text ? text : text_copy("");
}

static const char *only_kernel(const struct compare *c, int phase, enum compare_verdict side)
{
	for (size_t i = 0; i < c->row_count; i++)
		if (diff_belongs(&c->rows[i], phase, true) && c->rows[i].difference.verdict == side)
			return c->rows[i].name;
	return NULL;
}

/*
 * Says which work of a part caused the effect: "DownProjection runs 14 times a token instead of 7".
 */
static void add_reason(char **text, const struct compare_row *row)
{
	SCOPED char *work = other_work(row);
	char safe[NAME];

	text_escape(safe, sizeof(safe), row->name);
	if (row->kind == COMPARE_OFF_CPU)
		text_append(text, "; ", "%s: %s", safe,
			!strcmp(row->name, "preempted") ? "others ran on its threads' CPUs"
							: "its threads waited for something");
	else if (row->kind == COMPARE_PART && *work)
		text_append(text, "; ", "%s %s", safe, work);
	else if (row->kind == COMPARE_PART && row->a.count > 0 && row->b.count > 0)
		text_append(text, "; ", "%s runs as often and on as much data in both", safe);
}

/* The parts that make up most of an effect, and why. Parts come in the order of their share. */
static void print_why(const struct printer *p, int phase)
{
	const struct compare *c = p->view->compare;
	double effect = compare_find(c, phase, COMPARE_TIME)->difference.effect;
	SCOPED char *parts = NULL, *reasons = NULL;
	bool has_part = false;
	int shown = 0;

	for (size_t i = 0; i < c->row_count && shown < PARTS; i++) {
		const struct compare_row *row = &c->rows[i];
		double share = row->points / effect;
		char safe[NAME];
		if (row->phase != phase || !(share >= 0.1))
			continue;
		text_escape(safe, sizeof(safe), row->name);
		text_append(&parts, ", ", "%.0f %% in %s", 100 * share, safe);
		if (row->kind == COMPARE_OFF_CPU || !has_part)
			add_reason(&reasons, row);
		has_part |= row->kind != COMPARE_OFF_CPU;
		shown++;
	}
	const char *a = only_kernel(c, phase, COMPARE_ONLY_A);
	const char *b = only_kernel(c, phase, COMPARE_ONLY_B);
	if (a && b)
		text_append(&reasons, "; ", "kernel %s instead of %s", b, a);
	if (parts)
		say(p, "Why", "%s: of the difference %s%s%s", phase_label(phase), parts,
			reasons ? "; " : "", reasons ? reasons : "");
}

/*
 * The part of a token's elapsed time that is in no step, in A and in B; false: it explains less
 * than a tenth of the time that a token takes more.
 */
static bool lies_between(const struct compare *c, int phase, double *in_a, double *in_b)
{
	const struct compare_row *elapsed = compare_find(c, phase, COMPARE_ELAPSED);
	const struct compare_row *rate = compare_find(c, phase, COMPARE_RATE);

	if (!elapsed || !rate || !has_verdict(elapsed))
		return false;
	*in_a = elapsed->difference.a - 1e9 / rate->difference.a;
	*in_b = elapsed->difference.b - 1e9 / rate->difference.b;
	return (*in_b - *in_a) / (elapsed->difference.b - elapsed->difference.a) >= 0.1;
}

/* The program's time between steps is in none of the parts of steps. */
static void print_between(const struct printer *p, int phase)
{
	char a[UNITS_BYTES], b[UNITS_BYTES];
	double in_a, in_b;

	if (lies_between(p->view->compare, phase, &in_a, &in_b))
		say(p, "Why",
			"%s: between steps the program takes %s a %s in A, %s in B; which "
			"functions "
			"run there shows brick record --sample, then brick report --by function",
			phase_label(phase), units_time(a, number_of_double(in_a)),
			phase_unit(phase), units_time(b, number_of_double(in_b)));
}

/* The sentence on top. */

static void diff_print_verdict(const struct printer *p)
{
	const struct compare *c = p->view->compare;
	SCOPED char *verdict = verdict_text(c);
	SCOPED char *settings = other_settings(p->view->origins);
	bool differs = false;

	say_in(p, verdict_style(c), "Verdict", "%s", verdict);
	if (c->verdict == COMPARE_UNSURE && !c->is_disturbed)
		say(p, "",
			c->assumes ? "Record 4 a side, in turns."
				   : "Record more, in turns, on a machine that does nothing "
				     "else.");
	for (size_t i = 0; i < c->row_count; i++)
		differs |= compare_order(&c->rows[i]) != SIZE_MAX && has_verdict(&c->rows[i]);
	for (int phase = STEP_PHASES - 1; phase >= 0; phase--) {
		const struct compare_row *time = compare_find(c, phase, COMPARE_TIME);
		print_between(p, phase);
		if (time && has_verdict(time))
			print_why(p, phase);
	}
	if (*settings && differs)
		say(p, "", "settings that differ: %s", settings);
}

void diff_summary(const struct diff_view *view, FILE *out)
{
	struct terminal terminal;
	const struct printer p = {view, &terminal};

	terminal_init(&terminal, out);
	diff_print_verdict(&p);
	print_differences(&p, true);
}

void diff_text(const struct diff_view *view, FILE *out)
{
	struct terminal terminal;
	const struct printer p = {view, &terminal};

	terminal_init(&terminal, out);
	diff_summary(view, out);
	print_side(&p, false);
	print_side(&p, true);
	print_differences(&p, false);
	print_unit(&p);
	fputc('\n', out);
	diff_measures(view, out);
	if (view->operators)
		operators_text(view->operators, view->all ? 0 : view->top, out);
}

/* JSON. */

/* A row as JSON; a rate is given as the time of a token, like all rows. */
static json_t *diff_row_json(const struct compare_row *row)
{
	const struct difference *d = &row->difference;
	bool rate = d->kind == DIFFERENCE_RATE;
	SCOPED char *said = difference_text(d);
	char brief[DIFFERENCE_BYTES];
	json_t *object = json_object();

	if (row->name)
		json_put(object, "name", json_text(row->name));
	json_put(object, "verdict", json_text(compare_verdict_name(d->verdict)));
	json_put(object, "a_ns", json_signed(rate ? 1e9 / d->a : d->a));
	json_put(object, "b_ns", json_signed(rate ? 1e9 / d->b : d->b));
	json_put(object, "effect", json_signed(rate ? 1 / (1 + d->effect) - 1 : d->effect));
	json_put(object, "low", json_signed(rate ? 1 / (1 + d->high) - 1 : d->low));
	json_put(object, "high", json_signed(rate ? 1 / (1 + d->low) - 1 : d->high));
	json_put_signed(object, d, p, detectable);
	json_put(object, "said", json_text(said));
	json_put(object, "said_effect", json_text(difference_short(brief, d)));
	if (row->name && row->kind != COMPARE_KERNEL)
		json_put(object, "points", json_signed(row->points));
	return object;
}

static json_t *diff_rate_json(const struct compare_row *row)
{
	const struct difference *d = &row->difference;
	json_t *object = diff_row_json(row);

	json_put(object, "a_tokens_per_s", json_rate(d->a));
	json_put(object, "b_tokens_per_s", json_rate(d->b));
	json_put(object, "ratio", json_rate(1 + d->effect));
	json_put(object, "ratio_low", json_rate(1 + d->low));
	json_put(object, "ratio_high", json_rate(1 + d->high));
	return object;
}

/* A number that a program prints has no unit, and is shown as it is. */
static json_t *printed_json(const struct compare_row *row)
{
	const struct difference *d = &row->difference;
	SCOPED char *said = difference_text(d);
	json_t *object = json_object();

	json_put(object, "verdict", json_text(compare_verdict_name(d->verdict)));
	json_put(object, "is_rate", json_boolean(d->kind == DIFFERENCE_RATE));
	json_put_signed(object, d, a, b, effect, low, high, p, detectable);
	json_put(object, "said", json_text(said));
	return object;
}

static json_t *rows_json(const struct compare *c, int phase, bool kernels)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->row_count; i++) {
		const struct compare_row *row = &c->rows[i];
		if (row->name && row->phase == phase && (row->kind == COMPARE_KERNEL) == kernels)
			json_add(array, diff_row_json(row));
	}
	return array;
}

static json_t *diff_phase_json(const struct diff_view *view, int phase)
{
	const struct compare *c = view->compare;
	const struct compare_phase *p = &c->phases[phase];
	json_t *object = json_object();

	json_put(object, "blocks_a", json_number(view->origins->in_a));
	json_put(object, "blocks_b", json_number(view->origins->in_b));
	json_put(object, "steps", p->steps ? json_number(p->steps) : json_null());
	const struct compare_row *rate = compare_find(c, phase, COMPARE_RATE);
	const struct compare_row *elapsed = compare_find(c, phase, COMPARE_ELAPSED);

	json_put(object, "rate", rate ? diff_rate_json(rate) : json_null());
	json_put(object, "time", diff_row_json(compare_find(c, phase, COMPARE_TIME)));
	json_put(object, "elapsed", elapsed ? diff_row_json(elapsed) : json_null());
	json_put(object, summary_by_plural(view->by), rows_json(c, phase, false));
	json_put(object, "residual", json_signed(p->residual));
	json_put(object, "kernels", rows_json(c, phase, true));
	return object;
}

static json_t *diff_side_json(const struct diff_origin *list, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();
		json_put(object, "path", json_text(list[i].path));
		json_put(object, "command", json_text(list[i].command));
		json_put(object, "start_unix_ns", json_number(list[i].start_unix_ns));
		json_put(object, "steps", json_number(list[i].steps));
		json_add(array, object);
	}
	return array;
}

static json_t *differences_json(const struct diff_origins *o)
{
	json_t *array = json_array();

	for (size_t i = 0; i < o->differences.count; i++) {
		const struct diff_difference *d = &o->differences.items[i];
		json_t *object = json_object();
		json_put(object, "unfair", json_boolean(d->unfair));
		json_put(object, "key", json_text(d->key));
		json_put(object, d->key ? "a" : "text", json_text(d->a));
		if (d->key)
			json_put(object, "b", json_text(d->b));
		json_add(array, object);
	}
	return array;
}

void verdict_json(json_t *json, const struct compare *c)
{
	SCOPED char *said = verdict_text(c), *by = c->by ? verdict_row_name(c->by) : NULL;

	json_put(json, "verdict", json_text(compare_verdict_name(c->verdict)));
	json_put(json, "metric", json_text(by));
	json_put(json, "mixed", json_boolean(c->is_mixed));
	json_put(json, "disturbed", json_boolean(c->is_disturbed));
	json_put(json, "said", json_text(said));
}

json_t *diff_to_json(const struct diff_view *view)
{
	const struct compare *c = view->compare;
	const struct compare_row *ttft = compare_find(c, -1, COMPARE_TTFT);
	const struct compare_row *wall = compare_find(c, -1, COMPARE_WALL);
	const struct compare_row *printed = compare_find(c, -1, COMPARE_PRINTED);
	json_t *root = json_object(), *phases = json_object();

	json_put(root, "schema", json_text("brick/diff/2"));
	json_put(root, "basis", json_text(summary_basis_name(view->compare->basis)));
	verdict_json(root, c);
	json_put(root, "threshold", json_signed(c->threshold));
	json_put(root, "floor", json_signed(view->floor > 0 ? view->floor : NAN));
	json_put(root, "unit", json_text("recordings"));
	json_put(root, "assumes", json_boolean(c->assumes));
	json_put(root, "a", diff_side_json(view->origins->list, view->origins->in_a));
	json_put(root, "b",
		diff_side_json(view->origins->list + view->origins->in_a, view->origins->in_b));
	json_put(root, "differences", differences_json(view->origins));
	json_put(root, "ttft", ttft ? diff_row_json(ttft) : json_null());
	json_put(root, "wall", wall ? diff_row_json(wall) : json_null());
	json_put(root, "printed", printed ? printed_json(printed) : json_null());
	for (int phase = 0; phase < STEP_PHASES; phase++)
		if (c->phases[phase].is_known)
			json_put(phases, step_phase_name(phase), diff_phase_json(view, phase));
	json_put(root, "phases", phases);
	if (view->operators)
		json_put(root, "operators", operators_to_json(view->operators));
	return root;
}

void diff_json(const struct diff_view *view, FILE *out)
{
	json_print(diff_to_json(view), out);
}
