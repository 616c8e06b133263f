/* SPDX-License-Identifier: Apache-2.0 */
/* A call tree for people, with lines from node to node, and as JSON (schema brick/tree/2). */
#include "ui/text/tree_view.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "trace/exports.h"
#include "ui/text/json_out.h"
#include "analysis/walk/step_index.h"
#include "ui/text/provenance.h"
#include "ui/text/text.h"
#include "ui/text/tree_rows.h"

struct line {
	char *branches, *name;
	uint64_t time_ns, off_ns, open, elements;
	double count; /* of several steps: in each, on average */
	bool on_device, is_estimated;
	enum terminal_style style;
};

struct lines {
	const struct tree_view *view;
	const struct call_tree *tree;
	bool utf8, narrow; /* a level takes two columns, of four */
	ARRAY(struct line) list;
};

/* A tree of several steps holds sums, and its view shows means. */
static uint64_t tree_view_mean(const struct call_tree *tree, uint64_t sum)
{
	return tree->steps > 1 && sum != ANALYSIS_UNKNOWN ? (sum + tree->steps / 2) / tree->steps
							  : sum;
}

static double mean_count(const struct lines *lines, const struct call_node *node)
{
	if (node->kind == CALL_LAYER || (call_node_is_between(node) && node->kind != CALL_WAIT))
		return 1;
	return (double)call_node_count(node) / (lines->tree->steps > 1 ? lines->tree->steps : 1);
}

static bool tree_view_opens(const struct tree_rows *rows, uint32_t row, void *context)
{
	const struct tree_view *view = context;

	return !view->depth || rows->list.items[row].depth < view->depth;
}

static struct line line_of(const struct lines *lines, const struct tree_rows *rows, uint32_t row)
{
	/* Of ASCII and of UTF-8, wide and narrow. */
	static const struct tree_rows_glyphs glyphs[2][2] = {
		{{"|-- ", "`-- ", "|   ", "    "}, {"+ ", "` ", "| ", "  "}},
		{{"\xe2\x94\x9c\xe2\x94\x80\xe2\x94\x80 ", "\xe2\x94\x94\xe2\x94\x80\xe2\x94\x80 ",
			 "\xe2\x94\x82   ", "    "},
			{"\xe2\x94\x9c ", "\xe2\x94\x94 ", "\xe2\x94\x82 ", "  "}}};
	uint32_t number = rows->list.items[row].node;
	struct line line = {
		.branches = tree_rows_branches(rows, row, &glyphs[lines->utf8][lines->narrow]),
		.name = tree_rows_name(rows, row),
		.time_ns = tree_view_mean(lines->tree, tree_rows_time_ns(rows, row)),
		.count = 1,
		.elements = ANALYSIS_UNKNOWN,
		.style = STYLE_DIM,
	};

	if (number == RUN_NONE)
		return line;
	const struct call_node *node = &lines->tree->nodes[number];
	line.off_ns = tree_view_mean(lines->tree, node->off_ns);
	line.count = mean_count(lines, node);
	line.open = node->open;
	line.elements = tree_view_mean(lines->tree, node->elements);
	line.on_device = call_node_on_device(node);
	line.is_estimated = line.on_device && node->device_estimated;
	line.style = node->kind == CALL_LAYER	  ? STYLE_STRONG
		     : call_node_is_between(node) ? STYLE_DIM
						  : STYLE_PLAIN;
	return line;
}

/* All rows but the root's, which is the heading. */
static void fill_lines(struct lines *lines)
{
	struct tree_rows rows = {.tree = lines->tree,
		.operations = lines->view->operations,
		.opens = tree_view_opens,
		.context = (void *)lines->view};

	tree_rows_make(&rows);
	for (uint32_t i = 1; i < rows.list.count; i++) {
		struct line line = line_of(lines, &rows, i);
		if (text_fail(array_push(&lines->list, line)) < 0) {
			free(line.branches);
			free(line.name);
		}
	}
	array_fini(&rows.list);
}

/* "×2"; once is not said. */
static char *tree_view_times_of(const struct line *line, bool utf8)
{
	char text[UNITS_BYTES];

	if (!line->count || line->count == 1)
		return text_copy("");
	return text_format("%s%s", utf8 ? "\xc3\x97" : "x",
		line->count == (double)(uint64_t)line->count
			? units_count(text, (uint64_t)line->count)
			: units_number(text, line->count));
}

/* The remarks at the end of a line. */
static char *rest_of(const struct line *line)
{
	char text[3][UNITS_BYTES] = {"", "", ""};
	bool made = line->elements != ANALYSIS_UNKNOWN && line->elements;

	return text_format("%s%s%s%s%s%s%s%s%s", line->open ? "  (" : "",
		line->open ? units_count(text[0], line->open) : "",
		line->open ? " never ended)" : "", made ? "  (" : "",
		made ? units_count(text[1], line->elements) : "", made ? " elem)" : "",
		line->off_ns ? "  (" : "", line->off_ns ? units_time(text[2], line->off_ns) : "",
		line->off_ns ? " off)" : "");
}

/* The columns of branches and name together, of "x2" (0: no line has it), of a line. */
struct widths {
	size_t name, times, line;
};

enum { LEAST_NAME = 12, LEAST_WIDTH = LEAST_NAME + 4, LEVEL = 2 /* columns of a narrow level */ };

/* Narrow branches that leave no room for a name: the last levels, behind the number of those
 * that are left out, "9… │ ├ ". */
static char *cut_branches(const struct line *line, const struct widths *widths, bool utf8)
{
	size_t levels = text_width(line->branches) / LEVEL, hidden = 0;
	const char *kept = line->branches;
	char *branches = text_copy(kept);

	while (text_width(branches) > widths->name - LEAST_NAME && hidden < levels) {
		hidden++;
		for (int i = 0; i < LEVEL; i++) /* a column is a character */
			do
				kept++;
			while ((*kept & 0xc0) == 0x80);
		free(branches);
		branches = text_format("%zu%s %s", hidden, utf8 ? "\xe2\x80\xa6" : ".", kept);
	}
	return branches;
}

static void print_line(const struct line *line, const struct widths *widths, uint64_t whole_ns,
	const struct terminal *terminal)
{
	char time[UNITS_BYTES], share[UNITS_BYTES];
	SCOPED char *branches = cut_branches(line, widths, terminal->utf8);
	SCOPED char *name = text_cut(line->name, widths->name - text_width(branches));
	size_t gap = widths->name - text_width(branches) - text_width(name);
	bool ran = line->count || line->open || line->time_ns; /* on a thread */
	units_estimate(time, ran ? line->time_ns : ANALYSIS_UNKNOWN, line->is_estimated);
	bool has_share = whole_ns && ran && !line->on_device;
	units_percent(share, has_share ? (double)line->time_ns / (double)whole_ns : -1);
	if (line->on_device)
		strcpy(share, "device");
	size_t pad = 8 > text_width(time) ? 8 - text_width(time) : 0;
	fprintf(terminal->out, "%s%s%s%s%*s%*s%s%7s", branches,
		terminal_style_begin(terminal, line->style), name,
		terminal_style_end(terminal, line->style), (int)gap, "", (int)pad, "", time, share);
	SCOPED char *often = tree_view_times_of(line, terminal->utf8), *rest = rest_of(line);
	size_t left = *rest ? widths->times - text_width(often) : 0;
	if (widths->times && (*often || *rest))
		fprintf(terminal->out, "  %s%*s", often, (int)left, "");
	size_t used = widths->name + 8 + 7 + (widths->times ? 2 + widths->times : 0);
	SCOPED char *cut = text_cut(rest, widths->line > used ? widths->line - used : 0);
	fprintf(terminal->out, "%s\n", cut);
}

/* ", incl. 28ms off the CPU" */
static char *part_text(uint64_t ns, const char *what)
{
	char time[UNITS_BYTES];
	return ns ? text_format(", incl. %s %s", units_time(time, ns), what) : text_copy("");
}

/* "step 33 of 64, 1 token" */
static char *one_step_text(const struct tree_view *view, const struct call_tree *tree)
{
	const struct run_step *step = &view->run->steps[tree->step];
	char *text = text_format("step %u of %u", step_number(view->run, view->index, tree->step),
		step_numbers(view->run, view->index));
	if (step->tokens) /* else nobody said how many */
		text_append(&text, ", ", "%llu token%s", (unsigned long long)step->tokens,
			step->tokens == 1 ? "" : "s");
	return text;
}

/* "mean of 11 steps (of 64), 1 token" */
static char *tree_view_steps_text(const struct tree_view *view, const struct call_tree *tree)
{
	uint64_t tokens = tree_phase(view, tree)->tokens;
	bool whole = tokens % tree->steps == 0;
	return text_format("mean of %u steps (of %u), %.*f token%s", tree->steps,
		step_numbers(view->run, view->index), whole ? 0 : 1, (double)tokens / tree->steps,
		tokens == tree->steps ? "" : "s");
}

static char *tree_view_heading(const struct tree_view *view, const struct call_tree *tree)
{
	char time[UNITS_BYTES];
	SCOPED char *name = tree_name(tree, &tree->nodes[0]), *safe = text_safe(name);
	units_time(time, tree_view_mean(tree, tree->nodes[0].time_ns));
	if (!tree->steps)
		return text_format("%s: %s in bricks", safe, time);
	uint64_t after_ns = tree->steps > 1 ? tree_view_mean(tree, tree_phase(view, tree)->after_ns)
					    : view->times->steps[tree->step].after_ns;
	SCOPED char *which =
		tree->steps > 1 ? tree_view_steps_text(view, tree) : one_step_text(view, tree);
	SCOPED char *after = part_text(after_ns, "after compute");
	const char *none = provenance_steps(view->run);
	return text_format("%s: %s, %s%s%s%s", safe, which, time, after, none ? "; steps: " : "",
		none ? none : "");
}

/* The width of the column "x2"; 0: there is none. */
static size_t times_width(const struct lines *lines)
{
	size_t width = 0;
	for (size_t i = 0; i < lines->list.count; i++) {
		SCOPED char *often = tree_view_times_of(&lines->list.items[i], lines->utf8);
		width = text_width(often) > width ? text_width(often) : width;
	}
	return width;
}

enum { UNKNOWN_WIDTH = 120 }; /* no terminal; names of kernels have hundreds of characters */

static struct widths widths_of(const struct lines *lines, const struct terminal *terminal)
{
	struct widths widths = {.name = LEAST_WIDTH,
		.times = times_width(lines),
		.line = terminal->width ? terminal->width : UNKNOWN_WIDTH};
	size_t others = 0;
	for (size_t i = 0; i < lines->list.count; i++) {
		const struct line *line = &lines->list.items[i];
		size_t name = text_width(line->branches) + text_width(line->name);
		SCOPED char *text = rest_of(line);
		size_t rest = 8 + 7 + (widths.times ? 2 + widths.times : 0) + text_width(text);
		widths.name = name > widths.name ? name : widths.name;
		others = rest > others ? rest : others;
	}
	if (widths.name + others > widths.line)
		widths.name =
			widths.line > others + LEAST_WIDTH ? widths.line - others : LEAST_WIDTH;
	return widths;
}

static void lines_fini(struct lines *lines)
{
	for (size_t i = 0; i < lines->list.count; i++) {
		free(lines->list.items[i].branches);
		free(lines->list.items[i].name);
	}
	array_fini(&lines->list);
}

/* Fills the lines; their branches are narrow where wide ones would leave no room for a name. */
static struct widths tree_view_lay_out(struct lines *lines, const struct terminal *terminal)
{
	size_t deepest = 0;

	fill_lines(lines);
	struct widths widths = widths_of(lines, terminal);
	for (size_t i = 0; i < lines->list.count; i++) {
		size_t branches = text_width(lines->list.items[i].branches);
		deepest = branches > deepest ? branches : deepest;
	}
	if (deepest + LEAST_NAME <= widths.name)
		return widths;
	lines_fini(lines);
	lines->narrow = true;
	fill_lines(lines);
	return widths_of(lines, terminal);
}

void tree_text(
	const struct tree_view *view, const struct call_tree *tree, const struct terminal *terminal)
{
	struct lines lines = {.view = view, .tree = tree, .utf8 = terminal->utf8};
	SCOPED char *title = tree_view_heading(view, tree);
	struct widths widths = tree_view_lay_out(&lines, terminal);
	terminal_begin(terminal, STYLE_STRONG);
	text_wrap(terminal->out, terminal->width, 0, "", title);
	terminal_end(terminal, STYLE_STRONG);
	uint64_t whole_ns = tree_view_mean(tree, tree->nodes[0].time_ns);
	for (size_t i = 0; i < lines.list.count; i++)
		print_line(&lines.list.items[i], &widths, whole_ns, terminal);
	lines_fini(&lines);
	if (tree->threads) {
		SCOPED char *note = text_format(
			"On the thread that ran the step%s; %u other%s worked alongside.",
			tree->steps > 1 ? "s" : "", tree->threads, tree->threads == 1 ? "" : "s");
		terminal_begin(terminal, STYLE_DIM);
		text_wrap(terminal->out, terminal->width, 0, "", note);
		terminal_end(terminal, STYLE_DIM);
	}
}

static json_t *node_json(const struct tree_view *view, const struct call_tree *tree,
	const struct call_node *node, unsigned depth)
{
	json_t *object = json_object(), *children = json_array();
	SCOPED char *name = tree_name(tree, node);
	json_put(object, "name", json_text(name));
	json_put(object, "kind", json_text(call_kind_name(node->kind)));
	json_put(object, "layer", node->layer >= 0 ? json_integer(node->layer) : json_null());
	json_put_numbers(object, node, count, open, time_ns, self_ns);
	bool known = run_off_cpu_is_known(tree->run, 0, UINT64_MAX) && node->kind != CALL_KERNEL;
	json_put(object, "off_ns", known ? json_number(node->off_ns) : json_null());
	json_put_numbers(
		object, node, device_count, device_ns, device_estimated, elements, bytes, flops);
	for (uint32_t i = node->first; i != RUN_NONE; i = tree->nodes[i].next)
		if ((view->operations || tree->nodes[i].kind != CALL_OPERATION) &&
			(!view->depth || depth < view->depth))
			json_add(children, node_json(view, tree, &tree->nodes[i], depth + 1));
	if (node->kind == CALL_KERNEL) {
		const struct run_kernel *kernel = &tree->run->kernels[node->kernel];
		json_put_texts(object, kernel, name, backend);
		json_put(object, "launched", json_text(text_kernel_kind(kernel->kind)));
		json_put(object, "grid", json_sizes(kernel->grid));
		json_put(object, "block", json_sizes(kernel->block));
		json_put(object, "shared_bytes", json_number(kernel->shared_bytes));
		SCOPED char *code = text_format("%016llx", (unsigned long long)kernel->code);
		json_put(object, "code", json_text(kernel->code ? code : NULL));
	}
	json_put(object, "children", children);
	return object;
}

static json_t *tree_view_step_json(const struct tree_view *view, uint32_t number)
{
	const struct run_step *step = &view->run->steps[number];
	const struct step_time *times = &view->times->steps[number];
	json_t *object = json_object();
	json_put(object, "number", json_number(step_number(view->run, view->index, number)));
	json_put(object, "of", json_number(step_numbers(view->run, view->index)));
	json_put(object, "phase", json_text(step_phase_name((int)step->phase)));
	json_put(object, "tokens", json_number(step->tokens));
	json_put(object, "begin_ns",
		json_number(step->begin_ns > view->run->start_ns
				    ? step->begin_ns - view->run->start_ns
				    : 0));
	json_put_numbers(object, times, span_ns, after_ns);
	json_put(object, "total_ns", json_number(step_time_total_ns(times)));
	json_put(object, "unattributed_ns", json_number(times->unattributed_ns));
	return object;
}

/* The tree has the sums over them. */
static json_t *tree_view_steps_json(const struct tree_view *view, const struct call_tree *tree)
{
	const struct step_phase_times *phase = tree_phase(view, tree);
	json_t *object = json_object();
	json_put(object, "count", json_number(tree->steps));
	json_put(object, "of", json_number(step_numbers(view->run, view->index)));
	json_put(object, "phase",
		json_text(step_phase_name((int)view->run->steps[tree->step].phase)));
	json_put_numbers(object, phase, tokens, after_ns, total_ns, unattributed_ns);
	return object;
}

void tree_json(
	const struct tree_view *view, const struct call_tree *const *trees, size_t count, FILE *out)
{
	json_t *root = json_object(), *array = json_array();
	json_put(root, "schema", json_text("brick/tree/2"));
	for (size_t i = 0; i < count; i++) {
		const struct call_tree *tree = trees[i];
		json_t *object = json_object();
		json_put(object, "step",
			tree->steps == 1 ? tree_view_step_json(view, tree->step) : json_null());
		json_put(object, "steps",
			tree->steps > 1 ? tree_view_steps_json(view, tree) : json_null());
		json_put(object, "tid", json_number(view->run->lanes[tree->lane].tid));
		json_put(object, "other_threads", json_number(tree->threads));
		json_put(object, "tree", node_json(view, tree, &tree->nodes[0], 0));
		json_add(array, object);
	}
	json_put(root, "trees", array);
	json_print(root, out);
}
