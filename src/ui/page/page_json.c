/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of the page one after the other, then the document around them. Without memory a
 * section is NULL, and text_error() tells it in the end. The JSON is read by js/ and described in
 * docs/HTML.md: a change goes there, too. Constants bound each section, so that a page stays small.
 */
#include "ui/page/page_json.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/call_tree.h"
#include "analysis/accounts/launches.h"
#include "analysis/accounts/stacks.h"
#include "analysis/path/path.h"
#include "analysis/walk/step_index.h"
#include "base/order.h"
#include "brick/registry.h"
#include "brick/version.h"
#include "ui/page/pack.h"
#include "ui/page/page_template.h"
#include "ui/text/explain_view.h"
#include "ui/text/json_out.h"
#include "ui/text/path_view.h"
#include "ui/text/report_json.h"
#include "ui/text/ranks_view.h"
#include "ui/text/report_head.h"
#include "ui/text/report_text.h"
#include "ui/text/report_trust.h"
#include "ui/text/roofline_view.h"
#include "ui/text/scaling_view.h"
#include "ui/text/text.h"
#include "ui/text/tiles_view.h"
#include "ui/text/tree_rows.h"

enum {
	ROWS_MAX = 120,
	SPANS_MAX = 1200,
	SLOW_MAX = 50,
	FLAME_NODES_MAX = 4000,
	NODES_MAX = 40000,
	HOPS_MAX = 4000,
	SLICES_MAX = 30000,
	COLUMNS_MAX = 1500,
};

static const char *const phase_keys[BREAKDOWN_PHASES] = {[STEP_PREFILL] = "prefill",
	[STEP_DECODE] = "decode",
	[STEP_MIXED] = "mixed",
	[STEP_WARM_UP] = "warm_up",
	[STEP_OTHER] = "other",
	[STEP_PHASES] = "outside"};

static uint32_t *page_json_numbers_of(const struct page *page)
{
	uint32_t *numbers = step_number_list(page->run, &page->index);
	text_fail(numbers ? 0 : -ENOMEM);
	return numbers;
}

/* The end of an answer, which takes the reference. */
static int page_json_finish(json_t **out, json_t *root)
{
	int rc = text_error();
	if (rc < 0)
		json_decref(root);
	else
		*out = root;
	return rc;
}

/* ns since the recording began. */
static json_t *since_start(const struct page *page, uint64_t ns)
{
	return json_number(ns > page->run->start_ns ? ns - page->run->start_ns : 0);
}

/* A step is slow when it takes more than this many times the median of its phase. */
static const double slow_factor = 1.5;

struct span {
	uint64_t first, count; /* number of its first step, counted from 1 */
	uint64_t tokens, begin_ns, total_ns, unattributed_ns, max_ns, max_number;
};

struct slow {
	uint32_t step, number;
	double factor;
};

COMPARATOR(compare_slow, struct slow, ORDER(y->factor, x->factor) ?: ORDER(x->step, y->step))

/* The measure that steps of a phase are compared by: prompts differ in length. */
static double cost_of(const struct page *page, uint32_t step)
{
	double ns = (double)step_time_total_ns(&page->times->steps[step]);
	const struct run_step *s = &page->run->steps[step];
	uint64_t tokens = s->tokens + s->drafts;
	return s->phase == BRICK_PHASE_DECODE || !tokens ? ns : ns / (double)tokens;
}

/*
 * Steps of a phase over time. More steps than a screen has columns are cut into spans of as many
 * successive steps each; the slowest step of each span is kept apart from the sum.
 */
static json_t *phase_steps_json(const struct page *page, enum step_phase phase)
{
	const struct run *run = page->run;
	const struct breakdown *b = page->breakdown;
	size_t count = page->times->phases[phase].count, categories = b->category_count;
	size_t per_span = count ? (count + SPANS_MAX - 1) / SPANS_MAX : 1;
	size_t span_count = (count + per_span - 1) / per_span;
	SCOPED struct span *spans = text_room(span_count + 1, sizeof(*spans));
	SCOPED uint64_t *of_category = text_room(span_count * categories + 1, sizeof(*of_category));
	SCOPED struct slow *slow = text_room(run->step_count + 1, sizeof(*slow));
	SCOPED double *costs = text_room(run->step_count + 1, sizeof(*costs));
	SCOPED uint32_t *numbers = page_json_numbers_of(page);
	if (!spans || !of_category || !slow || !costs || !numbers)
		return NULL;

	size_t cost_count = 0;
	for (uint32_t i = 0; i < run->step_count; i++)
		if (page_step_is_of(page, i, phase))
			costs[cost_count++] = cost_of(page, i);
	if (cost_count)
		qsort(costs, cost_count, sizeof(*costs), order_doubles);
	double median = cost_count ? costs[(cost_count - 1) / 2] : 0;

	size_t seen = 0, slow_count = 0;
	for (uint32_t i = 0; i < run->step_count; i++) {
		if (!page_step_is_of(page, i, phase))
			continue;
		size_t at = seen++ / per_span;
		struct span *span = &spans[at];
		const struct run_step *step = &run->steps[i];
		uint64_t total_ns = step_time_total_ns(&page->times->steps[i]);
		if (!span->count++) {
			span->first = numbers[i];
			span->begin_ns =
				step->begin_ns > run->start_ns ? step->begin_ns - run->start_ns : 0;
		}
		span->tokens += step->tokens;
		span->total_ns += total_ns;
		span->unattributed_ns += page->times->steps[i].unattributed_ns;
		for (size_t c = 0; c < categories; c++)
			of_category[at * categories + c] += breakdown_step(b, i)[c];
		if (total_ns >= span->max_ns) {
			span->max_ns = total_ns;
			span->max_number = numbers[i];
		}
		if (median > 0 && cost_of(page, i) > slow_factor * median)
			slow[slow_count++] =
				(struct slow){i, numbers[i], cost_of(page, i) / median};
	}

	json_t *object = json_object();
	json_put(object, "steps_per_span", json_number(per_span));
	json_put(object, "median_ns", json_rate(median));
	static const struct {
		const char *name;
		size_t at;
	} columns[] = {{"first", offsetof(struct span, first)},
		{"count", offsetof(struct span, count)}, {"tokens", offsetof(struct span, tokens)},
		{"begin_ns", offsetof(struct span, begin_ns)},
		{"total_ns", offsetof(struct span, total_ns)},
		{"unattributed_ns", offsetof(struct span, unattributed_ns)},
		{"max_ns", offsetof(struct span, max_ns)},
		{"max_number", offsetof(struct span, max_number)}};
	for (size_t k = 0; k < sizeof(columns) / sizeof(*columns); k++) {
		json_t *column = json_array();
		for (size_t i = 0; i < span_count; i++) {
			const char *span = (const char *)&spans[i];
			json_add(column, json_number(*(const uint64_t *)(span + columns[k].at)));
		}
		json_put(object, columns[k].name, column);
	}
	json_t *parts = json_array();
	for (size_t c = 0; c < categories; c++) {
		json_t *part = json_object(), *values = json_array();
		uint64_t sum = 0;
		for (size_t i = 0; i < span_count; i++) {
			sum += of_category[i * categories + c];
			json_add(values, json_number(of_category[i * categories + c]));
		}
		json_put(part, "name", json_text(breakdown_category_name(b, (uint32_t)c)));
		json_put(part, "ns", values);
		if (sum)
			json_add(parts, part);
		else
			json_decref(part);
	}
	json_put(object, "categories", parts);

	json_t *list = json_array();
	if (slow_count)
		qsort(slow, slow_count, sizeof(*slow), compare_slow);
	for (size_t i = 0; i < slow_count && i < SLOW_MAX; i++) {
		const struct run_step *step = &run->steps[slow[i].step];
		json_t *each = json_object();
		json_put(each, "number", json_number(slow[i].number));
		json_put(each, "tokens", json_number(step->tokens));
		json_put(each, "begin_ns", since_start(page, step->begin_ns));
		json_put(each, "total_ns",
			json_number(step_time_total_ns(&page->times->steps[slow[i].step])));
		json_put(each, "factor", json_rate(slow[i].factor));
		json_add(list, each);
	}
	json_put(object, "slow_count", json_number(slow_count));
	json_put(object, "slow", list);
	return object;
}

/*
 * Single steps by brick: wall time of each brick, and of none. A step's columns add up to it: the
 * bricks of the page come first, then all others together, "preempted" and "blocked".
 */
static json_t *each_json(const struct page *page)
{
	enum { NUMBER, PHASE, TOKENS, BEGIN, TOTAL, UNATTRIBUTED, PARTS, PACKS };
	static const char *const names[PACKS] = {
		"number", "phase", "tokens", "begin_ns", "total_ns", "unattributed_ns", "brick_ns"};
	const struct breakdown *b = page->breakdown;
	struct pack packs[PACKS] = {0};
	SCOPED uint32_t *numbers = page_json_numbers_of(page);
	json_t *object = json_object(), *phases = json_array();

	for (size_t i = 0; numbers && i < page->each_count; i++) {
		uint32_t number = page->each[i];
		const struct run_step *step = &page->run->steps[number];
		const struct step_time *time = &page->times->steps[number];
		const uint64_t *parts = breakdown_part(b, number);
		uint64_t rest = 0;
		pack_add(&packs[NUMBER], numbers[number]);
		pack_add(&packs[PHASE], step->phase);
		pack_add(&packs[TOKENS], step->tokens);
		pack_add(&packs[BEGIN], step->begin_ns > page->run->start_ns
						? step->begin_ns - page->run->start_ns
						: 0);
		pack_add(&packs[TOTAL], step_time_total_ns(time));
		pack_add(&packs[UNATTRIBUTED], time->unattributed_ns);
		for (uint32_t k = 0; k <= b->brick_count + BREAKDOWN_LEFT_OUT; k++)
			rest += parts[k];
		for (size_t k = 0; k < page_bricks(page); k++) {
			uint64_t ns = parts[page->report.summary->rows[k].id];
			pack_add(&packs[PARTS], ns);
			rest -= ns;
		}
		pack_add(&packs[PARTS], rest);
		pack_add(&packs[PARTS], parts[b->brick_count + BREAKDOWN_PREEMPTED]);
		pack_add(&packs[PARTS], parts[b->brick_count + BREAKDOWN_BLOCKED]);
	}
	for (int phase = 0; phase < STEP_PHASES; phase++)
		json_add(phases, json_text(step_phase_name(phase)));
	json_put(object, "of", json_number(page->index.count));
	json_put(object, "count", json_number(page->each_count));
	json_put(object, "bricks", json_number(page_bricks(page)));
	json_put(object, "phases", phases);
	for (int i = 0; i < PACKS; i++)
		json_put(object, names[i], pack_end(&packs[i]));
	return object;
}

/* Layers by bricks, and lengths of single executions. Empty cells and buckets are left out. */

/* Cells: [layer, number of the brick in the report, ns of wall time, executions] */
static json_t *layers_json(const struct page *page)
{
	const struct breakdown *b = page->breakdown;
	json_t *object = json_object();
	json_put(object, "bricks", json_number(page_bricks(page)));
	json_put(object, "bricks_left_out",
		json_number(page->report.summary->row_count - page_bricks(page)));
	json_put(object, "last_is_rest", json_boolean(b->last_is_rest));
	for (unsigned phase = 0; phase < BREAKDOWN_PHASES; phase++) {
		json_t *cells = json_array();
		for (size_t i = 0; i < page_bricks(page); i++)
			for (uint32_t row = 0; row < b->layer_count; row++) {
				size_t at = breakdown_cell(
					b, phase, row, page->report.summary->rows[i].id);
				if (!b->layers[at] && !b->counts[at])
					continue;
				json_t *cell = json_array();
				json_add(cell, json_integer((json_int_t)row - 1));
				json_add(cell, json_number(i));
				json_add(cell, json_number(b->layers[at]));
				json_add(cell, json_number(b->counts[at]));
				json_add(cells, cell);
			}
		json_put(object, phase_keys[phase], cells);
	}
	return object;
}

/* [lower edge in ns, upper edge, executions], again and again, in one flat array */
static json_t *buckets_json(const uint64_t *buckets)
{
	json_t *array = json_array();
	for (uint32_t i = 0; buckets && i < BREAKDOWN_BUCKETS; i++) {
		if (!buckets[i])
			continue;
		json_add(array, json_number(breakdown_edge_ns(i)));
		json_add(array, json_number(breakdown_edge_ns(i + 1)));
		json_add(array, json_number(buckets[i]));
	}
	return array;
}

static json_t *durations_json(const struct page *page)
{
	const struct breakdown *b = page->breakdown;
	uint64_t all[BREAKDOWN_BUCKETS];
	json_t *array = json_array();
	for (size_t i = 0; i < page_bricks(page); i++) {
		uint32_t brick = page->report.summary->rows[i].id;
		json_t *object = json_object();
		breakdown_all_durations(b, brick, all);
		json_put(object, "name", json_text(page->report.summary->rows[i].name));
		json_put(object, "all", buckets_json(all));
		for (unsigned phase = 0; phase < STEP_PHASES; phase++)
			json_put(object, phase_keys[phase],
				buckets_json(
					b->histograms[(size_t)phase * b->brick_count + brick]));
		json_add(array, object);
	}
	return array;
}

/*
 * Trees of single steps. A tree is a table in columns, a parent before its children. A few trees
 * have operations; many others are packed: steps with equal nodes share a shape and have only
 * times.
 */

struct node_columns {
	json_t *parent, *name, *kind, *layer, *count, *time_ns, *self_ns, *bytes, *flops,
		*estimated;
};

static void page_json_add_node(struct node_columns *to, struct page_names *names,
	const struct call_tree *tree, const struct call_node *node, json_int_t parent)
{
	SCOPED char *name = tree_name(tree, node);
	json_add(to->parent, json_integer(parent));
	json_add(to->name, json_integer(page_names_add(names, name)));
	json_add(to->kind, json_number(node->kind));
	json_add(to->layer, json_integer(node->layer < 0 ? -1 : node->layer));
	json_add(to->count, json_number(node->count));
	json_add(to->time_ns, json_number(node->time_ns));
	json_add(to->self_ns, json_number(node->self_ns));
	json_add(to->bytes, json_number(node->bytes));
	json_add(to->flops, json_number(node->flops));
	json_add(to->estimated, json_number(node->device_estimated));
}

static size_t count_nodes(const struct call_tree *tree, bool operations)
{
	size_t count = 0;
	for (size_t i = 0; i < tree->count; i++)
		count += operations || tree->nodes[i].kind != CALL_OPERATION;
	return count;
}

/* Parents in the columns are numbers among the nodes that are shown. */
static json_t *nodes_json(const struct call_tree *tree, struct page_names *names, bool operations)
{
	struct node_columns to = {json_array(), json_array(), json_array(), json_array(),
		json_array(), json_array(), json_array(), json_array(), json_array(), json_array()};
	SCOPED json_int_t *number = text_room(tree->count + 1, sizeof(*number));
	json_int_t next = 0;
	for (size_t i = 0; number && i < tree->count; i++) {
		const struct call_node *node = &tree->nodes[i];
		json_int_t parent = node->parent == RUN_NONE ? -1 : number[node->parent];
		bool left_out = (!operations && node->kind == CALL_OPERATION) || parent < -1 ||
				(i && parent == -1);
		number[i] = left_out ? -2 : next++;
		if (!left_out)
			page_json_add_node(&to, names, tree, node, parent);
	}
	json_t *object = json_object();
	json_put(object, "parent", to.parent);
	json_put(object, "name", to.name);
	json_put(object, "kind", to.kind);
	json_put(object, "layer", to.layer);
	json_put(object, "count", to.count);
	json_put(object, "time_ns", to.time_ns);
	json_put(object, "self_ns", to.self_ns);
	json_put(object, "bytes", to.bytes);
	json_put(object, "flops", to.flops);
	json_put(object, "device_estimated", to.estimated);
	return object;
}

static json_t *page_json_head_of(
	const struct page *page, uint32_t number, const struct call_tree *tree, uint32_t shown)
{
	const struct run_step *step = &page->run->steps[number];
	const struct step_time *time = &page->times->steps[number];
	json_t *object = json_object();
	json_put(object, "number", json_number(shown));
	json_put(object, "phase", json_text(step_phase_name((int)step->phase)));
	json_put(object, "tokens", json_number(step->tokens));
	json_put(object, "total_ns", json_number(step_time_total_ns(time)));
	json_put(object, "unattributed_ns", json_number(time->unattributed_ns));
	json_put(object, "other_threads", json_number(tree->threads));
	return object;
}

/* False if there are more nodes than are left. */
static bool add_nodes(json_t *object, const struct call_tree *tree, struct page_names *names,
	const char *why, size_t *left)
{
	bool operations = count_nodes(tree, 1) <= *left;
	size_t nodes = count_nodes(tree, operations);
	if (nodes > *left)
		return false;
	*left -= nodes;
	json_put(object, "why", json_text(why));
	json_put(object, "operations", json_boolean(operations));
	json_put(object, "nodes", nodes_json(tree, names, operations));
	return true;
}

/* The nodes of a tree without operations: their shape, which trees share, and their times. */
static json_t *other_nodes(json_t *object, const struct call_tree *tree, struct page_names *names,
	struct page_names *shapes)
{
	struct pack shape = {0}, times = {0}, selves = {0};
	SCOPED size_t *number = text_room(tree->count + 1, sizeof(*number));
	size_t next = 0;

	for (size_t i = 0; number && i < tree->count; i++) {
		const struct call_node *node = &tree->nodes[i];
		if (node->kind == CALL_OPERATION || (i && !number[node->parent]))
			continue; /* with all that is below it */
		SCOPED char *name = tree_name(tree, node);
		number[i] = ++next;
		pack_add(&shape, i ? number[node->parent] : 0);
		pack_add(&shape, (uint64_t)page_names_add(names, name));
		pack_add(&shape, node->kind);
		pack_add(&shape, node->layer < 0 ? 0 : (uint64_t)node->layer + 1);
		pack_add(&shape, node->count);
		pack_add(&times, node->time_ns);
		pack_add(&selves, node->self_ns);
	}
	json_auto_t *text = pack_end(&shape);
	json_put(object, "shape", json_integer(page_names_add(shapes, json_string_value(text))));
	json_put(object, "time_ns", pack_end(&times));
	json_put(object, "self_ns", pack_end(&selves));
	return object;
}

/* The chosen steps first, then the others that are kept. NULL: not enough memory. */
static uint32_t *page_json_steps_of(const struct page *page, bool whole,
	struct page_choice *choices, size_t *chosen, size_t *count)
{
	size_t kept_count = 0;
	SCOPED uint32_t *kept = whole ? page_choose_kept(page, &kept_count) : NULL;
	*chosen = page_choose(page, choices);
	uint32_t *steps = calloc(*chosen + kept_count + 1, sizeof(*steps));
	if (!steps || (whole && !kept)) {
		free(steps);
		return NULL;
	}
	for (size_t i = 0; i < *chosen; i++)
		steps[i] = choices[i].step;
	*count = *chosen;
	for (size_t i = 0; i < kept_count; i++) {
		size_t k = 0;
		while (k < *chosen && choices[k].step != kept[i])
			k++;
		if (k == *chosen)
			steps[(*count)++] = kept[i];
	}
	return steps;
}

static json_t *kinds_json(void)
{
	json_t *words = json_array();
	for (int kind = 0; kind < CALL_KINDS; kind++)
		json_add(words, json_text(call_kind_name(kind)));
	return words;
}

static json_t *trees_json(const struct page *page, bool whole)
{
	struct page_choice choices[PAGE_CHOICES];
	size_t chosen, count = 0, left = NODES_MAX;
	SCOPED uint32_t *steps = page_json_steps_of(page, whole, choices, &chosen, &count);
	SCOPED uint32_t *numbers = page_json_numbers_of(page);
	SCOPED struct call_tree **trees = text_room(count + 1, sizeof(*trees));
	if (!steps || !numbers || !trees ||
		call_trees_of_steps(trees, page->run, &page->index, steps, count) < 0)
		return NULL;
	struct page_names names = page_names_begin(), shapes = page_names_begin();
	json_t *object = json_object(), *list = json_array(), *others = json_array();
	for (size_t i = 0; i < count; i++) {
		json_t *head = page_json_head_of(page, steps[i], trees[i], numbers[steps[i]]);
		if (i >= chosen || !add_nodes(head, trees[i], &names, choices[i].why, &left))
			json_add(others, other_nodes(head, trees[i], &names, &shapes));
		else
			json_add(list, head);
		call_tree_destroy(trees[i]);
	}
	json_put(object, "kinds", kinds_json());
	json_put(object, "names", page_names_end(&names));
	json_put(object, "steps", list);
	json_put(object, "shapes", page_names_end(&shapes));
	json_put(object, "others", others);
	return object;
}

/* The tree of `brick flame`; null: it has too many nodes for a page. NULL: not enough memory. */
static json_t *flame_json(const struct page *page)
{
	struct call_tree *stacks;
	json_t *object = json_null();

	if (stacks_create(&stacks, page->run, &page->index, false) < 0)
		return NULL;
	if (stacks->count <= FLAME_NODES_MAX) {
		struct page_names names = page_names_begin();
		object = json_object();
		json_put(object, "nodes", nodes_json(stacks, &names, true));
		json_put(object, "names", page_names_end(&names));
	}
	call_tree_destroy(stacks);
	return object;
}

int page_step_json(json_t **out, const struct page *page, uint64_t number)
{
	const struct run *run = page->run;
	SCOPED uint32_t *numbers = step_number_list(page->run, &page->index);
	struct call_tree *tree;
	uint32_t step = 0;
	size_t left = NODES_MAX;
	if (!numbers)
		return -ENOMEM;
	while (step < run->step_count && (numbers[step] != number || !page->index.finished[step]))
		step++;
	if (step == run->step_count)
		return -ENOENT;
	int rc = call_trees_of_steps(&tree, run, &page->index, &step, 1);
	if (rc < 0)
		return rc;
	struct page_names names = page_names_begin();
	json_t *object = json_object(),
	       *head = page_json_head_of(page, step, tree, (uint32_t)number);
	bool shown = add_nodes(head, tree, &names, "chosen", &left);
	call_tree_destroy(tree);
	json_put(object, "kinds", kinds_json());
	json_put(object, "names", page_names_end(&names));
	json_put(object, "step", shown ? json_incref(head) : json_null());
	json_decref(head);
	return page_json_finish(out, object);
}

static json_t *page_json_path_of(const struct page *page, uint32_t step)
{
	struct path *path;
	int rc = path_create_from(&path, &page->source, page->run, &page->index, step);
	if (rc < 0)
		return rc == -ENOMEM ? NULL : json_null();
	size_t hops = 0;
	for (size_t i = 0; i < path->section_count; i++)
		hops += path->sections[i].hop_count;
	const struct path_view view = {
		.run = page->run, .path = path, .index = &page->index, .all = 1};
	json_t *object = hops <= HOPS_MAX ? path_to_json(&view) : json_null();
	path_destroy(path);
	return object;
}

static json_t *path_json(const struct page *page)
{
	json_t *object = json_object();
	uint32_t median = page_median(page, STEP_DECODE);
	json_put(object, "all", page_json_path_of(page, RUN_NONE));
	json_put(object, "median_decode",
		median == RUN_NONE ? json_null() : page_json_path_of(page, median));
	return object;
}

/* The time line, lane by lane: the whole run in columns, some ranges sample by sample. */

/* The sites and kernels that slices belong to, with their texts. */
struct slices {
	const struct page *page;
	struct page_names names;
	uint32_t *number_of; /* [site_count]: + 1 */
	json_t *brick, *layer, *operation, *label;
	uint32_t count;
};

static json_t *optional_name(struct slices *s, const char *name)
{
	return name ? json_integer(page_names_add(&s->names, name)) : json_integer(-1);
}

static int slices_begin(struct slices *s, const struct page *page)
{
	*s = (struct slices){.page = page};
	s->number_of = calloc(page->run->site_count + 1, sizeof(*s->number_of));
	if (!s->number_of)
		return -ENOMEM;
	s->names = page_names_begin();
	s->brick = json_array();
	s->layer = json_array();
	s->operation = json_array();
	s->label = json_array();
	return 0;
}

static uint32_t site_number(struct slices *s, uint32_t site)
{
	const struct run *run = s->page->run;
	const struct run_site *from = &run->sites[site];

	if (s->number_of[site])
		return s->number_of[site] - 1;
	json_add(s->brick, optional_name(s, run->bricks[from->brick].name));
	json_add(s->layer, json_integer(from->layer < 0 ? -1 : from->layer));
	json_add(s->operation, optional_name(s, from->operation));
	json_add(s->label, optional_name(s, from->label));
	s->number_of[site] = ++s->count;
	return s->count - 1;
}

static void slices_end(struct slices *s, json_t *object)
{
	json_t *sites = json_object();

	json_put(sites, "brick", s->brick);
	json_put(sites, "layer", s->layer);
	json_put(sites, "operation", s->operation);
	json_put(sites, "label", s->label);
	json_put(object, "sites", sites);
	json_put(object, "names", page_names_end(&s->names));
	free(s->number_of);
}

/* The kernel of a queue's command: its name + 1. */
static uint64_t kernel_number(struct slices *s, uint32_t lane, size_t sample)
{
	const struct run *run = s->page->run;
	const struct run_command *command = launches_command(run, lane, (uint32_t)sample);

	if (!command || command->kernel == RUN_NONE)
		return 0;
	return (uint64_t)page_names_add(&s->names, run->kernels[command->kernel].name) + 1;
}

/*
 * Packs a lane's samples: for each the begin since the one before, the length, the site, the wait
 * after it, and the kernel of a queue's command. NULL if there are none.
 */
static json_t *lane_slices(
	struct slices *s, uint32_t number, uint64_t since_ns, uint64_t until_ns, size_t row)
{
	const struct run *run = s->page->run;
	const struct run_lane *lane = &run->lanes[number];
	struct lane_range range = lane_range(lane, since_ns, until_ns);
	struct pack pack = {0};
	uint64_t last_ns = run->start_ns, count = 0;

	for (size_t i = range.first; i < range.end; i++) {
		const struct run_sample *sample = &lane->samples[i];
		if (!lane_range_holds(sample, since_ns))
			continue;
		uint64_t begin_ns = sample->begin_ns > last_ns ? sample->begin_ns : last_ns;
		pack_add(&pack, begin_ns - last_ns);
		pack_add(&pack, sample->end_ns > begin_ns ? sample->end_ns - begin_ns : 0);
		pack_add(&pack, site_number(s, sample->site));
		pack_add(&pack, sample->wait_ns);
		pack_add(&pack, kernel_number(s, number, i));
		last_ns = begin_ns;
		count++;
	}
	if (!count)
		return NULL;
	json_t *object = json_object();
	json_put(object, "lane", json_number(row));
	json_put(object, "count", json_number(count));
	json_put(object, "slices", pack_end(&pack));
	return object;
}

static json_t *window_json(struct slices *s, uint64_t since_ns, uint64_t until_ns)
{
	const struct page *page = s->page;
	json_t *object = json_object(), *lanes = json_array();

	for (size_t i = 0; i < page->bins.lane_total; i++) {
		json_t *lane = lane_slices(s, page->bins.lanes[i], since_ns, until_ns, i);
		if (lane)
			json_add(lanes, lane);
	}
	json_put(object, "begin_ns", json_number(since_ns - page->run->start_ns));
	json_put(object, "end_ns", json_number(until_ns - page->run->start_ns));
	json_put(object, "lanes", lanes);
	return object;
}

/* Steps of which each sample is in the page; the gaps between neighbours go with them. */
static json_t *windows_json(struct slices *s)
{
	const struct page *page = s->page;
	size_t count = 0;
	SCOPED uint32_t *kept = page_choose_kept(page, &count);

	if (!kept)
		return NULL;
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++) {
		uint64_t since_ns = page->run->steps[kept[i]].begin_ns;
		uint64_t until_ns = page_step_end_ns(page, kept[i]);
		if (i + 1 < count && kept[i + 1] == kept[i] + 1 &&
			page->run->steps[kept[i + 1]].begin_ns > until_ns)
			until_ns = page->run->steps[kept[i + 1]].begin_ns;
		if (since_ns >= page->run->start_ns && until_ns > since_ns)
			json_add(array, window_json(s, since_ns, until_ns));
	}
	run_release(page->run);
	return array;
}

static json_t *page_json_columns(const struct page *page, const struct lane_bins *bins)
{
	json_t *object = json_object(), *lanes = json_array(), *bricks = json_array();

	for (uint32_t i = 0; i < page->run->brick_count; i++)
		json_add(bricks, json_text(page->run->bricks[i].name));
	for (size_t i = 0; i < bins->lane_total; i++) {
		struct pack brick = {0}, percent = {0};
		json_t *lane = json_object();
		for (size_t k = 0; k < bins->count; k++) {
			pack_add(&brick, bins->bins[i * bins->count + k].brick);
			pack_add(&percent, bins->bins[i * bins->count + k].percent);
		}
		json_put(lane, "brick", pack_end(&brick));
		json_put(lane, "percent", pack_end(&percent));
		json_add(lanes, lane);
	}
	json_put(object, "begin_ns", json_number(bins->begin_ns - page->run->start_ns));
	json_put(object, "column_ns", json_number(bins->bin_ns));
	json_put(object, "count", json_number(bins->count));
	json_put(object, "bricks", bricks);
	json_put(object, "lanes", lanes);
	return object;
}

static json_t *lanes_json(const struct page *page)
{
	json_t *array = json_array();

	for (size_t i = 0; i < page->bins.lane_total; i++) {
		const struct run_lane *lane = &page->run->lanes[page->bins.lanes[i]];
		json_t *object = json_object();
		json_put(object, "name", json_text(lane->name));
		json_put(object, "tid", json_number(lane->tid));
		json_put(object, "process", json_number(page->run->processes[lane->process].pid));
		json_put(object, "queue", json_boolean(lane->kind == BRICK_LANE_QUEUE));
		json_put(object, "backend", json_text(lane->backend));
		json_add(array, object);
	}
	return array;
}

static json_t *timeline_json(const struct page *page, bool whole)
{
	const struct run *run = page->run;
	struct slices slices;

	if (slices_begin(&slices, page) < 0)
		return NULL;
	size_t with_samples = 0;
	for (size_t i = 0; i < run->lane_count; i++)
		with_samples += run->lanes[i].sample_count != 0;
	json_t *object = json_object();
	json_put(object, "wall_ns",
		json_number(run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0));
	json_put(object, "lanes", lanes_json(page));
	json_put(object, "lanes_left_out", json_number(with_samples - page->bins.lane_total));
	json_put(object, "columns", page_json_columns(page, &page->bins));
	json_put(object, "windows", whole ? windows_json(&slices) : json_array());
	slices_end(&slices, object);
	return object;
}

static json_t *range_columns(const struct page *page, uint64_t since_ns, uint64_t until_ns)
{
	SCOPED_BY(lane_bins_fini) struct lane_bins bins;
	size_t lanes = page->bins.lane_total;

	if (lane_bins_init(&bins, page->run, &page->index, page->bins.lanes, lanes, since_ns,
		    until_ns, COLUMNS_MAX / (lanes / 40 + 1)) < 0)
		return NULL;
	lane_bins_fill(&bins);
	return page_json_columns(page, &bins);
}

int page_range_json(json_t **out, const struct page *page, uint64_t since_ns, uint64_t until_ns)
{
	struct slices slices;
	uint64_t start_ns = page->run->start_ns;
	uint64_t wall_ns = page->run->end_ns > start_ns ? page->run->end_ns - start_ns : 1;

	if (slices_begin(&slices, page) < 0)
		return -ENOMEM;
	json_t *object = json_object(), *windows = json_array();
	until_ns = !until_ns ? 1 : until_ns < wall_ns ? until_ns : wall_ns;
	since_ns = since_ns < until_ns ? since_ns : until_ns - 1;
	size_t samples = 0;
	for (size_t i = 0; i < page->bins.lane_total; i++) {
		const struct run_lane *lane = &page->run->lanes[page->bins.lanes[i]];
		samples += run_sample_from(lane, start_ns + until_ns) -
			   run_sample_from(lane, start_ns + since_ns);
	}
	if (samples <= SLICES_MAX)
		json_add(windows, window_json(&slices, start_ns + since_ns, start_ns + until_ns));
	else
		json_put(object, "columns",
			range_columns(page, start_ns + since_ns, start_ns + until_ns));
	json_put(object, "windows", windows);
	slices_end(&slices, object);
	run_release(page->run);
	return page_json_finish(out, object);
}

/* The report's tables, and all of it together. */

/* The rows of a table that the page shows, and how many more there are. */
static size_t page_json_put_rows(json_t *to, struct report report)
{
	size_t all = report.shown;

	report.shown = all < ROWS_MAX ? all : ROWS_MAX;
	json_put(to, summary_by_plural(report.summary->by), report_rows_to_json(&report));
	return all - report.shown;
}

/* Tables of all phases together, with the number of rows left out; then tables of each phase. */
static void page_json_put_tables(json_t *root, const struct page *page)
{
	json_t *left_out = json_object(), *phases = json_object();
	for (int i = 0; i < PAGE_TABLES; i++) {
		if (!page->tables[i].summary)
			continue;
		size_t more = page_json_put_rows(root, page->tables[i]);
		if (more)
			json_put(left_out, summary_by_plural(page->tables[i].summary->by),
				json_number(more));
	}
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		json_t *tables = json_object();
		for (int i = 0; i < PAGE_TABLES; i++)
			if (page->phase_tables[phase][i].summary)
				page_json_put_rows(tables, page->phase_tables[phase][i]);
		json_put(phases, phase_keys[phase], tables);
	}
	json_put(root, "left_out", left_out);
	json_put(root, "phase_tables", phases);
}

static json_t *tiles_json(const struct page *page)
{
	struct tiles *tiles;
	if (!page->run->tile_count)
		return json_null();
	if (tiles_create(&tiles, page->run, -1) < 0)
		return NULL;
	const struct tiles_view view = {.run = page->run, .tiles = tiles};
	json_t *object = tiles_to_json(&view);
	tiles_destroy(tiles);
	return object;
}

/* Rows are sequences; a request has its row, begin, first token, end, tokens and number. */
static json_t *slots_json(const struct requests *q)
{
	enum { MOST = 2000 };
	json_t *root = json_object(), *rows = json_array(), *list = json_array();
	const struct run *run = q->run;
	size_t shown = q->count < MOST ? q->count : MOST;

	for (size_t i = 0; i < shown; i++) {
		const struct request *r = &q->list[i];
		json_t *bar = json_array();
		size_t row = 0;
		SCOPED char *name =
			run->process_count > 1
				? text_format("%u/%u, sequence %d", run->processes[r->process].pid,
					  r->model, r->sequence)
				: text_format("model %u, sequence %d", r->model, r->sequence);
		while (row < json_array_size(rows) && name &&
			strcmp(json_string_value(json_array_get(rows, row)), name) != 0)
			row++;
		if (row == json_array_size(rows))
			json_add(rows, json_text(name));
		uint64_t first = request_ttft_ns(r);
		if (first != ANALYSIS_UNKNOWN)
			first = r->first_ns - run->start_ns;
		const uint64_t numbers[] = {row, r->begin_ns - run->start_ns, first,
			r->end_ns - run->start_ns, r->prompt_tokens, r->output_tokens, i + 1};
		for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
			json_add(bar, json_number(numbers[k]));
		json_add(list, bar);
	}
	json_put(root, "rows", rows);
	json_put(root, "list", list);
	json_put(root, "left_out", json_number(q->count - shown));
	json_put(root, "wall_ns", json_number(run->end_ns - run->start_ns));
	return root;
}

/* null: it holds no ranks that have something in common. */
static json_t *page_json_ranks(const struct page *page)
{
	SCOPED_BY(rank_job_fini) struct rank_job job;
	char *const paths[] = {page->run->path};
	const struct ranks_view view = {.job = &job,
		.paths = paths,
		.unfinished = !page->run->complete,
		.dropped = losses_dropped(page->run)};

	if (text_fail(rank_job_of_run(&job, page->run)))
		return NULL;
	return job.collectives || job.path_ns ? ranks_to_json(&view) : json_null();
}

static json_t *page_json_head(const struct page *page)
{
	SCOPED_BY(report_head_fini) struct report_head head;
	json_t *lines = json_array();

	report_head_init(&head, &page->report, false);
	for (size_t i = 0; i < head.count; i++) {
		json_t *line = json_object();
		json_put(line, "label", json_text(head.lines[i].label));
		json_put(line, "text", json_text(head.lines[i].text));
		json_add(lines, line);
	}
	return lines;
}

/* The findings of `brick explain`, the costliest first. null: there are no steps. */
static json_t *explain_json_of(const struct page *page)
{
	enum { SHOWN = 3 };
	struct explain_facts facts;
	struct findings findings;
	json_t *object = NULL;

	if (!page->index.count)
		return json_null();
	if (explain_facts_init(&facts, page->run, page->ceilings) < 0)
		return NULL;
	if (findings_init(&findings, &facts) == 0) {
		object = explain_to_json(
			&facts, &findings, findings.count < SHOWN ? findings.count : SHOWN);
		findings_fini(&findings);
	}
	explain_facts_fini(&facts);
	return object;
}

int page_json(json_t **out, const struct page *page, enum page_use use)
{
	bool whole = use == PAGE_FILE, is_limited;
	json_t *root = json_object(), *trust = json_object(), *steps = json_object();
	SCOPED char *trust_line = report_trust_line(&page->report, &is_limited);
	const struct roofline_view roofline = {
		page->roofline, page->ceilings ? page->ceilings_path : NULL, ROOFLINE_ALL_PHASES};
	const struct scaling_view scaling = {.run = page->run, .scaling = page->scaling};

	json_put(trust, "text", json_text(trust_line));
	json_put(trust, "limited", json_boolean(is_limited));
	json_put(steps, "slow_factor", json_rate(slow_factor));
	for (int phase = 0; phase < STEP_PHASES; phase++)
		json_put(steps, phase_keys[phase], phase_steps_json(page, (enum step_phase)phase));
	json_put(root, "schema", json_text("brick/page/3"));
	json_put(root, "version", json_text(brick_version()));
	json_put(root, "served", json_boolean(use != PAGE_FILE));
	json_put(root, "live", json_boolean(use == PAGE_LIVE));
	json_put(root, "head", page_json_head(page));
	json_put(root, "trust", trust);
	/* a session that goes on is asked for again and again */
	json_put(root, "explain", use == PAGE_LIVE ? json_null() : explain_json_of(page));
	json_put(root, "report", report_to_json(&page->report));
	page_json_put_tables(root, page);
	json_put(root, "tables", report_fields_to_json());
	json_put(root, "basis", json_text(report_basis(&page->report)));
	json_put(root, "steps", steps);
	json_put(root, "layers", layers_json(page));
	json_put(root, "lengths", durations_json(page));
	json_put(root, "each", each_json(page));
	json_put(root, "trees", trees_json(page, whole));
	json_put(root, "timeline", timeline_json(page, whole));
	json_put(root, "path", path_json(page));
	json_put(root, "ranks", use == PAGE_LIVE ? json_null() : page_json_ranks(page));
	/* it takes a walk of its own */
	json_put(root, "flame", whole ? flame_json(page) : json_null());
	json_put(root, "roofline", roofline_to_json(&roofline));
	json_put(root, "tiles", tiles_json(page));
	json_put(root, "scaling", page->scaling ? scaling_main_to_json(&scaling) : json_null());
	json_put(root, "requests", page->requests ? slots_json(page->requests) : json_null());
	return page_json_finish(out, root);
}

struct text {
	ARRAY(char) bytes;
	bool failed; /* jansson does not look at what the callback returns for keys */
};

/* '<', '>' and '&' occur only in strings of JSON, where an escape means the same character. */
static int append_safely(const char *s, size_t n, void *to)
{
	struct text *text = to;
	for (size_t i = 0; i < n;) {
		size_t plain = 0;
		while (i + plain < n && !strchr("<>&", s[i + plain]))
			plain++;
		text->failed |= array_append(&text->bytes, s + i, plain) < 0;
		i += plain;
		if (i < n) {
			char escape[8];
			snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)s[i++]);
			text->failed |= array_append(&text->bytes, escape, 6) < 0;
		}
	}
	return text->failed ? -1 : 0;
}

int page_text(char **out, size_t *bytes, const json_t *data)
{
	struct text text = {0};
	if (json_dump_callback(data, append_safely, &text,
		    JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9)) != 0 ||
		text.failed || array_push(&text.bytes, '\0') < 0) {
		array_fini(&text.bytes);
		return -ENOMEM;
	}
	*bytes = text.bytes.count - 1;
	*out = text.bytes.items;
	return 0;
}

void page_template(const char **head, size_t *head_bytes, const char **tail, size_t *tail_bytes)
{
	static const char mark[] = PAGE_TEMPLATE_MARK;
	const char *at = memmem(page_template_text, page_template_bytes, mark, sizeof(mark) - 1);
	*head = page_template_text;
	*head_bytes = (size_t)(at - page_template_text);
	*tail = at + sizeof(mark) - 1;
	*tail_bytes = page_template_bytes - *head_bytes - (sizeof(mark) - 1);
}

int page_write(const json_t *data, FILE *out)
{
	const char *head, *tail;
	size_t head_bytes, tail_bytes, bytes;
	SCOPED char *text = NULL;
	int rc = page_text(&text, &bytes, data);
	if (rc < 0)
		return rc;
	page_template(&head, &head_bytes, &tail, &tail_bytes);
	fwrite(head, 1, head_bytes, out);
	fwrite(text, 1, bytes, out);
	fwrite(tail, 1, tail_bytes, out);
	return 0;
}

bool page_available(void)
{
	return page_template_bytes != 0;
}

const char *page_missing(void)
{
	return "this build has no page, because npm could not bundle it; install nodejs and npm "
	       "and build again";
}
